//! Runs that ask for what the machine has not, or the environment forbids: codes 2, 5, 6 and 9.

use super::case::Case;
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;
use crate::common::oracle::vk_name_2kib;

/// All of them, with good parameters and a good C1.
pub fn cases() -> Vec<Case> {
    let params = insecure_2kib();
    let with_params = |words: &str| format!("--params {} {words}", params.display());
    let case = |words: &str, code: i32, says: &str| {
        let words = format!("{} in.json out.proof", with_params(words));
        Case::new(&words, &words, code, says).file("in.json", fixture("c1-2KiB.json"))
    };
    let batch = |options: &str, code: i32, says: &str| {
        let words = format!("batch --out-dir . {options} in.json second.json");
        let case = Case::new(&words, &words, code, says);
        ["in.json", "second.json"]
            .into_iter()
            .fold(case, |case, name| case.file(name, fixture("c1-2KiB.json")))
    };
    let setup_on_gpu =
        |out: &str| format!("params setup --insecure --sector-size 2KiB --device gpu --out {out}");
    let setup = "params setup --insecure --sector-size 2KiB --out z --ram 10MiB";
    vec![
        Case::new("setup without memory", setup, 6, "not enough memory"),
        // What is wrong with the folder is told before the device.
        Case::new("setup over older files", &setup_on_gpu("."), 1, "exists already")
            .env("BELLMAN_NO_GPU", "1")
            .file(&vk_name_2kib(), "older"),
        Case::new("setup into a file", &setup_on_gpu("a/b"), 1, "cannot write `a`")
            .env("BELLMAN_NO_GPU", "1")
            .file("a", "a file"),
        Case::new("setup without a card", &setup_on_gpu("a/b"), 5, "BELLMAN_NO_GPU is set")
            .env("BELLMAN_NO_GPU", "1"),
        // The same on machines with a card: it is hidden, or there is none of that number.
        case("--device gpu", 5, "BELLMAN_NO_GPU is set").env("BELLMAN_NO_GPU", "1"),
        case("--gpu 0", 5, "BELLMAN_NO_GPU is set").env("BELLMAN_NO_GPU", "1"),
        // What is wrong with the files is told first.
        Case::new("neither", "--device gpu --params no/folder in.json out.proof", 4, "no/folder")
            .env("BELLMAN_NO_GPU", "1")
            .file("in.json", fixture("c1-2KiB.json")),
        case("--device gpu", 3, "C1").env("BELLMAN_NO_GPU", "1").file("in.json", "{}"),
        case("--gpu 4096", 5, "no usable GPU"),
        case("--gpu GPU-00000000-0000-0000-0000-000000000000", 5, "no usable GPU"),
        case("--wait-gpu 1ms --device gpu", 5, "--device cpu").env("CUDA_VISIBLE_DEVICES", ""),
        case("--variant pin=off", 2, "acts on a GPU only").env("BELLMAN_NO_GPU", "1"),
        Case::new("info", "info --variant pin=off", 2, "acts on a GPU only")
            .env("BELLMAN_NO_GPU", "1"),
        case("", 2, "corrupt:KERNEL").env("PROVE_TEST_GPU_FAULT", "explode"),
        Case::new("a bench without its GPU", "bench field fr", 5, "BELLMAN_NO_GPU is set")
            .env("BELLMAN_NO_GPU", "1"),
        case("--ram 1MiB", 6, "not enough memory"),
        case("--ram 0", 6, "not enough memory"),
        // What all proofs of a batch share ends it, with one error.
        batch("--params no/folder", 4, "the batch ends at `in.json`, no proof was written"),
        batch(&with_params("--ram 1MiB"), 6, "not enough memory"),
        batch(&with_params("--variant pin=off"), 2, "acts on a GPU only")
            .env("BELLMAN_NO_GPU", "1"),
        batch(&with_params("--device gpu"), 5, "no proof was written").env("BELLMAN_NO_GPU", "1"),
        case("--timeout 1ms", 9, "timeout"),
        case("--timeout 200ms", 9, "timeout"),
        case("", 2, "opencl").env("BELLMAN_GPU_FRAMEWORK", "opencl"),
        case("", 2, "opencl").env("FIL_PROOFS_GPU_FRAMEWORK", "opencl"),
    ]
}
