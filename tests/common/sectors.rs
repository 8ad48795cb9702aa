//! Sectors to prove, and their public inputs by the reference.

use std::path::Path;

use anyhow::Result;
use blstrs::Scalar as Fr;
use prove::c1::{self, GivenIds, Sector};
use prove::progress::Silent;
use prove::reference;
use prove::sample::{self, Data, SampleOptions};
use prove::sector::{ProofVersion, RegisteredProof, SectorSize};

/// A sealed sector of every kind, in `testdata/`.
pub const FIXTURES: [&str; 5] = [
    "c1-2KiB.json",
    "c1-2KiB-v1.json",
    "c1-2KiB-synthetic.json",
    "c1-2KiB-ni.json",
    "c1-8MiB.json",
];

/// The sector of `testdata/NAME`.
pub fn fixture(name: &str) -> Result<Sector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    Ok(c1::read(&std::fs::read(path)?, &GivenIds::default())?.sector)
}

/// A sample with random data.
pub fn sample(size: SectorSize) -> Result<Sector> {
    let proof = RegisteredProof { size, version: ProofVersion::V1_1 };
    let options = SampleOptions { data: Data::Tiled, ..SampleOptions::new(proof, 1) };
    Ok(sample::generate(&options, &Silent)?)
}

/// Public inputs of every partition, without ONE.
pub fn public_inputs(sector: &Sector) -> Result<Vec<Vec<Fr>>> {
    (0..sector.partitions.len()).map(|k| reference::public_inputs(sector, k)).collect()
}
