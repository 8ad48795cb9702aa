//! Ending early: signals and `--timeout` remove what is half written and leave at once.
//!
//! The work itself cannot be interrupted (a multi-scalar sum runs for seconds), so a thread waits
//! for the signal and ends the process from outside; see [`crate::temporary`] for the files.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Code;
use crate::temporary::Delivery;
use crate::{bus, sys, temporary};

/// Starts watching for INT, TERM and HUP (unless `nohup` lets that be ignored), for mapped files
/// that are cut short (BUS), and for the end of `timeout`.
///
/// # Errors
/// When the handlers or the threads cannot be set up.
pub fn install(timeout: Option<Duration>) -> io::Result<()> {
    // A file-size limit then is an ordinary write error instead of a silent death.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    bus::install()?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !sys::ignores_signal(SIGHUP) {
        signals.handle().add_signal(SIGHUP)?;
    }
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let (code, what) = match signal {
                SIGINT => (Code::Interrupted, "interrupted"),
                SIGHUP => (Code::HungUp, "the terminal went away"),
                _ if bus::happened() => (Code::Parameters, CUT_SHORT),
                _ => (Code::Terminated, "terminated"),
            };
            leave(code, what);
        }
    })?;
    if let Some(timeout) = timeout {
        thread::Builder::new().name("timeout".into()).spawn(move || {
            thread::sleep(timeout);
            let timeout = humantime::format_duration(timeout);
            leave(Code::Timeout, &format!("not done after {timeout} (--timeout)"));
        })?;
    }
    Ok(())
}

/// Only parameter files are mapped.
const CUT_SHORT: &str = "the parameter file was cut short, or its disk failed, while it was read";

/// The ending that was put off last, because it would have cut off a delivery.
static PUT_OFF: Mutex<Option<(Code, String)>> = Mutex::new(None);

/// Removes every temporary file and ends the process without running anything else; returns only
/// the first time that this would cut off the delivery of the result, or the report after it.
fn leave(code: Code, what: &str) {
    let mut put_off = PUT_OFF.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(registry) = temporary::abandon() else {
        *put_off = Some((code, what.to_owned()));
        return;
    };
    // What progress bars have left of the line goes first.
    let clear = if io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
    let left = what_is_left(registry.delivery(), registry.delivered());
    // Standard error may be closed; the exit code says the same.
    let _ = writeln!(io::stderr(), "{clear}error: {what}; {left}");
    signal_hook::low_level::exit(code as i32)
}

/// After a result was delivered, or could not be, another one is ahead. An ending that was put off
/// for that delivery comes now.
pub fn expect_another() {
    temporary::expect_another();
    let put_off = PUT_OFF.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((code, what)) = put_off {
        leave(code, &what);
    }
}

/// What a run that ends now leaves behind.
const fn what_is_left(delivery: Delivery, delivered: usize) -> &'static str {
    match delivery {
        Delivery::Ahead if delivered > 0 => "the outputs written before are complete",
        Delivery::Ahead => "no result was written",
        Delivery::UnderWay => "the output was being written and may be missing or incomplete",
        Delivery::Done => "the output is complete, the report may be missing",
    }
}
