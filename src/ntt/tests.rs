//! The fast transforms against the naive ones and bellperson's.

use bellperson::domain::EvaluationDomain;
use ec_gpu_gen::threadpool::Worker;
use ff::Field;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::cpu::Domain;
use super::*;
use crate::field::Ifma;
use crate::msm::Arithmetic;

const SEED: u64 = 0x5eed_0005;

fn arithmetics() -> Vec<Arithmetic> {
    let mut all = vec![Arithmetic::Portable];
    all.extend(Ifma::detect().map(Arithmetic::Vector));
    all
}

/// Random values, and values at the field's ends.
fn inputs(log_n: u32) -> Vec<Vec<Fr>> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let len = 1usize << log_n;
    let mut spike = vec![Fr::ZERO; len];
    spike[len - 1] = -Fr::ONE;
    vec![
        (0..len).map(|_| Fr::random(&mut rng)).collect(),
        vec![-Fr::ONE; len],
        vec![Fr::ZERO; len],
        spike,
    ]
}

#[test]
fn transforms_equal_the_naive_ones_at_every_size() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let scale = Fr::random(&mut rng);
    let scaled =
        |coeffs: Coeffs| -> Vec<Fr> { coeffs.into_natural().iter().map(|c| c * scale).collect() };
    for log_n in 0..=13 {
        for values in inputs(log_n) {
            for arithmetic in arithmetics() {
                let domain = Domain::new(arithmetic, log_n);
                let what = format!("{arithmetic:?}, log_n {log_n}");
                let coeffs = domain.intt(Evals(values.clone()), scale);
                let expected = naive::intt(Evals(values.clone()));
                assert_eq!(coeffs.clone().into_natural(), scaled(expected.clone()), "{what}");
                let natural = Coeffs::from_natural(values.clone());
                let expected = naive::coset_ntt(natural.clone()).into_natural();
                assert_eq!(domain.coset_ntt(natural).into_natural(), expected, "{what}");
                let chained = domain.coset_ntt(domain.intt(Evals(values.clone()), Fr::ONE));
                let expected = naive::coset_ntt(naive::intt(Evals(values.clone())));
                assert_eq!(chained.clone().into_natural(), expected.clone().into_natural());
                let back = domain.coset_intt(chained, scale);
                assert_eq!(back.into_natural(), scaled(naive::coset_intt(expected)), "{what}");
                let natural = CosetEvals::from_natural(values.clone());
                let expected = scaled(naive::coset_intt(natural.clone()));
                assert_eq!(domain.coset_intt(natural, scale).into_natural(), expected, "{what}");
            }
        }
    }
}

#[test]
fn the_naive_transforms_evaluate_the_polynomial() {
    let coeffs = inputs(4).swap_remove(0);
    let at = |x: Fr| coeffs.iter().rev().fold(Fr::ZERO, |sum, c| sum * x + c);
    let points: Vec<Fr> = (0..16u64).map(|i| omega(4).pow_vartime([i])).collect();
    let evals = naive::ntt(Coeffs::from_natural(coeffs.clone()));
    assert_eq!(evals.0, points.iter().map(|x| at(*x)).collect::<Vec<_>>());
    let coset = naive::coset_ntt(Coeffs::from_natural(coeffs.clone())).into_natural();
    let shift = Fr::from(COSET_SHIFT);
    assert_eq!(coset, points.iter().map(|x| at(shift * x)).collect::<Vec<_>>());
}

#[test]
fn transforms_equal_bellpersons() {
    let worker = Worker::new();
    for log_n in [3, 9, 12] {
        for values in inputs(log_n) {
            let mut theirs = EvaluationDomain::from_coeffs(values.clone()).expect("a domain");
            theirs.ifft(&worker, &mut None).expect("no GPU takes part");
            let coeffs = theirs.as_ref().to_vec();
            theirs.coset_fft(&worker, &mut None).expect("no GPU takes part");
            for arithmetic in arithmetics() {
                let domain = Domain::new(arithmetic, log_n);
                let ours = domain.intt(Evals(values.clone()), Fr::ONE);
                assert_eq!(ours.clone().into_natural(), coeffs);
                assert_eq!(domain.coset_ntt(ours).into_natural(), theirs.as_ref());
            }
        }
    }
}
