//! The orchestrator: groups of partitions through a prover, every proof verified.
//!
//! In: a checked sector, a prover, a verifier. Out: one verified proof a partition. A partition
//! whose proof does not verify is proved once more, said loudly; twice is final.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use rayon::prelude::*;

use super::synthesis::Synthesizer;
use super::verify::Verifier;
use super::{Blinding, GROUP_PARTITIONS, Group, Pending, Proof, ProveError, Prover};
use crate::c1::Sector;
use crate::progress::{Phase, Progress};
use crate::threads::joined;

/// What was made of a sector ahead of its proof: the assignments of its first group of partitions,
/// which for most sectors is the only one.
#[derive(Default)]
pub struct Prepared(Option<Pending>);

/// Begins to prepare a sector of `synthesizer`'s circuit, before there is a prover.
///
/// # Errors
/// When the system has no thread for it.
pub fn begin(
    synthesizer: Synthesizer,
    sector: Arc<Sector>,
    progress: Arc<dyn Progress>,
) -> io::Result<Prepared> {
    let synthesize = move || synthesizer.synthesize(&sector, first_group(&sector), &*progress);
    let thread = thread::Builder::new().name("synthesis".to_owned()).spawn(synthesize)?;
    Ok(Prepared(Some(Box::new(|| joined(thread.join())))))
}

/// Prepares a sector, also while `prover` proves another.
///
/// # Errors
/// When the sector's witness cannot be made.
pub fn prepare(
    sector: &Sector,
    prover: &dyn Prover,
    progress: &dyn Progress,
) -> Result<Prepared, ProveError> {
    let synthesized = prover.synthesize(sector, first_group(sector), progress)?;
    Ok(Prepared(synthesized.map(|made| Box::new(|| Ok(made)) as Pending)))
}

fn first_group(sector: &Sector) -> Range<usize> {
    groups(sector.registered_proof.partitions()).next().expect("a sector has partitions")
}

/// Proves every partition with fresh blindings from the operating system.
///
/// # Errors
/// When a stage fails, or a partition's proof does not verify twice.
pub fn prove(
    sector: &Sector,
    prover: &dyn Prover,
    verifier: &Verifier,
    progress: &dyn Progress,
) -> Result<Vec<Proof>, ProveError> {
    prove_prepared(sector, Prepared::default(), prover, verifier, progress)
}

/// The same with what [`prepare`] made of the sector for the same prover.
///
/// # Errors
/// As [`prove`].
pub fn prove_prepared(
    sector: &Sector,
    prepared: Prepared,
    prover: &dyn Prover,
    verifier: &Verifier,
    progress: &dyn Progress,
) -> Result<Vec<Proof>, ProveError> {
    let blinding = &mut |_| Blinding::random();
    Job { sector, prover, verifier, blinding, progress }.run(prepared)
}

/// Proves every partition with the blindings that `blinding` gives, by partition: for tests that
/// need the same bytes. A blinding must never be used for two different witnesses.
///
/// # Errors
/// As [`prove`].
pub fn prove_with(
    sector: &Sector,
    prover: &dyn Prover,
    verifier: &Verifier,
    blinding: &mut dyn FnMut(usize) -> Blinding,
    progress: &dyn Progress,
) -> Result<Vec<Proof>, ProveError> {
    Job { sector, prover, verifier, blinding, progress }.run(Prepared::default())
}

/// Consecutive groups of nearly equal size, at most [`GROUP_PARTITIONS`] each.
pub(crate) fn groups(partitions: usize) -> impl Iterator<Item = Range<usize>> {
    let count = partitions.div_ceil(GROUP_PARTITIONS);
    (0..count).map(move |group| group * partitions / count..(group + 1) * partitions / count)
}

struct Job<'a> {
    sector: &'a Sector,
    prover: &'a dyn Prover,
    verifier: &'a Verifier,
    blinding: &'a mut dyn FnMut(usize) -> Blinding,
    progress: &'a dyn Progress,
}

