//! The order in which bits and field elements were made: between the compact assignment, where
//! they lie apart, and the reference's aux variables, where they lie in one sequence.

/// What the values of a variable are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 0 or 1.
    Bit,
    /// Any field element.
    Full,
}

/// Consecutive variables of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the first among the section's aux variables.
    pub aux: u32,
    /// Number of the first among the section's bits or field elements.
    pub start: u32,
    /// How many.
    pub len: u32,
    /// Their form.
    pub form: Form,
}

/// A section's runs, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuxOrder {
    runs: Vec<Run>,
    bits: u32,
    full: u32,
}

impl AuxOrder {
    pub(super) fn push(&mut self, form: Form, len: u32) {
        let aux = self.bits + self.full;
        let count = match form {
            Form::Bit => &mut self.bits,
            Form::Full => &mut self.full,
        };
        match self.runs.last_mut() {
            Some(run) if run.form == form => run.len += len,
            _ => self.runs.push(Run { aux, start: *count, len, form }),
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

    /// The aux numbers of all variables of a form, in their order.
    pub fn aux_numbers(&self, form: Form) -> Vec<u32> {
        let runs = self.runs.iter().filter(|run| run.form == form);
        runs.flat_map(|run| run.aux..run.aux + run.len).collect()
    }
}
