//! The tests of the program from the outside: one binary, so that it is linked once. One of its
//! modules runs alone with `cargo test --test timebase import::`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod align;
mod argument_rules;
mod clocks;
mod compare;
mod compare_page;
mod damage;
mod descriptor_rules;
mod dialect;
mod doctor;
mod doubt;
mod event_faults;
mod events;
mod export;
mod few_readings;
mod flamegraph;
mod frames;
mod generic_kernel;
mod gpu_rules;
mod hostile;
mod import;
mod java_heap;
mod json;
mod kernel_events;
mod kernel_rules;
mod kernel_tables;
mod legacy_event_rules;
mod linear_import;
mod loss;
mod manifest;
mod merge;
mod model;
mod newcomer;
mod packet_json;
mod page;
mod producers;
mod profile_reports;
mod profiles;
mod program;
#[cfg(unix)] // its examples are lines for a shell
mod rates;
mod readme;
mod records;
mod reference;
mod reliability;
mod reports;
mod repro;
mod rewrite;
mod rooms;
mod rules;
mod scale;
mod slice_tables;
mod slices;
mod small_tables;
mod summary;
mod support;
mod symbols;
mod threads;
mod track_event_rules;
mod track_rules;
mod track_tables;
mod winscope;
mod words;
mod wrong_clocks;
