//! Number-theoretic transforms and the quotient polynomial, on the device.
//!
//! A transform is a fixed sequence of passes of at most nine stages (gpu/ntt.cu). Evaluations are
//! in natural order, coefficients in bit-reversed order, so that no pass reorders data.

use blstrs::Scalar;
use ff::{Field, PrimeField};

pub use super::kernels::Store;
use super::kernels::{self, NTT_RADIX_LOG_MAX, NttPass};
use super::{DeviceBuffer, DeviceSlice, Gpu, GpuError};

/// Which way a transform goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Coefficients, bit-reversed, to evaluations, natural.
    Forward,
    /// Evaluations, natural, to coefficients, bit-reversed.
    Inverse,
}

/// Where a polynomial is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The n-th roots of unity, w^j.
    Roots,
    /// psi * w^j with psi^2 = w: where x^n = -1.
    OddCoset,
}

/// Options of one transform; by default the plain transform in [0, 2r).
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Multiplies the input elementwise.
    pub factor: Option<DeviceSlice<'a, Scalar>>,
    /// What is stored.
    pub store: Store<'a>,
    /// Whether the result is in [0, r) rather than [0, 2r).
    pub canonical: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { factor: None, store: Store::Plain, canonical: false }
    }
}

/// One pass: sub-transforms of size 2^`log_m` from such of 2^(`log_m` - `radix_log`).
struct Pass<'g> {
    log_m: u32,
    radix_log: u32,
    twiddles: Option<DeviceBuffer<'g, Scalar>>,
}

/// A transform of one size, direction and domain with its tables on the device.
///
/// The tables take 32 bytes an element of the largest pass, plus 2^-9 of that.
pub struct Ntt<'g> {
    gpu: &'g Gpu,
    log_n: u32,
    direction: Direction,
    levels: DeviceBuffer<'g, Scalar>,
    /// From the contiguous pass upwards.
    passes: Vec<Pass<'g>>,
}

/// The root of unity of order 2^`log_order` that bellperson's domain uses.
pub fn root_of_unity(log_order: u32) -> Scalar {
    assert!(log_order <= Scalar::S, "the field has roots of order 2^32 at most");
    (log_order..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square())
}

/// The radices of the passes, from the contiguous one upwards: nines, then the remainder.
fn radices(log_n: u32) -> Vec<u32> {
    let nines = log_n / NTT_RADIX_LOG_MAX;
    let rest = log_n % NTT_RADIX_LOG_MAX;
    let mut radices = vec![NTT_RADIX_LOG_MAX; nines as usize];
    if rest > 0 {
        radices.push(rest);
    }
    radices
}

impl Ntt<'_> {
    /// Bytes of device memory that [`Ntt::new`] takes at most.
    fn bytes(log_n: u32) -> u64 {
        const SMALL_TABLES_BYTES: u64 = 1 << 16;
        let tables = radices(log_n).into_iter().scan(0, |log_m, radix_log| {
            *log_m += radix_log;
            Some(32u64 << *log_m)
        });
        tables.sum::<u64>() + SMALL_TABLES_BYTES
    }
}

impl<'g> Ntt<'g> {
    /// Prepares transforms of size 2^`log_n`. The inverse divides by n.
    ///
    /// # Errors
    /// When device memory is short.
    ///
    /// # Panics
    /// When `log_n` is not in 1 ..= 30.
    pub fn new(
        gpu: &'g Gpu,
        log_n: u32,
        direction: Direction,
        domain: Domain,
    ) -> Result<Self, GpuError> {
        assert!((1..=30).contains(&log_n), "a domain of 2 to 2^30 elements");
        let mut psi = root_of_unity(log_n + 1);
        let mut level_root = root_of_unity(NTT_RADIX_LOG_MAX);
        if direction == Direction::Inverse {
            psi = psi.invert().expect("roots are not zero");
            level_root = level_root.invert().expect("roots are not zero");
        }
        let powers = digit_powers(psi);
        let powers = DeviceBuffer::from_host(gpu, &powers)?;
        let one = DeviceBuffer::from_host(gpu, &[Scalar::ONE])?;
        let n_inverse = Scalar::from(1 << log_n).invert().expect("n is below the field's order");
        let n_inverse = DeviceBuffer::from_host(gpu, &[n_inverse])?;
        let levels = successive_powers(level_root, 1 << NTT_RADIX_LOG_MAX);
        let levels = DeviceBuffer::from_host(gpu, &levels)?;
        let mut passes = Vec::new();
        let mut log_m = 0;
        for radix_log in radices(log_n) {
            log_m += radix_log;
            let scaled = direction == Direction::Inverse && log_m == log_n;
            let odd = domain == Domain::OddCoset;
            let twiddles = if log_m > radix_log || odd || scaled {
                let table = DeviceBuffer::new(gpu, 1 << log_m)?;
                let scale = if scaled { &n_inverse } else { &one };
                let shape = (log_n, log_m, radix_log);
                let (powers, scale) = (powers.as_slice(), scale.as_slice());
                kernels::fill_twiddles(gpu, table.as_slice(), powers, scale, shape, odd)?;
                Some(table)
            } else {
                None
            };
            passes.push(Pass { log_m, radix_log, twiddles });
        }
        gpu.synchronize()?;
        Ok(Self { gpu, log_n, direction, levels, passes })
    }

