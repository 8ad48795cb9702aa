//! Multiples of one fixed point, encoded as the parameter file has them.

use blstrs::Scalar;

use super::kernels;
use super::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError};

/// Bits of a window of the table.
pub const WINDOW_BITS: usize = 16;
/// Points of a table: multiples 1 to 2^15 of 2^(16 k) G for every window k of 255 bits.
pub const TABLE_POINTS: usize = 16 << (WINDOW_BITS - 1);

/// A base's window multiples on the device: 50 MB in G1, 101 MB in G2.
pub struct FixedBase<'g, C: Curve> {
    gpu: &'g Gpu,
    table: DeviceBuffer<'g, C::Affine>,
}

impl<'g, C: Curve> FixedBase<'g, C> {
    /// Uploads a table; `multiples[2^15 k + d - 1]` is d 2^(16 k) G.
    ///
    /// # Errors
    /// When device memory is short or the copy fails.
    ///
    /// # Panics
    /// When there are not [`TABLE_POINTS`] multiples.
    pub fn new(gpu: &'g Gpu, multiples: &[C::Affine]) -> Result<Self, GpuError> {
        assert_eq!(multiples.len(), TABLE_POINTS, "a table of 16-bit windows");
        Ok(Self { gpu, table: DeviceBuffer::from_host(gpu, multiples)? })
    }

    /// The device that holds the table.
    pub fn gpu(&self) -> &'g Gpu {
        self.gpu
    }

    /// Enqueues the encoding of `scalars[i]` G into `out`, uncompressed and big-endian; zero gives
    /// encoded infinity.
    ///
    /// # Errors
    /// When the launch fails.
    ///
    /// # Panics
    /// When `out` has not 96 bytes (192 in G2) a scalar.
    pub fn encode(
        &self,
        out: DeviceSlice<'_, u8>,
        scalars: DeviceSlice<'_, Scalar>,
    ) -> Result<(), GpuError> {
        kernels::encode_multiples::<C>(self.gpu, out, self.table.as_slice(), scalars)
    }
}
