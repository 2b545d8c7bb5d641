//! What GPUs did: slices of render stages (rules GP).
//!
//! # Design
//!
//! What a packet names by interned data is looked up when its event is followed, in
//! what the frame kept of its sequence; so an entry that comes later in the trace is
//! found, too (GP1). What specifications of the old style say holds from their
//! packet on, in the order of time, and is remembered here by machine.

use rustc_hash::FxHashMap;
use timebase_schema::tables::gpu_slice_record;
use timebase_trace::Kept;

use super::tracker::{At, Tracker};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::{OwnLabel, PacketEvent};
use crate::world::{Details, NewSlice, NewTrack, Owner, SetId, TrackId, Upid};

/// The field of `TracePacket`.
const RENDER_STAGE_EVENT: u32 = 53;

const TYPE: &str = "gpu_render_stage";

/// Fields of `InternedData`.
mod interned {
    pub const EVENT_NAMES: u32 = 2;
    pub const GRAPHICS_CONTEXTS: u32 = 23;
    pub const GPU_SPECIFICATIONS: u32 = 24;
}

/// The fields of `InternedData` that are looked up, of intervals that have an event of
/// these.
pub(crate) const GPU_INTERNED: &[(u32, Kept)] = &[
    (interned::EVENT_NAMES, Kept::Interval),
    (interned::GRAPHICS_CONTEXTS, Kept::Interval),
    (interned::GPU_SPECIFICATIONS, Kept::Interval),
];

/// Follows render stages.
#[derive(Debug, Default)]
pub(crate) struct GpuSlices {
    machines: FxHashMap<u32, Specified>,
}

/// What specifications of the old style have said on a machine (rule GP2).
#[derive(Debug, Default)]
struct Specified {
    queues: FxHashMap<u32, Queue>,
    /// The first lane of a queue of a GPU, of those that had no name then.
    unnamed: FxHashMap<(u32, u32), TrackId>,
    /// The names of stages, and their descriptions.
    stages: Vec<(OwnLabel, Option<Box<str>>)>,
}

/// What is said of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Queue {
    name: Box<str>,
    description: Option<Box<str>>,
}

/// Which lanes a slice is on (rule GP3).
#[derive(Debug, Clone, Copy)]
enum Lanes {
    ById = 0,
    ByIid = 1,
}

impl Tracker for GpuSlices {
    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut At<'_, '_>) {
        if packet.field != RENDER_STAGE_EVENT {
            return;
        }
        let event = Event {
            ts,
            packet,
            message: Message(packet.payload),
        };
        let specified = self.machines.entry(packet.machine).or_default();
        let specifications = event.message.bytes(7).map(Message);
        if let Some(specifications) = specifications {
            event.specify(specifications, specified, at);
        }
        if event.message.number(1).is_some() {
            event.slice(specifications, specified, at);
        }
    }
}

/// What arguments of a slice do not stand in its event.
struct MoreArgs<'a> {
    category: Option<i32>,
    /// Of its stage, if that is known; it may have no text.
    description: Option<Option<Box<str>>>,
    subpasses: Option<&'a str>,
    queue: u64,
    upid: Upid,
}

/// A `GpuRenderStageEvent`.
struct Event<'a> {
    ts: i64,
    packet: &'a PacketEvent<'a>,
    message: Message<'a>,
}

impl<'a> Event<'a> {
    fn gpu(&self) -> u32 {
        self.message.small(11).unwrap_or(0)
    }

    /// The number of its stage in specifications of the old style.
    fn stage(&self) -> u64 {
        i64::from(self.message.small(4).unwrap_or(0) as i32) as u64
    }

