//! Synthesis: from vanilla proofs to assignments and rows, by the chosen variant.

use std::ops::Range;
use std::sync::OnceLock;

use blstrs::Scalar as Fr;
use rayon::prelude::*;
use smallvec::SmallVec;
use storage_proofs_core::merkle::MerkleTreeTrait;

use super::ProveError;
use crate::c1::Sector;
use crate::circuit::classic::{self, Synthesis};
use crate::circuit::linear::Entry;
use crate::progress::{Phase, Progress};
use crate::r1cs::{Assignment, Evaluator, Matrices, Template, compact};
use crate::reference;
use crate::sector::SectorSize;
use crate::variant::{LcVariant, SynthVariant, Variants};
use crate::with_tree;
use crate::witness::{self, Layout, Witness};

/// Makes assignments for one sector size.
pub struct Synthesizer {
    size: SectorSize,
    matrices: Matrices,
    variants: Variants,
    template: OnceLock<Template>,
}

/// One partition's assignment and rows.
pub struct Synthesized {
    /// The compact assignment.
    pub witness: Witness,
    /// a and b of every row, where synthesis computed them.
    rows: Option<[Vec<Fr>; 2]>,
}

impl Synthesizer {
    /// For the circuit of `size`, whose template will have `matrices`.
    pub const fn new(size: SectorSize, matrices: Matrices, variants: Variants) -> Self {
        Self { size, matrices, variants, template: OnceLock::new() }
    }

    /// The circuit, recorded when it is first asked for: compact assignments do without.
    pub fn template(&self, progress: &dyn Progress) -> &Template {
        self.template.get_or_init(|| {
            let record = |_| Template::record(self.size, self.matrices);
            progress.run(Phase::new("template"), 0, record)
        })
    }

    /// Synthesizes `partitions` of `sector`.
    ///
    /// # Errors
    /// With the first value of the sector that the circuit would not accept.
    pub fn synthesize(
        &self,
        sector: &Sector,
        partitions: Range<usize>,
        progress: &dyn Progress,
    ) -> Result<Vec<Synthesized>, ProveError> {
        if self.variants.synth == SynthVariant::Compact {
            return progress.run(Phase::new("synthesis"), 0, |_| {
                let witnesses = compact_assignments(sector, partitions)?;
                Ok(witnesses
                    .into_iter()
                    .map(|witness| Synthesized { witness, rows: None })
                    .collect())
            });
        }
        let template = self.template(progress);
        partitions
            .map(|partition| {
                progress.run(Phase::new("synthesis").partition(partition), 0, |_| {
                    let synthesis = row_by_row(sector, partition, self.variants)?;
                    compacted(template, partition, synthesis)
                })
            })
            .collect()
    }
}

fn compacted(
    template: &Template,
    partition: usize,
    synthesis: Synthesis,
) -> Result<Synthesized, ProveError> {
    let Synthesis { a, b, inputs, aux, .. } = synthesis;
    let layout = Layout::new(template.size);
    let witness = compact(template, layout, Assignment { inputs, aux })
        .map_err(|source| ProveError::NotABit { partition, source })?;
    Ok(Synthesized { witness, rows: Some([a, b]) })
}

impl Synthesized {
    /// a and b of all rows, those appended for inputs included, where synthesis computed them.
    pub fn rows(&self) -> Option<[&[Fr]; 2]> {
        self.rows.as_ref().map(|[a, b]| [&a[..], &b[..]])
    }

    /// Writes a and b of all rows, by the template.
    ///
    /// # Panics
    /// When the slices have another length.
    pub fn evaluate(&self, template: &Template, a: &mut [Fr], b: &mut [Fr]) {
        let evaluator = Evaluator::new(template, &self.witness);
        assert_eq!(a.len(), evaluator.rows(), "all rows");
        evaluator.fill(0, a, b);
    }
}

/// Compact assignments of `partitions`, checked against independent public inputs.
///
/// # Errors
/// As [`witness::generate`], or when the reference cannot give the inputs.
pub fn compact_assignments(
    sector: &Sector,
    partitions: Range<usize>,
) -> Result<Vec<Witness>, ProveError> {
    let public: Vec<Vec<Fr>> = partitions
        .clone()
        .into_par_iter()
        .map(|partition| {
            reference::public_inputs(sector, partition)
                .map_err(|source| ProveError::Circuit { partition, source })
        })
        .collect::<Result<_, _>>()?;
    Ok(witness::generate(sector, partitions, &public)?)
}

/// One partition by `synth=classic` or `synth=reference`.
///
/// # Errors
/// When the sector's values have the wrong shape.
///
/// # Panics
/// Under `synth=compact`, which has no rows of its own.
pub fn row_by_row(
    sector: &Sector,
    partition: usize,
    variants: Variants,
) -> Result<Synthesis, ProveError> {
    match variants.synth {
        SynthVariant::Compact => unreachable!("compact assignments have no rows of their own"),
        SynthVariant::Classic => {
            let (commitments, openings) = witness::values(sector, partition)?;
            let size = sector.registered_proof.size;
            let synthesize = match variants.lc {
                LcVariant::Vec => classic::synthesize::<Vec<Entry>>,
                LcVariant::SmallVec1 => classic::synthesize::<SmallVec<[Entry; 1]>>,
                LcVariant::SmallVec2 => classic::synthesize::<SmallVec<[Entry; 2]>>,
                LcVariant::SmallVec4 => classic::synthesize::<SmallVec<[Entry; 4]>>,
            };
            Ok(synthesize(size, &commitments, &openings, variants.presize))
        }
        SynthVariant::Reference => {
            with_tree!(sector.registered_proof.size, by_reference(sector, partition))
        }
    }
}

fn by_reference<Tree: 'static + MerkleTreeTrait>(
    sector: &Sector,
    partition: usize,
) -> Result<Synthesis, ProveError> {
    let circuit = reference::circuit::<Tree>(sector, partition)
        .map_err(|source| ProveError::Circuit { partition, source })?;
    reference::evaluate(circuit).map_err(|source| ProveError::Synthesis { partition, source })
}
