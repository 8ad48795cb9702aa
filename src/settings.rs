//! Flags and environment, resolved once into [`Settings`]; nothing reads the environment later.
//!
//! In: [`Shared`] options and a look-up of environment variables. Out: checked settings, the
//! variables that took part, and what the person should be told about the rest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::c1::GivenIds;
use crate::cli::Shared;
use crate::device::{DeviceRequest, DeviceSettings};
use crate::gpu::fault::{FaultPlan, NoFaultPlan};
use crate::params::{DEFAULT_FOLDER, Folder, FolderChoice};
use crate::progress::Device;
use crate::variant::{ProverVariant, VariantFlag, Variants};

/// Looks up an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the parameter files.
    pub params: Folder,
    /// Whether the digest of the parameter file is demanded before proving
    /// (`FIL_PROOFS_VERIFY_PRODUCTION_PARAMS=1`).
    pub verify_params_digest: bool,
    /// What decides about the device.
    pub device: DeviceSettings,
    /// The chosen implementations, as far as the device is settled.
    pub variants: Variants,
    /// The choices as typed: they are resolved again when the device is known.
    pub variant_flags: Vec<VariantFlag>,
    /// `--ram` in bytes.
    pub ram_bytes: Option<u64>,
    /// Threads, when the person fixed them.
    pub threads: Option<usize>,
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// Where the JSON report goes; `-` is standard output.
    pub json: Option<PathBuf>,
    /// Where the memory log goes.
    pub rss_log: Option<PathBuf>,
    /// Where the trace goes.
    pub trace: Option<PathBuf>,
    /// How much is said.
    pub verbosity: Verbosity,
    /// The sector's identity as given, to be checked.
    pub identity: GivenIds,
    /// Whether vanilla proofs are verified first.
    pub check_vanilla: bool,
    /// Whether proofs are hexadecimal text.
    pub hex: bool,
    /// Variables that took part in this run, with their values.
    pub environment: BTreeMap<&'static str, String>,
    /// What the person should know about the settings, a line each.
    pub warnings: Vec<String>,
}

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// Progress and table in plain lines.
    Plain,
    /// Progress bars where standard error is a terminal.
    Rich,
}

/// Settings that make no sense: usage errors.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A partition that the sector has not.
    #[error("expected --partition from 0 to {last}, got {got}")]
    Partition {
        /// The sector's last partition.
        last: usize,
        /// The one asked for.
        got: usize,
    },
    /// A variant that acts on another device than the one that was found.
    #[error("{message}")]
    Variant {
        /// What is wrong with the choice.
        message: String,
    },
    /// A command for a GPU alone.
    #[error("`{what}` needs a GPU")]
    NeedsGpu {
        /// The command.
        what: &'static str,
    },
    /// A variable whose value cannot be used.
    #[error("environment variable {name}: expected {expected}, got `{value}`")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        value: String,
    },
}

/// Variables of other provers that have no effect here.
const WITHOUT_EFFECT: [&str; 6] = [
    "BELLMAN_CUSTOM_GPU",
    "BELLMAN_GPU_LOCK",
    "BELLPERSON_GPUS_PER_LOCK",
    "RUST_GPU_TOOLS_CUSTOM_GPU",
    "BELLMAN_CPU_UTILIZATION",
    "BELLMAN_VERIFIER",
];

/// Variables that choose a GPU framework.
const FRAMEWORKS: [&str; 2] = ["BELLMAN_GPU_FRAMEWORK", "FIL_PROOFS_GPU_FRAMEWORK"];

impl Settings {
    /// Resolves options and environment.
    ///
    /// # Errors
    /// When a variable's value cannot be used.
    pub fn resolve(
        shared: &Shared,
        variants: Variants,
        environment: Environment<'_>,
    ) -> Result<Self, SettingsError> {
        let mut variables = Variables { environment, used: BTreeMap::new() };
        let params = params_folder(shared, &mut variables);
        for name in FRAMEWORKS {
            require_cuda(&mut variables, name)?;
        }
        let threads = match shared.threads {
            Some(threads) => Some(threads),
            None => thread_variable(&mut variables)?,
        };
        let no_color = variables.get("NO_COLOR").is_some();
        let logging = variables.get("RUST_LOG").is_some();
        let verbosity = match (shared.quiet, no_color || logging) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Plain,
            (false, false) => Verbosity::Rich,
        };
        Ok(Self {
            params,
            verify_params_digest: variables.flag("FIL_PROOFS_VERIFY_PRODUCTION_PARAMS"),
            device: device_settings(shared, variants, &mut variables)?,
            variants,
            variant_flags: shared.variants.clone(),
            ram_bytes: shared.ram,
            threads,
            timeout: shared.timeout,
            json: shared.json.clone(),
            rss_log: shared.rss_log.clone(),
            trace: shared.trace.clone(),
            verbosity,
            identity: GivenIds {
                miner_id: shared.miner_id,
                prover_id: shared.prover_id,
                sector_num: shared.sector_num,
                porep_id: shared.porep_id,
            },
            check_vanilla: shared.check_vanilla,
            hex: shared.hex,
            warnings: WITHOUT_EFFECT
                .into_iter()
                .filter(|name| environment(name).is_some())
                .map(|name| format!("environment variable {name} has no effect here"))
                .collect(),
            environment: variables.used,
        })
    }
}

