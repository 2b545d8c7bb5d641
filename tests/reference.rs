//! docs/reference.md, docs/plain-sql.md, docs/perfettosql.md, and the page for users of trace
//! processor: runs their examples, and checks that the reference names everything. Also checks the links of all pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};
use timebase_resolver::Unresolved;

use crate::support::{Place, Said, files, import, is_shown, repository, run, trimmed};
use timebase_lab::encode::{self, ClockSnapshot, Packet, Reading};

/// The reasons of rule V7.
const REASONS: [&str; 8] = [
    "unknown_clock",
    "no_path",
    "non_monotonic",
    "no_target",
    "overflow",
    "incremental_state_lost",
    "no_sequence_id",
    "no_base",
];

/// Functions that only modules of Perfetto's standard library call.
const FOR_MODULES: [&str; 6] = [
    "import",
    "package_lookup",
    "repeatedfield",
    "experimental_ancestor_stack_profile_callsite",
    "extract_metadata_for_trace",
    "extract_metadata_for_machine",
];

fn page(name: &str) -> String {
    let text = fs::read_to_string(repository().join("docs").join(name)).unwrap();
    text.replace("\r\n", "\n")
}

/// Statements, and the output below them.
#[derive(Debug)]
struct Example {
    /// The heading above it.
    section: String,
    trace: PathBuf,
    is_writing: bool,
    sql: String,
    output: String,
}

/// A fenced block of SQL whose first line is a comment with a trace; the next
/// block is its output.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut section = String::new();
    let mut lines = page.lines();
    let mut awaits_output = false;
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            section = line.trim_start_matches('#').trim().replace('`', "");
        }
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match language {
            "sql" => {
                assert!(!awaits_output, "{section}: a block without its output");
                let trace = block[0].strip_prefix("-- ").unwrap();
                let (trace, is_writing) = match trace.strip_suffix(" --write") {
                    Some(trace) => (trace, true),
                    None => (trace, false),
                };
                awaits_output = true;
                examples.push(Example {
                    section: section.clone(),
                    trace: repository().join(trace),
                    is_writing,
                    sql: block[1..].join("\n"),
                    output: String::new(),
                });
            }
            "text" => {
                assert!(awaits_output, "{section}: an output without its block");
                awaits_output = false;
                examples.last_mut().unwrap().output = block.join("\n");
            }
            other => assert_eq!(other, "python", "{section}"),
        }
    }
    assert!(!awaits_output, "{section}: a block without its output");
    examples
}

/// Databases of traces, each imported once.
struct Databases {
    place: Place,
    made: BTreeMap<PathBuf, PathBuf>,
}

impl Databases {
    fn new() -> Self {
        Databases { place: Place::new(), made: BTreeMap::new() }
    }

    fn of(&mut self, trace: &Path) -> PathBuf {
        let place = &self.place;
        let database = self.made.entry(trace.to_owned()).or_insert_with(|| {
            // Traces in several folders may have one name.
            let folder = repository().join("tests/data");
            let name = trace.strip_prefix(&folder).unwrap_or(trace.file_name().unwrap().as_ref());
            let name = name.to_str().unwrap().replace('/', "-");
            let database = place.path(name).with_extension("db");
            let said = import(trace, &database, &[]);
            assert_eq!(said.code, Some(0), "{}", said.stderr);
            database
        });
        database.clone()
    }

    /// A copy, for statements that change it.
    fn copy_of(&mut self, trace: &Path) -> PathBuf {
        let copy = self.place.path("copy.db");
        fs::copy(self.of(trace), &copy).unwrap();
        copy
    }
}

fn query(database: &Path, arguments: &[&str]) -> Said {
    let database = database.to_str().unwrap();
    run(&[&["query", database], arguments].concat())
}

/// The rows of a query of one database, as CSV has them, without the header.
fn csv(database: &Path, sql: &str) -> Vec<String> {
    let output = query(database, &[sql, "--format", "csv"]);
    assert_eq!(output.code, Some(0), "{sql}\n{}", output.stderr);
    output.stdout.lines().skip(1).map(str::to_owned).collect()
}

