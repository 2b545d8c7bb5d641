//! The packets of rows that were found, in the order of time.

use std::collections::HashMap;

use rusqlite::Row;
use timebase_schema::fields::{
    trace_packet, track_descriptor, track_event, track_event_legacy_event as legacy,
};

use super::arguments::{Annotations, Stored};
use super::descriptors::{self, CHILDREN_EXPLICIT, EventType, event};
use super::ends::{End, Ends, Open};
use super::error::EmitError;
use super::events::{on, whole};
use super::found::{FoundError, FoundTrack, FoundTracks, Group};
use super::message::Message;
use super::owned::{Owner, Stand};
use super::sequence::{Sequence, Sequences, Sink, Table, Time, unused};

/// Flow ids of found rows begin here: no program counts its ids from here.
const FIRST_FLOW: u64 = 0x7469_6d65_0000_0000;

/// The rows of all queries, and the other ends of their arrows, in the order of time; of one time the longest first.
const ROWS: &str = "
    SELECT at, part, ends, name, category, value, args, f.id, a.is_first, a.uuid IS NOT NULL
    FROM found AS f LEFT JOIN (SELECT found, is_first, uuid FROM arrow) AS a ON a.found = f.id
    UNION ALL
    SELECT at, -1, 0, NULL, NULL, uuid, NULL, found, is_first, 1 FROM arrow
    ORDER BY 1, 3 DESC, 8";

/// A row of a query, or the other end of its arrow.
struct FoundRow {
    ts: i64,
    /// Its track; `None` of the other end of an arrow.
    part: Option<usize>,
    end: i64,
    name: Option<String>,
    category: Option<String>,
    value: Option<f64>,
    /// The integer, if the value is one.
    whole: Option<i64>,
    args: Option<String>,
    id: i64,
    /// Whether the slice that `flow_to` names comes first.
    is_first: bool,
    has_arrow: bool,
}

impl FoundRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<FoundRow> {
        let value = row.get_ref(5)?;
        Ok(FoundRow {
            ts: row.get(0)?,
            part: usize::try_from(row.get::<_, i64>(1)?).ok(),
            end: row.get(2)?,
            name: row.get(3)?,
            category: row.get(4)?,
            value: value.as_f64().ok().or_else(|| value.as_i64().ok().map(|value| value as f64)),
            whole: value.as_i64().ok(),
            args: row.get(6)?,
            id: row.get(7)?,
            is_first: row.get::<_, Option<bool>>(8)?.unwrap_or(false),
            has_arrow: row.get(9)?,
        })
    }
}

/// A lane, and the ends of its open rows.
struct Lane {
    id: i64,
    open: Vec<i64>,
}

struct Writer<'w, 'c> {
    tracks: &'w mut FoundTracks<'c>,
    clock: u32,
    sequences: Sequences,
    ends: Ends,
    lanes: HashMap<usize, Vec<Lane>>,
    /// The uuids and machines of lanes by their ids.
    lane_uuids: Vec<(u64, u64)>,
    /// The tracks above those of the column `track`, and the number of tracks below each.
    parents: HashMap<(usize, Owner), (u64, i64)>,
    machines: HashMap<i64, u64>,
    out: &'w mut Sink<'w>,
}

impl FoundTracks<'_> {
    /// Writes all packets, with times on a clock (0 for none).
    pub(super) fn write(
        mut self,
        clock: u32,
        out: &mut Sink<'_>,
    ) -> Result<Vec<FoundTrack>, FoundError> {
        let (about, events) = unused(self.conn)?;
        // A trace that is made of JSON traces numbers machines by their rows.
        let mut statement = self.conn.prepare(match self.is_json {
            true => "SELECT id, id FROM machine WHERE id > 0",
            false => "SELECT id, raw_id FROM machine WHERE raw_id BETWEEN 1 AND 4294967295",
        })?;
        let machines = statement
            .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?
            .collect::<rusqlite::Result<_>>()?;
        drop(statement);
        let rows = std::mem::replace(&mut self.rows, rusqlite::Connection::open_in_memory()?);
        let mut statement = rows.prepare(ROWS)?;
        let mut found = statement.query([])?;
        let mut writer = Writer {
            tracks: &mut self,
            clock,
            sequences: Sequences::new(about, events),
            ends: Ends::default(),
            lanes: HashMap::new(),
            lane_uuids: Vec::new(),
            parents: HashMap::new(),
            machines,
            out,
        };
        let failed = |error| match error {
            EmitError::Write(error) => FoundError::Write(error),
            EmitError::Rows(error) => FoundError::Rows(error),
        };
        while let Some(row) = found.next()? {
            writer.row(&FoundRow::of(row)?).map_err(failed)?;
        }
        while let Some(end) = writer.ends.rest() {
            writer.end(end).map_err(failed)?;
        }
        Ok(self.told)
    }
}

