//! Names the folder of the static CUDA runtime, which supraseal-c2 asks for without saying where.

use std::env;
use std::path::PathBuf;

/// Where `make cuda` puts its toolkit.
const LOCAL_TOOLKIT: &str = "../../.cuda/nvidia/cu13";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CUDA_HOME");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let toolkit = env::var_os("CUDA_HOME").map_or_else(|| here.join(LOCAL_TOOLKIT), PathBuf::from);
    println!("cargo::rustc-link-search=native={}", toolkit.join("lib").display());
}
