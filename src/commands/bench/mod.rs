//! `bench`: which work each measurement does, for [`crate::bench::compare`].

mod gpu;

use std::path::Path;

use anyhow::{Context, Result, bail};
use bellperson::domain::EvaluationDomain;
use blstrs::{G1Affine, G1Projective, Scalar as Fr};
use ec_gpu_gen::multiexp_cpu::{FullDensity, multiexp_cpu};
use ec_gpu_gen::threadpool::Worker;
use ff::{Field, PrimeField};
use group::{Curve, Group};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use self::gpu::Handles;
use super::Session;
use super::prove::{self, Opened};
use crate::bench::sample::Meter;
use crate::bench::{Arm, Plan, Subject, Work, compare};
use crate::c1::Sector;
use crate::cli::{BenchCommand, Partitions, Repeat};
use crate::device::{self, DeviceRequest, OpenDevice};
use crate::groth16::quotient::quotient;
use crate::groth16::synthesis::{Circuit, compact_assignments, row_by_row};
use crate::groth16::{self, Backend};
use crate::memory::Budget;
use crate::msm::plan::SumsPlan;
use crate::msm::{Arithmetic, Bases, G1};
use crate::ntt::Evals;
use crate::ntt::cpu::Domain;
use crate::progress::{Device, Silent};
use crate::r1cs::{Evaluator, Matrices, Template};
use crate::report::DeviceInfo;
use crate::sector::SectorSize;
use crate::settings::{SettingsError, Verbosity};
use crate::variant::{Job, ProverVariant, SynthVariant, VariantFlag, Variants, arms};
use crate::witness::Layout;

/// Rows that the streamed evaluation holds at a time: 2 x 32 MiB.
const BLOCK_ROWS: usize = 1 << 20;
/// The seed of every random input, so that arms and runs do the same work.
const SEED: u64 = 1;

pub(super) fn run(session: &Session, command: &BenchCommand, meter: &mut Meter) -> Result<()> {
    let mut settings = session.settings.device.clone();
    if command.job() == Job::Field && settings.request == DeviceRequest::Auto {
        settings.request = DeviceRequest::Gpu;
    }
    let open = |size| device::open(&settings, size, session.progress());
    let bench = |device: &OpenDevice, meter| Bench {
        session,
        job: command.job(),
        device: device.kind(),
        info: device.info(),
        meter,
    };
    match *command {
        BenchCommand::Synth { ref c1, partition, repeat } => {
            let bench = bench(&OpenDevice::Cpu { reason: None }, meter);
            match partition {
                Partitions::One(partition) => bench.synth(c1, partition, repeat),
                Partitions::All => bench.assignments(c1, repeat),
            }
        }
        BenchCommand::Rows { ref c1, partition, repeat } => {
            let sector = read_sector(session, c1, partition)?;
            let device = open(None)?;
            match device.gpu() {
                None => bench(&device, meter).rows(&sector, partition, repeat),
                Some(gpu) => bench(&device, meter).rows_on(gpu, &sector, partition, repeat),
            }
        }
        BenchCommand::Ntt { log_n, repeat } => {
            let device = open(None)?;
            match device.gpu() {
                None => bench(&device, meter).ntt(log_n, repeat),
                Some(gpu) => bench(&device, meter).ntt_on(gpu, log_n, repeat),
            }
        }
        BenchCommand::Msm { log_n, repeat } => {
            let device = open(None)?;
            match device.gpu() {
                None => bench(&device, meter).msm(log_n, repeat),
                Some(gpu) => bench(&device, meter).msm_on(gpu, log_n, repeat),
            }
        }
        BenchCommand::Field { of, log_n, repeat } => {
            let device = open(None)?;
            let Some(gpu) = device.gpu() else {
                bail!(SettingsError::NeedsGpu { what: "bench field" });
            };
            bench(&device, meter).field_on(gpu, of, log_n, repeat)
        }
        BenchCommand::Prove { ref c1, repeat } => {
            let sector = session.read_c1(c1)?.sector;
            let opened = prove::open(session, sector.registered_proof.size)?;
            let device = open(Some(sector.registered_proof.size))?;
            bench(&device, meter).prove(&sector, &opened, &device, repeat)
        }
    }
}

