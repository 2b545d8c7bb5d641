//! Rewrites samples of power rails for a trace that is written: they stay on BOOTTIME, in
//! milliseconds (rule RW6).

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{power_rails as rails, power_rails_energy_data as data};

use super::MILLI;
use crate::message::Message;
use crate::readers::retiming::{Fixed, Retime, Retimed, Rewritten, fields, put_bytes, put_with};

pub(super) fn retime(packet: &Retimed<'_>, to: &mut impl Retime, out: &mut Vec<u8>) -> Rewritten {
    if packet.is_lost {
        return Rewritten::Same;
    }
    let boottime = to.clock(Some((ClockId::BOOTTIME, SeqId(0))));
    let mut rewritten = Rewritten::Same;
    let mut sample = Vec::new();
    for (number, value, bytes) in fields(packet.payload) {
        let (rails::ENERGY_DATA, Value::Bytes(message)) = (number, value) else {
            out.extend_from_slice(bytes);
            continue;
        };
        let recorded = Message(message).number(data::TIMESTAMP_MS);
        let reading = recorded.and_then(|recorded| {
            let (fixed, clock) = (Fixed::PowerSamples, ClockId::BOOTTIME);
            let ns = recorded.saturating_mul(MILLI);
            let Some(ts) = to.time(&boottime, ns) else {
                to.unplaced(fixed, (clock, SeqId(0)), ns);
                return None;
            };
            let reading = to.coarse(fixed, clock, MILLI, recorded, ts);
            (reading != recorded).then_some(reading)
        });
        match reading {
            Some(reading) => {
                sample.clear();
                put_with(&mut sample, message, data::TIMESTAMP_MS, reading);
                put_bytes(out, rails::ENERGY_DATA, &sample);
                rewritten = Rewritten::Changed;
            }
            None => out.extend_from_slice(bytes),
        }
    }
    rewritten
}
