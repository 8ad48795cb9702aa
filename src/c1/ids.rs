//! Whose sector is it? `replica_id` binds prover id, sector number, ticket, comm_d and porep id.
//!
//! Ids from the file and from the caller are checked against it. One id that nobody gives is
//! found by search, because hashing four million candidates takes less than a second.

use std::fmt;

use rayon::prelude::*;
use sha2::digest::generic_array::GenericArray;
use sha2::digest::generic_array::typenum::U64;

use super::error::C1Error;
use super::shape::FileIds;
use super::{Node, Sector};
use crate::sector::NODE_BYTES;

/// Ids below this are searched: more than the main network has miners or a miner sectors.
pub(super) const SEARCH_END: u64 = 1 << 22;
/// The miner of lotus-bench and of development networks, tried first.
const BENCH_MINER: u64 = 1000;

/// SHA-256's initial state (FIPS 180-4, 5.3.3).
const SHA256_START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Ids that the caller states; they must agree with the file and with `replica_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenIds {
    /// The miner's actor id: 1000 for `t01000`.
    pub miner_id: Option<u64>,
    /// The prover id, which is the miner's actor id as an unsigned varint, padded with zeros.
    pub prover_id: Option<Node>,
    /// The sector number.
    pub sector_num: Option<u64>,
    /// The porep id, when it is not the registered proof's own.
    pub porep_id: Option<Node>,
}

/// Whose sector a C1 is of, as far as is known; what is known gives `replica_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The prover id.
    pub prover_id: Option<(Node, IdSource)>,
    /// The sector number.
    pub sector_num: Option<(u64, IdSource)>,
}

/// Where an id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// It stands in the file.
    File,
    /// The caller gave it.
    Given,
    /// No other candidate gives the `replica_id`.
    Search,
}

impl fmt::Display for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "in the file",
            Self::Given => "given",
            Self::Search => "found by search",
        })
    }
}

impl Ids {
    /// The miner's actor id, when the prover id is one.
    pub fn miner_id(&self) -> Option<u64> {
        self.prover_id.and_then(|(prover_id, _)| actor_id(&prover_id))
    }
}

/// The prover id of an actor: unsigned varint (LEB128), padded with zeros.
pub fn prover_id(actor_id: u64) -> Node {
    let mut id = [0; 32];
    let mut rest = actor_id;
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

/// The actor whose prover id this is, if it is the shortest varint of one.
fn actor_id(id: &Node) -> Option<u64> {
    // 64 bits need ten groups of seven.
    let groups = id.iter().take(10).enumerate();
    let value = groups
        .scan(true, |more, (group, &byte)| {
            let is_used = std::mem::replace(more, *more && byte & 0x80 != 0);
            is_used.then_some(u64::from(byte & 0x7f).checked_shl(7 * group as u32).unwrap_or(0))
        })
        .fold(0, |value, bits| value | bits);
    (prover_id(value) == *id).then_some(value)
}

/// Gathers the ids, checks that they agree and give `replica_id`, and searches for a missing one.
pub(super) fn resolve(sector: &Sector, file: &FileIds, given: &GivenIds) -> Result<Ids, C1Error> {
    let from_file = |key: &'static str| Source { name: key, kind: IdSource::File };
    let option = |name: &'static str| Source { name, kind: IdSource::Given };

    let provers = file
        .miner_id
        .map(|(key, miner)| (from_file(key), prover_id(miner)))
        .into_iter()
        .chain(file.prover_id.map(|(key, id)| (from_file(key), id)))
        .chain(given.miner_id.map(|miner| (option("--miner-id"), prover_id(miner))))
        .chain(given.prover_id.map(|id| (option("--prover-id"), id)));
    let numbers = file
        .sector_nums
        .iter()
        .map(|&(key, number)| (from_file(key), number))
        .chain(given.sector_num.map(|number| (option("--sector-num"), number)));
    let prover = agreed(provers, shown)?;
    let number = agreed(numbers, u64::to_string)?;
    Search { sector, preimage: Preimage::new(sector) }.complete(prover, number)
}

#[derive(Clone, Copy)]
struct Source {
    name: &'static str,
    kind: IdSource,
}

/// The first of several statements of one id, when the others agree.
fn agreed<T: PartialEq + Copy>(
    mut statements: impl Iterator<Item = (Source, T)>,
    show: impl Fn(&T) -> String,
) -> Result<Option<(T, IdSource)>, C1Error> {
    let Some((first, id)) = statements.next() else { return Ok(None) };
    match statements.find(|(_, other)| *other != id) {
        None => Ok(Some((id, first.kind))),
        Some((second, other)) => Err(C1Error::IdConflict {
            first: first.name,
            first_id: show(&id),
            second: second.name,
            second_id: show(&other),
        }),
    }
}

/// A prover id as a person knows it: the miner's number, or hex.
fn shown(id: &Node) -> String {
    actor_id(id).map_or_else(|| format!("0x{}", hex::encode(id)), |actor| actor.to_string())
}

/// Compares candidates with a sector's `replica_id`.
struct Search<'a> {
    sector: &'a Sector,
    preimage: Preimage,
}

