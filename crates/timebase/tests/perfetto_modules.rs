//! Perfetto's standard library on a recorded trace, with a checkout of Perfetto: the variable
//! TIMEBASE_PERFETTO names its directory. Without one, these tests are left out, and say so.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase::Import;
use timebase_sql::perfetto::{self, Packages};

/// The modules that wait for something, and the beginning of the reason.
const WAITING: &[(&str, &str)] = &[];

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

#[test]
fn pq2_every_module_of_perfettos_library_loads_or_waits_for_a_named_table() {
    let Some(library) = library() else { return };
    let mut all = BTreeSet::new();
    modules(&library, "", &mut all);
    assert!(all.len() > 200, "{}", all.len());
    let mut packages = Packages::default();
    packages.add(library.to_str().unwrap()).unwrap();
    for trace in ["desktop", "app", "sdk", "system"] {
        let mut conn = Connection::open_in_memory().unwrap();
        let path = format!("../../tests/data/{trace}.pftrace");
        Import::new(path).into_connection(&mut conn).unwrap();
        timebase::sql::register(&conn).unwrap();
        let mut wrong = Vec::new();
        for module in &all {
            let script = format!("INCLUDE PERFETTO MODULE {module}");
            let included = perfetto::run(&conn, &script, &packages).map(|_| ());
            let waits = WAITING.iter().find(|(waiting, _)| waiting == module);
            match (included, waits) {
                (Ok(()), None) => {}
                (Err(error), Some((_, reason))) if error.message().contains(reason) => {}
                (included, _) => wrong.push(format!("{module}: {included:?}")),
            }
        }
        assert!(wrong.is_empty(), "{trace}: {wrong:#?}");
    }
}
