//! The secret of a setup. Whoever knows it can prove anything, so these sets are insecure.

use std::fmt;

use blstrs::Scalar as Fr;
use ff::Field;
use rand::rngs::OsRng;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// alpha, beta, gamma, delta and tau of Groth16 (2016/260, section 3.2), none of them zero.
#[derive(Clone, PartialEq, Eq)]
pub struct Trapdoor {
    /// Shifts A.
    pub alpha: Fr,
    /// Shifts B.
    pub beta: Fr,
    /// Separates the public inputs.
    pub gamma: Fr,
    /// Separates the private variables.
    pub delta: Fr,
    /// Where the polynomials are evaluated.
    pub tau: Fr,
}

impl Trapdoor {
    /// A trapdoor from the operating system's randomness.
    pub fn random() -> Self {
        Self::draw(&mut OsRng)
    }

    /// The trapdoor that ChaCha20 gives for `seed`: always the same.
    pub fn from_seed(seed: u64) -> Self {
        Self::draw(&mut ChaCha20Rng::seed_from_u64(seed))
    }

    fn draw(rng: &mut impl RngCore) -> Self {
        let mut scalar = || {
            loop {
                let value = Fr::random(&mut *rng);
                if value != Fr::ZERO {
                    return value;
                }
            }
        };
        Self { alpha: scalar(), beta: scalar(), gamma: scalar(), delta: scalar(), tau: scalar() }
    }
}

impl fmt::Debug for Trapdoor {
    /// Shows no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trapdoor(..)")
    }
}
