//! ec-gpu-gen's own FFT and multiexp kernels, launched by us: the variants `ntt=generated` and
//! `msm=generated`, a baseline that bellperson's CUDA prover shares.

use std::marker::PhantomData;

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cudarc::driver::CudaFunction;
use ff::Field;
use group::Group;

use super::device::Launch;
use super::kernels::pointwise;
use super::ntt::{digit_powers, root_of_unity};
use super::{DeviceBuffer, DeviceData, DeviceSlice, Gpu, GpuError};

/// The kernels, and their names, or none in a build without nvcc.
#[cfg(prove_cuda)]
const IMAGE: Option<(&[u8], [&str; 3])> = Some((
    include_bytes!(env!("PROVE_GENERATED_FATBIN")),
    [
        env!("PROVE_GENERATED_FFT"),
        env!("PROVE_GENERATED_MULTIEXP_G1"),
        env!("PROVE_GENERATED_MULTIEXP_G2"),
    ],
));
#[cfg(not(prove_cuda))]
const IMAGE: Option<(&[u8], [&str; 3])> = None;

/// The kernel's limits: stages a pass, log2 of a block's threads.
const RADIX_LOG_MAX: u32 = 8;
const THREADS_LOG_MAX: u32 = 7;
/// Threads of a multiexp block, and the widest window of which a thread has its own buckets.
const MULTIEXP_THREADS: usize = 128;
const WINDOW_MAX: u32 = 10;

/// The FFT over Fr of one size, natural order to natural order.
pub struct GeneratedNtt<'g> {
    gpu: &'g Gpu,
    function: CudaFunction,
    name: &'static str,
    log_n: u32,
    /// Powers of the root of order 2^radix, and the squares of omega.
    powers: DeviceBuffer<'g, Scalar>,
    omegas: DeviceBuffer<'g, Scalar>,
}

impl<'g> GeneratedNtt<'g> {
    /// Prepares transforms at the powers of `omega`, of order 2^`log_n`.
    ///
    /// # Errors
    /// When the kernels cannot be loaded or device memory is short.
    ///
    /// # Panics
    /// When `log_n` is not in 1 ..= 31.
    pub fn new(gpu: &'g Gpu, log_n: u32, omega: Scalar) -> Result<Self, GpuError> {
        assert!((1..=31).contains(&log_n), "a domain of 2 to 2^31 elements");
        let (image, [name, ..]) = IMAGE.ok_or(GpuError::BuiltWithoutCuda)?;
        let radix_log = log_n.min(RADIX_LOG_MAX);
        let root = omega.pow_vartime([1u64 << (log_n - radix_log)]);
        let powers: Vec<Scalar> = std::iter::successors(Some(Scalar::ONE), |x| Some(*x * root))
            .take(1 << (radix_log - 1))
            .collect();
        let squares: Vec<Scalar> =
            std::iter::successors(Some(omega), |x| Some(x.square())).take(32).collect();
        Ok(Self {
            gpu,
            function: gpu.load(image, name)?,
            name,
            log_n,
            powers: DeviceBuffer::from_host(gpu, &powers)?,
            omegas: DeviceBuffer::from_host(gpu, &squares)?,
        })
    }

    /// Enqueues the transform of `data`, with `scratch` of the same size; the result is in `data`.
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When an array does not have 2^`log_n` elements.
    pub fn run(
        &self,
        data: DeviceSlice<'_, Scalar>,
        scratch: DeviceSlice<'_, Scalar>,
    ) -> Result<(), GpuError> {
        let n = 1usize << self.log_n;
        assert!(data.len() == n && scratch.len() == n, "arrays of the domain's size");
        let radix_log_max = self.log_n.min(RADIX_LOG_MAX);
        let (mut source, mut target) = (data, scratch);
        let mut done_log = 0u32;
        while done_log < self.log_n {
            let radix_log = radix_log_max.min(self.log_n - done_log);
            let launch = Launch {
                grid: (1 << (self.log_n - radix_log), 1),
                block: 1 << (radix_log - 1).min(THREADS_LOG_MAX),
                shared_bytes: 32 << radix_log,
            };
            // The fifth parameter stands for the shared memory and is not read.
            self.gpu.launch_function(
                &self.function,
                self.name,
                launch,
                &[
                    &source.address(),
                    &target.address(),
                    &self.powers.as_slice().address(),
                    &self.omegas.as_slice().address(),
                    &0u64,
                    &(1u32 << self.log_n),
                    &done_log,
                    &radix_log,
                    &radix_log_max,
                ],
            )?;
            done_log += radix_log;
            std::mem::swap(&mut source, &mut target);
        }
        if source.address() != data.address() {
            data.copy_from(source)?;
        }
        Ok(())
    }
}

