//! The engines on AVX-512 IFMA: eight pairs at a time.
//!
//! Stored coordinates are Montgomery with R = 2^416 ([`crate::field::ifma`]). An x is normalised
//! and below p (1 + 2^-13), so that two x's are congruent only if they differ by 0 or p. A y is
//! raw: [`Engine::settle`] makes it canonical, and every sum after that widens its range by one
//! product, which is below 1.01 p in Fp and 4.01 p in Fp2. From (-p, p), [`MAX_DEPTH`] nested sums
//! lead to (-30 p, 30 p) at most and differences within 51 p, inside the 64 p that
//! [`Engine::rise`] adds. Infinity is an x whose top limb no coordinate can have.

use std::array;

use blstrs::{Fp, Fp2, G1Affine, G2Affine};

use super::engine::{Curve, Engine, Pair, Point};
use super::portable::{G1, G2};
use crate::field::ifma::{Fp8, Ifma, Row};
use crate::field::{FP_LIMBS, Kernel, batch_invert};

/// Sums that may be nested before the result is settled.
pub const MAX_DEPTH: u32 = 12;
/// The top limb of infinity's x; coordinates stay below 2^18 there.
const MARK: u64 = 1 << 40;
/// Top limbs of differences beyond this come from a mark.
const MARK_SEEN: u64 = 1 << 39;

