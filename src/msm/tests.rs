//! Every sum on every engine against the naive version, on random and on hostile input.

use std::sync::Arc;

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};
use ec_gpu_gen::multiexp_cpu::{FullDensity, multiexp_cpu};
use ec_gpu_gen::threadpool::Worker;
use ff::{Field, PrimeField};
use group::Group as _;
use group::prime::PrimeCurveAffine;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::field::{Fr, Ifma};

const SEED: u64 = 0x5eed_0004;

fn engines() -> Vec<Arithmetic> {
    let mut engines = vec![Arithmetic::Portable];
    engines.extend(Ifma::detect().map(Arithmetic::Vector));
    engines
}

/// What a test needs of a group beside the sums.
trait TestGroup: Group {
    fn bytes(point: &Self::Affine) -> Vec<u8>;
}

impl TestGroup for G1 {
    fn bytes(point: &G1Affine) -> Vec<u8> {
        point.to_uncompressed().to_vec()
    }
}

impl TestGroup for G2 {
    fn bytes(point: &G2Affine) -> Vec<u8> {
        point.to_uncompressed().to_vec()
    }
}

fn file_bytes<C: TestGroup>(points: &[C::Affine]) -> Vec<u8> {
    points.iter().flat_map(C::bytes).collect()
}

/// Points with equal, opposite and infinite ones planted: next to each other, and far apart.
fn hostile_points<C: TestGroup>(count: usize, rng: &mut ChaCha8Rng) -> Vec<C::Affine> {
    let mut points: Vec<C::Affine> = Vec::with_capacity(count);
    for index in 0..count {
        let earlier = if index == 0 { 0 } else { rng.gen_range(0..index) };
        let point = match rng.gen_range(0..10) {
            0 if index > 0 => points[index - 1],
            1 if index > 0 => -points[index - 1],
            2 if index > 0 => points[earlier],
            3 if index > 0 => -points[earlier],
            4 => C::Affine::identity(),
            _ => group::Curve::to_affine(&C::Projective::random(&mut *rng)),
        };
        points.push(point);
    }
    points
}

fn hostile_scalar(rng: &mut ChaCha8Rng) -> Fr {
    let half = Fr::from(2).invert().expect("2 is invertible");
    match rng.gen_range(0..12) {
        0 => Fr::ZERO,
        1 => Fr::ONE,
        2 => -Fr::ONE,
        3 => half,
        4 => -half,
        5 => Fr::from(rng.next_u64()),
        6 => -Fr::from(rng.next_u64()),
        7 => Fr::from(2).pow_vartime([rng.gen_range(0..255)]),
        _ => Fr::random(rng),
    }
}

fn check_dense<C: TestGroup>(points: &[C::Affine], scalars: &[Fr], window: Window) {
    let bytes = file_bytes::<C>(points);
    let bases = Bases::<C>::new(&bytes).expect("whole points");
    let expected = naive::dense_sum::<C>(points, scalars);
    for engine in engines() {
        let sum = engine.dense_sum(bases, scalars, window).expect("points decode");
        assert_eq!(sum, expected, "{engine:?}, {} points, window {window}", points.len());
    }
}

fn dense_on_hostile_input<C: TestGroup>(sizes: &[usize]) {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for &size in sizes {
        let points = hostile_points::<C>(size, &mut rng);
        let scalars: Vec<Fr> = (0..size).map(|_| hostile_scalar(&mut rng)).collect();
        check_dense::<C>(&points, &scalars, Window::Auto);
    }
}

#[test]
fn dense_sums_in_g1_equal_the_naive_sum_on_hostile_input() {
    dense_on_hostile_input::<G1>(&[0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1025]);
}

#[test]
fn dense_sums_in_g2_equal_the_naive_sum_on_hostile_input() {
    dense_on_hostile_input::<G2>(&[0, 1, 2, 3, 8, 9, 63, 64, 65, 300]);
}

