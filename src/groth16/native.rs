//! The native prover: synthesis, sums on some device, assembly. One for every device.
//!
//! In: the parameter file, and for a group of partitions the compact assignments. Out: one proof a
//! partition. [`Sums`] are a device's part; what they need of the parameter file may arrive while
//! the circuit is recorded and the witnesses are made.
//!
//! ```text
//! A = alpha + sum z_i A_i + r delta            B = beta + sum z_i B_i + s delta
//! C = sum_aux z_i L_i + sum h_i H_i + s A + r B1 - r s delta
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bellperson::groth16::VerifyingKey;
use blstrs::{Bls12, G1Projective, G2Projective};
use group::Curve;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;
use thiserror::Error;

use super::synthesis::{Synthesized, Synthesizer};
use super::{Blinding, Group, Proof, ProveError, Prover};
use crate::c1::Sector;
use crate::field::Fr;
use crate::gpu::GpuError;
use crate::msm::BasesError;
use crate::params::Parameters;
use crate::params::layout::Query;
use crate::progress::Progress;
use crate::r1cs::Template;
use crate::threads::joined;

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
    /// Where a and b of the rows come from.
    pub source: RowSource<'a>,
}

/// Where a and b of a partition's rows come from.
#[derive(Clone, Copy)]
pub enum RowSource<'a> {
    /// The template's rows on the assignment; on the CPU this writes all of them.
    Template(&'a (dyn Fn(&mut [Fr], &mut [Fr]) + Sync)),
    /// Synthesis computed them.
    Given([&'a [Fr]; 2]),
}

/// A partition's sums.
#[derive(Clone, Copy, Debug)]
pub struct PartitionSums {
    /// `sum h_i H_i`
    pub h: G1Projective,
    /// `sum z_i L_i` over the aux variables.
    pub l: G1Projective,
    /// `sum z_i A_i`
    pub a: G1Projective,
    /// `sum z_i B_i` in G1.
    pub b_g1: G1Projective,
    /// The same in G2.
    pub b_g2: G2Projective,
}

/// Computes the sums of a group of partitions.
pub trait Sums: Send + Sync {
    /// Fetches what the sums need from the parameter file, as far as it is not there yet. Runs
    /// beside the other two; gives up without an error once `cancelled` is set.
    ///
    /// # Errors
    /// When the parameters are broken or the device fails.
    fn load(&self, _cancelled: &AtomicBool, _progress: &dyn Progress) -> Result<(), NativeError> {
        Ok(())
    }

    /// Takes the circuit, before the first sums; what is known already is not made again. `template`
    /// waits for the circuit's recording, and what does without it can be made meanwhile.
    ///
    /// # Errors
    /// When the device fails.
    fn prepare<'t>(
        &self,
        template: &(dyn Fn() -> &'t Template + Sync),
        progress: &dyn Progress,
    ) -> Result<(), NativeError>;

    /// The sums of a group of partitions, in their order.
    ///
    /// # Errors
    /// When a point is broken, or the device fails.
    ///
    /// # Panics
    /// When the assignments do not fit the circuit, or the circuit the parameters.
    fn of_group(
        &self,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, NativeError>;
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
    /// A point of the parameter file is broken; found on a GPU, which does not say how.
    #[error(
        "broken points in the `{query}` array of the parameter file: point {index}: expected an \
         uncompressed point of the curve"
    )]
    Point {
        /// The array.
        query: Query,
        /// Index of the first broken point.
        index: usize,
    },
    /// Delta is infinity: proofs under this key would hide nothing.
    #[error("the verifying key's delta is the point at infinity")]
    Delta,
    /// The GPU failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The parameters did not arrive: [`Sums::load`] says why.
    #[error("the parameters were not loaded")]
    NotLoaded,
}

/// Proves partitions of one sector size.
pub struct Native<'p> {
    parameters: &'p Parameters,
    synthesizer: Synthesizer,
    sums: Box<dyn Sums + 'p>,
}

impl<'p> Native<'p> {
    /// A prover of `synthesizer`'s circuit, whose parameters these are and whose sums `sums`
    /// computes.
    pub fn new(
        parameters: &'p Parameters,
        synthesizer: Synthesizer,
        sums: Box<dyn Sums + 'p>,
    ) -> Self {
        Self { parameters, synthesizer, sums }
    }

