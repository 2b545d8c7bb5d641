//! The thread of an event (rules JS14, JS15).

use rustc_hash::FxHashMap;
use timebase_trace::json::{Integer, Value};

use super::fields::{Fields, id};
use crate::definitions::{JsonId, JsonThread, JsonThreads};
use crate::timeline::JsonThreadIx;

/// The numbers of threads by the texts of their pids and tids, because few threads have many events.
#[derive(Debug, Default)]
pub(super) struct KnownThreads {
    known: FxHashMap<Box<[u8]>, JsonThreadIx>,
    key: Vec<u8>,
}

/// More threads are looked up by their ids.
const MOST: usize = 1 << 12;
const LONGEST: usize = 1 << 8;

impl KnownThreads {
    /// The number of an event's thread. `has_zero` says whether a tid of 0 is a thread of its own.
    pub fn number(
        &mut self,
        fields: &Fields<Value<'_>>,
        has_zero: bool,
        threads: &mut JsonThreads,
    ) -> JsonThreadIx {
        self.key.clear();
        self.key.push(has_zero.into());
        for id in [fields.pid, fields.tid] {
            self.key.extend_from_slice(id.map_or(&[], |id| id.text()));
            self.key.push(0);
        }
        if let Some(&known) = self.known.get(&*self.key) {
            return known;
        }
        let number = threads.number(thread(id(fields.pid), id(fields.tid), has_zero));
        if self.key.len() <= LONGEST {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.insert(self.key.as_slice().into(), number);
        }
        number
    }
}

fn thread(pid: Option<Integer<'_>>, tid: Option<Integer<'_>>, has_zero: bool) -> JsonThread {
    let pid = pid.map_or(JsonId::Number(0), owned);
    let tid = tid.map(owned).filter(|tid| match tid {
        JsonId::Number(0) => has_zero && pid != JsonId::Number(0),
        // The main thread of a process has the number of the process.
        JsonId::Number(tid) => pid != JsonId::Number(*tid),
        JsonId::Text(_) => true,
    });
    JsonThread { pid, tid }
}

fn owned(id: Integer<'_>) -> JsonId {
    match id {
        Integer::Number(number) => JsonId::Number(number),
        Integer::Text(text) => JsonId::Text(text.into()),
    }
}
