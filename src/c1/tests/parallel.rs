//! Partitions side by side: what sealers write is parsed so, and nothing that is otherwise in one piece.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::Rng;

use super::*;
use crate::c1::json::Document;
use crate::c1::parallel::output;

fn document(text: &[u8]) -> Document<'_> {
    Document { text, prefix: "", name: "the file", start: 0 }
}

/// What is read from an output in one piece, up to the check of the sector.
fn slowly(text: &[u8]) -> Result<Sector, String> {
    let output = document(text).parse().map_err(told)?;
    check::sector(output, None, &Path::root("")).map_err(told)
}

/// Whether an output is parsed side by side; when it is, it must be the same.
fn is_quick(text: &[u8]) -> bool {
    let Some(output) = output(text) else { return false };
    let quick = check::sector(output, None, &Path::root("")).map_err(told);
    assert!(quick == slowly(text), "{}", String::from_utf8_lossy(text));
    true
}

#[test]
fn what_sealers_write_is_read_quickly() {
    for file in [S1, S2, S3, S4, S6, V1, SYNTHETIC, NON_INTERACTIVE, MIB8] {
        let opened = shape::Opened::new(file).expect("a shape");
        assert!(is_quick(opened.document().text), "{}", opened.shape);
    }
    for name in ["StackedDrg32GiBV1_1", "StackedDrg64GiBV1_1"] {
        let sector = random::sector(name.parse().expect("a registered name"));
        assert!(is_quick(&serde_json::to_vec(&sector).expect("written")), "{name}");
    }
}

/// A text with its first `old` replaced.
fn with(text: &str, old: &str, new: &str) -> Vec<u8> {
    assert!(text.contains(old), "no {old}");
    text.replacen(old, new, 1).into_bytes()
}

#[test]
fn other_forms_are_read_alike() {
    let text = std::str::from_utf8(S3).expect("UTF-8");
    assert!(is_quick(format!("{text} \r\n\t").as_bytes()));
    for (old, new) in [
        ("{\"registered_proof\"", " {\"registered_proof\""),
        ("\"seed\":[", "\"seed\": ["),
        ("\"seed\":[", "\"s\\u0065ed\":["),
        ("\"seed\":[", "\"unknown\":{},\"seed\":["),
        ("\"_h\":null", "\"_h\":0"),
        ("[[{\"comm_d", "[ [{\"comm_d"),
        ("[[{\"comm_d", "[[ {\"comm_d"),
        ("},{\"comm_d", "} ,{\"comm_d"),
    ] {
        let other = with(text, old, new);
        is_quick(&other);
        assert!(slowly(&other).is_ok_and(|sector| sector == sealed(S3)), "{new}");
        assert!(read_plain(&other).is_ok_and(|read| read.sector == sealed(S3)), "{new}");
    }
}

