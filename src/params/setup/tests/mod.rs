//! The files that [`generate`] makes, against bellperson's `generate_parameters`; the PoRep
//! circuit's sums by column, against those of the reference's rows.

mod rows;

use self::columns::Sums;
use self::lagrange::Lagrange;
use self::rows::{RowStream, synthesize};
use self::sections::{CircuitColumns, Part};
use crate::r1cs::{Matrices, Template};
use crate::reference::synthesize_blank;
use bellperson::groth16::generate_parameters;
use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Bls12;
use ff::Field;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::progress::Silent;

type Row = [Vec<(Variable, Fr)>; 3];

/// A circuit that is only shape: random rows over random variables.
#[derive(Clone)]
struct RandomRows {
    dimensions: Dimensions,
    rows: Vec<Row>,
}

impl RandomRows {
    /// Every variable is in some C; every third aux is in no A, every fifth in no B, two have
    /// zero coefficients only, and inputs are everywhere.
    fn new(dimensions: Dimensions, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let Dimensions { inputs, aux, constraints } = dimensions;
        let variable = |index: usize| {
            Variable::new_unchecked(match index.checked_sub(inputs) {
                Some(aux) => Index::Aux(aux),
                None => Index::Input(index),
            })
        };
        let mut rows: Vec<Row> = vec![Row::default(); constraints];
        for index in 0..inputs + aux {
            rows[index % constraints][2].push((variable(index), Fr::random(&mut rng)));
        }
        for row in &mut rows {
            for (terms, skipped) in row.iter_mut().zip([3, 5, usize::MAX]) {
                for _ in 0..rng.gen_range(0..4) {
                    let index = rng.gen_range(0..inputs + aux);
                    if index < inputs || !(index - inputs).is_multiple_of(skipped) {
                        let coefficients = [Fr::ONE, -Fr::ONE, Fr::ZERO, Fr::random(&mut rng)];
                        terms.push((variable(index), coefficients[rng.gen_range(0..4)]));
                    }
                }
            }
        }
        rows[0][0].push((variable(inputs), Fr::ZERO));
        rows[0][1].push((variable(inputs), Fr::ZERO));
        Self { dimensions, rows }
    }
}

impl Circuit<Fr> for RandomRows {
    fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for _ in 1..self.dimensions.inputs {
            cs.alloc_input(|| "input", || Err(SynthesisError::AssignmentMissing))?;
        }
        for _ in 0..self.dimensions.aux {
            cs.alloc(|| "aux", || Err(SynthesisError::AssignmentMissing))?;
        }
        for [a, b, c] in self.rows {
            let combine = |terms: Vec<(Variable, Fr)>| {
                move |zero: LinearCombination<Fr>| {
                    terms.into_iter().fold(zero, |sum, (variable, value)| sum + (value, variable))
                }
            };
            cs.enforce(|| "row", combine(a), combine(b), combine(c));
        }
        Ok(())
    }
}

fn ours(circuit: RandomRows, trapdoor: &Trapdoor, folder: &Path) -> Result<PendingSet, SetupError> {
    let source = |columns: &mut Columns| {
        synthesize(circuit.clone(), columns)
            .map_err(|error| SetupError::Circuit { source: error.into() })
    };
    let files = ParameterFiles::new(folder, SectorSize::KiB2);
    generate(circuit.dimensions, source, trapdoor, &files, &Silent)
}

fn bellperson(circuit: RandomRows, trapdoor: &Trapdoor) -> Result<[Vec<u8>; 2], SynthesisError> {
    let Trapdoor { alpha, beta, gamma, delta, tau } = trapdoor.clone();
    let (g1, g2) = (G1Projective::generator(), G2Projective::generator());
    let set = generate_parameters::<Bls12, _>(circuit, g1, g2, alpha, beta, gamma, delta, tau)?;
    let [mut params, mut vk] = [vec![], vec![]];
    set.write(&mut params).expect("memory takes everything");
    set.vk.write(&mut vk).expect("memory takes everything");
    Ok([params, vk])
}

#[test]
fn files_equal_those_of_bellperson_byte_for_byte() {
    for (seed, inputs, aux, constraints) in
        [(1, 1, 1, 1), (2, 3, 40, 61), (3, 5, 90, 59), (4, 2, 7, 200), (5, 40, 1500, 2200)]
    {
        let dimensions = Dimensions { inputs, aux, constraints };
        let circuit = RandomRows::new(dimensions, seed);
        let trapdoor = Trapdoor::from_seed(seed);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let set = ours(circuit.clone(), &trapdoor, folder.path()).expect("our setup");
        set.publish("test").expect("files are published");
        let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
        let [params, vk] = bellperson(circuit, &trapdoor).expect("bellperson's setup");
        assert!(std::fs::read(&files.params).expect("params") == params, "seed {seed}: params");
        assert!(std::fs::read(&files.vk).expect("vk") == vk, "seed {seed}: vk");
        let names = std::fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(names, 3, "params, vk and marker, no temporary file");
    }
}

#[test]
fn an_unconstrained_variable_is_refused_as_by_bellperson() {
    let mut circuit = RandomRows::new(Dimensions { inputs: 2, aux: 5, constraints: 9 }, 6);
    circuit.dimensions.aux += 1;
    let trapdoor = Trapdoor::from_seed(6);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = ours(circuit.clone(), &trapdoor, folder.path()).expect_err("refused");
    assert!(matches!(error, SetupError::Unconstrained { variable: 7 }), "{error}");
    let theirs = bellperson(circuit, &trapdoor).expect_err("refused");
    assert!(matches!(theirs, SynthesisError::UnconstrainedVariable), "{theirs}");
}

