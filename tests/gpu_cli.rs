//! The real binary on a machine with a GPU: faults, locks, the choice of the device, measurements.
//!
//! All tests are ignored where there may be no GPU; `make gpu-test-build` packs this executable
//! with a script that names the binary in `PROVE_TEST_BINARY`, the folder of 2 KiB parameters in
//! `PROVE_TEST_PARAMS`, and the C1 files' in `PROVE_TEST_DATA`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use prove::gpu::lock::{GpuLock, LOCK_FOLDER};
use prove::gpu::{GpuInfo, survey};
use serde_json::Value;

fn named(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is set")).into()
}

/// What a run left.
struct Run {
    code: Option<i32>,
    stderr: String,
    stdout: Vec<u8>,
}

/// Runs the binary with `words` and `variables` in `folder`.
fn prove(folder: &Path, words: &str, variables: &[(&str, &str)]) -> Run {
    let output = Command::new(named("PROVE_TEST_BINARY"))
        .args(words.split_whitespace())
        .arg("--params")
        .arg(named("PROVE_TEST_PARAMS"))
        .envs(variables.iter().copied())
        .current_dir(folder)
        .output()
        .expect("the binary starts");
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    Run { code: output.status.code(), stderr, stdout: output.stdout }
}

/// Proves the 2 KiB fixture with `options`; also whether there is a proof.
fn prove_2kib(options: &str, variables: &[(&str, &str)]) -> (Run, bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let c1 = named("PROVE_TEST_DATA").join("c1-2KiB.json");
    let words = format!("{} out.proof {options}", c1.display());
    let run = prove(folder.path(), &words, variables);
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .expect("ours")
        .map(|entry| entry.expect("ours").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| name == "out.proof"), "left over: {names:?}");
    (run, !names.is_empty())
}

fn card() -> GpuInfo {
    survey().expect("a driver").into_iter().next().expect("these tests are run where there is one")
}

#[test]
#[ignore = "needs a GPU"]
fn cli_faults_of_the_card_have_their_codes_and_leave_nothing() {
    for (fault, code, says) in [
        ("allocate", 6, "device memory"),
        ("allocate:9", 6, "device memory"),
        ("launch:rows_small", 7, "launch `rows_small`"),
        ("launch:ntt_pass_dif:3", 7, "launch `ntt_pass_dif`"),
        ("launch:points_decode_g2", 7, "launch `points_decode_g2`"),
        ("lost:msm_accumulate_g1:2", 7, "`msm_accumulate_g1`"),
        ("corrupt:ntt_pass_dit", 8, "does not verify, twice"),
        ("corrupt:msm_canonical_g1", 8, "does not verify, twice"),
    ] {
        let (run, has_proof) = prove_2kib("--device gpu", &[("PROVE_TEST_GPU_FAULT", fault)]);
        assert_eq!(run.code, Some(code), "{fault}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{fault}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{fault}: {}", run.stderr);
        assert!(!has_proof, "{fault}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn cli_a_card_that_fails_ends_a_batch_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let c1 = named("PROVE_TEST_DATA").join("c1-2KiB.json");
    let words = format!("batch --device gpu --out-dir . --count 3 {} --json -", c1.display());
    let fault = [("PROVE_TEST_GPU_FAULT", "lost:msm_accumulate_g1")];
    let run = prove(folder.path(), &words, &fault);
    assert_eq!(run.code, Some(7), "{}", run.stderr);
    let errors: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(errors[..], [error] if error.contains("no proof was written")), "{errors:?}");
    let report: Value = serde_json::from_slice(&run.stdout).expect("the report");
    assert_eq!((&report["failed"], &report["not_tried"]), (&1.into(), &2.into()), "{report}");
    assert_eq!(report["proofs"][0]["exit_code"], 7, "{report}");
}

#[test]
#[ignore = "needs a GPU"]
fn cli_a_wrong_result_is_made_good_once() {
    let fault = [("PROVE_TEST_GPU_FAULT", "corrupt:ntt_pass_dit:1")];
    let (run, has_proof) = prove_2kib("--device gpu", &fault);
    assert!(run.code == Some(0) && has_proof, "{}", run.stderr);
}

#[test]
#[ignore = "needs a GPU"]
fn cli_a_card_in_use_is_refused_or_waited_for() {
    let uuid = card().uuid;
    let acquire = || GpuLock::try_acquire(Path::new(LOCK_FOLDER), &uuid).expect("nobody else");
    let held = acquire();
    let holder = format!("in use by process {}", std::process::id());
    let options = format!("--gpu {uuid}");
    let (run, _) = prove_2kib(&options, &[]);
    assert!(run.code == Some(5) && run.stderr.contains(&holder), "{}", run.stderr);
    let start = Instant::now();
    let (run, _) = prove_2kib(&format!("{options} --wait-gpu 300ms"), &[]);
    assert!(run.code == Some(5) && start.elapsed() > Duration::from_millis(300), "{}", run.stderr);
    let (run, _) = prove_2kib(&format!("{options} --wait-gpu 10m --timeout 300ms"), &[]);
    assert_eq!(run.code, Some(9), "{}", run.stderr);
    // Nobody waits for a card to hear that the C1 is wrong.
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("in.json"), "{}").expect("ours");
    let words = format!("in.json out.proof {options} --wait-gpu 10m --timeout 1m");
    let run = prove(folder.path(), &words, &[]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let releaser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(held);
    });
    let (run, has_proof) = prove_2kib(&format!("{options} --wait-gpu 1m --json -"), &[]);
    releaser.join().expect("no panic");
    assert!(run.code == Some(0) && has_proof, "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).expect("the report");
    assert!(report["queue_wait_ms"].as_f64().is_some_and(|ms| ms > 100.0), "{report}");
    drop(acquire());
}

