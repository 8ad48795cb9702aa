//! The main job: C1 in, verified proof out.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::early::{Circumstances, Early, Ready};
use super::{Session, shown};
use crate::c1::{self, IdSource, Ids};
use crate::device::OpenDevice;
use crate::groth16::verify::Verifier;
use crate::groth16::{self, Backend};
use crate::output::Output;
use crate::params::{self, Folder, Parameters};
use crate::progress::{Phase, Progress};
use crate::sector::{PROOF_BYTES, SectorSize};
use crate::temporary;

pub(super) fn run(session: &Session, c1: &Path, out: &Path) -> Result<()> {
    let settings = &session.settings;
    let output = Output::prepare(out, PROOF_BYTES)?;
    let mut early = Early::start(session)?;
    let c1::Read { sector, shape, ids } =
        session.read_c1_expecting(c1, |size| early.expect(size))?;
    let proof = sector.registered_proof;
    let sector = Arc::new(sector);
    let prepared = early.synthesize(&sector)?;
    let progress = session.progress();
    progress.note(&format!("{}: {shape}; {proof}, {}", shown(c1), describe(&ids)));

    let Ready { device, variants, parameters, circuit } = early.finish(proof, 0)?;
    let backend = backend(&device, settings.device.vram_bytes);
    let prover = groth16::prover(variants, backend, &parameters.parameters, proof, circuit)?;

    let verifier = &parameters.verifier;
    let proofs = groth16::prove::prove_prepared(&sector, prepared, &*prover, verifier, progress)?;
    let bytes = groth16::proof::encode(proof, &proofs);
    deliver(session, &output, &bytes)?;

    let report = session.report().with_proof(proof);
    let mut report = Circumstances::of(&device, variants, &parameters).told_in(report);
    report.proof_bytes = Some(bytes.len());
    report.proof_sha256 = Some(hex::encode(Sha256::digest(&bytes)));
    session.tell_delivered(&report, out)?;
    // The process ends here: what is on the card goes faster all at once than buffer by buffer.
    std::mem::forget(prover);
    std::mem::forget(device);
    Ok(())
}

/// Puts a proof where it belongs, as the person wants it written.
pub(super) fn deliver(session: &Session, output: &Output, proof: &[u8]) -> Result<()> {
    let text = match session.settings.hex {
        true => Cow::Owned(format!("{}\n", hex::encode(proof)).into_bytes()),
        false => Cow::Borrowed(proof),
    };
    let write = |_| output.write(&text);
    temporary::deliver(|| session.progress().run(Phase::new("write"), text.len() as u64, write))?;
    Ok(())
}

/// The device as the provers know it.
pub(super) fn backend(device: &OpenDevice, vram_bytes: Option<u64>) -> Backend<'_> {
    match device.gpu() {
        None => Backend::Cpu,
        Some(gpu) => Backend::Gpu { gpu, vram_bytes },
    }
}

/// Everything that comes from the parameters.
pub(super) struct Opened {
    pub(super) parameters: Parameters,
    /// Which part of the file was in memory before it was used.
    pub(super) warm_fraction: Option<f64>,
    pub(super) verifier: Verifier,
}

pub(super) fn open(session: &Session, size: SectorSize) -> Result<Opened> {
    let opened = open_parameters(&session.settings.params, size, session.progress())?;
    require_digest(session, &opened)?;
    Ok(opened)
}

/// Demands the network's parameters where the settings do.
pub(super) fn require_digest(session: &Session, opened: &Opened) -> Result<()> {
    if session.settings.verify_params_digest {
        params::check::require_production(&opened.parameters, session.progress())?;
    }
    Ok(())
}

/// Opens the parameters of `size`, with the cheap checks.
pub(super) fn open_parameters(
    folder: &Folder,
    size: SectorSize,
    progress: &dyn Progress,
) -> Result<Opened> {
    progress.run(Phase::new("open-parameters"), 0, |_| {
        let parameters = Parameters::open(folder, size)?;
        // Where the kernel does not say, the table leaves it out.
        let warm_fraction = parameters.warm_fraction().ok();
        let verifier = Verifier::new(parameters.vk());
        Ok(Opened { parameters, warm_fraction, verifier })
    })
}

/// Whose sector it is, as far as that is known.
fn describe(ids: &Ids) -> String {
    let source = |source| match source {
        IdSource::File => "",
        IdSource::Given => " (given)",
        IdSource::Search => " (found by search)",
    };
    let miner = match (ids.prover_id, ids.miner_id()) {
        (Some((_, from)), Some(miner)) => format!("miner t0{miner}{}", source(from)),
        (Some((id, from)), None) => format!("prover {}{}", hex::encode(id), source(from)),
        (None, _) => "miner not known".to_owned(),
    };
    let sector = match ids.sector_num {
        Some((number, from)) => format!("sector {number}{}", source(from)),
        None => "sector number not known".to_owned(),
    };
    format!("{miner}, {sector}")
}
