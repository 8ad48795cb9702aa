//! `prove`: Filecoin PoRep Commit-Phase-2 (C2) proofs.
//!
//! ```text
//! c1 file ─ c1/ ──> checked sector ──> witness/ ──> bits and field elements, per partition
//!                                         │
//!           circuit/ ─ r1cs/ (template) ──┤ rows a, b
//!                                         v
//!                     ntt/ ── groth16/quotient ──> h    params/ (mapped: vk, h, l, a, b_g1, b_g2)
//!                                         │                │
//!                               msm/ sums over the queries <┘
//!                                         │
//!                     groth16/ assemble, verify ──> 192 bytes x partitions ──> out.proof
//! ```
//!
//! Rows, transforms and sums run on the CPU (`r1cs/`, `ntt/`, `msm/`) or on a GPU (`gpu/`); the
//! prover around them, `groth16/`, is the same.
//!
//! `reference/` wraps `storage-proofs-porep`: public inputs, and the oracle of our circuit.
//! `sample/` makes sectors without sealing, `bench/` compares variants.
//!
//! Around it: `cli` and `settings` say what is wanted, `commands` does it, `progress`, `monitor`,
//! `report` and `trace` tell about it, `output`, `temporary`, `stop` and `bus` keep files whole,
//! `memory` and `device` refuse what cannot work, `exit` gives every failure its code.

pub mod bench;
pub mod build;
pub mod bus;
pub mod c1;
pub mod circuit;
pub mod cli;
pub mod commands;
pub mod device;
pub mod exit;
pub mod field;
pub mod gpu;
pub mod groth16;
pub mod limbs;
pub mod memory;
pub mod monitor;
pub mod msm;
pub mod ntt;
pub mod output;
pub mod pages;
pub mod params;
pub mod progress;
pub mod r1cs;
pub mod reference;
pub mod report;
pub mod sample;
pub mod sector;
pub mod settings;
pub mod stop;
pub mod sys;
pub mod temporary;
pub mod threads;
pub mod trace;
pub mod variant;
pub mod witness;
