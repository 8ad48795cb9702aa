//! A Phase-1 output whose partitions are parsed side by side.
//!
//! In: a text. Out: the output, or nothing when the text is faulty or unusual: then it is parsed
//! from its start in one piece, which alone says what is wrong and where.
//!
//! A 32 GiB output has 323,000 nodes in 38 MB, nearly all of it in ten partitions.

use rayon::prelude::*;

use super::json::{Bounded, PARTITIONS_MAX, Partition, Phase1Output, VanillaProofs};

/// How a partition begins. It has no digit and no comma, so a search for it strides over nodes.
const PARTITION_START: &str = "[{\"comm_d";
/// How the last partition and the array of partitions end.
const PARTITIONS_END: &str = "}]]";

/// Parses an output, or leaves it to who parses it in one piece.
pub(super) fn output(text: &[u8]) -> Option<Phase1Output> {
    let text = std::str::from_utf8(text).ok()?;
    let Pieces { open, partitions, close } = Pieces::find(text)?;
    let shell = [&text[..open], "null", &text[close + 1..]].concat();
    // So that a null where partitions belong is this one, and the array stood there.
    if shell.matches("null").count() != 1 {
        return None;
    }
    let shell: Phase1Output<()> = serde_json::from_str(&shell).ok()?;
    let parsed =
        partitions.into_par_iter().map(|text| serde_json::from_str::<Partition>(text).ok());
    let partitions = Bounded(parsed.collect::<Option<_>>()?);
    Some(Phase1Output {
        registered_proof: shell.registered_proof,
        vanilla_proofs: VanillaProofs { tag: shell.vanilla_proofs.tag, partitions },
        comm_r: shell.comm_r,
        comm_d: shell.comm_d,
        replica_id: shell.replica_id,
        seed: shell.seed,
        ticket: shell.ticket,
    })
}

/// Where the partitions of a text seem to be; parsing them shows whether they are.
struct Pieces<'a> {
    /// The bracket that opens their array.
    open: usize,
    /// The texts between that array's brackets, and between the commas there.
    partitions: Vec<&'a str>,
    /// The bracket that closes the array.
    close: usize,
}

impl<'a> Pieces<'a> {
    fn find(text: &'a str) -> Option<Self> {
        let starts = text.match_indices(PARTITION_START).map(|(at, _)| at);
        let starts: Vec<usize> = starts.take(PARTITIONS_MAX + 1).collect();
        let open = starts.first()?.checked_sub(1)?;
        let close = text.rfind(PARTITIONS_END)? + PARTITIONS_END.len() - 1;
        let commas = starts[1..].iter().map(|start| start - 1);
        let bytes = text.as_bytes();
        let are_apart = bytes[open] == b'[' && commas.clone().all(|at| bytes[at] == b',');
        if !are_apart || starts.len() > PARTITIONS_MAX {
            return None;
        }
        let ends = commas.chain([close]);
        let partitions = starts.iter().zip(ends).map(|(&start, end)| text.get(start..end));
        Some(Self { open, partitions: partitions.collect::<Option<_>>()?, close })
    }
}
