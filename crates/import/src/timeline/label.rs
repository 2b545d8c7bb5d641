//! The names of events, categories and tracks.

use std::io;

use crate::compact::{Put, Take, cut};

/// The number of a text in [`Names`](crate::definitions::Names). A text that is absent is
/// none, and not the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(pub u32);

/// A name, if there is one: a text with a number, or without one if there was no room for it. Two
/// names are equal if their texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Label<'a> {
    None,
    Known(Name),
    Own(&'a str),
}

/// A name that owns its text.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OwnLabel {
    #[default]
    None,
    Known(Name),
    Own(Box<str>),
}

impl OwnLabel {
    /// Whether it is the same.
    pub fn is(&self, label: Label<'_>) -> bool {
        self.label() == label
    }

    /// It, borrowed.
    pub fn label(&self) -> Label<'_> {
        match self {
            OwnLabel::None => Label::None,
            OwnLabel::Known(name) => Label::Known(*name),
            OwnLabel::Own(text) => Label::Own(text),
        }
    }
}

impl From<Label<'_>> for OwnLabel {
    fn from(label: Label<'_>) -> Self {
        match label {
            Label::None => OwnLabel::None,
            Label::Known(name) => OwnLabel::Known(name),
            Label::Own(text) => OwnLabel::Own(text.into()),
        }
    }
}

/// Writes what something is called.
pub(super) fn put_label(put: &mut Put<'_>, label: Label<'_>) {
    match label {
        Label::None => {
            put.natural(0);
        }
        Label::Own(text) => {
            put.natural(1).bytes(text.as_bytes());
        }
        Label::Known(Name(number)) => {
            put.natural(u64::from(number) + 2);
        }
    }
}

/// Reads back what [`put_label`] wrote.
pub(super) fn take_label<'a>(take: &mut Take<'a>) -> io::Result<Label<'a>> {
    Ok(match take.natural()? {
        0 => Label::None,
        1 => Label::Own(std::str::from_utf8(take.bytes()?).map_err(|_| cut())?),
        number => Label::Known(Name(u32::try_from(number - 2).map_err(|_| cut())?)),
    })
}
