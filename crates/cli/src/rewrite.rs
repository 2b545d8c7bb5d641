//! `timebase rewrite`: reads a trace, and writes it with trace time as every time.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};
use timebase_import::{
    Cut, Found, LeftOut, Monitor, Options, RewriteError, RewriteTo, Rewritten, Source, Unmet,
    Window,
};

use crate::escape::quoted_path;
use crate::flags::{
    RewriteArguments, RewriteSettings, SummaryFormat, TrackFlags, WindowArguments, wrong_usage,
};
use crate::import::named;
use crate::progress::{self, Progress};
use crate::signals::Signals;
use crate::window::ByArguments;
use crate::{messages, tracks, unrelated};

pub fn run(
    arguments: &RewriteArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let sources: Vec<Source> = sources(&arguments.traces, arguments.pieces);
    let mut options = arguments.settings.options();
    arguments.settings.check(&arguments.traces)?;
    options.overwrite = arguments.force;
    options.strict = arguments.strict;
    options.max_size = arguments.max_size;
    let output = arguments.output.as_deref();
    let is_json = arguments.format == SummaryFormat::Json;
    let to = match output {
        _ if arguments.dry_run => RewriteTo::Nowhere,
        Some(output) if output.as_os_str() == OsStr::new("-") => {
            if is_json {
                wrong_usage(
                    "rewrite",
                    "--format json writes to standard output, as -o - does; name a file with -o",
                );
            }
            if io::stdout().is_terminal() {
                bail!("standard output is a terminal; name a file with -o, or pipe the trace");
            }
            RewriteTo::Writer(out)
        }
        Some(output) => RewriteTo::File(output),
        None => wrong_usage("rewrite", "name the trace to write with -o OUT, or use --dry-run"),
    };
    let begun = Instant::now();
    let window = arguments.window.is_any().then_some(&arguments.window);
    if window.is_none() && arguments.window.margin.is_some() {
        wrong_usage(
            "rewrite",
            "--margin widens a window; say which: --during, --slice, or --from and --to",
        );
    }
    let tracks = &arguments.settings.tracks;
    let has_tracks = !tracks.track.is_empty() || !tracks.report.is_empty() || tracks.marks;
    if let RewriteTo::File(path) = to
        && has_tracks
        && !arguments.force
        && path.exists()
    {
        return Err(RewriteError::Exists { path: path.to_owned() }.into());
    }
    let how = (arguments.progress, signals);
    let rewritten = match window {
        None => {
            let found = tracks::find(tracks, &arguments.traces, &sources, &options, how)?;
            monitored(&sources, to, (&options, found.as_ref()), arguments.progress, signals)?
        }
        Some(window) if has_tracks => {
            let what = (sources.as_slice(), window, tracks);
            cut_with_tracks(what, to, &options, how)?
        }
        Some(window) => ended(shown(arguments.progress, signals, |monitor| {
            timebase_import::cut(&sources, to, &options, ByArguments(window), monitor)
        })?)?,
    };
    match is_json {
        true => writeln!(out, "{}", json(&rewritten))?,
        false => {
            let name = output.filter(|_| !arguments.dry_run);
            let name_of = named(&sources);
            messages::say(screen(&name_of, name, &rewritten, begun.elapsed()));
        }
    }
    messages::warnings(&rewritten.warnings);
    tell_unrelated("rewrite", &arguments.traces, &arguments.settings, &rewritten);
    Ok(())
}

/// Warns of files whose clocks nothing relates, unless the user knows it.
pub fn tell_unrelated(
    command: &str,
    traces: &[PathBuf],
    settings: &RewriteSettings,
    rewritten: &Rewritten,
) {
    let output = Path::new("out.zip");
    let told = unrelated::told(command, traces, output, &rewritten.unrelated);
    if let Some(told) = told.filter(|_| !settings.merge) {
        messages::warning(told);
    }
}

/// The sources that the arguments name.
pub fn sources(traces: &[PathBuf], pieces: bool) -> Vec<Source> {
    let of = |trace: &PathBuf| match Source::from_arg(trace.as_os_str()) {
        Source::Stdin if pieces => Source::Pieces,
        source => source,
    };
    traces.iter().map(of).collect()
}

/// Rewrites with a progress display, so that Ctrl-C stops it.
pub fn monitored(
    sources: &[Source],
    to: RewriteTo<'_>,
    (options, found): (&Options, Option<&Found>),
    progress: Progress,
    signals: &Signals,
) -> anyhow::Result<Rewritten> {
    if sources.contains(&Source::Stdin) && io::stdin().is_terminal() {
        bail!("standard input is a terminal; pipe a trace into it");
    }
    ended(shown(progress, signals, |monitor| {
        timebase_import::rewrite_with(sources, to, options, found, monitor)
    })?)
}

