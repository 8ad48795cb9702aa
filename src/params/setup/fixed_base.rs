//! Multiples of one fixed base: a table of window multiples and batches of scalars.
//!
//! ```text
//! s = sum_k d_k 2^(w k),  |d_k| <= 2^(w-1)        s G = sum_k sign(d_k) T[k][|d_k|]
//! ```
//!
//! A batch goes through the table window by window, so that each step is one batched affine
//! addition ([`Adder`]) and looks up one slice of the table.

use blstrs::Scalar as Fr;
use group::prime::PrimeCurveAffine;
use group::{Curve as _, Group};
use rayon::prelude::*;

use super::affine::{Adder, Curve, Point};

/// Scalars that one batch multiplies: shares an inversion, and its scratch stays in L2 (0.3 MB
/// in G1, 0.6 MB in G2).
pub const BATCH: usize = 1024;

/// Bits of a scalar; `r` is a little below 2^255.
const SCALAR_BITS: usize = 255;

/// Multiples 1 to 2^(w-1) of 2^(w k) G for every window k.
pub struct Table<C: Curve> {
    window_bits: usize,
    multiples: Vec<Point<C::Coordinate>>,
}

/// The widest windows: tables of 50 MB in G1, 101 MB in G2. Wider ones need fewer additions, but
/// lose as much to their cache misses (Xeon, 2 MB of L2 a core, both cores busy, 2026-11: 6.2, 6.4
/// and 6.2 us a G1 point for 16, 18 and 19 bits, when a product in Fp takes 40 ns).
const WINDOW_BITS_MAX: usize = 16;

/// The windows that need the fewest additions for `count` multiples, the table's included.
pub fn window_bits(count: usize) -> usize {
    let additions = |bits: &usize| windows(*bits) * ((1 << (bits - 1)) + count);
    (2..=WINDOW_BITS_MAX).min_by_key(additions).expect("the range is not empty")
}

impl<C: Curve> Table<C> {
    /// Builds the table of the group's generator with windows of `window_bits` (2 to 24) bits.
    ///
    /// Memory: (255 / w + 1) 2^(w-1) points.
    pub fn of_generator(window_bits: usize) -> Self {
        assert!((2..=24).contains(&window_bits));
        let half = 1 << (window_bits - 1);
        let mut multiples = vec![Point::INFINITY; windows(window_bits) * half];
        let mut base = <C::Affine as PrimeCurveAffine>::Curve::generator();
        for window in multiples.chunks_mut(half) {
            window[0] = C::from_affine(&base.to_affine());
            for _ in 0..window_bits {
                base = base.double();
            }
        }
        multiples.par_chunks_mut(half).for_each(|window| {
            let mut adder = Adder::new(half / 2);
            let mut known = 1;
            while known < half {
                let (from, to) = window.split_at_mut(known);
                let step = vec![from[known - 1]; known];
                to[..known].copy_from_slice(from);
                adder.add(&mut to[..known], &step);
                known *= 2;
            }
        });
        Self { window_bits, multiples }
    }

    /// Bytes of a table with windows of `window_bits` bits.
    pub const fn planned_bytes(window_bits: usize) -> usize {
        (windows(window_bits) << (window_bits - 1)) * size_of::<Point<C::Coordinate>>()
    }

    /// `scratch.points[i] = scalars[i] G`; at most [`BATCH`] scalars.
    pub fn multiply<'s>(
        &self,
        scalars: &[Fr],
        scratch: &'s mut Scratch<C>,
    ) -> &'s [Point<C::Coordinate>] {
        assert!(scalars.len() <= BATCH);
        let half = 1 << (self.window_bits - 1);
        let Scratch { digits, addends, points, adder } = scratch;
        points.clear();
        points.resize(scalars.len(), Point::INFINITY);
        digits.clear();
        digits.resize(windows(self.window_bits) * scalars.len(), 0);
        for (index, scalar) in scalars.iter().enumerate() {
            let column = digits[index..].iter_mut().step_by(scalars.len());
            recode(scalar, self.window_bits, column);
        }
        let steps = digits.chunks_exact(scalars.len().max(1)).zip(self.multiples.chunks(half));
        for (digits, window) in steps {
            addends.clear();
            addends.extend(digits.iter().map(|&digit| {
                let Some(index) = (digit.unsigned_abs() as usize).checked_sub(1) else {
                    return Point::INFINITY;
                };
                let Point { x, y } = window[index];
                Point { x, y: if digit < 0 { -y } else { y } }
            }));
            adder.add(points, addends);
        }
        points
    }
}

