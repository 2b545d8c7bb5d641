//! Window tracing: statements of Android about windows, layers, views, input and transitions, and
//! ProtoLog's messages (rules WS).
//!
//! # Design
//!
//! A statement is a row whose arguments are the fields of a message. `timebase_schema::WINSCOPE` has a line for each
//! table, with its payload, its message and its columns; a payload whose columns are all fields of it
//! needs no code here. The alternative was a reader with a table for each payload, as for GPUs. There are
//! fourteen payloads and eleven kinds of parts, and all of them do the same with their fields.
//!
//! All rows are written at once, but for transitions, which later packets change. They and the sets of flags stay in
//! memory: there are few of them compared with layers. An animation has new rectangles and transforms in each snapshot, so
//! only the last hundred thousand are remembered. If an older one comes again, it is a second row until the end, when
//! `output/repeated.rs` merges equal rows. The alternative, a table with an index by all values, costs each row a look-up on
//! disk, and nearly all traces have fewer.
//!
//! | question | where it is decided |
//! |---|---|
//! | rows, arguments, and the numbers of payloads (rules WS2, WS16) | `table.rs` |
//! | rectangles and transforms | `geometry.rs` |
//! | transactions and their flags (rules WS8, WS9) | `transactions.rs` |
//! | transitions (rules WS10, WS11) | `transitions.rs` |
//! | views (rule WS12) | `views.rs` |
//! | windows (rule WS13) | `windows.rs` |
//! | layers and displays (rules WS14, WS17 to WS19) | `layers` |
//! | ProtoLog's messages (rule WS20) | `protolog.rs` |

mod geometry;
mod layers;
mod protolog;
mod table;
mod transactions;
mod transitions;
mod views;
mod windows;

use rustc_hash::FxHashMap;
use timebase_descriptor::field::Value;
use timebase_schema::fields::winscope_extensions as extensions;
use timebase_schema::{WINSCOPE, WinscopeTable};
use timebase_trace::wire::packet::PacketType;

use self::table::{Out, Statement};
use self::transactions::{Flags, Writer};
use self::transitions::Transitions;
use self::windows::Place;
use super::tracker::TrackerContext;
use crate::arguments::ArgValue;
use crate::compact::Take;
use crate::message::Message;
use crate::output::{Counter, Fault};
use crate::place::PartIx;
use crate::timeline::PacketEvent;

/// Declares a fault of payloads that are not readable to their end.
macro_rules! parse_errors {
    ($($fault:ident: $meaning:ident = $name:literal, $of:literal;)*) => {$(
        const $fault: Fault = Fault::new(
            Counter::$meaning($name, concat!($of, " is not readable to its end, so it lacks arguments")).drops_nothing(),
        );
    )*};
}

parse_errors! {
    CLIENTS_ERROR: error = "winscope_inputmethod_clients_parse_errors", "a statement of an input method's clients";
    SERVICE_ERROR: error = "winscope_inputmethod_service_parse_errors", "a statement of an input method";
    MANAGER_ERROR: error = "winscope_inputmethod_manager_service_parse_errors", "a statement of the manager of input methods";
    INPUT_ERROR: info = "android_input_event_parse_errors", "an input event";
    LAYERS_ERROR: error = "winscope_sf_layers_parse_errors", "a snapshot of layers or a layer";
    TRANSACTIONS_ERROR: error = "winscope_sf_transactions_parse_errors", "a transaction of SurfaceFlinger";
    TRANSITIONS_ERROR: error = "winscope_shell_transitions_parse_errors", "a transition";
    VIEWS_ERROR: error = "winscope_viewcapture_parse_errors", "a window's views or one of them";
}

const WINDOWS_ERROR: Fault = Fault::new(
    Counter::error(
        "winscope_windowmanager_parse_errors",
        "a statement of WindowManager is not readable to its end, or a container in it lacks its title, its token or \
         its kind, so that it has no containers",
    )
    .drops_nothing(),
);

const VIEWS_NOT_INTERNED: Fault = Fault::new(
    Counter::error(
        "winscope_viewcapture_missing_interned_string_parse_errors",
        "a text that a view refers to is not in the trace",
    )
    .drops_nothing(),
);

/// The state of a part.
#[derive(Debug, Default)]
struct OfPart {
    transitions: Transitions,
    windows: Place,
}

/// Follows window tracing.
#[derive(Debug, Default)]
pub(crate) struct Winscope {
    out: Out,
    flags: Flags,
    parts: FxHashMap<PartIx, OfPart>,
}

/// Whether a packet has statements.
pub(crate) fn takes(field: u32) -> bool {
    matches!(
        PacketType(field),
        PacketType::WINSCOPE_EXTENSIONS
            | PacketType::SURFACEFLINGER_LAYERS_SNAPSHOT
            | PacketType::SURFACEFLINGER_TRANSACTIONS
            | PacketType::SHELL_TRANSITION
            | PacketType::SHELL_HANDLER_MAPPINGS
            | PacketType::PROTOLOG_MESSAGE
    )
}

