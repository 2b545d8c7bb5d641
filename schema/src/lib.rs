//! What a timebase database is, and what a Perfetto trace is made of: files, and
//! what can be told of them without a database or a trace at hand.
//!
//! | file | |
//! |---|---|
//! | `tables.sql` | the tables, which an import begins with, and the identity of the database |
//! | `finish.sql` | the views, which it ends with |
//! | `perfetto.descriptor` | all messages of a trace, made by `make_descriptor.py` |
//! | `proto/trace.proto` | those few that placing packets in time needs |
//!
//! ```
//! assert_eq!(timebase_schema::APPLICATION_ID, i64::from(u32::from_be_bytes(*b"tbfs")));
//! assert!(timebase_schema::TABLES.contains("CREATE TABLE packet ("));
//! ```

/// The tables and their indexes, as SQL.
pub const TABLES: &str = include_str!("../tables.sql");

/// What is made when all rows are in: the views, as SQL.
pub const FINISH: &str = include_str!("../finish.sql");

/// All messages of a Perfetto trace: a serialized
/// `google.protobuf.FileDescriptorSet`.
pub const PERFETTO_DESCRIPTOR: &[u8] = include_bytes!("../perfetto.descriptor");

/// The messages that placing packets in time needs, as the source of a
/// `.proto` file.
pub const TRACE_PROTO: &str = include_str!("../proto/trace.proto");

/// `PRAGMA application_id` of a database that timebase made.
pub const APPLICATION_ID: i64 = pragma(TABLES, "PRAGMA application_id = ");

/// `PRAGMA user_version` of a database with these tables.
pub const VERSION: i64 = pragma(TABLES, "PRAGMA user_version = ");

/// The number behind `text` in `sql`, so that the SQL is the one place that
/// says it.
const fn pragma(sql: &str, text: &str) -> i64 {
    let (sql, text) = (sql.as_bytes(), text.as_bytes());
    let mut start = 0;
    while start + text.len() < sql.len() {
        let mut same = 0;
        while same < text.len() && sql[start + same] == text[same] {
            same += 1;
        }
        if same == text.len() {
            let mut at = start + same;
            let mut value = 0;
            while at < sql.len() && sql[at].is_ascii_digit() {
                value = value * 10 + (sql[at] - b'0') as i64;
                at += 1;
            }
            return value;
        }
        start += 1;
    }
    0
}
