//! Sums over the bases whose scalars are full field elements, at positions that are the same in
//! every partition: the bases are gathered and decoded once.

use super::bases::{Bases, BasesError};
use super::dense::Dense;
use super::engine::{Curve, Engine};
use super::plan::CHUNK;
use super::window::Window;
use crate::field::Fr;

/// A base and the position of its scalar in the partition's array of full scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailTerm {
    /// Index of the base in its array.
    pub base: u32,
    /// Index of the scalar in the partition's array.
    pub full: u32,
}

/// For every partition, `sum_t partitions[p][t.full] bases[t.base]`.
///
/// # Errors
/// When a base is no uncompressed point.
///
/// # Panics
/// When a term is outside the bases or a partition's scalars.
pub fn tail_sums<E: Engine>(
    engine: E,
    bases: Bases<'_, E::Curve>,
    terms: &[TailTerm],
    partitions: &[&[Fr]],
    window: Window,
) -> Result<Vec<<E::Curve as Curve>::Projective>, BasesError> {
    let bits = window.bits(terms.len());
    let mut sums: Vec<_> = partitions.iter().map(|_| Dense::new(engine, bits)).collect();
    for chunk in terms.chunks(CHUNK) {
        let indices: Vec<u32> = chunk.iter().map(|term| term.base).collect();
        let points = bases.decode_selected(engine, &indices)?;
        for (sum, scalars) in sums.iter_mut().zip(partitions) {
            let scalars: Vec<Fr> = chunk.iter().map(|term| scalars[term.full as usize]).collect();
            sum.add(&points, &scalars);
        }
    }
    Ok(sums.into_iter().map(Dense::finish).collect())
}
