//! Ending early: signals and `--timeout` let the run say how far it came, remove what is half
//! written and leave at once.
//!
//! The work itself cannot be interrupted (a multi-scalar sum runs for seconds), so a thread waits
//! for the signal and ends the process from outside; see [`crate::temporary`] for the files.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
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

/// How long the last words may take: a disk that hangs keeps no run alive.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(2);

/// Told why the run ends.
type LastWords = Box<dyn Fn(&str) + Send>;

/// What is done before the run ends; held while it is done.
static LAST_WORDS: Mutex<Option<LastWords>> = Mutex::new(None);

fn last_words() -> MutexGuard<'static, Option<LastWords>> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on `tell` is called with the reason before the process ends early, unless its result
/// was begun to be delivered. The work goes on meanwhile. After two seconds the process ends all
/// the same, and what `tell` has under a temporary name by then is removed.
pub fn before_leaving(tell: impl Fn(&str) + Send + 'static) {
    *last_words() = Some(Box::new(tell));
}

/// Takes [`before_leaving`] back; waits for what is being told.
pub fn leave_silently() {
    *last_words() = None;
}

fn say_last_words(what: &str) {
    // Closed when all is said, also by a panic.
    let (open, closed) = mpsc::channel::<()>();
    let what = what.to_owned();
    let say = move || {
        let _open = open;
        if let Some(tell) = &*last_words() {
            tell(&what);
        }
    };
    // Without a thread the run ends without a word.
    if thread::Builder::new().name("last-words".into()).spawn(say).is_ok() {
        let _ = closed.recv_timeout(LAST_WORDS_LIMIT);
    }
}

/// The ending that was put off last, because it would have cut off a delivery.
static PUT_OFF: Mutex<Option<(Code, String)>> = Mutex::new(None);

/// Says the last words, removes every temporary file and ends the process; returns only the first
/// time that this would cut off the delivery of the result, or the report after it.
fn leave(code: Code, what: &str) {
    let mut put_off = PUT_OFF.lock().unwrap_or_else(PoisonError::into_inner);
    if temporary::delivery() == Delivery::Ahead {
        say_last_words(what);
    }
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
