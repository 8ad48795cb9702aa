//! The engines on AVX-512 IFMA: eight pairs at a time.
//!
//! Stored coordinates are Montgomery with R = 2^416 ([`crate::field::ifma`]). An x is normalised
//! and below p (1 + 2^-13), so that two x's are congruent only if they differ by 0 or p. A y is
//! raw: [`Engine::settle`] makes it canonical, and every sum after that widens its range by one
//! product, which is below 1.01 p in Fp and 4.01 p in Fp2. From (-p, p), [`MAX_DEPTH`] nested sums
//! lead to (-30 p, 30 p) at most and differences within 51 p, inside the 64 p that
//! [`Engine::rise`] adds. Infinity is an x whose top limb no coordinate can have.

use std::array;

use super::engine::{Curve, Engine, Pair, Point};
use super::tree::MAX_DEPTH;
use super::vector_field::VectorField;
use crate::field::Kernel;
use crate::field::ifma::Ifma;

const _: () = assert!(MAX_DEPTH <= 12, "twelve nested sums keep y within 30 p");
/// The engine of the group with coordinates in `F` on IFMA.
#[derive(Clone, Copy, Debug)]
pub struct Vector<F> {
    ifma: Ifma,
    field: std::marker::PhantomData<F>,
}

impl<F> Vector<F> {
    /// An engine, given the proof that the instructions are there.
    pub const fn new(ifma: Ifma) -> Self {
        Self { ifma, field: std::marker::PhantomData }
    }
}

impl<F: VectorField> Engine for Vector<F> {
    type Curve = F::Curve;
    type Row = F::Row;
    type Wide = F::Wide;
    const WIDTH: usize = 8;
    const INFINITY: Point<F::Row> = Point { x: F::MARKED, y: F::ZERO };
    const ONE: F::Row = F::ONE;

    #[inline]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.ifma.enter(Inside { engine: self, kernel })
    }

    #[inline(always)]
    fn decode(self, bytes: &[&[u8]], out: &mut [Point<F::Row>]) {
        let Some(&last) = bytes.last() else { return };
        let lanes: [&[u8]; 8] = array::from_fn(|lane| *bytes.get(lane).unwrap_or(&last));
        let half = F::Curve::POINT_BYTES / 2;
        let x = F::decode(self.ifma, lanes.map(|bytes| &bytes[..half]));
        let y = F::decode(self.ifma, lanes.map(|bytes| &bytes[half..]));
        for lane in 0..bytes.len() {
            out[lane] = Point { x: x[lane], y: y[lane] };
        }
    }

    #[inline(always)]
    fn gap(self, points: &[Point<F::Row>], left: &[u32]) -> (F::Wide, u8) {
        let (p, q) = lanes(points, left);
        let gap = F::load_difference(self.ifma, xs(p), xs(q));
        (F::normalise::<2>(self.ifma, gap), F::unsure(self.ifma, gap))
    }

    #[inline(always)]
    fn rise(self, points: &[Point<F::Row>], left: &[u32]) -> F::Wide {
        let (p, q) = lanes(points, left);
        let rise = F::load_difference(self.ifma, ys(p), ys(q));
        F::normalise::<64>(self.ifma, rise)
    }

    #[inline(always)]
    fn x_sum(self, points: &[Point<F::Row>], left: &[u32]) -> F::Wide {
        let (p, q) = lanes(points, left);
        let p = F::load(self.ifma, xs(p));
        let sum = F::add(self.ifma, p, F::load(self.ifma, xs(q)));
        F::normalise::<2>(self.ifma, sum)
    }

    /// A gap has 2 p added, and so have the sums: x_left + x_right + 2 p = gap + 2 x_left.
    #[inline(always)]
    fn x_sum_from_gap(self, points: &[Point<F::Row>], left: &[u32], gap: F::Wide) -> F::Wide {
        let (p, _) = lanes(points, left);
        let p = F::load(self.ifma, xs(p));
        F::add(self.ifma, gap, F::add(self.ifma, p, p))
    }

    #[inline(always)]
    fn store_sums(
        self,
        points: &[Point<F::Row>],
        left: &[u32],
        slope: F::Wide,
        x_sum: F::Wide,
        out: &mut [Point<F::Row>],
        at: &[u32],
    ) {
        let ifma = self.ifma;
        let (p, _) = lanes(points, left);
        let square = F::mul(ifma, slope, slope);
        let x = F::normalise::<5>(ifma, F::sub(ifma, square, x_sum));
        let x = F::reduce(ifma, x);
        let run = F::sub(ifma, F::load(ifma, xs(p)), x);
        let product = F::mul(ifma, slope, F::normalise::<2>(ifma, run));
        let y = F::sub(ifma, product, F::load(ifma, ys(p)));
        let (x, y) = (F::rows(ifma, x), F::rows(ifma, y));
        for lane in 0..8 {
            let point = &mut out[at[lane] as usize];
            point.x = x[lane];
            point.y = y[lane];
        }
    }

    #[inline(always)]
    fn mul(self, a: F::Wide, b: F::Wide) -> F::Wide {
        F::mul(self.ifma, a, b)
    }

    #[inline(always)]
    fn one(self) -> F::Wide {
        F::one(self.ifma)
    }

    #[inline(always)]
    fn set_lane(self, value: &mut F::Wide, lane: usize, row: &F::Row) {
        F::set_lane(self.ifma, value, lane, row);
    }

    #[inline(always)]
    fn invert(self, value: F::Wide) -> F::Wide {
        F::invert(self.ifma, value)
    }

    fn relate(self, left: &Point<F::Row>, right: &Point<F::Row>) -> Pair {
        if Self::is_infinity(left) {
            Pair::Right
        } else if Self::is_infinity(right) {
            Pair::Left
        } else if !F::same(&F::canonical(&left.x), &F::canonical(&right.x)) {
            Pair::Chord
        } else {
            let (left, right) = (F::canonical(&left.y), F::canonical(&right.y));
            let twins = F::same(&left, &right) && !F::same(&left, &F::ZERO);
            if twins { Pair::Tangent } else { Pair::Opposite }
        }
    }

    #[inline(always)]
    fn tangent(self, point: &Point<F::Row>) -> (F::Row, F::Row) {
        let ifma = self.ifma;
        let x = F::load(ifma, [&point.x; 8]);
        let square = F::mul(ifma, x, x);
        let numerator = F::add(ifma, square, F::add(ifma, square, square));
        let y = F::load(ifma, [&point.y; 8]);
        let denominator = F::normalise::<64>(ifma, F::add(ifma, y, y));
        let numerator = F::rows(ifma, F::normalise::<0>(ifma, numerator));
        (numerator[0], F::rows(ifma, denominator)[0])
    }

    #[inline(always)]
    fn is_infinity(point: &Point<F::Row>) -> bool {
        F::is_marked(&point.x)
    }

    #[inline(always)]
    fn signed(self, point: &Point<F::Row>, negative: bool) -> Point<F::Row> {
        Point { x: point.x, y: F::signed(&point.y, negative) }
    }

    #[inline(always)]
    fn prefetch(self, point: &Point<F::Row>) {
        self.ifma.prefetch(point);
    }

    #[inline(always)]
    fn settle(self, point: &Point<F::Row>) -> Point<F::Row> {
        Point { x: point.x, y: F::canonical(&point.y) }
    }

    fn export(self, point: &Point<F::Row>) -> <F::Curve as Curve>::Affine {
        use group::prime::PrimeCurveAffine;
        if Self::is_infinity(point) {
            return <F::Curve as Curve>::Affine::identity();
        }
        self.enter(Export { x: F::canonical(&point.x), y: F::canonical(&point.y) })
    }
}

