//! Names for frames and Java classes from files (rules SB, DM), through the real program. The C compiler of the build
//! makes small libraries; what `addr2line` of binutils says of each of their addresses is the answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use timebase_lab::encode::{self, Message};

use crate::support::{Imported, Place, count, rows, run};

/// Two functions are inlined into `foo::outer(int)`.
const SOURCE: &str = r#"
#define ALWAYS static inline __attribute__((always_inline))
ALWAYS int inner(int x) { volatile int y = x * 3; return y + 1; }
ALWAYS int middle(int x) { volatile int z = inner(x); return z * 5; }
int outer(int) __asm__("_ZN3foo5outerEi");
__attribute__((noinline)) int outer(int x) {
  return middle(x) + 3;
}
__attribute__((noinline)) int last(int x) { volatile int y = x; return y + outer(x); }
int main(int c, char **v) { return last(c); }
"#;

const BUILD_ID: &str = "ab12cd34ef567890ab12cd34ef567890ab12cd34";

/// Runs a program of the system, and returns what it prints.
fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A library made of the source.
fn library(place: &Place, name: &str, flags: &[&str]) -> PathBuf {
    let source = place.write("source.c", SOURCE.as_bytes());
    let path = place.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let fixed = ["-O2", "-o", path.to_str().unwrap(), source.to_str().unwrap()];
    tool("cc", &[&fixed, flags].concat());
    path
}

fn with_id(id: &str) -> String {
    format!("-Wl,--build-id=0x{id}")
}

/// The addresses of the code of a function, by the name in the table of symbols.
fn addresses(file: &Path, function: &str) -> Vec<u64> {
    let table = tool("nm", &["-S", file.to_str().unwrap()]);
    let line = table.lines().find(|line| line.ends_with(&format!(" {function}"))).unwrap();
    let numbers: Vec<u64> = line
        .split_whitespace()
        .take(2)
        .map(|number| u64::from_str_radix(number, 16).unwrap())
        .collect();
    (numbers[0]..numbers[0] + numbers[1]).collect()
}

/// The functions and lines at each address, by binutils: `function:line`, the innermost first.
fn by_binutils(file: &Path, addresses: &[u64]) -> BTreeMap<u64, Vec<String>> {
    let file = file.to_str().unwrap();
    let numbers: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let said = tool("addr2line", &[&["-a", "-f", "-i", "-C", "-e", file][..], &numbers].concat());
    let mut found: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let (mut lines, mut at) = (said.lines(), 0);
    while let Some(line) = lines.next() {
        if let Some(address) = line.strip_prefix("0x") {
            at = u64::from_str_radix(address, 16).unwrap();
            continue;
        }
        let place = lines.next().unwrap().split(" (discriminator").next().unwrap();
        let number = place.rsplit(':').next().unwrap();
        found.entry(at).or_default().push(format!("{line}:{number}"));
    }
    found
}

fn new() -> Message {
    Message::new()
}

/// A mapping of the trace.
#[derive(Clone)]
struct Mapping<'m> {
    path: &'m str,
    build_id: &'m str,
    exact_offset: u64,
    load_bias: u64,
}

const LIBRARY: Mapping<'_> =
    Mapping { path: "system/lib/libfoo.so", build_id: BUILD_ID, exact_offset: 0, load_bias: 0 };

/// A frame: its address, its name, and its line.
type Frame<'f> = (u64, Option<&'f str>, Option<u64>);

/// The bytes of a build id; Breakpad's are a text.
fn id_bytes(id: &str) -> Vec<u8> {
    match id.len() {
        33 => id.as_bytes().to_vec(),
        size => (0..size / 2)
            .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap())
            .collect(),
    }
}

