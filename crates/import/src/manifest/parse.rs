//! Parses a manifest, and checks its content (rules X31 to X35).

use crate::manifest::json::{Found, Object, Place, Refused};
use crate::manifest::types::{
    Align, AlignEntry, Attribute, Clock, ClockReference, Clocks, FileEntry, Machines, Manifest,
    TraceTimeEntry,
};

const NO_NAME: &str = "must be a string; it is one of REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE, \
                       MONOTONIC_RAW, BOOTTIME";

impl Manifest {
    /// Reads a manifest: UTF-8 JSON by RFC 8259. Unknown fields are ignored; of equal keys, the
    /// last counts.
    ///
    /// A text with a byte order mark is refused: in an archive, neither trace processor nor rule X3
    /// would recognize it as a manifest.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the text is no JSON, or breaks one of rules X31 to X35.
    pub fn parse(bytes: &[u8]) -> Result<Manifest, Refused> {
        let none = "the text must be a JSON object with the key \"perfetto_manifest\"";
        let whole = Found::whole(bytes)?.object(none)?;
        let mut manifest =
            whole.get("perfetto_manifest").ok_or_else(|| whole.place.refused(none))?;
        manifest.place = Place::default();
        let manifest = manifest.object("\"perfetto_manifest\" must be an object")?;

        version(&manifest)?;
        let trace_time = manifest.get("trace_time").map(trace_time).transpose()?;
        let mut files = Vec::new();
        if let Some(entries) = manifest.get("files") {
            for entry in entries.array("must be an array")? {
                files.push(file(entry)?);
            }
        }
        let attributes = manifest.get("attributes").map(attributes).transpose()?;
        let attributes = attributes.unwrap_or_default();
        let align = manifest.get("align").map(align).transpose()?.unwrap_or_default();
        Ok(Manifest { attributes, files, trace_time, align })
    }
}

fn version(manifest: &Object<'_>) -> Result<(), Refused> {
    let version = manifest.require("version", "is required: set \"version\": 1")?;
    match version.integer("must be the integer 1")? {
        Some(1) => Ok(()),
        _ => Err(version.place.refused("is not supported: only version 1 is, set \"version\": 1")),
    }
}

/// Reads `attributes` (rule X31).
fn attributes(found: Found<'_>) -> Result<Vec<(String, Attribute)>, Refused> {
    let object = found.object(
        "must be an object of strings and integers, such as \"attributes\": {\"benchmark\": \"startup\"}",
    )?;
    let mut attributes = Vec::new();
    for (key, value) in object.entries() {
        if key.is_empty() {
            return Err(object.place.refused("has an empty key"));
        }
        let what = "must be a string or an integer";
        let attribute = match value.is_string() {
            true => Attribute::Text(value.string(what)?),
            false => Attribute::Integer(integer_64(&value, what)?),
        };
        attributes.push((key.to_owned(), attribute));
    }
    Ok(attributes)
}

fn integer_64(value: &Found<'_>, what: &str) -> Result<i64, Refused> {
    let integer = value.integer(what)?;
    let integer = integer.and_then(|integer| i64::try_from(integer).ok());
    integer.ok_or_else(|| {
        let (least, most) = (i64::MIN, i64::MAX);
        value.place.refused(format_args!("must be from {least} to {most}"))
    })
}

fn file(found: Found<'_>) -> Result<FileEntry, Refused> {
    let what = "must be an object, such as {\"path\": \"trace.pftrace\"}";
    let object = found.object(what)?;
    let path = "is required: a string, the exact name of the file in the archive";
    let path = object.require("path", path)?.string(path)?;
    let clocks = object.get("clocks").map(clocks).transpose()?;
    let default_clock = object.get("default_clock");
    let default_clock = default_clock.map(|found| {
        let is_pinned = clocks.as_ref().is_some_and(|clocks| clocks.clock.is_none());
        match is_pinned {
            false => clock(&found),
            true => Err(found.place.refused(
                "does not go with clocks without a clock, which puts the packets of the file on a private clock; \
                 name the clock to relate in clocks",
            )),
        }
    });
    let default_clock = default_clock.transpose()?;
    let machines = match (object.get("machine"), object.get("machines")) {
        (None, None) => Machines::ByRaw,
        (Some(machine), None) => Machines::One(machine_name(machine)?),
        (None, Some(machines)) => listed(machines)?,
        (Some(_), Some(_)) => {
            return Err(object.place.refused(
                "has both machine and machines: use machine for a file of one machine, machines for the ids \
                 of several",
            ));
        }
    };
    Ok(FileEntry { path, machines, clocks, default_clock })
}

/// Reads the name in `machine` (rule X33).
fn machine_name(found: Found<'_>) -> Result<String, Refused> {
    let what = "must be an object with a name, such as \"machine\": {\"name\": \"phone\"}";
    name(&found.object(what)?)
}

