//! Values that nothing determines: a function of the seed and of where they stand.
//!
//! In: a seed and a [`Place`]. Out: a random node or field element, the same whenever and on
//! whichever thread it is asked for. So a tree node that several Merkle paths share has one value
//! without being stored, and a sample does not depend on the number of threads.

use blstrs::Scalar as Fr;
use ff::Field;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

use crate::c1::Node;

/// Names a random value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Leaf `index` of the alphabet that tiled data is made of.
    DataLeaf { index: u64 },
    /// How the data tree's blocks of `level` join blocks of the level below.
    DataBlocks { level: u64 },
    /// The label of `node` in `layer`, where it is no challenge.
    Label { layer: u64, node: u64 },
    /// Node `index` of `level` (0: leaves) of the column tree.
    ColumnTree { level: u64, index: u64 },
    /// Node `index` of `level` (0: leaves) of the replica tree.
    ReplicaTree { level: u64, index: u64 },
    /// The sealing ticket.
    Ticket,
    /// The interactive challenge seed.
    ChallengeSeed,
}

impl Place {
    /// A number of its own for every place: kind (8 bits), level or layer (16), index (40).
    fn number(self) -> u64 {
        let (kind, level, index) = match self {
            Self::DataLeaf { index } => (0, 0, index),
            Self::DataBlocks { level } => (1, level, 0),
            Self::Label { layer, node } => (2, layer, node),
            Self::ColumnTree { level, index } => (3, level, index),
            Self::ReplicaTree { level, index } => (4, level, index),
            Self::Ticket => (5, 0, 0),
            Self::ChallengeSeed => (6, 0, 0),
        };
        assert!(level < 1 << 16 && index < 1 << 40, "a place must fit in 64 bits");
        kind << 56 | level << 40 | index
    }
}

/// A seed's random values.
#[derive(Clone, Debug)]
pub(super) struct Source {
    key: [u8; 32],
}

impl Source {
    /// The values of `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let key = Sha256::new().chain_update("prove sample").chain_update(seed.to_le_bytes());
        Self { key: key.finalize().into() }
    }

    /// The random stream of one place.
    pub(super) fn stream(&self, place: Place) -> ChaCha8Rng {
        let mut stream = ChaCha8Rng::from_seed(self.key);
        stream.set_stream(place.number());
        stream
    }

    /// 254 random bits: what a label is, and what a data leaf is after padding.
    pub(super) fn node(&self, place: Place) -> Node {
        let mut node = Node::default();
        self.stream(place).fill_bytes(&mut node);
        strip(node)
    }

    /// A uniform field element: what a Poseidon hash looks like.
    pub(super) fn field(&self, place: Place) -> Fr {
        Fr::random(self.stream(place))
    }
}

/// Clears the two top bits, as every SHA-256 output in the protocol has them: below the modulus.
pub(super) fn strip(mut node: Node) -> Node {
    node[31] &= 0x3f;
    node
}
