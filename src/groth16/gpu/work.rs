//! The circuit on the device, and the memory of every stage, kept from group to group.

use std::thread;

use blstrs::{G1Affine, G1Projective};
use group::Group;
use rayon::prelude::*;

use super::clock::{Clock, Timed};
use super::plan::Plan;
use super::query::{PhaseNames, QuerySums, Shape};
use super::room::{HMsm, Room, Transforms};
use super::{Job, Supply};
use crate::field::Fr;
use crate::gpu::generated::to_integers;
use crate::gpu::msm::ScalarOrder;
use crate::gpu::ntt::{WantedRows, bit_reverse};
use crate::gpu::{DeviceBuffer, DeviceSlice, DeviceWitnesses, G1, G2, Gpu, GpuError, RowEvaluator};
use crate::groth16::native::{NativeError, PartitionAssignment, RowSource};
use crate::params::layout::Query;
use crate::progress::{Phase, Progress};
use crate::r1cs::{self, QueryMap, Template};
use crate::threads::joined;
use crate::witness::Layout;

/// Everything on the device but the points.
pub(super) struct Work<'p> {
    gpu: &'p Gpu,
    /// The stream of G2: one of its own, unless `g2=serial`.
    pub(super) g2_gpu: &'p Gpu,
    /// See [`Room`].
    pub(super) witnesses: DeviceWitnesses<'p>,
    rows: RowEvaluator<'p>,
    a: DeviceBuffer<'p, Fr>,
    b: DeviceBuffer<'p, Fr>,
    /// For the quotient, unless it replaces a or b.
    h: Option<DeviceBuffer<'p, Fr>>,
    transforms: Transforms<'p>,
    h_msm: HMsm<'p>,
    pub(super) l: QuerySums<'p, G1>,
    pub(super) a_query: QuerySums<'p, G1>,
    pub(super) b_g1: QuerySums<'p, G1>,
    pub(super) b_g2: QuerySums<'p, G2>,
}

/// A quotient on its way.
pub(super) struct Enqueued<'a> {
    partition: usize,
    /// Not in a.
    h: DeviceSlice<'a, Fr>,
    phases: Vec<Timed>,
}

impl<'p> Work<'p> {
    /// Puts the circuit on the device, into a room for its plan.
    pub(super) fn new(
        gpu: &'p Gpu,
        room: Room<'p>,
        template: &Template,
        plan: &Plan,
        job: Job<'p>,
    ) -> Result<Self, GpuError> {
        let Room { g2_gpu, witnesses, a, b, h, transforms, h_msm, bits } = room;
        let layout = Layout::new(job.proof.size);
        let shape = Shape {
            together: plan.together(job.variants.bits),
            tails: plan.tails(),
            window: job.variants.window_tail,
        };
        let in_g1 = |bits, map: &QueryMap| {
            let names = PhaseNames { bits: "bits", tail: "tail" };
            QuerySums::new(gpu, bits, (map, &layout), shape, names)
        };
        let in_g2 = |bits, map: &QueryMap| {
            let names = PhaseNames { bits: "b_g2", tail: "b_g2" };
            QuerySums::new(g2_gpu, bits, (map, &layout), shape, names)
        };
        // Each thread looks through millions of variables, and then copies what it found.
        let (rows, l, a_query, b_queries) = thread::scope(|scope| {
            let l = scope.spawn(|| in_g1(bits.l, &template.query(r1cs::Query::L)));
            let a = scope.spawn(|| in_g1(bits.a, &template.query(r1cs::Query::A)));
            let b = scope.spawn(|| {
                let map = template.query(r1cs::Query::B);
                Ok((in_g1(bits.b_g1, &map)?, in_g2(bits.b_g2, &map)?))
            });
            (RowEvaluator::new(gpu, template), joined(l.join()), joined(a.join()), joined(b.join()))
        });
        let (rows, l, a_query) = (rows?, l?, a_query?);
        let (b_g1, b_g2) = b_queries?;
        Ok(Self {
            gpu,
            g2_gpu,
            witnesses,
            rows,
            a,
            b,
            h,
            transforms,
            h_msm,
            l,
            a_query,
            b_g1,
            b_g2,
        })
    }

    /// `sum h_i H_i` of a partition.
    pub(super) fn h_sum(
        &self,
        supply: &Supply<'_>,
        quotient: Enqueued<'_>,
        progress: &dyn Progress,
    ) -> Result<G1Projective, NativeError> {
        let Enqueued { partition, h, mut phases } = quotient;
        let clock = Clock { gpu: self.gpu, progress };
        let phase = |name| Phase::new(name).partition(partition);
        let bytes = 4 * (size_of::<Fr>() * self.a.len()) as u64;
        match supply {
            Supply::Resident(points) => {
                points.wait(Query::H)?;
                let run = || self.whole_sum(points.h_domain(), h);
                let (sum, timed) = clock.enqueue(phase("h_msm"), bytes, run)?;
                phases.push(timed);
                clock.tell(phases)?;
                Ok(sum)
            }
            Supply::Streamed(_) => {
                // In the points' order, so that a chunk of points has a chunk of scalars.
                let natural = self.natural(h)?;
                clock.tell(phases)?;
                let mut sum = G1Projective::identity();
                supply.each::<G1>(Query::H, &mut |points, range| {
                    // The identity after the last point fills the domain.
                    points.slice(range.len()..points.len()).fill(0)?;
                    let h = natural.slice(range.start..range.start + points.len());
                    let bytes = 4 * (size_of::<Fr>() * h.len()) as u64;
                    let HMsm::Pairs(msm) = &self.h_msm else {
                        unreachable!("generated kernels are planned with resident points")
                    };
                    let run = || msm.run(points, h, ScalarOrder::Natural);
                    sum += clock.run(phase("h_msm"), bytes, run)?;
                    Ok(())
                })?;
                Ok(sum)
            }
        }
    }

