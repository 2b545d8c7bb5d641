//! The tables of Android's window tracing, which are lines of one list.
//!
//! # Design
//!
//! Each line of [`WINSCOPE`] is a table: the field of `TracePacket` that has its payload, its name, the message whose
//! fields become arguments, and its columns. The import writes a payload by its line alone, unless some of its columns
//! are made by other rules. All rows are in one stored table, `winscope_record`, whose columns have numbers, and
//! the views over it follow from the list. So one more payload takes one line here. The alternative was a
//! stored table and a view for each line, with the code that fills its row: forty lines for each.

use std::fmt::Write;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// An integer.
    Int,
    /// A real number.
    Real,
    /// A text.
    Text,
}

/// Where a column's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The time of the packet.
    Ts,
    /// The set of the row's arguments.
    Args,
    /// The number of the payload's bytes.
    Proto,
    /// A field of the message, by the numbers of the fields that lead to it.
    Field {
        /// The numbers.
        path: &'static [u32],
        /// Whether the value is NULL without the field, and not 0.
        is_null: bool,
        /// Whether a negative number is taken as uint32.
        is_unsigned: bool,
    },
    /// Code makes it.
    Made,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct WinscopeColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// Where its values come from.
    pub source: Source,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct WinscopeTable {
    /// The fields of `TracePacket` that have its payload; empty for parts of payloads.
    pub payloads: &'static [&'static [u32]],
    /// Its name, without `__intrinsic_`.
    pub name: &'static str,
    /// The message of `perfetto.protos` whose fields are its arguments.
    pub message: &'static str,
    /// The fields that are no arguments, by the numbers of the fields that lead to them.
    pub without: &'static [&'static [u32]],
    /// Whether these fields are not even part of the payload, so that a message with nothing else is empty.
    pub is_cut: bool,
    /// Its columns besides `id`, in their order.
    pub columns: &'static [WinscopeColumn],
}

const fn column(name: &'static str, kind: ColumnType, source: Source) -> WinscopeColumn {
    WinscopeColumn { name, kind, source }
}

const TS: WinscopeColumn = column("ts", ColumnType::Int, Source::Ts);
const ARGS: WinscopeColumn = column("arg_set_id", ColumnType::Int, Source::Args);
const PROTO: WinscopeColumn = column("base64_proto_id", ColumnType::Int, Source::Proto);

/// An integer, 0 without the field.
const fn int(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Int, Source::Field { path, is_null: false, is_unsigned: false })
}

/// A uint32, 0 without the field.
const fn uint(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Int, Source::Field { path, is_null: false, is_unsigned: true })
}

/// An integer, NULL without the field.
const fn maybe(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Int, Source::Field { path, is_null: true, is_unsigned: false })
}

/// A uint32, NULL without the field.
const fn maybe_uint(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Int, Source::Field { path, is_null: true, is_unsigned: true })
}

/// A text, NULL without the field.
const fn text(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Text, Source::Field { path, is_null: true, is_unsigned: false })
}

/// A text, empty without the field.
const fn full_text(name: &'static str, path: &'static [u32]) -> WinscopeColumn {
    column(name, ColumnType::Text, Source::Field { path, is_null: false, is_unsigned: false })
}

/// An integer that code makes.
const fn made(name: &'static str) -> WinscopeColumn {
    column(name, ColumnType::Int, Source::Made)
}

/// A real number that code makes.
const fn real(name: &'static str) -> WinscopeColumn {
    column(name, ColumnType::Real, Source::Made)
}

/// A text that code makes.
const fn word(name: &'static str) -> WinscopeColumn {
    column(name, ColumnType::Text, Source::Made)
}

/// A payload whose fields all become arguments.
const fn payload(
    payloads: &'static [&'static [u32]],
    name: &'static str,
    message: &'static str,
    columns: &'static [WinscopeColumn],
) -> WinscopeTable {
    WinscopeTable { payloads, name, message, without: &[], is_cut: false, columns }
}

/// A part of a payload.
const fn part(
    name: &'static str,
    message: &'static str,
    columns: &'static [WinscopeColumn],
) -> WinscopeTable {
    payload(&[], name, message, columns)
}

