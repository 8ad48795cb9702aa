//! The stage variants of `--variant STAGE=NAME`: one enum a stage, all of them listed here.
//!
//! A new stage is one enum, one field of [`Variants`], one entry of [`STAGES`] and one line of
//! [`Variants::takes_part`]. Variants change speed, never bytes.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use crate::circuit::classic::Presize;
use crate::gpu::FieldVariant;
use crate::gpu::inflight::Inflight;
use crate::gpu::msm::{MsmVariant, WINDOW_BITS_MAX};
use crate::gpu::ntt::NttVariant;
use crate::gpu::upload::PinVariant;
use crate::groth16::native::{BitsVariant, G2Variant};
use crate::msm::Window;
use crate::progress::Device;

/// The names of a stage's variants.
trait Choice: Sized + Copy {
    /// All names, the default first; `N` stands for a number.
    const NAMES: &'static [&'static str];
    /// The range of `N`, where it is among the names.
    const RANGE: Option<(usize, usize)> = None;
    /// The variant of that name.
    fn from_name(name: &str) -> Option<Self>;
    /// The variant's name.
    fn name(self) -> String;
}

/// The names of an enum's variants, the default first.
macro_rules! names {
    ($stage:ty { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl Choice for $stage {
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }

            fn name(self) -> String {
                match self { $(Self::$variant => $name),+ }.to_owned()
            }
        }
    };
}

/// Who makes the proofs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProverVariant {
    /// Our own: six transforms, pattern buckets, batched affine additions.
    #[default]
    Native,
    /// bellperson 0.27 on the CPU, the oracle and peer.
    Bellperson,
}
names!(ProverVariant { Native = "native", Bellperson = "bellperson" });

/// Who makes the assignment and the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SynthVariant {
    /// Bits and field elements from words; rows from the template.
    #[default]
    Compact,
    /// Our circuit row by row, with linear combinations.
    Classic,
    /// `storage-proofs-porep`'s circuit row by row.
    Reference,
}
names!(SynthVariant { Compact = "compact", Classic = "classic", Reference = "reference" });

/// What holds the entries of a linear combination, under `synth=classic`. Others measured `Vec`
/// 54.5 s and `SmallVec` 59.6 to 60.2 s for ten 32 GiB partitions on Zen 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcVariant {
    /// `Vec`.
    #[default]
    Vec,
    /// `SmallVec` with one entry inline.
    SmallVec1,
    /// `SmallVec` with two entries inline.
    SmallVec2,
    /// `SmallVec` with four entries inline.
    SmallVec4,
}
names!(LcVariant {
    Vec = "vec",
    SmallVec1 = "smallvec1",
    SmallVec2 = "smallvec2",
    SmallVec4 = "smallvec4",
});

names!(Presize { Off = "off", On = "on" });
names!(BitsVariant { Pattern = "pattern", Each = "each" });
names!(G2Variant { Parallel = "parallel", Serial = "serial" });
names!(NttVariant { Fused = "fused", Generated = "generated" });
names!(MsmVariant { Pairs = "pairs", Generated = "generated" });
names!(FieldVariant { Wide = "wide", Generated = "generated" });
names!(PinVariant { Staged = "staged", Register = "register", Off = "off" });

/// A variant that is `auto` or a number in a range.
macro_rules! numbers {
    ($stage:ty, $min:expr, $max:expr) => {
        impl Choice for $stage {
            const NAMES: &'static [&'static str] = &["auto", "N"];
            const RANGE: Option<(usize, usize)> = Some(($min, $max));

            fn from_name(name: &str) -> Option<Self> {
                name.parse().ok()
            }

            fn name(self) -> String {
                self.to_string()
            }
        }
    };
}

numbers!(Window, Window::BITS_MIN, Window::BITS_MAX);
numbers!(Inflight, Inflight::COUNT_MIN, Inflight::COUNT_MAX);

