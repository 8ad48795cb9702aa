//! Encoded multiples of the generators on a GPU.
//!
//! Every thread has page-locked memory of its own; the card serves one block at a time, as it is
//! several times faster than any file system takes the points.

use std::sync::{Mutex, PoisonError};

use blstrs::Scalar as Fr;

use super::SetupError;
use super::fixed_base;
use super::multiples::{Group, Lane, Multiples};
use crate::gpu::fixed_base::{FixedBase, TABLE_POINTS, WINDOW_BITS};
use crate::gpu::{self, DeviceBuffer, Gpu, GpuError, PinnedBuffer};
use crate::msm;
use crate::params::layout::{G1_BYTES, G2_BYTES};
use crate::progress::Device;

/// Scalars in G1 that the card takes at a time: 256 blocks of 128 threads, one for each place that
/// 132 multiprocessors have.
const BLOCK_G1: usize = 1 << 18;
/// In G2: the same bytes.
const BLOCK_G2: usize = 1 << 17;
/// Encoded points of a block.
const BLOCK_BYTES: usize = BLOCK_G1 * G1_BYTES;

const _: () = assert!(BLOCK_BYTES == BLOCK_G2 * G2_BYTES);

/// Tables and one block in device memory.
pub struct GpuMultiples<'g> {
    gpu: &'g Gpu,
    g1: FixedBase<'g, gpu::G1>,
    g2: FixedBase<'g, gpu::G2>,
    block: Mutex<Block<'g>>,
}

/// The card's side of a block.
struct Block<'g> {
    scalars: DeviceBuffer<'g, Fr>,
    bytes: DeviceBuffer<'g, u8>,
}

impl<'g> GpuMultiples<'g> {
    /// Host bytes of a lane.
    pub const LANE_BYTES: u64 = (BLOCK_BYTES + BLOCK_G1 * size_of::<Fr>()) as u64;
    /// Host bytes of the tables while they are made: in an engine's form, and as they are uploaded.
    pub const TABLE_BYTES: u64 = (TABLE_POINTS * (G1_BYTES + G2_BYTES) * 7 / 3) as u64;

    /// Makes the tables and uploads them.
    ///
    /// # Errors
    /// When device memory is short or a copy fails.
    pub fn new(gpu: &'g Gpu) -> Result<Self, GpuError> {
        let (g1, g2) = rayon::join(
            || fixed_base::generator::<msm::G1>(WINDOW_BITS).multiples(),
            || fixed_base::generator::<msm::G2>(WINDOW_BITS).multiples(),
        );
        let block = Block {
            scalars: DeviceBuffer::new(gpu, BLOCK_G1)?,
            bytes: DeviceBuffer::new(gpu, BLOCK_BYTES)?,
        };
        Ok(Self {
            gpu,
            g1: FixedBase::new(gpu, &g1)?,
            g2: FixedBase::new(gpu, &g2)?,
            block: Mutex::new(block),
        })
    }
}

impl Multiples for GpuMultiples<'_> {
    fn device(&self) -> Device {
        Device::Gpu
    }

    fn block(&self, group: Group) -> usize {
        match group {
            Group::G1 => BLOCK_G1,
            Group::G2 => BLOCK_G2,
        }
    }

    fn lane(&self) -> Result<Box<dyn Lane + '_>, SetupError> {
        Ok(Box::new(GpuLane {
            device: self,
            count: 0,
            scalars: PinnedBuffer::zeroed(self.gpu, BLOCK_G1)?,
            bytes: PinnedBuffer::zeroed(self.gpu, BLOCK_BYTES)?,
        }))
    }
}

struct GpuLane<'m, 'g> {
    device: &'m GpuMultiples<'g>,
    count: usize,
    scalars: PinnedBuffer<'g, Fr>,
    bytes: PinnedBuffer<'g, u8>,
}

impl Lane for GpuLane<'_, '_> {
    fn scalars(&mut self, count: usize) -> &mut [Fr] {
        self.count = count;
        &mut self.scalars.as_mut_slice()[..count]
    }

    fn multiply(&mut self, group: Group) -> Result<&[u8], SetupError> {
        let Self { device, count, scalars, bytes } = self;
        let block = device.block.lock().unwrap_or_else(PoisonError::into_inner);
        let device_scalars = block.scalars.as_slice().slice(0..*count);
        let device_bytes = block.bytes.as_slice().slice(0..*count * group.point_bytes());
        scalars.upload(device_scalars)?;
        match group {
            Group::G1 => device.g1.encode(device_bytes, device_scalars)?,
            Group::G2 => device.g2.encode(device_bytes, device_scalars)?,
        }
        Ok(bytes.download(device_bytes)?)
    }
}