struct Bench<'b> {
    session: &'b Session,
    job: Job,
    device: Device,
    info: DeviceInfo,
    meter: &'b mut Meter,
}

impl Bench<'_> {
    /// One partition, each result dropped before the next is made.
    fn synth(self, c1: &Path, partition: usize, repeat: Repeat) -> Result<()> {
        let arms = self.arms(&[])?;
        let sector = read_sector(self.session, c1, partition)?;
        let size = sector.registered_proof.size;
        let has = |synth| arms.iter().any(|arm| arm.variants.synth == synth);
        let compact = has(SynthVariant::Compact);
        let rows = has(SynthVariant::Classic) || has(SynthVariant::Reference);
        let rows_bytes = if rows { planned_row_by_row(size) } else { 0 };
        let streamed_bytes = if compact { planned_streamed(size) } else { 0 };
        self.check_memory(rows_bytes + streamed_bytes)?;
        let template = compact.then(|| Template::record(size, Matrices::Ab));
        let items = size.circuit().constraints + size.inputs() as u64;
        let subject = self.subject("synth", "rows").of_partition(size, partition);
        self.compare(subject, &arms, repeat, |&variants| {
            match &template {
                Some(template) if variants.synth == SynthVariant::Compact => {
                    let witnesses = compact_assignments(&sector, partition..partition + 1)?;
                    stream_rows(&Evaluator::new(template, &witnesses[0]));
                }
                _ => drop(row_by_row(&sector, partition, variants)?),
            }
            Ok(Work { items, ms: None })
        })
    }

    /// The assignments of every partition, a group at a time, as a proof makes them.
    fn assignments(self, c1: &Path, repeat: Repeat) -> Result<()> {
        let arms = self.arms(&[])?;
        if arms.iter().any(|arm| arm.variants.synth != SynthVariant::Compact) {
            let message = "`--partition all` measures `synth=compact` only";
            bail!(SettingsError::Variant { message: message.to_owned() });
        }
        let sector = read_sector(self.session, c1, 0)?;
        let proof = sector.registered_proof;
        let group = groth16::group_partitions(proof) as u64;
        self.check_memory(group * Layout::new(proof.size).bytes() as u64)?;
        let variables = proof.size.circuit().aux + proof.size.inputs() as u64;
        let subject = self.subject("assignments", "variables").of_sector(proof.size);
        self.compare(subject, &arms, repeat, |_| {
            for group in groth16::prove::groups(proof.partitions()) {
                drop(compact_assignments(&sector, group)?);
            }
            Ok(Work { items: variables * proof.partitions() as u64, ms: None })
        })
    }

    /// a and b of one partition, in blocks.
    fn rows(self, sector: &Sector, partition: usize, repeat: Repeat) -> Result<()> {
        let arms = self.arms(&[])?;
        let size = sector.registered_proof.size;
        self.check_memory(planned_streamed(size))?;
        let template = Template::record(size, Matrices::Ab);
        let witnesses = compact_assignments(sector, partition..partition + 1)?;
        let evaluator = Evaluator::new(&template, &witnesses[0]);
        let subject = self.subject("rows", "rows").of_partition(size, partition);
        self.compare(subject, &arms, repeat, |_| {
            stream_rows(&evaluator);
            Ok(Work { items: evaluator.rows() as u64, ms: None })
        })
    }

    /// The quotient of random a and b: six transforms of ours, seven of bellperson's.
    fn ntt(self, log_n: u32, repeat: Repeat) -> Result<()> {
        /// a and b, their copies, c, a spare array and two that bellperson's transforms make.
        const ARRAYS: u64 = 8;
        let arms = self.arms(&both_provers())?;
        let n = 1_usize << log_n;
        self.check_memory(ARRAYS * 32 * n as u64)?;
        let [a, b] = [0, 1].map(|stream| random_scalars(n, stream));
        let domain = Domain::new(Arithmetic::detect(), log_n);
        let worker = Worker::new();
        // Each domain point takes part in one butterfly of each of log_n stages, halved.
        let items = 6 * n as u64 * u64::from(log_n) / 2;
        let subject = self.subject("ntt", "butterflies").of_size(log_n);
        self.compare(subject, &arms, repeat, |variants| {
            match variants.prover {
                ProverVariant::Native => {
                    drop(quotient(&domain, Evals(a.clone()), Evals(b.clone())));
                }
                ProverVariant::Bellperson => bellperson_quotient(&a, &b, &worker)?,
            }
            Ok(Work { items, ms: None })
        })
    }

    /// Distinct points, uniform scalars.
    fn msm(self, log_n: u32, repeat: Repeat) -> Result<()> {
        /// A point, uncompressed and as two affine copies while they are gathered, and its scalar
        /// as an element and as an integer.
        const POINT_BYTES: u64 = 3 * 96 + 2 * 32;
        let arms = self.arms(&both_provers())?;
        let n = 1_usize << log_n;
        let sums = arms.iter().map(|arm| SumsPlan::of_h(n as u64, arm.variants.window_h).bytes());
        self.check_memory(POINT_BYTES * n as u64 + sums.max().unwrap_or(0))?;
        let scalars = random_scalars(n, 0);
        let points = distinct_points(n);
        let bytes: Vec<u8> = points.par_iter().flat_map_iter(G1Affine::to_uncompressed).collect();
        let bases = Bases::<G1>::new(&bytes)?;
        let representations: std::sync::Arc<Vec<_>> =
            std::sync::Arc::new(scalars.iter().map(PrimeField::to_repr).collect());
        let points = std::sync::Arc::new(points);
        let worker = Worker::new();
        let arithmetic = Arithmetic::detect();
        let subject = self.subject("msm", "points").of_size(log_n);
        self.compare(subject, &arms, repeat, |variants| {
            match variants.prover {
                ProverVariant::Native => {
                    arithmetic.dense_sum(bases, &scalars, variants.window_h)?;
                }
                ProverVariant::Bellperson => {
                    let (points, scalars) = (points.clone(), representations.clone());
                    multiexp_cpu::<_, _, G1Affine, _>(&worker, (points, 0), FullDensity, scalars)
                        .wait()
                        .context("sum with ec-gpu-gen")?;
                }
            }
            Ok(Work { items: n as u64, ms: None })
        })
    }

    /// Whole proofs; a false one ends the comparison. bellperson's run on the CPU whatever the
    /// device.
    fn prove(
        self,
        sector: &Sector,
        opened: &Opened,
        device: &OpenDevice,
        repeat: Repeat,
    ) -> Result<()> {
        let arms = self.arms(&[])?;
        let proof = sector.registered_proof;
        let settings = &self.session.settings;
        let needed_bytes =
            arms.iter().map(|arm| groth16::memory_bytes(arm.variants, self.device, proof)).max();
        Budget::detect(settings.ram_bytes).check(needed_bytes.unwrap_or(0))?;
        let handles = device.gpu().map(|gpu| Handles::new(gpu, &arms)).transpose()?;
        let subject = self.subject("prove", "proofs").of_sector(proof.size);
        let vram_bytes = settings.device.vram_bytes;
        self.compare(subject, &arms, repeat, |&variants| {
            let backend = match &handles {
                Some(handles) if variants.prover == ProverVariant::Native => {
                    Backend::Gpu { gpu: handles.get(variants.field), vram_bytes }
                }
                _ => Backend::Cpu,
            };
            let circuit = Circuit::new(proof.size, variants);
            let prover = groth16::prover(variants, backend, &opened.parameters, proof, circuit)?;
            groth16::prove::prove(sector, &*prover, &opened.verifier, &Silent)?;
            Ok(Work { items: proof.partitions() as u64, ms: None })
        })
    }

    /// The arms that the flags make; without flags, those that `unless_given` makes.
    fn arms(&self, unless_given: &[VariantFlag]) -> Result<Vec<Arm<Variants>>> {
        let given = &self.session.settings.variant_flags;
        let flags = if given.is_empty() { unless_given } else { given };
        // The command line was checked for any device; this is the one that was found.
        let arms = arms(self.job, Some(self.device), flags)
            .map_err(|message| SettingsError::Variant { message })?;
        let arm = |(label, variants): (_, Variants)| {
            let names = variants.names(self.job, self.device).into_iter().collect();
            Arm { label, names, variants }
        };
        Ok(arms.into_iter().map(arm).collect())
    }

    /// Checks what the measurement itself takes, beside the process.
    fn check_memory(&self, needed_bytes: u64) -> Result<()> {
        /// The process, the C1 and the hashers' constants.
        const BASE_BYTES: u64 = 128 << 20;
        let budget = Budget::detect(self.session.settings.ram_bytes);
        Ok(budget.check(needed_bytes + BASE_BYTES)?)
    }

    fn subject(&self, bench: &'static str, unit: &'static str) -> Subject {
        Subject::new(bench, unit, self.info.clone())
    }

    fn compare<V>(
        self,
        subject: Subject,
        arms: &[Arm<V>],
        repeat: Repeat,
        body: impl FnMut(&V) -> Result<Work>,
    ) -> Result<()> {
        let plan = Plan { warm_up: !repeat.no_warm_up, iterations: repeat.iterations };
        let progress = self.session.progress();
        let tell = |label: &str, iteration| match iteration {
            0 => progress.note(&format!("warm-up of {label}")),
            _ => progress.note(&format!("run {iteration} of {label}")),
        };
        let comparison = compare(subject, arms, plan, self.meter, tell, body)?;
        self.session.console.close();
        if self.session.settings.verbosity != Verbosity::Quiet {
            self.session.console.print(&comparison.to_string());
        }
        self.session.write_json(&comparison.to_json())
    }
}

