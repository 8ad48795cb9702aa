//! `prove info`: the machine, the parameters, the build; for a sector size, what a proof needs.

use std::fmt;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::Session;
use super::params::Entry;
use crate::device::{DeviceRequest, GpuSelector, Listed};
use crate::groth16::gpu::plan::{Mode, Plan};
use crate::memory::{Budget, Bytes, CgroupMemory};
use crate::params::layout::Counts;
use crate::progress::Device;
use crate::report::SCHEMA;
use crate::sector::{ProofVersion, RegisteredProof, SectorSize};
use crate::settings::SettingsError;
use crate::variant::{Job, Variants};
use crate::{build, device, gpu, groth16, params, sys};

pub(super) fn run(session: &Session, size: Option<SectorSize>) -> Result<()> {
    session.answer(&Info::gather(session, size)?)
}

/// Everything that `prove info` tells.
#[derive(Debug, Serialize)]
struct Info {
    schema: u32,
    version: &'static str,
    git: &'static str,
    kernels: Option<Kernels>,
    cpu: String,
    cores: usize,
    memory_bytes: Option<u64>,
    memory_available_bytes: Option<u64>,
    cgroup: Option<Cgroup>,
    memory_budget_bytes: u64,
    gpus: Vec<Card>,
    no_gpu_reason: Option<String>,
    parameters_dir: PathBuf,
    parameters_dir_chosen_by: String,
    parameters: Vec<Entry>,
    sector: Option<SectorInfo>,
}

/// The embedded GPU kernels.
#[derive(Debug, Serialize)]
struct Kernels {
    sha256: String,
    targets: Vec<String>,
}

impl Kernels {
    fn embedded() -> Option<Self> {
        let targets = gpu::targets().iter().map(ToString::to_string).collect();
        gpu::fatbin_digest().map(|sha256| Self { sha256, targets })
    }
}

/// A GPU.
#[derive(Debug, Serialize)]
struct Card {
    index: usize,
    name: String,
    uuid: String,
    pci: String,
    driver: String,
    compute_capability: String,
    memory_bytes: usize,
    memory_free_bytes: Option<usize>,
    unusable: Option<String>,
}

impl Card {
    fn new(Listed { info, usable }: Listed) -> Self {
        Self {
            index: info.ordinal,
            name: info.name,
            uuid: info.uuid,
            pci: info.pci,
            driver: info.driver,
            compute_capability: format!("{}.{}", info.capability.0, info.capability.1),
            memory_bytes: info.memory_bytes,
            memory_free_bytes: usable.as_ref().ok().copied(),
            unusable: usable.err(),
        }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, name, uuid, pci, driver, compute_capability, .. } = self;
        write!(f, "gpu {index:<8} {name}, {uuid}, {pci}, driver {driver}, ")?;
        write!(f, "compute {compute_capability}, {}", Bytes(self.memory_bytes as u64))?;
        match (&self.unusable, self.memory_free_bytes) {
            (Some(reason), _) => write!(f, "; not usable: {reason}"),
            (None, Some(free)) => write!(f, ", {} free", Bytes(free as u64)),
            (None, None) => Ok(()),
        }
    }
}

#[derive(Debug, Serialize)]
struct Cgroup {
    version: u8,
    path: PathBuf,
    limit_bytes: u64,
    free_bytes: u64,
}

/// The circuit of a sector size and what proving takes.
#[derive(Debug, Serialize)]
struct SectorInfo {
    sector_size: String,
    layers: usize,
    partitions: usize,
    partitions_non_interactive: usize,
    challenges_per_partition: usize,
    inputs: usize,
    aux: u64,
    constraints: u64,
    domain_log2: u32,
    a_aux_dense: u64,
    b_aux_dense: u64,
    proof_bytes: usize,
    parameter_file_bytes: u64,
    variants: Vec<String>,
    proof_memory_bytes: u64,
    fits: bool,
    card: Option<CardPlan>,
}

/// What a proof takes of a card.
#[derive(Debug, Serialize)]
struct CardPlan {
    /// All points at once, or in chunks that pass through; none when nothing fits.
    mode: Option<&'static str>,
    memory_bytes: u64,
    fits: bool,
}

impl CardPlan {
    fn new(proof: RegisteredProof, variants: Variants, budget: Budget) -> Self {
        match Plan::within(budget, Counts::of(proof.size), proof, variants) {
            Ok(plan) => {
                let mode = match plan.mode {
                    Mode::Resident => "resident",
                    Mode::Streamed { .. } => "streamed",
                };
                Self { mode: Some(mode), memory_bytes: plan.needed_bytes(), fits: true }
            }
            Err(error) => Self { mode: None, memory_bytes: error.needed_bytes, fits: false },
        }
    }
}

