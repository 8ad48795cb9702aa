//! SIGBUS: what a thread gets that reads a page of a mapped file which is no longer there.
#![expect(unsafe_code, reason = "a signal handler is installed, of async-signal-safe calls")]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Turns SIGBUS into SIGTERM to the process, and parks the thread that got it: it could only meet
/// the missing page again. Replaces the standard library's handler, which would let the second
/// thread's signal kill the process without a word.
///
/// # Errors
/// When the system refuses the handler.
pub fn install() -> io::Result<()> {
    extern "C" fn handle(_: libc::c_int) {
        HAPPENED.store(true, Ordering::Release);
        // SAFETY: both calls are async-signal-safe and take no pointers.
        unsafe {
            libc::kill(libc::getpid(), libc::SIGTERM);
            loop {
                libc::pause();
            }
        }
    }
    // SAFETY: a zeroed `sigaction` is one with no flags and an empty mask, and `handle` has the
    // type that goes without `SA_SIGINFO`.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a thread got SIGBUS.
pub fn happened() -> bool {
    HAPPENED.load(Ordering::Acquire)
}
