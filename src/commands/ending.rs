//! What a run that a signal or `--timeout` ends leaves in its `--json` and `--trace` files: how far
//! it came.
//!
//! Standard output, pipes and devices get nothing: they could be left with half of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;

use super::{Session, json_text};
use crate::build;
use crate::output::Output;
use crate::progress::Progress;
use crate::progress::timeline::{PhaseRecord, milliseconds};
use crate::report::SCHEMA;
use crate::stop;

/// The report of a run that is not finished; what it has in common with that of a finished one has
/// the same names.
#[derive(Debug, Serialize)]
pub(super) struct Unfinished {
    schema: u32,
    version: &'static str,
    git: &'static str,
    command: &'static str,
    /// What ended the run.
    unfinished: String,
    /// The phase that began last among those that ran; none between two.
    phase: Option<&'static str>,
    /// The phases that were over.
    phases: Vec<PhaseRecord>,
    environment: BTreeMap<&'static str, String>,
    total_ms: f64,
    peak_rss_anon_bytes: u64,
    warnings: Vec<String>,
}

impl Unfinished {
    fn new(session: &Session, why: &str) -> Self {
        Self {
            schema: SCHEMA,
            version: build::PACKAGE_VERSION,
            git: build::GIT_REVISION,
            command: session.command,
            unfinished: why.to_owned(),
            phase: Some(session.console.current_phase()).filter(|phase| !phase.is_empty()),
            phases: session.console.records(),
            environment: session.settings.environment.clone(),
            total_ms: milliseconds(session.started.elapsed()),
            peak_rss_anon_bytes: session.monitor.peak_rss_anon_bytes(),
            warnings: session.console.warnings(),
        }
    }
}

/// From now on a signal or `--timeout` writes the files that are wanted, with the report that
/// `complete` makes of what is known of any run.
pub(super) fn watch<T: Serialize>(
    session: &Arc<Session>,
    complete: impl Fn(Unfinished) -> T + Send + 'static,
) {
    let session = Arc::downgrade(session);
    stop::before_leaving(move |why| {
        let Some(session) = session.upgrade() else { return };
        let report = || complete(Unfinished::new(&session, why));
        if let Err(error) = write(&session, report) {
            session.console.warn(&format!("no report of the unfinished run: {error}"));
        }
    });
}

fn write<T: Serialize>(session: &Session, report: impl FnOnce() -> T) -> Result<()> {
    if let Some(json @ Output::File { .. }) = &session.json {
        json.write(&json_text(&report())?)?;
    }
    match &session.trace {
        Some(Output::File { .. }) => session.write_trace(),
        _ => Ok(()),
    }
}
