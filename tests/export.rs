//! `timebase export` from the outside: the Parquet files have the same contents as the database.
//! These tests read the files with the crate `parquet`; tests/python reads them with common tools.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::model::threads::generate_gpu;
use crate::support::{Imported, Place, answer, data, run};
use timebase_lab::encode::{Message, trace_of};

/// A file: its columns as `name type`, and its rows.
struct Read {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

fn read(path: &Path) -> Read {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns = schema.columns().iter().map(|column| {
        let kind = match (column.physical_type(), column.logical_type_ref()) {
            (Physical::INT64, None) => "int64",
            (Physical::DOUBLE, None) => "double",
            (Physical::BYTE_ARRAY, Some(LogicalType::String)) => "string",
            (Physical::BYTE_ARRAY, None) => "binary",
            other => panic!("{other:?}"),
        };
        let is_nullable = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        let nullable = if is_nullable { " nullable" } else { "" };
        format!("{} {kind}{nullable}", column.name())
    });
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let values = row.get_column_iter().map(|(_, field)| match field {
            Field::Null => Value::Null,
            Field::Long(number) => Value::Integer(*number),
            Field::Double(number) => Value::Real(*number),
            Field::Str(text) => Value::Text(text.clone()),
            Field::Bytes(bytes) => Value::Blob(bytes.data().to_vec()),
            other => panic!("{other:?}"),
        });
        values.collect()
    });
    Read { columns: columns.collect(), rows: rows.collect() }
}

/// Whether Parquet leaves out a column of a table, because `trace_file_id` has the same values.
fn is_left_out(table: &str, column: &str) -> bool {
    column == "trace_id" && ["metadata", "stats"].contains(&table)
}

/// The rows of a table in the form of Parquet: values of any type are text.
fn rows(conn: &Connection, table: &str) -> Vec<Vec<Value>> {
    let is_any = |column: &str| column == "value" && (table == "metadata" || table == "fact");
    let mut statement = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let names = statement.column_names().enumerate();
    let kept = names.filter(|(_, name)| !is_left_out(table, name));
    let columns: Vec<(usize, bool)> = kept.map(|(at, name)| (at, is_any(name))).collect();
    let rows = statement.query_map([], |row| {
        let value = |(index, is_any): &(usize, bool)| {
            let value = row.get(*index)?;
            Ok(match value {
                Value::Integer(number) if *is_any => Value::Text(number.to_string()),
                value => value,
            })
        };
        columns.iter().map(value).collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// The description of each table by `--schema`, in the form of [`Read::columns`].
fn schema(arguments: &[&str]) -> BTreeMap<String, Vec<String>> {
    let said = answer(&[&["export", "--schema"], arguments].concat());
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let tables = said["tables"].as_array().unwrap().iter().map(|table| {
        let columns = table["columns"].as_array().unwrap().iter().map(|column| {
            let text = |name: &str| column[name].as_str().unwrap().to_owned();
            let nullable = if column["nullable"] == true { " nullable" } else { "" };
            format!("{} {}{nullable}", text("name"), text("type"))
        });
        let name = table["name"].as_str().unwrap().to_owned();
        (name, columns.collect())
    });
    tables.collect()
}

/// The only trace of a folder: its id, and its description.
fn trace(folder: &Path) -> (String, serde_json::Value) {
    let mut entries = fs::read_dir(folder.join("_timebase")).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    let said = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
    (id, said)
}

fn file(folder: &Path, table: &str, id: &str) -> PathBuf {
    folder.join(format!("{table}/trace_id={id}/part-0.parquet"))
}

fn export(arguments: &[&str], folder: &Path) {
    let folder = folder.to_str().unwrap();
    let said = run(&[&["export", "-o", folder], arguments].concat());
    assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stdout, "");
}

/// The error of an export that must fail without changing anything.
fn refused(arguments: &[&str], code: i32) -> String {
    let said = run(&[&["export"], arguments].concat());
    assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.stderr);
    assert_eq!(said.stdout, "", "{arguments:?}");
    let error = said.stderr.strip_prefix("timebase: error: ");
    let error = error.unwrap_or_else(|| panic!("{arguments:?}: {}", said.stderr));
    error.trim_end().to_owned()
}

/// All names below a directory.
fn tree(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut places = vec![directory.to_owned()];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap();
            names.push(name.to_str().unwrap().to_owned());
            if path.is_dir() {
                places.push(path);
            }
        }
    }
    names.sort();
    names
}