/// The implementation chosen for every stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variants {
    /// Who makes the proofs.
    pub prover: ProverVariant,
    /// Who makes the assignment and the rows.
    pub synth: SynthVariant,
    /// What holds linear combinations.
    pub lc: LcVariant,
    /// Whether large arrays get their size first.
    pub presize: Presize,
    /// How bits are summed.
    pub bits: BitsVariant,
    /// Window of the sum over H.
    pub window_h: Window,
    /// Window of the tails.
    pub window_tail: Window,
    /// When G2 is summed.
    pub g2: G2Variant,
    /// Whose transforms run on a GPU.
    pub ntt: NttVariant,
    /// Whose sums run on a GPU.
    pub msm: MsmVariant,
    /// Whose field arithmetic runs on a GPU.
    pub field: FieldVariant,
    /// What the host memory of uploads is.
    pub pin: PinVariant,
    /// How many partitions are on their way through a GPU.
    pub inflight: Inflight,
}

/// A stage: its name, its variants' names, and how one is chosen and named.
struct Stage {
    name: &'static str,
    names: &'static [&'static str],
    range: Option<(usize, usize)>,
    set: fn(&mut Variants, &str) -> bool,
    get: fn(&Variants) -> String,
}

impl Stage {
    /// What can be chosen, for messages.
    fn list(&self) -> String {
        let range = match self.range {
            Some((min, max)) => format!(" (N from {min} to {max})"),
            None => String::new(),
        };
        format!("{}={}{range}", self.name, self.names.join("|"))
    }
}

macro_rules! stage {
    ($name:literal, $type:ty, $field:ident $(, $more:ident)?) => {
        Stage {
            name: $name,
            names: <$type as Choice>::NAMES,
            range: <$type as Choice>::RANGE,
            set: |variants, name| {
                let choice = <$type as Choice>::from_name(name);
                if let Some(choice) = choice {
                    variants.$field = choice;
                    $(variants.$more = choice;)?
                }
                choice.is_some()
            },
            get: |variants| variants.$field.name(),
        }
    };
}

/// All stages, the general ones before those that narrow them.
const STAGES: &[Stage] = &[
    stage!("prover", ProverVariant, prover),
    stage!("synth", SynthVariant, synth),
    stage!("lc", LcVariant, lc),
    stage!("presize", Presize, presize),
    stage!("bits", BitsVariant, bits),
    stage!("window", Window, window_h, window_tail),
    stage!("window.h", Window, window_h),
    stage!("window.tail", Window, window_tail),
    stage!("g2", G2Variant, g2),
    stage!("ntt", NttVariant, ntt),
    stage!("msm", MsmVariant, msm),
    stage!("field", FieldVariant, field),
    stage!("pin", PinVariant, pin),
    stage!("inflight", Inflight, inflight),
];

/// What runs: decides which stages take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Whole proofs.
    Prove,
    /// Assignment and rows of one partition.
    Synth,
    /// Rows of one partition from its assignment.
    Rows,
    /// Field products.
    Field,
    /// The quotient's transforms.
    Ntt,
    /// A sum over points.
    Msm,
    /// Anything in which no stage has a choice.
    Other,
}

impl Variants {
    /// The defaults with `flags` applied, one name each, for a run on `device`, or on whichever
    /// is found.
    ///
    /// # Errors
    /// A message for the person when a flag lists several names, chooses a stage twice, or has no
    /// effect.
    pub fn resolve(
        job: Job,
        device: Option<Device>,
        flags: &[VariantFlag],
    ) -> Result<Self, String> {
        if let Some(flag) = flags.iter().find(|flag| flag.names.len() > 1) {
            return Err(format!("`{flag}` names several variants, which only `bench` compares"));
        }
        let [(_, variants)] =
            arms(job, device, flags)?.try_into().expect("one name each is one arm");
        let whole_proofs_on_gpu = job == Job::Prove && device == Some(Device::Gpu);
        if whole_proofs_on_gpu && variants.prover == ProverVariant::Bellperson {
            return Err("`--variant prover=bellperson` runs on the CPU: leave out `--device gpu` \
                        and `--gpu`"
                .to_owned());
        }
        Ok(variants)
    }

