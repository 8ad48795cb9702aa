//! Sums over bases whose scalars are bits, for a group of partitions at once.
//!
//! A base's bits in the P partitions of the group form a pattern; the base is added once, into
//! `bucket[pattern]`. With `S_p` the sum for partition p, folding takes the buckets apart: from
//! the top bit down `S_p = sum of the upper half`, and the upper half is added to the lower. That
//! is one addition a base for the whole group, where sums of their own need P / 2.

use rayon::prelude::*;

use group::Group;

use super::bases::{Bases, BasesError};
use super::engine::{Curve, Engine, Point};
use super::plan::CHUNK;
use super::tree::{Entry, Source, Tree};

/// Partitions of one group at most: 2^10 buckets.
pub const GROUP_MAX: usize = 10;
/// Bases that one task reads the patterns of.
const TASK: usize = 1 << 13;

/// Consecutive bases that meet consecutive bits, in every partition the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRun {
    /// Index of the first base in its array.
    pub base_start: usize,
    /// Position of the first bit in the partition's bit string.
    pub bit_start: usize,
    /// How many bases.
    pub len: usize,
}

/// For every partition, the sum of the bases whose bit is set.
///
/// `partitions` are packed bit strings: bit `i` is bit `i % 64` of word `i / 64`.
///
/// # Errors
/// When a base that is needed is no uncompressed point.
///
/// # Panics
/// When there are more than [`GROUP_MAX`] partitions, or a run leaves the bases or the bits.
pub fn bit_sums<E: Engine>(
    engine: E,
    bases: Bases<'_, E::Curve>,
    runs: &[BitRun],
    partitions: &[&[u64]],
) -> Result<Vec<<E::Curve as Curve>::Projective>, BasesError> {
    assert!(partitions.len() <= GROUP_MAX, "a group of at most {GROUP_MAX} partitions");
    for run in runs {
        assert!(run.base_start + run.len <= bases.len(), "a run outside the bases");
        let bits = run.bit_start + run.len;
        assert!(partitions.iter().all(|words| bits <= words.len() * 64), "a run outside the bits");
    }
    let patterns = 1usize << partitions.len();
    let tree = Tree::new(engine);
    let mut buckets = vec![E::INFINITY; patterns];
    for chunk in chunks(runs) {
        let picks: Vec<Vec<Pick>> =
            chunk.par_iter().map(|run| Pick::of_run(run, partitions)).collect();
        let (indices, counts) = sort_by_pattern(&picks, patterns);
        let points = bases.decode_selected(engine, &indices)?;
        buckets = add_to_buckets(&tree, &buckets, &points, &counts);
    }
    let buckets: Vec<_> = buckets.iter().map(|sum| engine.export(sum)).collect();
    Ok(fold::<E::Curve>(&buckets, partitions.len()))
}

/// The runs in pieces of at most [`TASK`] bases, gathered into chunks of about [`CHUNK`].
fn chunks(runs: &[BitRun]) -> Vec<Vec<BitRun>> {
    let pieces = runs.iter().flat_map(|run| {
        (0..run.len).step_by(TASK).map(|offset| BitRun {
            base_start: run.base_start + offset,
            bit_start: run.bit_start + offset,
            len: TASK.min(run.len - offset),
        })
    });
    let mut chunks = Vec::new();
    let mut room = 0;
    for piece in pieces {
        if room < piece.len {
            chunks.push(Vec::new());
            room = CHUNK;
        }
        room -= piece.len;
        chunks.last_mut().expect("a chunk was just begun").push(piece);
    }
    chunks
}

/// A base that is set in some partition.
#[derive(Clone, Copy)]
struct Pick {
    base: u32,
    pattern: u16,
}

impl Pick {
    fn of_run(run: &BitRun, partitions: &[&[u64]]) -> Vec<Self> {
        let mut picks = Vec::with_capacity(run.len);
        for offset in (0..run.len).step_by(64) {
            let mask = u64::MAX >> (64 - (run.len - offset).min(64));
            let mut words = [0; GROUP_MAX];
            for (word, bits) in words.iter_mut().zip(partitions) {
                *word = word_at(bits, run.bit_start + offset) & mask;
            }
            let mut set = words.iter().fold(0, |any, word| any | word);
            while set != 0 {
                let bit = set.trailing_zeros();
                let pattern =
                    words.iter().rev().fold(0, |pattern, word| pattern << 1 | (word >> bit & 1));
                let base = run.base_start + offset + bit as usize;
                picks.push(Self { base: base as u32, pattern: pattern as u16 });
                set &= set - 1;
            }
        }
        picks
    }
}

/// 64 bits from position `start` on; zeros beyond the end.
fn word_at(bits: &[u64], start: usize) -> u64 {
    let (index, shift) = (start / 64, start % 64);
    let low = bits[index] >> shift;
    match bits.get(index + 1) {
        Some(high) if shift > 0 => low | high << (64 - shift),
        _ => low,
    }
}

/// The picked bases ordered by pattern, and how many have each pattern.
fn sort_by_pattern(picks: &[Vec<Pick>], patterns: usize) -> (Vec<u32>, Vec<u32>) {
    let mut counts = vec![0u32; patterns];
    for pick in picks.iter().flatten() {
        counts[pick.pattern as usize] += 1;
    }
    let mut next: Vec<u32> = counts
        .iter()
        .scan(0, |total, count| {
            let start = *total;
            *total += count;
            Some(start)
        })
        .collect();
    let mut indices = vec![0; counts.iter().sum::<u32>() as usize];
    for pick in picks.iter().flatten() {
        let position = &mut next[pick.pattern as usize];
        indices[*position as usize] = pick.base;
        *position += 1;
    }
    (indices, counts)
}

/// The buckets after `points`, which are ordered by pattern, are added to them.
fn add_to_buckets<E: Engine>(
    tree: &Tree<E>,
    buckets: &[Point<E::Row>],
    points: &[Point<E::Row>],
    counts: &[u32],
) -> Vec<Point<E::Row>> {
    let mut entries = Vec::with_capacity(points.len() + buckets.len());
    let mut ends = Vec::with_capacity(buckets.len());
    let mut point = 0;
    for (bucket, &count) in counts.iter().enumerate() {
        let count = count as usize;
        if !E::is_infinity(&buckets[bucket]) {
            entries.push(Entry::new(points.len() + bucket, false));
        }
        entries.extend((point..point + count).map(|index| Entry::new(index, false)));
        point += count;
        ends.push(entries.len() as u32);
    }
    tree.sum(Source { points, carried: buckets }, &entries, &ends)
}

/// The partitions' sums from the sums of the patterns.
fn fold<C: Curve>(buckets: &[C::Affine], partitions: usize) -> Vec<C::Projective> {
    let mut buckets: Vec<C::Projective> = buckets.iter().map(|&sum| sum.into()).collect();
    let mut sums = vec![C::Projective::identity(); partitions];
    for partition in (0..partitions).rev() {
        let upper = buckets.split_off(1 << partition);
        sums[partition] = upper.iter().sum();
        for (lower, upper) in buckets.iter_mut().zip(upper) {
            *lower += upper;
        }
    }
    sums
}
