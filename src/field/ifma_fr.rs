//! Fr on AVX-512 IFMA, for the transforms: eight elements at once, five limbs of 52 bits.
//!
//! Data keep blst's form (Montgomery with R = 2^256); constants that multiply them are kept as
//! c 2^260, so that a Montgomery product with radix 2^260 gives blst's form again. r has 255 bits
//! and 2^260 > 35 r, which leaves room for fourteen butterfly stages without a reduction:
//! a stage adds at most 2 r, and the product of a value below 30.3 r with a factor below 1.1 r is
//! below r + 33.4 r / 35 < 2 r < 2^256.
#![expect(unsafe_code, reason = "AVX-512 intrinsics, reached only with a detected token")]

use std::arch::x86_64::*;

use blst::blst_fr;
use blstrs::Scalar as Fr;

use super::ifma::{Ifma, transpose};
use super::limbs::{
    FR_LIMBS, FR_MODULUS, LIMB_BITS, LIMB_MASK, montgomery_factor, multiple, split,
};

/// Eight elements of Fr: limb `i` of all of them in vector `i`.
#[derive(Clone, Copy, Debug)]
pub struct Fr8([__m512i; FR_LIMBS]);

/// A constant factor: c 2^260 mod r, in limbs.
#[derive(Clone, Copy, Debug)]
pub struct Factor([u64; FR_LIMBS]);

const R: [u64; FR_LIMBS] = split(FR_MODULUS);
const FACTOR: u64 = montgomery_factor(R[0]);
/// Bits dropped from the top limb for the quotient estimate: 25 of r's stay.
const TOP_SHIFT: u32 = 22;
/// floor(2^40 / (r's top bits + 1)).
const TOP_RECIPROCAL: u64 = (1 << 40) / ((R[FR_LIMBS - 1] >> TOP_SHIFT) + 1);

impl Factor {
    /// Zero.
    pub const ZERO: Self = Self([0; FR_LIMBS]);

    /// The factor `constant`.
    pub fn new(constant: Fr) -> Self {
        Self(split(blst_fr::from(constant * Fr::from(16)).l))
    }
}

/// The words of an element; blst keeps them as an array of four.
#[inline(always)]
fn words(values: &[Fr]) -> *const i64 {
    const { assert!(size_of::<Fr>() == 32 && align_of::<Fr>() == 8) };
    values.as_ptr().cast()
}

/// The words of elements to be written.
#[inline(always)]
fn words_mut(values: &mut [Fr]) -> *mut i64 {
    const { assert!(size_of::<Fr>() == 32 && align_of::<Fr>() == 8) };
    values.as_mut_ptr().cast()
}

impl Ifma {
    /// A factor in all lanes.
    #[inline(always)]
    pub fn splat_factor(self, factor: &Factor) -> Fr8 {
        // SAFETY: the token proves AVX-512 F.
        let mut limbs = [unsafe { _mm512_setzero_si512() }; FR_LIMBS];
        for (vector, &limb) in limbs.iter_mut().zip(&factor.0) {
            // SAFETY: as above.
            *vector = unsafe { _mm512_set1_epi64(limb as i64) };
        }
        Fr8(limbs)
    }

    /// Eight factors.
    #[inline(always)]
    pub fn factors(self, factors: &[Factor; 8]) -> Fr8 {
        let mut limbs = [[0u64; 8]; FR_LIMBS];
        for (lane, factor) in factors.iter().enumerate() {
            for (limb, &value) in limbs.iter_mut().zip(&factor.0) {
                limb[lane] = value;
            }
        }
        // SAFETY: the token proves AVX-512 F.
        let mut vectors = [unsafe { _mm512_setzero_si512() }; FR_LIMBS];
        for (vector, line) in vectors.iter_mut().zip(&limbs) {
            // SAFETY: as above; every line is eight u64.
            *vector = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        }
        Fr8(vectors)
    }

    /// Eight neighbours, each below 2^256.
    #[inline(always)]
    pub fn load_neighbours(self, values: &[Fr]) -> Fr8 {
        let words = words(&values[..8]);
        // SAFETY: the token proves AVX-512 F; `values` has eight elements, 32 words.
        unsafe {
            let z = [
                _mm512_loadu_si512(words.cast()),
                _mm512_loadu_si512(words.add(8).cast()),
                _mm512_loadu_si512(words.add(16).cast()),
                _mm512_loadu_si512(words.add(24).cast()),
            ];
            let low = [
                _mm512_shuffle_i64x2::<0x88>(z[0], z[1]),
                _mm512_shuffle_i64x2::<0x88>(z[2], z[3]),
            ];
            let high = [
                _mm512_shuffle_i64x2::<0xdd>(z[0], z[1]),
                _mm512_shuffle_i64x2::<0xdd>(z[2], z[3]),
            ];
            let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            self.widen([
                _mm512_permutex2var_epi64(low[0], even, low[1]),
                _mm512_permutex2var_epi64(low[0], odd, low[1]),
                _mm512_permutex2var_epi64(high[0], even, high[1]),
                _mm512_permutex2var_epi64(high[0], odd, high[1]),
            ])
        }
    }

