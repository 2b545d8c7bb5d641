//! The function `__intrinsic_winscope_proto_to_args_with_defaults` (rule WS5).
//!
//! # Design
//!
//! A payload is a part of the packet that has it, so the function reads it from there, by the rows of
//! `winscope_proto`. The alternative was a copy of each payload in the database, as trace processor
//! has it in its memory. Each layer of each snapshot would be there twice.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::types::Value as Stored;
use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};
use timebase_descriptor::MessageId;
use timebase_descriptor::field::{Fields, Value as Wire};
use timebase_schema::fields::{
    shell_transition::ID, trace_packet as packet, window_container_child_proto as child,
    window_manager_trace_entry::WHERE,
};
use timebase_schema::{Source, WINSCOPE, WinscopeColumn, WinscopeTable};

use super::super::limits::{Budget, Watch};
use super::walk::{Choice, Row, Texts, Value, Walk};
use crate::packets;
use crate::table_function::{self, TableFunction};
use crate::{Arguments, Database, Error, Result, ValueRef, Values};

const CONTAINER: usize = WinscopeTable::number("windowmanager_windowcontainer");
const TRANSITION: usize = WinscopeTable::number("window_manager_shell_transition_protos");
const CAPTURE: usize = WinscopeTable::number("viewcapture");
const VIEW: usize = WinscopeTable::number("viewcapture_view");
const WINDOWS: usize = WinscopeTable::number("windowmanager");

/// The fields of a packet that have payloads.
const PAYLOADS: [u32; 6] = [
    packet::SURFACEFLINGER_LAYERS_SNAPSHOT,
    packet::SURFACEFLINGER_TRANSACTIONS,
    packet::SHELL_TRANSITION,
    packet::SHELL_HANDLER_MAPPINGS,
    packet::PROTOLOG_MESSAGE,
    packet::WINSCOPE_EXTENSIONS,
];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<Payloads>(conn)
}

struct Payloads(*mut ffi::sqlite3);

struct Answer {
    id: usize,
    row: Row,
}

