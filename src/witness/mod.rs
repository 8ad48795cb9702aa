//! The compact assignment of a partition's circuit: a packed bit string and an array of field
//! elements, 70 MB at 32 GiB where one element per variable takes 4.2 GB.
//!
//! In: a [`Sector`] and its public inputs, computed apart from this circuit. Out: one [`Witness`]
//! per partition, made in parallel over partitions and challenges. What the circuit enforces
//! between values that the sector brings (comm_r, the 17 roots of every challenge, the public
//! inputs) is compared on the way, because nothing later looks at C.

mod error;
mod layout;
mod writer;

pub use error::WitnessError;
pub use layout::{Counts, Layout};

use std::ops::Range;

use blstrs::Scalar as Fr;
use ff::Field;
use rayon::prelude::*;

use crate::c1::{ChallengeProof, Node, Sector};
use crate::circuit::{Commitments, Opening, Path, Porep, Shared};
use crate::field;
use writer::{Target, Writer};

/// One partition's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Where everything is.
    pub layout: Layout,
    /// Bits, lowest first in each word; padding is zero.
    pub words: Vec<u64>,
    /// Public inputs, ONE first, then the field elements: one array, as provers take it.
    pub scalars: Vec<Fr>,
}

impl Witness {
    /// Public inputs, ONE first.
    pub fn inputs(&self) -> &[Fr] {
        &self.scalars[..self.layout.inputs()]
    }

    /// Field elements.
    pub fn full(&self) -> &[Fr] {
        &self.scalars[self.layout.inputs()..]
    }
}

/// Makes the assignments of `partitions`, checked.
///
/// `public_inputs` holds, for each of `partitions`, the inputs after ONE.
///
/// # Errors
/// With the first fault, in the order of the circuit, of the first faulty challenge.
pub fn generate(
    sector: &Sector,
    partitions: Range<usize>,
    public_inputs: &[Vec<Fr>],
) -> Result<Vec<Witness>, WitnessError> {
    let (porep, layout) = layout::count(sector.registered_proof.size);
    check_counts(sector, &layout, &partitions, public_inputs)?;
    let roots = Roots::of(sector);
    let commitments = roots.commitments(sector)?;
    let fill = |(partition, public): (usize, &Vec<Fr>)| {
        let proofs = &sector.partitions[partition];
        let job = Partition { porep: &porep, layout, commitments, roots, partition };
        job.fill(proofs, public)
    };
    let witnesses: Vec<_> = partitions.into_par_iter().zip(public_inputs).map(fill).collect();
    witnesses.into_iter().collect()
}

fn check_counts(
    sector: &Sector,
    layout: &Layout,
    partitions: &Range<usize>,
    public_inputs: &[Vec<Fr>],
) -> Result<(), WitnessError> {
    let check = |what, expected, got| {
        if expected == got { Ok(()) } else { Err(WitnessError::Count { what, expected, got }) }
    };
    check("partitions", sector.registered_proof.partitions(), sector.partitions.len())?;
    assert!(partitions.end <= sector.partitions.len(), "partitions of the sector");
    check("partitions of public inputs", partitions.len(), public_inputs.len())?;
    for proofs in &sector.partitions {
        check("challenges in a partition", layout.challenges, proofs.len())?;
    }
    for public in public_inputs {
        check("public inputs", layout.inputs() - 1, public.len())?;
    }
    Ok(())
}

/// The values that the circuit of one partition reads, unchecked but for their shape: for the
/// interpretations that evaluate row by row.
///
/// # Errors
/// When a count or an index does not fit the sector size, or a value is no field element.
pub fn values(
    sector: &Sector,
    partition: usize,
) -> Result<(Commitments, Vec<Opening>), WitnessError> {
    let commitments = Roots::of(sector).commitments(sector)?;
    let size = sector.registered_proof.size;
    let opening = |(challenge, proof)| {
        Opening::new(size, proof).map_err(|source| WitnessError::Opening {
            partition,
            challenge,
            source,
        })
    };
    let openings = sector.partitions[partition].iter().enumerate().map(opening);
    Ok((commitments, openings.collect::<Result<_, _>>()?))
}

/// The roots that every path of a sector must claim.
#[derive(Clone, Copy, Debug)]
struct Roots {
    comm_d: Node,
    comm_r_last: Node,
    comm_c: Node,
}

impl Roots {
    /// The sector's data commitment, and the roots that its first challenge claims.
    fn of(sector: &Sector) -> Self {
        let first = &sector.partitions[0][0];
        Self {
            comm_d: sector.comm_d,
            comm_r_last: first.comm_r_last_proof.root,
            comm_c: first.column.inclusion.root,
        }
    }

