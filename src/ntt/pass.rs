//! One pass of a transform: all sub-transforms of one digit of the index.
//!
//! A transform of n = H L points whose input index is `L high + low` and whose output index is
//! `k1 + H k2` is two passes with a twist between:
//!
//! ```text
//! y[low][k1] = omega^(low k1) sum_high x[L high + low] omega_H^(high k1)
//! X[k1 + H k2] =              sum_low  y[low][k1]      omega_L^(low k2)
//! ```
//!
//! Eight neighbouring sub-transforms go through one block of scratch, one in each lane, so that
//! all butterflies are free of shuffles and share their twiddles. Within a block the network
//! reduces a polynomial modulo X^m - c to its remainders modulo X^(m/2) -+ sqrt(c): twiddles
//! depend on the block alone, and a shift of the points changes only them.

use ff::Field;
use rayon::prelude::*;

use super::lanes::Lanes;
use crate::field::{Fr, Kernel};
use crate::pages::{Pool, filled};

/// log2 of the block of scratch (20 KiB) whose last stages run in the first-level cache.
const LOG_CACHED: u32 = 6;

/// Twiddles of the sub-transforms of 2^log_n points shifted by `shift`: stage s has 2^s of them,
/// `shift^(n / 2^(s + 1)) root^(bit-reversed block)`.
pub(super) struct Network<L: Lanes> {
    log_n: u32,
    stages: Vec<Vec<L::Factor>>,
}

impl<L: Lanes> Network<L> {
    /// The network of the points `shift root^i`, with `root` of order 2^log_n.
    pub fn new(lanes: L, log_n: u32, root: Fr, shift: Fr) -> Self {
        let stages = (0..log_n).map(|stage| {
            let shift = shift.pow_vartime([1u64 << (log_n - stage - 1)]);
            let step = root.pow_vartime([1u64 << (log_n - stage - 1)]);
            let powers = powers(shift, step, 1 << stage);
            (0..1usize << stage).map(|block| lanes.factor(powers[reverse(block, stage)])).collect()
        });
        Self { log_n, stages: stages.collect() }
    }

    /// Transforms `values`, natural order in, bit-reversed order out.
    #[inline(always)]
    fn run(&self, lanes: L, values: &mut [L::Wide]) {
        let cached = self.log_n.min(LOG_CACHED);
        for stage in 0..self.log_n - cached {
            self.stage(lanes, stage, 0, values);
        }
        for (block, values) in values.chunks_exact_mut(1 << cached).enumerate() {
            for stage in self.log_n - cached..self.log_n {
                let first = block << (stage + cached - self.log_n);
                self.stage(lanes, stage, first, values);
            }
        }
    }

    /// One stage of the blocks from number `first` on, which `values` are.
    #[inline(always)]
    fn stage(&self, lanes: L, stage: u32, first: usize, values: &mut [L::Wide]) {
        let size = 1usize << (self.log_n - stage);
        let factors = &self.stages[stage as usize][first..];
        for (block, factor) in values.chunks_exact_mut(size).zip(factors) {
            let factor = lanes.splat(factor);
            let (low, high) = block.split_at_mut(size / 2);
            for (low, high) in low.iter_mut().zip(high) {
                (*low, *high) = lanes.butterfly(*low, *high, factor);
            }
        }
    }
}

/// What each output of a sub-transform is multiplied by.
pub(super) enum Twist<L: Lanes> {
    /// Output k of sub-transform `low` by `start[low] step[low]^k`.
    Geometric {
        /// Per sub-transform.
        start: Vec<L::Factor>,
        /// Per sub-transform.
        step: Vec<L::Factor>,
    },
    /// Output k of every sub-transform by `factors[k]`.
    Common(Vec<L::Factor>),
    /// Nothing.
    None,
}

/// A pass: its network and its twist.
pub(super) struct Pass<L: Lanes> {
    pub lanes: L,
    pub network: Network<L>,
    pub twist: Twist<L>,
}

impl<L: Lanes> Pass<L> {
    /// Transforms the columns of `values`, rows of `columns` elements, into `out`, which gets a
    /// row of outputs for each column.
    pub fn columns(&self, values: &[Fr], columns: usize, out: &mut [Fr]) {
        let len = 1usize << self.network.log_n;
        assert_eq!(values.len(), len * columns, "a matrix of whole columns");
        assert_eq!(values.len(), out.len(), "room for all outputs");
        self.for_each_block(out, |first, rows, scratch| {
            let input = Input::Columns { values, columns };
            self.lanes.enter(Block { pass: self, first, input, rows, scratch });
        });
    }

