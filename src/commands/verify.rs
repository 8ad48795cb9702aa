//! `prove verify`: a proof against its C1's public values.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{Session, parameters_info, read_input, shown};
use crate::exit::InvalidProof;
use crate::groth16::proof;
use crate::groth16::verify::Verifier;
use crate::params::{Key, ParamsError};
use crate::progress::Phase;

/// No proof file is longer: hexadecimal text of 126 proofs, with room for white space.
const PROOF_FILE_BYTES_MAX: usize = 64 << 10;

pub(super) fn run(session: &Session, c1: &Path, path: &Path) -> Result<()> {
    let sector = session.read_c1(c1)?.sector;
    let registered = sector.registered_proof;
    let content = read_input(path, PROOF_FILE_BYTES_MAX + 1)?;
    if content.len() > PROOF_FILE_BYTES_MAX {
        let (expected, limit) = (registered.proof_bytes(), PROOF_FILE_BYTES_MAX);
        return Err(proof::DecodeError::TooLong { expected, limit, proof: registered })
            .with_context(|| format!("`{}`", shown(path)));
    }
    let (bytes, proofs) = proof::from_text(registered, &content)
        .and_then(|bytes| proof::decode(registered, &bytes).map(|proofs| (bytes, proofs)))
        .with_context(|| format!("`{}`", shown(path)))?;
    let progress = session.progress();
    let (key, verifier) = progress.run(Phase::new("open-parameters"), 0, |_| {
        let key = Key::open(&session.settings.params, registered.size)?;
        let verifier = Verifier::new(key.vk());
        Ok::<_, ParamsError>((key, verifier))
    })?;

    let mut invalid = Vec::new();
    for (partition, proof) in proofs.iter().enumerate() {
        let phase = Phase::new("verify").partition(partition);
        if !progress.run(phase, 0, |_| verifier.verify(&sector, partition, proof))? {
            invalid.push(partition);
        }
    }
    if !invalid.is_empty() {
        return Err(InvalidProof { partitions: invalid, count: proofs.len() })
            .with_context(|| format!("`{}`", shown(path)));
    }
    let mut report = session.report().with_proof(registered);
    report.parameters = Some(parameters_info(key.path(), key.security(), None));
    report.proof_bytes = Some(bytes.len());
    report.proof_sha256 = Some(hex::encode(Sha256::digest(&bytes)));
    session.tell(&report)?;
    let count = proofs.len();
    progress.note(&format!("valid: {count} of {count} partitions of {registered} verify"));
    Ok(())
}
