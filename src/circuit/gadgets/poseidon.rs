//! Poseidon over the scalar field, with the variables and rows of the reference's legacy circuit.
//!
//! The permutation is the optimised form of the Poseidon paper (appendix B): round keys are
//! moved behind the S-boxes, and the partial rounds multiply by sparse matrices. Here it is written
//! once, over [`Element`]: values give the trace, linear combinations give the rows.
//!
//! An S-box x ↦ x^5 + key on a linear combination makes four variables, x, x^2, x^4 and the
//! result; on a variable (first round, where a key is added before too) three. The first element
//! is the constant domain tag and makes none in the first round.
//!
//! Source: `neptune` 11 `circuit.rs` (`poseidon_hash`), standard strength.

use std::sync::LazyLock;

use blstrs::Scalar as Fr;
use ff::Field;
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};
use neptune::Arity;
use neptune::poseidon::PoseidonConstants;

use crate::circuit::{Interpretation, Num, Term, Variable};
use crate::limbs::{Limbs, Products, element, limbs, multiply};

/// The constants of one arity, columns of matrices as the linear layers use them.
struct Constants {
    width: usize,
    half_full_rounds: usize,
    partial_rounds: usize,
    /// (tag + key)^5 + key: the first element after the first S-box layer.
    first: Limbs,
    /// Keys added before the first S-box layer, one per element.
    pre_keys: Vec<Limbs>,
    /// Keys added behind S-boxes: `width` per full round but the last, one per partial round.
    post_keys: Vec<Limbs>,
    /// Columns of the MDS matrix.
    mds: Vec<Vec<Limbs>>,
    /// Columns of the matrix of the last full round before the partial rounds.
    pre_sparse: Vec<Vec<Limbs>>,
    /// Per partial round, the first column and the rest of the first row; else the identity.
    sparse: Vec<(Vec<Limbs>, Vec<Limbs>)>,
}

impl Constants {
    fn new<A: Arity<Fr>>(reference: &PoseidonConstants<Fr, A>) -> Self {
        let width = reference.width();
        let columns = |matrix: &[Vec<Fr>]| -> Vec<Vec<Limbs>> {
            (0..width).map(|j| matrix.iter().map(|row| limbs(&row[j])).collect()).collect()
        };
        let all = |values: &[Fr]| -> Vec<Limbs> { values.iter().map(limbs).collect() };
        let (pre_keys, post_keys) = reference.compressed_round_constants.split_at(width);
        let sparse = reference.sparse_matrixes.iter();
        Self {
            width,
            half_full_rounds: reference.half_full_rounds,
            partial_rounds: reference.partial_rounds,
            first: limbs(&((reference.domain_tag + pre_keys[0]).pow_vartime([5]) + post_keys[0])),
            pre_keys: all(pre_keys),
            post_keys: all(post_keys),
            mds: columns(&reference.mds_matrices.m),
            pre_sparse: columns(&reference.pre_sparse_matrix),
            sparse: sparse.map(|matrix| (all(&matrix.w_hat), all(&matrix.v_rest))).collect(),
        }
    }

    /// The constants of an arity that the circuit uses.
    fn of(arity: usize) -> &'static Self {
        static BINARY: LazyLock<Constants> =
            LazyLock::new(|| Constants::new(&*POSEIDON_CONSTANTS_2));
        static OCT: LazyLock<Constants> = LazyLock::new(|| Constants::new(&*POSEIDON_CONSTANTS_8));
        static COLUMN: LazyLock<Constants> =
            LazyLock::new(|| Constants::new(&*POSEIDON_CONSTANTS_11));
        match arity {
            2 => &BINARY,
            8 => &OCT,
            11 => &COLUMN,
            _ => panic!("Poseidon is used with arity 2, 8 and 11, got {arity}"),
        }
    }

    /// Variables of one permutation: see the module's text; and one for the result.
    fn variables(&self) -> usize {
        let full = 2 * self.half_full_rounds - 1;
        3 * (self.width - 1) + 4 * (full * self.width + self.partial_rounds) + 1
    }
}

/// What the linear layers work on.
trait Element: Clone {
    fn constant(value: &Limbs) -> Self;
    /// Σ elements_i · factors_i.
    fn dot(elements: &[Self], factors: &[Limbs]) -> Self;
    /// Adds `factor` · `other`.
    fn add_scaled(&mut self, other: &Self, factor: &Limbs);
}

/// Where S-boxes and the result go.
trait Trace<E> {
    /// (x + pre)^5 + post, on a variable.
    fn first_s_box(&mut self, x: &E, pre: &Limbs, post: &Limbs) -> E;
    /// x^5 + post, on a linear combination.
    fn s_box(&mut self, x: &E, post: Option<&Limbs>) -> E;
    /// The permutation's output.
    fn result(&mut self, x: &E);
}

