//! The CPU prover: quotient, multi-scalar sums and assembly from compact assignments.
//!
//! In: the parameter file's point arrays, which variable meets which base, and for a group of
//! partitions the compact assignment and a way to evaluate the rows. Out: one proof a partition.
//!
//! ```text
//! A = alpha + sum z_i A_i + r delta            B = beta + sum z_i B_i + s delta
//! C = sum_aux z_i L_i + sum h_i H_i + s A + r B1 - r s delta
//! ```

use bellperson::groth16::VerifyingKey;
use blstrs::{Bls12, G1Projective, G2Projective};
use ff::Field;
use group::Curve;
use group::prime::PrimeCurveAffine;
use thiserror::Error;

use super::quotient::quotient;
use super::{Blinding, Proof};
use crate::field::Fr;
use crate::msm::bits::GROUP_MAX;
use crate::msm::{Arithmetic, Bases, BasesError, BitRun, G1, G2, Group, TailTerm, Window};
use crate::ntt::Evals;
use crate::ntt::cpu::Domain;
use crate::pages::filled;
use crate::progress::{Phase, Progress, Unit};

/// The five point arrays of a parameter file.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// For the quotient: one less than the domain has points.
    pub h: Bases<'a, G1>,
    /// One per aux variable.
    pub l: Bases<'a, G1>,
    /// All inputs, then the aux variables that A uses.
    pub a: Bases<'a, G1>,
    /// ONE, then the aux variables that B uses.
    pub b_g1: Bases<'a, G1>,
    /// The same in G2.
    pub b_g2: Bases<'a, G2>,
}

/// Which variables meet which bases of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryTerms {
    /// Runs of bases that meet bits.
    pub bits: Vec<BitRun>,
    /// Bases that meet full scalars: [`PartitionAssignment::scalars`].
    pub tail: Vec<TailTerm>,
}

/// [`QueryTerms`] of all queries; B1 and B2 share theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CircuitTerms {
    /// Of L.
    pub l: QueryTerms,
    /// Of A.
    pub a: QueryTerms,
    /// Of B1 and B2.
    pub b: QueryTerms,
}

/// One partition's assignment.
#[derive(Clone, Copy)]
pub struct PartitionAssignment<'a> {
    /// Its number, for progress.
    pub partition: usize,
    /// Packed bits, lowest first in each word.
    pub words: &'a [u64],
    /// Full scalars: public inputs, ONE first, then the field elements.
    pub scalars: &'a [Fr],
    /// Rows, those appended for inputs included.
    pub rows: usize,
    /// Writes a and b of all rows.
    pub evaluate: &'a (dyn Fn(&mut [Fr], &mut [Fr]) + Sync),
}

/// How the bits of a group are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BitsVariant {
    /// Pattern buckets over the group: one addition a base. Needs P / 2 times fewer additions
    /// than `each` for P > 2 partitions, and is the same for one.
    #[default]
    Pattern,
    /// Every partition by itself: P / 2 additions a base.
    Each,
}

/// Whether the sums in G2 wait for those in G1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum G2Variant {
    /// At the same time, on the same threads.
    #[default]
    Parallel,
    /// After them.
    Serial,
}

/// How the prover computes; no choice changes a byte of a proof.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which engine.
    pub arithmetic: Arithmetic,
    /// How bits are summed.
    pub bits: BitsVariant,
    /// When G2 is summed.
    pub g2: G2Variant,
    /// Windows of the sum over H.
    pub window_h: Window,
    /// Windows of the tails.
    pub window_tail: Window,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arithmetic: Arithmetic::detect(),
            bits: BitsVariant::default(),
            g2: G2Variant::default(),
            window_h: Window::Auto,
            window_tail: Window::Auto,
        }
    }
}

/// The native prover failed.
#[derive(Debug, Error)]
pub enum NativeError {
    /// A point of the parameter file is broken.
    #[error("broken points in the `{query}` array of the parameter file")]
    Bases {
        /// The array.
        query: &'static str,
        /// Which point, and how.
        source: BasesError,
    },
    /// Delta is infinity: proofs under this key would hide nothing.
    #[error("the verifying key's delta is the point at infinity")]
    Delta,
}

/// Proves partitions of one circuit.
#[derive(Clone, Copy)]
pub struct Native<'a> {
    /// The verifying key.
    pub vk: &'a VerifyingKey<Bls12>,
    /// The point arrays.
    pub queries: Queries<'a>,
    /// Which variable meets which base.
    pub terms: &'a CircuitTerms,
    /// How to compute.
    pub options: Options,
}

/// A partition's sums over the witness.
#[derive(Clone, Copy)]
struct WitnessSums {
    l: G1Projective,
    a: G1Projective,
    b_g1: G1Projective,
    b_g2: G2Projective,
}

