//! The type of several arguments together (rules X1, X4, X6, X7, X9).

use std::sync::atomic::Ordering;

use timebase_trace::{Inputs, InputsError, Monitor, Pass, Reads, Source, SourceError, TraceType};

use crate::build::{tar, zip};
use crate::place::{PACKET, Place, gzip, packets, read_to_end, zstd};

const MANIFEST: &[u8] = b"{\"perfetto_manifest\": {\"version\": 1}}";

#[test]
fn x1_one_trace_is_a_trace_however_it_begins() {
    let place = Place::new();
    let garbage = [&b"PK\x05\x06ustar\x1f\x8b"[..], &[3; 900]].concat();
    let cases = [&packets(400)[..], b"x", b"\n", &garbage, b"PK\x03", &[0; 600]];
    for (i, bytes) in cases.into_iter().enumerate() {
        let piped = place.pipe(&format!("pipe {i}"), bytes);
        for all in [place.read_bytes(bytes).unwrap(), place.read(&[piped]).unwrap()] {
            let [file] = &all.files[..] else { panic!() };
            assert_eq!((file.kind, file.is_container), (Some(TraceType::PERFETTO), false));
            assert_eq!(all.read[0].bytes, bytes);
            assert_eq!(all.read[0].size, bytes.len() as u64);
        }
    }
    let source = place.write("a.pb", PACKET);
    let all = place.read(std::slice::from_ref(&source)).unwrap();
    assert_eq!(all.files[0].name, Some(source.to_string()));
    assert_eq!((all.files[0].size, all.total), (Some(4), Some(4)));
}

#[test]
fn f4_x1_one_trace_may_be_compressed() {
    let place = Place::new();
    for (compressed, name) in [(gzip(&packets(900)), "gzip"), (zstd(&packets(900)), "zstd")] {
        let piped = place.pipe(name, &compressed);
        for source in [place.write("whole", &compressed), piped] {
            let all = place.read(&[source]).unwrap();
            assert_eq!(all.read[0].bytes, packets(900));
            assert_eq!(all.read[0].size, compressed.len() as u64);
            assert_eq!(all.files[0].compression, Some(name));
        }
        // Damage in the first bytes only shows when they are read.
        for cut in [5, 20, compressed.len() - 1] {
            let all = place.read_bytes(&compressed[..cut]).unwrap();
            assert!(packets(900).starts_with(&all.read[0].bytes));
            assert_eq!(all.read[0].size, cut as u64);
        }
    }
}

#[test]
fn x9_a_trace_of_a_pipe_is_read_once_and_not_put_aside() {
    let place = Place::new();
    place.quota.take(100 << 20).unwrap();
    let piped = place.pipe("pipe", &packets(100_000));
    let monitor = Monitor::default();
    let mut inputs = place.open(&[piped], None, Reads::Once, &monitor).unwrap();
    assert_eq!((inputs.total(), monitor.pass()), (None, Pass::Only));
    assert_eq!(read_to_end(&mut inputs.open_file(0).unwrap()), packets(100_000));
    assert!(monitor.is_read.load(Ordering::Relaxed));
    let again = inputs.open_file(0).map(|_| ()).unwrap_err();
    assert!(again.to_string().contains("read only once"), "{again}");

    let archive = place.pipe("archive", &tar(&[(b"a", PACKET)]));
    let refused = place.open(&[archive], None, Reads::Once, &monitor);
    assert!(matches!(refused, Err(InputsError::PutAside(_))));
}

#[test]
fn x9_what_is_read_again_is_put_aside() {
    let place = Place::new();
    for (name, bytes) in [("plain", packets(9)), ("packed", gzip(&packets(9)))] {
        let piped = place.pipe(name, &bytes);
        let all = place.read_with(&[piped], None, Reads::Again).unwrap();
        assert_eq!(all.read[0].bytes, packets(9));
        assert_eq!(all.read[0].size, bytes.len() as u64);
    }
}

#[test]
fn f8_x1_one_argument_that_cannot_be_read_is_told() {
    let place = Place::new();
    let said = |source: Source| place.read(&[source]).unwrap_err().to_string();
    assert!(
        said(place.write("nothing", b"")).ends_with("is empty; a trace has at least one packet")
    );
    let database = place.write("db", b"SQLite format 3\0 and more");
    assert!(said(database).contains("already is a SQLite database"));
    assert!(said(Source::File(place.path("gone"))).starts_with("cannot open "));
    assert!(said(Source::File(place.path(""))).contains("is a directory"));
    assert!(matches!(place.read(&[]), Err(InputsError::Nothing)));
}

