//! How a person names a card.

use std::fmt;
use std::str::FromStr;

use crate::gpu::GpuInfo;

/// What `--gpu` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuSelector {
    /// The driver's number, after `CUDA_VISIBLE_DEVICES`.
    Index(usize),
    /// The UUID, as `nvidia-smi -L` shows it.
    Uuid(String),
}

impl FromStr for GpuSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digit = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let is_uuid = text.len() == 40
            && text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("gpu-"))
            && text.bytes().skip(4).all(is_digit);
        match text.parse() {
            Ok(index) => Ok(Self::Index(index)),
            Err(_) if is_uuid => Ok(Self::Uuid(text.to_ascii_lowercase())),
            Err(_) => Err(format!(
                "expected a number like `0`, or a UUID as `nvidia-smi -L` shows it, got `{text}`"
            )),
        }
    }
}

impl fmt::Display for GpuSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

impl GpuSelector {
    /// Whether it names this device.
    pub fn names(&self, info: &GpuInfo) -> bool {
        match self {
            Self::Index(index) => info.ordinal == *index,
            Self::Uuid(uuid) => info.uuid.eq_ignore_ascii_case(uuid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_number_or_a_whole_uuid() {
        let uuid = "GPU-00102030-4050-6070-8090-A0b0c0d0e0f0";
        assert_eq!("7".parse(), Ok(GpuSelector::Index(7)));
        assert_eq!(uuid.parse(), Ok(GpuSelector::Uuid(uuid.to_ascii_lowercase())));
        for text in ["-1", "", "all", "GPU-0010", "1.0", &format!("{uuid}0"), &"é".repeat(20)] {
            assert!(text.parse::<GpuSelector>().is_err(), "`{text}`");
        }
    }
}
