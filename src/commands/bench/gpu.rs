//! Measurements on a GPU: timed by its events, results checked, rates beside the limits of the
//! card that they were measured on.

use anyhow::Result;
use blstrs::{Fp, Scalar as Fr};

use super::{Bench, planned_streamed};
use crate::bench::{Arm, Effective, Work};
use crate::c1::Sector;
use crate::cli::{PrimeField, Repeat};
use crate::gpu::bench::{FieldBench, RowsBench, SumBench, TransformBench, sum_additions};
use crate::gpu::{FieldVariant, Gpu};
use crate::groth16::synthesis::compact_assignments;
use crate::r1cs::{Matrices, Template};
use crate::variant::{VariantFlag, Variants};

/// What an H200 does in a second at best: butterflies and products in Fr, products in Fp, mixed
/// additions in G1, bytes copied, bytes gathered by the 96. The additions are what the multiplier
/// allows at 2,814 slots each; the rest was measured by itself (gpu/NOTES.md).
const FR_BUTTERFLIES: f64 = 55.6e9;
const FR_PRODUCTS: f64 = 63.8e9;
const FP_PRODUCTS: f64 = 27.2e9;
const G1_ADDITIONS: f64 = 2.79e9;
const BYTES_COPIED: f64 = 4.31e12;
const BYTES_GATHERED: f64 = 2.47e12;

/// The card with the arithmetic of each arm.
pub(super) struct Handles<'g> {
    wide: &'g Gpu,
    generated: Option<Gpu>,
}

impl<'g> Handles<'g> {
    /// Loads what `arms` need beside the kernels of `gpu`, which are `field=wide`.
    pub(super) fn new(gpu: &'g Gpu, arms: &[Arm<Variants>]) -> Result<Self> {
        let needed = arms.iter().any(|arm| arm.variants.field == FieldVariant::Generated);
        let generated = needed.then(|| gpu.with_field(FieldVariant::Generated)).transpose()?;
        Ok(Self { wide: gpu, generated })
    }

    /// The card with this arithmetic.
    pub(super) fn get(&self, field: FieldVariant) -> &Gpu {
        match field {
            FieldVariant::Wide => self.wide,
            FieldVariant::Generated => {
                self.generated.as_ref().expect("loaded where an arm needs it")
            }
        }
    }
}

/// Measures one arm once: milliseconds of the device.
type Measure<'m> = Box<dyn Fn() -> Result<f64> + 'm>;

