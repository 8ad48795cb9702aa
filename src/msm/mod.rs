//! Multi-scalar sums over the points of the parameter file.
//!
//! Comes in: points as they lie in the mapped file ([`Bases`]), scalars. Goes out: Jacobian
//! points. Three kinds of sum make a proof: [`dense::dense_sum`] (h and H), [`bits::bit_sums`] and
//! [`tail::tail_sums`] (the witness and L, A, B). Each has a slow version in [`naive`].
//!
//! The engine is chosen once, by [`Arithmetic::detect`]: AVX-512 IFMA where the processor has it,
//! else blst.

mod arithmetic;
pub mod bases;
pub mod bits;
pub mod dense;
pub mod engine;
pub mod naive;
pub mod plan;
pub mod portable;
pub mod tail;
pub mod tree;
#[cfg(target_arch = "x86_64")]
pub mod vector;
#[cfg(target_arch = "x86_64")]
pub mod vector_field;
pub mod window;

pub use arithmetic::{Arithmetic, Group, Job};
pub use bases::{Bases, BasesError};
pub use bits::BitRun;
pub use portable::{G1, G2};
pub use tail::TailTerm;
pub use window::{Window, WindowBits};

#[cfg(test)]
mod tests;
