//! Counts of the things that are not as they were (rule CV1a).

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// A kind of things that are not as they were, in the order in which users are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// Slices, values, states and samples before time 0.
    Negative,
    /// Processes and threads with other numbers.
    Renumbered,
    /// Nameless tracks.
    Nameless,
    /// Arguments that no annotation can hold.
    Argument,
    /// CPU times of slices that are 0 or unknown, where the other one is written.
    ThreadDur,
    /// Ends of slices below or above others that do not end with them, which readers give to others.
    End,
    /// Slices whose ends do not fit 64 bits.
    Endless,
    /// Flows between two slices of one time, which point the other way.
    Flow,
    /// States of threads.
    State,
    /// Tracks of threads and processes that have the name of their file, because other files have such tracks, too.
    Apart,
    /// Tracks of threads and processes that the Perfetto trace beside describes several times.
    Ownerless,
    /// Processes with the pid 0, which are the kernel's idle ones.
    Idle,
    /// Threads with CPU times, which are values of a counter, too.
    Timed,
    /// Samples of callstacks that are less than a microsecond too early.
    Rounded,
    /// Samples of callstacks beside Perfetto traces.
    Sample,
}

impl Difference {
    /// The thing and its fate, as singular and plural.
    pub fn what(self) -> [&'static str; 2] {
        match self {
            Difference::Negative => {
                ["event before time 0, left out", "events before time 0, left out"]
            }
            Difference::Renumbered => [
                "process or thread with another number, because the format has none for its own",
                "processes and threads with other numbers, because the format has none for their own",
            ],
            Difference::Nameless => [
                "nameless track, which gets the name of its first slice",
                "nameless tracks, which get the name of their first slice",
            ],
            Difference::Argument => ["argument, left out", "arguments, left out"],
            Difference::ThreadDur => [
                "slice with a CPU time of 0 or none, where readers show the other one",
                "slices with a CPU time of 0 or none, where readers show the other one",
            ],
            Difference::End => [
                "slice that ends before one inside it, so that readers end another one",
                "slices that end before one inside them, so that readers end others",
            ],
            Difference::Endless => [
                "slice whose end does not fit 64 bits, and which never ends",
                "slices whose ends do not fit 64 bits, and which never end",
            ],
            Difference::Flow => [
                "flow between slices of one time, which points the other way",
                "flows between slices of one time, which point the other way",
            ],
            Difference::State => [
                "state of a thread, which is a slice on a track 'thread state'",
                "states of threads, which are slices on tracks 'thread state'",
            ],
            Difference::Apart => [
                "track of a thread or process that other files have, too, which has the name of its file",
                "tracks of threads and processes that other files have, too, which have the names of their files",
            ],
            Difference::Ownerless => [
                "track of a thread or process that the Perfetto trace describes several times, which has no owner",
                "tracks of threads and processes that the Perfetto trace describes several times, which have no owner",
            ],
            Difference::Idle => [
                "process with the pid 0, which is the idle process of the kernel, with the thread 'swapper'",
                "processes with the pid 0, which are the idle processes of the kernel, with the thread 'swapper'",
            ],
            Difference::Timed => [
                "thread with CPU times, which are also values of a counter 'thread_time'",
                "threads with CPU times, which are also values of counters 'thread_time'",
            ],
            Difference::Rounded => [
                "sample of a callstack that is less than a microsecond too early",
                "samples of callstacks that are less than a microsecond too early",
            ],
            Difference::Sample => {
                ["sample of a callstack, left out", "samples of callstacks, left out"]
            }
        }
    }
}

/// The things that are not as they were, and their number.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Unlike(BTreeMap<Difference, u64>);

impl Unlike {
    /// Counts some more of a kind.
    pub fn count(&mut self, of: Difference, more: u64) {
        if more > 0 {
            *self.0.entry(of).or_default() += more;
        }
    }

    /// The number of things of a kind.
    pub fn of(&self, of: Difference) -> u64 {
        self.0.get(&of).copied().unwrap_or(0)
    }

    /// The kinds with things, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Difference, u64)> {
        self.0.iter().map(|(of, count)| (*of, *count))
    }
}

impl AddAssign for Unlike {
    fn add_assign(&mut self, other: Unlike) {
        for (of, count) in other.iter() {
            self.count(of, count);
        }
    }
}
