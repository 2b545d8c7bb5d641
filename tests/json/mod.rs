//! Traces in Chrome's JSON format (rules JS): a naive model of the rules, and comparisons of the program
//! with it and with rows that were computed elsewhere.

mod arguments;
mod clocks;
mod database;
mod event;
mod examples;
mod fixtures;
pub mod generate;
mod model;
mod outline;
mod random;
mod same;
mod shown;
mod text;
mod told;
