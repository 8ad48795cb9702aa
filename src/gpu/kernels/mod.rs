//! The kernels by name, and one launcher for each: it asserts the shapes and owns the geometry.
//!
//! The constants mirror gpu/tuning.cuh; the kernels' contracts are in the `.cu` files.

mod msm;
mod ntt;
mod pairs;
pub(super) mod pointwise;
mod rows;

pub(super) use self::msm::*;
pub use self::ntt::Store;
pub(super) use self::ntt::*;
pub use self::pairs::PairKernels;
pub(super) use self::pairs::*;
pub(super) use self::rows::*;
use super::device::{KernelArgument, Launch};
use super::fixed_base::TABLE_POINTS;
use super::{Curve, DeviceData, DeviceSlice, Gpu, GpuError};

/// Elements in the shared memory of an NTT block.
const NTT_TILE: usize = 2048;
const NTT_THREADS: u32 = 256;
/// A tile with its padding, two 16-byte halves an element.
const NTT_SHARED_BYTES: u32 = (2048 + 256 + 8) * 32;
/// The largest radix of an NTT pass.
pub(in crate::gpu) const NTT_RADIX_LOG_MAX: u32 = 9;

const SORT_TILE: usize = 1 << 14;
pub(in crate::gpu) const SORT_BINS: usize = 1 << 11;
const SORT_THREADS: u32 = 1024;
/// Entries that a block of the second sort pass has in shared memory.
const SORT_STAGE: usize = 40_960;
/// Witnesses whose bit patterns fit the bins of one sort pass.
pub(in crate::gpu) const PARTITIONS_MAX: usize = 10;
/// The widest window: 2^11 bins of 2^11 buckets.
pub(in crate::gpu) const WINDOW_WIDTH_MAX: u32 = 23;

const ACCUMULATE_THREADS: u32 = 128;
const ELEMENT_THREADS: u32 = 256;
const MULTIPLES_PER_THREAD: usize = 16;
/// Points that a thread of `fixed_base_encode_*` makes.
const FIXED_BASE_POINTS: usize = 8;

/// Challenges that a thread evaluates its small row for.
const ROWS_CHALLENGES: usize = 6;
const ROWS_THREADS: u32 = 128;

macro_rules! kernels {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// Every kernel of the fatbin.
        #[derive(Clone, Copy, Debug)]
        pub enum Kernel { $(#[doc = $name] $variant),* }

        impl Kernel {
            pub(in crate::gpu) const ALL: &'static [Kernel] = &[$(Kernel::$variant),*];

            /// The symbol.
            pub(in crate::gpu) fn name(self) -> &'static str {
                match self { $(Kernel::$variant => $name),* }
            }
        }
    };
}

kernels! {
    FieldCheckFr = "field_check_fr",
    FieldCheckFp = "field_check_fp",
    FieldCheckFp2 = "field_check_fp2",
    FieldChainsFr = "field_chains_fr",
    FieldChainsFp = "field_chains_fp",
    PointsDecodeG1 = "points_decode_g1",
    PointsDecodeG2 = "points_decode_g2",
    PointsGather = "points_gather",
    PointsMultiplesG1 = "points_multiples_g1",
    FixedBaseEncodeG1 = "fixed_base_encode_g1",
    FixedBaseEncodeG2 = "fixed_base_encode_g2",
    NttPassDif = "ntt_pass_dif",
    NttPassDit = "ntt_pass_dit",
    NttPassDifComposed = "ntt_pass_dif_composed",
    NttPassDitComposed = "ntt_pass_dit_composed",
    NttFillTwiddles = "ntt_fill_twiddles",
    NttBitReverse = "ntt_bit_reverse",
    PointwiseScale = "pointwise_scale",
    PointwiseMultiply = "pointwise_multiply",
    PointwiseHalfDifference = "pointwise_half_difference",
    PointwiseIntegers = "pointwise_integers",
    RowsSmall = "rows_small",
    RowsGeneral = "rows_general",
    MsmSplitDigits = "msm_split_digits",
    MsmSplitPatterns = "msm_split_patterns",
    MsmCountBins = "msm_count_bins",
    MsmScanBins = "msm_scan_bins",
    MsmPartition = "msm_partition",
    MsmSortBins = "msm_sort_bins",
    MsmStartLevels = "msm_start_levels",
    MsmCountSingles = "msm_count_singles",
    MsmPairEntriesG1 = "msm_pair_entries_g1",
    MsmPairPointsG1 = "msm_pair_points_g1",
    MsmAccumulateG1 = "msm_accumulate_g1",
    MsmAccumulateG2 = "msm_accumulate_g2",
    MsmFoldCarriesG1 = "msm_fold_carries_g1",
    MsmFoldCarriesG2 = "msm_fold_carries_g2",
    MsmReduceG1 = "msm_reduce_g1",
    MsmReduceG2 = "msm_reduce_g2",
    MsmCanonicalG1 = "msm_canonical_g1",
    MsmCanonicalG2 = "msm_canonical_g2",
}

