//! M1, M4: counters, and whose they are.

use super::processes::{Processes, Upid, Utid};
use super::slices::Of;

/// A row of `counter` with its track.
#[derive(Debug)]
pub struct Counter {
    pub kind: &'static str,
    pub name: String,
    pub unit: Option<String>,
    pub of: Of,
    /// M4: it is the process's of its thread, when all is known.
    pub of_process: bool,
    pub time: i64,
    pub value: f64,
}

impl Counter {
    /// M4: its type and what it is of.
    pub fn owner(&self, processes: &Processes) -> (String, Of) {
        let kind = self.kind.to_owned();
        match self.of {
            Of::Thread(utid) if self.of_process => match processes.threads[utid].process {
                Some(upid) => (kind, Of::Process(upid)),
                None => (kind + "_thread_fallback", self.of),
            },
            of => (kind, of),
        }
    }
}

#[derive(Debug, Default)]
pub struct Counters(pub Vec<Counter>);

/// The counters of one moment.
pub struct At<'a> {
    pub counters: &'a mut Counters,
    pub time: i64,
}

impl At<'_> {
    pub fn push(&mut self, of: Of, kind: &'static str, name: &str, value: f64) -> &mut Counter {
        self.counters.0.push(Counter {
            kind,
            name: name.to_owned(),
            unit: None,
            of,
            of_process: false,
            time: self.time,
            value,
        });
        let last = self.counters.0.len() - 1;
        &mut self.counters.0[last]
    }

    pub fn with_unit(&mut self, of: Of, kind: &'static str, name: &str, unit: &str, value: f64) {
        self.push(of, kind, name, value).unit = Some(unit.to_owned());
    }

    /// M4
    pub fn of_thread(&mut self, thread: Utid, kind: &'static str, name: &str, value: f64) {
        self.push(Of::Thread(thread), kind, name, value).of_process = true;
    }

    pub fn of_process(&mut self, process: Upid, kind: &'static str, name: &str, value: f64) {
        self.push(Of::Process(process), kind, name, value);
    }
}
