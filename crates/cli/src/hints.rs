//! Advice on errors of SQL: existing names that are like a missing name, and replacements for trace
//! processor's own SQL.
//!
//! # Design
//!
//! SQLite names the missing object, and nothing else. So this code reads the names from the
//! connection after an error, which costs nothing before. The alternative was to list the names of
//! the reference, but these do not include the user's tables. The words of a statement tell which
//! tables it uses, because there is no parser of SQL here: an additional word adds columns to
//! choose from, and does no harm.

use anyhow::anyhow;
use rusqlite::{Connection, params_from_iter};
use timebase_descriptor::{Pool, TRACE_PACKET};
use timebase_schema::{Statement, StatementKind};
use timebase_sql::token::{Kind, Token, Tokens};

/// The least likeness of two names, relative to the longer one's length.
const LEAST_ALIKE: f64 = 0.6;

/// The largest number of suggested names.
const MOST: usize = 3;

/// The page about trace processor's SQL, which needs no network.
const PAGE: &str = "'timebase help coming-from-trace-processor'";

/// Tables of trace processor that do not exist here, by the type of their packets.
const PACKETS: [(&str, &[&str]); 3] = [
    ("network_packet", &["android_network_packets"]),
    (
        "memory_tracker_snapshot",
        &["memory_snapshot", "memory_snapshot_node", "process_memory_snapshot"],
    ),
    ("deobfuscation_mapping", &["deobfuscation_mapping"]),
];

/// Functions of trace processor that do not exist here, with replacements.
const FUNCTIONS: [(&[&str], &str); 4] = [
    (
        &["ancestor_slice_by_stack", "descendant_slice_by_stack"],
        "use ancestor_slice(id) or descendant_slice(id)",
    ),
    (&["import"], "write INCLUDE PERFETTO MODULE, and give the library with --sql-package"),
    (&["run_metric"], "timebase does not have the metrics of trace processor"),
    (
        &["slice_parent", "thread_name", "process_name"],
        "views already join the names: thread_slice, sched_with_thread_process",
    ),
];

/// Tables and views that are empty if a subject of `import --tables` was left out.
const TABLES: [(&str, &[&str]); 7] = [
    ("ftrace_event", &["ftrace_event", "ftrace_event_partial", "raw"]),
    ("android_logs", &["android_logs"]),
    ("thread", &["process", "thread"]),
    (
        "sched",
        &[
            "sched",
            "sched_slice",
            "sched_record",
            "thread_state",
            "spurious_sched_wakeup",
            "sched_with_thread_process",
            "thread_state_with_thread_process",
            "cpu_time_by_thread",
            "cpu_time_by_process",
        ],
    ),
    (
        "slice",
        &[
            "slice",
            "slices",
            "instant",
            "flow",
            "flow_with_slices",
            "thread_slice",
            "process_slice",
            "thread_or_process_slice",
            "slice_ancestor",
            "slice_descendant",
            "slice_self_dur",
            "gpu_slice",
            "gpu_context",
            "expected_frame_timeline_slice",
            "actual_frame_timeline_slice",
            "pytorch_kernel",
            "pytorch_gpu_idle",
            "pytorch_gpu",
            "pytorch_collective",
            "pytorch_memory",
            "state",
            "ancestor_slice",
            "descendant_slice",
            "following_flow",
            "preceding_flow",
            "directly_connected_flow",
        ],
    ),
    (
        "counter",
        &[
            "counter",
            "counters",
            "counter_track",
            "cpu_counter_track",
            "process_counter_track",
            "thread_counter_track",
            "gpu_counter_track",
            "gpu_counter_group",
            "vulkan_memory_allocations",
        ],
    ),
    (
        "stack_sample",
        &[
            "stack_sample",
            "stack_sample_session",
            "stack_sample_counter",
            "perf_sample",
            "perf_sample_with_stack",
            "perf_session",
            "cpu_profile_stack_sample",
            "track_event_callstack",
            "stack_profile_callsite",
            "stack_profile_frame",
            "stack_profile_mapping",
            "stack_profile_symbol",
            "unsymbolized_mapping",
            "callsite_total",
            "callstack",
            "callstack_frame",
            "heap_profile",
            "heap_profile_allocation",
            "heap_graph",
            "heap_graph_class",
            "heap_graph_object",
            "heap_graph_reference",
            "heap_graph_object_data",
            "heap_graph_primitive",
            "heap_graph_path",
            "heap_graph_dominator",
            "profiler_smaps",
            "process_memory_mappings",
        ],
    ),
];

