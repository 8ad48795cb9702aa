//! Launchers of gpu/rows.cu.
#![expect(unsafe_code, reason = "the layout of a kernel's parameter is vouched for here")]

use blstrs::Scalar;

use super::{ELEMENT_THREADS, Kernel, ROWS_CHALLENGES, ROWS_THREADS, blocks, count32};
use crate::gpu::device::{KernelArgument, Launch};
use crate::gpu::{DeviceSlice, Gpu, GpuError};

/// Kinds of columns.
const KINDS: usize = 6;
/// The integers that small rows can have: -12 to 12.
pub(in crate::gpu) const ROW_INTEGERS: usize = 25;

/// The parameter of `rows_*`, `RowsTask` in gpu/rows.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct RowsParameter {
    a: u64,
    b: u64,
    words: u64,
    scalars: u64,
    small: u64,
    general: u64,
    columns: u64,
    coefficients: u64,
    values: u64,
    integers: u64,
    rows: u32,
    general_count: u32,
    first_row: u32,
    challenges: u32,
    lanes_log: u32,
    padding: u32,
    starts: [u32; KINDS],
    strides: [u32; KINDS],
}

// SAFETY: `repr(C)`, all bytes are set, fields as in gpu/rows.cu.
unsafe impl KernelArgument for RowsParameter {}
const _: () = assert!(size_of::<RowsParameter>() == 152);

/// Where a partition's variables are, by [`crate::r1cs::Kind`]: the first of challenge 0, and what
/// each challenge adds. Bits are counted from the start of the words, others in scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct KindPlaces {
    pub(in crate::gpu) starts: [u32; KINDS],
    pub(in crate::gpu) strides: [u32; KINDS],
}

/// What rows are made from: the template's arrays for one section, and a partition's assignment.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct RowsInput<'a> {
    pub(in crate::gpu) words: DeviceSlice<'a, u32>,
    pub(in crate::gpu) scalars: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) small: DeviceSlice<'a, [u32; 4]>,
    pub(in crate::gpu) columns: DeviceSlice<'a, u32>,
    pub(in crate::gpu) coefficients: DeviceSlice<'a, u16>,
    pub(in crate::gpu) values: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) integers: DeviceSlice<'a, Scalar>,
    pub(in crate::gpu) places: KindPlaces,
    pub(in crate::gpu) first_row: usize,
    pub(in crate::gpu) challenges: usize,
}

/// What rows are written to.
#[derive(Clone, Copy)]
pub(in crate::gpu) enum RowsOutput<'a> {
    /// a and b apart.
    Both(DeviceSlice<'a, Scalar>, DeviceSlice<'a, Scalar>),
    /// a times b.
    Product(DeviceSlice<'a, Scalar>),
}

impl RowsInput<'_> {
    fn parameter(&self, output: RowsOutput<'_>) -> RowsParameter {
        let (a, b) = match output {
            RowsOutput::Both(a, b) => (a, Some(b)),
            RowsOutput::Product(c) => (c, None),
        };
        let rows = self.first_row + self.challenges * self.small.len();
        assert!(a.len() >= rows && b.iter().all(|b| b.len() >= rows), "a value a row");
        assert_eq!(self.columns.len(), self.coefficients.len(), "a coefficient an entry");
        assert_eq!(self.integers.len(), ROW_INTEGERS, "all small integers");
        RowsParameter {
            a: a.address(),
            b: b.map_or(0, |b| b.address()),
            words: self.words.address(),
            scalars: self.scalars.address(),
            small: self.small.address(),
            general: 0,
            columns: self.columns.address(),
            coefficients: self.coefficients.address(),
            values: self.values.address(),
            integers: self.integers.address(),
            rows: count32(self.small.len()),
            general_count: 0,
            first_row: count32(self.first_row),
            challenges: count32(self.challenges),
            lanes_log: 0,
            padding: 0,
            starts: self.places.starts,
            strides: self.places.strides,
        }
    }
}

/// `rows_small`: the rows that are small integers.
pub(in crate::gpu) fn small_rows(
    gpu: &Gpu,
    input: &RowsInput<'_>,
    output: RowsOutput<'_>,
) -> Result<(), GpuError> {
    let grid = (
        blocks(input.small.len(), ELEMENT_THREADS as usize),
        blocks(input.challenges, ROWS_CHALLENGES),
    );
    let launch = Launch { grid, block: ELEMENT_THREADS, shared_bytes: 0 };
    gpu.launch(Kernel::RowsSmall, launch, &[&input.parameter(output)])
}

/// `rows_general`: the rows that `general` lists, 2^`lanes_log` lanes each.
pub(in crate::gpu) fn general_rows(
    gpu: &Gpu,
    input: &RowsInput<'_>,
    output: RowsOutput<'_>,
    general: DeviceSlice<'_, [u32; 4]>,
    lanes_log: u32,
) -> Result<(), GpuError> {
    assert!(lanes_log <= 5, "lanes of one warp");
    let grid =
        (blocks(general.len() << lanes_log, ROWS_THREADS as usize), count32(input.challenges));
    let launch = Launch { grid, block: ROWS_THREADS, shared_bytes: 0 };
    let parameter = RowsParameter {
        general: general.address(),
        general_count: count32(general.len()),
        lanes_log,
        ..input.parameter(output)
    };
    gpu.launch(Kernel::RowsGeneral, launch, &[&parameter])
}
