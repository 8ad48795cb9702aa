//! The memory that a proof takes on the GPU and beside it, known before any of it is taken.

use super::Job;
use super::points::ResidentPoints;
use super::stream::ChunkBuffers;
use crate::gpu::generated::GeneratedQuotient;
use crate::gpu::inflight::Inflight;
use crate::gpu::msm::{BitSums, Msm, MsmVariant, TailSums};
use crate::gpu::ntt::{NttVariant, Quotient, Twiddles};
use crate::gpu::upload::Uploader;
use crate::gpu::{Curve, DeviceWitnesses, G1, G2, Gpu, RowEvaluator};
use crate::groth16::native::BitsVariant;
use crate::groth16::{ProveError, group_partitions};
use crate::memory::{Budget, BudgetSource, MemoryError};
use crate::params::layout::{Counts, Query};
use crate::r1cs::{Matrices, Template};
use crate::sector::RegisteredProof;
use crate::variant::{SynthVariant, Variants};
use crate::witness::Layout;

/// Device memory left to the driver: kernels' stacks, and what other work of the context takes.
const RESERVE_BYTES: u64 = 512 << 20;
/// log2 of a chunk's points in G1, the largest that is tried first: sums over larger ones need
/// less of their buckets' reduction a point.
const CHUNK_LOG_MAX: u32 = 24;
const CHUNK_LOG_MIN: u32 = 16;
/// Partitions whose tails are summed at once where memory is plenty: five take 63 ms a partition of
/// 32 GiB where one by one takes 72 and ten 62, for 12 GB of memory, 3 and 20 (H200, 2026-11-29).
const TAILS_MAX: usize = 5;
/// Partitions whose assignments are on the device or on their way there.
const IN_FLIGHT: usize = 3;

/// How the points are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All on the device, as long as the prover lives.
    Resident,
    /// In chunks that pass through.
    Streamed {
        /// log2 of a chunk's points in G1; in G2 it has half as many.
        chunk_log: u32,
    },
}

/// What is on the device at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How the points are held.
    pub mode: Mode,
    /// Partitions of a group at most.
    pub slots: usize,
    /// Partitions between the upload of their assignment and their sum over H.
    pub in_flight: usize,
    /// Bytes in buffers at the peak.
    pub device_bytes: u64,
}

impl Plan {
    /// The plan that keeps most on the device of those that fit what is free on it, or what the
    /// person allows.
    ///
    /// # Errors
    /// When none fits, with the bytes that the smallest needs; when the GPU fails.
    pub fn choose(gpu: &Gpu, vram_bytes: Option<u64>, job: Job<'_>) -> Result<Self, ProveError> {
        let free_bytes = gpu.free_bytes().map_err(ProveError::Gpu)? as u64;
        let budget = Self::budget(free_bytes, vram_bytes);
        Ok(Self::within(budget, *job.parameters.layout().counts(), job.proof, job.variants)?)
    }

    /// What may be used of a GPU with `free_bytes`, of which the person allows `vram_bytes`.
    pub fn budget(free_bytes: u64, vram_bytes: Option<u64>) -> Budget {
        match vram_bytes {
            Some(bytes) if bytes < free_bytes => Budget { bytes, source: BudgetSource::VramFlag },
            _ => Budget { bytes: free_bytes, source: BudgetSource::Device },
        }
    }

    /// The plan that keeps most on the device of those that fit `budget`, for parameters of
    /// `counts` points.
    ///
    /// # Errors
    /// When none fits, with the bytes that the smallest needs.
    pub fn within(
        budget: Budget,
        counts: Counts,
        proof: RegisteredProof,
        variants: Variants,
    ) -> Result<Self, MemoryError> {
        let log_n = proof.size.circuit().log_n;
        let chunks = CHUNK_LOG_MIN..=CHUNK_LOG_MAX.min(log_n - 1);
        let streamed = chunks.rev().map(|chunk_log| Mode::Streamed { chunk_log });
        // ec-gpu-gen's kernels have no form that takes less memory.
        let ours = variants.ntt == NttVariant::Fused && variants.msm == MsmVariant::Pairs;
        let streamed = streamed.filter(|_| ours);
        let mut result = Ok(());
        for mode in std::iter::once(Mode::Resident).chain(streamed) {
            let plan = Self::new(mode, &counts, proof, variants);
            result = budget.check(plan.needed_bytes());
            if result.is_ok() {
                return Ok(plan);
            }
        }
        Err(result.expect_err("no plan fits"))
    }

