//! The recording's statements about itself, in the order of time: facts and counters (rules MD), and its
//! triggers, which are slices too (rule MD16).

use timebase_schema::fields::{chrome_trigger, trace_packet as packet, trigger};

use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Record;
use crate::message::Message;
use crate::timeline::{Label, RecordedEvent};
use crate::world::{FlowEvent, FlowId, Made, NewSlice, NewTrack, Owner, Step};

use super::tracker::TrackerContext;

const TYPE: &str = "triggers";
const TRACK: &str = "Trace Triggers";

/// Follows the recording's statements about itself.
#[derive(Debug, Default)]
pub(super) struct Recording {
    args: ArgBuf,
}

impl Recording {
    /// Takes a packet, or the part of a packet that is read in the order of time.
    pub fn event(&mut self, ts: i64, event: &RecordedEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let record = Record {
            ts,
            packet: event.packet,
            file: event.file,
            machine: event.machine,
            field: event.field,
            message: Message(event.payload),
        };
        at.world.definitions.records.packet(&record);
        match event.field {
            packet::TRIGGER | packet::CLONE_SNAPSHOT_TRIGGER => self.trigger(&record, at),
            packet::CHROME_TRIGGER => self.chrome_trigger(&record, at),
            _ => {}
        }
    }

    /// Takes a `Trigger`.
    fn trigger(&mut self, record: &Record<'_>, at: &mut TrackerContext<'_, '_>) {
        let names = &mut at.world.definitions.names;
        self.args.clear();
        if let Some(producer) = record.message.text(trigger::PRODUCER_NAME) {
            self.args.push("producer_name", ArgValue::Text(&producer), names);
        }
        if let Some(uid) = record.message.number(trigger::TRUSTED_PRODUCER_UID) {
            // The uid is an int32.
            let uid = i64::from(uid as i32);
            self.args.push("trusted_producer_uid", ArgValue::Int(uid), names);
        }
        let name = record.message.text(trigger::TRIGGER_NAME);
        self.instant(record, name.as_deref(), at);
    }

    /// Takes a `ChromeTrigger`.
    fn chrome_trigger(&mut self, record: &Record<'_>, at: &mut TrackerContext<'_, '_>) {
        let names = &mut at.world.definitions.names;
        let hash = record.message.natural(chrome_trigger::TRIGGER_NAME_HASH).unwrap_or(0) as u32;
        let name = record.message.text(chrome_trigger::TRIGGER_NAME);
        self.args.clear();
        let value = ArgValue::Uint(hash.into());
        self.args.push("chrome_trigger.name_hash", value, names);
        if let Some(name) = &name {
            let value = ArgValue::Text(name);
            self.args.push("chrome_trigger.name", value, names);
        }
        let name = name.as_deref().unwrap_or("chrome_trigger");
        let slice = self.instant(record, Some(name), at);
        if let (Some(slice), Some(flow)) = (slice, record.message.natural(chrome_trigger::FLOW_ID))
        {
            let terminates = FlowEvent {
                flow: FlowId::Event(flow),
                step: Step::Terminates,
                packet: record.packet,
                arg_set_id: None,
            };
            at.world.flows.step(terminates, slice);
        }
    }

    /// Adds an instant on the track of triggers, with the current arguments.
    fn instant(
        &mut self,
        record: &Record<'_>,
        name: Option<&str>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<Made> {
        let track = NewTrack::slices(record.machine, TYPE, Some(TRACK), Owner::None);
        let track = at.world.tracks.get(track);
        let names = &mut at.world.definitions.names;
        let name = name.map_or(Label::None, |name| names.label(name));
        let slice =
            NewSlice { packet: Some(record.packet), ..NewSlice::named(record.ts, track, name) };
        let id = at.world.add_slice(slice, 0, self.args.as_bytes(), at.rows)?;
        Some(Made { id, ts: record.ts })
    }
}
