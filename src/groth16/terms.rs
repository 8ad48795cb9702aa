//! Which variables of a partition meet which bases of the parameter file, spelled out.

use crate::msm::{BitRun, TailTerm};
use crate::r1cs::{self, QueryPart, Template};
use crate::witness::Layout;

/// Which variables meet which bases of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryTerms {
    /// Runs of bases that meet bits.
    pub bits: Vec<BitRun>,
    /// Bases that meet full scalars: [`super::native::PartitionAssignment::scalars`].
    pub tail: Vec<TailTerm>,
}

/// [`QueryTerms`] of all queries; B1 and B2 share theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CircuitTerms {
    /// Of L.
    pub l: QueryTerms,
    /// Of A.
    pub a: QueryTerms,
    /// Of B1 and B2.
    pub b: QueryTerms,
}

impl CircuitTerms {
    /// The terms of a circuit whose assignments have this layout.
    pub fn new(template: &Template, layout: &Layout) -> Self {
        let terms = |query| QueryTerms::new(&template.query(query), layout);
        Self { l: terms(r1cs::Query::L), a: terms(r1cs::Query::A), b: terms(r1cs::Query::B) }
    }
}

impl QueryTerms {
    /// The terms of one query.
    pub fn new(map: &r1cs::QueryMap, layout: &Layout) -> Self {
        let inputs = (0..map.input_bases as u32).map(|i| TailTerm { base: i, full: i });
        let mut terms = Self { bits: Vec::new(), tail: inputs.collect() };
        let prologue = (&map.prologue, map.prologue_base(), 0, 0);
        let challenges = (0..map.challenges).map(|k| {
            let bit_base = 64 * layout.word_base(k);
            (&map.challenge, map.challenge_base(k), bit_base, layout.full_base(k))
        });
        for (part, base, bit_base, full_base) in std::iter::once(prologue).chain(challenges) {
            let QueryPart { bits, full, .. } = part;
            terms.bits.extend(bits.iter().map(|run| BitRun {
                base_start: base + run.base as usize,
                bit_start: bit_base + run.start as usize,
                len: run.len as usize,
            }));
            let full_base = layout.inputs() + full_base;
            terms.tail.extend(full.iter().flat_map(|run| {
                (0..run.len).map(move |i| TailTerm {
                    base: base as u32 + run.base + i,
                    full: full_base as u32 + run.start + i,
                })
            }));
        }
        terms
    }
}
