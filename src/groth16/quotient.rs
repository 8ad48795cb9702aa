//! The quotient polynomial of a partition.
//!
//! ```text
//! h(X) = (a(X) b(X) - c(X)) / Z(X),   Z(X) = X^n - 1
//!      = coset_intt(coset_ntt(intt a) ∘ coset_ntt(intt b)) / Z - intt(c) / Z
//! ```
//!
//! On the coset Z is a constant, so the second line needs six transforms where evaluating c there
//! needs seven. c = a ∘ b row by row, because the witness satisfies the circuit.

use ff::Field;

use crate::field::Fr;
use crate::ntt::cpu::Domain;
use crate::ntt::{Evals, vanishing_inverse};

/// The coefficients of h from the constant up, n - 1 of them: its degree is at most n - 2.
///
/// Holds four arrays of n elements at the peak.
///
/// # Panics
/// When `a` and `b` have not as many values as the domain has points.
pub fn quotient(domain: &Domain, a: Evals, b: Evals) -> Vec<Fr> {
    let c = a.product(&b);
    let scale = vanishing_inverse(domain.log_n());
    let c = domain.intt(c, scale);
    let mut product = domain.coset_ntt(domain.intt(a, Fr::ONE));
    product.multiply(&domain.coset_ntt(domain.intt(b, Fr::ONE)));
    let mut h = domain.coset_intt(product, scale);
    h.subtract(&c);
    drop(c);
    let mut h = h.into_natural();
    assert_eq!(h.pop(), Some(Fr::ZERO), "ab - c vanishes on the domain, so h has degree n - 2");
    h
}

#[cfg(test)]
mod tests {
    use bellperson::domain::EvaluationDomain;
    use ec_gpu_gen::threadpool::Worker;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::field::Ifma;
    use crate::msm::Arithmetic;

    /// The seven transforms of bellperson's prover, by its own code.
    fn bellpersons(a: &[Fr], b: &[Fr]) -> Vec<Fr> {
        let worker = Worker::new();
        let c: Vec<Fr> = a.iter().zip(b).map(|(a, b)| a * b).collect();
        let [mut a, mut b, mut c] = [a.to_vec(), b.to_vec(), c]
            .map(|values| EvaluationDomain::from_coeffs(values).expect("a power of two"));
        let all = &mut [&mut a, &mut b, &mut c];
        EvaluationDomain::ifft_many(all, &worker, &mut None).expect("no GPU takes part");
        EvaluationDomain::coset_fft_many(all, &worker, &mut None).expect("no GPU takes part");
        a.mul_assign(&worker, &b);
        a.sub_assign(&worker, &c);
        a.divide_by_z_on_coset(&worker);
        a.icoset_fft(&worker, &mut None).expect("no GPU takes part");
        let mut h = a.into_coeffs();
        h.pop();
        h
    }

    #[test]
    fn six_transforms_give_bellpersons_quotient() {
        let mut rng = ChaCha8Rng::seed_from_u64(0x5eed_0006);
        for log_n in [1, 2, 5, 6, 7, 10, 11] {
            let len = 1usize << log_n;
            let random = |rng: &mut _| (0..len).map(|_| Fr::random(&mut *rng)).collect();
            let a: Vec<Fr> = random(&mut rng);
            let b: Vec<Fr> = random(&mut rng);
            let expected = bellpersons(&a, &b);
            let mut arithmetics = vec![Arithmetic::Portable];
            arithmetics.extend(Ifma::detect().map(Arithmetic::Vector));
            for arithmetic in arithmetics {
                let domain = Domain::new(arithmetic, log_n);
                let h = quotient(&domain, Evals(a.clone()), Evals(b.clone()));
                assert_eq!(h, expected, "{arithmetic:?}, log_n {log_n}");
            }
        }
    }
}
