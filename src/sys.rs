//! What the operating system knows about this process and machine (Linux `/proc`).
#![expect(unsafe_code, reason = "setenv before any thread starts; mallopt; malloc_trim; statvfs")]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

/// Resident memory of this process in bytes, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Anonymous pages: heap and stacks.
    pub anon_bytes: u64,
    /// Pages of mapped files, which the kernel can drop.
    pub file_bytes: u64,
    /// Shared memory.
    pub shmem_bytes: u64,
}

/// Resident memory of this process now; zeros where `/proc` is missing.
pub fn resident() -> Resident {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |key| kibibytes(&status, key).unwrap_or(0);
    Resident {
        anon_bytes: bytes("RssAnon:"),
        file_bytes: bytes("RssFile:"),
        shmem_bytes: bytes("RssShmem:"),
    }
}

/// Total and available memory of the machine in bytes (`MemTotal`, `MemAvailable`).
pub fn machine_memory() -> Option<(u64, u64)> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    Some((kibibytes(&info, "MemTotal:")?, kibibytes(&info, "MemAvailable:")?))
}

/// The processor's name, as the kernel gives it.
pub fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// What this process has used so far, all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time in milliseconds, to the hundredth of a second that the kernel counts in.
    pub cpu_ms: f64,
    /// Page faults served without a read from disk.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
}

impl Usage {
    /// The use from `earlier` to `self`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ms: self.cpu_ms - earlier.cpu_ms,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
        }
    }
}

/// What this process has used so far; `None` where `/proc` is missing.
pub fn usage() -> Option<Usage> {
    // Clock ticks of `/proc` are hundredths of a second on every Linux platform.
    const TICK_MS: f64 = 10.0;
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The command name may hold spaces; the first field after its closing parenthesis is the 3rd
    // (`man 5 proc`): minflt is the 10th, majflt the 12th, utime and stime the 14th and 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Usage {
        cpu_ms: (field(14)? + field(15)?) as f64 * TICK_MS,
        minor_faults: field(10)?,
        major_faults: field(12)?,
    })
}

/// The highest resident memory since the process started, or since `/proc/self/clear_refs` was
/// last told to forget it; mapped files included.
pub fn peak_resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or(0)
}

/// From now on blocks of 4 MiB and more go back to the kernel when they are freed.
///
/// Else glibc raises that bound to the largest block it has seen, and each thread's arena keeps up
/// to 64 MiB: a hundred proofs of 2 KiB on 16 cores swung between 0.1 and 0.6 GB of what was free.
pub fn return_large_blocks() {
    const BYTES: libc::c_int = 4 << 20;
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets an option of the allocator. A refusal only leaves it as it was.
        unsafe { libc::mallopt(option, BYTES) };
    }
}

/// Gives memory that was freed back to the kernel, so that later users pay for their own pages.
pub fn release_free_memory() {
    // SAFETY: `malloc_trim` may be called at any time from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Bytes that may be written to the file system of `folder`.
///
/// # Errors
/// What the file system answers.
pub fn free_disk_bytes(folder: &Path) -> io::Result<u64> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends with a zero, and `answer` has room for what is written.
    if unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the structure was filled in.
    let answer = unsafe { answer.assume_init() };
    Ok(answer.f_bavail * answer.f_frsize)
}

/// Whether this process was started with `signal` ignored, as `nohup` does with HUP.
pub fn ignores_signal(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Tells bellperson's thread pool its size, which it reads from the environment on first use.
/// Whether that was possible: only while the process has one thread.
pub fn set_bellperson_threads(threads: usize) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let alone = status
        .lines()
        .any(|line| line.strip_prefix("Threads:").is_some_and(|count| count.trim() == "1"));
    if alone {
        // SAFETY: this thread is the only one, so nothing reads the environment meanwhile.
        unsafe { std::env::set_var("EC_GPU_NUM_THREADS", threads.to_string()) };
    }
    alone
}

/// The value of `key` in a `/proc` file that counts in kB, in bytes.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_is_seen() {
        let block = vec![1_u8; 64 << 20];
        assert!(resident().anon_bytes >= 64 << 20);
        assert_eq!(block.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 64 << 20);
        let (total, available) = machine_memory().expect("/proc/meminfo");
        assert!(total >= available && available > 0);
    }

    #[test]
    fn the_environment_is_left_alone_while_there_are_threads() {
        std::thread::scope(|scope| {
            let set = scope.spawn(|| set_bellperson_threads(3)).join().expect("no panic");
            assert!(!set);
        });
        assert_eq!(std::env::var_os("EC_GPU_NUM_THREADS"), None);
    }

    #[test]
    fn ignored_signals_are_known() {
        // The Rust runtime ignores PIPE; nobody ignores CHLD here.
        assert!(ignores_signal(libc::SIGPIPE));
        assert!(!ignores_signal(libc::SIGCHLD));
    }

    #[test]
    fn processor_time_moves_with_work() {
        let cpu_ms = || usage().expect("/proc/self/stat").cpu_ms;
        let before = cpu_ms();
        let mut state = 1_u64;
        while cpu_ms() < before + 20.0 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005));
        }
        assert!(cpu_ms() > before);
    }
}
