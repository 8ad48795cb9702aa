//! Every kernel against a CPU reference, and the stages' times, on a GPU.
//!
//! All tests are ignored where there may be no GPU; `make gpu-test-build` packs this executable
//! with a script that runs them on one. Names start with `small` (up to 2^12, also under
//! compute-sanitizer), `large`, or `time`.
#![expect(clippy::print_stdout, reason = "seeds and times are the output")]

mod kernels;
#[path = "gpu/rows.rs"]
mod rows;
#[path = "gpu/setup.rs"]
mod setup;
#[path = "gpu/sums.rs"]
mod sums;
#[path = "gpu/transforms.rs"]
mod transforms;

use blstrs::{Fp, Fp2, G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::prime::PrimeCurveAffine;
use group::{Curve as _, Group};
use kernels::{KernelField, operand_rows, rng};
use prove::gpu::generated::{GeneratedCurve, GeneratedMsm, GeneratedNtt};
use prove::gpu::msm::{Msm, MsmVariant, ScalarOrder, WINDOW_BITS_MAX};
use prove::gpu::ntt::{self, NttVariant};
use prove::gpu::{
    Curve, DeviceBuffer, DeviceData, FieldVariant, G1, G2, Gpu, GpuError, bench, check_field,
    points,
};
use prove::msm::{Window, WindowBits};
use rand::Rng;
use rayon::prelude::*;

/// The first GPU, with the embedded kernels or those of the file that `GPU_FATBIN` names.
fn gpu() -> Gpu {
    let opened = match std::env::var_os("GPU_FATBIN") {
        Some(path) => Gpu::open_with(0, &std::fs::read(path).expect("a fatbin")),
        None => Gpu::open(0),
    };
    opened.expect("these tests are run where there is a GPU")
}

/// Milliseconds of `work` on the device: the median of `repeats` runs after one that warms up.
fn median_ms(gpu: &Gpu, repeats: usize, mut work: impl FnMut() -> Result<(), GpuError>) -> f64 {
    let mut times: Vec<f64> = (0..=repeats)
        .map(|_| {
            let timer = gpu.timer().expect("a timer");
            work().expect("launch");
            timer.stop_ms().expect("the work")
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn reverse(i: usize, log_n: u32) -> usize {
    if log_n == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - log_n) }
}

fn bit_reversed<T: Copy>(values: &[T]) -> Vec<T> {
    let log_n = values.len().ilog2();
    (0..values.len()).map(|i| values[reverse(i, log_n)]).collect()
}

fn evaluate(coefficients: &[Scalar], x: Scalar) -> Scalar {
    coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c)
}

// ---- field ----

fn check_field_on_device<F: KernelField + DeviceData>(seed: u64) {
    let gpu = gpu();
    let (given, reference) = operand_rows::<F>(seed, 1500);
    let input = DeviceBuffer::from_host(&gpu, given.as_flattened()).expect("memory");
    let out = DeviceBuffer::new(&gpu, given.len()).expect("memory");
    for &operation in F::OPERATIONS {
        check_field(&gpu, out.as_slice(), input.as_slice(), operation).expect("launch");
        for (i, value) in out.to_host().expect("copy").iter().enumerate() {
            let expected = F::reference(operation, &reference[i]);
            assert_eq!(value.to_bytes(), expected.to_bytes(), "{operation:?} of {:?}", given[i]);
        }
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_fr_operations_agree_with_blst() {
    check_field_on_device::<Scalar>(11);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_fp_operations_agree_with_blst() {
    check_field_on_device::<Fp>(12);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_fp2_operations_agree_with_blst() {
    check_field_on_device::<Fp2>(13);
}

// ---- points ----

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_points_decode_and_bad_points_are_named() {
    let gpu = gpu();
    let mut rng = rng(21);
    let mut list: Vec<G1Affine> =
        (0..1000).map(|_| G1Projective::random(&mut rng).to_affine()).collect();
    list[7] = G1Affine::identity();
    let mut bytes: Vec<u8> = list.iter().flat_map(|p| p.to_uncompressed()).collect();
    let out = DeviceBuffer::new(&gpu, list.len()).expect("memory");
    let decode = |bytes: &[u8]| {
        let device = DeviceBuffer::from_host(&gpu, bytes)?;
        points::decode::<G1>(&gpu, out.as_slice(), device.as_slice())
    };
    decode(&bytes).expect("good points");
    assert_eq!(out.to_host().expect("copy"), list);
    for (byte, flip) in [(96 * 500 + 95, 1), (96 * 500, 0x80), (96 * 500 + 48, 0x40)] {
        bytes[byte] ^= flip;
        let error = decode(&bytes).expect_err("a bad point");
        assert!(matches!(error, GpuError::BadPoint { index: 500 }), "{error:?}");
        bytes[byte] ^= flip;
    }
    let list: Vec<G2Affine> =
        (0..300).map(|_| G2Projective::random(&mut rng).to_affine()).collect();
    let bytes: Vec<u8> = list.iter().flat_map(|p| p.to_uncompressed()).collect();
    let out = DeviceBuffer::new(&gpu, list.len()).expect("memory");
    let device = DeviceBuffer::from_host(&gpu, &bytes).expect("memory");
    points::decode::<G2>(&gpu, out.as_slice(), device.as_slice()).expect("good points");
    assert_eq!(out.to_host().expect("copy"), list);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_multiples_are_consecutive() {
    let gpu = gpu();
    let out = DeviceBuffer::new(&gpu, 1003).expect("memory");
    points::multiples(&gpu, out.as_slice(), &G1Affine::generator(), 0).expect("launch");
    let mut expected = G1Projective::identity();
    for (i, point) in out.to_host().expect("copy").iter().enumerate() {
        assert_eq!(*point, expected.to_affine(), "multiple {i}");
        expected += G1Projective::generator();
    }
}

// ---- MSM ----

/// Points that an incomplete addition gets wrong, then distinct ones; and which multiples of the
/// generator they are.
fn hostile_multiples<P: Group>(n: usize) -> (Vec<P>, Vec<Scalar>) {
    let base = P::generator();
    let mut next = (base, Scalar::ONE);
    (0..n)
        .map(|i| match i % 16 {
            1 | 2 => (base, Scalar::ONE),
            3 => (-base, -Scalar::ONE),
            4 => (P::identity(), Scalar::ZERO),
            _ => {
                next.0 += base;
                next.1 += Scalar::ONE;
                next
            }
        })
        .unzip()
}

fn hostile_points<P: Group>(n: usize) -> Vec<P> {
    hostile_multiples(n).0
}

/// The sum of products of points whose multiples of the generator are known.
fn known_sum<P: Group<Scalar = Scalar>>(multiples: &[Scalar], scalars: &[Scalar]) -> P {
    P::generator() * multiples.iter().zip(scalars).map(|(m, s)| m * s).sum::<Scalar>()
}

/// Scalars at the borders of folding and of every window, then uniform ones.
fn hostile_scalars(n: usize, rng: &mut impl Rng) -> Vec<Scalar> {
    let half = Scalar::from(2).invert().expect("two is not zero");
    let power = |bits: u64| Scalar::from(2).pow_vartime([bits]);
    let fixed = [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, half, half - Scalar::ONE, power(254)];
    (0..n)
        .map(|i| match i % 8 {
            0 => fixed[i / 8 % fixed.len()],
            1 => power(rng.gen_range(0..255)) - Scalar::from(rng.gen_range(0..2)),
            2 => Scalar::ONE,
            _ => Scalar::random(&mut *rng),
        })
        .collect()
}

/// One sum against blst's own, in both scalar orders where there is a reversed one.
fn check_msm<C: Curve>(
    gpu: &Gpu,
    affine: &[C::Affine],
    scalars: &[Scalar],
    expected: &C::Projective,
    what: &str,
) {
    let points = DeviceBuffer::from_host(gpu, affine).expect("memory");
    let natural = DeviceBuffer::from_host(gpu, scalars).expect("memory");
    let n = affine.len();
    let msm = Msm::<C>::new(gpu, n, Window::Auto).expect("memory");
    let sum = msm.run(points.as_slice(), natural.as_slice(), ScalarOrder::Natural).expect("run");
    assert_eq!(sum, *expected, "{n} points, {what}");
    let rounds = Msm::<C>::with_rounds(gpu, n, Window::Auto).expect("memory");
    let sum = rounds.run(points.as_slice(), natural.as_slice(), ScalarOrder::Natural).expect("run");
    assert_eq!(sum, *expected, "{n} points, {what}, in rounds");
    if n.is_power_of_two() {
        let reversed = DeviceBuffer::from_host(gpu, &bit_reversed(scalars)).expect("memory");
        let order = ScalarOrder::BitReversed;
        let sum = msm.run(points.as_slice(), reversed.as_slice(), order).expect("run");
        assert_eq!(sum, *expected, "{n} points, {what}, reversed");
    }
}

/// Scalar vectors for one size: mixed, all zero, all one, all equal, bits, and a ramp.
fn scalar_cases(n: usize, rng: &mut impl Rng) -> Vec<(&'static str, Vec<Scalar>)> {
    let equal = Scalar::random(&mut *rng);
    vec![
        ("mixed", hostile_scalars(n, rng)),
        ("zeros", vec![Scalar::ZERO; n]),
        ("ones", vec![Scalar::ONE; n]),
        ("equal", vec![equal; n]),
        ("bits", (0..n).map(|_| Scalar::from(rng.gen_range(0..2))).collect()),
        ("ramp", (0..n).map(|i| Scalar::from(i as u64)).collect()),
    ]
}

macro_rules! check_sizes {
    ($gpu:expr, $curve:ty, $affine:ty, $projective:ty, $sizes:expr, $seed:expr) => {
        let mut rng = rng($seed);
        for n in $sizes {
            let (projective, multiples): (Vec<$projective>, _) = hostile_multiples(n);
            let mut affine = vec![<$affine>::identity(); n];
            <$projective>::batch_normalize(&projective, &mut affine);
            for (what, scalars) in scalar_cases(n, &mut rng) {
                let expected: $projective = known_sum(&multiples, &scalars);
                check_msm::<$curve>($gpu, &affine, &scalars, &expected, what);
            }
        }
    };
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_g1_sums_agree_with_blst() {
    let sizes = [0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4097];
    check_sizes!(&gpu(), G1, G1Affine, G1Projective, sizes, 41);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_g2_sums_agree_with_blst() {
    let sizes = [0, 1, 2, 33, 256, 1025];
    check_sizes!(&gpu(), G2, G2Affine, G2Projective, sizes, 42);
}

/// Points of which every pair of a kind is one that a slope cannot be had for in the common way.
fn exceptional_points<P: Group>(n: usize) -> Vec<(&'static str, Vec<P>)> {
    let base = P::generator();
    let of = |point: &dyn Fn(usize) -> P| (0..n).map(point).collect();
    vec![
        ("equal", of(&|_| base)),
        ("opposite in turn", of(&|i| if i % 2 == 0 { base } else { -base })),
        ("opposite halves", of(&|i| if i < n / 2 { base } else { -base })),
        ("identities", of(&|_| P::identity())),
        ("every other an identity", of(&|i| if i % 2 == 0 { base } else { P::identity() })),
    ]
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_sums_of_exceptional_points_agree_with_blst() {
    let gpu = gpu();
    let mut rng = rng(46);
    for n in [2, 64, 1025, 3000] {
        for (points_are, points) in exceptional_points::<G1Projective>(n) {
            let mut affine = vec![G1Affine::identity(); n];
            G1Projective::batch_normalize(&points, &mut affine);
            for (scalars_are, scalars) in scalar_cases(n, &mut rng) {
                let expected = points.par_iter().zip(&scalars).map(|(p, s)| p * s).sum();
                let what = format!("{points_are}, {scalars_are}");
                check_msm::<G1>(&gpu, &affine, &scalars, &expected, &what);
            }
        }
    }
}

/// Every width of the first window, with and without rounds of pairs.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_windows_of_every_width_agree_with_blst() {
    let gpu = gpu();
    let n = 3000;
    let points = hostile_points::<G1Projective>(n);
    let mut affine = vec![G1Affine::identity(); n];
    G1Projective::batch_normalize(&points, &mut affine);
    let scalars = hostile_scalars(n, &mut rng(48));
    let expected: G1Projective = points.par_iter().zip(&scalars).map(|(p, s)| p * s).sum();
    let points = DeviceBuffer::from_host(&gpu, &affine).expect("memory");
    let scalars = DeviceBuffer::from_host(&gpu, &scalars).expect("memory");
    for bits in Window::BITS_MIN..=WINDOW_BITS_MAX {
        let window = Window::Bits(WindowBits::new(bits).expect("in range"));
        for build in [Msm::<G1>::new, Msm::<G1>::with_rounds] {
            let msm = build(&gpu, n, window).expect("memory");
            let order = ScalarOrder::Natural;
            let sum = msm.run(points.as_slice(), scalars.as_slice(), order).expect("run");
            assert_eq!(sum, expected, "windows of {bits} bits");
        }
    }
}

/// One `Msm` for all sizes up to its own, and the memory it takes.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_sums_reuse_the_memory_of_a_larger_one() {
    let gpu = gpu();
    let n = (1 << 18) + 3;
    let before = gpu.used_bytes();
    let msm = Msm::<G1>::new(&gpu, n, Window::Auto).expect("memory");
    assert_eq!(gpu.used_bytes() - before, Msm::<G1>::bytes(n, Window::Auto), "the planned bytes");
    let points = DeviceBuffer::new(&gpu, n).expect("memory");
    points::multiples(&gpu, points.as_slice(), &G1Affine::generator(), 1).expect("launch");
    let scalars = hostile_scalars(n, &mut rng(47));
    let device = DeviceBuffer::from_host(&gpu, &scalars).expect("memory");
    for size in [n, n - 1, 1 << 17, 70_001, 4096, 33, 1, 0] {
        let sum = msm
            .run(
                points.as_slice().slice(0..size),
                device.as_slice().slice(0..size),
                ScalarOrder::Natural,
            )
            .expect("run");
        let weights = scalars[..size].iter().zip(1u64..).map(|(s, i)| *s * Scalar::from(i));
        let expected = G1Projective::generator() * weights.sum::<Scalar>();
        assert_eq!(sum, expected, "{size} of {n}");
    }
}

/// One sum a curve, with every kernel and most digits zero: what racecheck has time for.
#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_single_sums_agree_with_blst() {
    let gpu = gpu();
    let mut rng = rng(45);
    let scalars: Vec<Scalar> = (0..256).map(|_| Scalar::from(rng.gen_range(0..1 << 24))).collect();
    let (points, multiples) = hostile_multiples::<G1Projective>(256);
    let mut affine = vec![G1Affine::identity(); 256];
    G1Projective::batch_normalize(&points, &mut affine);
    check_msm::<G1>(&gpu, &affine, &scalars, &known_sum(&multiples, &scalars), "short");
    let (points, multiples) = hostile_multiples::<G2Projective>(33);
    let mut affine = vec![G2Affine::identity(); 33];
    G2Projective::batch_normalize(&points, &mut affine);
    check_msm::<G2>(&gpu, &affine, &scalars[..33], &known_sum(&multiples, &scalars), "short");
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_sums_agree_with_blst() {
    let gpu = gpu();
    check_sizes!(&gpu, G1, G1Affine, G1Projective, [(1 << 16) + 1, 1 << 18], 43);
    check_sizes!(&gpu, G2, G2Affine, G2Projective, [(1 << 14) - 1], 44);
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_gathered_points_are_the_named_ones() {
    let gpu = gpu();
    let mut list = vec![G2Affine::identity(); 100];
    G2Projective::batch_normalize(&hostile_points::<G2Projective>(100), &mut list);
    let indices: Vec<u32> = (0..257).map(|i| i * 31 % 100).collect();
    let out = DeviceBuffer::new(&gpu, indices.len()).expect("memory");
    let input = DeviceBuffer::from_host(&gpu, &list).expect("memory");
    let device = DeviceBuffer::from_host(&gpu, &indices).expect("memory");
    points::gather::<G2>(&gpu, out.as_slice(), input.as_slice(), device.as_slice())
        .expect("launch");
    let expected: Vec<G2Affine> = indices.iter().map(|&i| list[i as usize]).collect();
    assert_eq!(out.to_host().expect("copy"), expected);
}

// ---- ec-gpu-gen's kernels ----

/// Hostile points without identities, which ec-gpu-gen's kernels do not know.
fn finite_points<P: Group>(n: usize) -> Vec<P> {
    let mut points = hostile_points::<P>(n);
    points.retain(|point| !bool::from(point.is_identity()));
    points
}

fn check_generated_msm<C: GeneratedCurve>(
    gpu: &Gpu,
    points: &[C::Projective],
    affine: &[C::Affine],
) {
    let scalars = hostile_scalars(points.len(), &mut rng(61));
    let expected: C::Projective = points.iter().zip(&scalars).map(|(p, s)| *p * s).sum();
    let bytes: Vec<u8> = scalars.iter().flat_map(|scalar| scalar.to_bytes_le()).collect();
    let bytes = DeviceBuffer::from_host(gpu, &bytes).expect("memory");
    let bases = DeviceBuffer::from_host(gpu, affine).expect("memory");
    let sum = GeneratedMsm::<C>::new(gpu)
        .expect("load")
        .run(bases.as_slice(), bytes.as_slice())
        .expect("run");
    assert_eq!(sum, expected, "{} points", points.len());
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_generated_kernels_agree_with_blst() {
    let gpu = gpu();
    for log_n in [1, 2, 7, 8, 9, 12, 17] {
        let coefficients = bench::random_scalars(62, 1 << log_n);
        let omega = ntt::root_of_unity(log_n);
        let data = DeviceBuffer::from_host(&gpu, &coefficients).expect("memory");
        let scratch = DeviceBuffer::new(&gpu, coefficients.len()).expect("memory");
        let transform = GeneratedNtt::new(&gpu, log_n, omega).expect("memory");
        transform.run(data.as_slice(), scratch.as_slice()).expect("launch");
        let evaluations = data.to_host().expect("copy");
        for j in (0..evaluations.len()).step_by((evaluations.len() / 16).max(1)) {
            let expected = evaluate(&coefficients, omega.pow_vartime([j as u64]));
            assert_eq!(evaluations[j], expected, "2^{log_n} at {j}");
        }
    }
    for n in [1, 2, 1000] {
        let points: Vec<G1Projective> = finite_points(2 * n);
        let mut affine = vec![G1Affine::identity(); points.len()];
        G1Projective::batch_normalize(&points, &mut affine);
        check_generated_msm::<G1>(&gpu, &points, &affine);
        let points: Vec<G2Projective> = finite_points(2 * n);
        let mut affine = vec![G2Affine::identity(); points.len()];
        G2Projective::batch_normalize(&points, &mut affine);
        check_generated_msm::<G2>(&gpu, &points, &affine);
    }
}

// ---- times ----

/// Sizes from the environment of the run, as log2: `GPU_LOG_SIZES=20,22,24`.
fn log_sizes() -> Vec<u32> {
    let text = std::env::var("GPU_LOG_SIZES").unwrap_or_else(|_| "20,22".into());
    text.split(',').map(|size| size.parse().expect("log2 of a size")).collect()
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_msm() {
    let gpu = gpu();
    for log_n in log_sizes() {
        let result = bench::msm(&gpu, 1 << log_n, 3).expect("bench");
        println!("msm 2^{log_n}: {result:?}");
        assert!(result.correct, "2^{log_n}");
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_bits() {
    let gpu = gpu();
    for log_n in log_sizes() {
        for (partitions, density) in [(10, 0.5), (1, 0.5), (10, 0.0), (10, 1.0)] {
            let result = bench::bits(&gpu, 1 << log_n, partitions, density, 3).expect("bench");
            println!("bits 2^{log_n} x {partitions} at {density}: {result:?}");
            assert!(result.correct, "2^{log_n}");
        }
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_generated() {
    let gpu = gpu();
    for log_n in log_sizes() {
        let ntt = bench::TransformBench::new(&gpu, log_n, NttVariant::Generated).expect("bench");
        let ntt_ms = ntt.run_ms().expect("a transform");
        drop(ntt);
        let msm = bench::SumBench::new(&gpu, 1 << log_n, MsmVariant::Generated, Window::Auto)
            .expect("bench");
        let msm_ms = msm.run_ms().expect("the right sum");
        println!("generated 2^{log_n}: ntt {ntt_ms:.2} ms, msm {msm_ms:.2} ms");
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_fields() {
    let wide = gpu();
    let generated = wide.with_field(FieldVariant::Generated).expect("a second image");
    for (name, gpu) in [("wide", &wide), ("generated", &generated)] {
        const LOG_N: u32 = 32;
        let rate = |ms: f64| f64::from(LOG_N).exp2() / ms / 1e6;
        let fr = bench::FieldBench::<Scalar>::new(gpu, LOG_N).expect("bench").run_ms();
        let fp = bench::FieldBench::<Fp>::new(gpu, LOG_N).expect("bench").run_ms();
        let (fr, fp) = (rate(fr.expect("right products")), rate(fp.expect("right products")));
        println!("field={name}: Fr {fr:.1}, Fp {fp:.1} G products/s");
    }
}
