//! Several files, several machines, one timeline (rules X): a naive model of the rules, and
//! comparisons of the program with it.

pub mod archive;
mod database;
mod examples;
mod explained;
pub mod generate;
mod graph;
mod import;
mod joined;
mod manifest;
mod model;
mod notation;
mod parts;
mod random;
mod rules;
mod sets;
mod shown;
mod unrelated;
mod wire;
