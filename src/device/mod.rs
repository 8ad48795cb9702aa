//! Which device does the work: what the person asked for against what the machine has.
//!
//! In: [`DeviceSettings`], the sector's size. Out: an open GPU that belongs to this process, or the
//! CPU with the reason why no GPU is used. Among usable devices the one with most free memory is
//! taken; a device is not usable when the driver is missing or too old, the kernels are not
//! compiled for it, or another process has its lock.

mod choose;
mod selector;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::ValueEnum;
use thiserror::Error;

pub use self::selector::GpuSelector;
use crate::gpu::fault::FaultPlan;
use crate::gpu::lock::{GpuLock, LOCK_FOLDER};
use crate::gpu::{self, FieldVariant, Gpu, GpuInfo};
use crate::progress::{Device, Progress};
use crate::report::DeviceInfo;
use crate::sector::SectorSize;
use crate::sys;
use crate::threads::joined;

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

/// Everything that decides about the device.
#[derive(Clone, Debug)]
pub struct DeviceSettings {
    /// `--device`; a GPU when `--gpu` names one.
    pub request: DeviceRequest,
    /// `--gpu`.
    pub gpu: Option<GpuSelector>,
    /// `--wait-gpu`: how long to wait for a GPU that others use.
    pub wait: Duration,
    /// Why the run cannot use a GPU whatever there is, when it cannot.
    pub forbidden: Option<&'static str>,
    /// `--vram` in bytes.
    pub vram_bytes: Option<u64>,
    /// Whose arithmetic the kernels run on.
    pub field: FieldVariant,
    /// What fails on purpose.
    pub fault: Option<Arc<FaultPlan>>,
}

impl DeviceSettings {
    /// Options that do nothing when there is no GPU for this reason. A card in use was waited for.
    fn without_effect(&self, why: &NoGpu) -> Vec<&'static str> {
        let options = [
            ("--wait-gpu", !self.wait.is_zero() && !why.is_busy),
            ("--vram", self.vram_bytes.is_some()),
        ];
        options.into_iter().filter(|&(_, is_idle)| is_idle).map(|(option, _)| option).collect()
    }
}

/// The device of a run.
pub enum OpenDevice {
    /// This machine's processors.
    Cpu {
        /// Why no GPU is used although one was wanted.
        reason: Option<String>,
    },
    /// A card.
    Gpu(OpenGpu),
}

/// An open GPU that no other process of ours uses.
pub struct OpenGpu {
    /// The card.
    pub gpu: Gpu,
    /// Kept until the card is closed.
    _lock: GpuLock,
}

impl OpenDevice {
    /// Which kind it is.
    pub const fn kind(&self) -> Device {
        match self {
            Self::Cpu { .. } => Device::Cpu,
            Self::Gpu(_) => Device::Gpu,
        }
    }

    /// The card, if it is one.
    pub const fn gpu(&self) -> Option<&Gpu> {
        match self {
            Self::Cpu { .. } => None,
            Self::Gpu(open) => Some(&open.gpu),
        }
    }

    /// The device, for reports.
    pub fn info(&self) -> DeviceInfo {
        self.gpu().map_or_else(cpu_info, |gpu| gpu_info(gpu.info()))
    }

    /// The most device memory that was allocated at once.
    pub fn peak_vram_bytes(&self) -> u64 {
        self.gpu().map_or(0, Gpu::peak_bytes)
    }
}

/// The CPU, for reports.
pub fn cpu_info() -> DeviceInfo {
    DeviceInfo {
        kind: Device::Cpu,
        name: sys::cpu_name(),
        uuid: None,
        driver: None,
        compute_capability: None,
    }
}

fn gpu_info(info: &GpuInfo) -> DeviceInfo {
    DeviceInfo {
        kind: Device::Gpu,
        name: info.name.clone(),
        uuid: Some(info.uuid.clone()),
        driver: Some(info.driver.clone()),
        compute_capability: Some(format!("{}.{}", info.capability.0, info.capability.1)),
    }
}

/// Why there is no usable GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoGpu {
    /// One reason for all devices, or one a device.
    pub reasons: Vec<String>,
    /// What can be done.
    pub hints: Vec<String>,
    /// Whether waiting may help.
    is_busy: bool,
}

impl fmt::Display for NoGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reasons.join("; "))
    }
}

