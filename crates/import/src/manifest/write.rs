//! Writes a manifest as JSON, for people to edit.
//!
//! # Design
//!
//! Each field has a line, and an object of only a few short fields is on one line, as a person
//! would lay it out. The alternative was `serde_json::to_string_pretty`: it takes four lines for
//! the name of a machine.

use std::fmt::{self, Write};

use crate::manifest::types::{AlignEntry, Attribute, Clocks, FileEntry, Machines, Manifest};

impl fmt::Display for Manifest {
    /// JSON that [`Manifest::parse`] reads as an equal manifest.
    ///
    /// ```
    /// use timebase_import::manifest::Manifest;
    /// assert_eq!(
    ///     Manifest::default().to_string(),
    ///     "{\"perfetto_manifest\": {\n  \"version\": 1,\n  \"files\": []\n}}\n"
    /// );
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"perfetto_manifest\": {\n  \"version\": 1")?;
        if !self.attributes.is_empty() {
            f.write_str(",\n  \"attributes\": {")?;
            for (number, (key, value)) in self.attributes.iter().enumerate() {
                f.write_str(if number == 0 { "" } else { ", " })?;
                match value {
                    Attribute::Text(text) => write!(f, "{}: {}", Text(key), Text(text))?,
                    Attribute::Integer(integer) => write!(f, "{}: {integer}", Text(key))?,
                }
            }
            f.write_str("}")?;
        }
        if let Some(trace_time) = &self.trace_time {
            write!(f, ",\n  \"trace_time\": {{\"clock\": \"{}\"", trace_time.clock)?;
            optional(f, "file", trace_time.file.as_deref())?;
            optional(f, "machine", trace_time.machine.as_deref())?;
            f.write_str("}")?;
        }
        write_align(f, &self.align)?;
        f.write_str(",\n  \"files\": [")?;
        for (number, file) in self.files.iter().enumerate() {
            f.write_str(if number == 0 { "\n    " } else { ",\n    " })?;
            write_file(f, file)?;
        }
        f.write_str(if self.files.is_empty() { "]\n}}\n" } else { "\n  ]\n}}\n" })
    }
}

fn write_align(f: &mut fmt::Formatter<'_>, align: &AlignEntry) -> fmt::Result {
    let mut begin = ",\n  \"align\": {";
    let mut next = || std::mem::replace(&mut begin, ", ");
    if let Some(mode) = align.mode {
        write!(f, "{}\"mode\": \"{}\"", next(), mode.name())?;
    }
    if let Some(drift) = align.max_drift_ppm {
        write!(f, "{}\"max_drift_ppm\": {drift}", next())?;
    }
    if let Some(pairs) = &align.pairs {
        write!(f, "{}\"pairs\": {}", next(), Text(pairs))?;
    }
    f.write_str(if *align == AlignEntry::default() { "" } else { "}" })
}

fn write_file(f: &mut fmt::Formatter<'_>, file: &FileEntry) -> fmt::Result {
    write!(f, "{{\"path\": {}", Text(&file.path))?;
    match &file.machines {
        Machines::ByRaw => {}
        Machines::One(name) => write!(f, ",\n     \"machine\": {{\"name\": {}}}", Text(name))?,
        Machines::Listed(machines) => {
            // A single machine is on the line of its key; several are below it.
            let between = if machines.len() == 1 { "" } else { "\n       " };
            f.write_str(",\n     \"machines\": [")?;
            for (number, (id, name)) in machines.iter().enumerate() {
                f.write_str(if number == 0 { "" } else { "," })?;
                write!(f, "{between}{{\"id\": {id}, \"name\": {}}}", Text(name))?;
            }
            f.write_str("]")?;
        }
    }
    if let Some(clock) = file.default_clock {
        write!(f, ",\n     \"default_clock\": \"{clock}\"")?;
    }
    if let Some(clocks) = &file.clocks {
        write_clocks(f, clocks)?;
    }
    f.write_str("}")
}

fn write_clocks(f: &mut fmt::Formatter<'_>, clocks: &Clocks) -> fmt::Result {
    let sync_to = &clocks.sync_to;
    write!(f, ",\n     \"clocks\": {{\"offset_ns\": {}", clocks.offset_ns)?;
    optional(f, "clock", clocks.clock.map(crate::manifest::Clock::name))?;
    optional(f, "machine", clocks.machine.as_deref())?;
    write!(f, ",\n       \"sync_to\": {{\"file\": {}", Text(&sync_to.file))?;
    optional(f, "machine", sync_to.machine.as_deref())?;
    optional(f, "clock", sync_to.clock.map(crate::manifest::Clock::name))?;
    f.write_str("}}")
}

/// A field after others, if there is one.
fn optional(f: &mut fmt::Formatter<'_>, key: &str, text: Option<&str>) -> fmt::Result {
    match text {
        Some(text) => write!(f, ", {}: {}", Text(key), Text(text)),
        None => Ok(()),
    }
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
