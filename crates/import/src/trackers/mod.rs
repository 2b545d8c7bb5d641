//! What is made of events in the order of time: a file a subject.
//!
//! A tracker subscribes to kinds of events, which readers then make
//! (`timeline.rs`), keeps the state that its subject has, and makes rows. The
//! trait [`Tracker`] says in which order it is called; `ARCHITECTURE.md`, how one
//! is added.

mod busy;
mod tracker;

pub(crate) use busy::Busy;
pub(crate) use tracker::Trackers;
