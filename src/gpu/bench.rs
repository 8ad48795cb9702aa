//! Measurements of the stages on the device: warm, by events, the median of several.

use blstrs::{G1Affine, G1Projective, Scalar};
use ff::Field;
use group::Group;
use group::prime::PrimeCurveAffine;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::generated::{GeneratedMsm, GeneratedNtt};
use super::msm::{BitSums, Msm, MsmTimes, MsmVariant, ScalarOrder};
use super::ntt::{
    self, Direction, Domain, Ntt, NttVariant, Options, Quotient, Twiddles, root_of_unity,
};
use super::{
    DeviceBuffer, DeviceData, DeviceWitnesses, G1, Gpu, GpuError, QueryBits, RowEvaluator, kernels,
    points,
};
use crate::msm::Window;
use crate::r1cs::{Evaluator, Template};
use crate::witness::Witness;

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

/// sum_i scalars[i] (i + 1) G.
fn weighted_generator(scalars: &[Scalar]) -> G1Projective {
    let weighted = scalars
        .par_iter()
        .enumerate()
        .map(|(i, scalar)| *scalar * Scalar::from(i as u64 + 1))
        .reduce(|| Scalar::ZERO, |x, y| x + y);
    G1Projective::generator() * weighted
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
pub fn ntt(
    gpu: &Gpu,
    log_n: u32,
    twiddles: Twiddles,
    repeats: usize,
) -> Result<NttBench, GpuError> {
    let data = random_scalars(1, 1 << log_n);
    let a = DeviceBuffer::from_host(gpu, &data)?;
    let time = |direction, domain| {
        let ntt = Ntt::new(gpu, log_n, direction, domain, twiddles)?;
        median_of(gpu, repeats, || ntt.run(a.as_slice(), a.as_slice(), Options::default()))
    };
    let forward_ms = time(Direction::Forward, Domain::Roots)?;
    let inverse_ms = time(Direction::Inverse, Domain::Roots)?;
    let forward_odd_ms = time(Direction::Forward, Domain::OddCoset)?;
    let b = DeviceBuffer::from_host(gpu, &data)?;
    let h = DeviceBuffer::new(gpu, data.len())?;
    let quotient = Quotient::new(gpu, log_n, twiddles)?;
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
    let expected = weighted_generator(&scalars);
    let bases = DeviceBuffer::new(gpu, n)?;
    points::multiples(gpu, bases.as_slice(), &G1Affine::generator(), 1)?;
    let scalars = DeviceBuffer::from_host(gpu, &scalars)?;
    let msm = Msm::<G1>::new(gpu, n, Window::Auto)?;
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

/// The transform of one variant, ready to be timed.
enum Transform<'g> {
    Fused(Ntt<'g>),
    Generated(GeneratedNtt<'g>, DeviceBuffer<'g, Scalar>),
}

/// Forward transforms of 2^`log_n` random elements, their result checked.
pub struct TransformBench<'g> {
    gpu: &'g Gpu,
    transform: Transform<'g>,
    data: DeviceBuffer<'g, Scalar>,
}

impl<'g> TransformBench<'g> {
    /// Prepares the transform that `variant` names and checks its values at three points.
    ///
    /// # Errors
    /// When the result is wrong, the device fails or its memory is short.
    pub fn new(gpu: &'g Gpu, log_n: u32, variant: NttVariant) -> Result<Self, GpuError> {
        let n = 1usize << log_n;
        let coefficients = random_scalars(1, n);
        let data = DeviceBuffer::from_host(gpu, &coefficients)?;
        let transform = match variant {
            NttVariant::Fused => {
                let natural = DeviceBuffer::from_host(gpu, &coefficients)?;
                ntt::bit_reverse(gpu, data.as_slice(), natural.as_slice())?;
                let (forward, roots) = (Direction::Forward, Domain::Roots);
                Transform::Fused(Ntt::new(gpu, log_n, forward, roots, Twiddles::Stored)?)
            }
            NttVariant::Generated => Transform::Generated(
                GeneratedNtt::new(gpu, log_n, root_of_unity(log_n))?,
                DeviceBuffer::new(gpu, n)?,
            ),
        };
        let bench = Self { gpu, transform, data };
        let canonical = Options { canonical: true, ..Options::default() };
        bench.run(canonical)?;
        for j in [0, n / 3, n - 1] {
            let value = bench.data.as_slice().slice(j..j + 1).to_host()?[0];
            if value != evaluate(&coefficients, root_of_unity(log_n).pow_vartime([j as u64])) {
                return Err(GpuError::WrongResult { what: "the transform" });
            }
        }
        Ok(bench)
    }

    fn run(&self, options: Options<'_>) -> Result<(), GpuError> {
        let data = self.data.as_slice();
        match &self.transform {
            Transform::Fused(ntt) => ntt.run(data, data, options),
            Transform::Generated(ntt, scratch) => ntt.run(data, scratch.as_slice()),
        }
    }

    /// Milliseconds of one transform on the device.
    ///
    /// # Errors
    /// When the device fails.
    pub fn run_ms(&self) -> Result<f64, GpuError> {
        let timer = self.gpu.timer()?;
        self.run(Options::default())?;
        timer.stop_ms()
    }
}

/// The polynomial with these coefficients at `x`.
fn evaluate(coefficients: &[Scalar], x: Scalar) -> Scalar {
    coefficients
        .par_chunks(SEED_BLOCK)
        .enumerate()
        .map(|(block, chunk)| {
            let value = chunk.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
            value * x.pow_vartime([(block * SEED_BLOCK) as u64])
        })
        .reduce(|| Scalar::ZERO, |sum, value| sum + value)
}

/// The sum of one variant, ready to be timed.
enum Sum<'g> {
    Pairs(Box<Msm<'g, G1>>, DeviceBuffer<'g, Scalar>),
    /// The scalars as canonical bytes.
    Generated(GeneratedMsm<'g, G1>, DeviceBuffer<'g, u8>),
}

