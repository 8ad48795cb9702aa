//! Launchers of gpu/msm_levels.cu and gpu/msm_pairs.cu.
#![expect(unsafe_code, reason = "the layouts of kernels' parameters are vouched for here")]

use super::{Batch, ELEMENT_THREADS, Kernel, SORT_THREADS, Windows, blocks, count32};
use crate::gpu::device::{KernelArgument, Launch};
use crate::gpu::{Curve, DeviceData, DeviceSlice, Gpu, GpuError};

/// Rounds at most, as the kernels' parameters have room for.
pub(in crate::gpu) const PAIR_ROUNDS_MAX: usize = 6;
const PAIR_LANES: usize = 32;
const PAIR_THREADS: u32 = 128;
/// Blocks that a multiprocessor runs at once.
const PAIR_SLOTS: usize = 4;
/// Pairs that a lane adds with one inversion, at least and at most.
const PAIR_TILES: (usize, usize) = (8, 256);

/// The kernels of a curve's pair rounds.
#[derive(Clone, Copy, Debug)]
pub struct PairKernels {
    /// `msm_pair_entries_*`
    pub(in crate::gpu) entries: Kernel,
    /// `msm_pair_points_*`
    pub(in crate::gpu) points: Kernel,
}

/// Room for the points of a level of a window with `n` entries in `buckets` buckets: each bucket
/// may have a single, and the last tile of the next round reads up to 63 points too many.
pub(in crate::gpu) fn level_stride(n: usize, buckets: usize, level: usize) -> usize {
    ((n >> level) + buckets.min(n) + 64).next_multiple_of(64)
}

/// The parameter of `msm_pair_*`, `PairRound` in gpu/msm_pairs.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct PairRoundParameter {
    out: u64,
    input: u64,
    sorted: u64,
    starts: u64,
    words: u64,
    n: u32,
    in_stride: u32,
    out_stride: u32,
    bucket_stride: u32,
    multiprocessors: u32,
    windows: Windows,
    first_window: u32,
    padding: u32,
}

// SAFETY: `repr(C)`, all bytes are set, fields as in gpu/msm_pairs.cu.
unsafe impl KernelArgument for PairRoundParameter {}
const _: () = assert!(size_of::<PairRoundParameter>() == 80);

/// Words of a window in each level from 1 on, `LevelWords` in gpu/msm_levels.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct LevelWords([u32; PAIR_ROUNDS_MAX]);

// SAFETY: plain integers, as in gpu/msm_levels.cu.
unsafe impl KernelArgument for LevelWords {}

/// The shape of a batch's levels.
#[derive(Clone, Copy)]
pub(in crate::gpu) struct Levels {
    /// Entries of a window at most.
    pub(in crate::gpu) n: usize,
    /// Buckets of the widest window.
    pub(in crate::gpu) bucket_stride: usize,
    /// Windows of the batch.
    pub(in crate::gpu) batch: usize,
    /// Levels above level 0.
    pub(in crate::gpu) rounds: usize,
}

impl Levels {
    /// Room for the points of a level of one window.
    pub(in crate::gpu) fn stride(self, level: usize) -> usize {
        level_stride(self.n, self.bucket_stride, level)
    }

    /// Points of the levels 1 to `level`, one after the other: `[level][window][stride]`.
    fn points_to(self, level: usize) -> usize {
        (1..=level).map(|level| self.batch * self.stride(level)).sum()
    }

    /// Points of all levels.
    pub(in crate::gpu) fn points(self) -> usize {
        self.points_to(self.rounds)
    }

    /// Elements of `words`: two for 32 points.
    pub(in crate::gpu) fn words(self) -> usize {
        self.points() / 16
    }

    /// Elements of `starts`.
    pub(in crate::gpu) fn starts(self) -> usize {
        self.rounds * self.batch * (self.bucket_stride + 1)
    }

