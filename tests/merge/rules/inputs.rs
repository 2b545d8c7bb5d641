//! X1 to X9: the types of inputs, and their order.

use crate::merge::archive::{self, File};
use crate::merge::database::{self, Database};
use crate::merge::notation::*;
use crate::support::{self, Place};
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio};
use timebase_lab::encode;

/// A trace with BOOTTIME and an event at this many seconds.
fn trace(seconds: &str) -> Vec<u8> {
    let items = [snapshot(&[(B, s("1"))]), event("x", B, s(seconds))];
    encode::trace(&items.map(|item| item.packet))
}

fn two() -> Vec<File> {
    vec![File::new("b", trace("5")), File::new("a", trace("2"))]
}

/// Packets by their files, numbers and times, in the order of processing.
fn packets(database: &Database) -> Vec<String> {
    let packets = database.packets().into_iter();
    let told = packets.map(|p| format!("{} {} {:?}", p.file, p.number, p.ts));
    told.collect()
}

fn packets_of_two() -> Vec<String> {
    let expected = ["a 0 1", "a 1 2", "b 0 1", "b 1 5"];
    let line = |line: &str| {
        let (place, seconds) = line.rsplit_once(' ').unwrap();
        format!("{place} {:?}", Some(s(seconds)))
    };
    expected.map(line).to_vec()
}

/// The rows of `trace_file`: name, type, compression, in the order of ids.
fn files(database: &Database) -> Vec<String> {
    let sql = "SELECT name, trace_type, compression FROM trace_file WHERE id > 0 ORDER BY id";
    database.lines(sql)
}

fn opened(name: &str, bytes: &[u8]) -> Database {
    match database::import_archive(name, bytes) {
        Ok(database) => database,
        Err(why) => panic!("{name}: {why}"),
    }
}

#[test]
fn x1_several_arguments_and_a_zip_and_a_tar_of_them_give_the_same_rows() {
    let arguments = database::import(&two(), None).unwrap();
    assert_eq!(packets(&arguments), packets_of_two());
    assert_eq!(files(&arguments), ["b proto [NULL]", "a proto [NULL]"]);
    for (name, bytes) in [("x.zip", archive::zip(&two())), ("x.tar", archive::tar(&two()))] {
        let database = opened(name, &bytes);
        assert_eq!(packets(&database), packets_of_two(), "{name}");
        assert_eq!(files(&database), files(&arguments), "{name}");
        let content = (arguments.content(), database.content());
        for (table, rows) in &content.0 {
            assert_eq!(content.1.get(table), Some(rows), "{name}: {table}");
        }
    }
}

#[test]
fn x1_one_trace_is_the_input_itself() {
    let database = opened("a", &trace("2"));
    let sql = "SELECT id, parent_id, trace_type, is_container, packets FROM trace_file";
    assert_eq!(database.lines(sql), ["0 [NULL] proto 0 2"]);
    assert_eq!(database.lines("SELECT DISTINCT trace_file_id FROM packet"), ["0"]);
}

#[test]
fn x1_an_archive_is_the_file_0_and_its_members_are_in_it() {
    let database = opened("x.zip", &archive::zip(&two()));
    let sql = "SELECT id, parent_id, trace_type, is_container, packets FROM trace_file ORDER BY id";
    let expected = ["0 [NULL] zip 1 0", "1 0 proto 0 2", "2 0 proto 0 2"];
    let found = database.lines(sql);
    // The number of an archive's own packets is not specified.
    assert_eq!(found[1..], expected[1..]);
    assert!(found[0].starts_with("0 [NULL] zip 1"), "{found:?}");
}

#[test]
fn x1_equal_base_names_of_two_arguments_are_refused() {
    let place = Place::new();
    let paths = ["one", "two"].map(|directory| {
        fs::create_dir(place.path(directory)).unwrap();
        let path = place.path(directory).join("same.pb");
        fs::write(&path, trace("2")).unwrap();
        path.into_os_string().into_string().unwrap()
    });
    let why = database::run(place, &paths).err().unwrap();
    assert!(why.contains("same.pb"), "{why}");
}

