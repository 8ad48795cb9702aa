//! The sums on a GPU: rows, transforms and every sum, from the compact assignments.
//!
//! Where they fit, the points arrive from the parameter file while the circuit is recorded and the
//! witnesses are made, and stay; else they pass through in chunks behind the work. Buffers and
//! tables are made beside the recording too. A partition goes from its assignment to its sum over H
//! without a wait of the host but for the last points of that sum; bits and tails follow once for
//! the whole group.
//!
//! | phase | what |
//! |---|---|
//! | `allocate-gpu`, `prepare-gpu` | buffers and tables; then the circuit's rows and query maps, packed and copied |
//! | `upload` | points, and each partition's assignment |
//! | `rows`, `ntt`, `h_msm` | a partition's a and b, its quotient, the sum over H |
//! | `bits`, `tail` | a group's sums over bits and over field elements, in G1 |
//! | `b_g2` | both in G2 |
//!
//! There is no `download`. What comes back is the sums, inside the phases that make them: of ten
//! partitions of 32 GiB 2.3 kB a partition for H, the buckets of 1,024 patterns in each of four
//! queries (1 MB for all ten), and 15 windows a tail (14 kB a partition): 0.12 MB a partition, some
//! 0.05 ms of the second that a partition takes.

mod clock;
mod permits;
pub mod plan;
mod points;
mod query;
mod room;
mod stream;
mod work;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use blstrs::{G1Projective, G2Projective};

use self::clock::Clock;
use self::permits::{InFlight, Permits};
use self::plan::{Mode, Plan};
use self::points::{Held, ResidentPoints};
use self::query::{ChunkWork, QuerySums};
use self::room::Room;
use self::stream::{ChunkBuffers, Source, Stream};
use self::work::Work;
use super::ProveError;
use super::native::{G2Variant, NativeError, PartitionAssignment, PartitionSums, Sums};
use crate::gpu::{G1, G2, Gpu, GpuError};
use crate::params::Parameters;
use crate::params::layout::Query;
use crate::progress::{Device, Phase, Progress, Unit};
use crate::r1cs::Template;
use crate::sector::RegisteredProof;
use crate::threads::joined;
use crate::variant::Variants;

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
    plan: Plan,
    points: Points<'p>,
    work: Mutex<Option<Work<'p>>>,
}

/// How the points are held.
enum Points<'p> {
    Resident(ResidentPoints<'p>),
    Streamed(ChunkBuffers<'p>),
}

/// Where a group's points come from.
enum Supply<'a> {
    Resident(&'a ResidentPoints<'a>),
    Streamed(Mutex<Stream<'a>>),
}

impl Supply<'_> {
    /// Calls `work` with all points of `query`, which is the next of the schedule.
    fn each<C: Held>(&self, query: Query, work: &mut ChunkWork<'_, C>) -> Result<(), NativeError> {
        match self {
            Self::Resident(points) => {
                points.wait(query)?;
                let points = C::resident(points, query);
                Ok(work(points, 0..points.len())?)
            }
            Self::Streamed(stream) => {
                stream.lock().expect("a panic ends the proof").each::<C>(query, work)
            }
        }
    }
}

impl<'p> GpuSums<'p> {
    /// Plans the memory and takes that of the points.
    ///
    /// # Errors
    /// When no plan fits, with the bytes needed, or the GPU fails.
    pub fn new(gpu: &'p Gpu, vram_bytes: Option<u64>, job: Job<'p>) -> Result<Self, ProveError> {
        let plan = Plan::choose(gpu, vram_bytes, job)?;
        gpu.limit_memory(vram_bytes);
        let counts = job.parameters.layout().counts();
        let points = match plan.mode {
            Mode::Resident => ResidentPoints::new(gpu, counts).map(Points::Resident),
            Mode::Streamed { chunk_log } => ChunkBuffers::new(gpu, chunk_log).map(Points::Streamed),
        };
        let points = points.map_err(ProveError::Gpu)?;
        Ok(Self { gpu, job, plan, points, work: Mutex::new(None) })
    }

    fn work(&self) -> MutexGuard<'_, Option<Work<'p>>> {
        self.work.lock().expect("a panic ends the proof")
    }

