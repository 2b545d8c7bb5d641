//! What is generated from the definition of the command line.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::flags::Cli;

/// Writes the completion script of a shell.
pub fn completions(shell: Shell, out: &mut dyn Write) -> anyhow::Result<()> {
    // By way of a buffer, because the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "timebase", &mut script);
    out.write_all(&script)?;
    Ok(())
}

/// Writes the manual page of the program, or of one of its commands.
pub fn man(command: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut cli = Cli::command();
    cli.build();
    let page = match command {
        None => cli,
        Some(name) => cli
            .find_subcommand(name)
            .with_context(|| format!("there is no command {name}, so it has no manual page"))?
            .clone(),
    };
    Man::new(page).manual("timebase").render(out)?;
    Ok(())
}
