//! Groth16 over BLS12-381: prove, verify, and the bytes of a proof.
//!
//! ```text
//! A = alpha + sum z_i A_i + r delta            B = beta + sum z_i B_i + s delta
//! C = sum_aux z_i L_i + sum h_i H_i + s A + r B1 - r s delta
//! ```
//!
//! [`prove`] is the only orchestrator; a [`Prover`] turns a group of partitions into proofs. The
//! [`native`] one computes its sums on a [`Backend`]: [`cpu`] or [`gpu`].

pub mod bellperson;
pub mod cpu;
pub mod gpu;
pub mod native;
#[cfg(test)]
mod native_tests;
pub mod proof;
pub mod prove;
pub mod quotient;
pub mod synthesis;
pub mod terms;
pub mod verify;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ::bellperson::SynthesisError;
use blstrs::Scalar as Fr;
use ff::Field;
use rand::rngs::OsRng;
use thiserror::Error;

use crate::c1::Sector;
use crate::gpu::{Gpu, GpuError};
use crate::memory::MemoryError;
use crate::msm::BasesError;
use crate::params::Parameters;
use crate::progress::{Device, Progress};
use crate::r1cs::NotABit;
use crate::sector::RegisteredProof;
use crate::variant::{ProverVariant, SynthVariant, Variants};
use crate::witness::{Layout, WitnessError};
use native::NativeError;
use synthesis::{Circuit, Synthesized, Synthesizer};

pub use proof::Proof;

/// Partitions that a prover gets at once, at most: bounds the witnesses held, and the patterns of
/// the bit sums.
pub const GROUP_PARTITIONS: usize = 10;

/// Partitions of a sector that are proved together.
pub struct Group<'a> {
    /// The sector.
    pub sector: &'a Sector,
    /// At most [`GROUP_PARTITIONS`].
    pub partitions: Range<usize>,
    /// Where their assignments are made, unless the prover has to.
    pub synthesized: Option<Pending>,
}

/// Waits for the assignments of a group, which are made elsewhere.
pub type Pending = Box<dyn FnOnce() -> Result<Vec<Synthesized>, ProveError> + Send>;

/// Turns partitions of a sector into proofs.
pub trait Prover: Sync {
    /// Makes the assignments of a group ahead of its proof, also while another group is proved.
    /// `None` where the prover makes them only as it proves.
    ///
    /// # Errors
    /// When the sector's witness cannot be made.
    fn synthesize(
        &self,
        _sector: &Sector,
        _partitions: Range<usize>,
        _progress: &dyn Progress,
    ) -> Result<Option<Vec<Synthesized>>, ProveError> {
        Ok(None)
    }

    /// Proves a group, with one blinding a partition.
    ///
    /// # Errors
    /// When the sector's witness cannot be made, or a computation fails.
    fn prove_group(
        &self,
        group: Group<'_>,
        blindings: &[Blinding],
        progress: &dyn Progress,
    ) -> Result<Vec<Proof>, ProveError>;
}

/// Where the native prover computes its sums.
#[derive(Clone, Copy)]
pub enum Backend<'g> {
    /// On this machine's processors.
    Cpu,
    /// On a GPU.
    Gpu {
        /// The GPU.
        gpu: &'g Gpu,
        /// Bytes of its memory to use at most, where that is less than what is free.
        vram_bytes: Option<u64>,
    },
}

impl Backend<'_> {
    /// What kind of device it is.
    pub const fn device(&self) -> Device {
        match self {
            Self::Cpu => Device::Cpu,
            Self::Gpu { .. } => Device::Gpu,
        }
    }
}

/// The prover that `variants` name, for `proof` with the checked parameters and the circuit of its
/// size.
///
/// # Errors
/// When the file cannot be mapped, or the GPU fails or has too little memory.
pub fn prover<'p>(
    variants: Variants,
    backend: Backend<'p>,
    parameters: &'p Parameters,
    proof: RegisteredProof,
    circuit: Arc<Circuit>,
) -> Result<Box<dyn Prover + 'p>, ProveError> {
    let synthesizer = Synthesizer::new(circuit, variants);
    Ok(match variants.prover {
        ProverVariant::Native => {
            let sums: Box<dyn native::Sums + 'p> = match backend {
                Backend::Cpu => {
                    let queries = cpu::Queries::new(parameters)?;
                    Box::new(cpu::Cpu::new(queries, variants.into()))
                }
                Backend::Gpu { gpu, vram_bytes } => {
                    let job = gpu::Job { parameters, proof, variants };
                    Box::new(gpu::GpuSums::new(gpu, vram_bytes, job)?)
                }
            };
            Box::new(native::Native::new(parameters, synthesizer, sums))
        }
        ProverVariant::Bellperson => {
            let ours = (variants.synth != SynthVariant::Reference).then_some(synthesizer);
            Box::new(bellperson::Bellperson::new(parameters.path(), ours)?)
        }
    })
}