    /// Every stage that takes part in `job` on `device`, with the name chosen for it.
    pub fn names(&self, job: Job, device: Device) -> Vec<(&'static str, String)> {
        STAGES
            .iter()
            // `window` stands for the two that follow it.
            .filter(|stage| stage.name != "window" && self.takes_part(job, device, stage.name))
            .map(|stage| (stage.name, (stage.get)(self)))
            .collect()
    }

    fn takes_part(&self, job: Job, device: Device, stage: &str) -> bool {
        let native = job == Job::Prove && self.prover == ProverVariant::Native;
        let on_gpu = device == Device::Gpu;
        match stage {
            "prover" => job == Job::Prove || !on_gpu && matches!(job, Job::Ntt | Job::Msm),
            "synth" => matches!(job, Job::Prove | Job::Synth),
            "lc" | "presize" => {
                matches!(job, Job::Prove | Job::Synth) && self.synth == SynthVariant::Classic
            }
            "window" => {
                ["window.h", "window.tail"].iter().any(|of| self.takes_part(job, device, of))
            }
            "window.h" => {
                let sums = matches!(job, Job::Prove | Job::Msm);
                let ours = self.prover == ProverVariant::Native;
                // ec-gpu-gen's sums choose their windows themselves.
                sums && ours && !(on_gpu && self.msm == MsmVariant::Generated)
            }
            "window.tail" | "bits" | "g2" => native,
            "ntt" => on_gpu && (native || job == Job::Ntt),
            "msm" => on_gpu && (native || job == Job::Msm),
            "field" => on_gpu && (native || matches!(job, Job::Field | Job::Ntt | Job::Msm)),
            "pin" | "inflight" => on_gpu && native,
            _ => unreachable!("`STAGES` has no `{stage}`"),
        }
    }

    /// Why a choice for `stage` has no effect in `job` on `device`; a hint for the person.
    fn without_effect(
        &self,
        job: Job,
        device: Option<Device>,
        stage: &str,
    ) -> Option<&'static str> {
        let acts_on = |device| self.takes_part(job, device, stage);
        if device.map_or(acts_on(Device::Cpu) || acts_on(Device::Gpu), acts_on) {
            return None;
        }
        Some(match (stage, device) {
            ("window" | "window.h", _) if self.msm == MsmVariant::Generated => {
                ": `msm=generated` chooses its windows itself"
            }
            (_, Some(Device::Cpu)) if acts_on(Device::Gpu) => ": it acts on a GPU only",
            (_, Some(Device::Gpu)) if acts_on(Device::Cpu) => ": it acts on the CPU only",
            _ if job == Job::Other => "",
            ("lc" | "presize", _) => ": it acts under `synth=classic`",
            ("prover", _) => ": it acts when whole proofs are made",
            _ => ": it acts when `prover=native` makes whole proofs",
        })
    }

    /// The variants of one arm, checked.
    fn choose(job: Job, device: Option<Device>, chosen: &[(usize, &str)]) -> Result<Self, String> {
        let mut variants = Self::default();
        let mut chosen = chosen.to_vec();
        chosen.sort_unstable_by_key(|&(stage, _)| stage);
        for &(stage, name) in &chosen {
            let known = (STAGES[stage].set)(&mut variants, name);
            assert!(known, "a parsed flag names a variant");
        }
        let has = |name| chosen.iter().any(|&(stage, _)| STAGES[stage].name == name);
        if job == Job::Synth && !has("synth") && (has("lc") || has("presize")) {
            variants.synth = SynthVariant::Classic;
        }
        if variants.prover == ProverVariant::Bellperson && variants.synth == SynthVariant::Classic {
            return Err("`prover=bellperson` takes rows from `synth=compact` or `synth=reference`"
                .to_owned());
        }
        for (stage, name) in chosen {
            let stage = STAGES[stage].name;
            if let Some(hint) = variants.without_effect(job, device, stage) {
                return Err(format!(
                    "`--variant {stage}={name}` has no effect in this command{hint}"
                ));
            }
        }
        variants.check_windows(device)?;
        Ok(variants)
    }

    /// A GPU sorts by fewer bits than the CPU.
    fn check_windows(&self, device: Option<Device>) -> Result<(), String> {
        let windows = [("window.h", self.window_h), ("window.tail", self.window_tail)];
        for (stage, window) in windows {
            if let Window::Bits(bits) = window
                && bits.get() > WINDOW_BITS_MAX
                && device == Some(Device::Gpu)
            {
                return Err(format!(
                    "`--variant {stage}={window}`: expected `auto` or a window of {} to \
                     {WINDOW_BITS_MAX} bits on a GPU, got {window}",
                    Window::BITS_MIN
                ));
            }
        }
        Ok(())
    }
}

