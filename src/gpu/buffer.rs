//! Device memory with a type, a length and an owner.
#![expect(unsafe_code, reason = "raw device memory is allocated, copied and freed here")]

use std::marker::PhantomData;
use std::ops::Range;

use blstrs::{Fp, Fp2, G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cudarc::driver::result as driver;
use cudarc::driver::sys::CUresult;

use super::curve::Xyzz;
use super::{Gpu, GpuError};

/// A type whose bytes mean the same on the host and on the device.
///
/// # Safety
/// The type has no padding, no pointers and no invalid bit patterns of its own, and its layout is
/// that of the kernels' type of the same role.
pub unsafe trait DeviceData: Copy {
    /// The value with these bytes.
    ///
    /// # Panics
    /// When `bytes` is not of the type's size.
    fn from_bytes(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), size_of::<Self>(), "all the bytes of a value");
        // SAFETY: every bit pattern is a value, by the trait's contract; the read is unaligned.
        unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
    }

    /// The bytes of the value.
    fn to_bytes(&self) -> &[u8] {
        // SAFETY: there is no padding, by the trait's contract.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }
}

// SAFETY: plain integers.
unsafe impl DeviceData for u8 {}
// SAFETY: plain integers.
unsafe impl DeviceData for u16 {}
// SAFETY: plain integers.
unsafe impl DeviceData for u32 {}
// SAFETY: plain integers.
unsafe impl DeviceData for u64 {}
// SAFETY: plain integers in a row, which has no padding.
unsafe impl DeviceData for [u32; 4] {}
// SAFETY: transparent over blst's limb arrays, sizes asserted below and in gpu/field.cuh.
unsafe impl DeviceData for Scalar {}
// SAFETY: as for `Scalar`.
unsafe impl DeviceData for Fp {}
// SAFETY: as for `Scalar`; c0 before c1.
unsafe impl DeviceData for Fp2 {}
// SAFETY: transparent over blst's pair of coordinates; the identity is all zeros on both sides.
unsafe impl DeviceData for G1Affine {}
// SAFETY: as for `G1Affine`.
unsafe impl DeviceData for G2Affine {}
// SAFETY: transparent over blst's three Jacobian coordinates.
unsafe impl DeviceData for G1Projective {}
// SAFETY: as for `G1Projective`.
unsafe impl DeviceData for G2Projective {}
// SAFETY: `repr(C)` over four coordinates.
unsafe impl<F: DeviceData> DeviceData for Xyzz<F> {}

const _: () = assert!(size_of::<Scalar>() == 32 && size_of::<Fp>() == 48);
const _: () = assert!(size_of::<G1Affine>() == 96 && size_of::<G2Affine>() == 192);
const _: () = assert!(size_of::<G1Projective>() == 144 && size_of::<G2Projective>() == 288);
const _: () = assert!(size_of::<Xyzz<Fp>>() == 192 && size_of::<Xyzz<Fp2>>() == 384);

/// An owned array in device memory.
pub struct DeviceBuffer<'g, T> {
    gpu: &'g Gpu,
    address: u64,
    len: usize,
    marker: PhantomData<T>,
}

impl<'g, T: DeviceData> DeviceBuffer<'g, T> {
    /// An array of `len` elements of unknown content.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn new(gpu: &'g Gpu, len: usize) -> Result<Self, GpuError> {
        let bytes = Self::allocated_bytes(len);
        gpu.bind()?;
        gpu.check_allocation(bytes)?;
        gpu.memory.take(bytes)?;
        // SAFETY: the context is current; the result is only used through this buffer.
        let address = unsafe { driver::malloc_sync(bytes) }.map_err(|source| {
            gpu.memory.give_back(bytes);
            match gpu.free_bytes() {
                Ok(free_bytes) if source.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    GpuError::OutOfMemory { wanted_bytes: bytes, free_bytes }
                }
                _ => GpuError::Driver { operation: format!("allocate {bytes} bytes"), source },
            }
        })?;
        Ok(Self { gpu, address, len, marker: PhantomData })
    }

    /// An array of `len` elements whose bytes are all zero once earlier work of the stream is done.
    ///
    /// # Errors
    /// When device memory is short.
    pub fn zeroed(gpu: &'g Gpu, len: usize) -> Result<Self, GpuError> {
        let buffer = Self::new(gpu, len)?;
        buffer.fill_zero()?;
        Ok(buffer)
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// When device memory is short or the copy fails.
    pub fn from_host(gpu: &'g Gpu, data: &[T]) -> Result<Self, GpuError> {
        let buffer = Self::new(gpu, data.len())?;
        buffer.as_slice().copy_from_host(data)?;
        Ok(buffer)
    }

    /// Sets all bytes to zero, in stream order.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn fill_zero(&self) -> Result<(), GpuError> {
        self.as_slice().fill(0)
    }

    /// The whole array.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice { gpu: self.gpu, address: self.address, len: self.len, marker: PhantomData }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Waits for the stream and copies everything to the host.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    pub fn to_host(&self) -> Result<Vec<T>, GpuError> {
        self.as_slice().to_host()
    }
}

