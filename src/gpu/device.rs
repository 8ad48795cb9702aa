//! One GPU: its context, its stream and the loaded kernels.
#![expect(unsafe_code, reason = "kernels are launched and the driver is probed here")]

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result as driver};
use cudarc::nvrtc::Ptx;

use super::fault::{FaultPlan, LaunchFault, Launches};
use super::image::{self, FieldVariant};
use super::kernels::Kernel;
use super::memory::MemoryAccount;
use super::probe::{self, GpuInfo};
use super::{GpuError, Mark};

/// An open device with the kernels loaded.
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) functions: Arc<Vec<CudaFunction>>,
    pub(super) info: GpuInfo,
    pub(super) memory: Arc<MemoryAccount>,
    pub(super) launches: Arc<Launches>,
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

impl Gpu {
    /// Opens device `ordinal` and loads every kernel.
    ///
    /// # Errors
    /// When the device does not exist or cannot run the kernels.
    pub fn open(ordinal: usize) -> Result<Self, GpuError> {
        Self::open_with(ordinal, image::WIDE.ok_or(GpuError::BuiltWithoutCuda)?)
    }

    /// As [`Gpu::open`] with another build of the kernels, to compare the two.
    ///
    /// # Errors
    /// When the device does not exist or cannot run the kernels.
    pub fn open_with(ordinal: usize, fatbin: &[u8]) -> Result<Self, GpuError> {
        let count = probe::device_count()?;
        if ordinal >= count {
            return Err(GpuError::NoSuchDevice { ordinal, count });
        }
        let info = probe::describe(ordinal)
            .map_err(GpuError::driver(format!("describe GPU {ordinal}")))?;
        let context =
            CudaContext::new(ordinal).map_err(GpuError::driver(format!("open GPU {ordinal}")))?;
        Self::load_image((context, info), (Arc::default(), Arc::default()), fatbin)
    }

    /// A second handle on this device, whose kernels run on the arithmetic that `field` names.
    ///
    /// # Errors
    /// When the kernels cannot be loaded.
    pub fn with_field(&self, field: FieldVariant) -> Result<Self, GpuError> {
        let image = image::of_field(field).ok_or(GpuError::BuiltWithoutCuda)?;
        let device = (Arc::clone(&self.context), self.info.clone());
        let accounts = (Arc::clone(&self.memory), Arc::clone(&self.launches));
        Self::load_image(device, accounts, image)
    }

    fn load_image(
        (context, info): (Arc<CudaContext>, GpuInfo),
        (memory, launches): (Arc<MemoryAccount>, Arc<Launches>),
        fatbin: &[u8],
    ) -> Result<Self, GpuError> {
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
        let functions = Arc::new(functions);
        let side = OnceLock::new();
        Ok(Self { context, stream, functions, info, memory, launches, side })
    }

    /// Makes what `plan` says fail from now on, on every handle of this device.
    ///
    /// # Panics
    /// When the device has a plan already.
    pub fn inject(&self, plan: Arc<FaultPlan>) {
        self.launches.inject(plan);
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
        self.stream
            .synchronize()
            .map_err(|source| GpuError::driver(self.launches.after("wait for the GPU"))(source))
    }

    /// Starts a clock in stream order.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn timer(&self) -> Result<Timer<'_>, GpuError> {
        Ok(Timer { gpu: self, start: self.mark()? })
    }

    /// Refuses the allocation of `bytes` about to be made, when a fault plan says so.
    pub(super) fn check_allocation(&self, bytes: usize) -> Result<(), GpuError> {
        match self.launches.plan() {
            Some(plan) if plan.refuses_allocation() => {
                let free_bytes = self.free_bytes()?;
                Err(GpuError::OutOfMemory { wanted_bytes: bytes, free_bytes })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn bind(&self) -> Result<(), GpuError> {
        if self.launches.plan().is_some_and(FaultPlan::is_lost) {
            // What the driver says of a card that fell off the bus.
            let source = DriverError(CUresult::CUDA_ERROR_UNKNOWN);
            return Err(GpuError::driver(self.launches.after("use the GPU"))(source));
        }
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
        name: &'static str,
        launch: Launch,
        arguments: &[&dyn KernelArgument],
    ) -> Result<(), GpuError> {
        self.bind()?;
        let fault = self.launches.at_launch(name);
        if fault == Some(LaunchFault::Refuse) {
            let source = DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED);
            return Err(GpuError::driver(format!("launch `{name}`"))(source));
        }
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
        .map_err(GpuError::driver(format!("launch `{name}`")))?;
        match fault {
            Some(LaunchFault::Corrupt) => self.corrupt_output(arguments),
            _ => Ok(()),
        }
    }

    /// Inverts the first 16 bytes that a kernel with these arguments writes: its first argument
    /// is, or begins with, the address of its output, and no allocation is smaller.
    fn corrupt_output(&self, arguments: &[&dyn KernelArgument]) -> Result<(), GpuError> {
        let failed = || GpuError::driver("corrupt an output, as a fault plan says");
        let first = arguments.first().expect("every kernel has an output");
        let mut bytes = [0u8; 16];
        // SAFETY: the first argument holds the 8 bytes of an address; the output has 16 bytes, and
        // the stream is waited for on both sides of the change.
        unsafe {
            let address = first.pointer().cast::<u64>().read_unaligned();
            self.synchronize()?;
            driver::memcpy_dtoh_sync(&mut bytes, address).map_err(failed())?;
            let inverted = bytes.map(|byte| !byte);
            driver::memcpy_htod_sync(address, &inverted).map_err(failed())
        }
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