/// The subjects of a statement that the import left out of the database, so that a result is empty
/// although the trace may have data. This reads two facts, and no rows.
pub fn left_out(connection: &Connection, sql: &str) -> Vec<String> {
    let fact = |name| {
        let sql = "SELECT value FROM fact WHERE name = ?1 AND typeof(value) = 'text'";
        names(connection, sql, &[name])?.pop()
    };
    let (data, tables) = (fact("import_data"), fact("import_tables"));
    let tokens = Tokens::of(sql).filter(|token| !token.kind.is_blank());
    let tokens: Vec<Token<'_>> = tokens.filter(|token| token.kind != Kind::Literal).collect();
    let says = |name: &str| tokens.iter().any(|token| is_name(*token, name));
    let says_all = tokens
        .windows(2)
        .any(|pair| matches!(pair, [before, star] if star.is_sign("*") && lets_all(*before)));
    let mut hints = Vec::new();
    let hint = match data.as_deref() {
        Some("none") => Some(
            "this database was imported with --no-data, so the column data is NULL, and so are the results of packet_data, packet_json and packet_field; import the trace without that flag to have them",
        ),
        Some("compact") if !says("packet_data") => Some(
            "this database was imported with --compact, so the column data is NULL; packet_data(id) returns the bytes of a packet",
        ),
        _ => None,
    };
    let reads_data = (says("packet") || says("packet_record")) && (says("data") || says_all);
    let needs_data = ["packet_data", "packet_field", "packet_json", WINSCOPE].map(says);
    if reads_data || needs_data.contains(&true) {
        hints.extend(hint.map(str::to_owned));
    }
    if let Some(kept) = tables {
        let kept: Vec<&str> = kept.split(',').collect();
        let is_left_out = |subject: &&str| !kept.contains(subject);
        for (subject, tables) in TABLES.iter().filter(|(subject, _)| is_left_out(subject)) {
            if let Some(table) = tables.iter().find(|table| says(table)) {
                hints.push(format!(
                    "{table} is empty because the import left it out (--no-events or --tables); import the trace with --tables {subject} to have it"
                ));
            }
        }
    }
    hints
}

/// An intrinsic that reads packets.
const WINSCOPE: &str = "__intrinsic_winscope_proto_to_args_with_defaults";

