//! Rewrites lines of the log for a trace that is written: they stay on REALTIME (rule RW6).

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{android_log_packet as log, android_log_packet_log_event as event};

use crate::message::Message;
use crate::readers::retiming::{Fixed, Retime, Retimed, Rewritten, fields, put_bytes, put_with};

pub(super) fn retime(packet: &Retimed<'_>, to: &mut impl Retime, out: &mut Vec<u8>) -> Rewritten {
    let realtime = to.clock(Some((ClockId::REALTIME, SeqId(0))));
    let mut rewritten = Rewritten::Same;
    let mut line = Vec::new();
    for (number, value, bytes) in fields(packet.payload) {
        let (log::EVENTS, Value::Bytes(event)) = (number, value) else {
            out.extend_from_slice(bytes);
            continue;
        };
        let recorded = Message(event).number(event::TIMESTAMP);
        let reading = recorded.and_then(|recorded| {
            let Some(ts) = to.time(&realtime, recorded) else {
                to.unplaced(Fixed::LogLines, (ClockId::REALTIME, SeqId(0)), recorded);
                return None;
            };
            let reading = to.reading(Fixed::LogLines, ClockId::REALTIME, recorded, ts);
            (reading != recorded).then_some(reading)
        });
        match reading {
            Some(reading) => {
                line.clear();
                put_with(&mut line, event, event::TIMESTAMP, reading);
                put_bytes(out, log::EVENTS, &line);
                rewritten = Rewritten::Changed;
            }
            None => out.extend_from_slice(bytes),
        }
    }
    rewritten
}