/// Recorded traces of each kind, and sets of several traces.
const TRACES: [&str; 37] = [
    "app.pftrace",
    "desktop.pftrace",
    "desktop-compact.pftrace",
    "java-heap.pftrace",
    "logs-dst.pftrace",
    "ftrace-clocks.pftrace",
    "ftrace-damaged.pftrace",
    "late-frame.pftrace",
    "more/01.pftrace",
    "more/07.pftrace",
    "more/chrome-processes.pftrace",
    "multihop.pftrace",
    "profiles/08.pftrace",
    "profiles/11.pftrace",
    "profiles/12.pftrace",
    "profiles/examples/example2.pftrace",
    "profiles/27.pftrace",
    "rest/01.pftrace",
    "rest/02.pftrace",
    "rest/04.pftrace",
    "rest/05.pftrace",
    "rest/09.pftrace",
    "rest/10.pftrace",
    "rest/13.pftrace",
    "rest/14.pftrace",
    "rest/17.pftrace",
    "rest/18.pftrace",
    "rest/19.pftrace",
    "rest/21.pftrace",
    "rest/25.pftrace",
    "rest/27.pftrace",
    "rest/29.pftrace",
    "rest/30.pftrace",
    "training-rank0.json",
    "merge/merge-01.zip",
    "merge/merge-03.tar",
    "align/pair.tar",
];

/// A motion, a key, the window that gets it, and a state of an input method.
fn input_events() -> [Message; 4] {
    let event = |of: Message| Message::new().message(5, of);
    // A fixed number of 32 bits.
    let numbered = |id: u32| Message::new().float(1, f32::from_bits(id));
    let about = |id: u32| numbered(id).number(2, 1_500);
    let payloads = [
        event(Message::new().message(1, about(7).number(3, 1_400))),
        event(Message::new().message(3, about(8).number(3, 1_400))),
        event(Message::new().message(5, numbered(8).number(2, 99))),
        Message::new().message(2, Message::new().number(1, 1_000)),
    ];
    let mut time = 2_000;
    payloads.map(|payload| {
        time += 1;
        Message::new().number(8, time).message(112, payload)
    })
}

#[test]
fn every_table_of_a_trace_is_in_parquet_as_it_is_in_the_database() {
    let schema = schema(&[]);
    assert!(schema.len() > 60);
    let mut filled = BTreeMap::new();
    let recorded = TRACES.iter().map(|name| (*name, Imported::new(name, &[])));
    // Of many packets, so that there are some of each kind.
    let mut gpus = (0..).map(generate_gpu::trace);
    let gpus = gpus.find(|packets| packets.len() > 50).unwrap();
    let gpus = ("of GPUs", Imported::of_bytes(&trace_of(&gpus), &[]));
    let input = ("of input", Imported::of_bytes(&trace_of(&input_events()), &[]));
    let stacks = "reports/producer-perfetto-python-builder-inline-callstack.pftrace";
    let faulty = ["reports/01b-overlap-named.pftrace", "reports/20-forgotten-ts.pftrace"];
    let more = [stacks, faulty[0], faulty[1]].map(|name| (name, Imported::new(name, &[])));
    for (name, imported) in recorded.chain([gpus, input]).chain(more) {
        let place = Place::new();
        let folder = place.path("traces");
        export(&[imported.path()], &folder);
        let (id, said) = trace(&folder);
        assert_eq!(said["tables"].as_object().unwrap().len(), schema.len());
        for (table, columns) in &schema {
            let found = read(&file(&folder, table, &id));
            assert_eq!(&found.columns, columns, "{name}, {table}");
            let rows = rows(&imported.conn, table);
            assert_eq!(said["tables"][table], rows.len(), "{name}, {table}");
            assert!(found.rows == rows, "{name}, {table}: its rows are others");
            *filled.entry(table.clone()).or_insert(0) += rows.len();
        }
        let tables = tree(&folder);
        let tables = tables.iter().filter(|name| name.ends_with(".parquet"));
        assert_eq!(tables.count(), schema.len());
    }
    // A table without rows in all of them was not tested.
    let empty: Vec<_> = filled.iter().filter(|(_, rows)| **rows == 0).collect();
    assert!(empty.len() < 12, "{empty:?}");
}

/// Also the tables behind the views, which are exported if they are named.
#[test]
fn every_column_of_a_database_has_a_type_in_parquet() {
    let imported = Imported::new("app.pftrace", &[]);
    let names = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
                 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let names: Vec<String> = imported.rows(names).concat();
    let schema = schema(&["--tables", &names.join(",")]);
    assert_eq!(schema.len(), names.len());
    for name in &names {
        let columns = format!("SELECT name FROM pragma_table_info('{name}')");
        let mut columns = imported.rows(&columns).concat();
        columns.retain(|column| !is_left_out(name, column));
        let found = schema[name].iter().map(|column| {
            let name = column.split(' ').next().unwrap();
            // The partition has the one name, and labels of fleets often the other.
            match name {
                "flow_trace_id" => "trace_id",
                "vulkan_device" => "device",
                name => name,
            }
        });
        assert_eq!(found.collect::<Vec<_>>(), columns, "{name}");
    }
}

