//! One GPU: its context, its stream and the loaded kernels.
#![expect(unsafe_code, reason = "kernels are launched and the driver is probed here")]

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, result as driver};
use cudarc::nvrtc::Ptx;

use super::kernels::Kernel;
use super::memory::MemoryAccount;
use super::{FATBIN, GpuError, Mark};

/// What a device is, for reports.
#[derive(Clone, Debug)]
pub struct GpuInfo {
    /// Number in the driver's order, after `CUDA_VISIBLE_DEVICES`.
    pub ordinal: usize,
    /// The vendor's name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Device memory in bytes.
    pub memory_bytes: usize,
}

/// An open device with the kernels loaded.
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) functions: Arc<Vec<CudaFunction>>,
    pub(super) info: GpuInfo,
    pub(super) memory: Arc<MemoryAccount>,
    /// See [`Gpu::side`].
    pub(super) side: OnceLock<Box<Gpu>>,
}

/// An argument of a kernel: its bytes are copied at the launch.
///
/// # Safety
/// The layout is that of the kernel's parameter.
pub(super) unsafe trait KernelArgument {
    /// Where the bytes are.
    fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

// SAFETY: plain integers; device addresses are passed as `u64`.
unsafe impl KernelArgument for u32 {}
// SAFETY: as above.
unsafe impl KernelArgument for u64 {}

/// The shape of a launch.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub(super) grid: (u32, u32),
    pub(super) block: u32,
    pub(super) shared_bytes: u32,
}

/// How many devices the driver shows.
///
/// # Errors
/// When there is no kernel image, no driver, or the driver fails.
fn device_count() -> Result<usize, GpuError> {
    if FATBIN.is_none() {
        return Err(GpuError::BuiltWithoutCuda);
    }
    // SAFETY: opens the driver's library and nothing else.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    let count = CudaContext::device_count().map_err(GpuError::driver("count the devices"))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

impl Gpu {
    /// Describes every device that the driver shows.
    ///
    /// # Errors
    /// When there is no kernel image, no driver, or the driver fails.
    pub fn list() -> Result<Vec<GpuInfo>, GpuError> {
        (0..device_count()?)
            .map(|ordinal| {
                let context = CudaContext::new(ordinal)
                    .map_err(GpuError::driver(format!("open device {ordinal}")))?;
                describe(&context, ordinal)
            })
            .collect()
    }

    /// Opens device `ordinal` and loads every kernel.
    ///
    /// # Errors
    /// When the device does not exist or cannot run the kernels.
    pub fn open(ordinal: usize) -> Result<Self, GpuError> {
        Self::open_with(ordinal, FATBIN.ok_or(GpuError::BuiltWithoutCuda)?)
    }

    /// As [`Gpu::open`] with another build of the kernels, to compare the two.
    ///
    /// # Errors
    /// When the device does not exist or cannot run the kernels.
    pub fn open_with(ordinal: usize, fatbin: &[u8]) -> Result<Self, GpuError> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(GpuError::NoSuchDevice { ordinal, count });
        }
        let context = CudaContext::new(ordinal)
            .map_err(GpuError::driver(format!("open device {ordinal}")))?;
        let info = describe(&context, ordinal)?;
        let module = context
            .load_module(Ptx::from_binary(fatbin.to_vec()))
            .map_err(GpuError::driver(format!("load the kernels on {}", info.name)))?;
        let stream = context.new_stream().map_err(GpuError::driver("make a stream"))?;
        let mut functions = Vec::with_capacity(Kernel::ALL.len());
        for kernel in Kernel::ALL {
            let function = module
                .load_function(kernel.name())
                .map_err(GpuError::driver(format!("load `{}`", kernel.name())))?;
            if kernel.shared_bytes() > 0 {
                function
                    .set_attribute(
                        FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        kernel.shared_bytes() as i32,
                    )
                    .map_err(GpuError::driver(format!("shared memory of `{}`", kernel.name())))?;
            }
            functions.push(function);
        }
        Ok(Self {
            context,
            stream,
            functions: Arc::new(functions),
            info,
            memory: Arc::default(),
            side: OnceLock::new(),
        })
    }

    /// What this device is.
    pub fn info(&self) -> &GpuInfo {
        &self.info
    }

    /// Bytes of device memory that are free now.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn free_bytes(&self) -> Result<usize, GpuError> {
        self.context
            .mem_get_info()
            .map(|(free, _)| free)
            .map_err(GpuError::driver("ask for free memory"))
    }

    /// Waits for all work given so far.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.bind()?;
        self.stream.synchronize().map_err(GpuError::driver("wait for the stream"))
    }

    /// Starts a clock in stream order.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn timer(&self) -> Result<Timer<'_>, GpuError> {
        Ok(Timer { gpu: self, start: self.mark()? })
    }

    pub(super) fn bind(&self) -> Result<(), GpuError> {
        self.context.bind_to_thread().map_err(GpuError::driver("bind the context"))
    }

    pub(super) fn stream(&self) -> sys::CUstream {
        self.stream.cu_stream()
    }

    /// Enqueues `kernel`. An empty grid is nothing to do.
    pub(super) fn launch(
        &self,
        kernel: Kernel,
        launch: Launch,
        arguments: &[&dyn KernelArgument],
    ) -> Result<(), GpuError> {
        if launch.grid.0 == 0 || launch.grid.1 == 0 {
            return Ok(());
        }
        self.launch_function(&self.functions[kernel as usize], kernel.name(), launch, arguments)
    }

    /// Loads one function of another kernel image.
    pub(super) fn load(&self, image: &[u8], name: &str) -> Result<CudaFunction, GpuError> {
        self.context
            .load_module(Ptx::from_binary(image.to_vec()))
            .and_then(|module| module.load_function(name))
            .map_err(GpuError::driver(format!("load `{name}` on {}", self.info.name)))
    }

    /// Enqueues a loaded function; see [`Gpu::launch`].
    pub(super) fn launch_function(
        &self,
        function: &CudaFunction,
        name: &str,
        launch: Launch,
        arguments: &[&dyn KernelArgument],
    ) -> Result<(), GpuError> {
        self.bind()?;
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(|a| a.pointer()).collect();
        // SAFETY: the launchers in `kernels` and `generated` pass each kernel its own parameters,
        // in order, and assert the shapes that keep its accesses inside live buffers.
        unsafe {
            driver::launch_kernel(
                function.cu_function(),
                (launch.grid.0, launch.grid.1, 1),
                (launch.block, 1, 1),
                launch.shared_bytes,
                self.stream(),
                &mut pointers,
            )
        }
        .map_err(GpuError::driver(format!("launch `{name}`")))
    }
}

/// A running clock; see [`Gpu::timer`].
pub struct Timer<'g> {
    gpu: &'g Gpu,
    start: Mark,
}

impl Timer<'_> {
    /// Waits for the work given since the start and returns its milliseconds on the device.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn stop_ms(self) -> Result<f64, GpuError> {
        self.gpu.mark()?.ms_since(&self.start)
    }
}

fn describe(context: &CudaContext, ordinal: usize) -> Result<GpuInfo, GpuError> {
    let failed = || format!("describe device {ordinal}");
    let multiprocessors = context
        .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        .map_err(GpuError::driver(failed()))?;
    Ok(GpuInfo {
        ordinal,
        name: context.name().map_err(GpuError::driver(failed()))?,
        capability: context.compute_capability().map_err(GpuError::driver(failed()))?,
        multiprocessors: usize::try_from(multiprocessors).unwrap_or(0),
        memory_bytes: context.total_mem().map_err(GpuError::driver(failed()))?,
    })
}