    /// The sums of a group whose points `supply` brings.
    fn group_sums(
        &self,
        work: &Work<'p>,
        supply: &Supply<'_>,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<PartitionSums>, NativeError> {
        let h = self.h_sums(work, supply, partitions, progress)?;
        let clock = Clock { gpu: self.gpu, progress };
        let in_g1 = |query, sums: &QuerySums<'_, G1>| {
            sums.run(|each| supply.each::<G1>(query, each), &work.witnesses, partitions, clock)
        };
        let in_g1 = || -> Result<[Vec<G1Projective>; 3], NativeError> {
            Ok([
                in_g1(Query::L, &work.l)?,
                in_g1(Query::A, &work.a_query)?,
                in_g1(Query::BG1, &work.b_g1)?,
            ])
        };
        let in_g2 = || -> Result<Vec<G2Projective>, NativeError> {
            let clock = Clock { gpu: work.g2_gpu, progress };
            let each = |work: &mut ChunkWork<'_, G2>| supply.each::<G2>(Query::BG2, work);
            work.b_g2.run(each, &work.witnesses, partitions, clock)
        };
        let (g1, g2) = match (self.job.variants.g2, supply) {
            (G2Variant::Parallel, Supply::Resident(_)) => thread::scope(|scope| {
                let in_g2 = scope.spawn(in_g2);
                (in_g1(), joined(in_g2.join()))
            }),
            // Streamed points come in one order.
            _ => {
                let g1 = in_g1()?;
                (Ok(g1), in_g2())
            }
        };
        let ([l, a, b_g1], b_g2) = (g1?, g2?);
        let sums = h.into_iter().zip(l).zip(a).zip(b_g1).zip(b_g2);
        let sums = sums.map(|((((h, l), a), b_g1), b_g2)| PartitionSums { h, l, a, b_g1, b_g2 });
        Ok(sums.collect())
    }

    /// The sums over H; assignments go to the device while one before is worked on.
    fn h_sums(
        &self,
        work: &Work<'p>,
        supply: &Supply<'_>,
        partitions: &[PartitionAssignment<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<G1Projective>, NativeError> {
        let in_flight = InFlight::default();
        let (uploaded, ready) = mpsc::channel();
        let (permits, permitted) = Permits::new(self.plan.in_flight);
        thread::scope(|scope| {
            let ends = (permitted, uploaded);
            scope.spawn(|| upload(work, (partitions, &in_flight), progress, ends));
            // Moved here, so that the thread above ends when this one fails.
            let (mut permits, ready): (_, Receiver<Result<(), GpuError>>) = (permits, ready);
            let sum = |(slot, partition): (usize, &PartitionAssignment<'_>)| {
                ready.recv().map_err(|_| NativeError::NotLoaded)??;
                let quotient = work.quotient(slot, partition, progress)?;
                permits.enqueued();
                let sum = work.h_sum(supply, quotient, progress)?;
                in_flight.leave(partition.partition);
                permits.left();
                Ok(sum)
            };
            partitions.iter().enumerate().map(sum).collect()
        })
    }
}

/// Uploads assignment after assignment, each with a permit, and tells when it is there, until no
/// one gives permits.
fn upload(
    work: &Work<'_>,
    (partitions, in_flight): (&[PartitionAssignment<'_>], &InFlight),
    progress: &dyn Progress,
    (permitted, uploaded): (Receiver<()>, Sender<Result<(), GpuError>>),
) {
    for (slot, partition) in partitions.iter().enumerate() {
        if permitted.recv().is_err() {
            break;
        }
        in_flight.enter(partition.partition);
        let bytes = (8 * partition.words.len() + 32 * partition.scalars.len()) as u64;
        let phase = Phase::new("upload").partition(partition.partition);
        let id = progress.start(phase.total(bytes, Unit::Bytes));
        let result = work.witnesses.upload(slot, partition.words, partition.scalars);
        progress.finish(id, bytes, Device::Gpu);
        let failed = result.is_err();
        if uploaded.send(result).is_err() || failed {
            break;
        }
    }
}

impl Sums for GpuSums<'_> {
    fn load(&self, cancelled: &AtomicBool, progress: &dyn Progress) -> Result<(), NativeError> {
        match &self.points {
            Points::Resident(points) => {
                let source = self.source(progress);
                points.load(source, cancelled)
            }
            Points::Streamed(_) => Ok(()),
        }
    }

    fn prepare<'t>(
        &self,
        template: &(dyn Fn() -> &'t Template + Sync),
        progress: &dyn Progress,
    ) -> Result<(), NativeError> {
        let mut work = self.work();
        if work.is_none() {
            let (gpu, plan, job) = (self.gpu, &self.plan, self.job);
            let (room, template) = thread::scope(|scope| {
                let template = scope.spawn(template);
                let take = |_| Room::new(gpu, plan, job);
                (progress.run(Phase::new("allocate-gpu"), 0, take), joined(template.join()))
            });
            let room = room?;
            let put = |_| Work::new(gpu, room, template, plan, job);
            *work = Some(progress.run(Phase::new("prepare-gpu"), 0, put)?);
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
        match &self.points {
            Points::Resident(points) => {
                self.group_sums(work, &Supply::Resident(points), partitions, progress)
            }
            Points::Streamed(buffers) => thread::scope(|scope| {
                let mut schedule = vec![Query::H; partitions.len()];
                schedule.extend([Query::L, Query::A, Query::BG1, Query::BG2]);
                let (stream, uploading) =
                    Stream::start(scope, self.source(progress), buffers, schedule);
                let supply = Supply::Streamed(Mutex::new(stream));
                let sums = self.group_sums(work, &supply, partitions, progress);
                // The thread ends with the last chunk, or when no one takes chunks.
                drop(supply);
                joined(uploading.join())?;
                sums
            }),
        }
    }
}

impl GpuSums<'_> {
    fn source<'a>(&'a self, progress: &'a dyn Progress) -> Source<'a> {
        let Job { parameters, variants, .. } = self.job;
        Source { gpu: self.gpu, parameters, pin: variants.pin, progress }
    }
}