#[test]
fn the_tables_are_those_that_the_help_lists() {
    let listed = answer(&["help", "tables"]);
    for table in schema(&[]).keys() {
        assert!(listed.contains(table.as_str()), "{table}");
    }
    assert!(!schema(&[]).contains_key("ftrace_record"));
}

/// The import leaves out data that no requested table needs, so each table by itself must have the
/// same rows as among all tables.
#[test]
fn a_table_is_the_same_whatever_else_is_asked_for() {
    let programs = "slice,thread,process_track,flow,args,counter,machine,packet,packet_clock,stats";
    let logs = "android_logs,process,packet_interval,import_log,trace_bounds";
    for (name, tables) in [
        ("ftrace-machines.pftrace", &[][..]),
        ("app.pftrace", &["--tables", programs]),
        ("logs-dst.pftrace", &["--tables", logs]),
    ] {
        let place = Place::new();
        let all = place.path("all");
        let path = data(name);
        let path = path.to_str().unwrap();
        export(&[path], &all);
        let (id, said) = trace(&all);
        for (table, columns) in schema(tables) {
            let alone = place.path("alone");
            export(&[path, "--tables", &table, "--force", "--progress", "never"], &alone);
            let found = read(&file(&alone, &table, &id));
            assert_eq!(found.columns, columns);
            assert_eq!(found.rows.len(), said["tables"][&table].as_u64().unwrap() as usize);
            let mut expected = read(&file(&all, &table, &id)).rows;
            let mut found = found.rows;
            if table == "metadata" {
                // A random number of each import.
                let is_random =
                    |row: &Vec<Value>| row[1] == Value::Text("clock_snapshot_version".to_owned());
                expected.retain(|row| !is_random(row));
                found.retain(|row| !is_random(row));
            }
            assert!(found == expected, "{name}, {table}: it is another one when it is alone");
        }
    }
}

#[test]
fn a_label_without_a_value_is_the_name_of_the_file() {
    let place = Place::new();
    let folder = place.path("traces");
    export(&["tests/data/dst.pftrace", "--label", "trace_file"], &folder);
    let (id, said) = trace(&folder);
    let name = "tests/data/dst.pftrace";
    assert_eq!(said["labels"], serde_json::json!({ "trace_file": name }));
    let found = read(&file(&folder, "packet", &id));
    assert_eq!(found.columns.last().unwrap(), "trace_file string");
    let name = Value::Text(name.to_owned());
    assert!(!found.rows.is_empty());
    assert!(found.rows.iter().all(|row| row.last() == Some(&name)));

    // Several files are one trace, and so is a database of them.
    let several = place.path("several");
    let traces = ["phone", "watch"].map(|name| format!("tests/data/several/{name}.pftrace"));
    let manifest = ["--manifest", "tests/data/several/machines.json"];
    let labels = ["--label", "trace_file", "--label", "build=1"];
    let traces = [traces[0].as_str(), traces[1].as_str()];
    export(&[&traces[..], &manifest, &labels].concat(), &several);
    let (_, said) = trace(&several);
    let names = "phone.pftrace, watch.pftrace";
    assert_eq!(said["labels"], serde_json::json!({"trace_file": names, "build": "1"}));
}

