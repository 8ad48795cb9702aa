//! A Poseidon tree of which only some leaves are known; the replica and column trees of a sample.
//!
//! In: the opened leaves. Out: the root and the opened leaves' paths. Nodes above an opened leaf
//! are hashes; every other node is a random field element, the same in all paths.

use blstrs::Scalar as Fr;
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};
use neptune::poseidon::Poseidon;
use rayon::prelude::*;

use super::random::{Place, Source};
use crate::c1::{MerkleProof, PathElement};

/// A tree of the shape `arities`, from the leaves up.
pub(super) struct SparseTree<'a> {
    source: &'a Source,
    /// The place of a node that is above no opened leaf: level (0: leaves), index.
    place: fn(u64, u64) -> Place,
    arities: Vec<usize>,
    /// Known nodes (index, value) per level in the order of their indices; the last is the root.
    levels: Vec<Vec<(u64, Fr)>>,
}

impl<'a> SparseTree<'a> {
    /// Hashes the tree over `leaves`, at least one, in strictly ascending order of index.
    pub(super) fn new(
        leaves: Vec<(u64, Fr)>,
        arities: Vec<usize>,
        place: fn(u64, u64) -> Place,
        source: &'a Source,
    ) -> Self {
        assert!(leaves.is_sorted_by(|a, b| a.0 < b.0), "leaves must come in order, once each");
        let mut tree = Self { source, place, arities, levels: vec![leaves] };
        for level in 0..tree.arities.len() {
            let arity = tree.arities[level] as u64;
            let families: Vec<_> =
                tree.levels[level].chunk_by(|a, b| a.0 / arity == b.0 / arity).collect();
            let parents = families
                .into_par_iter()
                .map(|family| {
                    let parent = family[0].0 / arity;
                    (parent, poseidon(&tree.children(level, parent)))
                })
                .collect();
            tree.levels.push(parents);
        }
        let roots = &tree.levels[tree.arities.len()];
        assert!(matches!(roots[..], [(0, _)]), "every leaf must be in the tree");
        tree
    }

    /// The tree's commitment.
    pub(super) fn root(&self) -> Fr {
        self.levels[self.arities.len()][0].1
    }

    /// The path of an opened leaf.
    pub(super) fn proof(&self, leaf: u64) -> MerkleProof {
        let mut index = leaf;
        let path = (0..self.arities.len())
            .map(|level| {
                let arity = self.arities[level] as u64;
                let position = (index % arity) as usize;
                index /= arity;
                let mut family = self.children(level, index);
                family.remove(position);
                let hashes = family.iter().map(Fr::to_bytes_le).collect();
                PathElement { hashes, index: position }
            })
            .collect();
        let leaf = self.node(0, leaf).to_bytes_le();
        MerkleProof { root: self.root().to_bytes_le(), leaf, path }
    }

    /// The nodes of `level` below node `parent` of the level above.
    fn children(&self, level: usize, parent: u64) -> Vec<Fr> {
        let arity = self.arities[level] as u64;
        (parent * arity..(parent + 1) * arity).map(|index| self.node(level, index)).collect()
    }

    fn node(&self, level: usize, index: u64) -> Fr {
        let known = &self.levels[level];
        match known.binary_search_by_key(&index, |node| node.0) {
            Ok(at) => known[at].1,
            Err(_) => self.source.field((self.place)(level as u64, index)),
        }
    }
}

/// The Poseidon hash of the protocol, over 2, 8 or 11 elements.
pub(super) fn poseidon(elements: &[Fr]) -> Fr {
    match elements.len() {
        2 => Poseidon::new_with_preimage(elements, &*POSEIDON_CONSTANTS_2).hash(),
        8 => Poseidon::new_with_preimage(elements, &*POSEIDON_CONSTANTS_8).hash(),
        11 => Poseidon::new_with_preimage(elements, &*POSEIDON_CONSTANTS_11).hash(),
        count => panic!("expected 2, 8 or 11 elements to hash, got {count}"),
    }
}
