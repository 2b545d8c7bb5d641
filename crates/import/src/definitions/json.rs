//! The threads that the events of JSON traces name (rules JS14, JS15).

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::timeline::JsonThreadIx;

/// The counters of events that a JSON trace has in a form that says nothing, with trace processor's names.
pub(crate) mod fault {
    use crate::output::{Cause, Counter, Fault};

    /// An event without a phase or a time, or with a duration that is no number.
    pub const TOKENIZER: Fault = Fault::new(
        Counter::error(
            "json_tokenizer_failure",
            "an event of a JSON trace has no phase or no time and is dropped, or one of its times is \
             unreadable and left out",
        )
        .drops_some(),
    );
    /// An event without a member that its phase requires.
    pub const PARSER: Fault = Fault::new(
        Counter::error(
            "json_parser_failure",
            "an event of a JSON trace lacks something that its phase needs, and is dropped or left out \
             in part",
        )
        .drops_some(),
    );
    pub const NO_TIME: Fault = TOKENIZER.dropping(Cause::NoTime);
    pub const NO_PHASE: Fault = TOKENIZER.dropping(Cause::UnknownType);
    pub const NO_DURATION: Fault = PARSER.dropping(Cause::NoDuration);
    pub const NO_ID: Fault = PARSER.dropping(Cause::NoId);
    pub const NO_VALUE: Fault = PARSER.dropping(Cause::NoValue);
    pub const NEGATIVE_DURATION: Fault = Fault::new(
        Counter::error(
            "slice_negative_duration",
            "a complete event of a JSON trace has a negative duration and is dropped",
        )
        .drops(Cause::NegativeDuration),
    );
    /// Rule JS19.
    pub const SPILLED: Fault = Fault::new(
        Counter::info(
            "slice_spill_overlapping_complete_event",
            "a slice of a JSON trace that begins inside another one and ends after it is on an overflow \
             lane of its thread",
        )
        .drops_nothing(),
    );
}

/// A pid or a tid of a JSON trace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum JsonId {
    Number(i64),
    /// A text that is no number, or the text of a number that does not fit.
    Text(Box<str>),
}

/// A thread by the ids that its events give it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct JsonThread {
    pub pid: JsonId,
    /// `None` for the main thread of the process.
    pub tid: Option<JsonId>,
}

/// All threads that events name, each with a number.
#[derive(Debug, Default)]
pub(crate) struct JsonThreads {
    all: Vec<JsonThread>,
    numbers: HashTable<u32>,
}

fn hash(thread: &JsonThread) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(thread)
}

impl JsonThreads {
    /// The number of a thread.
    pub fn number(&mut self, thread: JsonThread) -> JsonThreadIx {
        let hashed = hash(&thread);
        let all = &self.all;
        let is_it = |&number: &u32| all.get(number as usize) == Some(&thread);
        if let Some(&number) = self.numbers.find(hashed, is_it) {
            return JsonThreadIx(number);
        }
        // More than 2³² threads would not fit into any memory.
        let number = all.len() as u32;
        self.all.push(thread);
        let all = &self.all;
        let rehash = |&number: &u32| all.get(number as usize).map_or(0, hash);
        self.numbers.insert_unique(hashed, number, rehash);
        JsonThreadIx(number)
    }

    /// The thread of a number.
    pub fn get(&self, JsonThreadIx(number): JsonThreadIx) -> Option<&JsonThread> {
        self.all.get(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn js14_js15_equal_ids_are_one_thread() {
        let mut threads = JsonThreads::default();
        let text = || JsonId::Text("1".into());
        let mut number = |pid: JsonId, tid: Option<JsonId>| {
            let JsonThreadIx(number) = threads.number(JsonThread { pid, tid });
            number
        };
        let numbers = [
            number(JsonId::Number(1), None),
            number(text(), None),
            number(JsonId::Number(1), Some(text())),
            number(JsonId::Number(1), None),
            number(JsonId::Number(1), Some(JsonId::Number(1))),
        ];
        assert_eq!(numbers, [0, 1, 2, 0, 3]);
        assert_eq!(threads.get(JsonThreadIx(1)), Some(&JsonThread { pid: text(), tid: None }));
    }
}
