//! What the sums need of a curve: points as they are stored, and chords through pairs of them.
//!
//! An [`Engine`] is one curve group on one arithmetic: [`super::portable`] has G1 and G2 on blst,
//! one pair at a time; [`super::vector`] has them on AVX-512 IFMA, eight pairs at a time.

use std::ops::{AddAssign, Mul};

use group::Group;
use group::prime::PrimeCurveAffine;

use crate::field::{Fr, Kernel};

/// A curve group of the parameter file.
pub trait Curve: Copy + Send + Sync + 'static {
    /// Affine points.
    type Affine: PrimeCurveAffine<Curve = Self::Projective, Scalar = Fr> + Copy + Send + Sync;
    /// Jacobian points: results.
    type Projective: Group<Scalar = Fr>
        + group::Curve<AffineRepr = Self::Affine>
        + for<'a> AddAssign<&'a Self::Affine>
        + for<'a> Mul<&'a Fr, Output = Self::Projective>
        + From<Self::Affine>
        + Send
        + Sync;
    /// Bytes of an uncompressed point.
    const POINT_BYTES: usize;
}

/// A stored affine point.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Point<R> {
    /// First coordinate, or the engine's mark of infinity.
    pub x: R,
    /// Second coordinate.
    pub y: R,
}

/// How the two points of a pair relate when the chord between them does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Different, finite, not opposite: the chord exists.
    Chord,
    /// The same finite point, not of order two: the tangent takes the chord's place.
    Tangent,
    /// Opposite points, or a point of order two twice: the sum is infinity.
    Opposite,
    /// The left point is infinity: the sum is the right one.
    Right,
    /// The right point is infinity: the sum is the left one.
    Left,
}

/// Sums of [`Engine::WIDTH`] pairs of stored points at a time.
///
/// A group of pairs is named by the indices of its left points, each with its right point after
/// it. Everything is `#[inline(always)]`, so that it is compiled inside [`Engine::enter`].
pub trait Engine: Copy + Send + Sync + 'static {
    /// The group.
    type Curve: Curve;
    /// A stored coordinate.
    type Row: Copy + Send + Sync + 'static;
    /// `WIDTH` coordinates under computation.
    type Wide: Copy + Send;
    /// Pairs handled at once.
    const WIDTH: usize;
    /// Infinity, as stored.
    const INFINITY: Point<Self::Row>;
    /// One, as stored.
    const ONE: Self::Row;

    /// Runs `kernel` with this engine's instructions enabled.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Decodes finite uncompressed points, at most `WIDTH` of them, into as many of `out`.
    ///
    /// Neither the curve equation nor the subgroup is checked.
    fn decode(self, bytes: &[&[u8]], out: &mut [Point<Self::Row>]);

    /// `x_right - x_left`, and the lanes where it may be zero or a point infinite.
    fn gap(self, points: &[Point<Self::Row>], left: &[u32]) -> (Self::Wide, u8);

    /// `y_right - y_left`.
    fn rise(self, points: &[Point<Self::Row>], left: &[u32]) -> Self::Wide;

    /// `x_left + x_right` in the form that [`Engine::store_sums`] takes.
    fn x_sum(self, points: &[Point<Self::Row>], left: &[u32]) -> Self::Wide;

    /// The same from `x_left` and the gap, where that is the true difference.
    fn x_sum_from_gap(
        self,
        points: &[Point<Self::Row>],
        left: &[u32],
        gap: Self::Wide,
    ) -> Self::Wide;

    /// Writes `x = slope^2 - x_sum` and `y = slope (x_left - x) - y_left` to `out[at[lane]]`.
    fn store_sums(
        self,
        points: &[Point<Self::Row>],
        left: &[u32],
        slope: Self::Wide,
        x_sum: Self::Wide,
        out: &mut [Point<Self::Row>],
        at: &[u32],
    );

    /// The product lane by lane.
    fn mul(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;

    /// One in every lane.
    fn one(self) -> Self::Wide;

    /// Replaces one lane by a stored coordinate.
    fn set_lane(self, value: &mut Self::Wide, lane: usize, row: &Self::Row);

    /// The inverse lane by lane; no lane is zero.
    fn invert(self, value: Self::Wide) -> Self::Wide;

    /// How two points relate, exactly.
    fn relate(self, left: &Point<Self::Row>, right: &Point<Self::Row>) -> Pair;

    /// Numerator `3 x^2` and denominator `2 y` of the tangent's slope.
    fn tangent(self, point: &Point<Self::Row>) -> (Self::Row, Self::Row);

    /// Whether a stored point is infinity.
    fn is_infinity(point: &Point<Self::Row>) -> bool;

    /// The point, or its opposite.
    fn signed(self, point: &Point<Self::Row>, negative: bool) -> Point<Self::Row>;

    /// Says that `point` is needed soon.
    fn prefetch(self, point: &Point<Self::Row>);

    /// The point in the form that sums may start from again.
    fn settle(self, point: &Point<Self::Row>) -> Point<Self::Row>;

    /// The point as the rest of the program knows it.
    fn export(self, point: &Point<Self::Row>) -> <Self::Curve as Curve>::Affine;
}
