//! Host memory that sums take, known before any work.

use super::window::Window;

/// Points that a sum decodes at one time, in dense sums, bits and tails: 128 MiB of G1.
pub(super) const CHUNK: usize = 1 << 20;
/// A decoded point of G1, in any engine.
pub const G1_POINT_BYTES: u64 = 128;
/// A decoded point of G2.
pub const G2_POINT_BYTES: u64 = 256;

/// Dense sums that are under way together over the same points, each with its buckets, and the
/// chunk of decoded points that they share.
#[derive(Clone, Copy, Debug)]
pub struct SumsPlan {
    /// Of a decoded point: [`G1_POINT_BYTES`] or [`G2_POINT_BYTES`].
    pub point_bytes: u64,
    /// Points of the largest array that is decoded in chunks.
    pub points: u64,
    /// Points that meet full scalars.
    pub dense: u64,
    /// Sums at once.
    pub sums: u64,
    /// Windows of the dense sums.
    pub window: Window,
    /// Worker threads.
    pub threads: u64,
}

impl SumsPlan {
    /// One sum over `points` points of G1, all with full scalars, on the threads of this process.
    pub fn of_h(points: u64, window: Window) -> Self {
        let threads = rayon::current_num_threads() as u64;
        Self { point_bytes: G1_POINT_BYTES, points, dense: points, sums: 1, window, threads }
    }

    /// Peak bytes; the encoded points and the scalars of the caller are not in it.
    pub fn bytes(self) -> u64 {
        /// A point's gathered and its folded scalar; for bits its pick and entry, which are less.
        const SCALAR_BYTES: u64 = 2 * 32;
        /// Of an entry, or of the end of a segment.
        const ENTRY_BYTES: u64 = 4;
        /// Entries of a task's block.
        const BLOCK: u64 = 4096;
        /// Points that a block with its scratch takes.
        const SCRATCH_POINTS: u64 = BLOCK * 5 / 2;
        let Self { point_bytes, points, dense, sums, window, threads } = self;
        let window = window.bits(dense as usize);
        let (count, buckets) = (window.count() as u64, window.buckets() as u64);
        let in_flight = threads.min(count);
        let chunk = points.min(CHUNK as u64) * (point_bytes + SCALAR_BYTES);
        // A window in flight has its old buckets, its new ones, and where each ends, twice.
        let kept = sums * count * buckets * point_bytes;
        let made = in_flight * buckets * (point_bytes + 2 * ENTRY_BYTES);
        // Every sum keeps its own lists of entries and its own scratch until it is finished.
        let entries = dense.min(CHUNK as u64) + buckets;
        let tasks = threads.min(count * entries.div_ceil(BLOCK));
        let lists =
            sums * (in_flight * entries * ENTRY_BYTES + tasks * SCRATCH_POINTS * point_bytes);
        chunk + kept + made + lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_windows_cost_their_buckets_for_every_sum() {
        let plan = |window: &str, sums| SumsPlan {
            point_bytes: G1_POINT_BYTES,
            points: 1 << 22,
            dense: 1 << 10,
            sums,
            window: window.parse().expect("a window"),
            threads: 2,
        };
        // 11 windows of 2^23 buckets a sum.
        let buckets = 11 << 30;
        assert!(plan("24", 1).bytes() > buckets + (2 << 30), "old and new buckets coexist");
        assert!(plan("24", 10).bytes() > 10 * buckets);
        assert!(plan("auto", 1).bytes() < 256 << 20);
    }
}
