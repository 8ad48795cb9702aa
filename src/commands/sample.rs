//! `prove sample`: a C1 whose vanilla proofs are right although no sector was sealed.

use anyhow::{Context, Result};

use super::Session;
use crate::c1::{self, GivenIds, Sector};
use crate::cli::{SampleArgs, SampleShape};
use crate::output::Output;
use crate::progress::Phase;
use crate::sample::{self, SampleIds, SampleOptions};
use crate::temporary;

pub(super) fn run(session: &Session, args: &SampleArgs) -> Result<()> {
    let output = Output::prepare(&args.out, 0)?;
    let options = options(args, &session.settings.identity);
    let progress = session.progress();
    let sector = sample::generate(&options, progress)?;
    let text = progress.run(Phase::new("encode-c1"), 0, |_| {
        encode(&sector, args.shape, options.ids.sector_num).context("encode the C1")
    })?;
    temporary::deliver(|| {
        progress.run(Phase::new("write"), text.len() as u64, |_| output.write(&text))
    })?;
    let report = session.report().with_proof(options.registered_proof);
    session.tell_delivered(&report, &args.out)
}

/// The seed's ids, where the person gives no others.
fn options(args: &SampleArgs, given: &GivenIds) -> SampleOptions {
    let SampleOptions { registered_proof, ids, porep_id, .. } =
        SampleOptions::new(args.registered_proof(), args.seed);
    SampleOptions {
        registered_proof,
        data: args.data,
        seed: args.seed,
        ids: SampleIds {
            prover_id: given
                .prover_id
                .or(given.miner_id.map(c1::prover_id))
                .unwrap_or(ids.prover_id),
            sector_num: given.sector_num.unwrap_or(ids.sector_num),
            ..ids
        },
        porep_id: given.porep_id.unwrap_or(porep_id),
    }
}

fn encode(sector: &Sector, shape: SampleShape, sector_num: u64) -> Result<Vec<u8>> {
    match shape {
        SampleShape::S1 => {
            let mut text = Vec::new();
            c1::write_base64(sector, sector_num, &mut text)?;
            Ok(text)
        }
        SampleShape::S3 => Ok(serde_json::to_vec(sector)?),
    }
}
