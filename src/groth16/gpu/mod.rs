//! The sums on a GPU: rows, transforms and every sum from the compact assignments.
//!
//! The points arrive from the parameter file while the circuit is recorded and the witnesses are
//! made, and stay. A partition goes from its assignment to its sum over H without a wait of the
//! host but for the last points of that sum; bits and tails follow once for the whole group.

mod clock;
pub mod plan;
mod points;
mod query;

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};
use std::thread;

use blstrs::{G1Projective, G2Projective};

use self::clock::Clock;
use self::plan::Plan;
use self::points::ResidentPoints;
use self::query::QuerySums;
use super::group_partitions;
use super::native::{G2Variant, NativeError, PartitionAssignment, PartitionSums, RowSource, Sums};
use crate::field::Fr;
use crate::gpu::msm::{Msm, ScalarOrder};
use crate::gpu::ntt::Quotient;
use crate::gpu::upload::PinVariant;
use crate::gpu::{DeviceBuffer, DeviceSlice, DeviceWitnesses, G1, G2, Gpu, GpuError, RowEvaluator};
use crate::params::Parameters;
use crate::params::layout::Query;
use crate::progress::{Device, Phase, Progress, Unit};
use crate::r1cs::{self, Template};
use crate::sector::RegisteredProof;
use crate::variant::Variants;
use crate::witness::Layout;

use super::ProveError;

/// What is to be proved, with what.
#[derive(Clone, Copy)]
pub struct Job<'p> {
    /// The parameters of the proof's sector size.
    pub parameters: &'p Parameters,
    /// The proof.
    pub proof: RegisteredProof,
    /// How to compute.
    pub variants: Variants,
}

/// Sums on one GPU, with everything that stays there between groups.
pub struct GpuSums<'p> {
    gpu: &'p Gpu,
    job: Job<'p>,
    layout: Layout,
    points: ResidentPoints<'p>,
    work: Mutex<Option<Work<'p>>>,
}

impl<'p> GpuSums<'p> {
    /// Plans the memory and takes that of the points.
    ///
    /// # Errors
    /// When the plan does not fit, with the bytes needed, or the GPU fails.
    pub fn new(gpu: &'p Gpu, vram_bytes: Option<u64>, job: Job<'p>) -> Result<Self, ProveError> {
        let layout = Layout::new(job.proof.size);
        let plan = Plan::resident(&layout, job);
        plan.check(gpu, vram_bytes)?;
        let counts = job.parameters.layout().counts();
        let points = ResidentPoints::new(gpu, counts).map_err(ProveError::Gpu)?;
        Ok(Self { gpu, job, layout, points, work: Mutex::new(None) })
    }

    fn work(&self) -> MutexGuard<'_, Option<Work<'p>>> {
        self.work.lock().expect("a panic ends the proof")
    }

    /// The sums over L, A and B1 of all partitions.
    fn in_g1(
        &self,
        work: &Work<'p>,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<[Vec<G1Projective>; 3], NativeError> {
        let clock = Clock { gpu: self.gpu, progress };
        let points = &self.points;
        let run = |query, sums: &QuerySums<'_, G1>, points: DeviceSlice<'_, _>| {
            self.points.wait(query)?;
            Ok::<_, NativeError>(sums.run(points, &work.witnesses, partitions, clock)?)
        };
        Ok([
            run(Query::L, &work.l, points.l.as_slice())?,
            run(Query::A, &work.a_query, points.a.as_slice())?,
            run(Query::BG1, &work.b_g1, points.b_g1.as_slice())?,
        ])
    }

    /// The sums over B2 of all partitions.
    fn in_g2(
        &self,
        work: &Work<'p>,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<G2Projective>, NativeError> {
        self.points.wait(Query::BG2)?;
        let clock = Clock { gpu: work.g2_gpu, progress };
        Ok(work.b_g2.run(self.points.b_g2.as_slice(), &work.witnesses, partitions, clock)?)
    }
}

impl Sums for GpuSums<'_> {
    fn load(&self, cancelled: &AtomicBool, progress: &dyn Progress) -> Result<(), NativeError> {
        let source = (self.job.parameters, PinVariant::default());
        self.points.load(self.gpu, source, cancelled, progress)
    }

    fn prepare(&self, template: &Template, progress: &dyn Progress) -> Result<(), NativeError> {
        let mut work = self.work();
        if work.is_none() {
            let make = |_| Work::new(self.gpu, template, self.layout, self.job);
            *work = Some(progress.run(Phase::new("prepare-gpu"), 0, make)?);
        }
        Ok(())
    }

    fn of_group(
        &self,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, NativeError> {
        let work = self.work();
        let work = work.as_ref().expect("prepared first");
        assert!(partitions.len() <= work.witnesses.partitions(), "a group of the proof");
        for (slot, partition) in partitions.iter().enumerate() {
            let bytes = (8 * partition.words.len() + 32 * partition.scalars.len()) as u64;
            let id = progress.start(
                Phase::new("upload").partition(partition.partition).total(bytes, Unit::Bytes),
            );
            work.witnesses.upload(slot, partition.words, partition.scalars)?;
            progress.finish(id, bytes, Device::Gpu);
        }
        let h: Vec<G1Projective> = partitions
            .iter()
            .enumerate()
            .map(|(slot, partition)| work.h_sum(&self.points, slot, partition, progress))
            .collect::<Result<_, _>>()?;
        let in_g1 = || self.in_g1(work, partitions, progress);
        let in_g2 = || self.in_g2(work, partitions, progress);
        let (g1, g2) = match self.job.variants.g2 {
            G2Variant::Serial => (in_g1(), in_g2()),
            G2Variant::Parallel => thread::scope(|scope| {
                let in_g2 = scope.spawn(in_g2);
                let g1 = in_g1();
                (g1, super::native::joined(in_g2))
            }),
        };
        let ([l, a, b_g1], b_g2) = (g1?, g2?);
        let sums = h.into_iter().zip(l).zip(a).zip(b_g1).zip(b_g2);
        let sums = sums.map(|((((h, l), a), b_g1), b_g2)| PartitionSums { h, l, a, b_g1, b_g2 });
        Ok(sums.collect())
    }
}