impl NoGpu {
    /// One reason, and nothing to be done about it.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reasons: vec![reason.into()], ..Self::default() }
    }

    /// An error's chain as one reason, its hints apart.
    fn from_error(error: &dyn std::error::Error) -> Self {
        let chain = std::iter::successors(Some(error), |error| error.source());
        let mut no_gpu = Self::default();
        let mut said = Vec::new();
        for line in
            chain.flat_map(|error| error.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
        {
            match line.strip_prefix("hint: ") {
                Some(hint) => no_gpu.hints.push(hint.to_owned()),
                None => said.push(line),
            }
        }
        no_gpu.reasons.push(said.join(": "));
        no_gpu
    }

    /// Adds what is wrong with one device.
    fn add(&mut self, info: &GpuInfo, error: &dyn std::error::Error) {
        let mut other = Self::from_error(error);
        let reason = other.reasons.remove(0);
        self.reasons.push(format!("GPU {} ({}): {reason}", info.ordinal, info.name));
        self.hints.extend(other.hints);
    }

    fn hint_lines(&self) -> String {
        self.hints.iter().map(|hint| format!("\nhint: {hint}")).collect()
    }
}

/// No device can be used for this run.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// `--device gpu` cannot be had.
    #[error("no usable GPU: {why}{}\n{CPU_HINT}", .why.hint_lines())]
    NoGpu {
        /// Why.
        why: NoGpu,
    },
    /// `--device auto` does not fall back to the CPU for production sizes.
    #[error(
        "no usable GPU for a {size} sector: {why}; the CPU is not chosen by itself at this size{}\n\
         {CPU_HINT}",
        .why.hint_lines()
    )]
    TooLargeForCpu {
        /// The sector's size.
        size: SectorSize,
        /// Why.
        why: NoGpu,
    },
}

/// What is said of a driver without devices.
const NO_DEVICE: &str = "the driver shows no device";

/// What can always be done.
const CPU_HINT: &str = "hint: `--device cpu` works on the CPU";

/// Opens the device for work on a sector of `size`, or on none, and says when that is not what the
/// person might expect.
///
/// # Errors
/// When a GPU is demanded, or needed for the size, and none can be had.
pub fn open(
    settings: &DeviceSettings,
    size: Option<SectorSize>,
    progress: &dyn Progress,
) -> Result<OpenDevice, DeviceError> {
    let opened = (settings.request != DeviceRequest::Cpu)
        .then(|| open_gpu(settings, &AtomicBool::new(false), progress));
    settle(settings, opened, size, progress)
}

/// The GPU that was opened, or the CPU where it may do it instead; `None` where no GPU was wanted.
fn settle(
    settings: &DeviceSettings,
    opened: Option<Result<OpenGpu, NoGpu>>,
    size: Option<SectorSize>,
    progress: &dyn Progress,
) -> Result<OpenDevice, DeviceError> {
    match opened {
        None => Ok(OpenDevice::Cpu { reason: None }),
        Some(Ok(open)) => Ok(OpenDevice::Gpu(open)),
        Some(Err(why)) => {
            let options = settings.without_effect(&why);
            let reason = fall_back(settings.request, size, why)?;
            progress.note(&format!("on the CPU, without a GPU: {reason}"));
            for option in options {
                progress.warn(&format!("{option} has no effect on the CPU"));
            }
            Ok(OpenDevice::Cpu { reason: Some(reason) })
        }
    }
}

/// A GPU that a thread opens, before it is known what for. Dropped, it gives up waiting for a card
/// in use.
pub struct Opening {
    settings: DeviceSettings,
    cancelled: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<OpenGpu, NoGpu>>>,
}

impl Opening {
    /// Starts the thread, unless no GPU is wanted.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(settings: DeviceSettings, progress: Arc<dyn Progress>) -> io::Result<Self> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let thread = (settings.request != DeviceRequest::Cpu).then(|| {
            let (settings, cancelled) = (settings.clone(), Arc::clone(&cancelled));
            let builder = thread::Builder::new().name("open-gpu".to_owned());
            builder.spawn(move || open_gpu(&settings, &cancelled, &*progress))
        });
        let thread = thread.transpose()?;
        Ok(Self { settings, cancelled, thread })
    }

    /// As [`open`].
    ///
    /// # Errors
    /// As [`open`].
    pub fn finish(
        mut self,
        size: Option<SectorSize>,
        progress: &dyn Progress,
    ) -> Result<OpenDevice, DeviceError> {
        let opened = self.thread.take().map(|thread| joined(thread.join()));
        settle(&self.settings, opened, size, progress)
    }
}

impl Drop for Opening {
    /// Waits for the thread: a process that ends while the driver starts up may hang.
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it says, or that it panicked, no longer matters.
            let _ = thread.join();
        }
    }
}

/// Whether the CPU may do it instead; then the reason why no GPU does.
fn fall_back(
    request: DeviceRequest,
    size: Option<SectorSize>,
    why: NoGpu,
) -> Result<String, DeviceError> {
    match size.filter(|size| size.is_production()) {
        _ if request == DeviceRequest::Gpu => Err(DeviceError::NoGpu { why }),
        Some(size) => Err(DeviceError::TooLargeForCpu { size, why }),
        None => Ok(why.to_string()),
    }
}

/// A device as `prove info` shows it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is.
    pub info: GpuInfo,
    /// Its free memory in bytes, or why it is not usable.
    pub usable: Result<usize, String>,
}

