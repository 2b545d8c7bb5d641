//! The contents of a mark: from its text (rules B1, B2), or from the fields of an event of another
//! vendor (rule B8).

use std::borrow::Cow;

use timebase_schema::fields::{
    dpu_tracing_mark_write_ftrace_event as dpu, ftrace_event as event,
    lwis_tracing_mark_write_ftrace_event as lwis, mali_tracing_mark_write_ftrace_event as mali,
    samsung_tracing_mark_write_ftrace_event as samsung, sde_tracing_mark_write_ftrace_event as sde,
    tracing_mark_write_ftrace_event as plain, zero_ftrace_event as zero,
};

use crate::message::Message;

/// The name of a slice whose text has no name.
const NO_NAME: &str = "[empty slice name]";

/// A mark of atrace, which belongs to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark<'a> {
    /// 0 if the mark does not name it.
    pub tgid: u32,
    pub what: MarkAction<'a>,
}

/// The action of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkAction<'a> {
    /// A slice of the thread.
    Begin {
        name: Option<&'a str>,
    },
    End,
    /// A slice that may overlap other slices of its name.
    AsyncBegin {
        name: &'a str,
        cookie: i64,
    },
    AsyncEnd {
        name: &'a str,
        cookie: i64,
    },
    Value {
        name: &'a str,
        value: i64,
    },
    /// An instant of the thread.
    Instant {
        name: Option<&'a str>,
    },
    /// An instant on a track of the process.
    TrackInstant {
        track: &'a str,
        name: &'a str,
    },
    /// A slice that may overlap other slices of its track.
    TrackBegin {
        track: &'a str,
        name: &'a str,
        cookie: i64,
    },
    TrackEnd {
        track: &'a str,
        cookie: i64,
    },
}

/// The text of a mark, without the bytes that are not UTF-8 (rule B1).
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect()),
    }
}

impl<'a> Mark<'a> {
    /// Reads a text; `None` if it is not a mark.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut fields = Fields(text.trim_end_matches(['\n', '\0']));
        let phase = *fields.next().as_bytes().first()?;
        let tgid = tgid(fields.next());
        let what = match phase {
            b'B' => MarkAction::Begin {
                name: Some(if fields.0.is_empty() { NO_NAME } else { fields.0 }),
            },
            b'E' => {
                return Some(Mark { tgid: tgid.unwrap_or(0), what: MarkAction::End });
            }
            b'S' => MarkAction::AsyncBegin { name: fields.name()?, cookie: number(fields.next())? },
            b'F' => MarkAction::AsyncEnd { name: fields.name()?, cookie: number(fields.next())? },
            b'C' => MarkAction::Value { name: fields.name()?, value: number(fields.next())? },
            b'I' => MarkAction::Instant { name: Some(fields.name()?) },
            b'N' => MarkAction::TrackInstant { track: fields.name()?, name: fields.name()? },
            b'G' => MarkAction::TrackBegin {
                track: fields.name()?,
                name: fields.name()?,
                cookie: number(fields.next())?,
            },
            b'H' => {
                let track = fields.name()?;
                let (third, fourth) = (fields.next(), fields.next());
                let cookie = if fourth.is_empty() { third } else { fourth };
                MarkAction::TrackEnd { track, cookie: number(cookie)? }
            }
            _ => return None,
        };
        Some(Mark { tgid: tgid?, what })
    }

    /// Builds the action from the fields of an event; `None` if its type has no meaning.
    fn of(phase: u8, tgid: u32, name: Option<&'a str>, value: i64) -> Option<Self> {
        let what = match phase {
            b'B' => MarkAction::Begin { name },
            b'E' => MarkAction::End,
            b'I' => MarkAction::Instant { name },
            b'C' => MarkAction::Value { name: name.unwrap_or_default(), value },
            _ => return None,
        };
        Some(Mark { tgid, what })
    }
}

/// The rest of a text, whose fields end at a bar or a NUL.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn next(&mut self) -> &'a str {
        let ends = |byte: &u8| matches!(byte, b'|' | 0);
        let end = self.0.as_bytes().iter().position(ends);
        let (field, rest) = match end {
            Some(end) => (self.0.get(..end), self.0.get(end + 1..)),
            None => (Some(self.0), None),
        };
        self.0 = rest.unwrap_or_default();
        field.unwrap_or_default()
    }

    /// The next field, which must not be empty.
    fn name(&mut self) -> Option<&'a str> {
        Some(self.next()).filter(|name| !name.is_empty())
    }
}

/// The sign and the digits of a number (rule B2): whether it is negative, and its absolute value,
/// if that fits.
fn digits(text: &str) -> Option<(bool, Option<u64>)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    Some((negative, value))
}