    fn new(mode: Mode, counts: &Counts, proof: RegisteredProof, variants: Variants) -> Self {
        let layout = Layout::new(proof.size);
        let log_n = proof.size.circuit().log_n;
        let n = 1u64 << log_n;
        let slots = group_partitions(proof);
        let in_flight = match variants.inflight {
            Inflight::Auto => IN_FLIGHT,
            Inflight::Count(count) => count,
        };
        let mut plan = Self { mode, slots, in_flight, device_bytes: 0 };
        let points = match mode {
            Mode::Resident => ResidentPoints::bytes(counts),
            Mode::Streamed { chunk_log } => ChunkBuffers::bytes(chunk_log),
        };
        let h_points = plan.chunk_points::<G1>().min(n as usize);
        plan.device_bytes = points
            + Uploader::device_bytes(variants.pin)
            + DeviceWitnesses::bytes(&layout, slots)
            + RowEvaluator::planned_bytes(proof.size)
            + plan.arrays() * 32 * n
            + match variants.ntt {
                NttVariant::Fused => Quotient::bytes(log_n, plan.twiddles()),
                NttVariant::Generated => GeneratedQuotient::bytes(log_n),
            }
            // The generated kernel's buckets are fewer than ours.
            + Msm::<G1>::bytes(h_points, variants.window_h)
            + plan.sums_bytes(counts, &layout, variants);
        plan
    }

    /// Bytes that are free on a device where the plan fits.
    pub const fn needed_bytes(&self) -> u64 {
        self.device_bytes + RESERVE_BYTES
    }

    /// Arrays over the domain: a, b and h, or a and b alone with rows evaluated twice.
    pub(super) fn arrays(&self) -> u64 {
        match self.mode {
            Mode::Resident => 3,
            Mode::Streamed { .. } => 2,
        }
    }

    /// Where the transforms' twiddles are from.
    pub(super) fn twiddles(&self) -> Twiddles {
        match self.mode {
            Mode::Resident => Twiddles::Stored,
            Mode::Streamed { .. } => Twiddles::Composed,
        }
    }

    /// Points of `C` that are summed at once, at most.
    pub(super) fn chunk_points<C: Curve>(&self) -> usize {
        match self.mode {
            Mode::Resident => usize::MAX,
            Mode::Streamed { chunk_log } => {
                (size_of::<<G1 as Curve>::Affine>() << chunk_log) / size_of::<C::Affine>()
            }
        }
    }

    /// Partitions whose bits are summed at once.
    pub(super) fn together(&self, bits: BitsVariant) -> usize {
        match bits {
            BitsVariant::Pattern => self.slots,
            BitsVariant::Each => 1,
        }
    }

    /// Partitions whose tails are summed at once.
    pub(super) fn tails(&self) -> usize {
        match self.mode {
            Mode::Resident => self.slots.min(TAILS_MAX),
            Mode::Streamed { .. } => 1,
        }
    }

    /// The sums over bits and tails of all queries.
    fn sums_bytes(&self, counts: &Counts, layout: &Layout, variants: Variants) -> u64 {
        let together = self.together(variants.bits);
        let count = |query| counts.query(query) as usize;
        let scalars = layout.inputs() + layout.full();
        // The bits that a challenge's bases meet: for B once for both groups would do.
        let places = |query| (4 * count(query) / layout.challenges) as u64 + (1 << 20);
        let in_g1 = |query| {
            let points = count(query).min(self.chunk_points::<G1>());
            BitSums::<G1>::bytes(points, together)
                + places(query)
                + TailSums::<G1>::bytes(scalars, self.tails(), variants.window_tail)
        };
        let points = count(Query::BG2).min(self.chunk_points::<G2>());
        let in_g2 = BitSums::<G2>::bytes(points, together)
            + places(Query::BG2)
            + TailSums::<G2>::bytes(scalars, self.tails(), variants.window_tail);
        [Query::L, Query::A, Query::BG1].map(in_g1).iter().sum::<u64>() + in_g2
    }
}

