//! What `prove` makes of hostile input: over a hundred command lines that must fail well.
//!
//! Each must end with the right exit code and one clear message, leave every file as it was, write
//! nothing to standard output, not panic, and take less than a second. The tables:
//! [`hostile::c1`], [`hostile::c1_values`] and [`hostile::bit_flips`] faults of C1 files,
//! [`hostile::parameters`] of parameter files, [`hostile::output`] of OUT, [`hostile::verify`] of
//! proofs, [`hostile::usage`] of the words typed, [`hostile::same_file`] of files named twice,
//! [`hostile::limits`] of what is asked for.

mod common;

mod hostile {
    pub mod bit_flips;
    pub mod c1;
    pub mod c1_values;
    pub mod case;
    pub mod edit;
    pub mod limits;
    pub mod output;
    pub mod parameters;
    pub mod same_file;
    pub mod usage;
    pub mod verify;
}

use std::time::Duration;

use common::binary::{Prove, tree};

#[test]
fn faults_of_c1_files_are_code_3() {
    hostile::case::check_all(hostile::c1::cases());
}

#[test]
fn wrong_values_in_c1_files_are_code_3() {
    hostile::case::check_all(hostile::c1_values::cases());
}

#[test]
fn flipped_bits_of_c1_files_are_code_3() {
    hostile::case::check_all(hostile::bit_flips::cases());
}

#[test]
fn faults_of_parameter_files_are_code_4() {
    hostile::case::check_all(hostile::parameters::cases());
}

#[test]
fn faults_of_out_are_code_1() {
    hostile::case::check_all(hostile::output::cases());
}

#[test]
fn faults_of_proofs_are_code_8() {
    hostile::case::check_all(hostile::verify::cases());
}

#[test]
fn faults_of_the_command_line_are_code_2() {
    hostile::case::check_all(hostile::usage::cases());
}

#[test]
fn files_named_twice_are_code_2() {
    hostile::case::check_all(hostile::same_file::cases());
}

#[test]
fn simulated_proofs_of_every_kind_verify() {
    hostile::verify::check_accepted();
}

#[test]
fn what_the_machine_has_not_has_codes_of_its_own() {
    hostile::case::check_all(hostile::limits::cases());
}

#[test]
fn what_prove_says_of_itself_is_data() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (words, says) in [
        ("--help", "130 143"),
        ("--version", "prove 0"),
        ("verify --help", "PROOF"),
        ("info", "cpu"),
        ("info --sector-size 32GiB", "130278541"),
        ("info --sector-size 34359738368", "130278541"),
        ("info --sector-size 32GiB --device gpu --vram 24GiB", "with streamed points: fits"),
        ("params list --params .", "47373928632"),
        ("params list --params no/folder", "absent"),
        ("params list --params no/folder --json -", "\"schema\": 1"),
        ("info --json -", "\"schema\": 1"),
        ("completions bash", "_prove"),
        ("man", ".TH prove 1"),
    ] {
        let run = Prove::new(folder.path(), words.split(' ')).run(Duration::from_secs(60));
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert!(run.code == 0 && stdout.contains(says), "{words}: expected `{says}` in {stdout}");
        assert!(run.stderr.is_empty(), "{words}: {run:#?}");
    }
    assert!(tree(folder.path()).is_empty(), "files were made");
}
