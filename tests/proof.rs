//! Whole runs of the binary: proofs that upstream's verifiers accept, and what interrupted, false
//! and undeliverable ones leave behind (nothing).

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::binary::{Prove, Run, tree};
use common::files::fixture;
use common::insecure::insecure_2kib;
use common::oracle::{Sector, vk_name_2kib};
use common::upstream::root;
use common::verifier::{compound_verify, verify_seal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// When a proof counts as hanging: bellperson needs about a minute on two quiet cores.
const LIMIT: Duration = Duration::from_secs(1800);
/// Held while a proof is made: several at once would need memory and time in proportion.
static ALONE: Mutex<()> = Mutex::new(());
/// Moments of interruption.
const MOMENTS: usize = 10;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("target/tmp exists")
}

/// `prove WORDS` with the insecure parameters.
fn prove(folder: &Path, words: &[&str]) -> Prove {
    let params = insecure_2kib();
    let params = params.to_str().expect("the repository's path is UTF-8");
    Prove::new(folder, ["--params", params].iter().chain(words))
}

/// Runs while no other test of this file does.
fn run_alone(prove: Prove) -> Run {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    prove.run(LIMIT)
}

fn check_upstream_accepts(name: &str, proof: &[u8]) {
    let params = insecure_2kib();
    let sector = Sector::fixture(name).expect(name);
    assert!(compound_verify(&sector, &params.join(vk_name_2kib()), proof).expect(name), "{name}");
    assert!(verify_seal(&sector, &params, proof).expect(name), "{name}");
}

fn check_prove_accepts(folder: &Path, name: &str, proof: &str) {
    fs::write(folder.join("in.json"), fixture(name)).expect("the folder is ours");
    let run = run_alone(prove(folder, &["verify", "in.json", proof]));
    assert_eq!(run.code, 0, "{run:#?}");
}

#[test]
fn the_demo_proof_replaces_out_and_upstream_accepts_it() {
    let folder = folder();
    fs::write(folder.path().join("in.json"), fixture("c1-2KiB.json")).expect("ours");
    fs::write(folder.path().join("out.proof"), "an older proof").expect("ours");
    let words = "in.json out.proof --json report.json --trace trace.json --check-vanilla";
    let words: Vec<&str> = words.split(' ').collect();
    let run = run_alone(prove(folder.path(), &words));
    assert_eq!(run.code, 0, "{run:#?}");
    assert!(run.stdout.is_empty(), "standard output is for data: {run:#?}");
    for part in ["insecure", "not representative below 32 GiB"] {
        assert!(run.stderr.contains(part), "expected `{part}` in {run:#?}");
    }
    let proof = fs::read(folder.path().join("out.proof")).expect("exit code 0");
    assert_eq!(proof.len(), 192);
    check_upstream_accepts("c1-2KiB.json", &proof);
    check_prove_accepts(folder.path(), "c1-2KiB-s6.json", "out.proof");
    check_report(&folder.path().join("report.json"), &proof);
    check_trace(&folder.path().join("trace.json"), &folder.path().join("report.json"));
    let left = tree(folder.path());
    let left: Vec<_> = left.keys().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(left, ["in.json", "out.proof", "report.json", "trace.json"]);
}

fn check_report(path: &Path, proof: &[u8]) {
    let report = fs::read(path).expect("exit code 0");
    let report: Value = serde_json::from_slice(&report).expect("the report is JSON");
    assert_eq!(report["registered_proof"], "StackedDrg2KiBV1_1", "{report:#}");
    assert_eq!(report["partitions"], 1, "{report:#}");
    assert_eq!(report["proof_bytes"], 192, "{report:#}");
    assert_eq!(report["proof_sha256"], hex::encode(Sha256::digest(proof)), "{report:#}");
    let phases = report["phases"].as_array().expect("a list of phases");
    let total_ms = report["total_ms"].as_f64().expect("a number");
    for phase in phases {
        let [start, ms] = ["start_ms", "ms"].map(|key| phase[key].as_f64().expect("a number"));
        assert!(start >= 0.0 && ms >= 0.0 && start + ms <= total_ms + 1.0, "{report:#}");
    }
    assert!(!phases.is_empty(), "{report:#}");
}

