//! Faults on demand: how the tests see what a run does when a card fails.
//!
//! A [`FaultPlan`] sits in the launcher and in the allocator, which ask it before they call the
//! driver; without a plan they ask nothing. [`Launches`] holds it, and the name of the kernel that
//! was launched last, for messages. The command line takes one from the hidden environment
//! variable `PROVE_TEST_GPU_FAULT`.
//!
//! | text | what happens |
//! |---|---|
//! | `allocate` | an allocation is refused, as when memory is short |
//! | `launch:KERNEL` | a launch of the kernel fails |
//! | `lost:KERNEL` | the device is lost at a launch of the kernel: every later call fails |
//! | `corrupt:KERNEL` | the first 16 bytes that the kernel writes are inverted afterwards |
//!
//! Each happens every time, or with `:N` behind it the N-th time only, counted from 1.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What fails, and when.
#[derive(Debug)]
pub struct FaultPlan {
    kind: FaultKind,
    /// The kernel whose launches count; none for allocations.
    kernel: Option<String>,
    /// The one occurrence that fails; all when there is none.
    occurrence: Option<u64>,
    /// Occurrences so far.
    seen: AtomicU64,
    lost: AtomicBool,
}

/// What the launcher remembers, for all handles on one device.
#[derive(Default)]
pub(super) struct Launches {
    /// The kernel launched last: the one that an error of a stream most likely comes from.
    last: Mutex<&'static str>,
    plan: OnceLock<Arc<FaultPlan>>,
}

impl Launches {
    /// Follows `plan` from now on.
    pub(super) fn inject(&self, plan: Arc<FaultPlan>) {
        assert!(self.plan.set(plan).is_ok(), "one fault plan a device");
    }

    /// The plan, if there is one.
    pub(super) fn plan(&self) -> Option<&FaultPlan> {
        self.plan.get().map(Arc::as_ref)
    }

    /// Notes the launch of `kernel` about to be made; what becomes of it.
    pub(super) fn at_launch(&self, kernel: &'static str) -> Option<LaunchFault> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = kernel;
        self.plan()?.at_launch(kernel)
    }

    /// `what`, after the kernel launched last.
    pub(super) fn after(&self, what: &str) -> String {
        match *self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            "" => what.to_owned(),
            kernel => format!("{what} after `{kernel}`"),
        }
    }
}

/// What a plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    Allocate,
    Launch,
    Lost,
    Corrupt,
}

/// What the launcher is to do instead of a plain launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchFault {
    /// Report that the launch failed.
    Refuse,
    /// Launch, then spoil the output.
    Corrupt,
}

/// A text that is no fault plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFaultPlan;

impl NoFaultPlan {
    /// What a plan looks like.
    pub const EXPECTED: &str = "`allocate[:N]`, `launch:KERNEL[:N]`, `lost:KERNEL[:N]` or \
        `corrupt:KERNEL[:N]`";
}

impl fmt::Display for NoFaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", Self::EXPECTED)
    }
}

impl std::error::Error for NoFaultPlan {}

impl FromStr for FaultPlan {
    type Err = NoFaultPlan;

    fn from_str(text: &str) -> Result<Self, NoFaultPlan> {
        let mut parts = text.split(':');
        let kind = match parts.next() {
            Some("allocate") => FaultKind::Allocate,
            Some("launch") => FaultKind::Launch,
            Some("lost") => FaultKind::Lost,
            Some("corrupt") => FaultKind::Corrupt,
            _ => return Err(NoFaultPlan),
        };
        let kernel = match kind {
            FaultKind::Allocate => None,
            _ => Some(parts.next().filter(|name| !name.is_empty()).ok_or(NoFaultPlan)?.to_owned()),
        };
        let occurrence = match parts.next().map(str::parse) {
            None => None,
            Some(Ok(number @ 1..)) => Some(number),
            Some(_) => return Err(NoFaultPlan),
        };
        if parts.next().is_some() {
            return Err(NoFaultPlan);
        }
        let (seen, lost) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { kind, kernel, occurrence, seen, lost })
    }
}