    fn of_level<'a, T: DeviceData>(
        self,
        array: DeviceSlice<'a, T>,
        level: usize,
        points_per_element: (usize, usize),
    ) -> DeviceSlice<'a, T> {
        let (elements, points) = points_per_element;
        let place = |level| self.points_to(level) * elements / points;
        array.slice(place(level - 1)..place(level))
    }
}

/// The arrays of a batch's pair rounds: the bases, the sorted entries `[window][n]` and their
/// buckets' starts, and of the levels the points, the starts and the singles' words.
pub(in crate::gpu) struct PairArrays<'a, C: Curve> {
    pub(in crate::gpu) bases: DeviceSlice<'a, C::Affine>,
    pub(in crate::gpu) sorted: DeviceSlice<'a, u32>,
    pub(in crate::gpu) starts: DeviceSlice<'a, u32>,
    pub(in crate::gpu) level_points: DeviceSlice<'a, C::Affine>,
    pub(in crate::gpu) level_starts: DeviceSlice<'a, u32>,
    pub(in crate::gpu) level_words: DeviceSlice<'a, u32>,
}

impl<'a, C: Curve> PairArrays<'a, C> {
    fn assert_shapes(&self, levels: Levels) {
        assert!(self.bases.len() == levels.n && self.sorted.len() >= levels.batch * levels.n);
        assert!(self.starts.len() >= levels.batch * (levels.bucket_stride + 1));
        assert!(self.level_points.len() >= levels.points());
        assert!(self.level_starts.len() >= levels.starts());
        assert!(self.level_words.len() >= levels.words());
        assert!(levels.rounds <= PAIR_ROUNDS_MAX, "at most {PAIR_ROUNDS_MAX} rounds");
    }

    /// The points of a level from 1 on, `[window][stride]`, and the buckets' starts in it.
    pub(in crate::gpu) fn level(
        &self,
        levels: Levels,
        level: usize,
    ) -> (DeviceSlice<'a, C::Affine>, DeviceSlice<'a, u32>) {
        let points = levels.of_level(self.level_points, level, (1, 1));
        let starts = levels.batch * (levels.bucket_stride + 1);
        (points, self.level_starts.slice((level - 1) * starts..level * starts))
    }

    fn words(&self, levels: Levels, level: usize) -> DeviceSlice<'a, u32> {
        levels.of_level(self.level_words, level, (1, 16))
    }
}

/// `msm_start_levels` and `msm_count_singles`: the starts and the words of all levels.
pub(in crate::gpu) fn plan_levels<C: Curve>(
    gpu: &Gpu,
    arrays: &PairArrays<'_, C>,
    levels: Levels,
    batch: Batch,
) -> Result<(), GpuError> {
    arrays.assert_shapes(levels);
    assert!(levels.batch == batch.count as usize && levels.rounds > 0);
    arrays.level_words.slice(0..levels.words()).fill(0)?;
    let stride = count32(levels.bucket_stride);
    let counts: [usize; PAIR_ROUNDS_MAX] =
        std::array::from_fn(|round| levels.stride(round + 1) / PAIR_LANES);
    gpu.launch(
        Kernel::MsmStartLevels,
        Launch {
            grid: (count32(levels.rounds), batch.count),
            block: SORT_THREADS,
            shared_bytes: 0,
        },
        &[
            &arrays.level_starts.address(),
            &arrays.level_words.address(),
            &arrays.starts.address(),
            &stride,
            &LevelWords(counts.map(count32)),
            &batch.windows,
            &batch.first,
        ],
    )?;
    let mut below = arrays.starts;
    for level in 1..=levels.rounds {
        let starts = arrays.level(levels, level).1;
        let count = counts[level - 1];
        gpu.launch(
            Kernel::MsmCountSingles,
            Launch {
                grid: (blocks(count, ELEMENT_THREADS as usize), batch.count),
                block: ELEMENT_THREADS,
                shared_bytes: 0,
            },
            &[
                &arrays.words(levels, level).address(),
                &starts.address(),
                &below.address(),
                &stride,
                &count32(count),
                &batch.windows,
                &batch.first,
            ],
        )?;
        below = starts;
    }
    Ok(())
}

