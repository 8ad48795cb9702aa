//! What can be wrong with a sector's proofs.

use blstrs::Scalar as Fr;
use thiserror::Error;

use super::writer::Fault;
use crate::circuit::{Equality, OpeningError, Path, Public};

/// A sector that its circuit would not accept, and where.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WitnessError {
    /// A number of partitions, challenges or public inputs is not the proof's.
    #[error("expected {expected} {what}, got {got}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// The registered proof's count.
        expected: usize,
        /// The sector's count.
        got: usize,
    },
    /// One of the sector's own values is not below the field's modulus.
    #[error("expected a field element as {what}, got 0x{}", hex::encode(.got))]
    NotInField {
        /// Which value.
        what: &'static str,
        /// Its bytes, little-endian.
        got: [u8; 32],
    },
    /// A vanilla proof has another shape than the circuit.
    #[error("partition {partition}, challenge {challenge}: {source}")]
    Opening {
        /// The partition.
        partition: usize,
        /// The challenge within it.
        challenge: usize,
        /// What is wrong.
        source: OpeningError,
    },
    /// A path claims another root than the sector's other paths in the same tree.
    #[error(
        "partition {partition}, challenge {challenge}: claimed root of the {path}: \
         expected 0x{}, got 0x{}", hex::encode(.expected), hex::encode(.got)
    )]
    ClaimedRoot {
        /// The partition.
        partition: usize,
        /// The challenge within it.
        challenge: usize,
        /// The path.
        path: Path,
        /// The tree's root elsewhere, bytes little-endian.
        expected: [u8; 32],
        /// The path's.
        got: [u8; 32],
    },
    /// Two values that the circuit enforces to be equal differ.
    #[error(
        "{}: {equality}: expected {}, got {}",
        place(*.partition, *.challenge), hex(.expected), hex(.got)
    )]
    Unequal {
        /// The partition.
        partition: usize,
        /// The challenge within it; none in the prologue.
        challenge: Option<usize>,
        /// Which equality.
        equality: Equality,
        /// The value that was given.
        expected: Fr,
        /// The value that the sector's proofs hash to.
        got: Fr,
    },
    /// A public input differs from the one computed from the sector's public values.
    #[error(
        "{}: {public}: expected {}, got {}",
        place(*.partition, *.challenge), hex(.expected), hex(.got)
    )]
    Input {
        /// The partition.
        partition: usize,
        /// The challenge within it; none in the prologue.
        challenge: Option<usize>,
        /// Which input.
        public: Public,
        /// The independent value.
        expected: Fr,
        /// The circuit's value.
        got: Fr,
    },
}

impl WitnessError {
    pub(super) fn new(partition: usize, challenge: Option<usize>, fault: Fault) -> Self {
        match fault {
            Fault::Unequal { equality, expected, got } => {
                Self::Unequal { partition, challenge, equality, expected, got }
            }
            Fault::Input { public, expected, got } => {
                Self::Input { partition, challenge, public, expected, got }
            }
        }
    }
}

fn place(partition: usize, challenge: Option<usize>) -> String {
    match challenge {
        Some(challenge) => format!("partition {partition}, challenge {challenge}"),
        None => format!("partition {partition}"),
    }
}

/// A small number as decimal, any other element as its bytes stand in a C1 file.
fn hex(value: &Fr) -> String {
    let bytes = value.to_bytes_le();
    match bytes.split_first_chunk::<8>() {
        Some((low, high)) if high.iter().all(|&byte| byte == 0) => {
            u64::from_le_bytes(*low).to_string()
        }
        _ => format!("0x{}", hex::encode(bytes)),
    }
}
