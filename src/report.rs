//! What a run did: one [`Report`], shown as a table for people and as JSON for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::memory::Bytes;
use crate::progress::Device;
use crate::progress::timeline::PhaseRecord;
use crate::sector::{ProofKind, RegisteredProof, SectorSize};

/// Version of the JSON's shape.
pub const SCHEMA: u32 = 1;

/// Everything that is told about a run; the JSON has the same fields.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the package.
    pub version: &'static str,
    /// Git revision of the build.
    pub git: &'static str,
    /// `prove`, `verify`, ...
    pub command: &'static str,
    /// Sector size in bytes.
    pub sector_size: Option<u64>,
    /// Name of the registered proof.
    pub registered_proof: Option<String>,
    /// Partitions, each with a proof.
    pub partitions: Option<usize>,
    /// The device that proved.
    pub device: DeviceInfo,
    /// Stage and name of every variant in effect.
    pub variants: BTreeMap<&'static str, String>,
    /// Environment variables that took part.
    pub environment: BTreeMap<&'static str, String>,
    /// The parameter file.
    pub parameters: Option<ParametersInfo>,
    /// Phases in order of their start.
    pub phases: Vec<PhaseRecord>,
    /// Time spent waiting for a device.
    pub queue_wait_ms: f64,
    /// Time spent opening and checking parameters, and bringing them to a GPU.
    pub srs_load_ms: f64,
    /// Time spent on synthesis.
    pub synthesis_ms: f64,
    /// Time that a GPU computed, without copies.
    pub gpu_compute_ms: f64,
    /// Time spent verifying.
    pub verify_ms: f64,
    /// The whole run, up to this report.
    pub total_ms: f64,
    /// Highest sampled RssAnon.
    pub peak_rss_anon_bytes: u64,
    /// Highest GPU memory.
    pub peak_vram_bytes: u64,
    /// Length of the proof.
    pub proof_bytes: Option<usize>,
    /// SHA-256 of the proof, hexadecimal.
    pub proof_sha256: Option<String>,
    /// Warnings that were shown.
    pub warnings: Vec<String>,
}

/// A device, for the report.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceInfo {
    /// What kind.
    pub kind: Device,
    /// Its name.
    pub name: String,
    /// UUID of a GPU.
    pub uuid: Option<String>,
    /// Driver version of a GPU.
    pub driver: Option<String>,
    /// Compute capability of a GPU.
    pub compute_capability: Option<String>,
}

/// Parameters, for the report.
#[derive(Clone, Debug, Serialize)]
pub struct ParametersInfo {
    /// The `.params` file, or the `.vk` file where only that is used.
    pub path: PathBuf,
    /// Whether someone may know the trapdoor.
    pub secure: bool,
    /// Which part of the file was in memory at the start: 0 (cold) to 1 (warm), when known.
    pub warm_fraction: Option<f64>,
}

impl Report {
    /// Fills the sums over phases that other tools report under these names.
    pub fn with_phases(mut self, mut phases: Vec<PhaseRecord>) -> Self {
        phases.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
        let wall =
            |names: &[&str]| wall_ms(phases.iter().filter(|phase| names.contains(&phase.name)));
        let computes = |phase: &&PhaseRecord| phase.device == Device::Gpu && phase.name != "upload";
        self.queue_wait_ms = wall(&["wait-for-gpu"]);
        self.srs_load_ms = wall(&["open-parameters", "upload"]);
        self.synthesis_ms = wall(&["synthesis"]);
        self.verify_ms = wall(&["verify"]);
        self.gpu_compute_ms = wall_ms(phases.iter().filter(computes));
        self.phases = phases;
        self
    }

    /// Sets what follows from the registered proof.
    pub fn with_proof(mut self, proof: RegisteredProof) -> Self {
        self.sector_size = Some(proof.size.bytes());
        self.registered_proof = Some(proof.to_string());
        self.partitions = Some(proof.partitions());
        self
    }

    /// Remarks under the table.
    fn remarks(&self) -> Vec<String> {
        let proof = self.registered_proof.as_ref().and_then(|name| name.parse().ok());
        let mut remarks = Vec::new();
        if let Some(RegisteredProof { size, .. }) = proof
            && size < SectorSize::GiB32
        {
            remarks.push(format!("times of a {size} sector are not representative below 32 GiB"));
        }
        if proof.is_some_and(|proof| proof.kind() == ProofKind::NonInteractive) {
            remarks.push(
                "un-aggregated circuit proofs: the chain wants a SnarkPack aggregate of them"
                    .into(),
            );
        }
        if self.parameters.as_ref().is_some_and(|parameters| !parameters.secure) {
            remarks.push("insecure parameters: this proof convinces nobody".into());
        }
        remarks
    }
}