/// Every combination of the names that `flags` list, the first names first, with a label that
/// tells it from the others, for a run on `device`, or on whichever is found.
///
/// # Errors
/// A message for the person when a stage is chosen twice or a variant has no effect.
pub fn arms(
    job: Job,
    device: Option<Device>,
    flags: &[VariantFlag],
) -> Result<Vec<(String, Variants)>, String> {
    let twice = |(position, flag): (usize, &VariantFlag)| {
        flags[..position].iter().any(|earlier| earlier.stage == flag.stage)
    };
    if let Some((_, flag)) = flags.iter().enumerate().find(|&flag| twice(flag)) {
        return Err(format!("stage `{}` is chosen twice by --variant", STAGES[flag.stage].name));
    }
    let mut combinations: Vec<Vec<(usize, &str)>> = vec![Vec::new()];
    for flag in flags {
        let longer = |combination: &Vec<_>, name| {
            combination.iter().copied().chain([(flag.stage, name)]).collect()
        };
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                flag.names.iter().map(|name| longer(combination, name.as_str()))
            })
            .collect();
    }
    let arm = |combination: Vec<(usize, &str)>| {
        let label: Vec<String> = combination
            .iter()
            .map(|&(stage, name)| format!("{}={name}", STAGES[stage].name))
            .collect();
        let label = if label.is_empty() { "default".to_owned() } else { label.join(" ") };
        Ok((label, Variants::choose(job, device, &combination)?))
    };
    combinations.into_iter().map(arm).collect()
}

/// One `STAGE=NAME[,NAME...]` as typed, known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantFlag {
    /// Place in [`STAGES`].
    stage: usize,
    names: Vec<String>,
}

impl FromStr for VariantFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let none = |stages: &[Stage]| {
            let lists: Vec<String> = stages.iter().map(Stage::list).collect();
            format!("no variant `{text}`; there are: {}", lists.join(", "))
        };
        let (stage, list) = text.split_once('=').unwrap_or((text, ""));
        let stage =
            STAGES.iter().position(|known| known.name == stage).ok_or_else(|| none(STAGES))?;
        let known = &STAGES[stage];
        let mut names: Vec<String> = Vec::new();
        let mut scratch = Variants::default();
        for name in list.split(',') {
            if !(known.set)(&mut scratch, name) {
                return Err(none(std::slice::from_ref(known)));
            }
            // As it is listed: `05` is the window `5`.
            let name = (known.get)(&scratch);
            if names.contains(&name) {
                return Err(format!("`{text}` names `{name}` twice"));
            }
            names.push(name);
        }
        Ok(Self { stage, names })
    }
}

impl fmt::Display for VariantFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", STAGES[self.stage].name, self.names.join(","))
    }
}