/// A trace with one sample, whose callstack has these frames of a mapping.
fn trace(mapping: &Mapping<'_>, frames: &[Frame<'_>], more: &[Message]) -> Vec<u8> {
    let id = id_bytes(mapping.build_id);
    let of = new().number(1, 1).number(7, 1).number(8, mapping.exact_offset);
    let of = of.number(6, mapping.load_bias).number(2, u64::from(!id.is_empty()));
    let mut interned = new()
        .message(16, new().number(1, 1).bytes(2, &id))
        .message(17, new().number(1, 1).text(2, mapping.path))
        .message(19, of);
    let mut stack = new().number(1, 1);
    for (iid, (address, name, line)) in (1..).zip(frames) {
        let mut frame = new().number(1, iid).number(3, 1).number(4, *address);
        if let Some(name) = name {
            interned = interned.message(5, new().number(1, iid).text(2, name));
            frame = frame.number(2, iid);
        }
        if let Some(line) = line {
            frame = frame.number(6, *line);
        }
        interned = interned.message(6, frame);
        stack = stack.number(2, iid);
    }
    let clock = new().message(1, new().number(1, 6).number(2, 500));
    let sample = new().number(1, 0).number(2, 10).number(3, 10).number(4, 1);
    let packet = new().number(10, 2).number(8, 1_000).number(58, 6);
    let begin = [
        new().number(10, 1).message(6, clock),
        new().number(10, 2).number(13, 1).message(12, interned.message(7, stack)),
        packet.message(66, sample),
    ];
    encode::trace_of(&[&begin, more].concat())
}

/// A trace with frames at all these addresses.
fn at(mapping: &Mapping<'_>, addresses: &[u64]) -> Vec<u8> {
    let frames: Vec<Frame<'_>> = addresses.iter().map(|address| (*address, None, None)).collect();
    trace(mapping, &frames, &[])
}

/// The symbols of each frame: `function:line`, the innermost first.
fn symbols(imported: &Imported) -> BTreeMap<u64, Vec<String>> {
    let sql =
        "SELECT f.rel_pc, s.name || ':' || ifnull(s.line_number, '?') FROM stack_profile_frame AS f
        JOIN stack_profile_symbol AS s USING (symbol_set_id) ORDER BY s.id";
    let mut found: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for row in imported.rows(sql) {
        found.entry(row[0].parse().unwrap()).or_default().push(row[1].clone());
    }
    found
}

fn directory(place: &Place) -> String {
    format!("--symbols={}", place.path("").display())
}

const SHARED: [&str; 3] = ["-shared", "-fPIC", "-g"];

#[test]
fn sb1_a_directory_that_is_not_there_is_refused() {
    let place = Place::new();
    let trace = place.write("a.pftrace", &at(&LIBRARY, &[16]));
    let none = place.path("none");
    let said = place.refuse(&trace, &["--symbols", none.to_str().unwrap()]);
    assert!(said.contains(&format!("{}: No such file", none.display())), "{said}");
    // The symbols of a database cannot change.
    let database = place.path("a.db");
    place.import(&trace, &[]);
    fs::rename(place.path("out.db"), &database).unwrap();
    let said = run(&["query", database.to_str().unwrap(), "SELECT 1", &directory(&place)]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("import its trace again with them"), "{}", said.stderr);
}