    /// An entry of interned data.
    fn interned<'w>(&self, field: u32, iid: u64, at: &'w At<'_, '_>) -> Option<Message<'w>> {
        let entry = at.world.interned.get(self.packet.interval, field, iid);
        entry.map(Message)
    }

    /// The lanes of a queue, which may be unknown.
    fn lanes(
        &self,
        lanes: Lanes,
        number: u64,
        queue: Option<&Queue>,
        at: &mut At<'_, '_>,
    ) -> SetId {
        let machine = self.packet.machine;
        let numbers = [machine.into(), self.gpu().into(), lanes as u64, number];
        let owner = Owner::Gpu(at.world.gpus.ugpu(machine, self.gpu()));
        let unknown;
        let name = match queue {
            Some(queue) => &*queue.name,
            None => {
                unknown = format!("Unknown GPU Queue {number}");
                &unknown
            }
        };
        at.world.lanes.set(TYPE, &numbers, name, || {
            let source = match lanes {
                Lanes::ById => "id",
                Lanes::ByIid => "iid",
            };
            let track = NewTrack::slices(machine, TYPE, Some(name), owner)
                .with("render_stage_source", source)
                .with("hwqueue_id", number as i64)
                .with("hwqueue_name", queue.map(|queue| &*queue.name));
            match queue.and_then(|queue| queue.description.as_deref()) {
                None => track,
                description => track.with_source("description", description),
            }
        })
    }

    /// Rule GP2.
    fn specify(&self, specifications: Message<'_>, specified: &mut Specified, at: &mut At<'_, '_>) {
        for (id, queue) in (0..).zip(specifications.messages(2)) {
            let Some(name) = queue.text(1) else { continue };
            let said = Queue {
                name: (&*name).into(),
                description: queue.text(2).map(|text| (&*text).into()),
            };
            let is_first = !specified.queues.contains_key(&id);
            if let Some(&track) = specified.unnamed.get(&(self.gpu(), id))
                && is_first
            {
                at.world.tracks.rename(track, &name);
                if let Some(description) = &said.description {
                    let mut details = Details::default();
                    let names = &mut at.world.definitions.names;
                    let description = ArgValue::Text(description);
                    details.source.push("description", description, names);
                    at.world.tracks.describe(track, details);
                }
            }
            specified.queues.insert(id, said);
        }
        for stage in specifications.messages(3) {
            let Some(name) = stage.text(1) else { continue };
            let name = at.world.definitions.names.label(&name);
            let description = stage.text(2).map(|text| (&*text).into());
            specified.stages.push((name.into(), description));
        }
    }

    /// The lane of the slice (rule GP3), and the number of its queue; nothing where
    /// the queue is not known.
    fn lane(
        &self,
        dur: i64,
        specified: &mut Specified,
        at: &mut At<'_, '_>,
    ) -> Option<(TrackId, u64)> {
        let (set, unnamed, number) = match self.message.number(13) {
            Some(iid) => {
                let queue = self.interned(interned::GPU_SPECIFICATIONS, iid, at)?;
                let description = queue.text(3).filter(|text| !text.is_empty());
                let queue = Queue {
                    name: queue
                        .text(2)
                        .map(|name| (&*name).into())
                        .unwrap_or_default(),
                    description: description.map(|text| (&*text).into()),
                };
                (self.lanes(Lanes::ByIid, iid, Some(&queue), at), None, iid)
            }
            None => {
                let id = self.message.small(3).unwrap_or(0);
                let queue = specified.queues.get(&id);
                let set = self.lanes(Lanes::ById, id.into(), queue, at);
                (set, queue.is_none().then_some(id), id.into())
            }
        };
        let lane = at
            .world
            .lanes
            .add(set, self.ts, dur, &mut at.world.tracks)?;
        if let Some(id) = unnamed {
            specified.unnamed.entry((self.gpu(), id)).or_insert(lane);
        }
        Some((lane, number))
    }

    /// Rule GP4.
    fn name(&self, specified: &Specified, at: &mut At<'_, '_>) -> OwnLabel {
        let called =
            |name: &str, at: &mut At<'_, '_>| at.world.definitions.names.label(name).into();
        let entry = match (self.message.number(20), self.message.number(14)) {
            (Some(iid), _) => Some((interned::EVENT_NAMES, iid)),
            (None, _) if self.message.bytes(17).is_some() => None,
            (None, stage) => stage.map(|iid| (interned::GPU_SPECIFICATIONS, iid)),
        };
        if let Some((field, iid)) = entry {
            let entry = at.world.interned.get(self.packet.interval, field, iid);
            let name = entry.and_then(|entry| Some(Message(entry).text(2)?.into_owned()));
            return name.map_or(OwnLabel::None, |name| called(&name, at));
        }
        if let Some(name) = self.message.text(17) {
            return called(&name, at);
        }
        let stage = self.stage();
        let known = usize::try_from(stage).ok();
        if let Some((name, _)) = known.and_then(|stage| specified.stages.get(stage)) {
            return name.clone();
        }
        called(&format!("render stage({stage})"), at)
    }

    /// Its process, that of pid 0 if no context names one (rule GP5).
    fn process(&self, specifications: Option<Message<'_>>, at: &mut At<'_, '_>) -> Upid {
        let context = self.message.number(5);
        let context = context.and_then(|iid| self.interned(interned::GRAPHICS_CONTEXTS, iid, at));
        let specified = specifications.and_then(|said| said.bytes(1).map(Message));
        let pid = context.or(specified).and_then(|said| said.small(2));
        let pid = pid.unwrap_or(0).into();
        at.world.threads.process(self.packet.machine, pid)
    }

    /// Rules GP1 and GP5.
    fn slice(
        &self,
        specifications: Option<Message<'_>>,
        specified: &mut Specified,
        at: &mut At<'_, '_>,
    ) {
        let message = self.message;
        let dur = message.number(2).unwrap_or(0);
        let dur = i64::try_from(dur).unwrap_or(i64::MAX);
        let Some((track, queue)) = self.lane(dur, specified, at) else {
            return;
        };
        let upid = self.process(specifications, at);
        let name = self.name(specified, at);
        let slice = NewSlice::named(self.ts, track, name.label());
        let stage = message.number(14);
        let stage = stage.and_then(|iid| self.interned(interned::GPU_SPECIFICATIONS, iid, at));
        let category = stage.map(|stage| stage.small(4).unwrap_or(0) as i32);
        let description = match message.number(14) {
            Some(_) => stage.map(|stage| stage.text(3).map(|text| (&*text).into())),
            None => self.described(specified).map(Some),
        };
        let subpasses = self.subpasses();
        let more = MoreArgs {
            category,
            description,
            subpasses: subpasses.as_deref(),
            queue,
            upid,
        };
        let args = self.args(&more, &mut at.world.definitions.names);
        let Some(slice) = at.world.add_slice(slice, dur, args.as_bytes(), at.rows) else {
            return;
        };
        let subpasses = at.rows.optional_text(subpasses.as_deref());
        let handle = |field| Cell::from(message.number(field).unwrap_or(0) as i64);
        at.rows.push(gpu_slice_record::Row {
            id: Cell::from(slice.0),
            context_id: handle(5),
            render_target: handle(8),
            render_pass: handle(9),
            command_buffer: handle(12),
            submission_id: Cell::from(message.small(10).unwrap_or(0)),
            hw_queue_id: Cell::from(queue as i64),
            upid: Cell::from(upid.0),
            render_subpasses: subpasses,
            render_stage_category: Cell::or_null(category),
        });
    }

    /// The description of a stage in specifications of the old style.
    fn described(&self, specified: &Specified) -> Option<Box<str>> {
        self.message.number(4)?;
        let stage = usize::try_from(self.stage()).ok()?;
        specified.stages.get(stage)?.1.clone()
    }

    /// Rule GP6.
    fn args(&self, more: &MoreArgs<'_>, names: &mut Names) -> ArgBuf {
        let message = self.message;
        let mut args = ArgBuf::default();
        let mut push = |key: &str, value: ArgValue<'_>| args.push(key, value, names);
        if let Some(category) = more.category {
            push("render_stage_category", ArgValue::Int(category.into()));
        }
        if let Some(description) = &more.description {
            let text = description.as_deref();
            push("description", text.map_or(ArgValue::NoText, ArgValue::Text));
        }
        if let Some(pass) = message.number(16).filter(|&pass| pass != 0) {
            let pass = format!("rp:#{pass}");
            push("correlation_id", ArgValue::Text(&pass));
        }
        for datum in message.messages(6) {
            let value = datum.text(2);
            let value = value.as_deref().map_or(ArgValue::NoText, ArgValue::Text);
            push(&datum.text(1).unwrap_or_default(), value);
        }
        let handle = |field| ArgValue::Uint(message.number(field).unwrap_or(0));
        push("context_id", handle(5));
        push("render_target", handle(8));
        push("render_target_name", ArgValue::NoText);
        push("render_pass", handle(9));
        push("render_pass_name", ArgValue::NoText);
        let subpasses = more.subpasses.map_or(ArgValue::NoText, ArgValue::Text);
        push("render_subpasses", subpasses);
        push("command_buffer", handle(12));
        push("command_buffer_name", ArgValue::NoText);
        let submission = message.small(10).unwrap_or(0);
        push("submission_id", ArgValue::Int(submission.into()));
        push("hw_queue_id", ArgValue::Uint(more.queue));
        push("upid", ArgValue::Int(more.upid.0.into()));
        args
    }

    /// The numbers of the bits that are set, 64 a word.
    fn subpasses(&self) -> Option<String> {
        const FIELD: u32 = 15;
        const BITS: u64 = 64;
        let mut fields = self.message.fields();
        fields.find(|(field, _)| *field == FIELD)?;
        let words = (0u64..).zip(self.message.numbers(FIELD));
        let set = words.flat_map(|(place, word)| {
            (0..BITS)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| (place * BITS + bit).to_string())
        });
        Some(set.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bytes, Field, Made, Number, Trace, message};
    use super::*;
    use crate::definitions::Definitions;

    fn stage(trace: Trace, ts: i64, fields: &[(u32, Field<'_>)]) -> Trace {
        trace.packet(ts, RENDER_STAGE_EVENT, &message(fields))
    }

    /// Slices without their arguments.
    fn drawn(made: &Made) -> Vec<String> {
        let slices = made.slices().into_iter();
        let on_track = slices.map(|slice| match slice.split_once(" ugpu0") {
            Some((slice, _)) => format!("{slice} ugpu0"),
            None => slice,
        });
        on_track.collect()
    }

    /// The rows of `gpu_slice_record` behind their ids.
    fn said(made: &Made) -> Vec<String> {
        let rows = made.rows(&gpu_slice_record::TABLE);
        rows.iter().map(|row| row[1..].join(" ")).collect()
    }

    #[test]
    fn gp1_gp3_gp4_gp5_queues_and_names_are_interned() {
        let trace = Trace::default()
            .interned(
                interned::GPU_SPECIFICATIONS,
                &[(1, Number(1)), (2, Bytes(b"queue"))],
            )
            .interned(
                interned::GPU_SPECIFICATIONS,
                &[(1, Number(2)), (2, Bytes(b"stage")), (4, Number(1))],
            )
            .interned(
                interned::EVENT_NAMES,
                &[(1, Number(3)), (2, Bytes(b"name"))],
            )
            .interned(
                interned::GRAPHICS_CONTEXTS,
                &[(1, Number(4)), (2, Number(70))],
            );
        let (event, queue) = ((1, Number(0)), (13, Number(1)));
        let trace = stage(trace, 1, &[event, queue, (2, Number(10)), (14, Number(2))]);
        let more = [
            (1, Number(0)),
            (13, Number(1)),
            (2, Number(u64::MAX)),
            (20, Number(3)),
            (14, Number(2)),
            (5, Number(4)),
            (8, Number(u64::MAX)),
            (9, Number(6)),
            (12, Number(7)),
            (10, Number(8)),
            (15, Number(5)),
            (15, Number(1 << 63)),
        ];
        let trace = stage(trace, 2, &more);
        // No slices: no event_id, an unknown queue.
        let trace = stage(trace, 3, &[(13, Number(1))]);
        let trace = stage(trace, 4, &[(1, Number(0)), (13, Number(9))]);
        // An unknown name is none.
        let unknown = [
            (1, Number(0)),
            (13, Number(1)),
            (20, Number(9)),
            (17, Bytes(b"x")),
        ];
        let made = stage(trace, 11, &unknown).follow(Definitions::default());
        assert_eq!(
            drawn(&made),
            [
                "1+10 0 stage, gpu_render_stage/queue#0 ugpu0",
                "2+9223372036854775807 0 name, gpu_render_stage/queue#1 ugpu0",
                "11+0 0 -, gpu_render_stage/queue#0 ugpu0",
            ]
        );
        assert_eq!(
            said(&made),
            [
                "0 0 0 0 0 1 0 - 1",
                "4 -1 6 7 8 1 1 0,2,127 1",
                "0 0 0 0 0 1 0 - -"
            ]
        );
    }

    #[test]
    fn gp2_gp3_a_name_that_comes_later_renames_the_first_lane() {
        let named = |name| message(&[(1, Bytes(name))]);
        let context = message(&[(1, Number(1)), (2, Number(80))]);
        let (unnamed, queue, first, second) =
            (message(&[]), named(b"q"), named(b"s0"), named(b"s1"));
        let specifications = message(&[
            (1, Bytes(&context)),
            (2, Bytes(&unnamed)),
            (2, Bytes(&queue)),
            (3, Bytes(&first)),
            (3, Bytes(&unnamed)),
            (3, Bytes(&second)),
        ]);
        let on = |queue| [(1, Number(0)), (2, Number(5)), (3, Number(queue))];
        let trace = stage(Trace::default(), 1, &on(1));
        let trace = stage(trace, 2, &on(1));
        let trace = stage(trace, 3, &on(0));
        let last = [
            (1, Number(0)),
            (3, Number(1)),
            (4, Number(1)),
            (5, Number(9)),
            (7, Bytes(&specifications)),
        ];
        let trace = stage(trace, 9, &last);
        // A second name renames nothing.
        let trace = stage(trace, 10, &[(7, Bytes(&message(&[(2, Bytes(&queue))])))]);
        let below_zero = [(1, Number(0)), (3, Number(1)), (4, Number(u64::MAX))];
        let made = stage(trace, 11, &below_zero).follow(Definitions::default());
        assert_eq!(
            drawn(&made),
            [
                "1+5 0 render stage(0), gpu_render_stage/q#0 ugpu0",
                "2+5 0 render stage(0), gpu_render_stage/Unknown GPU Queue 1#1 ugpu0",
                "3+5 0 render stage(0), gpu_render_stage/q#2 ugpu0",
                "9+0 0 s1, gpu_render_stage/q#3 ugpu0",
                "11+0 0 render stage(18446744073709551615), gpu_render_stage/q#3 ugpu0",
            ]
        );
        assert_eq!(said(&made)[3], "9 0 0 0 0 1 1 - -");
    }
}
