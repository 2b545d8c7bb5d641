// Generates the view `finding` from `findings.sql` and `findings/`: a part of the build script.

use std::fmt::Write;
use std::fs;

use super::Result;

#[path = "src/reads.rs"]
mod reads;
use reads::reads;

#[path = "src/owner.rs"]
mod owner;

/// A file of `findings/`.
struct Check {
    name: String,
    /// The comment at its top: a title line, the meaning, and `Severity: ...`.
    title: String,
    meaning: String,
    severity: String,
    /// One SELECT.
    sql: String,
}

/// The text of a clock: its name, or 64@3 for clock 64 of sequence 3; and its owner, if that is not
/// the first machine.
const CLOCK: &str = "CASE WHEN f.clock_id BETWEEN 64 AND 127 THEN f.clock_id || '@' || f.seq_id ELSE coalesce(\
    CASE f.clock_id WHEN 1 THEN 'REALTIME' WHEN 2 THEN 'REALTIME_COARSE' WHEN 3 THEN 'MONOTONIC' \
    WHEN 4 THEN 'MONOTONIC_COARSE' WHEN 5 THEN 'MONOTONIC_RAW' WHEN 6 THEN 'BOOTTIME' WHEN 9 THEN 'TSC' \
    WHEN 10 THEN 'PERF' WHEN 11 THEN 'TRACE_FILE' END, f.clock_id) END \
    || iif(f.machine_id, ' of machine ' || f.machine_id, '') || iif(f.file > 0, ' in file ' || f.file, '')";

/// `worst_ns` for a person.
const WORST: &str = "CASE WHEN f.worst_ns IS NULL THEN NULL WHEN f.worst_ns < 1000 THEN f.worst_ns || ' ns' \
    WHEN f.worst_ns < 1000000 THEN printf('%.4g µs', f.worst_ns / 1e3) \
    WHEN f.worst_ns < 1000000000 THEN printf('%.4g ms', f.worst_ns / 1e6) \
    WHEN f.worst_ns < 7200000000000 THEN printf('%.5g s', f.worst_ns / 1e9) \
    WHEN f.worst_ns < 172800000000000 THEN printf('%.3g hours', f.worst_ns / 3600e9) \
    ELSE printf('%d days', f.worst_ns / 86400000000000) END";

/// `events` for a person.
const EVENTS: &str = "printf('%,d event%s', f.events, iif(f.events = 1, '', 's'))";

pub fn generate() -> Result<String> {
    println!("cargo::rerun-if-changed=findings.rs");
    println!("cargo::rerun-if-changed=findings.sql");
    println!("cargo::rerun-if-changed=findings");
    let shared = owner::with_owners(&fs::read_to_string("findings.sql")?);
    let parts = parts(&shared);
    let mut files: Vec<_> = fs::read_dir("findings")?.collect::<std::io::Result<_>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut checks = Vec::new();
    for file in files {
        let name = file.file_name().into_string();
        let name = name.map_err(|name| format!("{} is no name", name.display()))?;
        let name = name.strip_suffix(".sql").ok_or_else(|| format!("findings/{name} is no SQL"))?;
        let text = fs::read_to_string(file.path())?;
        checks.push(check(name, &text).ok_or_else(|| {
            format!("findings/{name}.sql does not begin with a title, what it means, and a line 'Severity:'")
        })?);
    }
    let view = view(&parts, &checks);
    let mut code = format!("pub(crate) const FINDING: &str = {view:?};\n");
    writeln!(
        code,
        "/// The parts of `findings.sql`: names and texts.\n\
         const PARTS: &[(&str, &str)] = &{:?};\n\
         /// How a clock is written, as SQL, of a row `f` with the columns `machine_id`, `clock_id`, `seq_id` and `file`.\n\
         pub const CHECKS_CLOCK: &str = {CLOCK:?};\n\
         /// The column `worst_ns` of a row `f` for a person, as SQL.\n\
         pub const CHECKS_WORST: &str = {WORST:?};",
        parts
    )?;
    writeln!(code, "/// All checks, by name.\npub static CHECKS: &[Check] = &[")?;
    for Check { name, title, meaning, severity, sql } in &checks {
        writeln!(
            code,
            "Check {{ name: {name:?}, title: {title:?}, meaning: {meaning:?}, severity: {severity:?}, can_be_error: {}, sql: {sql:?} }},",
            sql.contains("'error'")
        )?;
    }
    writeln!(code, "];")?;
    Ok(code)
}

