//! The opened part of a replica and its two trees, and the proofs that open it.
//!
//! In: the data, the labels and the openings. Out: `comm_r` and the vanilla proof of each opening.

use std::collections::BTreeSet;

use blstrs::Scalar as Fr;
use rayon::prelude::*;

use super::data::DataTree;
use super::labels::Labels;
use super::random::{Place, Source};
use super::tree::{SparseTree, poseidon};
use crate::c1::{ChallengeProof, ColumnProof, Node};
use crate::progress::{Phase, Progress, Unit};
use crate::reference::Opening;
use crate::sector::{DRG_DEGREE, SectorSize};

/// What a sealer would keep, as far as the openings show it.
pub(super) struct Replica<'a> {
    layers: usize,
    data: DataTree,
    labels: Labels<'a>,
    /// `comm_c`: over the hash of every opened column.
    columns: SparseTree<'a>,
    /// `comm_r_last`: over the encoded leaf of every challenged node.
    leaves: SparseTree<'a>,
}

impl<'a> Replica<'a> {
    /// Hashes the opened columns and encodes the challenged leaves, then their trees.
    pub(super) fn new(
        size: SectorSize,
        data: DataTree,
        labels: Labels<'a>,
        openings: &[Vec<Opening>],
        source: &'a Source,
        progress: &dyn Progress,
    ) -> Self {
        let layers = size.layers();
        let challenges = openings.iter().flatten();
        let challenged: BTreeSet<u64> = challenges.clone().map(|o| o.challenge).collect();
        let parents = challenges.flat_map(|o| o.parents).map(u64::from);
        let opened: BTreeSet<u64> = parents.chain(challenged.iter().copied()).collect();
        let column = |node| {
            let rows: Vec<Fr> = labels.column(node).iter().map(field).collect();
            (node, poseidon(&rows))
        };
        let leaf = |node| {
            let key = field(&labels.label(layers, node));
            (node, key + field(&data.leaf(node)))
        };
        let columns = progress.run(Phase::new("hash columns"), 0, |_| {
            let leaves: Vec<u64> = opened.into_iter().collect();
            let leaves = leaves.into_par_iter().map(column).collect();
            let place = |level, index| Place::ColumnTree { level, index };
            SparseTree::new(leaves, size.tree_arities(), place, source)
        });
        let leaves = progress.run(Phase::new("encode replica"), 0, |_| {
            let leaves = challenged.into_iter().map(leaf).collect();
            let place = |level, index| Place::ReplicaTree { level, index };
            SparseTree::new(leaves, size.tree_arities(), place, source)
        });
        Self { layers, data, labels, columns, leaves }
    }

    /// The commitment to the data.
    pub(super) fn comm_d(&self) -> Node {
        self.data.root()
    }

    /// The commitment to the replica, H(comm_c, comm_r_last).
    pub(super) fn comm_r(&self) -> Node {
        poseidon(&[self.columns.root(), self.leaves.root()]).to_bytes_le()
    }

    /// The vanilla proofs of all partitions.
    pub(super) fn prove(
        &self,
        openings: &[Vec<Opening>],
        progress: &dyn Progress,
    ) -> Vec<Vec<ChallengeProof>> {
        let total = openings.iter().map(Vec::len).sum::<usize>() as u64;
        progress.run(Phase::new("open challenges").total(total, Unit::Items), 0, |phase| {
            let prove = |opening: &Opening| {
                let proof = self.prove_challenge(opening);
                progress.advance(phase, 1);
                proof
            };
            openings.par_iter().map(|partition| partition.par_iter().map(prove).collect()).collect()
        })
    }

    fn prove_challenge(&self, opening: &Opening) -> ChallengeProof {
        let labeling_proofs: Vec<_> =
            (1..=self.layers).map(|layer| self.labels.proof(layer, opening)).collect();
        let (drg, exp) = opening.parents.split_at(DRG_DEGREE);
        let columns =
            |nodes: &[u32]| nodes.iter().map(|&node| self.prove_column(node.into())).collect();
        ChallengeProof {
            comm_d_proof: self.data.proof(opening.challenge),
            comm_r_last_proof: self.leaves.proof(opening.challenge),
            column: self.prove_column(opening.challenge),
            drg_parents: columns(drg),
            exp_parents: columns(exp),
            encoding_proof: labeling_proofs[self.layers - 1].clone(),
            labeling_proofs,
        }
    }

    fn prove_column(&self, node: u64) -> ColumnProof {
        ColumnProof {
            index: node as u32,
            rows: self.labels.column(node),
            inclusion: self.columns.proof(node),
        }
    }
}

/// The field element that a label or data leaf is.
fn field(node: &Node) -> Fr {
    Option::from(Fr::from_bytes_le(node)).expect("254 bits are below the modulus")
}
