//! The labels of a sample: right where a proof shows why, random elsewhere.
//!
//! In: the openings. Out: the label of any node in any layer. The label of a challenged node is
//!
//! ```text
//! label(layer, node) = SHA-256(replica_id ‖ layer ‖ node ‖ 0^20 ‖ 37 parents), top 2 bits cleared
//! ```
//!
//! with the 6 DRG parents of its layer and, from layer 2 up, the 8 expander parents of the layer
//! before, repeated. Layers are made from 1 up and challenged nodes ascending in each, so that a
//! challenge which is another's parent is there before it is hashed: DRG edges come from lower
//! nodes, expander edges from the layer before. Node 0 has no parents, so its labels are right too.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::random::{Place, Source, strip};
use crate::c1::{LabelingProof, Node};
use crate::reference::Opening;
use crate::sector::{DRG_DEGREE, LABEL_PARENTS};

/// Labels of all nodes in all layers.
pub(super) struct Labels<'a> {
    source: &'a Source,
    replica_id: Node,
    layers: usize,
    /// The columns of node 0 and of the challenged nodes, layer 1 first.
    determined: BTreeMap<u64, Vec<Node>>,
}

impl<'a> Labels<'a> {
    /// Labels the challenged nodes of all partitions.
    pub(super) fn new<'o>(
        openings: impl IntoIterator<Item = &'o Opening>,
        layers: usize,
        replica_id: Node,
        source: &'a Source,
    ) -> Self {
        let challenged: BTreeMap<u64, &Opening> =
            openings.into_iter().map(|opening| (opening.challenge, opening)).collect();
        let mut labels = Self { source, replica_id, layers, determined: BTreeMap::new() };
        for layer in 1..=layers {
            labels.push(0, labels.hash(layer, 0, &[]));
            for (&node, opening) in &challenged {
                labels.push(node, labels.hash(layer, node, &labels.parents(layer, opening)));
            }
        }
        labels
    }

    /// The label of `node` in `layer`, counted from 1.
    pub(super) fn label(&self, layer: usize, node: u64) -> Node {
        match self.determined.get(&node) {
            Some(column) => column[layer - 1],
            None => self.source.node(Place::Label { layer: layer as u64, node }),
        }
    }

    /// The labels of `node` in all layers, layer 1 first.
    pub(super) fn column(&self, node: u64) -> Vec<Node> {
        (1..=self.layers).map(|layer| self.label(layer, node)).collect()
    }

    /// What the challenged node's label in `layer` hashes.
    pub(super) fn proof(&self, layer: usize, opening: &Opening) -> LabelingProof {
        LabelingProof {
            parents: self.parents(layer, opening),
            layer_index: layer as u32,
            node: opening.challenge,
        }
    }

    fn push(&mut self, node: u64, label: Node) {
        self.determined.entry(node).or_default().push(label);
    }

    fn parents(&self, layer: usize, opening: &Opening) -> Vec<Node> {
        let (drg, exp) = opening.parents.split_at(DRG_DEGREE);
        let mut parents: Vec<Node> =
            drg.iter().map(|&parent| self.label(layer, parent.into())).collect();
        if layer > 1 {
            parents.extend(exp.iter().map(|&parent| self.label(layer - 1, parent.into())));
        }
        parents.iter().copied().cycle().take(LABEL_PARENTS).collect()
    }

    fn hash(&self, layer: usize, node: u64, parents: &[Node]) -> Node {
        let hasher = Sha256::new()
            .chain_update(self.replica_id)
            .chain_update((layer as u32).to_be_bytes())
            .chain_update(node.to_be_bytes())
            .chain_update([0; 20])
            .chain_update(parents.as_flattened());
        strip(hasher.finalize().into())
    }
}
