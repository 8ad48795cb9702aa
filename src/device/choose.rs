//! Which of the devices that there are: usable ones by free memory, then the first that is not in
//! use.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{GpuSelector, NO_DEVICE, NoGpu};
use crate::gpu::lock::{GpuLock, LockError};
use crate::gpu::{GpuError, GpuInfo};
use crate::progress::{Device, Phase, Progress};

/// How often a lock is tried while one waits for it.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// The usable devices among those wanted, the one with most free memory first.
pub(super) fn candidates<'i>(
    infos: &'i [GpuInfo],
    wanted: Option<&GpuSelector>,
    free_bytes: impl Fn(&GpuInfo) -> Result<usize, GpuError> + Sync,
) -> Result<Vec<&'i GpuInfo>, NoGpu> {
    if infos.is_empty() {
        let hint = "`CUDA_VISIBLE_DEVICES` may hide devices".to_owned();
        return Err(NoGpu { hints: vec![hint], ..NoGpu::because(NO_DEVICE) });
    }
    let mut why = NoGpu::default();
    let mut usable = Vec::new();
    for info in infos.iter().filter(|info| wanted.is_none_or(|wanted| wanted.names(info))) {
        match info.unusable() {
            None => usable.push(info),
            Some(reason) => why.add(info, &reason),
        }
    }
    if let (Some(wanted), true) = (wanted, usable.is_empty() && why.reasons.is_empty()) {
        let there: Vec<String> = infos.iter().map(describe).collect();
        return Err(NoGpu::because(format!("no GPU `{wanted}`; there are: {}", there.join(", "))));
    }
    // Asking costs a context, so a single one is not asked.
    let free: Vec<Result<usize, GpuError>> = match usable.len() {
        0 | 1 => usable.iter().map(|_| Ok(0)).collect(),
        _ => thread::scope(|scope| {
            let free_bytes = &free_bytes;
            let asked: Vec<_> =
                usable.iter().map(|info| scope.spawn(move || free_bytes(info))).collect();
            asked.into_iter().map(|one| one.join().expect("asking does not panic")).collect()
        }),
    };
    let mut ranked = Vec::new();
    for (info, free) in usable.into_iter().zip(free) {
        match free {
            Ok(free) => ranked.push((free, info)),
            Err(error) => why.add(info, &error),
        }
    }
    ranked.sort_by_key(|&(free, info)| (std::cmp::Reverse(free), info.ordinal));
    if ranked.is_empty() {
        Err(why)
    } else {
        Ok(ranked.into_iter().map(|(_, info)| info).collect())
    }
}

fn describe(info: &GpuInfo) -> String {
    format!("{} ({}, {})", info.ordinal, info.name, info.uuid)
}

/// How long one waits for a card in use.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    /// At most this long.
    pub(super) wait: Duration,
    /// Until this is set.
    pub(super) cancelled: &'a AtomicBool,
}

/// Takes the first of `candidates` that nobody has, with some `patience`. Signals and `--timeout`
/// end the process from outside, so they end the wait too.
pub(super) fn lock<'i>(
    folder: &Path,
    candidates: &[&'i GpuInfo],
    patience: Patience<'_>,
    progress: &dyn Progress,
) -> Result<(&'i GpuInfo, GpuLock), NoGpu> {
    let Patience { wait, cancelled } = patience;
    let deadline = Instant::now().checked_add(wait);
    let (first, busy) = match try_lock(folder, candidates) {
        Err(why) if why.is_busy && !wait.is_zero() => {
            progress.note(&format!("waiting for a GPU: {why}"));
            (progress.start(Phase::new("wait-for-gpu")), why)
        }
        done => return done,
    };
    let mut last = Err(busy);
    while last.as_ref().is_err_and(|why| why.is_busy)
        && deadline.is_none_or(|deadline| Instant::now() < deadline)
        && !cancelled.load(Ordering::Relaxed)
    {
        thread::sleep(RETRY_EVERY);
        last = try_lock(folder, candidates);
    }
    progress.finish(first, 0, Device::Cpu);
    last
}

