//! The circuit's matrices: a template of one prologue and one challenge.
//!
//! In: the circuit, recorded by the shape interpretation. Out: [`Template`], its densities, the
//! rows of a whole partition over the reference's variables ([`Rows`]).

mod column;
mod density;
mod evaluate;
mod expand;
mod matrix;
mod order;
mod query;
mod recorder;
mod replay;
mod rows;
mod template;

pub use column::{Column, Kind};
pub use density::{BitSet, Density};
pub use evaluate::Evaluator;
pub use expand::{Assignment, NotABit, compact, expand};
pub use matrix::{Matrix, Piece};
pub use order::{AuxOrder, Form, Run};
pub use query::{Query, QueryMap, QueryPart, QueryRun};
pub use replay::Replay;
pub use rows::{Entries, Rows};

pub use crate::circuit::linear::Index;
pub use template::{Matrices, Section, Template};