/// Whether a token is this name, in quotes or not.
fn is_name(token: Token<'_>, name: &str) -> bool {
    match token.kind {
        Kind::Word => token.is_word(name),
        Kind::Quoted => {
            let inside = token.text.get(1..token.text.len().saturating_sub(1));
            inside.is_some_and(|inside| inside.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

/// Whether `*` after this token stands for all columns.
fn lets_all(before: Token<'_>) -> bool {
    ["SELECT", "DISTINCT", "ALL"].iter().any(|word| before.is_word(word))
        || [",", "."].iter().any(|sign| before.is_sign(sign))
}

/// The error, followed by a hint if there is one.
pub fn with_hint(connection: &Connection, error: anyhow::Error, sql: &str) -> anyhow::Error {
    let said = error.to_string();
    // The lines below the message are the statement, which may contain anything.
    let message = said.lines().next().unwrap_or_default();
    match hint(connection, message, sql) {
        Some(hint) => anyhow!("{said}\n  tip: {hint}"),
        None => error,
    }
}

fn hint(connection: &Connection, message: &str, sql: &str) -> Option<String> {
    let missing = |what: &str| {
        let (_, rest) = message.split_once(what)?;
        let rest = rest.split_once(" - should this be").map_or(rest, |(name, _)| name);
        let name = rest.trim().trim_matches('"');
        // An error of a function may quote another one.
        let is_name = name.chars().all(|c| is_of_name(c) || c == '.');
        is_name.then_some(name)
    };
    if let Some(name) = missing("no such table: ") {
        return table(connection, name);
    }
    if let Some(name) = missing("no such column: ") {
        return column(connection, name, sql);
    }
    if let Some(name) = missing("no such function: ") {
        return function(connection, name);
    }
    None
}

/// The type of the packets from which trace processor makes a table.
pub fn packets_of(table: &str) -> Option<&'static str> {
    let of = PACKETS.iter().find(|(_, names)| names.contains(&table));
    of.map(|(packets, _)| *packets)
}

fn table(connection: &Connection, name: &str) -> Option<String> {
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    let of_packets = PACKETS.iter().find(|(_, names)| names.iter().any(is_it));
    if let Some((packet_type, _)) = of_packets {
        let schema = if is_described(packet_type) {
            ""
        } else {
            ", with numbers for names: 'import --descriptor FILE' adds a schema with the names"
        };
        return Some(format!(
            "timebase does not have trace processor's {name} yet, but it has the packets: select from packet WHERE type = '{packet_type}', and read them with packet_json(data) and packet_field(data, 'path'){schema}"
        ));
    }
    let mut there = names(
        connection,
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '%\\_record' ESCAPE '\\'
         UNION SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view')",
        &[],
    )?;
    // A temporary database has only the views that statements name.
    let views = timebase_schema::finish();
    let mut views = Statement::all(&views);
    views
        .retain(|one| one.kind == StatementKind::View && there.iter().all(|name| name != one.name));
    there.extend(views.iter().map(|view| view.name.to_owned()));
    Some(match meant(name, &there) {
        Some(meant) => format!("did you mean {meant}?"),
        None => {
            "'timebase help tables' lists the tables, as does '.tables' in the shell".to_owned()
        }
    })
}

fn column(connection: &Connection, name: &str, sql: &str) -> Option<String> {
    let words = words(sql);
    let (qualifier, name) = match name.rsplit_once('.') {
        Some((qualifier, name)) => (qualifier.rsplit('.').next(), name),
        None => (None, name),
    };
    let tables = names(
        connection,
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
         UNION SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view')",
        &[],
    )?;
    let is_said = |table: &&String| words.iter().any(|word| word.eq_ignore_ascii_case(table));
    let mut said: Vec<&String> = tables.iter().filter(is_said).collect();
    if let Some(qualifier) = qualifier {
        let of = qualified(&words, qualifier);
        let is_of = |table: &&&String| of.iter().any(|word| word.eq_ignore_ascii_case(table));
        let only: Vec<&String> = said.iter().filter(is_of).copied().collect();
        if !only.is_empty() {
            said = only;
        }
    }
    let mut columns = Vec::new();
    for table in &said {
        columns.extend(names(connection, "SELECT name FROM pragma_table_info(?1)", &[table])?);
    }
    // A view that has this column joined is a better hint than a name that is a little alike.
    let (akin, others) = tables_with(connection, name, &said)?;
    if !akin.is_empty() {
        return Some(format!("{name} is a column of {}", listed(&akin, "and")));
    }
    if let Some(meant) = meant(name, &columns) {
        return Some(format!("did you mean {meant}?"));
    }
    if !others.is_empty() {
        return Some(format!("{name} is a column of {}", listed(&others, "and")));
    }
    let [table] = said.as_slice() else {
        return None;
    };
    Some(format!("{table} has the columns {}", columns.join(", ")))
}

/// The names that a qualifier of a column may stand for: itself, and the table of this alias.
fn qualified<'a>(words: &[&'a str], qualifier: &'a str) -> Vec<&'a str> {
    let mut names = vec![qualifier];
    for (at, word) in words.iter().enumerate() {
        if word.eq_ignore_ascii_case(qualifier) {
            let before = |by: usize| at.checked_sub(by).and_then(|at| words.get(at)).copied();
            names.extend(before(1));
            names.extend(
                before(2).filter(|_| before(1).is_some_and(|w| w.eq_ignore_ascii_case("as"))),
            );
        }
    }
    names
}

/// Some of the tables with a column: those with a name like one in the statement, and others.
fn tables_with(
    connection: &Connection,
    column: &str,
    said: &[&String],
) -> Option<(Vec<String>, Vec<String>)> {
    let with = names(
        connection,
        "SELECT s.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
         WHERE s.type IN ('table', 'view') AND c.name = ?1 COLLATE NOCASE
           AND s.name NOT LIKE '%\\_record' ESCAPE '\\'",
        &[column],
    )?;
    let is_akin = |name: &String| said.iter().any(|said| name.contains(said.as_str()));
    let (mut akin, mut others): (Vec<_>, Vec<_>) = with.into_iter().partition(is_akin);
    akin.truncate(MOST);
    others.truncate(MOST);
    Some((akin, others))
}

fn function(connection: &Connection, name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let known = FUNCTIONS.iter().find(|(names, _)| names.contains(&lower.as_str()));
    if let Some((_, instead)) = known {
        return Some(format!(
            "{name} is a function of trace processor; {instead}. {PAGE} tells more"
        ));
    }
    let there =
        names(connection, "SELECT name FROM pragma_function_list WHERE name GLOB '[a-z]*'", &[])?;
    Some(match meant(name, &there) {
        Some(meant) => format!("did you mean {meant}?"),
        None => {
            "'timebase help functions' lists timebase's functions; SQLite has its own".to_owned()
        }
    })
}

/// A list of names. An error here would not help with the first error.
fn names(connection: &Connection, sql: &str, values: &[&str]) -> Option<Vec<String>> {
    let mut statement = connection.prepare(sql).ok()?;
    let rows = statement.query_map(params_from_iter(values), |row| row.get(0));
    rows.ok()?.collect::<rusqlite::Result<_>>().ok()
}

/// The names that the user may have meant, the likeliest first.
pub fn meant(name: &str, there: &[String]) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let mut alike: Vec<(f64, &String)> = there
        .iter()
        .map(|other| {
            (strsim::normalized_damerau_levenshtein(&name, &other.to_ascii_lowercase()), other)
        })
        .filter(|(likeness, _)| *likeness >= LEAST_ALIKE)
        .collect();
    alike.sort_by(|(a, name_a), (b, name_b)| b.total_cmp(a).then_with(|| name_a.cmp(name_b)));
    alike.dedup_by_key(|(_, name)| *name);
    alike.truncate(MOST);
    let best = alike.first().map(|(likeness, _)| *likeness)?;
    // If one name is much alike, the others do not help.
    alike.retain(|(likeness, _)| *likeness > best - 0.15);
    let alike: Vec<String> = alike.into_iter().map(|(_, name)| name.clone()).collect();
    Some(listed(&alike, "or"))
}

fn listed(names: &[String], last: &str) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., end] => format!("{} {last} {end}", others.join(", ")),
    }
}