/// Takes the first of `candidates` that nobody has now.
fn try_lock<'i>(
    folder: &Path,
    candidates: &[&'i GpuInfo],
) -> Result<(&'i GpuInfo, GpuLock), NoGpu> {
    let mut why = NoGpu::default();
    for info in candidates {
        match GpuLock::try_acquire(folder, &info.uuid) {
            Ok(lock) => return Ok((info, lock)),
            Err(error) => {
                why.is_busy |= matches!(error, LockError::Held { .. });
                why.add(info, &error);
            }
        }
    }
    if why.is_busy {
        why.hints.push("`--wait-gpu 10m` waits for it".to_owned());
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::card;
    use crate::progress::Silent;

    #[test]
    fn the_card_with_most_free_memory_comes_first() {
        let infos = [card(0), card(1), card(2)];
        let free = |info: &GpuInfo| match info.ordinal {
            0 => Ok(10),
            1 => Ok(30),
            _ => Err(GpuError::NoDriver),
        };
        let ordinals = |wanted: Option<&str>| {
            let wanted = wanted.map(|text| text.parse().expect("a selector"));
            candidates(&infos, wanted.as_ref(), free)
                .map(|chosen| chosen.iter().map(|info| info.ordinal).collect::<Vec<_>>())
        };
        if infos[0].unusable().is_some() {
            // A build without CUDA runs on no card.
            assert_eq!(ordinals(None).expect_err("no kernels").reasons.len(), 3);
            return;
        }
        assert_eq!(ordinals(None), Ok(vec![1, 0]));
        assert_eq!(ordinals(Some("0")), Ok(vec![0]));
        assert_eq!(ordinals(Some(&infos[2].uuid.to_uppercase())), Ok(vec![2]), "asked by name");
        let why = ordinals(Some("3")).expect_err("no such card").to_string();
        assert!(why.starts_with("no GPU `3`; there are: 0 (NVIDIA H200, GPU-"), "{why}");
        let why = candidates(&[], None, free).expect_err("no card");
        assert_eq!(why.to_string(), "the driver shows no device");
    }

    #[test]
    fn every_unusable_card_is_listed_with_its_reason() {
        let infos =
            [GpuInfo { capability: (5, 0), ..card(0) }, GpuInfo { driver_cuda: 0, ..card(1) }];
        let why = candidates(&infos, None, |_| Ok(0)).expect_err("both are old");
        assert_eq!(why.reasons.len(), 2);
        assert!(why.reasons[0].starts_with("GPU 0 (NVIDIA H200): compute capability 5.0"), "{why}");
    }

    #[test]
    fn a_busy_card_is_skipped_waited_for_or_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (one, two) = (card(0), card(1));
        let both = [&one, &two];
        let cancelled = AtomicBool::new(false);
        let within = |wait| Patience { wait, cancelled: &cancelled };
        let (first, held) =
            lock(folder.path(), &both, within(Duration::ZERO), &Silent).expect("free");
        let (second, also) =
            lock(folder.path(), &both, within(Duration::ZERO), &Silent).expect("free");
        assert_eq!((first.ordinal, second.ordinal), (0, 1));
        let why =
            lock(folder.path(), &both, within(Duration::ZERO), &Silent).expect_err("both are busy");
        let holder = format!("GPU 0 (NVIDIA H200): in use by process {}", std::process::id());
        assert_eq!((why.reasons.len(), &why.reasons[0]), (2, &holder));
        assert!(why.hints[0].contains("--wait-gpu"));
        let start = Instant::now();
        let wait = Duration::from_millis(120);
        assert!(
            lock(folder.path(), &both, within(wait), &Silent).is_err() && start.elapsed() >= wait
        );
        let releaser = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(also);
        });
        let wait = Duration::from_secs(60);
        let (waited, _) =
            lock(folder.path(), &both, within(wait), &Silent).expect("the second gets free");
        assert_eq!(waited.ordinal, 1);
        releaser.join().expect("no panic");
        let also = GpuLock::try_acquire(folder.path(), &two.uuid).expect("given back");
        cancelled.store(true, Ordering::Relaxed);
        assert!(
            lock(folder.path(), &both, within(wait), &Silent).is_err(),
            "no one waits any more"
        );
        drop(also);
        drop(held);
    }
}
