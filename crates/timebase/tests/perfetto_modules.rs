//! Perfetto's standard library on a recorded trace, with a checkout of Perfetto: the variable
//! TIMEBASE_PERFETTO names its directory. Without one, these tests are left out, and say so.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use timebase::Import;
use timebase_sql::perfetto::{self, Declared, DeclaredKind, Packages};

/// The modules that wait for something, and the beginning of the reason.
const WAITING: &[(&str, &str)] = &[];

/// The modules that need a newer SQLite than timebase does, and its version. tests/python loads all
/// modules in Python's SQLite.
const NEWER: &[(&str, &str)] =
    &[("chrome.scroll_jank_tagging", "3.44"), ("export.to_firefox_profile", "3.44")];

/// The page with the table of the modules.
const PAGE: &str = "../../docs/perfettosql.md";

/// The head of the table, and the sentence before it, which the test writes, too.
const HEAD: &str = "| package | modules | tables that are empty |\n|---|---|---|\n";

/// The traces on which every module is run: from the system, and from an app.
const TRACES: [&str; 2] = ["desktop", "app"];

/// The folder of the standard library.
fn library() -> Option<PathBuf> {
    let Some(checkout) = std::env::var_os("TIMEBASE_PERFETTO") else {
        eprintln!("left out: TIMEBASE_PERFETTO does not name a checkout of Perfetto");
        return None;
    };
    Some(Path::new(&checkout).join("src/trace_processor/perfetto_sql/stdlib"))
}

fn modules(folder: &Path, name: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = match name {
            "" => stem,
            name => format!("{name}.{stem}"),
        };
        if path.is_dir() {
            modules(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            found.insert(inner);
        }
    }
}

/// Bytes of a message: a number, or a field of bytes.
fn number(field: u64, value: u64, to: &mut Vec<u8>) {
    for mut number in [field << 3, value] {
        while number >= 0x80 {
            to.push(number as u8 | 0x80);
            number >>= 7;
        }
        to.push(number as u8);
    }
}

fn bytes(field: u64, content: &[u8], to: &mut Vec<u8>) {
    number(field, content.len() as u64, to);
    // The same field, but of the kind that has a length.
    let tag = to.len() - length(content.len() as u64) - length(field << 3);
    to[tag] |= 2;
    to.extend_from_slice(content);
}

fn length(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

/// A trace with `count` slices on eight threads, as Chrome writes them: tasks with messages in them.
fn tasks_of_chrome(count: u64) -> Vec<u8> {
    const NAMES: [&str; 4] = [
        "ThreadControllerImpl::RunTask",
        "Receive mojo message",
        "Toolbar.draw",
        "Connector::DispatchMessage",
    ];
    let mut trace = Vec::new();
    let mut packet = |sequence: u64, ts: u64, fields: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = Vec::new();
        number(8, ts, &mut packet);
        number(10, sequence, &mut packet);
        fields(&mut packet);
        bytes(1, &packet, &mut trace);
    };
    for thread in 1..=8 {
        packet(thread, 1, &|to| {
            let mut names = Vec::new();
            for (name, iid) in NAMES.iter().zip(1..) {
                let mut interned = Vec::new();
                number(1, iid, &mut interned);
                bytes(2, name.as_bytes(), &mut interned);
                bytes(2, &interned, &mut names);
            }
            bytes(12, &names, to);
            let (mut track, mut owner) = (Vec::new(), Vec::new());
            number(1, thread, &mut track);
            number(1, 100, &mut owner);
            number(2, 100 + thread, &mut owner);
            bytes(4, &owner, &mut track);
            bytes(60, &track, to);
            number(13, 1, to);
        });
    }
    for slice in 0..count / 2 {
        let (thread, ts) = (slice % 8 + 1, 10 + 10 * slice);
        let events = [(1, 1, "toplevel"), (1, slice % 4 + 1, "Java"), (2, 0, ""), (2, 0, "")];
        for ((kind, name, category), ts) in events.into_iter().zip(ts..) {
            packet(thread, ts, &|to| {
                let mut event = Vec::new();
                number(9, kind, &mut event);
                number(11, thread, &mut event);
                if kind == 1 {
                    number(10, name, &mut event);
                    bytes(22, category.as_bytes(), &mut event);
                }
                bytes(11, &event, to);
                number(13, 2, to);
            });
        }
    }
    trace
}

