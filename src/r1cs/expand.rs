//! Between the compact assignment and one element per variable, in the reference's order.

use blstrs::Scalar as Fr;
use ff::Field;
use thiserror::Error;

use super::order::Form;
use super::template::{Section, Template};
use crate::witness::{Layout, Witness};

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
    Assignment { inputs: witness.inputs().to_vec(), aux: values }
}

/// The private variables in order, one after the other.
pub(super) fn aux<'w>(
    template: &'w Template,
    witness: &'w Witness,
) -> impl Iterator<Item = Fr> + 'w {
    let (Witness { layout, words, .. }, full) = (witness, witness.full());
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

/// A variable that the template calls a bit is none.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("aux variable {aux} is a bit in the template, but neither 0 nor 1 in the assignment")]
pub struct NotABit {
    /// The variable's number.
    pub aux: usize,
}

/// The compact form of an assignment: the inverse of [`expand`].
///
/// # Errors
/// When a variable is no bit where the template says bit.
///
/// # Panics
/// When the assignment has not as many variables as the template.
pub fn compact(
    template: &Template,
    layout: Layout,
    assignment: Assignment,
) -> Result<Witness, NotABit> {
    let Assignment { inputs, aux } = assignment;
    assert_eq!(layout.size, template.size, "layout and template of one size");
    assert_eq!((inputs.len(), aux.len()), (template.inputs(), template.aux()), "variables");
    let mut words = vec![0; layout.words()];
    let mut scalars = inputs;
    scalars.resize(layout.scalars(), Fr::ZERO);
    let full = &mut scalars[layout.inputs()..];
    let mut first = 0;
    for challenge in std::iter::once(None).chain((0..layout.challenges).map(Some)) {
        let (section, word_base, full_base) = match challenge {
            None => (&template.prologue, 0, 0),
            Some(k) => (&template.challenge, layout.word_base(k), layout.full_base(k)),
        };
        for run in section.order.runs() {
            let values = &aux[first + run.aux as usize..][..run.len as usize];
            let start = run.start as usize;
            if run.form == Form::Full {
                full[full_base + start..][..values.len()].copy_from_slice(values);
                continue;
            }
            for (i, &value) in (start..).zip(values) {
                let bit = if value == Fr::ONE { 1 } else { 0 };
                if bit == 0 && value != Fr::ZERO {
                    return Err(NotABit { aux: first + run.aux as usize + i - start });
                }
                words[word_base + i / 64] |= bit << (i % 64);
            }
        }
        first += section.order.aux() as usize;
    }
    Ok(Witness { layout, words, scalars })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::r1cs::Matrices;
    use crate::sector::SectorSize;

    #[test]
    fn compact_undoes_expand_and_finds_what_is_no_bit() {
        let template = Template::record(SectorSize::KiB2, Matrices::Ab);
        let layout = Layout::new(SectorSize::KiB2);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut words: Vec<u64> = (0..layout.words()).map(|_| rng.r#gen()).collect();
        for (last, counts) in (0..=layout.challenges).map(|k| match k {
            0 => (layout.word_base(0) - 1, layout.prologue),
            k => (layout.word_base(k) - 1, layout.challenge),
        }) {
            // Padding is zero.
            words[last] &= u64::MAX >> (counts.words() * 64 - counts.bits);
        }
        let scalars = (0..layout.scalars()).map(|_| Fr::random(&mut rng)).collect();
        let witness = Witness { layout, words, scalars };
        let mut expanded = expand(&template, &witness);
        assert_eq!(compact(&template, layout, expanded.clone()), Ok(witness));
        let bits = template.prologue.order.runs().iter().find(|run| run.form == Form::Bit);
        let aux = bits.expect("the prologue has bits").aux as usize;
        expanded.aux[aux] = Fr::from(2);
        assert_eq!(compact(&template, layout, expanded), Err(NotABit { aux }));
    }
}
