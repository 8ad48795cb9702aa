//! The PoRep circuit's parameters, from the template of a prologue and one challenge.

use std::sync::Arc;
use std::thread;

use blstrs::Scalar as Fr;

use super::columns::{Dimensions, Sums};
use super::lagrange::Lagrange;
use super::scalars::{Combination, Powers, Scalars};
use super::sections::{CircuitColumns, Part};
use super::trapdoor::Trapdoor;
use super::writer::{Queue, Writer};
use super::{SetupError, phase_of};
use crate::params::layout::{Counts, Query};
use crate::progress::{Phase, Progress};
use crate::r1cs::{self, Matrices, QueryMap, Template};
use crate::sector::SectorSize;
use crate::threads::joined;

/// Writes every array of the file and returns the scalars of the inputs (`ic`).
///
/// `h` needs nothing of the circuit, which is transposed meanwhile.
pub(super) fn write(
    size: SectorSize,
    trapdoor: &Trapdoor,
    writer: &mut Writer<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Fr>, SetupError> {
    let log_n = Dimensions::of(size).log_n();
    let lagrange = Lagrange::new(&trapdoor.tau, log_n).ok_or(SetupError::Tau)?;
    let n = 1_u64 << log_n;
    // Not on rayon's threads: the writer waits for its own, which may need those.
    let circuit = thread::scope(|scope| {
        let circuit =
            scope.spawn(|| progress.run(Phase::new("setup-circuit"), 0, |_| Circuit::new(size)));
        let phase = phase_of("setup-h", &Counts::of(size), &[Query::H]);
        writer.run(phase, |queue| queue.powers(Powers::new(trapdoor, n), n - 1))?;
        Ok::<_, SetupError>(joined(circuit.join()))
    })?;
    let phase = phase_of("setup-queries", &Counts::of(size), &Query::ALL[1..]);
    writer.run(phase, |queue| circuit.queue(&lagrange, trapdoor, queue))
}

/// Peak host memory of [`write`], without what the threads of the writer have.
///
/// The template while it is transposed, or its columns and two challenges' sums: those that are
/// being written and those that are being made.
pub(super) fn planned_bytes(size: SectorSize) -> u64 {
    let dimensions = Dimensions::of(size);
    let challenges = size.challenges_per_partition() as u64;
    let (rows, variables) =
        (dimensions.constraints as u64 / challenges, dimensions.aux as u64 / challenges);
    let template = Template::planned_bytes(size, Matrices::Abc);
    let columns = CircuitColumns::planned_bytes(template, variables);
    let numbers = 4 * variables;
    // Matrices are transposed side by side, each with the places that it fills next.
    let transposing = template + columns + numbers + 3 * 4 * variables;
    let summing = columns + 32 * rows + 2 * 96 * variables;
    transposing.max(summing)
}

/// The circuit by column, and where its variables are in the file.
struct Circuit {
    columns: CircuitColumns,
    l: QueryMap,
    a: QueryMap,
    b: QueryMap,
}

impl Circuit {
    fn new(size: SectorSize) -> Self {
        let template = Template::record(size, Matrices::Abc);
        let [l, a, b] =
            [r1cs::Query::L, r1cs::Query::A, r1cs::Query::B].map(|query| template.query(query));
        Self { columns: CircuitColumns::new(&template), l, a, b }
    }

    /// Hands all scalars but those of `h` to the writer; returns those of `ic`.
    fn queue(
        &self,
        lagrange: &Lagrange,
        trapdoor: &Trapdoor,
        queue: &Queue<'_>,
    ) -> Result<Vec<Fr>, SetupError> {
        let of_aux = Combination::of_aux(trapdoor);
        let inputs = self.columns.sums(lagrange, |part, sums| {
            let [(l, l_bases), (a, a_bases), (b, b_bases)] =
                [&self.l, &self.a, &self.b].map(|map| place(map, part));
            let scalars = of_aux.scalars(sums, self.a.input_bases + l)?;
            require(&scalars, [l_bases, a_bases, b_bases])?;
            queue.list(Query::L, l, &Arc::new(scalars.combined))?;
            queue.list(Query::A, a, &Arc::new(scalars.a))?;
            queue.list_b(b, scalars.b)
        })?;
        self.queue_inputs(inputs, trapdoor, queue)
    }

    fn queue_inputs(
        &self,
        sums: Sums,
        trapdoor: &Trapdoor,
        queue: &Queue<'_>,
    ) -> Result<Vec<Fr>, SetupError> {
        let scalars = Combination::of_inputs(trapdoor).scalars(sums, 0)?;
        require(&scalars, [self.a.input_bases, self.a.input_bases, self.b.input_bases])?;
        queue.list(Query::A, 0, &Arc::new(scalars.a))?;
        queue.list_b(0, scalars.b)?;
        Ok(scalars.combined)
    }
}

/// The first base of a part's aux variables, and how many they have.
fn place(map: &QueryMap, part: Part) -> (usize, usize) {
    match part {
        Part::Prologue => (map.prologue_base(), map.prologue.bases as usize),
        Part::Challenge(index) => (map.challenge_base(index), map.challenge.bases as usize),
    }
}

/// Checks that no sum vanished: there are `expected` scalars of `l` (or `ic`), `a` and `b`.
fn require(scalars: &Scalars, expected: [usize; 3]) -> Result<(), SetupError> {
    let got = [scalars.combined.len(), scalars.a.len(), scalars.b.len()];
    for ((query, expected), got) in
        [Query::L, Query::A, Query::BG1].into_iter().zip(expected).zip(got)
    {
        if got != expected {
            return Err(SetupError::Vanished { query, expected, got });
        }
    }
    Ok(())
}
