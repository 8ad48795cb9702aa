//! The witness stage on sealed sectors: equal to the reference (`parity`), and what a wrong sector
//! is told (`faults`); on samples of production size, as a stream (`sample`, by `make
//! parity-full`).

#![expect(clippy::print_stdout, reason = "a long comparison says what it has compared")]

mod faults;
mod parity;
mod sample;
#[path = "../common/sectors.rs"]
mod sectors;
