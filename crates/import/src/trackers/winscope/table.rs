//! The rows of window tracing, by the lines of `timebase_schema::WINSCOPE` (rule WS2).

use sha2::{Digest, Sha256};
use timebase_descriptor::field::{Fields, Value};
use timebase_descriptor::{MessageId, Pool, Scalar};
use timebase_schema::tables::{winscope_proto, winscope_record};
use timebase_schema::{CHILDREN_OF_ROOT, Source, WINSCOPE, WinscopeTable};

use super::geometry::{Matrix, Rect};
use crate::arguments::{Choice, Iids, NoIids, StatementArgs};
use crate::message::{self, Message};
use crate::output::{Cell, OWN_RECT};
use crate::seen::Seen;
use crate::trackers::tracker::TrackerContext;

/// The bytes that a generation of payloads' numbers may take.
const PROTOS: usize = 1 << 20;

/// The bytes that a generation of rectangles may take, or of transforms: a hundred thousand of them.
const VALUES_OF_ROWS: usize = 8 << 20;

/// The number of the payloads of roots of window containers. They are rows of the table of all containers, but
/// their message is another, so the function for payloads leaves them out.
pub(super) const ROOT: usize = WINSCOPE.len();

/// The columns of `winscope_record` without a name.
const VALUES: usize = 16;

const RECT: usize = WinscopeTable::number("winscope_rect");
const TRANSFORM: usize = WinscopeTable::number("winscope_transform");
const TRACE_RECT: usize = WinscopeTable::number("winscope_trace_rect");
const FILL_REGION: usize = WinscopeTable::number("winscope_fill_region");

/// A value that code made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
}

impl Made<'_> {
    /// A number, or NULL.
    pub fn maybe(value: Option<i64>) -> Self {
        value.map_or(Made::Null, Made::Int)
    }

    /// 1 or 0.
    pub fn flag(value: bool) -> Self {
        Made::Int(value.into())
    }
}

impl<'a> Made<'a> {
    /// A text, or NULL.
    pub fn text(value: Option<&'a str>) -> Self {
        value.map_or(Made::Null, Made::Text)
    }
}

/// A packet with statements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement<'a> {
    pub ts: i64,
    pub packet: i64,
    /// The payload of the packet.
    pub payload: &'a [u8],
}

/// A rectangle of the trace, as a row of `winscope_trace_rect`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceRect {
    pub rect: i64,
    pub group: u32,
    pub depth: u32,
    pub is_spy: bool,
    pub is_visible: bool,
    pub opacity: Option<f64>,
    pub transform: i64,
    pub border: Option<(f64, i32)>,
}

impl TraceRect {
    /// A rectangle about which nothing else is said (rule WS16).
    pub fn plain(rect: i64, group: u32, depth: u32) -> Self {
        TraceRect {
            rect,
            group,
            depth,
            is_spy: false,
            is_visible: false,
            opacity: None,
            transform: 0,
            border: None,
        }
    }
}

/// Writes rows.
#[derive(Debug)]
pub(super) struct Out {
    pub args: StatementArgs,
    /// The messages of the tables, and the next number in each.
    messages: Vec<Option<MessageId>>,
    numbers: Vec<i64>,
    protos: Seen,
    rects: Seen,
    transforms: Seen,
}

impl Default for Out {
    fn default() -> Self {
        Out {
            args: StatementArgs::default(),
            messages: Vec::new(),
            numbers: vec![0; WINSCOPE.len()],
            protos: Seen::new(PROTOS),
            rects: Seen::new(VALUES_OF_ROWS),
            transforms: Seen::new(VALUES_OF_ROWS),
        }
    }
}

/// The message of `perfetto.protos` with this name.
fn message_of(pool: &Pool, name: &str) -> MessageId {
    pool.message(&format!("perfetto.protos.{name}")).unwrap_or(MessageId::UNKNOWN)
}

impl Out {
    /// The message of a table.
    fn message(&mut self, kind: usize, pool: &Pool) -> MessageId {
        if self.messages.is_empty() {
            self.messages = WINSCOPE.iter().map(|_| None).collect();
        }
        let known = self.messages.get_mut(kind);
        let name = WINSCOPE.get(kind).map_or("", |table| table.message);
        match known {
            Some(known) => *known.get_or_insert_with(|| message_of(pool, name)),
            None => MessageId::UNKNOWN,
        }
    }

