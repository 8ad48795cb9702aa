//! The stage variants of `--variant STAGE=NAME`: one enum a stage, all of them listed here.
//!
//! A new stage is one enum, one entry of [`STAGES`], one field of [`Variants`] and one arm of
//! [`Variants::set`]. Variants change speed, never bytes.

use std::fmt;
use std::str::FromStr;

/// Who makes the proofs. `bellperson`: the reference circuit and bellperson 0.27's CPU prover,
/// the oracle of everything faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProverVariant {
    /// `storage-proofs-porep`'s circuit, proved by bellperson on the CPU.
    #[default]
    Bellperson,
}

/// A stage that has variants, with their names, the default first.
struct Stage {
    name: &'static str,
    variants: &'static [&'static str],
}

const STAGES: &[Stage] = &[Stage { name: "prover", variants: &["bellperson"] }];

/// One `STAGE=NAME` as typed, known to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantFlag {
    stage: &'static str,
    name: &'static str,
}

/// The implementation chosen for every stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variants {
    /// Who makes the proofs.
    pub prover: ProverVariant,
}

impl Variants {
    /// The defaults with `flags` applied.
    ///
    /// # Errors
    /// A message for the person when a stage is chosen twice.
    pub fn resolve(flags: &[VariantFlag]) -> Result<Self, String> {
        let mut variants = Self::default();
        for (position, flag) in flags.iter().enumerate() {
            if flags[..position].iter().any(|earlier| earlier.stage == flag.stage) {
                return Err(format!("stage `{}` is chosen twice by --variant", flag.stage));
            }
            variants.set(*flag);
        }
        Ok(variants)
    }

    fn set(&mut self, flag: VariantFlag) {
        match (flag.stage, flag.name) {
            ("prover", "bellperson") => self.prover = ProverVariant::Bellperson,
            _ => unreachable!("a parsed flag names an entry of STAGES"),
        }
    }

    /// Every stage with the name chosen for it, in the order of [`STAGES`].
    pub fn names(&self) -> Vec<(&'static str, &'static str)> {
        let Self { prover } = self;
        vec![(
            "prover",
            match prover {
                ProverVariant::Bellperson => "bellperson",
            },
        )]
    }
}

impl FromStr for VariantFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = STAGES.iter().find_map(|stage| {
            let name = text.strip_prefix(stage.name)?.strip_prefix('=')?;
            let variant = stage.variants.iter().find(|variant| **variant == name)?;
            Some(Self { stage: stage.name, name: variant })
        });
        known.ok_or_else(|| {
            let list: Vec<String> = STAGES
                .iter()
                .map(|stage| format!("{}={}", stage.name, stage.variants.join("|")))
                .collect();
            format!("no variant `{text}`; there are: {}", list.join(", "))
        })
    }
}

impl fmt::Display for VariantFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.stage, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_variant_can_be_chosen_and_the_first_is_the_default() {
        let defaults = Variants::default().names();
        assert_eq!(defaults.len(), STAGES.len());
        for (stage, default) in STAGES.iter().zip(defaults) {
            assert_eq!((stage.name, stage.variants[0]), default);
            for name in stage.variants {
                let flag: VariantFlag = format!("{}={name}", stage.name).parse().expect("listed");
                let chosen = Variants::resolve(&[flag]).expect("one flag").names();
                assert!(chosen.contains(&(stage.name, name)), "{flag}");
            }
        }
    }

    #[test]
    fn faults_list_what_there_is() {
        for text in ["prover", "prover=", "prover=magic", "colour=red", "=bellperson"] {
            let message = text.parse::<VariantFlag>().expect_err(text);
            assert!(message.contains("prover=bellperson"), "{message}");
        }
        let flag = "prover=bellperson".parse().expect("listed");
        assert!(Variants::resolve(&[flag, flag]).expect_err("twice").contains("twice"));
    }
}