/// Every device that the driver shows.
///
/// # Errors
/// When none is shown, or none may be used.
pub fn list(settings: &DeviceSettings) -> Result<Vec<Listed>, NoGpu> {
    if let Some(reason) = settings.forbidden {
        return Err(NoGpu::because(reason));
    }
    let infos = gpu::survey().map_err(|error| NoGpu::from_error(&error))?;
    if infos.is_empty() {
        return Err(NoGpu::because(NO_DEVICE));
    }
    let listed = |info: GpuInfo| {
        let usable = match info.unusable() {
            Some(reason) => Err(reason.to_string()),
            None => info.free_bytes().map_err(|error| NoGpu::from_error(&error).to_string()),
        };
        Listed { info, usable }
    };
    Ok(infos.into_iter().map(listed).collect())
}

/// `cancelled` ends the wait for a card in use.
fn open_gpu(
    settings: &DeviceSettings,
    cancelled: &AtomicBool,
    progress: &dyn Progress,
) -> Result<OpenGpu, NoGpu> {
    if let Some(reason) = settings.forbidden {
        return Err(NoGpu::because(reason));
    }
    let infos = gpu::survey().map_err(|error| NoGpu::from_error(&error))?;
    let candidates = choose::candidates(&infos, settings.gpu.as_ref(), GpuInfo::free_bytes)?;
    let patience = choose::Patience { wait: settings.wait, cancelled };
    let (info, lock) = choose::lock(Path::new(LOCK_FOLDER), &candidates, patience, progress)?;
    let opened = Gpu::open(info.ordinal).and_then(|gpu| match settings.field {
        FieldVariant::Wide => Ok(gpu),
        FieldVariant::Generated => gpu.with_field(FieldVariant::Generated),
    });
    let gpu = opened.map_err(|error| {
        let mut why = NoGpu::default();
        why.add(info, &error);
        why
    })?;
    if let Some(plan) = &settings.fault {
        gpu.inject(Arc::clone(plan));
    }
    Ok(OpenGpu { gpu, _lock: lock })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::gpu::GpuError;
    use crate::progress::Silent;
    use crate::progress::console::Console;
    use crate::settings::Verbosity;

    fn settings(request: DeviceRequest, forbidden: Option<&'static str>) -> DeviceSettings {
        DeviceSettings {
            request,
            gpu: None,
            wait: Duration::ZERO,
            forbidden,
            vram_bytes: None,
            field: FieldVariant::Wide,
            fault: None,
        }
    }

    #[test]
    fn production_sizes_are_never_proved_on_the_cpu_unasked() {
        let forbidden = Some("BELLMAN_NO_GPU is set");
        for size in SectorSize::ALL {
            let open = |request| super::open(&settings(request, forbidden), Some(size), &Silent);
            assert_eq!(open(DeviceRequest::Auto).is_ok(), !size.is_production());
            assert!(open(DeviceRequest::Cpu).is_ok());
            let error = open(DeviceRequest::Gpu).err().expect("no GPU").to_string();
            assert!(error.contains("BELLMAN_NO_GPU is set\nhint: `--device cpu`"), "{error}");
        }
        match super::open(&settings(DeviceRequest::Auto, forbidden), None, &Silent) {
            Ok(OpenDevice::Cpu { reason: Some(reason) }) => {
                assert_eq!(reason, "BELLMAN_NO_GPU is set");
            }
            _ => panic!("expected the CPU and the reason"),
        }
    }

    #[test]
    fn options_of_a_gpu_are_told_when_the_cpu_does_the_work() {
        let warnings = |settings: &DeviceSettings, why: NoGpu| {
            let console = Console::new(Verbosity::Quiet, Instant::now());
            let device = settle(settings, Some(Err(why)), Some(SectorSize::KiB2), &console);
            assert!(device.is_ok_and(|device| device.kind() == Device::Cpu));
            console.warnings()
        };
        let plain = settings(DeviceRequest::Auto, None);
        let (wait, vram_bytes) = (Duration::from_secs(1), Some(8 << 30));
        let both = DeviceSettings { wait, vram_bytes, ..plain.clone() };
        let vram = "--vram has no effect on the CPU";
        let absent = || NoGpu::because(NO_DEVICE);
        assert!(warnings(&plain, absent()).is_empty());
        assert_eq!(warnings(&both, absent()), ["--wait-gpu has no effect on the CPU", vram]);
        assert_eq!(warnings(&both, NoGpu { is_busy: true, ..absent() }), [vram]);
    }

    #[test]
    fn hints_of_errors_stay_hints() {
        let why = NoGpu::from_error(&GpuError::BuiltWithoutCuda);
        assert_eq!(why.to_string(), "built without CUDA");
        let text = DeviceError::NoGpu { why }.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "no usable GPU: built without CUDA");
        assert!(lines[1].starts_with("hint: run `make cuda`") && lines[2] == CPU_HINT);
    }
}
