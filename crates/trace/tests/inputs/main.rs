//! One way to open everything: a trace, an archive, several files (rules X1 to X9).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arguments;
mod build;
mod fixtures;
mod hostile;
mod place;
mod tar;
mod zip;
