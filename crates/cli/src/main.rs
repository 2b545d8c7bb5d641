//! The program `timebase`; what it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    timebase_cli::main()
}