fn traces() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join("tests/data")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut traces: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "pftrace")).collect();
    traces.sort();
    assert!(traces.len() >= 11);
    traces
}

/// Sets of several machines and files.
fn sets() -> [PathBuf; 3] {
    ["phone-and-watch.tar", "processes.tar", "vm.pftrace"]
        .map(|name| repository().join("tests/data/several").join(name))
}

#[test]
fn every_example_of_the_reference_prints_what_is_shown() {
    assert_prints_what_is_shown("reference.md", 100);
}

#[test]
fn every_example_of_the_page_about_perfettosql_prints_what_is_shown() {
    assert_prints_what_is_shown("perfettosql.md", 2);
}

#[test]
fn every_example_of_the_page_for_users_of_trace_processor_prints_what_is_shown() {
    assert_prints_what_is_shown("coming-from-trace-processor.md", 6);
}

fn assert_prints_what_is_shown(name: &str, at_least: usize) {
    let mut databases = Databases::new();
    let examples = examples(&page(name));
    assert!(examples.len() >= at_least, "{}", examples.len());
    for example in examples {
        let output = match example.is_writing {
            true => query(&databases.copy_of(&example.trace), &[&example.sql, "--write"]),
            false => query(&databases.of(&example.trace), &[&example.sql]),
        };
        let printed = output.stdout + &output.stderr;
        let (printed, shown) = (trimmed(&printed), trimmed(&example.output));
        is_shown(&format!("docs/{name}"), &example.sql, &printed, &shown);
        let is_error = example.output.contains("timebase: error: ");
        assert_eq!(output.code != Some(0), is_error, "{}", example.sql);
    }
}

/// A temporary database only has the views that the statements need.
#[test]
fn every_example_of_the_reference_is_answered_alike_by_the_trace_itself() {
    let mut databases = Databases::new();
    let examples = examples(&page("reference.md"));
    for example in examples.iter().filter(|example| !example.is_writing) {
        let asked = [databases.of(&example.trace), example.trace.clone()];
        let [of_database, of_trace] = asked.map(|source| query(&source, &[&example.sql]));
        assert_eq!(of_trace.stdout, of_database.stdout, "{}", example.sql);
        assert_eq!(of_trace.code, of_database.code, "{}", example.sql);
    }
}

#[test]
fn every_view_of_a_trace_that_is_asked_itself_has_the_rows_of_its_database() {
    let mut databases = Databases::new();
    let trace = repository().join("tests/data/app.pftrace");
    let conn = Connection::open(databases.of(&trace)).unwrap();
    let views = pairs(&conn, "SELECT upper(name), type FROM sqlite_schema WHERE type = 'view'");
    assert!(views.len() > 40);
    for (view, _) in views {
        // The time, the path and the speed of an import belong to the import.
        let columns = if view == "METADATA" { "name" } else { "*" };
        let sql = format!("SELECT {columns} FROM \"{view}\"");
        let rows = csv(&databases.of(&trace), &sql);
        assert!(csv(&trace, &sql) == rows, "{view}");
    }
}

/// The text below each heading of a page, up to the next heading.
fn sections(page: &str) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let mut section = String::new();
    let mut in_block = false;
    for line in page.lines() {
        in_block ^= line.starts_with("```");
        if line.starts_with('#') && !in_block {
            section = line.trim_start_matches('#').trim().replace('`', "");
            assert!(!sections.contains_key(&section), "{section} comes twice");
        }
        let text = sections.entry(section.clone()).or_default();
        writeln!(text, "{line}").unwrap();
    }
    sections
}

/// The prose and tables of a text, without its examples.
fn without_blocks(text: &str) -> String {
    let parts = text.split("\n```");
    let prose = parts.enumerate().filter(|(index, _)| index % 2 == 0);
    prose.map(|(_, text)| text).collect()
}

fn example_of<'a>(examples: &'a [Example], section: &str) -> Option<&'a Example> {
    examples.iter().find(|example| example.section == section)
}

