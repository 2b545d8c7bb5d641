//! The program `timebase`. The library beside it does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    timebase_cli::main()
}