/// Cuts a part out, and then adds tracks to it. The statements see the part.
fn cut_with_tracks(
    (sources, window, tracks): (&[Source], &WindowArguments, &TrackFlags),
    to: RewriteTo<'_>,
    options: &Options,
    how @ (progress, signals): (Progress, &Signals),
) -> anyhow::Result<Rewritten> {
    let place = tempfile::tempdir().context("cannot make a temporary directory")?;
    let part = place.path().join("part.pftrace");
    let cut = ended(shown(progress, signals, |monitor| {
        let to = RewriteTo::File(&part);
        timebase_import::cut(sources, to, options, ByArguments(window), monitor)
    })?)?;
    // Its times are right already, and the manifest was for the whole trace.
    let mut of_part = Options::default();
    of_part.overwrite = options.overwrite;
    of_part.max_size = options.max_size;
    let source = [Source::File(part.clone())];
    let found = tracks::find(tracks, std::slice::from_ref(&part), &source, &of_part, how)?;
    let added = monitored(&source, to, (&of_part, found.as_ref()), progress, signals)?;
    let mut told = cut;
    (told.written, told.written_bytes) = (added.written, added.written_bytes);
    told.tracks = added.tracks;
    Ok(told)
}

/// Runs with a progress display, so that Ctrl-C stops it.
fn shown<T>(
    progress: Progress,
    signals: &Signals,
    run: impl FnOnce(&Monitor) -> T,
) -> anyhow::Result<T> {
    let monitor = Arc::new(Monitor::default());
    signals.during_import(&monitor, || progress::shown(progress, &monitor, None, || run(&monitor)))
}

fn ended(rewritten: Result<Rewritten, RewriteError>) -> anyhow::Result<Rewritten> {
    match rewritten {
        // The reader of the pipe is gone, which is no failure.
        Err(RewriteError::Write { error, .. }) if error.kind() == io::ErrorKind::BrokenPipe => {
            Err(error.into())
        }
        rewritten => Ok(rewritten?),
    }
}

/// The summary for programs.
fn json(rewritten: &Rewritten) -> Value {
    let left_out = rewritten.left_out.iter().map(|left| {
        let [_, what] = left.what;
        json!({"what": what, "count": left.count, "bytes": left.bytes})
    });
    let unmet = rewritten.unmet.iter().map(|unmet| {
        let [_, what] = unmet.what;
        json!({"what": what, "count": unmet.count, "largest_ns": unmet.largest})
    });
    let unlike = rewritten.unlike.iter().map(|unlike| {
        let [_, what] = unlike.what;
        json!({"what": what, "count": unlike.count})
    });
    let tracks = rewritten.tracks.iter().map(|track| {
        json!({
            "name": track.name,
            "rows": track.rows,
            "left_out": track.left_out,
            "moved": track.moved,
            "not_reached": track.not_reached,
        })
    });
    let moved = &rewritten.moved;
    json!({
        "files": rewritten.files,
        "packets": rewritten.packets,
        "written": rewritten.written,
        "unresolved": rewritten.unplaced,
        "trace_time_clock": rewritten.trace_time_clock,
        "moved": {
            "count": moved.count,
            "of": moved.of,
            "median_ns": moved.median,
            "largest_ns": moved.largest,
        },
        "left_out": left_out.collect::<Vec<_>>(),
        "unmet": unmet.collect::<Vec<_>>(),
        "unlike": unlike.collect::<Vec<_>>(),
        "tracks": tracks.collect::<Vec<_>>(),
        "cut": rewritten.cut.as_ref().map(|cut| json!({
            "from": cut.window.from,
            "to": cut.window.to,
            "trace_from": cut.of.from,
            "trace_to": cut.of.to,
            "carried": cut.carried,
            "added": cut.added,
        })),
        "source_bytes": rewritten.source_bytes,
        "written_bytes": rewritten.written_bytes,
    })
}

/// The summary: one screen, for any trace.
fn screen(source: &str, output: Option<&Path>, rewritten: &Rewritten, elapsed: Duration) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let packets = HumanCount(rewritten.packets);
    let written = match output {
        Some(_) => "written",
        None => "would be written",
    };
    let count = HumanCount(rewritten.written);
    if rewritten.converted > 0 {
        let what = match rewritten.moved.of {
            0 => "events and members",
            _ => "packets, events and members",
        };
        let text = format!("{packets} {what} read, {count} packets {written}");
        lines.push(("packets", text));
    } else if let Some(cut) = &rewritten.cut {
        let kept = HumanCount(rewritten.written.saturating_sub(cut.added));
        let added = counted(cut.added, ["packet", "packets"]);
        lines.push(("packets", format!("{kept} of {packets} {written}, {added} added")));
    } else {
        lines.push(("packets", format!("{count} of {packets} {written}")));
    }
    lines.extend(rewritten.cut.as_ref().map(|cut| ("cut", cut_out(cut))));
    lines.push(("times", times(rewritten)));
    if rewritten.unplaced > 0 {
        let packets = counted(rewritten.unplaced, ["packet has", "packets have"]);
        let text = format!("{packets} no known time, and the clock and the timestamp as recorded");
        lines.push(("unresolved", text));
    }
    if rewritten.files > 1 {
        lines.push(("output", format!("a zip of {} traces, with a manifest", rewritten.files)));
    }
    let mut heading = "left out";
    for left in &rewritten.left_out {
        lines.push((std::mem::take(&mut heading), left_out(left)));
    }
    let mut heading = "tracks";
    for track in &rewritten.tracks {
        lines.push((std::mem::take(&mut heading), tracks::told(track)));
    }
    let mut heading = "differs";
    for unlike in &rewritten.unlike {
        lines.push((std::mem::take(&mut heading), counted(unlike.count, unlike.what)));
    }
    let mut heading = "off";
    for unmet in &rewritten.unmet {
        lines.push((std::mem::take(&mut heading), off(unmet)));
    }
    let size = HumanBytes(rewritten.source_bytes);
    lines.push((
        "size",
        match output {
            Some(_) => format!(
                "{size} read, {} written, in {elapsed:.1?}",
                HumanBytes(rewritten.written_bytes)
            ),
            None => format!("{size} read, in {elapsed:.1?}"),
        },
    ));
    let to = match output {
        Some(output) if output.as_os_str() == OsStr::new("-") => "standard output".to_owned(),
        Some(output) => output.display().to_string(),
        None => "nothing, as --dry-run asks".to_owned(),
    };
    let mut screen = format!("{source} → {to}\n\n");
    for (heading, text) in lines {
        let _ = writeln!(screen, "  {heading:<10}  {text}");
    }
    if let Some(output) = output.filter(|output| output.as_os_str() != OsStr::new("-")) {
        let output = output.to_string_lossy();
        let _ = write!(screen, "\nNext: timebase view {}", quoted_path(&output));
    }
    screen
}

