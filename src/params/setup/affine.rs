//! Affine points and their batched addition: one field inversion for a whole batch of sums.
//!
//! ```text
//! lambda = (y2 - y1) / (x2 - x1),  x3 = lambda^2 - x1 - x2,  y3 = lambda (x1 - x3) - y1
//! ```
//!
//! The denominators of a batch are inverted together (Montgomery's trick), which leaves five
//! multiplications and one squaring an addition. Doubling, opposite points and infinity are told
//! apart pair by pair.

use blst::{blst_fp, blst_fp2};
use blstrs::{Fp, Fp2, G1Affine, G2Affine};
use ff::Field;
use group::prime::PrimeCurveAffine;

use crate::params::layout::{G1_BYTES, G2_BYTES};

/// A field that coordinates are taken from: `Fp` for G1, `Fp2` for G2.
pub trait Coordinate: Field {
    /// Whether the element is zero, in variable time (nothing here is secret).
    fn vanishes(&self) -> bool;
}

impl Coordinate for Fp {
    #[inline]
    fn vanishes(&self) -> bool {
        limbs_vanish(&blst_fp::from(*self).l)
    }
}

impl Coordinate for Fp2 {
    #[inline]
    fn vanishes(&self) -> bool {
        blst_fp2::from(*self).fp.iter().all(|part| limbs_vanish(&part.l))
    }
}

/// Whether all limbs are zero. Comparing arrays calls `memcmp`, which cost 7 % of the setup.
#[inline]
fn limbs_vanish(limbs: &[u64; 6]) -> bool {
    limbs.iter().fold(0, |or, limb| or | limb) == 0
}

/// An affine point; (0, 0), which is on neither curve, stands for infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point<F> {
    /// First coordinate.
    pub x: F,
    /// Second coordinate.
    pub y: F,
}

impl<F: Coordinate> Point<F> {
    /// The neutral element.
    pub const INFINITY: Self = Self { x: F::ZERO, y: F::ZERO };

    /// Whether this is the neutral element.
    pub fn is_infinity(&self) -> bool {
        self.x.vanishes() && self.y.vanishes()
    }
}

/// One of the two groups: its points as `blstrs` has them, and in the parameter file.
pub trait Curve: 'static {
    /// Field of the coordinates.
    type Coordinate: Coordinate;
    /// The group's type in `blstrs`.
    type Affine: PrimeCurveAffine;
    /// Bytes of an uncompressed point.
    const BYTES: usize;

    /// Coordinates of `point`.
    fn from_affine(point: &Self::Affine) -> Point<Self::Coordinate>;
    /// Writes `point` uncompressed, big-endian, to `out` of [`Self::BYTES`] bytes.
    fn encode(point: &Point<Self::Coordinate>, out: &mut [u8]);
}

/// The group over `Fp`.
#[derive(Debug)]
pub struct G1;

impl Curve for G1 {
    type Coordinate = Fp;
    type Affine = G1Affine;
    const BYTES: usize = G1_BYTES;

    fn from_affine(point: &G1Affine) -> Point<Fp> {
        Point { x: point.x(), y: point.y() }
    }

    fn encode(point: &Point<Fp>, out: &mut [u8]) {
        out.copy_from_slice(
            &G1Affine::from_raw_unchecked(point.x, point.y, false).to_uncompressed(),
        );
    }
}

/// The group over `Fp2`.
#[derive(Debug)]
pub struct G2;

impl Curve for G2 {
    type Coordinate = Fp2;
    type Affine = G2Affine;
    const BYTES: usize = G2_BYTES;

    fn from_affine(point: &G2Affine) -> Point<Fp2> {
        Point { x: point.x(), y: point.y() }
    }

    fn encode(point: &Point<Fp2>, out: &mut [u8]) {
        out.copy_from_slice(
            &G2Affine::from_raw_unchecked(point.x, point.y, false).to_uncompressed(),
        );
    }
}

/// Adds batches of points; owns the scratch memory, two field elements a pair.
#[derive(Debug)]
pub struct Adder<F> {
    denominators: Vec<F>,
    prefixes: Vec<F>,
}

impl<F: Coordinate> Adder<F> {
    /// An adder for batches of up to `capacity` pairs without further allocation.
    pub fn new(capacity: usize) -> Self {
        Self { denominators: Vec::with_capacity(capacity), prefixes: Vec::with_capacity(capacity) }
    }

