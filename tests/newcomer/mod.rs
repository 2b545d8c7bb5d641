//! What a newcomer does in the first hour, and gets: each of these was wrong, silent or
//! clumsy once.

mod answers;
mod clocks;
#[cfg(unix)] // it asks a bash
mod completion;
mod help;
mod hints;
#[cfg(unix)] // there are pseudo-terminals
mod progress;
mod queries;
mod shell;
#[cfg(unix)]
mod terminal;