impl Bench<'_> {
    /// Chains of products in one field.
    pub(super) fn field_on(
        self,
        gpu: &Gpu,
        field: PrimeField,
        log_n: u32,
        repeat: Repeat,
    ) -> Result<()> {
        let arms = self.arms(&[listed("field=wide,generated")])?;
        let handles = Handles::new(gpu, &arms)?;
        let benches = prepare(&arms, |variants| {
            let gpu = handles.get(variants.field);
            Ok(match field {
                PrimeField::Fr => {
                    let bench = FieldBench::<Fr>::new(gpu, log_n)?;
                    Box::new(move || Ok(bench.run_ms()?))
                }
                PrimeField::Fp => {
                    let bench = FieldBench::<Fp>::new(gpu, log_n)?;
                    Box::new(move || Ok(bench.run_ms()?))
                }
            })
        })?;
        let products = 1_u64 << log_n;
        let (name, what, limit) = match field {
            PrimeField::Fr => ("field-fr", "Fr products", FR_PRODUCTS),
            PrimeField::Fp => ("field-fp", "Fp products", FP_PRODUCTS),
        };
        let effective = vec![rate(what, products as f64, limit)];
        let subject = self.subject(name, "products").of_size(log_n).with_effective(effective);
        self.compare_on_gpu(subject, &arms, repeat, products, &benches)
    }

    /// A forward transform.
    pub(super) fn ntt_on(self, gpu: &Gpu, log_n: u32, repeat: Repeat) -> Result<()> {
        /// Stages that one pass over the data makes.
        const STAGES: u32 = 9;
        let arms = self.arms(&[listed("ntt=fused,generated")])?;
        let n = 1_u64 << log_n;
        self.check_memory(2 * 32 * n)?;
        let handles = Handles::new(gpu, &arms)?;
        let benches = prepare(&arms, |variants| {
            let bench = TransformBench::new(handles.get(variants.field), log_n, variants.ntt)?;
            Ok(Box::new(move || Ok(bench.run_ms()?)))
        })?;
        let butterflies = n * u64::from(log_n) / 2;
        let bytes = 64 * n * u64::from(log_n.div_ceil(STAGES));
        let subject = self.subject("ntt", "butterflies").of_size(log_n).with_effective(vec![
            rate("Fr butterflies", butterflies as f64, FR_BUTTERFLIES),
            rate("bytes", bytes as f64, BYTES_COPIED),
        ]);
        self.compare_on_gpu(subject, &arms, repeat, butterflies, &benches)
    }

    /// Distinct points, uniform scalars.
    pub(super) fn msm_on(self, gpu: &Gpu, log_n: u32, repeat: Repeat) -> Result<()> {
        let arms = self.arms(&[listed("msm=xyzz,generated")])?;
        let n = 1_usize << log_n;
        // The scalars as elements and as bytes.
        self.check_memory(2 * 32 * n as u64)?;
        let handles = Handles::new(gpu, &arms)?;
        let benches = prepare(&arms, |variants| {
            let bench = SumBench::new(handles.get(variants.field), n, variants.msm)?;
            Ok(Box::new(move || Ok(bench.run_ms()?)))
        })?;
        let additions = sum_additions(n) as f64;
        let subject = self.subject("msm", "points").of_size(log_n).with_effective(vec![
            rate("G1 additions", additions, G1_ADDITIONS),
            rate("bytes gathered", 96.0 * additions, BYTES_GATHERED),
        ]);
        self.compare_on_gpu(subject, &arms, repeat, n as u64, &benches)
    }

    /// Rows a and b of one partition.
    pub(super) fn rows_on(
        self,
        gpu: &Gpu,
        sector: &Sector,
        partition: usize,
        repeat: Repeat,
    ) -> Result<()> {
        let arms = self.arms(&[])?;
        let size = sector.registered_proof.size;
        self.check_memory(planned_streamed(size))?;
        let template = Template::record(size, Matrices::Ab);
        let witnesses = compact_assignments(sector, partition..partition + 1)?;
        let bench = RowsBench::new(gpu, &template, &witnesses[0])?;
        let rows = bench.rows() as u64;
        let subject = self
            .subject("rows", "rows")
            .of_partition(size, partition)
            .with_effective(vec![rate("bytes", bench.bytes() as f64, BYTES_COPIED)]);
        let benches: Vec<Measure<'_>> = vec![Box::new(|| Ok(bench.run_ms()?))];
        self.compare_on_gpu(subject, &arms, repeat, rows, &benches)
    }

    /// As [`Bench::compare`], an entry of `benches` an arm.
    fn compare_on_gpu(
        self,
        subject: crate::bench::Subject,
        arms: &[Arm<Variants>],
        repeat: Repeat,
        items: u64,
        benches: &[Measure<'_>],
    ) -> Result<()> {
        let places: Vec<Arm<usize>> = arms
            .iter()
            .enumerate()
            .map(|(place, Arm { label, names, .. })| Arm {
                label: label.clone(),
                names: names.clone(),
                variants: place,
            })
            .collect();
        self.compare(subject, &places, repeat, |&place| {
            Ok(Work { items, ms: Some(benches[place]()?) })
        })
    }
}

/// The arms that a list makes.
fn listed(flag: &str) -> VariantFlag {
    flag.parse().expect("all are listed")
}

const fn rate(what: &'static str, count: f64, limit_per_second: f64) -> Effective {
    Effective { what, count, limit_per_second }
}

/// Makes every arm's measurement ready.
fn prepare<'m>(
    arms: &[Arm<Variants>],
    bench: impl Fn(&Variants) -> Result<Measure<'m>>,
) -> Result<Vec<Measure<'m>>> {
    arms.iter().map(|arm| bench(&arm.variants)).collect()
}
