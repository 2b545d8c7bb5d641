//! The tests of the program, from the outside: one binary, so that it is linked
//! once. A module of it runs alone with `cargo test --test timebase import::`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clocks;
mod events;
mod import;
mod kernel_rules;
mod kernel_tables;
mod model;
mod packet_json;
mod program;
#[cfg(unix)] // its examples are lines for a shell
mod readme;
mod reference;
mod reports;
mod rules;
mod scale;
mod support;
mod threads;
mod track_rules;
