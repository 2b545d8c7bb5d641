//! Malicious archives.

use proptest::collection::vec;
use proptest::prelude::*;
use timebase_trace::{ArchiveDamage, Inputs, InputsError, Monitor, Reads, TraceType};

use crate::build::{Zipped, deflate, entry, header, pax, tar, zip};
use crate::place::{PACKET, Place, gzip, packets, read_to_end};

const EVIL: [&[u8]; 8] = [
    b"../../etc/passwd",
    b"/etc/passwd",
    b"a\0b",
    b"C:\\windows\\a.pb",
    b"\xff\xfe",
    b"",
    b"a\n\x1b[2Jb",
    b"con",
];

#[test]
fn x8_evil_names_are_names_and_no_paths() {
    let place = Place::new();
    let shown = [
        "",
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\windows\\a.pb",
        "a",
        "a\n\u{1b}[2Jb",
        "con",
        "\u{fffd}\u{fffd}",
    ];
    let named =
        |name: &[u8]| [entry(b"x", b'x', &pax("path", name)), entry(b"", b'0', PACKET)].concat();
    let archives = [
        zip(&EVIL.map(|name| (name, PACKET))),
        tar(&EVIL.map(|name| (name, PACKET))),
        EVIL.map(named).concat(),
    ];
    for archive in archives {
        let all = place.read_bytes(&archive).unwrap();
        assert_eq!(all.names(), shown);
        assert!(all.read.iter().all(|file| file.bytes == PACKET));
    }
    let left: Vec<_> = std::fs::read_dir(place.path("")).unwrap().collect();
    assert_eq!(left.len(), 1, "only the archive is there");
}

#[test]
fn x8_long_names_are_read_up_to_64_kib() {
    let place = Place::new();
    let long = vec![b'n'; 65_535];
    let archive = zip(&[(&long, PACKET)]);
    assert_eq!(place.read_bytes(&archive).unwrap().names()[0].len(), 65_535);
    let archive = [entry(b"L", b'L', &long), entry(b"short", b'0', PACKET)].concat();
    assert_eq!(place.read_bytes(&archive).unwrap().names()[0].len(), 65_535);
    for (kind, size) in [(b'L', 70_000), (b'x', 2 << 20)] {
        let archive = [entry(b"L", kind, &vec![b'n'; size]), entry(b"a", b'0', PACKET)].concat();
        let said = place.read_bytes(&archive).unwrap_err().to_string();
        assert!(said.contains("at byte 0"), "{said}");
        // If the file ends before it, this is a cut.
        let all = place.read_bytes(&archive[..1024]).unwrap();
        assert!(all.damage[0].is_cut && all.read.is_empty());
    }
}

#[test]
fn f5_names_are_not_kept_without_end() {
    let place = Place::new();
    let name = entry(b"L", b'L', &vec![b'n'; 65_000]);
    let file = entry(b"a", b'0', b"");
    let one = [name, file].concat();
    let file = place.write("a.tar", &one.repeat(1100));
    assert!(matches!(
        place.open(&[file], None, Reads::Once, &Monitor::default()),
        Err(InputsError::NamesTooLong { .. })
    ));
}

#[test]
fn f5_an_archive_may_have_100_000_entries() {
    let place = Place::new();
    let monitor = Monitor::default();
    let open = |count| {
        let entry = Zipped::stored(b"d/", b"").local();
        let file = place.write("a.zip", &entry.repeat(count));
        let inputs = place.open(&[file], None, Reads::Once, &monitor);
        inputs.map(|inputs| inputs.order().len())
    };
    assert_eq!(open(100_000).unwrap(), 0);
    let said = open(100_001).unwrap_err().to_string();
    assert!(said.contains("more than 100000 entries"), "{said}");
}

#[test]
fn f5_sizes_that_are_not_there_cost_nothing() {
    let place = Place::new();
    for size in [u64::MAX, u64::MAX - 511, 1 << 62] {
        let extra = [&[1, 0, 16, 0][..], &size.to_le_bytes(), &size.to_le_bytes()].concat();
        let member = Zipped {
            size: u32::MAX,
            unpacked: u32::MAX,
            extra: &extra,
            ..Zipped::stored(b"a", PACKET)
        };
        let base256 = header(b"a", 0, b'0', |out| {
            out[124..136].fill(0);
            out[124] = 0x80;
            out[128..136].copy_from_slice(&size.to_be_bytes());
        });
        let of_pax = entry(b"x", b'x', &pax("size", size.to_string().as_bytes()));
        for archive in [
            member.local(),
            [&base256[..], PACKET].concat(),
            [&of_pax[..], &header(b"a", 4, b'0', |_| {}), PACKET].concat(),
        ] {
            let all = place.read_bytes(&archive).unwrap();
            assert_eq!(all.contents(), [("a".to_owned(), PACKET.to_vec())]);
            assert!(all.damage[0].is_cut);
        }
    }
}

#[test]
fn f5_what_unpacks_to_much_is_read_as_a_stream() {
    let place = Place::new();
    let zeros = vec![0; 4 << 20];
    let packed = deflate(&zeros);
    // Its header claims that it is small.
    let member = Zipped { unpacked: 4, ..Zipped::deflated(b"a", &zeros, &packed) };
    let source = place.write("bomb.zip", &member.local());
    let monitor = Monitor::default();
    let mut inputs: Inputs<'_> = place.open(&[source], None, Reads::Once, &monitor).unwrap();
    assert_eq!(inputs.files()[1].kind, Some(TraceType::Unknown));
    let mut input = inputs.open_file(1).unwrap();
    assert_eq!(std::io::copy(&mut input.reader, &mut std::io::sink()).unwrap(), 4 << 20);
    assert!(input.damage().unwrap().contains("4 by what the archive says"));
}

