//! Windows of sums with full scalars on the device: as wide as asked for, or the cheapest.

use super::tree::has_rounds;
use crate::gpu::kernels::{WINDOW_WIDTH_MAX, Windows};
use crate::gpu::{Curve, G1};
use crate::msm::Window;

/// The widest window of a sum on a GPU, in bits; the narrowest has [`Window::BITS_MIN`].
pub const WINDOW_BITS_MAX: usize = WINDOW_WIDTH_MAX as usize;

/// Bits that the windows of a scalar hold: a folded scalar has 254, and the top digit's carry.
const SCALAR_BITS: u32 = 255;

/// What a bucket of a sum over `n` points costs, in additions of an entry: two full additions in the
/// reduction, 2.75 mixed ones or 5 affine ones, and after pair rounds as much again for its last
/// points and singles.
fn bucket_cost<C: Curve>(n: usize) -> f64 {
    if has_rounds::<C>(n) { 10.0 } else { 2.75 }
}

/// The windows of sums of `n` points with each of `vectors` vectors of scalars: those of one vector
/// after those of the one before. `window` is the width of the widest.
///
/// # Panics
/// When `window` is wider than [`WINDOW_BITS_MAX`], or `vectors` is zero.
pub(super) fn choose<C: Curve>(n: usize, vectors: usize, window: Window) -> Windows {
    assert!(vectors > 0, "a vector of scalars");
    let vectors = u32::try_from(vectors).expect("a group of partitions");
    match (window, vectors) {
        (Window::Bits(bits), vectors) => {
            let bits = bits.get();
            assert!(bits <= WINDOW_BITS_MAX, "windows to {WINDOW_BITS_MAX} bits, got {bits}");
            of_width(bits as u32, vectors)
        }
        (Window::Auto, 1) => cheapest_single(n, bucket_cost::<C>(n)),
        (Window::Auto, vectors) => cheapest_shared(n, vectors, bucket_cost::<C>(n)),
    }
}

/// As few windows as can be, the widest of `width` bits: all of them for several vectors, else the
/// first, with the others narrower by a bit where 255 bits allow.
fn of_width(width: u32, vectors: u32) -> Windows {
    let count = SCALAR_BITS.div_ceil(width);
    let wide_count = match vectors {
        1 => SCALAR_BITS.saturating_sub(count * (width - 1)).max(1),
        _ => vectors * count,
    };
    Windows { count: vectors * count, width, wide_count }
}

/// The cheapest windows for one vector: 255 bits, as equal as can be.
fn cheapest_single(n: usize, bucket_cost: f64) -> Windows {
    /// Windows of three to four bits, for a handful of points.
    const COUNT_MAX: u32 = 64;
    let counts = SCALAR_BITS.div_ceil(WINDOW_WIDTH_MAX)..=COUNT_MAX;
    let equal = |count| {
        let width = SCALAR_BITS.div_ceil(count);
        Windows { count, width, wide_count: SCALAR_BITS - count * (width - 1) }
    };
    cheapest(n, bucket_cost, counts.map(equal))
}

/// The cheapest windows of one width for `vectors` vectors.
fn cheapest_shared(n: usize, vectors: u32, bucket_cost: f64) -> Windows {
    let widths = 2..=WINDOW_WIDTH_MAX;
    cheapest(n, bucket_cost, widths.map(|width| of_width(width, vectors)))
}

/// The windows with the fewest additions, those of the reduction included.
fn cheapest(n: usize, bucket_cost: f64, candidates: impl Iterator<Item = Windows>) -> Windows {
    let cost = |windows: &Windows| {
        let wide = f64::from(windows.wide_count);
        let all = f64::from(windows.count);
        let buckets = windows.bucket_stride() as f64 * (wide + (all - wide) / 2.0);
        n as f64 * all + bucket_cost * buckets
    };
    candidates.min_by(|x, y| cost(x).total_cmp(&cost(y))).expect("there are candidates")
}

/// Additions into buckets that a sum of `n` products in G1 takes: one a digit.
pub(in crate::gpu) fn additions(n: usize, window: Window) -> u64 {
    n as u64 * u64::from(choose::<G1>(n, 1, window).count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::G2;
    use crate::msm::WindowBits;

    fn bits(windows: Windows) -> u32 {
        windows.count * (windows.width - 1) + windows.wide_count
    }

    #[test]
    fn windows_cover_255_bits_and_grow_with_the_points() {
        for bucket_cost in [bucket_cost::<G1>(1 << 27), bucket_cost::<G2>(1 << 27)] {
            let mut width = 0;
            for log_n in 0..31 {
                let windows = cheapest_single((1 << log_n).min((1 << 31) - 1), bucket_cost);
                assert_eq!(bits(windows), 255);
                assert!(windows.width <= WINDOW_WIDTH_MAX);
                assert!(windows.width >= width, "2^{log_n}: {windows:?}");
                width = windows.width;
            }
        }
    }

    #[test]
    fn vectors_have_windows_of_one_width() {
        for (n, vectors) in [(1, 2), (1000, 10), (1_700_000, 10), (1 << 20, 5)] {
            let windows = choose::<G1>(n, vectors, Window::Auto);
            assert_eq!(windows.wide_count, windows.count, "{n} x {vectors}");
            let bits = windows.count as usize / vectors * windows.width as usize;
            assert!(bits >= 255, "{windows:?}");
            assert!((windows.count as usize).is_multiple_of(vectors), "{windows:?}");
        }
    }

    #[test]
    fn every_width_covers_255_bits_with_as_few_windows_as_can_be() {
        for width in Window::BITS_MIN..=WINDOW_BITS_MAX {
            let window = Window::Bits(WindowBits::new(width).expect("in range"));
            let (width, count) = (width as u32, 255u32.div_ceil(width as u32));
            let windows = choose::<G1>(1 << 20, 1, window);
            assert_eq!((windows.width, windows.count), (width, count));
            assert!((1..=count).contains(&windows.wide_count), "{windows:?}");
            assert!(bits(windows) >= 255, "{windows:?}");
            assert!(bits(windows) == 255 || windows.wide_count == 1, "{windows:?}");
            assert_eq!(additions(1 << 20, window), u64::from(count) << 20);
            let shared = Windows { count: 5 * count, width, wide_count: 5 * count };
            assert_eq!(choose::<G1>(1 << 20, 5, window), shared);
        }
    }

    #[test]
    fn the_largest_sum_of_a_sector_has_twelve_windows() {
        let twelve = Windows { count: 12, width: 22, wide_count: 3 };
        assert_eq!(choose::<G1>(1 << 27, 1, Window::Auto), twelve);
        let bits = WindowBits::new(22).expect("in range");
        assert_eq!(choose::<G1>(1 << 27, 1, Window::Bits(bits)), twelve, "asked for the same");
    }

    #[test]
    fn small_sums_weigh_a_bucket_as_before_pairs() {
        let (below, above) = (1 << 24, 1 << 25);
        assert_eq!([bucket_cost::<G1>(below), bucket_cost::<G1>(above)], [2.75, 10.0]);
        assert_eq!(bucket_cost::<G2>(above), 2.75);
    }
}
