//! Groth16 proofs from a trapdoor: valid, cheap, and worth nothing.
//!
//! Who knows alpha, beta, gamma, delta and the discrete logarithms k_i of the IC points can write a
//! proof of any statement x: with random a and b,
//!
//! ```text
//! A = a G1    B = b G2    C = (a b - alpha beta - gamma sum x_i k_i) / delta G1
//! ```
//!
//! satisfies `e(A, B) = e(alpha, beta) e(sum x_i IC_i, gamma) e(C, delta)`. So `prove verify` can
//! be tested for every kind of sector without parameters and without proving. Source: Groth 2016,
//! section 3.2, the simulator.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::{Curve, Group};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The secret behind a verifying key.
pub struct Trapdoor {
    alpha: Scalar,
    beta: Scalar,
    gamma: Scalar,
    delta: Scalar,
    /// Discrete logarithm of each IC point, that of ONE first.
    ic: Vec<Scalar>,
    rng: ChaCha8Rng,
}

impl Trapdoor {
    /// A trapdoor for a circuit with `inputs` public inputs, ONE included.
    pub fn new(seed: u64, inputs: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let [alpha, beta, gamma, delta] = std::array::from_fn(|_| Scalar::random(&mut rng));
        let ic = (0..inputs).map(|_| Scalar::random(&mut rng)).collect();
        Self { alpha, beta, gamma, delta, ic, rng }
    }

    /// The `.vk` file.
    pub fn verifying_key(&self) -> Vec<u8> {
        let mut file = vec![];
        file.extend(g1(self.alpha).to_uncompressed());
        file.extend(g1(self.beta).to_uncompressed());
        file.extend(g2(self.beta).to_uncompressed());
        file.extend(g2(self.gamma).to_uncompressed());
        file.extend(g1(self.delta).to_uncompressed());
        file.extend(g2(self.delta).to_uncompressed());
        file.extend((self.ic.len() as u32).to_be_bytes());
        file.extend(self.ic.iter().flat_map(|&k| g1(k).to_uncompressed()));
        file
    }

    /// 192 bytes for every partition; `inputs` are the partitions' public inputs without ONE.
    pub fn proof(&mut self, inputs: &[Vec<Scalar>]) -> Vec<u8> {
        inputs.iter().flat_map(|inputs| self.partition_proof(inputs)).collect()
    }

    fn partition_proof(&mut self, inputs: &[Scalar]) -> Vec<u8> {
        assert_eq!(inputs.len() + 1, self.ic.len());
        let (a, b) = (Scalar::random(&mut self.rng), Scalar::random(&mut self.rng));
        let statement: Scalar =
            self.ic[0] + self.ic[1..].iter().zip(inputs).map(|(k, x)| k * x).sum::<Scalar>();
        let inverse = self.delta.invert().expect("a random scalar is not zero");
        let c = (a * b - self.alpha * self.beta - self.gamma * statement) * inverse;
        [&g1(a).to_compressed()[..], &g2(b).to_compressed(), &g1(c).to_compressed()].concat()
    }
}

fn g1(scalar: Scalar) -> G1Affine {
    (G1Projective::generator() * scalar).to_affine()
}

fn g2(scalar: Scalar) -> G2Affine {
    (G2Projective::generator() * scalar).to_affine()
}
