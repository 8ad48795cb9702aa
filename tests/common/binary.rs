//! Runs the real `prove` binary and looks at everything that it leaves behind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A command line of `prove` in a clean environment.
pub struct Prove {
    command: Command,
    stdin: Vec<u8>,
}

/// What a finished run left.
#[derive(Debug)]
pub struct Run {
    /// Exit code, or 128 and the signal's number, as in a shell's `$?`.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// Wall time.
    pub wall: Duration,
    /// Processor time of all threads, as of the last look: up to ten milliseconds too little.
    pub cpu: Duration,
}

impl Prove {
    /// `prove ARGUMENTS`, started in `folder`.
    pub fn new(folder: &Path, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prove"));
        command.args(arguments).current_dir(folder).env_clear();
        Self { command, stdin: vec![] }
    }

    /// Sets an environment variable; there is none otherwise.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// What standard input holds; nothing otherwise.
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = bytes.to_vec();
        self
    }

    /// Runs to the end; after `limit` the run is killed and the test fails.
    pub fn run(self, limit: Duration) -> Run {
        self.run_with(limit, |_, _| {})
    }

    /// As [`Prove::run`]; calls `watch` with the child and its age every two milliseconds.
    pub fn run_with(mut self, limit: Duration, mut watch: impl FnMut(&Child, Duration)) -> Run {
        let mut input = tempfile::tempfile().expect("a temporary file");
        input.write_all(&self.stdin).expect("a temporary file takes bytes");
        input.rewind().expect("a file can be rewound");
        let [stdout, stderr] = [(); 2].map(|()| tempfile::tempfile().expect("a temporary file"));
        let copy = |file: &File| file.try_clone().expect("a descriptor can be copied");
        self.command.stdin(input).stdout(copy(&stdout)).stderr(copy(&stderr));
        let start = Instant::now();
        let mut cpu = Duration::ZERO;
        let mut child = self.command.spawn().expect("the binary was built");
        let status = loop {
            if let Some(status) = child.try_wait().expect("the child is ours") {
                break status;
            }
            if start.elapsed() > limit {
                child.kill().expect("the child is ours");
                child.wait().expect("the child is ours");
                panic!("{:?} ran for over {limit:?}\n{}", self.command, text(stderr));
            }
            watch(&child, start.elapsed());
            cpu = cpu_time(child.id()).unwrap_or(cpu);
            std::thread::sleep(Duration::from_millis(2));
        };
        let wall = start.elapsed();
        let code = status
            .code()
            .or_else(|| Some(128 + status.signal()?))
            .expect("a child that has ended exited or was killed");
        Run { code, stdout: bytes(stdout), stderr: text(stderr), wall, cpu }
    }
}

/// User and system time of a process, or nothing when it has just ended.
fn cpu_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in parentheses; the times are fields 14 and 15 (proc(5)), in
    // hundredths of a second on every Linux.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields.split(' ').skip(11).take(2).flat_map(str::parse::<u64>).sum();
    Some(Duration::from_millis(10 * ticks))
}

impl Run {
    /// Whether the run took more than `limit`, or would have if the machine had been ours alone.
    ///
    /// A run that got less than two thirds of one core was kept waiting by others; its processor
    /// time, spread over all cores, is judged instead.
    pub fn is_slower_than(&self, limit: Duration) -> bool {
        let was_kept_waiting = self.wall > self.cpu * 3 / 2;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        self.wall > limit && !(was_kept_waiting && self.cpu / cores <= limit)
    }

    /// The text after `error: `; fails unless there is exactly one such line and no panic.
    pub fn error(&self) -> &str {
        let errors: Vec<&str> =
            self.stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
        let [error] = errors[..] else { panic!("expected one error line, got {self:#?}") };
        for sign in ["panicked", "RUST_BACKTRACE", "unwrap", "stack backtrace"] {
            assert!(!self.stderr.contains(sign), "`{sign}` in {self:#?}");
        }
        error
    }
}

fn bytes(mut file: File) -> Vec<u8> {
    let mut bytes = vec![];
    file.rewind().expect("a file can be rewound");
    file.read_to_end(&mut bytes).expect("a temporary file can be read");
    bytes
}

fn text(file: File) -> String {
    String::from_utf8(bytes(file)).expect("messages are UTF-8")
}

/// Every path below a folder with what it holds, to tell whether a run changed anything.
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the test") {
            let path = entry.expect("a folder of the test").path();
            let meta = fs::symlink_metadata(&path).expect("nobody else changes the folder");
            let holds = if meta.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if meta.is_file() && meta.len() < 1 << 24 {
                let bytes = fs::read(&path).expect("a file of the test");
                blake2b_simd::blake2b(&bytes).to_hex().to_string()
            } else {
                format!("{:?}, {} bytes", meta.file_type(), meta.len())
            };
            found.insert(path, holds);
        }
    }
    found
}