#[test]
fn x1_f4_a_compressed_tar_is_an_archive() {
    let database = opened("x.tar.gz", &archive::gzip(&archive::tar(&two())));
    assert_eq!(packets(&database), packets_of_two());
    let sql = "SELECT trace_type, compression FROM trace_file WHERE id = 0";
    assert_eq!(database.lines(sql), ["tar gzip"]);
}

#[test]
fn x2_directories_and_hidden_members_are_skipped() {
    let mut members = two();
    members.push(File::new("d/", ""));
    for hidden in [".hidden", "d/.hidden", ".d/x", "__MACOSX/._a"] {
        members.push(File::new(hidden, "junk"));
    }
    for (name, bytes) in
        [("x.zip", archive::zip(&members)), ("x.tar", tar_with_directory(&members))]
    {
        let database = opened(name, &bytes);
        assert_eq!(files(&database), ["b proto [NULL]", "a proto [NULL]"], "{name}");
        assert_eq!(database.logged("unknown_member"), 0, "{name}");
    }
}

/// A tar in which names that end with a slash are directories.
fn tar_with_directory(members: &[File]) -> Vec<u8> {
    let mut tar = Vec::new();
    for member in members {
        let is_directory = member.name.ends_with('/');
        let kind = if is_directory { b'5' } else { b'0' };
        tar.extend(archive::header(&member.name, kind, member.bytes.len()));
        tar.extend(&member.bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

#[test]
fn x2_a_point_and_two_points_are_not_hidden() {
    let members = [File::new("./a", trace("2")), File::new("d/../b", trace("5"))];
    let database = opened("x.tar", &archive::tar(&members));
    assert_eq!(database.packets().len(), 4);
}

#[test]
fn x3_what_a_member_is_follows_from_its_bytes() {
    let manifest = "\n { \"perfetto_manifest\" : {\"version\": 1}}";
    let members = [
        File::new("manifest.pftrace", manifest),
        File::new("trace.json", trace("2")),
        File::new("text.gz", trace("5")),
        File::new("trace.txt", archive::gzip(&trace("3"))),
        File::new("zstd", zstd::encode_all(&trace("4")[..], 1).unwrap()),
        File::new("junk.pftrace", "junk"),
    ];
    let database = opened("x.zip", &archive::zip(&members));
    let expected = [
        "manifest.pftrace perfetto_manifest [NULL]",
        "trace.json proto [NULL]",
        "text.gz proto [NULL]",
        "trace.txt proto gzip",
        "zstd proto zstd",
        "junk.pftrace unknown [NULL]",
    ];
    assert_eq!(files(&database), expected);
    assert_eq!(database.packets().len(), 8);
}

#[test]
fn x4_traces_are_read_by_name_as_bytes_and_compressed_ones_last() {
    let members = [
        File::new("ä", trace("2")),
        File::new("a", archive::gzip(&trace("2"))),
        File::new("b", trace("2")),
        File::new("Z", trace("2")),
        File::new("junk", "junk"),
        File::new("zz", "{\"perfetto_manifest\": {\"version\": 1}}"),
    ];
    let database = opened("x.zip", &archive::zip(&members));
    let sql = "SELECT name FROM trace_file WHERE id > 0 ORDER BY processing_order";
    assert_eq!(database.lines(sql), ["zz", "Z", "b", "ä", "a", "junk"]);
    let order: Vec<_> = database.packets().into_iter().map(|p| p.file).collect();
    assert_eq!(order, ["Z", "Z", "b", "b", "ä", "ä", "a", "a"]);
    // ids are in the order of the members
    let sql = "SELECT id || name FROM trace_file WHERE id > 0 ORDER BY id";
    let names = ["1ä", "2a", "3b", "4Z", "5junk", "6zz"];
    assert_eq!(database.lines(sql), names);
}

#[test]
fn x5_a_compressed_member_is_one_file_under_its_name() {
    let mut streams = archive::gzip(&trace("2"));
    streams.extend(archive::gzip(&trace("3")));
    let members = [File::new("a.gz", streams), File::new("b", trace("5"))];
    let database = opened("x.zip", &archive::zip(&members));
    let sql = "SELECT name, compression, packets FROM trace_file WHERE id > 0 ORDER BY id";
    assert_eq!(database.lines(sql), ["a.gz gzip 4", "b [NULL] 2"]);
}

#[test]
fn x5_x30_a_compressed_manifest_comes_after_traces() {
    let manifest = archive::gzip(b"{\"perfetto_manifest\": {\"version\": 1}}");
    let late = Set::new().file("a", [event("x", B, s("2"))]).other("b.gz", manifest.clone());
    late.refused(&["perfetto_manifest"]);
    // Both are compressed, and it has the first name.
    let early = Set::new().other("b", archive::gzip(&trace("2"))).other("a", manifest);
    assert_eq!(early.database().packets().len(), 2);
}

#[test]
fn x6_an_archive_in_an_archive_is_refused_with_its_name() {
    let inner = [archive::zip(&two()), archive::tar(&two()), archive::gzip(&archive::tar(&two()))];
    for inner in inner {
        let members = [File::new("a", trace("2")), File::new("inner", inner)];
        let why = database::import_archive("x.zip", &archive::zip(&members));
        let why = why.err().expect("an archive in an archive");
        assert!(why.contains("inner"), "{why}");
        let why = database::import(&members, None);
        assert!(why.err().expect("an archive as one of several").contains("inner"));
    }
}

#[test]
fn x7_an_unknown_or_empty_member_is_logged_and_the_import_goes_on() {
    let set = Set::new()
        .file("a", [snapshot(&[(B, s("1"))]), event("x", B, s("2"))])
        .other("empty", "")
        .other("junk", "junk");
    let database = set.assert("x 2");
    assert_eq!(database.logged("unknown_member"), 2);
    let sql = "SELECT name, trace_type, size FROM trace_file
               WHERE trace_type = 'unknown' ORDER BY name";
    assert_eq!(database.lines(sql), ["empty unknown 0", "junk unknown 4"]);
    let strict = database::import_with(&set.files(), None, &["--strict"]);
    let why = strict.err().expect("--strict");
    assert!(why.contains("empty") || why.contains("junk"), "{why}");
}

/// A member of a zip from a writer to a pipe: its sizes come after it.
fn with_data_descriptors(files: &[File]) -> Vec<u8> {
    let mut zip = Vec::new();
    for file in files {
        let one = archive::zip(std::slice::from_ref(file));
        let packed = u32::from_le_bytes(one[18..22].try_into().unwrap()) as usize;
        let start = 30 + file.name.len();
        let mut header = one[..start].to_vec();
        header[6] |= 8;
        header[14..26].fill(0);
        zip.extend(header);
        zip.extend(&one[start..start + packed]);
        zip.extend(b"PK\x07\x08");
        zip.extend(&one[14..26]);
    }
    zip
}

#[test]
fn x8_a_zip_with_data_descriptors_and_without_a_directory_is_read() {
    let database = opened("x.zip", &with_data_descriptors(&two()));
    assert_eq!(packets(&database), packets_of_two());
}

#[test]
fn x8_a_zip_without_its_directory_is_whole() {
    let zip = archive::zip(&two());
    let end = zip.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    let database = opened("x.zip", &zip[..end]);
    assert_eq!(packets(&database), packets_of_two());
}

#[test]
fn x8_an_encrypted_member_is_refused() {
    let mut zip = archive::zip(&[File::new("secret", trace("2"))]);
    let directory = zip.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    zip[6] |= 1;
    zip[directory + 8] |= 1;
    let why = database::import_archive("x.zip", &zip);
    let why = why.err().expect("an encrypted member");
    assert!(why.contains("secret") && why.contains("encrypted"), "{why}");
}

#[test]
fn x8_long_names_of_a_tar_are_read() {
    let name = format!("{}/trace", "d".repeat(140));
    let trace = trace("2");
    let padded = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    };
    let mut gnu = archive::header("././@LongLink", b'L', name.len() + 1);
    gnu.extend(padded(format!("{name}\0").as_bytes()));
    let record = format!(" path={name}\n");
    let length = record.len() + 3;
    let record = format!("{length}{record}");
    let mut pax = archive::header("pax", b'x', record.len());
    pax.extend(padded(record.as_bytes()));
    for mut tar in [gnu, pax] {
        tar.extend(archive::header("short", b'0', trace.len()));
        tar.extend(padded(&trace));
        tar.extend([0; 1024]);
        let database = opened("x.tar", &tar);
        assert_eq!(files(&database), [format!("{name} proto [NULL]")]);
        assert_eq!(database.packets().len(), 2);
    }
}

#[test]
fn x8_links_are_skipped_and_sizes_may_be_base_256() {
    let trace = trace("2");
    let mut tar = archive::header("link", b'2', 0);
    let mut header = archive::header("a", b'0', trace.len());
    header[124..136].fill(0);
    header[124] = 0x80;
    header[135] = u8::try_from(trace.len()).unwrap();
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(header);
    tar.extend(&trace);
    tar.resize(tar.len().next_multiple_of(512), 0);
    tar.extend([0; 1024]);
    assert_eq!(files(&opened("x.tar", &tar)), ["a proto [NULL]"]);
}

#[test]
fn x8_f6_a_cut_archive_is_imported_up_to_there() {
    // b is first in the archive and whole, a is cut in its last packet
    let tar = archive::tar(&two());
    let cut = 512 + 512 + 512 + trace("2").len() - 1;
    let database = opened("x.tar", &tar[..cut]);
    assert_eq!(database.packets().len(), 3);
    assert!(database.summary.contains("ends"), "{}", database.summary);
    // A missing end of the archive is no cut.
    let whole = &tar[..2048];
    assert_eq!(opened("x.tar", whole).packets().len(), 4);
}

#[test]
fn x9_an_archive_on_standard_input_is_read() {
    let place = Place::new();
    let input = place.write("x.tar", &archive::tar(&two()));
    let out = place.path("out.db");
    let status = Command::new(support::PROGRAM)
        .args(["import", "-", "-o"])
        .arg(&out)
        .stdin(Stdio::from(fs::File::open(input).unwrap()))
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let found = rusqlite::Connection::open(out).unwrap();
    let sql = "SELECT f.name, p.number, p.ts FROM packet AS p
               JOIN trace_file AS f ON f.id = p.trace_file_id ORDER BY p.id";
    let rows = support::rows(&found, sql);
    let rows: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
    let expected = ["a 0 1", "a 1 2", "b 0 1", "b 1 5"].map(|row| format!("{row}000000000"));
    assert_eq!(rows, expected);
}

#[test]
fn x9_an_archive_from_a_pipe_is_read_as_from_a_file() {
    let place = Place::new();
    let input = place.write("x.zip", &archive::zip(&two()));
    let mut cat = Command::new("cat").arg(input).stdout(Stdio::piped()).spawn().unwrap();
    let out = place.path("out.db");
    let status = Command::new(support::PROGRAM)
        .args(["import", "-", "-o"])
        .arg(&out)
        .stdin(cat.stdout.take().unwrap())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    assert!(cat.wait().unwrap().success());
    let found = rusqlite::Connection::open(out).unwrap();
    assert_eq!(support::count(&found, "SELECT count(*) FROM packet"), 4);
}

#[test]
fn x1_the_manifest_of_the_option_is_one_more_input() {
    let set = Set::new().file("a", [snapshot(&[(B, s("1"))]), event("x", B, s("2"))]);
    let set = set.manifest(json!({"files": [{"path": "a", "machine": {"name": "phone"}}]}));
    let database = set.assert("x 2");
    let sql = "SELECT trace_type FROM trace_file WHERE id > 0 ORDER BY processing_order";
    assert_eq!(database.lines(sql), ["perfetto_manifest", "proto"]);
    for (name, bytes) in set.archives() {
        let database = opened(name, &bytes);
        assert_eq!(database.lines("SELECT name FROM machine"), ["phone"]);
    }
}

#[test]
fn f6_a_file_that_is_cut_has_so_many_packets_of_its_own() {
    let mut files = two();
    let cut = files[0].bytes.len() - 1;
    files[0].bytes.truncate(cut);
    let database = database::import(&files, None).unwrap();
    let told = database.lines("SELECT message FROM import_log WHERE code = 'cut'");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("; the 1 packets before it are read"), "{told:?}");
}
