//! Whole proofs on a GPU against those of the CPU, byte for byte for the same blindings.
//!
//! All tests are ignored where there may be no GPU; `make gpu-test-build` packs this executable
//! with a script that makes the parameters and names their folder in `PROVE_TEST_PARAMS`, and the
//! C1 files' in `PROVE_TEST_DATA`.
#![expect(clippy::print_stdout, reason = "memory over a hundred proofs is an output")]

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ff::Field;
use prove::c1::{self, GivenIds, Sector};
use prove::gpu::{FieldVariant, Gpu};
use prove::groth16::gpu::Job;
use prove::groth16::gpu::plan::{Mode, Plan};
use prove::groth16::native::NativeError;
use prove::groth16::prove::prove_with;
use prove::groth16::synthesis::Circuit;
use prove::groth16::verify::Verifier;
use prove::groth16::{self, Backend, Blinding, ProveError};
use prove::params::layout::Query;
use prove::params::{Folder, FolderChoice, Parameters};
use prove::progress::{Device, Silent};
use prove::sample::{self, Data, SampleOptions};
use prove::sector::{ProofVersion, RegisteredProof, SectorSize};
use prove::sys;
use prove::variant::{self, VariantFlag, Variants};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn folder(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} names a folder")).into()
}

fn sector(name: &str) -> Sector {
    let path = folder("PROVE_TEST_DATA").join(name);
    let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    c1::read(&file, &GivenIds::default()).expect("a fixture").sector
}

fn parameters(size: SectorSize) -> Parameters {
    let folder = Folder { path: folder("PROVE_TEST_PARAMS"), chosen_by: FolderChoice::Flag };
    Parameters::open(&folder, size).expect("the script made them")
}

fn variants(words: &str, device: Device) -> Variants {
    let flags: Vec<VariantFlag> =
        words.split_whitespace().map(|word| word.parse().expect(word)).collect();
    Variants::resolve(variant::Job::Prove, Some(device), &flags).expect(words)
}

/// What proofs are made from, and checked with.
struct Bench {
    sector: Sector,
    parameters: Parameters,
    verifier: Verifier,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self::of(sector(name))
    }

    fn of(sector: Sector) -> Self {
        let parameters = parameters(sector.registered_proof.size);
        let verifier = Verifier::new(parameters.vk());
        Self { sector, parameters, verifier }
    }

    /// The verified proof's bytes, for blindings that depend on the partition alone.
    fn prove(&self, backend: Backend<'_>, words: &str) -> Result<Vec<u8>, ProveError> {
        let proof = self.sector.registered_proof;
        let variants = variants(words, backend.device());
        let circuit = Circuit::new(proof.size, variants);
        let prover = groth16::prover(variants, backend, &self.parameters, proof, circuit)?;
        let mut blinding = |partition: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(partition as u64);
            Blinding { r: Field::random(&mut rng), s: Field::random(&mut rng) }
        };
        let proofs = prove_with(&self.sector, &*prover, &self.verifier, &mut blinding, &Silent)?;
        Ok(groth16::proof::encode(proof, &proofs))
    }

    fn on_gpu(&self, gpu: &Gpu, vram_bytes: Option<u64>, words: &str) -> Vec<u8> {
        self.prove(Backend::Gpu { gpu, vram_bytes }, words).expect(words)
    }

    fn plan(&self, gpu: &Gpu, vram_bytes: Option<u64>) -> Result<Plan, ProveError> {
        let (parameters, proof) = (&self.parameters, self.sector.registered_proof);
        Plan::choose(
            gpu,
            vram_bytes,
            Job { parameters, proof, variants: variants("", Device::Gpu) },
        )
    }
}

fn gpu() -> Gpu {
    Gpu::open(0).expect("these tests are run where there is a GPU")
}