/// Every phase of the report is a complete event of the trace, and nothing else is.
fn check_trace(trace: &Path, report: &Path) {
    let json = |path| -> Value {
        serde_json::from_slice(&fs::read(path).expect("exit code 0")).expect("JSON")
    };
    let names = |list: &Value, key: &str, kept: fn(&Value) -> bool| {
        let list = list.as_array().expect("a list").iter().filter(|item| kept(item));
        let mut names: Vec<String> = list.map(|item| item[key].to_string()).collect();
        names.sort_unstable();
        names
    };
    let (trace, report) = (json(trace), json(report));
    let events = names(&trace["traceEvents"], "cat", |event| event["ph"] == "X");
    assert_eq!(events, names(&report["phases"], "name", |_| true), "{trace:#}");
    for event in trace["traceEvents"].as_array().expect("checked above") {
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event:#}");
    }
}

#[test]
fn proofs_go_through_pipes_as_bytes_and_as_text() {
    let folder = folder();
    let run = run_alone(prove(folder.path(), &["-", "-"]).stdin(&fixture("c1-2KiB-v1.json")));
    assert_eq!((run.code, run.stdout.len()), (0, 192), "{run:#?}");
    check_upstream_accepts("c1-2KiB-v1.json", &run.stdout);

    let words = ["--hex", "--quiet", "-", "-"];
    let run = run_alone(prove(folder.path(), &words).stdin(&fixture("c1-2KiB-synthetic.json")));
    assert_eq!((run.code, run.stdout.len()), (0, 2 * 192 + 1), "{run:#?}");
    let text = String::from_utf8(run.stdout).expect("hexadecimal");
    let proof = hex::decode(text.trim_end()).expect("hexadecimal");
    check_upstream_accepts("c1-2KiB-synthetic.json", &proof);
    fs::write(folder.path().join("out.hex"), text).expect("the folder is ours");
    check_prove_accepts(folder.path(), "c1-2KiB-synthetic.json", "out.hex");
    assert_eq!(tree(folder.path()).len(), 2, "pipes leave no files");
}

#[test]
fn a_non_interactive_sector_gives_13_proofs() {
    let folder = folder();
    fs::write(folder.path().join("in.json"), fixture("c1-2KiB-ni.json")).expect("ours");
    let run = run_alone(prove(folder.path(), &["in.json", "out.proof"]));
    assert_eq!(run.code, 0, "{run:#?}");
    assert!(run.stderr.contains("aggregate"), "the table says what they are: {run:#?}");
    let proof = fs::read(folder.path().join("out.proof")).expect("exit code 0");
    assert_eq!(proof.len(), 13 * 192);
    let sector = Sector::fixture("c1-2KiB-ni.json").expect("a fixture");
    let vk = insecure_2kib().join(vk_name_2kib());
    assert!(compound_verify(&sector, &vk, &proof).expect("upstream decides"));
    check_prove_accepts(folder.path(), "c1-2KiB-ni.json", "out.proof");
}

#[test]
fn proofs_by_upstream_verify() {
    let params = root().join("testdata/upstream");
    let words = |name: &str, proof: &str| {
        ["verify", "--params", "testdata/upstream", name, proof].map(|word| {
            if word.starts_with("c1-") { format!("testdata/{word}") } else { word.to_owned() }
        })
    };
    for name in ["c1-2KiB", "c1-2KiB-synthetic"] {
        let c1 = format!("{name}.json");
        let proof = params.join(name).with_extension("proof");
        let proof = proof.to_str().expect("the repository's path is UTF-8");
        let run = Prove::new(root(), words(&c1, proof)).run(LIMIT);
        assert_eq!(run.code, 0, "{run:#?}");
        let run = Prove::new(root(), words("c1-2KiB-v1.json", proof)).run(LIMIT);
        assert_eq!(run.code, 8, "{run:#?}");
    }
}

