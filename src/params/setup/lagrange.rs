//! The Lagrange polynomials of the evaluation domain at tau.
//!
//! ```text
//! L_j(tau) = (tau^n - 1) / n  *  omega^j / (tau - omega^j)
//! ```

use blstrs::Scalar as Fr;
use ff::{BatchInvert, Field, PrimeField};
use rayon::prelude::*;

/// Values that share an inversion.
const CHUNK: usize = 1 << 12;

/// What all values of one domain and tau have in common.
#[derive(Clone, Copy)]
pub struct Lagrange {
    tau: Fr,
    omega: Fr,
    /// (tau^n - 1) / n.
    scale: Fr,
}

impl Lagrange {
    /// The polynomials of the domain of 2^`log_n`; `None` when tau is in it.
    pub fn new(tau: &Fr, log_n: u32) -> Option<Self> {
        let n = 1_u64 << log_n;
        let omega = (log_n..Fr::S).fold(Fr::ROOT_OF_UNITY, |omega, _| omega.square());
        let z = tau.pow_vartime([n]) - Fr::ONE;
        let n_inverse = Option::<Fr>::from(Fr::from(n).invert()).expect("r is odd");
        (z != Fr::ZERO).then(|| Self { tau: *tau, omega, scale: z * n_inverse })
    }

    /// L_j(tau) for the `count` rows j from `first` on.
    pub fn values(&self, first: usize, count: usize) -> Vec<Fr> {
        let mut values = vec![Fr::ZERO; count];
        values.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
            let start = self.omega.pow_vartime([(first + index * CHUNK) as u64]);
            let powers =
                |start| std::iter::successors(Some(start), |power| Some(*power * self.omega));
            for (value, power) in chunk.iter_mut().zip(powers(start)) {
                *value = self.tau - power;
            }
            chunk.iter_mut().batch_invert();
            for (value, power) in chunk.iter_mut().zip(powers(start * self.scale)) {
                *value *= power;
            }
        });
        values
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn values_of_any_range_interpolate_polynomials() {
        let mut rng = ChaCha20Rng::seed_from_u64(21);
        let tau = Fr::random(&mut rng);
        let lagrange = Lagrange::new(&tau, 14).expect("tau is random");
        let whole = lagrange.values(0, 1 << 14);
        assert!(whole[5000..9500] == lagrange.values(5000, 4500));
        assert!(lagrange.values(77, 0).is_empty());
        // x^k at tau from its values on the domain.
        for k in [0, 1, 2, 16_383] {
            let step = lagrange.omega.pow_vartime([k]);
            let powers = std::iter::successors(Some(Fr::ONE), |power| Some(*power * step));
            let sum: Fr = whole.iter().zip(powers).map(|(value, power)| *value * power).sum();
            assert_eq!(sum, tau.pow_vartime([k]), "x^{k}");
        }
    }

    #[test]
    fn a_tau_in_the_domain_is_refused() {
        let omega = Lagrange::new(&Fr::from(5), 3).expect("5 is no root of unity").omega;
        assert!(Lagrange::new(&omega, 3).is_none() && Lagrange::new(&omega, 4).is_none());
        assert!(Lagrange::new(&omega, 2).is_some());
    }
}
