//! What the test binaries share: the real binary, its inputs, and upstream's opinion.
#![allow(dead_code, reason = "every test binary uses another part")]

pub mod binary;
pub mod draft;
pub mod files;
pub mod insecure;
pub mod oracle;
pub mod prover;
pub mod sealer;
pub mod shapes;
pub mod simulator;
pub mod upstream;
pub mod verifier;
