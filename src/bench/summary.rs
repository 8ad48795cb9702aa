//! Median, minimum and maximum of a few samples.

use serde::Serialize;

/// What a handful of samples says; all zeros for no samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The middle sample; the mean of the two middle ones for an even count.
    pub median: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
}

impl Summary {
    /// Summarises `samples`.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Self { median: (sorted[lower] + sorted[upper]) / 2.0, min, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_even_and_empty() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]), Summary { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Summary::of(&[4.0, 1.0]), Summary { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
