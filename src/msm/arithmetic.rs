//! Which engine computes the sums.

use super::bases::{Bases, BasesError};
use super::bits::{BitRun, bit_sums};
use super::dense::dense_sum;
use super::engine::{Curve, Engine};
use super::portable::{G1, G2, Portable};
use super::tail::{TailTerm, tail_sums};
use super::window::Window;
use crate::field::{Fr, Ifma};

/// The arithmetic of the CPU stages.
#[derive(Clone, Copy, Debug)]
pub enum Arithmetic {
    /// blst, on any processor.
    Portable,
    /// AVX-512 IFMA. G1 additions take 2.5 times less than blst's (2 cores of a Xeon with AVX-512
    /// IFMA, Sapphire Rapids, 2026-11-29).
    Vector(Ifma),
}

impl Arithmetic {
    /// The fastest that this processor has.
    pub fn detect() -> Self {
        Ifma::detect().map_or(Self::Portable, Self::Vector)
    }

    /// `sum_i scalars[i] bases[i]`.
    ///
    /// # Errors
    /// When a base is no uncompressed point.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn dense_sum<C: Group>(
        self,
        bases: Bases<'_, C>,
        scalars: &[Fr],
        window: Window,
    ) -> Result<C::Projective, BasesError> {
        C::with_engine(self, DenseJob { bases, scalars, window })
    }

    /// For every partition of a group, the sum of the bases whose bit is set; see [`bit_sums`].
    ///
    /// # Errors
    /// When a base that is needed is no uncompressed point.
    ///
    /// # Panics
    /// When the group is too large, or a run leaves the bases or the bits.
    pub fn bit_sums<C: Group>(
        self,
        bases: Bases<'_, C>,
        runs: &[BitRun],
        partitions: &[&[u64]],
    ) -> Result<Vec<C::Projective>, BasesError> {
        C::with_engine(self, BitsJob { bases, runs, partitions })
    }

    /// For every partition, the sum over `terms`; see [`tail_sums`].
    ///
    /// # Errors
    /// When a base is no uncompressed point.
    ///
    /// # Panics
    /// When a term is outside the bases or a partition's scalars.
    pub fn tail_sums<C: Group>(
        self,
        bases: Bases<'_, C>,
        terms: &[TailTerm],
        partitions: &[&[Fr]],
        window: Window,
    ) -> Result<Vec<C::Projective>, BasesError> {
        C::with_engine(self, TailJob { bases, terms, partitions, window })
    }
}

/// A curve that engines compute: [`G1`] and [`G2`].
pub trait Group: Curve {
    /// Runs `job` on the engine for `arithmetic`: the one place where that is decided.
    fn with_engine<J: Job<Self>>(arithmetic: Arithmetic, job: J) -> J::Output;
}

impl Group for G1 {
    fn with_engine<J: Job<Self>>(arithmetic: Arithmetic, job: J) -> J::Output {
        match arithmetic {
            Arithmetic::Portable => job.run(Portable::<Self>::default()),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Vector(ifma) => {
                job.run(super::vector::Vector::<crate::field::Fp>::new(ifma))
            }
            #[cfg(not(target_arch = "x86_64"))]
            Arithmetic::Vector(never) => match never {},
        }
    }
}

impl Group for G2 {
    fn with_engine<J: Job<Self>>(arithmetic: Arithmetic, job: J) -> J::Output {
        match arithmetic {
            Arithmetic::Portable => job.run(Portable::<Self>::default()),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Vector(ifma) => {
                job.run(super::vector::Vector::<crate::field::Fp2>::new(ifma))
            }
            #[cfg(not(target_arch = "x86_64"))]
            Arithmetic::Vector(never) => match never {},
        }
    }
}

/// Work that any engine of the curve `C` can do.
pub trait Job<C: Curve> {
    /// What it gives.
    type Output;
    /// Does it.
    fn run<E: Engine<Curve = C>>(self, engine: E) -> Self::Output;
}

struct DenseJob<'a, C> {
    bases: Bases<'a, C>,
    scalars: &'a [Fr],
    window: Window,
}

impl<C: Curve> Job<C> for DenseJob<'_, C> {
    type Output = Result<C::Projective, BasesError>;

    fn run<E: Engine<Curve = C>>(self, engine: E) -> Self::Output {
        dense_sum(engine, self.bases, self.scalars, self.window)
    }
}

struct BitsJob<'a, C> {
    bases: Bases<'a, C>,
    runs: &'a [BitRun],
    partitions: &'a [&'a [u64]],
}

impl<C: Curve> Job<C> for BitsJob<'_, C> {
    type Output = Result<Vec<C::Projective>, BasesError>;

    fn run<E: Engine<Curve = C>>(self, engine: E) -> Self::Output {
        bit_sums(engine, self.bases, self.runs, self.partitions)
    }
}

struct TailJob<'a, C> {
    bases: Bases<'a, C>,
    terms: &'a [TailTerm],
    partitions: &'a [&'a [Fr]],
    window: Window,
}

impl<C: Curve> Job<C> for TailJob<'_, C> {
    type Output = Result<Vec<C::Projective>, BasesError>;

    fn run<E: Engine<Curve = C>>(self, engine: E) -> Self::Output {
        tail_sums(engine, self.bases, self.terms, self.partitions, self.window)
    }
}
