//! The fast transforms: two passes of cache-sized sub-transforms over all threads.
//!
//! The inverse's 1 / n, the coset's powers and a constant that the caller wants in are folded
//! into the twist between the passes and the first pass's twiddles; only the inverse from the
//! coset multiplies its outputs once more. Values between the passes are below 2^256, not
//! canonical; results are. Results lie transposed (see [`Order`]), which the next transform takes
//! as it is.

use ff::Field;

use super::lanes::{Lanes, Portable};
use super::pass::{Network, Pass, Twist, powers};
use super::{COSET_SHIFT, Coeffs, CosetEvals, Evals, LOG_N_MAX, Order, log_of, naive, omega};
use crate::field::{Fr, Ifma};
use crate::msm::Arithmetic;
use crate::pages::{Pool, filled};

/// Below this log_n a pass would have fewer than eight sub-transforms.
const LOG_N_MIN: u32 = 6;

/// The transforms of one domain.
pub struct Domain {
    arithmetic: Arithmetic,
    log_n: u32,
    /// The array that a pass writes while it reads the other, kept for the next transform.
    spare: Pool<Vec<Fr>, fn() -> Vec<Fr>>,
}

/// The numbers that tell one transform from another.
struct Spec {
    /// Of order n: omega, or its inverse.
    root: Fr,
    /// Input i is multiplied by `input_ratio^i`.
    input_ratio: Fr,
    /// Output i is multiplied by `output_ratio^i`.
    output_ratio: Fr,
    /// All outputs are multiplied by this.
    scale: Fr,
}

impl Domain {
    /// The domain of 2^log_n points.
    ///
    /// # Panics
    /// When `log_n` exceeds [`LOG_N_MAX`].
    pub fn new(arithmetic: Arithmetic, log_n: u32) -> Self {
        assert!(log_n <= LOG_N_MAX, "a domain of at most 2^{LOG_N_MAX} points");
        Self { arithmetic, log_n, spare: Pool::new(Vec::new) }
    }

    /// log2 of the number of points.
    pub const fn log_n(&self) -> u32 {
        self.log_n
    }

    /// Points of the domain.
    pub const fn len(&self) -> usize {
        1 << self.log_n
    }

    /// Never: a domain has a point at least.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// `scale` times the coefficients of the polynomial with these values.
    ///
    /// # Panics
    /// When there are not as many values as points.
    pub fn intt(&self, evals: Evals, scale: Fr) -> Coeffs {
        let spec = Spec { scale: scale * self.n_inverse(), ..Spec::new(self.inverse_root()) };
        let (values, order) = self.transform(evals.0, Order::Natural, &spec, |values| {
            naive::intt(Evals(values)).into_natural().iter().map(|c| c * scale).collect()
        });
        Coeffs { values, order }
    }

    /// The values on the coset.
    ///
    /// # Panics
    /// When there are not as many coefficients as points.
    pub fn coset_ntt(&self, coeffs: Coeffs) -> CosetEvals {
        let spec = Spec { input_ratio: Fr::from(COSET_SHIFT), ..Spec::new(omega(self.log_n)) };
        let (values, order) = self.transform(coeffs.values, coeffs.order, &spec, |values| {
            naive::coset_ntt(Coeffs::from_natural(values)).into_natural()
        });
        CosetEvals { values, order }
    }

    /// `scale` times the coefficients of the polynomial with these values on the coset.
    ///
    /// # Panics
    /// When there are not as many values as points.
    pub fn coset_intt(&self, evals: CosetEvals, scale: Fr) -> Coeffs {
        let shift = Fr::from(COSET_SHIFT).invert().expect("7 is not zero");
        let scale_n = scale * self.n_inverse();
        let root = self.inverse_root();
        let spec = Spec { output_ratio: shift, scale: scale_n, ..Spec::new(root) };
        let (values, order) = self.transform(evals.values, evals.order, &spec, |values| {
            let coeffs = naive::coset_intt(CosetEvals::from_natural(values));
            coeffs.into_natural().iter().map(|c| c * scale).collect()
        });
        Coeffs { values, order }
    }

    fn n_inverse(&self) -> Fr {
        Fr::from(self.len() as u64).invert().expect("n is below r")
    }

    fn inverse_root(&self) -> Fr {
        omega(self.log_n).invert().expect("a root of unity is not zero")
    }

    /// Runs `spec` on values in `order`, or `small` on a domain that is too small for passes.
    fn transform(
        &self,
        values: Vec<Fr>,
        order: Order,
        spec: &Spec,
        small: impl FnOnce(Vec<Fr>) -> Vec<Fr>,
    ) -> (Vec<Fr>, Order) {
        assert_eq!(log_of(values.len()), self.log_n, "as many values as points");
        if self.log_n < LOG_N_MIN {
            return (small(super::into_natural(values, order)), Order::Natural);
        }
        self.spare.with(|spare| {
            if spare.len() != values.len() {
                *spare = filled(Fr::ZERO, values.len());
            }
            match self.arithmetic {
                Arithmetic::Portable => two_passes(Portable, values, spare, order, spec),
                #[cfg(target_arch = "x86_64")]
                Arithmetic::Vector(ifma) => two_passes::<Ifma>(ifma, values, spare, order, spec),
                #[cfg(not(target_arch = "x86_64"))]
                Arithmetic::Vector(never) => match never {},
            }
        })
    }
}

impl Spec {
    fn new(root: Fr) -> Self {
        Self { root, input_ratio: Fr::ONE, output_ratio: Fr::ONE, scale: Fr::ONE }
    }
}

/// The transform in two passes. With input index `2^log_low high + low` the first pass runs over
/// `high`, the second over `low`; the output's index is `k1 + 2^log_high k2`. `spare` is as long
/// as `values`; what it holds does not matter.
fn two_passes<L: Lanes>(
    lanes: L,
    mut values: Vec<Fr>,
    spare: &mut Vec<Fr>,
    order: Order,
    spec: &Spec,
) -> (Vec<Fr>, Order) {
    let log_n = log_of(values.len());
    let log_low = match order {
        Order::Natural => log_n / 2,
        Order::Transposed { log_low } => log_low,
    };
    let log_high = log_n - log_low;
    let (lows, highs) = (1usize << log_low, 1usize << log_high);
    let first = Pass {
        lanes,
        network: Network::new(
            lanes,
            log_high,
            spec.root.pow_vartime([lows as u64]),
            spec.input_ratio.pow_vartime([lows as u64]),
        ),
        twist: Twist::Geometric {
            start: factors(lanes, powers(spec.scale, spec.input_ratio, lows)),
            step: factors(lanes, powers(spec.output_ratio, spec.root, lows)),
        },
    };
    let root = spec.root.pow_vartime([highs as u64]);
    let output_ratio = spec.output_ratio.pow_vartime([highs as u64]);
    let second = Pass {
        lanes,
        network: Network::new(lanes, log_low, root, Fr::ONE),
        twist: if output_ratio == Fr::ONE {
            Twist::None
        } else {
            Twist::Common(factors(lanes, powers(Fr::ONE, output_ratio, lows)))
        },
    };
    match order {
        Order::Natural => {
            first.columns(&values, lows, spare);
            second.columns(spare, highs, &mut values);
        }
        Order::Transposed { .. } => {
            first.rows(&mut values);
            second.columns(&values, highs, spare);
            std::mem::swap(&mut values, spare);
        }
    }
    (values, Order::Transposed { log_low: log_high })
}

fn factors<L: Lanes>(lanes: L, values: Vec<Fr>) -> Vec<L::Factor> {
    values.into_iter().map(|value| lanes.factor(value)).collect()
}