/// The permutation of `inputs` (arity of them), the tag in front.
fn permute<E: Element>(constants: &Constants, inputs: &[E], trace: &mut impl Trace<E>) {
    let width = constants.width;
    let multiply = |state: &mut Vec<E>, columns: &[Vec<Limbs>]| {
        *state = columns.iter().map(|column| E::dot(state, column)).collect();
    };
    let mut keys = constants.post_keys[width..].iter();
    let half = constants.half_full_rounds;

    let mut state = vec![E::constant(&constants.first)];
    state.extend(inputs.iter().enumerate().map(|(i, input)| {
        trace.first_s_box(input, &constants.pre_keys[i + 1], &constants.post_keys[i + 1])
    }));
    multiply(&mut state, &constants.mds);
    for round in 1..half {
        for x in &mut state {
            *x = trace.s_box(x, keys.next());
        }
        let last = round == half - 1;
        multiply(&mut state, if last { &constants.pre_sparse } else { &constants.mds });
    }
    for (column, row) in &constants.sparse {
        let x = trace.s_box(&state[0], keys.next());
        state[0] = x.clone();
        let mixed = E::dot(&state, column);
        for (y, factor) in state[1..].iter_mut().zip(row) {
            y.add_scaled(&x, factor);
        }
        state[0] = mixed;
    }
    for round in 1..=half {
        for x in &mut state {
            *x = trace.s_box(x, keys.next());
        }
        if round < half {
            multiply(&mut state, &constants.mds);
        }
    }
    // The output is the second element; nobody needs the others.
    trace.result(&E::dot(&state, &constants.mds[1]));
}

impl Element for Limbs {
    fn constant(value: &Limbs) -> Self {
        *value
    }

    #[inline]
    fn dot(elements: &[Self], factors: &[Limbs]) -> Self {
        let mut sum = Products::default();
        elements.iter().zip(factors).for_each(|(element, factor)| sum.add(element, factor));
        sum.reduce()
    }

    #[inline]
    fn add_scaled(&mut self, other: &Self, factor: &Limbs) {
        let mut sum = Products::default();
        sum.add(other, factor);
        sum.add_element(self);
        *self = sum.reduce();
    }
}

/// The values of a permutation's variables, in order.
struct Values(Vec<Fr>);

impl Values {
    fn fifth_power(&mut self, x: &Limbs, post: Option<&Limbs>) -> Limbs {
        let square = multiply(x, x);
        let fourth = multiply(&square, &square);
        let mut result = Products::default();
        result.add(&fourth, x);
        if let Some(key) = post {
            result.add_element(key);
        }
        let result = result.reduce();
        self.0.extend([square, fourth, result].map(element));
        result
    }
}

impl Trace<Limbs> for Values {
    fn first_s_box(&mut self, x: &Limbs, pre: &Limbs, post: &Limbs) -> Limbs {
        let sum = limbs(&(element(*x) + element(*pre)));
        self.fifth_power(&sum, Some(post))
    }

    fn s_box(&mut self, x: &Limbs, post: Option<&Limbs>) -> Limbs {
        self.0.push(element(*x));
        self.fifth_power(x, post)
    }

    fn result(&mut self, x: &Limbs) {
        self.0.push(element(*x));
    }
}

/// A variable of one permutation: 0 is ONE, then the inputs, then the variables it makes.
type Local = u16;
/// A linear combination over [`Local`] variables, each once.
type Linear = Vec<(Local, Fr)>;

const ONE: Local = 0;

impl Element for Linear {
    fn constant(value: &Limbs) -> Self {
        vec![(ONE, element(*value))]
    }

    fn dot(elements: &[Self], factors: &[Limbs]) -> Self {
        let mut sum = Self::new();
        elements.iter().zip(factors).for_each(|(element, factor)| sum.add_scaled(element, factor));
        sum
    }

    fn add_scaled(&mut self, other: &Self, factor: &Limbs) {
        let factor = element(*factor);
        for &(variable, coefficient) in other {
            let product = coefficient * factor;
            match self.iter_mut().find(|(known, _)| *known == variable) {
                Some((_, sum)) => *sum += product,
                None => self.push((variable, product)),
            }
        }
    }
}

/// A row over [`Local`] variables.
struct LocalRow {
    a: Vec<Term<Local>>,
    b: Vec<Term<Local>>,
    c: Vec<Term<Local>>,
}

/// Writes the rows of a permutation down, its coefficients in the table of `cs`.
struct Rows<'cs, I> {
    cs: &'cs mut I,
    rows: Vec<LocalRow>,
    next: Local,
}

impl<I: Interpretation> Rows<'_, I> {
    fn variable(&mut self) -> Local {
        self.next += 1;
        self.next - 1
    }

    fn row(&mut self, [a, b, c]: [&Linear; 3]) {
        let mut terms = |linear: &Linear| {
            linear.iter().map(|&(local, value)| (local, self.cs.coefficient(value))).collect()
        };
        let row = LocalRow { a: terms(a), b: terms(b), c: terms(c) };
        self.rows.push(row);
    }

    /// Makes `x` a variable: the row x · 1 = variable.
    fn allocate(&mut self, x: &Linear) -> Linear {
        let variable = vec![(self.variable(), Fr::ONE)];
        self.row([x, &vec![(ONE, Fr::ONE)], &variable]);
        variable
    }

    /// The rows x · x = square, square · square = fourth, x · fourth = result - post.
    fn fifth_power(&mut self, x: &Linear, post: Option<&Limbs>) -> Linear {
        let [square, fourth, result] = [(); 3].map(|()| vec![(self.variable(), Fr::ONE)]);
        self.row([x, x, &square]);
        self.row([&square, &square, &fourth]);
        let mut product = result.clone();
        product.extend(post.map(|key| (ONE, -element(*key))));
        self.row([x, &fourth, &product]);
        result
    }
}

