//! Samples against the reference's vanilla verification, its trees and its zero commitments.

mod circuit;

use anyhow::{Result, ensure};
use filecoin_hashers::Domain;
use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
use filecoin_hashers::sha256::Sha256Domain;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::{BinaryMerkleTree, MerkleProofTrait, MerkleTreeTrait};
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{self, StackedCompound, StackedDrg, Tau};

use super::data::DataTree;
use super::random::Source;
use super::{Data, SampleError, SampleIds, SampleOptions, generate};
use crate::c1::{self, ColumnProof, GivenIds, MerkleProof, Node, PathElement, Sector, Shape};
use crate::progress::Silent;
use crate::reference::{DataHasher, public_params, vanilla_proofs};
use crate::sector::{LABEL_PARENTS, ProofVersion, RegisteredProof, SectorSize};
use crate::with_tree;

type PublicInputs = stacked::PublicInputs<PoseidonDomain, Sha256Domain>;

fn public_inputs(sector: &Sector) -> Result<PublicInputs> {
    Ok(PublicInputs {
        replica_id: PoseidonDomain::try_from_bytes(&sector.replica_id)?,
        seed: Some(sector.seed),
        tau: Some(Tau {
            comm_d: Sha256Domain::try_from_bytes(&sector.comm_d)?,
            comm_r: PoseidonDomain::try_from_bytes(&sector.comm_r)?,
        }),
        k: None,
    })
}

/// What `seal_commit_phase1` asks of its own output, and the hashes of the two paths that it
/// leaves to the circuit.
fn verify<Tree>(sector: &Sector) -> Result<()>
where
    Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>,
{
    let params = public_params::<Tree>(sector.registered_proof, sector.porep_id)?;
    let proofs = vanilla_proofs::<Tree>(sector)?;
    ensure!(proofs.len() == sector.registered_proof.partitions(), "partitions");
    ensure!(
        StackedDrg::<Tree, DataHasher>::verify_all_partitions(
            &params,
            &public_inputs(sector)?,
            &proofs
        )?,
        "vanilla proofs"
    );
    for proof in proofs.iter().flatten() {
        ensure!(proof.comm_d_proofs.verify(), "comm_d path");
        ensure!(proof.comm_r_last_proof.verify(), "comm_r_last path");
    }
    Ok(())
}

/// Synthesizes the reference's circuit for partition 0.
fn satisfy<Tree>(sector: &Sector) -> Result<()>
where
    Tree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>,
{
    type Compound<Tree> = StackedCompound<Tree, DataHasher>;
    let params = public_params::<Tree>(sector.registered_proof, sector.porep_id)?;
    let inputs = public_inputs(sector)?;
    let proofs = vanilla_proofs::<Tree>(sector)?;
    let circuit = Compound::circuit(&inputs, Default::default(), &proofs[0], &params, Some(0))?;
    let expected = Compound::generate_public_inputs(&inputs, &params, Some(0))?;
    let rows = sector.registered_proof.size.circuit().constraints;
    circuit::satisfied(circuit, &expected, rows)
}

/// What vanilla verification leaves to the circuit: labels hash the opened columns.
fn verify_parents(sector: &Sector) -> Result<()> {
    for proof in sector.partitions.iter().flatten() {
        for label in &proof.labeling_proofs {
            let layer = label.layer_index as usize;
            let mut parents: Vec<Node> =
                proof.drg_parents.iter().map(|column| column.rows[layer - 1]).collect();
            if layer > 1 {
                parents.extend(proof.exp_parents.iter().map(|column| column.rows[layer - 2]));
            }
            let repeated: Vec<Node> = parents.iter().copied().cycle().take(LABEL_PARENTS).collect();
            ensure!(label.parents == repeated, "parents of layer {layer}");
        }
        ensure!(Some(&proof.encoding_proof) == proof.labeling_proofs.last(), "encoding");
    }
    Ok(())
}

fn check(sector: &Sector) -> Result<()> {
    verify_parents(sector)?;
    with_tree!(sector.registered_proof.size, verify(sector))
}

fn options(size: SectorSize, version: ProofVersion, data: Data, seed: u64) -> SampleOptions {
    SampleOptions { data, ..SampleOptions::new(RegisteredProof { size, version }, seed) }
}

fn sample(options: &SampleOptions) -> Sector {
    generate(options, &Silent).expect("interactive proofs have samples")
}

fn accept(size: SectorSize, version: ProofVersion, data: Data, seed: u64) {
    let options = options(size, version, data, seed);
    if let Err(error) = check(&sample(&options)) {
        panic!("the reference refuses the sample of {options:?}: {error}");
    }
}

