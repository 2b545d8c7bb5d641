//! The recording's statements about itself, in the order of time: facts and counters (rules MD), and its
//! triggers, which are slices too (rule MD16).

use timebase_schema::fields::{chrome_trigger, trace_packet as field, trigger};

use crate::arguments::{ArgBuf, ArgValue};
use crate::timeline::{Label, PacketEvent};
use crate::world::{FlowEvent, FlowId, MadeSlice, NewSlice, NewTrack, Owner, Step};

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
    pub fn event(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        at.world.definitions.records.packet(ts, packet);
        match packet.field {
            field::TRIGGER | field::CLONE_SNAPSHOT_TRIGGER => self.trigger(ts, packet, at),
            field::CHROME_TRIGGER => self.chrome_trigger(ts, packet, at),
            _ => {}
        }
    }

    /// Takes a `Trigger`.
    fn trigger(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let names = &mut at.world.definitions.names;
        self.args.clear();
        if let Some(producer) = packet.message().text(trigger::PRODUCER_NAME) {
            self.args.push("producer_name", ArgValue::Text(&producer), names);
        }
        if let Some(uid) = packet.message().number(trigger::TRUSTED_PRODUCER_UID) {
            // The uid is an int32.
            let uid = i64::from(uid as i32);
            self.args.push("trusted_producer_uid", ArgValue::Int(uid), names);
        }
        let name = packet.message().text(trigger::TRIGGER_NAME);
        self.instant(ts, packet, name.as_deref(), at);
    }

    /// Takes a `ChromeTrigger`.
    fn chrome_trigger(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let names = &mut at.world.definitions.names;
        let hash = packet.message().natural(chrome_trigger::TRIGGER_NAME_HASH).unwrap_or(0) as u32;
        let name = packet.message().text(chrome_trigger::TRIGGER_NAME);
        self.args.clear();
        let value = ArgValue::Uint(hash.into());
        self.args.push("chrome_trigger.name_hash", value, names);
        if let Some(name) = &name {
            let value = ArgValue::Text(name);
            self.args.push("chrome_trigger.name", value, names);
        }
        let name = name.as_deref().unwrap_or("chrome_trigger");
        let slice = self.instant(ts, packet, Some(name), at);
        if let (Some(slice), Some(flow)) =
            (slice, packet.message().natural(chrome_trigger::FLOW_ID))
        {
            let terminates = FlowEvent {
                flow: FlowId::Event(flow),
                step: Step::Terminates,
                packet: packet.id,
                arg_set_id: None,
            };
            at.world.flows.step(terminates, slice);
        }
    }

    /// Adds an instant on the track of triggers, with the current arguments.
    fn instant(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        name: Option<&str>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<MadeSlice> {
        let track = NewTrack::slices(packet.machine, TYPE, Some(TRACK), Owner::None);
        let track = at.world.tracks.get(track);
        let names = &mut at.world.definitions.names;
        let name = name.map_or(Label::None, |name| names.label(name));
        let slice = NewSlice { packet: Some(packet.id), ..NewSlice::named(ts, track, name) };
        let id = at.world.add_slice(slice, 0, self.args.as_bytes(), at.rows)?;
        Some(MadeSlice { id, ts })
    }
}
