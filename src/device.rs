//! Which device does the work: what the person asked for against what this build and sector allow.

use clap::ValueEnum;
use thiserror::Error;

use crate::gpu::{Gpu, GpuError};
use crate::progress::Device;
use crate::sector::SectorSize;

/// What `--device` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceRequest {
    /// A GPU when one is usable; else the CPU, for sectors up to 512 MiB.
    Auto,
    /// The CPU, whatever it takes.
    Cpu,
    /// A GPU or nothing.
    Gpu,
}

/// Why no GPU is offered: the kernels are there, whole proofs on them are not.
pub const NO_GPU_REASON: &str = "this version proves on the CPU alone";

/// No GPU can be used for this run.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// `--device gpu` cannot be had.
    #[error("no usable GPU: {}{}\n{HINT}", NO_GPU_REASON, forbidden_suffix(*.forbidden))]
    NoGpu {
        /// Whether `BELLMAN_NO_GPU` forbids one as well.
        forbidden: bool,
    },
    /// `BELLMAN_NO_GPU` is set where parameters need a GPU.
    #[error(
        "no usable GPU: BELLMAN_NO_GPU is set\nhint: `--device cpu` makes parameters on the CPU"
    )]
    Forbidden,
    /// The GPU that parameters need does not open.
    #[error("no usable GPU\nhint: `--device cpu` makes parameters on the CPU")]
    NotOpened {
        /// Why.
        #[source]
        source: GpuError,
    },
    /// `--device auto` does not fall back to the CPU for production sizes.
    #[error(
        "no usable GPU for a {size} sector: {}{}; the CPU is not chosen by itself at this size\n{HINT}",
        NO_GPU_REASON,
        forbidden_suffix(*.forbidden)
    )]
    TooLargeForCpu {
        /// The sector's size.
        size: SectorSize,
        /// Whether `BELLMAN_NO_GPU` forbids a GPU as well.
        forbidden: bool,
    },
}

/// What the person can do.
const HINT: &str = "hint: `--device cpu` proves on the CPU";

fn forbidden_suffix(forbidden: bool) -> &'static str {
    if forbidden { " and BELLMAN_NO_GPU is set" } else { "" }
}

/// Resolves `--device` for a sector size.
///
/// # Errors
/// When a GPU is demanded, or needed for the size, and there is none.
pub fn choose(
    request: DeviceRequest,
    size: SectorSize,
    gpu_forbidden: bool,
) -> Result<Device, DeviceError> {
    let forbidden = gpu_forbidden;
    match request {
        DeviceRequest::Cpu => Ok(Device::Cpu),
        DeviceRequest::Gpu => Err(DeviceError::NoGpu { forbidden }),
        DeviceRequest::Auto if size.is_production() => {
            Err(DeviceError::TooLargeForCpu { size, forbidden })
        }
        DeviceRequest::Auto => Ok(Device::Cpu),
    }
}

/// Opens the GPU that makes the parameters of `size`; none when the CPU does.
///
/// # Errors
/// When a GPU is demanded, or needed for the size, and there is none.
pub fn open_for_setup(
    request: DeviceRequest,
    size: SectorSize,
    gpu_forbidden: bool,
) -> Result<Option<Gpu>, DeviceError> {
    let optional = request == DeviceRequest::Auto && !size.is_production();
    if request == DeviceRequest::Cpu || optional && gpu_forbidden {
        Ok(None)
    } else if gpu_forbidden {
        Err(DeviceError::Forbidden)
    } else {
        match Gpu::open(0) {
            Ok(gpu) => Ok(Some(gpu)),
            Err(_) if optional => Ok(None),
            Err(source) => Err(DeviceError::NotOpened { source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_sizes_are_never_proved_on_the_cpu_unasked() {
        for size in SectorSize::ALL {
            assert_eq!(choose(DeviceRequest::Auto, size, false).is_ok(), !size.is_production());
            assert!(choose(DeviceRequest::Cpu, size, true).is_ok());
            let error =
                choose(DeviceRequest::Gpu, size, true).expect_err("no GPU prover").to_string();
            assert!(error.contains("CPU alone") && error.contains("BELLMAN_NO_GPU"));
        }
    }

    #[test]
    fn parameters_of_production_sizes_are_not_made_on_the_cpu_unasked() {
        for size in SectorSize::ALL {
            let open = |request| open_for_setup(request, size, true).map(|gpu| gpu.is_some());
            assert!(matches!(open(DeviceRequest::Cpu), Ok(false)));
            assert!(matches!(open(DeviceRequest::Gpu), Err(DeviceError::Forbidden)));
            assert_eq!(open(DeviceRequest::Auto).is_err(), size.is_production());
        }
    }
}
