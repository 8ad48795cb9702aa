//! The oracles themselves: upstream accepts what is right and refuses what is not.

#![expect(clippy::print_stdout, reason = "what upstream says of a proof from outside")]

mod common;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use common::oracle::{Sector, vk_name, vk_name_2kib};
use common::prover::compound_prove;
use common::simulator::Trapdoor;
use common::upstream::root;
use common::verifier::{compound_verify, verify_seal};
use filecoin_proofs_api::ApiFeature;

/// Names the C1 file, without its end, of which upstream is to make a proof first.
const PROVE: &str = "PROVE_TESTDATA";
/// C1 files of which `testdata/upstream/` has a proof.
const PROVED: [&str; 2] = ["c1-2KiB", "c1-2KiB-synthetic"];
/// Name the files of `make verify-upstream`.
const OUTSIDE: [&str; 3] = ["VERIFY_C1", "VERIFY_VK", "VERIFY_PROOF"];

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

#[test]
#[ignore = "judges files from outside: `make verify-upstream C1=FILE VK=FILE PROOF=FILE`"]
fn a_proof_from_outside_verifies_and_nothing_near_it() {
    let [c1, vk, proof] = OUTSIDE.map(|variable| {
        PathBuf::from(std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is set")))
    });
    let read = |path: &PathBuf| {
        fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let (sector, proof) = (Sector::from_json(&read(&c1)).expect("a C1 file"), read(&proof));
    let registered = sector.0.registered_proof;
    // `verify_seal` looks for the key under its own name.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("target/tmp exists");
    fs::write(folder.path().join(vk_name(registered)), read(&vk)).expect("the folder is ours");
    let is_interactive = !registered.feature_enabled(ApiFeature::NonInteractivePoRep);
    let asks_verify_seal = sector.is_of_the_usual_miner() && is_interactive;
    let check = |door: &str, what: &str, said: Result<bool>, verdict: bool| {
        // Bytes that are no point are an error upstream, and refused as well.
        let said = said.map_err(|error| error.to_string());
        println!("{door}, {what}: {said:?}");
        assert_eq!(said == Ok(true), verdict, "{door}, {what}");
    };
    let judge = |what: &str, sector: &Sector, proof: &[u8], verdict: bool| {
        check("compound_verify", what, compound_verify(sector, &vk, proof), verdict);
        if asks_verify_seal {
            check("verify_seal", what, verify_seal(sector, folder.path(), proof), verdict);
        }
    };
    println!("{registered:?}, {} bytes; verify_seal is asked: {asks_verify_seal}", proof.len());
    judge("the proof", &sector, &proof, true);
    let mut other = Sector(sector.0.clone());
    other.0.comm_r[0] ^= 1;
    judge("another comm_r", &other, &proof, false);
    if is_interactive {
        other.0.comm_r[0] ^= 1;
        other.0.seed[0] ^= 1;
        judge("another seed", &other, &proof, false);
    }
    for (partition, start) in (0..proof.len()).step_by(192).enumerate() {
        let mut bent = proof.clone();
        // The flag that tells A from -A: still a point.
        bent[start] ^= 0x20;
        judge(&format!("-A in partition {partition}"), &sector, &bent, false);
        bent.copy_from_slice(&proof);
        bent[start + 191] ^= 1;
        judge(&format!("a byte of C in partition {partition}"), &sector, &bent, false);
    }
}
