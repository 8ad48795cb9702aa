//! `prove`: Filecoin PoRep Commit-Phase-2 (C2) proofs.
//!
//! ```text
//! c1 file ─ c1/ ──> checked PoRep inputs, per partition
//!                     │
//!  reference/ (circuit, public inputs)      params/ (mapped file: vk, h, l, a, b_g1, b_g2)
//!                     │                        │
//!                  groth16/ prove, verify ──> 192 bytes x partitions ──> out.proof
//! ```

pub mod c1;
pub mod field;
pub mod params;
pub mod progress;
pub mod reference;
pub mod sample;
pub mod sector;
