//! The memory plan: what a run needs against what the machine, its control group and the person
//! allow, settled before work starts.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::sys;

/// The plan does not fit.
#[derive(Debug, Error)]
#[error(
    "not enough memory: this run needs {}, but {} is available ({})\nhint: {}",
    Bytes(*.needed_bytes), Bytes(.budget.bytes), .budget.source, self.hint()
)]
pub struct MemoryError {
    /// What the run needs.
    pub needed_bytes: u64,
    /// What there is.
    pub budget: Budget,
}

impl MemoryError {
    fn hint(&self) -> String {
        let needed = Bytes(self.needed_bytes);
        match self.budget.source {
            BudgetSource::Flag => format!("give `--ram` at least {needed}"),
            BudgetSource::Cgroup => {
                format!("raise the control group's memory limit so that {needed} are free")
            }
            BudgetSource::Machine => format!("free memory until {needed} are available"),
            BudgetSource::VramFlag => format!("give `--vram` at least {needed}"),
            BudgetSource::Device => {
                format!("free the GPU's memory until {needed} are available, or take another GPU")
            }
        }
    }
}

/// How much memory a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The bytes.
    pub bytes: u64,
    /// What sets the bound.
    pub source: BudgetSource,
}

/// What bounds the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetSource {
    /// `--ram`.
    Flag,
    /// The control group's limit, less what the group uses already.
    Cgroup,
    /// `MemAvailable` of the machine.
    Machine,
    /// `--vram`.
    VramFlag,
    /// What is free on the GPU.
    Device,
}

impl fmt::Display for BudgetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--ram",
            Self::Cgroup => "limit of the control group",
            Self::Machine => "MemAvailable",
            Self::VramFlag => "--vram",
            Self::Device => "free on the GPU",
        })
    }
}

impl Budget {
    /// The tightest of `--ram`, the control group's limit and the machine's available memory.
    pub fn detect(ram_bytes: Option<u64>) -> Self {
        let machine = sys::machine_memory().map(|(_, available)| available);
        let cgroup = CgroupMemory::detect().map(|cgroup| cgroup.free_bytes());
        [
            (ram_bytes, BudgetSource::Flag),
            (cgroup, BudgetSource::Cgroup),
            (machine, BudgetSource::Machine),
        ]
        .into_iter()
        .filter_map(|(bytes, source)| Some(Self { bytes: bytes?, source }))
        .min_by_key(|budget| budget.bytes)
        .unwrap_or(Self { bytes: u64::MAX, source: BudgetSource::Machine })
    }

    /// Checks a plan's peak.
    ///
    /// # Errors
    /// When the plan does not fit, with the number needed.
    pub fn check(self, needed_bytes: u64) -> Result<(), MemoryError> {
        if needed_bytes <= self.bytes {
            Ok(())
        } else {
            Err(MemoryError { needed_bytes, budget: self })
        }
    }
}

/// The memory limit of the control group that this process is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupMemory {
    /// 1 or 2.
    pub version: u8,
    /// The folder whose limit is the tightest.
    pub path: PathBuf,
    /// The limit.
    pub limit_bytes: u64,
    /// What the group uses, without page cache that can be dropped.
    pub used_bytes: u64,
}

/// Names of one control-group version's files.
struct Files {
    version: u8,
    limit: &'static str,
    used: &'static str,
    inactive: &'static str,
}

const VERSION_1: Files = Files {
    version: 1,
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    inactive: "total_inactive_file",
};
const VERSION_2: Files =
    Files { version: 2, limit: "memory.max", used: "memory.current", inactive: "inactive_file" };