impl<I: Interpretation> Trace<Linear> for Rows<'_, I> {
    fn first_s_box(&mut self, x: &Linear, pre: &Limbs, post: &Limbs) -> Linear {
        let sum: Linear = x.iter().copied().chain([(ONE, element(*pre))]).collect();
        self.fifth_power(&sum, Some(post))
    }

    fn s_box(&mut self, x: &Linear, post: Option<&Limbs>) -> Linear {
        let x = self.allocate(x);
        self.fifth_power(&x, post)
    }

    fn result(&mut self, x: &Linear) {
        self.allocate(x);
    }
}

/// The Poseidon hash of one arity.
pub struct Poseidon {
    constants: &'static Constants,
    rows: Vec<LocalRow>,
}

impl Poseidon {
    /// The hash of `arity` numbers: 2, 8 or 11.
    ///
    /// # Panics
    /// For any other arity.
    pub fn new<I: Interpretation>(arity: usize, cs: &mut I) -> Self {
        let constants = Constants::of(arity);
        if !cs.wants_rows() {
            return Self { constants, rows: Vec::new() };
        }
        let inputs: Vec<Linear> = (1..=arity).map(|i| vec![(i as Local, Fr::ONE)]).collect();
        let mut trace = Rows { cs, rows: Vec::new(), next: arity as Local + 1 };
        permute(constants, &inputs, &mut trace);
        let rows = trace.rows;
        Self { constants, rows }
    }

    /// The hash of `inputs`, as many as the arity.
    pub fn hash<I: Interpretation>(&self, cs: &mut I, inputs: &[Num<I::Var>]) -> Num<I::Var> {
        assert_eq!(inputs.len() + 1, self.constants.width, "inputs of the arity");
        let mut values = Values(Vec::with_capacity(self.constants.variables()));
        let preimage: Vec<Limbs> = inputs.iter().map(|input| limbs(&input.value)).collect();
        permute(self.constants, &preimage, &mut values);
        let first = cs.full(&values.0);
        let last = values.0.len() - 1;
        if cs.wants_rows() {
            self.stamp(cs, inputs, first);
        }
        Num { value: values.0[last], var: first.nth(last) }
    }

    /// The permutation's rows over the circuit's variables.
    fn stamp<I: Interpretation>(&self, cs: &mut I, inputs: &[Num<I::Var>], first: I::Var) {
        let one = cs.one();
        let variable = |local: Local| match usize::from(local) {
            0 => one,
            i if i <= inputs.len() => inputs[i - 1].var,
            i => first.nth(i - 1 - inputs.len()),
        };
        let mut buffers = [(); 3].map(|()| Vec::new());
        for row in &self.rows {
            for (buffer, terms) in buffers.iter_mut().zip([&row.a, &row.b, &row.c]) {
                buffer.clear();
                buffer.extend(terms.iter().map(|&(local, factor)| (variable(local), factor)));
            }
            let [a, b, c] = &buffers;
            cs.row(a, b, c);
        }
    }
}

#[cfg(test)]
mod tests {
    use filecoin_hashers::poseidon::PoseidonHasher;
    use filecoin_hashers::{HashFunction, Hasher};
    use neptune::poseidon::Poseidon as Neptune;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::circuit::gadgets::values::Values as Sink;

    fn ours(inputs: &[Fr]) -> Fr {
        let mut cs = Sink;
        let inputs: Vec<_> = inputs.iter().map(|&value| Num { value, var: () }).collect();
        Poseidon::new(inputs.len(), &mut cs).hash(&mut cs, &inputs).value
    }

    #[test]
    fn hashes_are_those_of_neptune() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for round in 0..20 {
            let mut random = |count: usize| -> Vec<Fr> {
                let hostile = [Fr::ZERO, Fr::ONE, -Fr::ONE];
                (0..count)
                    .map(
                        |i| if round < 3 { hostile[(round + i) % 3] } else { Fr::random(&mut rng) },
                    )
                    .collect()
            };
            let two = random(2);
            let domain =
                <PoseidonHasher as Hasher>::Function::hash2(&two[0].into(), &two[1].into());
            assert_eq!(ours(&two), domain.into());
            let eight = random(8);
            let neptune = Neptune::new_with_preimage(&eight, &POSEIDON_CONSTANTS_8).hash();
            assert_eq!(ours(&eight), neptune);
            let eleven = random(11);
            let neptune = Neptune::new_with_preimage(&eleven, &POSEIDON_CONSTANTS_11).hash();
            assert_eq!(ours(&eleven), neptune);
        }
    }
}
