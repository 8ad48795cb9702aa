//! Eight elements of Fr at a time: what the passes need of an arithmetic.

use std::array;

use ff::Field;

use crate::field::{Fr, Kernel};

/// Arithmetic on eight elements.
///
/// A `Wide` under computation may be lazily reduced: fourteen butterflies deep at most between
/// [`Lanes::scale`] or [`Lanes::canonical`].
pub(super) trait Lanes: Copy + Send + Sync {
    /// Eight elements or eight factors.
    type Wide: Copy + Send;
    /// A factor as tables hold it.
    type Factor: Copy + Send + Sync;

    /// Runs `kernel` with this arithmetic's instructions enabled.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;
    /// A factor.
    fn factor(self, value: Fr) -> Self::Factor;
    /// The same factor in all lanes.
    fn splat(self, factor: &Self::Factor) -> Self::Wide;
    /// Eight factors.
    fn factors(self, factors: &[Self::Factor; 8]) -> Self::Wide;
    /// Zeros.
    fn zero(self) -> Self::Wide;
    /// Eight neighbours.
    fn load_neighbours(self, values: &[Fr]) -> Self::Wide;
    /// Elements `at` and `at + 1` of eight rows of `len` elements each.
    fn load_rows(self, rows: &[Fr], len: usize, at: usize) -> [Self::Wide; 2];
    /// Writes what `load_rows` reads; values come from `scale` or `canonical`.
    fn store_rows(self, values: [Self::Wide; 2], rows: &mut [Fr], len: usize, at: usize);
    /// `(low + factor high, low - factor high)`.
    fn butterfly(
        self,
        low: Self::Wide,
        high: Self::Wide,
        factor: Self::Wide,
    ) -> (Self::Wide, Self::Wide);
    /// `factor value`; of two factors, a factor.
    fn scale(self, value: Self::Wide, factor: Self::Wide) -> Self::Wide;
    /// The same values, in the one form that the rest of the program takes.
    fn canonical(self, value: Self::Wide) -> Self::Wide;
}

/// blst's arithmetic, eight times over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Lanes for Portable {
    type Wide = [Fr; 8];
    type Factor = Fr;

    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    fn factor(self, value: Fr) -> Fr {
        value
    }
    fn splat(self, factor: &Fr) -> [Fr; 8] {
        [*factor; 8]
    }
    fn factors(self, factors: &[Fr; 8]) -> [Fr; 8] {
        *factors
    }
    fn zero(self) -> [Fr; 8] {
        [Fr::ZERO; 8]
    }
    fn load_neighbours(self, values: &[Fr]) -> [Fr; 8] {
        array::from_fn(|lane| values[lane])
    }
    fn load_rows(self, rows: &[Fr], len: usize, at: usize) -> [[Fr; 8]; 2] {
        [0, 1].map(|offset| array::from_fn(|row| rows[row * len + at + offset]))
    }
    fn store_rows(self, values: [[Fr; 8]; 2], rows: &mut [Fr], len: usize, at: usize) {
        for (offset, values) in values.iter().enumerate() {
            for (row, value) in values.iter().enumerate() {
                rows[row * len + at + offset] = *value;
            }
        }
    }
    fn butterfly(self, low: [Fr; 8], high: [Fr; 8], factor: [Fr; 8]) -> ([Fr; 8], [Fr; 8]) {
        let product = self.scale(high, factor);
        let sum = array::from_fn(|lane| low[lane] + product[lane]);
        (sum, array::from_fn(|lane| low[lane] - product[lane]))
    }
    fn scale(self, value: [Fr; 8], factor: [Fr; 8]) -> [Fr; 8] {
        array::from_fn(|lane| value[lane] * factor[lane])
    }
    fn canonical(self, value: [Fr; 8]) -> [Fr; 8] {
        value
    }
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{Fr, Kernel, Lanes};
    use crate::field::Ifma;
    use crate::field::ifma_fr::{Factor, Fr8};

    impl Lanes for Ifma {
        type Wide = Fr8;
        type Factor = Factor;

        #[inline]
        fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
            Ifma::enter(self, kernel)
        }
        fn factor(self, value: Fr) -> Factor {
            Factor::new(value)
        }
        #[inline(always)]
        fn splat(self, factor: &Factor) -> Fr8 {
            self.splat_factor(factor)
        }
        #[inline(always)]
        fn factors(self, factors: &[Factor; 8]) -> Fr8 {
            Ifma::factors(self, factors)
        }
        #[inline(always)]
        fn zero(self) -> Fr8 {
            self.splat_factor(&Factor::ZERO)
        }
        #[inline(always)]
        fn load_neighbours(self, values: &[Fr]) -> Fr8 {
            Ifma::load_neighbours(self, values)
        }
        #[inline(always)]
        fn load_rows(self, rows: &[Fr], len: usize, at: usize) -> [Fr8; 2] {
            Ifma::load_rows(self, rows, len, at)
        }
        #[inline(always)]
        fn store_rows(self, values: [Fr8; 2], rows: &mut [Fr], len: usize, at: usize) {
            Ifma::store_rows(self, values, rows, len, at);
        }
        #[inline(always)]
        fn butterfly(self, low: Fr8, high: Fr8, factor: Fr8) -> (Fr8, Fr8) {
            Ifma::butterfly(self, low, high, factor)
        }
        #[inline(always)]
        fn scale(self, value: Fr8, factor: Fr8) -> Fr8 {
            Ifma::scale(self, value, factor)
        }
        #[inline(always)]
        fn canonical(self, value: Fr8) -> Fr8 {
            self.canonical_fr(value)
        }
    }
}
