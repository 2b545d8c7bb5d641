//! Watches a folder, and makes a database for each new trace: `cargo run -p timebase --example
//! watch -- folder`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io, thread, time::Duration};

use timebase::{Import, Summary};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder")?);
    loop {
        for (trace, imported) in import_new(&folder)? {
            match imported {
                Ok(summary) => println!("{}: {} packets", trace.display(), summary.packets),
                Err(error) => eprintln!("{error}"),
            }
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// Imports the traces that have no database yet. If a trace is still being written, the next round
/// tries it again.
fn import_new(folder: &Path) -> io::Result<Vec<(PathBuf, Result<Summary, timebase::Error>)>> {
    let mut imported = Vec::new();
    for entry in fs::read_dir(folder)? {
        let trace = entry?.path();
        let database = trace.with_extension("db");
        if trace.extension().is_some_and(|extension| extension == "pftrace") && !database.exists() {
            let result = Import::new(&trace).strict().into_file(&database);
            imported.push((trace, result));
        }
    }
    Ok(imported)
}

#[test]
fn each_trace_is_imported_once() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for name in ["nearest", "multihop"] {
        let name = format!("{name}.pftrace");
        fs::copy(Path::new("../../tests/data").join(&name), folder.path().join(&name))?;
    }
    let imported = import_new(folder.path())?;
    assert_eq!(imported.len(), 2);
    assert!(imported.iter().all(|(_, result)| result.is_ok()));
    assert!(import_new(folder.path())?.is_empty());
    Ok(())
}
