//! What the generator is multiplied by, from the column sums and the trapdoor.

use std::ops::Range;

use blstrs::Scalar as Fr;
use ff::Field;
use rayon::prelude::*;

use super::SetupError;
use super::columns::Sums;
use super::trapdoor::Trapdoor;

/// The scalars of some variables, none of them zero.
#[derive(Debug)]
pub struct Scalars {
    /// (beta A_i + alpha B_i + C_i) / gamma for inputs, / delta for aux variables: all of them.
    pub combined: Vec<Fr>,
    /// A_i, without the zeros.
    pub a: Vec<Fr>,
    /// B_i, without the zeros.
    pub b: Vec<Fr>,
}

/// Combines column sums by one part of the trapdoor.
#[derive(Clone, Copy)]
pub struct Combination {
    alpha: Fr,
    beta: Fr,
    scale: Fr,
}

impl Combination {
    /// That of the public inputs.
    pub fn of_inputs(trapdoor: &Trapdoor) -> Self {
        Self::by(trapdoor, &trapdoor.gamma)
    }

    /// That of the aux variables.
    pub fn of_aux(trapdoor: &Trapdoor) -> Self {
        Self::by(trapdoor, &trapdoor.delta)
    }

    fn by(trapdoor: &Trapdoor, divisor: &Fr) -> Self {
        Self { alpha: trapdoor.alpha, beta: trapdoor.beta, scale: invert(divisor) }
    }

    /// (beta a + alpha b + c) / gamma, or / delta.
    pub fn combine(&self, a: &Fr, b: &Fr, c: &Fr) -> Fr {
        (self.beta * a + self.alpha * b + c) * self.scale
    }

    /// The scalars of variables whose first has the number `first`, inputs counted before aux.
    ///
    /// # Errors
    /// [`SetupError::Unconstrained`] for the first variable whose combination is zero.
    pub fn scalars(&self, sums: Sums, first: usize) -> Result<Scalars, SetupError> {
        let Sums { mut a, mut b, c: mut combined } = sums;
        combined
            .par_iter_mut()
            .zip(&a)
            .zip(&b)
            .for_each(|((sum, a), b)| *sum = self.combine(a, b, sum));
        if let Some(index) = combined.par_iter().position_first(|sum| *sum == Fr::ZERO) {
            return Err(SetupError::Unconstrained { variable: first + index });
        }
        for sums in [&mut a, &mut b] {
            sums.retain(|sum| *sum != Fr::ZERO);
            sums.shrink_to_fit();
        }
        Ok(Scalars { combined, a, b })
    }
}

/// The scalars of `h`: tau^i t(tau) / delta.
#[derive(Clone, Copy)]
pub struct Powers {
    tau: Fr,
    scale: Fr,
}

impl Powers {
    /// Those of a domain of `n` elements.
    pub fn new(trapdoor: &Trapdoor, n: u64) -> Self {
        let tau = trapdoor.tau;
        let z = tau.pow_vartime([n]) - Fr::ONE;
        Self { tau, scale: z * invert(&trapdoor.delta) }
    }

    /// Those of i in `range`.
    pub fn of(&self, range: Range<u64>) -> impl Iterator<Item = Fr> + use<> {
        let tau = self.tau;
        let first = tau.pow_vartime([range.start]) * self.scale;
        let count = (range.end - range.start) as usize;
        std::iter::successors(Some(first), move |power| Some(*power * tau)).take(count)
    }
}

/// The inverse of a part of the trapdoor.
fn invert(value: &Fr) -> Fr {
    Option::from(value.invert()).expect("no part of a trapdoor is zero")
}
