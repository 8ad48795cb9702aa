//! Which bits and field elements multiply which bases of the parameter file's queries.
//!
//! A query's bases stand in variable order, with gaps closed where a variable is not dense. So a
//! query is a few thousand runs of consecutive bases that meet consecutive bits, or consecutive
//! field elements: runs of the prologue and of one challenge, moved by constants for challenge k.

use super::density::BitSet;
use super::order::Form;
use super::template::{Section, Template};

/// A query of the parameter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// `l`: one base per aux variable.
    L,
    /// `a`: all inputs, then the aux variables that A uses.
    A,
    /// `b_g1` and `b_g2`: ONE, then the aux variables that B uses.
    B,
}

/// Bases `base..base + len` meet bits (or field elements) `start..start + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryRun {
    /// First base, among the bases of its part.
    pub base: u32,
    /// First bit or field element, among those of its section, without padding before it.
    pub start: u32,
    /// How many.
    pub len: u32,
}

/// The bases of the prologue's aux variables, or of a challenge's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPart {
    /// How many bases.
    pub bases: u32,
    /// Bases that meet bits.
    pub bits: Vec<QueryRun>,
    /// Bases that meet field elements.
    pub full: Vec<QueryRun>,
}

/// A query's bases: `input_bases` inputs in order, the prologue's, then each challenge's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryMap {
    /// Bases of inputs: number i is input i.
    pub input_bases: usize,
    /// The prologue's part.
    pub prologue: QueryPart,
    /// Every challenge's part.
    pub challenge: QueryPart,
    /// Challenges of a partition.
    pub challenges: usize,
}

impl QueryMap {
    /// All bases of a partition: the length of the query.
    pub fn bases(&self) -> usize {
        self.challenge_base(self.challenges)
    }

    /// Number of the prologue's first base.
    pub fn prologue_base(&self) -> usize {
        self.input_bases
    }

    /// Number of challenge `challenge`'s first base.
    pub fn challenge_base(&self, challenge: usize) -> usize {
        self.input_bases + self.prologue.bases as usize + challenge * self.challenge.bases as usize
    }
}

impl QueryPart {
    /// Dense variables of a section; without sets, all of them.
    fn new(section: &Section, dense: Option<(&BitSet, &BitSet)>) -> Self {
        let mut part = Self::default();
        for run in section.order.runs() {
            let (runs, set) = match run.form {
                Form::Bit => (&mut part.bits, dense.map(|(bits, _)| bits)),
                Form::Full => (&mut part.full, dense.map(|(_, full)| full)),
            };
            let Some(set) = set else {
                extend(runs, part.bases, run.start, run.len);
                part.bases += run.len;
                continue;
            };
            for i in (run.start..run.start + run.len).filter(|&i| set.contains(i as usize)) {
                extend(runs, part.bases, i, 1);
                part.bases += 1;
            }
        }
        part
    }
}

/// Adds a run, to the last one where both sides go on.
fn extend(runs: &mut Vec<QueryRun>, base: u32, start: u32, len: u32) {
    match runs.last_mut() {
        Some(last) if last.base + last.len == base && last.start + last.len == start => {
            last.len += len;
        }
        _ => runs.push(QueryRun { base, start, len }),
    }
}

impl Template {
    /// The bases of a query.
    pub fn query(&self, query: Query) -> QueryMap {
        let (input_bases, density) = match query {
            Query::L => (0, None),
            Query::A => (self.inputs(), Some(&self.a_density)),
            Query::B => (1, Some(&self.b_density)),
        };
        let prologue = density.map(|density| (&density.prologue_bits, &density.prologue_full));
        let challenge = density.map(|density| (&density.bits, &density.full));
        QueryMap {
            input_bases,
            prologue: QueryPart::new(&self.prologue, prologue),
            challenge: QueryPart::new(&self.challenge, challenge),
            challenges: self.challenges(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r1cs::{Density, Matrices};
    use crate::sector::SectorSize;

    /// Per base of a partition's query, whether it is a bit and its number in the partition,
    /// straight from the order and the density.
    fn naive(template: &Template, density: Option<&Density>) -> Vec<(bool, usize)> {
        let mut bases = Vec::new();
        let (mut bits, mut full) = (0, 0);
        for challenge in std::iter::once(None).chain((0..template.challenges()).map(Some)) {
            let section = challenge.map_or(&template.prologue, |_| &template.challenge);
            for run in section.order.runs() {
                let is_bits = run.form == Form::Bit;
                for i in (run.start..run.start + run.len).map(|i| i as usize) {
                    let set = density.map(|density| match (challenge, is_bits) {
                        (None, true) => &density.prologue_bits,
                        (None, false) => &density.prologue_full,
                        (Some(_), true) => &density.bits,
                        (Some(_), false) => &density.full,
                    });
                    if set.is_none_or(|set| set.contains(i)) {
                        bases.push((is_bits, i + if is_bits { bits } else { full }));
                    }
                }
            }
            bits += section.order.bits() as usize;
            full += section.order.full() as usize;
        }
        bases
    }

    #[test]
    fn runs_name_every_base_once_with_its_variable() {
        let template = Template::record(SectorSize::KiB2, Matrices::Ab);
        let numbers = SectorSize::KiB2.circuit();
        for (query, density, bases) in [
            (Query::L, None, numbers.aux),
            (Query::A, Some(&template.a_density), numbers.a_aux_dense + 40),
            (Query::B, Some(&template.b_density), numbers.b_aux_dense + 1),
        ] {
            let map = template.query(query);
            assert_eq!(map.bases() as u64, bases, "{query:?}");
            let mut met = vec![None; map.bases() - map.input_bases];
            let (mut bits, mut full) = (0, 0);
            for challenge in std::iter::once(None).chain((0..map.challenges).map(Some)) {
                let (part, first, section) = match challenge {
                    None => (&map.prologue, map.prologue_base(), &template.prologue),
                    Some(k) => (&map.challenge, map.challenge_base(k), &template.challenge),
                };
                for (runs, is_bits, offset) in [(&part.bits, true, bits), (&part.full, false, full)]
                {
                    for run in runs {
                        for i in 0..run.len as usize {
                            let base = first + run.base as usize + i - map.input_bases;
                            let variable = (is_bits, offset + run.start as usize + i);
                            assert_eq!(met[base].replace(variable), None, "base {base} once");
                        }
                    }
                }
                bits += section.order.bits() as usize;
                full += section.order.full() as usize;
            }
            let expected: Vec<_> = naive(&template, density).into_iter().map(Some).collect();
            assert!(met == expected, "{query:?}");
        }
    }
}
