//! The hashes of the protocol, on nodes.
//!
//! Nodes must be field elements, as `check.rs` has found those of every [`super::Sector`] to be.

use blstrs::Scalar as Fr;
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};
use neptune::poseidon::Poseidon;
use sha2::{Digest, Sha256};

use super::{LabelingProof, MerkleProof, Node};
use crate::field::{to_fr, to_node};

/// The commitment to a replica: Poseidon of `comm_c` and `comm_r_last`.
pub(super) fn comm_r(comm_c: &Node, comm_r_last: &Node) -> Node {
    to_node(&poseidon(&[element(comm_c), element(comm_r_last)]))
}

/// The hash of a column: Poseidon of its 2 or 11 labels.
pub(super) fn column(rows: &[Node]) -> Node {
    let rows: Vec<Fr> = rows.iter().map(element).collect();
    to_node(&poseidon(&rows))
}

/// The root that a path of the replica or column tree leads to.
pub(super) fn poseidon_root(proof: &MerkleProof) -> Node {
    let mut nodes = Vec::new();
    let root = proof.path.iter().fold(element(&proof.leaf), |node, level| {
        nodes.clear();
        nodes.extend(level.hashes.iter().map(element));
        nodes.insert(level.index, node);
        poseidon(&nodes)
    });
    to_node(&root)
}

/// The root that a path of the data tree leads to.
pub(super) fn sha256_root(proof: &MerkleProof) -> Node {
    proof.path.iter().fold(proof.leaf, |node, level| {
        let sibling = level.hashes[0];
        let (left, right) = if level.index == 0 { (node, sibling) } else { (sibling, node) };
        trimmed(Sha256::new().chain_update(left).chain_update(right))
    })
}

/// The label of a node: SHA-256 of replica_id, layer and node (big-endian), zeros up to 64 bytes,
/// and the 37 parents.
pub(super) fn label(replica_id: &Node, proof: &LabelingProof) -> Node {
    let hash = Sha256::new()
        .chain_update(replica_id)
        .chain_update(proof.layer_index.to_be_bytes())
        .chain_update(proof.node.to_be_bytes())
        .chain_update([0; 20]);
    trimmed(proof.parents.iter().fold(hash, |hash, parent| hash.chain_update(parent)))
}

/// The replica's node: data plus key, in the field.
pub(super) fn encode(key: &Node, data: &Node) -> Node {
    to_node(&(element(key) + element(data)))
}

fn element(node: &Node) -> Fr {
    to_fr(node).expect("a checked sector's nodes are field elements")
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

/// The digest without its top two bits, so that it is a field element.
fn trimmed(hash: Sha256) -> Node {
    let mut node: Node = hash.finalize().into();
    node[31] &= 0x3f;
    node
}
