//! Counters of the table `stats`, and what it means that one is not 0.

/// A counter, by its name.
///
/// Who counts something says what that means in the words of trace processor, so
/// that its queries for what went wrong find ours, too; and in words of our own what is counted, which the
/// reference repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counter {
    pub name: &'static str,
    /// What is counted, without marks: it is a text of the database.
    pub description: &'static str,
    pub meaning: Meaning,
}

/// What a counter above 0 means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning {
    /// `info`, `notice`, `data_loss` or `error`.
    pub severity: &'static str,
    /// Who noticed: the recorder, `trace`, or the import, `analysis`.
    pub source: &'static str,
}

impl Meaning {
    /// Nothing is wrong, and yet not all is as it was asked for.
    pub const NOTICE: Meaning = Meaning::noticed_here("notice");
    /// Nothing is wrong.
    pub const INFO: Meaning = Meaning::noticed_here("info");
    /// Nobody did anything wrong, and yet something is missing.
    pub const DATA_LOSS: Meaning = Meaning::noticed_here("data_loss");
    /// Something is not as it has to be.
    pub const ERROR: Meaning = Meaning::noticed_here("error");

    const fn noticed_here(severity: &'static str) -> Meaning {
        Meaning {
            severity,
            source: "analysis",
        }
    }
}

impl Counter {
    /// Of what is no fault.
    pub const fn info(name: &'static str, description: &'static str) -> Counter {
        Counter {
            name,
            description,
            meaning: Meaning::INFO,
        }
    }

    /// Of what is not as it was asked for.
    pub const fn notice(name: &'static str, description: &'static str) -> Counter {
        Counter {
            name,
            description,
            meaning: Meaning::NOTICE,
        }
    }

    /// Of what is missing although nobody did anything wrong.
    pub const fn data_loss(name: &'static str, description: &'static str) -> Counter {
        Counter {
            name,
            description,
            meaning: Meaning::DATA_LOSS,
        }
    }

    /// Of what is not as it has to be.
    pub const fn error(name: &'static str, description: &'static str) -> Counter {
        Counter {
            name,
            description,
            meaning: Meaning::ERROR,
        }
    }

    /// Of what the recorder noticed, and tells.
    pub const fn recorded(self) -> Counter {
        Counter {
            meaning: Meaning {
                source: "trace",
                ..self.meaning
            },
            ..self
        }
    }
}

/// Counters of what the recorder noticed, by the fields that they are in. What they count may begin with the
/// same words.
macro_rules! recorded {
    ($words:literal; $($field:expr => $severity:ident($name:literal, $what:literal),)*) => {
        [$(($field, Counter::$severity($name, concat!($words, $what)).recorded())),*]
    };
    ($($fields:tt)*) => {
        $crate::output::recorded! { ""; $($fields)* }
    };
}
pub(crate) use recorded;
