//! What can go wrong on a GPU.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// An error of the CUDA backend.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The binary has no kernels.
    #[error("built without CUDA\nhint: run `make cuda`, then build again")]
    BuiltWithoutCuda,
    /// The driver's library could not be opened.
    #[error("no NVIDIA driver: `libcuda.so.1` could not be opened")]
    NoDriver,
    /// The requested device does not exist.
    #[error(
        "expected a GPU below {count}, got {ordinal}\nhint: `CUDA_VISIBLE_DEVICES` may hide it"
    )]
    NoSuchDevice {
        /// The requested device.
        ordinal: usize,
        /// How many devices the driver shows.
        count: usize,
    },
    /// A driver call failed.
    #[error("{operation}")]
    Driver {
        /// The call, with the kernel's name if it is a launch.
        operation: String,
        /// The driver's answer.
        #[source]
        source: DriverError,
    },
    /// Device memory is short.
    #[error("expected {wanted_bytes} free bytes of device memory, got {free_bytes}")]
    OutOfMemory {
        /// Bytes of the allocation that failed.
        wanted_bytes: usize,
        /// Bytes that were free.
        free_bytes: usize,
    },
    /// A result is not what it must be.
    #[error("{what} is wrong on the GPU\nhint: suspect the card's memory, or report a bug")]
    WrongResult {
        /// The result.
        what: &'static str,
    },
    /// A point of a parameter file is not valid.
    #[error("point {index} is not a point of the curve in uncompressed form")]
    BadPoint {
        /// Index within the decoded range.
        index: usize,
    },
}

impl GpuError {
    /// Whether memory is short, on the device or, where pages are locked, in the host.
    pub const fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::Driver { source: DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY), .. }
        )
    }

    /// Names the call that a driver error came from.
    pub(super) fn driver(operation: impl Into<String>) -> impl FnOnce(DriverError) -> GpuError {
        |source| GpuError::Driver { operation: operation.into(), source }
    }
}
