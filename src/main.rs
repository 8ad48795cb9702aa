//! Parses the command line, runs the command, prints the error chain, exits.

fn main() {}
