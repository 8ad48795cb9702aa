//! The JSON shapes in which C1 outputs travel, as their writers make them.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filecoin_proofs_api::seal::SealCommitPhase1Output;
use serde_json::{Value, json};

use super::sealer::Recipe;

/// Multicodec and multihash of an unsealed sector commitment.
const UNSEALED: [u64; 2] = [0xf101, 0x1012];
/// Multicodec and multihash of a sealed sector commitment.
const SEALED: [u64; 2] = [0xf102, 0xb401];

/// Writers of C1 files. Key order differs between them and is kept.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// lotus-bench, Curio's request to cuzk.
    S1,
    /// Swan ubi-bench.
    S2,
    /// `ffi.SealCommitPhase1`: Lotus, Curio, Venus.
    S3,
    /// Curio Snark Market; its Go structs sort the keys of S3.
    S4,
    /// Damocles.
    S6,
}

impl Shape {
    /// The file that the shape's writer makes of `c1`.
    pub fn write(self, recipe: &Recipe, c1: &SealCommitPhase1Output) -> Result<String> {
        let s3 = serde_json::to_string(c1)?;
        let Recipe { miner, sector, .. } = *recipe;
        let bytes = u64::from(recipe.proof.sector_size());
        let phase1_out = STANDARD.encode(&s3);
        let s1 =
            format!(r#"{{"SectorNum":{sector},"Phase1Out":"{phase1_out}","SectorSize":{bytes}"#);
        Ok(match self {
            Self::S1 => s1 + "}",
            Self::S2 => format!("{s1},{}}}", swan_fields(recipe, c1)),
            Self::S3 => s3,
            Self::S4 => {
                let sorted: Value = serde_json::from_str(&s3)?;
                let id = format!(r#"{{"Miner":{miner},"Number":{sector}}}"#);
                format!(r#"{{"SectorID":{id},"PoRep":{sorted},"Snap":null}}"#)
            }
            Self::S6 => format!(
                r#"{{"c1out":{s3},"prover_id":{},"sector_id":{sector},"miner_id":{miner}}}"#,
                json!(recipe.prover_id())
            ),
        })
    }
}

/// The fields that ubi-bench adds to S1.
fn swan_fields(recipe: &Recipe, c1: &SealCommitPhase1Output) -> String {
    format!(
        concat!(
            r#""Sid":{{"ID":{{"Miner":{},"Number":{}}},"ProofType":{}}},"Ticket":"{}","#,
            r#""Cids":{{"Unsealed":{{"/":"{}"}},"Sealed":{{"/":"{}"}}}},"#,
            r#""seed":{{"Value":"{}","Epoch":1000}}"#
        ),
        recipe.miner,
        recipe.sector,
        recipe.proof as i64,
        STANDARD.encode(recipe.ticket),
        cid(UNSEALED, &c1.comm_d),
        cid(SEALED, &c1.comm_r),
        STANDARD.encode(recipe.seed),
    )
}

/// CID version 1 of a 32-byte commitment: base32 of version, codec, hash, length, digest.
fn cid([codec, hash]: [u64; 2], commitment: &[u8; 32]) -> String {
    let mut bytes = vec![];
    for mut number in [1, codec, hash, 32] {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes.extend(commitment);
    let alphabet = b"abcdefghijklmnopqrstuvwxyz234567";
    let (mut text, mut window, mut bits) = (String::from("b"), 0_u32, 0);
    for byte in bytes {
        window = window << 8 | u32::from(byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(alphabet[(window >> bits) as usize & 31].into());
        }
    }
    if bits > 0 {
        text.push(alphabet[(window << (5 - bits)) as usize & 31].into());
    }
    text
}
