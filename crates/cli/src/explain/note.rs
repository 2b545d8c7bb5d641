//! The words beside a hop.

/// The note about such a hop, in parts between which a line can be folded.
pub type Note = Vec<String>;
