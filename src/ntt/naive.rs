//! The plain transforms: radix 2, in place, one after the other.

use ff::Field;

use super::{COSET_SHIFT, Coeffs, CosetEvals, Evals, log_of, omega};
use crate::field::Fr;

/// Coefficients from the values on the domain.
pub fn intt(evals: Evals) -> Coeffs {
    let mut values = evals.0;
    inverse_in_place(&mut values);
    Coeffs::from_natural(values)
}

/// Values on the domain.
pub fn ntt(coeffs: Coeffs) -> Evals {
    let mut values = coeffs.into_natural();
    let root = omega(log_of(values.len()));
    in_place(&mut values, root);
    Evals(values)
}

/// Values on the coset.
pub fn coset_ntt(coeffs: Coeffs) -> CosetEvals {
    let mut values = coeffs.into_natural();
    multiply_by_powers(&mut values, Fr::from(COSET_SHIFT));
    let root = omega(log_of(values.len()));
    in_place(&mut values, root);
    CosetEvals::from_natural(values)
}

/// Coefficients from the values on the coset.
pub fn coset_intt(evals: CosetEvals) -> Coeffs {
    let mut values = evals.into_natural();
    inverse_in_place(&mut values);
    let shift = Fr::from(COSET_SHIFT).invert().expect("7 is not zero");
    multiply_by_powers(&mut values, shift);
    Coeffs::from_natural(values)
}

fn multiply_by_powers(values: &mut [Fr], ratio: Fr) {
    let mut power = Fr::ONE;
    for value in values {
        *value *= power;
        power *= ratio;
    }
}

fn inverse_in_place(values: &mut [Fr]) {
    let root = omega(log_of(values.len())).invert().expect("a root of unity is not zero");
    in_place(values, root);
    let scale = Fr::from(values.len() as u64).invert().expect("n is below r");
    for value in values {
        *value *= scale;
    }
}

/// Cooley and Tukey: bit reversal, then butterflies of doubling width.
fn in_place(values: &mut [Fr], root: Fr) {
    let log_n = log_of(values.len());
    if log_n == 0 {
        return;
    }
    for index in 0..values.len() {
        let reversed = index.reverse_bits() >> (usize::BITS - log_n);
        if index < reversed {
            values.swap(index, reversed);
        }
    }
    for stage in 0..log_n {
        let half = 1usize << stage;
        let step = root.pow_vartime([(values.len() / (2 * half)) as u64]);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            let mut twiddle = Fr::ONE;
            for (low, high) in low.iter_mut().zip(high) {
                let product = *high * twiddle;
                *high = *low - product;
                *low += product;
                twiddle *= step;
            }
        }
    }
}
