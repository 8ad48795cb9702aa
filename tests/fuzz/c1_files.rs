//! Damaged C1 files: an error, or the sector that was in the file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prove::c1::{self, GivenIds, Read, Sector};
use prove::progress::Silent;
use prove::sector::ProofKind;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::damage::damage;
use crate::files::fixture;

const FILES: [&str; 8] = [
    "c1-2KiB.json",
    "c1-2KiB-s2.json",
    "c1-2KiB-s3.json",
    "c1-2KiB-s4.json",
    "c1-2KiB-s6.json",
    "c1-2KiB-v1.json",
    "c1-2KiB-synthetic.json",
    "c1-2KiB-ni.json",
];

/// Searches for damage that the reader does not survive, or that it and the check of the vanilla
/// proofs do not see.
pub fn search() {
    let files = FILES.map(fixture);
    let sectors = files
        .each_ref()
        .map(|file| bound(c1::read(file, &GivenIds::default()).expect("the fixtures are sound")));
    crate::search(
        "c1",
        |rng| draw(rng, &files),
        |input| match c1::read(input, &GivenIds::default()) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(read) => {
                let checked = c1::vanilla::check(&read.sector, &Silent);
                if checked.is_ok() {
                    assert!(sectors.contains(&bound(read)), "damage was not seen");
                }
            }
        },
    );
}

fn draw(rng: &mut ChaCha8Rng, files: &[Vec<u8>]) -> Vec<u8> {
    let mut file = files[rng.gen_range(0..files.len())].clone();
    let inner = is_s1(&file).filter(|_| rng.r#gen());
    let Some((before, base64, after)) = inner else {
        for _ in 0..rng.gen_range(1..4) {
            damage(rng, &mut file, files);
        }
        return file;
    };
    let mut inner = STANDARD.decode(base64).expect("the fixtures are sound");
    for _ in 0..rng.gen_range(1..4) {
        damage(rng, &mut inner, files);
    }
    [before, &STANDARD.encode(inner), after].concat().into_bytes()
}

/// A file of shape S1 or S2, around its base64 text.
fn is_s1(file: &[u8]) -> Option<(&str, &str, &str)> {
    let text = std::str::from_utf8(file).expect("the fixtures are sound");
    let start = text.find("\"Phase1Out\":\"")? + "\"Phase1Out\":\"".len();
    let end = start + text[start..].find('"').expect("the fixtures are sound");
    Some((&text[..start], &text[start..end], &text[end..]))
}

/// The sector without what nothing in the file binds: the ticket where no ids are known, and the
/// seed of a non-interactive proof.
fn bound(read: Read) -> Sector {
    let Read { mut sector, ids, .. } = read;
    if ids.prover_id.is_none() {
        sector.ticket = [0; 32];
    }
    if sector.registered_proof.kind() == ProofKind::NonInteractive {
        sector.seed = [0; 32];
    }
    sector
}