    /// `sums[i] += addends[i]` for all i; the slices have equal lengths.
    pub fn add(&mut self, sums: &mut [Point<F>], addends: &[Point<F>]) {
        assert_eq!(sums.len(), addends.len());
        self.denominators.clear();
        self.prefixes.clear();
        let mut product = F::ONE;
        for (sum, addend) in sums.iter_mut().zip(addends) {
            let denominator = denominator(sum, addend);
            self.prefixes.push(product);
            if !denominator.vanishes() {
                product *= &denominator;
            }
            self.denominators.push(denominator);
        }
        let inverse: Option<F> = product.invert().into();
        let mut inverse = inverse.expect("a product of non-zero factors");
        let pairs = sums.iter_mut().zip(addends).zip(&self.denominators).zip(&mut self.prefixes);
        for (((sum, addend), denominator), prefix) in pairs.rev() {
            if !denominator.vanishes() {
                *prefix *= &inverse;
                inverse *= denominator;
                finish(sum, addend, prefix);
            }
        }
    }
}

/// The slope's denominator for `sum + addend`, or zero when the sum needs none: then it has
/// already been stored in `sum`.
fn denominator<F: Coordinate>(sum: &mut Point<F>, addend: &Point<F>) -> F {
    if addend.is_infinity() {
        return F::ZERO;
    }
    if sum.is_infinity() {
        *sum = *addend;
        return F::ZERO;
    }
    let difference = addend.x - sum.x;
    if !difference.vanishes() {
        return difference;
    }
    if (addend.y - sum.y).vanishes() {
        // Both groups have odd order, so y is not zero and the tangent is not vertical.
        return sum.y.double();
    }
    *sum = Point::INFINITY;
    F::ZERO
}

/// Adds `addend` to `sum`, given the inverse of the slope's denominator.
///
/// Written with assigning operators: copying a fresh product costs a failed store-to-load
/// forwarding each time, because blst stores words and the copy loads vectors.
fn finish<F: Coordinate>(sum: &mut Point<F>, addend: &Point<F>, inverse: &F) {
    let mut slope = addend.y;
    slope -= &sum.y;
    if slope.vanishes() && addend.x == sum.x {
        slope = sum.x.square();
        slope = slope.double() + slope;
    }
    slope *= inverse;
    let mut x = slope.square();
    x -= &sum.x;
    x -= &addend.x;
    let mut y = sum.x;
    y -= &x;
    y *= &slope;
    y -= &sum.y;
    *sum = Point { x, y };
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Projective, G2Projective, Scalar};
    use group::{Curve as _, Group};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// Every ordered pair of {O, P, -P, Q, 2P}, added in one batch, against `blstrs`.
    fn adds_all_pairs<C: Curve>() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let p = <C::Affine as PrimeCurveAffine>::Curve::random(&mut rng);
        let q = <C::Affine as PrimeCurveAffine>::Curve::random(&mut rng);
        let points = [Group::identity(), p, -p, q, p + p];
        let encode = |point: &Point<C::Coordinate>| {
            let mut bytes = vec![0; C::BYTES];
            C::encode(point, &mut bytes);
            bytes
        };
        let pairs: Vec<_> =
            points.iter().flat_map(|&l| points.iter().map(move |&r| (l, r))).collect();
        let affine =
            |point: &<C::Affine as PrimeCurveAffine>::Curve| C::from_affine(&point.to_affine());
        let mut sums: Vec<_> = pairs.iter().map(|(left, _)| affine(left)).collect();
        let addends: Vec<_> = pairs.iter().map(|(_, right)| affine(right)).collect();
        Adder::new(4).add(&mut sums, &addends);
        for (sum, &(left, right)) in sums.iter().zip(&pairs) {
            assert_eq!(encode(sum), encode(&affine(&(left + right))));
        }
    }

    #[test]
    fn every_kind_of_pair_adds_as_in_blstrs() {
        adds_all_pairs::<G1>();
        adds_all_pairs::<G2>();
    }

    #[test]
    fn infinity_and_points_encode_as_in_blstrs() {
        let mut bytes = [0; G1_BYTES];
        G1::encode(&Point::INFINITY, &mut bytes);
        assert_eq!(bytes, G1Affine::identity().to_uncompressed());
        let point = (G2Projective::generator() * Scalar::from(77)).to_affine();
        let mut bytes = [0; G2_BYTES];
        G2::encode(&G2::from_affine(&point), &mut bytes);
        assert_eq!(bytes, point.to_uncompressed());
        assert!(G1::from_affine(&G1Projective::identity().to_affine()).is_infinity());
    }
}
