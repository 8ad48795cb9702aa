//! Sums of many segments of points by trees of affine additions that share inversions.
//!
//! ```text
//! Tree::sum: for every segment s, the sum of the points that its entries name
//!   cut segments longer than a block, gather whole segments into blocks
//!   per block (one task; its points stay in the second-level cache):
//!     copy the points, negated where the entry says so
//!     round: pair neighbours in every segment; an odd one is copied
//!       1. gap = x_right - x_left, running product of all gaps
//!       2. one inversion
//!       3. backwards: 1 / gap, slope, sum
//!   sum the pieces of the segments that were cut, in the same way
//! ```
//!
//! An addition costs 5 products, 1 square and its share of the inversion. Pairs of a segment never
//! meet another's, so there are no conflicts to queue, and all points in one segment are as well
//! balanced as an even spread. Equal, opposite and infinite points are ordinary input: a pair
//! whose gap may be zero is looked at exactly, and its lane is given the tangent's numerator and
//! denominator, or a one and its known result.

use rayon::prelude::*;

use super::engine::{Engine, Pair, Point};
use crate::field::Kernel;
use crate::pages::{Pool, filled};

/// Points of a block at most; the rounds are log2 of this, at most the vector engine's depth.
///
/// 4096 points of G1 with their scratch take 1.1 MiB of a 2 MiB second-level cache.
const BLOCK: usize = 4096;
/// Sums that are nested before a result is settled.
pub(super) const MAX_DEPTH: u32 = BLOCK.ilog2();

/// How many points ahead the copy asks for: 16 hide a cache miss behind the copies before it.
const PREFETCH: usize = 16;

/// Names a point of a [`Source`], and its sign.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry(u32);

impl Entry {
    /// Entry for the point `index` (below 2^31), negated or not.
    #[inline(always)]
    pub const fn new(index: usize, negative: bool) -> Self {
        Self((index as u32) << 1 | negative as u32)
    }
}

/// The points that entries name: those of a chunk, then sums carried over from earlier chunks.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, R> {
    /// Indices from 0.
    pub points: &'a [Point<R>],
    /// Indices from `points.len()`.
    pub carried: &'a [Point<R>],
}

impl<R> Source<'_, R> {
    #[inline(always)]
    fn get(&self, entry: Entry) -> &Point<R> {
        let index = (entry.0 >> 1) as usize;
        self.points.get(index).unwrap_or_else(|| &self.carried[index - self.points.len()])
    }
}

/// Sums segments on one engine; keeps the scratch of its tasks.
pub struct Tree<E: Engine> {
    engine: E,
    pool: Pool<Scratch<E>, fn() -> Scratch<E>>,
}

impl<E: Engine> Tree<E> {
    /// A tree without scratch so far.
    pub const fn new(engine: E) -> Self {
        Self { engine, pool: Pool::new(Scratch::new) }
    }

    /// The engine.
    pub const fn engine(&self) -> E {
        self.engine
    }

    /// The sums of consecutive segments of `entries`; segment `s` ends before `ends[s]`.
    ///
    /// Returns one settled point a segment, infinity for an empty one.
    ///
    /// # Panics
    /// When `ends` does not ascend to `entries.len()`, or an entry is outside the source.
    pub fn sum(
        &self,
        source: Source<'_, E::Row>,
        entries: &[Entry],
        ends: &[u32],
    ) -> Vec<Point<E::Row>> {
        assert_eq!(ends.last().copied().unwrap_or(0) as usize, entries.len(), "the last end");
        let plan = Plan::new(ends);
        let mut sums = filled(E::INFINITY, plan.piece_ends.len());
        let mut tasks = Vec::with_capacity(plan.blocks.len());
        let mut rest = sums.as_mut_slice();
        let (mut piece, mut entry) = (0, 0);
        for &end in &plan.blocks {
            let (out, after) = rest.split_at_mut(end - piece);
            rest = after;
            let pieces = &plan.piece_ends[piece..end];
            let entry_end = pieces.last().map_or(entry, |&end| end as usize);
            tasks.push((out, pieces, entry, &entries[entry..entry_end]));
            (piece, entry) = (end, entry_end);
        }
        tasks.into_par_iter().for_each(|(out, ends, start, entries)| {
            let start = start as u32;
            self.pool.with(|scratch| {
                self.engine.enter(Block { source, entries, ends, start, out, scratch });
            });
        });
        match plan.first_pieces {
            None => sums,
            Some(first) => self.join_pieces(&sums, &first),
        }
    }

