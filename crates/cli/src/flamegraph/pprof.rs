//! The samples for pprof and the tools that read its format: a compressed message
//! `perftools.profiles.Profile` (<https://github.com/google/pprof/blob/main/proto/profile.proto>).
//! Only the known fields are declared here.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::samples::Samples;
use crate::database::Database;
use crate::flags::FlameOf;

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
}

/// A kind of value, and its unit, in the string table.
#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// The innermost function comes first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    /// Inlined functions come first.
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// An unfinished profile, with the numbers that were already given.
#[derive(Default)]
struct Builder {
    profile: Profile,
    texts: HashMap<String, i64>,
    mappings: HashMap<i64, u64>,
    functions: HashMap<(i64, i64), u64>,
    locations: HashMap<(u64, Vec<Line>), u64>,
}

impl Builder {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn mapping(&mut self, name: &str) -> u64 {
        let filename = self.text(name);
        let next = self.profile.mapping.len() as u64 + 1;
        let id = *self.mappings.entry(filename).or_insert(next);
        if id == next {
            self.profile.mapping.push(Mapping { id, filename, has_functions: true });
        }
        id
    }

    fn line(&mut self, name: &str, file: &str, line: i64) -> Line {
        let (name, filename) = (self.text(name), self.text(file));
        let next = self.profile.function.len() as u64 + 1;
        let function_id = *self.functions.entry((name, filename)).or_insert(next);
        if function_id == next {
            self.profile.function.push(Function { id: next, name, system_name: name, filename });
        }
        Line { function_id, line }
    }

    fn location(&mut self, mapping_id: u64, line: Vec<Line>) -> u64 {
        let next = self.profile.location.len() as u64 + 1;
        let id = *self.locations.entry((mapping_id, line.clone())).or_insert(next);
        if id == next {
            self.profile.location.push(Location { id, mapping_id, line });
        }
        id
    }

    fn value_type(&mut self, kind: &str, unit: &str) {
        let value_type = ValueType { r#type: self.text(kind), unit: self.text(unit) };
        self.profile.sample_type.push(value_type);
    }
}

/// The compressed message.
pub fn encode(database: &Database, samples: &Samples) -> anyhow::Result<Vec<u8>> {
    let mut builder = Builder::default();
    // The first text is empty by definition.
    builder.text("");
    match samples.of {
        FlameOf::Cpu => builder.value_type("samples", "count"),
        FlameOf::Slices => builder.value_type("events", "count"),
        FlameOf::Java => builder.value_type("space", "bytes"),
        FlameOf::Heap => {
            builder.value_type("inuse_objects", "count");
            builder.value_type("inuse_space", "bytes");
        }
        FlameOf::Allocations => {
            builder.value_type("alloc_objects", "count");
            builder.value_type("alloc_space", "bytes");
        }
    }
    let bounds = "SELECT coalesce(to_realtime(typical_start_ts), 0), typical_end_ts - typical_start_ts FROM trace_bounds";
    (builder.profile.time_nanos, builder.profile.duration_nanos) =
        database.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut frames = database.prepare(
        "SELECT depth, name, coalesce(mapping, ''), coalesce(source, ''), coalesce(line, 0) FROM callstack_frame(?1)",
    )?;
    for (callsite, weight) in &samples.weights {
        let mut stack: Vec<(i64, u64, Vec<Line>)> = Vec::new();
        let mut rows = frames.query([callsite])?;
        while let Some(row) = rows.next()? {
            let depth: i64 = row.get(0)?;
            let (name, mapping): (String, String) = (row.get(1)?, row.get(2)?);
            let line = builder.line(&name, &row.get::<_, String>(3)?, row.get(4)?);
            match stack.last_mut() {
                Some((last, _, lines)) if *last == depth => lines.insert(0, line),
                _ => {
                    let mapping = builder.mapping(&mapping);
                    stack.push((depth, mapping, vec![line]));
                }
            }
        }
        let frames = stack.into_iter().rev();
        let location_id = frames.map(|(_, mapping, lines)| builder.location(mapping, lines));
        let location_id = location_id.collect();
        let value = match samples.of {
            FlameOf::Cpu | FlameOf::Slices => vec![weight.count],
            FlameOf::Java => vec![weight.size],
            FlameOf::Heap | FlameOf::Allocations => vec![weight.count, weight.size],
        };
        builder.profile.sample.push(Sample { location_id, value });
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&builder.profile.encode_to_vec())?;
    Ok(encoder.finish()?)
}
