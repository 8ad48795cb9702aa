//! Runs that ask for what the machine has not, or the environment forbids: codes 2, 5, 6 and 9.

use super::case::Case;
use crate::common::files::fixture;
use crate::common::insecure::insecure_2kib;

/// All of them, with good parameters and a good C1.
pub fn cases() -> Vec<Case> {
    let params = insecure_2kib();
    let case = |words: &str, code: i32, says: &str| {
        let words = format!("--params {} {words} in.json out.proof", params.display());
        Case::new(&words, &words, code, says).file("in.json", fixture("c1-2KiB.json"))
    };
    let setup = "params setup --insecure --sector-size 2KiB --out z --ram 10MiB";
    vec![
        Case::new("setup without memory", setup, 6, "not enough memory"),
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
        case("", 2, "corrupt:KERNEL").env("PROVE_TEST_GPU_FAULT", "explode"),
        Case::new("a bench without its GPU", "bench field fr", 5, "BELLMAN_NO_GPU is set")
            .env("BELLMAN_NO_GPU", "1"),
        case("--ram 1MiB", 6, "not enough memory"),
        case("--ram 0", 6, "not enough memory"),
        case("--timeout 1ms", 9, "timeout"),
        case("--timeout 200ms", 9, "timeout"),
        case("", 2, "opencl").env("BELLMAN_GPU_FRAMEWORK", "opencl"),
        case("", 2, "opencl").env("FIL_PROOFS_GPU_FRAMEWORK", "opencl"),
    ]
}
