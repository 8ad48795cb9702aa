//! The prime fields of BLS12-381, as the CPU stages use them.
//!
//! `blstrs` (blst's assembly) is the portable arithmetic and the oracle. Where the processor has
//! AVX-512 IFMA, [`ifma`] computes on eight elements at once; [`Ifma::detect`] is the only way in,
//! so that no such instruction runs on a machine without it.

#[cfg(target_arch = "x86_64")]
pub mod ifma;
#[cfg(target_arch = "x86_64")]
pub mod ifma_fr;
mod limbs;
mod node;

#[cfg(not(target_arch = "x86_64"))]
#[path = "no_ifma.rs"]
pub mod ifma;

pub use blstrs::{Fp, Fp2, Scalar as Fr};
pub use ifma::Ifma;
pub use limbs::{
    FP_LIMBS, FP_MODULUS, FR_LIMBS, FR_MODULUS, LIMB_BITS, LIMB_MASK, le_bytes, power_of_two,
};
pub use node::{is_canonical, to_fr, to_node};

use ff::Field;

/// Replaces every element by its inverse, with one inversion in all; zeros stay zero.
///
/// `scratch` is overwritten; it keeps its capacity from call to call.
pub fn batch_invert<F: Field>(values: &mut [F], scratch: &mut Vec<F>) {
    scratch.clear();
    let mut product = F::ONE;
    for value in values.iter() {
        scratch.push(product);
        if !value.is_zero_vartime() {
            product *= value;
        }
    }
    let mut inverse = product.invert().expect("a product of non-zero elements has an inverse");
    for (value, prefix) in values.iter_mut().zip(scratch.iter()).rev() {
        if !value.is_zero_vartime() {
            let next = inverse * *value;
            *value = inverse * prefix;
            inverse = next;
        }
    }
}

/// Code that runs on one of the arithmetic engines; see [`Ifma::enter`].
///
/// `run` must be `#[inline(always)]`, or its vector code is compiled without the features.
pub trait Kernel<E> {
    /// What the kernel returns.
    type Output;
    /// Does the work with `engine`'s instructions enabled.
    fn run(self, engine: E) -> Self::Output;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn batch_inverses_equal_single_inverses_and_zeros_stay() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut values: Vec<Fp> = (0..9).map(|_| Fp::random(&mut rng)).collect();
        values[0] = Fp::ZERO;
        values[5] = Fp::ZERO;
        let expected: Vec<Fp> =
            values.iter().map(|v| Option::from(v.invert()).unwrap_or(Fp::ZERO)).collect();
        batch_invert(&mut values, &mut Vec::new());
        assert_eq!(values, expected);
        batch_invert::<Fp>(&mut [], &mut Vec::new());
    }
}
