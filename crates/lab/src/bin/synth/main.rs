//! The program `synth`: it writes a Perfetto trace to a file or a pipe, or a set of traces to a
//! directory, and their truth to another file. It also writes traces in Chrome's JSON format.

mod flags;
mod quantity;
mod truth_file;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use timebase_lab::synth::{Error, Fleet, FleetSummary, Set, SetSummary, Settings, Summary};

use flags::{Flags, Wanted};
use truth_file::{SetTruthFile, TruthFile};

fn main() -> ExitCode {
    let flags = Flags::parse();
    match run(&flags) {
        Ok(summary) => {
            // Standard output may be the trace.
            if let Some(summary) = summary {
                eprint!("{summary}");
            }
            ExitCode::SUCCESS
        }
        // The reader has enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Io(error)) if error.kind() == ErrorKind::BrokenPipe)
}

/// Reports what was written; for a bomb and a trace in JSON there is no report.
fn run(flags: &Flags) -> anyhow::Result<Option<String>> {
    if let Some((bomb, count)) = flags.bomb() {
        let written = output(flags).and_then(|mut out| bomb.write(count, &mut out));
        written.map_err(Error::Io)?;
        return Ok(None);
    }
    if let Some(events) = flags.kineto {
        let written = output(flags)
            .and_then(|mut out| timebase_lab::synth::write_kineto(events, flags.seed, &mut out));
        written.map_err(Error::Io)?;
        return Ok(None);
    }
    let wanted = flags.wanted()?;
    if flags.show {
        println!("{}", wanted.knobs()?);
        return Ok(None);
    }
    Ok(Some(match wanted {
        Wanted::Trace(settings) => described(&trace(&settings, flags)?),
        Wanted::Set(wanted) => described_set(&set(&wanted, flags)?),
        Wanted::Fleet(wanted) => described_fleet(&fleet(&wanted, flags)?),
    }))
}

/// The destination of a trace.
fn output(flags: &Flags) -> io::Result<Box<dyn Write>> {
    if flags.output() == Path::new("-") {
        return Ok(Box::new(io::stdout().lock()));
    }
    Ok(Box::new(create(flags.output())?))
}

fn trace(settings: &Settings, flags: &Flags) -> Result<Summary, Error> {
    let mut out = output(flags)?;
    let Some(path) = &flags.truth else {
        return timebase_lab::synth::write(settings, &mut out);
    };
    let mut file = TruthFile::new(create(path)?)?;
    let tell = &mut |truth| file.write(&truth);
    let summary = timebase_lab::synth::write_with_truth(settings, &mut out, tell)?;
    file.finish()?;
    Ok(summary)
}

fn set(set: &Set, flags: &Flags) -> Result<SetSummary, Error> {
    let directory = directory(flags, "a set")?;
    let file = |name: &str| create(&directory.join(name));
    let Some(path) = &flags.truth else {
        return timebase_lab::synth::write_set(set, file);
    };
    let mut truths = SetTruthFile::new(create(path)?, set.files())?;
    let summary =
        timebase_lab::synth::write_set_with_truth(set, file, &mut |truth| truths.write(&truth))?;
    truths.finish()?;
    Ok(summary)
}

fn fleet(fleet: &Fleet, flags: &Flags) -> Result<FleetSummary, Error> {
    let directory = directory(flags, "a fleet")?;
    timebase_lab::synth::write_fleet(fleet, |name| create(&directory.join(name)))
}

/// The destination of several files; `what` names them.
fn directory<'a>(flags: &'a Flags, what: &str) -> io::Result<&'a Path> {
    let directory = flags.output();
    if directory == Path::new("-") {
        let said = format!("{what} has several files: name a directory instead of '-'");
        return Err(io::Error::new(ErrorKind::InvalidInput, said));
    }
    std::fs::create_dir_all(directory).map_err(|error| named(directory, error))?;
    Ok(directory)
}

fn create(path: &Path) -> io::Result<File> {
    File::create(path).map_err(|error| named(path, error))
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn described_set(summary: &SetSummary) -> String {
    let files = summary.files.iter().map(|file| {
        format!(
            "{}: {} packets, {} events, {} lines, {} bytes\n",
            file.name, file.packets, file.events, file.lines, file.bytes
        )
    });
    let files: String = files.collect();
    let manifest = summary.manifest.map(|name| format!("{name}\n"));
    format!(
        "{files}{}records    {}\nBOOTTIME   {} to {} ns\n",
        manifest.unwrap_or_default(),
        summary.records,
        summary.begin_ns,
        summary.end_ns
    )
}

fn described_fleet(summary: &FleetSummary) -> String {
    format!(
        "traces     {}\nlossy      {}\ndamaged    {}\nempty      {}\nbytes      {}\n",
        summary.traces, summary.lossy, summary.damaged, summary.empty, summary.bytes
    )
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