/// A curve of the generated multiexp.
pub trait GeneratedCurve {
    /// Bases; the identity is not among them.
    type Affine: DeviceData;
    /// Sums, in Jacobian coordinates.
    type Projective: DeviceData + Group<Scalar = Scalar>;
    /// Place of the kernel in the image.
    const KERNEL: usize;
}

impl GeneratedCurve for super::G1 {
    type Affine = G1Affine;
    type Projective = G1Projective;
    const KERNEL: usize = 1;
}

impl GeneratedCurve for super::G2 {
    type Affine = G2Affine;
    type Projective = G2Projective;
    const KERNEL: usize = 2;
}

/// Enqueues the scalars `x` as the integers that [`GeneratedMsm`] takes, to `out`.
///
/// # Errors
/// When the launch fails.
///
/// # Panics
/// When the lengths differ.
pub fn to_integers(
    gpu: &Gpu,
    out: DeviceSlice<'_, Scalar>,
    x: DeviceSlice<'_, Scalar>,
) -> Result<(), GpuError> {
    pointwise::integers(gpu, out, x)
}

/// Sums of products by the generated kernel.
pub struct GeneratedMsm<'g, C> {
    gpu: &'g Gpu,
    function: CudaFunction,
    name: &'static str,
    curve: PhantomData<C>,
}

/// How a sum is divided among threads.
struct Division {
    /// log2 of a window's buckets.
    window: u32,
    windows: u32,
    /// Threads of each window.
    groups: usize,
}

impl Division {
    fn new(n: usize, multiprocessors: usize) -> Self {
        let threads = MULTIEXP_THREADS * multiprocessors;
        let window = (n.div_ceil(threads).max(1).ilog2() + 2).min(WINDOW_MAX);
        let windows = 256u32.div_ceil(window);
        Self { window, windows, groups: (threads / windows as usize).max(1) }
    }

    fn sums(&self) -> usize {
        self.groups * self.windows as usize
    }
}

impl<'g, C: GeneratedCurve> GeneratedMsm<'g, C> {
    /// Loads the kernel.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn new(gpu: &'g Gpu) -> Result<Self, GpuError> {
        let (image, names) = IMAGE.ok_or(GpuError::BuiltWithoutCuda)?;
        let name = names[C::KERNEL];
        Ok(Self { gpu, function: gpu.load(image, name)?, name, curve: PhantomData })
    }

    /// The sum of `scalars[i] * bases[i]`; `scalars` are canonical little-endian integers of 32
    /// bytes, and no base is the identity.
    ///
    /// # Errors
    /// When the launch fails or device memory is short.
    ///
    /// # Panics
    /// When the lengths do not fit.
    pub fn run(
        &self,
        bases: DeviceSlice<'_, C::Affine>,
        scalars: DeviceSlice<'_, u8>,
    ) -> Result<C::Projective, GpuError> {
        let n = bases.len();
        assert_eq!(scalars.len(), 32 * n, "a scalar a base");
        let division = Division::new(n, self.gpu.info().multiprocessors);
        let Division { window, windows, groups } = division;
        let sums = division.sums();
        let buckets = DeviceBuffer::<C::Projective>::new(self.gpu, sums << window)?;
        let results = DeviceBuffer::<C::Projective>::new(self.gpu, sums)?;
        let grid = (sums.div_ceil(MULTIEXP_THREADS) as u32, 1);
        self.gpu.launch_function(
            &self.function,
            self.name,
            Launch { grid, block: MULTIEXP_THREADS as u32, shared_bytes: 0 },
            &[
                &bases.address(),
                &buckets.as_slice().address(),
                &results.as_slice().address(),
                &scalars.address(),
                &(n as u32),
                &(groups as u32),
                &windows,
                &window,
            ],
        )?;
        let results = results.to_host()?;
        let mut total = C::Projective::identity();
        for index in 0..windows {
            // The kernel numbers the windows from the most significant; the last may be narrower.
            for _ in 0..window.min(256 - index * window) {
                total = total.double();
            }
            for group in 0..groups {
                total += results[group * windows as usize + index as usize];
            }
        }
        Ok(total)
    }
}

