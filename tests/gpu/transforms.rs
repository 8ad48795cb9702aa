//! Transforms and the quotient polynomial.

use blstrs::Scalar;
use ff::Field;
use prove::gpu::ntt::{self, Direction, Domain, Ntt, Options, Quotient, Twiddles, WantedRows};
use prove::gpu::{DeviceBuffer, Gpu, bench};
use rayon::prelude::*;

use super::{bit_reversed, evaluate, gpu, log_sizes, rng};

/// Forward transforms against evaluation at some places, and the inverse back to the start.
fn check_transform(gpu: &Gpu, log_n: u32, domain: Domain, twiddles: Twiddles) {
    let n = 1usize << log_n;
    let mut coefficients = bench::random_scalars(u64::from(log_n), n);
    for (i, hostile) in [Scalar::ZERO, -Scalar::ONE, Scalar::ONE].into_iter().enumerate() {
        if i < n {
            coefficients[n - 1 - i] = hostile;
        }
    }
    let input = bit_reversed(&coefficients);
    let data = DeviceBuffer::from_host(gpu, &input).expect("memory");
    let out = DeviceBuffer::new(gpu, n).expect("memory");
    let canonical = Options { canonical: true, ..Options::default() };
    let forward = Ntt::new(gpu, log_n, Direction::Forward, domain, twiddles).expect("memory");
    forward.run(out.as_slice(), data.as_slice(), canonical).expect("launch");
    let evaluations = out.to_host().expect("copy");
    let omega = ntt::root_of_unity(log_n);
    let shift = match domain {
        Domain::Roots => Scalar::ONE,
        Domain::OddCoset => ntt::root_of_unity(log_n + 1),
    };
    let step = (n / 24).max(1);
    (0..n).into_par_iter().step_by(step).chain([n - 1]).for_each(|j| {
        let x = shift * omega.pow_vartime([j as u64]);
        assert_eq!(evaluations[j], evaluate(&coefficients, x), "2^{log_n} {domain:?} at {j}");
    });
    let inverse = Ntt::new(gpu, log_n, Direction::Inverse, domain, twiddles).expect("memory");
    inverse.run(out.as_slice(), out.as_slice(), canonical).expect("launch");
    assert!(out.to_host().expect("copy") == input, "inverse of 2^{log_n} {domain:?}");
}

/// The quotient's identity at a random place, with A, B and C = A B on the roots by the
/// barycentric formula; in three arrays and in two, with either kind of twiddles.
fn check_quotient(gpu: &Gpu, log_n: u32) {
    let n = 1usize << log_n;
    let (a, b) = (bench::random_scalars(31, n), bench::random_scalars(32, n));
    let device = [&a, &b].map(|values| DeviceBuffer::from_host(gpu, values).expect("memory"));
    let h = DeviceBuffer::new(gpu, n).expect("memory");
    let quotient = Quotient::new(gpu, log_n, Twiddles::Stored).expect("memory");
    quotient.run(h.as_slice(), device[0].as_slice(), device[1].as_slice()).expect("launch");
    let h = h.to_host().expect("copy");
    for twiddles in [Twiddles::Stored, Twiddles::Composed] {
        let quotient = Quotient::new(gpu, log_n, twiddles).expect("memory");
        let [to_a, to_b] = [0, 1].map(|i| device[i].as_slice());
        let fill = |wanted: WantedRows<'_>| match wanted {
            WantedRows::Factors(to_a, to_b) => {
                to_a.copy_from_host(&a)?;
                to_b.copy_from_host(&b)
            }
            WantedRows::Product(to_c) => {
                let product: Vec<Scalar> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
                to_c.copy_from_host(&product)
            }
        };
        quotient.run_in_two(to_a, to_b, fill).expect("launch");
        assert!(device[1].to_host().expect("copy") == h, "2^{log_n} in two arrays, {twiddles:?}");
    }
    let h = bit_reversed(&h);
    assert_eq!(h[n - 1], Scalar::ZERO, "the last coefficient");
    let x = Scalar::random(rng(33));
    let omega = ntt::root_of_unity(log_n);
    let vanishing = x.pow_vartime([n as u64]) - Scalar::ONE;
    let mut at_x = [Scalar::ZERO; 3];
    let mut root = Scalar::ONE;
    for j in 0..n {
        let weight = root * (x - root).invert().expect("x is no root of unity");
        at_x[0] += a[j] * weight;
        at_x[1] += b[j] * weight;
        at_x[2] += a[j] * b[j] * weight;
        root *= omega;
    }
    let scale = vanishing * Scalar::from(n as u64).invert().expect("n is not zero");
    let [a, b, c] = at_x.map(|sum| sum * scale);
    assert_eq!(evaluate(&h, x) * vanishing, a * b - c, "2^{log_n}");
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_transforms_evaluate_polynomials() {
    let gpu = gpu();
    for log_n in 1..=12 {
        for twiddles in [Twiddles::Stored, Twiddles::Composed] {
            check_transform(&gpu, log_n, Domain::Roots, twiddles);
            check_transform(&gpu, log_n, Domain::OddCoset, twiddles);
        }
        check_quotient(&gpu, log_n);
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_transforms_evaluate_polynomials() {
    let gpu = gpu();
    for log_n in 13..=22 {
        for twiddles in [Twiddles::Stored, Twiddles::Composed] {
            check_transform(&gpu, log_n, Domain::Roots, twiddles);
            check_transform(&gpu, log_n, Domain::OddCoset, twiddles);
        }
    }
    check_quotient(&gpu, 14);
    check_quotient(&gpu, 18);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_ntt() {
    let gpu = gpu();
    println!("{:?}", gpu.info());
    for log_n in log_sizes() {
        for twiddles in [Twiddles::Stored, Twiddles::Composed] {
            let times = bench::ntt(&gpu, log_n, twiddles, 5).expect("bench");
            println!("ntt 2^{log_n}, {twiddles:?}: {times:?}");
        }
    }
}