/// Milliseconds in which at least one of the phases ran, to the microsecond.
fn wall_ms<'a>(phases: impl Iterator<Item = &'a PhaseRecord>) -> f64 {
    let mut spans: Vec<(f64, f64)> =
        phases.map(|phase| (phase.start_ms, phase.start_ms + phase.ms)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut covered_to = f64::NEG_INFINITY;
    let mut sum = 0.0;
    for (start, end) in spans {
        sum += (end - start.max(covered_to)).max(0.0);
        covered_to = covered_to.max(end);
    }
    (sum * 1000.0).round() / 1000.0
}

/// A row of the table: the phases of one name.
struct Row {
    name: &'static str,
    partitions: usize,
    ms: f64,
    bytes: u64,
    device: Device,
}

/// Groups phases by name and device, in order of their first start.
fn rows(phases: &[PhaseRecord]) -> Vec<Row> {
    let mut keys: Vec<(&'static str, Device)> = Vec::new();
    for phase in phases {
        if !keys.contains(&(phase.name, phase.device)) {
            keys.push((phase.name, phase.device));
        }
    }
    keys.into_iter()
        .map(|(name, device)| {
            let group =
                || phases.iter().filter(|phase| (phase.name, phase.device) == (name, device));
            let mut partitions: Vec<usize> = group().filter_map(|phase| phase.partition).collect();
            partitions.sort_unstable();
            partitions.dedup();
            Row {
                name,
                partitions: partitions.len(),
                ms: wall_ms(group()),
                bytes: group().map(|phase| phase.bytes).sum(),
                device,
            }
        })
        .collect()
}

impl fmt::Display for Report {
    /// The table, without a final newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["phase", "partitions", "wall", "share", "bytes", "rate", "device"];
        let mut cells = vec![head.map(str::to_owned)];
        for row in rows(&self.phases) {
            let known = |known: bool, text: String| if known { text } else { "-".to_owned() };
            let rate = row.bytes as f64 / (row.ms / 1000.0);
            cells.push([
                row.name.to_owned(),
                known(row.partitions > 0, row.partitions.to_string()),
                seconds(row.ms),
                format!("{:.1} %", 100.0 * row.ms / self.total_ms),
                known(row.bytes > 0, Bytes(row.bytes).to_string()),
                known(row.bytes > 0 && row.ms > 0.0, format!("{}/s", Bytes(rate as u64))),
                row.device.to_string(),
            ]);
        }
        let total = seconds(self.total_ms);
        cells.push(["total", "", &total, "", "", "", ""].map(str::to_owned));
        write_columns(f, &cells)?;
        self.fmt_facts(f)
    }
}

impl Report {
    /// The lines under the columns.
    fn fmt_facts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(proof), Some(partitions)) = (&self.registered_proof, self.partitions) {
            write!(f, "\nsector       {proof}, partitions {partitions}")?;
        }
        write!(f, "\ndevice       {}: {}", self.device.kind, self.device.name)?;
        write!(f, "\npeak memory  {} (RssAnon)", Bytes(self.peak_rss_anon_bytes))?;
        if let Some(parameters) = &self.parameters {
            let secure = if parameters.secure { "secure" } else { "insecure" };
            let warm = match parameters.warm_fraction {
                Some(fraction) if fraction > 0.99 => ", warm".to_owned(),
                Some(fraction) if fraction < 0.01 => ", cold".to_owned(),
                Some(fraction) => format!(", {:.0} % warm", 100.0 * fraction),
                None => String::new(),
            };
            write!(f, "\nparameters   {} ({secure}{warm})", parameters.path.display())?;
        }
        if !self.variants.is_empty() {
            let names: Vec<String> =
                self.variants.iter().map(|(stage, name)| format!("{stage}={name}")).collect();
            write!(f, "\nvariants     {}", names.join(" "))?;
        }
        if let (Some(bytes), Some(sha256)) = (self.proof_bytes, &self.proof_sha256) {
            write!(f, "\nproof        {bytes} bytes, sha256 {sha256}")?;
        }
        for remark in self.remarks() {
            write!(f, "\nnote         {remark}")?;
        }
        Ok(())
    }
}

/// Writes rows of cells as aligned columns: the first and last to the left, the rest to the right.
fn write_columns<const N: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; N]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            line += &match column {
                0 => format!("{gap}{cell:width$}"),
                _ if column == N - 1 => format!("{gap}{cell}"),
                _ => format!("{gap}{cell:>width$}"),
            };
        }
        let newline = if index == 0 { "" } else { "\n" };
        write!(f, "{newline}{}", line.trim_end())?;
    }
    Ok(())
}