/// A sector that has the partition.
fn read_sector(session: &Session, c1: &Path, partition: usize) -> Result<Sector> {
    let sector = session.read_c1(c1)?.sector;
    let last = sector.registered_proof.partitions() - 1;
    if partition > last {
        bail!(SettingsError::Partition { last, got: partition });
    }
    Ok(sector)
}

fn both_provers() -> [VariantFlag; 1] {
    ["prover=native,bellperson".parse().expect("both are listed")]
}

fn random_scalars(count: usize, stream: u64) -> Vec<Fr> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    rng.set_stream(stream);
    (0..count).map(|_| Fr::random(&mut rng)).collect()
}

/// Multiples of the generator from a random one on: no two equal or opposite.
fn distinct_points(count: usize) -> Vec<G1Affine> {
    const CHUNK: usize = 1 << 12;
    let first = random_scalars(1, 2)[0];
    let chunk = |chunk: usize| {
        let count = CHUNK.min(count - chunk * CHUNK);
        let start = G1Projective::generator() * (first + Fr::from((chunk * CHUNK) as u64));
        let step = G1Projective::generator();
        let points: Vec<G1Projective> =
            std::iter::successors(Some(start), |point| Some(point + step)).take(count).collect();
        let mut affine = vec![G1Affine::default(); count];
        G1Projective::batch_normalize(&points, &mut affine);
        affine
    };
    (0..count.div_ceil(CHUNK)).into_par_iter().flat_map_iter(chunk).collect()
}