/// A table counts the same rows whether only this table is asked for, or a database has them all.
#[test]
fn fp8_losses_are_the_same_in_an_export_of_a_trace_and_of_its_database() {
    let imported = Imported::new("desktop.pftrace", &[]);
    let place = Place::new();
    for table in ["loss", "stats", "import_log", "finding"] {
        let folder = place.path(table);
        export(&["tests/data/desktop.pftrace", "--tables", table], &folder);
        let (_, said) = trace(&folder);
        let rows = imported.count(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(said["tables"], serde_json::json!({ table: rows }));
    }
    assert_eq!(imported.count("SELECT count(*) FROM loss"), 219);
}

#[test]
fn a_label_is_the_last_column_of_every_file() {
    let place = Place::new();
    let folder = place.path("traces");
    let labels = ["--label", "build=12=ab", "--label", "Device_2="];
    export(&[&["tests/data/dst.pftrace"][..], &labels].concat(), &folder);
    let (id, said) = trace(&folder);
    assert_eq!(said["labels"], serde_json::json!({"build": "12=ab", "Device_2": ""}));
    for table in ["packet", "slice"] {
        let found = read(&file(&folder, table, &id));
        let columns = &found.columns;
        assert_eq!(columns[columns.len() - 2..], ["build string", "Device_2 string"]);
        for row in &found.rows {
            let values = ["12=ab", ""].map(|text| Value::Text(text.to_owned()));
            assert_eq!(row[row.len() - 2..], values);
        }
    }
    assert_eq!(read(&file(&folder, "packet", &id)).rows.len(), 8);
}

#[test]
fn what_is_said_of_a_trace_names_it_and_how_it_was_made() {
    let place = Place::new();
    let folder = place.path("traces");
    let trace_path = "tests/data/dst.pftrace";
    let arguments =
        ["--tables", "packet,clock,packet", "--conversion", "linear", "--compression", "snappy"];
    export(&[&[trace_path][..], &arguments].concat(), &folder);
    let (id, said) = trace(&folder);
    let hash = "543e6c22fa34615fbae1090b30357699e11305ae5ca4b2b0324d54ba2f47f1e0";
    assert_eq!(id, hash[..32]);
    assert_eq!(
        said,
        serde_json::json!({
            "trace_id": id,
            "version": env!("CARGO_PKG_VERSION"),
            "layout": timebase_schema::VERSION,
            "source": trace_path,
            "hash": hash,
            "size": 220,
            "tables": {"packet": 8, "clock": said["tables"]["clock"]},
            "labels": {},
            "conversion": "linear",
            "compression": "snappy",
        })
    );
    let names = ["_timebase", "clock", "packet"];
    let top: Vec<String> = tree(&folder).into_iter().filter(|name| !name.contains('/')).collect();
    assert_eq!(top, names);
}

#[test]
fn a_trace_of_several_files_is_named_by_their_hashes_in_any_order() {
    let id = |arguments: &[&str]| {
        let place = Place::new();
        let folder = place.path("traces");
        export(&[arguments, &["--merge", "--tables", "packet"]].concat(), &folder);
        trace(&folder).0
    };
    let (a, b) = ("tests/data/dst.pftrace", "tests/data/multihop.pftrace");
    assert_eq!(id(&[a, b]), id(&[b, a]));
    assert_ne!(id(&[a, b]), id(&[a]));
    let archive = id(&["tests/data/merge/merge-01.zip"]);
    let imported = Imported::new("merge/merge-01.zip", &[]);
    let fact = "SELECT value FROM metadata WHERE name = 'trace_id'";
    assert_eq!(imported.rows(fact), [[archive.as_str()]]);
}

#[test]
fn many_traces_are_beside_each_other_and_one_is_replaced_by_force_alone() {
    let place = Place::new();
    let folder = place.path("traces");
    let path = folder.to_str().unwrap();
    export(&["tests/data/dst.pftrace", "--tables", "packet,clock"], &folder);
    export(&["tests/data/multihop.pftrace", "--tables", "packet"], &folder);
    let before = tree(&folder);
    let exists = refused(&["tests/data/dst.pftrace", "-o", path, "--tables", "slice"], 1);
    let id = "543e6c22fa34615fbae1090b30357699";
    assert_eq!(
        exists,
        format!("tests/data/dst.pftrace: {path} already has this trace, {id}; --force replaces it")
    );
    // This comes before the import, for which there is no room here.
    let no_room = ["tests/data/dst.pftrace", "-o", path, "--max-size", "1"];
    assert_eq!(refused(&no_room, 1), exists);
    assert_eq!(tree(&folder), before);
    // All of it is replaced: tables that are no longer requested belonged to the older export.
    export(
        &["tests/data/dst.pftrace", "--tables", "packet", "--force", "--label", "build=2"],
        &folder,
    );
    assert!(!file(&folder, "clock", id).exists());
    let packets = read(&file(&folder, "packet", id));
    assert_eq!(packets.columns.last().unwrap(), "build string");
    let names = fs::read_dir(folder.join("packet")).unwrap().count();
    assert_eq!(names, 2, "the other trace is as it was");
}

#[test]
fn a_folder_stands_for_each_trace_below_it() {
    let place = Place::new();
    let traces = place.path("traces");
    fs::create_dir_all(traces.join("inner")).unwrap();
    fs::create_dir_all(traces.join(".hidden")).unwrap();
    let copies = [
        ("dst.pftrace", "a.pftrace"),
        ("multihop.pftrace", "inner/b.pftrace"),
        ("training.json", "inner/c.json"),
        ("sdk.pftrace", ".hidden/d.pftrace"),
        ("sdk.pftrace", "_e.pftrace"),
    ];
    for (from, to) in copies {
        fs::copy(data(from), traces.join(to)).unwrap();
    }
    let path = |name: &str| traces.join(name).to_str().unwrap().to_owned();
    // A database beside its trace is the same run.
    assert_eq!(run(&["import", &path("a.pftrace")]).code, Some(0));
    fs::write(traces.join("notes.txt"), "no trace").unwrap();
    let (folder, alone) = (place.path("tables"), place.path("alone"));
    let given = traces.to_str().unwrap();
    let tables = ["--tables", "slice,clock_snapshot", "--progress", "lines"];
    let arguments = ["export", given, "-o", folder.to_str().unwrap(), "--jobs", "3"];
    let said = run(&[&arguments[..], &tables].concat());
    assert_eq!(said.code, Some(1));
    let told: Vec<&str> = said.stderr.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[0].contains("notes.txt is not a trace"), "{told:#?}");
    assert!(told[1].contains(": 3 of 4 traces exported, 1 failed, in "), "{told:#?}");
    assert!(told[2].contains("error: 1 of 4 traces were not exported"), "{told:#?}");
    let last = said.stderr.lines().rfind(|line| line.starts_with('{')).unwrap();
    assert_eq!(last, r#"{"failed":1,"of":4,"phase":"exporting","traces":4}"#);
    // Each is as if it was exported alone.
    for name in ["a.pftrace", "inner/b.pftrace", "inner/c.json"] {
        let label = format!("trace_path={}", path(name));
        export(&["--tables", "slice,clock_snapshot", "--label", &label, &path(name)], &alone);
    }
    assert_eq!(tree(&folder), tree(&alone));
    for name in tree(&folder).iter().filter(|name| name.ends_with(".parquet")) {
        assert!(fs::read(folder.join(name)).unwrap() == fs::read(alone.join(name)).unwrap());
    }
    fs::remove_file(traces.join("notes.txt")).unwrap();
    let again = run(&[&arguments[..], &tables[..2]].concat());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains(": 0 of 3 traces exported, 3 were there already, in "));
    let said = run(&[&arguments[..], &["--manifest", "x.json"]].concat());
    assert!(said.stderr.contains("--manifest and --merge relate files on one timeline"));
    let said = run(&["export", given, "-o", "x", "--jobs", "0"]);
    assert!(said.stderr.contains("use a number from 1 to 1024"), "{}", said.stderr);
}

