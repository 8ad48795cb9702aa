//! Scalar field arithmetic on limbs, where many terms share one reduction.
//!
//! `blstrs` reduces after every operation and is called through C. The inner products of
//! Poseidon ([`Products`]: nine products in 114 ns where `blstrs` takes 250, Xeon with AVX-512,
//! one thread, 2026-11) and the rows of the matrices ([`Sum`]) need their value modulo r only at
//! the end.

use blst::blst_fr;
use blstrs::Scalar as Fr;

use crate::field::{FR_MODULUS, power_of_two};

/// An element's limbs, little-endian, in Montgomery form (times 2^256), below the modulus.
pub type Limbs = [u64; 4];

/// The modulus r.
const MODULUS: Limbs = FR_MODULUS;

/// -1/r modulo 2^64.
const MINUS_INVERSE: u64 = 0xffff_fffe_ffff_ffff;

/// r / 2^250, rounded up from 28.98.
const TOP: u64 = 29;

/// The limbs of an element.
#[inline]
pub fn limbs(value: &Fr) -> Limbs {
    blst_fr::from(*value).l
}

/// The element of limbs below the modulus.
#[inline]
pub fn element(limbs: Limbs) -> Fr {
    blst_fr { l: limbs }.into()
}

/// The product of two elements.
#[inline]
pub fn multiply(left: &Limbs, right: &Limbs) -> Limbs {
    let mut product = Products::default();
    product.add(left, right);
    product.reduce()
}

/// `value` modulo r, for a value below 2^264.
///
/// The quotient is taken from the bits above 2^250: q = top / 29 never exceeds value / r, and
/// value - q r < 2r, since value / r - q < top (1/28.98 - 1/29) + 1/28.98 + 28/29 < 1.4.
#[inline]
fn reduce_small(value: [u64; 5]) -> Limbs {
    let top = value[4] << 6 | value[3] >> 58;
    let quotient = top / TOP;
    let mut rest = [0; 4];
    let (mut carry, mut borrow) = (0, false);
    for i in 0..4 {
        let multiple;
        (multiple, carry) = quotient.carrying_mul(MODULUS[i], carry);
        (rest[i], borrow) = value[i].borrowing_sub(multiple, borrow);
    }
    let (reduced, borrow) = subtract(&rest, &MODULUS);
    let keep = u64::from(borrow).wrapping_neg();
    std::array::from_fn(|i| rest[i] & keep | reduced[i] & !keep)
}

/// `left` - `right` modulo 2^256, and whether it is negative.
#[inline]
fn subtract(left: &Limbs, right: &Limbs) -> (Limbs, bool) {
    let mut difference = [0; 4];
    let mut borrow = false;
    for i in 0..4 {
        (difference[i], borrow) = left[i].borrowing_sub(right[i], borrow);
    }
    (difference, borrow)
}

/// A sum of fewer than 2^32 elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum([u64; 5]);

impl Sum {
    /// Adds `value`.
    #[inline]
    pub fn add(&mut self, value: &Limbs) {
        self.add_masked(value, !0);
    }

    /// Adds `value` when `mask` is all ones, nothing when it is zero.
    #[inline]
    pub fn add_masked(&mut self, value: &Limbs, mask: u64) {
        let mut carry = false;
        for (limb, addend) in self.0.iter_mut().zip(value) {
            (*limb, carry) = limb.carrying_add(addend & mask, carry);
        }
        self.0[4] += u64::from(carry);
    }

    /// Subtracts `value`.
    #[inline]
    pub fn subtract(&mut self, value: &Limbs) {
        self.add(&subtract(&MODULUS, value).0);
    }

    /// The sum modulo r.
    #[inline]
    pub fn reduce(self) -> Limbs {
        /// 2^256 mod r.
        const HIGH: Limbs = power_of_two(256, MODULUS);
        let Self(mut value) = self;
        // Each turn divides the high limb by more than eight.
        while value[4] >= 256 {
            let high = std::mem::take(&mut value[4]);
            let mut carry = 0;
            for i in 0..4 {
                (value[i], carry) = high.carrying_mul_add(HIGH[i], value[i], carry);
            }
            value[4] = carry;
        }
        reduce_small(value)
    }
}

/// Products that a [`Products`] takes at most.
pub const PRODUCTS_MAX: usize = 1000;

/// A sum of at most [`PRODUCTS_MAX`] products, and of at most 4 elements besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products([u64; 9]);