#[test]
fn every_table_and_column_has_its_place_in_the_reference() {
    let mut databases = Databases::new();
    let conn = Connection::open(databases.of(&traces()[0])).unwrap();
    let text = page("reference.md");
    let (sections, examples) = (sections(&text), examples(&text));
    let mut tables = 0;
    for (kind, name) in
        pairs(&conn, "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    {
        if kind == "index" || kind == "trigger" {
            assert!(text.contains(&format!("`{name}`")), "the {kind} {name} is missing");
            continue;
        }
        tables += 1;
        // A table may have a second name, under which trace processor has it.
        let other = name.strip_prefix("__intrinsic_").filter(|_| !sections.contains_key(&name));
        let name = other.unwrap_or(&name);
        let section = sections.get(name);
        let section = without_blocks(section.unwrap_or_else(|| panic!("no section {name}")));
        for (column, _) in
            pairs(&conn, &format!("SELECT name, type FROM pragma_table_xinfo('{name}')"))
        {
            assert!(section.contains(&format!("`{column}`")), "{name}.{column} is missing");
        }
        let example = example_of(&examples, name);
        let example = example.unwrap_or_else(|| panic!("{name} has no example"));
        assert!(example.sql.contains(name), "the example of {name} is of something else");
    }
    assert!(tables >= 17);
}

#[test]
fn every_heading_of_a_table_or_function_is_in_the_list_at_the_top() {
    let text = page("reference.md");
    let (list, rest) = text.split_once("\n## ").unwrap();
    for part in rest.split("\n## ").filter(|part| !part.starts_with("Tables behind the views")) {
        for heading in part.split("\n### `").skip(1) {
            let name = heading.split('`').next().unwrap();
            assert!(list.contains(&format!("](#{name})")), "{name} is missing");
        }
    }
}

#[test]
fn every_type_of_counters_has_its_unit_in_the_reference() {
    let mut databases = Databases::new();
    let text = page("reference.md");
    let known = named(&sections(&text)["Types and units of counters"]);
    let mut found = BTreeSet::new();
    for trace in traces().iter().chain(&sets()) {
        let database = databases.of(trace);
        found.extend(csv(&database, "SELECT DISTINCT type FROM counter_track"));
    }
    let missing: Vec<_> = found.difference(&known).collect();
    assert!(found.len() > 15 && missing.is_empty(), "{missing:?}");
}

