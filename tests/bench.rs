//! `prove bench`, the real binary: every body once at a small size, and what is refused.

mod common;

use std::process::{Command, Output};

use common::insecure::insecure_2kib;
use serde_json::Value;

fn bench(words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prove"))
        .arg("bench")
        .args(words.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // The same on machines with a card.
        .env("BELLMAN_NO_GPU", "1")
        .output()
        .expect("the binary starts")
}

/// The report of a bench of `iterations` runs an arm.
fn report(words: &str, iterations: usize) -> Value {
    let output = bench(&format!("{words} --iterations {iterations} --no-warm-up --json -"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {errors}");
    assert!(errors.contains("median ms"), "the table is shown: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["schema"], 1);
    assert_eq!(report["device"]["kind"], "cpu");
    for key in ["version", "git"] {
        assert!(!report[key].as_str().expect(key).is_empty(), "{key}");
    }
    for arm in report["arms"].as_array().expect("arms") {
        let samples = arm["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), iterations, "{words}");
        for sample in samples {
            assert!(sample["ms"].as_f64().expect("a time") > 0.0);
            assert!(sample["items_per_second"].as_f64().expect("a rate") > 0.0);
        }
        let (min, max) = (&arm["ms"]["min"], &arm["ms"]["max"]);
        assert!(min.as_f64().expect("a time") <= max.as_f64().expect("a time"));
    }
    report
}

fn labels(report: &Value) -> Vec<&str> {
    let arms = report["arms"].as_array().expect("arms");
    arms.iter().map(|arm| arm["arm"].as_str().expect("a label")).collect()
}

#[test]
fn synthesis_is_compared_in_one_command() {
    let words = "synth testdata/c1-2KiB.json --variant lc=vec,smallvec1 --variant presize=off,on";
    let report = report(words, 2);
    assert_eq!(
        labels(&report),
        [
            "lc=vec presize=off",
            "lc=vec presize=on",
            "lc=smallvec1 presize=off",
            "lc=smallvec1 presize=on"
        ]
    );
    let ratio = &report["arms"][0]["ratio_to_baseline"];
    assert_eq!((&ratio["min"], &ratio["max"]), (&Value::from(1.0), &Value::from(1.0)));
    let sample = &report["arms"][0]["samples"][0];
    assert_eq!(sample["items"], 2_687_961);
    assert!(sample["minor_faults"].as_u64().expect("a count") > 0);
    assert_eq!(sample["counters"].is_null(), !report["counters_missing"].is_null());
}

#[test]
fn compact_synthesis_and_rows_are_measured() {
    let synth = report("synth testdata/c1-2KiB-ni.json --partition 12", 1);
    assert_eq!(labels(&synth), ["default"]);
    let rows = report("rows testdata/c1-2KiB.json", 1);
    assert_eq!(rows["unit"], "rows");
    assert_eq!((&rows["sector_size"], &rows["partition"]), (&2048.into(), &0.into()));
    assert_eq!(synth["partition"], 12);
    assert_eq!(synth["arms"][0]["variants"]["synth"], "compact");
}

#[test]
fn transforms_and_sums_run_beside_bellpersons() {
    for words in ["ntt --log-n 12", "msm --log-n 10"] {
        assert_eq!(labels(&report(words, 1)), ["prover=native", "prover=bellperson"], "{words}");
    }
    assert_eq!(report("ntt --log-n 12", 1)["log_n"], 12);
    let windows = report("msm --log-n 10 --variant window=auto,8", 1);
    assert_eq!(labels(&windows), ["window=auto", "window=8"]);
    assert_eq!(windows["arms"][1]["variants"]["window.h"], "8");
}

#[test]
fn whole_proofs_are_compared() {
    let params = insecure_2kib();
    let params = params.to_str().expect("a path in UTF-8");
    let words =
        format!("prove testdata/c1-2KiB.json --params {params} --variant g2=parallel,serial");
    assert_eq!(labels(&report(&words, 1)), ["g2=parallel", "g2=serial"]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let params = insecure_2kib();
    let prove = format!("prove testdata/c1-2KiB.json --device gpu --params {}", params.display());
    for (words, code, part) in [
        ("synth testdata/c1-2KiB.json --partition 1", 2, "--partition"),
        ("synth testdata/c1-2KiB.json --variant g2=serial", 2, "no effect"),
        ("rows testdata/c1-2KiB.json --variant lc=vec", 2, "no effect"),
        ("ntt --log-n 28", 2, "--log-n"),
        ("msm --iterations 0", 2, "iterations"),
        ("synth no/such/file", 1, "no/such/file"),
        ("ntt --log-n 27 --ram 1GiB", 6, "--ram"),
        ("msm --log-n 20 --ram 256MiB", 6, "--ram"),
        ("rows testdata/c1-2KiB.json --ram 128MiB", 6, "--ram"),
        ("synth testdata/c1-2KiB.json --variant synth=classic --ram 256MiB", 6, "--ram"),
        ("prove testdata/c1-2KiB.json --device gpu --params no/folder", 4, "no/folder"),
        ("rows no/such/file --device gpu", 1, "no/such/file"),
        (&prove, 5, "no usable GPU"),
    ] {
        let output = bench(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {errors}");
        assert!(errors.contains(part), "{words}: {errors}");
        assert!(output.stdout.is_empty(), "{words}");
    }
}
