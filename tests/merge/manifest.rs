//! The manifest (X30–X39), as far as it can be checked before a packet is read.

use super::archive::File;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// The `raw_id` of the first machine that a manifest names (X11).
const FIRST_NAMED: u64 = 1 << 32;

#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The names of machines, in the order of their first mention.
    pub machines: Vec<String>,
    /// The first entry of each path.
    pub entries: BTreeMap<String, Entry>,
    pub relations: Vec<Relation>,
    pub trace_time: Option<TraceTime>,
    pub attributes: BTreeMap<String, Json>,
}

#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// X33
    pub machine: Option<u64>,
    /// The machine of each listed id; empty if none is listed (X34).
    pub machines: BTreeMap<u32, u64>,
    /// X37
    pub pinned: bool,
    overrides: bool,
}

/// One clock reads `value` when the other reads `reference_value` (X35).
#[derive(Clone, Debug)]
pub struct Relation {
    pub clock: ManifestClock,
    pub value: i64,
    pub reference: ManifestClock,
    pub reference_value: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ManifestClock {
    /// A shared clock of a machine.
    Shared(u32, u64),
    /// The private clock of a file, on this machine.
    Private(String, u64),
}

/// X36
#[derive(Clone, Debug)]
pub struct TraceTime {
    pub clock: u32,
    /// The first row of `machine` if not given.
    pub machine: Option<u64>,
}

/// The machine of a raw id, or an error (X34, X33).
impl Entry {
    pub fn machine_of(&self, id: u32) -> Result<u64> {
        match (self.machine, id) {
            (Some(machine), 0) => Ok(machine),
            (Some(_), _) => Err("X33: a machine id in a file that is one machine".to_owned()),
            (None, _) if self.machines.is_empty() => Ok(id.into()),
            (None, _) => match self.machines.get(&id) {
                Some(machine) => Ok(*machine),
                None if id == 0 => Ok(0),
                None => Err(format!("X34: machine id {id} is not listed")),
            },
        }
    }
}

pub fn clock_id(name: &str) -> Option<u32> {
    let names = [
        "REALTIME",
        "REALTIME_COARSE",
        "MONOTONIC",
        "MONOTONIC_COARSE",
        "MONOTONIC_RAW",
        "BOOTTIME",
    ];
    let place = names.iter().position(|n| *n == name)?;
    Some(place as u32 + 1)
}

type Result<T> = std::result::Result<T, String>;

fn error<T>(what: &str) -> Result<T> {
    Err(what.to_owned())
}

fn object(json: &Json) -> Result<&Map<String, Json>> {
    json.as_object().ok_or_else(|| format!("{json} is no object"))
}

fn string<'a>(object: &'a Map<String, Json>, key: &str) -> Result<Option<&'a str>> {
    match object.get(key) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{key} is no string")),
    }
}

fn required<'a>(object: &'a Map<String, Json>, key: &str) -> Result<&'a str> {
    string(object, key)?.ok_or_else(|| format!("{key} is missing"))
}

fn name_of_machine(json: &Json) -> Result<String> {
    match required(object(json)?, "name")? {
        "" => error("the name of a machine is empty"),
        name => Ok(name.to_owned()),
    }
}

fn clock(object: &Map<String, Json>) -> Result<Option<u32>> {
    let Some(name) = string(object, "clock")? else {
        return Ok(None);
    };
    let id = clock_id(name);
    id.map(Some).ok_or_else(|| format!("there is no clock {name}"))
}

fn array<'a>(object: &'a Map<String, Json>, key: &str) -> Result<&'a [Json]> {
    match object.get(key) {
        None => Ok(&[]),
        Some(Json::Array(items)) => Ok(items),
        Some(_) => Err(format!("{key} is no array")),
    }
}

impl Manifest {
    fn machine(&mut self, name: &str) -> u64 {
        let place = self.machines.iter().position(|machine| machine == name);
        let place = place.unwrap_or_else(|| {
            self.machines.push(name.to_owned());
            self.machines.len() - 1
        });
        FIRST_NAMED + place as u64
    }

