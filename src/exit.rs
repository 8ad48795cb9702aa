//! Exit codes, and the one place that maps errors to them.

use std::path::PathBuf;

use crate::c1::C1Error;
use crate::device::DeviceError;
use crate::gpu::GpuError;
use crate::groth16::proof::DecodeError;
use crate::groth16::verify::VerifyError;
use crate::groth16::{ProveError, list};
use crate::memory::MemoryError;
use crate::params::ParamsError;
use crate::sample::SampleError;
use crate::settings::SettingsError;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Done.
    Done = 0,
    /// Input or output failed, or anything that has no code of its own.
    Io = 1,
    /// The command line or an environment variable makes no sense.
    Usage = 2,
    /// The C1 is malformed, inconsistent or wrong.
    C1 = 3,
    /// Parameters are missing, damaged or not for this circuit.
    Parameters = 4,
    /// No usable GPU.
    NoGpu = 5,
    /// The memory plan does not fit, or a card has less memory than the plan was told.
    Memory = 6,
    /// A card failed at work.
    GpuFault = 7,
    /// A proof does not verify.
    Invalid = 8,
    /// `--timeout` ran out.
    Timeout = 9,
    /// `batch`: some proofs were not made.
    SomeFailed = 10,
    /// The terminal went away (HUP).
    HungUp = 129,
    /// Interrupted (INT).
    Interrupted = 130,
    /// Terminated (TERM).
    Terminated = 143,
}

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The code for an error: that of the first error in its chain that has one.
pub fn code_of(error: &anyhow::Error) -> Code {
    error.chain().find_map(code_of_one).unwrap_or(Code::Io)
}

fn code_of_one(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if error.is::<SettingsError>() || error.is::<SameFile>() {
        Some(Code::Usage)
    } else if error.is::<C1Error>() {
        Some(Code::C1)
    } else if error.is::<ParamsError>() {
        Some(Code::Parameters)
    } else if error.is::<DeviceError>() {
        Some(Code::NoGpu)
    } else if error.is::<MemoryError>() {
        Some(Code::Memory)
    } else if error.is::<SomeFailed>() {
        Some(Code::SomeFailed)
    } else if error.is::<DecodeError>() || error.is::<InvalidProof>() {
        Some(Code::Invalid)
    } else if let Some(error) = error.downcast_ref() {
        Some(code_of_gpu_error(error))
    } else if let Some(error) = error.downcast_ref() {
        Some(code_of_sample_error(error))
    } else if let Some(error) = error.downcast_ref() {
        Some(code_of_verify_error(error))
    } else {
        error.downcast_ref().map(code_of_prove_error)
    }
}

fn code_of_prove_error(error: &ProveError) -> Code {
    match error {
        ProveError::Invalid { .. } => Code::Invalid,
        ProveError::Circuit { .. } | ProveError::Witness(_) => Code::C1,
        // Faults of ours: the C1 was checked.
        ProveError::NotABit { .. } | ProveError::Synthesis { .. } => Code::Io,
        ProveError::Map { .. } | ProveError::Bases(_) | ProveError::Native { .. } => {
            Code::Parameters
        }
        ProveError::Gpu(error) => code_of_gpu_error(error),
        ProveError::Memory(_) => Code::Memory,
        ProveError::Verify(error) => code_of_verify_error(error),
    }
}

const fn code_of_gpu_error(error: &GpuError) -> Code {
    match error {
        GpuError::BuiltWithoutCuda | GpuError::NoDriver | GpuError::NoSuchDevice { .. } => {
            Code::NoGpu
        }
        GpuError::OutOfMemory { .. } => Code::Memory,
        GpuError::Driver { .. } if error.is_out_of_memory() => Code::Memory,
        GpuError::Driver { .. } => Code::GpuFault,
        GpuError::WrongResult { .. } => Code::Invalid,
        GpuError::BadPoint { .. } => Code::Parameters,
    }
}

const fn code_of_sample_error(error: &SampleError) -> Code {
    match error {
        SampleError::ChallengesNeedReplica { .. } | SampleError::ZeroSeed => Code::Usage,
        SampleError::Graph { .. } => Code::Io,
    }
}

const fn code_of_verify_error(error: &VerifyError) -> Code {
    match error {
        VerifyError::PublicInputs { .. } => Code::C1,
        VerifyError::Key { .. } => Code::Parameters,
    }
}

/// `verify`: a proof that decodes and does not verify.
#[derive(Debug, thiserror::Error)]
#[error(
    "the proof does not verify: partition {} of {count} (counted from 0)\n\
     hint: it was made for another sector or seed, with other parameters, or it is damaged",
    list(partitions)
)]
pub struct InvalidProof {
    /// The partitions whose proofs do not verify.
    pub partitions: Vec<usize>,
    /// Partitions of the sector.
    pub count: usize,
}

/// `batch`: some proofs were not made; each has told why.
#[derive(Debug, thiserror::Error)]
#[error(
    "{failed} of {total} proofs were not made\nhint: the errors above and `proofs` in the JSON tell why"
)]
pub struct SomeFailed {
    /// Those not made.
    pub failed: usize,
    /// All of the batch.
    pub total: usize,
}