#[test]
fn z4_headers_inside_of_each_other_take_time_in_proportion() {
    let place = Place::new();
    // Each has an unknown size, and its deflated bytes are blocks that lead through all following
    // members.
    let mut member =
        Zipped { flags: 8, crc: 0, size: 0, unpacked: 0, method: 8, ..Zipped::stored(b".x", b"") }
            .local();
    member.extend([0, 0xff, 0xff, 0, 0]);
    let archive = member.repeat(20_000);
    let read = place.read_bytes(&archive);
    assert!(read.is_ok());
    // Also descriptors of stored members.
    let stored = Zipped { flags: 8, size: 0, ..Zipped::stored(b"a", b"") };
    let mut archive = stored.local();
    archive.extend(b"PK\x07\x08".repeat(100_000));
    let all = place.read_bytes(&archive).unwrap();
    assert!(all.damage[0].is_cut);
}

#[test]
fn z7_a_compressed_archive_that_is_damaged_has_what_is_left() {
    let place = Place::new();
    let text: Vec<u8> =
        (0..60_000_u32).flat_map(|i| i.wrapping_mul(77_777).to_string().into_bytes()).collect();
    let archive = tar(&[(b"a", PACKET), (b"b", &text), (b"c", PACKET)]);
    let packed = gzip(&archive);
    let cut = place.read_bytes(&packed[..packed.len() / 2]).unwrap();
    assert_eq!(cut.names(), ["a", "b"]);
    assert!(cut.damage.iter().all(|damage| damage.is_cut) && cut.damage.len() == 1);
    let mut damaged = packed;
    let middle = damaged.len() / 2;
    damaged[middle..middle + 9].fill(0xff);
    let all = place.read_bytes(&damaged).unwrap();
    assert_eq!(all.names()[0], "a");
    let said = |damage: &ArchiveDamage| damage.why.contains("the gzip file is damaged there");
    assert!(all.damage.iter().any(said), "{:?}", all.damage);
}

/// A file for a set: its name and its contents.
fn member() -> impl Strategy<Value = (String, Vec<u8>)> {
    let bytes = prop_oneof![
        (1_usize..4).prop_map(packets),
        (1_usize..4).prop_map(|count| gzip(&packets(count))),
        Just(b"{\"perfetto_manifest\"".to_vec()),
        Just(b"text".to_vec()),
        Just(Vec::new()),
    ];
    ("[a-cA-C./\u{e4}]{1,4}", bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn x4_the_order_of_members_and_arguments_changes_nothing(
        members in vec(member(), 1..8),
        swaps in vec((0_usize..8, 0_usize..8), 8),
    ) {
        let mut members = members;
        members.sort();
        members.dedup_by(|a, b| a.0 == b.0);
        let mut others = members.clone();
        for (a, b) in swaps {
            let count = others.len();
            others.swap(a % count, b % count);
        }
        let place = Place::new();
        let pack = |members: &[(String, Vec<u8>)], is_zip: bool| {
            let files: Vec<_> = members.iter().map(|(name, bytes)| (name.as_bytes(), &bytes[..])).collect();
            if is_zip { zip(&files) } else { tar(&files) }
        };
        let expected = place.read_bytes(&pack(&members, true)).unwrap();
        for archive in [pack(&members, false), pack(&others, false), pack(&others, true)] {
            let all = place.read_bytes(&archive).unwrap();
            prop_assert_eq!(all.contents(), expected.contents());
            prop_assert!(all.damage.is_empty());
        }
        // Only the members that rule X2 passes over are missing.
        let hidden = |name: &str| name.ends_with('/')
            || name.split('/').any(|part| part.starts_with('.') && part != "." && part != "..");
        let mut left: Vec<_> = members.iter().filter(|(name, _)| !hidden(name)).map(|(name, _)| name.as_str()).collect();
        let mut names = expected.names();
        left.sort();
        names.sort();
        prop_assert_eq!(names, left);

        let plain: Vec<_> = others.iter().filter(|(name, _)| !name.contains(['/', '.'])).collect();
        if plain.len() > 1 {
            let sources: Vec<_> = plain.iter().map(|(name, bytes)| place.write(&format!("arguments/{name}"), bytes)).collect();
            let given = place.read(&sources).unwrap();
            let wanted: Vec<_> = expected.contents().into_iter().filter(|(name, _)| !name.contains(['/', '.'])).collect();
            prop_assert_eq!(given.contents(), wanted);
        }
    }

    #[test]
    fn x8_any_bytes_behind_the_mark_are_read_or_refused(bytes in vec(any::<u8>(), 0..3000), is_zip: bool) {
        let place = Place::new();
        let mut bytes = bytes;
        let (at, mark) = if is_zip { (0, &b"PK\x03\x04"[..]) } else { (257, &b"ustar"[..]) };
        bytes.resize(bytes.len().max(at), 0);
        bytes.splice(at..at, mark.to_vec());
        let source = place.write("any", &bytes);
        let monitor = Monitor::default();
        if let Ok(mut inputs) = place.open(&[source], None, Reads::Once, &monitor) {
            for id in inputs.order().to_vec() {
                read_to_end(&mut inputs.open_file(id).unwrap());
            }
        }
    }
}
