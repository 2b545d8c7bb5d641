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

/// A window whose state at its begin is all that an import is for (rule CT2). Rows that cannot tell this state are left
/// out: of seven million kernel events, a few thousand rows remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateOf {
    pub from: i64,
    pub to: i64,
}

/// The tables of events that tell the state of a moment.
const OF_STATE: [&Table; 18] = [
    &tables::ftrace_record::TABLE,
    &tables::android_log_record::TABLE,
    &tables::string::TABLE,
    &tables::process_record::TABLE,
    &tables::thread_record::TABLE,
    &tables::cpu_record::TABLE,
    &tables::sched_record::TABLE,
    &tables::thread_state_record::TABLE,
    &tables::track_record::TABLE,
    &tables::slice_record::TABLE,
    &tables::state_record::TABLE,
    &tables::flow::TABLE,
    &tables::counter_record::TABLE,
    &tables::heap_profile::TABLE,
    // The trace lasts as long as its samples.
    &tables::stack_sample_record::TABLE,
    &tables::heap_profile_allocation_record::TABLE,
    // Processes, threads and tracks have arguments.
    &tables::arg_set::TABLE,
    &tables::arg_type::TABLE,
];

/// The tables that get rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    subjects: Vec<Subject>,
    tables: Vec<bool>,
    follows: bool,
    state_of: Option<StateOf>,
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
            state_of: None,
        }
    }

    /// Only the tables and rows that tell the state at the begin of a window, if there is one.
    pub fn with_state_of(mut self, state_of: Option<StateOf>) -> Self {
        if state_of.is_some() {
            self.state_of = state_of;
            let is_of_state = |table: &Table| OF_STATE.iter().any(|one| one.number == table.number);
            for (is_wanted, table) in self.tables.iter_mut().zip(tables::ALL) {
                *is_wanted &= Subject::of_table(table.name).is_none() || is_of_state(table);
            }
        }
        self
    }

    /// The window whose state is all that is wanted.
    #[inline]
    pub fn state_of(&self) -> Option<StateOf> {
        self.state_of
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