    /// Elements `at` and `at + 1` of eight rows of `len` elements that lie one after the other.
    #[inline(always)]
    pub fn load_rows(self, rows: &[Fr], len: usize, at: usize) -> [Fr8; 2] {
        assert!(rows.len() == 8 * len && at + 2 <= len);
        let words = words(rows);
        // SAFETY: the token proves AVX-512 F; the two elements, eight words, are in their row.
        unsafe {
            let mut vectors = [_mm512_setzero_si512(); 8];
            for (row, vector) in vectors.iter_mut().enumerate() {
                *vector = _mm512_loadu_si512(words.add(4 * (row * len + at)).cast());
            }
            let [a, b, c, d, e, f, g, h] = transpose(vectors).0;
            [self.widen([a, b, c, d]), self.widen([e, f, g, h])]
        }
    }

    /// Writes what [`Ifma::load_rows`] reads; values are normalised and below 2^256.
    #[inline(always)]
    pub fn store_rows(self, values: [Fr8; 2], rows: &mut [Fr], len: usize, at: usize) {
        assert!(rows.len() == 8 * len && at + 2 <= len);
        let words = words_mut(rows);
        // SAFETY: the token proves AVX-512 F; the two elements, eight words, are in their row,
        // which this function borrows mutably.
        unsafe {
            let [a, b, c, d] = self.narrow(values[0]);
            let [e, f, g, h] = self.narrow(values[1]);
            let vectors = transpose([a, b, c, d, e, f, g, h]).0;
            for (row, vector) in vectors.into_iter().enumerate() {
                _mm512_storeu_si512(words.add(4 * (row * len + at)).cast(), vector);
            }
        }
    }

    /// From 64-bit words to limbs.
    #[inline(always)]
    fn widen(self, words: [__m512i; 4]) -> Fr8 {
        let [a, b, c, d] = words;
        // SAFETY: the token proves AVX-512 F.
        unsafe {
            let mask = _mm512_set1_epi64(LIMB_MASK as i64);
            let second = _mm512_or_si512(_mm512_srli_epi64::<52>(a), _mm512_slli_epi64::<12>(b));
            let third = _mm512_or_si512(_mm512_srli_epi64::<40>(b), _mm512_slli_epi64::<24>(c));
            let fourth = _mm512_or_si512(_mm512_srli_epi64::<28>(c), _mm512_slli_epi64::<36>(d));
            Fr8([
                _mm512_and_si512(a, mask),
                _mm512_and_si512(second, mask),
                _mm512_and_si512(third, mask),
                _mm512_and_si512(fourth, mask),
                _mm512_srli_epi64::<16>(d),
            ])
        }
    }