impl Search<'_> {
    fn complete(
        &self,
        prover: Option<(Node, IdSource)>,
        number: Option<(u64, IdSource)>,
    ) -> Result<Ids, C1Error> {
        match (prover, number) {
            (None, None) => Ok(Ids::default()),
            (Some((id, _)), Some((num, _))) if self.matches(&id, num) => {
                Ok(Ids { prover_id: prover, sector_num: number })
            }
            (Some((id, _)), Some((num, _))) => Err(self.diagnosed(&id, num)),
            (None, Some((num, _))) => match self.miner(num) {
                Some(miner) => {
                    let prover_id = Some((prover_id(miner), IdSource::Search));
                    Ok(Ids { prover_id, sector_num: number })
                }
                None => Err(self.not_found("miner id", format!("sector number {num}"))),
            },
            (Some((id, _)), None) => match self.sector_num(&id) {
                Some(num) => {
                    Ok(Ids { prover_id: prover, sector_num: Some((num, IdSource::Search)) })
                }
                None => Err(self.not_found("sector number", format!("miner {}", shown(&id)))),
            },
        }
    }

    fn matches(&self, prover_id: &Node, sector_num: u64) -> bool {
        self.preimage.replica_id(prover_id, sector_num) == self.sector.replica_id
    }

    /// The miner that sealed sector `number`.
    fn miner(&self, number: u64) -> Option<u64> {
        self.first(BENCH_MINER, |miner| self.matches(&prover_id(miner), number))
    }

    /// The number of the sector that a prover sealed.
    fn sector_num(&self, prover_id: &Node) -> Option<u64> {
        self.first(1, |number| self.matches(prover_id, number))
    }

    fn first(&self, guess: u64, matches: impl Fn(u64) -> bool + Sync) -> Option<u64> {
        if matches(guess) {
            return Some(guess);
        }
        (0..SEARCH_END).into_par_iter().find_any(|&candidate| matches(candidate))
    }

    /// Tells which of two ids that do not fit is wrong, when the other is right.
    fn diagnosed(&self, prover_id: &Node, sector_num: u64) -> C1Error {
        let fits = if let Some(miner) = self.miner(sector_num) {
            format!("sector {sector_num} is of miner {miner}")
        } else if let Some(number) = self.sector_num(prover_id) {
            format!("of this miner it is sector {number}")
        } else {
            format!("nor is it any other miner's or sector's below {SEARCH_END}")
        };
        let porep_id = hex::encode(self.sector.porep_id);
        C1Error::ReplicaId { miner: shown(prover_id), sector: sector_num, porep_id, fits }
    }

    fn not_found(&self, what: &'static str, known: String) -> C1Error {
        let option = if what == "miner id" { "--miner-id" } else { "--sector-num" };
        let porep_id = hex::encode(self.sector.porep_id);
        C1Error::NotFound { what, limit: SEARCH_END, known, porep_id, option }
    }
}

/// The 136 bytes that `replica_id` hashes, padded to three SHA-256 blocks.
///
/// A candidate costs three compressions and nothing else: 0.16 us, against 0.22 us through
/// `Sha256`, which buffers (one busy core with SHA extensions).
#[derive(Clone, Copy)]
struct Preimage {
    blocks: [GenericArray<u8, U64>; 3],
}

impl Preimage {
    /// `generate_replica_id` of `storage-proofs-porep`, with both ids zero.
    fn new(sector: &Sector) -> Self {
        const BYTES: usize = 4 * NODE_BYTES + 8;
        let mut padded = [0; 3 * 64];
        padded[40..72].copy_from_slice(&sector.ticket);
        padded[72..104].copy_from_slice(&sector.comm_d);
        padded[104..BYTES].copy_from_slice(&sector.porep_id);
        padded[BYTES] = 0x80;
        padded[184..].copy_from_slice(&(8 * BYTES as u64).to_be_bytes());
        let block = |index: usize| *GenericArray::from_slice(&padded[64 * index..64 * (index + 1)]);
        Self { blocks: [block(0), block(1), block(2)] }
    }

