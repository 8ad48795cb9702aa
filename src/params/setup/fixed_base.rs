//! Multiples of one fixed base: a table of window multiples and batches of scalars.
//!
//! ```text
//! s = sum_k d_k 2^(w k),  |d_k| <= 2^(w-1)        s G = sum_k sign(d_k) T[k][|d_k|]
//! ```
//!
//! Every scalar is a segment of a [`Tree`]: its multiples are summed by affine additions that
//! share inversions with those of other scalars, on the fastest engine that the processor has.

use blstrs::Scalar as Fr;
use group::{Curve as _, Group as _, UncompressedEncoding};
use rayon::prelude::*;

use crate::msm::engine::{Curve, Engine, Point};
use crate::msm::tree::{Entry, Source, Tree};
use crate::msm::{Arithmetic, Bases, Group, Job};
use crate::pages::filled;

/// Bits of a scalar; `r` is a little below 2^255.
const SCALAR_BITS: usize = 255;

/// The widest windows: tables of 67 MB in G1, twice as much in G2 (50 and 101 without vectors).
/// Wider ones need fewer additions, but lose as much to their cache misses (Xeon, 2 MB of L2 a
/// core, both cores busy, portable engine, 2026-11: 6.2, 6.4 and 6.2 us a G1 point for 16, 18 and
/// 19 bits).
const WINDOW_BITS_MAX: usize = 16;

/// The windows that need the fewest additions for `count` multiples, the table's included.
pub fn window_bits(count: u64) -> usize {
    let additions = |bits: &usize| windows(*bits) as u64 * ((1 << (bits - 1)) + count);
    (2..=WINDOW_BITS_MAX).min_by_key(additions).expect("the range is not empty")
}

/// A base whose multiples are quickly found.
pub trait FixedBase: Send + Sync {
    /// The group's points.
    type Affine;

    /// Writes the uncompressed `scalars[i] G` to `out`; zero gives encoded infinity.
    ///
    /// # Panics
    /// When `out` has not as many bytes.
    fn encode(&self, scalars: &[Fr], out: &mut [u8]);

    /// The table: d 2^(w k) G at k 2^(w-1) + d - 1.
    fn multiples(&self) -> Vec<Self::Affine>;
}

/// The generator of `C` with windows of `window_bits` (2 to 24) bits, on the fastest engine.
///
/// Memory: [`planned_bytes`].
pub fn generator<C: Group>(window_bits: usize) -> Box<dyn FixedBase<Affine = C::Affine>>
where
    C::Affine: UncompressedEncoding,
{
    C::with_engine(Arithmetic::detect(), Build { window_bits })
}

/// Bytes of a table with windows of `window_bits` bits.
pub fn planned_bytes<C: Curve>(window_bits: usize) -> u64 {
    let point_bytes = match Arithmetic::detect() {
        Arithmetic::Portable => C::POINT_BYTES,
        // A coordinate of 48 bytes is stored in 64.
        Arithmetic::Vector(_) => C::POINT_BYTES / 48 * 64,
    };
    ((windows(window_bits) << (window_bits - 1)) * point_bytes) as u64
}

struct Build {
    window_bits: usize,
}

impl<C: Curve> Job<C> for Build
where
    C::Affine: UncompressedEncoding,
{
    type Output = Box<dyn FixedBase<Affine = C::Affine>>;

    fn run<E: Engine<Curve = C>>(self, engine: E) -> Self::Output {
        Box::new(Table::of_generator(engine, self.window_bits))
    }
}

/// Multiples 1 to 2^(w-1) of 2^(w k) G for every window k, as the engine stores them.
struct Table<E: Engine> {
    tree: Tree<E>,
    window_bits: usize,
    multiples: Vec<Point<E::Row>>,
}

impl<E: Engine> Table<E>
where
    <E::Curve as Curve>::Affine: UncompressedEncoding,
{
    fn of_generator(engine: E, window_bits: usize) -> Self {
        assert!((2..=24).contains(&window_bits));
        let mut base = <E::Curve as Curve>::Projective::generator();
        let mut bytes = Vec::new();
        for _ in 0..windows(window_bits) {
            bytes.extend_from_slice(base.to_affine().to_uncompressed().as_ref());
            for _ in 0..window_bits {
                base = base.double();
            }
        }
        let bases = Bases::<E::Curve>::new(&bytes).expect("whole points");
        let bases = bases.decode(engine).expect("the encodings of points");
        let tree = Tree::new(engine);
        let half = 1 << (window_bits - 1);
        let mut multiples = filled(E::INFINITY, bases.len() * half);
        multiples.par_chunks_mut(half).zip(&bases).for_each(|(window, base)| {
            window[0] = *base;
            let mut known = 1;
            while known < half {
                let largest = Entry::new(known - 1, false);
                let pairs = (0..known).flat_map(|index| [Entry::new(index, false), largest]);
                let entries: Vec<Entry> = pairs.collect();
                let ends: Vec<u32> = (1..=known as u32).map(|pair| 2 * pair).collect();
                let source = Source { points: &window[..known], carried: &[] };
                let sums = tree.sum(source, &entries, &ends);
                window[known..2 * known].copy_from_slice(&sums);
                known *= 2;
            }
        });
        Self { tree, window_bits, multiples }
    }
}

