//! What a proof needs besides its sector, begun while the C1 is read: the device, and for the size
//! that the C1 seems to have the parameters and the circuit.
//!
//! Errors wait until the C1 is known to be good. Threads that are not waited for come to their own
//! end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};

use super::prove::{Opened, open_parameters, require_digest};
use super::{Session, parameters_info};
use crate::c1::Sector;
use crate::device::{OpenDevice, Opening};
use crate::groth16;
use crate::groth16::prove::Prepared;
use crate::groth16::synthesis::{Circuit, Synthesizer};
use crate::memory::Budget;
use crate::progress::{Device, Progress};
use crate::report::{DeviceInfo, ParametersInfo, Report};
use crate::sector::{RegisteredProof, SectorSize};
use crate::settings::SettingsError;
use crate::threads::joined;
use crate::variant::{Job, ProverVariant, SynthVariant, Variants};

/// A started device and, once [`Early::expect`] was told a size, parameters and a circuit.
pub(super) struct Early<'s> {
    session: &'s Session,
    /// Before anything took memory.
    budget: Budget,
    device: Opening,
    expected: Option<Expected>,
}

struct Expected {
    size: SectorSize,
    circuit: Arc<Circuit>,
    parameters: JoinHandle<Result<Opened>>,
}

/// Everything that a prover is made of.
pub(super) struct Ready {
    pub(super) device: OpenDevice,
    pub(super) variants: Variants,
    pub(super) parameters: Opened,
    pub(super) circuit: Arc<Circuit>,
}

impl<'s> Early<'s> {
    /// Begins to open the device that the settings ask for.
    pub(super) fn start(session: &'s Session) -> Result<Self> {
        let progress: Arc<dyn Progress> = session.console.clone();
        let device = Opening::start(session.settings.device.clone(), progress)
            .context("start a thread for the device")?;
        let budget = Budget::detect(session.settings.ram_bytes);
        Ok(Self { session, budget, device, expected: None })
    }

    /// Begins what depends on the sector's size, which is likely `size`.
    pub(super) fn expect(&mut self, size: SectorSize) -> Result<()> {
        let settings = &self.session.settings;
        let circuit = Circuit::new(size, settings.variants);
        let progress = &self.session.console;
        if settings.variants.prover == ProverVariant::Native {
            let (circuit, progress) = (Arc::clone(&circuit), Arc::clone(progress));
            spawn("circuit", move || {
                circuit.template(&*progress);
            })?;
        }
        let (folder, progress) = (settings.params.clone(), Arc::clone(progress));
        let parameters = spawn("parameters", move || open_parameters(&folder, size, &*progress))?;
        self.expected = Some(Expected { size, circuit, parameters });
        Ok(())
    }

    /// Begins to make the assignments of a sector that was read, where that needs no device and
    /// there is memory for it.
    pub(super) fn synthesize(&self, sector: &Arc<Sector>) -> Result<Prepared> {
        let settings = &self.session.settings;
        let (variants, proof) = (settings.variants, sector.registered_proof);
        let is_compact =
            variants.prover == ProverVariant::Native && variants.synth == SynthVariant::Compact;
        // The least that a proof takes: [`Early::finish`] looks again when it knows the device.
        let needed_bytes = groth16::memory_bytes(variants, Device::Gpu, proof);
        let Some(expected) = self.expected.as_ref().filter(|expected| {
            is_compact && expected.size == proof.size && self.budget.check(needed_bytes).is_ok()
        }) else {
            return Ok(Prepared::default());
        };
        let synthesizer = Synthesizer::new(Arc::clone(&expected.circuit), variants);
        let progress: Arc<dyn Progress> = self.session.console.clone();
        groth16::prove::begin(synthesizer, Arc::clone(sector), progress)
            .context("start a thread for the synthesis")
    }

    /// What was begun, for a sector of this proof; anew where another size was expected. There is
    /// memory for the proof, and for `ahead` sectors that are prepared meanwhile.
    ///
    /// # Errors
    /// When the parameters, the device or the memory cannot be had, the first of them.
    pub(super) fn finish(mut self, proof: RegisteredProof, ahead: u64) -> Result<Ready> {
        let (settings, size) = (&self.session.settings, proof.size);
        if self.expected.as_ref().is_none_or(|expected| expected.size != size) {
            self.expect(size)?;
        }
        let Expected { circuit, parameters, .. } = self.expected.expect("just made sure of");
        // Before the device: nobody need wait for a card to hear that there are no parameters.
        let parameters = joined(parameters.join())?;
        let device = self.device.finish(Some(size), self.session.progress())?;
        // Usage that only the machine's devices could decide.
        let variants = Variants::resolve(Job::Prove, Some(device.kind()), &settings.variant_flags)
            .map_err(|message| SettingsError::Variant { message })?;
        let needed_bytes = groth16::memory_bytes(variants, device.kind(), proof)
            + ahead * groth16::prepared_bytes(variants, proof);
        self.budget.check(needed_bytes)?;
        require_digest(self.session, &parameters)?;
        Ok(Ready { device, variants, parameters, circuit })
    }
}

/// What a report tells of how proofs were made.
pub(super) struct Circumstances {
    device: DeviceInfo,
    peak_vram_bytes: u64,
    variants: BTreeMap<&'static str, String>,
    parameters: ParametersInfo,
}

impl Circumstances {
    /// After proving with `device`, `variants` and `parameters`.
    pub(super) fn of(device: &OpenDevice, variants: Variants, parameters: &Opened) -> Self {
        let Opened { parameters, warm_fraction, .. } = parameters;
        Self {
            device: device.info(),
            peak_vram_bytes: device.peak_vram_bytes(),
            variants: variants.names(Job::Prove, device.kind()).into_iter().collect(),
            parameters: parameters_info(parameters.path(), parameters.security(), *warm_fraction),
        }
    }

    /// `report` with them.
    pub(super) fn told_in(self, report: Report) -> Report {
        let Self { device, peak_vram_bytes, variants, parameters } = self;
        Report { device, peak_vram_bytes, variants, parameters: Some(parameters), ..report }
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).with_context(|| format!("start a thread for the {name}"))
}
