//! How much device memory this process's buffers take: counted, and bounded where that is asked
//! for.

use std::sync::Mutex;

use super::{Gpu, GpuError};

/// Bytes in buffers, shared by the streams of a GPU.
#[derive(Default)]
pub(super) struct MemoryAccount(Mutex<Balance>);

#[derive(Clone, Copy, Default)]
struct Balance {
    used_bytes: u64,
    peak_bytes: u64,
    limit_bytes: Option<u64>,
}

impl MemoryAccount {
    fn with<T>(&self, work: impl FnOnce(&mut Balance) -> T) -> T {
        work(&mut self.0.lock().expect("nothing panics while it is held"))
    }

    /// Counts an allocation about to be made.
    pub(super) fn take(&self, bytes: usize) -> Result<(), GpuError> {
        self.with(|balance| {
            let used_bytes = balance.used_bytes + bytes as u64;
            if let Some(limit_bytes) = balance.limit_bytes.filter(|&limit| used_bytes > limit) {
                let free_bytes = limit_bytes.saturating_sub(balance.used_bytes) as usize;
                return Err(GpuError::OutOfMemory { wanted_bytes: bytes, free_bytes });
            }
            balance.used_bytes = used_bytes;
            balance.peak_bytes = balance.peak_bytes.max(used_bytes);
            Ok(())
        })
    }

    /// Counts memory given back.
    pub(super) fn give_back(&self, bytes: usize) {
        self.with(|balance| balance.used_bytes -= bytes as u64);
    }
}

impl Gpu {
    /// Bytes in buffers now.
    pub fn used_bytes(&self) -> u64 {
        self.memory.with(|balance| balance.used_bytes)
    }

    /// The most bytes that were in buffers at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.memory.with(|balance| balance.peak_bytes)
    }

    /// Refuses buffers beyond so many bytes in all, as a smaller card would.
    pub fn limit_memory(&self, limit_bytes: Option<u64>) {
        self.memory.with(|balance| balance.limit_bytes = limit_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_keeps_its_limit_and_its_peak() {
        let account = MemoryAccount::default();
        account.take(70).expect("no limit");
        account.give_back(50);
        account.with(|balance| balance.limit_bytes = Some(100));
        account.take(80).expect("just fits");
        match account.take(1) {
            Err(GpuError::OutOfMemory { wanted_bytes: 1, free_bytes: 0 }) => {}
            other => panic!("{other:?}"),
        }
        account.give_back(100);
        assert_eq!(account.with(|balance| (balance.used_bytes, balance.peak_bytes)), (0, 100));
    }
}