/// A field of coordinates, computed eight at a time.
pub trait VectorField: Copy + Send + Sync + 'static {
    /// A stored element.
    type Row: Copy + Send + Sync + 'static;
    /// Eight elements.
    type Wide: Copy + Send;
    /// The group with these coordinates.
    type Curve: Curve;
    /// The x of infinity.
    const MARKED: Self::Row;
    /// Zero.
    const ZERO: Self::Row;
    /// One.
    const ONE: Self::Row;

    /// See the methods of the same names of [`Ifma`].
    fn load(ifma: Ifma, rows: [&Self::Row; 8]) -> Self::Wide;
    /// As [`Ifma::load_difference`].
    fn load_difference(ifma: Ifma, left: [&Self::Row; 8], right: [&Self::Row; 8]) -> Self::Wide;
    /// As [`Ifma::rows`].
    fn rows(ifma: Ifma, value: Self::Wide) -> [Self::Row; 8];
    /// Raw sum.
    fn add(ifma: Ifma, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// Raw difference.
    fn sub(ifma: Ifma, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// As [`Ifma::normalise`].
    fn normalise<const MULTIPLE: u64>(ifma: Ifma, value: Self::Wide) -> Self::Wide;
    /// As [`Ifma::reduce`].
    fn reduce(ifma: Ifma, value: Self::Wide) -> Self::Wide;
    /// As [`Ifma::mul`].
    fn mul(ifma: Ifma, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// One.
    fn one(ifma: Ifma) -> Self::Wide;
    /// As [`Ifma::set_lane`].
    fn set_lane(ifma: Ifma, value: &mut Self::Wide, lane: usize, row: &Self::Row);
    /// Lanes that may be zero modulo p or hold a mark.
    fn unsure(ifma: Ifma, gap: Self::Wide) -> u8;
    /// The inverses; no lane is zero.
    fn invert(ifma: Ifma, value: Self::Wide) -> Self::Wide;
    /// The canonical form of a stored element.
    fn canonical(row: &Self::Row) -> Self::Row;
    /// Whether two canonical elements are the same.
    fn same(a: &Self::Row, b: &Self::Row) -> bool;
    /// Whether the element is [`VectorField::MARKED`].
    fn is_marked(row: &Self::Row) -> bool;
    /// The element, or with its sign changed: raw.
    fn signed(row: &Self::Row, negative: bool) -> Self::Row;
    /// Montgomery form of big-endian coordinates.
    fn decode(ifma: Ifma, bytes: [&[u8]; 8]) -> [Self::Row; 8];
    /// The affine point of canonical coordinates.
    fn affine(ifma: Ifma, x: &Self::Row, y: &Self::Row) -> <Self::Curve as Curve>::Affine;
}

impl VectorField for Fp {
    type Row = Row;
    type Wide = Fp8;
    type Curve = G1;
    const MARKED: Row = {
        let mut limbs = [0; FP_LIMBS];
        limbs[FP_LIMBS - 1] = MARK;
        Row(limbs)
    };
    const ZERO: Row = Row::ZERO;
    const ONE: Row = Row::ONE;

    #[inline(always)]
    fn load(ifma: Ifma, rows: [&Row; 8]) -> Fp8 {
        ifma.load(rows)
    }
    #[inline(always)]
    fn load_difference(ifma: Ifma, left: [&Row; 8], right: [&Row; 8]) -> Fp8 {
        ifma.load_difference(left, right)
    }
    #[inline(always)]
    fn rows(ifma: Ifma, value: Fp8) -> [Row; 8] {
        ifma.rows(value)
    }
    #[inline(always)]
    fn add(ifma: Ifma, a: Fp8, b: Fp8) -> Fp8 {
        ifma.add(a, b)
    }
    #[inline(always)]
    fn sub(ifma: Ifma, a: Fp8, b: Fp8) -> Fp8 {
        ifma.sub(a, b)
    }
    #[inline(always)]
    fn normalise<const MULTIPLE: u64>(ifma: Ifma, value: Fp8) -> Fp8 {
        ifma.normalise::<MULTIPLE>(value)
    }
    #[inline(always)]
    fn reduce(ifma: Ifma, value: Fp8) -> Fp8 {
        ifma.reduce(value)
    }
    #[inline(always)]
    fn mul(ifma: Ifma, a: Fp8, b: Fp8) -> Fp8 {
        ifma.mul(a, b)
    }
    #[inline(always)]
    fn one(ifma: Ifma) -> Fp8 {
        ifma.one()
    }
    #[inline(always)]
    fn set_lane(ifma: Ifma, value: &mut Fp8, lane: usize, row: &Row) {
        ifma.set_lane(value, lane, row);
    }
    #[inline(always)]
    fn unsure(ifma: Ifma, gap: Fp8) -> u8 {
        ifma.maybe_zero(gap) | ifma.top_exceeds(gap, MARK_SEEN)
    }
    #[inline(always)]
    fn invert(ifma: Ifma, value: Fp8) -> Fp8 {
        let mut values = ifma.to_blst(value);
        batch_invert(&mut values, &mut Vec::with_capacity(8));
        ifma.from_blst(values)
    }
    fn canonical(row: &Row) -> Row {
        row.canonical()
    }
    fn same(a: &Row, b: &Row) -> bool {
        a == b
    }
    #[inline(always)]
    fn is_marked(row: &Row) -> bool {
        row.0[FP_LIMBS - 1] == MARK
    }
    #[inline(always)]
    fn signed(row: &Row, negative: bool) -> Row {
        let flip = u64::from(negative).wrapping_neg();
        let mut signed = *row;
        for limb in &mut signed.0 {
            *limb = (*limb ^ flip).wrapping_sub(flip);
        }
        signed
    }
    #[inline(always)]
    fn decode(ifma: Ifma, bytes: [&[u8]; 8]) -> [Row; 8] {
        let rows = bytes.map(|bytes| {
            Row::from_big_endian(bytes.try_into().expect("a coordinate in Fp has 48 bytes"))
        });
        ifma.from_integers(rows.each_ref())
    }
    fn affine(ifma: Ifma, x: &Row, y: &Row) -> G1Affine {
        let [x, y, ..] = ifma.to_blst(ifma.load([x, y, y, y, y, y, y, y]));
        G1Affine::from_raw_unchecked(x, y, false)
    }
}

impl VectorField for Fp2 {
    type Row = [Row; 2];
    type Wide = [Fp8; 2];
    type Curve = G2;
    const MARKED: [Row; 2] = [<Fp as VectorField>::MARKED; 2];
    const ZERO: [Row; 2] = [Row::ZERO; 2];
    const ONE: [Row; 2] = [Row::ONE, Row::ZERO];

    #[inline(always)]
    fn load(ifma: Ifma, rows: [&[Row; 2]; 8]) -> [Fp8; 2] {
        [ifma.load(parts(rows, 0)), ifma.load(parts(rows, 1))]
    }
    #[inline(always)]
    fn load_difference(ifma: Ifma, left: [&[Row; 2]; 8], right: [&[Row; 2]; 8]) -> [Fp8; 2] {
        [
            ifma.load_difference(parts(left, 0), parts(right, 0)),
            ifma.load_difference(parts(left, 1), parts(right, 1)),
        ]
    }
    #[inline(always)]
    fn rows(ifma: Ifma, value: [Fp8; 2]) -> [[Row; 2]; 8] {
        let (c0, c1) = (ifma.rows(value[0]), ifma.rows(value[1]));
        let mut rows = [[Row::ZERO; 2]; 8];
        for lane in 0..8 {
            rows[lane] = [c0[lane], c1[lane]];
        }
        rows
    }
    #[inline(always)]
    fn add(ifma: Ifma, a: [Fp8; 2], b: [Fp8; 2]) -> [Fp8; 2] {
        [ifma.add(a[0], b[0]), ifma.add(a[1], b[1])]
    }
    #[inline(always)]
    fn sub(ifma: Ifma, a: [Fp8; 2], b: [Fp8; 2]) -> [Fp8; 2] {
        [ifma.sub(a[0], b[0]), ifma.sub(a[1], b[1])]
    }
    #[inline(always)]
    fn normalise<const MULTIPLE: u64>(ifma: Ifma, value: [Fp8; 2]) -> [Fp8; 2] {
        [ifma.normalise::<MULTIPLE>(value[0]), ifma.normalise::<MULTIPLE>(value[1])]
    }
    #[inline(always)]
    fn reduce(ifma: Ifma, value: [Fp8; 2]) -> [Fp8; 2] {
        [ifma.reduce(value[0]), ifma.reduce(value[1])]
    }
    /// Karatsuba: (a0 + a1 u)(b0 + b1 u) with u^2 = -1, reduced like a product in Fp.
    #[inline(always)]
    fn mul(ifma: Ifma, a: [Fp8; 2], b: [Fp8; 2]) -> [Fp8; 2] {
        let low = ifma.mul(a[0], b[0]);
        let high = ifma.mul(a[1], b[1]);
        let a_sum = ifma.normalise::<0>(ifma.add(a[0], a[1]));
        let b_sum = ifma.normalise::<0>(ifma.add(b[0], b[1]));
        let cross = ifma.sub(ifma.mul(a_sum, b_sum), ifma.add(low, high));
        [ifma.normalise::<2>(ifma.sub(low, high)), ifma.normalise::<3>(cross)]
    }
    #[inline(always)]
    fn one(ifma: Ifma) -> [Fp8; 2] {
        [ifma.one(), ifma.zero()]
    }
    #[inline(always)]
    fn set_lane(ifma: Ifma, value: &mut [Fp8; 2], lane: usize, row: &[Row; 2]) {
        ifma.set_lane(&mut value[0], lane, &row[0]);
        ifma.set_lane(&mut value[1], lane, &row[1]);
    }
    #[inline(always)]
    fn unsure(ifma: Ifma, gap: [Fp8; 2]) -> u8 {
        let zero = ifma.maybe_zero(gap[0]) & ifma.maybe_zero(gap[1]);
        zero | ifma.top_exceeds(gap[0], MARK_SEEN)
    }
    #[inline(always)]
    fn invert(ifma: Ifma, value: [Fp8; 2]) -> [Fp8; 2] {
        let (c0, c1) = (ifma.to_blst(value[0]), ifma.to_blst(value[1]));
        let mut values: [Fp2; 8] = array::from_fn(|lane| Fp2::new(c0[lane], c1[lane]));
        batch_invert(&mut values, &mut Vec::with_capacity(8));
        [ifma.from_blst(values.map(|v| v.c0())), ifma.from_blst(values.map(|v| v.c1()))]
    }
    fn canonical(row: &[Row; 2]) -> [Row; 2] {
        [row[0].canonical(), row[1].canonical()]
    }
    fn same(a: &[Row; 2], b: &[Row; 2]) -> bool {
        a == b
    }
    #[inline(always)]
    fn is_marked(row: &[Row; 2]) -> bool {
        Fp::is_marked(&row[0])
    }
    #[inline(always)]
    fn signed(row: &[Row; 2], negative: bool) -> [Row; 2] {
        [Fp::signed(&row[0], negative), Fp::signed(&row[1], negative)]
    }
    #[inline(always)]
    fn decode(ifma: Ifma, bytes: [&[u8]; 8]) -> [[Row; 2]; 8] {
        let c1 = Fp::decode(ifma, bytes.map(|bytes| &bytes[..48]));
        let c0 = Fp::decode(ifma, bytes.map(|bytes| &bytes[48..]));
        array::from_fn(|lane| [c0[lane], c1[lane]])
    }
    fn affine(ifma: Ifma, x: &[Row; 2], y: &[Row; 2]) -> G2Affine {
        let rows = [&x[0], &x[1], &y[0], &y[1], &y[0], &y[0], &y[0], &y[0]];
        let [x0, x1, y0, y1, ..] = ifma.to_blst(ifma.load(rows));
        G2Affine::from_raw_unchecked(Fp2::new(x0, x1), Fp2::new(y0, y1), false)
    }
}

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

/// Component `part` of eight elements of Fp2.
#[inline(always)]
fn parts(rows: [&[Row; 2]; 8], part: usize) -> [&Row; 8] {
    let mut parts = [&rows[0][part]; 8];
    for lane in 1..8 {
        parts[lane] = &rows[lane][part];
    }
    parts
}
