//! Advice on what to type after an error of a library. The library says what is wrong, but knows no
//! flags.
//!
//! The Python package reads these sentences, and replaces the flags by the names of its arguments.

use timebase_import::{Error, InputsError, NotForJson, Remedy, RewriteError, SourceError};

/// The continuation of an error's message; empty if there is nothing to type.
pub fn of(error: &anyhow::Error) -> String {
    error.chain().find_map(cause).unwrap_or_default()
}

/// The command's output. It decides which command a decompressed trace is piped into.
#[derive(Clone, Copy)]
pub enum Output {
    Database,
    Trace,
}

fn cause(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref() {
        return import(error, Output::Database);
    }
    if let Some(error) = cause.downcast_ref() {
        return rewrite(error);
    }
    if let Some(error) = cause.downcast_ref() {
        return inputs(error, Output::Database).map(str::to_owned);
    }
    if let Some(error) = cause.downcast_ref() {
        return source(error, Output::Database).map(str::to_owned);
    }
    export(cause.downcast_ref()?).map(str::to_owned)
}

fn import(error: &Error, output: Output) -> Option<String> {
    let advice = match error {
        Error::Source(error) => source(error, output)?,
        Error::Inputs(error) => inputs(error, output)?,
        Error::OtherFile { other, .. } | Error::OtherFileInside { other, .. } => {
            remedy(other.remedy, output)
        }
        Error::UnknownMember { of, .. } => {
            let remedy = of.as_ref().map_or("", |of| remedy(of.remedy, output));
            return Some(format!("{remedy}. Without --strict, it is left out"));
        }
        Error::NotForJson { setting: NotForJson::DefaultClock, .. } => {
            ". Leave out --default-clock; a manifest says how this clock relates to others: timebase manifest --help"
        }
        Error::NotForJson { .. } => ". Leave out --split",
        Error::Damaged { .. } => ". Without --strict, the readable parts are kept",
        Error::Exists { .. } => "; name another file with -o, or replace it with --force",
        Error::NotReplaceable { .. } | Error::OfOthers { .. } => "; name another file with -o",
        Error::IsDirectory { path } => {
            let example = path.join("trace.db");
            let example = example.display();
            return Some(format!("; name the database in it, such as -o {example}"));
        }
        Error::NotAFile { .. } => "; name a file with -o",
        Error::NoDirectory { .. } => ", or name another place with -o",
        Error::Create { .. } => "; name another place with -o",
        Error::DiskFull { .. } => ". Free some space, or name another place with -o",
        Error::TooLarge { .. } => {
            ". Raise the limit with --max-size, or import less with --no-data or --tables"
        }
        Error::TooMuchMemory { .. } => {
            ". An import takes 15 to 50 MB, and more if a trace has millions of names: raise the limit with --max-memory, or import less with --tables or --no-events"
        }
        _ => return None,
    };
    Some(advice.to_owned())
}

fn rewrite(error: &RewriteError) -> Option<String> {
    let advice = match error {
        RewriteError::Read(error) => return import(error, Output::Trace),
        RewriteError::Exists { .. } => "; name another file with -o, or replace it with --force",
        RewriteError::IsInput { .. } | RewriteError::NotReplaceable { .. } => {
            "; name another file with -o"
        }
        RewriteError::IsDirectory { path } => {
            let example = path.join("trace.pftrace");
            let example = example.display();
            return Some(format!("; name the trace in it, such as -o {example}"));
        }
        RewriteError::NotAFile { .. } => {
            "; name a file with -o, or write to standard output with -o -"
        }
        RewriteError::NoDirectory { .. } => ", or name another place with -o",
        RewriteError::Create { .. } => "; name another place with -o",
        RewriteError::DiskFull { .. } => ". Free some space, or name another place with -o",
        RewriteError::TooLarge { .. } => ". Raise the limit with --max-size",
        _ => return None,
    };
    Some(advice.to_owned())
}

fn inputs(error: &InputsError, output: Output) -> Option<&'static str> {
    match error {
        InputsError::Source(error) => source(error, output),
        _ => None,
    }
}

fn source(error: &SourceError, output: Output) -> Option<&'static str> {
    match error {
        SourceError::Directory { .. } => Some("; name a trace file, or - for standard input"),
        SourceError::IsDatabase { .. } => {
            Some("; query it with `timebase query` or `timebase shell`")
        }
        SourceError::Window { .. } => Some(match output {
            Output::Database => {
                ", as with `zstd -dc --long=31 FILE | timebase import - -o trace.db`"
            }
            Output::Trace => {
                ", as with `zstd -dc --long=31 FILE | timebase rewrite - -o trace.pftrace`"
            }
        }),
        _ => None,
    }
}

/// The continuation of the sentence about the remedy for a file that is no trace.
pub fn remedy(remedy: Remedy, output: Output) -> &'static str {
    match (remedy, output) {
        (Remedy::Database, _) => ", and query it with `timebase query` if timebase made it",
        (Remedy::Descriptor, _) => ": --descriptor FILE",
        (Remedy::Decompress { .. }, Output::Database) => " | timebase import - -o trace.db",
        (Remedy::Decompress { .. }, Output::Trace) => " | timebase rewrite - -o trace.pftrace",
        _ => "",
    }
}

fn export(error: &timebase_export::Error) -> Option<&'static str> {
    match error {
        timebase_export::Error::Exists { .. } => Some("; --force replaces it"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn an_error_has_advice_wherever_it_is_in_the_chain() {
        let path = "out".into();
        let error = anyhow::Error::new(Error::IsDirectory { path }).context("a.pftrace");
        let said = format!("{error:#}{}", of(&error));
        let expected = format!(
            "a.pftrace: out is a directory; name the database in it, such as -o {}",
            std::path::Path::new("out").join("trace.db").display()
        );
        assert_eq!(said, expected);
    }

    #[test]
    fn errors_of_every_library_are_known() {
        let database = || SourceError::IsDatabase { source_name: "a.db".to_owned() };
        let query = "; query it with `timebase query` or `timebase shell`";
        assert_eq!(of(&database().into()), query);
        assert_eq!(of(&InputsError::from(database()).into()), query);
        assert_eq!(of(&Error::from(database()).into()), query);
        let present =
            timebase_export::Error::Exists { path: "tables".into(), trace_id: "0".to_owned() };
        assert_eq!(of(&present.into()), "; --force replaces it");
        let failed: anyhow::Result<()> = Err(anyhow::anyhow!("odd")).context("more");
        assert!(failed.is_err_and(|error| of(&error).is_empty()));
    }

    #[test]
    fn what_is_no_trace_is_decompressed_described_or_queried() {
        let of = |head: &[u8], output| {
            let other = timebase_trace::recognize(head)?;
            Some(format!("{other}{}", remedy(other.remedy, output)))
        };
        let said = |head| of(head, Output::Database);
        assert_eq!(
            said(b"\xfd7zXZ\0").as_deref(),
            Some(
                "compressed with xz. Decompress it first: xz -dc FILE | timebase import - -o trace.db"
            )
        );
        let rewritten = of(b"\xfd7zXZ\0", Output::Trace);
        assert!(
            rewritten
                .is_some_and(|said| said.ends_with("FILE | timebase rewrite - -o trace.pftrace"))
        );
        assert_eq!(
            said(b"SQLite format 3\0").as_deref(),
            Some(
                "a SQLite database. Decompress it, and query it with `timebase query` if timebase made it"
            )
        );
    }
}
