//! The numbers of clocks. The chain's clocks come after [`CHAIN`], those with crystals after
//! [`CRYSTALS`].

pub const REALTIME: u32 = 1;
pub const REALTIME_COARSE: u32 = 2;
pub const MONOTONIC: u32 = 3;
pub const MONOTONIC_COARSE: u32 = 4;
pub const MONOTONIC_RAW: u32 = 5;
pub const BOOTTIME: u32 = 6;
pub const INCREMENTAL: u32 = 64;
pub const ABSOLUTE: u32 = 65;
pub const CHAIN: u32 = 128;
pub const COUNTER: u32 = 256;
pub const LATE: u32 = 257;
pub const CRYSTALS: u32 = 1024;
