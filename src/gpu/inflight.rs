//! How many partitions are on their way through the card at once: `inflight=auto|N`.

use std::fmt;
use std::str::FromStr;

/// The most partitions at once; each holds a witness of 70 MB at 32 GiB.
const COUNT_MAX: usize = 16;

/// A bound on the partitions whose witnesses are on the card or ahead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inflight {
    /// As many as keep the card busy within the memory plan.
    #[default]
    Auto,
    /// This many, from 1 to 16.
    Count(usize),
}

impl Inflight {
    /// The fewest.
    pub const COUNT_MIN: usize = 1;
    /// The most.
    pub const COUNT_MAX: usize = COUNT_MAX;
}

/// A text that is no number of partitions.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected `auto` or a number from 1 to {COUNT_MAX}, got `{0}`")]
pub struct InflightError(String);

impl FromStr for Inflight {
    type Err = InflightError;

    fn from_str(text: &str) -> Result<Self, InflightError> {
        match text.parse() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(count) if (Self::COUNT_MIN..=Self::COUNT_MAX).contains(&count) => {
                Ok(Self::Count(count))
            }
            _ => Err(InflightError(text.to_owned())),
        }
    }
}

impl fmt::Display for Inflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_bounded() {
        assert_eq!("auto".parse(), Ok(Inflight::Auto));
        assert_eq!("16".parse(), Ok(Inflight::Count(16)));
        for text in ["0", "17", "-1", "", "many"] {
            assert!(text.parse::<Inflight>().is_err(), "`{text}`");
        }
    }
}
