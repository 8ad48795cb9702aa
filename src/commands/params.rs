//! `prove params`: list, check and make parameter files.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::Session;
use crate::cli::ParamsCommand;
use crate::device;
use crate::memory::Budget;
use crate::params::list::{DigestState, Length, Listing};
use crate::params::{self, ParameterFiles, Parameters, ProductionDigests, check, setup};
use crate::report::SCHEMA;
use crate::sector::SectorSize;

pub(super) fn run(session: &Session, command: &ParamsCommand) -> Result<()> {
    match command {
        ParamsCommand::List => {
            session.settings.params.check()?;
            let listings = params::list::list(&session.settings.params);
            session.answer(&Table::new(listings.iter().map(Entry::new).collect()))
        }
        ParamsCommand::Check { sector_size } => check_all(session, *sector_size),
        ParamsCommand::Setup { insecure: _, sector_size, out, seed } => {
            set_up(session, *sector_size, out, *seed)
        }
    }
}

/// Checks one size, or every size that is present.
fn check_all(session: &Session, size: Option<SectorSize>) -> Result<()> {
    let folder = &session.settings.params;
    let present = |size: &SectorSize| {
        let files = ParameterFiles::new(&folder.path, *size);
        files.params.exists() || files.vk.exists()
    };
    let sizes: Vec<SectorSize> = match size {
        Some(size) => vec![size],
        None => SectorSize::ALL.into_iter().filter(present).collect(),
    };
    if sizes.is_empty() {
        // With the message that tells what is looked for and where.
        Parameters::open(folder, SectorSize::GiB32)?;
    }
    for &size in &sizes {
        let parameters = Parameters::open(folder, size)?;
        let checked = check::check(&parameters, session.progress())?;
        let (path, security) = (parameters.path().display(), parameters.security());
        let digest = checked.digest;
        session.progress().note(&format!("{size}: `{path}` is sound, {security}, digest {digest}"));
    }
    let listings = sizes.iter().map(|&size| params::list::list_size(folder, size));
    let entries: Vec<Entry> = listings.map(|listing| Entry::new(&listing)).collect();
    session.write_json(&Table::new(entries))
}

fn set_up(session: &Session, size: SectorSize, out: &Path, seed: Option<u64>) -> Result<()> {
    let settings = &session.settings;
    // Nobody need have a card to hear that there is no place for the files.
    setup::check_target(size, out)?;
    let device = device::open(&settings.device, Some(size), session.progress())?;
    let gpu = device.gpu();
    let needed_bytes = setup::memory_bytes(size, gpu.is_some());
    Budget::detect(settings.ram_bytes).check(needed_bytes)?;
    if gpu.is_none() && size.is_production() {
        let minutes = setup::cpu_minutes(size);
        session.progress().note(&format!("on the CPU this takes about {minutes} minutes"));
    }
    let files = setup::insecure(size, out, seed, gpu, session.progress())?;
    let mut report = session.report();
    report.sector_size = Some(size.bytes());
    report.device = device.info();
    report.peak_vram_bytes = device.peak_vram_bytes();
    session.tell_delivered(&report, &files.params)?;
    let path = files.params.display();
    session.progress().note(&format!("insecure {size} parameters for tests: `{path}`"));
    Ok(())
}

/// What `params list` tells.
#[derive(Serialize)]
struct Table {
    /// [`SCHEMA`].
    schema: u32,
    /// One entry a sector size.
    parameters: Vec<Entry>,
}

impl Table {
    const fn new(parameters: Vec<Entry>) -> Self {
        Self { schema: SCHEMA, parameters }
    }
}

/// The files of one sector size.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// The sector size.
    pub(super) sector_size: String,
    params: FileEntry,
    vk: FileEntry,
    marker: bool,
    digest: Option<String>,
    digest_checked: bool,
    /// `secure` or `insecure`; none when the files are absent or not usable.
    security: Option<String>,
    fault: Option<String>,
}

#[derive(Debug, Serialize)]
struct FileEntry {
    path: PathBuf,
    bytes: Option<u64>,
    expected_bytes: u64,
    production_digest: &'static str,
}

impl Entry {
    /// The entry of a listing.
    pub(super) fn new(listing: &Listing) -> Self {
        let Listing { size, files, production, params, vk, marked, digest, opened } = listing;
        let ProductionDigests { params: params_digest, vk: vk_digest } = *production;
        let file = |path: &Path, length: &Length, production_digest| FileEntry {
            path: path.to_owned(),
            bytes: length.got,
            expected_bytes: length.expected,
            production_digest,
        };
        Self {
            sector_size: size.to_string(),
            params: file(&files.params, params, params_digest),
            vk: file(&files.vk, vk, vk_digest),
            marker: *marked,
            digest: match digest {
                DigestState::NotChecked => None,
                DigestState::Production => Some(params_digest.to_owned()),
                DigestState::Other(digest) => Some(digest.clone()),
            },
            digest_checked: *digest != DigestState::NotChecked,
            security: match opened {
                Some(Ok(security)) => Some(security.to_string()),
                _ => None,
            },
            fault: match opened {
                Some(Err(fault)) => Some(fault.to_string().lines().next().unwrap_or("").to_owned()),
                _ => None,
            },
        }
    }

    /// The state in a few words.
    pub(super) fn summary(&self) -> String {
        match (&self.security, &self.fault) {
            (Some(security), _) => format!("{security}, {}", self.digest_state()),
            (None, Some(fault)) => format!("not usable: {fault}"),
            (None, None) => "absent".to_owned(),
        }
    }

    fn digest_state(&self) -> String {
        match &self.digest {
            None => "digest not checked".to_owned(),
            Some(digest) if digest == self.params.production_digest => {
                format!("digest {digest}, the network's")
            }
            Some(digest) => format!("digest {digest}, not the network's"),
        }
    }
}

impl fmt::Display for FileEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match self.bytes {
            Some(bytes) if bytes == self.expected_bytes => write!(f, " ({bytes} bytes)"),
            Some(bytes) => write!(f, " ({bytes} bytes, expected {})", self.expected_bytes),
            None => write!(
                f,
                " (absent; expected {} bytes, digest {})",
                self.expected_bytes, self.production_digest
            ),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.parameters.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            let marker = if entry.marker { ", marked as insecure" } else { "" };
            writeln!(f, "{newline}{}: {}{marker}", entry.sector_size, entry.summary())?;
            writeln!(f, "  {}", entry.params)?;
            write!(f, "  {}", entry.vk)?;
        }
        Ok(())
    }
}
