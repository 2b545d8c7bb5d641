//! What the command line asks for, as far as it can be said without the trace.

use timebase_resolver::{Clock, ClockId, MachineId, SeqId};

use super::is_wall_clock;
use crate::flags::{ClockArgument, ExplainArguments, TsArgument};

/// What was asked for.
pub enum Question<'a> {
    Slice(i64),
    Packet(i64),
    Reading {
        clock: Clock,
        /// `None` if a time of day says it.
        given: Option<&'a ClockArgument>,
        ts: &'a TsArgument,
    },
}

impl<'a> Question<'a> {
    /// What the command line says; or why it makes no sense.
    pub fn of(arguments: &'a ExplainArguments) -> Result<Question<'a>, String> {
        if let Some(to) = &arguments.to {
            clock_of(to, ("to-seq", arguments.to_seq), arguments.machine)?;
        }
        if let Some(slice) = arguments.slice {
            return Ok(Question::Slice(slice));
        }
        if let Some(packet) = arguments.packet {
            return Ok(Question::Packet(packet));
        }
        let ts = arguments
            .ts
            .as_ref()
            .ok_or("--ts, the reading, is missing")?;
        let clock = match (&arguments.clock, ts) {
            (Some(clock), _) => clock_of(clock, ("seq", arguments.seq), arguments.machine)?,
            (None, TsArgument::Shown(..)) => {
                Clock::new(MachineId(arguments.machine), ClockId::REALTIME, SeqId(0))
            }
            (None, TsArgument::Ticks(ts)) => {
                return Err(format!("--clock is missing, the clock that read {ts}"));
            }
        };
        if let (TsArgument::Shown(_, text), false) = (ts, is_wall_clock(clock)) {
            return Err(format!(
                "--ts {text} is a time of day, which {clock} does not show; REALTIME does, and needs no --clock"
            ));
        }
        Ok(Question::Reading {
            clock,
            given: arguments.clock.as_ref(),
            ts,
        })
    }
}

/// A clock, with the sequence and the machine that are given beside it.
fn clock_of(
    argument: &ClockArgument,
    (flag, seq): (&str, u32),
    machine: u32,
) -> Result<Clock, String> {
    let ClockArgument { written, text } = argument;
    let clock = written.clock_of(MachineId(machine), SeqId(seq));
    let is_other = |given, of_clock| given != 0 && given != of_clock;
    if written.sequence().is_some() && is_other(seq, clock.seq.0) {
        return Err(format!(
            "--{flag} {seq} is another sequence than that of {text}"
        ));
    }
    if is_other(machine, clock.machine.0) {
        return Err(format!(
            "--machine {machine} is another machine than that of {text}"
        ));
    }
    Ok(clock)
}
