//! The SQL functions `packet_json(data)`, `packet_field(data, path)` and `packet_data(packet_id)`.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! timebase_sql::packets::register(&conn)?;
//!
//! // A packet with a timestamp and a track_event.
//! let packet = "x'40d0085a024801'";
//! let json: String =
//!     conn.query_row(&format!("SELECT packet_json({packet})"), [], |row| row.get(0))?;
//! assert_eq!(json, r#"{"timestamp":1104,"track_event":{"type":"TYPE_SLICE_BEGIN"}}"#);
//!
//! let select = format!("SELECT packet_field({packet}, 'track_event.type')");
//! let of_type: String = conn.query_row(&select, [], |row| row.get(0))?;
//! assert_eq!(of_type, "TYPE_SLICE_BEGIN");
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! # Design
//!
//! The schema is Perfetto's, extended by the trace's descriptors: the rows of `main.descriptor`, if
//! there is such a table. A statement looks at the table once, when it first calls one of the
//! functions, and uses that schema to its end. The alternative was to extend the schema in every
//! statement, but that takes longer than most statements.
//!
//! The most recently parsed paths are kept with their schema, and found by their text. Formerly
//! they were SQLite's auxiliary data for the argument, which was no faster: `packet_field(data,
//! 'track_event.type')` took 0.70 µs for each packet, and now takes 0.65 µs.

mod blocks;
mod lenient;
mod schema;

use crate::{
    Answer, Arguments, Call, Database, Error, Function, Functions, Lookup, Result, Session, Table,
    ValueRef,
};
use rusqlite::Connection;

use blocks::Recent;
use schema::PacketSchema;
use timebase_descriptor::{FieldValue, Pool};

pub use blocks::{Packer, Unpacked};

/// Registers the functions on a connection.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    Ok(add(&mut &*conn)?)
}

/// Adds the functions to a connection or a list of functions.
///
/// ```
/// use timebase_sql::plain::List;
///
/// let mut list = List::default();
/// timebase_sql::packets::add(&mut list)?;
/// assert_eq!(list.get(1).unwrap().name(), "packet_field");
/// # Ok::<(), timebase_sql::Error>(())
/// ```
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn add(to: &mut impl Functions) -> Result<()> {
    let session = Session::default();
    to.add("packet_json", 1, PacketJson(session.clone()))?;
    to.add("packet_field", 2, PacketField(session))?;
    to.add(PacketData::NAME, 1, PacketData::new())
}

/// The schema of a connection's packets, for a function.
pub(crate) fn pool(function: &str, conn: &Connection) -> Result<Pool> {
    Ok(<PacketSchema as Table>::load(function, conn)?.pool)
}

struct PacketJson(Session<PacketSchema>);

impl Function for PacketJson {
    const JSON: bool = true;

    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("packet_json", call);
        let Some(data) = arguments.blob(0, "data")? else {
            return Ok(Answer::Null);
        };
        if let Some(json) = lenient::json(data) {
            return Ok(Answer::Json(json));
        }
        let mut json = String::new();
        let written = self.0.with("packet_json", call, |schema| {
            schema.pool.write_json(schema.packet, data, &mut json)
        })?;
        match written {
            Ok(()) => Ok(Answer::Json(json)),
            Err(why) => Err(arguments.wrong(0, "data", format_args!("cannot be read: {why}"))),
        }
    }
}

struct PacketField(Session<PacketSchema>);

impl Function for PacketField {
    const JSON: bool = true;

    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new("packet_field", call);
        let data = arguments.blob(0, "data")?;
        let (Some(data), Some(text)) = (data, arguments.text(1, "path")?) else {
            return Ok(Answer::Null);
        };
        self.0.with("packet_field", call, |schema| {
            let path = schema.path(text);
            let (pool, path) =
                path.map_err(|why| arguments.wrong(1, "path", format_args!("is no path: {why}")))?;
            let value = path.get(pool, data);
            let value = value
                .map_err(|why| arguments.wrong(0, "data", format_args!("cannot be read: {why}")))?;
            Ok(value.map(Answer::from).into())
        })?
    }
}

/// The bytes of a packet, from its row or from its block.
struct PacketData {
    recent: Session<Recent>,
    block: Lookup,
    of_row: Lookup,
}

/// Blocks that a statement has read are of no use to another one, as the table may have changed.
impl Table for Recent {
    const NAME: &'static str = "packet_block";
    type Version = ();

    fn version<D: Database + ?Sized>(_: &D) -> Result<Option<()>> {
        Ok(None)
    }

    fn load<D: Database + ?Sized>(_: &str, _: &D) -> Result<Self> {
        Ok(Recent::default())
    }
}

impl PacketData {
    const NAME: &'static str = "packet_data";

    fn new() -> PacketData {
        let block = Lookup::new(
            "SELECT data FROM main.packet_block WHERE id <= ?1 ORDER BY id DESC LIMIT 1",
        );
        PacketData {
            recent: Session::default(),
            block: block.or("SELECT NULL"),
            of_row: Lookup::new("SELECT data FROM main.packet_record WHERE id = ?1"),
        }
    }

    /// The bytes of a packet, if they are in a block.
    fn in_block<C: Call>(&self, recent: &mut Recent, call: &C, id: i64) -> Result<Option<Answer>> {
        if recent.of(id).is_none() {
            let block = self.block.value(Self::NAME, call, &[ValueRef::Integer(id)])?;
            let Answer::Blob(block) = block else {
                return Ok(None);
            };
            let block = Unpacked::new(&block).map_err(|why| {
                let name = Self::NAME;
                Error::new(format_args!(
                    "{name}(): the block of packet {id} in packet_block cannot be read: {why}; import the trace again"
                ))
            })?;
            recent.add(block);
        }
        let packet = recent.of(id).and_then(|block| block.packet(id));
        Ok(packet.map(|data| Answer::Blob(data.to_vec())))
    }
}

impl Function for PacketData {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(Self::NAME, call);
        let Some(id) = arguments.integer(0, "packet_id")? else {
            return Ok(Answer::Null);
        };
        let in_block =
            self.recent.with(Self::NAME, call, |recent| self.in_block(recent, call, id))?;
        match in_block? {
            Some(data) => Ok(data),
            None => self.of_row.value(Self::NAME, call, &[ValueRef::Integer(id)]),
        }
    }
}

impl From<FieldValue<'_>> for Answer {
    fn from(value: FieldValue<'_>) -> Self {
        match value {
            FieldValue::Integer(value) => Answer::Integer(value),
            FieldValue::Real(value) => Answer::Real(value),
            FieldValue::Text(text) => Answer::Text(text.into_owned().into()),
            FieldValue::Bytes(bytes) => Answer::Blob(bytes.to_vec()),
            FieldValue::Json(text) => Answer::Json(text),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