#[test]
fn a_full_device_is_code_1() {
    let folder = folder();
    fs::write(folder.path().join("in.json"), fixture("c1-2KiB.json")).expect("ours");
    let mut shell = Command::new("sh");
    let script = "\"$0\" --quiet --params \"$1\" in.json - > /dev/full";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_prove")]).arg(insecure_2kib());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = shell.current_dir(folder.path()).output().expect("there is a shell");
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{stderr}");
    assert!(stderr.contains("No space left"), "{stderr}");
}

#[test]
fn a_report_that_fails_after_the_proof_leaves_it_and_says_so() {
    let folder = folder();
    fs::write(folder.path().join("in.json"), fixture("c1-2KiB.json")).expect("ours");
    let mut shell = Command::new("sh");
    let script = "\"$0\" --quiet --params \"$1\" in.json out.proof --json - > /dev/full";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_prove")]).arg(insecure_2kib());
    let output = {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        shell.current_dir(folder.path()).output().expect("there is a shell")
    };
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for part in ["error: the output `out.proof` is complete", "No space left"] {
        assert!(stderr.contains(part), "expected `{part}` in {stderr}");
    }
    check_prove_accepts(folder.path(), "c1-2KiB.json", "out.proof");
}

#[test]
fn a_false_witness_is_proved_twice_and_refused() {
    let folder = folder();
    let mut c1: Value = serde_json::from_slice(&fixture("c1-2KiB-s3.json")).expect("JSON");
    let sibling = "/vanilla_proofs/StackedDrg2KiBV1/0/1/comm_r_last_proof/data/Single/path/path/1\
                   /hashes/0/0";
    let byte = c1.pointer_mut(sibling).expect("a byte of the file");
    *byte = (byte.as_u64().expect("a byte") ^ 1).into();
    fs::write(folder.path().join("in.json"), c1.to_string()).expect("ours");
    fs::write(folder.path().join("out.proof"), "an older proof").expect("ours");
    let before = tree(folder.path());

    let run = run_alone(prove(folder.path(), &["--check-vanilla", "in.json", "out.proof"]));
    assert_eq!(run.code, 3, "{run:#?}");
    for part in ["partition 0", "challenge 1", "comm_r_last"] {
        assert!(run.error().contains(part), "expected `{part}` in {run:#?}");
    }
    // Our own synthesis checks what the circuit enforces.
    let run = run_alone(prove(folder.path(), &["in.json", "out.proof"]));
    assert_eq!(run.code, 3, "{run:#?}");
    for part in ["partition 0", "challenge 1", "comm_r_last"] {
        assert!(run.error().contains(part), "expected `{part}` in {run:#?}");
    }
    // The reference circuit synthesizes a false witness without a word; verification finds it.
    let words = ["--variant", "synth=reference", "in.json", "out.proof"];
    let run = run_alone(prove(folder.path(), &words));
    assert_eq!(run.code, 8, "{run:#?}");
    assert!(run.error().contains("partition"), "{run:#?}");
    assert!(tree(folder.path()) == before, "files changed: {run:#?}");
}

fn report_in(folder: &Path) -> Value {
    let report = fs::read(folder.join("report.json")).expect("a report");
    serde_json::from_slice(&report).expect("JSON")
}

fn batch_codes(report: &Value) -> Vec<u64> {
    let rows = report["proofs"].as_array().expect("a row a C1");
    rows.iter().map(|row| row["exit_code"].as_u64().expect("a code")).collect()
}

