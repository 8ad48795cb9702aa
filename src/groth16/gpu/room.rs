//! What a proof takes on the device before its circuit is known: buffers and tables, while the
//! circuit is recorded.

use super::Job;
use super::plan::{Mode, Plan};
use crate::field::Fr;
use crate::gpu::generated::{GeneratedMsm, GeneratedQuotient};
use crate::gpu::msm::{BitSums, Msm, MsmVariant};
use crate::gpu::ntt::{NttVariant, Quotient};
use crate::gpu::{Curve, DeviceBuffer, DeviceWitnesses, G1, G2, Gpu, GpuError};
use crate::groth16::native::G2Variant;
use crate::params::layout::Query;
use crate::witness::Layout;

/// The memory of every stage but what [`super::work::Work::new`] makes from the circuit.
pub(super) struct Room<'p> {
    /// The stream of G2: one of its own, unless `g2=serial`.
    pub(super) g2_gpu: &'p Gpu,
    /// On the third stream, that of G2, so that assignments arrive while another is worked on: on
    /// the second they would wait for the sorts of its sums.
    pub(super) witnesses: DeviceWitnesses<'p>,
    pub(super) a: DeviceBuffer<'p, Fr>,
    pub(super) b: DeviceBuffer<'p, Fr>,
    /// For the quotient, unless it replaces a or b.
    pub(super) h: Option<DeviceBuffer<'p, Fr>>,
    pub(super) transforms: Transforms<'p>,
    pub(super) h_msm: HMsm<'p>,
    pub(super) bits: QueryRoom<'p>,
}

/// The memory of the sums over bits.
pub(super) struct QueryRoom<'p> {
    pub(super) l: BitSums<'p, G1>,
    pub(super) a: BitSums<'p, G1>,
    pub(super) b_g1: BitSums<'p, G1>,
    pub(super) b_g2: BitSums<'p, G2>,
}

/// Whose transforms make the quotient.
pub(super) enum Transforms<'p> {
    /// Ours: h in bit-reversed order.
    Fused(Quotient<'p>),
    /// ec-gpu-gen's: h in natural order.
    Generated(GeneratedQuotient<'p>),
}

/// Whose kernels sum over H.
pub(super) enum HMsm<'p> {
    /// Ours, over the whole domain or a chunk of it.
    Pairs(Box<Msm<'p, G1>>),
    /// ec-gpu-gen's.
    Generated(GeneratedMsm<'p, G1>),
}

impl<'p> Room<'p> {
    /// Takes the memory of a plan, and makes the tables of its transforms.
    pub(super) fn new(gpu: &'p Gpu, plan: &Plan, job: Job<'p>) -> Result<Self, GpuError> {
        let Job { proof, variants, .. } = job;
        let log_n = proof.size.circuit().log_n;
        let n = 1usize << log_n;
        // The sums in G1 sort on the second stream.
        let third = gpu.side()?.side()?;
        let g2_gpu = match (variants.g2, plan.mode) {
            (G2Variant::Parallel, Mode::Resident) => third,
            _ => gpu,
        };
        let room = Self {
            g2_gpu,
            witnesses: DeviceWitnesses::new(third, Layout::new(proof.size), plan.slots)?,
            a: DeviceBuffer::new(gpu, n)?,
            b: DeviceBuffer::new(gpu, n)?,
            h: (plan.arrays() == 3).then(|| DeviceBuffer::new(gpu, n)).transpose()?,
            transforms: match variants.ntt {
                NttVariant::Fused => Transforms::Fused(Quotient::new(gpu, log_n, plan.twiddles())?),
                NttVariant::Generated => Transforms::Generated(GeneratedQuotient::new(gpu, log_n)?),
            },
            h_msm: match variants.msm {
                MsmVariant::Pairs => {
                    let points = n.min(plan.chunk_points::<G1>());
                    HMsm::Pairs(Box::new(Msm::new(gpu, points, variants.window_h)?))
                }
                MsmVariant::Generated => HMsm::Generated(GeneratedMsm::new(gpu)?),
            },
            bits: QueryRoom {
                l: bit_sums(gpu, Query::L, plan, job)?,
                a: bit_sums(gpu, Query::A, plan, job)?,
                b_g1: bit_sums(gpu, Query::BG1, plan, job)?,
                b_g2: bit_sums(g2_gpu, Query::BG2, plan, job)?,
            },
        };
        third.synchronize()?;
        Ok(room)
    }
}

/// The memory of one query's sums over bits, whole or in chunks.
fn bit_sums<'p, C: Curve>(
    gpu: &'p Gpu,
    query: Query,
    plan: &Plan,
    job: Job<'p>,
) -> Result<BitSums<'p, C>, GpuError> {
    let points = job.parameters.layout().counts().query(query) as usize;
    let together = plan.together(job.variants.bits);
    BitSums::new(gpu, points.min(plan.chunk_points::<C>()), together)
}