#[test]
fn pq2_every_module_of_perfettos_library_loads_or_waits_for_a_named_table() {
    let Some(library) = library() else { return };
    let mut all = BTreeSet::new();
    modules(&library, "", &mut all);
    assert!(all.len() > 200, "{}", all.len());
    for trace in ["desktop", "app", "sdk", "system"] {
        let path = format!("../../tests/data/{trace}.pftrace");
        let wrong = refused(&library, &all, Import::new(path));
        assert!(wrong.is_empty(), "{trace}: {wrong:#?}");
    }
    let trace = tasks_of_chrome(100_000);
    let wrong = refused(&library, &all, Import::from_reader(std::io::Cursor::new(trace)));
    assert!(wrong.is_empty(), "100,000 slices: {wrong:#?}");
}

/// The modules that do not load although they should, or load although they wait.
fn refused(library: &Path, all: &BTreeSet<String>, trace: Import<'_>) -> Vec<String> {
    let mut packages = Packages::default();
    packages.add(library.to_str().unwrap()).unwrap();
    let mut conn = Connection::open_in_memory().unwrap();
    trace.into_connection(&mut conn).unwrap();
    timebase::sql::register(&conn).unwrap();
    let mut wrong = Vec::new();
    for module in all {
        let script = format!("INCLUDE PERFETTO MODULE {module}");
        let included = perfetto::run(&conn, &script, &packages).map(|_| ());
        let waits = WAITING.iter().find(|(waiting, _)| waiting == module);
        match (included, waits) {
            (Ok(()), None) => {}
            (Err(error), Some((_, reason))) if error.message().contains(reason) => {}
            (included, _) => wrong.push(format!("{module}: {included:?}")),
        }
    }
    wrong
}

/// The statements that use what a module declares: each table and view is read to its end, and each function is
/// called once. Macros have no statement of their own; the module's other objects use them.
fn uses(object: &Declared) -> Option<String> {
    let argument = |declared: &str| match declared.split('(').next().unwrap_or_default() {
        "STRING" => "'a'",
        "DOUBLE" | "FLOAT" => "1.5",
        "BYTES" | "PROTO" => "x'00'",
        "TIMESTAMP" => "(SELECT start_ts FROM trace_bounds)",
        "DURATION" => "1000000",
        _ => "1",
    };
    let arguments = object.arguments.iter();
    let arguments = arguments.map(|name| argument(&name.declared.to_ascii_uppercase()));
    let call = format!("{}({})", object.name, arguments.collect::<Vec<_>>().join(", "));
    match object.kind {
        DeclaredKind::Table | DeclaredKind::View => Some(format!("SELECT * FROM {}", object.name)),
        DeclaredKind::Function if object.returns.eq_ignore_ascii_case("TABLE") => {
            Some(format!("SELECT * FROM {call}"))
        }
        DeclaredKind::Function => Some(format!("SELECT {call}")),
        _ => None,
    }
}

/// The first use of each module that fails, by the module.
fn failures(library: &Path, all: &BTreeSet<String>, trace: &str) -> BTreeMap<String, String> {
    let mut packages = Packages::default();
    packages.add(library.to_str().unwrap()).unwrap();
    let mut conn = Connection::open_in_memory().unwrap();
    let path = format!("../../tests/data/{trace}.pftrace");
    Import::new(path).into_connection(&mut conn).unwrap();
    timebase::sql::register(&conn).unwrap();
    let mut failures = BTreeMap::new();
    for module in all {
        let mut statements = vec![format!("INCLUDE PERFETTO MODULE {module}")];
        let declared = packages.declared(module).unwrap().unwrap();
        statements.extend(declared.iter().filter_map(uses));
        let failed = statements.iter().find_map(|statement| {
            let error = run_to_the_end(&conn, statement, &packages).err()?;
            Some(format!("{statement}: {error}"))
        });
        if let Some(failed) = failed {
            failures.insert(module.clone(), failed);
        }
    }
    failures
}

