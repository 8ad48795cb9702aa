//! Launchers of gpu/msm_pairs.cu.
#![expect(unsafe_code, reason = "the layouts of kernels' parameters are vouched for here")]

use super::{ACCUMULATE_THREADS, Batch, ELEMENT_THREADS, Kernel, Windows, blocks, count32};
use crate::gpu::device::{KernelArgument, Launch};
use crate::gpu::{Curve, DeviceSlice, Gpu, GpuError, Xyzz};

/// Rounds at most: the positions of level 0 under one of level 5 are one word of flags.
pub(in crate::gpu) const PAIR_ROUNDS_MAX: usize = 6;
/// Levels start and end at whole tiles of 32 pairs.
const LEVEL_ALIGN: usize = 64;
const PAIR_LANES: usize = 32;
const PAIR_THREADS: u32 = 128;
/// Pairs that a lane adds with one inversion, at most, and at least; in between as many as leave
/// each of a large GPU's lanes four turns.
const PAIR_TILES: (usize, usize) = (8, 64);
const PAIR_LANES_WANTED_LOG: u32 = 18;

/// The kernels of a curve's pair rounds.
#[derive(Clone, Copy, Debug)]
pub struct PairKernels {
    /// `msm_pair_entries_*`
    pub(in crate::gpu) entries: Kernel,
    /// `msm_pair_points_*`
    pub(in crate::gpu) points: Kernel,
    /// `msm_add_rests_*`
    pub(in crate::gpu) rests: Kernel,
}

/// Points of level `level` of one window, with room for whole tiles.
pub(in crate::gpu) fn level_stride(n: usize, level: usize) -> usize {
    (n >> level).next_multiple_of(LEVEL_ALIGN)
}

/// The parameter of `msm_pair_*`, `PairRound` in gpu/msm_pairs.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct PairRoundParameter {
    out: u64,
    input: u64,
    sorted: u64,
    starts: u64,
    flags: u64,
    n: u32,
    in_stride: u32,
    out_stride: u32,
    bucket_stride: u32,
    flag_words: u32,
    round: u32,
    tiles: u32,
    windows: Windows,
    first_window: u32,
    padding: u32,
}

// SAFETY: `repr(C)`, all bytes are set, fields as in gpu/msm_pairs.cu.
unsafe impl KernelArgument for PairRoundParameter {}
const _: () = assert!(size_of::<PairRoundParameter>() == 88);

/// The parameter of `msm_add_rests_*`, `Rests` in gpu/msm_pairs.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct RestsParameter {
    buckets: u64,
    bases: u64,
    sorted: u64,
    starts: u64,
    levels: u64,
    level_offsets: [u64; PAIR_ROUNDS_MAX],
    level_strides: [u32; PAIR_ROUNDS_MAX],
    n: u32,
    bucket_stride: u32,
    rounds: u32,
    windows: Windows,
    first_window: u32,
    padding: u32,
}

// SAFETY: `repr(C)`, all bytes are set, fields as in gpu/msm_pairs.cu.
unsafe impl KernelArgument for RestsParameter {}
const _: () = assert!(size_of::<RestsParameter>() == 144);

/// The arrays of a batch's pair rounds: `n` bases, and per window `n` sorted entries, the buckets'
/// starts, a bit an entry, and the levels one after the other.
pub(in crate::gpu) struct PairArrays<'a, C: Curve> {
    pub(in crate::gpu) bases: DeviceSlice<'a, C::Affine>,
    pub(in crate::gpu) sorted: DeviceSlice<'a, u32>,
    pub(in crate::gpu) starts: DeviceSlice<'a, u32>,
    pub(in crate::gpu) flags: DeviceSlice<'a, u32>,
    pub(in crate::gpu) levels: DeviceSlice<'a, C::Affine>,
}

impl<'a, C: Curve> PairArrays<'a, C> {
    fn assert_shapes(&self, batch: Batch, rounds: usize) {
        let (n, y) = (self.bases.len(), batch.count as usize);
        assert!(rounds <= PAIR_ROUNDS_MAX, "at most {PAIR_ROUNDS_MAX} rounds, got {rounds}");
        assert!(self.sorted.len() >= y * n);
        assert!(self.starts.len() >= y * (batch.windows.bucket_stride() + 1));
        assert!(self.flags.len() >= y * n.div_ceil(32));
        assert!(self.levels.len() >= level_offset(n, batch, rounds));
    }

    /// The points of level `level`, from 1 on: `[window][level_stride]`.
    pub(in crate::gpu) fn level(&self, batch: Batch, level: usize) -> DeviceSlice<'a, C::Affine> {
        let n = self.bases.len();
        self.levels.slice(level_offset(n, batch, level - 1)..level_offset(n, batch, level))
    }
}