fn pairs(conn: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_function_has_its_place_in_the_reference() {
    let mut databases = Databases::new();
    let database = databases.of(&traces()[0]);
    let text = page("reference.md");
    let (sections, examples) = (sections(&text), examples(&text));

    let plain = Connection::open(&database).unwrap();
    let mut found = BTreeSet::new();
    for list in ["pragma_function_list", "pragma_module_list"] {
        let sqlite_has = pairs(&plain, &format!("SELECT name, '' FROM {list}"));
        let sqlite_has: BTreeSet<String> = sqlite_has.into_iter().map(|(name, _)| name).collect();
        for name in csv(&database, &format!("SELECT DISTINCT name FROM {list}")) {
            // A pragma's module is made when a query first uses it. Names with two underscores are
            // for Perfetto's modules, not for users.
            let is_for_modules = name.starts_with("__") || FOR_MODULES.contains(&name.as_str());
            let is_for_users = !name.starts_with("pragma_") && !is_for_modules;
            if !sqlite_has.contains(&name) && is_for_users {
                found.insert(name);
            }
        }
    }
    assert!(found.len() >= 18, "{found:?}");

    for name in &found {
        // Functions that differ only in a unit share a section.
        let is_signed = |text: &str| text.contains(&format!("\n    {name}("));
        let (heading, section) = sections
            .get_key_value(name)
            .or_else(|| sections.iter().find(|(_, text)| is_signed(text)))
            .unwrap_or_else(|| panic!("no section {name}"));
        let signatures: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("    ") && line.contains(&format!("{name}(")))
            .collect();
        assert!(!signatures.is_empty(), "{name} has no signature");
        let calls = |example: &Example, name: &str| example.sql.contains(&format!("{name}("));
        let (wrong, right): (Vec<&Example>, Vec<&Example>) = examples
            .iter()
            .filter(|example| example.section == *heading)
            .partition(|example| example.output.contains("timebase: error: "));
        assert!(right.iter().any(|example| calls(example, name)), "{name} has no example");
        let is_wrong = heading != name || wrong.iter().any(|example| calls(example, name));
        assert!(!wrong.is_empty() && is_wrong, "{name} has no example of a wrong use");

        // There are as many signatures as functions.
        let counts = csv(
            &database,
            &format!("SELECT DISTINCT narg FROM pragma_function_list WHERE name = '{name}'"),
        );
        let counts: BTreeSet<usize> = counts.iter().filter_map(|n| n.parse().ok()).collect();
        let documented = signatures.iter().map(|line| {
            let arguments = line.split(['(', ')']).nth(1).unwrap();
            arguments.split(',').filter(|name| !name.is_empty()).count()
        });
        let documented: BTreeSet<usize> = documented.collect();
        if !counts.is_empty() {
            assert_eq!(counts, documented, "{name}");
        }
    }

    // The arguments of a table-valued function, which are hidden columns.
    for (function, arguments) in
        [("clock_path", 7), ("clock_path_linear", 7), ("boottime_interval", 5)]
    {
        let columns = |hidden: u8| {
            let of = format!("pragma_table_xinfo('{function}')");
            csv(&database, &format!("SELECT name FROM {of} WHERE hidden = {hidden}"))
        };
        let section = &sections[function];
        let last = section.lines().rfind(|line| line.starts_with("    SELECT * FROM "));
        assert_eq!(columns(1).len(), arguments);
        for argument in columns(1) {
            assert!(last.unwrap().contains(&argument), "{function}: {argument}");
        }
        for column in columns(0) {
            assert!(
                without_blocks(section).contains(&format!("`{column}`")),
                "{function}.{column} is missing"
            );
        }
    }
    for (function, table) in [
        ("ancestor_slice", "slice"),
        ("descendant_slice", "slice"),
        ("following_flow", "flow"),
        ("preceding_flow", "flow"),
        ("directly_connected_flow", "flow"),
    ] {
        let columns =
            |of: &str| csv(&database, &format!("SELECT name FROM pragma_table_xinfo('{of}')"));
        let mut expected = columns(table);
        expected.push("start_id".into());
        assert_eq!(columns(function), expected, "{function}");
        assert!(sections[function].contains("`start_id`"), "{function}");
    }
}

/// The names in the first column of the tables of a section.
fn named(section: &str) -> BTreeSet<String> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" |").next());
    cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned()).collect()
}

/// The rows of a section's tables with this number of cells, by the name in the first cell.
fn cells_of<const CELLS: usize>(section: &str) -> BTreeMap<String, [String; CELLS]> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.map(|row| row.trim_end_matches(" |").split(" | ").map(str::to_owned));
    let rows = rows.filter_map(|cells| <[String; CELLS]>::try_from(cells.collect::<Vec<_>>()).ok());
    rows.map(|cells| (cells[0].trim_end_matches('`').to_owned(), cells)).collect()
}

/// The counters of a section, each with severity and source from its row.
fn meanings(section: &str) -> BTreeMap<String, String> {
    let rows = cells_of(section).into_iter();
    rows.map(|(name, [_, severity, source, _])| (name, format!("{severity} | {source}"))).collect()
}

