//! a = A z and b = B z on the device, from a template and compact assignments.
//!
//! In: the matrices of a prologue and one challenge, once (about 170 MB at 32 GiB), and a
//! partition's assignment. Out: the values of all rows, those that Groth16 appends for inputs
//! included, with zeros up to the domain: the input of the transforms.
//! [`crate::r1cs::Evaluator`] does the same on the CPU.

mod packed;

use blstrs::Scalar;
use ff::Field;

use self::packed::PackedSection;
use super::kernels::{self, KindPlaces, ROW_INTEGERS, RowsInput, RowsOutput};
use super::{DeviceBuffer, DeviceSlice, DeviceWitnesses, Gpu, GpuError};
use crate::r1cs::{Matrices, Section, Template};
use crate::sector::SectorSize;
use crate::witness::{Counts, Layout};

/// log2 of the lanes that a short row's entries are given to, where it is not small.
const SHORT_LANES_LOG: u32 = 2;
/// The same for long rows: a warp.
const LONG_LANES_LOG: u32 = 5;

/// Evaluates the rows of partitions of one sector size.
pub struct RowEvaluator<'g> {
    gpu: &'g Gpu,
    layout: Layout,
    prologue: DeviceSection<'g>,
    challenge: DeviceSection<'g>,
    /// Values of the coefficients.
    values: DeviceBuffer<'g, Scalar>,
    /// The values of small rows, from the least.
    integers: DeviceBuffer<'g, Scalar>,
}

/// A [`PackedSection`] on the device.
struct DeviceSection<'g> {
    small: DeviceBuffer<'g, [u32; 4]>,
    general: DeviceBuffer<'g, [u32; 4]>,
    short: usize,
    columns: DeviceBuffer<'g, u32>,
    coefficients: DeviceBuffer<'g, u16>,
}

impl<'g> DeviceSection<'g> {
    fn new(gpu: &'g Gpu, section: &Section) -> Result<Self, GpuError> {
        let packed = PackedSection::new(section);
        Ok(Self {
            small: DeviceBuffer::from_host(gpu, &packed.small)?,
            general: DeviceBuffer::from_host(gpu, &packed.general)?,
            short: packed.short,
            columns: DeviceBuffer::from_host(gpu, &packed.columns)?,
            coefficients: DeviceBuffer::from_host(gpu, &packed.coefficients)?,
        })
    }
}

