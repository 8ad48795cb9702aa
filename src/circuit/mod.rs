//! The PoRep circuit: one description, several interpretations.
//!
//! In: the values that a sector's proofs open ([`Commitments`], [`Opening`]). Out: whatever the
//! [`Interpretation`] makes of the variables and rows it is handed: the template of the matrices
//! (`r1cs::Recorder`), the compact assignment (`witness`), or row-by-row evaluation
//! ([`classic`]).
//!
//! The description is ours, the circuit is not: variables and rows come in the order, and with
//! the coefficients, of `storage-proofs-porep` 19.1 `StackedCircuit`, because the production
//! parameter files belong to that circuit. Two facts make word-level code possible. Variables
//! and rows are two separate sequences, so a word's variables may be made at once before its
//! rows. And what the reference allocates depends on which bits are constant, never on values.

pub mod classic;
pub mod gadgets;
pub mod linear;
mod opening;
mod porep;

pub use opening::{ColumnOpening, Commitments, Level, Opening, OpeningError, PathOpening};
pub use porep::{Porep, Shared};

use std::fmt;

use blstrs::Scalar as Fr;
use ff::Field;

/// Handle of a variable. Variables made together have consecutive handles.
pub trait Variable: Copy {
    /// The variable made `offset` after this one in the same call.
    fn nth(self, offset: usize) -> Self;
}

/// No handle: for interpretations that only want values.
impl Variable for () {
    #[inline]
    fn nth(self, _: usize) {}
}

/// A coefficient's place in the interpretation's coefficient table.
///
/// The first places are fixed: 2^k at k, -2^k at 255 + k, for k below 255 (the bits of a field
/// element). [`Interpretation::coefficient`] numbers any other from [`Coefficient::FIXED`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Coefficient(pub u16);

impl Coefficient {
    /// 1.
    pub const ONE: Self = Self(0);
    /// 2.
    pub const TWO: Self = Self(1);
    /// -1.
    pub const MINUS_ONE: Self = Self(Self::BITS as u16);
    /// Places taken by plus and minus the powers of two.
    pub const FIXED: usize = 2 * Self::BITS;
    const BITS: usize = 255;

    /// 2^exponent.
    ///
    /// # Panics
    /// When `exponent` is not below 255.
    pub const fn power(exponent: usize) -> Self {
        assert!(exponent < Self::BITS);
        Self(exponent as u16)
    }

    /// This coefficient, plus or minus a power of two, times 2^`shift`.
    ///
    /// # Panics
    /// When it is no such coefficient, or the product's exponent is not below 255.
    #[must_use]
    pub const fn shifted(self, shift: usize) -> Self {
        let place = self.0 as usize;
        assert!(place < Self::FIXED && place % Self::BITS + shift < Self::BITS);
        Self((place + shift) as u16)
    }

    /// -2^exponent.
    ///
    /// # Panics
    /// When `exponent` is not below 255.
    pub const fn minus_power(exponent: usize) -> Self {
        assert!(exponent < Self::BITS);
        Self((Self::BITS + exponent) as u16)
    }

    /// The values of the fixed places, in order.
    pub fn fixed_values() -> Vec<Fr> {
        let powers: Vec<Fr> =
            std::iter::successors(Some(Fr::ONE), |power| Some(power.double())).take(255).collect();
        powers.iter().copied().chain(powers.iter().map(|power| -power)).collect()
    }
}

/// One entry of a row: a variable and its coefficient.
pub type Term<V> = (V, Coefficient);

/// What becomes of the circuit's variables and rows.
pub trait Interpretation {
    /// How gadgets name a variable.
    type Var: Variable;
    /// A row under construction whose two sides are sums of many parts.
    type Packed: Default;

