//! Imports in a separate process, to measure its memory alone.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use timebase_import::{Monitor, Options, Source};

use crate::Result;
use crate::imports::remove;
use crate::traces::Trace;

/// The cost of an import.
pub struct Cost {
    pub time: Duration,
    /// In bytes.
    pub peak_memory: u64,
}

/// An import that may fail.
pub struct Attempt {
    pub cost: Cost,
    /// The message of a failure.
    pub error: Option<String>,
}

/// Imports anything in a child.
pub fn attempt(trace: &Path, database: &Path) -> Result<Attempt> {
    remove(database)?;
    let told = child(trace, database)?;
    let number = |name| number(&told, name);
    let error = told.get("error").and_then(Value::as_str);
    Ok(Attempt {
        cost: Cost {
            time: Duration::from_nanos(number("ns")?),
            peak_memory: number("peak_memory")?,
        },
        error: error.map(str::to_owned),
    })
}

/// Imports a trace in a child.
pub fn import_in_child(trace: &Trace, database: &Path) -> Result<Cost> {
    remove(database)?;
    let told = child(&trace.path, database)?;
    if let Some(error) = told.get("error") {
        return Err(format!("the import of {} failed: {error}", trace.path.display()).into());
    }
    let number = |name| number(&told, name);
    if let Some(made) = &trace.made {
        assert_eq!(number("packets")?, made.packets, "packets");
    }
    Ok(Cost { time: Duration::from_nanos(number("ns")?), peak_memory: number("peak_memory")? })
}

/// The output of a child.
fn child(trace: &Path, path: &Path) -> Result<Value> {
    let output =
        Command::new(std::env::current_exe()?).arg("--child").args([trace, path]).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the import of {} failed: {said}", trace.display()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A number in the output.
pub fn number(told: &Value, name: &str) -> Result<u64> {
    let number = told.get(name).and_then(Value::as_u64);
    number.ok_or_else(|| format!("the child says no '{name}'").into())
}

/// The work of the importing child.
pub fn import(trace: &Path, database: &Path) -> Result<()> {
    let source = Source::File(trace.into());
    let begun = Instant::now();
    let imported =
        timebase_import::import(&[source], database, &Options::default(), &Monitor::default());
    let mut cost = json!({
        "ns": begun.elapsed().as_nanos() as u64,
        "peak_memory": peak_memory()?,
    });
    match imported {
        Ok(summary) => cost["packets"] = summary.packets.into(),
        Err(error) => cost["error"] = error.to_string().into(),
    }
    println!("{cost}");
    Ok(())
}

/// The peak memory of this process, in bytes.
fn peak_memory() -> Result<u64> {
    // Linux's `getrusage` starts with the value of the parent.
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
        return Ok(kilobytes.ok_or("no VmHWM")?.parse::<u64>()? << 10);
    }
    in_bytes(getrusage(UsageWho::RUSAGE_SELF)?.max_rss())
}

/// The memory that the system reports.
pub fn in_bytes(max_rss: i64) -> Result<u64> {
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1 << 10 };
    Ok(u64::try_from(max_rss)? * unit)
}
