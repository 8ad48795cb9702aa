//! `prove bench`: the same work done by several arms, in turn, and what each cost.
//!
//! In: arms (one combination of variants each) and a body that runs one arm once. Out: a
//! [`Comparison`] with every sample. Arms are interleaved (A B A B ...), so that a machine whose
//! speed drifts treats all alike, and the first arm is the baseline of every ratio.

pub mod counters;
pub mod sample;
pub mod summary;
pub mod table;

pub use sample::Sample;
pub use summary::Summary;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::build;
use crate::report::{DeviceInfo, SCHEMA};
use crate::sector::SectorSize;
use sample::Meter;

/// One combination of variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm<V> {
    /// What tells it from the others: `lc=vec presize=off`.
    pub label: String,
    /// Every stage that takes part, and the name of its variant.
    pub names: BTreeMap<&'static str, String>,
    /// The settings that the body runs with.
    pub variants: V,
}

/// What one run of the body did, beside what the [`Meter`] saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Units done: rows, points, butterflies. Gives the rate; 0 for none.
    pub items: u64,
    /// The time to count, when the body timed itself (setup left out, or events of a GPU).
    pub ms: Option<f64>,
}

/// What a comparison is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What runs: `synth`, `ntt`.
    pub bench: &'static str,
    /// The unit of [`Work::items`], plural.
    pub unit: &'static str,
    /// The device that does the work.
    pub device: DeviceInfo,
    /// Sector size in bytes, where a sector takes part.
    pub sector_size: Option<u64>,
    /// The partition, where one takes part.
    pub partition: Option<usize>,
    /// log2 of the size, where only a size matters.
    pub log_n: Option<u32>,
    /// What a run does, to be told as rates beside the best that is possible.
    pub effective: Vec<Effective>,
}

/// Work of one run, the same for every arm, and the rate at which the device could do it at best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// What is counted, plural, with its field or group: `Fr butterflies`.
    pub what: &'static str,
    /// How many a run does.
    pub count: f64,
    /// The measured limit of [`LIMITS_DEVICE`].
    pub limit_per_second: f64,
}

/// Where the limits of [`Effective`] were measured.
pub const LIMITS_DEVICE: &str = "one H200";

impl Subject {
    /// Neither of a sector nor of a size so far.
    pub const fn new(bench: &'static str, unit: &'static str, device: DeviceInfo) -> Self {
        let (sector_size, partition, log_n) = (None, None, None);
        Self { bench, unit, device, sector_size, partition, log_n, effective: Vec::new() }
    }

    /// With the rates that its work amounts to.
    pub fn with_effective(self, effective: Vec<Effective>) -> Self {
        Self { effective, ..self }
    }

    /// Of a whole sector.
    pub fn of_sector(self, size: SectorSize) -> Self {
        Self { sector_size: Some(size.bytes()), ..self }
    }

    /// Of one partition of a sector.
    pub fn of_partition(self, size: SectorSize, partition: usize) -> Self {
        Self { sector_size: Some(size.bytes()), partition: Some(partition), ..self }
    }

    /// Of 2^`log_n` items.
    pub fn of_size(self, log_n: u32) -> Self {
        Self { log_n: Some(log_n), ..self }
    }
}

/// A rate that an arm reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Rate {
    what: &'static str,
    per_second: f64,
    limit_per_second: f64,
}

/// All samples of one arm.
#[derive(Clone, Debug)]
pub struct ArmSamples {
    /// The arm's label.
    pub label: String,
    /// The arm's stages and variants.
    pub names: BTreeMap<&'static str, String>,
    /// One sample per iteration, in the order of running.
    pub samples: Vec<Sample>,
}

/// Arms that ran in turn; the first is the baseline.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What ran.
    pub subject: Subject,
    /// The arms, in the order given.
    pub arms: Vec<ArmSamples>,
    /// Why there are no hardware counters, when there are none.
    pub counters_missing: Option<String>,
}

/// Runs `body` for every arm once as warm-up and then `iterations` times, interleaved.
///
/// `body` does the whole run and drops what it made before it returns. `tell` hears, before each
/// run, which arm and iteration comes (iteration 0 is the warm-up).
///
/// # Errors
/// The first error of the body ends the comparison.
pub fn compare<V, E>(
    subject: Subject,
    arms: &[Arm<V>],
    plan: Plan,
    meter: &mut Meter,
    mut tell: impl FnMut(&str, usize),
    mut body: impl FnMut(&V) -> Result<Work, E>,
) -> Result<Comparison, E> {
    assert!(!arms.is_empty(), "a comparison has at least one arm");
    let mut results: Vec<ArmSamples> = arms
        .iter()
        .map(|Arm { label, names, .. }| ArmSamples {
            label: label.clone(),
            names: names.clone(),
            samples: Vec::new(),
        })
        .collect();
    let first = usize::from(!plan.warm_up);
    for iteration in first..=plan.iterations {
        for (arm, result) in arms.iter().zip(&mut results) {
            tell(&arm.label, iteration);
            let (sample, work) = meter.measure(|| body(&arm.variants));
            let work = work?;
            if iteration > 0 {
                result.samples.push(Sample { work, ..sample });
            }
        }
    }
    let counters_missing = meter.counters_missing();
    Ok(Comparison { subject, arms: results, counters_missing })
}

