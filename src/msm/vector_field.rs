//! The coordinate fields of [`super::vector`]: Fp and Fp2, eight elements at a time.

use std::array;

use blstrs::{Fp, Fp2, G1Affine, G2Affine};

use super::engine::Curve;
use super::portable::{G1, G2};
use crate::field::ifma::{Fp8, Ifma, Row};
use crate::field::{FP_LIMBS, batch_invert};

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

/// Component `part` of eight elements of Fp2.
#[inline(always)]
fn parts(rows: [&[Row; 2]; 8], part: usize) -> [&Row; 8] {
    let mut parts = [&rows[0][part]; 8];
    for lane in 1..8 {
        parts[lane] = &rows[lane][part];
    }
    parts
}
