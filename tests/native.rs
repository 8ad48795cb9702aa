//! The native prover against bellperson on a sealed sector: the same bytes for the same blinding,
//! whatever the variant.

mod common;

use common::files::fixture;
use common::insecure::insecure_2kib;
use ff::Field;
use prove::c1::{self, GivenIds};
use prove::groth16::{self, Backend, Blinding, prove::prove_with, verify::Verifier};
use prove::params::{Folder, FolderChoice, Parameters};
use prove::progress::{Device, Silent};
use prove::sector::SectorSize;
use prove::variant::{Job, VariantFlag, Variants};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

#[test]
fn every_variant_makes_the_bytes_that_bellperson_makes() {
    let file = fixture("c1-2KiB.json");
    let sector = c1::read(&file, &GivenIds::default()).expect("a fixture").sector;
    let folder = Folder { path: insecure_2kib(), chosen_by: FolderChoice::Flag };
    let parameters = Parameters::open(&folder, SectorSize::KiB2).expect("good parameters");
    let verifier = Verifier::new(parameters.vk());
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let blinding = Blinding { r: Field::random(&mut rng), s: Field::random(&mut rng) };
    let prove = |words: &str| {
        let flags: Vec<VariantFlag> =
            words.split_whitespace().map(|word| word.parse().expect(word)).collect();
        let variants = Variants::resolve(Job::Prove, Some(Device::Cpu), &flags).expect(words);
        let prover = groth16::prover(variants, Backend::Cpu, &parameters, sector.registered_proof);
        let prover = prover.expect(words);
        let proofs = prove_with(&sector, &*prover, &verifier, &mut |_| blinding, &Silent);
        groth16::proof::encode(sector.registered_proof, &proofs.expect(words))
    };
    let expected = prove("prover=bellperson synth=reference");
    for words in [
        "",
        "bits=each g2=serial window.h=13 window.tail=9",
        "synth=classic lc=smallvec1 presize=on",
        "synth=reference",
    ] {
        assert!(prove(words) == expected, "`{words}` makes other bytes");
    }
}

#[test]
fn thirteen_partitions_verify_and_do_not_depend_on_how_bits_are_summed() {
    let file = fixture("c1-2KiB-ni.json");
    let sector = c1::read(&file, &GivenIds::default()).expect("a fixture").sector;
    let folder = Folder { path: insecure_2kib(), chosen_by: FolderChoice::Flag };
    let parameters = Parameters::open(&folder, SectorSize::KiB2).expect("good parameters");
    let verifier = Verifier::new(parameters.vk());
    let prove = |word: &str| {
        let flag: VariantFlag = word.parse().expect(word);
        let variants = Variants::resolve(Job::Prove, Some(Device::Cpu), &[flag]).expect(word);
        let prover = groth16::prover(variants, Backend::Cpu, &parameters, sector.registered_proof);
        let prover = prover.expect(word);
        let mut blinding = |partition: usize| Blinding {
            r: (0x1234_5678 + partition as u64).into(),
            s: (0x9abc_def0 + partition as u64).into(),
        };
        let proofs = prove_with(&sector, &*prover, &verifier, &mut blinding, &Silent);
        groth16::proof::encode(sector.registered_proof, &proofs.expect(word))
    };
    let together = prove("bits=pattern");
    assert_eq!(together.len(), 13 * 192);
    assert!(prove("bits=each") == together, "groups change no byte");
}
