//! `timebase view`: a trace in Perfetto's UI, with the times that timebase computes.
//!
//! | question | where it is decided |
//! |---|---|
//! | the clients that get the trace | `serve.rs` |
//! | the program that already has the port | `taken.rs` |

mod serve;
mod taken;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use timebase_import::{FORMATS, RewriteTo};
use timebase_store::sort::Scratch;
use timebase_trace::{Inputs, Monitor, Reads, Source, TraceType};

use self::serve::Served;
use crate::flags::ViewArguments;
use crate::output::Named;
use crate::progress::Progress;
use crate::signals::Signals;
use crate::{messages, rewrite, tracks};

/// The port that the UI may fetch from.
const PORT: u16 = 9001;

pub fn run(arguments: &ViewArguments, signals: &Signals) -> anyhow::Result<()> {
    // This comes before the trace is read, because reading may take a while.
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => anyhow!("{}", taken::told(PORT)),
            _ => anyhow!("cannot listen on 127.0.0.1:{PORT}: {error}"),
        })?;
    let sources = rewrite::sources(&arguments.traces, false);
    let options = arguments.settings.options();
    arguments.settings.check(&arguments.traces)?;
    let mut name = match arguments.traces.as_slice() {
        [trace] => name(trace),
        _ if arguments.settings.one_file => "traces.pftrace".to_owned(),
        _ => "traces.zip".to_owned(),
    };
    // Its temporary database is gone before the trace is written.
    let tracks = &arguments.settings.tracks;
    let found =
        tracks::find(tracks, &arguments.traces, &sources, &options, (Progress::Auto, signals))?;
    let directory = signals.temporary_directory()?;
    let mut path = directory.join(&name);
    let is_as_it_is = arguments.settings.manifest.is_none() && found.is_none();
    if is_as_it_is && is_json(&sources, &directory, &path)? {
        messages::say(format_args!(
            "{name} is in Chrome's JSON format: the UI gets it as it is, with the times on its own clock"
        ));
    } else {
        // A JSON trace with tracks is written as a Perfetto trace.
        if name.ends_with(".json") {
            name = Path::new(&name).with_extension("pftrace").display().to_string();
            path = directory.join(&name);
        }
        let to = RewriteTo::File(&path);
        let with = (&options, found.as_ref());
        let rewritten = rewrite::monitored(&sources, to, with, Progress::Auto, signals)?;
        messages::warnings(&rewritten.warnings);
        rewrite::tell_unrelated("view", &arguments.traces, &arguments.settings, &rewritten);
    }
    let file = File::open(&path).context("cannot read the trace that was written")?;
    let served = Served::new(file, &name, PORT)?;
    let url = format!("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:{PORT}/{name}");
    if arguments.no_browser || !opens(&url) {
        // The URL is written at once; other output is held back until a command has succeeded.
        let mut out = Named::standard();
        writeln!(out, "{url}")?;
        out.flush()?;
    }
    if !arguments.keep {
        return served.serve(&listener, false);
    }
    signals.until_signal(|| {
        messages::say(format_args!("serving {name} on 127.0.0.1:{PORT} until Ctrl-C"));
        served.serve(&listener, true)
    })
}

/// Whether the only source is a file in Chrome's JSON format, which the UI reads itself. If so, this writes its
/// decompressed text to a path.
fn is_json(sources: &[Source], directory: &Path, path: &Path) -> anyhow::Result<bool> {
    // Standard input is read once, by the command that rewrites it.
    let [Source::File(trace)] = sources else {
        return Ok(false);
    };
    // So is a pipe with a name.
    if !trace.is_file() {
        return Ok(false);
    }
    let (scratch, monitor) = (Scratch::from(directory), Monitor::default());
    // The command that rewrites the trace has the error.
    let Ok(mut inputs) = Inputs::open(sources, None, FORMATS, Reads::Once, &scratch, &monitor)
    else {
        return Ok(false);
    };
    let [file] = inputs.files() else {
        return Ok(false);
    };
    if !matches!(file.kind, Some(TraceType::Trace(format)) if format.has_own_clock) {
        return Ok(false);
    }
    let mut input = inputs.open_file(0)?;
    let mut written = File::create(path).context("cannot write a temporary file")?;
    let copied = io::copy(&mut input.reader, &mut written);
    if let Some(failure) = input.failed() {
        return Err(failure.into());
    }
    match copied {
        // The UI shows the readable part of damaged data.
        Err(error)
            if !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
        {
            Err(error).context("cannot write a temporary file")
        }
        _ => Ok(true),
    }
}

/// The UI's name for the trace: the file's name, with only characters that need no quoting in a
/// URL.
fn name(trace: &Path) -> String {
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).collect();
    match name.trim_matches(['.', '-', '_']) {
        "" => "trace.pftrace".to_owned(),
        _ => name,
    }
}

/// Opens a page in the browser, and returns whether there is one.
fn opens(url: &str) -> bool {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    let command = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_the_url_needs_no_quoting() {
        for (trace, expected) in [
            ("a/trace.pftrace", "trace.pftrace"),
            ("a b&c.pftrace.gz", "a_b_c.pftrace"),
            ("ä.zst", "trace.pftrace"),
            ("-", "trace.pftrace"),
        ] {
            assert_eq!(name(Path::new(trace)), expected);
        }
    }
}
