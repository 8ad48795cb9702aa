//! The oracles themselves: upstream accepts what is right and refuses what is not.

mod common;

use std::fs;

use common::oracle::{Sector, vk_name_2kib};
use common::prover::compound_prove;
use common::simulator::Trapdoor;
use common::upstream::root;
use common::verifier::{compound_verify, verify_seal};

/// Names the C1 file, without its end, of which upstream is to make a proof first.
const PROVE: &str = "PROVE_TESTDATA";
/// C1 files of which `testdata/upstream/` has a proof.
const PROVED: [&str; 2] = ["c1-2KiB", "c1-2KiB-synthetic"];

#[test]
fn simulated_proofs_are_accepted_and_nothing_near_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let vk = folder.path().join(vk_name_2kib());
    let mut trapdoor = Trapdoor::new(7, 40);
    fs::write(&vk, trapdoor.verifying_key()).expect("the folder is ours");
    for name in ["c1-2KiB.json", "c1-2KiB-v1.json", "c1-2KiB-synthetic.json", "c1-2KiB-ni.json"] {
        let sector = Sector::fixture(name).expect(name);
        let inputs = sector.public_inputs().expect(name);
        let mut false_inputs = inputs.clone();
        false_inputs[0][0] += blstrs::Scalar::from(1);
        for (inputs, verdict) in [(inputs, true), (false_inputs, false)] {
            let proof = trapdoor.proof(&inputs);
            assert_eq!(compound_verify(&sector, &vk, &proof).expect(name), verdict, "{name}");
        }
    }
}

#[test]
fn committed_proofs_verify_under_the_key_beside_them() {
    let folder = root().join("testdata/upstream");
    let vk = folder.join(vk_name_2kib());
    if let Ok(name) = std::env::var(PROVE) {
        let params = root().join("target/insecure-params").join(vk_name_2kib());
        let sector = Sector::fixture(&format!("{name}.json")).expect(&name);
        let proof = compound_prove(&sector, params.with_extension("params")).expect(&name);
        fs::copy(params, &vk).expect("testdata/ can be written");
        fs::write(folder.join(name).with_extension("proof"), proof).expect("as above");
    }
    for name in PROVED {
        let sector = Sector::fixture(&format!("{name}.json")).expect(name);
        for other in PROVED {
            let proof = fs::read(folder.join(other).with_extension("proof")).expect(other);
            let verdict = name == other;
            assert_eq!(compound_verify(&sector, &vk, &proof).expect(name), verdict, "{name}");
            assert_eq!(verify_seal(&sector, &folder, &proof).expect(name), verdict, "{name}");
        }
    }
}