/// Reads `machines` (rule X34).
fn listed(found: Found<'_>) -> Result<Machines, Refused> {
    let what = "must be an array, such as \"machines\": [{\"id\": 0, \"name\": \"phone\"}]";
    let mut machines = Vec::new();
    for entry in found.array(what)? {
        let what =
            "must be an object with an id and a name, such as {\"id\": 0, \"name\": \"phone\"}";
        let entry = entry.object(what)?;
        let what = "is required: an integer from 0 to 4294967295";
        let id = entry.require("id", what)?;
        let integer = id.integer("must be an integer from 0 to 4294967295")?;
        let integer = integer.and_then(|integer| u32::try_from(integer).ok());
        let integer = integer.ok_or_else(|| id.place.refused("must be from 0 to 4294967295"))?;
        machines.push((integer, name(&entry)?));
    }
    Ok(match machines.is_empty() {
        true => Machines::ByRaw,
        false => Machines::Listed(machines),
    })
}

fn name(object: &Object<'_>) -> Result<String, Refused> {
    let found = object.require("name", "is required: a string, the name of the machine")?;
    let name = found.string("must be a string")?;
    match name.is_empty() {
        true => Err(found.place.refused("must not be empty")),
        false => Ok(name),
    }
}

/// Reads `clocks` (rule X35).
fn clocks(found: Found<'_>) -> Result<Clocks, Refused> {
    let object = found.object("must be an object")?;
    let what = "is required: it names the clock of another file, such as \"sync_to\": {\"file\": \
                \"other.pftrace\", \"clock\": \"BOOTTIME\"}";
    let sync_to = object.require("sync_to", what)?;
    let sync_to = sync_to.object(
        "must be an object, such as {\"file\": \"other.pftrace\", \"clock\": \"BOOTTIME\"}",
    )?;
    let what = "is required: a string, the path of an entry of files";
    let file = sync_to.require("file", what)?.string(what)?;
    let offset_ns = match object.get("offset_ns") {
        None => 0,
        Some(offset) => {
            let what = "must be an integer, in nanoseconds";
            let integer = offset.integer(what)?;
            let integer = integer.and_then(|integer| i64::try_from(integer).ok());
            let (least, most) = (-i64::MAX, i64::MAX);
            integer.filter(|integer| *integer >= least).ok_or_else(|| {
                let what = format_args!("must be from {least} to {most}");
                offset.place.refused(what)
            })?
        }
    };
    Ok(Clocks {
        clock: optional_clock(&object)?,
        machine: optional_string(&object, "machine")?,
        sync_to: ClockReference {
            file,
            machine: optional_string(&sync_to, "machine")?,
            clock: optional_clock(&sync_to)?,
        },
        offset_ns,
    })
}

/// Reads `trace_time` (rule X36).
fn trace_time(found: Found<'_>) -> Result<TraceTimeEntry, Refused> {
    let what = "must be an object, such as \"trace_time\": {\"clock\": \"BOOTTIME\"}";
    let object = found.object(what)?;
    let what = "is required, such as \"clock\": \"BOOTTIME\"";
    Ok(TraceTimeEntry {
        clock: clock(&object.require("clock", what)?)?,
        file: optional_string(&object, "file")?,
        machine: optional_string(&object, "machine")?,
    })
}

/// Reads `align` (rules AL4, AL9, AL20).
fn align(found: Found<'_>) -> Result<AlignEntry, Refused> {
    let object = found.object("must be an object, such as \"align\": {\"mode\": \"auto\"}")?;
    let mode = object.get("mode").map(|found| {
        let modes = Align::ALL.map(Align::name).join(", ");
        let name = found.string(&format!("must be a string; it is one of {modes}"))?;
        let unknown = || format!("is no mode: '{name}'; use one of {modes}");
        Align::from_name(&name).ok_or_else(|| found.place.refused(unknown()))
    });
    let max_drift_ppm = object.get("max_drift_ppm").map(|found| {
        let what = "must be a whole number from 1 to 100000";
        let drift = found.integer(what)?.and_then(|drift| u32::try_from(drift).ok());
        let drift = drift.filter(|drift| (1..=100_000).contains(drift));
        drift.ok_or_else(|| found.place.refused(what))
    });
    Ok(AlignEntry {
        mode: mode.transpose()?,
        max_drift_ppm: max_drift_ppm.transpose()?,
        pairs: optional_string(&object, "pairs")?,
    })
}

fn optional_string(object: &Object<'_>, name: &str) -> Result<Option<String>, Refused> {
    let found = object.get(name);
    found.map(|found| found.string("must be a string")).transpose()
}

fn optional_clock(object: &Object<'_>) -> Result<Option<Clock>, Refused> {
    object.get("clock").map(|found| clock(&found)).transpose()
}

fn clock(found: &Found<'_>) -> Result<Clock, Refused> {
    let name = found.string(NO_NAME)?;
    Clock::from_name(&name).ok_or_else(|| {
        found.place.refused(format_args!(
            "is no clock: '{name}'; use one of REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE, \
             MONOTONIC_RAW, BOOTTIME"
        ))
    })
}