impl Kernel {
    /// Dynamic shared memory of a launch.
    pub(in crate::gpu) fn shared_bytes(self) -> u32 {
        match self {
            Kernel::NttPassDif
            | Kernel::NttPassDit
            | Kernel::NttPassDifComposed
            | Kernel::NttPassDitComposed => NTT_SHARED_BYTES,
            Kernel::MsmPartition => SORT_TILE as u32 * 4,
            Kernel::MsmSortBins => SORT_STAGE as u32 * 4,
            _ => 0,
        }
    }
}

/// Blocks of `per_block` for `count` elements.
fn blocks(count: usize, per_block: usize) -> u32 {
    u32::try_from(count.div_ceil(per_block)).expect("grids are below 2^31 blocks")
}

fn count32(count: usize) -> u32 {
    u32::try_from(count).expect("arrays are below 2^32 elements")
}

impl Gpu {
    fn launch_elements(
        &self,
        kernel: Kernel,
        count: usize,
        arguments: &[&dyn KernelArgument],
    ) -> Result<(), GpuError> {
        let grid = (blocks(count, ELEMENT_THREADS as usize), 1);
        self.launch(kernel, Launch { grid, block: ELEMENT_THREADS, shared_bytes: 0 }, arguments)
    }
}

/// An operation of `field_check_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FieldOperation {
    /// a + b
    Add = 0,
    /// a - b
    Sub = 1,
    /// a * b
    Mul = 2,
    /// a^2; for Fr the plain integer
    SquareOrInteger = 3,
    /// -a; for Fr a / 2
    NegOrHalve = 4,
    /// a * b + c * d, not for Fr
    MulAdd = 5,
}

/// Applies `operation` to rows of four elements, as a test of the device's arithmetic: `Scalar`,
/// `Fp` or `Fp2` by the size of `T`.
///
/// # Errors
/// When the launch fails.
///
/// # Panics
/// When `input` is not four times as long as `out`, or `T` is no field of the kernels.
pub fn check_field<T: DeviceData>(
    gpu: &Gpu,
    out: DeviceSlice<'_, T>,
    input: DeviceSlice<'_, T>,
    operation: FieldOperation,
) -> Result<(), GpuError> {
    assert_eq!(input.len(), 4 * out.len(), "rows of four operands");
    let kernel = match size_of::<T>() {
        32 => Kernel::FieldCheckFr,
        48 => Kernel::FieldCheckFp,
        96 => Kernel::FieldCheckFp2,
        size => panic!("no field of {size} bytes"),
    };
    let n = count32(out.len());
    gpu.launch_elements(
        kernel,
        out.len(),
        &[&out.address(), &input.address(), &(operation as u32), &n],
    )
}