impl Winscope {
    /// Takes a packet with statements.
    pub fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let mut take = Take(packet.payload);
        let (sequence, event_time, down_time) = (take.small(), take.optional(), take.optional());
        let (Ok(sequence), Ok(event_time), Ok(down_time)) = (sequence, event_time, down_time)
        else {
            return;
        };
        let payload = take.rest();
        let statement = Statement { ts, packet: packet.id, payload };
        let (out, interval) = (&mut self.out, packet.interval);
        match PacketType(packet.field) {
            PacketType::SURFACEFLINGER_LAYERS_SNAPSHOT => {
                layers::write(payload, (&statement, sequence), out, at);
            }
            PacketType::SURFACEFLINGER_TRANSACTIONS => {
                Writer::new(&mut self.flags, out, &statement).write(payload, at);
            }
            PacketType::SHELL_TRANSITION => {
                let of = self.parts.entry(packet.part).or_default();
                of.transitions.packet(payload, &statement, out, at);
            }
            PacketType::SHELL_HANDLER_MAPPINGS => {
                transitions::handlers(payload, &statement, out, at);
            }
            PacketType::PROTOLOG_MESSAGE => {
                protolog::write(payload, (&statement, interval), out, at);
            }
            _ => self.extension(packet, &statement, [event_time, down_time], at),
        }
    }

    /// Takes a statement in `WinscopeExtensions`: the first one that is known (rule WS1).
    fn extension(
        &mut self,
        packet: &PacketEvent<'_>,
        statement: &Statement<'_>,
        times: [Option<i64>; 2],
        at: &mut TrackerContext<'_, '_>,
    ) {
        let out = &mut self.out;
        let Some((field, bytes)) = extension_of(Message(statement.payload)) else {
            return;
        };
        match field {
            extensions::VIEWCAPTURE => {
                views::write(bytes, (statement, packet.interval), out, at);
            }
            extensions::WINDOWMANAGER => {
                let of = self.parts.entry(packet.part).or_default();
                windows::write(bytes, (statement, &mut of.windows), out, at);
            }
            _ => plain(field, bytes, (statement, times), out, at),
        }
    }

    /// There are no more packets: transitions are complete.
    pub fn end(mut self, at: &mut TrackerContext<'_, '_>) {
        let mut parts: Vec<(PartIx, OfPart)> = self.parts.drain().collect();
        parts.sort_by_key(|(part, _)| *part);
        for (_, of) in parts {
            of.transitions.end(&mut self.out, at);
        }
        if self.out.has_repeats() {
            at.rows.repeats();
        }
    }
}

/// The first field of `WinscopeExtensions` that is a statement (rule WS1).
pub(crate) fn extension_of(message: Message<'_>) -> Option<(u32, &[u8])> {
    message.fields().find_map(|(field, value)| match value {
        Value::Bytes(payload) if is_statement(field) => Some((field, payload)),
        _ => None,
    })
}

/// Whether a field of `WinscopeExtensions` is a statement.
fn is_statement(field: u32) -> bool {
    let payloads = WINSCOPE.iter().flat_map(|table| table.payloads);
    let mut extensions = payloads.filter_map(|path| match path {
        [packet, field, ..] if *packet == PacketType::WINSCOPE_EXTENSIONS.0 => Some(*field),
        _ => None,
    });
    extensions.any(|known| known == field)
}

/// The counter of a table's payloads that are not readable to their end.
fn error_of(table: &WinscopeTable) -> Fault {
    match table.name {
        "inputmethod_clients" => CLIENTS_ERROR,
        "inputmethod_service" => SERVICE_ERROR,
        "inputmethod_manager_service" => MANAGER_ERROR,
        _ => INPUT_ERROR,
    }
}

/// Writes a payload whose columns are all fields of it.
fn plain(
    field: u32,
    bytes: &[u8],
    (statement, times): (&Statement<'_>, [Option<i64>; 2]),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let found = WINSCOPE.iter().enumerate().find_map(|(kind, table)| {
        let payload = |path: &&[u32]| match path {
            [_, of, inner @ ..] if *of == field => inside(bytes, inner),
            _ => None,
        };
        Some((kind, table, table.payloads.iter().find_map(payload)?))
    });
    let Some((kind, table, bytes)) = found else {
        return;
    };
    if !out.arguments(kind, bytes, at) {
        at.world.faults.add(error_of(table), statement.packet);
    }
    if has_times(table) {
        let names = &mut at.world.definitions.names;
        for (key, time) in ["kernel_time", "down_time"].into_iter().zip(times) {
            if let Some(time) = time {
                out.args.args.push(key, ArgValue::Int(time), names);
            }
        }
    }
    let arg_set = out.arg_set(at);
    out.written((kind, bytes), (statement, arg_set), &[], at);
}

/// Whether a table is of input events, which have times of their own (rule WS7).
fn has_times(table: &WinscopeTable) -> bool {
    matches!(table.message, "AndroidMotionEvent" | "AndroidKeyEvent")
}

/// The message to which a path leads.
fn inside<'a>(bytes: &'a [u8], path: &[u32]) -> Option<&'a [u8]> {
    match path.split_first() {
        None => Some(bytes),
        Some((field, rest)) => inside(Message(bytes).bytes(*field)?, rest),
    }
}