/// Milliseconds as seconds, with as many digits as mean something.
fn seconds(ms: f64) -> String {
    if ms < 10_000.0 { format!("{:.3} s", ms / 1000.0) } else { format!("{:.1} s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &'static str, partition: Option<usize>, start_ms: f64, ms: f64) -> PhaseRecord {
        PhaseRecord { name, partition, start_ms, ms, bytes: 0, device: Device::Cpu }
    }

    fn report(proof: &str) -> Report {
        let phases = vec![
            phase("verify", Some(1), 900.0, 50.0),
            phase("read-c1", None, 0.0, 100.0),
            phase("synthesis", Some(0), 100.0, 300.0),
            PhaseRecord { bytes: 2 << 30, ..phase("synthesis", Some(1), 200.0, 300.0) },
            PhaseRecord { device: Device::Gpu, ..phase("msm", Some(0), 500.0, 400.0) },
        ];
        Report {
            schema: SCHEMA,
            version: "0.1.0",
            git: "abc",
            command: "prove",
            sector_size: None,
            registered_proof: None,
            partitions: None,
            device: DeviceInfo {
                kind: Device::Cpu,
                name: "a processor".into(),
                uuid: None,
                driver: None,
                compute_capability: None,
            },
            variants: BTreeMap::from([("prover", "bellperson".to_owned())]),
            environment: BTreeMap::new(),
            parameters: Some(ParametersInfo {
                path: "p/v28.params".into(),
                secure: false,
                warm_fraction: Some(1.0),
            }),
            phases: Vec::new(),
            queue_wait_ms: 0.0,
            srs_load_ms: 0.0,
            synthesis_ms: 0.0,
            gpu_compute_ms: 0.0,
            verify_ms: 0.0,
            total_ms: 1000.0,
            peak_rss_anon_bytes: 3 << 30,
            peak_vram_bytes: 0,
            proof_bytes: Some(192),
            proof_sha256: Some("00".into()),
            warnings: Vec::new(),
        }
        .with_proof(proof.parse().expect("a registered proof"))
        .with_phases(phases)
    }

    #[test]
    fn overlapping_phases_count_once() {
        let report = report("StackedDrg2KiBV1_1");
        assert_eq!(report.synthesis_ms, 400.0);
        assert_eq!((report.verify_ms, report.gpu_compute_ms), (50.0, 400.0));
        assert_eq!(report.phases[0].name, "read-c1");
    }

    #[test]
    fn the_table_is_aligned_and_says_what_matters() {
        let table = report("StackedDrg2KiBV1_2_Feat_NonInteractivePoRep").to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "phase      partitions     wall   share    bytes       rate  device");
        assert_eq!(lines[2], "synthesis           2  0.400 s  40.0 %  2.0 GiB  5.0 GiB/s  cpu");
        assert_eq!(lines[3], "msm                 1  0.400 s  40.0 %        -          -  gpu");
        assert_eq!(lines[5], "total                  1.000 s");
        for words in [
            "partitions 13",
            "peak memory  3.0 GiB",
            "p/v28.params (insecure, warm)",
            "prover=bellperson",
            "not representative below 32 GiB",
            "un-aggregated",
        ] {
            assert!(table.contains(words), "`{words}` in\n{table}");
        }
        let production = report("StackedDrg32GiBV1_1").to_string();
        assert!(!production.contains("representative") && !production.contains("un-aggregated"));
    }

    #[test]
    fn the_json_has_the_promised_fields() {
        let json = serde_json::to_value(report("StackedDrg2KiBV1_1")).expect("serializable");
        let object = json.as_object().expect("an object");
        let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let mut expected: Vec<&str> = "schema version git command sector_size registered_proof \
            partitions device variants environment parameters phases queue_wait_ms srs_load_ms \
            synthesis_ms gpu_compute_ms verify_ms total_ms peak_rss_anon_bytes peak_vram_bytes \
            proof_bytes proof_sha256 warnings"
            .split_whitespace()
            .collect();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        let phase = json["phases"][1].as_object().expect("a phase");
        for key in ["name", "partition", "start_ms", "ms", "bytes", "device"] {
            assert!(phase.contains_key(key), "{key}");
        }
        assert_eq!(json["phases"][0]["partition"], serde_json::Value::Null);
        assert_eq!(json["schema"], 1);
        assert_eq!(json["sector_size"], 2048);
    }
}