#[test]
fn the_reference_accepts_every_kind_of_2kib_and_8mib_sample() {
    for (size, seeds) in [(SectorSize::KiB2, 200), (SectorSize::MiB8, 6)] {
        for seed in 0..seeds {
            let data = if seed % 2 == 0 { Data::Zeros } else { Data::Tiled };
            let version = if seed / 2 % 2 == 0 { ProofVersion::V1_1 } else { ProofVersion::V1 };
            accept(size, version, data, seed);
        }
    }
}

#[test]
fn the_reference_accepts_512mib_samples() {
    accept(SectorSize::MiB512, ProofVersion::V1_1, Data::Tiled, 1);
    accept(SectorSize::MiB512, ProofVersion::V1, Data::Zeros, 2);
}

#[test]
fn the_reference_accepts_32gib_samples() {
    accept(SectorSize::GiB32, ProofVersion::V1_1, Data::Tiled, 1);
    accept(SectorSize::GiB32, ProofVersion::V1, Data::Zeros, 2);
}

#[test]
fn the_reference_accepts_64gib_samples() {
    accept(SectorSize::GiB64, ProofVersion::V1_1, Data::Zeros, 1);
    accept(SectorSize::GiB64, ProofVersion::V1, Data::Tiled, 2);
}

#[test]
fn our_own_reader_and_checks_accept_a_sample_of_every_size() {
    for size in SectorSize::ALL {
        let sector = sample(&options(size, ProofVersion::V1_1, Data::Tiled, 0));
        let mut file = Vec::new();
        c1::write_base64(&sector, 1, &mut file).expect("memory takes everything");
        let read = c1::read(&file, &GivenIds::default()).expect("a sample is a C1 file");
        assert_eq!((read.shape, read.ids.miner_id()), (Shape::Base64, Some(1000)), "{size}");
        assert_eq!(read.sector, sector, "{size}");
        c1::vanilla::check(&sector, &Silent).expect("right vanilla proofs");
    }
}

/// The small graph is where challenges and parents coincide: the test above meets all of it.
#[test]
fn seeds_of_2kib_meet_every_coincidence() {
    let mut met = [0; 6];
    for seed in 0..200 {
        let options = options(SectorSize::KiB2, ProofVersion::V1_1, Data::Zeros, seed);
        let sector = sample(&options);
        let [one, two] = &sector.partitions[0][..] else { panic!("two challenges at 2 KiB") };
        let parents = |columns: &[ColumnProof]| -> Vec<u32> {
            columns.iter().map(|column| column.index).collect()
        };
        let drg = [parents(&one.drg_parents), parents(&two.drg_parents)];
        let exp = [parents(&one.exp_parents), parents(&two.exp_parents)];
        let node = [one.column.index, two.column.index];
        for (count, coincide) in met.iter_mut().zip([
            node[0] == node[1],
            drg[0].contains(&node[1]) || drg[1].contains(&node[0]),
            exp[0].contains(&node[1]) || exp[1].contains(&node[0]),
            exp[0].contains(&node[0]) || exp[1].contains(&node[1]),
            exp.concat().contains(&0) || drg.concat().contains(&0),
            node.contains(&1),
        ]) {
            *count += u32::from(coincide);
        }
    }
    assert!(met.iter().all(|&count| count > 0), "{met:?}");
}

#[test]
fn samples_satisfy_the_references_circuit() {
    for (size, data) in [(SectorSize::KiB2, Data::Zeros), (SectorSize::MiB8, Data::Tiled)] {
        let sector = sample(&options(size, ProofVersion::V1_1, data, 3));
        with_tree!(size, satisfy(&sector)).expect("a satisfied circuit");
    }
    let mut sector = sample(&options(SectorSize::KiB2, ProofVersion::V1_1, Data::Zeros, 3));
    sector.partitions[0][0].exp_parents[0].rows[0][0] ^= 1;
    let error = with_tree!(SectorSize::KiB2, satisfy(&sector)).expect_err("a changed column");
    assert!(error.to_string().contains("is violated"), "{error}");
}

#[test]
fn the_check_refuses_any_changed_value() {
    let sector = sample(&options(SectorSize::KiB2, ProofVersion::V1_1, Data::Tiled, 1));
    type Value = fn(&mut Sector) -> &mut Node;
    let values: [(&str, Value); 12] = [
        ("comm_r", |s| &mut s.comm_r),
        ("comm_d", |s| &mut s.comm_d),
        ("replica_id", |s| &mut s.replica_id),
        ("seed", |s| &mut s.seed),
        ("data leaf", |s| &mut s.partitions[0][1].comm_d_proof.leaf),
        ("data path", |s| &mut s.partitions[0][1].comm_d_proof.path[3].hashes[0]),
        ("replica leaf", |s| &mut s.partitions[0][0].comm_r_last_proof.leaf),
        ("replica path", |s| &mut s.partitions[0][0].comm_r_last_proof.path[1].hashes[6]),
        ("column", |s| &mut s.partitions[0][1].column.rows[0]),
        ("column path", |s| &mut s.partitions[0][1].column.inclusion.path[0].hashes[2]),
        ("parent's column", |s| &mut s.partitions[0][0].exp_parents[7].rows[1]),
        ("label", |s| &mut s.partitions[0][0].labeling_proofs[1].parents[36]),
    ];
    for (name, value) in values {
        let mut changed = sector.clone();
        value(&mut changed)[0] ^= 1;
        assert!(check(&changed).is_err(), "a changed {name} went through");
    }
    check(&sector).expect("the unchanged sample is right");
}

