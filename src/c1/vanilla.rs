//! Verification of the vanilla proofs: everything that the circuit will enforce, by hashing.
//!
//! Written from the protocol on our own types. It goes beyond the reference's `Proof::verify`,
//! which never hashes the `comm_d` and `comm_r_last` paths; with [`super::read`], which compares
//! every index, a sector that passes here satisfies its circuit.

use blstrs::Scalar as Fr;
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};
use neptune::poseidon::Poseidon;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::check::equal;
use super::error::C1Error;
use super::path::{ColumnPlace, Path};
use super::{ChallengeProof, ColumnProof, LabelingProof, MerkleProof, Node, Sector};
use crate::field::{to_fr, to_node};
use crate::progress::{Device, Phase, Progress, Unit};

/// A node that [`super::read`] has found to be a field element.
const CANONICAL: &str = "a checked sector's nodes are field elements";

/// Verifies every vanilla proof of a sector that [`super::read`] returned.
///
/// Paths in errors start at `vanilla_proofs`, whatever the file's shape. About 1.6 core-seconds
/// for 32 GiB (180 challenges of 16 Poseidon paths each).
///
/// # Errors
/// [`C1Error::Vanilla`] with the first bad partition, challenge and check in file order.
pub fn check(sector: &Sector, progress: &dyn Progress) -> Result<(), C1Error> {
    let tag = sector.registered_proof.vanilla_tag();
    let top = Path::root("vanilla_proofs");
    let at = top.key(&tag);
    let challenges: Vec<_> = sector
        .partitions
        .iter()
        .enumerate()
        .flat_map(|(partition, proofs)| {
            proofs.iter().enumerate().map(move |(challenge, proof)| (partition, challenge, proof))
        })
        .collect();
    let phase = Phase::new("check-vanilla").total(challenges.len() as u64, Unit::Items);
    let id = progress.start(phase);
    let first_fault = challenges
        .par_iter()
        .map(|&(partition, challenge, proof)| {
            let result = challenge_proof(sector, proof, &at.index(partition).index(challenge));
            progress.advance(id, 1);
            result.map_err(|(check, fault)| C1Error::Vanilla {
                partition,
                challenge,
                check,
                fault: Box::new(fault),
            })
        })
        .find_first(Result::is_err);
    progress.finish(id, 0, Device::Cpu);
    first_fault.unwrap_or(Ok(()))
}

/// The name of a failed check, and its fault.
type Fault = (&'static str, C1Error);

fn challenge_proof(sector: &Sector, proof: &ChallengeProof, at: &Path<'_>) -> Result<(), Fault> {
    let named = |check: &'static str| move |fault: C1Error| (check, fault);
    let leaf = proof.comm_r_last_proof.leaf;
    let (comm_c, comm_r_last) = (&proof.column.inclusion.root, &proof.comm_r_last_proof.root);
    let comm_r = to_node(&poseidon(&[element(comm_c), element(comm_r_last)]));
    equal(&comm_r, &sector.comm_r, "comm_r as hash of comm_c and comm_r_last,", at)
        .map_err(named("comm_r"))?;

    let data_at = at.key("comm_d_proofs");
    let root = sha256_root(&proof.comm_d_proof);
    equal(&root, &sector.comm_d, "a path that ends in", &data_at)
        .map_err(named("the comm_d path"))?;

    for (place, column) in proof.columns() {
        column_proof(column, &at.column(place))?;
    }
    let column_at = at.column(ColumnPlace::Challenged);
    let rows_at = column_at.key("column.rows");
    for (layer, label_proof) in proof.labeling_proofs.iter().enumerate() {
        let label = label(&sector.replica_id, label_proof);
        equal(&proof.column.rows[layer], &label, "the label", &rows_at.index(layer))
            .map_err(named("the label"))?;
    }
    let key = label(&sector.replica_id, &proof.encoding_proof);
    let encoded = to_node(&(element(&key) + element(&proof.comm_d_proof.leaf)));
    let replica_at = at.key("comm_r_last_proof");
    equal(&leaf, &encoded, "the leaf, data plus key,", &replica_at)
        .map_err(named("the encoding"))?;
    let root = poseidon_root(&proof.comm_r_last_proof);
    equal(&root, comm_r_last, "a path that ends in", &replica_at)
        .map_err(named("the comm_r_last path"))
}

fn column_proof(column: &ColumnProof, at: &Path<'_>) -> Result<(), Fault> {
    let rows: Vec<Fr> = column.rows.iter().map(element).collect();
    let hash = to_node(&poseidon(&rows));
    let at = at.key("inclusion_proof");
    equal(&column.inclusion.leaf, &hash, "the column's hash", &at)
        .map_err(|fault| ("the column's hash", fault))?;
    equal(&poseidon_root(&column.inclusion), &column.inclusion.root, "a path that ends in", &at)
        .map_err(|fault| ("the comm_c path", fault))
}

fn element(node: &Node) -> Fr {
    to_fr(node).expect(CANONICAL)
}

/// Poseidon of 2, 8 or 11 elements, in neptune's standard strength.
fn poseidon(elements: &[Fr]) -> Fr {
    match elements.len() {
        2 => Poseidon::new_with_preimage(elements, &POSEIDON_CONSTANTS_2).hash(),
        8 => Poseidon::new_with_preimage(elements, &POSEIDON_CONSTANTS_8).hash(),
        11 => Poseidon::new_with_preimage(elements, &POSEIDON_CONSTANTS_11).hash(),
        arity => unreachable!("no tree and no column has arity {arity}"),
    }
}

fn poseidon_root(proof: &MerkleProof) -> Node {
    let mut siblings = Vec::new();
    let root = proof.path.iter().fold(element(&proof.leaf), |node, level| {
        siblings.clear();
        siblings.extend(level.hashes.iter().map(element));
        siblings.insert(level.index, node);
        poseidon(&siblings)
    });
    to_node(&root)
}

fn sha256_root(proof: &MerkleProof) -> Node {
    proof.path.iter().fold(proof.leaf, |node, level| {
        let (left, right) =
            if level.index == 0 { (node, level.hashes[0]) } else { (level.hashes[0], node) };
        trimmed(Sha256::new().chain_update(left).chain_update(right))
    })
}

/// The label of a node: SHA-256 of replica_id, layer, node (big-endian) and the 37 parents.
fn label(replica_id: &Node, proof: &LabelingProof) -> Node {
    let hash = Sha256::new()
        .chain_update(replica_id)
        .chain_update(proof.layer_index.to_be_bytes())
        .chain_update(proof.node.to_be_bytes())
        .chain_update([0; 20]);
    trimmed(proof.parents.iter().fold(hash, |hash, parent| hash.chain_update(parent)))
}

/// The digest without its top two bits, so that it is a field element.
fn trimmed(hash: Sha256) -> Node {
    let mut node: Node = hash.finalize().into();
    node[31] &= 0x3f;
    node
}