#[test]
#[ignore = "needs a GPU"]
fn cli_the_device_is_chosen_told_and_reported() {
    let info = card();
    let (run, _) = prove_2kib("--json -", &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).expect("the report");
    assert_eq!(report["device"]["kind"], "gpu");
    assert_eq!(report["device"]["uuid"], info.uuid);
    assert_eq!(report["device"]["driver"], info.driver);
    assert!(report["peak_vram_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{report}");
    assert_eq!(report["variants"]["pin"], "staged");
    let hidden = [("CUDA_VISIBLE_DEVICES", "")];
    let (run, has_proof) = prove_2kib("", &hidden);
    assert!(run.code == Some(0) && has_proof, "{}", run.stderr);
    assert!(run.stderr.contains("on the CPU, without a GPU: the driver shows no device"));
    for (options, says) in
        [("--device gpu", "the driver shows no device"), ("--gpu 0", "the driver shows no device")]
    {
        let (run, _) = prove_2kib(options, &hidden);
        assert!(run.code == Some(5) && run.stderr.contains(says), "{options}: {}", run.stderr);
    }
    let (run, _) = prove_2kib("--gpu 77", &[]);
    assert!(run.code == Some(5) && run.stderr.contains(&info.uuid), "{}", run.stderr);
    let run = prove(Path::new("."), "info", &[]);
    assert!(String::from_utf8_lossy(&run.stdout).contains(&info.uuid), "{}", run.stderr);
}

#[test]
#[ignore = "needs a GPU"]
fn cli_measurements_have_rates_beside_limits() {
    let c1 = named("PROVE_TEST_DATA").join("c1-2KiB.json");
    let rows = format!("bench rows {}", c1.display());
    for words in [
        "bench ntt --log-n 16 --variant ntt=fused,generated",
        "bench ntt --log-n 16 --variant field=wide,generated",
        "bench msm --log-n 14 --variant msm=pairs,generated",
        "bench msm --log-n 14 --variant field=wide,generated",
        "bench field fr --log-n 24",
        "bench field fp --log-n 24",
        &rows,
    ] {
        let words = format!("{words} --device gpu --iterations 2 --json -");
        let run = prove(Path::new("."), &words, &[]);
        assert_eq!(run.code, Some(0), "{words}: {}", run.stderr);
        let json: Value = serde_json::from_slice(&run.stdout).expect("the comparison");
        for arm in json["arms"].as_array().expect("arms") {
            let rate = &arm["effective"][0];
            let share = rate["per_second"].as_f64().zip(rate["limit_per_second"].as_f64());
            let share = share.map(|(rate, limit)| rate / limit).expect("both numbers");
            assert!(share > 0.0 && share < 2.0, "{words}: {json}");
        }
    }
}
