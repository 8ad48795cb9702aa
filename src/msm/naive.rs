//! The plain versions that the others are held to.

use group::Group;

use super::bits::BitRun;
use super::engine::Curve;
use super::tail::TailTerm;
use crate::field::Fr;

/// `sum_i scalars[i] bases[i]`, one scalar multiplication a term.
pub fn dense_sum<C: Curve>(bases: &[C::Affine], scalars: &[Fr]) -> C::Projective {
    assert_eq!(bases.len(), scalars.len(), "as many scalars as bases");
    let terms = bases.iter().zip(scalars);
    terms.fold(C::Projective::identity(), |sum, (&base, scalar)| {
        sum + C::Projective::from(base) * scalar
    })
}

/// The sum of the bases whose bit is set, for one partition.
pub fn bit_sum<C: Curve>(bases: &[C::Affine], runs: &[BitRun], bits: &[u64]) -> C::Projective {
    let mut sum = C::Projective::identity();
    for run in runs {
        for offset in 0..run.len {
            let bit = run.bit_start + offset;
            if bits[bit / 64] >> (bit % 64) & 1 == 1 {
                sum += &bases[run.base_start + offset];
            }
        }
    }
    sum
}

/// `sum_t scalars[t.full] bases[t.base]`, for one partition.
pub fn tail_sum<C: Curve>(
    bases: &[C::Affine],
    terms: &[TailTerm],
    scalars: &[Fr],
) -> C::Projective {
    terms.iter().fold(C::Projective::identity(), |sum, term| {
        sum + C::Projective::from(bases[term.base as usize]) * scalars[term.full as usize]
    })
}
