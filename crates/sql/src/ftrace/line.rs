//! A line, and what stands in it before the arguments.

use std::fmt::Write as _;

use super::arguments;
use super::flags::{self, Version};
use super::json::{self, Json};

const SECOND: u64 = 1_000_000_000;

/// The line of an event, from an array of its time, CPU, tid, the thread's name, the process's pid, the event's name and
/// arguments, and the kernel's release. `None` if the time or the name is NULL.
pub fn of(event: &str) -> Option<String> {
    let event = json::elements(event);
    let value = |index: usize| event.get(index);
    let number = |index: usize| value(index).and_then(Json::integer);
    let text = |index: usize| match value(index) {
        Some(Json::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let (ts, name) = (number(0)?, text(5)?);
    let thread = Thread {
        tid: number(2).unwrap_or_default(),
        name: text(3).unwrap_or_default(),
        pid: number(4).unwrap_or_default(),
    };
    let mut line = thread.shown();
    let sign = if ts < 0 { "-" } else { "" };
    let (seconds, rest) = (ts.unsigned_abs() / SECOND, ts.unsigned_abs() % SECOND);
    // A mark is a mark, wherever the kernel writes it.
    let shown = match name {
        "print" | "g2d_tracing_mark_write" | "dpu_tracing_mark_write" => "tracing_mark_write",
        name => name,
    };
    let version: Version = flags::version(text(7).unwrap_or_default());
    // A text takes all that is written.
    let _ = write!(
        line,
        " [{:03}] .... {sign}{seconds}.{:06}: {shown}:",
        number(1).unwrap_or_default(),
        rest / 1000
    );
    arguments::write(&mut line, name, text(6).unwrap_or_default(), version);
    Some(line)
}

struct Thread<'e> {
    tid: i64,
    name: &'e str,
    /// 0 if the process is not known.
    pid: i64,
}

impl Thread<'_> {
    /// The name without hyphens, because one separates it from the tid.
    fn shown(&self) -> String {
        let name = match (self.tid, self.name) {
            (0, _) => "<idle>",
            (_, "") => "<unknown>",
            (_, name) => name,
        };
        // The width counts bytes, as the kernel's does.
        let width = 16_usize.saturating_sub(name.len());
        let process = match self.pid {
            0 => "-----".to_owned(),
            pid => format!("{pid:5}"),
        };
        let (name, tid) = (name.replace('-', "_"), self.tid);
        format!("{:width$}{name}-{tid:<5} ({process})", "")
    }
}