/// Points of the levels 1 to `level` of a batch, one after the other.
fn level_offset(n: usize, batch: Batch, level: usize) -> usize {
    (1..=level).map(|level| level_stride(n, level) * batch.count as usize).sum()
}

/// `msm_flag_starts`, after clearing the flags.
pub(in crate::gpu) fn flag_starts<C: Curve>(
    gpu: &Gpu,
    arrays: &PairArrays<'_, C>,
    batch: Batch,
) -> Result<(), GpuError> {
    arrays.assert_shapes(batch, 0);
    let stride = batch.windows.bucket_stride();
    arrays.flags.fill(0)?;
    let numbers = (count32(stride), count32(arrays.bases.len().div_ceil(32)));
    gpu.launch(
        Kernel::MsmFlagStarts,
        Launch {
            grid: (blocks(stride, ELEMENT_THREADS as usize), batch.count),
            block: ELEMENT_THREADS,
            shared_bytes: 0,
        },
        &[
            &arrays.flags.address(),
            &arrays.starts.address(),
            &numbers.0,
            &numbers.1,
            &batch.windows,
            &batch.first,
        ],
    )
}

/// `msm_pair_entries_*` for round 0, `msm_pair_points_*` above: level `round` + 1 from `round`.
pub(in crate::gpu) fn pair_round<C: Curve>(
    gpu: &Gpu,
    kernels: PairKernels,
    arrays: &PairArrays<'_, C>,
    batch: Batch,
    round: usize,
) -> Result<(), GpuError> {
    arrays.assert_shapes(batch, round + 1);
    let n = arrays.bases.len();
    let pairs = n >> (round + 1);
    let lanes_turns = batch.count as usize * pairs >> PAIR_LANES_WANTED_LOG;
    let tiles = lanes_turns.clamp(PAIR_TILES.0, PAIR_TILES.1);
    let input = if round == 0 { arrays.bases } else { arrays.level(batch, round) };
    let parameter = PairRoundParameter {
        out: arrays.level(batch, round + 1).address(),
        input: input.address(),
        sorted: arrays.sorted.address(),
        starts: arrays.starts.address(),
        flags: arrays.flags.address(),
        n: count32(n),
        in_stride: count32(level_stride(n, round)),
        out_stride: count32(level_stride(n, round + 1)),
        bucket_stride: count32(batch.windows.bucket_stride()),
        flag_words: count32(n.div_ceil(32)),
        round: count32(round),
        tiles: count32(tiles),
        windows: batch.windows,
        first_window: batch.first,
        padding: 0,
    };
    let warps = pairs.div_ceil(PAIR_LANES * tiles);
    let grid = (blocks(warps, PAIR_THREADS as usize / PAIR_LANES), batch.count);
    let kernel = if round == 0 { kernels.entries } else { kernels.points };
    gpu.launch(kernel, Launch { grid, block: PAIR_THREADS, shared_bytes: 0 }, &[&parameter])
}

/// `msm_add_rests_*` after `rounds` rounds.
pub(in crate::gpu) fn add_rests<C: Curve>(
    gpu: &Gpu,
    kernels: PairKernels,
    buckets: DeviceSlice<'_, Xyzz<C::Field>>,
    arrays: &PairArrays<'_, C>,
    batch: Batch,
    rounds: usize,
) -> Result<(), GpuError> {
    arrays.assert_shapes(batch, rounds);
    let n = arrays.bases.len();
    let stride = batch.windows.bucket_stride();
    assert_eq!(buckets.len(), batch.count as usize * stride);
    let parameter = RestsParameter {
        buckets: buckets.address(),
        bases: arrays.bases.address(),
        sorted: arrays.sorted.address(),
        starts: arrays.starts.address(),
        levels: arrays.levels.address(),
        level_offsets: std::array::from_fn(|round| level_offset(n, batch, round) as u64),
        level_strides: std::array::from_fn(|round| count32(level_stride(n, round + 1))),
        n: count32(n),
        bucket_stride: count32(stride),
        rounds: count32(rounds),
        windows: batch.windows,
        first_window: batch.first,
        padding: 0,
    };
    let grid = (blocks(stride, ACCUMULATE_THREADS as usize), batch.count);
    let launch = Launch { grid, block: ACCUMULATE_THREADS, shared_bytes: 0 };
    gpu.launch(kernels.rests, launch, &[&parameter])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_room_for_whole_tiles() {
        for n in [0, 1, 63, 64, 65, 4097, 1 << 20] {
            for level in 1..=PAIR_ROUNDS_MAX {
                let stride = level_stride(n, level);
                assert!(stride >= n >> level && stride.is_multiple_of(2 * PAIR_LANES));
            }
        }
    }
}
