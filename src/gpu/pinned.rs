//! Host memory that the device copies from and to at the bus's full rate.
#![expect(unsafe_code, reason = "page-locked memory is allocated, copied and freed here")]

use std::ptr::NonNull;

use cudarc::driver::result as driver;

use super::{DeviceData, DeviceSlice, Gpu, GpuError};

/// An owned array in page-locked host memory.
pub struct PinnedBuffer<'g, T> {
    gpu: &'g Gpu,
    address: NonNull<T>,
    len: usize,
}

// SAFETY: the memory is owned, the context may be used from any thread, and so may `T`s.
unsafe impl<T: Send> Send for PinnedBuffer<'_, T> {}

impl<'g, T: DeviceData> PinnedBuffer<'g, T> {
    /// An array of `len` elements, all bytes zero.
    ///
    /// # Errors
    /// When memory cannot be locked.
    pub fn zeroed(gpu: &'g Gpu, len: usize) -> Result<Self, GpuError> {
        let bytes = (len * size_of::<T>()).max(1);
        gpu.bind()?;
        // SAFETY: the context is current; the result is only used through this buffer.
        let address = unsafe { driver::malloc_host(bytes, 0) }
            .map_err(GpuError::driver(format!("lock {bytes} bytes of host memory")))?;
        let address = NonNull::new(address.cast::<T>()).expect("the driver gave memory");
        // SAFETY: the allocation has `bytes` bytes, aligned to a page; zeros are a `T`.
        unsafe { address.as_ptr().cast::<u8>().write_bytes(0, bytes) };
        Ok(Self { gpu, address, len })
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `len` elements, initialised by `zeroed`, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.len) }
    }

    /// The elements, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.len) }
    }

    /// Copies the first elements to `target`, after earlier work of the stream, and waits.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    ///
    /// # Panics
    /// When `target` is longer than the buffer.
    pub fn upload(&self, target: DeviceSlice<'_, T>) -> Result<(), GpuError> {
        target.copy_from_host(&self.as_slice()[..target.len()])
    }

    /// Copies `source` to the first elements, after earlier work of the stream, and waits.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    ///
    /// # Panics
    /// When `source` is longer than the buffer.
    pub fn download(&mut self, source: DeviceSlice<'_, T>) -> Result<&[T], GpuError> {
        let gpu = self.gpu;
        let target = &mut self.as_mut_slice()[..source.len()];
        gpu.bind()?;
        // SAFETY: both have the same bytes, and `target` is borrowed until the copy is done.
        unsafe { driver::memcpy_dtoh_async(target, source.address(), gpu.stream()) }
            .map_err(GpuError::driver(format!("copy {} elements to the host", source.len())))?;
        gpu.synchronize()?;
        Ok(target)
    }
}

impl<T> Drop for PinnedBuffer<'_, T> {
    fn drop(&mut self) {
        // SAFETY: allocated by `zeroed`, freed once; every copy was waited for. A failure here
        // repeats an earlier one, which the failing call reported.
        let _ =
            self.gpu.bind().map(|()| unsafe { driver::free_host(self.address.as_ptr().cast()) });
    }
}