/// Environment look-ups that remember which variables took part.
struct Variables<'a> {
    environment: Environment<'a>,
    used: BTreeMap<&'static str, String>,
}

impl Variables<'_> {
    /// The value of a variable that is set and not empty.
    fn get(&mut self, name: &'static str) -> Option<OsString> {
        let value = (self.environment)(name).filter(|value| !value.is_empty())?;
        self.used.insert(name, value.to_string_lossy().into_owned());
        Some(value)
    }

    /// Remembers a variable that others read, even an empty one.
    fn note(&mut self, name: &'static str) {
        if let Some(value) = (self.environment)(name) {
            self.used.insert(name, value.to_string_lossy().into_owned());
        }
    }

    /// A boolean as people mean it: unset, empty, `0`, `false` and `no` are off.
    fn flag(&mut self, name: &'static str) -> bool {
        self.get(name).is_some_and(|value| {
            let value = value.to_string_lossy().to_ascii_lowercase();
            !matches!(value.trim(), "" | "0" | "false" | "no")
        })
    }
}

fn params_folder(shared: &Shared, variables: &mut Variables<'_>) -> Folder {
    let (path, chosen_by) = match shared.params.clone() {
        Some(path) => (path, FolderChoice::Flag),
        None => match variables.get("FIL_PROOFS_PARAMETER_CACHE") {
            Some(path) => (path.into(), FolderChoice::Environment),
            None => (DEFAULT_FOLDER.into(), FolderChoice::Default),
        },
    };
    Folder { path, chosen_by }
}

/// What decides about the device. `PROVE_TEST_GPU_FAULT` makes cards fail for tests and is told to
/// nobody else; [`FaultPlan`] says what it may hold.
fn device_settings(
    shared: &Shared,
    variants: Variants,
    variables: &mut Variables<'_>,
) -> Result<DeviceSettings, SettingsError> {
    let forbidden = if variables.flag("BELLMAN_NO_GPU") {
        Some("BELLMAN_NO_GPU is set")
    } else if variants.prover == ProverVariant::Bellperson {
        Some("`prover=bellperson` runs on the CPU")
    } else {
        None
    };
    variables.note("CUDA_VISIBLE_DEVICES");
    let name = "PROVE_TEST_GPU_FAULT";
    let fault = variables.get(name).map(|value| {
        let value = value.to_string_lossy();
        value.parse::<FaultPlan>().map(Arc::new).map_err(|NoFaultPlan| SettingsError::Variable {
            name,
            expected: NoFaultPlan::EXPECTED,
            value: value.into_owned(),
        })
    });
    Ok(DeviceSettings {
        request: match shared.settled_device() {
            None => DeviceRequest::Auto,
            Some(Device::Cpu) => DeviceRequest::Cpu,
            Some(Device::Gpu) => DeviceRequest::Gpu,
        },
        gpu: shared.gpu.clone(),
        wait: shared.wait_gpu.unwrap_or_default(),
        forbidden,
        vram_bytes: shared.vram,
        field: variants.field,
        fault: fault.transpose()?,
    })
}

fn require_cuda(variables: &mut Variables<'_>, name: &'static str) -> Result<(), SettingsError> {
    match variables.get(name) {
        Some(value) if !value.eq_ignore_ascii_case("cuda") => Err(SettingsError::Variable {
            name,
            expected: "`cuda` (OpenCL is not supported)",
            value: value.to_string_lossy().into_owned(),
        }),
        _ => Ok(()),
    }
}

