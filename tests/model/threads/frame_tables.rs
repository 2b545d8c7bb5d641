//! The tables of frames, states and log messages, in memory.

use super::tables::{Tables, id, number, text, typed};
use super::world::World;
use rusqlite::types::Value;

/// The columns of FT9 that are arguments, and their keys.
const COLUMNS: [(&str, &str); 15] = [
    ("display_frame_token", "Display frame token"),
    ("surface_frame_token", "Surface frame token"),
    ("layer_name", "Layer name"),
    ("present_type", "Present type"),
    ("on_time_finish", "On time finish"),
    ("gpu_composition", "GPU composition"),
    ("jank_type", "Jank type"),
    ("jank_severity_type", "Jank severity type"),
    ("prediction_type", "Prediction type"),
    ("jank_tag", "Jank tag"),
    ("jank_tag_experimental", "Jank tag (experimental)"),
    ("jank_score", "Jank Severity Score"),
    ("latched_unsignaled_count", "Latched unsignaled count"),
    ("addressable_unsignaled_latch_count", "Addressable unsignaled latch count"),
    ("latched_fence_state", "Latched fence state"),
];

impl World<'_> {
    /// FT9
    pub fn frame_rows(&self, tables: &mut Tables) {
        for (kind, is_actual) in [("expected", 0), ("actual", 1)] {
            let columns = COLUMNS.map(|(column, _)| {
                format!(", (SELECT value FROM frame_column WHERE slice_id = id AND name = '{column}') AS {column}")
            });
            let view = format!(
                "CREATE VIEW {kind}_frame_timeline_slice AS SELECT *{} FROM frame_slice WHERE is_actual = {is_actual}",
                columns.concat()
            );
            tables.conn.execute_batch(&view).unwrap();
        }
        for &(slice, is_actual, upid) in &self.frames.all {
            let row = vec![id(slice), Value::Integer(is_actual.into()), id(upid)];
            tables.insert("frame", row);
            for (column, key) in COLUMNS {
                let args = self.slices.all[slice].args.all.iter();
                let Some(arg) = args.clone().find(|arg| arg.key.full == key) else {
                    continue;
                };
                let (_, values) = typed(&arg.said);
                let value = values.into_iter().find(|value| *value != Value::Null);
                let row = vec![id(slice), text(Some(column)), value.unwrap_or(Value::Null)];
                tables.insert("frame_column", row);
            }
        }
        for (surface, display) in &self.frames.links {
            let row = vec![id(*surface), id(*display), Value::Null];
            tables.insert("flow", row);
        }
        for (name, count) in &self.counted {
            let row = vec![text(Some(name)), Value::Null, Value::Integer(*count)];
            tables.insert("stats", row);
        }
    }

    /// ST1, OT1
    pub fn state_rows(&self, tables: &mut Tables) {
        for (place, state) in self.states.all.iter().enumerate() {
            let args = tables.args(&state.args);
            let row = vec![
                id(place),
                number(Some(state.time)),
                number(Some(state.duration)),
                id(state.track),
                text(state.category.as_deref()),
                text(Some(&state.value)),
                args,
            ];
            tables.insert("state", row);
        }
        for line in &self.states.lines {
            let row = vec![
                number(Some(line.time)),
                id(line.thread),
                number(Some(line.prio)),
                text(line.tag.as_deref()),
                text(line.message.as_deref()),
            ];
            tables.insert("android_logs", row);
        }
    }
}
