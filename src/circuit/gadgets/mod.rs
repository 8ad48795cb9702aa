//! The parts that the circuit is made of, smallest first.

pub mod bits;
pub mod insert;
pub mod label;
pub mod merkle;
pub mod poseidon;
pub mod sha256;
pub mod sum;
#[cfg(test)]
mod values;
pub mod word;
