//! Counters of the table `stats`, and the meaning of a counter that is not 0.

use super::event_faults::Cause;

/// A counter, by its name.
///
/// Its meaning is in the words of trace processor, so that queries written for trace processor find
/// our problems, too. Its description is in our own words, and the reference repeats it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counter {
    pub name: &'static str,
    /// The things that are counted, without markup, because the description is a text of the
    /// database.
    pub description: &'static str,
    pub meaning: Meaning,
    /// The cause for which each event that it counts made no row.
    pub drops: Option<Cause>,
}

/// The meaning of a counter above 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning {
    /// `info`, `notice`, `data_loss` or `error`.
    pub severity: &'static str,
    /// The part that noticed: `trace` for the recorder, `analysis` for the import.
    pub source: &'static str,
}

impl Meaning {
    /// Nothing is wrong, but something differs from the request.
    pub const NOTICE: Meaning = Meaning::noticed_here("notice");
    /// Nothing is wrong.
    pub const INFO: Meaning = Meaning::noticed_here("info");
    /// Something is missing, but nobody made a mistake.
    pub const DATA_LOSS: Meaning = Meaning::noticed_here("data_loss");
    /// Something is wrong.
    pub const ERROR: Meaning = Meaning::noticed_here("error");

    const fn noticed_here(severity: &'static str) -> Meaning {
        Meaning { severity, source: "analysis" }
    }
}

/// A counter that does not say yet whether it counts events without a row. It has no other use, so
/// that the code of each counter has to say it (rule FE1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewCounter(Counter);

impl NewCounter {
    /// Every event that it counts has its rows, or it counts something else than events.
    pub const fn drops_nothing(self) -> Counter {
        self.0
    }

    /// It counts events that made no row, for this cause.
    pub const fn drops(self, cause: Cause) -> Counter {
        self.0.drops(cause)
    }

    /// Some of the events that it counts made no row. The code that counts such an event names the
    /// cause ([`Fault::dropping`](super::Fault::dropping)).
    pub const fn drops_some(self) -> Counter {
        self.0
    }

    /// It counts something that the recorder noticed and recorded, and no event of the trace.
    pub const fn recorded(self) -> Counter {
        self.0.recorded()
    }
}

impl Counter {
    /// A counter of something that is no fault.
    pub const fn info(name: &'static str, description: &'static str) -> NewCounter {
        Counter::meaning(name, description, Meaning::INFO)
    }

    /// A counter of something that differs from the request.
    pub const fn notice(name: &'static str, description: &'static str) -> NewCounter {
        Counter::meaning(name, description, Meaning::NOTICE)
    }

    /// A counter of missing data, without a mistake of anybody.
    pub const fn data_loss(name: &'static str, description: &'static str) -> NewCounter {
        Counter::meaning(name, description, Meaning::DATA_LOSS)
    }

    /// A counter of errors.
    pub const fn error(name: &'static str, description: &'static str) -> NewCounter {
        Counter::meaning(name, description, Meaning::ERROR)
    }

    const fn meaning(
        name: &'static str,
        description: &'static str,
        meaning: Meaning,
    ) -> NewCounter {
        NewCounter(Counter { name, description, meaning, drops: None })
    }

    /// The same counter, of something that the recorder noticed and recorded.
    const fn recorded(self) -> Counter {
        Counter { meaning: Meaning { source: "trace", ..self.meaning }, ..self }
    }

    /// The same counter, but of events that made no row, for this cause.
    pub const fn drops(self, cause: Cause) -> Counter {
        Counter { drops: Some(cause), ..self }
    }
}
