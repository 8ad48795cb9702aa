//! Parses the command line, runs the command, exits with its code.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let started = Instant::now();
    prove::commands::main(std::env::args_os(), started).into()
}
