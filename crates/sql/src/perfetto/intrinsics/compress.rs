//! Compression.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_zstd_compress(data)` | a text or blob as a frame of Zstandard; NULL of NULL |

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call, Error, Function, Functions, Result};

const NAME: &str = "__intrinsic_zstd_compress";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    Ok(to.add(NAME, 1, Compress)?)
}

struct Compress;

impl Function for Compress {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(NAME, call);
        let data = match arguments.get(0) {
            None | Some(ValueRef::Null) => return Ok(Answer::Null),
            Some(ValueRef::Text(data) | ValueRef::Blob(data)) => data,
            Some(_) => return Err(arguments.must_be(0, "data", "a text or a blob")),
        };
        let compressed = zstd::bulk::compress(data, zstd::DEFAULT_COMPRESSION_LEVEL);
        compressed.map(Answer::Blob).map_err(|error| Error::new(format_args!("{NAME}(): {error}")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};

    #[test]
    fn pq15_a_compressed_text_is_a_frame_of_zstandard() {
        let conn = connection();
        let hex = |argument: &str| {
            rows(&conn, &format!("SELECT hex(__intrinsic_zstd_compress({argument}))")).remove(0)
        };
        for argument in ["''", "'abc'", "x'00ff'", "zeroblob(100000)"] {
            assert!(hex(argument).starts_with("28B52FFD"), "{argument}");
            let data = conn.query_row(
                &format!("SELECT CAST({argument} AS BLOB), __intrinsic_zstd_compress({argument})"),
                [],
                |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)),
            );
            let (plain, compressed) = data.unwrap();
            assert_eq!(zstd::bulk::decompress(&compressed, 1 << 20).unwrap(), plain);
        }
        assert!(hex("zeroblob(100000)").len() < 100);
        assert_eq!(rows(&conn, "SELECT __intrinsic_zstd_compress(NULL)"), ["NULL"]);
        assert_eq!(
            error(&conn, "SELECT __intrinsic_zstd_compress(5)"),
            "__intrinsic_zstd_compress(): argument 1 (data) must be a text or a blob, not 5"
        );
    }
}