impl Info {
    fn gather(session: &Session, size: Option<SectorSize>) -> Result<Self, SettingsError> {
        let settings = &session.settings;
        let budget = Budget::detect(settings.ram_bytes);
        let memory = sys::machine_memory();
        let (listed, no_gpu_reason) = match device::list(&settings.device) {
            Ok(listed) => (listed, None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let free_bytes = most_free_bytes(&listed, settings.device.gpu.as_ref());
        let device = match settings.device.request {
            DeviceRequest::Gpu => Device::Gpu,
            DeviceRequest::Auto if free_bytes.is_some() => Device::Gpu,
            DeviceRequest::Auto | DeviceRequest::Cpu => Device::Cpu,
        };
        // Usage that only the machine's devices could decide.
        Variants::resolve(Job::Prove, Some(device), &settings.variant_flags)
            .map_err(|message| SettingsError::Variant { message })?;
        let places = Places { budget, device, free_bytes };
        Ok(Self {
            schema: SCHEMA,
            version: build::PACKAGE_VERSION,
            git: build::GIT_REVISION,
            kernels: Kernels::embedded(),
            cpu: sys::cpu_name(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            memory_bytes: memory.map(|(total, _)| total),
            memory_available_bytes: memory.map(|(_, available)| available),
            cgroup: CgroupMemory::detect().map(|cgroup| Cgroup {
                free_bytes: cgroup.free_bytes(),
                version: cgroup.version,
                path: cgroup.path,
                limit_bytes: cgroup.limit_bytes,
            }),
            memory_budget_bytes: budget.bytes,
            gpus: listed.into_iter().map(Card::new).collect(),
            no_gpu_reason,
            parameters_dir: settings.params.path.clone(),
            parameters_dir_chosen_by: settings.params.chosen_by.to_string(),
            parameters: params::list::list(&settings.params).iter().map(Entry::new).collect(),
            sector: size.map(|size| SectorInfo::new(session, size, places)),
        })
    }
}

/// Free memory of the usable card that has most, among those wanted.
fn most_free_bytes(listed: &[Listed], wanted: Option<&GpuSelector>) -> Option<u64> {
    let wanted = listed.iter().filter(|card| wanted.is_none_or(|wanted| wanted.names(&card.info)));
    wanted.filter_map(|card| card.usable.as_ref().ok()).max().map(|&free| free as u64)
}

/// Where a proof would be made.
#[derive(Clone, Copy)]
struct Places {
    /// Host memory.
    budget: Budget,
    device: Device,
    /// Of the card, when there is one.
    free_bytes: Option<u64>,
}

impl SectorInfo {
    fn new(session: &Session, size: SectorSize, places: Places) -> Self {
        let Places { budget, device, free_bytes } = places;
        let (variants, vram_bytes) =
            (session.settings.variants, session.settings.device.vram_bytes);
        let numbers = size.circuit();
        let proof = |version| RegisteredProof { size, version };
        let proof_memory_bytes = groth16::memory_bytes(variants, device, proof(ProofVersion::V1_1));
        Self {
            sector_size: size.to_string(),
            layers: size.layers(),
            partitions: proof(ProofVersion::V1_1).partitions(),
            partitions_non_interactive: proof(ProofVersion::NonInteractive).partitions(),
            challenges_per_partition: size.challenges_per_partition(),
            inputs: size.inputs(),
            aux: numbers.aux,
            constraints: numbers.constraints,
            domain_log2: numbers.log_n,
            a_aux_dense: numbers.a_aux_dense,
            b_aux_dense: numbers.b_aux_dense,
            proof_bytes: proof(ProofVersion::V1_1).proof_bytes(),
            parameter_file_bytes: params::layout::Layout::of(size).bytes(),
            variants: variants
                .names(Job::Prove, device)
                .iter()
                .map(|(stage, name)| format!("{stage}={name}"))
                .collect(),
            proof_memory_bytes,
            fits: budget.check(proof_memory_bytes).is_ok(),
            // Without a card, for one with as much as `--vram` says.
            card: free_bytes.or(vram_bytes).filter(|_| device == Device::Gpu).map(|free_bytes| {
                let budget = Plan::budget(free_bytes, vram_bytes);
                CardPlan::new(proof(ProofVersion::V1_1), variants, budget)
            }),
        }
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "prove        {}", build::VERSION)?;
        writeln!(f, "cpu          {}, {} cores", self.cpu, self.cores)?;
        if let (Some(total), Some(available)) = (self.memory_bytes, self.memory_available_bytes) {
            writeln!(f, "memory       {}, {} available", Bytes(total), Bytes(available))?;
        }
        match &self.cgroup {
            Some(Cgroup { version, path, limit_bytes, free_bytes }) => writeln!(
                f,
                "cgroup       version {version}, limit {}, {} free ({})",
                Bytes(*limit_bytes),
                Bytes(*free_bytes),
                path.display()
            )?,
            None => writeln!(f, "cgroup       no memory limit")?,
        }
        match &self.kernels {
            Some(Kernels { sha256, targets }) => {
                writeln!(f, "kernels      sha256 {sha256}, for compute {}", targets.join(", "))?;
            }
            None => writeln!(f, "kernels      none")?,
        }
        for card in &self.gpus {
            writeln!(f, "{card}")?;
        }
        if let Some(reason) = &self.no_gpu_reason {
            writeln!(f, "gpus         none: {reason}")?;
        }
        let (dir, chosen_by) = (self.parameters_dir.display(), &self.parameters_dir_chosen_by);
        write!(f, "parameters   {dir}, chosen by {chosen_by}")?;
        for entry in &self.parameters {
            write!(f, "\n  {:<7}    {}", entry.sector_size, entry.summary())?;
        }
        match &self.sector {
            Some(sector) => write!(f, "\n{sector}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for SectorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sector       {}, layers {}", self.sector_size, self.layers)?;
        writeln!(
            f,
            "partitions   {} of {} challenges ({} when non-interactive)",
            self.partitions, self.challenges_per_partition, self.partitions_non_interactive
        )?;
        writeln!(
            f,
            "circuit      constraints {}, inputs {}, aux {}, domain 2^{} (a partition)",
            self.constraints, self.inputs, self.aux, self.domain_log2
        )?;
        writeln!(f, "dense aux    A {}, B {}", self.a_aux_dense, self.b_aux_dense)?;
        writeln!(f, "proof        {} bytes", self.proof_bytes)?;
        let parameter_bytes = self.parameter_file_bytes;
        writeln!(f, "parameters   {parameter_bytes} bytes ({})", Bytes(parameter_bytes))?;
        let fits = if self.fits { "fits" } else { "does not fit" };
        let (memory, variants) = (Bytes(self.proof_memory_bytes), self.variants.join(" "));
        write!(f, "proof memory {memory} with {variants}: {fits} in what is available")?;
        self.card.as_ref().map_or(Ok(()), |card| write!(f, "\n{card}"))
    }
}

impl fmt::Display for CardPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "card memory  {}", Bytes(self.memory_bytes))?;
        match self.mode {
            Some(mode) => write!(f, " with {mode} points: fits in what is free, or allowed"),
            None => write!(f, " at least: does not fit in what is free, or allowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::cli::Cli;
    use crate::settings::Settings;

    #[test]
    fn a_size_is_described_with_what_its_proof_needs() {
        let words = ["prove", "info", "--quiet", "--params", "no/folder", "--ram", "1GiB"];
        let cli = Cli::parse_words(words).expect("a good command line");
        // The test is about the machine without its cards.
        let environment = |name: &str| (name == "BELLMAN_NO_GPU").then(|| "1".into());
        let settings = Settings::resolve(&cli.shared, Variants::default(), &environment);
        let settings = settings.expect("good settings");
        let session = Session::start(settings, "info", Instant::now()).expect("nothing to open");
        let info = Info::gather(&session, Some(SectorSize::GiB32)).expect("nothing to refuse");
        let text = info.to_string();
        for words in [
            "gpus         none: BELLMAN_NO_GPU is set",
            "no/folder, chosen by `--params`",
            "constraints 130278541, inputs 328, aux 130169893, domain 2^27",
            "47373928632 bytes",
            "does not fit",
        ] {
            assert!(text.contains(words), "`{words}` in\n{text}");
        }
        let json = serde_json::to_value(&info).expect("serializable");
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["sector"]["partitions"], 10);
        assert_eq!(json["memory_budget_bytes"], 1 << 30);
        assert_eq!(json["parameters"][0]["security"], serde_json::Value::Null);
        assert_eq!(json["gpus"], serde_json::json!([]));
    }

    #[test]
    fn a_card_is_planned_by_what_is_free_or_allowed() {
        let proof = RegisteredProof { size: SectorSize::GiB32, version: ProofVersion::V1_1 };
        let plan = |free_gib: u64, vram_gib: Option<u64>| {
            let budget = Plan::budget(free_gib << 30, vram_gib.map(|gib| gib << 30));
            CardPlan::new(proof, Variants::default(), budget)
        };
        for (free, vram, mode) in [
            (139, None, Some("resident")),
            (139, Some(24), Some("streamed")),
            (24, Some(139), Some("streamed")),
            (4, None, None),
        ] {
            let plan = plan(free, vram);
            assert_eq!((plan.mode, plan.fits), (mode, mode.is_some()), "{free} {vram:?}");
            let text = plan.to_string();
            assert_eq!(text.contains("does not fit"), !plan.fits, "{text}");
        }
        let bytes = plan(24, None).memory_bytes;
        assert!((10 << 30..24 << 30).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_card_is_one_line_that_says_whether_it_is_usable() {
        let listed = |usable| Card::new(Listed { info: gpu::card(1), usable }).to_string();
        let uuid = gpu::card(1).uuid;
        assert_eq!(
            listed(Ok(140 << 30)),
            format!(
                "gpu 1        NVIDIA H200, {uuid}, 0000:01:00.0, driver 580.65.06, compute 9.0, \
                 141.0 GiB, 140.0 GiB free"
            )
        );
        let text = listed(Err("driver too old".to_owned()));
        assert!(text.ends_with("141.0 GiB; not usable: driver too old"), "{text}");
    }
}
