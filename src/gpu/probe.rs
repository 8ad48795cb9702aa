//! Which devices there are, and whether the kernels can run on them.
//!
//! Nothing here makes a context, so that looking costs a few milliseconds and no device memory;
//! only [`GpuInfo::free_bytes`] does. The driver's library is opened at run time: without one
//! [`survey`] says so.
#![expect(unsafe_code, reason = "the driver is asked about its devices")]

use std::ffi::{CStr, c_char, c_int};
use std::fs;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError, result as driver};
use thiserror::Error;

use super::GpuError;
use super::image::{self, Target};

/// What a device is, for the choice of one and for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    /// Number in the driver's order, after `CUDA_VISIBLE_DEVICES`.
    pub ordinal: usize,
    /// The vendor's name.
    pub name: String,
    /// `GPU-` and 32 hexadecimal digits, as `nvidia-smi -L` shows it.
    pub uuid: String,
    /// Where it is on the bus, as `0000:3B:00.0`.
    pub pci: String,
    /// The driver's version, as `580.65.06`, or what CUDA it serves.
    pub driver: String,
    /// The CUDA version that the driver serves, 1000 x major + 10 x minor.
    pub driver_cuda: i32,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Device memory in bytes.
    pub memory_bytes: usize,
}

/// Why the kernels of this build cannot run on a device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    /// No machine code, and no newer PTX either.
    #[error("compute capability {}.{}, but the kernels are compiled for {}",
        .capability.0, .capability.1, image::list(.targets))]
    Capability {
        /// The device's.
        capability: (i32, i32),
        /// The build's.
        targets: Vec<Target>,
    },
    /// The driver serves an older CUDA than the kernels were compiled with.
    #[error("driver too old: it serves CUDA {}, expected {} or newer",
        cuda_version(*.driver_cuda), cuda_version(*.needed))]
    Driver {
        /// The driver's CUDA version.
        driver_cuda: i32,
        /// The oldest that works.
        needed: i32,
    },
}

impl GpuInfo {
    /// Why the kernels cannot run here, if they cannot.
    pub fn unusable(&self) -> Option<Unusable> {
        let needed = image::TOOLKIT_CUDA / 1000 * 1000;
        if self.driver_cuda < needed {
            return Some(Unusable::Driver { driver_cuda: self.driver_cuda, needed });
        }
        let targets = image::targets();
        let capability = self.capability;
        (!image::runs_on(&targets, capability))
            .then_some(Unusable::Capability { capability, targets })
    }

    /// Device memory that is free now. Makes a context for the time of the call.
    ///
    /// # Errors
    /// When the device cannot be opened, for instance because it is in exclusive mode and taken.
    pub fn free_bytes(&self) -> Result<usize, GpuError> {
        CudaContext::new(self.ordinal)
            .and_then(|context| context.mem_get_info())
            .map(|(free, _)| free)
            .map_err(GpuError::driver(format!("open GPU {}", self.ordinal)))
    }
}

/// `13.0` for 13000.
fn cuda_version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// Describes every device that the driver shows, in its order.
///
/// # Errors
/// When there is no kernel image, no driver, or the driver fails.
pub fn survey() -> Result<Vec<GpuInfo>, GpuError> {
    (0..device_count()?)
        .map(|ordinal| {
            describe(ordinal).map_err(GpuError::driver(format!("describe GPU {ordinal}")))
        })
        .collect()
}

/// How many devices the driver shows.
pub(super) fn device_count() -> Result<usize, GpuError> {
    if image::WIDE.is_none() {
        return Err(GpuError::BuiltWithoutCuda);
    }
    // SAFETY: opens the driver's library and nothing else.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    match driver::init() {
        // What the driver says when `CUDA_VISIBLE_DEVICES` hides every device, too.
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(0),
        started => started.map_err(GpuError::driver("start the NVIDIA driver"))?,
    }
    let count = driver::device::get_count().map_err(GpuError::driver("count the GPUs"))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Describes device `ordinal`, which the driver has shown.
pub(super) fn describe(ordinal: usize) -> Result<GpuInfo, DriverError> {
    let device = driver::device::get(ordinal as c_int)?;
    // SAFETY: `device` comes from the driver.
    let attribute = |which| unsafe { driver::device::get_attribute(device, which) };
    let capability = (
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let multiprocessors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let driver_cuda = driver_cuda()?;
    Ok(GpuInfo {
        ordinal,
        name: driver::device::get_name(device)?,
        uuid: uuid_text(&driver::device::get_uuid(device)?.bytes),
        pci: pci_bus_id(device)?,
        driver: kernel_module_version()
            .unwrap_or_else(|| format!("for CUDA {}", cuda_version(driver_cuda))),
        driver_cuda,
        capability,
        multiprocessors: usize::try_from(multiprocessors).unwrap_or(0),
        // SAFETY: as above.
        memory_bytes: unsafe { driver::device::total_mem(device) }?,
    })
}

fn driver_cuda() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: the driver writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(version)
}

fn pci_bus_id(device: sys::CUdevice) -> Result<String, DriverError> {
    let mut text = [0; 32];
    let length = text.len() as c_int;
    // SAFETY: the driver writes a text with its final zero, `length` bytes at most.
    unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), length, device) }.result()?;
    let bytes = text.map(|byte: c_char| byte.to_ne_bytes()[0]);
    let text = CStr::from_bytes_until_nul(&bytes).map(CStr::to_string_lossy);
    Ok(text.map(String::from).unwrap_or_default())
}

/// As `nvidia-smi` writes it.
fn uuid_text(bytes: &[c_char; 16]) -> String {
    let digits = hex::encode(bytes.map(|byte| byte.to_ne_bytes()[0]));
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
    format!("GPU-{}", groups.join("-"))
}

/// The version of the kernel module, which is that of the driver.
fn kernel_module_version() -> Option<String> {
    version_in(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word of the first line that looks like a version: digits and dots.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A card for tests of what chooses among cards.
    pub(crate) fn card(ordinal: usize) -> GpuInfo {
        GpuInfo {
            ordinal,
            name: "NVIDIA H200".into(),
            uuid: format!("GPU-0000000{ordinal}-1111-2222-3333-444444444444"),
            pci: format!("0000:0{ordinal}:00.0"),
            driver: "580.65.06".into(),
            driver_cuda: 13_000,
            capability: (9, 0),
            multiprocessors: 132,
            memory_bytes: 141 << 30,
        }
    }

    #[test]
    fn uuids_are_written_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|index| (0x10 * index) as u8 as c_char);
        assert_eq!(uuid_text(&bytes), "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
    }

    #[test]
    fn both_kernel_modules_tell_their_version() {
        for text in [
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:23:11 UTC 2025\n\
             GCC version:  gcc version 12.3.0\n",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n",
        ] {
            assert_eq!(version_in(text).as_deref(), Some("580.65.06"));
        }
        assert_eq!(version_in("no version here"), None);
    }

    #[test]
    fn an_old_driver_is_told_with_both_versions() {
        let old = GpuInfo { driver_cuda: 12_040, ..card(0) };
        let needed = 13_000;
        let reason = Unusable::Driver { driver_cuda: old.driver_cuda, needed };
        assert_eq!(
            reason.to_string(),
            "driver too old: it serves CUDA 12.4, expected 13.0 or newer"
        );
    }
}
