//! The circuit on the device, and the memory of every stage, kept from group to group.

use blstrs::{G1Affine, G1Projective};
use group::Group;

use super::clock::Clock;
use super::plan::{Mode, Plan};
use super::query::{PhaseNames, QuerySums, Shape};
use super::{Job, Supply};
use crate::field::Fr;
use crate::gpu::msm::{Msm, ScalarOrder};
use crate::gpu::ntt::{Quotient, bit_reverse};
use crate::gpu::{DeviceBuffer, DeviceSlice, DeviceWitnesses, G1, G2, Gpu, GpuError, RowEvaluator};
use crate::groth16::native::{G2Variant, NativeError, PartitionAssignment, RowSource};
use crate::params::layout::Query;
use crate::progress::{Phase, Progress};
use crate::r1cs::{self, Template};
use crate::witness::Layout;

/// Everything on the device but the points.
pub(super) struct Work<'p> {
    gpu: &'p Gpu,
    /// The stream of G2: a second one, unless `g2=serial`.
    pub(super) g2_gpu: &'p Gpu,
    /// On the second stream, so that assignments arrive while another is worked on.
    pub(super) witnesses: DeviceWitnesses<'p>,
    rows: RowEvaluator<'p>,
    a: DeviceBuffer<'p, Fr>,
    b: DeviceBuffer<'p, Fr>,
    h: DeviceBuffer<'p, Fr>,
    quotient: Quotient<'p>,
    /// Over the whole domain, or a chunk of it.
    h_msm: Msm<'p, G1>,
    pub(super) l: QuerySums<'p, G1>,
    pub(super) a_query: QuerySums<'p, G1>,
    pub(super) b_g1: QuerySums<'p, G1>,
    pub(super) b_g2: QuerySums<'p, G2>,
}

impl<'p> Work<'p> {
    /// Takes the memory of a plan and puts the circuit on the device.
    pub(super) fn new(
        gpu: &'p Gpu,
        template: &Template,
        plan: &Plan,
        job: Job<'p>,
    ) -> Result<Self, GpuError> {
        let Job { proof, variants, .. } = job;
        let layout = Layout::new(proof.size);
        let log_n = proof.size.circuit().log_n;
        let n = 1usize << log_n;
        let side = gpu.side()?;
        let g2_gpu = match (variants.g2, plan.mode) {
            (G2Variant::Parallel, Mode::Resident) => side,
            _ => gpu,
        };
        let (slots, variant) = (plan.slots, variants.bits);
        let in_g1 = |query| {
            let names = PhaseNames { bits: "bits", tail: "tail" };
            let shape = Shape { points: plan.chunk_points::<G1>(), slots, variant };
            QuerySums::new(gpu, (&template.query(query), &layout), shape, names)
        };
        let in_g2 = || {
            let names = PhaseNames { bits: "b_g2", tail: "b_g2" };
            let shape = Shape { points: plan.chunk_points::<G2>(), slots, variant };
            QuerySums::new(g2_gpu, (&template.query(r1cs::Query::B), &layout), shape, names)
        };
        let work = Self {
            gpu,
            g2_gpu,
            witnesses: DeviceWitnesses::new(side, layout, slots)?,
            rows: RowEvaluator::new(gpu, template)?,
            a: DeviceBuffer::new(gpu, n)?,
            b: DeviceBuffer::new(gpu, n)?,
            h: DeviceBuffer::new(gpu, n)?,
            quotient: Quotient::new(gpu, log_n)?,
            h_msm: Msm::new(gpu, n.min(plan.chunk_points::<G1>()))?,
            l: in_g1(r1cs::Query::L)?,
            a_query: in_g1(r1cs::Query::A)?,
            b_g1: in_g1(r1cs::Query::B)?,
            b_g2: in_g2()?,
        };
        side.synchronize()?;
        Ok(work)
    }

    /// `sum h_i H_i` of the partition whose assignment is in place `slot`.
    pub(super) fn h_sum(
        &self,
        supply: &Supply<'_>,
        slot: usize,
        partition: &PartitionAssignment<'_>,
        progress: &dyn Progress,
    ) -> Result<G1Projective, NativeError> {
        let clock = Clock { gpu: self.gpu, progress };
        let phase = |name| Phase::new(name).partition(partition.partition);
        let [a, b, h] = [&self.a, &self.b, &self.h].map(DeviceBuffer::as_slice);
        let bytes = size_of::<Fr>() as u64 * h.len() as u64;
        let rows = match partition.source {
            RowSource::Template(_) => clock
                .enqueue(phase("rows"), 2 * bytes, || self.rows.run(a, b, &self.witnesses, slot)),
            RowSource::Given(rows) => clock.enqueue(phase("upload"), 2 * bytes, || {
                [a, b].into_iter().zip(rows).try_for_each(|(target, rows)| fill(target, rows))
            }),
        };
        let ((), rows) = rows?;
        let ntt = clock.enqueue(phase("ntt"), 6 * bytes, || self.quotient.run(h, a, b));
        let mut phases = vec![rows, ntt?.1];
        let msm = |points: DeviceSlice<'_, G1Affine>, h: DeviceSlice<'_, Fr>, order| {
            let bytes = 4 * size_of::<Fr>() as u64 * h.len() as u64;
            clock.enqueue(phase("h_msm"), bytes, || self.h_msm.run(points, h, order))
        };
        match supply {
            Supply::Resident(points) => {
                points.wait(Query::H)?;
                let (all, timed) = msm(points.h_domain(), h, ScalarOrder::BitReversed)?;
                phases.push(timed);
                clock.tell(phases)?;
                Ok(all)
            }
            Supply::Streamed(_) => {
                // In the points' order, so that a chunk of points has a chunk of scalars.
                bit_reverse(self.gpu, a, h)?;
                clock.tell(phases)?;
                let mut sum = G1Projective::identity();
                supply.each::<G1>(Query::H, &mut |points, range| {
                    // The identity after the last point fills the domain.
                    points.slice(range.len()..points.len()).fill(0)?;
                    let h = a.slice(range.start..range.start + points.len());
                    let (part, timed) = msm(points, h, ScalarOrder::Natural)?;
                    sum += part;
                    clock.tell(vec![timed])
                })?;
                Ok(sum)
            }
        }
    }
}

/// Copies the values of all rows and sets the rest to zero.
fn fill(target: DeviceSlice<'_, Fr>, rows: &[Fr]) -> Result<(), GpuError> {
    target.slice(0..rows.len()).copy_from_host(rows)?;
    target.slice(rows.len()..target.len()).fill(0)
}