impl Writer<'_, '_> {
    fn row(&mut self, row: &FoundRow) -> Result<(), EmitError> {
        while let Some(end) = self.ends.before(row.ts) {
            self.end(end)?;
        }
        let Some(part) = row.part else {
            self.about_owner(row)?;
            let phase = if row.is_first { b's' } else { b'f' };
            let uuid = row.whole.unwrap_or(0).cast_unsigned();
            return self.arrow(row, uuid, phase);
        };
        let Some(group) = self.tracks.groups.get(part).cloned() else {
            return Ok(());
        };
        let lane = self.lane(part, &group, row)?;
        let (uuid, machine) = self.lane_uuids.get(lane).copied().unwrap_or_default();
        let id = lane as i64;
        self.events(machine).begin();
        let mut written = match (group.is_counter, row.end) {
            (true, _) => event(EventType::Counter, uuid),
            (false, end) if end == row.ts => event(EventType::Instant, uuid),
            (false, end) => {
                let (name, category, thread_end) = (None, None, None);
                let open = Open { track: id, depth: 0, end, name, category, thread_end };
                self.ends.begin(open);
                event(EventType::Begin, uuid)
            }
        };
        if group.is_counter {
            match (row.whole, row.value.and_then(whole), row.value) {
                (Some(whole), ..) | (None, Some(whole), _) => {
                    written.signed(track_event::COUNTER_VALUE, whole)
                }
                (None, None, value) => {
                    written.double(track_event::DOUBLE_COUNTER_VALUE, value.unwrap_or(f64::NAN))
                }
            };
        }
        if let Some(name) = &row.name {
            written.number(track_event::NAME_IID, self.events(machine).number(Table::Names, name));
        }
        if let Some(category) = &row.category {
            let number = self.events(machine).number(Table::Categories, category);
            written.number(track_event::CATEGORY_IIDS, number);
        }
        if let Some(args) = &row.args {
            let annotations = Annotations::of(Stored { args, ..Stored::default() });
            annotations.write_debug(&mut written, self.events(machine));
        }
        self.event(row.ts, machine, &written)?;
        if row.has_arrow {
            let phase = if row.is_first { b'f' } else { b's' };
            self.arrow(row, uuid, phase)?;
        }
        Ok(())
    }

    /// One end of an arrow, at the topmost slice of a track.
    fn arrow(&mut self, row: &FoundRow, uuid: u64, phase: u8) -> Result<(), EmitError> {
        let id = FIRST_FLOW.wrapping_add(row.id.cast_unsigned());
        let mut of_legacy = Message::new();
        of_legacy.number(legacy::PHASE, phase.into()).number(legacy::UNSCOPED_ID, id);
        if phase == b'f' {
            of_legacy.number(legacy::BIND_TO_ENCLOSING, 1);
        }
        self.events(0).begin();
        self.event(row.ts, 0, &on(uuid, &of_legacy))
    }

    fn end(&mut self, End { slice, .. }: End) -> Result<(), EmitError> {
        let lane = usize::try_from(slice.track).unwrap_or(usize::MAX);
        let (uuid, machine) = self.lane_uuids.get(lane).copied().unwrap_or_default();
        self.events(machine).begin();
        let written = event(EventType::End, uuid);
        self.event(slice.end, machine, &written)
    }

    fn event(&mut self, ts: i64, machine: u64, event: &Message) -> Result<(), EmitError> {
        let time = Time { ts: Some(ts), clock: self.clock, machine };
        let events = self.sequences.events(machine);
        Ok(events.packet(time, (trace_packet::TRACK_EVENT, event), self.out)?)
    }

    /// The sequence of a machine's events.
    fn events(&mut self, machine: u64) -> &mut Sequence {
        self.sequences.events(machine)
    }

    /// The number of a machine in packets.
    fn machine(&self, stand: Option<Stand>) -> u64 {
        stand.and_then(|stand| self.machines.get(&stand.machine).copied()).unwrap_or(0)
    }