    /// From normalised limbs to 64-bit words.
    #[inline(always)]
    fn narrow(self, value: Fr8) -> [__m512i; 4] {
        let [a, b, c, d, e] = value.0;
        // SAFETY: the token proves AVX-512 F.
        unsafe {
            [
                _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
                _mm512_or_si512(_mm512_srli_epi64::<12>(b), _mm512_slli_epi64::<40>(c)),
                _mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<28>(d)),
                _mm512_or_si512(_mm512_srli_epi64::<36>(d), _mm512_slli_epi64::<16>(e)),
            ]
        }
    }

    /// Carries raw limbs on; the value must not be negative.
    #[inline(always)]
    pub fn normalise_fr(self, value: Fr8) -> Fr8 {
        let mut limbs = value.0;
        // SAFETY: the token proves AVX-512 F.
        unsafe {
            let mask = _mm512_set1_epi64(LIMB_MASK as i64);
            for i in 0..FR_LIMBS - 1 {
                let carry = _mm512_srai_epi64::<{ LIMB_BITS as u32 }>(limbs[i]);
                limbs[i + 1] = _mm512_add_epi64(limbs[i + 1], carry);
                limbs[i] = _mm512_and_si512(limbs[i], mask);
            }
        }
        Fr8(limbs)
    }

    /// `(low + factor high, low - factor high + 2 r)`, raw; `high` below 30.3 r, `factor` below
    /// 1.1 r.
    #[inline(always)]
    pub fn butterfly(self, low: Fr8, high: Fr8, factor: Fr8) -> (Fr8, Fr8) {
        let product = self.mul_raw(self.normalise_fr(high), factor);
        let (mut sum, mut difference) = (low, low);
        let twice = const { multiple(R, 2) };
        for (i, &twice) in twice.iter().enumerate() {
            // SAFETY: the token proves AVX-512 F.
            unsafe {
                let offset = _mm512_set1_epi64(twice as i64);
                sum.0[i] = _mm512_add_epi64(low.0[i], product.0[i]);
                difference.0[i] =
                    _mm512_sub_epi64(_mm512_add_epi64(low.0[i], offset), product.0[i]);
            }
        }
        (sum, difference)
    }

    /// The product of a raw element below 30.3 r and a factor below 1.1 r: normalised, below 2 r.
    ///
    /// Of two factors it is a factor again: below r + 1.3 r / 35 < 1.1 r.
    #[inline(always)]
    pub fn scale(self, value: Fr8, factor: Fr8) -> Fr8 {
        self.normalise_fr(self.mul_raw(self.normalise_fr(value), factor))
    }

    /// The canonical form of a raw element below 32 r.
    #[inline(always)]
    pub fn canonical_fr(self, value: Fr8) -> Fr8 {
        let mut limbs = self.normalise_fr(value).0;
        // SAFETY: the token proves AVX-512 F and IFMA.
        unsafe {
            let zero = _mm512_setzero_si512();
            let top = _mm512_srli_epi64::<TOP_SHIFT>(limbs[FR_LIMBS - 1]);
            let reciprocal = _mm512_set1_epi64(TOP_RECIPROCAL as i64);
            let quotient = _mm512_srli_epi64::<40>(_mm512_mul_epu32(top, reciprocal));
            for i in 0..FR_LIMBS {
                let r = _mm512_set1_epi64(R[i] as i64);
                limbs[i] = _mm512_sub_epi64(limbs[i], _mm512_madd52lo_epu64(zero, quotient, r));
                if i + 1 < FR_LIMBS {
                    let high = _mm512_madd52hi_epu64(zero, quotient, r);
                    limbs[i + 1] = _mm512_sub_epi64(limbs[i + 1], high);
                }
            }
            let reduced = self.normalise_fr(Fr8(limbs)).0;
            let mut smaller = reduced;
            for (limb, r) in smaller.iter_mut().zip(R) {
                *limb = _mm512_sub_epi64(*limb, _mm512_set1_epi64(r as i64));
            }
            let smaller = self.normalise_fr(Fr8(smaller)).0;
            let negative = _mm512_cmplt_epi64_mask(smaller[FR_LIMBS - 1], zero);
            let mut chosen = reduced;
            for i in 0..FR_LIMBS {
                chosen[i] = _mm512_mask_blend_epi64(negative, smaller[i], reduced[i]);
            }
            Fr8(chosen)
        }
    }

    /// The Montgomery product (radix 2^260) of normalised elements, limbs not carried.
    #[inline(always)]
    fn mul_raw(self, a: Fr8, b: Fr8) -> Fr8 {
        // SAFETY: the token proves AVX-512 F and IFMA.
        unsafe {
            let mut t = [_mm512_setzero_si512(); 2 * FR_LIMBS];
            mul_step::<0>(&mut t, &a.0, b.0[0]);
            mul_step::<1>(&mut t, &a.0, b.0[1]);
            mul_step::<2>(&mut t, &a.0, b.0[2]);
            mul_step::<3>(&mut t, &a.0, b.0[3]);
            mul_step::<4>(&mut t, &a.0, b.0[4]);
            let [_, _, _, _, _, high @ ..] = t;
            Fr8(high)
        }
    }
}

/// t += a b 2^(52 I), then one Montgomery step that makes limb I zero and carries it on.
#[inline(always)]
unsafe fn mul_step<const I: usize>(
    t: &mut [__m512i; 2 * FR_LIMBS],
    a: &[__m512i; FR_LIMBS],
    b: __m512i,
) {
    // SAFETY: the callers hold a token, so AVX-512 F and IFMA are there.
    unsafe {
        let mut r = *a;
        for j in 0..FR_LIMBS {
            r[j] = _mm512_set1_epi64(R[j] as i64);
            t[I + j] = _mm512_madd52lo_epu64(t[I + j], a[j], b);
        }
        let factor = _mm512_set1_epi64(FACTOR as i64);
        let q = _mm512_madd52lo_epu64(_mm512_setzero_si512(), t[I], factor);
        for j in 0..FR_LIMBS {
            t[I + j] = _mm512_madd52lo_epu64(t[I + j], r[j], q);
        }
        let carry = _mm512_srli_epi64::<{ LIMB_BITS as u32 }>(t[I]);
        t[I + 1] = _mm512_add_epi64(t[I + 1], carry);
        for j in 0..FR_LIMBS {
            t[I + 1 + j] = _mm512_madd52hi_epu64(t[I + 1 + j], a[j], b);
        }
        for j in 0..FR_LIMBS {
            t[I + 1 + j] = _mm512_madd52hi_epu64(t[I + 1 + j], r[j], q);
        }
    }
}
