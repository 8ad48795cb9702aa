//! Number-theoretic transforms and the quotient polynomial, on the device.
//!
//! A transform is a fixed sequence of passes of at most nine stages (gpu/ntt.cu). Evaluations are
//! in natural order, coefficients in bit-reversed order, so that no pass reorders data.

use std::sync::Arc;

use blstrs::Scalar;
use ff::{Field, PrimeField};

pub use super::kernels::Store;
use super::kernels::{self, NTT_RADIX_LOG_MAX, NttPass, PassTwiddles};
use super::{DeviceBuffer, DeviceSlice, Gpu, GpuError};

/// Whose transforms run: `ntt=fused|generated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NttVariant {
    /// Ours: passes of nine stages, with the quotient's products fused into their loads and stores.
    /// 36.9 ms at 2^27 on an H200 (2026-11-29).
    #[default]
    Fused,
    /// ec-gpu-gen's FFT. 292 ms at 2^26.
    Generated,
}

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

/// Where a transform has the twiddles between its passes from. The results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twiddles {
    /// One stored for each element, 32 bytes.
    Stored,
    /// Composed of two tables of about sqrt(2n) elements: a product more an element and pass.
    Composed,
}

/// One pass: sub-transforms of size 2^`log_m` from such of 2^(`log_m` - `radix_log`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PassShape {
    log_m: u32,
    radix_log: u32,
    /// Whether its twiddles are not one.
    twiddled: bool,
    /// Whether they divide by n.
    scaled: bool,
}

/// The tables that composed twiddles of one size are products of: powers of psi of order 2n. The
/// inverse reads them with exponents negated, so that all transforms share them.
struct RootTables<'g> {
    /// psi^i
    low: DeviceBuffer<'g, Scalar>,
    /// psi^i / n
    low_scaled: DeviceBuffer<'g, Scalar>,
    /// psi^(i * low.len())
    high: DeviceBuffer<'g, Scalar>,
}