/// A kernel of [`Vector`] as one of [`Ifma`].
struct Inside<E, K> {
    engine: E,
    kernel: K,
}

impl<E, K: Kernel<E>> Kernel<Ifma> for Inside<E, K> {
    type Output = K::Output;
    #[inline(always)]
    fn run(self, _: Ifma) -> K::Output {
        self.kernel.run(self.engine)
    }
}

/// One point to affine coordinates of blst.
struct Export<R> {
    x: R,
    y: R,
}

impl<F: VectorField> Kernel<Vector<F>> for Export<F::Row> {
    type Output = <F::Curve as Curve>::Affine;
    #[inline(always)]
    fn run(self, engine: Vector<F>) -> Self::Output {
        F::affine(engine.ifma, &self.x, &self.y)
    }
}

/// The left and right points of eight pairs; short groups repeat their last pair.
#[inline(always)]
fn lanes<'a, R>(points: &'a [Point<R>], left: &[u32]) -> ([&'a Point<R>; 8], [&'a Point<R>; 8]) {
    let left: &[u32; 8] = left.try_into().expect("groups are padded to eight pairs");
    let (mut p, mut q) = ([&points[0]; 8], [&points[0]; 8]);
    for lane in 0..8 {
        let pair = &points[left[lane] as usize..][..2];
        (p[lane], q[lane]) = (&pair[0], &pair[1]);
    }
    (p, q)
}

/// Their x's.
#[inline(always)]
fn xs<R>(points: [&Point<R>; 8]) -> [&R; 8] {
    let mut xs = [&points[0].x; 8];
    for lane in 1..8 {
        xs[lane] = &points[lane].x;
    }
    xs
}

/// Their y's.
#[inline(always)]
fn ys<R>(points: [&Point<R>; 8]) -> [&R; 8] {
    let mut ys = [&points[0].y; 8];
    for lane in 1..8 {
        ys[lane] = &points[lane].y;
    }
    ys
}