impl Products {
    /// Adds `left` · `right`.
    #[inline]
    pub fn add(&mut self, left: &Limbs, right: &Limbs) {
        let mut product = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                (product[i + j], carry) = left[j].carrying_mul_add(right[i], product[i + j], carry);
            }
            product[i + 4] = carry;
        }
        let mut carry = false;
        for (limb, addend) in self.0.iter_mut().zip(product) {
            (*limb, carry) = limb.carrying_add(addend, carry);
        }
        self.0[8] += u64::from(carry);
    }

    /// Adds `value`: in Montgomery form, the product of `value` and 2^256.
    #[inline]
    pub fn add_element(&mut self, value: &Limbs) {
        let mut carry = false;
        for (limb, addend) in self.0[4..8].iter_mut().zip(value) {
            (*limb, carry) = limb.carrying_add(*addend, carry);
        }
        self.0[8] += u64::from(carry);
    }

    /// The sum modulo r: Montgomery's reduction by four limbs.
    ///
    /// The sum is below 1000 r^2 + 4 · 2^256 r, and 2^256 r more comes in, so the quotient by 2^256
    /// is below 458 r < 2^264.
    #[inline]
    pub fn reduce(self) -> Limbs {
        let Self(mut sum) = self;
        let mut high = false;
        for i in 0..4 {
            let multiple = sum[i].wrapping_mul(MINUS_INVERSE);
            let mut carry = 0;
            for j in 0..4 {
                (sum[i + j], carry) = multiple.carrying_mul_add(MODULUS[j], sum[i + j], carry);
            }
            (sum[i + 4], high) = sum[i + 4].carrying_add(carry, high);
        }
        sum[8] += u64::from(high);
        reduce_small([sum[4], sum[5], sum[6], sum[7], sum[8]])
    }
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Random elements, with the ends of the range and the ends in Montgomery form among them.
    fn elements(count: usize, seed: u64) -> Vec<Fr> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut largest = MODULUS;
        largest[0] -= 1;
        let hostile = [Fr::ZERO, Fr::ONE, -Fr::ONE, element([1, 0, 0, 0]), element(largest)];
        (0..count)
            .map(|i| match i % 3 {
                0 => hostile[(i / 3 + seed as usize) % hostile.len()],
                _ => Fr::random(&mut rng),
            })
            .collect()
    }

    #[test]
    fn sums_are_those_of_blstrs() {
        for count in [0, 1, 2, 3, 10, 1000, 100_000] {
            for seed in 0..5 {
                let (mut sum, mut expected) = (Sum::default(), Fr::ZERO);
                for (i, value) in elements(count, seed).iter().enumerate() {
                    match i % 4 {
                        0 => {
                            sum.subtract(&limbs(value));
                            expected -= value;
                        }
                        1 => sum.add_masked(&limbs(value), 0),
                        _ => {
                            sum.add(&limbs(value));
                            expected += value;
                        }
                    }
                }
                assert_eq!(element(sum.reduce()), expected, "{count} values, seed {seed}");
            }
        }
        let mut largest = MODULUS;
        largest[0] -= 1;
        let (mut sum, mut expected) = (Sum::default(), Fr::ZERO);
        for _ in 0..100_000 {
            sum.add(&largest);
            expected += element(largest);
        }
        assert_eq!(element(sum.reduce()), expected);
    }

    #[test]
    fn products_are_those_of_blstrs() {
        for count in (0..=24).chain([100, 1000]) {
            for seed in 0..100 {
                let left = elements(count, seed);
                let right = elements(count, seed + 1);
                let others = elements(4, seed + 2);
                let mut products = Products::default();
                let mut expected = Fr::ZERO;
                for (left, right) in left.iter().zip(&right) {
                    products.add(&limbs(left), &limbs(right));
                    expected += left * right;
                    assert_eq!(element(multiply(&limbs(left), &limbs(right))), left * right);
                }
                for other in &others[..seed as usize % 5] {
                    products.add_element(&limbs(other));
                    expected += other;
                }
                assert_eq!(element(products.reduce()), expected, "{count} products, seed {seed}");
            }
        }
        let mut largest = MODULUS;
        largest[0] -= 1;
        let (mut products, mut expected) = (Products::default(), Fr::ZERO);
        for i in 0..1000 {
            products.add(&largest, &largest);
            expected += element(largest) * element(largest);
            if i < 4 {
                products.add_element(&largest);
                expected += element(largest);
            }
        }
        assert_eq!(element(products.reduce()), expected);
    }
}