fn check(name: &str, text: &str) -> Option<Check> {
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("-- ")).collect();
    let (title, rest) = comment.split_first()?;
    let end = rest.iter().position(|line| line.starts_with("Severity: "))?;
    let severity = rest[end..].join(" ");
    Some(Check {
        name: name.to_owned(),
        title: (*title).to_owned(),
        meaning: rest[..end].join(" "),
        severity: severity.strip_prefix("Severity: ")?.to_owned(),
        sql: without_comments(text),
    })
}

/// The parts of `findings.sql`: names, and texts without the comma at the end. A line without indentation begins each.
fn parts(shared: &str) -> Vec<(&str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in shared.lines() {
        if let Some(name) = name(line) {
            parts.push((name, String::new()));
        }
        if let Some((_, text)) = parts.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (_, text) in &mut parts {
        *text = without_comments(text).trim_end_matches(',').to_owned();
    }
    parts
}

/// The name of the part that begins with this line: `name AS (`, or `name (columns) AS MATERIALIZED (`.
fn name(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(' ')?;
    let is_name = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let is_head = rest.starts_with("AS ") || rest.contains(") AS ");
    (is_name && is_head && rest.ends_with('(')).then_some(name)
}

/// Every database contains the view, and would contain the comments.
fn without_comments(sql: &str) -> String {
    let lines = sql.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

/// SQLite runs the checks as co-routines if a query names one of them: the LIMIT prevents SQLite
/// from flattening the SELECT and running a part of it before it compares the name.
///
/// SQLite counts the tables of the checks from the last to the first one, up to the last part that it
/// expands. So checks without parts come first, and count for nothing.
fn view(shared: &[(&str, String)], checks: &[Check]) -> String {
    let has_parts = |check: &&Check| {
        let reads_one =
            reads(&check.sql).any(|table| shared.iter().any(|(name, _)| *name == table));
        reads_one || check.sql.contains("WITH ")
    };
    let (sharing, others): (Vec<_>, Vec<_>) = checks.iter().partition(has_parts);
    let parts = others.into_iter().chain(sharing).map(|check| {
        format!("SELECT '{}' AS check_name, * FROM (\n{}\nLIMIT -1)", check.name, check.sql)
    });
    let parts: Vec<String> = parts.collect();
    let named = format!(
        "SELECT f.check_name, f.severity, coalesce(f.subject, {CLOCK}) AS subject, f.machine_id, \
         nullif(f.file, -1) AS trace_file_id, f.clock_id, f.seq_id, f.packet_id, CAST(f.events AS INTEGER) AS events, CAST(f.worst_ns AS INTEGER) AS worst_ns, f.message, f.advice, {WORST} AS worst, {EVENTS} AS counted FROM (\n{}\n) AS f",
        parts.join("\nUNION ALL\n")
    );
    let shared: Vec<&str> = shared.iter().map(|(_, text)| text.as_str()).collect();
    let shared = shared.join(",\n");
    format!(
        "CREATE VIEW finding AS\nWITH RECURSIVE\n{shared}\n\
         SELECT check_name, severity, subject, machine_id, trace_file_id, clock_id, seq_id, packet_id, \
         (SELECT p.offset FROM packet_record AS p WHERE p.id = packet_id) AS offset, events, worst_ns, \
         replace(replace(replace(message, '{{events}}', coalesce(counted, '')), '{{worst}}', coalesce(worst, '')), '{{subject}}', coalesce(subject, '')) AS message, \
         replace(advice, '{{subject}}', coalesce(subject, '')) AS advice FROM (\n{named}\n);\n"
    )
}
