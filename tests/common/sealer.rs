//! Seals sectors with `filecoin-proofs-api`, the code that miners run, up to the C1 output.

use std::fs::File;
use std::io::{Cursor, Write};

use anyhow::{Context, Result};
use filecoin_proofs_api::seal::{
    SealCommitPhase1Output, add_piece, generate_synth_proofs, seal_commit_phase1,
    seal_pre_commit_phase1, seal_pre_commit_phase2,
};
use filecoin_proofs_api::{ApiFeature, RegisteredSealProof, UnpaddedBytesAmount};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Everything that a sealed sector and its C1 output follow from.
pub struct Recipe {
    /// Size, version and features.
    pub proof: RegisteredSealProof,
    /// Miner actor id: 1000 stands for t01000.
    pub miner: u64,
    /// Sector number.
    pub sector: u64,
    /// Sealing ticket.
    pub ticket: [u8; 32],
    /// Interactive challenge seed.
    pub seed: [u8; 32],
    /// ChaCha8 seed of the sector's data.
    pub data_seed: u64,
}

impl Recipe {
    /// The ids and randomness that lotus-bench uses.
    pub fn as_lotus_bench(proof: RegisteredSealProof) -> Self {
        Self { proof, miner: 1000, sector: 1, ticket: [1; 32], seed: [1; 32], data_seed: 1 }
    }

    /// The miner's id as an unsigned varint, padded with zeros.
    pub fn prover_id(&self) -> [u8; 32] {
        let mut id = [0; 32];
        let mut rest = self.miner;
        for byte in &mut id {
            *byte = (rest & 0x7f) as u8;
            rest >>= 7;
            if rest == 0 {
                break;
            }
            *byte |= 0x80;
        }
        id
    }

    /// Seals one sector, filled by one piece, in a temporary folder; returns the C1 output.
    ///
    /// The same recipe gives the same output. [`super::upstream::settle`] must have run.
    pub fn seal(&self) -> Result<SealCommitPhase1Output> {
        let folder = tempfile::tempdir()?;
        let cache = folder.path().join("cache");
        std::fs::create_dir(&cache)?;
        let (staged, sealed) = (folder.path().join("staged"), folder.path().join("sealed"));
        File::create(&sealed)?.flush()?;

        let padded_bytes = u64::from(self.proof.sector_size());
        let piece_bytes = padded_bytes - padded_bytes / 128;
        let mut data = vec![0; piece_bytes as usize];
        ChaCha8Rng::seed_from_u64(self.data_seed).fill_bytes(&mut data);
        let staged_file = File::options().read(true).write(true).create_new(true).open(&staged)?;
        let piece_size = UnpaddedBytesAmount(piece_bytes);
        let (piece, _) = add_piece(self.proof, Cursor::new(data), staged_file, piece_size, &[])?;

        let (prover, sector, pieces) = (self.prover_id(), self.sector.into(), [piece]);
        let layers = seal_pre_commit_phase1(
            self.proof,
            &cache,
            &staged,
            &sealed,
            prover,
            sector,
            self.ticket,
            &pieces,
        )
        .context("pre-commit phase 1")?;
        let commitments =
            seal_pre_commit_phase2(layers, &cache, &sealed).context("pre-commit phase 2")?;
        if self.proof.feature_enabled(ApiFeature::SyntheticPoRep) {
            let commitments = commitments.clone();
            generate_synth_proofs(
                &cache,
                &sealed,
                prover,
                sector,
                self.ticket,
                commitments,
                &pieces,
            )
            .context("synthetic proofs")?;
        }
        seal_commit_phase1(
            &cache,
            &sealed,
            prover,
            sector,
            self.ticket,
            self.seed,
            commitments,
            &pieces,
        )
        .context("commit phase 1")
    }
}
