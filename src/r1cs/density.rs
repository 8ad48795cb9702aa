//! Which variables a matrix uses: the variables that have a base in the `a` and `b` queries.

use std::thread;

use super::column::{Column, Kind};
use super::matrix::Matrix;
use crate::threads::joined;

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

    /// The members of either set of the same length.
    fn union(mut self, other: &Self) -> Self {
        assert_eq!(self.len, other.len, "sets of one section");
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        self
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
        /// Columns of a job: many, as each has sets of its own, a megabyte at 32 GiB.
        const CHUNK: usize = 1 << 21;
        let set = |len: u32| BitSet::new(len as usize);
        let none = || Self {
            prologue_bits: set(prologue.0),
            prologue_full: set(prologue.1),
            bits: set(challenge.0),
            full: set(challenge.1),
            one: false,
            inputs: false,
        };
        let of_columns = |columns: &[Column]| {
            let mut density = none();
            columns.iter().for_each(|&column| density.insert(column));
            density
        };
        // Threads of their own: the pool may be at the witnesses, and the circuit is waited for.
        thread::scope(|scope| {
            let pieces = matrices.into_iter().flat_map(Matrix::pieces);
            let chunks = pieces.flat_map(|piece| piece.columns().chunks(CHUNK));
            let of_columns = &of_columns;
            let threads: Vec<_> =
                chunks.map(|chunk| scope.spawn(move || of_columns(chunk))).collect();
            threads.into_iter().fold(none(), |whole, thread| whole.union(joined(thread.join())))
        })
    }

    fn insert(&mut self, column: Column) {
        match column.kind() {
            Kind::PrologueInput if column == Column::ONE => self.one = true,
            Kind::PrologueInput | Kind::Input => self.inputs = true,
            Kind::PrologueBit => self.prologue_bits.insert(column.index()),
            Kind::PrologueFull => self.prologue_full.insert(column.index()),
            Kind::Bit => self.bits.insert(column.index()),
            Kind::Full => self.full.insert(column.index()),
        }
    }

    fn union(self, other: Self) -> Self {
        Self {
            prologue_bits: self.prologue_bits.union(&other.prologue_bits),
            prologue_full: self.prologue_full.union(&other.prologue_full),
            bits: self.bits.union(&other.bits),
            full: self.full.union(&other.full),
            one: self.one | other.one,
            inputs: self.inputs | other.inputs,
        }
    }

    /// Dense aux variables of a partition of `challenges` challenges.
    pub fn aux_count(&self, challenges: usize) -> usize {
        self.prologue_bits.count()
            + self.prologue_full.count()
            + challenges * (self.bits.count() + self.full.count())
    }
}