impl<'g> RowEvaluator<'g> {
    /// Puts the rows of `template` on the device.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn new(gpu: &'g Gpu, template: &Template) -> Result<Self, GpuError> {
        Ok(Self {
            gpu,
            layout: layout(template),
            prologue: DeviceSection::new(gpu, &template.prologue)?,
            challenge: DeviceSection::new(gpu, &template.challenge)?,
            values: DeviceBuffer::from_host(gpu, &template.coefficients)?,
            integers: DeviceBuffer::from_host(gpu, &small_integers())?,
        })
    }

    /// Bytes of device memory that [`RowEvaluator::new`] takes.
    pub fn bytes(template: &Template) -> u64 {
        let scalars = (template.coefficients.len() + ROW_INTEGERS) * size_of::<Scalar>();
        PackedSection::bytes(&template.prologue)
            + PackedSection::bytes(&template.challenge)
            + scalars as u64
    }

    /// The same, at most, before the template is recorded.
    pub fn planned_bytes(size: SectorSize) -> u64 {
        // Small rows take less than in the template, the others 16 bytes more for two ends less.
        Template::planned_bytes(size, Matrices::Ab)
    }

    /// Rows of a partition, those appended for inputs included.
    pub fn rows(&self) -> usize {
        self.template_rows() + self.layout.inputs()
    }

    fn template_rows(&self) -> usize {
        self.prologue.small.len() + self.layout.challenges * self.challenge.small.len()
    }

    /// Enqueues a and b of all rows of the assignment in place `slot`, zero after the last; values
    /// in [0, 2r).
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// When there is no such place, its sector size is another, or an array is shorter than the
    /// rows.
    pub fn run(
        &self,
        a: DeviceSlice<'_, Scalar>,
        b: DeviceSlice<'_, Scalar>,
        witnesses: &DeviceWitnesses<'_>,
        slot: usize,
    ) -> Result<(), GpuError> {
        self.evaluate(RowsOutput::Both(a, b), witnesses, slot)?;
        let (_, scalars) = witnesses.partition(slot);
        let (rows, inputs) = (self.template_rows(), self.layout.inputs());
        a.slice(rows..rows + inputs).copy_from(scalars.slice(0..inputs))?;
        a.slice(rows + inputs..a.len()).fill(0)?;
        b.slice(rows..b.len()).fill(0)
    }

    /// Enqueues c = a ∘ b of all rows, as [`RowEvaluator::run`].
    ///
    /// # Errors
    /// When a launch fails.
    ///
    /// # Panics
    /// As [`RowEvaluator::run`].
    pub fn run_product(
        &self,
        c: DeviceSlice<'_, Scalar>,
        witnesses: &DeviceWitnesses<'_>,
        slot: usize,
    ) -> Result<(), GpuError> {
        self.evaluate(RowsOutput::Product(c), witnesses, slot)?;
        c.slice(self.template_rows()..c.len()).fill(0)
    }

    /// The template's rows.
    fn evaluate(
        &self,
        output: RowsOutput<'_>,
        witnesses: &DeviceWitnesses<'_>,
        slot: usize,
    ) -> Result<(), GpuError> {
        assert_eq!(*witnesses.layout(), self.layout, "witnesses and template of one size");
        let (words, scalars) = witnesses.partition(slot);
        let challenges = self.layout.challenges;
        let sections =
            [(&self.prologue, 0, 1), (&self.challenge, self.prologue.small.len(), challenges)];
        for (section, first_row, challenges) in sections {
            let input = RowsInput {
                words,
                scalars,
                small: section.small.as_slice(),
                columns: section.columns.as_slice(),
                coefficients: section.coefficients.as_slice(),
                values: self.values.as_slice(),
                integers: self.integers.as_slice(),
                places: kind_places(&self.layout),
                first_row,
                challenges,
            };
            kernels::small_rows(self.gpu, &input, output)?;
            let general = section.general.as_slice();
            let parts = [
                (general.slice(0..section.short), SHORT_LANES_LOG),
                (general.slice(section.short..general.len()), LONG_LANES_LOG),
            ];
            for (rows, lanes_log) in parts {
                kernels::general_rows(self.gpu, &input, output, rows, lanes_log)?;
            }
        }
        Ok(())
    }
}

/// The layout of the assignments that the template's columns point into.
fn layout(template: &Template) -> Layout {
    let counts = |section: &Section| Counts {
        inputs: section.inputs,
        bits: section.order.bits() as usize,
        full: section.order.full() as usize,
    };
    Layout {
        size: template.size,
        prologue: counts(&template.prologue),
        challenge: counts(&template.challenge),
        challenges: template.challenges(),
    }
}

/// Where a column's kind starts in the words or the scalars, in the order of `Kind`.
fn kind_places(layout: &Layout) -> KindPlaces {
    let Layout { prologue, challenge, .. } = layout;
    let fits = |place: usize| u32::try_from(place).expect("a partition has 2^28 bits at most");
    let inputs = layout.inputs();
    let starts = [0, 0, inputs, prologue.inputs, 64 * prologue.words(), inputs + prologue.full];
    let strides = [0, 0, 0, challenge.inputs, 64 * challenge.words(), challenge.full];
    KindPlaces { starts: starts.map(fits), strides: strides.map(fits) }
}

/// The integers that small rows have, the same number on both sides of zero.
fn small_integers() -> Vec<Scalar> {
    let half = ROW_INTEGERS / 2;
    let magnitudes = std::iter::successors(Some(Scalar::ZERO), |value| Some(value + Scalar::ONE));
    let magnitudes: Vec<Scalar> = magnitudes.take(half + 1).collect();
    let negative = magnitudes[1..].iter().rev().map(|value| -value);
    negative.chain(magnitudes.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_an_upper_bound() {
        for size in [SectorSize::KiB2, SectorSize::MiB8] {
            let template = Template::record(size, Matrices::Ab);
            let (bytes, planned) =
                (RowEvaluator::bytes(&template), RowEvaluator::planned_bytes(size));
            assert!(bytes <= planned, "{size}: {bytes} bytes, {planned} planned");
            assert_eq!(layout(&template), Layout::new(size), "{size}");
        }
    }

    #[test]
    fn small_integers_are_consecutive() {
        let integers = small_integers();
        assert_eq!(integers.len(), ROW_INTEGERS);
        assert_eq!(integers[ROW_INTEGERS / 2], Scalar::ZERO);
        assert!(integers.windows(2).all(|pair| pair[1] - pair[0] == Scalar::ONE));
    }
}