    /// The bytes of a manifest, with the members that are traces and the others.
    pub fn read(bytes: &[u8], traces: &[File], others: &[String]) -> Result<Manifest> {
        let json: Json = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let json = object(&json)?.get("perfetto_manifest");
        let root = object(json.ok_or("no perfetto_manifest")?)?;
        if root.get("version").and_then(Json::as_i64) != Some(1) {
            return error("X31: version");
        }
        let mut manifest = Manifest::default();
        if let Some(attributes) = root.get("attributes") {
            for (key, value) in object(attributes)? {
                let is_integer = value.is_i64() || value.is_u64();
                if key.is_empty() || !(value.is_string() || is_integer) {
                    return error("X31: attributes");
                }
                manifest.attributes.insert(key.clone(), value.clone());
            }
        }
        let files = array(root, "files")?;
        for file in files {
            manifest.entry(object(file)?)?;
        }
        let mut seen = Vec::new();
        for file in files {
            let file = object(file)?;
            let path = required(file, "path")?;
            let is_first = !seen.contains(&path);
            seen.push(path);
            if let Some(clocks) = file.get("clocks") {
                manifest.relate(path, object(clocks)?, traces, is_first)?;
            }
        }
        if let Some(trace_time) = root.get("trace_time") {
            let trace_time = object(trace_time)?;
            let clock = clock(trace_time)?.ok_or("X36: trace_time has no clock")?;
            let file = string(trace_time, "file")?;
            let machine = string(trace_time, "machine")?;
            let machine = match (file, machine) {
                (None, Some(_)) => return error("X38: a machine without a file"),
                (None, None) => None,
                (Some(file), machine) => Some(manifest.reference(file, machine)?),
            };
            manifest.trace_time = Some(TraceTime { clock, machine });
        }
        let overridden = |name: &&String| manifest.entries.get(*name).is_some_and(|e| e.overrides);
        if let Some(name) = others.iter().find(overridden) {
            return Err(format!("X39: {name} is no trace"));
        }
        Ok(manifest)
    }

    fn entry(&mut self, file: &Map<String, Json>) -> Result<()> {
        let path = required(file, "path")?;
        let mut entry = Entry::default();
        if let Some(machine) = file.get("machine") {
            entry.machine = Some(self.machine(&name_of_machine(machine)?));
        }
        let machines = array(file, "machines")?;
        for machine in machines {
            let name = name_of_machine(machine)?;
            let id = object(machine)?.get("id").and_then(Json::as_u64);
            let id = id.and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or("X34: id")?;
            let machine = self.machine(&name);
            // Of equal ids, the last counts for the host, the first for others.
            let listed = entry.machines.entry(id).or_insert(machine);
            if id == 0 {
                *listed = machine;
            }
        }
        if entry.machine.is_some() && !machines.is_empty() {
            return error("X33: machine and machines");
        }
        let clocks = file.get("clocks").map(object).transpose()?;
        entry.pinned = clocks.is_some_and(|clocks| !clocks.contains_key("clock"));
        entry.overrides =
            clocks.is_some() || entry.machine.is_some() || entry.machines.contains_key(&0);
        self.entries.entry(path.to_owned()).or_insert(entry);
        Ok(())
    }

    /// The machine of a reference (X38).
    fn reference(&self, path: &str, machine: Option<&str>) -> Result<u64> {
        let Some(entry) = self.entries.get(path) else {
            return Err(format!("X38: {path} has no entry"));
        };
        match machine {
            Some(name) => {
                let place = self.machines.iter().position(|machine| machine == name);
                let machine = place.map(|place| FIRST_NAMED + place as u64);
                let mut declared = entry.machines.values().copied().chain(entry.machine);
                let declared = machine.filter(|machine| declared.any(|m| m == *machine));
                declared.ok_or_else(|| format!("X38: {name} is no machine of {path}"))
            }
            None if entry.machines.is_empty() => Ok(entry.machine.unwrap_or(0)),
            None => Err(format!("X38: {path} has several machines")),
        }
    }

    fn relate(
        &mut self,
        path: &str,
        clocks: &Map<String, Json>,
        traces: &[File],
        is_first: bool,
    ) -> Result<()> {
        let offset = match clocks.get("offset_ns") {
            None => 0,
            Some(offset) => offset.as_i64().ok_or("X35: offset_ns")?,
        };
        if offset == i64::MIN {
            return error("X35: offset_ns");
        }
        let machine = self.reference(path, string(clocks, "machine")?)?;
        let sync_to = object(clocks.get("sync_to").ok_or("X35: sync_to is missing")?)?;
        let file = required(sync_to, "file")?;
        let reference_machine = self.reference(file, string(sync_to, "machine")?)?;
        let this = match clock(clocks)? {
            Some(id) => ManifestClock::Shared(id, machine),
            None => ManifestClock::Private(path.to_owned(), machine),
        };
        let reference = match clock(sync_to)? {
            Some(id) => ManifestClock::Shared(id, reference_machine),
            None if traces.iter().any(|trace| trace.name == file) => {
                ManifestClock::Private(file.to_owned(), reference_machine)
            }
            None => return Err(format!("X32: {file} is no member")),
        };
        if this == reference {
            return error("X35: one clock on both sides");
        }
        if is_first {
            self.relations.push(Relation {
                clock: this,
                value: 0.max(-offset),
                reference,
                reference_value: offset.max(0),
            });
        }
        Ok(())
    }
}
