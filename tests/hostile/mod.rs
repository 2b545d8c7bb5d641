//! Bad behaviour of machines and people.

#[cfg(unix)] // signals, and a shell's knowledge of devices
mod crashes;
mod databases;
#[cfg(target_os = "linux")] // where a library can be put before the C library
pub mod faults;
mod resources;
