//! The wrappers that a Phase-1 output comes in, recognised by their keys.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::C1Error;
use super::json::{self, Document};
use super::{Node, Sector, path};

/// Bytes of the input that an error message shows.
const START_BYTES: usize = 24;
/// Groups of four base64 characters that are decoded in one piece: 768 KiB of text.
pub(super) const PIECE_QUADS: usize = 1 << 18;

/// A shape of C1 file (`S1` to `S6`; there is no S5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// S1: sector number, size and the output in base64. No miner id.
    Base64,
    /// S2: S1 with the sector's ids beside it.
    Base64WithIds,
    /// S3: the bare output.
    Bare,
    /// S4: the output under `PoRep`, ids under `SectorID`.
    SnarkMarket,
    /// S6: the output under `c1out`, with prover, sector and miner id.
    Damocles,
}

impl Shape {
    /// What goes before the JSON paths of the output.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Base64 | Self::Base64WithIds => "Phase1Out",
            Self::Bare => "",
            Self::SnarkMarket => "PoRep",
            Self::Damocles => "c1out",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base64 => "S1, base64 Phase1Out (lotus-bench, Curio)",
            Self::Base64WithIds => "S2, base64 Phase1Out with Sid (ubi-bench)",
            Self::Bare => "S3, bare commit-phase-1 output (Lotus, Curio, Venus)",
            Self::SnarkMarket => "S4, PoRep request (Curio Snark Market)",
            Self::Damocles => "S6, c1out with ids (Damocles)",
        })
    }
}

/// A wrapper taken off.
pub(super) struct Opened<'a> {
    /// The shape that it had.
    pub(super) shape: Shape,
    /// The JSON of the Phase-1 output.
    text: Cow<'a, [u8]>,
    /// Where in the file `text` begins.
    start: usize,
    /// The ids that stand beside the output.
    pub(super) ids: FileIds,
    /// `SectorSize`, in bytes.
    pub(super) sector_size: Option<u64>,
}

/// Ids in a wrapper, each with the path that it was read from.
#[derive(Default)]
pub(super) struct FileIds {
    pub(super) miner_id: Option<(&'static str, u64)>,
    pub(super) prover_id: Option<(&'static str, Node)>,
    /// S2 has it twice.
    pub(super) sector_nums: Vec<(&'static str, u64)>,
}

/// Every key that some shape has at its top, unread.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, rename = "Phase1Out")]
    phase1_out: Option<&'a RawValue>,
    #[serde(rename = "SectorNum")]
    sector_num: Option<&'a RawValue>,
    #[serde(rename = "SectorSize")]
    sector_size: Option<&'a RawValue>,
    #[serde(rename = "Sid")]
    sid: Option<&'a RawValue>,
    #[serde(rename = "PoRep")]
    porep: Option<&'a RawValue>,
    #[serde(rename = "SectorID")]
    sector_ids: Option<&'a RawValue>,
    #[serde(rename = "Snap")]
    snap: Option<&'a RawValue>,
    c1out: Option<&'a RawValue>,
    prover_id: Option<&'a RawValue>,
    sector_id: Option<&'a RawValue>,
    miner_id: Option<&'a RawValue>,
    vanilla_proofs: Option<&'a RawValue>,
}

/// Lotus's `abi.SectorID`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SectorId {
    miner: u64,
    number: u64,
}

/// Lotus's `storiface.SectorRef`, of which only the id is read.
#[derive(Deserialize)]
struct SectorRef {
    #[serde(rename = "ID")]
    id: SectorId,
}

/// A JSON string, borrowed when nothing in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A 32-byte value.
#[derive(Deserialize)]
struct NodeValue(#[serde(deserialize_with = "json::node")] Node);

impl<'a> Opened<'a> {
    /// Recognises the shape of `file` and takes its wrapper off.
    pub(super) fn new(file: &'a [u8]) -> Result<Self, C1Error> {
        check_start(file)?;
        let reader = Reader { file };
        let envelope: Envelope<'a> =
            Document { text: file, prefix: "", name: "the file", start: 0 }.parse()?;
        match envelope.shape()? {
            Shape::Base64 => envelope.open_base64(reader),
            Shape::Base64WithIds => envelope.open_base64_with_ids(reader),
            Shape::Bare => Ok(Self::bare(file)),
            Shape::SnarkMarket => envelope.open_snark_market(reader),
            Shape::Damocles => envelope.open_damocles(reader),
        }
    }

    /// The Phase-1 output.
    pub(super) fn document(&self) -> Document<'_> {
        let name = match self.text {
            Cow::Borrowed(_) => "the file",
            Cow::Owned(_) => "the decoded Phase1Out",
        };
        Document { text: &self.text, prefix: self.shape.prefix(), name, start: self.start }
    }

    fn bare(file: &'a [u8]) -> Self {
        Self {
            shape: Shape::Bare,
            text: Cow::Borrowed(file),
            start: 0,
            ids: FileIds::default(),
            sector_size: None,
        }
    }
}

/// Refuses what is no JSON object before any parsing.
fn check_start(file: &[u8]) -> Result<(), C1Error> {
    let Some(first) = file.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return Err(C1Error::Empty);
    };
    match file[first] {
        b'{' => Ok(()),
        b'<' => Err(C1Error::Markup),
        _ => {
            let start = &file[first..file.len().min(first + START_BYTES)];
            let start = path::printable(&String::from_utf8_lossy(start), START_BYTES);
            Err(C1Error::NotAnObject { start })
        }
    }
}