impl TableFunction for Payloads {
    const NAME: &'static str = "__intrinsic_winscope_proto_to_args_with_defaults";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "base64_proto_id",
        "flat_key",
        "key",
        "int_value",
        "string_value",
        "real_value",
        "value_type",
    ];
    const ARGUMENTS: &'static [&'static str] = &["table_name"];
    const ESTIMATE: Option<(f64, i64)> = None;
    const TEXTS: &'static [&'static str] = &["flat_key", "key", "string_value", "value_type"];
    const REALS: &'static [&'static str] = &["real_value"];
    type Row = Answer;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Payloads {
        Payloads(conn)
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Answer>> {
        let name: Stored = args.get(0).map_err(|_| {
            Error::new(format_args!("{}(): argument 1 (table_name) must be UTF-8", Self::NAME))
        })?;
        let values = [ValueRef::from(&name)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let Some(name) = arguments.text(0, "table_name")? else {
            return Ok(Vec::new());
        };
        let known = WinscopeTable::named(name).and_then(|kind| Some((kind, WINSCOPE.get(kind)?)));
        let Some((kind, table)) = known.filter(|(_, table)| has_payloads(table)) else {
            return Err(arguments.must_be(
                0,
                "table_name",
                "a table of payloads, such as 'viewcapture'",
            ));
        };
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.0) }?;
        let pool = packets::pool(Self::NAME, &conn)?;
        let message = pool.message(&format!("perfetto.protos.{}", table.message));
        let mut all = All {
            kind,
            message: message.unwrap_or(MessageId::UNKNOWN),
            conn: &conn,
            seen: HashSet::new(),
            groups: HashMap::new(),
            walk: Walk::new(&pool, Budget::new(Self::NAME)),
            watch: Watch::new(&conn),
        };
        all.read()?;
        Ok(all.walk.rows.into_iter().enumerate().map(|(id, row)| Answer { id, row }).collect())
    }

    fn column(answer: &Answer, column: usize) -> Option<i64> {
        match (column, &answer.row.value) {
            (0, _) => i64::try_from(answer.id).ok(),
            (1, _) => Some(answer.row.proto),
            (4, Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    fn text(answer: &Answer, column: usize) -> Option<&str> {
        match (column, &answer.row.value) {
            (2, _) => Some(&answer.row.flat),
            (3, _) => Some(&answer.row.key),
            (5, Value::Text(value)) => Some(value),
            _ => None,
        }
    }

    fn real(answer: &Answer, column: usize) -> Option<f64> {
        match (column, &answer.row.value) {
            (6, Value::Real(value)) => Some(*value),
            _ => None,
        }
    }
}

/// Whether the rows of a table have payloads of their own, which are messages of one type.
fn has_payloads(table: &WinscopeTable) -> bool {
    let is_proto = |column: &WinscopeColumn| matches!(column.source, Source::Proto);
    !table.message.is_empty() && table.columns.iter().any(is_proto)
}

/// The payloads of a table.
struct All<'p> {
    kind: usize,
    message: MessageId,
    conn: &'p Connection,
    seen: HashSet<i64>,
    /// The keys of transitions by their ids.
    groups: HashMap<u64, HashMap<String, usize>>,
    walk: Walk<'p>,
    watch: Watch<'p>,
}

impl All<'_> {
    fn read(&mut self) -> Result<()> {
        let sql = format!(
            "SELECT p.proto_id, p.offset, p.size, p.arg_set_id, packet_data(p.packet_id)
             FROM main.winscope_proto AS p
             WHERE p.kind = {} ORDER BY p.id",
            self.kind
        );
        self.conn.query(&sql, |row| {
            self.watch.step()?;
            let proto = row.integer(0, "proto_id")?;
            let (offset, size) = (row.integer(1, "offset")?, row.integer(2, "size")?);
            let args = row.optional_integer(3, "arg_set_id")?;
            let data = row.blob(4, "data").unwrap_or_default();
            if let Some(payload) = part(data, offset, size)
                && self.seen.insert(proto)
            {
                self.payload(proto, payload, args)?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn payload(&mut self, proto: i64, payload: &[u8], args: Option<i64>) -> Result<()> {
        let table = WINSCOPE.get(self.kind);
        let listed = table.map_or(&[][..], |table| table.without);
        let is_cut = table.is_some_and(|table| table.is_cut);
        let choice = match is_cut {
            true => Choice { cut: listed, ..Choice::default() },
            false => Choice { without: listed, ..Choice::default() },
        };
        let of = (self.message, payload);
        match self.kind {
            WINDOWS => {
                self.walk.payload(proto, of, Choice { without: &[&[WHERE]], ..choice }, None)
            }
            CONTAINER => {
                self.walk.payload(proto, of, Choice { only: kind_of(payload), ..choice }, None)
            }
            CAPTURE | VIEW => {
                let texts = self.texts(args)?;
                self.walk.payload(proto, of, choice, texts.as_ref())
            }
            TRANSITION => {
                let id = numbers(payload, ID).last().unwrap_or(0) & u64::from(u32::MAX);
                self.walk.group = Some(self.groups.remove(&id).unwrap_or_default());
                self.walk.payload(proto, of, choice, None)?;
                self.groups.extend(self.walk.group.take().map(|group| (id, group)));
                Ok(())
            }
            _ => self.walk.payload(proto, of, choice, None),
        }
    }

    /// The interned texts of a payload, if it has any: its arguments have them.
    fn texts(&self, args: Option<i64>) -> Result<Option<Texts>> {
        let Some(args) = args else {
            return Ok(None);
        };
        let sql = format!("SELECT flat_key, string_value FROM args WHERE arg_set_id = {args}");
        let (mut texts, mut without) = (HashMap::new(), Vec::new());
        self.conn.query(&sql, |row| {
            let text = |index| match row.value(index) {
                Some(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            };
            let Some(key) = text(0) else {
                return Ok(ControlFlow::Continue(()));
            };
            match (key.strip_suffix("_iid"), text(1)) {
                (Some(name), _) => without.push(name.to_owned()),
                (None, Some(text)) => {
                    texts.insert(key, text);
                }
                (None, None) => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for name in without {
            texts.remove(&name);
        }
        let pool = self.walk.pool;
        let fields = pool.fields(self.message).iter();
        let names = fields.filter_map(|field| field.name.strip_suffix("_iid"));
        let texts: HashMap<String, String> =
            names.filter_map(|name| texts.remove_entry(name)).collect();
        Ok((!texts.is_empty()).then_some(Texts(texts)))
    }
}

/// The bytes of a payload in its packet.
fn part(data: &[u8], offset: i64, size: i64) -> Option<&[u8]> {
    let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    let mut fields = Fields::new(data);
    let mut payload = None;
    while let Ok(Some((number, value))) = fields.next() {
        if let (true, Wire::Bytes(bytes)) = (PAYLOADS.contains(&number), value) {
            payload = Some(bytes);
        }
    }
    payload?.get(offset..offset.checked_add(size)?)
}

/// The values of a field of numbers.
fn numbers(bytes: &[u8], field: u32) -> impl Iterator<Item = u64> {
    let mut fields = Fields::new(bytes);
    std::iter::from_fn(move || fields.next().ok().flatten()).filter_map(move |(number, value)| {
        match value {
            Wire::Varint(value) if number == field => Some(value),
            _ => None,
        }
    })
}

/// The field that has the container of a child: the first of all kinds that are there.
fn kind_of(bytes: &[u8]) -> Option<u32> {
    let mut fields = Fields::new(bytes);
    let all = std::iter::from_fn(move || fields.next().ok().flatten());
    let kinds = all.map(|(number, _)| number);
    kinds.filter(|number| (child::WINDOW_CONTAINER..=child::TASK_FRAGMENT).contains(number)).min()
}
