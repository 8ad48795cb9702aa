//! Sums over the bases whose scalars are full field elements, at positions that are the same in
//! every partition.
//!
//! In: which bases meet which scalars, and the query once, whole or in chunks: its bases are
//! gathered and stay. Out: a sum a partition.

use blstrs::Scalar;

use super::{Msm, ScalarOrder};
use crate::gpu::kernels;
use crate::gpu::{Curve, DeviceBuffer, DeviceSlice, DeviceWitnesses, Gpu, GpuError};
use crate::msm::{TailTerm, Window};

/// The sums `sum_t scalars[t.full] bases[t.base]` over the terms of one query.
pub struct TailSums<'g, C: Curve> {
    gpu: &'g Gpu,
    /// Indices in the query, ascending.
    base_indices: Vec<u32>,
    device_base_indices: DeviceBuffer<'g, u32>,
    /// The gathered bases' scalars, as indices into a partition's.
    full_indices: DeviceBuffer<'g, u32>,
    bases: DeviceBuffer<'g, C::Affine>,
    /// `[partition][term]`
    scalars: DeviceBuffer<'g, Scalar>,
    /// Partitions that are summed at once.
    together: usize,
    msm: Msm<'g, C>,
}

impl<'g, C: Curve> TailSums<'g, C> {
    /// Prepares the sums over `terms`, `together` partitions at once, with windows as wide as `window`
    /// says; the bases are still to be gathered.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `together` is zero, or as [`Msm::new`].
    pub fn new(
        gpu: &'g Gpu,
        terms: &[TailTerm],
        together: usize,
        window: Window,
    ) -> Result<Self, GpuError> {
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
            scalars: DeviceBuffer::new(gpu, together * terms.len())?,
            together,
            msm: Msm::for_vectors(gpu, terms.len(), together, window)?,
        })
    }

    /// Bytes of device memory that [`TailSums::new`] takes for `terms` terms.
    ///
    /// # Panics
    /// As [`TailSums::new`].
    pub fn bytes(terms: usize, together: usize, window: Window) -> u64 {
        let term = size_of::<C::Affine>() + 2 * size_of::<u32>() + together * size_of::<Scalar>();
        (term * terms) as u64 + Msm::<C>::bytes_for_vectors(terms, together, window)
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

    /// The sum for each partition's full scalars: inputs, then field elements.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn run(
        &self,
        partitions: &[DeviceSlice<'_, Scalar>],
    ) -> Result<Vec<C::Projective>, GpuError> {
        let len = self.base_indices.len();
        let own = |slot: usize| self.scalars.as_slice().slice(slot * len..(slot + 1) * len);
        let mut sums = Vec::with_capacity(partitions.len());
        for partitions in partitions.chunks(self.together) {
            for (slot, &scalars) in partitions.iter().enumerate() {
                kernels::gather(self.gpu, own(slot), scalars, self.full_indices.as_slice(), 0)?;
            }
            let vectors: Vec<_> = (0..partitions.len()).map(own).collect();
            let (bases, order) = (self.bases.as_slice(), ScalarOrder::Natural);
            sums.extend(self.msm.run_vectors(bases, &vectors, order)?);
        }
        Ok(sums)
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
        let scalars: Vec<_> = (0..partitions).map(|slot| witnesses.partition(slot).1).collect();
        self.run(&scalars)
    }
}
