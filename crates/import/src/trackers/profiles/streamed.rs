//! Samples of Chrome's profiler (rule CP3). The reader has set the time and the thread of each sample.

use std::io;

use super::callstacks::Callstacks;
use super::packet::Packet;
use super::samples::{Sample, Samples, SourceId, Task};
use super::stacks::KnownStacks;
use crate::compact::{Compact, Take};
use crate::definitions::StreamedSample;
use crate::output::STACKPROFILE_PARSER_ERROR;
use crate::trackers::tracker::TrackerContext;
use crate::world::ThreadNumbers;

/// A sample, in the compact form of its reader.
///
/// # Errors
///
/// If the bytes have another form, because the temporary file is damaged.
pub(super) fn sample(
    packet: &Packet<'_>,
    (known, callstacks): (&mut KnownStacks, &mut Callstacks),
    samples: &mut Samples,
    at: &mut TrackerContext<'_, '_>,
) -> io::Result<()> {
    let machine = packet.writer.machine;
    let sample = StreamedSample::take(&mut Take(packet.event.payload))?;
    let StreamedSample { thread, stack: iid, priority } = sample;
    let (pid, tid) = at.world.thread_outside(ThreadNumbers::of(machine, thread));
    let utid = at.world.threads.bind(machine, tid, pid);
    let upid = at.world.threads.process(machine, pid);
    let Some(callsite) = known.stack((Some(upid), iid), packet.known(), callstacks, at) else {
        let fault = STACKPROFILE_PARSER_ERROR;
        at.world.faults.add(fault, packet.event.packet);
        return Ok(());
    };
    let task = samples.task(Task { upid: Some(upid), utid: Some(utid), of_async: None });
    let sample = Sample {
        source: Some(SourceId::CHROME),
        task: Some(task),
        callsite: Some(callsite),
        priority: Some(priority),
        ..Sample::default()
    };
    samples.add(packet.ts, &sample, at);
    Ok(())
}
