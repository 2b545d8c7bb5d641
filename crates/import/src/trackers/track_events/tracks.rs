//! The tracks of uuids (rules U5 to U11).
//!
//! Most of these tracks belong to threads, of which a trace may have 100,000; so the name of lanes
//! is boxed.

use rustc_hash::FxHashMap;

use super::super::tracker::TrackerContext;
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::{
    CounterTrack, Descriptor, INSTRUCTIONS, Merging, THREAD_TIME, TrackOwner, Translated,
};
use crate::timeline::{Label, OwnLabel, UuidIx};
use crate::world::{Details, NewTrack, Numbered, Owner, SetId, TrackId, Upid, Utid, World};

/// The effect of an event on the lanes of its track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trackers) enum Lane {
    Begins,
    Ends,
    /// Begins and ends.
    IsInstant,
}

/// The track or the lanes of a uuid's slices or values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrackOrLanes {
    Track(TrackId),
    Lanes(SetId),
}

/// The tracks of uuids, by their numbers.
#[derive(Debug, Default)]
pub(super) struct UuidTracks {
    all: Numbered<Option<UuidTrack>>,
}

/// A uuid that has tracks.
#[derive(Debug, Clone)]
struct UuidTrack {
    on: TrackOrLanes,
    /// The name of its lanes, if they have one.
    name: Option<Box<OwnLabel>>,
    /// Whether the sequence that first needed it has its first packet in the trace.
    has_first_packet: bool,
}

/// The event that needs a track.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs<'a> {
    /// The name of the event, if the track is the event's own track.
    pub name: Label<'a>,
    pub sequence: u32,
}

impl UuidTracks {
    fn get(&self, uuid: UuidIx) -> Option<&UuidTrack> {
        self.all.get(uuid.0)?.as_ref()
    }