#[test]
fn every_window_width_gives_the_same_sum() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let points = hostile_points::<G1>(40, &mut rng);
    let scalars: Vec<Fr> = (0..40).map(|_| hostile_scalar(&mut rng)).collect();
    for bits in 2..=16 {
        check_dense::<G1>(&points, &scalars, Window::Bits(WindowBits::new(bits).expect("range")));
    }
}

#[test]
fn dense_sums_survive_one_scalar_and_one_point_everywhere() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let half = Fr::from(2).invert().expect("2 is invertible");
    let point: G1Affine = G1Projective::random(&mut rng).into();
    let mixed = hostile_points::<G1>(600, &mut rng);
    for scalar in [Fr::ZERO, Fr::ONE, -Fr::ONE, half, -half, Fr::random(&mut rng)] {
        check_dense::<G1>(&mixed, &[scalar; 600], Window::Auto);
        check_dense::<G1>(&[point; 600], &[scalar; 600], Window::Auto);
        check_dense::<G1>(&[G1Affine::identity(); 600], &[scalar; 600], Window::Auto);
    }
}

#[test]
fn dense_sums_equal_blsts_own_and_ec_gpu_gens() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let count = (1 << 12) + 1;
    let projective: Vec<G1Projective> =
        (0..count).map(|_| G1Projective::random(&mut rng)).collect();
    let points: Vec<G1Affine> = projective.iter().map(G1Affine::from).collect();
    let scalars: Vec<Fr> = (0..count).map(|_| Fr::random(&mut rng)).collect();
    let expected = G1Projective::multi_exp(&projective, &scalars);
    let theirs = (Arc::new(points.clone()), 0);
    let exponents = Arc::new(scalars.iter().map(Fr::to_repr).collect::<Vec<_>>());
    let theirs = multiexp_cpu(&Worker::new(), theirs, FullDensity, exponents).wait();
    assert_eq!(theirs.expect("bases for all exponents"), expected);
    let bytes = file_bytes::<G1>(&points);
    let bases = Bases::<G1>::new(&bytes).expect("whole points");
    for engine in engines() {
        let sum = engine.dense_sum(bases, &scalars, Window::Auto).expect("points decode");
        assert_eq!(sum, expected, "{engine:?}");
    }
}

/// Runs that skip bases and bits, and the packed bits of some partitions.
fn runs_and_bits(
    bases: usize,
    partitions: usize,
    rng: &mut ChaCha8Rng,
    word: impl Fn(&mut ChaCha8Rng) -> u64,
) -> (Vec<BitRun>, Vec<Vec<u64>>) {
    let (mut base_start, mut bit_start) = (0, 0);
    let mut runs = Vec::new();
    while base_start < bases {
        let len = rng.gen_range(1..200).min(bases - base_start);
        runs.push(BitRun { base_start, bit_start, len });
        base_start += len + rng.gen_range(0..3);
        bit_start += len + rng.gen_range(0..70);
    }
    let words = (bit_start + 64).div_ceil(64);
    let bits = (0..partitions).map(|_| (0..words).map(|_| word(rng)).collect()).collect();
    (runs, bits)
}

fn check_bits<C: TestGroup>(
    points: &[C::Affine],
    (runs, bits): &(Vec<BitRun>, Vec<Vec<u64>>),
    what: &str,
) {
    let bytes = file_bytes::<C>(points);
    let bases = Bases::<C>::new(&bytes).expect("whole points");
    let partitions: Vec<&[u64]> = bits.iter().map(Vec::as_slice).collect();
    let expected: Vec<C::Projective> =
        partitions.iter().map(|bits| naive::bit_sum::<C>(points, runs, bits)).collect();
    for engine in engines() {
        let sums = engine.bit_sums(bases, runs, &partitions).expect("points decode");
        assert_eq!(sums, expected, "{engine:?}, {what}");
    }
}

