//! What machines and people do to timebase that they should not.

#[cfg(unix)] // signals, and what a shell knows of devices
mod crashes;
mod databases;
#[cfg(target_os = "linux")] // where a library can be put before the C library
pub mod faults;
mod resources;
