//! The SQL functions `packet_json(data)` and `packet_field(data, path)`.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! timebase_descriptor::sql::register(&conn)?;
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
//! The schema is Perfetto's, extended by the descriptors that a trace brings:
//! the rows of `main.descriptor`, if there is such a table. A statement looks
//! at the table once, when it first calls one of the functions, and uses that
//! schema to its end; a path is parsed once a statement. Extending the schema
//! in every statement was the alternative, but that takes longer than most
//! statements do.

mod arguments;
mod session;

use rusqlite::functions::{Context, FunctionFlags, SqlFnOutput, SubType};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::path::{FieldValue, Path};
use crate::pool::{Pool, TRACE_PACKET};
use crate::schema::MessageId;
use arguments::Arguments;
use session::{SharedSession, statement_pool};

/// Registers the functions on a connection.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> Result<()> {
    let session = SharedSession::default();
    let json_session = session.clone();
    conn.create_scalar_function("packet_json", 1, FLAGS, move |ctx| {
        packet_json(ctx, &json_session)
    })?;
    conn.create_scalar_function("packet_field", 2, FLAGS, move |ctx| {
        packet_field(ctx, &session)
    })
}

/// Within one statement, the answer depends on the arguments alone.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS)
    .union(FunctionFlags::SQLITE_RESULT_SUBTYPE);

/// What SQLite's JSON functions know JSON by.
const JSON: SubType = Some(b'J' as u32);

/// A result of a function.
enum Answer {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
    Json(String),
}

impl SqlFnOutput for Answer {
    fn to_sql(&self) -> Result<(ToSqlOutput<'_>, SubType)> {
        let (value, subtype) = match self {
            Answer::Null => (ValueRef::Null, None),
            Answer::Integer(value) => (ValueRef::Integer(*value), None),
            Answer::Real(value) => (ValueRef::Real(*value), None),
            Answer::Text(text) => (ValueRef::Text(text.as_bytes()), None),
            Answer::Blob(bytes) => (ValueRef::Blob(bytes), None),
            Answer::Json(text) => (ValueRef::Text(text.as_bytes()), JSON),
        };
        Ok((ToSqlOutput::Borrowed(value), subtype))
    }
}

impl From<FieldValue<'_>> for Answer {
    fn from(value: FieldValue<'_>) -> Self {
        match value {
            FieldValue::Integer(value) => Answer::Integer(value),
            FieldValue::Real(value) => Answer::Real(value),
            FieldValue::Text(text) => Answer::Text(text.into_owned()),
            FieldValue::Bytes(bytes) => Answer::Blob(bytes.to_vec()),
            FieldValue::Json(text) => Answer::Json(text),
        }
    }
}

fn packet_json(ctx: &Context<'_>, session: &SharedSession) -> Result<Answer> {
    let arguments = Arguments::new("packet_json", ctx);
    let Some(data) = arguments.blob(0, "data")? else {
        return Ok(Answer::Null);
    };
    let pool = statement_pool("packet_json", ctx, session)?;
    let mut json = String::new();
    let written = pool.write_json(trace_packet(&pool), data, &mut json);
    written.map_err(|why| arguments.wrong(0, "data", "cannot be read", &why))?;
    Ok(Answer::Json(json))
}

/// A path, and the schema that it was parsed for.
struct Compiled {
    pool: Pool,
    path: Path,
}

fn packet_field(ctx: &Context<'_>, session: &SharedSession) -> Result<Answer> {
    let arguments = Arguments::new("packet_field", ctx);
    let data = arguments.blob(0, "data")?;
    let (Some(data), Some(text)) = (data, arguments.text(1, "path")?) else {
        return Ok(Answer::Null);
    };
    let compiled = match ctx.get_aux::<Compiled>(1)? {
        Some(compiled) => compiled,
        None => {
            let pool = statement_pool("packet_field", ctx, session)?;
            let path = Path::parse(&pool, trace_packet(&pool), text);
            let path = path.map_err(|why| arguments.wrong(1, "path", "is no path", &why))?;
            let pool = Pool::clone(&pool);
            ctx.set_aux(1, Compiled { pool, path })?
        }
    };
    let value = compiled.path.get(&compiled.pool, data);
    let value = value.map_err(|why| arguments.wrong(0, "data", "cannot be read", &why))?;
    Ok(value.map_or(Answer::Null, Answer::from))
}

/// Without a schema, a packet is a message of which nothing is known.
fn trace_packet(pool: &Pool) -> MessageId {
    pool.message(TRACE_PACKET).unwrap_or(MessageId(usize::MAX))
}

/// An error as SQL has it. SQLite's messages end at a zero byte, and rusqlite
/// drops one that has any.
fn sql_error(message: String) -> Error {
    Error::UserFunctionError(message.replace('\0', "\\0").into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