    /// The sum over all points of H, of which the last is the identity.
    fn whole_sum(
        &self,
        points: DeviceSlice<'_, G1Affine>,
        h: DeviceSlice<'_, Fr>,
    ) -> Result<G1Projective, GpuError> {
        match &self.h_msm {
            HMsm::Pairs(msm) => {
                let order = match self.transforms {
                    Transforms::Fused(_) => ScalarOrder::BitReversed,
                    Transforms::Generated(_) => ScalarOrder::Natural,
                };
                msm.run(points, h, order)
            }
            HMsm::Generated(msm) => {
                let natural = self.natural(h)?;
                let integers = self.b.as_slice();
                to_integers(self.gpu, integers, natural)?;
                // The kernel does not know the identity.
                let count = points.len() - 1;
                msm.run(points.slice(0..count), integers.slice(0..count).cast())
            }
        }
    }

    /// h in natural order: as it is, or reordered into a.
    fn natural<'a>(&'a self, h: DeviceSlice<'a, Fr>) -> Result<DeviceSlice<'a, Fr>, GpuError> {
        match self.transforms {
            Transforms::Generated(_) => Ok(h),
            Transforms::Fused(_) => {
                let natural = self.a.as_slice();
                bit_reverse(self.gpu, natural, h)?;
                Ok(natural)
            }
        }
    }

    /// Enqueues the rows and the coefficients of h, in the transforms' order, of the partition
    /// whose assignment is in place `slot`.
    pub(super) fn quotient(
        &self,
        slot: usize,
        partition: &PartitionAssignment<'_>,
        progress: &dyn Progress,
    ) -> Result<Enqueued<'_>, GpuError> {
        let clock = Clock { gpu: self.gpu, progress };
        let PartitionAssignment { partition, source, .. } = *partition;
        let phase = |name| Phase::new(name).partition(partition);
        let (a, b) = (self.a.as_slice(), self.b.as_slice());
        let bytes = (size_of::<Fr>() * a.len()) as u64;
        let name = match source {
            RowSource::Template(_) => "rows",
            RowSource::Given(_) => "upload",
        };
        let rows = |wanted: WantedRows<'_>| {
            clock.enqueue(phase(name), 2 * bytes, || self.fill(slot, source, wanted))
        };
        if let Some(h) = &self.h {
            let h = h.as_slice();
            let ((), rows) = rows(WantedRows::Factors(a, b))?;
            let run = || match &self.transforms {
                Transforms::Fused(quotient) => quotient.run(h, a, b),
                Transforms::Generated(quotient) => quotient.run(h, a, b),
            };
            let ((), ntt) = clock.enqueue(phase("ntt"), 6 * bytes, run)?;
            return Ok(Enqueued { partition, h, phases: vec![rows, ntt] });
        }
        let Transforms::Fused(quotient) = &self.transforms else {
            unreachable!("generated kernels are planned with an array for h")
        };
        let mut phases = Vec::new();
        let mut since = self.gpu.mark()?;
        quotient.run_in_two(a, b, |wanted| {
            let marks = [std::mem::replace(&mut since, self.gpu.mark()?), self.gpu.mark()?];
            if !phases.is_empty() {
                phases.push(Clock::between(phase("ntt"), 4 * bytes, marks));
            }
            phases.push(rows(wanted)?.1);
            since = self.gpu.mark()?;
            Ok(())
        })?;
        phases.push(Clock::between(phase("ntt"), 2 * bytes, [since, self.gpu.mark()?]));
        Ok(Enqueued { partition, h: b, phases })
    }

    /// Enqueues rows, and zeros after the last.
    fn fill(
        &self,
        slot: usize,
        source: RowSource<'_>,
        wanted: WantedRows<'_>,
    ) -> Result<(), GpuError> {
        let copy = |target: DeviceSlice<'_, Fr>, rows: &[Fr]| {
            target.slice(0..rows.len()).copy_from_host(rows)?;
            target.slice(rows.len()..target.len()).fill(0)
        };
        match (source, wanted) {
            (RowSource::Template(_), WantedRows::Factors(a, b)) => {
                self.rows.run(a, b, &self.witnesses, slot)
            }
            (RowSource::Template(_), WantedRows::Product(c)) => {
                self.rows.run_product(c, &self.witnesses, slot)
            }
            (RowSource::Given([a_rows, b_rows]), WantedRows::Factors(a, b)) => {
                copy(a, a_rows)?;
                copy(b, b_rows)
            }
            (RowSource::Given([a_rows, b_rows]), WantedRows::Product(c)) => {
                let product: Vec<Fr> = a_rows.par_iter().zip(b_rows).map(|(a, b)| a * b).collect();
                copy(c, &product)
            }
        }
    }
}
