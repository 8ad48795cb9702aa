//! `prove sample`, the real binary: what it writes, and what it refuses.

use std::path::Path;
use std::process::{Command, Output};

use prove::c1::{self, GivenIds, Shape};

fn prove(folder: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prove"))
        .arg("sample")
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("the binary starts")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn written(folder: &Path, words: &str) -> Vec<u8> {
    let output = prove(folder, &format!("{words} --out c1.json"));
    assert!(output.status.success(), "{words}: {}", errors(&output));
    assert!(output.stdout.is_empty(), "standard output is for data");
    std::fs::read(folder.join("c1.json")).expect("the C1 was written")
}

#[test]
fn a_sample_is_the_c1_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("folder");
    let folder = folder.path();
    let file = written(folder, "--sector-size 2KiB --quiet");
    let read = c1::read(&file, &GivenIds::default()).expect("a C1 file");
    assert_eq!((read.shape, read.ids.miner_id()), (Shape::Base64, Some(1000)));
    assert_eq!(read.sector.registered_proof.to_string(), "StackedDrg2KiBV1_1");
    assert_eq!((read.sector.ticket, read.sector.seed), ([1; 32], [1; 32]));

    let words = "--registered-proof StackedDrg8MiBV1 --shape S3 --data tiled --seed 7 \
                 --miner-id t0777 --sector-num 5";
    let file = written(folder, words);
    let given = GivenIds { miner_id: Some(777), sector_num: Some(5), ..GivenIds::default() };
    let read = c1::read(&file, &given).expect("a C1 file of these ids");
    assert_eq!(read.shape, Shape::Bare);
    assert_eq!(read.sector.registered_proof.to_string(), "StackedDrg8MiBV1");
    assert_eq!(written(folder, words), file, "equal options give equal files");

    let output = prove(folder, "--sector-size 2KiB --out - --quiet");
    c1::read(&output.stdout, &GivenIds::default()).expect("a C1 on standard output");
}

#[test]
fn a_porep_id_of_ones_own_is_the_graphs() {
    let folder = tempfile::tempdir().expect("folder");
    let porep_id = [9; 32];
    let words = format!("--sector-size 2KiB --porep-id {}", hex::encode(porep_id));
    let file = written(folder.path(), &words);
    c1::read(&file, &GivenIds::default()).expect_err("not the network's graph");
    let given = GivenIds { porep_id: Some(porep_id), ..GivenIds::default() };
    assert_eq!(c1::read(&file, &given).expect("its own graph").sector.porep_id, porep_id);
}

#[test]
fn what_makes_no_sample_is_a_usage_error() {
    let folder = tempfile::tempdir().expect("folder");
    for (words, message) in [
        ("--registered-proof StackedDrg2KiBV1_1_Feat_SyntheticPoRep", "follow from comm_r"),
        ("--registered-proof StackedDrg32GiBV1_2_Feat_NonInteractivePoRep", "follow from comm_r"),
        ("--registered-proof StackedDrg2KiBV1 --sector-size 8MiB", "`StackedDrg2KiBV1`"),
        ("--sector-size 3KiB", "expected one of 2KiB"),
        ("--sector-size 2KiB --data ones", "tiled"),
        ("--sector-size 2KiB --shape S2", "S3"),
        ("", "--sector-size"),
    ] {
        let output = prove(folder.path(), &format!("{words} --out c1.json"));
        assert_eq!(output.status.code(), Some(2), "{words}: {}", errors(&output));
        assert!(errors(&output).contains(message), "{words}: {}", errors(&output));
    }
    assert_eq!(prove(folder.path(), "--sector-size 2KiB").status.code(), Some(2), "no --out");
    let twice = prove(folder.path(), "--sector-size 2KiB --out - --json -");
    assert_eq!(twice.status.code(), Some(2), "standard output is given away once");
    assert_eq!(prove(folder.path(), "--sector-size 2KiB --out .").status.code(), Some(1));
    assert!(std::fs::read_dir(folder.path()).expect("folder").next().is_none(), "nothing is left");
}
