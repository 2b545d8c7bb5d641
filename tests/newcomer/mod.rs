//! The first hour of a newcomer: each of these results was wrong, silent or clumsy once.

mod answers;
mod clocks;
#[cfg(unix)] // it needs a bash
mod completion;
mod help;
mod hints;
#[cfg(unix)] // there are pseudo-terminals
mod progress;
mod queries;
mod shell;
#[cfg(unix)]
mod terminal;
