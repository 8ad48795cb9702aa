//! Threads that are waited for.

use std::panic::resume_unwind;
use std::thread;

/// What a thread that was waited for returned, or its panic.
pub fn joined<T>(result: thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| resume_unwind(panic))
}