impl<E: Engine> FixedBase for Table<E>
where
    <E::Curve as Curve>::Affine: UncompressedEncoding,
{
    type Affine = <E::Curve as Curve>::Affine;

    fn encode(&self, scalars: &[Fr], out: &mut [u8]) {
        let point_bytes = E::Curve::POINT_BYTES;
        assert_eq!(out.len(), scalars.len() * point_bytes, "uncompressed points");
        let half = 1 << (self.window_bits - 1);
        let mut entries = Vec::with_capacity(windows(self.window_bits) * scalars.len());
        let mut ends = Vec::with_capacity(scalars.len());
        for scalar in scalars {
            for (window, digit) in digits(scalar, self.window_bits).enumerate() {
                if let Some(index) = (digit.unsigned_abs() as usize).checked_sub(1) {
                    entries.push(Entry::new(window * half + index, digit < 0));
                }
            }
            ends.push(entries.len() as u32);
        }
        let source = Source { points: &self.multiples, carried: &[] };
        let sums = self.tree.sum(source, &entries, &ends);
        let engine = self.tree.engine();
        out.par_chunks_exact_mut(point_bytes).zip(&sums).for_each(|(out, sum)| {
            out.copy_from_slice(engine.export(sum).to_uncompressed().as_ref());
        });
    }

    fn multiples(&self) -> Vec<Self::Affine> {
        let engine = self.tree.engine();
        self.multiples.par_iter().map(|point| engine.export(point)).collect()
    }
}

/// Windows of a scalar: the top one holds at most w-1 bits, so its digit needs no carry.
const fn windows(window_bits: usize) -> usize {
    SCALAR_BITS / window_bits + 1
}

/// The signed digits of `scalar`, lowest first; |digit| <= 2^(w-1).
fn digits(scalar: &Fr, window_bits: usize) -> impl Iterator<Item = i32> + use<> {
    // Eight more bytes let every window be read as one little-endian u64.
    let mut bytes = [0; 40];
    bytes[..32].copy_from_slice(&scalar.to_bytes_le());
    let half = 1 << (window_bits - 1);
    let mut carry = 0;
    (0..windows(window_bits)).map(move |index| {
        let bit = index * window_bits;
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[bit / 8..bit / 8 + 8]);
        let value = (u64::from_le_bytes(word) >> (bit % 8)) & ((1 << window_bits) - 1);
        let value = value as i32 + carry;
        carry = i32::from(value > half);
        value - (carry << window_bits)
    })
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Projective, G2Projective};
    use ff::Field;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::msm::portable::Portable;
    use crate::msm::{G1, G2};

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
        scalars
    }

    fn check<A>(base: &dyn FixedBase<Affine = A>, window_bits: usize, encoded: fn(&Fr) -> Vec<u8>) {
        let scalars = scalars(window_bits);
        let bytes = encoded(&Fr::ONE).len();
        let mut out = vec![1; scalars.len() * bytes];
        base.encode(&scalars, &mut out);
        for (scalar, point) in scalars.iter().zip(out.chunks(bytes)) {
            assert!(point == encoded(scalar), "w={window_bits}, {scalar:?}");
        }
        assert_eq!(base.multiples().len(), windows(window_bits) << (window_bits - 1));
        base.encode(&[], &mut []);
    }

    fn in_g1(scalar: &Fr) -> Vec<u8> {
        (G1Projective::generator() * scalar).to_affine().to_uncompressed().to_vec()
    }

    fn in_g2(scalar: &Fr) -> Vec<u8> {
        (G2Projective::generator() * scalar).to_affine().to_uncompressed().to_vec()
    }

    #[test]
    fn g1_multiples_equal_those_of_blstrs() {
        for window_bits in [2, 3, 5, 8, 10, 15] {
            check(generator::<G1>(window_bits).as_ref(), window_bits, in_g1);
        }
        check(&Table::of_generator(Portable::<G1>::default(), 7), 7, in_g1);
    }

    #[test]
    fn g2_multiples_equal_those_of_blstrs() {
        for window_bits in [4, 9] {
            check(generator::<G2>(window_bits).as_ref(), window_bits, in_g2);
        }
        check(&Table::of_generator(Portable::<G2>::default(), 6), 6, in_g2);
    }
}