    /// Replaces the arguments by those of a payload of a table. Returns whether it was readable to its end.
    pub fn arguments(
        &mut self,
        kind: usize,
        bytes: &[u8],
        at: &mut TrackerContext<'_, '_>,
    ) -> bool {
        self.arguments_with(kind, bytes, &mut NoIids, at)
    }

    /// Does the same with a payload that has numbers of interned data.
    pub fn arguments_with(
        &mut self,
        kind: usize,
        bytes: &[u8],
        iids: &mut dyn Iids,
        at: &mut TrackerContext<'_, '_>,
    ) -> bool {
        let definitions = &mut at.world.definitions;
        let (Some(pool), Some(table)) = (&definitions.schema, WINSCOPE.get(kind)) else {
            return true;
        };
        let choice = Choice { without: table.without, is_cut: table.is_cut, only: &[] };
        let message = self.message(kind, pool);
        self.args.clear();
        self.args.add((message, bytes), choice, (pool, &mut definitions.names), iids)
    }

    /// Adds the arguments of another message.
    pub fn add_arguments(
        &mut self,
        name: &str,
        bytes: &[u8],
        choice: Choice,
        at: &mut TrackerContext<'_, '_>,
    ) -> bool {
        let definitions = &mut at.world.definitions;
        let Some(pool) = &definitions.schema else {
            return true;
        };
        let message = message_of(pool, name);
        self.args.add((message, bytes), choice, (pool, &mut definitions.names), &mut NoIids)
    }

    /// The set of the current arguments.
    pub fn arg_set(&self, at: &mut TrackerContext<'_, '_>) -> Option<i64> {
        at.world.arg_set(self.args.args.as_bytes(), at.rows)
    }