#[test]
fn a_batch_proves_what_it_can_until_something_common_fails() {
    let folder = folder();
    for (name, bytes) in [
        ("a.json", fixture("c1-2KiB.json")),
        ("bad.json", b"{\"Phase1Out\": 7}".to_vec()),
        ("b.json", fixture("c1-2KiB-v1.json")),
    ] {
        fs::write(folder.path().join(name), bytes).expect("ours");
    }
    let words = "batch --out-dir proofs/new --json report.json a.json bad.json no.json b.json";
    let words: Vec<&str> = words.split(' ').collect();
    let run = run_alone(prove(folder.path(), &words));
    assert_eq!(run.code, 10, "{run:#?}");
    assert!(run.stderr.contains("2 of 4 proofs were not made"), "{run:#?}");
    for (proof, c1) in [("a", "c1-2KiB.json"), ("b", "c1-2KiB-v1.json")] {
        let path = format!("proofs/new/{proof}.proof");
        let bytes = fs::read(folder.path().join(&path)).expect("a proof");
        check_upstream_accepts(c1, &bytes);
    }
    assert_eq!(tree(&folder.path().join("proofs/new")).len(), 2, "nothing else is there");
    let report = report_in(folder.path());
    assert_eq!(batch_codes(&report), [0, 3, 1, 0], "{report:#}");
    assert_eq!((&report["failed"], &report["command"]), (&2.into(), &"batch".into()));
    assert!(report["seconds_per_proof"].as_f64().is_some_and(|seconds| seconds > 0.0));

    // The second size has no parameters here.
    fs::write(folder.path().join("large.json"), fixture("c1-8MiB.json")).expect("ours");
    let words = "batch --out-dir proofs/newer --json report.json a.json large.json b.json";
    let words: Vec<&str> = words.split(' ').collect();
    let run = run_alone(prove(folder.path(), &words));
    assert_eq!(run.code, 4, "{run:#?}");
    let ends = "the batch ends at `large.json`, 1 of 3 proofs were written, the last \
                `proofs/newer/a.proof`: ";
    assert!(run.error().starts_with(ends), "{run:#?}");
    let report = report_in(folder.path());
    assert_eq!(batch_codes(&report), [0, 4], "{report:#}");
    assert_eq!((&report["failed"], &report["not_tried"]), (&1.into(), &1.into()));
}

#[test]
fn a_batch_that_is_terminated_tells_its_proofs() {
    let folder = folder();
    fs::write(folder.path().join("in.json"), fixture("c1-2KiB.json")).expect("ours");
    let words = "batch --count 3 --out-dir . --json report.json in.json";
    let words: Vec<&str> = words.split(' ').collect();
    let first = folder.path().join("in.1.proof");
    // On a card the second proof might be there before the signal acts.
    let prove = prove(folder.path(), &words).env("BELLMAN_NO_GPU", "1");
    let run = interrupt(prove, "TERM", |_| first.exists());
    assert_eq!(run.code, 143, "{run:#?}");
    assert!(run.error().contains("the outputs written before are complete"), "{run:#?}");
    let report = report_in(folder.path());
    assert_eq!(report["unfinished"], "terminated", "{report:#}");
    assert_eq!(batch_codes(&report), [0], "{report:#}");
    assert_eq!((&report["failed"], &report["not_tried"]), (&0.into(), &2.into()));
    let names: Vec<_> = tree(folder.path()).into_keys().collect();
    let expected = ["in.1.proof", "in.json", "report.json"].map(|name| folder.path().join(name));
    assert_eq!(names, expected, "nothing else is there");
}

#[test]
fn a_parameter_file_cut_short_in_use_is_code_4() {
    let folder = folder();
    let name = PathBuf::from(vk_name_2kib());
    for extension in ["params", "vk", "insecure"] {
        let name = name.with_extension(extension);
        fs::copy(insecure_2kib().join(&name), folder.path().join(&name)).expect("disk space");
    }
    let file = File::options().write(true).open(folder.path().join(name.with_extension("params")));
    let file = file.expect("just copied");
    let words = ["--params", ".", "params", "check", "--sector-size", "2KiB"];
    let run = Prove::new(folder.path(), words).run_with(LIMIT, |_, age| {
        // Decoding every point takes many seconds.
        if age > Duration::from_secs(1) {
            file.set_len(1 << 20).expect("a file can be cut");
        }
    });
    assert_eq!(run.code, 4, "{run:#?}");
    assert!(run.error().contains("cut short"), "{run:#?}");
}

