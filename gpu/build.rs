//! Compiles the CUDA kernels of `gpu/` into one embedded fatbin, ec-gpu-gen's FFT and multiexp into
//! another, and our device functions for the host, for the tests.
//!
//! With no nvcc the build goes on: one warning, and a binary whose GPU backend says that it was
//! built without CUDA.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

use blstrs::{Fp, Fp2, G1Affine, G2Affine, Scalar};
use ec_gpu::{GpuField, GpuName};
use ec_gpu_gen::SourceBuilder;

/// The one translation unit of the device code, in order.
const DEVICE_FILES: [&str; 15] = [
    "prelude.cuh",
    "tuning.cuh",
    "field.cuh",
    "inverse.cuh",
    "curve.cuh",
    "field_check.cu",
    "points.cu",
    "ntt.cu",
    "rows.cu",
    "msm_digits.cu",
    "msm_sort.cu",
    "msm_levels.cu",
    "msm_pairs.cu",
    "msm_accumulate.cu",
    "msm_reduce.cu",
];

/// Where `make cuda` puts its toolkit.
const LOCAL_NVCC: &str = ".cuda/nvidia/cu13/bin/nvcc";

/// Compute capabilities that the fatbin holds machine code for; PTX of the last is added.
const DEFAULT_TARGETS: &str = "90";

/// Builds what a machine's tools allow, and tells cargo where it is.
pub fn build() {
    println!("cargo::rustc-check-cfg=cfg(prove_cuda)");
    for path in ["gpu", LOCAL_NVCC] {
        println!("cargo::rerun-if-changed={path}");
    }
    for variable in ["NVCC", "PROVE_CUDA_TARGETS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let constants = field_constants::<Scalar>("FR") + &field_constants::<Fp>("FP");
    fs::write(out_dir.join("constants.cuh"), &constants).expect("OUT_DIR is writable");
    build_host_functions(&out_dir, &constants);
    match find_nvcc() {
        Some(nvcc) => {
            let fatbin = out_dir.join("kernels.fatbin");
            let generated = out_dir.join("generated.fatbin");
            thread::scope(|scope| {
                scope.spawn(|| compile_fatbin(&nvcc, &device_source(&constants), &fatbin));
                scope.spawn(|| compile_fatbin(&nvcc, &generated_source(), &generated));
            });
            println!("cargo::rustc-cfg=prove_cuda");
            println!("cargo::rustc-env=PROVE_GPU_SUPPORT=with CUDA");
            println!("cargo::rustc-env=PROVE_FATBIN={}", fatbin.display());
            println!("cargo::rustc-env=PROVE_GENERATED_FATBIN={}", generated.display());
            for (variable, kernel) in [
                ("FFT", Scalar::name() + "_radix_fft"),
                ("MULTIEXP_G1", G1Affine::name() + "_multiexp"),
                ("MULTIEXP_G2", G2Affine::name() + "_multiexp"),
            ] {
                println!("cargo::rustc-env=PROVE_GENERATED_{variable}={kernel}");
            }
        }
        None => {
            println!("cargo::rustc-env=PROVE_GPU_SUPPORT=without CUDA");
            println!(
                "cargo::warning=no nvcc found: the GPU backend is left out (`make cuda` gets one)"
            );
        }
    }
}

/// The modulus, its double, one and R^2 in Montgomery form, and -1/m mod 2^32, as limb lists.
fn field_constants<F: GpuField>(name: &str) -> String {
    let modulus = F::modulus();
    let mut doubled = Vec::with_capacity(modulus.len());
    let mut carry = 0;
    for &limb in &modulus {
        doubled.push(limb << 1 | carry);
        carry = limb >> 31;
    }
    assert_eq!(carry, 0, "twice the modulus of {name} fits its limbs");
    let mut inverse = 1u32;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(modulus[0].wrapping_mul(inverse)));
    }
    let mut text = String::new();
    for (suffix, limbs) in
        [("MODULUS", &modulus), ("MODULUS_2", &doubled), ("ONE", &F::one()), ("R2", &F::r2())]
    {
        let list: Vec<String> = limbs.iter().map(|limb| format!("{limb:#010x}u")).collect();
        writeln!(text, "#define {name}_{suffix} {}", list.join(", ")).expect("strings grow");
    }
    writeln!(text, "#define {name}_INVERSE {:#010x}u", inverse.wrapping_neg())
        .expect("strings grow");
    text
}

fn device_source(constants: &str) -> String {
    let mut source = constants.to_owned();
    for name in DEVICE_FILES {
        writeln!(source, "#line 1 \"gpu/{name}\"").expect("strings grow");
        source.push_str(&device_file(name));
    }
    source
}

