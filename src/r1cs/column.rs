//! Columns of the template: which part of the assignment a variable lies in, and where.

use crate::circuit::Variable;

/// The parts of an assignment that a template row can point into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// A public input of the prologue; number 0 is ONE.
    PrologueInput = 0,
    /// A bit of the prologue.
    PrologueBit = 1,
    /// A field element of the prologue.
    PrologueFull = 2,
    /// A public input of the challenge at hand.
    Input = 3,
    /// A bit of the challenge at hand.
    Bit = 4,
    /// A field element of the challenge at hand.
    Full = 5,
}

/// A [`Kind`] in the top 3 bits and an index into that part in the low 29.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column(u32);

impl Column {
    /// The constant input 1.
    pub const ONE: Self = Self::new(Kind::PrologueInput, 0);
    /// Where the kind starts.
    pub const KIND_SHIFT: u32 = 29;
    const INDEX_MASK: u32 = (1 << Self::KIND_SHIFT) - 1;

    /// The column of `kind` at `index`.
    ///
    /// # Panics
    /// When `index` does not fit 29 bits.
    pub const fn new(kind: Kind, index: u32) -> Self {
        assert!(index <= Self::INDEX_MASK);
        Self((kind as u32) << Self::KIND_SHIFT | index)
    }

    /// Which part of the assignment.
    pub const fn kind(self) -> Kind {
        match self.0 >> Self::KIND_SHIFT {
            0 => Kind::PrologueInput,
            1 => Kind::PrologueBit,
            2 => Kind::PrologueFull,
            3 => Kind::Input,
            4 => Kind::Bit,
            _ => Kind::Full,
        }
    }

    /// Where in that part.
    pub const fn index(self) -> u32 {
        self.0 & Self::INDEX_MASK
    }

    /// The packed form, as kernels read it.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl Variable for Column {
    #[inline]
    fn nth(self, offset: usize) -> Self {
        Self(self.0 + offset as u32)
    }
}