/// Sums over G1 of distinct points with uniform scalars, as in [`msm`], every result checked.
pub struct SumBench<'g> {
    gpu: &'g Gpu,
    sum: Sum<'g>,
    bases: DeviceBuffer<'g, G1Affine>,
    expected: G1Projective,
}

impl<'g> SumBench<'g> {
    /// Prepares sums of `n` products by the kernels that `variant` names; `window` is that of
    /// `msm=pairs`.
    ///
    /// # Errors
    /// When the device fails or its memory is short.
    pub fn new(
        gpu: &'g Gpu,
        n: usize,
        variant: MsmVariant,
        window: Window,
    ) -> Result<Self, GpuError> {
        let scalars = random_scalars(2, n);
        let expected = weighted_generator(&scalars);
        let bases = DeviceBuffer::new(gpu, n)?;
        points::multiples(gpu, bases.as_slice(), &G1Affine::generator(), 1)?;
        let sum = match variant {
            MsmVariant::Pairs => Sum::Pairs(
                Box::new(Msm::new(gpu, n, window)?),
                DeviceBuffer::from_host(gpu, &scalars)?,
            ),
            MsmVariant::Generated => {
                let bytes: Vec<u8> =
                    scalars.par_iter().flat_map_iter(Scalar::to_bytes_le).collect();
                Sum::Generated(GeneratedMsm::new(gpu)?, DeviceBuffer::from_host(gpu, &bytes)?)
            }
        };
        Ok(Self { gpu, sum, bases, expected })
    }

    /// Milliseconds of one sum, with the few operations on the host that end it.
    ///
    /// # Errors
    /// When the result is wrong or the device fails.
    pub fn run_ms(&self) -> Result<f64, GpuError> {
        let timer = self.gpu.timer()?;
        let sum = match &self.sum {
            Sum::Pairs(msm, scalars) => {
                msm.run(self.bases.as_slice(), scalars.as_slice(), ScalarOrder::Natural)?
            }
            Sum::Generated(msm, bytes) => msm.run(self.bases.as_slice(), bytes.as_slice())?,
        };
        let ms = timer.stop_ms()?;
        if sum == self.expected { Ok(ms) } else { Err(GpuError::WrongResult { what: "the sum" }) }
    }
}

/// Additions that [`SumBench`]'s `msm=pairs` puts into buckets for `n` points: one a digit.
pub fn sum_additions(n: usize, window: Window) -> u64 {
    super::msm::additions(n, window)
}

/// Chains that run at once, one a thread: 8 blocks of 256 threads on each of 132 multiprocessors,
/// and some.
const CHAINS: usize = 1 << 19;

/// Chains of dependent products in one field, every result checked.
pub struct FieldBench<'g, F> {
    gpu: &'g Gpu,
    input: DeviceBuffer<'g, F>,
    out: DeviceBuffer<'g, F>,
    factors: u32,
    expected: Vec<F>,
}