#[test]
fn what_cannot_be_exported_is_told_with_what_to_do() {
    let place = Place::new();
    let folder = place.path("traces");
    let new = folder.to_str().unwrap();
    let trace = "tests/data/dst.pftrace";
    let file = place.write("notes.txt", b"no trace, and no database either");
    let file = file.to_str().unwrap();
    let full = place.path("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("notes"), "").unwrap();
    let full = full.to_str().unwrap();
    let label = |label: &'static str| ["--label", label, trace, "-o", new];
    for (arguments, code, said) in [
        (
            &["nothing.pftrace", "-o", new][..],
            1,
            "cannot open nothing.pftrace: No such file or directory (os error 2)",
        ),
        (
            &["tests/data", trace, "-o", new],
            1,
            "tests/data/dst.pftrace is no folder: a folder stands for traces that are exported one by one",
        ),
        (
            &[trace, "-o", file],
            1,
            &format!("{file} is not a folder; name a new or an empty folder"),
        ),
        (
            &[trace, "-o", full],
            1,
            &format!(
                "{full} contains notes, so an export did not make this folder; name a new or an empty folder"
            ),
        ),
        (
            &[trace, "-o", "/nowhere/traces"],
            1,
            "cannot write /nowhere/traces: No such file or directory (os error 2)",
        ),
        (&[trace, "-o", "-"], 2, "name the folder for the tables with -o DIR"),
        (
            &label("name=x"),
            2,
            "the label \"name\" is called as a column of trace_file; give it another name",
        ),
        (
            &label("trace_id=x"),
            2,
            "the label \"trace_id\" is what every trace has already; give it another name",
        ),
        (&label("=x"), 2, "the label \"\" has no name; write name=value"),
        (
            &label("a b=x"),
            2,
            "the label \"a b\" has to be a name of letters, digits and underscores, as it becomes a column",
        ),
        (
            &[trace, "-o", new, "--label", "a=1", "--label", "A=2"],
            2,
            "the label \"A\" is given twice",
        ),
        (
            &[trace, "-o", new, "--tables", "scheds"],
            2,
            "there is no table 'scheds'; did you mean sched? \
             The tables are\n  trace_file, placement, packet_clock,",
        ),
        (
            &[trace, "-o", new, "--tables", ""],
            2,
            "there is no table ''. The tables are\n  trace_file,",
        ),
    ] {
        let error = refused(arguments, code);
        assert!(error.starts_with(said), "{arguments:?}:\n{error}\n{said}");
        assert!(!folder.exists(), "{arguments:?}");
    }
    let no_trace = refused(&[file, "-o", new], 1);
    assert!(no_trace.contains("is not a trace"), "{no_trace}");
    assert!(!folder.exists());
}

#[test]
fn what_is_for_traces_is_refused_of_a_database() {
    let imported = Imported::new("dst.pftrace", &[]);
    let path = imported.path();
    let place = Place::new();
    let folder = place.path("traces");
    let new = folder.to_str().unwrap();
    assert_eq!(
        refused(&[path, "-o", new, "--manifest", "m.json"], 1),
        format!("{path} is a database, but --manifest only applies to traces")
    );
    assert_eq!(
        refused(&[path, "tests/data/dst.pftrace", "-o", new], 1),
        format!(
            "{path} is a database, but several arguments must be traces that belong together; \
             export databases one by one"
        )
    );
    let linear = refused(&[path, "-o", new, "--conversion", "linear"], 1);
    assert!(linear.contains("was imported with --conversion nearest"), "{linear}");
    // A changed database may have a path here.
    for name in ["../../x", "0123456789ABCDEF0123456789ABCDEF", ""] {
        let change = "UPDATE fact SET value = ?1 WHERE name = 'trace_id'";
        imported.conn.execute(change, [name]).unwrap();
        assert_eq!(
            refused(&[path, "-o", new], 1),
            format!(
                "{path}: its metadata has no trace_id of 32 hexadecimal digits: import the trace again"
            )
        );
    }
    assert!(!folder.exists());
}

#[test]
fn a_value_that_does_not_fit_is_an_error_and_nothing_is_made_of_it() {
    let place = Place::new();
    let folder = place.path("traces");
    let new = folder.to_str().unwrap();
    for (change, said) in [
        (
            "UPDATE packet_record SET ts = 'noon' WHERE id = 2",
            "packet, column ts, row 3: the value is text, but the column has the type int64",
        ),
        (
            "UPDATE packet_record SET ts = 0.5 WHERE id = 0",
            "packet, column ts, row 1: the value is a real number, but the column has the type int64",
        ),
        (
            "UPDATE packet_common SET type = CAST(x'61ff' AS TEXT) WHERE id = (SELECT common_id FROM packet_record WHERE id = 1)",
            "packet, column type, row 2: the value is text that is not UTF-8, but the column has the type string",
        ),
        (
            "UPDATE packet_record SET data = 'x' WHERE id = 1",
            "packet, column data, row 2: the value is text, but the column has the type binary",
        ),
    ] {
        let imported = Imported::new("dst.pftrace", &[]);
        imported.conn.execute_batch(change).unwrap();
        let path = imported.path();
        assert_eq!(
            refused(&[path, "-o", new, "--tables", "clock,packet"], 1),
            format!("{path}: {said}")
        );
        assert!(!folder.exists(), "{change}");
    }
}

#[test]
fn a_row_group_says_from_when_to_when_it_is() {
    let place = Place::new();
    let folder = place.path("traces");
    export(&["tests/data/desktop.pftrace", "--tables", "packet"], &folder);
    let (id, _) = trace(&folder);
    let file = File::open(file(&folder, "packet", &id)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let imported = Imported::new("desktop.pftrace", &[]);
    let spans = "SELECT min(ts), max(ts) FROM packet";
    let spans = imported.rows(spans).concat();
    let group = reader.metadata().row_group(0);
    let ts = group.columns().iter().find(|column| column.column_path().string() == "ts");
    let statistics = ts.unwrap().statistics().unwrap();
    let bound = |bytes: Option<&[u8]>| i64::from_le_bytes(bytes.unwrap().try_into().unwrap());
    let found = [bound(statistics.min_bytes_opt()), bound(statistics.max_bytes_opt())];
    assert_eq!(found.map(|bound| bound.to_string()).to_vec(), spans);
    assert!(ts.unwrap().column_index_offset().is_some(), "and so does each page");
}

#[test]
fn an_export_is_told_on_standard_error_and_to_programs_in_lines() {
    let place = Place::new();
    let folder = place.path("traces");
    let new = folder.to_str().unwrap();
    let export = |more: &[&str]| {
        let arguments = ["export", "tests/data/dst.pftrace", "-o", new, "--tables", "packet,gpu"];
        run(&[&arguments[..], more].concat())
    };
    let said = export(&[]);
    let id = "543e6c22fa34615fbae1090b30357699";
    for line in [
        format!("tests/data/dst.pftrace → {new}\n"),
        format!("  trace_id    {id}\n"),
        "  tables      2, 1 of them with rows\n".to_owned(),
        "  rows        8\n".to_owned(),
        "\nNext: duckdb -c ".to_owned(),
    ] {
        assert!(said.stderr.contains(&line), "{line}\n{}", said.stderr);
    }
    let said = export(&["--force", "--progress", "lines"]);
    let last = said.stderr.lines().rfind(|line| line.starts_with('{')).unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last, serde_json::json!({"tables": 2, "of": 2, "rows": 8, "phase": "exporting"}));
}

#[test]
fn a_result_of_any_statement_is_a_file_of_its_types() {
    let place = Place::new();
    let path = place.path("result.parquet");
    let path = path.to_str().unwrap();
    let sql = "SELECT id, ts / 1e9 AS s, type, data, NULL AS none, id AS id FROM packet";
    answer(&["query", "tests/data/dst.pftrace", sql, "-o", path]);
    let found = read(Path::new(path));
    assert_eq!(
        found.columns,
        [
            "id int64 nullable",
            "s double nullable",
            "type string nullable",
            "data binary nullable",
            "none string nullable",
            "id:1 int64 nullable",
        ]
    );
    let imported = Imported::new("dst.pftrace", &[]);
    let mut statement = imported.conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| (0..6).map(|index| row.get(index)).collect());
    let rows: Vec<Vec<Value>> = rows.unwrap().map(Result::unwrap).collect();
    assert_eq!(found.rows, rows);

    let trace = "tests/data/dst.pftrace";
    let error = |sql: &str| {
        let said = run(&["query", trace, sql, "--format", "parquet", "-o", path]);
        assert_eq!(said.code, Some(1), "{sql}");
        said.stderr
    };
    let types = error("SELECT 1 AS a UNION ALL SELECT 'x'");
    assert_eq!(
        types,
        "timebase: error: the result, column a, row 2: the value is text, but the column has the type int64; \
         a column of Parquet has one type, which CAST(... AS INTEGER), REAL, TEXT or BLOB gives it\n"
    );
    let two = error("SELECT 1; SELECT 2");
    assert_eq!(
        two,
        "timebase: error: statement 2: this is the second statement with a result, but a Parquet file can only hold one\n"
    );
    let none = error("CREATE TEMP TABLE a AS SELECT 1");
    assert_eq!(none, "timebase: error: no statement has a result for the Parquet file\n");
    assert!(error("SELECT x FROM packet").contains("no such column: x"));
    assert_eq!(read(Path::new(path)).rows.len(), 8, "it is as it was");
    let empty = ["query", trace, "SELECT ts FROM slice WHERE false", "-o", path];
    answer(&empty);
    assert_eq!(read(Path::new(path)).columns, ["ts int64 nullable"]);
    let fails = run(&[&empty[..], &["--fail-if-empty"]].concat());
    assert_eq!(fails.code, Some(1));
}

