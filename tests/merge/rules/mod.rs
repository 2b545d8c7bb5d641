//! Each rule of X by itself.

mod bridges;
mod clocks;
mod inputs;
mod machines;
mod manifests;
mod remote;
mod trace_time;