impl<'g, F: DeviceData + Field> FieldBench<'g, F> {
    /// Prepares 2^`log_n` products.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `log_n` is not in 19 ..= 50.
    pub fn new(gpu: &'g Gpu, log_n: u32) -> Result<Self, GpuError> {
        /// Chains whose results are checked.
        const CHECKED: usize = 64;
        assert!((CHAINS.ilog2()..=50).contains(&log_n), "2^19 to 2^50 products, got 2^{log_n}");
        let factors = 1u32 << (log_n - CHAINS.ilog2());
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // A few distinct chains, over and over.
        let rows: Vec<[F; 2]> =
            (0..CHECKED).map(|_| [F::random(&mut rng), F::random(&mut rng)]).collect();
        let expected = rows.iter().map(|[a, b]| *a * b.pow_vartime([u64::from(factors)])).collect();
        let all: Vec<F> = rows.as_flattened().iter().copied().cycle().take(2 * CHAINS).collect();
        let input = DeviceBuffer::from_host(gpu, &all)?;
        Ok(Self { gpu, input, out: DeviceBuffer::new(gpu, CHAINS)?, factors, expected })
    }

    /// Milliseconds of all products on the device.
    ///
    /// # Errors
    /// When a result is wrong or the device fails.
    pub fn run_ms(&self) -> Result<f64, GpuError> {
        let timer = self.gpu.timer()?;
        kernels::multiply_chains(
            self.gpu,
            self.out.as_slice(),
            self.input.as_slice(),
            self.factors,
        )?;
        let ms = timer.stop_ms()?;
        if self.out.as_slice().slice(0..self.expected.len()).to_host()? == self.expected {
            Ok(ms)
        } else {
            Err(GpuError::WrongResult { what: "a field product" })
        }
    }
}

/// Rows a and b of one partition, their values checked.
pub struct RowsBench<'g> {
    gpu: &'g Gpu,
    evaluator: RowEvaluator<'g>,
    witnesses: DeviceWitnesses<'g>,
    rows: [DeviceBuffer<'g, Scalar>; 2],
    bytes: u64,
}

impl<'g> RowsBench<'g> {
    /// Prepares the rows of `witness` and checks three blocks of them against the CPU.
    ///
    /// # Errors
    /// When a row is wrong, the device fails or its memory is short.
    pub fn new(gpu: &'g Gpu, template: &Template, witness: &Witness) -> Result<Self, GpuError> {
        let layout = witness.layout;
        let witnesses = DeviceWitnesses::new(gpu, layout, 1)?;
        witnesses.upload(0, &witness.words, &witness.scalars)?;
        let evaluator = RowEvaluator::new(gpu, template)?;
        let n = evaluator.rows().next_power_of_two();
        let rows = [DeviceBuffer::new(gpu, n)?, DeviceBuffer::new(gpu, n)?];
        // The template once, the assignment once, a and b.
        let bytes =
            RowEvaluator::bytes(template) + DeviceWitnesses::bytes(&layout, 1) + 2 * 32 * n as u64;
        let bench = Self { gpu, evaluator, witnesses, rows, bytes };
        bench.run_ms()?;
        bench.check(&Evaluator::new(template, witness))?;
        Ok(bench)
    }

    fn check(&self, on_cpu: &Evaluator<'_>) -> Result<(), GpuError> {
        let block = on_cpu.rows().min(1 << 16);
        for start in [0, on_cpu.rows() / 2 - block / 2, on_cpu.rows() - block] {
            let mut expected = [(); 2].map(|()| vec![Scalar::ZERO; block]);
            let [a, b] = &mut expected;
            on_cpu.fill(start, a, b);
            for (rows, expected) in self.rows.iter().zip(&expected) {
                let got = rows.as_slice().slice(start..start + block).to_host()?;
                // A sum is reduced; the device's values are below 2r.
                if !got.iter().zip(expected).all(|(got, row)| got + Scalar::ZERO == *row) {
                    return Err(GpuError::WrongResult { what: "a row" });
                }
            }
        }
        Ok(())
    }

    /// Rows of the partition.
    pub fn rows(&self) -> usize {
        self.evaluator.rows()
    }

    /// Bytes that a run reads and writes at least: the template, the assignment, a and b, once.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Milliseconds of all rows on the device.
    ///
    /// # Errors
    /// When the device fails.
    pub fn run_ms(&self) -> Result<f64, GpuError> {
        let timer = self.gpu.timer()?;
        let [a, b] = &self.rows;
        self.evaluator.run(a.as_slice(), b.as_slice(), &self.witnesses, 0)?;
        timer.stop_ms()
    }
}
