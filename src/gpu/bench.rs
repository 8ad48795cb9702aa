//! Measurements of the stages on the device: warm, by events, the median of several.

use blstrs::{G1Affine, G1Projective, Scalar};
use ff::Field;
use group::Group;
use group::prime::PrimeCurveAffine;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::generated::{self, GeneratedNtt};
use super::msm::{BitSums, Msm, MsmTimes, ScalarOrder};
use super::ntt::{Direction, Domain, Ntt, Options, Quotient, root_of_unity};
use super::{DeviceBuffer, DeviceData, G1, Gpu, GpuError, QueryBits, points};

/// Elements that one seed of [`random_scalars`] makes.
const SEED_BLOCK: usize = 1 << 14;

/// `n` scalars below 2^254 in Montgomery form, uniform, the same for one seed.
pub fn random_scalars(seed: u64, n: usize) -> Vec<Scalar> {
    let mut scalars = vec![Scalar::ZERO; n];
    scalars.par_chunks_mut(SEED_BLOCK).enumerate().for_each(|(block, chunk)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(block as u64);
        for scalar in chunk {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            bytes[31] &= 0x3f;
            *scalar = <Scalar as DeviceData>::from_bytes(&bytes);
        }
    });
    scalars
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Times of the transforms of one size.
#[derive(Clone, Copy, Debug)]
pub struct NttBench {
    /// Forward on the roots.
    pub forward_ms: f64,
    /// Inverse on the roots.
    pub inverse_ms: f64,
    /// Forward on the odd coset.
    pub forward_odd_ms: f64,
    /// The six transforms of a quotient.
    pub quotient_ms: f64,
}

/// Times transforms of 2^`log_n` random elements.
///
/// # Errors
/// When the device fails or its memory is short.
pub fn ntt(gpu: &Gpu, log_n: u32, repeats: usize) -> Result<NttBench, GpuError> {
    let data = random_scalars(1, 1 << log_n);
    let a = DeviceBuffer::from_host(gpu, &data)?;
    let time = |direction, domain| {
        let ntt = Ntt::new(gpu, log_n, direction, domain)?;
        median_of(gpu, repeats, || ntt.run(a.as_slice(), a.as_slice(), Options::default()))
    };
    let forward_ms = time(Direction::Forward, Domain::Roots)?;
    let inverse_ms = time(Direction::Inverse, Domain::Roots)?;
    let forward_odd_ms = time(Direction::Forward, Domain::OddCoset)?;
    let b = DeviceBuffer::from_host(gpu, &data)?;
    let h = DeviceBuffer::new(gpu, data.len())?;
    let quotient = Quotient::new(gpu, log_n)?;
    let quotient_ms =
        median_of(gpu, repeats, || quotient.run(h.as_slice(), a.as_slice(), b.as_slice()))?;
    Ok(NttBench { forward_ms, inverse_ms, forward_odd_ms, quotient_ms })
}

/// The median of `repeats` runs after one that warms up.
fn median_of(
    gpu: &Gpu,
    repeats: usize,
    mut work: impl FnMut() -> Result<(), GpuError>,
) -> Result<f64, GpuError> {
    work()?;
    let times: Result<Vec<f64>, GpuError> = (0..repeats)
        .map(|_| {
            let timer = gpu.timer()?;
            work()?;
            timer.stop_ms()
        })
        .collect();
    times.map(median)
}

/// Times of one MSM, and whether its result was right.
#[derive(Clone, Copy, Debug)]
pub struct MsmBench {
    /// The whole sum, median.
    pub total_ms: f64,
    /// Its steps, of one more run.
    pub steps: MsmTimes,
    /// Whether the sum is the known one.
    pub correct: bool,
}

/// Times sums over G1 of `n` distinct points with uniform scalars, and checks the result: point i
/// is (i + 1) G, so the sum is a known multiple of G.
///
/// # Errors
/// When the device fails or its memory is short.
pub fn msm(gpu: &Gpu, n: usize, repeats: usize) -> Result<MsmBench, GpuError> {
    let scalars = random_scalars(2, n);
    let weighted: Scalar = scalars
        .par_iter()
        .enumerate()
        .map(|(i, scalar)| *scalar * Scalar::from(i as u64 + 1))
        .reduce(|| Scalar::ZERO, |x, y| x + y);
    let expected = G1Projective::generator() * weighted;
    let bases = DeviceBuffer::new(gpu, n)?;
    points::multiples(gpu, bases.as_slice(), &G1Affine::generator(), 1)?;
    let scalars = DeviceBuffer::from_host(gpu, &scalars)?;
    let msm = Msm::<G1>::new(gpu, n)?;
    let mut sum = G1Projective::identity();
    let total_ms = median_of(gpu, repeats, || {
        sum = msm.run(bases.as_slice(), scalars.as_slice(), ScalarOrder::Natural)?;
        Ok(())
    })?;
    let (again, steps) =
        msm.run_timed(bases.as_slice(), scalars.as_slice(), ScalarOrder::Natural)?;
    Ok(MsmBench { total_ms, steps, correct: sum == expected && again == expected })
}

