//! The CUDA backend: device, memory, kernel launches, and the stages built from them.
//!
//! In: compact assignments, and points in the parameter file's form. Out: rows, quotients and sums
//! in blst's memory layout. build.rs compiles the kernels of `gpu/` into an embedded fatbin, the
//! same over ec-gpu-gen's field functions into another, and ec-gpu-gen's own kernels into a third.
//! The driver's library is opened at run time, so the binary starts on machines without one. A
//! build without nvcc has no fatbin, and [`Gpu::open`] says so.
//!
//! All work of a [`Gpu`] goes to its stream, in the order of the calls; other handles on the same
//! device ([`Gpu::side`], [`Gpu::with_new_stream`]) have streams of their own, which [`Mark`]s keep
//! in order where one needs what another makes. Device memory is never borrowed by Rust code, so
//! buffers are handed to kernels by shared reference.

pub mod bench;
mod buffer;
mod curve;
mod device;
mod error;
pub mod fault;
pub mod fixed_base;
pub mod generated;
mod image;
pub mod inflight;
mod kernels;
pub mod lock;
mod memory;
pub mod msm;
pub mod ntt;
mod pinned;
pub mod points;
mod probe;
mod query;
mod rows;
mod stream;
pub mod upload;
mod witness;

pub use buffer::{DeviceBuffer, DeviceData, DeviceSlice};
pub use curve::{Curve, G1, G2, Xyzz};
pub use device::{Gpu, Timer};
pub use error::GpuError;
pub use image::{FieldVariant, Target, targets};
pub use kernels::{FieldOperation, check_field};
pub use pinned::PinnedBuffer;
#[cfg(test)]
pub(crate) use probe::tests::card;
pub use probe::{GpuInfo, Unusable, survey};
pub use query::QueryBits;
pub use rows::RowEvaluator;
pub use stream::Mark;
pub use witness::DeviceWitnesses;

/// SHA-256 of the embedded kernels of `gpu/` over our field functions in hexadecimal, or `None` in
/// a build without CUDA.
pub fn fatbin_digest() -> Option<String> {
    use sha2::{Digest, Sha256};
    image::WIDE.map(|bytes| hex::encode(Sha256::digest(bytes)))
}