    /// The track or the lanes of a uuid that was met.
    #[inline]
    pub fn of_uuid(
        &mut self,
        uuid: UuidIx,
        needs: Needs<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> TrackOrLanes {
        match self.get(uuid) {
            Some(known) => known.on,
            None => self.add(uuid, needs, at),
        }
    }

    /// The track of a slice of a uuid.
    #[inline]
    pub fn of_slice(
        &mut self,
        uuid: UuidIx,
        lane: Lane,
        needs: Needs<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        let set = match self.of_uuid(uuid, needs, at) {
            TrackOrLanes::Track(track) => return Some(track),
            TrackOrLanes::Lanes(set) => set,
        };
        let cookie = i64::from(uuid.0);
        if !at.world.lanes.has_room(set, cookie) {
            self.lane(uuid, set, needs.sequence, at);
        }
        let (lanes, tracks) = (&mut at.world.lanes, &mut at.world.tracks);
        let mut track = None;
        if lane != Lane::Ends {
            track = lanes.begin(set, cookie, tracks);
        }
        if lane != Lane::Begins {
            track = lanes.end(set, cookie, tracks).map(|(track, _)| track);
        }
        track
    }

    /// Makes the track or the lanes of a uuid that is needed for the first time, after those of the
    /// uuids above it.
    #[cold]
    fn add(
        &mut self,
        uuid: UuidIx,
        needs: Needs<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) -> TrackOrLanes {
        let sequences = &at.world.definitions.first_packets;
        let has_first_packet = sequences.contains(&needs.sequence);
        let parent = self.parent(uuid, needs.sequence, at);
        let world = &mut *at.world;
        let owner = world.uuids.owner(uuid);
        let uuids = &world.definitions.uuids;
        let descriptor = uuids.descriptor(uuid).cloned();
        let name = descriptor.as_ref().and_then(|said| said.name());
        let is_default = descriptor.is_none() && uuids.uuid(uuid) == 0;
        let name = match (name, is_default) {
            (Some(name), _) => OwnLabel::from(world.definitions.names.label(name)),
            (None, true) => OwnLabel::from(world.definitions.names.label("Default Track")),
            (None, false) => OwnLabel::None,
        };
        let nature = Nature::of(descriptor.as_ref(), owner);
        let on = match nature {
            Nature::Threads(utid) => TrackOrLanes::Track(world.tracks.of_thread(utid)),
            Nature::Own { takes_name } => {
                let name = match (takes_name, &name) {
                    (true, OwnLabel::None) => OwnLabel::from(needs.name),
                    _ => name,
                };
                let name = other_name(owner, name, world);
                let track = own_track(owner, descriptor.as_ref(), &name, world);
                let details = Details {
                    parent,
                    dimensions: dimensions(uuid, world),
                    source: source(uuid, descriptor.as_ref(), has_first_packet, world),
                };
                world.tracks.describe(track, details);
                TrackOrLanes::Track(track)
            }
            Nature::Merges => {
                let name = match &name {
                    OwnLabel::None => OwnLabel::from(needs.name),
                    _ => name,
                };
                let name = other_name(owner, name, world);
                let on = TrackOrLanes::Lanes(lanes(owner, descriptor.as_ref(), &name, world));
                self.set(uuid, on, name, has_first_packet);
                return on;
            }
        };
        self.set(uuid, on, OwnLabel::None, has_first_packet);
        on
    }

    fn set(&mut self, uuid: UuidIx, on: TrackOrLanes, name: OwnLabel, has_first_packet: bool) {
        *self.all.of(uuid.0) = Some(UuidTrack {
            on,
            name: (name != OwnLabel::None).then(|| name.into()),
            has_first_packet,
        });
    }

    /// The parent of a uuid's track, which is made if it does not exist. `None` if
    /// either is the own track of a thread or process (rule U8).
    fn parent(
        &mut self,
        uuid: UuidIx,
        sequence: u32,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        let uuids = &at.world.definitions.uuids;
        let descriptor = uuids.descriptor(uuid)?;
        let parent = uuids.beside(uuid, descriptor.more().parent?)?;
        let is_own = |descriptor: &Descriptor| {
            matches!(descriptor.owner, TrackOwner::Thread { .. } | TrackOwner::Process { .. })
        };
        let above = uuids.descriptor(parent);
        let is_left_out = is_own(descriptor) || above.is_some_and(is_own);
        let needs = Needs { name: Label::None, sequence };
        let track = match self.of_uuid(parent, needs, at) {
            TrackOrLanes::Track(track) => Some(track),
            TrackOrLanes::Lanes(set) => match at.world.lanes.first(set) {
                None => self.lane(parent, set, sequence, at),
                first => first,
            },
        };
        track.filter(|_| !is_left_out)
    }

    /// Makes a lane for a uuid (rule U6), after the tracks above it.
    fn lane(
        &mut self,
        uuid: UuidIx,
        set: SetId,
        sequence: u32,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<TrackId> {
        let parent = self.parent(uuid, sequence, at);
        let known = self.get(uuid)?;
        let has_first_packet = known.has_first_packet;
        let name = known.name.as_deref().cloned().unwrap_or_default();
        let world = &mut *at.world;
        let descriptor = world.definitions.uuids.descriptor(uuid).cloned();
        let name = world.definitions.names.text_of(&name).map(Into::into);
        let mut dimensions = ArgBuf::default();
        let merging = descriptor.as_ref().map(|descriptor| &descriptor.more().merging);
        let above = descriptor.as_ref().and_then(|descriptor| descriptor.more().parent);
        let names = &mut world.definitions.names;
        let key = match merging {
            Some(Merging::ByKey(key)) => (1, key.clone()),
            _ => (0, name.clone()),
        };
        let above = ArgValue::Int(above.unwrap_or(0) as i64);
        dimensions.push("parent_track_uuid", above, names);
        dimensions.push("merge_key_type", ArgValue::Int(key.0), names);
        if let Some(key) = &key.1 {
            dimensions.push("merge_key_value", ArgValue::Text(key), names);
        }
        let number = ArgValue::Int(world.lanes.count(set).into());
        dimensions.push("track_compressor_idx", number, names);
        let source = source(uuid, descriptor.as_ref(), has_first_packet, world);
        let cookie = i64::from(uuid.0);
        let track = world.lanes.add_lane(set, cookie, name, &mut world.tracks)?;
        let details = Details { parent, dimensions, source };
        world.tracks.describe(track, details);
        Some(track)
    }
}

/// The kind of a uuid's track (rule U5).
enum Nature {
    /// The track of a thread.
    Threads(Utid),
    /// Its own track. If `takes_name` is set, a track without a name takes the name of an event.
    Own { takes_name: bool },
    /// Lanes.
    Merges,
}

impl Nature {
    fn of(descriptor: Option<&Descriptor>, owner: Owner) -> Nature {
        let Some(descriptor) = descriptor else {
            return Nature::Merges;
        };
        let never = descriptor.more().merging == Merging::Never;
        match (&descriptor.owner, owner) {
            (TrackOwner::Thread { .. }, Owner::Thread(utid)) if !descriptor.keeps_apart => {
                Nature::Threads(utid)
            }
            (TrackOwner::State, _) => Nature::Own { takes_name: true },
            (
                TrackOwner::Thread { .. } | TrackOwner::Process { .. } | TrackOwner::Counter(_),
                _,
            ) => Nature::Own { takes_name: false },
            (TrackOwner::Nobody, _) if never => Nature::Own { takes_name: true },
            (TrackOwner::Nobody, _) => Nature::Merges,
        }
    }
}

/// The type of a track by its owner (rule U7).
fn type_of(
    owner: Owner,
    of_thread: &'static str,
    of_process: &'static str,
    of_none: &'static str,
) -> &'static str {
    match owner {
        Owner::Thread(_) => of_thread,
        Owner::Process(_) => of_process,
        _ => of_none,
    }
}

/// The translated name of a process's track; other tracks keep their names (rule TN4).
pub(super) fn other_name(owner: Owner, name: OwnLabel, world: &World) -> OwnLabel {
    let of_part = match owner {
        Owner::Process(_) => world.statements(),
        _ => None,
    };
    let (what, names) = (Translated::ProcessTrack, &world.definitions.names);
    let other = of_part.and_then(|of| of.translations.name(what, name.label(), names));
    other.unwrap_or(name)
}

fn own_track(
    owner: Owner,
    descriptor: Option<&Descriptor>,
    name: &OwnLabel,
    world: &mut World,
) -> TrackId {
    let machine = world.part.machine;
    let name = world.definitions.names.text_of(name);
    let counter = descriptor.and_then(Descriptor::counter);
    let is_state = descriptor.is_some_and(|descriptor| descriptor.owner == TrackOwner::State);
    let track = match counter {
        None if is_state => {
            let track_type = type_of(
                owner,
                "thread_state_track_event",
                "process_state_track_event",
                "global_state_track_event",
            );
            NewTrack::slices(machine, track_type, name, owner)
        }
        None => {
            let track_type =
                type_of(owner, "thread_track_event", "process_track_event", "global_track_event");
            NewTrack::slices(machine, track_type, name, owner)
        }
        Some(counter) => {
            let track_type = type_of(
                owner,
                "thread_counter_track_event",
                "process_counter_track_event",
                "global_counter_track_event",
            );
            NewTrack {
                is_counter: true,
                unit: counter.unit().map(Into::into),
                ..NewTrack::slices(machine, track_type, name, owner)
            }
        }
    };
    let description = descriptor.and_then(|descriptor| descriptor.more().description.clone());
    world.tracks.add(NewTrack { description, ..track })
}

/// The lanes that a uuid shares (rule U6).
fn lanes(
    owner: Owner,
    descriptor: Option<&Descriptor>,
    name: &OwnLabel,
    world: &mut World,
) -> SetId {
    let track_type = type_of(
        owner,
        "thread_merged_track_event",
        "process_merged_track_event",
        "global_merged_track_event",
    );
    let machine = world.part.machine;
    let owned = match owner {
        Owner::Thread(Utid(id)) | Owner::Process(Upid(id)) => u64::from(id),
        _ => 0,
    };
    let parent = descriptor.and_then(|descriptor| descriptor.more().parent);
    let (by_key, key) = match descriptor.map(|descriptor| &descriptor.more().merging) {
        Some(Merging::ByKey(key)) => (true, key.as_deref()),
        _ => (false, world.definitions.names.text_of(name)),
    };
    let numbers = [
        machine.into(),
        owned,
        parent.unwrap_or(0),
        by_key.into(),
        // No text differs from an empty text.
        key.is_some().into(),
    ];
    world.lanes.set(track_type, &numbers, key.unwrap_or_default(), || {
        NewTrack::slices(machine, track_type, None, owner)
    })
}

/// The dimensions of a track, in addition to its owner (rule U10).
fn dimensions(uuid: UuidIx, world: &mut World) -> ArgBuf {
    let mut dimensions = ArgBuf::default();
    let number = world.definitions.uuids.uuid(uuid) as i64;
    dimensions.push("track_uuid", ArgValue::Int(number), &mut world.definitions.names);
    dimensions
}

/// The source arguments of a track (rule U9).
fn source(
    uuid: UuidIx,
    descriptor: Option<&Descriptor>,
    has_first_packet: bool,
    world: &mut World,
) -> ArgBuf {
    let number = world.definitions.uuids.uuid(uuid);
    let names = &mut world.definitions.names;
    let mut source = ArgBuf::default();
    let mut push = |key: &str, value: ArgValue<'_>| source.push(key, value, names);
    let is_own = descriptor.is_some_and(|descriptor| {
        matches!(descriptor.owner, TrackOwner::Thread { .. } | TrackOwner::Process { .. })
    });
    push("source", ArgValue::Text("descriptor"));
    push("trace_id", ArgValue::Int(number as i64));
    push("is_root_in_scope", ArgValue::Bool(is_own || number == 0));
    if has_first_packet && number != 0 {
        push("has_first_packet_on_sequence", ArgValue::Bool(true));
    }
    let Some(descriptor) = descriptor else {
        return source;
    };
    if let Some(counter) = descriptor.counter() {
        counted(counter, &mut push);
    }
    let ordering = match descriptor.more().child_ordering {
        1 => Some("lexicographic"),
        2 => Some("chronological"),
        3 => Some("explicit"),
        _ => None,
    };
    if let Some(ordering) = ordering {
        push("child_ordering", ArgValue::Text(ordering));
    }
    if let Some(rank) = descriptor.more().rank {
        push("sibling_order_rank", ArgValue::Int(rank));
    }
    if let Some(description) = &descriptor.more().description {
        push("description", ArgValue::Text(description));
    }
    source
}

fn counted(counter: &CounterTrack, push: &mut impl FnMut(&str, ArgValue<'_>)) {
    if !counter.categories.is_empty() {
        let categories = counter.categories.join(",");
        push("category", ArgValue::Text(&categories));
    }
    let built_in = match counter.counter_type {
        THREAD_TIME => Some("thread_time"),
        INSTRUCTIONS => Some("thread_instruction_count"),
        _ => None,
    };
    if let Some(built_in) = built_in {
        push("builtin_counter_type", ArgValue::Text(built_in));
    }
    if let Some(key) = &counter.y_axis_share_key {
        push("y_axis_share_key", ArgValue::Text(key));
    }
}

/// The tracks of the time and instructions that threads spend, and of instants that are on no
/// uuid's track (rules E18, L7).
#[derive(Debug, Default)]
pub(in crate::trackers) struct OtherTracks {
    spent: FxHashMap<(Utid, bool), TrackId>,
    instants: FxHashMap<(u32, Option<Upid>), TrackId>,
}

impl OtherTracks {
    /// The track of the time or the instructions that a thread has spent.
    pub fn spent(&mut self, machine: u32, utid: Utid, is_time: bool, world: &mut World) -> TrackId {
        let (track_type, name) = match is_time {
            true => ("thread_time", "thread_time"),
            false => ("thread_instructions", "thread_instruction_count"),
        };
        let known = self.spent.entry((utid, is_time));
        *known.or_insert_with(|| {
            let owner = Owner::Thread(utid);
            let track = NewTrack::counter(machine, track_type, name, owner);
            world.tracks.get(track)
        })
    }

    /// The track of a process's instants, or of the instants of the whole trace.
    pub fn instants(&mut self, machine: u32, upid: Option<Upid>, world: &mut World) -> TrackId {
        if let Some(&track) = self.instants.get(&(machine, upid)) {
            return track;
        }
        let (track_type, owner) = match upid {
            Some(upid) => ("chrome_process_instant", Owner::Process(upid)),
            None => ("legacy_chrome_global_instants", Owner::None),
        };
        let track = NewTrack::slices(machine, track_type, None, owner);
        let track = world.tracks.add(track);
        let mut details = Details::default();
        let names = &mut world.definitions.names;
        details.source.push("source", ArgValue::Text("chrome"), names);
        world.tracks.describe(track, details);
        self.instants.insert((machine, upid), track);
        track
    }
}