/// The quotient of [`super::ntt::Quotient`] by the generated transforms, with our elementwise
/// steps between them; natural order throughout.
pub struct GeneratedQuotient<'g> {
    gpu: &'g Gpu,
    forward: GeneratedNtt<'g>,
    inverse: GeneratedNtt<'g>,
    /// Powers of psi by digits, psi^2 = omega, and of its inverse.
    to_coset: DeviceBuffer<'g, Scalar>,
    from_coset: DeviceBuffer<'g, Scalar>,
    n_inverse: DeviceBuffer<'g, Scalar>,
    scratch: DeviceBuffer<'g, Scalar>,
}

impl<'g> GeneratedQuotient<'g> {
    /// Prepares quotients over a domain of 2^`log_n`.
    ///
    /// # Errors
    /// When the kernels cannot be loaded or device memory is short.
    pub fn new(gpu: &'g Gpu, log_n: u32) -> Result<Self, GpuError> {
        let inverse = |x: Scalar| Option::from(x.invert()).expect("roots and n are not zero");
        let (omega, psi) = (root_of_unity(log_n), root_of_unity(log_n + 1));
        let n_inverse: Scalar = inverse(Scalar::from(1 << log_n));
        Ok(Self {
            gpu,
            forward: GeneratedNtt::new(gpu, log_n, omega)?,
            inverse: GeneratedNtt::new(gpu, log_n, inverse(omega))?,
            to_coset: DeviceBuffer::from_host(gpu, &digit_powers(psi))?,
            from_coset: DeviceBuffer::from_host(gpu, &digit_powers(inverse(psi)))?,
            n_inverse: DeviceBuffer::from_host(gpu, &[n_inverse])?,
            scratch: DeviceBuffer::new(gpu, 1 << log_n)?,
        })
    }

    /// Bytes of device memory that [`GeneratedQuotient::new`] takes, at most.
    pub fn bytes(log_n: u32) -> u64 {
        const SMALL_TABLES_BYTES: u64 = 1 << 17;
        (size_of::<Scalar>() as u64) * (1 << log_n) + SMALL_TABLES_BYTES
    }

    /// From the evaluations `a` and `b` on the roots, which are overwritten, the n coefficients of
    /// h in natural order and [0, r) in `h`.
    ///
    /// # Errors
    /// When a launch fails.
    pub fn run(
        &self,
        h: DeviceSlice<'_, Scalar>,
        a: DeviceSlice<'_, Scalar>,
        b: DeviceSlice<'_, Scalar>,
    ) -> Result<(), GpuError> {
        let (gpu, scratch) = (self.gpu, self.scratch.as_slice());
        let n_inverse = Some(self.n_inverse.as_slice());
        pointwise::multiply(gpu, h, a, b)?;
        self.inverse.run(h, scratch)?;
        pointwise::scale(gpu, h, None, n_inverse)?;
        for values in [a, b] {
            pointwise::scale(gpu, values, None, None)?;
            self.inverse.run(values, scratch)?;
            pointwise::scale(gpu, values, Some(self.to_coset.as_slice()), n_inverse)?;
            self.forward.run(values, scratch)?;
        }
        pointwise::multiply(gpu, b, a, b)?;
        self.inverse.run(b, scratch)?;
        pointwise::scale(gpu, b, Some(self.from_coset.as_slice()), n_inverse)?;
        pointwise::half_difference(gpu, h, h, b)
    }
}
