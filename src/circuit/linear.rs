//! Linear combinations as bellperson keeps them, over a choice of storage.
//!
//! Source: `bellpepper-core` 0.2 `lc.rs`: inputs and aux apart, each a list sorted by variable, and
//! the place of the last insertion remembered, because variables mostly come in order.

use blstrs::Scalar as Fr;
use ff::Field;
use smallvec::SmallVec;

/// A variable's number and its coefficient.
pub type Entry = (usize, Fr);

/// A list of entries.
pub trait Storage: Clone + Default {
    /// The entries.
    fn entries(&self) -> &[Entry];
    /// The entries, to change.
    fn entries_mut(&mut self) -> &mut [Entry];
    /// Puts an entry at `place`, moving later ones.
    fn insert(&mut self, place: usize, entry: Entry);
}

impl Storage for Vec<Entry> {
    fn entries(&self) -> &[Entry] {
        self
    }

    fn entries_mut(&mut self) -> &mut [Entry] {
        self
    }

    fn insert(&mut self, place: usize, entry: Entry) {
        if place == self.len() { self.push(entry) } else { self.insert(place, entry) }
    }
}

impl<const N: usize> Storage for SmallVec<[Entry; N]>
where
    [Entry; N]: smallvec::Array<Item = Entry>,
{
    fn entries(&self) -> &[Entry] {
        self
    }

    fn entries_mut(&mut self) -> &mut [Entry] {
        self
    }

    fn insert(&mut self, place: usize, entry: Entry) {
        if place == self.len() { self.push(entry) } else { self.insert(place, entry) }
    }
}

/// Entries sorted by variable, each variable once.
#[derive(Clone, Debug, Default)]
struct Sorted<S> {
    list: S,
    /// Place and variable of the last insertion.
    last: Option<(usize, usize)>,
}

impl<S: Storage> Sorted<S> {
    fn add(&mut self, variable: usize, coefficient: Fr) {
        if let Some((place, last)) = self.last {
            if last == variable {
                self.list.entries_mut()[place].1 += coefficient;
                return;
            }
            if last + 1 == variable {
                let place = place + 1;
                match self.list.entries_mut().get_mut(place) {
                    Some(entry) if entry.0 == variable => entry.1 += coefficient,
                    _ => self.insert(place, variable, coefficient),
                }
                return;
            }
        }
        match self.list.entries().binary_search_by_key(&variable, |entry| entry.0) {
            Ok(place) => self.list.entries_mut()[place].1 += coefficient,
            Err(place) => self.insert(place, variable, coefficient),
        }
    }

    fn insert(&mut self, place: usize, variable: usize, coefficient: Fr) {
        self.list.insert(place, (variable, coefficient));
        self.last = Some((place, variable));
    }
}

/// A variable as bellperson numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// A public input; 0 is ONE.
    Input(usize),
    /// A private variable.
    Aux(usize),
}

/// A linear combination of variables.
#[derive(Clone, Debug, Default)]
pub struct LinearCombination<S> {
    inputs: Sorted<S>,
    aux: Sorted<S>,
}

impl<S: Storage> LinearCombination<S> {
    /// This combination plus a term; by value, as bellperson's operators are.
    #[must_use]
    pub fn plus(mut self, (index, coefficient): (Index, Fr)) -> Self {
        match index {
            Index::Input(i) => self.inputs.add(i, coefficient),
            Index::Aux(i) => self.aux.add(i, coefficient),
        }
        self
    }

    /// This combination plus another times `factor`.
    #[must_use]
    pub fn plus_scaled(mut self, factor: Fr, other: &Self) -> Self {
        for &(i, coefficient) in other.inputs.list.entries() {
            self.inputs.add(i, coefficient * factor);
        }
        for &(i, coefficient) in other.aux.list.entries() {
            self.aux.add(i, coefficient * factor);
        }
        self
    }

    /// Its value; `seen` hears every variable with a coefficient that is not zero.
    pub fn value(&self, inputs: &[Fr], aux: &[Fr], mut seen: impl FnMut(Index)) -> Fr {
        let mut sum = Fr::ZERO;
        let mut add = |coefficient: &Fr, value: &Fr| {
            if *coefficient == Fr::ONE { sum += value } else { sum += value * coefficient }
        };
        for (i, coefficient) in self.inputs.list.entries() {
            if !coefficient.is_zero_vartime() {
                add(coefficient, &inputs[*i]);
                seen(Index::Input(*i));
            }
        }
        for (i, coefficient) in self.aux.list.entries() {
            if !coefficient.is_zero_vartime() {
                add(coefficient, &aux[*i]);
                seen(Index::Aux(*i));
            }
        }
        sum
    }
}