fn run_to_the_end(conn: &Connection, sql: &str, packages: &Packages) -> Result<(), String> {
    let statement = perfetto::run(conn, sql, packages).map_err(|error| error.to_string())?;
    if let Some(mut statement) = statement {
        let mut rows = statement.raw_query();
        while rows.next().map_err(|error| error.to_string())?.is_some() {}
    }
    Ok(())
}

/// An action that SQLite compiles.
enum Compiled {
    /// A table or view is read.
    Read(String),
    /// A function is called.
    Called(String),
    /// A table, view, or function with rows is made.
    Made(String),
}

/// The tables that modules read and timebase does not fill, by the actions that SQLite compiles for them: a
/// table also counts if it was made from an empty one, and a function if its body reads one.
struct Survey<'l> {
    library: &'l Path,
    conn: Connection,
    packages: Packages,
    compiled: Arc<Mutex<Vec<Compiled>>>,
    unread: BTreeSet<String>,
    /// The empty tables of each table, view and function.
    of_object: BTreeMap<String, BTreeSet<String>>,
    of_module: BTreeMap<String, BTreeSet<String>>,
}

impl<'l> Survey<'l> {
    fn new(library: &'l Path) -> Survey<'l> {
        let mut conn = Connection::open_in_memory().unwrap();
        let trace = Import::new("../../tests/data/desktop.pftrace");
        trace.into_connection(&mut conn).unwrap();
        timebase::sql::register(&conn).unwrap();
        let mut packages = Packages::default();
        packages.add(library.to_str().unwrap()).unwrap();
        let compiled: Arc<Mutex<Vec<Compiled>>> = Arc::default();
        let seen = Arc::clone(&compiled);
        let authorize = move |context: AuthContext<'_>| {
            let what = match context.action {
                AuthAction::Read { table_name, .. } => Compiled::Read(table_name.to_owned()),
                AuthAction::Function { function_name } => {
                    Compiled::Called(function_name.to_owned())
                }
                // With the schema's name in front of its name.
                AuthAction::CreateTable { table_name } => Compiled::Made(table_name.to_owned()),
                AuthAction::CreateTempTable { table_name } => Compiled::Made(table_name.to_owned()),
                AuthAction::CreateTempView { view_name } => Compiled::Made(view_name.to_owned()),
                AuthAction::CreateVtable { table_name, .. } => {
                    Compiled::Made(table_name.to_owned())
                }
                _ => return Authorization::Allow,
            };
            seen.lock().unwrap().push(what);
            Authorization::Allow
        };
        conn.authorizer(Some(authorize)).unwrap();
        let mut survey = Survey {
            library,
            conn,
            packages,
            compiled,
            unread: BTreeSet::new(),
            of_object: BTreeMap::new(),
            of_module: BTreeMap::new(),
        };
        // The first module makes the prelude.
        survey.run("INCLUDE PERFETTO MODULE prelude.before_eof.tables");
        survey.run("INCLUDE PERFETTO MODULE slices.with_context");
        let unread = "SELECT name FROM sqlite_temp_schema WHERE sql LIKE '%USING \\_\\_timebase\\_unread(%' ESCAPE '\\'";
        survey.unread = survey.names(unread);
        survey.compiled.lock().unwrap().clear();
        survey
    }

    fn run(&self, script: &str) {
        perfetto::run(&self.conn, script, &self.packages).unwrap();
    }

    fn names(&self, sql: &str) -> BTreeSet<String> {
        let mut statement = self.conn.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    }