impl<'a> Envelope<'a> {
    fn shape(&self) -> Result<Shape, C1Error> {
        let with_ids = self.sid.is_some();
        let base64 = if with_ids { Shape::Base64WithIds } else { Shape::Base64 };
        let shapes = [
            ("Phase1Out", self.phase1_out.is_some(), base64),
            ("PoRep", self.porep.is_some(), Shape::SnarkMarket),
            ("c1out", self.c1out.is_some(), Shape::Damocles),
            ("vanilla_proofs", self.vanilla_proofs.is_some(), Shape::Bare),
        ];
        let mut found = shapes.iter().filter(|(_, is_there, _)| *is_there);
        match (found.next(), found.next()) {
            (Some((_, _, shape)), None) => Ok(*shape),
            (Some((first, ..)), Some((second, ..))) => {
                Err(C1Error::AmbiguousShape { first, second })
            }
            (None, _) => Err(C1Error::UnknownShape {
                note: if self.snap.is_some() {
                    "\nhint: this is a Snap request, and only PoRep can be proved"
                } else if with_ids {
                    "\nhint: this is the input of commit phase 1, not its output"
                } else {
                    ""
                },
            }),
        }
    }

    fn open_base64(&self, reader: Reader<'a>) -> Result<Opened<'a>, C1Error> {
        let key = "Phase1Out";
        let text = match self.phase1_out.and_then(decoded) {
            Some(text) => text,
            None => {
                let Text(base64) = reader.required(self.phase1_out, key, key)?;
                STANDARD.decode(&*base64).map_err(|source| C1Error::Base64 { path: key, source })?
            }
        };
        let number = reader.required(self.sector_num, "SectorNum", key)?;
        Ok(Opened {
            shape: Shape::Base64,
            text: Cow::Owned(text),
            start: 0,
            ids: FileIds { sector_nums: vec![("SectorNum", number)], ..FileIds::default() },
            sector_size: Some(reader.required(self.sector_size, "SectorSize", key)?),
        })
    }

    fn open_base64_with_ids(&self, reader: Reader<'a>) -> Result<Opened<'a>, C1Error> {
        let mut opened = self.open_base64(reader)?;
        let SectorRef { id } = reader.required(self.sid, "Sid", "Phase1Out")?;
        opened.shape = Shape::Base64WithIds;
        opened.ids.miner_id = Some(("Sid.ID.Miner", id.miner));
        opened.ids.sector_nums.push(("Sid.ID.Number", id.number));
        Ok(opened)
    }

    fn open_snark_market(&self, reader: Reader<'a>) -> Result<Opened<'a>, C1Error> {
        let key = "PoRep";
        let id: SectorId = reader.required(self.sector_ids, "SectorID", key)?;
        let ids = FileIds {
            miner_id: Some(("SectorID.Miner", id.miner)),
            prover_id: None,
            sector_nums: vec![("SectorID.Number", id.number)],
        };
        reader.borrowed(Shape::SnarkMarket, self.porep, ids)
    }

    fn open_damocles(&self, reader: Reader<'a>) -> Result<Opened<'a>, C1Error> {
        let key = "c1out";
        let NodeValue(prover_id) = reader.required(self.prover_id, "prover_id", key)?;
        let ids = FileIds {
            miner_id: Some(("miner_id", reader.required(self.miner_id, "miner_id", key)?)),
            prover_id: Some(("prover_id", prover_id)),
            sector_nums: vec![("sector_id", reader.required(self.sector_id, "sector_id", key)?)],
        };
        reader.borrowed(Shape::Damocles, self.c1out, ids)
    }
}

/// Decodes a string of base64 in pieces, side by side; anything else is left to a decoder that
/// takes it in one piece and says what is wrong.
pub(super) fn decoded(value: &RawValue) -> Option<Vec<u8>> {
    let base64 = value.get().strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut text = vec![0; base64.len() / 4 * 3];
    let pieces = base64.par_chunks(4 * PIECE_QUADS).zip(text.par_chunks_mut(3 * PIECE_QUADS));
    let decode = |(from, to): (&[u8], &mut [u8])| STANDARD.decode_slice(from, to).ok();
    let bytes: Vec<usize> = pieces.map(decode).collect::<Option<_>>()?;
    let (last, others) = bytes.split_last()?;
    // Padding ends a text, but to its decoder each piece is one.
    let is_one = base64.len() % 4 == 0 && others.iter().all(|&bytes| bytes == 3 * PIECE_QUADS);
    text.truncate(others.len() * 3 * PIECE_QUADS + last);
    is_one.then_some(text)
}

/// Reads values of the file in place.
#[derive(Clone, Copy)]
struct Reader<'a> {
    file: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the value of `key`, which must be there because `beside` is.
    fn required<T: Deserialize<'a>>(
        self,
        value: Option<&'a RawValue>,
        key: &'static str,
        beside: &'static str,
    ) -> Result<T, C1Error> {
        let text = value.ok_or(C1Error::MissingKey { path: key, beside })?.get().as_bytes();
        Document { text, prefix: key, name: "the file", start: self.position(text) }.parse()
    }

    /// The output that stands as it is under a key of the file.
    fn borrowed(
        self,
        shape: Shape,
        value: Option<&'a RawValue>,
        ids: FileIds,
    ) -> Result<Opened<'a>, C1Error> {
        let key = shape.prefix();
        let text = value.ok_or(C1Error::MissingKey { path: key, beside: key })?.get().as_bytes();
        let start = self.position(text);
        Ok(Opened { shape, text: Cow::Borrowed(text), start, ids, sector_size: None })
    }

    /// Where in the file a part of it begins.
    fn position(self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.file.as_ptr().addr()
    }
}

/// Writes `sector` in shape S1, with its sector number.
///
/// # Errors
/// When `writer` fails.
pub fn write_base64(
    sector: &Sector,
    sector_num: u64,
    mut writer: impl std::io::Write,
) -> std::io::Result<()> {
    write!(writer, "{{\"SectorNum\":{sector_num},\"Phase1Out\":\"")?;
    let mut encoder = base64::write::EncoderWriter::new(&mut writer, &STANDARD);
    serde_json::to_writer(&mut encoder, sector)?;
    encoder.finish()?;
    drop(encoder);
    write!(writer, "\",\"SectorSize\":{}}}", sector.registered_proof.size.bytes())
}
