//! The C functions, with a caller that has a table of snapshots.

use std::ffi::c_void;
use std::ptr;

use super::*;

/// 64@2 1000 = MONOTONIC 1100; MONOTONIC 1200 = BOOTTIME 5200.
const SNAPSHOTS: [[i64; 11]; 4] = [
    [0, 0, 64, 2, 1000, 1, 0, 1, 5100, 1, -1],
    [0, 0, 3, 0, 1100, 1, 0, 1, 5100, 2, -1],
    [1, 0, 3, 0, 1200, 1, 0, 1, 5200, 3, -1],
    [1, 0, 6, 0, 5200, 1, 0, 1, 5200, 4, -1],
];

unsafe fn query<'a>(sql: *const u8, size: usize) -> &'a str {
    std::str::from_utf8(unsafe { slice::from_raw_parts(sql, size) }).unwrap()
}

unsafe extern "C" fn snapshots(
    sink: *mut c_void,
    sql: *const u8,
    size: usize,
    count: usize,
    _: *const u8,
    _: *const i64,
    _: *const u8,
) {
    assert_eq!(count, 0);
    unsafe {
        if query(sql, size).contains("FROM main.clock_snapshot") {
            for rows in SNAPSHOTS.chunks(3) {
                let numbers = rows.as_flattened().as_ptr();
                let more =
                    timebase_rows(sink, rows.len(), 11, ptr::null(), numbers, ptr::null(), 0);
                assert_eq!(more, 1);
            }
        } else {
            let message = "no such table: any";
            timebase_fail(sink, message.as_ptr(), message.len());
        }
    }
}

unsafe extern "C" fn nothing(
    sink: *mut c_void,
    _: *const u8,
    _: usize,
    _: usize,
    _: *const u8,
    _: *const i64,
    _: *const u8,
) {
    let message = b"no such \0 table \xff";
    unsafe { timebase_fail(sink, message.as_ptr(), message.len()) };
}

/// A row with the parameters as its values.
unsafe extern "C" fn same(
    sink: *mut c_void,
    sql: *const u8,
    size: usize,
    count: usize,
    kinds: *const u8,
    numbers: *const i64,
    texts: *const u8,
) {
    unsafe {
        assert!(query(sql, size).contains("FROM main.args WHERE arg_set_id = ?1 AND key = ?2"));
        assert_eq!(slice::from_raw_parts(kinds, count), [INTEGER as u8, TEXT as u8]);
        let (set, key) = (*numbers, *numbers.add(1));
        let (kinds, numbers) = match set {
            0 => (&[TEXT as u8], [key]),
            _ => (&[INTEGER as u8], [set + key]),
        };
        let (kinds, numbers) = (kinds.as_ptr(), numbers.as_ptr());
        let more = timebase_rows(sink, 1, 1, kinds, numbers, texts, key as usize);
        assert_eq!(more, 0);
    }
}

/// A row of two texts; the second one is longer than every other text.
unsafe extern "C" fn too_much(
    sink: *mut c_void,
    _: *const u8,
    _: usize,
    _: usize,
    _: *const u8,
    _: *const i64,
    _: *const u8,
) {
    let kinds = [TEXT as u8; 2];
    let more =
        unsafe { timebase_rows(sink, 1, 2, kinds.as_ptr(), [1, 9].as_ptr(), b"abc".as_ptr(), 3) };
    assert_eq!(more, 0);
}

struct Functions(*mut Session);

impl Drop for Functions {
    fn drop(&mut self) {
        unsafe { timebase_session_close(self.0) }
    }
}

/// An answer, with its kind.
#[derive(Debug, PartialEq)]
enum Got {
    Number(i32, i64),
    Bytes(i32, Vec<u8>),
}

fn given(kind: i32, output: &Output) -> Got {
    match kind {
        NULL => Got::Number(kind, 0),
        INTEGER => Got::Number(kind, output.number),
        REAL => Got::Number(kind, output.real.to_bits().cast_signed()),
        kind => {
            let bytes = unsafe { slice::from_raw_parts(output.bytes, output.size) }.to_vec();
            unsafe { timebase_free(output.bytes, output.size) };
            Got::Bytes(kind, bytes)
        }
    }
}