    /// Includes a module after those that it includes.
    fn include(&mut self, module: &str) {
        if self.of_module.contains_key(module) {
            return;
        }
        self.of_module.insert(module.to_owned(), BTreeSet::new());
        let file = self.library.join(module.replace('.', "/"));
        let text = std::fs::read_to_string(file.with_extension("sql")).unwrap();
        for line in text.lines() {
            if let Some(other) = line.strip_prefix("INCLUDE PERFETTO MODULE ") {
                self.include(other.trim().trim_end_matches(';'));
            }
        }
        let functions = "SELECT DISTINCT name FROM pragma_function_list";
        let before = self.names(functions);
        self.compiled.lock().unwrap().clear();
        self.run(&format!("INCLUDE PERFETTO MODULE {module}"));
        let compiled = std::mem::take(&mut *self.compiled.lock().unwrap());
        let mut of_module = BTreeSet::new();
        let mut of_object = BTreeSet::new();
        for what in compiled {
            match what {
                Compiled::Read(name) if self.unread.contains(&name) => {
                    of_object.insert(name);
                }
                Compiled::Read(name) | Compiled::Called(name) => {
                    of_object.extend(self.of_object.get(&name).into_iter().flatten().cloned());
                }
                Compiled::Made(name) => {
                    of_module.extend(of_object.iter().cloned());
                    // A table with other types than its first rows is made twice.
                    let made = self.of_object.entry(name).or_default();
                    made.append(&mut of_object);
                }
            }
        }
        of_module.extend(of_object);
        for function in self.names(functions).difference(&before) {
            self.of_object.insert(function.clone(), of_module.clone());
        }
        self.of_module.insert(module.to_owned(), of_module);
    }

    /// The table of the page: the modules of a package that read no empty table, then the others.
    fn table(&self) -> String {
        let mut rows: BTreeMap<(&str, usize, String), Vec<String>> = BTreeMap::new();
        for (module, empty) in &self.of_module {
            let (package, name) = module.split_once('.').unwrap();
            if package == "prelude" {
                continue;
            }
            let newer = NEWER.iter().find(|(newer, _)| newer == module);
            let newer =
                newer.map_or_else(String::new, |(_, version)| format!(" (SQLite {version})"));
            let tables = empty.iter().map(|name| {
                let name = name.trim_start_matches('_');
                format!("`{}`", name.strip_prefix("intrinsic_").unwrap_or(name))
            });
            let tables: Vec<String> = tables.collect();
            rows.entry((package, tables.len(), tables.join(", ")))
                .or_default()
                .push(format!("`{name}`{newer}"));
        }
        let mut table = HEAD.to_owned();
        for ((package, _, tables), modules) in rows {
            let tables = if tables.is_empty() { "–" } else { &tables };
            writeln!(table, "| `{package}` | {} | {tables} |", modules.join(", ")).unwrap();
        }
        table
    }
}

/// The sentences before the table: how many modules run, and which do not.
fn told(all: &BTreeSet<String>, failures: &BTreeMap<String, String>) -> String {
    let counted = all.iter().filter(|module| !module.starts_with("prelude.")).count();
    let mut told = format!(
        "Of {counted} modules, {} run: a test includes each, reads its tables and views to the end, and calls its functions, on {} and {}.\n",
        counted - failures.len(),
        TRACES[0],
        TRACES[1]
    );
    for (module, why) in failures {
        let why = why.lines().next().unwrap_or_default();
        writeln!(told, "`{module}` does not: {why}.").unwrap();
    }
    told
}

/// `TIMEBASE_WRITE=1` writes the table again.
#[test]
fn the_table_of_the_modules_says_which_run_and_which_tables_are_empty() {
    let Some(library) = library() else { return };
    let mut all = BTreeSet::new();
    modules(&library, "", &mut all);
    let mut failing = BTreeMap::new();
    for trace in TRACES {
        failing.extend(failures(&library, &all, trace));
    }
    eprintln!("{failing:#?}");
    let mut survey = Survey::new(&library);
    for module in &all {
        survey.include(module);
    }
    let table = format!("{}\n{}", told(&all, &failing), survey.table());
    let page = std::fs::read_to_string(PAGE).unwrap().replace("\r\n", "\n");
    let (before, rest) = page.split_once(HEAD).unwrap();
    // The paragraph before the table is the test's.
    let start = before.trim_end().rfind("\n\n").map_or(0, |end| end + 2);
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    let page_now = format!("{}{table}{}", &before[..start], &rest[end..]);
    if std::env::var_os("TIMEBASE_WRITE").is_some() {
        std::fs::write(PAGE, page_now).unwrap();
        return;
    }
    assert!(
        page == page_now,
        "docs/perfettosql.md has another table of modules; TIMEBASE_WRITE=1 writes it again:\n{table}"
    );
}