/// Host memory that proving on `device` takes at the peak, in bytes, known before any work.
pub fn memory_bytes(variants: Variants, device: Device, proof: RegisteredProof) -> u64 {
    match (variants.prover, device) {
        (ProverVariant::Native, Device::Cpu) => cpu::memory_bytes(variants, proof),
        (ProverVariant::Native, Device::Gpu) => gpu::plan::host_bytes(variants, proof),
        (ProverVariant::Bellperson, _) => bellperson::memory_bytes(variants, proof),
    }
}

/// Host memory of what [`Prover::synthesize`] makes of a sector ahead of its proof, in bytes.
pub fn prepared_bytes(variants: Variants, proof: RegisteredProof) -> u64 {
    let group = group_partitions(proof) as u64;
    let assignment = Layout::new(proof.size).bytes() as u64;
    // a and b, of the input rows too.
    let rows = 64 * (proof.size.circuit().constraints + proof.size.inputs() as u64);
    match (variants.prover, variants.synth) {
        (ProverVariant::Bellperson, _) => 0,
        (ProverVariant::Native, SynthVariant::Compact) => group * assignment,
        (ProverVariant::Native, _) => group * (assignment + rows),
    }
}

/// Partitions of the largest group that a proof's partitions are divided into.
pub fn group_partitions(proof: RegisteredProof) -> usize {
    prove::groups(proof.partitions()).map(|group| group.len()).max().unwrap_or(0)
}

/// The two scalars that make a proof reveal nothing of its witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blinding {
    /// Blinds A.
    pub r: Fr,
    /// Blinds B.
    pub s: Fr,
}

impl Blinding {
    /// Fresh from the operating system.
    pub fn random() -> Self {
        Self { r: Fr::random(OsRng), s: Fr::random(OsRng) }
    }
}

/// Proving failed.
#[derive(Debug, Error)]
pub enum ProveError {
    /// The circuit of a partition cannot be made from the sector.
    #[error("cannot make the circuit of partition {partition}")]
    Circuit {
        /// The partition.
        partition: usize,
        /// What the reference says.
        source: anyhow::Error,
    },
    /// The sector does not satisfy the circuit.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// Synthesis and template disagree: a fault of ours.
    #[error("cannot pack the assignment of partition {partition}")]
    NotABit {
        /// The partition.
        partition: usize,
        /// The variable.
        source: NotABit,
    },
    /// The parameter file's arrays are no arrays of points.
    #[error("cannot read the points of the parameter file")]
    Bases(#[from] BasesError),
    /// The native prover gives up on its parameters.
    #[error(
        "cannot prove with `{}`\n\
         hint: `prove params check` tells what is damaged in the file",
        .path.display()
    )]
    Native {
        /// The parameter file.
        path: PathBuf,
        /// What is wrong in it.
        source: NativeError,
    },
    /// The GPU fails.
    #[error("cannot prove on the GPU")]
    Gpu(#[source] GpuError),
    /// The GPU's memory is too small for the plan.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// bellperson gives up.
    #[error("cannot prove partition {partition}")]
    Synthesis {
        /// The partition.
        partition: usize,
        /// What bellperson says.
        source: SynthesisError,
    },
    /// The parameter file cannot be mapped.
    #[error("cannot map `{}`", .path.display())]
    Map {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The verifier itself fails.
    #[error(transparent)]
    Verify(#[from] verify::VerifyError),
    /// Proofs do not verify, twice.
    #[error(
        "the proof of partition {} does not verify, twice\n\
         hint: `--check-vanilla` tells whether the C1 is wrong; if it is not, suspect the hardware",
        list(.partitions)
    )]
    Invalid {
        /// The partitions.
        partitions: Vec<usize>,
    },
}

/// Partitions for messages: `0, 3, 4`.
pub(crate) fn list(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