#[test]
fn equal_options_give_equal_samples_on_any_number_of_threads() {
    let options = options(SectorSize::MiB8, ProofVersion::V1_1, Data::Tiled, 7);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread starts");
    let sector = sample(&options);
    assert_eq!(alone.install(|| sample(&options)), sector);
    let other = SampleOptions { seed: 8, ..options };
    assert_ne!(sample(&other).comm_d, sector.comm_d);
    assert_ne!(sample(&other).comm_r, sector.comm_r);
}

#[test]
fn data_trees_are_those_of_the_reference() {
    for (levels, data) in [(6, Data::Tiled), (6, Data::Zeros), (14, Data::Tiled)] {
        let tree = DataTree::new(data, levels, &Source::new(3));
        let leaves = (0..1 << levels).map(|index| {
            Sha256Domain::try_from_bytes(&tree.leaf(index)).expect("a leaf is a node")
        });
        let reference: BinaryMerkleTree<DataHasher> =
            BinaryMerkleTree::<DataHasher>::new(leaves).expect("the leaves are a power of two");
        assert_eq!(tree.root(), <[u8; 32]>::from(reference.root()), "{data:?}");
        for index in [0, 1, (1 << levels) - 1, 37] {
            let ours = tree.proof(index as u64);
            let theirs = reference.gen_proof(index).expect("the leaf is in the tree");
            let path = theirs.path().into_iter().map(|(hashes, index)| PathElement {
                hashes: hashes.into_iter().map(Into::into).collect(),
                index,
            });
            let theirs = MerkleProof {
                root: theirs.root().into(),
                leaf: theirs.leaf().into(),
                path: path.collect(),
            };
            assert_eq!(ours, theirs, "leaf {index} of {data:?}");
        }
    }
}

#[test]
fn zero_data_has_the_networks_zero_commitment() {
    let root =
        |size: SectorSize| DataTree::new(Data::Zeros, size.data_levels(), &Source::new(0)).root();
    for size in [SectorSize::KiB2, SectorSize::MiB8] {
        let bytes = filecoin_proofs::SectorSize(size.bytes());
        let zero = filecoin_proofs::compute_comm_d(bytes, &[]).expect("no pieces");
        assert_eq!(root(size), zero, "{size}");
    }
    // The reference would hash all 32 and 64 GiB; these are the network's published values.
    for (size, zero) in [
        (SectorSize::GiB32, "077e5fde35c50a9303a55009e3498a4ebedff39c42b710b730d8ec7ac7afa63e"),
        (SectorSize::GiB64, "e64005a6bfe3777953b8ad6ef93f0fca1049b2041654f2a411f7702799cece02"),
    ] {
        assert_eq!(hex::encode(root(size)), zero, "{size}");
    }
}

#[test]
fn default_ids_are_lotus_benchs_and_other_seeds_change_the_challenges() {
    let proof = RegisteredProof { size: SectorSize::GiB32, version: ProofVersion::V1_1 };
    let ids = SampleOptions::new(proof, 0).ids;
    assert_eq!(ids.prover_id[..3], [0xe8, 0x07, 0], "t01000 as a varint");
    assert_eq!((ids.sector_num, ids.ticket, ids.seed), (1, [1; 32], [1; 32]));
    assert_ne!(SampleIds::for_seed(1).seed, SampleIds::for_seed(2).seed);
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    for version in [ProofVersion::Synthetic, ProofVersion::NonInteractive] {
        let options = options(SectorSize::KiB2, version, Data::Zeros, 0);
        let error = generate(&options, &Silent).expect_err("no such samples");
        assert!(matches!(error, SampleError::ChallengesNeedReplica { .. }));
        assert!(error.to_string().contains("follow from comm_r"), "{error}");
    }
    let mut options = options(SectorSize::KiB2, ProofVersion::V1, Data::Zeros, 0);
    options.ids.seed = [0; 32];
    assert!(matches!(generate(&options, &Silent), Err(SampleError::ZeroSeed)));
}