/// What a row by row synthesis holds: a, b and c of every row, and the assignment.
fn planned_row_by_row(size: SectorSize) -> u64 {
    let numbers = size.circuit();
    96 * numbers.constraints + 32 * numbers.aux
}

/// What streamed rows take: the template, the compact assignment and a block of a and b.
fn planned_streamed(size: SectorSize) -> u64 {
    let blocks = 2 * 32 * BLOCK_ROWS as u64;
    Template::planned_bytes(size, Matrices::Ab) + Layout::new(size).bytes() as u64 + blocks
}

fn stream_rows(evaluator: &Evaluator<'_>) {
    evaluator.for_each_block(BLOCK_ROWS, |_, a, b| {
        std::hint::black_box((a, b));
    });
}

/// The quotient as bellperson's prover computes it (`groth16/prover/native.rs`).
fn bellperson_quotient(a: &[Fr], b: &[Fr], worker: &Worker) -> Result<()> {
    let transform = |values: Vec<Fr>| -> Result<EvaluationDomain<Fr>> {
        let mut domain = EvaluationDomain::from_coeffs(values)?;
        let kernel = &mut None;
        domain.ifft(worker, kernel)?;
        domain.coset_fft(worker, kernel)?;
        Ok(domain)
    };
    let c = a.par_iter().zip(b).map(|(a, b)| a * b).collect();
    let mut domain = transform(a.to_vec())?;
    domain.mul_assign(worker, &transform(b.to_vec())?);
    domain.sub_assign(worker, &transform(c)?);
    domain.divide_by_z_on_coset(worker);
    domain.icoset_fft(worker, &mut None)?;
    Ok(())
}