/// `field_chains_*`: `out[i] = input[2i] * input[2i + 1]^factors`, product by product, in `Scalar`
/// or `Fp` by the size of `T`.
pub(in crate::gpu) fn multiply_chains<T: DeviceData>(
    gpu: &Gpu,
    out: DeviceSlice<'_, T>,
    input: DeviceSlice<'_, T>,
    factors: u32,
) -> Result<(), GpuError> {
    assert_eq!(input.len(), 2 * out.len(), "pairs of operands");
    let kernel = match size_of::<T>() {
        32 => Kernel::FieldChainsFr,
        48 => Kernel::FieldChainsFp,
        size => panic!("no prime field of {size} bytes"),
    };
    let n = count32(out.len());
    gpu.launch_elements(kernel, out.len(), &[&out.address(), &input.address(), &factors, &n])
}

/// `points_decode_*`: `bytes` holds uncompressed points of `C`.
pub(in crate::gpu) fn decode_points<C: Curve>(
    gpu: &Gpu,
    out: DeviceSlice<'_, C::Affine>,
    bytes: DeviceSlice<'_, u8>,
    first_bad: DeviceSlice<'_, u32>,
) -> Result<(), GpuError> {
    assert_eq!(bytes.len(), out.len() * size_of::<C::Affine>(), "uncompressed points");
    assert_eq!(first_bad.len(), 1, "one index");
    let n = count32(out.len());
    let arguments: [&dyn KernelArgument; 4] =
        [&out.address(), &bytes.address(), &first_bad.address(), &n];
    gpu.launch_elements(C::DECODE, out.len(), &arguments)
}

/// `points_gather`: `out[i] = input[indices[i] - first]`.
pub(in crate::gpu) fn gather<T: DeviceData>(
    gpu: &Gpu,
    out: DeviceSlice<'_, T>,
    input: DeviceSlice<'_, T>,
    indices: DeviceSlice<'_, u32>,
    first: usize,
) -> Result<(), GpuError> {
    assert_eq!(out.len(), indices.len(), "an index an element");
    const { assert!(size_of::<T>().is_multiple_of(16), "elements of 16-byte words") };
    let quads = size_of::<T>() / 16;
    let (n, quads32, first) = (count32(out.len()), count32(quads), count32(first));
    gpu.launch_elements(
        Kernel::PointsGather,
        out.len() * quads,
        &[&out.address(), &input.address(), &indices.address(), &n, &quads32, &first],
    )
}

/// `points_multiples_g1`.
pub(in crate::gpu) fn multiples_g1(
    gpu: &Gpu,
    out: DeviceSlice<'_, blstrs::G1Affine>,
    base: DeviceSlice<'_, blstrs::G1Affine>,
    first: u64,
) -> Result<(), GpuError> {
    assert_eq!(base.len(), 1, "one base");
    let n = count32(out.len());
    let per_block = ACCUMULATE_THREADS as usize * MULTIPLES_PER_THREAD;
    let grid = (blocks(out.len(), per_block), 1);
    gpu.launch(
        Kernel::PointsMultiplesG1,
        Launch { grid, block: ACCUMULATE_THREADS, shared_bytes: 0 },
        &[&out.address(), &base.address(), &first, &n],
    )
}

/// `fixed_base_encode_*`: the encoded `scalars[i]` G.
pub(in crate::gpu) fn encode_multiples<C: Curve>(
    gpu: &Gpu,
    out: DeviceSlice<'_, u8>,
    table: DeviceSlice<'_, C::Affine>,
    scalars: DeviceSlice<'_, blstrs::Scalar>,
) -> Result<(), GpuError> {
    assert_eq!(table.len(), TABLE_POINTS, "a table of 16-bit windows");
    assert_eq!(out.len(), scalars.len() * size_of::<C::Affine>(), "uncompressed points");
    let n = count32(scalars.len());
    assert!(n < 1 << 31, "indices of the last threads' points fit 32 bits");
    let per_block = ACCUMULATE_THREADS as usize * FIXED_BASE_POINTS;
    gpu.launch(
        C::FIXED_BASE,
        Launch {
            grid: (blocks(scalars.len(), per_block), 1),
            block: ACCUMULATE_THREADS,
            shared_bytes: 0,
        },
        &[&out.address(), &table.address(), &scalars.address(), &n],
    )
}
