//! Compiles the CUDA kernels of `gpu/` into one embedded fatbin, the same over ec-gpu-gen's field
//! functions into another, ec-gpu-gen's FFT and multiexp into a third, and our device functions for
//! the host, for the tests.
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
const DEVICE_FILES: [&str; 16] = [
    "prelude.cuh",
    "tuning.cuh",
    "field.cuh",
    "curve.cuh",
    "affine.cuh",
    "fixed_base.cuh",
    "field_check.cu",
    "points.cu",
    "fixed_base.cu",
    "ntt.cu",
    "pointwise.cu",
    "rows.cu",
    "msm_digits.cu",
    "msm_sort.cu",
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
            let targets = targets();
            let fatbin = out_dir.join("kernels.fatbin");
            let field = out_dir.join("field.fatbin");
            let generated = out_dir.join("generated.fatbin");
            let own_source = device_source(&constants);
            let field_source = generated_field() + &own_source;
            let jobs =
                [(own_source, &fatbin), (generated_source(), &generated), (field_source, &field)];
            thread::scope(|scope| {
                let (nvcc, targets) = (&nvcc, &targets);
                for (source, fatbin) in &jobs {
                    scope.spawn(move || compile_fatbin(nvcc, targets, source, fatbin));
                }
            });
            println!("cargo::rustc-cfg=prove_cuda");
            println!("cargo::rustc-env=PROVE_CUDA_VERSION={}", cuda_version(&nvcc));
            println!("cargo::rustc-env=PROVE_GPU_TARGETS={}", targets.join(","));
            println!("cargo::rustc-env=PROVE_GPU_SUPPORT=with CUDA");
            println!("cargo::rustc-env=PROVE_FATBIN={}", fatbin.display());
            println!("cargo::rustc-env=PROVE_GENERATED_FATBIN={}", generated.display());
            println!("cargo::rustc-env=PROVE_FIELD_FATBIN={}", field.display());
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
            println!("cargo::rustc-env=PROVE_CUDA_VERSION=0");
            println!("cargo::rustc-env=PROVE_GPU_TARGETS=");
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

/// ec-gpu-gen's text in parts that follow one another.
///
/// A builder with more than one field iterates a hash set, so its text changes from run to run, and
/// every text repeats the common prelude. Each part is therefore what one builder adds to others.
struct Generated {
    common: String,
    fr: String,
    fp: String,
}

impl Generated {
    fn new() -> Self {
        let common = Self::text(SourceBuilder::new()).trim_end().to_owned();
        let fr = Self::part(SourceBuilder::new().add_field::<Scalar>(), &[&common]);
        let fp = Self::part(SourceBuilder::new().add_field::<Fp>(), &[&common]);
        Self { common, fr, fp }
    }

    fn text(builder: SourceBuilder) -> String {
        builder.build_32_bit_limbs()
    }

    /// What `builder` adds to `parts`.
    fn part(builder: SourceBuilder, parts: &[&str]) -> String {
        let rest = parts.iter().fold(Self::text(builder), |rest, part| {
            assert!(rest.contains(part), "ec-gpu-gen's texts are made of its parts");
            rest.replacen(part, "", 1)
        });
        rest.trim().to_owned() + "\n\n"
    }

    /// The prelude and both prime fields.
    fn fields(&self) -> String {
        self.common.clone() + "\n\n" + &self.fr + &self.fp
    }
}

/// ec-gpu-gen's FFT over Fr and multiexp over G1 and G2, in one fixed order.
fn generated_source() -> String {
    let generated = Generated::new();
    let Generated { common, fr, fp } = &generated;
    let (fr, fp) = (fr.trim(), fp.trim());
    let part = Generated::part;
    let fp2 = part(SourceBuilder::new().add_field::<Fp2>(), &[common, fp]);
    let fft = part(SourceBuilder::new().add_fft::<Scalar>(), &[common, fr]);
    let multiexp_g1 = part(SourceBuilder::new().add_multiexp::<G1Affine, Fp>(), &[common, fr, fp]);
    let multiexp_g2 =
        part(SourceBuilder::new().add_multiexp::<G2Affine, Fp2>(), &[common, fr, fp, fp2.trim()]);
    generated.fields() + &fp2 + &fft + &multiexp_g1 + &multiexp_g2
}

/// ec-gpu-gen's prime fields in a namespace of their own, with the names that gpu/field.cuh calls
/// them by; it then uses them in place of ours.
fn generated_field() -> String {
    let mut source = "#define PROVE_FIELD_GENERATED\nnamespace generated {\n".to_owned();
    source.push_str(&Generated::new().fields());
    for (ours, theirs) in [("FR", Scalar::name()), ("FP", Fp::name())] {
        writeln!(source, "typedef {theirs} {ours}_ELEMENT;").expect("strings grow");
        for operation in ["add", "sub", "mul", "sqr"] {
            let call = format!("GENERATED_{ours}_{operation} generated::{theirs}_{operation}");
            writeln!(source, "#define {call}").expect("strings grow");
        }
    }
    source.push_str("}\n");
    // Its macros end here; gpu/prelude.cuh has a `DEVICE` of its own.
    for name in ["DEVICE", "GLOBAL", "KERNEL", "LOCAL", "CONSTANT", "CUDA"] {
        writeln!(source, "#undef {name}").expect("strings grow");
    }
    source
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

/// The compute capabilities of `PROVE_CUDA_TARGETS`, the oldest first.
fn targets() -> Vec<String> {
    let list = env::var("PROVE_CUDA_TARGETS").unwrap_or_else(|_| DEFAULT_TARGETS.to_owned());
    let number = |target: &str| {
        let target = target.trim();
        target.parse::<u32>().unwrap_or_else(|_| {
            panic!("PROVE_CUDA_TARGETS: expected numbers like `80,90`, got `{target}`")
        })
    };
    let mut numbers: Vec<u32> = list.split(',').map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.iter().map(u32::to_string).collect()
}

/// nvcc's CUDA version, 1000 x major + 10 x minor, as drivers tell theirs.
fn cuda_version(nvcc: &Path) -> u32 {
    let output = Command::new(nvcc).arg("--version").output().expect("nvcc ran before");
    let text = String::from_utf8_lossy(&output.stdout);
    let release = text.split_once("release ").and_then(|(_, rest)| rest.split(',').next());
    let numbers = release.and_then(|release| {
        let (major, minor) = release.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    let (major, minor) = numbers.unwrap_or_else(|| panic!("nvcc tells no release: {text}"));
    1000 * major + 10 * minor
}

/// Compiles `source`, unless `fatbin` was made from the same text by the same command.
fn compile_fatbin(nvcc: &Path, targets: &[String], source: &str, fatbin: &Path) {
    let source_path = fatbin.with_extension("cu");
    let mut command = Command::new(nvcc);
    command.args(["--fatbin", "-O3", "-std=c++17", "-diag-suppress=177", "-lineinfo"]);
    for target in targets {
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
    let key = [
        "prelude.cuh",
        "tuning.cuh",
        "field.cuh",
        "curve.cuh",
        "affine.cuh",
        "fixed_base.cuh",
        "host.cpp",
    ]
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
