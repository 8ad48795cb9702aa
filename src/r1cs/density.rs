//! Which variables a matrix uses: the variables that have a base in the `a` and `b` queries.

use super::column::{Column, Kind};
use super::matrix::Matrix;

/// A set of indices below a length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    fn insert(&mut self, index: u32) {
        self.words[index as usize / 64] |= 1 << (index % 64);
    }

    /// Whether `index` is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Members of the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// One past the largest possible member.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no index is possible.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The variables that one matrix uses, of the prologue and of a challenge.
///
/// Every challenge uses the same variables of the prologue, so the prologue's sets hold what any
/// row of the circuit uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Density {
    /// Bits of the prologue.
    pub prologue_bits: BitSet,
    /// Field elements of the prologue.
    pub prologue_full: BitSet,
    /// Bits of a challenge.
    pub bits: BitSet,
    /// Field elements of a challenge.
    pub full: BitSet,
    /// Whether rows use ONE.
    pub one: bool,
    /// Whether rows (other than those that Groth16 appends) use any other input.
    pub inputs: bool,
}

impl Density {
    /// The variables of the sections' matrices; lengths are (bits, field elements).
    pub(super) fn new(matrices: [&Matrix; 2], prologue: (u32, u32), challenge: (u32, u32)) -> Self {
        let set = |len: u32| BitSet::new(len as usize);
        let mut density = Self {
            prologue_bits: set(prologue.0),
            prologue_full: set(prologue.1),
            bits: set(challenge.0),
            full: set(challenge.1),
            one: false,
            inputs: false,
        };
        for column in matrices.iter().flat_map(|matrix| matrix.columns()) {
            match column.kind() {
                Kind::PrologueInput if *column == Column::ONE => density.one = true,
                Kind::PrologueInput | Kind::Input => density.inputs = true,
                Kind::PrologueBit => density.prologue_bits.insert(column.index()),
                Kind::PrologueFull => density.prologue_full.insert(column.index()),
                Kind::Bit => density.bits.insert(column.index()),
                Kind::Full => density.full.insert(column.index()),
            }
        }
        density
    }

    /// Dense aux variables of a partition of `challenges` challenges.
    pub fn aux_count(&self, challenges: usize) -> usize {
        self.prologue_bits.count()
            + self.prologue_full.count()
            + challenges * (self.bits.count() + self.full.count())
    }
}