    /// Synthesizes the group beside the recording of the circuit, and sums.
    fn group_sums(
        &self,
        group: Group<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, ProveError> {
        let Group { sector, partitions, synthesized } = group;
        let first = partitions.start;
        let (prepared, synthesized) = thread::scope(|scope| {
            let template = || self.synthesizer.template(progress);
            let prepare = scope.spawn(move || self.sums.prepare(&template, progress));
            let synthesize = || self.synthesizer.synthesize(sector, partitions, progress);
            let synthesized = synthesized.map_or_else(synthesize, |wait| wait());
            (joined(prepare.join()), synthesized)
        });
        let synthesized = synthesized?;
        prepared.map_err(|error| self.told(error))?;
        let template = self.synthesizer.template(progress);
        let evaluators: Vec<_> = synthesized
            .iter()
            .map(|partition| move |a: &mut [Fr], b: &mut [Fr]| partition.evaluate(template, a, b))
            .collect();
        let assignments: Vec<PartitionAssignment<'_>> = synthesized
            .iter()
            .zip(&evaluators)
            .enumerate()
            .map(|(offset, (partition, evaluate))| PartitionAssignment {
                partition: first + offset,
                words: &partition.witness.words,
                scalars: &partition.witness.scalars,
                rows: template.rows() + template.inputs(),
                source: partition.rows().map_or(RowSource::Template(evaluate), RowSource::Given),
            })
            .collect();
        let sums = self.sums.of_group(&assignments, progress).map_err(|error| self.told(error));
        // Unmapping a gigabyte takes longer than the proofs that wait for these sums. Where the
        // system has no thread for it, it is done here.
        let _ = thread::Builder::new().spawn(move || drop(synthesized));
        sums
    }

    /// Names the parameter file where it is at fault.
    fn told(&self, error: NativeError) -> ProveError {
        match error {
            NativeError::Gpu(source) => ProveError::Gpu(source),
            source => ProveError::Native { path: self.parameters.path().to_owned(), source },
        }
    }
}

impl Prover for Native<'_> {
    fn synthesize(
        &self,
        sector: &Sector,
        partitions: Range<usize>,
        progress: &dyn Progress,
    ) -> Result<Option<Vec<Synthesized>>, ProveError> {
        self.synthesizer.synthesize(sector, partitions, progress).map(Some)
    }

    fn prove_group(
        &self,
        group: Group<'_>,
        blindings: &[Blinding],
        progress: &dyn Progress,
    ) -> Result<Vec<Proof>, ProveError> {
        let cancelled = AtomicBool::new(false);
        let (loaded, sums) = thread::scope(|scope| {
            let load = scope.spawn(|| self.sums.load(&cancelled, progress));
            let sums = self.group_sums(group, progress);
            cancelled.store(sums.is_err(), Ordering::Relaxed);
            (joined(load.join()), sums)
        });
        // Without parameters the sums fail too, and know less of the reason.
        loaded.map_err(|error| self.told(error))?;
        proofs(self.parameters.vk(), &sums?, blindings).map_err(|error| self.told(error))
    }
}

/// The proofs of partitions with these sums; with one blinding each.
///
/// # Errors
/// When the key's delta is infinity.
///
/// # Panics
/// When there are not as many blindings as sums.
pub fn proofs(
    vk: &VerifyingKey<Bls12>,
    sums: &[PartitionSums],
    blindings: &[Blinding],
) -> Result<Vec<Proof>, NativeError> {
    assert_eq!(sums.len(), blindings.len(), "one blinding a partition");
    if bool::from(vk.delta_g1.is_identity() | vk.delta_g2.is_identity()) {
        return Err(NativeError::Delta);
    }
    let proofs = sums.par_iter().zip(blindings);
    Ok(proofs.map(|(sums, &blinding)| assemble(vk, sums, blinding)).collect())
}

/// The proof from its sums. C's `s A` and `r B1` contain `r s delta` twice; once stays.
fn assemble(vk: &VerifyingKey<Bls12>, sums: &PartitionSums, blinding: Blinding) -> Proof {
    let Blinding { r, s } = blinding;
    let a = sums.a + vk.alpha_g1 + vk.delta_g1 * r;
    let b_g1 = sums.b_g1 + vk.beta_g1 + vk.delta_g1 * s;
    let b = sums.b_g2 + vk.beta_g2 + vk.delta_g2 * s;
    let c = sums.l + sums.h + a * s + b_g1 * r - vk.delta_g1 * (r * s);
    Proof { a: a.to_affine(), b: b.to_affine(), c: c.to_affine() }
}
