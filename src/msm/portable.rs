//! The engines on blst's arithmetic: one pair at a time, on any processor.

use std::marker::PhantomData;

use blstrs::{Fp, Fp2, G1Affine, G1Projective, G2Affine, G2Projective};
use ff::Field;

use super::engine::{Curve, Engine, Pair, Point};
use crate::field::Kernel;

/// The first group.
#[derive(Clone, Copy, Debug, Default)]
pub struct G1;
/// The second group.
#[derive(Clone, Copy, Debug, Default)]
pub struct G2;

impl Curve for G1 {
    type Affine = G1Affine;
    type Projective = G1Projective;
    const POINT_BYTES: usize = 96;
}

impl Curve for G2 {
    type Affine = G2Affine;
    type Projective = G2Projective;
    const POINT_BYTES: usize = 192;
}

/// A group whose coordinates blst computes.
pub trait Coordinates: Curve {
    /// The field of the coordinates.
    type Coordinate: Field;
    /// A coordinate from its big-endian bytes, which must be below the modulus.
    fn coordinate(bytes: &[u8]) -> Self::Coordinate;
    /// The affine point with these coordinates; infinity is (0, 0).
    fn affine(x: Self::Coordinate, y: Self::Coordinate) -> Self::Affine;
}

impl Coordinates for G1 {
    type Coordinate = Fp;

    fn coordinate(bytes: &[u8]) -> Fp {
        let bytes: &[u8; 48] = bytes.try_into().expect("a coordinate in Fp has 48 bytes");
        Option::from(Fp::from_bytes_be(bytes)).expect("the range was checked")
    }

    fn affine(x: Fp, y: Fp) -> G1Affine {
        G1Affine::from_raw_unchecked(x, y, false)
    }
}

impl Coordinates for G2 {
    type Coordinate = Fp2;

    fn coordinate(bytes: &[u8]) -> Fp2 {
        let (c1, c0) = bytes.split_at(48);
        Fp2::new(G1::coordinate(c0), G1::coordinate(c1))
    }

    fn affine(x: Fp2, y: Fp2) -> G2Affine {
        G2Affine::from_raw_unchecked(x, y, false)
    }
}

/// The engine of group `C` on blst.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portable<C>(PhantomData<C>);

impl<C: Coordinates> Engine for Portable<C> {
    type Curve = C;
    type Row = C::Coordinate;
    type Wide = C::Coordinate;
    const WIDTH: usize = 1;
    const INFINITY: Point<C::Coordinate> = Point { x: C::Coordinate::ZERO, y: C::Coordinate::ZERO };
    const ONE: C::Coordinate = C::Coordinate::ONE;

    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    fn decode(self, bytes: &[&[u8]], out: &mut [Point<Self::Row>]) {
        for (bytes, point) in bytes.iter().zip(out) {
            let (x, y) = bytes.split_at(C::POINT_BYTES / 2);
            *point = Point { x: C::coordinate(x), y: C::coordinate(y) };
        }
    }

    fn gap(self, points: &[Point<Self::Row>], left: &[u32]) -> (Self::Wide, u8) {
        let (p, q) = pair(points, left);
        let gap = q.x - p.x;
        let unsure = gap.is_zero_vartime() || Self::is_infinity(p) || Self::is_infinity(q);
        (gap, unsure.into())
    }

    fn rise(self, points: &[Point<Self::Row>], left: &[u32]) -> Self::Wide {
        let (p, q) = pair(points, left);
        q.y - p.y
    }

    fn x_sum(self, points: &[Point<Self::Row>], left: &[u32]) -> Self::Wide {
        let (p, q) = pair(points, left);
        p.x + q.x
    }

    fn x_sum_from_gap(
        self,
        points: &[Point<Self::Row>],
        left: &[u32],
        _gap: Self::Wide,
    ) -> Self::Wide {
        self.x_sum(points, left)
    }

    fn store_sums(
        self,
        points: &[Point<Self::Row>],
        left: &[u32],
        slope: Self::Wide,
        x_sum: Self::Wide,
        out: &mut [Point<Self::Row>],
        at: &[u32],
    ) {
        let (p, _) = pair(points, left);
        let x = slope.square() - x_sum;
        let y = slope * (p.x - x) - p.y;
        out[at[0] as usize] = Point { x, y };
    }

    fn mul(self, a: Self::Wide, b: Self::Wide) -> Self::Wide {
        a * b
    }

    fn one(self) -> Self::Wide {
        Self::Wide::ONE
    }

    fn set_lane(self, value: &mut Self::Wide, _lane: usize, row: &Self::Row) {
        *value = *row;
    }

    fn invert(self, value: Self::Wide) -> Self::Wide {
        value.invert().expect("no factor of the product is zero")
    }

    fn relate(self, left: &Point<Self::Row>, right: &Point<Self::Row>) -> Pair {
        if Self::is_infinity(left) {
            Pair::Right
        } else if Self::is_infinity(right) {
            Pair::Left
        } else if left.x != right.x {
            Pair::Chord
        } else if left.y == right.y && !left.y.is_zero_vartime() {
            Pair::Tangent
        } else {
            Pair::Opposite
        }
    }

    fn tangent(self, point: &Point<Self::Row>) -> (Self::Row, Self::Row) {
        let square = point.x.square();
        (square.double() + square, point.y.double())
    }

    fn is_infinity(point: &Point<Self::Row>) -> bool {
        point.x.is_zero_vartime() && point.y.is_zero_vartime()
    }

    fn signed(self, point: &Point<Self::Row>, negative: bool) -> Point<Self::Row> {
        Point { x: point.x, y: if negative { -point.y } else { point.y } }
    }

    fn prefetch(self, _: &Point<Self::Row>) {}

    fn settle(self, point: &Point<Self::Row>) -> Point<Self::Row> {
        *point
    }

    fn export(self, point: &Point<Self::Row>) -> C::Affine {
        C::affine(point.x, point.y)
    }
}

/// The pair that starts at the one index of `left`.
fn pair<'a, R>(points: &'a [Point<R>], left: &[u32]) -> (&'a Point<R>, &'a Point<R>) {
    let index = left[0] as usize;
    (&points[index], &points[index + 1])
}
