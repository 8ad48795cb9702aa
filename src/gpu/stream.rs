//! More streams of one GPU, and points in their time.

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaEvent, CudaStream, result, sys};

use super::{Gpu, GpuError};

/// A point in the order of a stream.
pub struct Mark(CudaEvent);

impl Mark {
    /// Waits until all work before the mark is done.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.0.synchronize().map_err(GpuError::driver("wait for an event"))
    }

    /// Waits for this mark and returns the milliseconds of the device from `earlier` to it.
    ///
    /// # Errors
    /// The first error of the work before it.
    pub fn ms_since(&self, earlier: &Mark) -> Result<f64, GpuError> {
        self.wait()?;
        earlier.0.elapsed_ms(&self.0).map(f64::from).map_err(GpuError::driver("read the timer"))
    }
}

impl Gpu {
    /// A handle on the same device, kernels and memory whose work goes to a stream of its own, so
    /// that another thread's copies and kernels run beside this one's.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn with_new_stream(&self) -> Result<Self, GpuError> {
        let stream = self.context.new_stream().map_err(GpuError::driver("make a stream"))?;
        Ok(self.on_stream(stream))
    }

    /// As [`Gpu::with_new_stream`], with the device's highest priority: its blocks start before
    /// those of other streams that wait, where short kernels would starve behind long ones.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn with_urgent_stream(&self) -> Result<Self, GpuError> {
        self.bind()?;
        let stream = result::stream::get_priority_range()
            .and_then(|(_, highest)| self.context.new_stream_with_priority(highest))
            .map_err(GpuError::driver("make a stream"))?;
        Ok(self.on_stream(stream))
    }

    fn on_stream(&self, stream: Arc<CudaStream>) -> Self {
        Self {
            context: self.context.clone(),
            stream,
            functions: self.functions.clone(),
            info: self.info.clone(),
            memory: self.memory.clone(),
            launches: self.launches.clone(),
            side: OnceLock::new(),
        }
    }

    /// A second stream that lives as long as this handle.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn side(&self) -> Result<&Self, GpuError> {
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let side = Box::new(self.with_new_stream()?);
        Ok(self.side.get_or_init(|| side))
    }

    /// Marks the end of the work given so far.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn mark(&self) -> Result<Mark, GpuError> {
        self.stream
            .record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
            .map(Mark)
            .map_err(GpuError::driver("record an event"))
    }

    /// Lets the work given from now on wait for a mark of another stream.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn wait_for(&self, mark: &Mark) -> Result<(), GpuError> {
        self.stream.wait(&mark.0).map_err(GpuError::driver("let a stream wait"))
    }
}