impl Job<'_> {
    fn run(mut self, Prepared(mut synthesized): Prepared) -> Result<Vec<Proof>, ProveError> {
        let partitions = self.sector.registered_proof.partitions();
        let mut proofs = Vec::with_capacity(partitions);
        for group in groups(partitions) {
            proofs.extend(self.prove_group(group, synthesized.take())?);
        }
        assert_eq!(proofs.len(), partitions, "one proof a partition");
        Ok(proofs)
    }

    /// Proves and verifies a group; partitions that fail are proved again, one by one.
    fn prove_group(
        &mut self,
        group: Range<usize>,
        synthesized: Option<Pending>,
    ) -> Result<Vec<Proof>, ProveError> {
        let mut proofs = self.attempt(group.clone(), synthesized)?;
        let Job { sector, verifier, progress, .. } = *self;
        let verify = |partition: usize, proof: &Proof| -> Result<bool, ProveError> {
            let phase = Phase::new("verify").partition(partition);
            Ok(progress.run(phase, 0, |_| verifier.verify(sector, partition, proof))?)
        };
        let verified = group.clone().into_par_iter().zip(&proofs);
        let verified = verified.map(|(partition, proof)| verify(partition, proof));
        let verified: Vec<bool> = verified.collect::<Result<_, _>>()?;
        let mut invalid = Vec::new();
        for ((partition, proof), is_valid) in group.zip(&mut proofs).zip(verified) {
            if is_valid {
                continue;
            }
            self.progress.warn(&format!(
                "the proof of partition {partition} does not verify; proving it once more"
            ));
            *proof = self.attempt(partition..partition + 1, None)?.remove(0);
            if verify(partition, proof)? {
                self.progress.warn(&format!(
                    "the second proof of partition {partition} verifies; suspect the hardware"
                ));
            } else {
                invalid.push(partition);
            }
        }
        if invalid.is_empty() {
            Ok(proofs)
        } else {
            Err(ProveError::Invalid { partitions: invalid })
        }
    }

    fn attempt(
        &mut self,
        partitions: Range<usize>,
        synthesized: Option<Pending>,
    ) -> Result<Vec<Proof>, ProveError> {
        let blindings: Vec<Blinding> = partitions.clone().map(&mut *self.blinding).collect();
        let count = partitions.len();
        let group = Group { sector: self.sector, partitions, synthesized };
        let proofs = self.prover.prove_group(group, &blindings, self.progress)?;
        assert_eq!(proofs.len(), count, "one proof a partition");
        Ok(proofs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bellperson::groth16::VerifyingKey;
    use blstrs::{G1Projective, G2Projective, Scalar as Fr};
    use ff::Field;
    use group::{Curve, Group};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::c1::{self, GivenIds};
    use crate::progress::{Device, PhaseId, Span};
    use crate::reference::public_inputs;

    #[test]
    fn groups_are_even_and_cover_every_partition_once() {
        for (partitions, count, longest) in [(1, 1, 1), (10, 1, 10), (13, 2, 7), (126, 13, 10)] {
            let groups: Vec<Range<usize>> = groups(partitions).collect();
            let flat: Vec<usize> = groups.iter().cloned().flatten().collect();
            assert_eq!(flat, (0..partitions).collect::<Vec<_>>());
            assert_eq!(groups.len(), count, "{partitions}");
            let lengths = || groups.iter().map(ExactSizeIterator::len);
            assert_eq!(lengths().max(), Some(longest), "{partitions}");
            assert!(lengths().min() >= Some(longest - 1), "{partitions}");
        }
    }

    /// A trapdoor: makes true proofs without a witness, as whoever ran the setup could.
    struct Trapdoor {
        alpha: Fr,
        beta: Fr,
        gamma: Fr,
        delta: Fr,
        ic: Vec<Fr>,
    }

    impl Trapdoor {
        fn new(inputs: usize) -> Self {
            let mut rng = ChaCha8Rng::seed_from_u64(8);
            let mut scalar = || Fr::random(&mut rng);
            let [alpha, beta, gamma, delta] = [(); 4].map(|()| scalar());
            Self { alpha, beta, gamma, delta, ic: (0..inputs).map(|_| scalar()).collect() }
        }

        fn key(&self) -> VerifyingKey<blstrs::Bls12> {
            let g1 = |scalar: Fr| (G1Projective::generator() * scalar).to_affine();
            let g2 = |scalar: Fr| (G2Projective::generator() * scalar).to_affine();
            VerifyingKey {
                alpha_g1: g1(self.alpha),
                beta_g1: g1(self.beta),
                beta_g2: g2(self.beta),
                gamma_g2: g2(self.gamma),
                delta_g1: g1(self.delta),
                delta_g2: g2(self.delta),
                ic: self.ic.iter().map(|&scalar| g1(scalar)).collect(),
            }
        }

        /// A b = alpha beta + gamma sum x_i ic_i + delta c, solved for c.
        fn proof(&self, inputs: &[Fr], blinding: Blinding) -> Proof {
            let Blinding { r: a, s: b } = blinding;
            let sum =
                self.ic[0] + inputs.iter().zip(&self.ic[1..]).map(|(x, ic)| x * ic).sum::<Fr>();
            let delta = self.delta.invert().expect("a random scalar is not zero");
            let c = (a * b - self.alpha * self.beta - sum * self.gamma) * delta;
            Proof {
                a: (G1Projective::generator() * a).to_affine(),
                b: (G2Projective::generator() * b).to_affine(),
                c: (G1Projective::generator() * c).to_affine(),
            }
        }
    }

    /// Proves with a trapdoor; for each partition the next `faults` proofs are false.
    struct Faulty {
        trapdoor: Trapdoor,
        faults: Mutex<Vec<usize>>,
    }

    impl Prover for Faulty {
        fn prove_group(
            &self,
            crate::groth16::Group { sector, partitions, .. }: crate::groth16::Group<'_>,
            blindings: &[Blinding],
            _: &dyn Progress,
        ) -> Result<Vec<Proof>, ProveError> {
            let mut faults = self.faults.lock().expect("no test panics while it is held");
            let proofs = partitions.zip(blindings).map(|(partition, &blinding)| {
                let mut inputs = public_inputs(sector, partition).expect("a good sector");
                if faults[partition] > 0 {
                    faults[partition] -= 1;
                    inputs[2] += Fr::ONE;
                }
                self.trapdoor.proof(&inputs, blinding)
            });
            Ok(proofs.collect())
        }
    }

    /// Counts warnings.
    #[derive(Default)]
    struct Warnings(Mutex<Vec<String>>);

    impl Progress for Warnings {
        fn start(&self, _: Phase) -> PhaseId {
            PhaseId(0)
        }
        fn advance(&self, _: PhaseId, _: u64) {}
        fn finish(&self, _: PhaseId, _: u64, _: Device) {}
        fn measured(&self, _: Phase, _: Span, _: u64, _: Device) {}
        fn note(&self, _: &str) {}
        fn warn(&self, line: &str) {
            self.0.lock().expect("no test panics while it is held").push(line.to_owned());
        }
    }

    /// Proves the 13 partitions of the non-interactive fixture with faults planted.
    fn run(faults: &[(usize, usize)]) -> (Result<Vec<Proof>, ProveError>, Vec<String>) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/c1-2KiB-ni.json");
        let file = std::fs::read(path).expect("a fixture");
        let sector = c1::read(&file, &GivenIds::default()).expect("a good C1").sector;
        let trapdoor = Trapdoor::new(sector.registered_proof.size.inputs());
        let verifier = Verifier::new(&trapdoor.key());
        let mut planted = vec![0; 13];
        for &(partition, count) in faults {
            planted[partition] = count;
        }
        let prover = Faulty { trapdoor, faults: Mutex::new(planted) };
        let warnings = Warnings::default();
        let mut blinding =
            |partition| Blinding { r: Fr::from(3 + partition as u64), s: Fr::from(5) };
        let result = prove_with(&sector, &prover, &verifier, &mut blinding, &warnings);
        (result, warnings.0.into_inner().expect("no test panicked"))
    }

    #[test]
    fn a_proof_that_fails_once_is_made_again_and_said() {
        let (proofs, warnings) = run(&[]);
        let expected = proofs.expect("no fault");
        assert!(warnings.is_empty());
        let (proofs, warnings) = run(&[(0, 1), (7, 1)]);
        assert!(proofs.expect("the second attempts are true") == expected);
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[0].contains("partition 0") && warnings[2].contains("partition 7"));
    }

    #[test]
    fn proofs_that_fail_twice_are_named() {
        let (proofs, _) = run(&[(1, 1), (3, 2), (5, 2)]);
        match proofs {
            Err(ProveError::Invalid { partitions }) => assert_eq!(partitions, [3, 5]),
            other => panic!("{other:?}"),
        }
    }
}