/// Reads a value or a cookie.
pub(super) fn number(text: &str) -> Option<i64> {
    let value = match digits(text)? {
        (false, value) => value.and_then(|value| i64::try_from(value).ok()),
        (true, value) => {
            value.and_then(|value| 0i64.checked_sub_unsigned(value)).or(Some(i64::MIN))
        }
    };
    Some(value.unwrap_or(i64::MAX))
}

/// Reads a tgid or a pid.
pub(super) fn tgid(text: &str) -> Option<u32> {
    let value = match digits(text)? {
        (_, None) => u64::MAX,
        (true, Some(value)) => value.wrapping_neg(),
        (false, Some(value)) => value,
    };
    Some(value as u32)
}

/// The fields of a mark in an event of the kernel or of another vendor.
pub(super) struct Fielded<'a> {
    phase: u8,
    tgid: u32,
    name: Option<Cow<'a, str>>,
    value: i64,
}

impl<'a> Fielded<'a> {
    /// Reads the fields of an event; `None` if it is not a mark (rule B8).
    pub fn read(field: u32, message: Message<'a>) -> Option<Self> {
        let character = |number: u64| u8::try_from(number).ok();
        let begins = |flag: u64| if flag != 0 { b'B' } else { b'E' };
        let (phase, tgid, name, value) = match field {
            event::ZERO => {
                let flag = message.number(zero::FLAG).unwrap_or(0);
                let phase = [(1, b'B'), (2, b'E'), (4, b'C')];
                let phase = phase.into_iter().find(|(bit, _)| flag & bit != 0)?.1;
                (phase, zero::PID, zero::NAME, zero::VALUE)
            }
            event::TRACING_MARK_WRITE => {
                (begins(message.number(plain::TRACE_BEGIN)?), plain::PID, plain::TRACE_NAME, 0)
            }
            event::SDE_TRACING_MARK_WRITE => {
                let (named, flag) =
                    (message.number(sde::TRACE_TYPE), message.number(sde::TRACE_BEGIN));
                let phase = match (named, flag) {
                    (None, None) => return None,
                    (None | Some(0), flag) => begins(flag.unwrap_or(0)),
                    (Some(named), _) => character(named)?,
                };
                (phase, sde::PID, sde::TRACE_NAME, sde::VALUE)
            }
            event::SAMSUNG_TRACING_MARK_WRITE => {
                let phase = match message.number(samsung::TRACE_TYPE)? {
                    0 => b'E',
                    named => character(named)?,
                };
                (phase, samsung::PID, samsung::TRACE_NAME, samsung::VALUE)
            }
            event::DPU_TRACING_MARK_WRITE | event::G2D_TRACING_MARK_WRITE => {
                (character(message.number(dpu::TYPE)?)?, dpu::PID, dpu::NAME, dpu::VALUE)
            }
            event::MALI_TRACING_MARK_WRITE => {
                (character(message.number(mali::TYPE)?)?, mali::PID, mali::NAME, mali::VALUE)
            }
            event::LWIS_TRACING_MARK_WRITE => {
                (character(message.number(lwis::TYPE)?)?, lwis::PID, lwis::FUNC_NAME, lwis::VALUE)
            }
            _ => return None,
        };
        // The process that the display's driver names is not the process of the thread.
        let is_known = field != event::DPU_TRACING_MARK_WRITE || phase == b'C';
        Some(Fielded {
            phase,
            tgid: message.small(tgid).filter(|_| is_known).unwrap_or(0),
            name: message.text(name),
            value: message.number(value).unwrap_or(0) as i64,
        })
    }

    /// The event as a mark.
    pub fn mark(&self) -> Option<Mark<'_>> {
        Mark::of(self.phase, self.tgid, self.name.as_deref(), self.value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn what(text: &str) -> Option<MarkAction<'_>> {
        Mark::parse(text).map(|mark| mark.what)
    }

    #[test]
    fn b1_phases_have_fields() {
        let name = |name| Some(MarkAction::Begin { name: Some(name) });
        assert_eq!(what("B|1|a|b\n\0\n"), name("a|b"));
        assert_eq!(what("B|1|a\0b"), name("a\0b"));
        assert_eq!(what("B|1|"), name(NO_NAME));
        assert_eq!(what("B|1"), name(NO_NAME));
        assert_eq!(what("E"), Some(MarkAction::End));
        assert_eq!(Mark::parse("E|77").unwrap().tgid, 77);
        assert_eq!(Mark::parse("E|x").unwrap().tgid, 0);
        let (name, cookie) = ("n", -7);
        assert_eq!(what("S|1|n|-7|x"), Some(MarkAction::AsyncBegin { name, cookie }));
        assert_eq!(what("F|1|n|-7"), Some(MarkAction::AsyncEnd { name, cookie }));
        assert_eq!(what("C|1|n|-7|Blob"), Some(MarkAction::Value { name, value: -7 }));
        assert_eq!(what("I|1|n|x"), Some(MarkAction::Instant { name: Some("n") }));
        let track = "t";
        assert_eq!(what("N|1|t|n"), Some(MarkAction::TrackInstant { track, name }));
        let begin = MarkAction::TrackBegin { track, name, cookie };
        assert_eq!(what("G|1|t|n|-7"), Some(begin));
        for end in ["H|1|t|-7", "H|1|t|n|-7", "H|1|t|-7|", "H\x001\0t\0-7"] {
            assert_eq!(what(end), Some(MarkAction::TrackEnd { track, cookie }));
        }
    }