#[test]
fn x1_several_arguments_are_an_archive_of_their_base_names() {
    let place = Place::new();
    let sources = [
        place.write("one/z.pb", PACKET),
        place.write("two/notes", b"text"),
        place.pipe("k.pb", &gzip(&packets(5))),
        place.write("m.json", MANIFEST),
        place.write("empty", b""),
        place.pipe("a.pb", &packets(2)),
        place.write("two/.hidden", &packets(3)),
    ];
    let all = place.read(&sources).unwrap();
    let names = ["m.json", ".hidden", "a.pb", "z.pb", "k.pb", "empty", "notes"];
    assert_eq!(all.names(), names);
    let names: Vec<_> = all.files.iter().map(|file| file.name.as_deref()).collect();
    let arguments = ["z.pb", "notes", "k.pb", "m.json", "empty", "a.pb", ".hidden"].map(Some);
    assert_eq!(names, [&[None][..], &arguments].concat());
    assert_eq!((all.files[0].kind, all.files[0].is_container), (None, true));
    let kinds: Vec<_> = all.read.iter().map(|file| file.file.kind.unwrap().name()).collect();
    let expected = ["perfetto_manifest", "proto", "proto", "proto", "proto", "unknown", "unknown"];
    assert_eq!(kinds, expected);
    assert_eq!(all.total, Some(all.read.iter().map(|file| file.size).sum()));
}

#[test]
fn x1_two_equal_base_names_are_refused_and_both_named() {
    let place = Place::new();
    let (a, b) = (place.write("one/a.pb", PACKET), place.write("two/a.pb", PACKET));
    let said = place.read(&[a.clone(), b.clone()]).unwrap_err().to_string();
    assert!(said.contains(&a.to_string()) && said.contains(&b.to_string()), "{said}");
    assert!(said.contains("have the same name, 'a.pb'"), "{said}");
    assert!(matches!(place.read(&[a.clone(), a]), Err(InputsError::SameName { .. })));
    let stdin = [Source::Stdin, b, Source::Stdin];
    assert!(matches!(place.read(&stdin), Err(InputsError::StandardInputTwice)));
}

#[test]
fn x1_each_of_several_arguments_must_be_a_file() {
    let place = Place::new();
    let trace = place.write("a.pb", PACKET);
    let said = |other: Source| place.read(&[trace.clone(), other]).unwrap_err().to_string();
    let database = place.write("db", b"SQLite format 3\0");
    assert!(
        said(database.clone()).starts_with(&format!("{database} already is a SQLite database"))
    );
    assert!(said(Source::File(place.path(""))).contains("is a directory"));
    assert!(said(Source::File(place.path("gone"))).contains("gone"));
    for (name, bytes) in [
        ("a.zip", zip(&[(b"x", PACKET)])),
        ("a.tar", tar(&[(b"x", PACKET)])),
        ("a.tar.gz", gzip(&tar(&[(b"x", PACKET)]))),
    ] {
        let archive = place.write(name, &bytes);
        let expected = format!("{archive} is a ");
        let said = said(archive);
        assert!(
            said.starts_with(&expected) && said.contains("only reads as the single argument"),
            "{said}"
        );
    }
}

#[test]
fn x30_a_manifest_is_a_file_alone_or_with_others() {
    let place = Place::new();
    let manifest = place.write("m.json", MANIFEST);
    let packed = place.write("m.json.gz", &gzip(MANIFEST));
    for alone in [&manifest, &packed] {
        let all = place.read(std::slice::from_ref(alone)).unwrap();
        assert_eq!(all.files[0].kind, Some(TraceType::Manifest));
        assert_eq!(all.contents(), [(alone.to_string(), MANIFEST.to_vec())]);
    }
    let named = |sources: &[Source], manifest: &Source| {
        let all = place.read_with(sources, Some(manifest), Reads::Once).unwrap();
        assert_eq!(all.read[0].file.kind, Some(TraceType::Manifest));
        assert_eq!(all.read[0].file.id, all.files.len() - 1);
        all.contents()
    };
    let row = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let trace = place.write("a.pb", PACKET);
    // It is a manifest because of its argument, not because of its bytes.
    let wrong = place.write("wrong", b"\n\0");
    for (manifest, name, bytes) in [
        (&manifest, "m.json", MANIFEST),
        (&packed, "m.json.gz", MANIFEST),
        (&wrong, "wrong", b"\n\0"),
        (&place.pipe("63", MANIFEST), "63", MANIFEST),
    ] {
        let found = named(std::slice::from_ref(&trace), manifest);
        assert_eq!(found, [row(name, bytes), row("a.pb", PACKET)]);
    }
    let piped = place.pipe("pipe", PACKET);
    assert_eq!(named(&[piped], &manifest), [row("m.json", MANIFEST), row("pipe", PACKET)]);
    let two = [trace.clone(), place.write("b.pb", PACKET)];
    assert_eq!(named(&two, &manifest)[1..], [row("a.pb", PACKET), row("b.pb", PACKET)]);
    let empty = place.write("empty", b"");
    assert_eq!(named(&[empty], &manifest)[1..], [row("empty", b"")]);
    // In an archive, it is an additional member.
    let archive = tar(&[(b"m.json", PACKET), (b"z", PACKET)]);
    for archive in [place.write("a.tar", &archive), place.write("a.tgz", &gzip(&archive))] {
        let found = named(&[archive], &manifest);
        assert_eq!(found, [row("m.json", MANIFEST), row("m.json", PACKET), row("z", PACKET)]);
    }
    let alone = place.read_with(&[], Some(&manifest), Reads::Once).unwrap();
    assert_eq!(alone.files[0].kind, Some(TraceType::Manifest));
    let same = place.read_with(std::slice::from_ref(&trace), Some(&trace), Reads::Once);
    assert!(matches!(same, Err(InputsError::SameName { .. })));
}

