//! The arguments of an event in its line: some events have a form of their own, all others `key=value` for each argument.

use base64::Engine as _;

use super::flags::{self, Version};
use super::json::{self, Json};

/// A piece of a line.
#[derive(Clone, Copy)]
enum Piece {
    /// This text.
    Says(&'static str),
    /// ` key=value`, if the event has the argument.
    Arg(&'static str, Form),
    /// The same under another key, the first one.
    As(&'static str, &'static str, Form),
    /// The value alone, if the event has the argument.
    Value(&'static str, Form),
}

/// The form of a value.
#[derive(Clone, Copy)]
enum Form {
    /// As the arguments have it.
    Plain,
    /// Hexadecimal, with at least so many digits; a text stays as it is.
    Hex(usize),
    /// With at least three digits.
    Three,
    /// The lower 32 bits, without a sign.
    Unsigned,
    /// The number of a character.
    Character,
    /// The state of a thread.
    State,
    /// Whether a handler of interrupts did something.
    Handled,
    /// The name of a soft interrupt.
    Action,
    /// `B` for a beginning, `E` for an end.
    Edge,
    /// The upper bits of the number of a device, and the lower 20.
    Major,
    Minor,
    /// The number of a page as its first byte.
    Page,
    /// Without the line feed at its end.
    Line,
    /// Up to 64 bytes with hyphens between them, in brackets.
    Bytes,
}

use Form::{
    Action, Bytes, Character, Edge, Handled, Hex, Line, Major, Minor, Page, Plain, State, Three,
    Unsigned,
};
use Piece::{Arg, As, Says, Value};

const CLOCK: &[Piece] = &[Value("name", Plain), Arg("state", Plain), Arg("cpu_id", Plain)];
const WORK: &[Piece] = &[Says(" work struct "), Value("work", Hex(1))];
const SOFTIRQ: &[Piece] = &[Arg("vec", Plain), Says(" [action="), Value("vec", Action), Says("]")];

/// A mark with a value, whose type is a character.
macro_rules! mark {
    ($kind:literal, $name:literal) => {
        &[
            Value($kind, Character),
            Says("|"),
            Value("pid", Plain),
            Says("|"),
            Value($name, Plain),
            Says("|"),
            Value("value", Plain),
        ]
    };
}

/// An event of an I²C bus, and what follows its length.
macro_rules! i2c {
    ($($last:expr),*) => {
        &[
            Says(" i2c-"),
            Value("adapter_nr", Plain),
            Says(" #"),
            Value("msg_nr", Plain),
            As("a", "addr", Hex(3)),
            As("f", "flags", Hex(4)),
            As("l", "len", Plain),
            $($last),*
        ]
    };
}

/// The form of an event; `None` for all arguments in their order.
fn form(event: &str) -> Option<&'static [Piece]> {
    Some(match event {
        "sched_switch" | "sched_wakeup" | "sched_blocked_reason" | "cgroup_attach_task" => {
            scheduler(event)
        }
        "binder_transaction" | "binder_transaction_alloc_buf" | "binder_transaction_received" => {
            binder(event)
        }
        "clock_enable" | "clock_disable" => CLOCK,
        "clock_set_rate" => {
            &[Says(" "), Value("name", Plain), Arg("state", Plain), Arg("cpu_id", Plain)]
        }
        "clk_set_rate" => &[Says(" "), Value("name", Plain), Says(" "), Value("rate", Plain)],
        "mm_filemap_add_to_page_cache" => &[
            Says(" dev "),
            Value("s_dev", Major),
            Says(":"),
            Value("s_dev", Minor),
            Says(" ino "),
            Value("i_ino", Hex(1)),
            Says(" page=0000000000000000 pfn="),
            Value("pfn", Plain),
            Says(" ofs="),
            Value("index", Page),
        ],
        "workqueue_activate_work" | "workqueue_execute_end" => WORK,
        "workqueue_execute_start" => &[
            Says(" work struct "),
            Value("work", Hex(1)),
            Says(": function "),
            Value("function", Hex(1)),
        ],
        // The two CPUs follow the address directly, as in trace processor.
        "workqueue_queue_work" => &[
            Says(" work struct="),
            Value("work", Hex(1)),
            Arg("function", Hex(1)),
            Arg("workqueue", Hex(1)),
            Value("req_cpu", Plain),
            Value("cpu", Plain),
        ],
        "irq_handler_entry" => &[Arg("irq", Plain), Arg("name", Plain)],
        "irq_handler_exit" => &[Arg("irq", Plain), Says(" ret="), Value("ret", Handled)],
        "softirq_entry" | "softirq_exit" => SOFTIRQ,
        "hrtimer_expire_entry" => &[Arg("function", Hex(1))],
        "print" => &[Says(" "), Value("buf", Line)],
        "tracing_mark_write" => &[
            Value("trace_begin", Edge),
            Says("|"),
            Value("pid", Plain),
            Says("|"),
            Value("trace_name", Plain),
        ],
        "dpu_tracing_mark_write" | "g2d_tracing_mark_write" | "panel_write_generic" => {
            mark!("type", "name")
        }
        "samsung_tracing_mark_write" => mark!("trace_type", "trace_name"),
        "i2c_read" => i2c!(),
        "i2c_write" | "i2c_reply" => i2c!(Value("buf", Bytes)),
        "i2c_result" => &[
            Says(" i2c-"),
            Value("adapter_nr", Plain),
            As("n", "nr_msgs", Plain),
            Arg("ret", Plain),
        ],
        _ => return None,
    })
}

fn scheduler(event: &str) -> &'static [Piece] {
    match event {
        "sched_switch" => &[
            Arg("prev_comm", Plain),
            Arg("prev_pid", Plain),
            Arg("prev_prio", Plain),
            Arg("prev_state", State),
            Says(" ==>"),
            Arg("next_comm", Plain),
            Arg("next_pid", Plain),
            Arg("next_prio", Plain),
        ],
        "sched_wakeup" => {
            &[Arg("comm", Plain), Arg("pid", Plain), Arg("prio", Plain), Arg("target_cpu", Three)]
        }
        "sched_blocked_reason" => {
            &[Arg("pid", Plain), As("iowait", "io_wait", Plain), Arg("caller", Hex(1))]
        }
        _ => &[
            Arg("dst_root", Plain),
            Arg("dst_id", Plain),
            As("cgroup", "cname", Plain),
            Arg("dst_level", Plain),
            Arg("dst_path", Plain),
            Arg("pid", Plain),
            Arg("comm", Plain),
        ],
    }
}

fn binder(event: &str) -> &'static [Piece] {
    match event {
        "binder_transaction" => &[
            Says(" transaction="),
            Value("debug_id", Unsigned),
            Says(" dest_node="),
            Value("target_node", Unsigned),
            Says(" dest_proc="),
            Value("to_proc", Plain),
            Says(" dest_thread="),
            Value("to_thread", Plain),
            Says(" reply="),
            Value("reply", Plain),
            Says(" flags=0x"),
            Value("flags", Hex(1)),
            Says(" code=0x"),
            Value("code", Hex(1)),
        ],
        "binder_transaction_alloc_buf" => &[
            Says(" transaction="),
            Value("debug_id", Unsigned),
            Arg("data_size", Plain),
            Arg("offsets_size", Plain),
        ],
        _ => &[Says(" transaction="), Value("debug_id", Unsigned)],
    }
}