/// The circuit on the device, and the memory of every stage.
struct Work<'p> {
    gpu: &'p Gpu,
    /// The stream of G2: a second one, unless `g2=serial`.
    g2_gpu: &'p Gpu,
    /// On the second stream, so that assignments arrive while another is worked on.
    witnesses: DeviceWitnesses<'p>,
    rows: RowEvaluator<'p>,
    a: DeviceBuffer<'p, Fr>,
    b: DeviceBuffer<'p, Fr>,
    h: DeviceBuffer<'p, Fr>,
    quotient: Quotient<'p>,
    h_msm: Msm<'p, G1>,
    l: QuerySums<'p, G1>,
    a_query: QuerySums<'p, G1>,
    b_g1: QuerySums<'p, G1>,
    b_g2: QuerySums<'p, G2>,
}

impl<'p> Work<'p> {
    fn new(
        gpu: &'p Gpu,
        template: &Template,
        layout: Layout,
        job: Job<'p>,
    ) -> Result<Self, GpuError> {
        let Job { proof, variants, .. } = job;
        let slots = group_partitions(proof);
        let log_n = proof.size.circuit().log_n;
        let n = 1usize << log_n;
        let side = gpu.side()?;
        let g2_gpu = match variants.g2 {
            G2Variant::Parallel => side,
            G2Variant::Serial => gpu,
        };
        let in_g1 = |query| {
            let map = template.query(query);
            QuerySums::new(gpu, (&map, &layout), slots, variants.bits, ["bits", "tail"])
        };
        let b_map = template.query(r1cs::Query::B);
        let in_g2 =
            QuerySums::new(g2_gpu, (&b_map, &layout), slots, variants.bits, ["b_g2", "b_g2"]);
        Ok(Self {
            gpu,
            g2_gpu,
            witnesses: DeviceWitnesses::new(side, layout, slots)?,
            rows: RowEvaluator::new(gpu, template)?,
            a: DeviceBuffer::new(gpu, n)?,
            b: DeviceBuffer::new(gpu, n)?,
            h: DeviceBuffer::new(gpu, n)?,
            quotient: Quotient::new(gpu, log_n)?,
            h_msm: Msm::new(gpu, n)?,
            l: in_g1(r1cs::Query::L)?,
            a_query: in_g1(r1cs::Query::A)?,
            b_g1: in_g1(r1cs::Query::B)?,
            b_g2: in_g2?,
        })
    }

    /// `sum h_i H_i` of the partition in place `slot`.
    fn h_sum(
        &self,
        points: &ResidentPoints<'_>,
        slot: usize,
        partition: &PartitionAssignment<'_>,
        progress: &dyn Progress,
    ) -> Result<G1Projective, NativeError> {
        let clock = Clock { gpu: self.gpu, progress };
        let phase = |name| Phase::new(name).partition(partition.partition);
        let [a, b, h] = [&self.a, &self.b, &self.h].map(DeviceBuffer::as_slice);
        let bytes = 32 * h.len() as u64;
        let rows = match partition.source {
            RowSource::Template(_) => clock
                .enqueue(phase("rows"), 2 * bytes, || self.rows.run(a, b, &self.witnesses, slot)),
            RowSource::Given(rows) => clock.enqueue(phase("upload"), 2 * bytes, || {
                for (target, rows) in [a, b].into_iter().zip(rows) {
                    target.slice(0..rows.len()).copy_from_host(rows)?;
                    target.slice(rows.len()..target.len()).fill(0)?;
                }
                Ok(())
            }),
        };
        let ((), rows) = rows?;
        let ((), ntt) = clock.enqueue(phase("ntt"), 6 * bytes, || self.quotient.run(h, a, b))?;
        points.wait(Query::H)?;
        let (sum, msm) = clock.enqueue(phase("h_msm"), 3 * bytes, || {
            self.h_msm.run(points.h.as_slice(), h, ScalarOrder::BitReversed)
        })?;
        clock.tell(vec![rows, ntt, msm])?;
        Ok(sum)
    }
}