/// The part of the time that was cut out, and what it needed from before.
fn cut_out(cut: &Cut) -> String {
    let span = |from: i64, to: i64| match to.saturating_sub(from).max(0) {
        ns @ 0..1_000_000 => format!("{:?}", Duration::from_nanos(ns.cast_unsigned())),
        ns => format!("{:.3} s", ns as f64 / 1e9),
    };
    let (Window { from, to }, of) = (cut.window, cut.of);
    let all = span(of.from, of.to);
    // A window may begin before the trace, and end behind it.
    let part = match from <= of.from && to > of.to {
        true => "all".to_owned(),
        false => span(from.max(of.from), to.min(of.to)),
    };
    let carried = counted(cut.carried, ["packet", "packets"]);
    format!(
        "{part} of {all}, from {from} to {to}; {carried} from before for the state at its begin"
    )
}

/// The clock of the times, and the number of times that it moves.
fn times(rewritten: &Rewritten) -> String {
    let clock = &rewritten.trace_time_clock;
    let moved = &rewritten.moved;
    if rewritten.converted > 0 && moved.of == 0 {
        return format!("on {clock}, to the nanosecond");
    }
    // The counts are of the whole trace.
    if moved.count == 0 && rewritten.cut.is_some() {
        return format!("on {clock}, each where its nearest snapshot puts it");
    }
    if moved.count == 0 {
        return format!(
            "{} on {clock}, each where its nearest snapshot puts it",
            HumanCount(moved.of)
        );
    }
    let (median, largest) =
        (Duration::from_nanos(moved.median), Duration::from_nanos(moved.largest));
    format!(
        "{} of {} on {clock} moved against their nearest snapshots: half of them by at most {median:.1?}, \
         one by {largest:.1?}",
        HumanCount(moved.count),
        HumanCount(moved.of)
    )
}

fn left_out(left: &LeftOut) -> String {
    let what = counted(left.count, left.what);
    format!("{what}, {}", HumanBytes(left.bytes))
}

/// The times that other readers will see differently, and the size of the difference.
fn off(unmet: &Unmet) -> String {
    let what = counted(unmet.count, unmet.what);
    match unmet.largest {
        Some(largest) => {
            let largest = Duration::from_nanos(largest);
            format!(
                "{what}: their clock has no reading for the exact time; the largest error is {largest:.1?}"
            )
        }
        None => {
            format!(
                "{what} as recorded: no reading of their clock leads to their time, or they have none. Other tools place them by what was recorded; 'timebase doctor' shows clocks that were set"
            )
        }
    }
}

fn counted(count: u64, [one, many]: [&str; 2]) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_moved_and_what_is_left_out() {
        let mut rewritten = Rewritten::default();
        rewritten.packets = 1240;
        rewritten.written = 1234;
        rewritten.trace_time_clock = "BOOTTIME".to_owned();
        rewritten.unplaced = 1;
        let text = screen("t", None, &rewritten, Duration::ZERO);
        assert!(text.contains("1,234 of 1,240 would be written"), "{text}");
        assert!(text.contains("each where its nearest snapshot puts it"), "{text}");
        assert!(text.contains("1 packet has no known time"), "{text}");
        rewritten.moved.count = 2;
        rewritten.moved.of = 3000;
        rewritten.moved.median = 1500;
        rewritten.moved.largest = 2_000_000;
        let text = screen("t", Some(Path::new("a b")), &rewritten, Duration::ZERO);
        for expected in [
            "2 of 3,000 on BOOTTIME moved",
            "at most 1.5µs, one by 2.0ms",
            "Next: timebase view 'a b'",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }
}
