//! Stands in for the vector arithmetic on processors that have none.

/// A value of this type would prove that IFMA is there; here there is none.
#[derive(Clone, Copy, Debug)]
pub enum Ifma {}

impl Ifma {
    /// Always `None` on this architecture.
    pub const fn detect() -> Option<Self> {
        None
    }
}