    /// The lane of a row: the first on which nothing is open at its begin, or in whose innermost slice it ends.
    fn lane(&mut self, part: usize, group: &Group, row: &FoundRow) -> Result<usize, EmitError> {
        let lanes = self.lanes.entry(part).or_default();
        for lane in lanes.iter_mut() {
            lane.open.retain(|end| *end > row.ts);
            let fits = lane.open.last().is_none_or(|end| row.end <= *end);
            if fits || group.is_counter {
                if row.end > row.ts {
                    lane.open.push(row.end);
                }
                let id = usize::try_from(lane.id).unwrap_or(usize::MAX);
                // Slices that have ended by now end before the row begins.
                let mut ended = Vec::new();
                while let Some(end) = self.ends.at(row.ts, lane.id, i64::MIN) {
                    ended.push(end);
                }
                for end in ended {
                    self.end(end)?;
                }
                return Ok(id);
            }
        }
        let number = lanes.len();
        let uuid = self.tracks.stands.uuid();
        let id = self.lane_uuids.len();
        let stand = self.tracks.stands.stand(group.owner)?;
        let machine = self.machine(stand);
        let open = if row.end > row.ts { vec![row.end] } else { Vec::new() };
        self.lanes.entry(part).or_default().push(Lane { id: id as i64, open });
        self.lane_uuids.push((uuid, machine));
        self.describe(group, (uuid, number), row.ts)?;
        Ok(id)
    }

    /// Describes a new lane, and before it what is above it.
    fn describe(
        &mut self,
        group: &Group,
        (uuid, number): (u64, usize),
        ts: i64,
    ) -> Result<(), EmitError> {
        let stand = self.tracks.stands.stand(group.owner)?;
        let (parent, last) = match stand {
            Some(Stand { uuid, last, .. }) => (uuid, last),
            None => (None, i64::MAX),
        };
        let ts = ts.min(last).max(0);
        let machine = self.machine(stand);
        if let Some(descriptor) = self.tracks.stands.descriptor(group.owner) {
            self.descriptor(ts, machine, &descriptor)?;
        }
        let query =
            self.tracks.told.get(group.of).map(|told| told.name.clone()).unwrap_or_default();
        let (parent, rank) = match &group.track {
            None => (parent, None),
            Some(_) => {
                let known = self.parents.get(&(group.of, group.owner)).copied();
                let (above, below) = match known {
                    Some(known) => known,
                    None => {
                        let above = self.tracks.stands.uuid();
                        let mut descriptor = descriptors::alone(above, parent, Some(&query));
                        descriptor.number(track_descriptor::CHILD_ORDERING, CHILDREN_EXPLICIT);
                        self.descriptor(ts, machine, &descriptor)?;
                        (above, 0)
                    }
                };
                let more = i64::from(number == 0);
                self.parents.insert((group.of, group.owner), (above, below + more));
                (Some(above), Some(below + more))
            }
        };
        let name = group.track.as_deref().unwrap_or(&query);
        let mut descriptor = match (group.is_counter, group.has_flows) {
            (true, _) => descriptors::counter(uuid, parent, name),
            (false, true) => descriptors::alone(uuid, parent, Some(name)),
            (false, false) => {
                let key = key(&query, group.track.as_deref());
                descriptors::lane(uuid, parent, Some(name), &key)
            }
        };
        descriptors::ranked(&mut descriptor, rank);
        self.descriptor(ts, machine, &descriptor)
    }

    /// Describes the owner of the slice at the other end of an arrow, if the trace does not.
    fn about_owner(&mut self, row: &FoundRow) -> Result<(), EmitError> {
        let uuid = row.whole.unwrap_or(0).cast_unsigned();
        if let Some(owner) = self.tracks.stands.owner_of(uuid)
            && let Some(descriptor) = self.tracks.stands.descriptor(owner)
        {
            self.descriptor(row.ts, 0, &descriptor)?;
        }
        Ok(())
    }

    fn descriptor(&mut self, ts: i64, machine: u64, descriptor: &Message) -> Result<(), EmitError> {
        let time = Time { ts: Some(ts), clock: self.clock, machine };
        let payload = (trace_packet::TRACK_DESCRIPTOR, descriptor);
        let about = self.sequences.about(machine);
        Ok(about.packet(time, payload, self.out)?)
    }
}

/// A key that no lanes of the trace have.
fn key(query: &str, track: Option<&str>) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (query, track).hash(&mut hasher);
    format!("timebase:{:016x}", hasher.finish())
}