impl Native<'_> {
    /// Proves a group of partitions; with one blinding each.
    ///
    /// # Errors
    /// When a point in the parameter file is broken, or its delta is infinity.
    ///
    /// # Panics
    /// When there are not as many blindings as partitions, or the terms do not fit the point
    /// arrays or the assignments.
    pub fn prove(
        &self,
        partitions: &[PartitionAssignment<'_>],
        blindings: &[Blinding],
        progress: &dyn Progress,
    ) -> Result<Vec<Proof>, NativeError> {
        assert_eq!(partitions.len(), blindings.len(), "one blinding a partition");
        if bool::from(self.vk.delta_g1.is_identity() | self.vk.delta_g2.is_identity()) {
            return Err(NativeError::Delta);
        }
        let h: Vec<G1Projective> = partitions
            .iter()
            .map(|partition| self.h_sum(partition, progress))
            .collect::<Result<_, _>>()?;
        let sums = self.witness_sums(partitions, progress)?;
        let proofs = h.into_iter().zip(sums).zip(blindings);
        Ok(proofs.map(|((h, sums), &blinding)| self.assemble(h, sums, blinding)).collect())
    }

    /// `sum h_i H_i`.
    fn h_sum(
        &self,
        partition: &PartitionAssignment<'_>,
        progress: &dyn Progress,
    ) -> Result<G1Projective, NativeError> {
        let n = self.queries.h.len() + 1;
        assert!(n.is_power_of_two() && partition.rows <= n, "the rows fit the domain");
        let bytes = size_of::<Fr>() as u64 * n as u64;
        let [mut a, mut b] = [(); 2].map(|()| filled(Fr::ZERO, n));
        let phase = Phase::new("rows")
            .partition(partition.partition)
            .total(partition.rows as u64, Unit::Items);
        progress.run(phase, 2 * bytes, |_| {
            (partition.evaluate)(&mut a[..partition.rows], &mut b[..partition.rows]);
        });
        let phase =
            Phase::new("quotient").partition(partition.partition).total(n as u64, Unit::Items);
        let h = progress.run(phase, 6 * bytes, |_| {
            // Here, so that its spare array is gone before the sum.
            let domain = Domain::new(self.options.arithmetic, n.trailing_zeros());
            quotient(&domain, Evals(a), Evals(b))
        });
        let phase =
            Phase::new("h").partition(partition.partition).total(h.len() as u64, Unit::Items);
        let window = self.options.window_h;
        progress
            .run(phase, 96 * h.len() as u64, |_| {
                self.options.arithmetic.dense_sum(self.queries.h, &h, window)
            })
            .map_err(in_query("h"))
    }

    /// The sums of bits and tails over L, A, B1 and B2.
    fn witness_sums(
        &self,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<WitnessSums>, NativeError> {
        let Queries { l, a, b_g1, b_g2, .. } = self.queries;
        let CircuitTerms { l: l_terms, a: a_terms, b: b_terms } = self.terms;
        let in_g1 = || {
            let bytes = 96 * (l.len() + a.len() + b_g1.len()) as u64;
            progress.run(Phase::new("sums-g1"), bytes, |_| {
                Ok([
                    self.query_sums(l, l_terms, partitions).map_err(in_query("l"))?,
                    self.query_sums(a, a_terms, partitions).map_err(in_query("a"))?,
                    self.query_sums(b_g1, b_terms, partitions).map_err(in_query("b_g1"))?,
                ])
            })
        };
        let in_g2 = || {
            progress.run(Phase::new("sums-g2"), 192 * b_g2.len() as u64, |_| {
                self.query_sums(b_g2, b_terms, partitions).map_err(in_query("b_g2"))
            })
        };
        let (g1, g2) = match self.options.g2 {
            G2Variant::Parallel => rayon::join(in_g1, in_g2),
            G2Variant::Serial => (in_g1(), in_g2()),
        };
        let ([l, a, b_g1], b_g2) = (g1?, g2?);
        let sums = l.into_iter().zip(a).zip(b_g1).zip(b_g2);
        Ok(sums.map(|(((l, a), b_g1), b_g2)| WitnessSums { l, a, b_g1, b_g2 }).collect())
    }

    /// Per partition, the sum of one query's bases times their variables.
    fn query_sums<C: Group>(
        &self,
        bases: Bases<'_, C>,
        terms: &QueryTerms,
        partitions: &[PartitionAssignment<'_>],
    ) -> Result<Vec<C::Projective>, BasesError> {
        let Options { arithmetic, bits, window_tail, .. } = self.options;
        let words: Vec<&[u64]> = partitions.iter().map(|partition| partition.words).collect();
        let scalars: Vec<&[Fr]> = partitions.iter().map(|partition| partition.scalars).collect();
        let group = match bits {
            BitsVariant::Pattern => GROUP_MAX,
            BitsVariant::Each => 1,
        };
        let mut sums = Vec::with_capacity(partitions.len());
        for words in words.chunks(group) {
            sums.extend(arithmetic.bit_sums(bases, &terms.bits, words)?);
        }
        let tails = arithmetic.tail_sums(bases, &terms.tail, &scalars, window_tail)?;
        for (sum, tail) in sums.iter_mut().zip(tails) {
            *sum += tail;
        }
        Ok(sums)
    }

    /// The proof from its sums. C's `s A` and `r B1` contain `r s delta` twice; once stays.
    fn assemble(&self, h: G1Projective, sums: WitnessSums, blinding: Blinding) -> Proof {
        let (vk, Blinding { r, s }) = (self.vk, blinding);
        let a = sums.a + vk.alpha_g1 + vk.delta_g1 * r;
        let b_g1 = sums.b_g1 + vk.beta_g1 + vk.delta_g1 * s;
        let b = sums.b_g2 + vk.beta_g2 + vk.delta_g2 * s;
        let c = sums.l + h + a * s + b_g1 * r - vk.delta_g1 * (r * s);
        Proof { a: a.to_affine(), b: b.to_affine(), c: c.to_affine() }
    }
}

/// Names the array in which a point is broken.
fn in_query(query: &'static str) -> impl Fn(BasesError) -> NativeError {
    move |source| NativeError::Bases { query, source }
}
