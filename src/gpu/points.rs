//! Points on the device: decoded from the parameter file's form, or multiples of one point.

use blstrs::G1Affine;

use super::kernels;
use super::{Curve, DeviceBuffer, DeviceSlice, Gpu, GpuError};

/// Decodes uncompressed big-endian points (96 bytes in G1, 192 in G2) into `out` and checks flags,
/// coordinates and curve membership; the subgroup is not checked.
///
/// # Errors
/// The index of the first bad point, or a driver error.
///
/// # Panics
/// When the lengths do not match.
pub fn decode<C: Curve>(
    gpu: &Gpu,
    out: DeviceSlice<'_, C::Affine>,
    bytes: DeviceSlice<'_, u8>,
) -> Result<(), GpuError> {
    let first_bad = DeviceBuffer::from_host(gpu, &[u32::MAX])?;
    kernels::decode_points::<C>(gpu, out, bytes, first_bad.as_slice())?;
    match first_bad.to_host()?[0] {
        u32::MAX => Ok(()),
        index => Err(GpuError::BadPoint { index: index as usize }),
    }
}

/// Enqueues `out[i] = input[indices[i]]`.
///
/// # Errors
/// When the launch fails.
///
/// # Panics
/// When there is not an index an element. Indices are not checked against `input`.
pub fn gather<C: Curve>(
    gpu: &Gpu,
    out: DeviceSlice<'_, C::Affine>,
    input: DeviceSlice<'_, C::Affine>,
    indices: DeviceSlice<'_, u32>,
) -> Result<(), GpuError> {
    kernels::gather(gpu, out, input, indices, 0)
}

/// Fills `out[i]` with (`first` + i) times `base`: distinct points for measurements.
///
/// # Errors
/// When the launch fails.
pub fn multiples(
    gpu: &Gpu,
    out: DeviceSlice<'_, G1Affine>,
    base: &G1Affine,
    first: u64,
) -> Result<(), GpuError> {
    let base = DeviceBuffer::from_host(gpu, std::slice::from_ref(base))?;
    kernels::multiples_g1(gpu, out, base.as_slice(), first)?;
    gpu.synchronize()
}
