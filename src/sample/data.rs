//! The data of a sample and its tree (`comm_d`), which is known before anything else.
//!
//! A sector's data is a word over a small alphabet of leaves, made level by level: a level has at
//! most [`KINDS`] kinds of block, each a pair of kinds of the level below, and the root is the one
//! kind of the top level. So the tree of 2^31 leaves costs some thousand hashes, and any of its
//! leaves and paths is found by walking down from the root. Zero data is the alphabet of one leaf.

use rand::Rng;
use sha2::{Digest, Sha256};

use super::Data;
use super::random::{Place, Source, strip};
use crate::c1::{MerkleProof, Node, PathElement};

/// Kinds of block at each level of tiled data, where the level has as many nodes.
const KINDS: usize = 256;

/// A binary SHA-256 tree of few distinct subtrees.
pub(super) struct DataTree {
    /// Hash of each kind of block, per level from the leaves up; the last level has one.
    hashes: Vec<Vec<Node>>,
    /// The left and right half of each kind of block, per level from level 1 up.
    halves: Vec<Vec<[usize; 2]>>,
}

impl DataTree {
    /// The tree of 2^`levels` leaves.
    pub(super) fn new(data: Data, levels: usize, source: &Source) -> Self {
        let alphabet = match data {
            Data::Zeros => vec![Node::default()],
            Data::Tiled => (0..KINDS.min(1 << levels) as u64)
                .map(|index| source.node(Place::DataLeaf { index }))
                .collect(),
        };
        let mut hashes = vec![alphabet];
        let mut halves = Vec::with_capacity(levels);
        for level in 1..=levels {
            let below = &hashes[level - 1];
            let mut stream = source.stream(Place::DataBlocks { level: level as u64 });
            let blocks: Vec<[usize; 2]> = (0..below.len().min(1 << (levels - level)))
                .map(|_| [0; 2].map(|_: usize| stream.gen_range(0..below.len())))
                .collect();
            let joined = blocks.iter().map(|&[left, right]| join(&below[left], &below[right]));
            hashes.push(joined.collect());
            halves.push(blocks);
        }
        Self { hashes, halves }
    }

    /// `comm_d`.
    pub(super) fn root(&self) -> Node {
        self.hashes[self.halves.len()][0]
    }

    /// The leaf at `index`.
    pub(super) fn leaf(&self, index: u64) -> Node {
        self.proof(index).leaf
    }

    /// The leaf at `index` and its path.
    pub(super) fn proof(&self, index: u64) -> MerkleProof {
        let mut kind = 0;
        let mut path = Vec::with_capacity(self.halves.len());
        for (level, blocks) in self.halves.iter().enumerate().rev() {
            let side = (index >> level & 1) as usize;
            let block = blocks[kind];
            path.push(PathElement {
                hashes: vec![self.hashes[level][block[1 - side]]],
                index: side,
            });
            kind = block[side];
        }
        path.reverse();
        MerkleProof { root: self.root(), leaf: self.hashes[0][kind], path }
    }
}

/// The parent of two nodes.
fn join(left: &Node, right: &Node) -> Node {
    strip(Sha256::new().chain_update(left).chain_update(right).finalize().into())
}