/// Memory that batches of one thread reuse.
pub struct Scratch<C: Curve> {
    digits: Vec<i32>,
    addends: Vec<Point<C::Coordinate>>,
    points: Vec<Point<C::Coordinate>>,
    adder: Adder<C::Coordinate>,
}

impl<C: Curve> Default for Scratch<C> {
    /// Scratch for batches of up to [`BATCH`] scalars.
    fn default() -> Self {
        Self {
            digits: Vec::new(),
            addends: Vec::with_capacity(BATCH),
            points: Vec::with_capacity(BATCH),
            adder: Adder::new(BATCH),
        }
    }
}

/// Windows of a scalar: the top one holds at most w-1 bits, so its digit needs no carry.
const fn windows(window_bits: usize) -> usize {
    SCALAR_BITS / window_bits + 1
}

/// Writes the signed digits of `scalar` to `digits`, lowest first; |digit| <= 2^(w-1).
fn recode<'d>(scalar: &Fr, window_bits: usize, digits: impl Iterator<Item = &'d mut i32>) {
    // Eight more bytes let every window be read as one little-endian u64.
    let mut bytes = [0; 40];
    bytes[..32].copy_from_slice(&scalar.to_bytes_le());
    let half = 1 << (window_bits - 1);
    let mut carry = 0;
    for (index, digit) in digits.enumerate() {
        let bit = index * window_bits;
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[bit / 8..bit / 8 + 8]);
        let value = (u64::from_le_bytes(word) >> (bit % 8)) & ((1 << window_bits) - 1);
        let value = value as i32 + carry;
        carry = i32::from(value > half);
        *digit = value - (carry << window_bits);
    }
    debug_assert_eq!(carry, 0, "the top window's digit is at most 2^(w-1)");
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Projective, G2Projective};
    use ff::Field;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::super::affine::{G1, G2};
    use super::*;

    /// Scalars at the edges of the windows, and random ones.
    ///
    /// `r = d 2^(w k) + rest` with the top digit d rounded makes the last addition of
    /// `2 d 2^(w k) - r` a doubling: both operands are the same point.
    fn scalars(window_bits: usize) -> Vec<Fr> {
        let mut rng = ChaCha20Rng::seed_from_u64(window_bits as u64);
        let top = (windows(window_bits) - 1) * window_bits;
        let power = |bits: usize| Fr::from(2).pow_vartime([bits as u64]);
        let mut scalars = vec![Fr::ZERO, Fr::ONE, -Fr::ONE, power(top), -power(top)];
        let top_digits = 1_u64 << (SCALAR_BITS - top);
        scalars
            .extend((0..=top_digits.min(64)).map(|digit| (power(top) * Fr::from(digit)).double()));
        for bit in 0..SCALAR_BITS {
            scalars.extend([power(bit), power(bit) - Fr::ONE, power(bit) + Fr::ONE]);
        }
        scalars.extend((0..200).map(|_| Fr::random(&mut rng)));
        scalars.truncate(BATCH);
        scalars
    }

    #[test]
    fn g1_multiples_equal_those_of_blstrs() {
        for window_bits in [2, 3, 5, 8, 10, 15] {
            let table = Table::<G1>::of_generator(window_bits);
            let scalars = scalars(window_bits);
            let mut scratch = Scratch::default();
            let points = table.multiply(&scalars, &mut scratch);
            for (scalar, point) in scalars.iter().zip(points) {
                let expected = (G1Projective::generator() * scalar).to_affine();
                assert_eq!(*point, G1::from_affine(&expected), "w={window_bits}, {scalar:?}");
            }
        }
    }

    #[test]
    fn g2_multiples_equal_those_of_blstrs() {
        for window_bits in [4, 9] {
            let table = Table::<G2>::of_generator(window_bits);
            let scalars = scalars(window_bits);
            let mut scratch = Scratch::default();
            let points = table.multiply(&scalars, &mut scratch);
            for (scalar, point) in scalars.iter().zip(points) {
                let expected = (G2Projective::generator() * scalar).to_affine();
                assert_eq!(*point, G2::from_affine(&expected), "w={window_bits}, {scalar:?}");
            }
        }
    }

    #[test]
    fn no_scalars_give_no_points() {
        let table = Table::<G1>::of_generator(4);
        assert!(table.multiply(&[], &mut Scratch::default()).is_empty());
    }
}
