//! `prover=bellperson`: bellperson 0.27 on the CPU, on the reference circuit (`synth=reference`) or
//! fed from our assignment.
//!
//! One partition at a time, each with all cores: bellperson keeps 32 bytes a variable and row.

use std::path::Path;
use std::sync::Mutex;

use bellperson::groth16::{MappedParameters, Parameters, create_proof};
use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::{Bls12, Scalar as Fr};
use storage_proofs_core::merkle::MerkleTreeTrait;

use super::synthesis::Synthesizer;
use super::{Blinding, Group, Proof, ProveError, Prover};
use crate::c1::Sector;
use crate::params::layout::{Counts, Query};
use crate::progress::{Device, Phase, PhaseId, Progress};
use crate::r1cs::{Matrices, Replay, Template};
use crate::reference;
use crate::sector::RegisteredProof;
use crate::variant::{SynthVariant, Variants};
use crate::with_tree;
use crate::witness::Layout;

/// bellperson's prover with a mapped parameter file.
pub struct Bellperson {
    params: MappedParameters<Bls12>,
    /// Feeds it from our assignment; without, it gets the reference circuit.
    synthesizer: Option<Synthesizer>,
}

impl Bellperson {
    /// Maps `params`, the checked parameters of `synthesizer`'s circuit; without one, partitions
    /// are proved from the reference circuit.
    ///
    /// # Errors
    /// When the file cannot be mapped.
    pub fn new(params: &Path, synthesizer: Option<Synthesizer>) -> Result<Self, ProveError> {
        // Points are decoded unchecked: the caller's checks stand for the file.
        let mapped = Parameters::<Bls12>::build_mapped_parameters(params.to_owned(), false);
        let params =
            mapped.map_err(|source| ProveError::Map { path: params.to_owned(), source })?;
        Ok(Self { params, synthesizer })
    }

    /// Proves a partition from our assignment, replayed.
    fn prove_ours(
        &self,
        synthesizer: &Synthesizer,
        sector: &Sector,
        partition: usize,
        blinding: Blinding,
        progress: &dyn Progress,
    ) -> Result<Proof, ProveError> {
        let synthesized = synthesizer.synthesize(sector, partition..partition + 1, progress)?;
        let circuit = Replay::new(synthesizer.template(progress), &synthesized[0].witness);
        let phases = Phases { progress, partition, running: Mutex::new(None) };
        self.prove_circuit(circuit, phases, blinding)
    }

    /// Synthesizes `circuit` into bellperson's own form and proves it, timed apart.
    fn prove_circuit(
        &self,
        circuit: impl Circuit<Fr> + Send,
        phases: Phases<'_>,
        blinding: Blinding,
    ) -> Result<Proof, ProveError> {
        if !phases.is_running() {
            phases.enter("synthesis");
        }
        let timed = Timed { circuit, phases: &phases };
        let proof = create_proof(timed, &self.params, blinding.r, blinding.s);
        phases.leave();
        let partition = phases.partition;
        proof.map_err(|source| ProveError::Synthesis { partition, source })
    }

    fn prove_reference<Tree: 'static + MerkleTreeTrait>(
        &self,
        sector: &Sector,
        partition: usize,
        blinding: Blinding,
        progress: &dyn Progress,
    ) -> Result<Proof, ProveError> {
        let phases = Phases { progress, partition, running: Mutex::new(None) };
        phases.enter("synthesis");
        let circuit = reference::circuit::<Tree>(sector, partition)
            .map_err(|source| ProveError::Circuit { partition, source })?;
        self.prove_circuit(circuit, phases, blinding)
    }
}