fn device_file(name: &str) -> String {
    let path = Path::new("gpu").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
}

/// ec-gpu-gen's FFT over Fr and multiexp over G1 and G2, in one fixed order.
///
/// A builder with more than one field iterates a hash set, so its text changes from run to run, and
/// every text repeats the common prelude. Each part is therefore what one builder adds to others.
fn generated_source() -> String {
    let text = |builder: SourceBuilder| builder.build_32_bit_limbs();
    let common = text(SourceBuilder::new()).trim_end().to_owned();
    let without = |whole: String, parts: &[&str]| {
        parts.iter().fold(whole, |rest, part| {
            assert!(rest.contains(part), "ec-gpu-gen's texts are made of its parts");
            rest.replacen(part, "", 1)
        })
    };
    let part = |builder: SourceBuilder, parts: &[&str]| {
        without(text(builder), parts).trim().to_owned() + "\n\n"
    };
    let fr = part(SourceBuilder::new().add_field::<Scalar>(), &[&common]);
    let fp = part(SourceBuilder::new().add_field::<Fp>(), &[&common]);
    let (fr_trimmed, fp_trimmed) = (fr.trim(), fp.trim());
    let fp2 = part(SourceBuilder::new().add_field::<Fp2>(), &[&common, fp_trimmed]);
    let fft = part(SourceBuilder::new().add_fft::<Scalar>(), &[&common, fr_trimmed]);
    let multiexp_g1 = part(
        SourceBuilder::new().add_multiexp::<G1Affine, Fp>(),
        &[&common, fr_trimmed, fp_trimmed],
    );
    let multiexp_g2 = part(
        SourceBuilder::new().add_multiexp::<G2Affine, Fp2>(),
        &[&common, fr_trimmed, fp_trimmed, fp2.trim()],
    );
    common + "\n\n" + &fr + &fp + &fp2 + &fft + &multiexp_g1 + &multiexp_g2
}

/// `NVCC`, else the toolkit of `make cuda`, else the one on the path.
fn find_nvcc() -> Option<PathBuf> {
    let named = env::var_os("NVCC").map(PathBuf::from);
    let local = fs::canonicalize(LOCAL_NVCC).ok();
    let works = |nvcc: &PathBuf| {
        Command::new(nvcc).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    named.into_iter().chain(local).chain([PathBuf::from("nvcc")]).find(works)
}

/// Compiles `source`, unless `fatbin` was made from the same text by the same command.
fn compile_fatbin(nvcc: &Path, source: &str, fatbin: &Path) {
    let targets = env::var("PROVE_CUDA_TARGETS").unwrap_or_else(|_| DEFAULT_TARGETS.to_owned());
    let source_path = fatbin.with_extension("cu");
    let mut command = Command::new(nvcc);
    command.args(["--fatbin", "-O3", "-std=c++17", "-diag-suppress=177", "-lineinfo"]);
    let targets: Vec<&str> = targets.split(',').map(str::trim).collect();
    for target in &targets {
        command.arg(format!("-gencode=arch=compute_{target},code=sm_{target}"));
    }
    if let Some(newest) = targets.last() {
        command.arg(format!("-gencode=arch=compute_{newest},code=compute_{newest}"));
    }
    command.arg("-o").arg(fatbin).arg(&source_path);
    let key = format!("{command:?}\n{source}");
    let key_path = fatbin.with_extension("key");
    if fatbin.exists() && fs::read_to_string(&key_path).is_ok_and(|made| made == key) {
        return;
    }
    fs::write(&source_path, source).expect("OUT_DIR is writable");
    let status = command.status().unwrap_or_else(|error| panic!("run {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
    fs::write(&key_path, key).expect("OUT_DIR is writable");
}

/// Links the host build of the device functions into the integration tests only.
fn build_host_functions(out_dir: &Path, constants: &str) {
    let archive = out_dir.join("libprove_device_on_host.a");
    println!("cargo::rustc-link-arg-tests={}", archive.display());
    let key = ["prelude.cuh", "field.cuh", "inverse.cuh", "curve.cuh", "host.cpp"]
        .iter()
        .fold(constants.to_owned(), |key, name| key + &device_file(name));
    let key_path = archive.with_extension("key");
    if archive.exists() && fs::read_to_string(&key_path).is_ok_and(|made| made == key) {
        return;
    }
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .cpp_link_stdlib(None)
        .cargo_metadata(false)
        .flag("-fno-exceptions")
        .flag("-Wno-unused-function")
        .opt_level(2)
        .include(out_dir)
        .include("gpu")
        .file("gpu/host.cpp")
        .compile("prove_device_on_host");
    fs::write(&key_path, key).expect("OUT_DIR is writable");
}