#[test]
fn bit_sums_equal_the_naive_sums_for_any_group_and_spread_of_bits() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for count in [0, 1, 63, 64, 65, 3000] {
        let points = hostile_points::<G1>(count, &mut rng);
        for partitions in [0, 1, 2, 9, 10] {
            let random = runs_and_bits(count, partitions, &mut rng, |rng| rng.next_u64());
            check_bits::<G1>(&points, &random, "random bits");
            let ones = runs_and_bits(count, partitions, &mut rng, |_| u64::MAX);
            check_bits::<G1>(&points, &ones, "all ones");
            let zeros = runs_and_bits(count, partitions, &mut rng, |_| 0);
            check_bits::<G1>(&points, &zeros, "all zeros");
        }
    }
}

#[test]
fn bit_sums_in_g2_equal_the_naive_sums() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let points = hostile_points::<G2>(700, &mut rng);
    for partitions in [1, 10] {
        let random = runs_and_bits(700, partitions, &mut rng, |rng| rng.next_u64());
        check_bits::<G2>(&points, &random, "random bits");
        let ones = runs_and_bits(700, partitions, &mut rng, |_| u64::MAX);
        check_bits::<G2>(&points, &ones, "all ones");
    }
}

#[test]
fn one_bucket_with_more_points_than_a_block_sums_right() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let few = hostile_points::<G1>(97, &mut rng);
    let points: Vec<G1Affine> = (0..30_000).map(|index| few[index * index % 97]).collect();
    let ones = runs_and_bits(points.len(), 1, &mut rng, |_| u64::MAX);
    check_bits::<G1>(&points, &ones, "all ones, one partition");
}

#[test]
fn tail_sums_equal_the_naive_sums() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let points = hostile_points::<G1>(500, &mut rng);
    let bytes = file_bytes::<G1>(&points);
    let bases = Bases::<G1>::new(&bytes).expect("whole points");
    let scalars: Vec<Vec<Fr>> =
        (0..3).map(|_| (0..400).map(|_| hostile_scalar(&mut rng)).collect()).collect();
    let partitions: Vec<&[Fr]> = scalars.iter().map(Vec::as_slice).collect();
    let terms: Vec<TailTerm> = (0..321)
        .map(|_| TailTerm { base: rng.gen_range(0..500), full: rng.gen_range(0..400) })
        .collect();
    let expected: Vec<G1Projective> =
        partitions.iter().map(|full| naive::tail_sum::<G1>(&points, &terms, full)).collect();
    for engine in engines() {
        let sums = engine.tail_sums(bases, &terms, &partitions, Window::Auto).expect("decode");
        assert_eq!(sums, expected, "{engine:?}");
    }
}

#[test]
fn bytes_that_are_no_uncompressed_point_are_named() {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let points: Vec<G2Affine> = (0..20).map(|_| G2Projective::random(&mut rng).into()).collect();
    let bytes = file_bytes::<G2>(&points);
    let sum = |bytes: &[u8], engine: Arithmetic| {
        engine.dense_sum(Bases::<G2>::new(bytes)?, &[Fr::ONE; 20], Window::Auto)
    };
    for engine in engines() {
        let error = sum(&bytes[1..], engine).expect_err("a byte is missing");
        assert_eq!(error, BasesError::Length { bytes: 20 * 192 - 1, point_bytes: 192 });
        for (byte, expected) in [
            (0x80, BasesError::Flags { index: 13, flags: 0x80 }),
            (0x40, BasesError::Flags { index: 13, flags: 0x40 }),
            (0x1f, BasesError::Coordinate { index: 13 }),
        ] {
            let mut broken = bytes.clone();
            broken[13 * 192] = byte;
            broken[13 * 192 + 1] = 0xff;
            assert_eq!(sum(&broken, engine).expect_err("a broken point"), expected);
        }
        let mut broken = bytes.clone();
        broken[7 * 192 + 144..][..48].fill(0x1f);
        assert_eq!(
            sum(&broken, engine).expect_err("y.c0 is too large"),
            BasesError::Coordinate { index: 7 }
        );
    }
}