impl Prover for Bellperson {
    fn prove_group(
        &self,
        Group { sector, partitions, .. }: Group<'_>,
        blindings: &[Blinding],
        progress: &dyn Progress,
    ) -> Result<Vec<Proof>, ProveError> {
        assert_eq!(partitions.len(), blindings.len(), "one blinding a partition");
        let size = sector.registered_proof.size;
        partitions
            .zip(blindings)
            .map(|(partition, &blinding)| match &self.synthesizer {
                Some(ours) => self.prove_ours(ours, sector, partition, blinding, progress),
                None => with_tree!(size, prove_with(self, sector, partition, blinding, progress)),
            })
            .collect()
    }
}

/// [`Bellperson::prove_reference`] in the form that [`with_tree`] calls.
fn prove_with<Tree: 'static + MerkleTreeTrait>(
    prover: &Bellperson,
    sector: &Sector,
    partition: usize,
    blinding: Blinding,
    progress: &dyn Progress,
) -> Result<Proof, ProveError> {
    prover.prove_reference::<Tree>(sector, partition, blinding, progress)
}

/// Peak host memory: one partition while its last sums run, when bellperson holds the points of
/// all five queries (decoded, 96 or 192 bytes), their offsets in the file (16 bytes a point), and
/// h and the assignment as integers (32 bytes each).
///
/// What the allocator keeps besides is counted as an eighth. Measured RssAnon against this much of
/// the plan, two cores: 1.813 of 1.833 GB at 2 KiB, 2.276 of 2.281 GB at 8 MiB. Unless
/// `synth=reference`, our template and assignment stay beside it.
pub fn memory_bytes(variants: Variants, proof: RegisteredProof) -> u64 {
    /// The process itself, the C1 and the hashers' constants.
    const BASE_BYTES: u64 = 128 << 20;
    let size = proof.size;
    let counts = Counts::of(size);
    let points = |query| u64::from(counts.query(query));
    let of_queries: u64 =
        Query::ALL.map(|query| points(query) * (query.point_bytes() as u64 + 16)).iter().sum();
    let of_scalars = 32 * (points(Query::H) + points(Query::L));
    let ours = match variants.synth {
        SynthVariant::Reference => 0,
        _ => {
            let template = Template::planned_bytes(size, Matrices::Abc);
            template + Layout::new(size).bytes() as u64
        }
    };
    (of_queries + of_scalars) / 8 * 9 + ours + BASE_BYTES
}

/// Reports the two halves of bellperson's prover, of which only the first calls back.
struct Phases<'a> {
    progress: &'a dyn Progress,
    partition: usize,
    running: Mutex<Option<PhaseId>>,
}

impl Phases<'_> {
    fn enter(&self, name: &'static str) {
        self.leave();
        let id = self.progress.start(Phase::new(name).partition(self.partition));
        *self.running.lock().expect("nothing panics while it is held") = Some(id);
    }

    fn is_running(&self) -> bool {
        self.running.lock().expect("nothing panics while it is held").is_some()
    }

    fn leave(&self) {
        let running = self.running.lock().expect("nothing panics while it is held").take();
        if let Some(id) = running {
            self.progress.finish(id, 0, Device::Cpu);
        }
    }
}

/// A circuit that tells when its synthesis is over.
struct Timed<'a, C> {
    circuit: C,
    phases: &'a Phases<'a>,
}

impl<C: Circuit<Fr>> Circuit<Fr> for Timed<'_, C> {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, system: &mut CS) -> Result<(), SynthesisError> {
        self.circuit.synthesize(system)?;
        self.phases.enter("prove");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sector::{ProofVersion, SectorSize};

    #[test]
    fn our_template_is_in_the_plan_unless_the_reference_synthesizes() {
        for size in [SectorSize::KiB2, SectorSize::GiB32] {
            let proof = RegisteredProof { size, version: ProofVersion::V1_1 };
            let planned = |synth| memory_bytes(Variants { synth, ..Variants::default() }, proof);
            let [ours, reference] = [SynthVariant::Compact, SynthVariant::Reference].map(planned);
            assert!(ours > reference + Template::planned_bytes(size, Matrices::Abc), "{size}");
        }
    }
}
