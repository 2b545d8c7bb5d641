//! `clock_snapshot`: readings become rows, and the clock graph grows (rules N).

use prost::Message;
use timebase_resolver::{Rejected, Unresolved};
use timebase_wire::proto::ClockSnapshot;

use super::{Halt, Importer, Packet};
use crate::decoder::Decoder;
use crate::rows::{Placement, ReadingRow, Severity};

pub(super) static IMPORTER: Importer = Importer {
    import,
    finish: None,
    tables: &[],
};

fn import(decoder: &mut Decoder, packet: &Packet<'_>) -> Result<Placement, Halt> {
    let snapshot = ClockSnapshot::decode(packet.payload)?;
    let sequence = decoder.sequences.get(packet.sequence);
    let added = decoder
        .clocks
        .add_snapshot(&snapshot, packet.header, sequence);
    let own = decoder.clocks.own_reading(packet.header, sequence);
    let (ts, unresolved) = match added {
        Ok(accepted) => {
            for (&(reading, ts), recorded) in accepted.readings.iter().zip(&snapshot.clocks) {
                decoder.batch.readings.push(ReadingRow {
                    ts,
                    snapshot: accepted.id,
                    source: accepted.source,
                    packet_id: packet.id,
                    // An accepted reading fits, since its unit is at least 1.
                    timestamp: recorded.timestamp().try_into().unwrap_or(i64::MAX),
                    reading,
                });
            }
            if let Some(clock) = accepted.ignored_primary {
                let message = format!(
                    "primary_trace_clock {clock} is ignored: packets were converted to {} before \
                     it, or it cannot be trace time (rule T1)",
                    decoder.clocks.trace_time()
                );
                decoder.log(Severity::Warning, "primary_clock_ignored", packet, message);
            }
            (accepted.ts, accepted.unresolved)
        }
        Err(rejected) => {
            decoder.counters.snapshots_rejected += 1;
            let message = format!("the clock snapshot was rejected: {rejected}");
            decoder.log(Severity::Warning, rejected.code(), packet, message);
            let unresolved = match rejected {
                Rejected::NoSequenceId { .. } => Some(Unresolved::NoSequenceId),
                Rejected::Overflow { .. } => Some(Unresolved::Overflow),
                _ => None,
            };
            (None, unresolved)
        }
    };
    Ok(Placement {
        ts,
        unresolved,
        ..own
    })
}
