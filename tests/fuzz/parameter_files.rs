//! Damaged parameter files of a small circuit: an error, or the file's own length and key.

use std::fs;

use blstrs::{G1Affine, G2Affine};
use group::prime::PrimeCurveAffine;
use prove::params::layout::{Counts, Layout, Query};
use prove::params::{ParameterFiles, Parameters};
use prove::sector::SectorSize;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::damage::damage;

/// IC points, and points of h, l, a, b_g1 and b_g2.
const COUNTS: Counts = Counts { inputs: 3, queries: [7, 20, 9, 8, 8] };

/// Searches for damage that does more than end in an error.
pub fn search() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = ParameterFiles::new(folder.path(), SectorSize::KiB2);
    fs::write(&files.marker, "made by a test\n").expect("the folder is ours");
    let (params, vk) = sound_files();
    let open = |params: &[u8], vk: &[u8]| {
        fs::write(&files.params, params).expect("the folder is ours");
        fs::write(&files.vk, vk).expect("the folder is ours");
        Parameters::open_circuit(files.clone(), COUNTS)
    };
    open(&params, &vk).map(drop).expect("the files are sound");
    let others = [params.clone(), vk.clone()];
    let draw = |rng: &mut ChaCha8Rng| {
        let [mut params, mut vk] = others.clone();
        for _ in 0..rng.gen_range(1..4) {
            if rng.gen_range(0..3) > 0 {
                damage(rng, &mut params, &others);
            } else {
                damage(rng, &mut vk, &others);
            }
        }
        join(&params, &vk)
    };
    crate::search("params", draw, |input| {
        let (damaged_params, damaged_vk) = split(input);
        match open(damaged_params, damaged_vk) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(_) => {
                assert_eq!(damaged_params.len(), params.len());
                assert_eq!(&damaged_params[..vk.len()], vk);
                assert_eq!(damaged_vk, vk);
            }
        }
    });
}

/// A `.params` and a `.vk` file that fit together; every point is its group's generator.
fn sound_files() -> (Vec<u8>, Vec<u8>) {
    let g1 = G1Affine::generator().to_uncompressed();
    let g2 = G2Affine::generator().to_uncompressed();
    let mut vk = [&g1[..], &g1, &g2, &g2, &g1, &g2].concat();
    vk.extend(COUNTS.inputs.to_be_bytes());
    vk.extend(g1.repeat(COUNTS.inputs as usize));
    let mut params = vk.clone();
    for query in Query::ALL {
        let count = COUNTS.query(query);
        params.extend(count.to_be_bytes());
        let point = if query == Query::BG2 { &g2[..] } else { &g1 };
        params.extend(point.repeat(count as usize));
    }
    assert_eq!(params.len() as u64, Layout::new(COUNTS).bytes());
    (params, vk)
}

/// Both files as one input: the length of the first in four bytes, then both.
fn join(params: &[u8], vk: &[u8]) -> Vec<u8> {
    [&(params.len() as u32).to_be_bytes()[..], params, vk].concat()
}

fn split(input: &[u8]) -> (&[u8], &[u8]) {
    let (length, files) = input.split_first_chunk().expect("four bytes");
    files.split_at(u32::from_be_bytes(*length) as usize)
}