/// Peak host memory: the assignments of a group, as they are made and as they are uploaded, the
/// template beside the form in which it goes to the device, and the page-locked memory.
pub fn host_bytes(variants: Variants, proof: RegisteredProof) -> u64 {
    /// The process, the driver, the hashers' constants, scratch of the threads.
    const BASE_BYTES: u64 = 512 << 20;
    /// What a row by row synthesis holds: a, b, c and the assignment, as elements.
    const ROW_BY_ROW_BYTES: u64 = 4 * 32;
    let size = proof.size;
    let group = group_partitions(proof) as u64;
    let assignments = group * Layout::new(size).bytes() as u64;
    let synthesis = match variants.synth {
        SynthVariant::Compact => 0,
        // a and b of the whole group stay until they are proved.
        _ => (group + 1) * ROW_BY_ROW_BYTES * size.circuit().constraints,
    };
    let template = 2 * Template::planned_bytes(size, Matrices::Ab);
    assignments + synthesis + template + Uploader::host_bytes(variants.pin) + BASE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::{ProofVersion, SectorSize};

    fn plan(size: SectorSize, bytes: u64) -> Result<Plan, MemoryError> {
        let proof = RegisteredProof { size, version: ProofVersion::V1_1 };
        let budget = Budget { bytes, source: BudgetSource::VramFlag };
        Plan::within(budget, Counts::of(size), proof, Variants::default())
    }

    #[test]
    fn points_stay_where_they_fit_and_pass_through_where_they_do_not() {
        let h200 = plan(SectorSize::GiB32, 139 << 30).expect("an H200");
        assert_eq!(h200.mode, Mode::Resident);
        assert!(h200.device_bytes > 47_373_928_632, "the points alone");
        for card in [24, 16] {
            let plan = plan(SectorSize::GiB32, card << 30).expect("a smaller card");
            assert!(matches!(plan.mode, Mode::Streamed { .. }), "{plan:?}");
        }
        let small = plan(SectorSize::MiB512, 4 << 30).expect("4 GiB");
        assert!(matches!(small.mode, Mode::Streamed { .. }), "{small:?}");
        assert!(small.needed_bytes() <= 4 << 30);
    }

    #[test]
    fn windows_are_part_of_the_plan() {
        let proof = RegisteredProof { size: SectorSize::GiB32, version: ProofVersion::V1_1 };
        let planned_bytes = |window_h: &str, window_tail: &str| {
            let [window_h, window_tail] =
                [window_h, window_tail].map(|text| text.parse().expect("a window"));
            let variants = Variants { window_h, window_tail, ..Variants::default() };
            Plan::new(Mode::Resident, &Counts::of(proof.size), proof, variants).device_bytes
        };
        let auto = planned_bytes("auto", "auto");
        assert_eq!(planned_bytes("22", "auto"), auto, "the width chosen for 2^27 points");
        assert!(planned_bytes("4", "auto") > auto + (8 << 30), "64 windows of 2^27 digits");
        assert!(planned_bytes("auto", "22") > auto + (8 << 30), "2^21 buckets a window");
    }

    #[test]
    fn smaller_budgets_give_smaller_chunks_and_at_last_the_bytes_needed() {
        let size = SectorSize::MiB512;
        let mut last = u32::MAX;
        for bytes in (0..256).rev().map(|step| step << 25) {
            match plan(size, bytes) {
                Ok(Plan { mode: Mode::Resident, .. }) => assert_eq!(last, u32::MAX),
                Ok(Plan { mode: Mode::Streamed { chunk_log }, device_bytes, .. }) => {
                    assert!(chunk_log <= last && device_bytes < bytes);
                    last = chunk_log;
                }
                Err(error) => {
                    assert!(error.needed_bytes > bytes);
                    assert!(plan(size, error.needed_bytes).is_ok(), "the number is right");
                }
            }
        }
        assert_eq!(last, CHUNK_LOG_MIN, "all chunk sizes were met");
    }
}