impl CgroupMemory {
    /// The tightest limit over the process's control group and its ancestors, if there is one.
    pub fn detect() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::find(&groups, Path::new("/sys/fs/cgroup"))
    }

    /// The same for the text of `/proc/self/cgroup` and the mount point `root`.
    ///
    /// Lines are `ID:CONTROLLERS:PATH`; version 2 has ID 0 and no controllers.
    fn find(groups: &str, root: &Path) -> Option<Self> {
        let candidates = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            if controllers.is_empty() {
                Self::tightest(root, path, &VERSION_2)
            } else if controllers.split(',').any(|name| name == "memory") {
                Self::tightest(&root.join("memory"), path, &VERSION_1)
            } else {
                None
            }
        });
        candidates.min_by_key(Self::free_bytes)
    }

    /// Walks from `mount`/`path` up to `mount`. In a container the path may lie outside what is
    /// mounted; the mount itself then is the container's group.
    fn tightest(mount: &Path, path: &str, files: &Files) -> Option<Self> {
        let leaf = mount.join(path.trim_start_matches('/'));
        leaf.ancestors()
            .take_while(|folder| folder.starts_with(mount))
            .filter_map(|folder| Self::read(folder, files))
            .min_by_key(Self::free_bytes)
    }

    fn read(folder: &Path, files: &Files) -> Option<Self> {
        // Version 1 writes "no limit" as a number close to 2^63, version 2 as `max`.
        const UNLIMITED_BYTES: u64 = 1 << 60;
        let limit_bytes = read_number(&folder.join(files.limit))?;
        if limit_bytes >= UNLIMITED_BYTES {
            return None;
        }
        let used_bytes = read_number(&folder.join(files.used)).unwrap_or(0);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let inactive_bytes = stat
            .lines()
            .find_map(|line| line.strip_prefix(files.inactive)?.trim().parse::<u64>().ok())
            .unwrap_or(0);
        Some(Self {
            version: files.version,
            path: folder.to_owned(),
            limit_bytes,
            used_bytes: used_bytes.saturating_sub(inactive_bytes),
        })
    }

    /// What the group has left.
    pub fn free_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Bytes for people: `1.4 GiB`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.into_iter().find(|(_, shift)| self.0 >= 1 << shift) {
            Some((unit, shift)) => {
                write!(f, "{:.1} {unit}", self.0 as f64 / (1_u64 << shift) as f64)
            }
            None => write!(f, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
            fs::write(path, text).expect("file");
        }
    }

    #[test]
    fn the_tightest_ancestor_of_version_2_counts_without_its_page_cache() {
        let root = tempfile::tempdir().expect("folder");
        write(
            root.path(),
            &[
                ("a/memory.max", "4000000\n"),
                ("a/memory.current", "1500000\n"),
                ("a/memory.stat", "anon 5\ninactive_file 500000\n"),
                ("a/b/memory.max", "max\n"),
            ],
        );
        let found = CgroupMemory::find("0::/a/b\n", root.path()).expect("a limit");
        assert_eq!(
            (found.version, found.limit_bytes, found.free_bytes()),
            (2, 4_000_000, 3_000_000)
        );
        assert_eq!(CgroupMemory::find("0::/elsewhere\n", root.path()), None);
    }

    #[test]
    fn version_1_is_read_also_when_the_path_is_outside_the_mount() {
        let root = tempfile::tempdir().expect("folder");
        let files = [
            ("memory/memory.limit_in_bytes", "2000000\n"),
            ("memory/memory.usage_in_bytes", "600000\n"),
            ("memory/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n"),
        ];
        write(root.path(), &files);
        let groups = "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n";
        let found = CgroupMemory::find(groups, root.path()).expect("a limit");
        assert_eq!((found.version, found.free_bytes()), (1, 1_500_000));
        write(root.path(), &[("memory/memory.limit_in_bytes", "9223372036854771712\n")]);
        assert_eq!(CgroupMemory::find(groups, root.path()), None, "no limit is set");
    }

    #[test]
    fn a_plan_that_does_not_fit_names_the_number() {
        let budget = Budget { bytes: 1 << 30, source: BudgetSource::Flag };
        assert!(budget.check(1 << 30).is_ok());
        let error = budget.check(3 << 29).expect_err("too much");
        assert_eq!(
            error.to_string(),
            "not enough memory: this run needs 1.5 GiB, but 1.0 GiB is available (--ram)\n\
             hint: give `--ram` at least 1.5 GiB"
        );
        assert!(Budget::detect(Some(1)).bytes == 1);
    }
}