    /// Sums the pieces of every segment; `first[s]..first[s + 1]` are those of segment `s`.
    fn join_pieces(&self, pieces: &[Point<E::Row>], first: &[u32]) -> Vec<Point<E::Row>> {
        let range = |segment: usize| first[segment] as usize..first[segment + 1] as usize;
        let mut sums: Vec<_> =
            first[..first.len() - 1].iter().map(|&i| pieces[i as usize]).collect();
        let cut: Vec<usize> = (0..sums.len()).filter(|&s| range(s).len() > 1).collect();
        let mut entries = Vec::new();
        let mut ends = Vec::with_capacity(cut.len());
        for &segment in &cut {
            entries.extend(range(segment).map(|piece| Entry::new(piece, false)));
            ends.push(entries.len() as u32);
        }
        let source = Source { points: pieces, carried: &[] };
        for (segment, sum) in cut.into_iter().zip(self.sum(source, &entries, &ends)) {
            sums[segment] = sum;
        }
        sums
    }
}

/// How segments are cut into pieces and pieces gathered into blocks.
struct Plan {
    /// End of each piece in the entries.
    piece_ends: Vec<u32>,
    /// End of each block in the pieces.
    blocks: Vec<usize>,
    /// The first piece of each segment and the count of pieces, when any segment was cut.
    first_pieces: Option<Vec<u32>>,
}

impl Plan {
    fn new(ends: &[u32]) -> Self {
        let mut piece_ends = Vec::with_capacity(ends.len());
        let mut blocks = Vec::new();
        let mut first = Vec::with_capacity(ends.len() + 1);
        let (mut block_start, mut start) = (0, 0);
        for &end in ends {
            assert!(end >= start, "segment ends ascend");
            first.push(piece_ends.len() as u32);
            if (end - block_start) as usize > BLOCK && block_start < start {
                blocks.push(piece_ends.len());
                block_start = start;
            }
            while (end - block_start) as usize > BLOCK {
                block_start += BLOCK as u32;
                piece_ends.push(block_start);
                blocks.push(piece_ends.len());
            }
            piece_ends.push(end);
            start = end;
        }
        first.push(piece_ends.len() as u32);
        if blocks.last() != Some(&piece_ends.len()) {
            blocks.push(piece_ends.len());
        }
        let was_cut = piece_ends.len() > ends.len();
        Self { piece_ends, blocks, first_pieces: was_cut.then_some(first) }
    }
}

/// A segment that is not yet one point.
#[derive(Clone, Copy)]
struct Open {
    segment: u32,
    start: u32,
    len: u32,
}

/// A pair without a chord.
struct Exception<R> {
    group: usize,
    lane: usize,
    pair: Pair,
    /// The tangent's numerator, where `pair` is [`Pair::Tangent`].
    numerator: R,
}

/// What the blocks of one task use again and again.
struct Scratch<E: Engine> {
    points: Vec<Point<E::Row>>,
    sums: Vec<Point<E::Row>>,
    left: Vec<u32>,
    at: Vec<u32>,
    open: Vec<Open>,
    gaps: Vec<E::Wide>,
    prefixes: Vec<E::Wide>,
    exceptions: Vec<Exception<E::Row>>,
}

impl<E: Engine> Scratch<E> {
    /// The slot of `sums` that padding lanes write to.
    const SPARE: usize = BLOCK;

    fn new() -> Self {
        Self {
            points: vec![E::INFINITY; BLOCK + 1],
            sums: vec![E::INFINITY; BLOCK + 1],
            left: Vec::with_capacity(BLOCK / 2),
            at: Vec::with_capacity(BLOCK / 2),
            open: Vec::new(),
            gaps: Vec::with_capacity(BLOCK / 2 / E::WIDTH),
            prefixes: Vec::with_capacity(BLOCK / 2 / E::WIDTH),
            exceptions: Vec::new(),
        }
    }

    /// Lists the pairs of the round and where their sums go; copies odd points.
    fn pair_up(&mut self) {
        self.left.clear();
        self.at.clear();
        let mut next = 0;
        for open in &mut self.open {
            let pairs = open.len / 2;
            self.left.extend((0..pairs).map(|pair| open.start + 2 * pair));
            self.at.extend(next..next + pairs);
            if open.len % 2 == 1 {
                let odd = open.start + open.len - 1;
                self.sums[(next + pairs) as usize] = self.points[odd as usize];
            }
            open.start = next;
            open.len = open.len.div_ceil(2);
            next += open.len;
        }
        if let Some(&last) = self.left.last() {
            let padded = self.left.len().next_multiple_of(E::WIDTH);
            self.left.resize(padded, last);
            self.at.resize(padded, Self::SPARE as u32);
        }
    }

