//! The compact assignments of a group of partitions, on the device.
//!
//! In: packed bits and field elements, 70 MB a partition at 32 GiB. Out: the two arrays that rows,
//! bit sums and tails read. Slots are reused from group to group.

use blstrs::Scalar;

use super::{DeviceBuffer, DeviceSlice, Gpu, GpuError};
use crate::witness::Layout;

/// The assignments of up to a fixed number of partitions of one sector size.
pub struct DeviceWitnesses<'g> {
    layout: Layout,
    partitions: usize,
    /// `[partition][layout.words()]`
    words: DeviceBuffer<'g, u64>,
    /// `[partition][layout.scalars()]`: the inputs, ONE first, then the field elements
    scalars: DeviceBuffer<'g, Scalar>,
}

impl<'g> DeviceWitnesses<'g> {
    /// Room for `partitions` assignments, of unknown content.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn new(gpu: &'g Gpu, layout: Layout, partitions: usize) -> Result<Self, GpuError> {
        Ok(Self {
            layout,
            partitions,
            words: DeviceBuffer::new(gpu, partitions * layout.words())?,
            scalars: DeviceBuffer::new(gpu, partitions * layout.scalars())?,
        })
    }

    /// Bytes of device memory that [`DeviceWitnesses::new`] takes.
    pub fn bytes(layout: &Layout, partitions: usize) -> u64 {
        let one = size_of::<u64>() * layout.words() + size_of::<Scalar>() * layout.scalars();
        partitions as u64 * one as u64
    }

    /// Where everything is in an assignment.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many assignments there is room for.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Copies an assignment to place `slot`, after earlier work of the stream: packed bits, and the
    /// inputs (ONE first) followed by the field elements.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    ///
    /// # Panics
    /// When there is no such place, or the lengths are not those of the layout.
    pub fn upload(&self, slot: usize, words: &[u64], scalars: &[Scalar]) -> Result<(), GpuError> {
        self.slot_words(slot).copy_from_host(words)?;
        self.slot_scalars(slot).copy_from_host(scalars)
    }

    /// The bits of all places, `[partition][2 * layout.words()]`.
    pub fn words(&self) -> DeviceSlice<'_, u32> {
        self.words.as_slice().halves()
    }

    /// The bits and the full scalars of place `slot`.
    ///
    /// # Panics
    /// When there is no such place.
    pub fn partition(&self, slot: usize) -> (DeviceSlice<'_, u32>, DeviceSlice<'_, Scalar>) {
        (self.slot_words(slot).halves(), self.slot_scalars(slot))
    }

    fn slot_words(&self, slot: usize) -> DeviceSlice<'_, u64> {
        let len = self.layout.words();
        self.words.as_slice().slice(slot * len..(slot + 1) * len)
    }

    fn slot_scalars(&self, slot: usize) -> DeviceSlice<'_, Scalar> {
        let len = self.layout.scalars();
        self.scalars.as_slice().slice(slot * len..(slot + 1) * len)
    }
}