/// A cell in the form of the database: without markup, and without notes about missing rows.
fn unmarked(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        let (words, behind) = link.split_once("](").unwrap();
        text += before;
        text += words;
        rest = behind.split_once(')').unwrap().1;
    }
    let text = (text + rest).replace('`', "");
    let notes = ["; missing at zero", "; missing if ", "; for each file and machine", "; idx is"];
    let end = notes.iter().filter_map(|note| text.find(note)).min();
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The descriptions of the counters in the sources, by their names.
fn descriptions() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in files("crates/import/src", &["rs"]) {
        let source = fs::read_to_string(path).unwrap();
        for severity in ["info", "notice", "data_loss", "error"] {
            let beginning = format!("Counter::{severity}(");
            for (at, _) in source.match_indices(&beginning) {
                let mut literals = source[at + beginning.len()..].split('"');
                let name = literals.nth(1).unwrap().to_owned();
                let description = literals.nth(1).unwrap();
                let lines = description.split("\\\n").map(str::trim_start);
                let description = lines.collect::<String>();
                let before = found.insert(name.clone(), description);
                assert_eq!(before, None, "{name} is counted in two places");
            }
        }
    }
    found
}

#[test]
fn every_counter_is_described_as_in_the_reference() {
    let sections = sections(&page("reference.md"));
    let stats: BTreeMap<String, [String; 4]> = cells_of(&sections["stats"]);
    let log: BTreeMap<String, [String; 3]> = cells_of(&sections["import_log"]);
    let described = descriptions();
    assert!(described.len() >= 200, "{}", described.len());
    for (name, description) in &described {
        let told = unmarked(&stats[name][3]);
        let told = match told == "as import_log says" {
            true => unmarked(&log[name][2]),
            false => told,
        };
        assert_eq!(&told, description, "{name}");
    }
    let mut databases = Databases::new();
    for trace in traces() {
        let database = databases.of(&trace);
        for row in csv(&database, "SELECT name || '=' || description FROM stats") {
            let (name, told) = row.trim_matches('"').split_once('=').unwrap();
            match described.get(name) {
                Some(description) => assert_eq!(told, description, "{name}"),
                // A table with events, or things without a time.
                None => assert!(
                    told.ends_with(&format!(" in {name}")) || told.contains(" without a ts: "),
                    "{name}: {told}"
                ),
            }
        }
    }
}

#[test]
fn every_reason_has_its_place_in_the_reference() {
    let sections = sections(&page("reference.md"));
    let named = named(&sections["Why a time is unresolved"]);
    assert_eq!(named, REASONS.map(str::to_owned).into());
    for reason in REASONS {
        assert_eq!(Unresolved::from_code(reason).unwrap().code(), reason);
    }
}

