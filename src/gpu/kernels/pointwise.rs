//! Launchers of gpu/pointwise.cu.

use blstrs::Scalar;

use super::{Kernel, count32};
use crate::gpu::{DeviceSlice, Gpu, GpuError};

/// `pointwise_scale`: by the powers of a base, given by the powers of its digits, and by a scale.
pub(in crate::gpu) fn scale(
    gpu: &Gpu,
    x: DeviceSlice<'_, Scalar>,
    powers: Option<DeviceSlice<'_, Scalar>>,
    scale: Option<DeviceSlice<'_, Scalar>>,
) -> Result<(), GpuError> {
    assert!(powers.is_none_or(|powers| powers.len() == 4 * 256), "powers of four digits");
    assert!(scale.is_none_or(|scale| scale.len() == 1), "one scale");
    let address = |array: Option<DeviceSlice<'_, Scalar>>| array.map_or(0, |a| a.address());
    let addresses = (x.address(), address(powers), address(scale));
    let arguments: [&dyn super::KernelArgument; 4] =
        [&addresses.0, &addresses.1, &addresses.2, &count32(x.len())];
    gpu.launch_elements(Kernel::PointwiseScale, x.len(), &arguments)
}

/// `pointwise_multiply`: out = x y.
pub(in crate::gpu) fn multiply(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    x: DeviceSlice<'_, Scalar>,
    y: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    combine(gpu, Kernel::PointwiseMultiply, out, [x, y])
}

/// `pointwise_half_difference`: out = (x - y) / 2.
pub(in crate::gpu) fn half_difference(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    x: DeviceSlice<'_, Scalar>,
    y: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    combine(gpu, Kernel::PointwiseHalfDifference, out, [x, y])
}

fn combine(
    gpu: &Gpu,
    kernel: Kernel,
    out: DeviceSlice<'_, Scalar>,
    [x, y]: [DeviceSlice<'_, Scalar>; 2],
) -> Result<(), GpuError> {
    assert!(x.len() == out.len() && y.len() == out.len(), "operands as long as the result");
    let addresses = (out.address(), x.address(), y.address());
    let arguments: [&dyn super::KernelArgument; 4] =
        [&addresses.0, &addresses.1, &addresses.2, &count32(out.len())];
    gpu.launch_elements(kernel, out.len(), &arguments)
}

/// `pointwise_integers`: out of Montgomery form, little-endian.
pub(in crate::gpu) fn integers(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    x: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    assert_eq!(out.len(), x.len(), "as many integers");
    let addresses = (out.address(), x.address());
    let arguments: [&dyn super::KernelArgument; 3] =
        [&addresses.0, &addresses.1, &count32(out.len())];
    gpu.launch_elements(Kernel::PointwiseIntegers, out.len(), &arguments)
}