/// Blocks a window that up to `points` pairs need: the kernel gives each block on a multiprocessor
/// an equal share of what there is, in as few turns as the longest share allows.
fn pair_blocks(points: usize, batch: usize, multiprocessors: usize) -> u32 {
    let rows = points.div_ceil(PAIR_THREADS as usize);
    let slots = multiprocessors * PAIR_SLOTS;
    let turns = (batch * rows).div_ceil(slots * PAIR_TILES.1);
    count32((slots * turns).div_ceil(batch.max(1)).min(rows.div_ceil(PAIR_TILES.0)))
}

/// `msm_pair_entries_*` for round 0, `msm_pair_points_*` above: level `round` + 1 from `round`,
/// after [`plan_levels`].
pub(in crate::gpu) fn pair_round<C: Curve>(
    gpu: &Gpu,
    kernels: PairKernels,
    arrays: &PairArrays<'_, C>,
    levels: Levels,
    batch: Batch,
    round: usize,
) -> Result<(), GpuError> {
    arrays.assert_shapes(levels);
    assert!(levels.batch == batch.count as usize && round < levels.rounds);
    let multiprocessors = gpu.info().multiprocessors.max(1);
    let out_stride = levels.stride(round + 1);
    let blocks = pair_blocks(out_stride, levels.batch, multiprocessors);
    let (out, starts) = arrays.level(levels, round + 1);
    let (input, in_stride) = match round {
        0 => (arrays.bases, 0),
        _ => (arrays.level(levels, round).0, levels.stride(round)),
    };
    let parameter = PairRoundParameter {
        out: out.address(),
        input: input.address(),
        sorted: arrays.sorted.address(),
        starts: starts.address(),
        words: arrays.words(levels, round + 1).address(),
        n: count32(levels.n),
        in_stride: count32(in_stride),
        out_stride: count32(out_stride),
        bucket_stride: count32(levels.bucket_stride),
        multiprocessors: count32(multiprocessors),
        windows: batch.windows,
        first_window: batch.first,
        padding: 0,
    };
    let launch = Launch { grid: (blocks, batch.count), block: PAIR_THREADS, shared_bytes: 0 };
    let kernel = if round == 0 { kernels.entries } else { kernels.points };
    gpu.launch(kernel, launch, &[&parameter])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_room_for_singles_and_whole_tiles() {
        for n in [0usize, 1, 63, 64, 65, 4097, 1 << 20] {
            for level in 1..=PAIR_ROUNDS_MAX {
                let stride = level_stride(n, 1 << 12, level);
                let most: usize = (0..1 << 12)
                    .map(|bucket| (n + bucket) >> 12)
                    .map(|length: usize| length.div_ceil(1 << level))
                    .sum();
                assert!(stride >= most + 64 && stride.is_multiple_of(2 * PAIR_LANES));
            }
        }
    }

    /// By the kernel's rule for its share, the blocks reach every row of any level with room for
    /// it.
    #[test]
    fn blocks_reach_every_row() {
        for (points, batch, multiprocessors) in
            [(64, 1, 132), (1 << 20, 13, 132), (70_000, 1, 1), (1 << 26, 1, 132)]
        {
            let blocks = pair_blocks(points, batch, multiprocessors) as usize;
            for pairs in [1, points / 7, points / 2, points - 1, points] {
                let rows = pairs.div_ceil(PAIR_THREADS as usize);
                let slots = multiprocessors * PAIR_SLOTS;
                let turns = (rows * batch).div_ceil(slots * PAIR_TILES.1);
                let tiles = (rows * batch).div_ceil(slots * turns).max(PAIR_TILES.0);
                assert!(tiles <= PAIR_TILES.1, "{pairs} of {points}: {tiles} tiles");
                assert!(blocks * tiles >= rows, "{pairs} of {points}: {blocks} x {tiles}");
            }
        }
    }
}
