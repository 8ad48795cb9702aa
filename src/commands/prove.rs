//! The main job: C1 in, verified proof out.

use std::path::Path;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::{Session, parameters_info, shown};
use crate::c1::{self, IdSource, Ids};
use crate::device::OpenDevice;
use crate::groth16::verify::Verifier;
use crate::groth16::{self, Backend};
use crate::memory::Budget;
use crate::output::Output;
use crate::params::{self, Parameters};
use crate::progress::Phase;
use crate::sector::{PROOF_BYTES, SectorSize};
use crate::temporary;
use crate::variant::Job;

pub(super) fn run(session: &Session, c1: &Path, out: &Path) -> Result<()> {
    let settings = &session.settings;
    let output = Output::prepare(out, PROOF_BYTES)?;
    let c1::Read { sector, shape, ids } = session.read_c1(c1)?;
    let proof = sector.registered_proof;
    let progress = session.progress();
    progress.note(&format!("{}: {shape}; {proof}, {}", shown(c1), describe(&ids)));

    let (device, variants) = session.open_device(proof.size)?;
    let needed_bytes = groth16::memory_bytes(variants, device.kind(), proof);
    Budget::detect(settings.ram_bytes).check(needed_bytes)?;
    let Opened { parameters, warm_fraction, verifier } = open(session, proof.size)?;
    let backend = backend(&device, settings.device.vram_bytes);
    let prover = groth16::prover(variants, backend, &parameters, proof)?;

    let proofs = groth16::prove::prove(&sector, &*prover, &verifier, progress)?;
    let bytes = groth16::proof::encode(proof, &proofs);
    let text =
        if settings.hex { format!("{}\n", hex::encode(&bytes)).into() } else { bytes.clone() };
    temporary::deliver(|| {
        progress.run(Phase::new("write"), text.len() as u64, |_| output.write(&text))
    })?;

    let mut report = session.report("prove").with_proof(proof);
    report.device = device.info();
    report.peak_vram_bytes = device.peak_vram_bytes();
    report.variants = variants.names(Job::Prove, device.kind()).into_iter().collect();
    let security = parameters.security();
    report.parameters = Some(parameters_info(parameters.path(), security, warm_fraction));
    report.proof_bytes = Some(bytes.len());
    report.proof_sha256 = Some(hex::encode(Sha256::digest(&bytes)));
    session.tell_delivered(&report, out)
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
    warm_fraction: Option<f64>,
    pub(super) verifier: Verifier,
}

pub(super) fn open(session: &Session, size: SectorSize) -> Result<Opened> {
    let (settings, progress) = (&session.settings, session.progress());
    let opened = progress.run(Phase::new("open-parameters"), 0, |_| {
        let parameters = Parameters::open(&settings.params, size)?;
        // Where the kernel does not say, the table leaves it out.
        let warm_fraction = parameters.warm_fraction().ok();
        let verifier = Verifier::new(parameters.vk());
        anyhow::Ok(Opened { parameters, warm_fraction, verifier })
    })?;
    if settings.verify_params_digest {
        params::check::require_production(&opened.parameters, progress)?;
    }
    Ok(opened)
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
