//! From the compact assignment to one element per variable, in the reference's order.

use blstrs::Scalar as Fr;
use ff::Field;

use super::order::Form;
use super::template::{Section, Template};
use crate::witness::Witness;

/// An assignment as bellperson holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Public inputs, ONE first.
    pub inputs: Vec<Fr>,
    /// Private variables: 4.2 GB at 32 GiB.
    pub aux: Vec<Fr>,
}

/// Expands a partition's assignment.
///
/// # Panics
/// When `witness` belongs to another sector size than `template`.
pub fn expand(template: &Template, witness: &Witness) -> Assignment {
    let mut values = Vec::with_capacity(template.aux());
    values.extend(aux(template, witness));
    Assignment { inputs: witness.inputs.clone(), aux: values }
}

/// The private variables in order, one after the other.
pub(super) fn aux<'w>(
    template: &'w Template,
    witness: &'w Witness,
) -> impl Iterator<Item = Fr> + 'w {
    let Witness { layout, words, full, .. } = witness;
    assert_eq!(layout.size, template.size, "witness and template of one size");
    let challenges = (0..layout.challenges).flat_map(|challenge| {
        let words = &words[layout.word_base(challenge)..];
        section_aux(&template.challenge, words, &full[layout.full_base(challenge)..])
    });
    section_aux(&template.prologue, words, full).chain(challenges)
}

fn section_aux<'w>(
    section: &'w Section,
    words: &'w [u64],
    full: &'w [Fr],
) -> impl Iterator<Item = Fr> + 'w {
    section.order.runs().iter().flat_map(move |run| {
        let range = run.start as usize..(run.start + run.len) as usize;
        range.map(move |i| match run.form {
            Form::Bit => [Fr::ZERO, Fr::ONE][(words[i / 64] >> (i % 64) & 1) as usize],
            Form::Full => full[i],
        })
    })
}