#[test]
fn failures_leave_nothing_behind() {
    let dimensions = Dimensions { inputs: 2, aux: 5, constraints: 9 };
    let circuit = RandomRows::new(dimensions, 7);
    let trapdoor = Trapdoor::from_seed(7);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let entries = || std::fs::read_dir(folder.path()).expect("the folder").count();
    for (announced, reason) in [
        (Dimensions { constraints: 10, ..dimensions }, "rows"),
        (Dimensions { aux: 4, ..dimensions }, "aux"),
        (Dimensions { inputs: 3, ..dimensions }, "inputs"),
    ] {
        let mut wrong = circuit.clone();
        let source = |columns: &mut Columns| {
            synthesize(circuit.clone(), columns)
                .map_err(|error| SetupError::Circuit { source: error.into() })
        };
        wrong.dimensions = announced;
        let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
        generate(announced, source, &trapdoor, &files, &Silent).expect_err(reason);
        assert_eq!(entries(), 0, "{reason}");
    }
    drop(ours(circuit.clone(), &trapdoor, folder.path()).expect("our setup"));
    assert_eq!(entries(), 0, "a set that was not published");
}

#[test]
fn existing_files_are_not_touched() {
    let circuit = RandomRows::new(Dimensions { inputs: 2, aux: 5, constraints: 9 }, 8);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    std::fs::write(&files.vk, "worth keeping").expect("a file");
    let error = ours(circuit, &Trapdoor::from_seed(8), folder.path()).expect_err("refused");
    assert!(matches!(&error, SetupError::Exists { path } if *path == files.vk), "{error}");
    assert_eq!(std::fs::read(&files.vk).expect("the file"), b"worth keeping");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
}

/// All sums of the 2 KiB circuit, inputs first: from the reference's rows.
fn sums_of_reference(tau: &Fr) -> Sums {
    let size = SectorSize::KiB2;
    let dimensions = Dimensions::of(size);
    let mut columns = Columns::new(dimensions, tau).expect("tau is random");
    let mut stream = RowStream::new(&mut columns);
    synthesize_blank(size, &mut stream).expect("the reference synthesizes");
    assert_eq!(stream.dimensions(), dimensions);
    columns.finish()
}

#[test]
fn the_templates_sums_are_those_of_the_references_rows() {
    let size = SectorSize::KiB2;
    let tau = Fr::random(ChaCha20Rng::seed_from_u64(9));
    let lagrange = Lagrange::new(&tau, Dimensions::of(size).log_n()).expect("tau is random");
    let template = Template::record(size, Matrices::Abc);
    let mut challenges = Sums::zeros(0);
    let mut prologue = None;
    let mut parts = Vec::new();
    let mut inputs = CircuitColumns::new(&template)
        .sums(&lagrange, |part, sums| {
            parts.push(part);
            match part {
                Part::Prologue => prologue = Some(sums),
                Part::Challenge(_) => challenges.append(sums),
            }
            Ok::<_, SetupError>(())
        })
        .expect("nothing fails");
    assert_eq!(parts, [Part::Challenge(0), Part::Challenge(1), Part::Prologue]);
    inputs.append(prologue.expect("the prologue came"));
    inputs.append(challenges);
    assert!(inputs == sums_of_reference(&tau));
}

#[test]
fn a_full_disk_is_told_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let counts = Counts { inputs: 1, queries: [u32::MAX; 5] };
    let error = require_room(folder.path(), &Layout::new(counts)).expect_err("2 TB");
    let SetupError::NoRoom { needed_bytes, free_bytes, .. } = error else { panic!("{error}") };
    assert!(needed_bytes > 2 << 40 && free_bytes < needed_bytes);
    require_room(folder.path(), &Layout::new(Counts { inputs: 1, queries: [1; 5] })).expect("room");
}

#[test]
fn a_write_that_fails_ends_the_run_with_its_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let counts = Counts { inputs: 1, queries: [1 << 17, 1, 1, 1, 1] };
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    let set = PendingSet::create(&files, counts).expect("files");
    let multiples = CpuMultiples::new([1, 1]);
    let layout = Layout::new(counts);
    let mut writer = Writer::new(&set.params, layout, &multiples, &Silent).expect("a writer");
    let zeros = Arc::new(vec![Fr::ZERO; 1 << 17]);
    let error = writer
        .run(phase_of("setup-h", &counts, &[Query::H]), |queue| queue.list(Query::H, 0, &zeros))
        .expect_err("infinity has no place in the file");
    assert!(matches!(error, SetupError::Infinity { query: Query::H, .. }), "{error}");
    let ones = Arc::new(vec![Fr::ONE; 3]);
    writer
        .run(phase_of("setup-h", &counts, &[Query::H]), |queue| queue.list(Query::H, 5, &ones))
        .expect("the writer goes on");
}

#[test]
fn the_memory_plan_is_near_what_was_measured() {
    let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let planned = |size, on_gpu| two_threads.install(|| memory_bytes(size, on_gpu));
    // Measured at 2 KiB on the CPU, two threads: 527 MiB.
    let small = planned(SectorSize::KiB2, false);
    assert!((527 << 20..790 << 20).contains(&small), "{small}");
    // One challenge's matrices and two challenges' sums, not the circuit's 17 GB.
    let large = planned(SectorSize::GiB64, true);
    assert!((2 << 30..4 << 30).contains(&large), "{large}");
}

#[test]
fn a_seed_always_gives_the_same_trapdoor_and_no_seed_never_the_same() {
    assert!(Trapdoor::from_seed(1) == Trapdoor::from_seed(1));
    assert!(Trapdoor::from_seed(1) != Trapdoor::from_seed(2));
    assert!(Trapdoor::random() != Trapdoor::random());
}
