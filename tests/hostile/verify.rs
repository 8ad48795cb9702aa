//! `prove verify` over proofs that are false, bent or no proofs at all: exit code 8.
//!
//! The proofs are simulated from the trapdoor of a small verifying key, for every kind of sector;
//! `tests/oracle.rs` shows that upstream accepts them.

use std::time::Duration;

use blstrs::Scalar;

use super::case::Case;
use crate::common::binary::Prove;
use crate::common::draft::INPUTS;
use crate::common::files::fixture;
use crate::common::oracle::{Sector, vk_name, vk_name_2kib};
use crate::common::simulator::Trapdoor;

/// Fixtures of every kind and shape, with the partitions that their proofs have.
const SECTORS: [(&str, usize); 9] = [
    ("c1-2KiB.json", 1),
    ("c1-2KiB-s2.json", 1),
    ("c1-2KiB-s3.json", 1),
    ("c1-2KiB-s4.json", 1),
    ("c1-2KiB-s6.json", 1),
    ("c1-2KiB-v1.json", 1),
    ("c1-2KiB-synthetic.json", 1),
    ("c1-2KiB-ni.json", 13),
    ("c1-8MiB.json", 1),
];

fn trapdoor() -> Trapdoor {
    Trapdoor::new(7, INPUTS)
}

/// A simulated proof of the demo sector, or of the false statement that `change` makes of it.
fn proof(name: &str, change: impl FnOnce(&mut Vec<Vec<Scalar>>)) -> Vec<u8> {
    let mut inputs = Sector::fixture(name).and_then(|sector| sector.public_inputs()).expect(name);
    change(&mut inputs);
    trapdoor().proof(&inputs)
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let good = proof("c1-2KiB.json", |_| {});
    let parts = proof("c1-2KiB-ni.json", |_| {});
    let edited = |name: &str, says: &str, edit: fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        edit(&mut bytes);
        case(name, says, "c1-2KiB.json", bytes)
    };
    let mut swapped = parts.clone();
    swapped[..2 * 192].rotate_left(192);
    vec![
        edited("an empty proof", "192", Vec::clear),
        edited("one byte short", "192", |bytes| {
            bytes.pop();
        }),
        edited("one byte long", "192", |bytes| bytes.push(0)),
        edited("twice the proof", "192", |bytes| bytes.extend_from_within(..)),
        edited("longer than any proof file", "more than 65536", |bytes| bytes.resize(70_000, 0)),
        edited("zeros", "", |bytes| bytes.fill(0)),
        edited("ones", "", |bytes| bytes.fill(0xff)),
        edited("A's sign", "", |bytes| bytes[0] ^= 0x20),
        edited("A without the flag of a compressed point", "", |bytes| bytes[0] ^= 0x80),
        edited("A at infinity", "", |bytes| {
            bytes[..48].fill(0);
            bytes[0] = 0xc0;
        }),
        edited("B off the curve or its subgroup", "", |bytes| bytes[100] ^= 1),
        edited("C's sign", "", |bytes| bytes[144] ^= 0x20),
        edited("C and A swapped", "", |bytes| {
            let (head, tail) = bytes.split_at_mut(144);
            head[..48].swap_with_slice(tail);
        }),
        edited("an HTML page", "192", |bytes| *bytes = b"<html></html>".to_vec()),
        edited("hexadecimal, cut", "384", |bytes| *bytes = hex::encode(&bytes[..150]).into_bytes()),
        case(
            "another comm_r",
            "not",
            "c1-2KiB.json",
            proof("c1-2KiB.json", |x| {
                x[0][2] += Scalar::from(1);
            }),
        ),
        case(
            "another last input",
            "not",
            "c1-2KiB.json",
            proof("c1-2KiB.json", |x| {
                x[0][38] += Scalar::from(1);
            }),
        ),
        case("another sector's proof", "not", "c1-2KiB.json", proof("c1-2KiB-v1.json", |_| {})),
        case("synthetic for interactive", "not", "c1-2KiB-synthetic.json", good.clone()),
        case("one partition of 13", "2496", "c1-2KiB-ni.json", good.clone()),
        case("12 partitions of 13", "2496", "c1-2KiB-ni.json", parts[192..].to_vec()),
        case("partitions 0 and 1 swapped", "partition", "c1-2KiB-ni.json", swapped),
        case(
            "a false last partition",
            "12",
            "c1-2KiB-ni.json",
            proof("c1-2KiB-ni.json", |x| {
                x[12][0] += Scalar::from(1);
            }),
        ),
    ]
}

fn case(name: &str, says: &str, c1: &str, proof: Vec<u8>) -> Case {
    files(Case::new(name, "verify --params params in.json in.proof", 8, says), c1)
        .file("in.proof", proof)
}

fn files(case: Case, c1: &str) -> Case {
    let vk = format!("params/{}", vk_name_2kib());
    let marker = vk.replace(".vk", ".insecure");
    case.file("in.json", fixture(c1))
        .file(&vk, trapdoor().verifying_key())
        .file(&marker, "made by a test\n")
}

/// True proofs of every kind of sector in every shape of C1 are accepted, from files and pipes,
/// as bytes and as hexadecimal text.
pub fn check_accepted() {
    for (name, partitions) in SECTORS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).expect("the folder is ours");
        };
        // Shapes S2, S4 and S6 hold the demo sector too.
        let is_s1_or_s3 = !["-s2", "-s4", "-s6"].iter().any(|shape| name.contains(shape));
        let sector_name = if is_s1_or_s3 { name } else { "c1-2KiB.json" };
        let sector = Sector::fixture(sector_name).expect(name);
        let proof = trapdoor().proof(&sector.public_inputs().expect(name));
        assert_eq!(proof.len(), 192 * partitions, "{name}");
        let vk = vk_name(sector.0.registered_proof);
        write(&vk, &trapdoor().verifying_key());
        write(&vk.replace(".vk", ".insecure"), b"made by a test\n");
        write("in.json", &fixture(name));
        for bytes in [proof.clone(), hex::encode(&proof).into_bytes()] {
            write("in.proof", &bytes);
            for file in ["in.proof", "-"] {
                let words = ["verify", "--params", ".", "in.json", file];
                let run = Prove::new(folder.path(), words).stdin(&bytes);
                let run = run.run(Duration::from_secs(60));
                assert_eq!(run.code, 0, "{name}: {run:#?}");
            }
        }
    }
}