/// A trace without an end, so that an export is still running when it is checked.
#[cfg(target_os = "linux")]
mod endless {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    use super::*;
    use crate::support::PROGRAM;

    /// A database with a view that has endless rows.
    fn database() -> Imported {
        let imported = Imported::new("dst.pftrace", &[]);
        imported
            .conn
            .execute_batch(
                "DROP VIEW slices;
                 CREATE VIEW slices AS
                 WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
                 SELECT i AS id, i AS ts, 1 AS dur, 1 AS track_id, 'category' AS category, 'name ' || i AS name, 0 AS depth,
                        NULL AS parent_id, NULL AS arg_set_id, NULL AS thread_ts, NULL AS thread_dur,
                        NULL AS thread_instruction_count, NULL AS thread_instruction_delta, i AS slice_id,
                        'category' AS cat, '{\"n\":' || i || '}' AS args, NULL AS packet_id
                 FROM n",
            )
            .unwrap();
        imported
    }

    /// An export that has reached this many rows, and its later messages.
    struct Running {
        child: Child,
        lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
    }

    impl Running {
        fn begin(database: &Imported, folder: &Path) -> Running {
            let mut child = Command::new(PROGRAM)
                .args(["export", "--progress", "lines", "--tables", "packet,slices", "-o"])
                .arg(folder)
                .arg(database.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stderr.take().unwrap()).lines();
            Running { child, lines }
        }