impl WinscopeTable {
    /// The same table, without these fields as arguments.
    const fn without(self, without: &'static [&'static [u32]]) -> WinscopeTable {
        WinscopeTable { without, ..self }
    }

    /// The same table, of payloads that lack these fields.
    const fn cut(self, without: &'static [&'static [u32]]) -> WinscopeTable {
        WinscopeTable { without, is_cut: true, ..self }
    }

    /// The place of a table in [`WINSCOPE`], which is its number in `winscope_record`.
    ///
    /// ```
    /// use timebase_schema::{WINSCOPE, WinscopeTable};
    ///
    /// let kind = WinscopeTable::named("__intrinsic_viewcapture").unwrap();
    /// assert_eq!(WINSCOPE[kind].name, "viewcapture");
    /// assert_eq!(WinscopeTable::named("viewcapture"), Some(kind));
    /// assert_eq!(WinscopeTable::named("windows"), None);
    /// ```
    pub fn named(name: &str) -> Option<usize> {
        let name = name.strip_prefix("__intrinsic_").unwrap_or(name);
        WINSCOPE.iter().position(|table| table.name == name)
    }

    /// The same for code that names its table; the number of tables if there is none.
    pub const fn number(name: &str) -> usize {
        let mut kind = 0;
        while kind < WINSCOPE.len() && !is_equal(WINSCOPE[kind].name, name) {
            kind += 1;
        }
        kind
    }
}

/// Whether two texts are equal, when code is compiled.
const fn is_equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The children of window containers and their tokens, wherever a container is.
pub const CHILDREN: &[&[u32]] = &[
    &[2, 5],
    &[2, 9],
    &[3, 21, 1, 5],
    &[3, 21, 1, 9],
    &[4, 1, 5],
    &[4, 1, 9],
    &[5, 1, 5],
    &[5, 1, 9],
    &[5, 31, 1, 5],
    &[5, 31, 1, 9],
    &[6, 2, 1, 5],
    &[6, 2, 1, 9],
    &[7, 1, 5],
    &[7, 1, 9],
    &[8, 1, 5],
    &[8, 1, 9],
    &[9, 1, 5],
    &[9, 1, 9],
    &[10],
];

/// The children of the root of all window containers and their tokens.
pub const CHILDREN_OF_ROOT: &[&[u32]] = &[&[1, 5], &[1, 9]];

/// All tables, in the order of their numbers.
#[rustfmt::skip]
pub const WINSCOPE: &[WinscopeTable] = &[
    payload(&[&[112, 1]], "inputmethod_clients", "InputMethodClientsTraceProto", &[TS, ARGS, PROTO]),
    payload(&[&[112, 2]], "inputmethod_service", "InputMethodServiceTraceProto", &[TS, ARGS, PROTO]),
    payload(&[&[112, 3]], "inputmethod_manager_service", "InputMethodManagerServiceTraceProto", &[TS, ARGS, PROTO]),
    payload(&[&[112, 5, 1], &[112, 5, 2]], "android_motion_events", "AndroidMotionEvent", &[uint("event_id", &[1]), TS, ARGS, PROTO, uint("source", &[3]), int("action", &[4]), int("device_id", &[5]), int("display_id", &[6])]),
    payload(&[&[112, 5, 3], &[112, 5, 4]], "android_key_events", "AndroidKeyEvent", &[uint("event_id", &[1]), TS, ARGS, PROTO, uint("source", &[4]), int("action", &[5]), int("device_id", &[6]), int("display_id", &[7]), int("key_code", &[8])]),
    payload(&[&[112, 5, 5], &[112, 5, 6]], "android_input_event_dispatch", "AndroidWindowInputDispatchEvent", &[uint("event_id", &[1]), ARGS, int("vsync_id", &[2]), int("window_id", &[3]), PROTO]),
    payload(&[&[112, 4]], "viewcapture", "ViewCapture", &[TS, ARGS, PROTO, word("package_name"), word("window_name")]).without(&[&[3]]),
    part("viewcapture_view", "ViewCapture.View", &[made("snapshot_id"), ARGS, PROTO, uint("node_id", &[1]), uint("hashcode", &[3]), made("is_visible"), uint("parent_id", &[2]), word("view_id"), word("class_name"), made("trace_rect_id")]),
    payload(&[&[112, 6]], "windowmanager", "WindowManagerTraceEntry", &[TS, ARGS, PROTO, uint("focused_display_id", &[3, 9]), made("has_invalid_elapsed_ts")]).cut(&[&[3, 2]]),
    part("windowmanager_windowcontainer", "WindowContainerChildProto", &[made("snapshot_id"), ARGS, PROTO, word("title"), made("token"), made("parent_token"), made("child_index"), made("is_visible"), made("window_rect_id"), word("container_type"), word("name_override")]).cut(CHILDREN),
    payload(&[&[93]], "surfaceflinger_layers_snapshot", "LayersSnapshotProto", &[TS, ARGS, PROTO, made("sequence_id"), made("has_invalid_elapsed_ts")]).without(&[&[3]]),
    part("surfaceflinger_display", "DisplayProto", &[made("snapshot_id"), made("is_on"), int("is_virtual", &[7]), made("trace_rect_id"), int("display_id", &[1]), text("display_name", &[2])]),
    part("surfaceflinger_layer", "LayerProto", &[made("snapshot_id"), ARGS, PROTO, maybe("layer_id", &[1]), text("layer_name", &[2]), made("is_visible"), maybe("parent", &[25]), real("corner_radius_tl"), real("corner_radius_tr"), real("corner_radius_bl"), real("corner_radius_br"), maybe("hwc_composition_type", &[35]), made("is_hidden_by_policy"), maybe("z_order_relative_of", &[26]), made("is_missing_z_parent"), made("layer_rect_id"), made("input_rect_id")]),
    payload(&[&[94]], "surfaceflinger_transactions", "TransactionTraceEntry", &[TS, ARGS, PROTO, int("vsync_id", &[2])]),
    part("surfaceflinger_transaction", "", &[made("snapshot_id"), ARGS, PROTO, made("transaction_id"), made("pid"), made("uid"), made("layer_id"), made("display_id"), made("flags_id"), word("transaction_type")]),
    part("surfaceflinger_transaction_flag", "", &[made("flags_id"), word("flag")]),
    payload(&[&[96]], "window_manager_shell_transition_protos", "ShellTransition", &[int("transition_id", &[1]), PROTO]),
    part("window_manager_shell_transitions", "", &[made("ts"), made("transition_id"), ARGS, made("transition_type"), made("send_time_ns"), made("dispatch_time_ns"), made("duration_ns"), made("finish_time_ns"), made("shell_abort_time_ns"), made("wm_abort_time_ns"), made("merge_time_ns"), made("create_time_ns"), made("handler"), word("status"), made("flags"), made("start_transaction_id"), made("finish_transaction_id")]),
    part("window_manager_shell_transition_participants", "ShellTransition.Target", &[made("transition_id"), maybe_uint("layer_id", &[2]), maybe_uint("window_id", &[3]), maybe_uint("mode", &[1]), maybe_uint("flags", &[4]), maybe_uint("start_display_id", &[5]), maybe_uint("end_display_id", &[6]), maybe_uint("start_rotation", &[7]), maybe_uint("end_rotation", &[8]), made("start_abs_bounds_rect_id"), made("end_abs_bounds_rect_id")]),
    payload(&[&[97]], "window_manager_shell_transition_handlers", "ShellHandlerMapping", &[int("handler_id", &[1]), full_text("handler_name", &[2]), PROTO]),
    payload(&[&[104]], "protolog", "", &[TS, word("level"), word("tag"), word("message"), word("stacktrace"), word("location")]),
    part("winscope_rect", "", &[real("x"), real("y"), real("w"), real("h")]),
    part("winscope_transform", "", &[real("dsdx"), real("dtdx"), real("tx"), real("dtdy"), real("dsdy"), real("ty")]),
    part("winscope_trace_rect", "", &[made("rect_id"), made("group_id"), made("depth"), made("is_spy"), made("is_visible"), real("opacity"), made("transform_id"), real("border_width"), made("border_color")]),
    part("winscope_fill_region", "", &[made("trace_rect_id"), made("rect_id")]),
];

