//! Verification: every partition's proof against public inputs that no prover touched.

use bellperson::SynthesisError;
use bellperson::groth16::{
    PreparedVerifyingKey, VerifyingKey, prepare_verifying_key, verify_proof,
};
use blstrs::Bls12;
use thiserror::Error;

use super::Proof;
use crate::c1::Sector;
use crate::reference::public_inputs;

/// Verification could not be carried out; says nothing about the proof.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The statement cannot be derived.
    #[error("cannot compute the public inputs of partition {partition}")]
    PublicInputs {
        /// The partition.
        partition: usize,
        /// What the reference says.
        source: anyhow::Error,
    },
    /// The verifying key is not for this circuit.
    #[error("cannot verify partition {partition}")]
    Key {
        /// The partition.
        partition: usize,
        /// What bellperson says.
        source: SynthesisError,
    },
}

/// Verifies proofs under one key.
pub struct Verifier {
    key: PreparedVerifyingKey<Bls12>,
}

impl Verifier {
    /// Prepares `key` (a pairing and the window tables of its inputs).
    pub fn new(key: &VerifyingKey<Bls12>) -> Self {
        Self { key: prepare_verifying_key(key) }
    }

    /// Whether `proof` proves partition `partition` of `sector`.
    ///
    /// # Errors
    /// When that cannot be decided.
    pub fn verify(
        &self,
        sector: &Sector,
        partition: usize,
        proof: &Proof,
    ) -> Result<bool, VerifyError> {
        let inputs = public_inputs(sector, partition)
            .map_err(|source| VerifyError::PublicInputs { partition, source })?;
        verify_proof(&self.key, proof, &inputs)
            .map_err(|source| VerifyError::Key { partition, source })
    }
}
