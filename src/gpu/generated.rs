//! ec-gpu-gen's own FFT and multiexp kernels, launched by us: the variants `ntt=generated` and
//! `msm=generated`, a baseline that bellperson's CUDA prover shares.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cudarc::driver::CudaFunction;
use ff::Field;
use group::Group;

use super::device::Launch;
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

/// The sum of `scalars[i] * bases[i]` by the generated kernel; `scalars` are canonical
/// little-endian integers of 32 bytes, and no base is the identity.
///
/// # Errors
/// When the kernel cannot be loaded, a launch fails or device memory is short.
///
/// # Panics
/// When the lengths do not fit.
pub fn msm<C: GeneratedCurve>(
    gpu: &Gpu,
    bases: DeviceSlice<'_, C::Affine>,
    scalars: DeviceSlice<'_, u8>,
) -> Result<C::Projective, GpuError> {
    let (image, names) = IMAGE.ok_or(GpuError::BuiltWithoutCuda)?;
    let n = bases.len();
    assert_eq!(scalars.len(), 32 * n, "a scalar a base");
    let function = gpu.load(image, names[C::KERNEL])?;
    let threads = MULTIEXP_THREADS * gpu.info().multiprocessors;
    let window = (n.div_ceil(threads).max(1).ilog2() + 2).min(WINDOW_MAX);
    let windows = 256u32.div_ceil(window);
    let groups = (threads / windows as usize).max(1);
    let sums = groups * windows as usize;
    let buckets = DeviceBuffer::<C::Projective>::new(gpu, sums << window)?;
    let results = DeviceBuffer::<C::Projective>::new(gpu, sums)?;
    let grid = (sums.div_ceil(MULTIEXP_THREADS) as u32, 1);
    gpu.launch_function(
        &function,
        names[C::KERNEL],
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
