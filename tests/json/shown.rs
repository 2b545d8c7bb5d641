//! The rows of the model as the queries of tests/data/json/queries-json.sql show them.

use std::collections::HashMap;

use super::event::Id;
use super::model::{Model, Owner, Tables, Track, shown};
use super::text::fifteen_digits;

impl Model {
    pub fn finish(mut self) -> Tables {
        let processes = self.process_names();
        let threads = self.thread_names(&processes);
        let tracks = self.track_names(&processes, &threads);
        let slices: Vec<String> = self
            .slices
            .iter()
            .map(|slice| {
                format!("{} {} {}", slice.ts, tracks[slice.track], shown(slice.name.as_ref()))
            })
            .collect();
        let mut tables = std::mem::take(&mut self.tables);
        let mut add = |table: &str, row: &[String]| {
            tables.entry(table.to_owned()).or_default().push(row.to_vec());
        };
        for slice in &self.slices {
            let parent = slice.parent.map(|parent| slices[parent].clone());
            let row = [
                slice.ts.to_string(),
                slice.dur.to_string(),
                slice.depth.to_string(),
                shown(slice.name.as_ref()),
                shown(slice.cat.as_ref()),
                tracks[slice.track].clone(),
                shown(parent),
                shown(slice.thread_ts),
                shown(slice.thread_dur),
                slice.args.text(),
            ];
            add("slices", &row);
        }
        for (track, ts, value) in &self.counters {
            add("counters", &[tracks[*track].clone(), ts.to_string(), fifteen_digits(*value)]);
        }
        for (from, to, args) in &self.links {
            add("flows", &[slices[*from].clone(), slices[*to].clone(), args.clone()]);
        }
        for (process, name) in self.processes.iter().zip(&processes) {
            let own = match &process.pid {
                Id::Text(text) => process.name.as_ref().or(Some(text)),
                _ => process.name.as_ref(),
            };
            add("processes", &[name.clone(), shown(own), shown(process.sort)]);
        }
        for (thread, name) in self.threads.iter().zip(&threads) {
            let own = match &thread.tid {
                Id::Text(text) => thread.name.as_ref().or(Some(text)),
                _ => thread.name.as_ref(),
            };
            let is_main = thread.upid == 0
                || match &thread.tid {
                    Id::Main => true,
                    tid => *tid == self.processes[thread.upid].pid && matches!(tid, Id::Number(_)),
                };
            add(
                "threads",
                &[name.clone(), shown(own), i32::from(is_main).to_string(), shown(thread.sort)],
            );
        }
        for (track, name) in self.tracks.iter().zip(&tracks).filter(|(track, _)| track.is_used) {
            add("tracks", &[name.clone(), source(track).to_owned(), shown(track.lane)]);
        }
        for (utid, row) in &self.states {
            add("states", &[&row[..2], &[threads[*utid].clone()], &row[2..]].concat());
        }
        for (utid, row) in &self.sched {
            add("sched", &[&row[..2], &[threads[*utid].clone()], &row[2..]].concat());
        }
        for (utid, ts, stack) in &self.samples {
            add("samples", &[ts.to_string(), threads[*utid].clone(), stack.clone()]);
        }
        for (clock, value) in &self.readings {
            add("clocks", &[clock.to_string(), value.to_string()]);
        }
        for (name, value) in &self.stats {
            add("stats", &[(*name).to_owned(), value.to_string()]);
        }
        tables.values_mut().for_each(|rows| rows.sort());
        tables.retain(|_, rows| !rows.is_empty());
        tables
    }

    fn process_names(&self) -> Vec<String> {
        let keys = self.processes.iter().enumerate().map(|(upid, process)| match &process.pid {
            Id::Number(pid) => pid.to_string(),
            _ if upid == 0 => "0".to_owned(),
            _ => String::new(),
        });
        numbered(keys.collect(), "#")
    }

    fn thread_names(&self, processes: &[String]) -> Vec<String> {
        let keys = self.threads.iter().map(|thread| {
            let tid = match &thread.tid {
                Id::Number(tid) => tid.to_string(),
                _ => String::new(),
            };
            format!("{tid}/{}", processes[thread.upid])
        });
        numbered(keys.collect(), "#")
    }

    fn track_names(&self, processes: &[String], threads: &[String]) -> Vec<String> {
        let key = |track: &Track| {
            let owner = match track.owner {
                Owner::Thread(utid) => format!("t{}", threads[utid]),
                Owner::Process(upid) => format!("p{}", processes[upid]),
                Owner::Global => "g".to_owned(),
            };
            format!("{owner}/{}/{}", track.kind, shown(track.name.as_ref()))
        };
        let keys: Vec<String> = self.tracks.iter().map(key).collect();
        let mut names = keys.clone();
        let mut firsts: Vec<usize> = Vec::new();
        for slice in &self.slices {
            if !firsts.contains(&slice.track) {
                firsts.push(slice.track);
            }
        }
        let with_slices = firsts.iter().map(|track| keys[*track].clone()).collect();
        for (track, name) in firsts.iter().zip(numbered(with_slices, "~")) {
            names[*track] = name;
        }
        names
    }
}

/// Each key with its number among equal ones.
fn numbered(keys: Vec<String>, mark: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    keys.into_iter()
        .map(|key| {
            let number = seen.entry(key.clone()).or_default();
            *number += 1;
            format!("{key}{mark}{number}")
        })
        .collect()
}

/// The source arguments of a track.
fn source(track: &Track) -> &'static str {
    match track.kind {
        "chrome_process_instant" | "legacy_chrome_global_instants" => "source string=chrome",
        "legacy_async_global_slice" => {
            "source string=chrome\x1fsource_scope string=\x1ftrace_id_is_process_scoped bool=0"
        }
        "legacy_async_process_slice" => {
            "source string=chrome\x1fsource_scope string=\x1ftrace_id_is_process_scoped bool=1"
        }
        _ => "",
    }
}
