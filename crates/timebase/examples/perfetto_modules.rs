//! Includes each module of a folder in a database, and lists those that fail.
//!
//! ```text
//! cargo run --example perfetto_modules -- DATABASE perfetto/src/trace_processor/perfetto_sql/stdlib [MODULE...]
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use timebase_sql::perfetto::{self, Packages};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: perfetto_modules DATABASE FOLDER [MODULE...]";
    let (database, folder) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    let mut modules: BTreeSet<String> = arguments.collect();
    if modules.is_empty() {
        collect(Path::new(&folder), "", &mut modules)?;
    }
    let conn = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    timebase::sql::register(&conn)?;
    let mut packages = Packages::default();
    packages.add(&folder)?;
    let mut failed = 0;
    for module in &modules {
        let start = Instant::now();
        let script = format!("INCLUDE PERFETTO MODULE {module}");
        let included = perfetto::run(&conn, &script, &packages).map(|_| ());
        let took = start.elapsed();
        if took.as_millis() > 200 {
            println!("slow    {module}: {took:?}");
        }
        if let Err(error) = included {
            failed += 1;
            println!("failed  {module}: {error}\n");
        }
    }
    println!("{} of {} modules failed", failed, modules.len());
    Ok(())
}

fn collect(folder: &Path, name: &str, modules: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let inner = match name {
            "" => stem.to_string(),
            name => format!("{name}.{stem}"),
        };
        if path.is_dir() {
            collect(&path, &inner, modules)?;
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            modules.insert(inner);
        }
    }
    Ok(())
}
