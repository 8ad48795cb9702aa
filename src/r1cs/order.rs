//! The order in which bits and field elements were made: between the compact assignment, where
//! they lie apart, and the reference's aux variables, where they lie in one sequence.

/// Consecutive variables of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the first among the section's aux variables.
    pub aux: u32,
    /// Number of the first among the section's bits or field elements.
    pub start: u32,
    /// How many.
    pub len: u32,
    /// Whether they are bits.
    pub is_bits: bool,
}

/// A section's runs, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuxOrder {
    runs: Vec<Run>,
    bits: u32,
    full: u32,
}

impl AuxOrder {
    pub(super) fn push(&mut self, is_bits: bool, len: u32) {
        let aux = self.bits + self.full;
        let count = if is_bits { &mut self.bits } else { &mut self.full };
        match self.runs.last_mut() {
            Some(run) if run.is_bits == is_bits => run.len += len,
            _ => self.runs.push(Run { aux, start: *count, len, is_bits }),
        }
        *count += len;
    }

    /// The runs, in the order of their aux variables.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Bits of the section.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Field elements of the section.
    pub fn full(&self) -> u32 {
        self.full
    }

    /// Aux variables of the section.
    pub fn aux(&self) -> u32 {
        self.bits + self.full
    }

    /// The aux numbers of all bits, or of all field elements, in their order.
    pub fn aux_numbers(&self, of_bits: bool) -> Vec<u32> {
        let runs = self.runs.iter().filter(|run| run.is_bits == of_bits);
        runs.flat_map(|run| run.aux..run.aux + run.len).collect()
    }
}
