//! The compiled kernels that this binary holds, and the devices that they were compiled for.

use std::fmt;

/// Whose field arithmetic our kernels run on: `field=wide|generated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldVariant {
    /// Ours: even and odd accumulators whose products fuse into wide multiply-adds, lazy ranges.
    #[default]
    Wide,
    /// ec-gpu-gen's.
    Generated,
}

/// Our kernels, or none in a build without nvcc. A constant would stand in the binary once a use.
#[cfg(prove_cuda)]
pub(super) static WIDE: Option<&[u8]> = Some(include_bytes!(env!("PROVE_FATBIN")));
#[cfg(not(prove_cuda))]
pub(super) static WIDE: Option<&[u8]> = None;

/// The same over ec-gpu-gen's field functions.
#[cfg(prove_cuda)]
static GENERATED_FIELD: Option<&[u8]> = Some(include_bytes!(env!("PROVE_FIELD_FATBIN")));
#[cfg(not(prove_cuda))]
static GENERATED_FIELD: Option<&[u8]> = None;

/// Our kernels with that arithmetic, or none in a build without nvcc.
pub(super) fn of_field(field: FieldVariant) -> Option<&'static [u8]> {
    match field {
        FieldVariant::Wide => WIDE,
        FieldVariant::Generated => GENERATED_FIELD,
    }
}

/// The CUDA version of the nvcc that compiled them, 1000 x major + 10 x minor; 0 without one.
pub(super) const TOOLKIT_CUDA: i32 = number(env!("PROVE_CUDA_VERSION"));

/// A number in decimal; the build script writes no other texts.
const fn number(text: &str) -> i32 {
    match i32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("the build script writes a number"),
    }
}

/// What the kernels were compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Machine code for a compute capability: runs on it and on later ones of the same major.
    Code((i32, i32)),
    /// PTX for a compute capability: the driver compiles it for that one and every later one.
    Ptx((i32, i32)),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code((major, minor)) => write!(f, "{major}.{minor}"),
            Self::Ptx((major, minor)) => write!(f, "{major}.{minor} and newer by PTX"),
        }
    }
}

/// Targets for messages: `8.0, 9.0, 9.0 and newer by PTX`.
pub(super) fn list(targets: &[Target]) -> String {
    targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Every target of this build, the PTX last; none in a build without nvcc.
pub fn targets() -> Vec<Target> {
    targets_of(env!("PROVE_GPU_TARGETS"))
}

/// Targets of a list such as `80,90`, in the order of their numbers: machine code for each, PTX for
/// the last.
fn targets_of(list: &str) -> Vec<Target> {
    let numbers = list.split(',').filter(|number| !number.is_empty()).map(number);
    let capabilities: Vec<_> = numbers.map(|number| (number / 10, number % 10)).collect();
    let code = capabilities.iter().copied().map(Target::Code);
    code.chain(capabilities.last().copied().map(Target::Ptx)).collect()
}

/// Whether a device of that compute capability runs one of the targets.
pub(super) fn runs_on(targets: &[Target], capability: (i32, i32)) -> bool {
    targets.iter().any(|target| match *target {
        Target::Code((major, minor)) => major == capability.0 && minor <= capability.1,
        Target::Ptx(target) => target <= capability,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_within_its_major_and_ptx_on_all_newer() {
        let targets = targets_of("80,86,90");
        assert_eq!(list(&targets), "8.0, 8.6, 9.0, 9.0 and newer by PTX");
        for (capability, runs) in [
            ((7, 5), false),
            ((8, 0), true),
            ((8, 9), true),
            ((9, 0), true),
            ((10, 0), true),
            ((12, 1), true),
        ] {
            assert_eq!(runs_on(&targets, capability), runs, "{capability:?}");
        }
        assert!(!runs_on(&targets_of("90"), (8, 9)));
        assert!(!runs_on(&targets_of("86"), (8, 0)));
    }

    #[test]
    fn a_build_without_nvcc_has_no_targets() {
        assert!(targets_of("").is_empty());
        assert_eq!(WIDE.is_some(), !targets().is_empty());
        assert_eq!(WIDE.is_some(), TOOLKIT_CUDA > 0);
    }
}