#[test]
fn f5_thousands_of_files_are_opened_one_at_a_time() {
    let place = Place::new();
    let write = |i: usize| place.write(&format!("{i}.pb"), PACKET);
    // More than a process may open at once.
    let sources: Vec<_> = (0..3000).map(write).collect();
    let all = place.read_with(&sources, None, Reads::Once).unwrap();
    assert_eq!(all.read.len(), 3000);
}

#[test]
fn x9_the_monitor_counts_what_is_read_and_ends_it() {
    let place = Place::new();
    let archive = gzip(&tar(&[(b"a", &packets(100)), (b"b", PACKET)]));
    let source = place.write("a.tgz", &archive);
    let monitor = Monitor::default();
    let mut inputs =
        place.open(std::slice::from_ref(&source), None, Reads::Once, &monitor).unwrap();
    assert_eq!((monitor.pass(), monitor.of()), (Pass::Copy, Some(archive.len() as u64)));
    monitor.begin(Pass::Only, inputs.total());
    assert_eq!(monitor.of(), Some(404));
    for id in inputs.order().to_vec() {
        assert!(!monitor.is_read.load(Ordering::Relaxed));
        let mut input = inputs.open_file(id).unwrap();
        read_to_end(&mut input);
        assert_eq!(input.name(), inputs_name(&source, ["", "a", "b"][id]));
    }
    assert!(monitor.is_read.load(Ordering::Relaxed));
    assert_eq!(monitor.bytes_read.load(Ordering::Relaxed), 404);
    let whole = inputs.digest().unwrap().unwrap();
    assert_eq!(whole.size, archive.len() as u64);

    monitor.cancel.store(true, Ordering::Relaxed);
    assert!(place.open(&[source], None, Reads::Once, &monitor).is_err());
}

fn inputs_name(archive: &Source, member: &str) -> String {
    format!("'{member}' in {archive}")
}

#[test]
fn x9_the_hash_of_an_archive_is_that_of_its_file() {
    let place = Place::new();
    let bytes = zip(&[(b"a", PACKET)]);
    let monitor = Monitor::default();
    let digests: Vec<_> = [place.write("a.zip", &bytes), place.pipe("pipe", &bytes)]
        .map(|source| {
            let mut inputs = place.open(&[source], None, Reads::Once, &monitor).unwrap();
            let digest = inputs.digest().unwrap().unwrap();
            (digest.size, digest.sha256.unwrap())
        })
        .into();
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0].0, bytes.len() as u64);
    let two = [place.write("a", PACKET), place.write("b", PACKET)];
    for sources in [&two[..], &two[..1]] {
        let mut inputs = place.open(sources, None, Reads::Once, &monitor).unwrap();
        assert!(inputs.digest().unwrap().is_none());
    }
}

#[test]
fn x9_a_file_that_is_gone_or_has_grown_when_its_turn_comes_is_told_or_as_it_was() {
    let place = Place::new();
    let sources = [place.write("a", PACKET), place.write("b", PACKET)];
    let monitor = Monitor::default();
    let mut inputs: Inputs<'_> = place.open(&sources, None, Reads::Once, &monitor).unwrap();
    place.write("a", &packets(2));
    std::fs::remove_file(place.path("b")).unwrap();
    assert_eq!(read_to_end(&mut inputs.open_file(1).unwrap()), PACKET);
    let gone = inputs.open_file(2).map(|_| ()).unwrap_err();
    assert!(matches!(gone, SourceError::Open { .. }) && gone.to_string().contains("/b: "));
    let container = inputs.open_file(0).map(|_| ()).unwrap_err();
    assert!(matches!(container, SourceError::Open { .. }));
}