    /// The replica id under two ids: SHA-256 without its top two bits.
    fn replica_id(mut self, prover_id: &Node, sector_num: u64) -> Node {
        self.blocks[0][..32].copy_from_slice(prover_id);
        self.blocks[0][32..40].copy_from_slice(&sector_num.to_be_bytes());
        let mut state = SHA256_START;
        sha2::compress256(&mut state, &self.blocks);
        let mut id = [0; NODE_BYTES];
        for (bytes, word) in id.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        id[31] &= 0x3f;
        id
    }
}

#[cfg(test)]
mod tests {
    use filecoin_hashers::poseidon::PoseidonHasher;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use storage_proofs_porep::stacked::generate_replica_id;

    use super::*;

    fn sector_of(miner: u64, number: u64) -> Sector {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut sector = Sector {
            registered_proof: "StackedDrg2KiBV1_1".parse().expect("a registered name"),
            comm_r: rng.r#gen(),
            comm_d: rng.r#gen(),
            replica_id: [0; 32],
            seed: rng.r#gen(),
            ticket: rng.r#gen(),
            porep_id: rng.r#gen(),
            partitions: vec![],
        };
        sector.replica_id = Preimage::new(&sector).replica_id(&prover_id(miner), number);
        sector
    }

    fn numbered(number: u64) -> FileIds {
        FileIds { sector_nums: vec![("SectorNum", number)], ..FileIds::default() }
    }

    #[test]
    fn prover_ids_are_varints() {
        for (actor, bytes) in
            [(0, &[0][..]), (127, &[127]), (128, &[128, 1]), (1000, &[0xe8, 7]), (1 << 63, &[])]
        {
            let id = prover_id(actor);
            assert_eq!(actor_id(&id), Some(actor));
            assert!(id.starts_with(bytes));
        }
        assert_eq!(prover_id(u64::MAX)[..11], [255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0]);
        assert_eq!(actor_id(&prover_id(u64::MAX)), Some(u64::MAX));
        assert_eq!(actor_id(&[0xff; 32]), None);
        assert_eq!(actor_id(&[7; 32]), None);
    }

    #[test]
    fn replica_ids_are_the_references() {
        let sector = sector_of(1000, 1);
        for (miner, number) in [(0, 0), (1000, 1), (3_000_000, u64::MAX)] {
            let prover = prover_id(miner);
            let expected = generate_replica_id::<PoseidonHasher, _>(
                &prover,
                number,
                &sector.ticket,
                sector.comm_d,
                &sector.porep_id,
            );
            let ours = Preimage::new(&sector).replica_id(&prover, number);
            assert_eq!(ours, <Node>::from(expected));
        }
    }

    #[test]
    fn missing_ids_are_found_and_wrong_ones_named() {
        let sector = sector_of(3_123_456, 77);
        let found = resolve(&sector, &numbered(77), &GivenIds::default()).expect("a miner");
        assert_eq!(
            (found.miner_id(), found.sector_num),
            (Some(3_123_456), Some((77, IdSource::File)))
        );

        let given = GivenIds { miner_id: Some(3_123_456), ..GivenIds::default() };
        let found = resolve(&sector, &FileIds::default(), &given).expect("a sector number");
        assert_eq!(found.sector_num, Some((77, IdSource::Search)));

        for (file, miner, hint) in [
            (numbered(77), 1000, "sector 77 is of miner 3123456"),
            (numbered(78), 3_123_456, "of this miner it is sector 77"),
            (numbered(78), 1000, "nor is it any other miner's"),
        ] {
            let given = GivenIds { miner_id: Some(miner), ..GivenIds::default() };
            let error = resolve(&sector, &file, &given).expect_err("wrong ids").to_string();
            assert!(error.contains(hint), "{error}");
        }
        let error = resolve(&sector, &numbered(78), &GivenIds::default()).expect_err("not found");
        assert!(matches!(error, C1Error::NotFound { what: "miner id", .. }), "{error}");
    }

    #[test]
    fn ids_that_disagree_are_told() {
        let sector = sector_of(1000, 1);
        let file = FileIds { miner_id: Some(("SectorID.Miner", 1000)), ..numbered(1) };
        let cases = [
            (GivenIds { miner_id: Some(1001), ..GivenIds::default() }, "SectorID.Miner says 1000"),
            (GivenIds { sector_num: Some(2), ..GivenIds::default() }, "SectorNum says 1"),
            (
                GivenIds { prover_id: Some([7; 32]), ..GivenIds::default() },
                "--prover-id says 0x0707",
            ),
        ];
        for (given, text) in cases {
            let error = resolve(&sector, &file, &given).expect_err("a conflict").to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