    /// Enqueues the transform of `input` into `out`, which may be the same array.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When an array does not have 2^`log_n` elements.
    pub fn run(
        &self,
        out: DeviceSlice<'_, Scalar>,
        input: DeviceSlice<'_, Scalar>,
        options: Options<'_>,
    ) -> Result<(), GpuError> {
        let in_time = self.direction == Direction::Forward;
        let last = self.passes.len() - 1;
        for step in 0..=last {
            let pass = &self.passes[if in_time { step } else { last - step }];
            let parameters = NttPass {
                out,
                input: if step == 0 { input } else { out },
                factor: options.factor.filter(|_| step == 0),
                store: if step == last { options.store } else { Store::Plain },
                canonical: options.canonical && step == last,
                levels: self.levels.as_slice(),
                twiddles: pass.twiddles.as_ref().map(DeviceBuffer::as_slice),
                log_n: self.log_n,
                log_m: pass.log_m,
                radix_log: pass.radix_log,
            };
            kernels::ntt_pass(self.gpu, &parameters, in_time)?;
        }
        Ok(())
    }
}

/// Enqueues a copy of `input` in bit-reversed order to `out`, another array.
///
/// # Errors
/// When the launch fails.
pub fn bit_reverse(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    input: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    kernels::bit_reverse(gpu, out, input)
}

/// The quotient h = (a b - c) / (x^n - 1) of a satisfied system, by six transforms.
///
/// On the roots c = a b; on the odd coset x^n - 1 = -2, so with u the product of a and b there,
/// h = (c - u) / 2 in coefficients (gpu.md 4.1).
pub struct Quotient<'g> {
    inverse: Ntt<'g>,
    forward_odd: Ntt<'g>,
    inverse_odd: Ntt<'g>,
}

impl<'g> Quotient<'g> {
    /// Prepares quotients over a domain of 2^`log_n`.
    ///
    /// # Errors
    /// When device memory is short: the tables take about 96 bytes an element.
    pub fn new(gpu: &'g Gpu, log_n: u32) -> Result<Self, GpuError> {
        Ok(Self {
            inverse: Ntt::new(gpu, log_n, Direction::Inverse, Domain::Roots)?,
            forward_odd: Ntt::new(gpu, log_n, Direction::Forward, Domain::OddCoset)?,
            inverse_odd: Ntt::new(gpu, log_n, Direction::Inverse, Domain::OddCoset)?,
        })
    }

    /// Bytes of device memory that [`Quotient::new`] takes at most.
    pub fn bytes(log_n: u32) -> u64 {
        3 * Ntt::bytes(log_n)
    }

    /// From the evaluations `a` and `b` on the roots, which are overwritten, the n coefficients of
    /// h in bit-reversed order and [0, r) in `h`. The last in natural order is zero.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn run(
        &self,
        h: DeviceSlice<'_, Scalar>,
        a: DeviceSlice<'_, Scalar>,
        b: DeviceSlice<'_, Scalar>,
    ) -> Result<(), GpuError> {
        let plain = Options::default();
        self.inverse.run(h, a, Options { factor: Some(b), ..plain })?;
        self.inverse.run(a, a, plain)?;
        self.inverse.run(b, b, plain)?;
        self.forward_odd.run(a, a, plain)?;
        self.forward_odd.run(b, b, Options { store: Store::Product(a), ..plain })?;
        let options = Options { store: Store::HalfDifference(h), canonical: true, ..plain };
        self.inverse_odd.run(b, b, options)?;
        h.copy_from(b)
    }
}

fn successive_powers(root: Scalar, count: usize) -> Vec<Scalar> {
    std::iter::successors(Some(Scalar::ONE), |power| Some(*power * root)).take(count).collect()
}

/// root^(v * 256^d) for the digits d < 4 and the values v < 256.
fn digit_powers(root: Scalar) -> Vec<Scalar> {
    let mut base = root;
    let mut powers = Vec::with_capacity(4 * 256);
    for _ in 0..4 {
        powers.extend(successive_powers(base, 256));
        base = base.pow_vartime([256]);
    }
    powers
}
