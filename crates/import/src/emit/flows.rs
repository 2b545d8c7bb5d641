//! The flows of slices.

use rusqlite::{Connection, Statement};

/// Flow ids of the written trace begin here. Trace processor has one space for these and for ids of other kinds.
const FIRST_FLOW: i64 = 1 << 32;

/// The ends of flows at slices.
pub(super) struct Flows<'c> {
    /// `None` if the trace has no flows.
    statement: Option<Statement<'c>>,
}

/// A flow of a slice.
pub(super) struct Flow {
    pub id: u64,
    /// The slice is the first of the two in the written trace, the last, or both.
    pub is_first: bool,
    pub is_last: bool,
    /// Whether it is written the other way round.
    pub is_turned: bool,
    /// The name and category of a flow of version 1.
    pub legacy: Option<(Option<String>, Option<String>)>,
}

const FLOWS: &str = "
    SELECT f.id, f.slice_out, o.ts, f.slice_in, i.ts, f.arg_set_id IS NOT NULL, a.args ->> '$.name', a.args ->> '$.cat'
    FROM (SELECT id FROM flow WHERE slice_out = ?1 UNION SELECT id FROM flow WHERE slice_in = ?1) AS here
    JOIN flow AS f ON f.id = here.id
    JOIN slice_record AS o ON o.id = f.slice_out JOIN slice_record AS i ON i.id = f.slice_in
    LEFT JOIN arg_set AS a ON a.id = f.arg_set_id
    ORDER BY f.id";

impl<'c> Flows<'c> {
    pub fn of(conn: &'c Connection) -> rusqlite::Result<Flows<'c>> {
        let has_any: bool =
            conn.query_row("SELECT EXISTS (SELECT * FROM flow)", [], |row| row.get(0))?;
        let statement = has_any.then(|| conn.prepare(FLOWS)).transpose()?;
        Ok(Flows { statement })
    }

    /// The flows of a slice.
    pub fn of_slice(&mut self, slice: i64) -> rusqlite::Result<Vec<Flow>> {
        let Some(statement) = &mut self.statement else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut rows = statement.query([slice])?;
        while let Some(row) = rows.next()? {
            let (out, into): (i64, i64) = (row.get(1)?, row.get(3)?);
            let (at_out, at_in): (i64, i64) = (row.get(2)?, row.get(4)?);
            let is_turned = (at_in, into) < (at_out, out);
            let first = if is_turned { into } else { out };
            found.push(Flow {
                id: FIRST_FLOW.saturating_add(row.get(0)?).cast_unsigned(),
                is_first: slice == first,
                is_last: out == into || slice != first,
                is_turned,
                legacy: match row.get(5)? {
                    true => Some((row.get(6)?, row.get(7)?)),
                    false => None,
                },
            });
        }
        Ok(found)
    }
}
