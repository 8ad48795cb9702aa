//! Dense sums: full scalars, signed-digit buckets.
//!
//! With windows of c bits a scalar k, replaced by r - k (and its point by the opposite) when
//! above (r - 1) / 2, is below 2^254 and has w = ceil(255 / c) digits. Adding
//! `sum_{i < w - 1} 2^(c i + c - 1)` once makes every digit but the last an independent bit field
//! less 2^(c - 1), in [-2^(c - 1), 2^(c - 1)); the last is the top field as it is, at most
//! 2^(c - 1) because c w >= 255. Zero digits are dropped; the others add their point to bucket
//! |digit| - 1 of their window.
//!
//! Points come in chunks, so that the decoded ones stay few: a bucket's sum so far is one more
//! point of its segment in the next chunk, which costs no extra addition.

use ff::PrimeField;
use group::Group;
use rayon::prelude::*;

use super::bases::{Bases, BasesError};
use super::engine::{Curve, Engine, Point};
use super::plan::CHUNK;
use super::tree::{Entry, Source, Tree};
use super::window::{Window, WindowBits};
use crate::field::{FR_MODULUS, Fr};
use crate::pages::{Pool, filled};

/// (r - 1) / 2.
const HALF: [u64; 4] = {
    let [a, b, c, d] = FR_MODULUS;
    [a >> 1 | b << 63, b >> 1 | c << 63, c >> 1 | d << 63, d >> 1]
};
/// Set in the last word of a scalar that stands for its opposite.
const NEGATIVE: u64 = 1 << 63;

/// `sum_i scalars[i] bases[i]`.
///
/// # Errors
/// When a base is no uncompressed point.
///
/// # Panics
/// When the lengths differ.
pub fn dense_sum<E: Engine>(
    engine: E,
    bases: Bases<'_, E::Curve>,
    scalars: &[Fr],
    window: Window,
) -> Result<Projective<E>, BasesError> {
    assert_eq!(bases.len(), scalars.len(), "as many scalars as bases");
    let mut sum = Dense::new(engine, window.bits(scalars.len()));
    for (chunk, scalars) in scalars.chunks(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        let points = bases.slice(start..start + scalars.len()).decode(engine)?;
        sum.add(&points, scalars);
    }
    Ok(sum.finish())
}

type Projective<E> = <<E as Engine>::Curve as Curve>::Projective;

/// A dense sum under way.
pub struct Dense<E: Engine> {
    tree: Tree<E>,
    bits: WindowBits,
    /// Lists of entries that no window is using.
    entries: Pool<Vec<Entry>, fn() -> Vec<Entry>>,
    /// Per window, the sums of its buckets; empty before the first chunk.
    windows: Vec<Vec<Point<E::Row>>>,
}

impl<E: Engine> Dense<E> {
    /// An empty sum with windows of `bits` bits.
    pub fn new(engine: E, bits: WindowBits) -> Self {
        let windows = vec![Vec::new(); bits.count()];
        Self { tree: Tree::new(engine), bits, entries: Pool::new(Vec::new), windows }
    }

    /// Adds `scalars[i] points[i]` for all i.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn add(&mut self, points: &[Point<E::Row>], scalars: &[Fr]) {
        assert_eq!(points.len(), scalars.len(), "as many scalars as points");
        let bias = self.bits.bias();
        let scalars: Vec<Biased> = scalars.par_iter().map(|k| Biased::new(k, &bias)).collect();
        let Self { tree, bits, entries, windows } = self;
        windows.par_iter_mut().enumerate().for_each(|(window, buckets)| {
            let digits = Digits { bits: *bits, window };
            *buckets = entries.with(|entries| {
                let ends = sort_by_bucket::<E>(entries, buckets, points.len(), &scalars, digits);
                tree.sum(Source { points, carried: buckets }, entries, &ends)
            });
        });
    }

    /// The sum.
    pub fn finish(self) -> Projective<E> {
        let tree = &self.tree;
        let windows: Vec<Projective<E>> =
            self.windows.par_iter().map(|buckets| weighted_sum(tree, buckets)).collect();
        windows.into_iter().rev().fold(Projective::<E>::identity(), |sum, window| {
            (0..self.bits.get()).fold(sum, |sum, _| sum.double()) + window
        })
    }
}

/// A scalar folded below 2^254, with the window bias added and the sign in its top bit.
#[derive(Clone, Copy)]
struct Biased([u64; 4]);

impl Biased {
    fn new(scalar: &Fr, bias: &[u64; 4]) -> Self {
        let words = canonical_words(scalar);
        let negative = less(&HALF, &words);
        let folded = if negative { subtract(&FR_MODULUS, &words) } else { words };
        let mut sum = [0; 4];
        let mut carry = false;
        for (sum, (a, b)) in sum.iter_mut().zip(folded.iter().zip(bias)) {
            let (partial, over) = a.overflowing_add(*b);
            let (total, over_again) = partial.overflowing_add(carry.into());
            *sum = total;
            carry = over || over_again;
        }
        sum[3] |= if negative { NEGATIVE } else { 0 };
        Self(sum)
    }
}

