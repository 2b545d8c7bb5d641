//! Members of the outer object as facts of the trace (rule JS30).

use timebase_trace::json::{Kind, Number, Value};

use crate::formats::FileSession;
use crate::output::{Counter, Fact, LogMessage, Severity};

const DISPLAY_TIME_UNIT: Counter = Counter::info(
    "json_display_time_unit",
    "a JSON trace says in which unit to show its times, which does not change them",
)
.drops_nothing();

/// States the facts in a member. A value that is too large for memory is only in `packet`.
pub(super) fn member(key: &str, value: Option<Value<'_>>, session: &mut FileSession<'_, '_>) {
    let Some(value) = value else {
        return;
    };
    if key == "displayTimeUnit" {
        session.count(DISPLAY_TIME_UNIT);
    }
    let prefix = match (key, value.kind()) {
        ("metadata", Kind::Object) => "json_metadata",
        ("otherData", Kind::Object) => "json_other",
        (_, Kind::Object | Kind::Array) => return,
        _ => return session.fact(format!("json.{key}"), fact(value)),
    };
    for (key, value) in value.members() {
        session.fact(format!("{prefix}.{}", key.text()), fact(value));
    }
}

/// Members with data that the import does not read (rule JS29), and what they have.
const UNREAD: [(&str, &str); 3] = [
    ("systemTraceEvents", "events of the kernel or the system as text"),
    ("stackFrames", "frames of callstacks"),
    ("samples", "samples of callstacks"),
];

/// The members of a file that are not read, each told once.
#[derive(Default)]
pub(super) struct Unread {
    told: [bool; UNREAD.len()],
}

impl Unread {
    /// Tells of a member, unless it is empty. `None` is a value that is too large for memory.
    pub fn member(
        &mut self,
        key: &str,
        value: Option<Value<'_>>,
        session: &mut FileSession<'_, '_>,
    ) {
        for ((name, what), told) in UNREAD.iter().zip(&mut self.told) {
            if *name == key && !*told && value.is_none_or(has_data) {
                *told = true;
                let text = format!("the member {name} is not read, which has {what}");
                let code = "member_not_read";
                let message = LogMessage::new(Severity::Info, code, text);
                session.warn(LogMessage { packet_id: Some(session.next_record()), ..message });
            }
        }
    }
}

fn has_data(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::Object => value.members().next().is_some(),
        Kind::Array => value.items().next().is_some(),
        Kind::String => value.string().is_some_and(|text| !text.trim().is_empty()),
        _ => false,
    }
}

/// Doubles from here on are not stated as integers.
const LARGEST: f64 = 9.2e18;

fn fact(value: Value<'_>) -> Fact {
    let as_written = || Fact::Text(String::from_utf8_lossy(value.text()).into());
    match (value.kind(), value.number()) {
        (Kind::Null, _) => Fact::Null,
        (Kind::Bool(bool), _) => Fact::Integer(bool.into()),
        (Kind::String, _) => Fact::Text(value.string().unwrap_or_default().into()),
        (_, Some(Number::Int(int))) => Fact::Integer(int),
        (_, Some(Number::Real(real))) if real.fract() == 0.0 && real.abs() < LARGEST => {
            Fact::Integer(real as i64)
        }
        _ => as_written(),
    }
}