    /// Whether rows matter now; gadgets skip the work of building them otherwise. It changes at
    /// [`Interpretation::between_rows`] only.
    fn wants_rows(&self) -> bool;
    /// Before each block of SHA-256: no row is under construction here, and what later rows use
    /// are variables as they were made, no words that a gadget derived for rows alone.
    fn between_rows(&mut self) {}
    /// The constant input 1.
    fn one(&self) -> Self::Var;
    /// Makes `count` bit variables, the low bits of `values`, lowest first; returns the first.
    fn bits(&mut self, values: u64, count: usize) -> Self::Var;
    /// Makes one variable per element of `values`, each any field element; returns the first.
    fn full(&mut self, values: &[Fr]) -> Self::Var;
    /// Makes a public input.
    fn input(&mut self, public: Public, value: Fr) -> Self::Var;
    /// The place of `value` in the coefficient table, added when it is new.
    fn coefficient(&mut self, value: Fr) -> Coefficient;
    /// Adds the row a · b = c. No variable occurs twice in a, in b or in c.
    fn row(&mut self, a: &[Term<Self::Var>], b: &[Term<Self::Var>], c: &[Term<Self::Var>]);
    /// Adds operands = results, both times 2^`shift`, to a row under construction. Coefficients
    /// are plus and minus powers of two. A variable may occur several times in a row's operands.
    fn pack(
        &mut self,
        packed: &mut Self::Packed,
        shift: usize,
        operands: &[Term<Self::Var>],
        results: &[Term<Self::Var>],
    );
    /// Adds the row operands · 1 = results of all that was packed.
    fn packed_row(&mut self, packed: Self::Packed);
    /// Hears of two values that the rows force to be equal.
    fn equal(&mut self, equality: Equality, left: Fr, right: Fr);
}

/// A field element with its variable.
#[derive(Clone, Copy, Debug)]
pub struct Num<V> {
    /// Its value; zero where the interpretation was given a blank opening.
    pub value: Fr,
    /// Its variable.
    pub var: V,
}

impl<V: Variable> Num<V> {
    /// Makes a variable for `value` (`AllocatedNum::alloc`).
    pub fn new<I: Interpretation<Var = V>>(cs: &mut I, value: Fr) -> Self {
        Self { value, var: cs.full(&[value]) }
    }

    /// Exposes the number: the row input · 1 = number (`AllocatedNum::inputize`).
    pub fn expose<I: Interpretation<Var = V>>(&self, cs: &mut I, public: Public) {
        let input = cs.input(public, self.value);
        if cs.wants_rows() {
            let one = (cs.one(), Coefficient::ONE);
            cs.row(&[(input, Coefficient::ONE)], &[one], &[(self.var, Coefficient::ONE)]);
        }
    }

    /// The row self · 1 = other (`storage-proofs-core` `gadgets/constraint.rs`, `equal`).
    pub fn enforce_equal<I: Interpretation<Var = V>>(
        &self,
        cs: &mut I,
        equality: Equality,
        other: &Self,
    ) {
        cs.equal(equality, self.value, other.value);
        if cs.wants_rows() {
            let one = (cs.one(), Coefficient::ONE);
            cs.row(&[(self.var, Coefficient::ONE)], &[one], &[(other.var, Coefficient::ONE)]);
        }
    }
}

/// One of a challenge's 17 Merkle paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// The challenged leaf in the data tree (`comm_d`).
    Data,
    /// A DRG parent's column in the column tree (`comm_c`).
    DrgParent(usize),
    /// An expander parent's column in the column tree (`comm_c`).
    ExpParent(usize),
    /// The encoded leaf in the replica tree (`comm_r_last`).
    Replica,
    /// The challenged node's column in the column tree (`comm_c`).
    Column,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("comm_d path"),
            Self::DrgParent(parent) => write!(f, "path of drg parent {parent}"),
            Self::ExpParent(parent) => write!(f, "path of expander parent {parent}"),
            Self::Replica => f.write_str("comm_r_last path"),
            Self::Column => f.write_str("path of the challenged column"),
        }
    }
}

/// What a public input says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Public {
    /// The replica id.
    ReplicaId,
    /// The data commitment.
    CommD,
    /// The replica commitment.
    CommR,
    /// The leaf's number, packed from a path's position bits.
    PathIndex(Path),
    /// The challenged node's number.
    Challenge,
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplicaId => f.write_str("replica_id"),
            Self::CommD => f.write_str("comm_d"),
            Self::CommR => f.write_str("comm_r"),
            Self::PathIndex(path) => write!(f, "leaf index of the {path}"),
            Self::Challenge => f.write_str("challenged node"),
        }
    }
}

/// An equality that the circuit enforces between values that its prover brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// comm_r = H(comm_c, comm_r_last).
    CommR,
    /// The root that a path hashes to is the tree's commitment.
    Root(Path),
}

impl fmt::Display for Equality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommR => f.write_str("comm_r = H(comm_c, comm_r_last)"),
            Self::Root(path) => write!(f, "root of the {path}"),
        }
    }
}
