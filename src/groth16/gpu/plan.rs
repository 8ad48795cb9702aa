//! The memory that a proof takes on the GPU and beside it, known before any of it is taken.

use super::Job;
use super::points::ResidentPoints;
use crate::gpu::msm::{BitSums, Msm};
use crate::gpu::ntt::Quotient;
use crate::gpu::upload::{PinVariant, Uploader};
use crate::gpu::{DeviceWitnesses, G1, G2, Gpu, RowEvaluator};
use crate::groth16::{ProveError, group_partitions};
use crate::memory::{Budget, BudgetSource};
use crate::params::layout::{Counts, Query};
use crate::r1cs::{Matrices, Template};
use crate::sector::RegisteredProof;
use crate::variant::{SynthVariant, Variants};
use crate::witness::Layout;

/// Device memory left to the driver: kernels' stacks, and what other work of the context takes.
const RESERVE_BYTES: u64 = 512 << 20;

/// What is on the device at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes in buffers at the peak.
    pub device_bytes: u64,
}

impl Plan {
    /// The plan of a proof whose points stay on the device.
    pub fn resident(layout: &Layout, job: Job<'_>) -> Self {
        let Job { parameters, proof, .. } = job;
        let counts = parameters.layout().counts();
        let n = 1u64 << proof.size.circuit().log_n;
        let slots = group_partitions(proof);
        let device_bytes = ResidentPoints::bytes(counts)
            + Uploader::device_bytes(PinVariant::default())
            + DeviceWitnesses::bytes(layout, slots)
            + RowEvaluator::planned_bytes(proof.size)
            + 96 * n
            + Quotient::bytes(proof.size.circuit().log_n)
            + Msm::<G1>::bytes(n as usize)
            + sums_bytes(counts, layout, slots);
        Self { device_bytes }
    }

    /// Compares the plan with the memory that is free, or that the person allows.
    ///
    /// # Errors
    /// When it does not fit, with the bytes needed.
    pub fn check(&self, gpu: &Gpu, vram_bytes: Option<u64>) -> Result<(), ProveError> {
        let free = gpu.free_bytes().map_err(ProveError::Gpu)? as u64;
        let free = Budget { bytes: free, source: BudgetSource::Device };
        let budget = match vram_bytes {
            Some(bytes) if bytes < free.bytes => Budget { bytes, source: BudgetSource::VramFlag },
            _ => free,
        };
        Ok(budget.check(self.device_bytes + RESERVE_BYTES)?)
    }
}

/// The sums over bits and tails of all queries.
fn sums_bytes(counts: &Counts, layout: &Layout, slots: usize) -> u64 {
    let tail = layout.inputs() + layout.full();
    let in_g1 = |query| {
        let points = counts.query(query) as usize;
        BitSums::<G1>::bytes(points, slots) + 4 * points as u64 + tail_bytes::<G1>(tail)
    };
    let points = counts.query(Query::BG2) as usize;
    let in_g2 = BitSums::<G2>::bytes(points, slots) + tail_bytes::<G2>(tail);
    [Query::L, Query::A, Query::BG1].map(in_g1).iter().sum::<u64>() + in_g2
}

fn tail_bytes<C: crate::gpu::Curve>(tail: usize) -> u64 {
    (size_of::<C::Affine>() + 40) as u64 * tail as u64 + Msm::<C>::bytes(tail)
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
    let assignments = group * 2 * Layout::new(size).bytes() as u64;
    let synthesis = match variants.synth {
        SynthVariant::Compact => 0,
        // a and b of the whole group stay until they are proved.
        _ => (group + 1) * ROW_BY_ROW_BYTES * size.circuit().constraints,
    };
    let template = 2 * Template::planned_bytes(size, Matrices::Ab);
    assignments + synthesis + template + Uploader::host_bytes(PinVariant::default()) + BASE_BYTES
}