fn same_as_the_cpu(names: &[&str]) {
    let gpu = gpu();
    for name in names {
        let bench = Bench::new(name);
        let expected = bench.prove(Backend::Cpu, "").expect(name);
        assert!(bench.on_gpu(&gpu, None, "") == expected, "{name}: other bytes");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn proof_of_a_2kib_sector_has_the_cpus_bytes_in_every_variant() {
    let (gpu, bench) = (gpu(), Bench::new("c1-2KiB.json"));
    let expected = bench.prove(Backend::Cpu, "").expect("a proof");
    for words in [
        "",
        "bits=each g2=serial",
        "window.h=13 window.tail=9",
        "window.h=23 window.tail=2",
        "msm=generated window.tail=11",
        "synth=classic",
        "synth=reference",
        "ntt=generated",
        "msm=generated",
        "ntt=generated msm=generated",
        "pin=register",
        "pin=off inflight=1",
    ] {
        assert!(bench.on_gpu(&gpu, None, words) == expected, "`{words}` makes other bytes");
    }
    let generated = gpu.with_field(FieldVariant::Generated).expect("the other kernels");
    assert!(bench.on_gpu(&generated, None, "") == expected, "`field=generated`: other bytes");
}

#[test]
#[ignore = "needs a GPU"]
fn proof_of_every_kind_of_2kib_sector_has_the_cpus_bytes() {
    same_as_the_cpu(&[
        "c1-2KiB-v1.json",
        "c1-2KiB-s2.json",
        "c1-2KiB-s3.json",
        "c1-2KiB-s4.json",
        "c1-2KiB-s6.json",
        "c1-2KiB-synthetic.json",
        "c1-2KiB-ni.json",
    ]);
}

#[test]
#[ignore = "needs a GPU"]
fn proof_of_an_8mib_sector_has_the_cpus_bytes() {
    same_as_the_cpu(&["c1-8MiB.json"]);
}

/// A sample, because no sealed sector of this size fits in the tree; resident, then in chunks.
#[test]
#[ignore = "needs a GPU"]
fn proof_of_a_512mib_sample_has_the_cpus_bytes() {
    let proof = RegisteredProof { size: SectorSize::MiB512, version: ProofVersion::V1_1 };
    let options = SampleOptions { data: Data::Tiled, ..SampleOptions::new(proof, 1) };
    let bench = Bench::of(sample::generate(&options, &Silent).expect("a sample"));
    let expected = bench.prove(Backend::Cpu, "").expect("a proof");
    for vram_bytes in [None, Some(8 << 30), Some(4 << 30)] {
        let gpu = gpu();
        let plan = bench.plan(&gpu, vram_bytes).expect("enough");
        assert!(bench.on_gpu(&gpu, vram_bytes, "") == expected, "{plan:?}: other bytes");
        assert!(gpu.peak_bytes() <= plan.device_bytes, "{} of {plan:?}", gpu.peak_bytes());
    }
    let plan = bench.plan(&gpu(), Some(4 << 30)).expect("enough");
    assert!(matches!(plan.mode, Mode::Streamed { .. }), "{plan:?}");
}

#[test]
#[ignore = "needs a GPU"]
fn proof_in_less_memory_has_the_same_bytes_and_keeps_to_its_plan() {
    let bench = Bench::new("c1-2KiB.json");
    let expected = bench.on_gpu(&gpu(), None, "");
    let needed_bytes = match bench.plan(&gpu(), Some(0)) {
        Err(ProveError::Memory(error)) => error.needed_bytes,
        other => panic!("{other:?}"),
    };
    let mut modes = Vec::new();
    for bytes in [needed_bytes, needed_bytes + (300 << 20), 2 << 30, 139 << 30] {
        // A device of its own each, for its peak.
        let gpu = gpu();
        let plan = bench.plan(&gpu, Some(bytes)).expect("enough");
        assert!(bench.on_gpu(&gpu, Some(bytes), "") == expected, "{plan:?}: other bytes");
        assert!(gpu.peak_bytes() <= plan.device_bytes, "{} of {plan:?}", gpu.peak_bytes());
        modes.push(plan.mode);
    }
    assert!(matches!(modes[0], Mode::Streamed { .. }), "{modes:?}");
    assert_eq!(modes[3], Mode::Resident);
    let error = bench.prove(Backend::Gpu { gpu: &gpu(), vram_bytes: Some(needed_bytes - 1) }, "");
    assert!(matches!(error, Err(ProveError::Memory(_))), "{error:?}");
}

#[test]
#[ignore = "needs a GPU"]
fn proof_with_a_broken_point_names_it() {
    const INDEX: usize = 12_345;
    let good = Bench::new("c1-2KiB.json");
    let folder = tempfile::tempdir().expect("a folder");
    let files = good.parameters.files();
    for path in [&files.params, &files.vk, &files.marker] {
        let name = path.file_name().expect("a file");
        std::fs::copy(path, folder.path().join(name)).expect("room for a copy");
    }
    let name = files.params.file_name().expect("a file");
    let offset = good.parameters.layout().query(Query::L).start + (96 * INDEX) as u64;
    let params = OpenOptions::new().write(true).open(folder.path().join(name)).expect("a copy");
    params.write_all_at(&[0xff], offset).expect("a byte");
    let path = folder.path().to_path_buf();
    let folder = Folder { path, chosen_by: FolderChoice::Flag };
    let parameters = Parameters::open(&folder, SectorSize::KiB2).expect("no sample meets it");
    let broken = Bench { parameters, ..good };
    match broken.prove(Backend::Gpu { gpu: &gpu(), vram_bytes: None }, "") {
        Err(ProveError::Native { source: NativeError::Point { query, index }, .. }) => {
            assert_eq!((query, index), (Query::L, INDEX));
        }
        other => panic!("{other:?}"),
    }
}

/// A hundred proofs in one process, each verified: the memory of neither device nor host grows.
#[test]
#[ignore = "needs a GPU"]
fn proof_after_proof_takes_no_more_memory() {
    /// What may lie in pages that the allocator cannot give back after one proof and not another.
    const SLACK_BYTES: u64 = 32 << 20;
    // As the program does; and what is free in small blocks hides what is not.
    sys::return_large_blocks();
    let (gpu, bench) = (gpu(), Bench::new("c1-2KiB.json"));
    let first = bench.on_gpu(&gpu, None, "");
    let free_bytes = gpu.free_bytes().expect("the driver");
    let mut anon_bytes = Vec::new();
    for _ in 1..100 {
        assert!(bench.on_gpu(&gpu, None, "") == first, "other bytes");
        assert_eq!(gpu.free_bytes().expect("the driver"), free_bytes);
        sys::release_free_memory();
        anon_bytes.push(sys::resident().anon_bytes);
    }
    let highest = |bytes: &[u64]| bytes.iter().copied().max().expect("proofs");
    let (early, late) = anon_bytes.split_at(anon_bytes.len() * 2 / 3);
    println!("RssAnon at most {} at first, {} later", highest(early), highest(late));
    assert!(highest(late) <= highest(early) + SLACK_BYTES, "{anon_bytes:?}");
}