/// The command line names one file for two things, one of which is written.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} and {} are the same file: `{}`\n\
     hint: give each a file of its own; one would be written over the other",
    roles[0], roles[1], path.display()
)]
pub struct SameFile {
    /// What the file is named for, as `OUT` or `--json`.
    pub roles: [&'static str; 2],
    /// The file, as it is named second.
    pub path: PathBuf,
}

/// An error as people see it: `error: ` and the chain on one line, then its hints.
pub fn render(error: &anyhow::Error) -> String {
    let mut chain: Vec<String> = Vec::new();
    let mut hints: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let (hinting, saying): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("hint: "));
        let said = saying.iter().map(|line| line.trim()).collect::<Vec<_>>().join(": ");
        // Some libraries repeat their source in their own text.
        if !chain.last().is_some_and(|last| last.ends_with(&said)) {
            chain.push(said);
        }
        for hint in hinting {
            if !hints.iter().any(|known| known == hint) {
                hints.push(hint.to_owned());
            }
        }
    }
    let lines: Vec<String> = std::iter::once(chain.join(": ")).chain(hints).collect();
    format!("error: {}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::NoGpu;
    use crate::groth16::native::NativeError;
    use crate::msm::BasesError;
    use crate::params::setup::SetupError;
    use anyhow::Context;
    use cudarc::driver::DriverError;
    use cudarc::driver::sys::CUresult;

    fn no_gpu(reason: &str) -> DeviceError {
        DeviceError::NoGpu { why: NoGpu::because(reason) }
    }

    #[test]
    fn the_chain_is_one_line_and_hints_follow() {
        let device = no_gpu("no NVIDIA driver");
        let error = Err::<(), _>(device).context("choose a device").expect_err("an error");
        assert_eq!(
            render(&error),
            "error: choose a device: no usable GPU: no NVIDIA driver\n\
             hint: `--device cpu` works on the CPU"
        );
        assert_eq!(code_of(&error), Code::NoGpu);
    }

    /// An error that repeats its source, as some libraries' do.
    #[derive(Debug, thiserror::Error)]
    #[error("partition 3 is wrong\n  {source}")]
    struct Repeating {
        source: DeviceError,
    }

    #[test]
    fn what_is_said_twice_is_shown_once() {
        let source = no_gpu("BELLMAN_NO_GPU is set");
        assert_eq!(
            render(&Repeating { source }.into()),
            "error: partition 3 is wrong: no usable GPU: BELLMAN_NO_GPU is set\n\
             hint: `--device cpu` works on the CPU"
        );
    }

    #[test]
    fn faults_of_a_card_have_codes_by_their_kind() {
        let source = DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        let operation = "launch `ntt_pass_dif`".to_owned();
        let short = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let locking = "lock 9 bytes of host memory".to_owned();
        for (error, code, says) in [
            (GpuError::NoDriver, Code::NoGpu, "libcuda"),
            (GpuError::NoSuchDevice { ordinal: 3, count: 1 }, Code::NoGpu, "got 3"),
            (GpuError::OutOfMemory { wanted_bytes: 9, free_bytes: 5 }, Code::Memory, "9 free"),
            (GpuError::Driver { operation, source }, Code::GpuFault, "launch `ntt_pass_dif`"),
            (GpuError::Driver { operation: locking, source: short }, Code::Memory, "host memory"),
            (GpuError::WrongResult { what: "the sum" }, Code::Invalid, "the sum is wrong"),
            (GpuError::BadPoint { index: 7 }, Code::Parameters, "point 7"),
        ] {
            // The text of the driver's own error needs the driver.
            assert!(error.to_string().contains(says), "{says}");
            let error = anyhow::Error::from(error).context("prove");
            assert_eq!(code_of(&error), code, "{says}");
        }
    }

    #[test]
    fn a_failed_setup_has_the_code_of_what_failed() {
        let source = DriverError(CUresult::CUDA_ERROR_LAUNCH_FAILED);
        let operation = "launch `fixed_base_g1`".to_owned();
        let short = GpuError::OutOfMemory { wanted_bytes: 9, free_bytes: 5 };
        let room = SetupError::NoRoom { folder: "out".into(), needed_bytes: 9, free_bytes: 5 };
        let path = PathBuf::from("out/some.params");
        for (error, code) in [
            (SetupError::Gpu(GpuError::Driver { operation, source }), Code::GpuFault),
            (SetupError::Gpu(short), Code::Memory),
            (SetupError::Gpu(GpuError::NoDriver), Code::NoGpu),
            (room, Code::Io),
            (SetupError::Exists { path: path.clone() }, Code::Io),
            (SetupError::Io { path, source: std::io::Error::other("disk full") }, Code::Io),
        ] {
            let text = error.to_string();
            assert_eq!(code_of(&anyhow::Error::from(error)), code, "{text}");
        }
    }

    #[test]
    fn broken_points_are_told_with_their_file_and_what_to_do() {
        let source = BasesError::Coordinate { index: 7 };
        let source = NativeError::Bases { query: "h", source };
        let error = anyhow::Error::from(ProveError::Native { path: "some.params".into(), source });
        assert_eq!(
            render(&error),
            "error: cannot prove with `some.params`: broken points in the `h` array of the \
             parameter file: point 7: expected coordinates below the field modulus\n\
             hint: `prove params check` tells what is damaged in the file"
        );
        assert_eq!(code_of(&error), Code::Parameters);
    }

    #[test]
    fn codes_come_from_the_first_error_that_has_one() {
        let io = anyhow::Error::from(std::io::Error::other("disk full")).context("write");
        assert_eq!(code_of(&io), Code::Io);
        let partitions = vec![1, 3];
        let invalid = anyhow::Error::from(ProveError::Invalid { partitions });
        assert_eq!(code_of(&invalid.context("prove")), Code::Invalid);
        let text = render(&anyhow::Error::from(InvalidProof { partitions: vec![2, 7], count: 10 }));
        assert!(text.starts_with(
            "error: the proof does not verify: partition 2, 7 of 10 (counted from 0)\nhint: "
        ));
    }
}