impl<T> DeviceBuffer<'_, T> {
    /// No allocation is empty.
    fn allocated_bytes(len: usize) -> usize {
        (len * size_of::<T>()).max(16)
    }
}

impl<T> Drop for DeviceBuffer<'_, T> {
    fn drop(&mut self) {
        self.gpu.memory.give_back(Self::allocated_bytes(self.len));
        // SAFETY: allocated by `new`, freed once; the driver waits for work that uses it. A failure
        // here repeats an earlier one, which the failing call reported.
        let _ = self.gpu.bind().map(|()| unsafe { driver::free_sync(self.address) });
    }
}

impl<'a> DeviceSlice<'a, u64> {
    /// The same bytes as 32-bit words, the low half of each element first.
    pub fn halves(&self) -> DeviceSlice<'a, u32> {
        let Self { gpu, address, len, .. } = *self;
        DeviceSlice { gpu, address, len: 2 * len, marker: PhantomData }
    }
}

/// A range of device memory. Kernels may write to it: see the module [`super`].
#[derive(Clone, Copy)]
pub struct DeviceSlice<'a, T> {
    gpu: &'a Gpu,
    address: u64,
    len: usize,
    marker: PhantomData<T>,
}

impl<'a, T: DeviceData> DeviceSlice<'a, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of the range.
    ///
    /// # Panics
    /// When `range` is not inside.
    pub fn slice(&self, range: Range<usize>) -> DeviceSlice<'a, T> {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "a slice lies inside its buffer"
        );
        let address = self.address + (range.start * size_of::<T>()) as u64;
        DeviceSlice { address, len: range.len(), ..*self }
    }

    /// The same bytes as elements of another type.
    ///
    /// # Panics
    /// When they are not whole elements.
    pub fn cast<U: DeviceData>(&self) -> DeviceSlice<'a, U> {
        let bytes = self.len * size_of::<T>();
        assert!(bytes.is_multiple_of(size_of::<U>()), "{bytes} bytes are whole elements");
        let (gpu, address) = (self.gpu, self.address);
        DeviceSlice { gpu, address, len: bytes / size_of::<U>(), marker: PhantomData }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Copies `data` here, after earlier work of the stream.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn copy_from_host(&self, data: &[T]) -> Result<(), GpuError> {
        assert_eq!(data.len(), self.len, "a copy fills its target");
        self.gpu.bind()?;
        // SAFETY: the target has exactly `data`'s bytes, and `data` is borrowed until the copy is
        // done.
        unsafe { driver::memcpy_htod_async(self.address, data, self.gpu.stream()) }
            .map_err(GpuError::driver(format!("copy {} elements to the device", data.len())))?;
        self.gpu.synchronize()
    }

    /// Enqueues a copy of `data` here on the stream of `gpu`.
    ///
    /// # Safety
    /// `data` stays as it is until the copy is done.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(super) unsafe fn enqueue_copy(&self, gpu: &Gpu, data: &[T]) -> Result<(), GpuError> {
        assert_eq!(data.len(), self.len, "a copy fills its target");
        gpu.bind()?;
        // SAFETY: the target has exactly `data`'s bytes; the caller keeps `data`.
        unsafe { driver::memcpy_htod_async(self.address, data, gpu.stream()) }
            .map_err(GpuError::driver(format!("copy {} elements to the device", data.len())))
    }

    /// Waits for the stream and copies the range to the host.
    ///
    /// # Errors
    /// When earlier work or the copy fails.
    pub fn to_host(&self) -> Result<Vec<T>, GpuError> {
        self.gpu.synchronize()?;
        let mut data = Vec::with_capacity(self.len);
        // SAFETY: `T` has no invalid bit patterns, so uninitialised capacity may be exposed as the
        // target of a copy that overwrites all of it before it is read.
        unsafe {
            let target = std::slice::from_raw_parts_mut(data.as_mut_ptr(), self.len);
            driver::memcpy_dtoh_sync(target, self.address)
                .map_err(GpuError::driver(format!("copy {} elements to the host", self.len)))?;
            data.set_len(self.len);
        }
        Ok(data)
    }

    /// Sets every byte to `value`, in stream order.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn fill(&self, value: u8) -> Result<(), GpuError> {
        let bytes = self.len * size_of::<T>();
        self.gpu.bind()?;
        // SAFETY: the range is inside a live allocation.
        unsafe { driver::memset_d8_async(self.address, value, bytes, self.gpu.stream()) }
            .map_err(GpuError::driver(format!("fill {bytes} bytes")))
    }

    /// Copies `source` here, in stream order.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn copy_from(&self, source: DeviceSlice<'_, T>) -> Result<(), GpuError> {
        assert_eq!(source.len, self.len, "a copy fills its target");
        let bytes = self.len * size_of::<T>();
        self.gpu.bind()?;
        // SAFETY: both ranges are live and have `bytes` bytes.
        unsafe { driver::memcpy_dtod_async(self.address, source.address, bytes, self.gpu.stream()) }
            .map_err(GpuError::driver(format!("copy {bytes} bytes on the device")))
    }
}
