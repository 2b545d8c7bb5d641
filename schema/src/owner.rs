use std::fmt::Write;

/// The owner of the clock of a packet, as SQL: a file, or -1 for the machine; NULL if the packet has no part. A sequence-scoped clock
/// always belongs to the file (rule X14), so whoever reads this asks for such a clock first. `packet` is the packet's id, and `common`
/// a row with its columns `clock_id`, `machine_id` and `trace_file_id`.
///
/// ```
/// let sql = timebase_schema::owner("p.id", "c");
/// assert!(sql.ends_with("WHERE t.trace_file_id = c.trace_file_id AND t.machine_id = c.machine_id))"), "{sql}");
/// ```
pub fn owner(packet: &str, common: &str) -> String {
    format!(
        "coalesce((SELECT x.file FROM packet_clock_record AS x WHERE x.packet_id = {packet}),\n\
         (SELECT iif({packet} >= t.own_from OR t.is_pinned AND {common}.clock_id = 11, {common}.trace_file_id, -1)\n\
         FROM part AS t WHERE t.trace_file_id = {common}.trace_file_id AND t.machine_id = {common}.machine_id))"
    )
}

/// The SQL of a file of this folder, with [`owner`] in the places of `OWNER(packet, common)`.
pub(crate) fn with_owners(sql: &str) -> String {
    let mut parts = sql.split("OWNER(");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let call = part.split_once(')');
        let call = call.and_then(|(arguments, rest)| Some((arguments.split_once(", ")?, rest)));
        // Writing to a String does not fail.
        let _ = match call {
            Some(((packet, common), rest)) => write!(all, "{}{rest}", owner(packet, common)),
            None => write!(all, "OWNER({part}"),
        };
    }
    all
}