    /// Transforms the rows of `values` in place.
    pub fn rows(&self, values: &mut [Fr]) {
        self.for_each_block(values, |first, rows, scratch| {
            self.lanes.enter(Block { pass: self, first, input: Input::Rows, rows, scratch });
        });
    }

    fn for_each_block(
        &self,
        rows: &mut [Fr],
        block: impl Fn(usize, &mut [Fr], &mut Vec<L::Wide>) + Sync,
    ) {
        let len = 1usize << self.network.log_n;
        let pool = Pool::new(Vec::new);
        rows.par_chunks_mut(8 * len).enumerate().for_each(|(index, rows)| {
            pool.with(|scratch| block(8 * index, rows, scratch));
        });
    }
}

/// Where a block of eight sub-transforms reads.
enum Input<'a> {
    /// Columns `first..first + 8` of a matrix.
    Columns { values: &'a [Fr], columns: usize },
    /// The rows that it writes.
    Rows,
}

/// Eight sub-transforms, from number `first` on.
struct Block<'a, L: Lanes> {
    pass: &'a Pass<L>,
    first: usize,
    input: Input<'a>,
    rows: &'a mut [Fr],
    scratch: &'a mut Vec<L::Wide>,
}

impl<L: Lanes> Kernel<L> for Block<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Block { pass, first, input, rows, scratch } = self;
        let log_len = pass.network.log_n;
        let len = 1usize << log_len;
        scratch.resize(len, lanes.zero());
        match input {
            Input::Columns { values, columns } => {
                for (value, row) in scratch.iter_mut().zip(values.chunks_exact(columns)) {
                    *value = lanes.load_neighbours(&row[first..first + 8]);
                }
            }
            Input::Rows => {
                for at in (0..len).step_by(2) {
                    let [even, odd] = lanes.load_rows(rows, len, at);
                    (scratch[at], scratch[at + 1]) = (even, odd);
                }
            }
        }
        pass.network.run(lanes, scratch);
        match &pass.twist {
            Twist::Geometric { start, step } => {
                let mut power = lanes.factors(eight(start, first));
                let step = lanes.factors(eight(step, first));
                for k in (0..len).step_by(2) {
                    let even = lanes.scale(scratch[reverse(k, log_len)], power);
                    power = lanes.scale(power, step);
                    let odd = lanes.scale(scratch[reverse(k + 1, log_len)], power);
                    power = lanes.scale(power, step);
                    lanes.store_rows([even, odd], rows, len, k);
                }
            }
            Twist::Common(factors) => {
                for k in (0..len).step_by(2) {
                    let (low, high) = (lanes.splat(&factors[k]), lanes.splat(&factors[k + 1]));
                    let even = lanes.scale(scratch[reverse(k, log_len)], low);
                    let odd = lanes.scale(scratch[reverse(k + 1, log_len)], high);
                    let (even, odd) = (lanes.canonical(even), lanes.canonical(odd));
                    lanes.store_rows([even, odd], rows, len, k);
                }
            }
            Twist::None => {
                for k in (0..len).step_by(2) {
                    let even = lanes.canonical(scratch[reverse(k, log_len)]);
                    let odd = lanes.canonical(scratch[reverse(k + 1, log_len)]);
                    lanes.store_rows([even, odd], rows, len, k);
                }
            }
        }
    }
}

/// Eight table entries from `first` on.
#[inline(always)]
fn eight<T>(table: &[T], first: usize) -> &[T; 8] {
    table[first..first + 8].try_into().expect("a slice of eight")
}

/// `index` with its `bits` low bits reversed.
#[inline(always)]
pub(super) const fn reverse(index: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - bits) }
}

/// `start, start ratio, start ratio^2, ...`, `len` of them.
pub(super) fn powers(start: Fr, ratio: Fr, len: usize) -> Vec<Fr> {
    std::iter::successors(Some(start), |power| Some(power * ratio)).take(len).collect()
}

/// From `low (n / 2^log_low) + high` to `low + 2^log_low high`.
pub(super) fn transpose(values: &[Fr], log_low: u32) -> Vec<Fr> {
    /// Rows of the result that are filled together: 8 neighbours of a row of the input.
    const TILE: usize = 8;
    let lows = 1usize << log_low;
    let highs = values.len() / lows;
    let mut out = filled(Fr::ZERO, values.len());
    out.par_chunks_mut(TILE * lows).enumerate().for_each(|(tile, rows)| {
        let first = tile * TILE;
        for low in 0..lows {
            let line = &values[low * highs + first..][..rows.len() / lows];
            for (high, value) in line.iter().enumerate() {
                rows[high * lows + low] = *value;
            }
        }
    });
    out
}
