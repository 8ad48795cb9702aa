//! C1 files that are cut, bent, mixed up or something else: exit code 3, before anything costly.
//!
//! There are no parameters in these runs, so a C1 fault that is found late shows as code 4.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::case::Case;
use super::edit::Edit::{Flip, Set};
use crate::common::files::fixture;

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = not_c1_files();
    cases.extend(truncated());
    cases.extend(wrapped());
    cases.extend(other_ids());
    cases.extend(mixed_up_partitions());
    cases.extend(of_two_kinds());
    cases
}

fn value(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).expect("a fixture is JSON")
}

fn case(name: &str, says: &str, c1: impl Into<Vec<u8>>) -> Case {
    Case::new(name, "--params none in.json out.proof", 3, says).file("in.json", c1)
}

fn not_c1_files() -> Vec<Case> {
    let deep = "[".repeat(100_000);
    let deep_key = format!("{{\"vanilla_proofs\":{}", "{\"a\":".repeat(100_000));
    let mut s3 = fixture("c1-2KiB-s3.json");
    s3.extend_from_slice(b"{}");
    vec![
        case("empty file", "empty", ""),
        case("white space", "", " \n\t"),
        case("html page", "HTML", "<!DOCTYPE html><html><body>404 Not Found</body></html>"),
        case("binary zeros", "", vec![0; 4096]),
        case("not UTF-8", "", vec![0xff; 4096]),
        case("null", "object", "null"),
        case("number", "object", "192"),
        case("array", "object", "[1, 2, 3]"),
        case("object without keys", "Phase1Out", "{}"),
        case("foreign object", "Phase1Out", r#"{"jsonrpc":"2.0","result":true}"#),
        case("deep arrays", "", deep),
        case("deep objects", "", deep_key),
        case("two documents", "", s3),
        case("a proof instead of a C1", "", vec![0xa5; 192]),
        case("a ZIP archive", "", b"PK\x03\x04\x14\0\0\0".to_vec()),
        Case::new("empty standard input", "--params none - out.proof", 3, "empty"),
        Case::new("half on standard input", "--params none - out.proof", 3, "truncated")
            .stdin(&fixture("c1-2KiB.json")[..50_000]),
    ]
}

fn truncated() -> Vec<Case> {
    let names = [
        "c1-2KiB.json",
        "c1-2KiB-s2.json",
        "c1-2KiB-s3.json",
        "c1-2KiB-s4.json",
        "c1-2KiB-s6.json",
        "c1-2KiB-synthetic.json",
        "c1-2KiB-ni.json",
    ];
    let cut = |name: &str, bytes: usize| {
        case(&format!("{name} cut at {bytes}"), "", &fixture(name)[..bytes])
    };
    names
        .into_iter()
        .flat_map(|name| {
            let length = fixture(name).len();
            [1, 40, length / 2, length - 1].map(|bytes| cut(name, bytes))
        })
        .collect()
}

/// Faults of the wrappers around S3, and ids that are not those of the sector.
fn wrapped() -> Vec<Case> {
    let page = Set(json!(STANDARD.encode("<html>")));
    let [s1, s2, s4, s6] =
        ["c1-2KiB.json", "c1-2KiB-s2.json", "c1-2KiB-s4.json", "c1-2KiB-s6.json"];
    let rows = [
        ("of another size", s1, "SectorSize", "/SectorSize", Set(json!(8 << 20))),
        ("of no size", s1, "SectorSize", "/SectorSize", Set(json!(2047))),
        ("with another number", s1, "sector", "/SectorNum", Set(json!(2))),
        ("with a negative number", s1, "SectorNum", "/SectorNum", Set(json!(-1))),
        ("not base64", s1, "Phase1Out", "/Phase1Out", Set(json!("{}"))),
        ("base64 of a page", s1, "Phase1Out", "/Phase1Out", page),
        ("empty base64", s1, "Phase1Out", "/Phase1Out", Set(json!(""))),
        ("no text", s1, "Phase1Out", "/Phase1Out", Set(json!([1, 2]))),
        ("of another miner", s2, "miner", "/Sid/ID/Miner", Set(json!(1001))),
        ("of another sector", s2, "Number", "/Sid/ID/Number", Set(json!(2))),
        ("of another miner", s4, "miner", "/SectorID/Miner", Set(json!(1001))),
        ("of another sector", s4, "sector", "/SectorID/Number", Set(json!(2))),
        ("without a PoRep", s4, "PoRep", "/PoRep", Set(Value::Null)),
        ("of another miner", s6, "miner", "/miner_id", Set(json!(1001))),
        ("of another prover", s6, "prover", "/prover_id/0", Flip),
        ("of another sector", s6, "sector", "/sector_id", Set(json!(2))),
        ("without its C1", s6, "c1out", "/c1out", Set(json!({}))),
    ];
    rows.into_iter()
        .map(|(name, file, says, place, edit)| {
            let mut c1 = value(file);
            edit.apply(&mut c1, place);
            case(&format!("{file} {name}"), says, c1.to_string())
        })
        .collect()
}

/// Options that state ids which are not the sector's.
fn other_ids() -> Vec<Case> {
    let case = |ids: &str, says: &str| {
        let words = format!("--params none {ids} in.json out.proof");
        Case::new(ids, &words, 3, says).file("in.json", fixture("c1-2KiB.json"))
    };
    vec![
        case("--miner-id 1001", "1001"),
        case("--sector-num 2", "sector"),
        case(&format!("--prover-id {}", "01".repeat(32)), "replica_id"),
        case(&format!("--porep-id {}", "07".repeat(32)), "porep"),
    ]
}

fn mixed_up_partitions() -> Vec<Case> {
    let mixed_up = |name: &str, mix: fn(&mut Vec<Value>)| {
        let mut c1 = value("c1-2KiB-ni.json");
        mix(c1["vanilla_proofs"]["StackedDrg2KiBV1"].as_array_mut().expect("13 partitions"));
        case(name, "partition", c1.to_string())
    };
    vec![
        mixed_up("partitions 0 and 12 swapped", |partitions| partitions.swap(0, 12)),
        mixed_up("partitions 5 and 6 swapped", |partitions| partitions.swap(5, 6)),
        mixed_up("partition 11 twice", |partitions| partitions[12] = partitions[11].clone()),
        mixed_up("12 partitions", |partitions| drop(partitions.pop())),
    ]
}

/// Objects with the keys of two kinds at once.
fn of_two_kinds() -> Vec<Case> {
    let both = |name: &str, says: &str, mix: fn(&mut Value)| {
        let mut c1 = value("c1-2KiB-s3.json");
        mix(&mut c1);
        case(name, says, c1.to_string())
    };
    vec![
        both("the first stage of a synthetic PoRep", "first stage", |c1| {
            c1["registered_proof"] = json!("StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
            c1["seed"] = json!(vec![0; 32]);
            c1["vanilla_proofs"] = json!({"StackedDrg2KiBV1": [[]]});
        }),
        both("two tags", "vanilla_proofs", |c1| {
            c1["vanilla_proofs"]["StackedDrg8MiBV1"] = json!([[]]);
        }),
        both("two shapes", "Phase1Out", |c1| c1["Phase1Out"] = json!("e30=")),
    ]
}
