//! Number-theoretic transforms over Fr: polynomials between their coefficients, their values on
//! the domain of the 2^log_n-th roots of unity, and their values on its coset by 7.
//!
//! The form is in the type, so that mixing them does not compile. [`naive`] is the plain version,
//! [`cpu`] the fast one.

pub mod cpu;
mod lanes;
pub mod naive;
mod pass;

use ff::{Field, PrimeField};
use rayon::prelude::*;

use crate::field::Fr;
use crate::pages::filled;

/// The multiplicative generator that shifts the domain to its coset; bellperson's.
pub const COSET_SHIFT: u64 = 7;
/// The largest log_n: the 2-adicity of r - 1 is 32, and two passes take 14 stages each.
pub const LOG_N_MAX: u32 = 28;

/// The values on the domain: number i is at omega^i.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evals(pub Vec<Fr>);

/// Values on the coset, in an order that the transforms that gave them share.
#[derive(Clone, Debug)]
pub struct CosetEvals {
    values: Vec<Fr>,
    order: Order,
}

/// Coefficients, in the order of whoever computed them.
#[derive(Clone, Debug)]
pub struct Coeffs {
    values: Vec<Fr>,
    order: Order,
}

/// How a sequence lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Index by index.
    Natural,
    /// Index `low + 2^log_low high` at `low (n / 2^log_low) + high`.
    Transposed {
        /// Bits of `low`.
        log_low: u32,
    },
}

/// Elements that one task multiplies or subtracts.
const TASK: usize = 1 << 13;

/// `left[i] = combine(left[i], right[i])`.
fn combine(left: &mut [Fr], right: &[Fr], combine: impl Fn(&mut Fr, &Fr) + Sync) {
    assert_eq!(left.len(), right.len(), "values of one domain");
    left.par_chunks_mut(TASK).zip(right.par_chunks(TASK)).for_each(|(left, right)| {
        left.iter_mut().zip(right).for_each(|(left, right)| combine(left, right));
    });
}

impl Evals {
    /// The values of the product, point by point.
    ///
    /// # Panics
    /// When the domains differ.
    pub fn product(&self, other: &Self) -> Self {
        let mut product = filled(Fr::ZERO, self.0.len());
        combine(&mut product, &self.0, |product, value| *product = *value);
        combine(&mut product, &other.0, |product, value| *product *= value);
        Self(product)
    }
}

impl Coeffs {
    /// Subtracts the other polynomial.
    ///
    /// # Panics
    /// When the other is of another domain, or was computed in another way.
    pub fn subtract(&mut self, other: &Self) {
        assert_eq!(self.order, other.order, "coefficients in one order");
        combine(&mut self.values, &other.values, |left, right| *left -= right);
    }

    /// Coefficients from the constant up.
    pub const fn from_natural(values: Vec<Fr>) -> Self {
        Self { values, order: Order::Natural }
    }

    /// The coefficients from the constant up.
    pub fn into_natural(self) -> Vec<Fr> {
        into_natural(self.values, self.order)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl CosetEvals {
    /// Multiplies by the other's values, point by point.
    ///
    /// # Panics
    /// When the other is of another domain, or was computed in another way.
    pub fn multiply(&mut self, other: &Self) {
        assert_eq!(self.order, other.order, "values in one order");
        combine(&mut self.values, &other.values, |left, right| *left *= right);
    }

    /// Values in the order of the roots: number i is at 7 omega^i.
    pub const fn from_natural(values: Vec<Fr>) -> Self {
        Self { values, order: Order::Natural }
    }

    /// The values in the order of the roots.
    pub fn into_natural(self) -> Vec<Fr> {
        into_natural(self.values, self.order)
    }
}

fn into_natural(values: Vec<Fr>, order: Order) -> Vec<Fr> {
    match order {
        Order::Natural => values,
        Order::Transposed { log_low } => pass::transpose(&values, log_low),
    }
}

/// The root of unity that generates the domain of 2^log_n points.
///
/// # Panics
/// When `log_n` exceeds [`LOG_N_MAX`].
pub fn omega(log_n: u32) -> Fr {
    assert!(log_n <= LOG_N_MAX, "a domain of at most 2^{LOG_N_MAX} points");
    Fr::ROOT_OF_UNITY.pow_vartime([1u64 << (Fr::S - log_n)])
}

/// `1 / (7^n - 1)`: the inverse of the vanishing polynomial, which is constant on the coset.
pub fn vanishing_inverse(log_n: u32) -> Fr {
    let vanishing = Fr::from(COSET_SHIFT).pow_vartime([1u64 << log_n]) - Fr::ONE;
    vanishing.invert().expect("7 generates the whole group, so 7^n is not 1")
}

/// log2 of a length that must be a power of two.
fn log_of(len: usize) -> u32 {
    assert!(len.is_power_of_two(), "a domain's length is a power of two");
    len.trailing_zeros()
}

#[cfg(test)]
mod tests;