/// The twiddles of all passes.
enum Tables<'g> {
    Stored(Vec<Option<DeviceBuffer<'g, Scalar>>>),
    Composed(Arc<RootTables<'g>>),
}

/// A transform of one size, direction and domain with its tables on the device.
pub struct Ntt<'g> {
    gpu: &'g Gpu,
    log_n: u32,
    direction: Direction,
    domain: Domain,
    levels: DeviceBuffer<'g, Scalar>,
    /// From the contiguous pass upwards, as the tables.
    passes: Vec<PassShape>,
    tables: Tables<'g>,
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

/// The passes of a transform, from the contiguous one upwards.
fn pass_shapes(log_n: u32, direction: Direction, domain: Domain) -> Vec<PassShape> {
    let mut log_m = 0;
    let shape = |radix_log| {
        log_m += radix_log;
        let scaled = direction == Direction::Inverse && log_m == log_n;
        let twiddled = log_m > radix_log || domain == Domain::OddCoset || scaled;
        PassShape { log_m, radix_log, twiddled, scaled }
    };
    radices(log_n).into_iter().map(shape).collect()
}

fn n_inverse(log_n: u32) -> Scalar {
    Scalar::from(1 << log_n).invert().expect("n is below the field's order")
}

impl<'g> RootTables<'g> {
    fn new(gpu: &'g Gpu, log_n: u32) -> Result<Self, GpuError> {
        let low_log = Self::low_log(log_n);
        let psi = root_of_unity(log_n + 1);
        let low = successive_powers(psi, 1 << low_log);
        let scale = n_inverse(log_n);
        let low_scaled: Vec<Scalar> = low.iter().map(|power| power * scale).collect();
        let high = successive_powers(psi.pow_vartime([1 << low_log]), 1 << (log_n + 1 - low_log));
        Ok(Self {
            low: DeviceBuffer::from_host(gpu, &low)?,
            low_scaled: DeviceBuffer::from_host(gpu, &low_scaled)?,
            high: DeviceBuffer::from_host(gpu, &high)?,
        })
    }

    /// log2 of the elements of `low`.
    fn low_log(log_n: u32) -> u32 {
        log_n.div_ceil(2)
    }

    fn bytes(log_n: u32) -> u64 {
        let low_log = Self::low_log(log_n);
        size_of::<Scalar>() as u64 * ((2 << low_log) + (1 << (log_n + 1 - low_log)))
    }
}

impl<'g> Tables<'g> {
    /// A table for each pass with twiddles.
    fn stored(
        gpu: &'g Gpu,
        log_n: u32,
        direction: Direction,
        domain: Domain,
    ) -> Result<Self, GpuError> {
        let psi = root_of_unity(log_n + 1);
        let psi = match direction {
            Direction::Forward => psi,
            Direction::Inverse => psi.invert().expect("roots are not zero"),
        };
        let powers = DeviceBuffer::from_host(gpu, &digit_powers(psi))?;
        let one = DeviceBuffer::from_host(gpu, &[Scalar::ONE])?;
        let n_inverse = DeviceBuffer::from_host(gpu, &[n_inverse(log_n)])?;
        let table = |pass: PassShape| {
            let table = DeviceBuffer::new(gpu, 1 << pass.log_m)?;
            let scale = if pass.scaled { &n_inverse } else { &one };
            let shape = (log_n, pass.log_m, pass.radix_log);
            let (powers, scale) = (powers.as_slice(), scale.as_slice());
            let odd = domain == Domain::OddCoset;
            kernels::fill_twiddles(gpu, table.as_slice(), powers, scale, shape, odd)?;
            Ok(table)
        };
        let passes = pass_shapes(log_n, direction, domain).into_iter();
        let tables = passes.map(|pass| pass.twiddled.then(|| table(pass)).transpose());
        let tables = tables.collect::<Result<_, GpuError>>()?;
        gpu.synchronize()?;
        Ok(Self::Stored(tables))
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
        twiddles: Twiddles,
    ) -> Result<Self, GpuError> {
        assert!((1..=30).contains(&log_n), "a domain of 2 to 2^30 elements");
        let tables = match twiddles {
            Twiddles::Stored => Tables::stored(gpu, log_n, direction, domain)?,
            Twiddles::Composed => Tables::Composed(Arc::new(RootTables::new(gpu, log_n)?)),
        };
        Self::with_tables(gpu, log_n, direction, domain, tables)
    }

    fn with_tables(
        gpu: &'g Gpu,
        log_n: u32,
        direction: Direction,
        domain: Domain,
        tables: Tables<'g>,
    ) -> Result<Self, GpuError> {
        let level_root = root_of_unity(NTT_RADIX_LOG_MAX);
        let level_root = match direction {
            Direction::Forward => level_root,
            Direction::Inverse => level_root.invert().expect("roots are not zero"),
        };
        let levels = successive_powers(level_root, 1 << NTT_RADIX_LOG_MAX);
        let levels = DeviceBuffer::from_host(gpu, &levels)?;
        let passes = pass_shapes(log_n, direction, domain);
        Ok(Self { gpu, log_n, direction, domain, levels, passes, tables })
    }

    /// Bytes of device memory that [`Ntt::new`] leaves taken: for stored twiddles 32 an element of
    /// the largest pass, plus 2^-9 of that.
    pub fn bytes(log_n: u32, direction: Direction, domain: Domain, twiddles: Twiddles) -> u64 {
        let stored = || pass_shapes(log_n, direction, domain).into_iter().filter(|p| p.twiddled);
        let tables = match twiddles {
            Twiddles::Stored => stored().map(|pass| Self::ELEMENT_BYTES << pass.log_m).sum(),
            Twiddles::Composed => RootTables::bytes(log_n),
        };
        tables + Self::LEVELS_BYTES
    }

    const ELEMENT_BYTES: u64 = size_of::<Scalar>() as u64;
    const LEVELS_BYTES: u64 = Self::ELEMENT_BYTES << NTT_RADIX_LOG_MAX;

    /// The twiddles of pass number `number`.
    fn pass_twiddles(&self, number: usize) -> PassTwiddles<'_> {
        let pass = self.passes[number];
        match &self.tables {
            Tables::Stored(tables) => tables[number]
                .as_ref()
                .map_or(PassTwiddles::None, |table| PassTwiddles::Stored(table.as_slice())),
            Tables::Composed(_) if !pass.twiddled => PassTwiddles::None,
            Tables::Composed(roots) => PassTwiddles::Composed {
                low: if pass.scaled { &roots.low_scaled } else { &roots.low }.as_slice(),
                high: roots.high.as_slice(),
                odd: self.domain == Domain::OddCoset,
                inverted: self.direction == Direction::Inverse,
            },
        }
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
            let number = if in_time { step } else { last - step };
            let pass = self.passes[number];
            let parameters = NttPass {
                out,
                input: if step == 0 { input } else { out },
                factor: options.factor.filter(|_| step == 0),
                store: if step == last { options.store } else { Store::Plain },
                canonical: options.canonical && step == last,
                levels: self.levels.as_slice(),
                twiddles: self.pass_twiddles(number),
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

/// The rows that [`Quotient::run_in_two`] asks for, on the roots in natural order.
#[derive(Clone, Copy)]
pub enum WantedRows<'a> {
    /// a and b.
    Factors(DeviceSlice<'a, Scalar>, DeviceSlice<'a, Scalar>),
    /// c = a b.
    Product(DeviceSlice<'a, Scalar>),
}

/// The transforms of a quotient.
const QUOTIENT_TRANSFORMS: [(Direction, Domain); 3] = [
    (Direction::Inverse, Domain::Roots),
    (Direction::Forward, Domain::OddCoset),
    (Direction::Inverse, Domain::OddCoset),
];

impl<'g> Quotient<'g> {
    /// Prepares quotients over a domain of 2^`log_n`.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn new(gpu: &'g Gpu, log_n: u32, twiddles: Twiddles) -> Result<Self, GpuError> {
        let shared = match twiddles {
            Twiddles::Stored => None,
            Twiddles::Composed => Some(Arc::new(RootTables::new(gpu, log_n)?)),
        };
        let transform = |(direction, domain)| {
            let tables = match &shared {
                None => Tables::stored(gpu, log_n, direction, domain)?,
                Some(roots) => Tables::Composed(Arc::clone(roots)),
            };
            Ntt::with_tables(gpu, log_n, direction, domain, tables)
        };
        let [inverse, forward_odd, inverse_odd] = QUOTIENT_TRANSFORMS.map(transform);
        Ok(Self { inverse: inverse?, forward_odd: forward_odd?, inverse_odd: inverse_odd? })
    }

    /// Bytes of device memory that [`Quotient::new`] leaves taken: about 96 an element with stored
    /// twiddles, 1.6 MB at 2^27 with composed ones.
    pub fn bytes(log_n: u32, twiddles: Twiddles) -> u64 {
        match twiddles {
            Twiddles::Stored => QUOTIENT_TRANSFORMS
                .map(|(direction, domain)| Ntt::bytes(log_n, direction, domain, twiddles))
                .iter()
                .sum(),
            Twiddles::Composed => RootTables::bytes(log_n) + 3 * Ntt::LEVELS_BYTES,
        }
    }

    /// As [`Quotient::run`] with two arrays of n elements in place of three: the rows are evaluated
    /// twice. `fill` enqueues them, with zeros after the last; h replaces `b`.
    ///
    /// # Errors
    /// When a launch or `fill` fails.
    pub fn run_in_two(
        &self,
        a: DeviceSlice<'_, Scalar>,
        b: DeviceSlice<'_, Scalar>,
        mut fill: impl FnMut(WantedRows<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let plain = Options::default();
        fill(WantedRows::Factors(a, b))?;
        self.inverse.run(a, a, plain)?;
        self.inverse.run(b, b, plain)?;
        self.forward_odd.run(a, a, plain)?;
        self.forward_odd.run(b, b, Options { store: Store::Product(a), ..plain })?;
        fill(WantedRows::Product(a))?;
        self.inverse.run(a, a, plain)?;
        let options = Options { store: Store::HalfDifference(a), canonical: true, ..plain };
        self.inverse_odd.run(b, b, options)
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
pub(super) fn digit_powers(root: Scalar) -> Vec<Scalar> {
    let mut base = root;
    let mut powers = Vec::with_capacity(4 * 256);
    for _ in 0..4 {
        powers.extend(successive_powers(base, 256));
        base = base.pow_vartime([256]);
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_of_a_sector_has_13_gb_of_stored_twiddles_and_under_2_mb_of_composed_ones() {
        let stored = Quotient::bytes(27, Twiddles::Stored);
        assert!((12_900_000_000..12_950_000_000).contains(&stored), "{stored}");
        let composed = Quotient::bytes(27, Twiddles::Composed);
        assert!((1 << 20..1 << 21).contains(&composed), "{composed}");
    }

    #[test]
    fn only_a_contiguous_pass_over_the_roots_needs_no_twiddles() {
        for log_n in 1..=30 {
            for (direction, domain) in QUOTIENT_TRANSFORMS {
                let passes = pass_shapes(log_n, direction, domain);
                assert_eq!(passes.iter().map(|pass| pass.radix_log).sum::<u32>(), log_n);
                let scaled = passes.iter().filter(|pass| pass.scaled).count();
                assert_eq!(scaled, usize::from(direction == Direction::Inverse));
                let untwiddled = passes.iter().filter(|pass| !pass.twiddled).count();
                let one_pass = passes.len() == 1;
                let roots = domain == Domain::Roots;
                assert_eq!(untwiddled, usize::from(roots && !one_pass), "2^{log_n}");
            }
        }
    }
}