/// How often each arm runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Whether one uncounted run of each arm comes first.
    pub warm_up: bool,
    /// Counted runs of each arm.
    pub iterations: usize,
}

impl ArmSamples {
    /// Times in milliseconds: the body's own where it timed itself, else wall time.
    pub fn times_ms(&self) -> Vec<f64> {
        self.samples.iter().map(Sample::time_ms).collect()
    }

    /// Times of `self` over those of `baseline`, pair by pair in the order of running.
    pub fn ratios(&self, baseline: &Self) -> Vec<f64> {
        let (ours, theirs) = (self.times_ms(), baseline.times_ms());
        ours.iter().zip(&theirs).map(|(our, their)| our / their).collect()
    }
}

impl Comparison {
    /// The comparison as JSON: build, subject, every sample, and median, min, max and ratio per
    /// arm.
    pub fn to_json(&self) -> serde_json::Value {
        let arms: Vec<_> = self.arms.iter().map(|arm| self.arm_json(arm)).collect();
        let Subject { bench, unit, device, sector_size, partition, log_n, .. } = &self.subject;
        serde_json::json!({
            "schema": SCHEMA,
            "version": build::PACKAGE_VERSION,
            "git": build::GIT_REVISION,
            "bench": bench,
            "unit": unit,
            "device": device,
            "sector_size": sector_size,
            "partition": partition,
            "log_n": log_n,
            "baseline": self.arms[0].label,
            "counters_missing": self.counters_missing,
            "arms": arms,
        })
    }

    /// The rates of an arm's median run.
    fn rates(&self, arm: &ArmSamples) -> Vec<Rate> {
        let seconds = Summary::of(&arm.times_ms()).median / 1e3;
        let rate = |&Effective { what, count, limit_per_second }: &Effective| Rate {
            what,
            per_second: count / seconds,
            limit_per_second,
        };
        self.subject.effective.iter().map(rate).collect()
    }

    fn arm_json(&self, arm: &ArmSamples) -> serde_json::Value {
        let samples: Vec<_> = arm.samples.iter().map(Sample::to_json).collect();
        serde_json::json!({
            "arm": arm.label,
            "variants": arm.names,
            "ms": Summary::of(&arm.times_ms()),
            "ratio_to_baseline": Summary::of(&arm.ratios(&self.arms[0])),
            "effective": self.rates(arm),
            "samples": samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Device;

    pub(super) fn subject(bench: &'static str, unit: &'static str) -> Subject {
        let device = DeviceInfo {
            kind: Device::Cpu,
            name: "a processor".to_owned(),
            uuid: None,
            driver: None,
            compute_capability: None,
        };
        Subject::new(bench, unit, device).of_partition(SectorSize::KiB2, 3)
    }

    fn arms(labels: &[&str]) -> Vec<Arm<u64>> {
        labels
            .iter()
            .zip(1..)
            .map(|(label, variants)| Arm {
                label: (*label).to_owned(),
                names: BTreeMap::from([("prover", variants.to_string())]),
                variants,
            })
            .collect()
    }

    #[test]
    fn arms_take_turns_and_the_warm_up_is_not_counted() {
        let mut order = Vec::new();
        let comparison = compare(
            subject("test", "items"),
            &arms(&["a", "b"]),
            Plan { warm_up: true, iterations: 2 },
            &mut Meter::new(),
            |label, iteration| order.push(format!("{label}{iteration}")),
            |&factor| Ok::<_, String>(Work { items: factor, ms: Some(10.0 * factor as f64) }),
        )
        .expect("the body succeeds");
        assert_eq!(order, ["a0", "b0", "a1", "b1", "a2", "b2"]);
        assert_eq!(comparison.arms[1].times_ms(), [20.0, 20.0]);
        assert_eq!(comparison.arms[1].ratios(&comparison.arms[0]), [2.0, 2.0]);
        let json = comparison.to_json();
        assert_eq!(json["arms"][1]["ratio_to_baseline"]["median"], 2.0);
        assert_eq!((&json["schema"], &json["partition"]), (&SCHEMA.into(), &3.into()));
        assert_eq!(json["device"]["name"], "a processor");
        assert_eq!(json["arms"][1]["variants"]["prover"], "2");
        assert_eq!(json["arms"][0]["samples"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn an_error_of_the_body_ends_the_comparison() {
        let plan = Plan { warm_up: false, iterations: 1 };
        let error = compare(
            subject("test", "items"),
            &arms(&["a"]),
            plan,
            &mut Meter::new(),
            |_, _| (),
            |_| Err("broken"),
        );
        assert_eq!(error.expect_err("the body fails"), "broken");
    }
}
