//! The slices, counters and flows of kernel events, as tables for the statements, in memory.

use super::args::{Args, Said};
use super::tables::Tables;
use super::tracks::{Track, TrackOwner};
use super::world::World;
use rusqlite::Connection;
use rusqlite::types::Value;

/// Tables with the columns in the statements.
const SCHEMA: &str = "
CREATE TABLE process (upid, pid);
CREATE TABLE thread (utid, tid);
CREATE TABLE track (id, type, name, dimension_arg_set_id, is_counter);
CREATE TABLE slice (id, ts, dur, depth, name, category, track_id, arg_set_id);
CREATE TABLE counter (ts, value, track_id, arg_set_id);
CREATE TABLE flow (slice_out, slice_in);
CREATE TABLE args (arg_set_id, key, flat_key, value_type, int_value, string_value, real_value);
CREATE TABLE stats (name, idx, value);
CREATE INDEX args_set ON args (arg_set_id);
CREATE INDEX slice_id ON slice (id);
CREATE INDEX track_id ON track (id);
";

/// The types of tracks that have lanes.
const LANES: [&str; 5] = [
    "android_fs",
    "suspend_resume",
    "virtgpu_queue_event",
    "virtio_video_command",
    "virtio_video_queue_event",
];

/// The types of counters' tracks that have slices (KE34, KE36).
const COUNTERS_WITH_SLICES: [&str; 2] = ["linux_rpm", "block_io"];

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

fn id(place: usize) -> Value {
    Value::Integer(place as i64)
}

impl World<'_> {
    pub fn kernel_tables(&mut self) -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).unwrap();
        conn.execute_batch("BEGIN").unwrap();
        let mut tables = Tables { conn, arg_sets: 0 };
        for (upid, process) in self.processes.processes.iter().enumerate() {
            tables.insert("process", vec![id(upid), Value::Integer(process.pid)]);
        }
        for (utid, thread) in self.processes.threads.iter().enumerate() {
            tables.insert("thread", vec![id(utid), Value::Integer(thread.tid)]);
        }
        for (place, slice) in self.slices.all.iter().enumerate() {
            let args = tables.args(&slice.args);
            let row = vec![
                id(place),
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                id(slice.depth),
                text(slice.name.as_deref()),
                text(slice.category.as_deref()),
                id(slice.track),
                args,
            ];
            tables.insert("slice", row);
        }
        for counter in &self.counters.0 {
            let args = tables.args(&counter.args);
            let track = counter.settled(&self.processes);
            let track = self.slices.tracks.find(&track);
            self.slices.tracks.0[track].is_counter = true;
            let row =
                vec![Value::Integer(counter.time), Value::Real(counter.value), id(track), args];
            tables.insert("counter", row);
        }
        for (out, into) in &self.flows.links {
            tables.insert("flow", vec![id(*out), id(*into)]);
        }
        self.kernel_track_rows(&mut tables);
        let truncated = self.kernel.steps.truncated;
        if truncated > 0 {
            let name = text(Some("truncated_sys_write_duration"));
            tables.insert("stats", vec![name, Value::Null, Value::Integer(truncated)]);
        }
        tables.conn.execute_batch("COMMIT").unwrap();
        tables.conn
    }

    fn kernel_track_rows(&self, tables: &mut Tables) {
        let rows = &self.slices.tracks.0;
        for (place, row) in rows.iter().enumerate() {
            let track = &row.track;
            let mut args = Args::default();
            match track.of {
                TrackOwner::Thread(utid) => args.say("utid", Said::Int(utid as i64)),
                TrackOwner::Process(upid) | TrackOwner::ProcessOnGpu(upid, _) => {
                    args.say("upid", Said::Int(upid as i64));
                }
                TrackOwner::Cpu(_, cpu) => args.say("cpu", Said::Int(cpu.into())),
                TrackOwner::Machine(_) | TrackOwner::Gpu(..) => {}
            }
            for (key, said) in &track.told.0 {
                args.say(key, said.clone());
            }
            if LANES.contains(&track.kind.as_str()) {
                let set = |track: &Track| Track { lane: (0, false), ..track.clone() };
                let own = set(track);
                let before = rows
                    .iter()
                    .filter(|other| set(&other.track) == own && other.track.lane.0 < track.lane.0);
                args.say("track_compressor_idx", Said::Int(before.count() as i64));
            }
            let dimensions = tables.args(&args);
            let is_counter = row.is_counter || COUNTERS_WITH_SLICES.contains(&track.kind.as_str());
            let row = vec![
                id(place),
                text(Some(&track.kind)),
                text(track.name.as_deref()),
                dimensions,
                Value::Integer(is_counter.into()),
            ];
            tables.insert("track", row);
        }
    }
}
