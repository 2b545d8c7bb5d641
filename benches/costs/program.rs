//! Imports by the program itself, with any number of files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use crate::Result;
use crate::child::{Cost, in_bytes, number};
use crate::imports::remove;

/// The program that this benchmark was built with.
const PROGRAM: &str = env!("CARGO_BIN_EXE_timebase");

/// Imports files as a user does.
pub fn import(inputs: &[PathBuf], database: &Path) -> Result<Cost> {
    remove(database)?;
    // Between the two there is a process of this program that does nothing else: what its only
    // child took is told by the system, and begins with what the parent had.
    let output = Command::new(std::env::current_exe()?)
        .arg("--program")
        .arg("import")
        .args(inputs)
        .arg("-o")
        .arg(database)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the import of {} failed: {said}", named(inputs)).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    if let Some(said) = told.get("error").and_then(Value::as_str) {
        return Err(format!("the import of {} failed: {said}", named(inputs)).into());
    }
    Ok(Cost {
        time: Duration::from_nanos(number(&told, "ns")?),
        peak_memory: number(&told, "peak_memory")?,
    })
}

fn named(inputs: &[PathBuf]) -> String {
    match inputs {
        [input] => input.display().to_string(),
        _ => format!("{} files", inputs.len()),
    }
}

/// What that process does.
pub fn run(arguments: &[OsString]) -> Result<()> {
    let begun = Instant::now();
    let output = Command::new(PROGRAM).args(arguments).output()?;
    let mut cost = json!({
        "ns": begun.elapsed().as_nanos() as u64,
        "peak_memory": in_bytes(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())?,
    });
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        cost["error"] = said.trim().trim_start_matches("timebase: error: ").into();
    }
    println!("{cost}");
    Ok(())
}