#[test]
fn signals_at_random_moments_leave_nothing_but_whole_reports() {
    let seed = 2;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for index in 0..MOMENTS {
        let (signal, code, why) =
            [("INT", 130, "interrupted"), ("TERM", 143, "terminated")][index % 2];
        // Start-up is short and has the most to go wrong, so moments are dense near it: from
        // 30 ms to 20 s, evenly in the logarithm.
        let moment = Duration::from_secs_f64(0.03 * (20.0_f64 / 0.03).powf(rng.r#gen()));
        let folder = folder();
        fs::write(folder.path().join("in.json"), fixture("c1-2KiB.json")).expect("ours");
        if index % 3 > 0 {
            fs::write(folder.path().join("out.proof"), "an older proof").expect("ours");
        }
        let before = tree(folder.path());
        // bellperson's prover outlasts every moment.
        let words = "--variant prover=bellperson --json report.json --rss-log log.csv in.json \
                     out.proof";
        let words: Vec<&str> = words.split_whitespace().collect();
        let run = interrupt(prove(folder.path(), &words), signal, |age| age >= moment);
        assert_eq!(run.code, code, "seed {seed}: {signal} after {moment:?}: {run:#?}");
        let mut after = tree(folder.path());
        // The log is written as the run goes, so that it tells how a run ended.
        after.remove(&folder.path().join("log.csv"));
        // The first moments may come before there is anything to report.
        if after.remove(&folder.path().join("report.json")).is_some() {
            assert_eq!(report_in(folder.path())["unfinished"], why);
        } else {
            assert!(moment < Duration::from_secs(1), "no report: {run:#?}");
        }
        assert!(after == before, "seed {seed}: {signal} after {moment:?}: {after:#?}");
        assert!(run.wall < moment + Duration::from_secs(5), "{signal} ignored: {run:#?}");
    }
}

#[test]
fn a_run_that_ends_early_tells_how_far_it_came() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in.json"), fixture("c1-2KiB.json")).expect("ours");
    let end = |words: &str| {
        // Takes a minute on two cores.
        let words = format!("--timeout 1s --variant prover=bellperson {words} in.json out.proof");
        let words: Vec<&str> = words.split(' ').collect();
        let run = run_alone(prove(folder.path(), &words).env("BELLMAN_NO_GPU", "1"));
        assert!(run.code == 9 && run.stdout.is_empty(), "{run:#?}");
    };
    // Half of a report may be worse than none.
    end("--json - --trace /dev/null");
    assert_eq!(tree(folder.path()).len(), 1, "files were made");
    end("--json report.json --trace trace.json");
    let names: Vec<_> = tree(folder.path()).into_keys().collect();
    assert_eq!(names, ["in.json", "report.json", "trace.json"].map(path));
    let json = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(path(name)).expect("listed")).expect("JSON")
    };
    let (report, trace) = (json("report.json"), json("trace.json"));
    assert_eq!(report["unfinished"], "not done after 1s (--timeout)", "{report:#}");
    assert_eq!((&report["command"], &report["schema"]), (&"prove".into(), &1.into()));
    let names = |list: &Value, key: &str| {
        let list = list.as_array().expect("a list").iter().filter(|item| item["ph"] != "M");
        list.map(|item| item[key].to_string()).collect::<Vec<_>>()
    };
    let phases = names(&report["phases"], "name");
    assert!(phases.contains(&"\"read-c1\"".to_owned()), "{report:#}");
    // The trace is made a moment later.
    let spans = names(&trace["traceEvents"], "cat");
    assert!(phases.iter().all(|phase| spans.contains(phase)), "{trace:#}");
}

/// Sends `signal` once, when `is_due` says so of the run's age.
fn interrupt(prove: Prove, signal: &str, is_due: impl Fn(Duration) -> bool) -> Run {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sent = false;
    prove.run_with(LIMIT, |child, age| {
        if !sent && is_due(age) {
            let kill = format!("kill -{signal} {}", child.id());
            let status = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
            assert!(status.success(), "{kill}");
            sent = true;
        }
    })
}