/// The first string literal after each of these beginnings in the sources: all codes that an import
/// can write, even if no trace here makes it.
fn literals_after(beginnings: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files("crates", &["rs"]) {
        let source = fs::read_to_string(path).unwrap();
        for beginning in beginnings {
            for (_, rest) in
                source.match_indices(beginning).map(|(at, _)| source.split_at(at + beginning.len()))
            {
                let call: String = rest.chars().take(120).take_while(|c| *c != ';').collect();
                // A literal that is not closed here is cut.
                let mut parts = call.split('"').skip(1);
                let literal = parts.next().filter(|_| parts.next().is_some());
                let literal = literal.unwrap_or_default();
                let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                if !literal.is_empty() && literal.chars().all(is_name) {
                    found.insert(literal.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn every_code_of_the_log_has_its_place_in_the_reference() {
    let named = named(&sections(&page("reference.md"))["import_log"]);
    let mut codes = literals_after(&["code: ", "Rejected::NoClockId =>"]);
    codes.extend(literals_after(&[
        "Severity::Warning, ",
        "Severity::Error, ",
        "let code = ",
        "let (code, offset) = ",
        "let (code, text) = ",
        "Fault::new(",
        "counters::PAYLOADS_CORRUPT, ",
        "counters::PAYLOADS_TOO_LARGE, ",
    ]));
    codes.extend(
        literals_after(&["{ .. } => ", "Rejected::TooMany => "])
            .into_iter()
            .filter(|code| code.starts_with("snapshot_")),
    );
    codes.extend(literals_after(&["said(", "say("]).into_iter().filter(|code| code.contains('_')));
    codes.extend(
        literals_after(&["Severity::Info, "]).into_iter().filter(|code| code.contains('_')),
    );
    codes.extend(literals_after(&["_ERROR: error = ", "_ERROR: info = "]));
    // A statement writes this one.
    codes.insert("snapshot_of_zeros".to_owned());
    assert!(codes.len() >= 19, "{codes:?}");
    let missing: Vec<&String> = codes.difference(&named).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let columns = [
        "id",
        "severity",
        "code",
        "packet_id",
        "offset",
        "size",
        "message",
        "trace_file_id",
        "machine_id",
    ];
    let gone: Vec<&String> =
        named.difference(&codes).filter(|name| !columns.contains(&name.as_str())).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn every_counter_and_fact_has_its_place_in_the_reference() {
    let sections = sections(&page("reference.md"));
    let with_reasons = |name: &String| match name.strip_suffix("<reason>") {
        Some(begin) => REASONS.map(|reason| format!("{begin}{reason}")).to_vec(),
        None => vec![name.clone()],
    };
    let stats: BTreeMap<String, String> = meanings(&sections["stats"])
        .iter()
        .flat_map(|(name, told)| {
            let named = with_reasons(name).into_iter();
            named.map(|name| match name.ends_with("_incremental_state_lost") {
                true => (name, told.replace("error", "data_loss")),
                false => (name, told.clone()),
            })
        })
        .collect();
    let metadata = named(&sections["metadata"]);
    let mut databases = Databases::new();
    for trace in traces() {
        let database = databases.of(&trace);
        for row in csv(&database, "SELECT name, severity || ' | ' || source FROM stats") {
            let (name, meaning) = row.split_once(',').unwrap();
            let told = stats.get(name);
            let told = told.unwrap_or_else(|| panic!("the counter {name} is missing"));
            assert_eq!(told, meaning, "{name}");
        }
        for name in csv(&database, "SELECT name FROM metadata") {
            assert!(metadata.contains(&name), "metadata {name} is missing");
        }
        for code in csv(&database, "SELECT code FROM import_log") {
            assert!(named(&sections["import_log"]).contains(&code), "the code {code} is missing");
        }
    }
    for (constructor, severity) in [
        ("Counter::info(", "info"),
        ("Counter::data_loss(", "data_loss"),
        ("Counter::error(", "error"),
    ] {
        for name in literals_after(&[constructor]) {
            let told = stats.get(&name);
            let told = told.unwrap_or_else(|| panic!("the counter {name} is missing"));
            assert!(told.starts_with(severity), "{name}: {told}");
        }
    }
}

/// All pages for people, by their paths from the root of the repository.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for directory in ["", "docs", "docs/rules"] {
        for entry in fs::read_dir(repository().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() >= 10, "{pages:?}");
    pages
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let mut broken = Vec::new();
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        let links = text.split("](").skip(1);
        let links = links.filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("https:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => path.with_file_name(file),
            };
            if !target.exists() || !(anchor.is_empty() || has_anchor(&target, anchor)) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn has_anchor(page: &Path, anchor: &str) -> bool {
    let sections = sections(&fs::read_to_string(page).unwrap());
    sections.into_keys().any(|title| title.to_lowercase().replace(' ', "-") == anchor)
}

/// The output of `sqlite3 -header -column`.
fn as_columns(statement: &mut Statement<'_>) -> String {
    let names = statement.column_names();
    let mut table: Vec<Vec<String>> = vec![names.into_iter().map(str::to_owned).collect()];
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let values = (0..count).map(|index| match row.get_ref(index).unwrap() {
            ValueRef::Null => String::new(),
            ValueRef::Integer(value) => value.to_string(),
            ValueRef::Real(value) => format!("{value:?}"),
            ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("no example shows {other:?}"),
        });
        table.push(values.collect());
    }
    if table.len() == 1 {
        return String::new();
    }
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..count).filter_map(width).collect();
    table.insert(1, widths.iter().map(|&width| "-".repeat(width)).collect());
    let lines = table.iter().map(|row| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs statements without any function of timebase's.
fn plain(conn: &Connection, sql: &str) -> String {
    let mut printed = String::new();
    let mut statements = rusqlite::Batch::new(conn, sql);
    while let Some(mut statement) = statements.next().unwrap() {
        if statement.column_count() == 0 {
            statement.execute([]).unwrap();
        } else {
            writeln!(printed, "{}", as_columns(&mut statement)).unwrap();
        }
    }
    printed
}

#[test]
fn every_example_of_plain_sql_prints_what_is_shown() {
    let mut databases = Databases::new();
    let examples = examples(&page("plain-sql.md"));
    assert!(examples.len() >= 7);
    for example in examples {
        let conn = Connection::open(databases.copy_of(&example.trace)).unwrap();
        let printed = trimmed(&plain(&conn, &example.sql));
        is_shown("docs/plain-sql.md", &example.sql, &printed, &trimmed(&example.output));
    }
}

/// A trace of readings that need more than the 53 bits of a float, on a clock with a unit, and of
/// readings whose sum or product does not fit 64 bits.
fn large_trace() -> Vec<u8> {
    let now = 1_700_000_000_000_000_001;
    let readings = |at: u64| {
        [(6, now + 7 * at, 1), (3, 1 + 5 * at, 1), (1, now + 9 * at, 1), (200, 100 + at, 50)]
            .map(|(id, timestamp, unit)| Reading { id, timestamp, unit, ..Reading::default() })
    };
    let mut packets: Vec<Packet> = (0..5)
        .map(|at| Packet {
            seq: 1,
            clock_snapshot: Some(ClockSnapshot { clocks: readings(at).to_vec(), primary: None }),
            ..Packet::default()
        })
        .collect();
    let used = [
        (6, now + 2),
        (6, now + 1_000_000_007),
        (3, 0),
        (3, 7),
        (3, 1 << 62),
        (3, (1 << 63) - 2),
        (3, 1 << 63),
        (200, 103),
        (200, 1 << 60),
        (201, 5),
        (70, 5),
    ];
    packets.extend(used.map(|(clock, timestamp)| Packet {
        timestamp: Some(timestamp),
        timestamp_clock_id: Some(clock),
        seq: 2,
        payload: Some((11, Vec::new())),
        ..Packet::default()
    }));
    encode::trace(&packets)
}

#[test]
fn plain_sql_says_what_the_functions_say() {
    let examples = examples(&page("plain-sql.md"));
    let views = ["packet_boottime", "packet_wall_clock"].map(|view| {
        let make = format!("CREATE TEMP VIEW {view} AS");
        let example = examples.iter().find(|example| example.sql.contains(&make));
        example.unwrap().sql.clone()
    });
    let mut databases = Databases::new();
    let large = databases.place.write("large.pftrace", &large_trace());
    let mut compared = [0; 2];
    for trace in traces().into_iter().chain(sets()).chain([large]) {
        let database = databases.of(&trace);
        let conn = Connection::open(&database).unwrap();
        for view in &views {
            conn.execute_batch(view).unwrap();
        }
        for (index, (sql, expected)) in [
            (
                "SELECT id, boottime FROM packet_boottime ORDER BY id",
                "SELECT id, to_boottime(clock_id, seq_id, clock_ts, machine_id, trace_file_id) FROM packet ORDER BY id",
            ),
            (
                "SELECT id, realtime || ' ' || abs_time FROM packet_wall_clock ORDER BY id",
                "SELECT id, to_realtime(ts) || ' ' || abs_time_str(ts) FROM packet \
                 WHERE abs_time_str(ts) IS NOT NULL ORDER BY id",
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let mut statement = conn.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| {
                let value = match row.get_ref(1)? {
                    ValueRef::Null => String::new(),
                    ValueRef::Integer(value) => value.to_string(),
                    ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                };
                Ok(format!("{},{value}", row.get::<_, i64>(0)?))
            });
            let found: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
            assert_eq!(found, csv(&database, expected), "{} {sql}", trace.display());
            compared[index] += found.len();
        }
    }
    assert!(compared[0] > 5000 && compared[1] > 4000, "{compared:?}");
}