    #[test]
    fn b1_what_is_no_mark_is_nothing() {
        for text in [
            "",
            "\n",
            "|1|a",
            "X|1|a",
            "b|1|a",
            "B",
            "B|",
            "B|x|a",
            "S|1|n",
            "S|1||3",
            "S||n|3",
            "F|1|n|x",
            "C|1|n|",
            "C|1|n|1.5",
            "I|1|",
            "I|1",
            "N|1|t",
            "N|1||n",
            "G|1|t|n",
            "G|1|t||3",
            "H|1|t",
            "H|1|t|3|n",
            "H|1||3",
        ] {
            assert_eq!(what(text), None, "{text:?}");
        }
    }

    #[test]
    fn b1_what_is_not_utf8_is_left_out() {
        assert_eq!(text(b"B|1|a\xffb\xe2\x82"), "B|1|ab");
        assert_eq!(text("B|1|ä€".as_bytes()), "B|1|ä€");
    }

    #[test]
    fn b2_numbers_saturate() {
        assert_eq!(number(" \t+12"), Some(12));
        assert_eq!(number("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(number("-99999999999999999999"), Some(i64::MIN));
        assert_eq!(number("9223372036854775808"), Some(i64::MAX));
        assert_eq!(number("99999999999999999999"), Some(i64::MAX));
        for text in ["", " ", "-", "+-1", "1 ", "0x1", "१"] {
            assert_eq!(number(text), None, "{text:?}");
        }
        assert_eq!(tgid("-1"), Some(u32::MAX));
        assert_eq!(tgid("4294967297"), Some(1));
        assert_eq!(tgid("99999999999999999999"), Some(u32::MAX));
        assert_eq!(tgid("-99999999999999999999"), Some(u32::MAX));
    }

    #[test]
    fn b8_vendors_have_types_of_their_own() {
        let phase = |field, bytes: &[u8]| {
            Fielded::read(field, Message(bytes)).map(|read| (char::from(read.phase), read.tgid))
        };
        // Field n as a varint is the byte 8 n.
        assert_eq!(phase(event::ZERO, &[8, 6, 24, 5]), Some(('E', 5)));
        assert_eq!(phase(event::ZERO, &[8, 8]), None);
        assert_eq!(phase(event::TRACING_MARK_WRITE, &[8, 5, 24, 0]), Some(('E', 5)));
        assert_eq!(phase(event::TRACING_MARK_WRITE, &[8, 5]), None);
        assert_eq!(phase(event::SDE_TRACING_MARK_WRITE, &[24, 0, 40, 1]), Some(('B', 0)));
        assert_eq!(phase(event::SDE_TRACING_MARK_WRITE, &[24, 67, 40, 1]), Some(('C', 0)));
        assert_eq!(phase(event::SDE_TRACING_MARK_WRITE, &[8, 5]), None);
        assert_eq!(phase(event::SAMSUNG_TRACING_MARK_WRITE, &[8, 5, 24, 1, 32, 0]), Some(('E', 5)));
        assert_eq!(phase(event::SAMSUNG_TRACING_MARK_WRITE, &[8, 5, 24, 1]), None);
        assert_eq!(phase(event::DPU_TRACING_MARK_WRITE, &[8, 5, 40, 66]), Some(('B', 0)));
        assert_eq!(phase(event::DPU_TRACING_MARK_WRITE, &[8, 5, 40, 67]), Some(('C', 5)));
        assert_eq!(phase(event::G2D_TRACING_MARK_WRITE, &[8, 5, 40, 66]), Some(('B', 5)));
        assert_eq!(phase(event::MALI_TRACING_MARK_WRITE, &[16, 5, 24, 73]), Some(('I', 5)));
        assert_eq!(phase(event::LWIS_TRACING_MARK_WRITE, &[16, 69, 24, 5]), Some(('E', 5)));
        let nothing =
            Fielded::read(event::G2D_TRACING_MARK_WRITE, Message(&[8, 5, 40, 83])).unwrap();
        assert_eq!(nothing.mark(), None);
    }
}
