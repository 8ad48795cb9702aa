//! How a partition's compact assignment is laid out.
//!
//! Inputs, bits and field elements each stand in one array: the prologue's first, then each
//! challenge's. Bits of the prologue and of each challenge are padded to whole 64-bit words, so
//! that challenges are written in parallel and challenge k is the template moved by constants.

use blstrs::Scalar as Fr;

use crate::circuit::{
    Coefficient, Commitments, Equality, Interpretation, Opening, Porep, Public, Term,
};
use crate::sector::SectorSize;

/// Variables of the prologue or of a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Public inputs; the prologue's include ONE.
    pub inputs: usize,
    /// Bits, without padding.
    pub bits: usize,
    /// Field elements.
    pub full: usize,
}

impl Counts {
    /// 64-bit words that the bits take.
    pub const fn words(&self) -> usize {
        self.bits.div_ceil(64)
    }
}

/// The layout of one sector size's assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sector size.
    pub size: SectorSize,
    /// The prologue's variables.
    pub prologue: Counts,
    /// One challenge's variables.
    pub challenge: Counts,
    /// Challenges of a partition.
    pub challenges: usize,
}

impl Layout {
    /// The layout for `size`, counted by a pass over the circuit (milliseconds).
    pub fn new(size: SectorSize) -> Self {
        count(size).1
    }

    /// Public inputs of a partition, ONE included.
    pub const fn inputs(&self) -> usize {
        self.input_base(self.challenges)
    }

    /// 64-bit words of a partition's bits, padding included.
    pub const fn words(&self) -> usize {
        self.word_base(self.challenges)
    }

    /// Field elements of a partition.
    pub const fn full(&self) -> usize {
        self.full_base(self.challenges)
    }

    /// Public inputs and field elements of a partition.
    pub const fn scalars(&self) -> usize {
        self.inputs() + self.full()
    }

    /// Number of challenge `challenge`'s first input.
    pub const fn input_base(&self, challenge: usize) -> usize {
        self.prologue.inputs + challenge * self.challenge.inputs
    }

    /// Number of the word that challenge `challenge`'s bits start in.
    pub const fn word_base(&self, challenge: usize) -> usize {
        self.prologue.words() + challenge * self.challenge.words()
    }

    /// Number of challenge `challenge`'s first field element.
    pub const fn full_base(&self, challenge: usize) -> usize {
        self.prologue.full + challenge * self.challenge.full
    }

    /// Heap bytes of one partition's assignment.
    pub const fn bytes(&self) -> usize {
        8 * self.words() + size_of::<Fr>() * self.scalars()
    }
}

/// The circuit of `size` for interpretations without rows, and the layout that it gives.
pub(super) fn count(size: SectorSize) -> (Porep, Layout) {
    let mut counter = Counter(Counts { inputs: 1, ..Counts::default() });
    let porep = Porep::new(size, &mut counter);
    let shared = porep.prologue(&mut counter, &Commitments::default());
    let prologue = std::mem::take(&mut counter.0);
    porep.challenge(&mut counter, &shared, &Opening::blank(size));
    let challenges = size.challenges_per_partition();
    (porep, Layout { size, prologue, challenge: counter.0, challenges })
}

/// Counts variables.
struct Counter(Counts);

impl Interpretation for Counter {
    type Var = ();
    type Packed = ();

    fn wants_rows(&self) -> bool {
        false
    }

    fn one(&self) {}

    fn bits(&mut self, _: u64, count: usize) {
        self.0.bits += count;
    }

    fn full(&mut self, values: &[Fr]) {
        self.0.full += values.len();
    }

    fn input(&mut self, _: Public, _: Fr) {
        self.0.inputs += 1;
    }

    fn coefficient(&mut self, _: Fr) -> Coefficient {
        Coefficient::ONE
    }

    fn row(&mut self, _: &[Term<()>], _: &[Term<()>], _: &[Term<()>]) {}

    fn pack(&mut self, (): &mut (), _: usize, _: &[Term<()>], _: &[Term<()>]) {}

    fn packed_row(&mut self, (): ()) {}

    fn equal(&mut self, _: Equality, _: Fr, _: Fr) {}
}