        /// Waits until it has read this many rows, and returns its peak memory in megabytes.
        fn until(&mut self, rows: u64) -> u64 {
            for line in self.lines.by_ref() {
                let said: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
                if said["rows"].as_u64().unwrap() >= rows {
                    break;
                }
            }
            let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = peak.unwrap().trim().strip_suffix(" kB").unwrap();
            kilobytes.parse::<u64>().unwrap() / 1024
        }

        fn signal(&mut self, signal: Signal) -> (Option<i32>, String) {
            kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
            let said = self.lines.by_ref().map(Result::unwrap);
            let said: Vec<String> = said.filter(|line| !line.starts_with('{')).collect();
            (self.child.wait().unwrap().code(), said.join("\n"))
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_rows() {
        let (database, place) = (database(), Place::new());
        let mut export = Running::begin(&database, &place.path("traces"));
        let (before, after) = (export.until(500_000), export.until(2_000_000));
        export.signal(Signal::SIGINT);
        assert!(after < before + 16, "{before} MB after 500,000 rows, {after} MB after 2,000,000");
    }

    #[test]
    fn an_interrupted_export_leaves_nothing_and_the_folder_as_it_was() {
        let (database, place) = (database(), Place::new());
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let mut export = Running::begin(&database, &place.path("traces"));
            export.until(1);
            let (code, said) = export.signal(signal);
            assert_eq!((code, said.as_str()), (Some(130), "timebase: error: interrupted"));
            assert_eq!(place.files(), [""; 0]);
        }
        // As soon as the folder is there.
        for _ in 0..20 {
            let mut export = Running::begin(&database, &place.path("traces"));
            while place.files().is_empty() {
                std::thread::yield_now();
            }
            let (code, _) = export.signal(Signal::SIGINT);
            assert_eq!((code, place.files()), (Some(130), Vec::new()));
        }
        // Beside another trace.
        let folder = place.path("traces");
        super::export(&["tests/data/multihop.pftrace", "--tables", "packet"], &folder);
        let before = tree(&folder);
        let mut export = Running::begin(&database, &folder);
        export.until(1);
        export.signal(Signal::SIGINT);
        assert_eq!(tree(&folder), before);
    }

