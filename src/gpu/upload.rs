//! How the points of the parameter file get to the card.

/// What the host memory of an upload is: `pin=staged|register|off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinVariant {
    /// A few pinned buffers that threads fill from the map.
    #[default]
    Staged,
    /// The map itself, pinned piece by piece.
    Register,
    /// Ordinary memory, which the driver copies once more.
    Off,
}