/// Time of one call of bit sums, and whether its results were right.
#[derive(Clone, Copy, Debug)]
pub struct BitsBench {
    /// All witnesses together, median.
    pub total_ms: f64,
    /// Whether every sum is the known one.
    pub correct: bool,
}

/// Times bit sums over G1 of `n` distinct points for `partitions` witnesses with ones at `density`,
/// and checks the results as [`msm`] does.
///
/// # Errors
/// When the device fails or its memory is short.
pub fn bits(
    gpu: &Gpu,
    n: usize,
    partitions: usize,
    density: f64,
    repeats: usize,
) -> Result<BitsBench, GpuError> {
    let words = n.div_ceil(32);
    let threshold = (density * f64::from(u16::MAX)) as u32;
    let mut bits = vec![0u32; words * partitions];
    bits.par_iter_mut().enumerate().for_each(|(i, word)| {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        rng.set_stream(i as u64);
        for bit in 0..32 {
            *word |= u32::from((rng.next_u32() & 0xffff) < threshold) << bit;
        }
    });
    let expected: Vec<G1Projective> = bits
        .chunks(words)
        .map(|witness| {
            let set = (0..n).into_par_iter().filter(|i| witness[i / 32] >> (i % 32) & 1 == 1);
            G1Projective::generator() * Scalar::from(set.map(|i| i as u64 + 1).sum::<u64>())
        })
        .collect();
    let bases = DeviceBuffer::new(gpu, n)?;
    points::multiples(gpu, bases.as_slice(), &G1Affine::generator(), 1)?;
    let bits = DeviceBuffer::from_host(gpu, &bits)?;
    let query = QueryBits::identity(gpu, n)?;
    let bit_sums = BitSums::<G1>::new(gpu, n, partitions)?;
    let mut sums = Vec::new();
    let total_ms = median_of(gpu, repeats, || {
        sums = bit_sums.run(bases.as_slice(), 0..n, &query, bits.as_slice())?;
        Ok(())
    })?;
    Ok(BitsBench { total_ms, correct: sums == expected })
}

/// Milliseconds of ec-gpu-gen's kernels at one size: a transform, and a sum over G1 with its result
/// checked as [`msm`]'s is.
///
/// # Errors
/// When the device fails or its memory is short.
pub fn generated(gpu: &Gpu, log_n: u32, repeats: usize) -> Result<(f64, MsmBench), GpuError> {
    let scalars = random_scalars(4, 1 << log_n);
    let data = DeviceBuffer::from_host(gpu, &scalars)?;
    let scratch = DeviceBuffer::new(gpu, scalars.len())?;
    let ntt = GeneratedNtt::new(gpu, log_n, root_of_unity(log_n))?;
    let ntt_ms = median_of(gpu, repeats, || ntt.run(data.as_slice(), scratch.as_slice()))?;
    drop((data, scratch));
    let bytes: Vec<u8> = scalars.par_iter().flat_map_iter(|s| s.to_bytes_le()).collect();
    let weighted: Scalar = scalars
        .par_iter()
        .enumerate()
        .map(|(i, scalar)| *scalar * Scalar::from(i as u64 + 1))
        .reduce(|| Scalar::ZERO, |x, y| x + y);
    let bytes = DeviceBuffer::from_host(gpu, &bytes)?;
    let bases = DeviceBuffer::new(gpu, scalars.len())?;
    points::multiples(gpu, bases.as_slice(), &G1Affine::generator(), 1)?;
    let mut sum = G1Projective::identity();
    let total_ms = median_of(gpu, repeats, || {
        sum = generated::msm::<G1>(gpu, bases.as_slice(), bytes.as_slice())?;
        Ok(())
    })?;
    let correct = sum == G1Projective::generator() * weighted;
    Ok((ntt_ms, MsmBench { total_ms, steps: MsmTimes::default(), correct }))
}