    fn commitments(&self, sector: &Sector) -> Result<Commitments, WitnessError> {
        let element = |what, bytes: &Node| {
            field::to_fr(bytes).ok_or(WitnessError::NotInField { what, got: *bytes })
        };
        Ok(Commitments {
            replica_id: element("replica_id", &sector.replica_id)?,
            comm_d: element("comm_d", &self.comm_d)?,
            comm_r: element("comm_r", &sector.comm_r)?,
            comm_r_last: element("comm_r_last", &self.comm_r_last)?,
            comm_c: element("comm_c", &self.comm_c)?,
        })
    }

    /// The first path of a challenge that claims another root, with the right and its own.
    fn stranger(&self, proof: &ChallengeProof) -> Option<(Path, Node, Node)> {
        let drg = (0..).map(Path::DrgParent).zip(&proof.drg_parents);
        let exp = (0..).map(Path::ExpParent).zip(&proof.exp_parents);
        let columns = drg.chain(exp).chain([(Path::Column, &proof.column)]);
        [
            (Path::Data, self.comm_d, proof.comm_d_proof.root),
            (Path::Replica, self.comm_r_last, proof.comm_r_last_proof.root),
        ]
        .into_iter()
        .chain(columns.map(|(path, column)| (path, self.comm_c, column.inclusion.root)))
        .find(|(_, expected, got)| expected != got)
    }
}

/// What the sections of one partition's assignment are made from.
struct Partition<'p> {
    porep: &'p Porep,
    layout: Layout,
    commitments: Commitments,
    roots: Roots,
    partition: usize,
}

impl Partition<'_> {
    /// The partition's assignment: the prologue, then all challenges in parallel.
    fn fill(&self, proofs: &[ChallengeProof], public: &[Fr]) -> Result<Witness, WitnessError> {
        let Layout { prologue, challenge, .. } = self.layout;
        let mut words = vec![0; self.layout.words()];
        let mut scalars = vec![Fr::ONE; self.layout.scalars()];

        let (inputs, full) = scalars.split_at_mut(self.layout.inputs());
        let (head_inputs, inputs_rest) = inputs.split_at_mut(prologue.inputs);
        let (head_words, words_rest) = words.split_at_mut(prologue.words());
        let (head_full, full_rest) = full.split_at_mut(prologue.full);
        let (head_public, public) = public.split_at(prologue.inputs - 1);
        let head = Target { inputs: &mut head_inputs[1..], words: head_words, full: head_full };
        let shared = self.prologue(head, head_public)?;

        let faults: Vec<Option<WitnessError>> = proofs
            .par_iter()
            .zip(inputs_rest.par_chunks_exact_mut(challenge.inputs))
            .zip(words_rest.par_chunks_exact_mut(challenge.words()))
            .zip(full_rest.par_chunks_exact_mut(challenge.full))
            .zip(public.par_chunks_exact(challenge.inputs))
            .enumerate()
            .map(|(number, ((((proof, inputs), words), full), public))| {
                let writer = Writer::new(Target { inputs, words, full }, public);
                self.challenge(number, proof, &shared, writer).err()
            })
            .collect();
        match faults.into_iter().flatten().next() {
            Some(fault) => Err(fault),
            None => Ok(Witness { layout: self.layout, words, scalars }),
        }
    }

    fn prologue(&self, target: Target<'_>, public: &[Fr]) -> Result<Shared<()>, WitnessError> {
        let mut writer = Writer::new(target, public);
        let shared = self.porep.prologue(&mut writer, &self.commitments);
        let finished = writer.finish(&self.layout.prologue);
        finished.map_err(|fault| WitnessError::new(self.partition, None, fault))?;
        Ok(shared)
    }

    fn challenge(
        &self,
        challenge: usize,
        proof: &ChallengeProof,
        shared: &Shared<()>,
        mut writer: Writer<'_>,
    ) -> Result<(), WitnessError> {
        let partition = self.partition;
        let opening = Opening::new(self.layout.size, proof)
            .map_err(|source| WitnessError::Opening { partition, challenge, source })?;
        if let Some((path, expected, got)) = self.roots.stranger(proof) {
            return Err(WitnessError::ClaimedRoot { partition, challenge, path, expected, got });
        }
        self.porep.challenge(&mut writer, shared, &opening);
        let finished = writer.finish(&self.layout.challenge);
        finished.map_err(|fault| WitnessError::new(partition, Some(challenge), fault))
    }
}