    #[test]
    fn what_a_killed_export_leaves_is_no_table_and_goes_with_the_next() {
        let (database, place) = (database(), Place::new());
        let folder = place.path("traces");
        let mut export = Running::begin(&database, &folder);
        export.until(1);
        export.signal(Signal::SIGKILL);
        let left = tree(&folder);
        assert!(!left.is_empty());
        assert!(left.iter().all(|name| name.starts_with(".timebase-")), "{left:?}");
        super::export(&["tests/data/dst.pftrace", "--tables", "packet"], &folder);
        let left = tree(&folder);
        assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
    }
}

/// A disk that fails at any call, and a process that is killed at any call: a trace has all of its
/// tables or does not count, and the next export repairs it.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "heavy"]
fn whatever_call_fails_a_trace_is_whole_or_does_not_count() {
    use crate::hostile::faults::{Calls, Fault, Faults};
    use crate::support::PROGRAM;
    use std::process::Command;

    const ENOSPC: i32 = 28;

    let imported = Imported::new("dst.pftrace", &[]);
    let id = "543e6c22fa34615fbae1090b30357699";
    let expected = rows(&imported.conn, "packet");
    let program = |folder: &Path| {
        let mut program = Command::new(PROGRAM);
        program.args(["export", "--force", "--tables", "packet,clock", "-o"]);
        program.arg(folder).arg(imported.path());
        program
    };
    // Every other call, and those in between with another fault.
    for (first, fault, code, is_new) in [
        (1, Fault::Stays(ENOSPC), Some(1), true),
        (2, Fault::Stays(ENOSPC), Some(1), false),
        (2, Fault::Kill, None, true),
        (1, Fault::Kill, None, false),
    ] {
        let mut failed = 0;
        for at in (first..).step_by(2) {
            let place = Place::new();
            let folder = place.path("traces");
            if !is_new {
                export(&[imported.path(), "--tables", "packet,slice"], &folder);
            }
            let under = place.path("").to_str().unwrap().to_owned();
            let faults = Faults::under(&under, Calls::Write);
            let mut command = program(&folder);
            faults.meet(&mut command, at, fault);
            let said = command.output().unwrap();
            let Some(call) = faults.failed() else {
                assert_eq!(said.status.code(), Some(0));
                break;
            };
            failed += 1;
            let what = format!("{fault:?} at call {at}, {call}");
            let said_of = String::from_utf8(said.stderr).unwrap();
            let is_done = folder.join(format!("_timebase/{id}.json")).exists();
            if said.status.code() == Some(0) {
                // Steps that only protect against a crash of the machine may fail.
                assert!(is_done, "{what}: {said_of}");
            } else {
                assert_eq!(said.status.code(), code, "{what}: {said_of}");
                if code.is_some() {
                    assert!(said_of.contains("the disk is full"), "{what}: {said_of}");
                    assert!(said_of.contains(&under), "{what}: {said_of}");
                }
            }
            if is_done {
                assert!(read(&file(&folder, "packet", id)).rows == expected, "{what}");
                let others = ["clock", "slice"].map(|table| file(&folder, table, id).exists());
                assert_ne!(others[0], others[1], "{what}");
            }
            export(&[imported.path(), "--force", "--tables", "packet,clock"], &folder);
            let left: Vec<String> =
                tree(&folder).into_iter().filter(|n| !n.contains('/')).collect();
            let tables = left.iter().filter(|name| *name != "slice");
            assert_eq!(tables.collect::<Vec<_>>(), ["_timebase", "clock", "packet"], "{what}");
            assert!(!file(&folder, "slice", id).exists(), "{what}");
            assert!(read(&file(&folder, "packet", id)).rows == expected, "{what}");
        }
        assert!(failed > 5, "{failed} calls failed");
    }
}
