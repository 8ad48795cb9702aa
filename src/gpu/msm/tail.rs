//! Sums over the bases whose scalars are full field elements, at positions that are the same in
//! every partition.
//!
//! In: which bases meet which scalars, and the query once, whole or in chunks: its bases are
//! gathered and stay. Out: a sum a partition.

use blstrs::Scalar;

use super::{Msm, ScalarOrder};
use crate::gpu::kernels;
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, DeviceWitnesses, Gpu, GpuError};
use crate::msm::TailTerm;

/// The sums `sum_t scalars[t.full] bases[t.base]` over the terms of one query.
pub struct TailSums<'g, C: Curve> {
    gpu: &'g Gpu,
    /// Indices in the query, ascending.
    base_indices: Vec<u32>,
    device_base_indices: DeviceBuffer<'g, u32>,
    /// The gathered bases' scalars, as indices into a partition's.
    full_indices: DeviceBuffer<'g, u32>,
    bases: DeviceBuffer<'g, C::Affine>,
    scalars: DeviceBuffer<'g, Scalar>,
    msm: Msm<'g, C>,
}

impl<'g, C: Curve> TailSums<'g, C> {
    /// Prepares the sums over `terms`; the bases are still to be gathered.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn new(gpu: &'g Gpu, terms: &[TailTerm]) -> Result<Self, GpuError> {
        let mut terms = terms.to_vec();
        terms.sort_unstable_by_key(|term| term.base);
        let base_indices: Vec<u32> = terms.iter().map(|term| term.base).collect();
        let full_indices: Vec<u32> = terms.iter().map(|term| term.full).collect();
        Ok(Self {
            gpu,
            device_base_indices: DeviceBuffer::from_host(gpu, &base_indices)?,
            base_indices,
            full_indices: DeviceBuffer::from_host(gpu, &full_indices)?,
            bases: DeviceBuffer::new(gpu, terms.len())?,
            scalars: DeviceBuffer::new(gpu, terms.len())?,
            msm: Msm::new(gpu, terms.len())?,
        })
    }

    /// Enqueues the copy of those of the query's bases `first..first + chunk.len()` that have a
    /// term. The chunks of a query together hold all bases; their order does not matter.
    ///
    /// # Errors
    /// When the launch fails.
    pub fn gather(&self, chunk: DeviceSlice<'_, C::Affine>, first: usize) -> Result<(), GpuError> {
        let place = |base: usize| self.base_indices.partition_point(|&i| (i as usize) < base);
        let range = place(first)..place(first + chunk.len());
        let indices = self.device_base_indices.as_slice().slice(range.clone());
        kernels::gather(self.gpu, self.bases.as_slice().slice(range), chunk, indices, first)
    }

    /// The sum for a partition's full scalars: inputs, then field elements.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn run(&self, scalars: DeviceSlice<'_, Scalar>) -> Result<C::Projective, GpuError> {
        let (own, indices) = (self.scalars.as_slice(), self.full_indices.as_slice());
        kernels::gather(self.gpu, own, scalars, indices, 0)?;
        self.msm.run(self.bases.as_slice(), own, ScalarOrder::Natural)
    }

    /// The sums of the first `partitions` places of `witnesses`.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When there are fewer places.
    pub fn run_group(
        &self,
        witnesses: &DeviceWitnesses<'_>,
        partitions: usize,
    ) -> Result<Vec<C::Projective>, GpuError> {
        (0..partitions).map(|slot| self.run(witnesses.partition(slot).1)).collect()
    }
}
