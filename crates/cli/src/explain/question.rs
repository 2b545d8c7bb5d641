//! The question on the command line, as far as it can be understood without the trace.

use timebase_resolver::ClockId;

use crate::flags::{ClockArgument, ExplainArguments, TsArgument};

/// The message if the command line has no question.
const NOTHING: &str = "nothing to explain. Explain the begin of a slice with --slice ID, the time of a packet with \
                       --packet ID, a reading with --clock CLOCK --ts N, or a time of day with --ts 2026-11-21T16:21:30.5";

/// The question on the command line.
pub enum Question<'a> {
    Slice(i64),
    Packet(i64),
    Reading {
        /// `None` if `ts` is a time of day: REALTIME.
        given: Option<&'a ClockArgument>,
        ts: &'a TsArgument,
    },
}

impl<'a> Question<'a> {
    /// The question, or the reason why the command line is wrong.
    pub fn of(arguments: &'a ExplainArguments) -> Result<Question<'a>, String> {
        if let Some(to) = &arguments.to {
            check(to, ("to-seq", arguments.to_seq), arguments)?;
        }
        if let Some(slice) = arguments.slice {
            return Ok(Question::Slice(slice));
        }
        if let Some(packet) = arguments.packet {
            return Ok(Question::Packet(packet));
        }
        let given = arguments.clock.as_ref();
        let Some(ts) = arguments.ts.as_ref() else {
            return Err(match given {
                Some(clock) => format!("--ts is missing, the reading of {}", clock.text),
                None => NOTHING.to_owned(),
            });
        };
        match (given, ts) {
            (Some(clock), _) => check(clock, ("seq", arguments.seq), arguments)?,
            (None, TsArgument::Shown(..)) => {}
            (None, TsArgument::Ticks(ts)) => {
                return Err(format!("--clock is missing, the clock that read {ts}"));
            }
        }
        if let (TsArgument::Shown(_, shown), Some(clock)) = (ts, given)
            && !is_wall_clock(clock.written.id())
        {
            return Err(format!(
                "--ts {shown} is a time of day, which {} does not show; REALTIME does, and needs no --clock",
                clock.text
            ));
        }
        Ok(Question::Reading { given, ts })
    }
}

/// Whether the clock shows the time of day.
pub fn is_wall_clock(clock: ClockId) -> bool {
    matches!(clock, ClockId::REALTIME | ClockId::REALTIME_COARSE)
}

/// Checks that the flags beside a clock agree with the written clock. Names are checked later.
fn check(
    argument: &ClockArgument,
    (flag, seq): (&str, u32),
    arguments: &ExplainArguments,
) -> Result<(), String> {
    let ClockArgument { written, text } = argument;
    let is_other = |given: u32| written.sequence().is_some_and(|own| own.0 != given);
    if seq != 0 && is_other(seq) {
        return Err(format!("--{flag} {seq} is not the sequence of {text}"));
    }
    let of_flags = [
        ("machine", &arguments.machine, written.machine().map(|own| own.0)),
        ("file", &arguments.file, written.file()),
    ];
    for (flag, given, own) in of_flags {
        let number = given.as_ref().and_then(|given| given.parse::<u32>().ok());
        if let (Some(given), Some(number), Some(own)) = (given, number, own)
            && number != own
        {
            return Err(format!("--{flag} {given} is not the {flag} of {text}"));
        }
    }
    Ok(())
}
