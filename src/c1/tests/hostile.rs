//! Files cut, bent and forged: each is one clear error, and none is a panic.

use proptest::prelude::*;
use rand::Rng;
use serde_json::{Value, json};

use super::*;

/// `vanilla_proofs` of the fixture.
const TAG: &str = "/vanilla_proofs/StackedDrg2KiBV1";
/// 32 bytes that are not below the modulus.
const TOO_LARGE: Node = [0xff; 32];

/// The fixture in shape S3 with the value at a JSON pointer replaced, or removed by `null`.
fn with_value(file: &[u8], pointer: &str, value: Value) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(file).expect("JSON");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
    match (parent, value) {
        (Value::Object(parent), Value::Null) => drop(parent.remove(key).expect("a key")),
        (Value::Object(parent), value) => drop(parent.insert(key.to_owned(), value)),
        (Value::Array(parent), value) => {
            let index: usize = key.parse().expect("an index");
            match value {
                Value::Null => drop(parent.remove(index)),
                value if index == parent.len() => parent.push(value),
                value => parent[index] = value,
            }
        }
        (other, _) => panic!("no container: {other}"),
    }
    serde_json::to_vec(&document).expect("JSON")
}

fn error_of(bytes: &[u8]) -> String {
    match read_strictly(bytes) {
        Ok(_) => panic!("read: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)])),
        Err(error) => {
            let text = told(error);
            assert!(text.len() < 1000, "{text}");
            text
        }
    }
}

#[test]
fn the_fixture_reads_with_keys_in_another_order() {
    let sorted = with_value(S3, "/unknown", json!({"more": [1, 2, {"x": null}]}));
    assert_ne!(sorted, S3);
    assert_eq!(sealed(&sorted), sealed(S3));
}

#[test]
fn changed_values_are_named() {
    let challenge = |rest: &str| format!("{TAG}/0/1/{rest}");
    let node = json!(TOO_LARGE);
    let cases = [
        // Top level.
        (
            "/registered_proof".into(),
            json!("StackedDrg2KiBV2"),
            "registered_proof: expected Stacked",
        ),
        ("/registered_proof".into(), json!("StackedDrg16MiBV1"), "pre-mainnet"),
        (
            "/registered_proof".into(),
            json!("StackedDrg8MiBV1_1"),
            "expected the key `StackedDrg8MiBV1`",
        ),
        (
            "/registered_proof".into(),
            json!("StackedDrg2KiBV1"),
            "these are the parents of StackedDrg2KiBV1_1",
        ),
        (
            "/registered_proof".into(),
            json!("StackedDrg2KiBV1_1_Feat_SyntheticPoRep"),
            "replica_id, comm_r and seed fix the challenges",
        ),
        (
            "/registered_proof".into(),
            json!("StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"),
            "expected 13 partitions",
        ),
        ("/registered_proof".into(), json!(5), "registered_proof: invalid type"),
        ("/registered_proof".into(), Value::Null, "missing field `registered_proof`"),
        ("/comm_r".into(), json!([0; 32].as_slice()), "comm_r: expected a commitment"),
        ("/comm_d".into(), json!([0; 32].as_slice()), "comm_d: expected a commitment"),
        ("/seed".into(), json!([0; 32].as_slice()), "seed: expected a challenge seed"),
        ("/seed/0".into(), json!(7), "replica_id and seed fix the challenges"),
        ("/replica_id/0".into(), json!(7), "replica_id and seed fix the challenges"),
        ("/comm_r".into(), node.clone(), "comm_r: expected a field element"),
        ("/comm_d".into(), node.clone(), "comm_d: expected a field element"),
        ("/replica_id".into(), node.clone(), "replica_id: expected a field element"),
        ("/comm_r/0".into(), json!(7), "comm_r: expected the hash of comm_c"),
        ("/comm_d/0".into(), json!(7), "[0][0].comm_d_proofs: expected the root comm_d"),
        (
            "/comm_r/31".into(),
            Value::Null,
            "comm_r: invalid length 31, expected an array of 32 bytes",
        ),
        ("/comm_r/32".into(), json!(0), "comm_r: invalid length 33"),
        ("/comm_r/3".into(), json!(256), "comm_r[3]: invalid value: integer `256`"),
        ("/comm_r/3".into(), json!(-1), "comm_r[3]: invalid value: integer `-1`"),
        ("/comm_r/3".into(), json!(1.5), "comm_r[3]: invalid type"),
        ("/comm_r".into(), json!("00"), "comm_r: invalid type: string"),
        ("/vanilla_proofs".into(), json!({}), "vanilla_proofs: invalid length 0"),
        (
            "/vanilla_proofs".into(),
            json!({"StackedDrg2KiBV1_1": []}),
            "expected the key `StackedDrg2KiBV1`",
        ),
        ("/vanilla_proofs".into(), json!({"StackedDrg32GiBV1": []}), "got `StackedDrg32GiBV1`"),
        (
            "/vanilla_proofs/StackedDrg8MiBV1".into(),
            json!([]),
            "invalid length 2, expected an object with one key",
        ),
        // Counts.
        (TAG.into(), json!([]), "vanilla_proofs.StackedDrg2KiBV1: expected 1 partitions"),
        (format!("{TAG}/1"), json!([]), "expected 1 partitions for StackedDrg2KiBV1_1, got 2"),
        (format!("{TAG}/0/1"), Value::Null, "StackedDrg2KiBV1[0]: expected 2 challenges"),
        (
            challenge("labeling_proofs/1"),
            Value::Null,
            "labeling_proofs: expected 2 labeling proofs",
        ),
        (challenge("labeling_proofs/1/parents/36"), Value::Null, "parents: expected 37 parents"),
        (challenge("replica_column_proofs/drg_parents/5"), Value::Null, "expected 6 columns"),
        (challenge("replica_column_proofs/exp_parents/7"), Value::Null, "expected 8 columns"),
        (challenge("replica_column_proofs/c_x/column/rows/0"), Value::Null, "expected 2 rows"),
        (challenge("comm_d_proofs/data/Single/path/path/5"), Value::Null, "expected 6 levels"),
        (challenge("comm_r_last_proof/data/Single/path/path/1"), Value::Null, "expected 2 levels"),
        (
            challenge("comm_r_last_proof/data/Single/path/path/1/hashes/6"),
            Value::Null,
            "comm_r_last_proof.data.Single.path.path[1].hashes: expected 7 siblings",
        ),
        // Kinds and ranges.
        (challenge("comm_r_last_proof/data"), json!({"Double": {}}), "unknown variant `Double`"),
        (
            challenge("comm_r_last_proof/data/Single/path/path/1/index"),
            json!(8),
            "path[1].index: expected a number below 8, got 8",
        ),
        (
            challenge("comm_d_proofs/data/Single/path/path/3/index"),
            json!(u64::MAX),
            "path[3].index: expected a number below 2",
        ),
        (
            challenge("labeling_proofs/0/layer_index"),
            json!(2),
            "layer_index: expected layer 1, got 2",
        ),
        (challenge("encoding_proof/layer_index"), json!(1), "layer_index: expected layer 2, got 1"),
        (challenge("labeling_proofs/1/node"), json!(0), "node: expected the challenged node"),
        (
            challenge("encoding_proof/node"),
            json!(0),
            "encoding_proof.node: expected the challenged",
        ),
        (
            challenge("replica_column_proofs/c_x/column/index"),
            json!(0),
            "c_x.column.index: expected",
        ),
        (
            challenge("replica_column_proofs/exp_parents/2/column/index"),
            json!(64),
            "exp_parents[2].column.index: expected the parent",
        ),
        // Field elements.
        (
            challenge("comm_d_proofs/data/Single/path/path/3/hashes/0"),
            node.clone(),
            "[0][1].comm_d_proofs.data.Single.path.path[3].hashes[0]: expected a field element",
        ),
        (
            challenge("comm_d_proofs/data/Single/leaf"),
            node.clone(),
            "Single.leaf: expected a field",
        ),
        (
            challenge("comm_r_last_proof/data/Single/root"),
            node.clone(),
            "Single.root: expected a field",
        ),
        (
            challenge("replica_column_proofs/c_x/column/rows/1"),
            node.clone(),
            "rows[1]: expected a field",
        ),
        // Values that must agree.
        (
            challenge("labeling_proofs/0/parents/36"),
            node.clone(),
            "parents[36]: expected the parent",
        ),
        (challenge("encoding_proof/parents/0"), node, "encoding_proof.parents[0]: expected the"),
        (
            challenge("comm_r_last_proof/data/Single/root/0"),
            json!(1),
            "comm_r_last_proof: expected the first challenge's root",
        ),
        (
            challenge("replica_column_proofs/drg_parents/3/inclusion_proof/data/Single/root/0"),
            json!(1),
            "drg_parents[3]: expected the first column's root",
        ),
    ];
    for (pointer, value, expected) in cases {
        let error = error_of(&with_value(S3, &pointer, value.clone()));
        assert!(error.contains(expected), "{pointer} = {value}:\n{error}\nexpected: {expected}");
    }
}

#[test]
fn wrong_hashes_are_found_by_the_vanilla_check() {
    let challenge = |rest: &str| format!("{TAG}/0/1/{rest}");
    let cases = [
        (challenge("comm_d_proofs/data/Single/path/path/3/hashes/0/0"), "the comm_d path is wrong"),
        (challenge("comm_r_last_proof/data/Single/leaf/0"), "the encoding is wrong"),
        (
            challenge("comm_r_last_proof/data/Single/path/path/0/hashes/6/0"),
            "the comm_r_last path is wrong",
        ),
        (challenge("replica_column_proofs/c_x/column/rows/1/0"), "the column's hash is wrong"),
        (
            challenge("replica_column_proofs/exp_parents/7/inclusion_proof/data/Single/leaf/0"),
            "the column's hash is wrong",
        ),
        (
            challenge(
                "replica_column_proofs/drg_parents/0/inclusion_proof/data/Single/path/path/1/hashes/0/0",
            ),
            "the comm_c path is wrong",
        ),
    ];
    for (pointer, expected) in cases {
        let old: Value = serde_json::from_slice(S3).expect("JSON");
        let byte = old.pointer(&pointer).and_then(Value::as_u64).expect("a byte") ^ 1;
        let changed = with_value(S3, &pointer, json!(byte));
        assert!(read_plain(&changed).is_ok(), "{pointer}");
        let error = error_of(&changed);
        assert!(error.starts_with(&format!("partition 0, challenge 1: {expected}")), "{error}");
    }
}

#[test]
fn wrong_wrappers_are_named() {
    let cases = [
        (
            S1,
            "/SectorSize",
            json!(8 << 20),
            "SectorSize: expected 2048 bytes for StackedDrg2KiBV1_1",
        ),
        (S1, "/SectorSize", json!("2KiB"), "SectorSize: invalid type"),
        (S1, "/SectorSize", Value::Null, "expected the key `SectorSize` beside `Phase1Out`"),
        (S1, "/SectorNum", json!(2), "no miner id below 4194304 gives the replica_id"),
        (S1, "/SectorNum", json!(-1), "SectorNum: invalid value"),
        (S1, "/Phase1Out", json!("e30="), "Phase1Out: missing field `registered_proof`"),
        (S1, "/Phase1Out", json!("e30"), "Phase1Out: expected base64"),
        (S1, "/Phase1Out", json!("e3!="), "Phase1Out: expected base64"),
        (S1, "/Phase1Out", json!(""), "Phase1Out: the JSON ends"),
        (S1, "/Phase1Out", json!({}), "Phase1Out: invalid type: map"),
        (S1, "/PoRep", json!({}), "got both `Phase1Out` and `PoRep`"),
        (S2, "/Sid/ID/Miner", json!(1001), "sector 1 is of miner 1000"),
        (S2, "/Sid/ID/Number", json!(2), "SectorNum says 1, but Sid.ID.Number says 2"),
        (S2, "/Sid/ID", Value::Null, "Sid: missing field `ID`"),
        (S2, "/Phase1Out", Value::Null, "this is the input of commit phase 1"),
        (S4, "/SectorID/Miner", json!(1001), "sector 1 is of miner 1000"),
        (S4, "/SectorID/Number", json!(2), "of this miner it is sector 1"),
        (S4, "/SectorID", Value::Null, "expected the key `SectorID` beside `PoRep`"),
        (S4, "/PoRep/comm_r/3", json!(256), "PoRep.comm_r[3]: invalid value"),
        (
            S4,
            "/PoRep/seed/0",
            json!(7),
            "PoRep.vanilla_proofs.StackedDrg2KiBV1[0][0].comm_d_proofs",
        ),
        (S6, "/prover_id/0", json!(0), "miner_id says 1000, but prover_id says"),
        (S6, "/miner_id", json!(1001), "miner_id says 1001, but prover_id says 1000"),
        (S6, "/sector_id", json!(2), "of this miner it is sector 1"),
        (S6, "/prover_id", Value::Null, "expected the key `prover_id` beside `c1out`"),
        (S6, "/c1out/ticket/0", json!(2), "replica_id is not the one of miner 1000"),
    ];
    for (file, pointer, value, expected) in cases {
        let error = error_of(&with_value(file, pointer, value.clone()));
        assert!(error.contains(expected), "{pointer} = {value}:\n{error}\nexpected: {expected}");
    }
}

#[test]
fn what_is_no_c1_is_told_apart() {
    let text = String::from_utf8(S3.to_vec()).expect("UTF-8");
    let zero = json!([0; 32].as_slice());
    let synthetic = text.replace("KiBV1_1", "KiBV1_1_Feat_SyntheticPoRep");
    let first_stage = with_value(synthetic.as_bytes(), "/seed", zero);
    let deep = format!("{{\"PoRep\":{}", "[".repeat(1 << 20));
    let cases: [(Vec<u8>, &str); 14] = [
        (vec![], "empty input"),
        (b" \n\t ".to_vec(), "empty input"),
        (b"<!DOCTYPE html><html>".to_vec(), "HTML"),
        (b"[1,2]".to_vec(), "expected a JSON object"),
        (vec![0x1f, 0x8b, 8, 0], "starts with"),
        (b"{".to_vec(), "top level: the JSON ends"),
        (b"{}".to_vec(), "none of the keys"),
        (br#"{"PoRep":null,"Snap":{}}"#.to_vec(), "Snap request"),
        (format!("{text}x").into_bytes(), "trailing characters"),
        (text.replacen("\"seed\":", "\"comm_r\":", 1).into_bytes(), "duplicate field `comm_r`"),
        (text.replacen("\"leaf\":", "\"root\":", 1).into_bytes(), "duplicate field `root`"),
        (deep.into_bytes(), "PoRep[0][0]"),
        (with_value(&first_stage, TAG, json!([[]])), "first stage of a synthetic PoRep"),
        (vec![b' '; INPUT_BYTES_MAX + 1], "expected at most"),
    ];
    for (file, expected) in cases {
        let error = error_of(&file);
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
}

#[test]
fn arrays_longer_than_any_proofs_are_refused_while_reading() {
    let text = String::from_utf8(S3.to_vec()).expect("UTF-8");
    let many = "[],".repeat(1 << 20);
    for (old, new) in [
        ("StackedDrg2KiBV1\":[", format!("StackedDrg2KiBV1\":[{many}")),
        ("\"hashes\":[", format!("\"hashes\":[{}", "[1],".repeat(1 << 10))),
        ("\"path\":[", format!("\"path\":[{}", r#"{"hashes":[],"index":0},"#.repeat(1 << 10))),
    ] {
        let error = error_of(text.replacen(old, &new, 1).as_bytes());
        assert!(error.contains("invalid length"), "{error}");
    }
}

#[test]
fn partitions_and_challenges_keep_their_places() {
    let mut sector = sealed(NON_INTERACTIVE);
    sector.partitions.swap(3, 7);
    let error = error_of(&serde_json::to_vec(&sector).expect("written"));
    assert!(
        error.contains("[3]: expected the challenges of partition 3, got those of 7"),
        "{error}"
    );

    let mut sector = sealed(S3);
    sector.partitions[0].swap(0, 1);
    let error = error_of(&serde_json::to_vec(&sector).expect("written"));
    assert!(
        error.contains("[0][0].comm_d_proofs: expected the path of challenged node"),
        "{error}"
    );

    let mut sector = sealed(S3);
    sector.partitions[0][1].drg_parents.swap(0, 1);
    let error = error_of(&serde_json::to_vec(&sector).expect("written"));
    assert!(error.contains("[0][1].labeling_proofs[0].parents[0]"), "{error}");
}

#[test]
fn truncated_files_are_errors_wherever_they_end() {
    for file in [S1, S2, S3, S4, S6] {
        let ends = (1..200).chain((200..file.len() - 200).step_by(4999));
        for end in ends.chain(file.len() - 200..file.len()) {
            let error = read_plain(&file[..end]).expect_err("half a file");
            assert!(matches!(error, C1Error::Truncated { .. }), "{end}: {error}");
        }
    }
}

#[test]
fn bit_flips_change_nothing_or_are_found() {
    let seed = 11;
    println!("seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut unread = 0;
    for (file, rounds) in [(S1, 400), (S3, 400), (S6, 400), (SYNTHETIC, 200), (NON_INTERACTIVE, 40)]
    {
        let original = sealed(file);
        for _ in 0..rounds {
            let mut flipped = file.to_vec();
            let (byte, bit) = (rng.gen_range(0..file.len()), rng.gen_range(0..8));
            flipped[byte] ^= 1 << bit;
            if let Ok(read) = read_strictly(&flipped) {
                assert_unread(&read, &original);
                unread += 1;
            }
        }
    }
    assert!(unread < 40, "{unread}");
}

/// Whether a sector differs from the original at most where nothing binds the value.
fn assert_unread(read: &Read, original: &Sector) {
    let mut sector = read.sector.clone();
    if read.ids == Ids::default() {
        sector.ticket = original.ticket;
    }
    if sector.registered_proof.kind() == ProofKind::NonInteractive {
        sector.seed = original.seed;
    }
    assert!(sector == *original);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn spliced_files_never_panic(
        from in 0..100_000_usize,
        length in 0..3000_usize,
        to in 0..100_000_usize,
        junk in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        for file in [S3, S4, S6] {
            let piece = &file[from..file.len().min(from + length)];
            let spliced = [&file[..to], &junk, piece, &file[to..]].concat();
            if let Ok(read) = read_strictly(&spliced) {
                assert_unread(&read, &sealed(file));
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read_plain(&bytes).is_err());
        let wrapped = [b"{\"Phase1Out\":\"", &*bytes].concat();
        prop_assert!(read_plain(&wrapped).is_err());
    }
}