#[test]
fn faults_are_left_to_serde_json() {
    let text = std::str::from_utf8(S3).expect("UTF-8");
    let seed = "\"seed\":[1,1,";
    for (old, new) in [
        (seed, "\"more\":null,\"seed\":[01,1,"),
        (seed, "\"seed\":[01,1,"),
        (seed, "\"seed\":[00,1,"),
        (seed, "\"seed\":[256,1,"),
        (seed, "\"seed\":[1000,1,"),
        (seed, "\"seed\":[-1,1,"),
        (seed, "\"seed\":[1.0,1,"),
        (seed, "\"seed\":[1e0,1,"),
        (seed, "\"seed\":[,1,1,"),
        (seed, "\"seed\":[1,1,1,"),
        (seed, "\"seed\":[1,"),
        ("\"index\":", "\"index\":0"),
        ("\"index\":", "\"index\":99999999999999999999"),
        ("\"index\":", "\"index\":-"),
        ("\"layer_index\":", "\"layer_index\":4294967296"),
        ("{\"Single\":", "{\"Double\":"),
        ("\"leaf\":", "\"root\":"),
        ("\"leaf\":[", "\"leaf\":[["),
        ("\"hashes\":[", "\"hashes\":[,"),
        ("\"hashes\":[[", "\"hashes\":[[],["),
        ("[[{\"comm_d", "[[{\"comm_d\":[[{\"comm_d"),
        ("[[{\"comm_d", "[[],[{\"comm_d"),
        ("[[{\"comm_d", "[[{\"comm_d\"}]],[{\"comm_d"),
        ("[[{\"comm_d", "\u{e9}[{\"comm_d"),
        ("},{\"comm_d", "}]\u{e9}[{\"comm_d"),
        ("},{\"comm_d", "}],[{\"comm_d"),
        ("},{\"comm_d", "}]],[[{\"comm_d"),
        ("},{\"comm_d", "}}],[{\"comm_d"),
        ("\"StackedDrg2KiBV1\":[", "\"other\":[],\"StackedDrg2KiBV1\":["),
        ("\"vanilla_proofs\":", "\"vanilla_proofs\":{\"StackedDrg2KiBV1\":[]},\"vanilla_proofs\":"),
        ("\"vanilla_proofs\":{", "\"vanilla_proofs\":{\"StackedDrg2KiBV1\":null},\"unknown\":{"),
        ("StackedDrg2KiBV1_1", "[{\\\"comm_d"),
        ("StackedDrg2KiBV1_1", "\u{1}"),
    ] {
        let faulty = with(text, old, new);
        assert!(slowly(&faulty).is_err() && read_plain(&faulty).is_err(), "{new}");
        is_quick(&faulty);
        let error = |output: Result<json::Phase1Output, _>| output.err().map(told);
        assert_eq!(error(document(&faulty).output()), error(document(&faulty).parse()), "{new}");
    }
}

#[test]
fn damage_is_read_alike() {
    let seed = 23;
    println!("seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut quick, rounds) = (0, 3000);
    for round in 0..rounds {
        let mut text = if round % 8 == 0 { NON_INTERACTIVE } else { S3 }.to_vec();
        for _ in 0..rng.gen_range(1..4) {
            let [at, from] = [(); 2].map(|()| rng.gen_range(0..text.len() - 8));
            let byte = *b"0123456789,:[]{}\"\\ nu".get(rng.gen_range(0..21)).expect("one of 21");
            match rng.gen_range(0..4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, byte),
                2 => text[at] = byte,
                _ => text.copy_within(from..from + 8, at),
            }
        }
        quick += usize::from(is_quick(&text));
    }
    assert!((rounds / 20..rounds).contains(&quick), "{quick}");
}

/// What pieces side by side decode, which must be what one piece does.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    let json = format!("\"{base64}\"");
    let text = shape::decoded(serde_json::from_str(&json).expect("JSON"))?;
    assert!(STANDARD.decode(base64).is_ok_and(|whole| whole == text));
    Some(text)
}

#[test]
fn base64_in_pieces_is_base64() {
    let piece = 3 * shape::PIECE_QUADS;
    let mut bytes = vec![0; 2 * piece + 2];
    ChaCha8Rng::seed_from_u64(29).fill(&mut bytes[..]);
    for length in [1, 2, 3, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 2] {
        let bytes = &bytes[..length];
        assert!(decoded(&STANDARD.encode(bytes)).as_deref() == Some(bytes), "{length}");
    }
    let base64 = STANDARD.encode(&bytes);
    let piece = 4 * shape::PIECE_QUADS;
    for (at, wrong) in [
        (piece - 2, "=="),
        (piece - 1, "="),
        (piece, "="),
        (2 * piece - 4, "AA=="),
        (base64.len() - 3, "==="),
        (base64.len() - 1, "A"),
        (base64.len() - 2, "B="),
        (7, "!"),
        (7, "\\n"),
    ] {
        let mut damaged = base64.clone();
        damaged.replace_range(at..at + wrong.len(), wrong);
        assert_eq!(decoded(&damaged).is_some(), STANDARD.decode(&damaged).is_ok(), "{at} {wrong}");
    }
    assert!(decoded(&base64[..base64.len() - 1]).is_none());
}