/// `RAYON_NUM_THREADS`; 0 means one per core, as rayon has it.
fn thread_variable(variables: &mut Variables<'_>) -> Result<Option<usize>, SettingsError> {
    let name = "RAYON_NUM_THREADS";
    let Some(value) = variables.get(name) else { return Ok(None) };
    let value = value.to_string_lossy();
    match value.trim().parse() {
        Ok(0) => Ok(None),
        Ok(count @ 1..=4096) => Ok(Some(count)),
        _ => Err(SettingsError::Variable {
            name,
            expected: "a number from 0 to 4096",
            value: value.into_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn resolve(words: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let words = ["prove", "a", "b"].into_iter().chain(words.split_whitespace());
        let cli = Cli::parse_words(words).expect("a good command line");
        let environment = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value))
        };
        Settings::resolve(&cli.shared, Variants::default(), &environment)
    }

    #[test]
    fn no_gpu_is_a_boolean() {
        for (value, forbidden) in
            [("", false), ("0", false), ("false", false), ("No", false), ("1", true), ("yes", true)]
        {
            let settings = resolve("", &[("BELLMAN_NO_GPU", value)]).expect(value);
            assert_eq!(settings.device.forbidden.is_some(), forbidden, "`{value}`");
        }
        assert_eq!(resolve("", &[]).expect("unset").device.forbidden, None);
    }

    #[test]
    fn a_gpu_that_is_named_is_demanded() {
        let device = |words| resolve(words, &[]).expect(words).device;
        assert_eq!(device("").request, DeviceRequest::Auto);
        let named = device("--gpu 3 --wait-gpu 90s --vram 8GiB");
        assert_eq!(named.request, DeviceRequest::Gpu);
        assert_eq!((named.wait, named.vram_bytes), (Duration::from_secs(90), Some(8 << 30)));
    }

    #[test]
    fn faults_of_cards_are_read_for_tests() {
        let name = "PROVE_TEST_GPU_FAULT";
        let settings = resolve("", &[(name, "launch:ntt_pass_dif:2")]).expect("a fault");
        assert!(settings.device.fault.is_some());
        assert_eq!(settings.environment[name], "launch:ntt_pass_dif:2", "the report tells it");
        let error = resolve("", &[(name, "boom")]).expect_err("no fault").to_string();
        assert!(error.contains("corrupt:KERNEL"), "{error}");
        assert!(resolve("", &[]).expect("unset").device.fault.is_none());
    }

    #[test]
    fn a_flag_beats_its_variable_and_the_source_is_known() {
        let variable = [("FIL_PROOFS_PARAMETER_CACHE", "/from/env"), ("RAYON_NUM_THREADS", "7")];
        let settings = resolve("--params /from/flag --threads 3", &variable).expect("good");
        assert_eq!(settings.params.path, PathBuf::from("/from/flag"));
        assert_eq!((settings.params.chosen_by, settings.threads), (FolderChoice::Flag, Some(3)));
        assert!(settings.environment.is_empty(), "beaten variables take no part");
        let settings = resolve("", &variable).expect("good");
        assert_eq!(settings.params.path, PathBuf::from("/from/env"));
        assert_eq!(settings.threads, Some(7));
        assert_eq!(settings.environment.len(), 2);
        let settings = resolve("", &[("FIL_PROOFS_PARAMETER_CACHE", "")]).expect("good");
        assert_eq!(settings.params.path, PathBuf::from(DEFAULT_FOLDER));
    }

    #[test]
    fn variables_of_other_provers_are_told_once_each() {
        let settings =
            resolve("", &[("BELLMAN_VERIFIER", "gpu"), ("BELLMAN_CUSTOM_GPU", "x")]).expect("good");
        assert_eq!(settings.warnings.len(), 2);
        assert!(settings.warnings.iter().all(|line| line.contains("no effect")));
    }

    #[test]
    fn impossible_values_are_errors() {
        for name in FRAMEWORKS {
            assert!(resolve("", &[(name, "cuda")]).is_ok());
            let error = resolve("", &[(name, "opencl")]).expect_err("opencl").to_string();
            assert!(error.contains(name) && error.contains("opencl"), "{error}");
        }
        for value in ["many", "-1", "5000"] {
            assert!(resolve("", &[("RAYON_NUM_THREADS", value)]).is_err(), "{value}");
        }
        assert_eq!(resolve("", &[("RAYON_NUM_THREADS", "0")]).expect("good").threads, None);
    }

    #[test]
    fn logs_and_no_color_turn_bars_off_and_quiet_everything() {
        assert_eq!(resolve("", &[]).expect("good").verbosity, Verbosity::Rich);
        for name in ["NO_COLOR", "RUST_LOG"] {
            let verbosity = |words| resolve(words, &[(name, "1")]).expect("good").verbosity;
            assert_eq!(verbosity(""), Verbosity::Plain);
            assert_eq!(verbosity("--quiet"), Verbosity::Quiet);
        }
    }
}
