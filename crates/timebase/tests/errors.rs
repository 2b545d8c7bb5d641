//! The errors of the library, as a program without its own messages shows them.

#![allow(clippy::unwrap_used)]

use std::error::Error as _;
use std::fs;
use std::io::{self, Read};

use timebase::{Conversion, Error, Import, Rewrite};

/// The text that `fn main() -> Result<(), Box<dyn Error>>` writes after `Error: `.
fn by_main(error: impl std::error::Error + 'static) -> String {
    let error: Box<dyn std::error::Error> = Box::new(error);
    format!("{error:?}")
}

#[test]
fn a_main_that_returns_an_error_writes_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let json = place.path().join("chrome.json");
    fs::write(&json, b"{\"traceEvents\":[{\"ph\"").unwrap();
    let database = place.path().join("out.db");
    let error = Import::new(&json).into_file(&database).unwrap_err();
    assert!(matches!(error, Error::OtherFile { .. }));
    let message = error.to_string();
    let said = by_main(error);
    assert_eq!(said, message);
    assert!(said.contains("is not a trace") && said.contains("Chrome's JSON format"), "{said}");

    // An error inside of another one is no less a sentence.
    let error = Import::new(place.path().join("none")).into_file(&database).unwrap_err();
    assert!(by_main(error).starts_with("cannot open "));
    let error = Rewrite::new(&json).into_file(place.path().join("new.json")).unwrap_err();
    assert!(error.source().is_none() && by_main(error).contains("does not write Chrome's JSON"));
}

#[test]
fn a_source_that_fails_is_named_and_not_the_database() {
    /// A file whose disk fails after its first bytes.
    struct Failing(&'static [u8]);

    impl Read for Failing {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0.read(room)? {
                0 => Err(io::Error::other("bad sector")),
                read => Ok(read),
            }
        }
    }

    let place = tempfile::tempdir().unwrap();
    let text: &[u8] = br#"[{"ph":"i","ts":1},"#;
    for conversion in [Conversion::Nearest, Conversion::Linear] {
        let text: &'static [u8] = Box::leak(text.repeat(10_000).into_boxed_slice());
        let import = Import::from_reader(Failing(text)).conversion(conversion);
        let error = import.into_file(place.path().join("out.db")).unwrap_err();
        assert!(by_main(error).contains("the reader failed after 190000 bytes: bad sector"));
    }
}

#[test]
fn every_error_of_a_text_is_its_message() {
    let zone = "Europe/Atlantis".parse::<timebase_resolver::Zone>().unwrap_err();
    assert_eq!(by_main(zone), zone.to_string());
    let clock = "64@".parse::<timebase_resolver::WrittenClock>().unwrap_err();
    assert_eq!(by_main(clock), clock.to_string());
    let subject = "scheds".parse::<timebase::Subject>().unwrap_err();
    let message = subject.to_string();
    assert_eq!(by_main(subject), message);
}