/// The integer that a scalar stands for, least significant word first.
fn canonical_words(scalar: &Fr) -> [u64; 4] {
    let bytes = scalar.to_repr();
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes"));
    }
    words
}

fn less(a: &[u64; 4], b: &[u64; 4]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

fn subtract(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    let mut difference = [0; 4];
    let mut borrow = false;
    for (difference, (a, b)) in difference.iter_mut().zip(a.iter().zip(b)) {
        let (partial, under) = a.overflowing_sub(*b);
        let (total, under_again) = partial.overflowing_sub(borrow.into());
        *difference = total;
        borrow = under || under_again;
    }
    difference
}

/// Reads one window's digits.
#[derive(Clone, Copy)]
struct Digits {
    bits: WindowBits,
    window: usize,
}

impl Digits {
    /// Bucket and sign of a scalar's digit; `None` for zero.
    #[inline(always)]
    fn get(self, scalar: &Biased) -> Option<(usize, bool)> {
        let bits = self.bits.get();
        let (word, shift) = (self.window * bits / 64, self.window * bits % 64);
        let mut value = word_of(scalar, word) >> shift;
        if shift + bits > 64 && word < 3 {
            value |= word_of(scalar, word + 1) << (64 - shift);
        }
        let field = (value & ((1 << bits) - 1)) as i64;
        let is_last = self.window + 1 == self.bits.count();
        let digit = if is_last { field } else { field - (1 << (bits - 1)) };
        let negative = (scalar.0[3] & NEGATIVE != 0) != (digit < 0);
        (digit != 0).then(|| (digit.unsigned_abs() as usize - 1, negative))
    }
}

/// A word of the biased scalar without the sign.
#[inline(always)]
fn word_of(scalar: &Biased, word: usize) -> u64 {
    if word == 3 { scalar.0[3] & !NEGATIVE } else { scalar.0[word] }
}

/// Lists the points of every bucket of a window, the bucket's sum so far first; returns where
/// each bucket ends.
fn sort_by_bucket<E: Engine>(
    entries: &mut Vec<Entry>,
    buckets: &[Point<E::Row>],
    points: usize,
    scalars: &[Biased],
    digits: Digits,
) -> Vec<u32> {
    let mut ends = vec![0u32; digits.bits.buckets()];
    for scalar in scalars {
        if let Some((bucket, _)) = digits.get(scalar) {
            ends[bucket] += 1;
        }
    }
    let carried = |bucket: usize| buckets.get(bucket).is_some_and(|sum| !E::is_infinity(sum));
    let mut total = 0;
    for (bucket, end) in ends.iter_mut().enumerate() {
        let count = *end + u32::from(carried(bucket));
        *end = total;
        total += count;
    }
    if entries.is_empty() {
        *entries = filled(Entry::default(), total as usize);
    }
    entries.resize(total as usize, Entry::default());
    for (bucket, end) in ends.iter_mut().enumerate() {
        if carried(bucket) {
            entries[*end as usize] = Entry::new(points + bucket, false);
            *end += 1;
        }
    }
    for (index, scalar) in scalars.iter().enumerate() {
        if let Some((bucket, negative)) = digits.get(scalar) {
            let end = &mut ends[bucket];
            entries[*end as usize] = Entry::new(index, negative);
            *end += 1;
        }
    }
    ends
}

/// `sum_k (k + 1) buckets[k]`, by rows and columns: with k = 2^m i + j it is
/// `2^m sum_i i row_i + sum_j (j + 1) column_j`.
fn weighted_sum<E: Engine>(tree: &Tree<E>, buckets: &[Point<E::Row>]) -> Projective<E> {
    if buckets.is_empty() {
        return Projective::<E>::identity();
    }
    let log_columns = buckets.len().ilog2().div_ceil(2);
    let columns = 1usize << log_columns;
    let rows = buckets.len() / columns;
    let source = Source { points: buckets, carried: &[] };
    let sums = |segments: usize, len: usize, index: &dyn Fn(usize, usize) -> usize| {
        let entries: Vec<Entry> = (0..segments)
            .flat_map(|segment| (0..len).map(move |item| Entry::new(index(segment, item), false)))
            .collect();
        let ends: Vec<u32> = (1..=segments).map(|end| (end * len) as u32).collect();
        tree.sum(source, &entries, &ends)
    };
    let row_sums = sums(rows, columns, &|row, column| row * columns + column);
    let column_sums = sums(columns, rows, &|column, row| row * columns + column);
    let rows = ladder(tree.engine(), &row_sums[1..]);
    let shifted = (0..log_columns).fold(rows, |sum, _| sum.double());
    shifted + ladder(tree.engine(), &column_sums)
}

/// `sum_k (k + 1) points[k]`, by running sums.
fn ladder<E: Engine>(engine: E, points: &[Point<E::Row>]) -> Projective<E> {
    let mut running = Projective::<E>::identity();
    let mut sum = Projective::<E>::identity();
    for point in points.iter().rev() {
        running += &engine.export(point);
        sum += running;
    }
    sum
}
