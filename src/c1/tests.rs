//! C1 files sealed by the reference, and what can be done to them.

use std::time::Duration;

mod hostile;
mod parallel;
mod random;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{PublicInputs, StackedDrg, Tau};

use super::*;
use crate::progress::Silent;
use crate::reference::{self, DataHasher};
use crate::sample::{self, SampleOptions};
use crate::sector::{ProofKind, RegisteredProof, SectorSize};
use crate::with_tree;

const S1: &[u8] = include_bytes!("../../testdata/c1-2KiB.json");
const S2: &[u8] = include_bytes!("../../testdata/c1-2KiB-s2.json");
const S3: &[u8] = include_bytes!("../../testdata/c1-2KiB-s3.json");
const S4: &[u8] = include_bytes!("../../testdata/c1-2KiB-s4.json");
const S6: &[u8] = include_bytes!("../../testdata/c1-2KiB-s6.json");
const V1: &[u8] = include_bytes!("../../testdata/c1-2KiB-v1.json");
const SYNTHETIC: &[u8] = include_bytes!("../../testdata/c1-2KiB-synthetic.json");
const NON_INTERACTIVE: &[u8] = include_bytes!("../../testdata/c1-2KiB-ni.json");
const MIB8: &[u8] = include_bytes!("../../testdata/c1-8MiB.json");

fn read_plain(bytes: &[u8]) -> Result<Read, C1Error> {
    read(bytes, &GivenIds::default())
}

/// Reads and verifies the vanilla proofs.
fn read_strictly(bytes: &[u8]) -> Result<Read, C1Error> {
    let read = read_plain(bytes)?;
    vanilla::check(&read.sector, &Silent)?;
    Ok(read)
}

/// An error as a person sees it, with its causes.
fn told(error: C1Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}

fn sealed(bytes: &[u8]) -> Sector {
    read_plain(bytes).expect("a sealed fixture").sector
}

/// The reference's verdict on a sector's vanilla proofs.
fn reference_verdict(sector: &Sector) -> bool {
    fn verdict<Tree: 'static + MerkleTreeTrait>(sector: &Sector) -> bool {
        let params = reference::public_params::<Tree>(sector.registered_proof, sector.porep_id)
            .expect("parameters");
        let inputs = PublicInputs {
            replica_id: sector.replica_id.into(),
            seed: Some(sector.seed),
            tau: Some(Tau { comm_d: sector.comm_d.into(), comm_r: sector.comm_r.into() }),
            k: None,
        };
        let proofs = reference::vanilla_proofs::<Tree>(sector).expect("the reference's types");
        StackedDrg::<Tree, DataHasher>::verify_all_partitions(&params, &inputs, &proofs)
            .expect("a verdict")
    }
    with_tree!(sector.registered_proof.size, verdict(sector))
}

/// Every 32-byte value in a sector's vanilla proofs.
fn nodes_mut(sector: &mut Sector) -> Vec<&mut Node> {
    fn merkle(proof: &mut MerkleProof) -> Vec<&mut Node> {
        let siblings = proof.path.iter_mut().flat_map(|level| &mut level.hashes);
        [&mut proof.root, &mut proof.leaf].into_iter().chain(siblings).collect()
    }
    let mut nodes = Vec::new();
    for proof in sector.partitions.iter_mut().flatten() {
        nodes.extend(merkle(&mut proof.comm_d_proof));
        nodes.extend(merkle(&mut proof.comm_r_last_proof));
        let parents = proof.drg_parents.iter_mut().chain(&mut proof.exp_parents);
        for column in std::iter::once(&mut proof.column).chain(parents) {
            nodes.extend(merkle(&mut column.inclusion));
            nodes.extend(&mut column.rows);
        }
        let labels = proof.labeling_proofs.iter_mut();
        for label in labels.chain(std::iter::once(&mut proof.encoding_proof)) {
            nodes.extend(&mut label.parents);
        }
    }
    nodes
}