    /// The number of a payload's bytes, which are a part of the packet.
    pub fn proto(
        &mut self,
        kind: usize,
        bytes: &[u8],
        (statement, arg_set): (&Statement<'_>, Option<i64>),
        at: &mut TrackerContext<'_, '_>,
    ) -> i64 {
        let mut hasher = Sha256::new();
        match WINSCOPE.get(kind) {
            Some(table) if table.is_cut => {
                digest(bytes, &mut Vec::new(), table.without, &mut hasher);
            }
            Some(_) => hasher.update(bytes),
            None => digest(bytes, &mut Vec::new(), CHILDREN_OF_ROOT, &mut hasher),
        }
        let hash = hasher.finalize();
        let first = hash.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        let id = (first >> 1).cast_signed();
        let mut key = id.to_le_bytes().to_vec();
        key.extend_from_slice(&kind.to_le_bytes());
        if self.protos.get(&key).is_none() {
            self.protos.insert(&key, id);
            let row = at.rows.count(&winscope_proto::TABLE);
            let number = |value: usize| Cell::from(i64::try_from(value).unwrap_or(i64::MAX));
            at.rows.push(winscope_proto::Row {
                id: Cell::from(row),
                kind: number(kind),
                proto_id: Cell::from(id),
                arg_set_id: Cell::or_null(arg_set),
                packet_id: Cell::from(statement.packet),
                offset: number(offset_in(bytes, statement.payload)),
                size: number(bytes.len()),
            });
        }
        id
    }

    /// Writes a payload of a table: its arguments, its bytes and its row. Returns the row's number, and whether the payload
    /// was readable to its end.
    pub fn payload(
        &mut self,
        kind: usize,
        bytes: &[u8],
        statement: &Statement<'_>,
        made: &[Made<'_>],
        at: &mut TrackerContext<'_, '_>,
    ) -> (i64, bool) {
        let is_whole = self.arguments(kind, bytes, at);
        let arg_set = self.arg_set(at);
        (self.written((kind, bytes), (statement, arg_set), made, at), is_whole)
    }

    /// Writes the row of a payload whose arguments are known.
    pub fn written(
        &mut self,
        (kind, bytes): (usize, &[u8]),
        (statement, arg_set): (&Statement<'_>, Option<i64>),
        made: &[Made<'_>],
        at: &mut TrackerContext<'_, '_>,
    ) -> i64 {
        let proto = self.proto(kind, bytes, (statement, arg_set), at);
        let named = Named { ts: Some(statement.ts), arg_set, proto: Some(proto) };
        self.row((kind, bytes), named, made, at)
    }

    /// Writes a row of a table. Returns its number.
    pub fn row(
        &mut self,
        (kind, bytes): (usize, &[u8]),
        named: Named,
        made: &[Made<'_>],
        at: &mut TrackerContext<'_, '_>,
    ) -> i64 {
        let mut cells = [Cell::Null; VALUES];
        let mut made = made.iter();
        let columns = WINSCOPE.get(kind).map_or(&[][..], |table| table.columns);
        let stored = columns
            .iter()
            .filter(|column| matches!(column.source, Source::Field { .. } | Source::Made));
        for (cell, column) in cells.iter_mut().zip(stored) {
            *cell = match column.source {
                Source::Field { path, is_null, is_unsigned } => {
                    let value = at.world.definitions.schema.as_ref().and_then(|pool| {
                        let message = self.message(kind, pool);
                        field(pool, message, bytes, path)
                    });
                    let is_text = column.kind == timebase_schema::ColumnType::Text;
                    match value {
                        None if is_null => Cell::Null,
                        None if is_text => at.rows.text(""),
                        None => Cell::from(0),
                        Some(value) => stored_as(value, is_unsigned, at),
                    }
                }
                _ => match made.next() {
                    None | Some(Made::Null) => Cell::Null,
                    Some(Made::Int(value)) => Cell::from(*value),
                    Some(Made::Real(value)) => Cell::number(*value),
                    Some(Made::Text(text)) => at.rows.text(text),
                },
            };
        }
        let number = self.numbers.get_mut(kind).map_or(0, |next| {
            *next += 1;
            *next - 1
        });
        push(kind, number, named, cells, at);
        number
    }

    /// The row of a rectangle: equal ones have one row (rule WS16).
    pub fn rect(&mut self, rect: Rect, at: &mut TrackerContext<'_, '_>) -> i64 {
        let values = values_of(rect);
        let key = key_of(&values);
        if let Some(known) = self.rects.get(&key) {
            return known;
        }
        let number = self.row((RECT, &[]), Named::default(), &values.map(Made::Real), at);
        self.rects.insert(&key, number);
        number
    }

    /// The row of a rectangle that is not compared with others.
    pub fn new_rect(&mut self, rect: Rect, at: &mut TrackerContext<'_, '_>) -> i64 {
        let named = Named { proto: Some(OWN_RECT), ..Named::default() };
        self.row((RECT, &[]), named, &values_of(rect).map(Made::Real), at)
    }

    /// The row of a transform: equal ones have one row.
    pub fn transform(&mut self, of: Matrix, at: &mut TrackerContext<'_, '_>) -> i64 {
        let values = [of.dsdx, of.dtdx, of.tx, of.dtdy, of.dsdy, of.ty].map(without_sign_of_zero);
        let key = key_of(&values);
        if let Some(known) = self.transforms.get(&key) {
            return known;
        }
        let number = self.row((TRANSFORM, &[]), Named::default(), &values.map(Made::Real), at);
        self.transforms.insert(&key, number);
        number
    }

    /// Whether equal rectangles or transforms may have several rows, which are to be merged.
    pub fn has_repeats(&self) -> bool {
        self.rects.has_forgotten() || self.transforms.has_forgotten()
    }

    /// The row of a rectangle of the trace.
    pub fn trace_rect(&mut self, rect: &TraceRect, at: &mut TrackerContext<'_, '_>) -> i64 {
        let made = [
            Made::Int(rect.rect),
            Made::Int(rect.group.into()),
            Made::Int(rect.depth.into()),
            Made::flag(rect.is_spy),
            Made::flag(rect.is_visible),
            rect.opacity.map_or(Made::Null, Made::Real),
            Made::Int(rect.transform),
            rect.border.map_or(Made::Null, |(width, _)| Made::Real(width)),
            rect.border.map_or(Made::Null, |(_, color)| Made::Int(color.into())),
        ];
        self.row((TRACE_RECT, &[]), Named::default(), &made, at)
    }

    /// A rectangle of the region that an input window fills.
    pub fn fill(&mut self, trace_rect: i64, rect: Rect, at: &mut TrackerContext<'_, '_>) {
        let rect = self.rect(rect, at);
        let made = [Made::Int(trace_rect), Made::Int(rect)];
        self.row((FILL_REGION, &[]), Named::default(), &made, at);
    }
}

/// The columns of a row that have names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Named {
    pub ts: Option<i64>,
    pub arg_set: Option<i64>,
    pub proto: Option<i64>,
}

fn push(
    kind: usize,
    number: i64,
    named: Named,
    cells: [Cell; VALUES],
    at: &mut TrackerContext<'_, '_>,
) {
    let [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16] = cells;
    let id = at.rows.count(&winscope_record::TABLE);
    at.rows.push(winscope_record::Row {
        id: Cell::from(id),
        kind: Cell::from(i64::try_from(kind).unwrap_or(i64::MAX)),
        number: Cell::from(number),
        ts: Cell::or_null(named.ts),
        arg_set_id: Cell::or_null(named.arg_set),
        proto_id: Cell::or_null(named.proto),
        c1,
        c2,
        c3,
        c4,
        c5,
        c6,
        c7,
        c8,
        c9,
        c10,
        c11,
        c12,
        c13,
        c14,
        c15,
        c16,
    });
}

/// The values of a rectangle's row.
fn values_of(rect: Rect) -> [f64; 4] {
    [rect.x, rect.y, rect.w, rect.h].map(without_sign_of_zero)
}

/// Values as bytes.
fn key_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

/// A number without the sign that a zero may have.
fn without_sign_of_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The last value of the field to which a path leads.
fn field<'a>(pool: &Pool, message: MessageId, bytes: &'a [u8], path: &[u32]) -> Option<Scalar<'a>> {
    let (number, rest) = path.split_first()?;
    let field_of = pool.field(message, *number)?;
    let values = Message(bytes).fields().filter(|(field, _)| field == number);
    let scalars = values.filter_map(|(_, value)| Some((field_of.scalars(value)?.last()?, value)));
    match (scalars.last()?, rest) {
        ((scalar, _), []) => Some(scalar),
        ((Scalar::Message(id), Value::Bytes(inner)), rest) => field(pool, id, inner, rest),
        _ => None,
    }
}

/// A field's value in a column.
fn stored_as(value: Scalar<'_>, is_unsigned: bool, at: &mut TrackerContext<'_, '_>) -> Cell {
    match value {
        Scalar::Signed(value) if is_unsigned => Cell::from(value as u32),
        Scalar::Signed(value) => Cell::from(value),
        Scalar::Unsigned(value) => Cell::from(value.cast_signed()),
        Scalar::Bool(value) => Cell::from(i64::from(value)),
        Scalar::Enum(_, value) => Cell::from(value),
        Scalar::Float(value) => Cell::number(value.into()),
        Scalar::Double(value) => Cell::number(value),
        Scalar::Text(text) => {
            let text = message::text(text);
            at.rows.text(&text)
        }
        Scalar::Bytes(_) | Scalar::Message(_) => Cell::Null,
    }
}

/// The place of a part of a packet's payload.
fn offset_in(part: &[u8], whole: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// Adds the bytes of a message to a hash, without these fields.
fn digest(bytes: &[u8], path: &mut Vec<u32>, without: &[&[u32]], hasher: &mut Sha256) {
    let mut fields = Fields::new(bytes);
    let mut start = 0;
    while let Ok(Some((number, value))) = fields.next() {
        let raw = bytes.get(start..fields.at()).unwrap_or_default();
        start = fields.at();
        path.push(number);
        let inside = without.iter().filter(|left| left.starts_with(path));
        let is_left_out = inside.clone().any(|left| left.len() == path.len());
        match (is_left_out, value) {
            (true, _) => {}
            (false, Value::Bytes(inner)) if inside.count() > 0 => {
                hasher.update(number.to_le_bytes());
                digest(inner, path, without, hasher);
                hasher.update([0]);
            }
            _ => hasher.update(raw),
        }
        path.pop();
    }
    hasher.update(bytes.get(start..).unwrap_or_default());
}