/// Whether the schema describes the message in packets of a type.
fn is_described(packet_type: &str) -> bool {
    let pool = Pool::perfetto();
    let packet = pool.message(TRACE_PACKET);
    packet.is_some_and(|packet| pool.field_by_name(packet, packet_type).is_some())
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a statement that may be names.
pub fn words(sql: &str) -> Vec<&str> {
    let words = sql.split(|c: char| !is_of_name(c));
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_tables_that_are_not_here_are_perfettos() {
        let views = timebase_schema::finish();
        for (packet_type, names) in PACKETS {
            let declared = format!(" bytes {packet_type} = ");
            let is_there = timebase_schema::TRACE_PROTO.contains(&declared);
            assert!(is_there, "{packet_type}");
            for name in names {
                let made = [format!("CREATE VIEW {name} "), format!("CREATE TABLE {name} ")];
                let is_here = |sql: &str| made.iter().any(|made| sql.contains(made));
                assert!(!is_here(&views) && !is_here(timebase_schema::TABLES), "{name}");
            }
        }
        assert!(is_described("perf_sample") && !is_described("no_such_packet"));
    }

    #[test]
    fn a_name_that_is_like_one_of_some_is_meant() {
        let there = ["slice", "slices", "thread_slice", "sched"].map(String::from);
        assert_eq!(meant("slcie", &there).as_deref(), Some("slice or slices"));
        assert_eq!(meant("THREAD-SLICE", &there).as_deref(), Some("thread_slice"));
        assert_eq!(meant("elephant", &there), None);
        assert_eq!(meant("", &there), None);
    }

    #[test]
    fn an_alias_stands_for_its_table() {
        let words = words("SELECT s.x, t.y FROM slice AS s JOIN track t");
        assert!(qualified(&words, "s").contains(&"slice"));
        assert!(qualified(&words, "t").contains(&"track"));
    }
}
