//! The setup on a GPU: multiples against blst, whole files against the CPU's, and a made file
//! against its trapdoor.

use std::path::Path;
use std::time::Instant;

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::{Curve as _, Group};
use prove::gpu::fixed_base::{FixedBase, WINDOW_BITS};
use prove::gpu::{Curve, DeviceBuffer, G1, G2, bench};
use prove::msm;
use prove::params::setup::consistency;
use prove::params::setup::fixed_base::generator;
use prove::params::setup::insecure;
use prove::params::setup::trapdoor::Trapdoor;
use prove::params::{Folder, FolderChoice, ParameterFiles, Parameters};
use prove::progress::Silent;
use prove::sector::SectorSize;
use rayon::prelude::*;

use crate::gpu;
use crate::kernels::hostile_scalars;

/// Encodes `scalars` on the device.
fn encode<C: Curve>(base: &FixedBase<'_, C>, scalars: &[Scalar]) -> Vec<u8> {
    let gpu = base.gpu();
    let bytes = DeviceBuffer::new(gpu, scalars.len() * size_of::<C::Affine>()).expect("memory");
    let scalars = DeviceBuffer::from_host(gpu, scalars).expect("memory");
    base.encode(bytes.as_slice(), scalars.as_slice()).expect("launch");
    bytes.to_host().expect("copy")
}

fn g1_table() -> Vec<G1Affine> {
    generator::<msm::G1>(WINDOW_BITS).multiples()
}

fn g2_table() -> Vec<G2Affine> {
    generator::<msm::G2>(WINDOW_BITS).multiples()
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn small_multiples_of_the_generators_equal_blst() {
    let gpu = gpu();
    let g1 = FixedBase::<G1>::new(&gpu, &g1_table()).expect("memory");
    let g2 = FixedBase::<G2>::new(&gpu, &g2_table()).expect("memory");
    let mut scalars = hostile_scalars(71);
    scalars.extend(bench::random_scalars(72, 4096 - scalars.len()));
    for n in [1, 255, 256, 257, 1023, 1025, 4096] {
        let (in_g1, in_g2) = (encode(&g1, &scalars[..n]), encode(&g2, &scalars[..n]));
        scalars[..n].par_iter().enumerate().for_each(|(i, scalar)| {
            let expected = (G1Projective::generator() * scalar).to_affine().to_uncompressed();
            assert!(in_g1[i * 96..][..96] == expected, "G1, {i} of {n}: {scalar:?}");
            let expected = (G2Projective::generator() * scalar).to_affine().to_uncompressed();
            assert!(in_g2[i * 192..][..192] == expected, "G2, {i} of {n}: {scalar:?}");
        });
    }
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn time_multiples_of_the_generators() {
    fn time<C: Curve>(base: &FixedBase<'_, C>, n: usize, name: &str) {
        let gpu = base.gpu();
        let bytes = DeviceBuffer::new(gpu, n * size_of::<C::Affine>()).expect("memory");
        let scalars = DeviceBuffer::from_host(gpu, &bench::random_scalars(73, n)).expect("memory");
        let mut times_ms: Vec<f64> = (0..6)
            .map(|_| {
                let timer = gpu.timer().expect("timer");
                base.encode(bytes.as_slice(), scalars.as_slice()).expect("launch");
                timer.stop_ms().expect("timer")
            })
            .collect();
        times_ms.remove(0);
        times_ms.sort_by(f64::total_cmp);
        let rate = n as f64 / times_ms[2] / 1e3;
        println!("{name} multiples of {n}: {:.2} ms, {rate:.1} M/s", times_ms[2]);
    }
    let gpu = gpu();
    time(&FixedBase::<G1>::new(&gpu, &g1_table()).expect("memory"), 1 << 18, "G1");
    time(&FixedBase::<G2>::new(&gpu, &g2_table()).expect("memory"), 1 << 17, "G2");
}

#[test]
#[ignore = "needs a GPU: make gpu-test"]
fn large_parameters_equal_those_of_the_cpu() {
    let gpu = gpu();
    let size = SectorSize::KiB2;
    let folders = [Some(&gpu), None].map(|gpu| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let start = Instant::now();
        insecure(size, folder.path(), Some(1), gpu, &Silent).expect("parameters");
        let device = if gpu.is_some() { "GPU" } else { "CPU" };
        println!("2 KiB parameters, {device}: {:.2} s", start.elapsed().as_secs_f64());
        folder
    });
    let read = |pick: fn(ParameterFiles) -> std::path::PathBuf| {
        folders.each_ref().map(|folder| {
            std::fs::read(pick(ParameterFiles::new(folder.path(), size))).expect("the file")
        })
    };
    for pick in [|files: ParameterFiles| files.params, |files: ParameterFiles| files.vk] {
        let [on_gpu, on_cpu] = read(pick);
        assert!(on_gpu == on_cpu, "files of {} and {} bytes", on_gpu.len(), on_cpu.len());
    }
    check_made(folders[0].path(), size, 1, 2000);
    let folder = Folder { path: folders[0].path().into(), chosen_by: FolderChoice::Flag };
    let parameters = Parameters::open(&folder, size).expect("a whole set");
    let trapdoor = Trapdoor::from_seed(1);
    let other = Trapdoor { alpha: trapdoor.alpha + Scalar::ONE, ..trapdoor };
    consistency::check(&parameters, size, &other, 10, 75).expect_err("another trapdoor");
}

/// Checks sampled points of the set of `size` in `folder` against the trapdoor of `seed`.
fn check_made(folder: &Path, size: SectorSize, seed: u64, samples: usize) {
    let folder = Folder { path: folder.to_path_buf(), chosen_by: FolderChoice::Flag };
    let parameters = Parameters::open(&folder, size).expect("a whole set");
    let start = Instant::now();
    let trapdoor = Trapdoor::from_seed(seed);
    let checked =
        consistency::check(&parameters, size, &trapdoor, samples, 74).expect("consistent");
    let seconds = start.elapsed().as_secs_f64();
    println!("{size}: {checked} sampled points are the multiples of the trapdoor, {seconds:.1} s");
}

/// `PROVE_SETUP_DIR`, `PROVE_SETUP_SIZE` and `PROVE_SETUP_SEED` name the set.
#[test]
#[ignore = "needs a set made by `prove params setup --insecure --seed`"]
fn made_parameters_are_consistent() {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let folder = variable("PROVE_SETUP_DIR");
    let size = variable("PROVE_SETUP_SIZE").parse().expect("a sector size");
    let seed = variable("PROVE_SETUP_SEED").parse().expect("a number");
    check_made(Path::new(&folder), size, seed, 30_000);
}
