//! Launchers of gpu/ntt.cu.
#![expect(unsafe_code, reason = "the layout of a kernel's parameter is vouched for here")]

use blstrs::Scalar;

use super::{Kernel, NTT_RADIX_LOG_MAX, NTT_THREADS, NTT_TILE, blocks};
use crate::gpu::device::{KernelArgument, Launch};
use crate::gpu::{DeviceSlice, Gpu, GpuError};

/// The parameter of `ntt_pass_*`, `NttPass` in gpu/ntt.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct NttPassParameter {
    out: u64,
    input: u64,
    factor: u64,
    other: u64,
    levels: u64,
    twiddles: u64,
    high: u64,
    log_n: u32,
    log_m: u32,
    radix_log: u32,
    store: u32,
    canonical: u32,
    low_log: u32,
    odd: u32,
    inverted: u32,
}

// SAFETY: `repr(C)` without padding, fields as in gpu/ntt.cu.
unsafe impl KernelArgument for NttPassParameter {}
const _: () = assert!(size_of::<NttPassParameter>() == 88);

/// What an NTT pass stores.
#[derive(Clone, Copy)]
pub enum Store<'a> {
    /// The transformed value x.
    Plain,
    /// x times the element of this array.
    Product(DeviceSlice<'a, Scalar>),
    /// Half of the element of this array less x.
    HalfDifference(DeviceSlice<'a, Scalar>),
}

/// Where a pass has its twiddles from.
#[derive(Clone, Copy)]
pub(in crate::gpu) enum PassTwiddles<'a> {
    /// They are one.
    None,
    /// One an element of the pass.
    Stored(DeviceSlice<'a, Scalar>),
    /// Products of an element of `low`, scale * psi^i, and one of `high`, psi^(i * low.len()).
    Composed {
        low: DeviceSlice<'a, Scalar>,
        high: DeviceSlice<'a, Scalar>,
        /// Whether the domain is the odd coset.
        odd: bool,
        /// Whether psi is to be inverted.
        inverted: bool,
    },
}

/// One pass; see [`ntt_pass`].
#[derive(Clone, Copy)]
pub(in crate::gpu) struct NttPass<'a> {
    pub(in crate::gpu) out: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) input: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) factor: Option<DeviceSlice<'a, Scalar>>,
    pub(in crate::gpu) store: Store<'a>,
    pub(in crate::gpu) canonical: bool,
    pub(in crate::gpu) levels: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) twiddles: PassTwiddles<'a>,
    pub(in crate::gpu) log_n: u32,
    pub(in crate::gpu) log_m: u32,
    pub(in crate::gpu) radix_log: u32,
}

/// `ntt_pass_dif`, or with `in_time` `ntt_pass_dit`; their composed forms where the twiddles are.
pub(in crate::gpu) fn ntt_pass(
    gpu: &Gpu,
    pass: &NttPass<'_>,
    in_time: bool,
) -> Result<(), GpuError> {
    let n = 1usize << pass.log_n;
    let (store, other) = match pass.store {
        Store::Plain => (0, None),
        Store::Product(other) => (1, Some(other)),
        Store::HalfDifference(other) => (2, Some(other)),
    };
    assert!(1 <= pass.radix_log && pass.radix_log <= NTT_RADIX_LOG_MAX, "a radix of 2 to 2^9");
    assert!(pass.radix_log <= pass.log_m && pass.log_m <= pass.log_n && pass.log_n <= 30);
    assert!(pass.out.len() == n && pass.input.len() == n, "arrays of the domain's size");
    assert!(pass.factor.iter().chain(&other).all(|array| array.len() == n), "operands as long");
    assert_eq!(pass.levels.len(), 1 << NTT_RADIX_LOG_MAX, "the roots of order 2^9");
    let address = |array: Option<DeviceSlice<'_, Scalar>>| array.map_or(0, |a| a.address());
    let mut parameter = NttPassParameter {
        out: pass.out.address(),
        input: pass.input.address(),
        factor: address(pass.factor),
        other: address(other),
        levels: pass.levels.address(),
        twiddles: 0,
        high: 0,
        log_n: pass.log_n,
        log_m: pass.log_m,
        radix_log: pass.radix_log,
        store,
        canonical: u32::from(pass.canonical),
        low_log: 0,
        odd: 0,
        inverted: 0,
    };
    match pass.twiddles {
        PassTwiddles::None => {}
        PassTwiddles::Stored(table) => {
            assert_eq!(table.len(), 1 << pass.log_m, "a full table");
            parameter.twiddles = table.address();
        }
        PassTwiddles::Composed { low, high, odd, inverted } => {
            assert!(low.len() * high.len() == 2 * n && low.len().is_power_of_two(), "all of 2n");
            parameter.twiddles = low.address();
            parameter.high = high.address();
            parameter.low_log = low.len().ilog2();
            parameter.odd = u32::from(odd);
            parameter.inverted = u32::from(inverted);
        }
    }
    let kernel = match (in_time, pass.twiddles) {
        (false, PassTwiddles::Composed { .. }) => Kernel::NttPassDifComposed,
        (true, PassTwiddles::Composed { .. }) => Kernel::NttPassDitComposed,
        (false, _) => Kernel::NttPassDif,
        (true, _) => Kernel::NttPassDit,
    };
    let grid = (blocks(n, NTT_TILE), 1);
    let launch = Launch { grid, block: NTT_THREADS, shared_bytes: kernel.shared_bytes() };
    gpu.launch(kernel, launch, &[&parameter])
}

/// `ntt_fill_twiddles` for the pass (`log_m`, `radix_log`) of a transform of size 2^`log_n`.
pub(in crate::gpu) fn fill_twiddles(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    powers: DeviceSlice<'_, Scalar>,
    scale: DeviceSlice<'_, Scalar>,
    shape: (u32, u32, u32),
    odd: bool,
) -> Result<(), GpuError> {
    let (log_n, log_m, radix_log) = shape;
    assert!(radix_log <= log_m && log_m <= log_n && log_n <= 30);
    assert!(out.len() == 1 << log_m && powers.len() == 4 * 256 && scale.len() == 1);
    let addresses = (out.address(), powers.address(), scale.address());
    let (odd, shift) = (u32::from(odd), log_n - log_m);
    gpu.launch_elements(
        Kernel::NttFillTwiddles,
        out.len(),
        &[&addresses.0, &addresses.1, &addresses.2, &log_m, &radix_log, &odd, &shift],
    )
}

/// `ntt_bit_reverse`.
pub(in crate::gpu) fn bit_reverse(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    input: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    assert!(out.len() == input.len() && out.len().is_power_of_two(), "arrays of one size, 2^k");
    assert_ne!(out.address(), input.address(), "reordered out of place");
    let log_n = out.len().ilog2();
    gpu.launch_elements(
        Kernel::NttBitReverse,
        out.len(),
        &[&out.address(), &input.address(), &log_n],
    )
}
