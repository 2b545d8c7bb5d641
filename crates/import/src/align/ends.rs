//! The ends of slices that receive messages (rule AL6).

use std::collections::{BTreeMap, HashSet};

use rusqlite::Connection;

use super::staged::Staged;
use crate::error::WriteError;

/// Tells the durations of the slices that these packets begin.
pub(super) type Ended<'e> = dyn FnMut(&HashSet<i64>) -> Result<BTreeMap<i64, i64>, WriteError> + 'e;

/// Gives messages of flows the ends of the slices that receive them; `ended` tells the durations of slices by their packets.
///
/// # Errors
///
/// If messages or the database cannot be read, or a temporary file cannot be written.
pub(super) fn add(messages: &mut Staged, ended: &mut Ended<'_>) -> Result<(), WriteError> {
    let received = messages.received()?;
    messages.end(&ended(&received)?)?;
    Ok(())
}

/// The durations of the slices that these packets begin.
///
/// # Errors
///
/// If the database cannot be read.
pub(super) fn durations(
    conn: &Connection,
    packets: &HashSet<i64>,
) -> Result<BTreeMap<i64, i64>, WriteError> {
    let mut durations = BTreeMap::new();
    let sql = "SELECT packet_id, dur FROM slice_record WHERE dur > 0";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let packet: Option<i64> = row.get(0)?;
        if let Some(packet) = packet.filter(|packet| packets.contains(packet)) {
            durations.insert(packet, row.get(1)?);
        }
    }
    Ok(durations)
}
