//! The choice of the events that become rows.

use std::fmt;
use std::str::FromStr;

use timebase_schema::{Events, Table, tables};

/// A subject that events are about, called as the table or view that shows them.
///
/// ```
/// use timebase_import::Subject;
/// assert_eq!("sched".parse(), Ok(Subject::Scheduling));
/// let error = "scheds".parse::<Subject>().unwrap_err();
/// assert_eq!(error.to_string(), "there is no 'scheds' to choose: they are ftrace_event, \
///     android_logs, thread, sched, slice, counter, stack_sample");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subject {
    /// `ftrace_event`: the kernel's events as they are.
    KernelEvents,
    /// `android_logs`: lines of the log.
    Logs,
    /// `thread`: processes and threads. They are also there if one of the next subjects is chosen.
    Threads,
    /// `sched`: the threads that CPUs ran, and `thread_state`.
    Scheduling,
    /// `slice`: the activities of programs, interrupts and GPUs, and `state`.
    Slices,
    /// `counter`: values over time.
    Counters,
    /// `stack_sample`: samples of callstacks, heap profiles, dumps of Java heaps, and memory mappings.
    Profiles,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 7] = [
        Subject::KernelEvents,
        Subject::Logs,
        Subject::Threads,
        Subject::Scheduling,
        Subject::Slices,
        Subject::Counters,
        Subject::Profiles,
    ];

    /// The table or view that shows it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::KernelEvents => "ftrace_event",
            Subject::Logs => "android_logs",
            Subject::Threads => "thread",
            Subject::Scheduling => "sched",
            Subject::Slices => "slice",
            Subject::Counters => "counter",
            Subject::Profiles => "stack_sample",
        }
    }

    /// Whether this subject needs events in the order of time.
    fn is_followed(self) -> bool {
        !matches!(self, Subject::KernelEvents | Subject::Logs)
    }

    /// The subject of the rows of a table; `None` if the rows exist without events.
    ///
    /// ```
    /// use timebase_import::Subject;
    /// assert_eq!(Subject::of_table("sched_record"), Some(Subject::Scheduling));
    /// assert_eq!(Subject::of_table("track_record"), Some(Subject::Threads));
    /// assert_eq!(Subject::of_table("packet_record"), None);
    /// ```
    pub fn of_table(name: &str) -> Option<Subject> {
        let table = tables::ALL.iter().find(|table| table.name == name)?;
        let (Events::Rows { name, .. } | Events::PartOf(name)) = table.events?;
        Some(Subject::of(name))
    }

    /// The subject of a table or view.
    fn of(name: &str) -> Subject {
        if matches!(name, "heap_profile_allocation" | "profiler_smaps" | "heap_graph") {
            return Subject::Profiles;
        }
        if name == "state" {
            return Subject::Slices;
        }
        let mut all = Subject::ALL.into_iter();
        all.find(|subject| subject.name() == name).unwrap_or(Subject::Threads)
    }
}

/// A name that no [`Subject`] has.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownSubject(String);

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for UnknownSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for UnknownSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Subject::ALL.map(Subject::name).join(", ");
        write!(f, "there is no '{}' to choose: they are {names}", self.0)
    }
}

impl std::error::Error for UnknownSubject {}

impl FromStr for Subject {
    type Err = UnknownSubject;

    fn from_str(name: &str) -> Result<Self, UnknownSubject> {
        let mut all = Subject::ALL.into_iter();
        let found = all.find(|subject| subject.name() == name);
        found.ok_or_else(|| UnknownSubject(name.to_owned()))
    }
}

/// The tables that get rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    subjects: Vec<Subject>,
    tables: Vec<bool>,
    follows: bool,
}

impl Wanted {
    /// The tables of these subjects, and the tables without a subject.
    pub fn of(subjects: &[Subject]) -> Self {
        let follows = subjects.iter().any(|subject| subject.is_followed());
        let is_wanted = |table: &&Table| match Subject::of_table(table.name) {
            None => true,
            Some(Subject::Threads) => follows,
            Some(subject) => subjects.contains(&subject),
        };
        Wanted {
            subjects: subjects.to_vec(),
            tables: tables::ALL.iter().map(is_wanted).collect(),
            follows,
        }
    }

    /// The names of the subjects, separated by commas.
    pub fn names(&self) -> String {
        let wanted = Subject::ALL.into_iter().filter(|subject| match subject {
            Subject::Threads => self.follows,
            subject => self.subjects.contains(subject),
        });
        let names: Vec<&str> = wanted.map(Subject::name).collect();
        names.join(",")
    }

    /// Whether events are followed in the order of time.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Whether a table gets rows.
    #[inline]
    pub fn has(&self, table: &Table) -> bool {
        self.tables.get(table.number).copied().unwrap_or(true)
    }
}