fn output() -> Output {
    Output { number: 0, real: 0.0, bytes: ptr::null_mut(), size: 0 }
}

fn text(text: &str) -> Got {
    Got::Bytes(TEXT, text.into())
}

fn failed(text: &str) -> Got {
    Got::Bytes(FAILED, text.into())
}

impl Functions {
    fn new(read: Read) -> Functions {
        Functions(unsafe { timebase_session_open(read) })
    }

    fn number(&self, name: &str, count: usize) -> usize {
        (0..)
            .find(|number| {
                let mut output = output();
                let kind = unsafe { timebase_function(self.0, *number, &raw mut output) };
                assert_eq!(kind, TEXT, "{name}");
                let arguments = output.number;
                given(kind, &output) == text(name) && arguments == count as i64
            })
            .unwrap()
    }

    /// Calls with arguments that are not aligned, as Python's bytes may be.
    fn call(&self, name: &str, arguments: &[ValueRef<'_>]) -> Got {
        let (mut kinds, mut numbers, mut texts) = (vec![], vec![0u8], vec![]);
        for argument in arguments {
            let (kind, number) = match argument {
                ValueRef::Null => (NULL, 0),
                ValueRef::Integer(value) => (INTEGER, *value),
                ValueRef::Real(value) => (REAL, value.to_bits().cast_signed()),
                ValueRef::Text(bytes) => (TEXT, bytes.len() as i64),
                ValueRef::Blob(bytes) => (BLOB, bytes.len() as i64),
            };
            kinds.push(kind as u8);
            numbers.extend(number.to_ne_bytes());
            if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = argument {
                texts.extend(*bytes);
            }
        }
        let mut output = output();
        let statement = timebase_statement_begin();
        let kind = unsafe {
            let kind = timebase_call(
                self.0,
                statement,
                self.number(name, arguments.len()),
                kinds.as_ptr(),
                numbers.as_ptr().add(1).cast(),
                texts.as_ptr(),
                texts.len(),
                &raw mut output,
            );
            timebase_statement_end(statement);
            kind
        };
        given(kind, &output)
    }
}

use ValueRef::{Blob, Integer, Null, Real, Text};

#[test]
fn every_kind_of_answer_is_given() {
    let functions = Functions::new(snapshots);
    let call = |name, arguments: &[ValueRef<'_>]| functions.call(name, arguments);
    let reading = [Integer(64), Integer(2), Integer(1003)];
    assert_eq!(call("to_boottime", &reading), Got::Number(INTEGER, 5103));
    let named = [Text(b"MONOTONIC"), Integer(0), Integer(1203)];
    assert_eq!(call("to_boottime", &named), Got::Number(INTEGER, 5203));
    let of_a_file = [Integer(64), Integer(2), Integer(1003), Integer(0), Integer(0)];
    assert_eq!(call("to_boottime", &of_a_file), Got::Number(INTEGER, 5103));
    let converted = [Text(b"64@2"), Null, Integer(1003), Integer(3), Integer(0), Integer(0), Null];
    assert_eq!(call("convert_clock", &converted), Got::Number(INTEGER, 1103));
    let null = [Integer(64), Null, Integer(1003)];
    assert_eq!(call("to_boottime", &null), Got::Number(NULL, 0));
    let unknown = [Integer(64), Integer(3), Integer(1003)];
    assert_eq!(call("why_unresolved", &unknown), text("unknown_clock"));
    let packet = b"\x40\xd0\x08\x5a\x02\x48\x01";
    assert_eq!(
        call("packet_json", &[Blob(packet)]),
        Got::Bytes(JSON, br#"{"timestamp":1104,"track_event":{"type":"TYPE_SLICE_BEGIN"}}"#.into())
    );
    let compressed = [Blob(b"\x92\x03\x02\xde\xad"), Text(b"compressed_packets")];
    assert_eq!(call("packet_field", &compressed), Got::Bytes(BLOB, vec![0xde, 0xad]));
    assert_eq!(call("timebase_version", &[]), text(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_query_has_the_values_of_its_parameters() {
    let functions = Functions::new(same);
    let key = Text("debug.ä\0".as_bytes());
    let call = |set| functions.call("extract_arg", &[Integer(set), key]);
    assert_eq!(call(0), text("debug.ä\0"));
    assert_eq!(call(1 << 40), Got::Number(INTEGER, (1 << 40) + 9));
    let functions = Functions::new(nothing);
    assert_eq!(
        functions.call("extract_arg", &[Integer(0), key]),
        failed("extract_arg(): args cannot be used: no such \\0 table \u{fffd}")
    );
}

#[test]
fn without_kinds_all_are_integers_and_without_a_statement_each_call_is_one() {
    let functions = Functions::new(snapshots);
    let function = functions.number("to_boottime", 3);
    let (numbers, mut output) = ([64i64, 2, 1003], output());
    for _again in 0..2 {
        let kind = unsafe {
            let numbers = numbers.as_ptr();
            let (none, output) = (ptr::null(), &raw mut output);
            timebase_call(functions.0, ptr::null(), function, none, numbers, none, 0, output)
        };
        assert_eq!(given(kind, &output), Got::Number(INTEGER, 5103));
    }
}

#[test]
fn what_goes_wrong_is_told() {
    let functions = Functions::new(snapshots);
    let call = |name, arguments: &[ValueRef<'_>]| functions.call(name, arguments);
    assert_eq!(
        call("to_boottime", &[Integer(3), Integer(0), Real(1.5)]),
        failed("to_boottime(): argument 3 (ts) must be an integer, not the real number 1.5")
    );
    assert_eq!(
        call("clock_id", &[Text(b"\0\xff")]),
        failed("clock_id(): argument 1 (name) must be UTF-8, not the text '\\0\u{fffd}'")
    );
    assert_eq!(
        call("packet_json", &[Blob(b"\xff")]),
        failed(
            "packet_json(): argument 1 (data) cannot be read: the message ends inside a field that starts at byte 0"
        )
    );
    let functions = Functions::new(nothing);
    assert_eq!(
        functions.call("to_realtime", &[Integer(1)]),
        failed(
            "to_realtime(): this is not a timebase database (no such \\0 table \u{fffd}); make one with `timebase import`"
        )
    );
    let functions = Functions::new(too_much);
    assert_eq!(
        functions.call("to_realtime", &[Integer(1)]),
        failed(
            "to_realtime(): clock_snapshot cannot be used: the rows are not as they were announced"
        )
    );
}

#[test]
fn what_no_caller_should_do_is_told_too() {
    let functions = Functions::new(snapshots);
    let mut output = output();
    let none = ptr::null();
    let mut call = |function, kinds: &[i32], numbers: &[i64]| unsafe {
        let kinds: Vec<u8> = kinds.iter().map(|kind| *kind as u8).collect();
        let (kinds, numbers) = (kinds.as_ptr(), numbers.as_ptr());
        let kind = timebase_call(
            functions.0,
            ptr::null(),
            function,
            kinds,
            numbers,
            none,
            0,
            &raw mut output,
        );
        given(kind, &output)
    };
    assert_eq!(call(999, &[], &[]), failed("there is no such function"));
    let function = functions.number("clock_name", 1);
    let wrong = failed("wrong number of arguments to function clock_name()");
    for (kind, number) in [(9, 0), (TEXT, 1), (BLOB, -1), (TEXT, i64::MAX)] {
        assert_eq!(call(function, &[kind], &[number]), wrong, "{kind} {number}");
    }
    // A text may be empty, and come without bytes.
    assert_eq!(
        call(function, &[TEXT], &[0]),
        failed(
            "clock_name(): argument 1 (id) must be a clock number, number@sequence or name, not the text ''"
        )
    );
}