impl FaultPlan {
    /// Whether the allocation about to be made is refused.
    pub fn refuses_allocation(&self) -> bool {
        self.is_lost() || self.kind == FaultKind::Allocate && self.happens()
    }

    /// What becomes of the launch of `kernel` about to be made.
    pub fn at_launch(&self, kernel: &str) -> Option<LaunchFault> {
        if self.is_lost() {
            return Some(LaunchFault::Refuse);
        }
        if self.kernel.as_deref() != Some(kernel) || !self.happens() {
            return None;
        }
        match self.kind {
            FaultKind::Allocate => None,
            FaultKind::Launch => Some(LaunchFault::Refuse),
            FaultKind::Lost => {
                self.lost.store(true, Ordering::Relaxed);
                Some(LaunchFault::Refuse)
            }
            FaultKind::Corrupt => Some(LaunchFault::Corrupt),
        }
    }

    /// Whether the device is gone.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Counts one more occurrence; whether it is one that fails.
    fn happens(&self) -> bool {
        let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        self.occurrence.is_none_or(|occurrence| occurrence == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> FaultPlan {
        text.parse().expect(text)
    }

    #[test]
    fn the_named_occurrence_of_the_named_kernel_fails() {
        let third = plan("launch:ntt_pass_dif:3");
        let faults: Vec<_> = (0..5)
            .map(|_| (third.at_launch("msm_reduce_g1"), third.at_launch("ntt_pass_dif")))
            .collect();
        let expected = [None, None, Some(LaunchFault::Refuse), None, None];
        assert_eq!(faults, expected.map(|fault| (None, fault)));
        assert!(!third.refuses_allocation());
        let always = plan("corrupt:msm_reduce_g1");
        assert!((0..3).all(|_| always.at_launch("msm_reduce_g1") == Some(LaunchFault::Corrupt)));
        assert!(!always.is_lost());
    }

    #[test]
    fn allocations_count_by_themselves() {
        let second = plan("allocate:2");
        assert_eq!(second.at_launch("ntt_pass_dif"), None);
        assert_eq!([(); 3].map(|()| second.refuses_allocation()), [false, true, false]);
        assert!(plan("allocate").refuses_allocation());
    }

    #[test]
    fn a_lost_device_stays_lost() {
        let lost = plan("lost:rows_short:2");
        assert_eq!(lost.at_launch("rows_short"), None);
        assert!(!lost.is_lost() && !lost.refuses_allocation());
        assert_eq!(lost.at_launch("rows_short"), Some(LaunchFault::Refuse));
        assert!(lost.is_lost() && lost.refuses_allocation());
        assert_eq!(lost.at_launch("ntt_pass_dif"), Some(LaunchFault::Refuse));
    }

    #[test]
    fn an_error_of_a_stream_names_the_last_kernel() {
        let launches = Launches::default();
        assert_eq!(launches.after("wait for the GPU"), "wait for the GPU");
        assert_eq!(launches.at_launch("ntt_pass_dif"), None);
        assert_eq!(launches.after("wait for the GPU"), "wait for the GPU after `ntt_pass_dif`");
        launches.inject(Arc::new(plan("launch:ntt_pass_dit")));
        assert_eq!(launches.at_launch("ntt_pass_dif"), None);
        assert_eq!(launches.at_launch("ntt_pass_dit"), Some(LaunchFault::Refuse));
    }

    #[test]
    fn other_texts_are_no_plans() {
        for text in [
            "",
            "explode",
            "launch",
            "launch:",
            "launch:x:0",
            "launch:x:-1",
            "launch:x:2:3",
            "allocate:x",
            "allocate:1:2",
        ] {
            assert!(text.parse::<FaultPlan>().is_err(), "`{text}`");
        }
    }
}