#[test]
fn sb2_sb5_every_address_has_the_functions_and_lines_that_binutils_finds() {
    let place = Place::new();
    let file =
        library(&place, "anywhere/some.name", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let all = [addresses(&file, "_ZN3foo5outerEi"), addresses(&file, "last")].concat();
    let imported = Imported::of_bytes(&at(&LIBRARY, &all), &[&directory(&place)]);
    let expected = by_binutils(&file, &all);
    assert_eq!(symbols(&imported), expected);
    let deepest = expected.values().map(Vec::len).max();
    assert_eq!(deepest, Some(3), "the compiler inlined nothing: {expected:?}");
    // The row of an inlined function says so.
    let inlined = "SELECT DISTINCT name || ' ' || inlined FROM stack_profile_symbol ORDER BY 1";
    assert_eq!(
        imported.rows(inlined).concat(),
        ["foo::outer(int) 0", "inner 1", "last 0", "middle 1"]
    );
    let source =
        "SELECT count(*) FROM stack_profile_symbol WHERE source_file NOT LIKE '%/source.c'";
    assert_eq!(imported.count(source), 0);
    assert_eq!(imported.count("SELECT count(*) FROM unsymbolized_mapping"), 0);
}

#[test]
fn sb2_sb8_a_file_with_another_build_id_is_not_taken_and_the_mapping_is_listed() {
    let place = Place::new();
    let other = BUILD_ID.replace("ab", "ac");
    library(&place, "libfoo.so", &[&SHARED[..], &[&with_id(&other)]].concat());
    let imported = Imported::of_bytes(&at(&LIBRARY, &[4400, 4401]), &[&directory(&place)]);
    assert!(symbols(&imported).is_empty());
    let listed = imported.rows("SELECT name, build_id, frames FROM unsymbolized_mapping");
    assert_eq!(listed, [["/system/lib/libfoo.so", BUILD_ID, "2"]]);
    let line = "symbols     none for 2 frames of 1 mapping, in unsymbolized_mapping";
    assert!(imported.said.contains(line), "{}", imported.said);
}

#[test]
fn sb8_a_directory_that_names_no_frame_is_said() {
    let place = Place::new();
    let file = library(&place, "good/libfoo.so", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let other = BUILD_ID.replace("ab", "ac");
    library(&place, "other/libfoo.so", &[&SHARED[..], &[&with_id(&other)]].concat());
    let inside = addresses(&file, "last");
    let [good, other] = ["good", "other"].map(|name| place.path(name).display().to_string());
    let both = ["--symbols", &other, "--symbols", &good];
    let imported = Imported::of_bytes(&at(&LIBRARY, &inside), &both);
    let logged = "SELECT message FROM import_log WHERE code = 'names_unused'";
    let expected = format!("{other} names no frame of this trace");
    assert_eq!(imported.rows(logged).len(), 1);
    assert!(imported.rows(logged)[0][0].starts_with(&expected), "{:?}", imported.rows(logged));
    assert!(imported.said.contains(&format!("warning: {expected}")), "{}", imported.said);
    // All frames have the recorder's places, or there are none: nothing is missing.
    let clock = new().message(1, new().number(1, 6).number(2, 500));
    let empty = encode::trace_of(&[new().number(10, 1).message(6, clock)]);
    let imported = Imported::of_bytes(&empty, &["--symbols", &other]);
    assert!(imported.rows(logged).is_empty());
}

#[test]
fn sb2_a_debug_file_is_found_by_its_place_and_is_before_the_stripped_library() {
    let place = Place::new();
    let file = library(&place, "lib/libfoo.so", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let inside = addresses(&file, "_ZN3foo5outerEi");
    let expected = by_binutils(&file, &inside);
    let debug = place.path(format!(".build-id/ab/{}.debug", &BUILD_ID[2..]));
    fs::create_dir_all(debug.parent().unwrap()).unwrap();
    let path = file.to_str().unwrap();
    tool(
        "objcopy",
        &["--only-keep-debug", "--compress-debug-sections", path, debug.to_str().unwrap()],
    );
    tool("strip", &["--strip-all", path]);
    let trace = at(&LIBRARY, &inside);
    assert_eq!(symbols(&Imported::of_bytes(&trace, &[&directory(&place)])), expected);
    // Breakpad's id of the same file.
    let breakpad = Mapping { build_id: "34CD12AB56EF9078AB12CD34EF5678900", ..LIBRARY };
    let of_breakpad = Imported::of_bytes(&at(&breakpad, &inside), &[&directory(&place)]);
    assert_eq!(symbols(&of_breakpad), expected);
    // The library alone has the names that it exports, without lines.
    let alone = Imported::of_bytes(&trace, &["--symbols", path]);
    let names: Vec<String> = symbols(&alone).into_values().flatten().collect();
    assert_eq!(names, vec!["foo::outer(int):?"; inside.len()]);
}

#[test]
fn sb3_a_file_without_build_id_counts_if_its_name_is_the_only_one() {
    let place = Place::new();
    let none = ["-Wl,--build-id=none"];
    let file = library(&place, "a/libfoo.so", &[&SHARED[..], &none].concat());
    let inside = addresses(&file, "last");
    let unknown = Mapping { build_id: "", ..LIBRARY };
    let imported = Imported::of_bytes(&at(&unknown, &inside), &[&directory(&place)]);
    assert_eq!(symbols(&imported), by_binutils(&file, &inside));
    let log = imported.rows("SELECT message FROM import_log WHERE code = 'symbols_by_name'");
    assert!(log[0][0].contains("has a build id, so only its name says"), "{log:?}");
    // A mapping with a build id never gets such a file.
    let known = Imported::of_bytes(&at(&LIBRARY, &inside), &[&directory(&place)]);
    assert!(symbols(&known).is_empty());
    // Two files are not one.
    library(&place, "b/libfoo.so", &[&SHARED[..], &none].concat());
    let two = Imported::of_bytes(&at(&unknown, &inside), &[&directory(&place)]);
    assert!(symbols(&two).is_empty());
    assert!(two.said.contains("has the same name, and neither has a build id"), "{}", two.said);
}

#[test]
fn sb4_a_load_bias_that_the_recorder_did_not_know_is_added() {
    let place = Place::new();
    let file = library(&place, "app", &["-g", "-no-pie", &with_id(BUILD_ID)]);
    let inside = addresses(&file, "last");
    let expected = by_binutils(&file, &inside);
    let headers = tool("readelf", &["-lW", file.to_str().unwrap()]);
    let line =
        headers.lines().find(|line| line.contains("LOAD") && line.contains(" R E ")).unwrap();
    let numbers: Vec<u64> = line
        .split_whitespace()
        .filter_map(|number| u64::from_str_radix(number.strip_prefix("0x")?, 16).ok())
        .collect();
    let bias = numbers[1] - numbers[0];
    assert!(bias > 0);
    let low: Vec<u64> = inside.iter().map(|address| address - bias).collect();
    let mapping = Mapping { exact_offset: numbers[0], ..LIBRARY };
    let imported = Imported::of_bytes(&at(&mapping, &low), &[&directory(&place)]);
    let corrected: BTreeMap<u64, Vec<String>> =
        symbols(&imported).into_iter().map(|(address, names)| (address + bias, names)).collect();
    assert_eq!(corrected, expected);
    // A recorder that knew it has subtracted nothing too much.
    let mapping = Mapping { load_bias: bias, ..mapping };
    let imported = Imported::of_bytes(&at(&mapping, &inside), &[&directory(&place)]);
    assert_eq!(symbols(&imported), expected);
}

#[test]
fn sb5_inlined_functions_are_frames_of_flame_graphs() {
    let place = Place::new();
    let file = library(&place, "libfoo.so", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let all = by_binutils(&file, &addresses(&file, "_ZN3foo5outerEi"));
    let deep = *all.iter().find(|(_, functions)| functions.len() == 3).unwrap().0;
    let outer = addresses(&file, "last")[0];
    let trace = place.write("a.pftrace", &at(&LIBRARY, &[outer, deep]));
    let said = run(&["flamegraph", trace.to_str().unwrap(), &directory(&place)]);
    assert_eq!(said.stdout, "last;foo::outer(int);middle;inner 1\n", "{}", said.stderr);
    let query = ["query", trace.to_str().unwrap(), "SELECT callstack(1) AS stack", "-F", "csv"];
    let said = run(&[&query[..], &[&directory(&place)]].concat());
    assert_eq!(said.stdout, "stack\nlast;foo::outer(int);middle;inner\n", "{}", said.stderr);
}

#[test]
fn sb6_symbols_of_the_trace_are_before_those_of_files() {
    let place = Place::new();
    let file = library(&place, "libfoo.so", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let inside = addresses(&file, "last");
    let id = id_bytes(BUILD_ID);
    let line = new().text(1, "of the trace").text(2, "a.c").number(3, 5);
    let said = new().text(1, "/system/lib/libfoo.so").bytes(2, &id);
    let said = said.message(3, new().number(1, inside[0]).message(2, line));
    let packet = new().number(10, 2).number(8, 2_000).number(58, 6).message(61, said);
    let frames = [(inside[0], None, None), (inside[1], None, None)];
    let imported = Imported::of_bytes(&trace(&LIBRARY, &frames, &[packet]), &[&directory(&place)]);
    let found = symbols(&imported);
    assert_eq!(found[&inside[0]], ["of the trace:5"]);
    assert_eq!(found[&inside[1]], by_binutils(&file, &inside[1..2])[&inside[1]]);
}

#[test]
fn sb7_a_damaged_file_is_named_and_the_import_continues() {
    let place = Place::new();
    let file = library(&place, "libfoo.so", &[&SHARED[..], &[&with_id(BUILD_ID)]].concat());
    let inside = addresses(&file, "last");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let imported = Imported::of_bytes(&at(&LIBRARY, &inside), &[&directory(&place)]);
    let expected = "libfoo.so, at byte ";
    assert!(imported.said.contains(expected), "{}", imported.said);
    assert!(imported.said.contains("behind the end of the file"), "{}", imported.said);
    let logged = "SELECT count(*) FROM import_log WHERE code = 'symbols_unreadable' AND severity = 'warning'";
    assert_eq!(imported.count(logged), 1);
    assert!(symbols(&imported).is_empty());
    // Other files are none of ELF, and nothing is said of them.
    fs::write(&file, "text").unwrap();
    let imported = Imported::of_bytes(&at(&LIBRARY, &inside), &[&directory(&place)]);
    assert_eq!(imported.count(logged), 0);
}

/// The path of an app.
const APP: Mapping<'_> = Mapping {
    path: "data/app/~~x==/org.app-y==/base.apk",
    build_id: "",
    exact_offset: 0,
    load_bias: 0,
};

const MAPPING: &str = "\
# compiler: R8
org.Good -> a.b:
# {\"id\":\"sourceFile\",\"fileName\":\"Good.kt\"}
    int count -> f
    1:3:void org.Other.inner(int):20:22 -> c
    1:3:void run():7 -> c
    4:9:void run():30:35 -> c
    void alone() -> d
    1:1:void one():1 -> e
    2:2:void two():2 -> e
";

/// The frames of Java code: shown name, deobfuscated name, and symbols.
fn java(imported: &Imported) -> Vec<String> {
    let sql = "SELECT f.name || ' ' || ifnull(f.deobfuscated_name, '-') || ' ' ||
            ifnull((SELECT group_concat(name || ':' || ifnull(line_number, '?') || ':' || ifnull(inlined, '-'), ', ')
                    FROM (SELECT * FROM stack_profile_symbol AS s WHERE s.symbol_set_id = f.symbol_set_id ORDER BY s.id)), '-')
        FROM stack_profile_frame AS f ORDER BY f.id";
    imported.rows(sql).concat()
}

const FRAMES: [Frame<'_>; 5] = [
    (1, Some("a.b.c"), Some(2)),
    (2, Some("a.b.c"), Some(5)),
    (3, Some("a.b.c"), None),
    (4, Some("a.b.d"), None),
    (5, Some("a.b.x"), None),
];

const RENAMED: [&str; 5] = [
    "a.b.c org.Good.run org.Other.inner:21:1, org.Good.run:7:0",
    "a.b.c org.Good.run org.Good.run:31:0",
    "a.b.c org.Good.run | org.Other.inner -",
    "a.b.d org.Good.alone -",
    "a.b.x - -",
];

fn mapping_flag(place: &Place, package: &str) -> String {
    let path = place.write("mapping.txt", MAPPING.as_bytes());
    format!("--mapping={package}{}", path.display())
}

#[test]
fn dm3_to_dm6_frames_have_the_names_and_lines_of_a_mapping() {
    let place = Place::new();
    let trace = place.write("a.pftrace", &trace(&APP, &FRAMES, &[]));
    for (package, expected) in [("", true), ("org.app=", true), ("org.other=", false)] {
        let imported = Imported::of(&trace, &[&mapping_flag(&place, package)]);
        let names = java(&imported);
        match expected {
            true => assert_eq!(names, RENAMED, "{package}"),
            false => assert_eq!(names[3], "a.b.d - -", "{package}"),
        }
    }
    let imported = Imported::of(&trace, &[&mapping_flag(&place, "")]);
    let said = run(&["query", imported.path(), "SELECT callstack(4)", "-F", "csv"]);
    let stack = "org.Good.run;org.Other.inner;org.Good.run;org.Good.run | org.Other.inner;org.Good.alone;a.b.x";
    assert!(said.stdout.contains(stack), "{}", said.stdout);
    let view = "SELECT stack FROM perf_sample_with_stack";
    assert_eq!(imported.rows(view).concat(), [stack]);
}

#[test]
fn dm4_a_mapping_that_names_nothing_is_said() {
    let place = Place::new();
    let written = trace(&APP, &FRAMES, &[]);
    let logged = "SELECT message FROM import_log WHERE code = 'names_unused'";
    for (package, expected) in [("", None), ("org.app=", None), ("org.other=", Some("org.other"))] {
        let imported = Imported::of_bytes(&written, &[&mapping_flag(&place, package)]);
        let found = imported.rows(logged).concat();
        assert_eq!(found.is_empty(), expected.is_none(), "{found:?}");
        if let Some(package) = expected {
            let text = format!(
                "mapping.txt names no frame, class or field of the package {package} in this trace"
            );
            assert!(found[0].ends_with(&text), "{found:?}");
            assert!(imported.said.contains(&text), "{}", imported.said);
        }
    }
    // A file that only repeats an earlier one is no mistake.
    let twice = [mapping_flag(&place, ""), mapping_flag(&place, "org.app=")];
    let imported = Imported::of_bytes(&written, &[&twice[0], &twice[1]]);
    assert!(imported.rows(logged).is_empty());
}

/// A `deobfuscation_mapping` of a package, in which `a.b.d` is another method.
fn said_by_trace(package: &str) -> Message {
    let method = new().text(1, "d").text(2, "ofTheTrace");
    let class = new().text(1, "a.b").text(2, "org.Trace").message(4, method);
    let mapping = new().text(1, package).message(3, class);
    new().number(10, 2).number(8, 3_000).number(58, 6).message(64, mapping)
}

#[test]
fn dm3_mappings_of_the_trace_are_before_files() {
    let place = Place::new();
    let flag = mapping_flag(&place, "");
    for (package, expected) in
        [("org.app", "a.b.d org.Trace.ofTheTrace -"), ("org.other", "a.b.d org.Good.alone -")]
    {
        let imported =
            Imported::of_bytes(&trace(&APP, &FRAMES, &[said_by_trace(package)]), &[&flag]);
        let names = java(&imported);
        assert_eq!(names[3], expected);
        assert_eq!(names[0], RENAMED[0]);
    }
    // Code that the runtime compiled is of any package.
    let compiled = Mapping { path: "memfd:jit-cache (deleted)", ..APP };
    let imported = Imported::of_bytes(&trace(&compiled, &FRAMES, &[said_by_trace("org.any")]), &[]);
    assert_eq!(java(&imported)[3], "a.b.d org.Trace.ofTheTrace -");
}

#[test]
fn dm3_classes_and_fields_of_java_heaps_have_the_names_of_a_mapping() {
    let types = [(1, "a.b"), (2, "z.z")];
    let mut graph = new().number(1, 100);
    for (id, name) in types {
        graph = graph.message(9, new().number(1, id).text(3, name));
    }
    let field = new().number(1, 1).text(2, "z.z a.b.f");
    let object = new().number(1, 16).number(2, 1).number(3, 24).number(4, 1).number(5, 32);
    let other = new().number(1, 32).number(2, 2).number(3, 8);
    let graph = graph.message(4, field).message(2, object).message(2, other);
    let packet = new().number(10, 2).number(8, 1_000).number(58, 6);
    let packets = [packet.number(13, 1).message(56, graph)];
    let place = Place::new();
    let imported =
        Imported::of_bytes(&encode::trace_of(&packets), &[&mapping_flag(&place, "org.any=")]);
    let classes =
        "SELECT name || ' ' || ifnull(deobfuscated_name, '-') FROM heap_graph_class ORDER BY name";
    assert_eq!(imported.rows(classes).concat(), ["a.b org.Good", "z.z -"]);
    let fields = "SELECT field_name || ' ' || deobfuscated_field_name FROM heap_graph_reference";
    assert_eq!(imported.rows(fields).concat(), ["a.b.f org.Good.count"]);
}

#[test]
fn dm2_a_malformed_mapping_is_refused_with_its_line() {
    let place = Place::new();
    let trace = place.write("a.pftrace", &trace(&APP, &FRAMES, &[]));
    let path = place.write("bad.txt", b"org.Good -> a.b:\n    void run -> \n");
    let said = place.refuse(&trace, &["--mapping", path.to_str().unwrap()]);
    let expected = format!("{}, line 2: 'void run ->' is not 'name -> name'", path.display());
    assert!(said.contains(&expected), "{said}");
    let said = place.refuse(&trace, &["--mapping", "none.txt"]);
    assert!(said.contains("none.txt: No such file"), "{said}");
    let directory = place.path("");
    let said = place.refuse(&trace, &["--mapping", directory.to_str().unwrap()]);
    assert!(said.contains("is a directory. Give the mapping.txt"), "{said}");
    for half in ["=mapping.txt", "org.app="] {
        let said = run(&["query", trace.to_str().unwrap(), "SELECT 1", "--mapping", half]);
        let expected = "write a package, '=' and a file, or a file alone";
        assert!(said.code == Some(2) && said.stderr.contains(expected), "{}", said.stderr);
    }
    // What was refused is imported without the flag.
    let (conn, _) = place.import(&trace, &[]);
    assert_eq!(count(&conn, "SELECT count(*) FROM stack_profile_frame"), 5);
    assert!(
        rows(&conn, "SELECT 1 FROM stack_profile_frame WHERE deobfuscated_name IS NOT NULL")
            .is_empty()
    );
}