#[test]
fn sealed_files_of_every_shape_read_and_verify() {
    let fixtures = [
        (S1, Shape::Base64, "StackedDrg2KiBV1_1"),
        (S2, Shape::Base64WithIds, "StackedDrg2KiBV1_1"),
        (S3, Shape::Bare, "StackedDrg2KiBV1_1"),
        (S4, Shape::SnarkMarket, "StackedDrg2KiBV1_1"),
        (S6, Shape::Damocles, "StackedDrg2KiBV1_1"),
        (V1, Shape::Bare, "StackedDrg2KiBV1"),
        (SYNTHETIC, Shape::Base64, "StackedDrg2KiBV1_1_Feat_SyntheticPoRep"),
        (NON_INTERACTIVE, Shape::Bare, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"),
        (MIB8, Shape::Base64, "StackedDrg8MiBV1_1"),
    ];
    for (bytes, shape, name) in fixtures {
        let read = read_strictly(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (read.shape, read.sector.registered_proof.to_string()),
            (shape, name.to_owned())
        );
        assert!(reference_verdict(&read.sector), "{name}");
        let source = match shape {
            Shape::Base64 => Some(IdSource::Search),
            Shape::Bare => None,
            _ => Some(IdSource::File),
        };
        assert_eq!(read.ids.miner_id(), source.map(|_| 1000));
        assert_eq!(read.ids.prover_id.map(|(_, source)| source), source);
        assert_eq!(read.ids.sector_num, source.map(|_| (1, IdSource::File)));
    }
    for bytes in [S2, S3, S4, S6] {
        assert_eq!(sealed(bytes), sealed(S1));
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let marked = [BYTE_ORDER_MARK, S3].concat();
    assert_eq!(read_plain(&marked).expect("the mark is skipped"), read_plain(S3).expect("good"));
    assert!(read_plain(&[BYTE_ORDER_MARK, &marked].concat()).is_err(), "one mark at most");
    assert!(matches!(read_plain(BYTE_ORDER_MARK), Err(C1Error::Empty)));
}

#[test]
fn given_ids_are_checked_against_a_bare_file() {
    let given = GivenIds { miner_id: Some(1000), sector_num: Some(1), ..GivenIds::default() };
    let ids = read(S3, &given).expect("the right ids").ids;
    assert_eq!((ids.miner_id(), ids.sector_num), (Some(1000), Some((1, IdSource::Given))));
    let wrong = GivenIds { miner_id: Some(1001), ..given };
    let error = read(S3, &wrong).expect_err("another miner").to_string();
    assert!(error.contains("sector 1 is of miner 1000"), "{error}");
    let porep_id = GivenIds { porep_id: Some([9; 32]), ..GivenIds::default() };
    let error = read(S3, &porep_id).expect_err("another porep id");
    assert!(matches!(error, C1Error::Parent { .. }), "{error}");
    assert!(error.to_string().contains("the parents of StackedDrg2KiBV1_1 and porep id 0x05"));
}

#[test]
fn written_files_are_the_sealers_bytes() {
    for bytes in [S3, V1, NON_INTERACTIVE] {
        let written = serde_json::to_vec(&sealed(bytes)).expect("written");
        assert!(written == bytes);
    }
    for bytes in [S1, SYNTHETIC, MIB8] {
        let mut written = Vec::new();
        write_base64(&sealed(bytes), 1, &mut written).expect("written");
        assert!(written == bytes);
    }
}

#[test]
fn every_registered_proof_round_trips() {
    for proof in RegisteredProof::all() {
        let is_huge = proof.kind() == ProofKind::NonInteractive && proof.size.is_production();
        if is_huge || (proof.size == SectorSize::GiB64 && proof.kind() != ProofKind::Interactive) {
            continue;
        }
        let sector = random::sector(proof);
        let json = serde_json::to_vec(&sector).expect("written");
        let read = read_plain(&json).unwrap_or_else(|error| panic!("{proof}: {error}"));
        assert!(read.sector == sector, "{proof}");
        fn converts<Tree: 'static + MerkleTreeTrait>(sector: &Sector) -> bool {
            reference::vanilla_proofs::<Tree>(sector).is_ok()
        }
        assert!(with_tree!(proof.size, converts(&sector)), "{proof}");
        let error = vanilla::check(&sector, &Silent).expect_err("random nodes");
        assert!(matches!(error, C1Error::Vanilla { partition: 0, challenge: 0, .. }));
    }
}

#[test]
fn no_changed_node_verifies() {
    let seed = 3;
    println!("seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut ours_only, rounds) = (0, 300);
    for _ in 0..rounds {
        let mut sector = sealed(if rng.r#gen() { S3 } else { V1 });
        let mut nodes = nodes_mut(&mut sector);
        let (node, bit) = (rng.gen_range(0..nodes.len()), rng.gen_range(0..248));
        nodes[node][bit / 8] ^= 1 << (bit % 8);
        let strict = read_strictly(&serde_json::to_vec(&sector).expect("written"));
        let error = told(strict.expect_err("a changed node"));
        assert!(error.contains("vanilla_proofs.StackedDrg2KiBV1[0]["), "{error}");
        ours_only += u32::from(reference_verdict(&sector));
    }
    // The reference hashes neither comm_d nor comm_r_last paths.
    assert!(ours_only > 0 && ours_only < rounds, "{ours_only}");
}

/// Samples verify without having been sealed; figures show with `--nocapture`.
#[test]
fn samples_of_production_sizes_read_and_verify() {
    for name in ["StackedDrg32GiBV1_1", "StackedDrg64GiBV1"] {
        let options = SampleOptions::new(name.parse().expect("a registered name"), 0);
        let sector = sample::generate(&options, &Silent).expect("a sample");
        let mut file = Vec::new();
        write_base64(&sector, 1, &mut file).expect("written");
        let read = read_plain(&file).expect("a sample reads");
        assert!(read.sector == sector && read.ids.miner_id() == Some(1000));
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let (verdict, spent) = one_thread.install(|| {
            let start = cpu_time();
            (vanilla::check(&read.sector, &Silent), cpu_time() - start)
        });
        verdict.expect("a sample verifies");
        println!("{name}: vanilla check in {spent:?} on one core");
    }
}

/// This thread's processor time, so that figures hold on a busy machine.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = stat.split(' ').next().and_then(|text| text.parse().ok()).expect("nanoseconds");
    Duration::from_nanos(nanos)
}

#[test]
fn speed_of_the_miner_search() {
    let sector = sealed(S3);
    let absent = shape::FileIds { sector_nums: vec![("SectorNum", 2)], ..Default::default() };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let spent = one_thread.install(|| {
        let start = cpu_time();
        let error = ids::resolve(&sector, &absent, &GivenIds::default()).expect_err("no miner");
        assert!(matches!(error, C1Error::NotFound { .. }), "{error}");
        cpu_time() - start
    });
    println!("{} miner ids in {spent:?} on one core", ids::SEARCH_END);
    assert!(spent < Duration::from_secs(3), "{spent:?}");
}

/// Its figures show with `cargo test --release c1::tests::speed -- --nocapture`.
#[test]
fn speed_at_32_gib() {
    let sector = random::sector("StackedDrg32GiBV1_1".parse().expect("a registered name"));
    let mut file = Vec::new();
    write_base64(&sector, 1, &mut file).expect("written");
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let (read, times) = one_thread.install(|| {
        let start = cpu_time();
        let opened = shape::Opened::new(&file).expect("a shape");
        let opened_at = cpu_time();
        let output = opened.document().output().expect("an output");
        let parsed_at = cpu_time();
        let read = check::sector(output, None, &Path::root("")).expect("a sector");
        let checked_at = cpu_time();
        graph::check(&read, &Path::root("")).expect("the graph");
        (read, [start, opened_at, parsed_at, checked_at, cpu_time()])
    });
    assert!(read == sector);
    let [unwrap, parse, check, graph] = [0, 1, 2, 3].map(|stage| times[stage + 1] - times[stage]);
    let all = times[4] - times[0];
    println!(
        "{} bytes of S1: unwrap {unwrap:?}, parse {parse:?}, check {check:?}, graph {graph:?}, \
         all {all:?} on one core",
        file.len(),
    );
    assert!(all < Duration::from_secs(2), "{all:?}");
}