/// The views over `winscope_record`: two for each table, one of them without `__intrinsic_`.
pub(crate) fn views() -> String {
    let mut sql = String::new();
    for (kind, table) in WINSCOPE.iter().enumerate() {
        let mut columns = String::from("number AS id");
        let mut value = 0;
        for column in table.columns {
            let stored = match column.source {
                Source::Ts => "ts".to_owned(),
                Source::Args => "arg_set_id".to_owned(),
                Source::Proto => "proto_id".to_owned(),
                Source::Field { .. } | Source::Made => {
                    value += 1;
                    match column.kind {
                        // The record has a whole number as an integer.
                        ColumnType::Real => format!("CAST(c{value} AS REAL)"),
                        ColumnType::Int | ColumnType::Text => format!("c{value}"),
                    }
                }
            };
            // Writing to a String does not fail.
            let _ = match stored == column.name {
                true => write!(columns, ", {stored}"),
                false => write!(columns, ", {stored} AS {}", column.name),
            };
        }
        let name = table.name;
        let _ = write!(
            sql,
            "\nCREATE VIEW __intrinsic_{name} AS\nSELECT {columns}\nFROM winscope_record WHERE kind = {kind};\n\
             \nCREATE VIEW {name} AS\nSELECT * FROM __intrinsic_{name};\n"
        );
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ws2_a_row_has_room_for_all_columns() {
        let stored = crate::tables::winscope_record::TABLE.columns;
        for table in WINSCOPE {
            let values = table
                .columns
                .iter()
                .filter(|column| matches!(column.source, Source::Field { .. } | Source::Made));
            let count = values.count();
            let last = format!("c{count}");
            assert!(count == 0 || stored.contains(&last.as_str()), "{}: {last}", table.name);
        }
    }
}
