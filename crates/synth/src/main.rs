//! The program `synth`: a Perfetto trace to a file or a pipe, and its truth to
//! another file.

mod flags;
mod quantity;
mod truth_file;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use timebase_synth::{Error, Settings, Summary};

use flags::Flags;
use truth_file::TruthFile;

fn main() -> ExitCode {
    let flags = Flags::parse();
    match run(&flags) {
        Ok(summary) => {
            // Standard output may be the trace.
            if let Some(summary) = summary {
                eprint!("{}", described(&summary));
            }
            ExitCode::SUCCESS
        }
        // Who reads has enough.
        Err(Error::Io(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Tells what was written; of a bomb there is nothing to tell.
fn run(flags: &Flags) -> Result<Option<Summary>, Error> {
    if flags.output == Path::new("-") {
        return generate(&mut io::stdout().lock(), flags);
    }
    generate(&mut create(&flags.output)?, flags)
}

fn generate(out: &mut impl Write, flags: &Flags) -> Result<Option<Summary>, Error> {
    if let Some((bomb, count)) = flags.bomb() {
        bomb.write(count, out)?;
        return Ok(None);
    }
    trace(&flags.settings(), out, flags).map(Some)
}

fn trace(settings: &Settings, out: &mut impl Write, flags: &Flags) -> Result<Summary, Error> {
    let Some(path) = &flags.truth else {
        return timebase_synth::write(settings, out);
    };
    let mut file = TruthFile::new(create(path)?)?;
    let summary = timebase_synth::write_with_truth(settings, out, &mut |truth| file.write(&truth))?;
    file.finish()?;
    Ok(summary)
}

fn create(path: &Path) -> io::Result<File> {
    File::create(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn described(summary: &Summary) -> String {
    format!(
        "records    {}\npackets    {}\nevents     {}\nlines      {}\nsnapshots  {}\n\
         pairs      {}\nbytes      {}\nBOOTTIME   {} to {} ns\n",
        summary.records,
        summary.packets,
        summary.events,
        summary.lines,
        summary.snapshots,
        summary.pairs,
        summary.bytes,
        summary.begin_ns,
        summary.end_ns,
    )
}
