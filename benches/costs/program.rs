//! The program itself: imports of any number of files, and exports.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use crate::Result;
use crate::child::{Cost, in_bytes, number};
use crate::imports::remove;

/// The program that was built with this benchmark.
const PROGRAM: &str = env!("CARGO_BIN_EXE_timebase");

/// Imports files like a user.
pub fn import(inputs: &[PathBuf], database: &Path) -> Result<Cost> {
    remove(database)?;
    let inputs = inputs.iter().map(|input| input.as_os_str());
    let arguments = [OsStr::new("import")].into_iter().chain(inputs);
    cost(arguments.chain([OsStr::new("-o"), database.as_os_str()]))
}

/// Runs the program with these arguments.
pub fn cost<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> Result<Cost> {
    let arguments: Vec<&OsStr> = arguments.collect();
    // A process of this program is in between and does nothing else: the system reports the memory
    // of its only child, starting with the value of the parent.
    let output =
        Command::new(std::env::current_exe()?).arg("--program").args(&arguments).output()?;
    let failed = |said: &str| format!("timebase {} failed: {said}", named(&arguments));
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    if let Some(said) = told.get("error").and_then(Value::as_str) {
        return Err(failed(said).into());
    }
    Ok(Cost {
        time: Duration::from_nanos(number(&told, "ns")?),
        peak_memory: number(&told, "peak_memory")?,
    })
}

/// The arguments, if there are few.
fn named(arguments: &[&OsStr]) -> String {
    let words = arguments.iter().take(8).map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// The work of that process.
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
