//! A comparison as text for a terminal.

use std::fmt::{self, Write};

use super::{ArmSamples, Comparison, LIMITS_DEVICE, Rate, Sample, Summary};

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.arms.iter().map(|arm| arm.label.len()).max().unwrap_or(0).max(3);
        writeln!(
            f,
            "{:width$}  {:>10} {:>10} {:>10}  {:>20}  {:>12}  {:>9}  {:>11} {:>7}",
            "arm",
            "median ms",
            "min",
            "max",
            "ratio (min-max)",
            self.rate_title(),
            "peak MiB",
            "minor flt",
            "major"
        )?;
        for arm in &self.arms {
            writeln!(f, "{}", self.row(arm, width)?)?;
        }
        if !self.subject.effective.is_empty() {
            writeln!(f, "effective rates, beside the limits measured on {LIMITS_DEVICE}:")?;
            for arm in &self.arms {
                let rates: Vec<String> = self.rates(arm).iter().map(Rate::to_string).collect();
                writeln!(f, "{:width$}  {}", arm.label, rates.join(", "))?;
            }
        }
        match (&self.counters_missing, self.counter_rows(width)?) {
            (Some(reason), _) => writeln!(f, "no hardware counters: {reason}"),
            (None, rows) => f.write_str(&rows),
        }
    }
}

impl fmt::Display for Rate {
    /// In 10^9 a second, as a part of the limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, per_second, limit_per_second } = self;
        let percent = 100.0 * per_second / limit_per_second;
        let (rate, limit) = (per_second / 1e9, limit_per_second / 1e9);
        write!(f, "{rate:.2} of {limit:.2} G {what}/s ({percent:.0} %)")
    }
}

impl Comparison {
    fn rate_title(&self) -> String {
        format!("M{}/s", self.subject.unit)
    }

    fn row(&self, arm: &ArmSamples, width: usize) -> Result<String, fmt::Error> {
        let time = Summary::of(&arm.times_ms());
        let ratio = Summary::of(&arm.ratios(&self.arms[0]));
        let median = |value: fn(&Sample) -> f64| {
            Summary::of(&arm.samples.iter().map(value).collect::<Vec<_>>()).median
        };
        let mut row = String::new();
        write!(
            row,
            "{:width$}  {:>10.1} {:>10.1} {:>10.1}  {:>20}  {:>12.2}  {:>9.0}  {:>11.0} {:>7.0}",
            arm.label,
            time.median,
            time.min,
            time.max,
            format!("{:.3} ({:.3}-{:.3})", ratio.median, ratio.min, ratio.max),
            median(Sample::rate) / 1e6,
            median(|sample| sample.peak_rss_bytes as f64) / f64::from(1 << 20),
            median(|sample| sample.minor_faults as f64),
            median(|sample| sample.major_faults as f64),
        )?;
        Ok(row)
    }

    /// Medians of the hardware counters, in millions.
    fn counter_rows(&self, width: usize) -> Result<String, fmt::Error> {
        let mut rows = String::new();
        writeln!(
            rows,
            "{:width$}  {:>12} {:>12} {:>12} {:>12}  {:>5}",
            "arm", "Mcycles", "Minstr", "Mcache miss", "Mbranch miss", "ipc"
        )?;
        for arm in &self.arms {
            let counts: Vec<_> = arm.samples.iter().filter_map(|sample| sample.counts).collect();
            let median = |value: fn(&super::counters::Counts) -> u64| {
                let values: Vec<f64> = counts.iter().map(|counts| value(counts) as f64).collect();
                Summary::of(&values).median
            };
            let (cycles, instructions) =
                (median(|counts| counts.cycles), median(|counts| counts.instructions));
            writeln!(
                rows,
                "{:width$}  {:>12.1} {:>12.1} {:>12.2} {:>12.2}  {:>5.2}",
                arm.label,
                cycles / 1e6,
                instructions / 1e6,
                median(|counts| counts.cache_misses) / 1e6,
                median(|counts| counts.branch_misses) / 1e6,
                instructions / cycles.max(1.0),
            )?;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::subject;
    use super::super::{Effective, Work};
    use super::*;

    #[test]
    fn a_row_has_times_ratio_rate_and_faults() {
        let sample = |ms| Sample {
            wall_ms: ms,
            cpu_ms: ms,
            peak_rss_bytes: 5 << 20,
            minor_faults: 7,
            major_faults: 1,
            counts: None,
            work: Work { items: 1_000_000, ms: None },
        };
        let arm = |label: &str, ms| ArmSamples {
            label: label.into(),
            names: BTreeMap::new(),
            samples: vec![sample(ms)],
        };
        let comparison = Comparison {
            subject: subject("rows", "rows"),
            arms: vec![arm("lc=vec", 100.0), arm("lc=smallvec1", 150.0)],
            counters_missing: Some("not supported".into()),
        };
        let text = comparison.to_string();
        let words: Vec<_> = text.lines().nth(2).expect("second arm").split_whitespace().collect();
        assert_eq!(
            words,
            [
                "lc=smallvec1",
                "150.0",
                "150.0",
                "150.0",
                "1.500",
                "(1.500-1.500)",
                "6.67",
                "5",
                "7",
                "1"
            ]
        );
        assert!(text.ends_with("no hardware counters: not supported\n"));
        assert!(!text.contains("effective"));
        let effective = Effective { what: "products", count: 5e8, limit_per_second: 1e10 };
        let subject = comparison.subject.with_effective(vec![effective]);
        let comparison = Comparison { subject, ..comparison };
        let text = comparison.to_string();
        assert!(text.contains("\nlc=vec        5.00 of 10.00 G products/s (50 %)\n"), "{text}");
        let json = comparison.to_json();
        assert_eq!(json["arms"][0]["effective"][0]["per_second"], 5e9);
    }
}