    /// Adds the pairs that [`Scratch::pair_up`] listed.
    #[inline(always)]
    fn add_pairs(&mut self, engine: E) {
        self.gaps.clear();
        self.prefixes.clear();
        let mut product = engine.one();
        for (group, left) in self.left.chunks_exact(E::WIDTH).enumerate() {
            let (mut gap, unsure) = engine.gap(&self.points, left);
            if unsure != 0 {
                let found = &mut self.exceptions;
                look_closely(engine, &self.points, left, group, unsure, &mut gap, found);
            }
            self.prefixes.push(product);
            self.gaps.push(gap);
            product = engine.mul(product, gap);
        }
        let mut inverse = engine.invert(product);
        let groups = self.left.chunks_exact(E::WIDTH).zip(self.at.chunks_exact(E::WIDTH));
        let products = self.gaps.iter().zip(&self.prefixes);
        for (group, ((left, at), (&gap, &prefix))) in groups.zip(products).enumerate().rev() {
            let gap_inverse = engine.mul(inverse, prefix);
            inverse = engine.mul(inverse, gap);
            let rise = engine.rise(&self.points, left);
            let (points, sums) = (&self.points, &mut self.sums);
            if self.exceptions.last().is_none_or(|exception| exception.group != group) {
                let slope = engine.mul(rise, gap_inverse);
                let x_sum = engine.x_sum_from_gap(points, left, gap);
                engine.store_sums(points, left, slope, x_sum, sums, at);
                continue;
            }
            let mut rise = rise;
            for found in self.exceptions.iter().rev().take_while(|e| e.group == group) {
                if found.pair == Pair::Tangent {
                    engine.set_lane(&mut rise, found.lane, &found.numerator);
                }
            }
            let slope = engine.mul(rise, gap_inverse);
            let x_sum = engine.x_sum(points, left);
            engine.store_sums(points, left, slope, x_sum, sums, at);
            while let Some(found) = self.exceptions.pop_if(|found| found.group == group) {
                if let Some(sum) = found.known_sum::<E>(points, left) {
                    sums[at[found.lane] as usize] = sum;
                }
            }
        }
    }
}

impl<R: Copy> Exception<R> {
    /// The pair's sum, unless the chord's formula gives it.
    fn known_sum<E: Engine<Row = R>>(&self, points: &[Point<R>], left: &[u32]) -> Option<Point<R>> {
        let left = left[self.lane] as usize;
        match self.pair {
            Pair::Chord | Pair::Tangent => None,
            Pair::Opposite => Some(E::INFINITY),
            Pair::Left => Some(points[left]),
            Pair::Right => Some(points[left + 1]),
        }
    }
}

/// Decides the unsure lanes of a group exactly and makes their gaps invertible.
#[cold]
#[inline(never)]
fn look_closely<E: Engine>(
    engine: E,
    points: &[Point<E::Row>],
    left: &[u32],
    group: usize,
    unsure: u8,
    gap: &mut E::Wide,
    found: &mut Vec<Exception<E::Row>>,
) {
    engine.enter(LookClosely { points, left, group, unsure, gap, found });
}

struct LookClosely<'a, E: Engine> {
    points: &'a [Point<E::Row>],
    left: &'a [u32],
    group: usize,
    unsure: u8,
    gap: &'a mut E::Wide,
    found: &'a mut Vec<Exception<E::Row>>,
}

impl<E: Engine> Kernel<E> for LookClosely<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self, engine: E) {
        for (lane, &index) in self.left.iter().enumerate() {
            if self.unsure >> lane & 1 == 0 {
                continue;
            }
            let (left, right) = (&self.points[index as usize], &self.points[index as usize + 1]);
            let pair = engine.relate(left, right);
            let (numerator, denominator) = match pair {
                Pair::Chord => continue,
                Pair::Tangent => engine.tangent(left),
                Pair::Opposite | Pair::Left | Pair::Right => (E::ONE, E::ONE),
            };
            engine.set_lane(self.gap, lane, &denominator);
            self.found.push(Exception { group: self.group, lane, pair, numerator });
        }
    }
}

/// One block: the sums of whole segments with at most [`BLOCK`] entries together.
struct Block<'a, E: Engine> {
    source: Source<'a, E::Row>,
    entries: &'a [Entry],
    ends: &'a [u32],
    /// The first entry's index, which `ends` count from zero with.
    start: u32,
    out: &'a mut [Point<E::Row>],
    scratch: &'a mut Scratch<E>,
}

impl<E: Engine> Kernel<E> for Block<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run(self, engine: E) {
        let Block { source, entries, ends, start, out, scratch } = self;
        for (position, (point, &entry)) in scratch.points.iter_mut().zip(entries).enumerate() {
            if let Some(&ahead) = entries.get(position + PREFETCH) {
                engine.prefetch(source.get(ahead));
            }
            *point = engine.signed(source.get(entry), entry.0 & 1 == 1);
        }
        scratch.open.clear();
        let mut from = 0;
        for (segment, (&end, out)) in ends.iter().zip(out.iter_mut()).enumerate() {
            let len = end - start - from;
            match len {
                0 => *out = E::INFINITY,
                1 => *out = engine.settle(&scratch.points[from as usize]),
                _ => scratch.open.push(Open { segment: segment as u32, start: from, len }),
            }
            from += len;
        }
        while !scratch.open.is_empty() {
            scratch.pair_up();
            scratch.add_pairs(engine);
            std::mem::swap(&mut scratch.points, &mut scratch.sums);
            let points = &scratch.points;
            scratch.open.retain(|open| {
                if open.len == 1 {
                    out[open.segment as usize] = engine.settle(&points[open.start as usize]);
                }
                open.len > 1
            });
        }
    }
}
