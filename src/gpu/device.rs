//! One GPU: its context, its stream and the loaded kernels.
#![expect(unsafe_code, reason = "kernels are launched and the driver is probed here")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute, CUresult};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaStream, DriverError, result as driver,
};
use cudarc::nvrtc::Ptx;

use super::GpuError;
use super::fault::{FaultPlan, LaunchFault};
use super::image::{self, FieldVariant};
use super::kernels::Kernel;
use super::probe::{self, GpuInfo};

/// An open device with the kernels loaded.
pub struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    functions: Vec<CudaFunction>,
    info: GpuInfo,
    shared: Arc<Shared>,
}

/// What all handles on one open device share.
#[derive(Default)]
struct Shared {
    /// Bytes of our live allocations.
    allocated_bytes: AtomicU64,
    /// The most they ever were.
    peak_bytes: AtomicU64,
    /// The kernel launched last: the one that an error of the stream most likely comes from.
    last_kernel: Mutex<&'static str>,
    fault: OnceLock<Arc<FaultPlan>>,
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
        Self::load_image(context, info, Arc::default(), fatbin)
    }

    /// A second handle on this device, whose kernels run on the arithmetic that `field` names.
    ///
    /// # Errors
    /// When the kernels cannot be loaded.
    pub fn with_field(&self, field: FieldVariant) -> Result<Self, GpuError> {
        let image = image::of_field(field).ok_or(GpuError::BuiltWithoutCuda)?;
        let (context, shared) = (Arc::clone(&self.context), Arc::clone(&self.shared));
        Self::load_image(context, self.info.clone(), shared, image)
    }

    fn load_image(
        context: Arc<CudaContext>,
        info: GpuInfo,
        shared: Arc<Shared>,
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
        Ok(Self { context, stream, functions, info, shared })
    }

    /// Makes what `plan` says fail from now on, on every handle of this device.
    ///
    /// # Panics
    /// When the device has a plan already.
    pub fn inject(&self, plan: Arc<FaultPlan>) {
        assert!(self.shared.fault.set(plan).is_ok(), "one fault plan a device");
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

    /// The most bytes that were allocated at once, on all handles of this device.
    pub fn peak_bytes(&self) -> u64 {
        self.shared.peak_bytes.load(Ordering::Relaxed)
    }

    /// Counts an allocation of `bytes`, which a fault plan may refuse.
    pub(super) fn account(&self, bytes: usize) -> Result<(), GpuError> {
        if self.fault().is_some_and(FaultPlan::refuses_allocation) {
            self.bind()?;
            let free_bytes = self.free_bytes()?;
            return Err(GpuError::OutOfMemory { wanted_bytes: bytes, free_bytes });
        }
        let before = self.shared.allocated_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.shared.peak_bytes.fetch_max(before + bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Counts the end of an allocation of `bytes`.
    pub(super) fn discount(&self, bytes: usize) {
        self.shared.allocated_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Waits for all work given so far.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.bind()?;
        self.stream
            .synchronize()
            .map_err(|source| GpuError::driver(self.after_last_kernel("wait for the GPU"))(source))
    }

    fn fault(&self) -> Option<&FaultPlan> {
        self.shared.fault.get().map(Arc::as_ref)
    }

    /// `what`, with the kernel launched last.
    fn after_last_kernel(&self, what: &str) -> String {
        match *self.shared.last_kernel.lock().unwrap_or_else(PoisonError::into_inner) {
            "" => what.to_owned(),
            kernel => format!("{what} after `{kernel}`"),
        }
    }

    /// Starts a clock in stream order.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn timer(&self) -> Result<Timer<'_>, GpuError> {
        Ok(Timer { gpu: self, start: self.mark()? })
    }

    fn mark(&self) -> Result<CudaEvent, GpuError> {
        self.stream
            .record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
            .map_err(GpuError::driver("record an event"))
    }

    pub(super) fn bind(&self) -> Result<(), GpuError> {
        if self.fault().is_some_and(FaultPlan::is_lost) {
            // What the driver says of a card that fell off the bus.
            let source = DriverError(CUresult::CUDA_ERROR_UNKNOWN);
            return Err(GpuError::driver(self.after_last_kernel("use the GPU"))(source));
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
        *self.shared.last_kernel.lock().unwrap_or_else(PoisonError::into_inner) = name;
        let fault = self.fault().and_then(|plan| plan.at_launch(name));
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
    start: CudaEvent,
}

impl Timer<'_> {
    /// Waits for the work given since the start and returns its milliseconds on the device.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn stop_ms(self) -> Result<f64, GpuError> {
        let end = self.gpu.mark()?;
        end.synchronize().map_err(GpuError::driver("wait for an event"))?;
        self.start.elapsed_ms(&end).map(f64::from).map_err(GpuError::driver("read the timer"))
    }
}