/// Writes the arguments, a JSON object, behind the event's name. A line without arguments ends with the name.
pub fn write(line: &mut String, event: &str, args: &str, version: Version) {
    let args = json::members(args);
    let args: Vec<(&str, &Json<'_>)> =
        args.iter().filter_map(|(key, value)| Some((key.as_str(), value.simple()?))).collect();
    if args.is_empty() {
        return;
    }
    let Some(pieces) = form(event) else {
        for (key, value) in args {
            write_as(line, key, &shown(value, Plain, version), value, version);
        }
        return;
    };
    let get = |wanted: &str| args.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    for piece in pieces {
        match *piece {
            Says(text) => line.push_str(text),
            Arg(key, form) | As(key, _, form) => {
                let of = if let As(_, of, _) = piece { of } else { key };
                if let Some(value) = get(of) {
                    write_as(line, key, &shown(value, form, version), value, version);
                }
            }
            Value(key, form) => {
                if let Some(value) = get(key) {
                    line.push_str(&shown(value, form, version));
                }
            }
        }
    }
}

fn write_as(line: &mut String, key: &str, shown: &str, value: &Json<'_>, version: Version) {
    let flags = match (key, value.integer()) {
        ("gfp_flags", Some(flags)) => Some(flags::gfp(flags.cast_unsigned(), version)),
        _ => None,
    };
    line.push(' ');
    line.push_str(key);
    line.push('=');
    line.push_str(flags.as_deref().unwrap_or(shown));
}

fn shown(value: &Json<'_>, form: Form, version: Version) -> String {
    let Some(number) = value.integer() else {
        return text(value, form);
    };
    let unsigned = number.cast_unsigned();
    match form {
        Plain | Line | Bytes => value.shown().into_owned(),
        Hex(digits) => format!("{unsigned:0digits$x}"),
        Three => {
            let sign = if number < 0 { "-" } else { "" };
            format!("{sign}{:03}", number.unsigned_abs())
        }
        Unsigned => (unsigned as u32).to_string(),
        Character => char::from(unsigned as u8).to_string(),
        State => flags::state(number, version),
        Handled => if number == 0 { "unhandled" } else { "handled" }.to_owned(),
        Action => {
            let action = usize::try_from(unsigned).ok().and_then(|vec| ACTIONS.get(vec));
            action.map_or_else(|| unsigned.to_string(), |action| (*action).to_owned())
        }
        Edge => if number == 0 { "E" } else { "B" }.to_owned(),
        Major => (unsigned >> 20).to_string(),
        Minor => (unsigned & 0xf_ffff).to_string(),
        Page => (unsigned << 12).to_string(),
    }
}

/// A value that is no integer.
fn text(value: &Json<'_>, form: Form) -> String {
    let text = value.shown();
    match form {
        Line => text.strip_suffix('\n').unwrap_or(&text).to_owned(),
        Bytes => {
            const MOST: usize = 64;
            let bytes = base64::engine::general_purpose::STANDARD.decode(&*text);
            let bytes = bytes.unwrap_or_default();
            let bytes: Vec<String> =
                bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
            format!(" [{}]", bytes.join("-"))
        }
        _ => text.into_owned(),
    }
}

/// The names of the kernel's soft interrupts, by their numbers.
const ACTIONS: [&str; 10] = [
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "BLOCK_IOPOLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
];
