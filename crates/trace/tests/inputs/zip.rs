//! Special features of zip archives (rule X8).

use timebase_trace::{InputsError, TraceType};

use crate::build::{Zipped, deflate, directory, zip};
use crate::place::{PACKET, Place, ReadAll, packets};

fn read(bytes: &[u8]) -> Result<ReadAll, InputsError> {
    Place::new().read_bytes(bytes)
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

/// A descriptor with these sizes.
fn descriptor(mark: bool, wide: bool, crc: u32, packed: u64, unpacked: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if mark {
        out.extend(b"PK\x07\x08");
    }
    out.extend(crc.to_le_bytes());
    for size in [packed, unpacked] {
        let bytes = size.to_le_bytes();
        out.extend(&bytes[..if wide { 8 } else { 4 }]);
    }
    out
}

#[test]
fn x8_a_zip_with_data_descriptors_is_read() {
    let bytes = packets(500);
    let packed = deflate(&bytes);
    for is_deflated in [true, false] {
        for (mark, wide) in [(true, false), (true, true), (false, false), (false, true)] {
            for is_whole in [true, false] {
                let whole = match is_deflated {
                    true => Zipped::deflated(b"a.pb", &bytes, &packed),
                    false => Zipped::stored(b"a.pb", &bytes),
                };
                let local = Zipped { flags: 8, crc: 0, size: 0, unpacked: 0, ..whole };
                let mut archive = local.local();
                let size = u64::from(whole.size);
                archive.extend(descriptor(mark, wide, whole.crc, size, bytes.len() as u64));
                let second = archive.len();
                let last = Zipped::stored(b"b.pb", PACKET);
                archive.extend(last.local());
                if is_whole {
                    let both = [(0, &whole), (second, &last)];
                    archive.extend(directory(archive.len(), &both));
                }
                let all = read(&archive).unwrap();
                let expected =
                    [("a.pb".to_owned(), bytes.clone()), ("b.pb".to_owned(), PACKET.to_vec())];
                let what = format!("{is_deflated} {mark} {wide} {is_whole}");
                assert_eq!(all.contents(), expected, "{what}");
                assert_eq!(all.damage, [], "{what}");
                assert!(all.read.iter().all(|file| file.damage.is_none()), "{what}");

                // Its checksum is after it, too.
                let at = second - if wide { 20 } else { 12 };
                archive[at] ^= 1;
                if !is_whole {
                    let all = read(&archive).unwrap();
                    let damage = all.read[0].damage.as_deref().unwrap_or_default();
                    assert!(damage.contains("checksum"), "{what}: {damage}");
                }
            }
        }
    }
}

#[test]
fn x8_stored_bytes_that_look_like_a_descriptor_are_none() {
    // An archive inside a trace, with marks and sizes of other members.
    let mut bytes = PACKET.to_vec();
    bytes.extend(descriptor(true, false, 7, 4000, 4000));
    bytes.extend(zip(&[(b"inside", b"text")]));
    bytes.extend(descriptor(true, true, 7, 3, 3));
    bytes.extend(PACKET);
    let whole = Zipped::stored(b"a.pb", &bytes);
    let local = Zipped { flags: 8, crc: 0, size: 0, unpacked: 0, ..whole };
    let mut archive = local.local();
    let size = bytes.len() as u64;
    archive.extend(descriptor(true, false, whole.crc, size, size));
    archive.extend(Zipped::stored(b"b.pb", PACKET).local());
    let all = read(&archive).unwrap();
    assert_eq!(all.names(), ["a.pb", "b.pb"]);
    assert_eq!(all.read[0].bytes, bytes);
}

#[test]
fn x8_sizes_of_64_bits_are_read() {
    let bytes = packets(9);
    let mut extra = b"\x99\x99\x02\0ab".to_vec(); // another program's field
    extra.extend([1, 0, 16, 0]);
    extra.extend(36_u64.to_le_bytes());
    extra.extend(36_u64.to_le_bytes());
    let member = Zipped {
        size: u32::MAX,
        unpacked: u32::MAX,
        extra: &extra,
        ..Zipped::stored(b"a.pb", &bytes)
    };
    let mut archive = member.local();
    archive.extend(Zipped::stored(b"b.pb", PACKET).local());
    let all = read(&archive).unwrap();
    assert_eq!(all.names(), ["a.pb", "b.pb"]);
    assert_eq!(all.read[0].bytes, bytes);

    // If the sizes are missing, or larger than the archive, the archive is cut.
    for extra in [&b""[..], &[1, 0, 16, 0], &[[1, 0, 16, 0].as_slice(), &[0xff; 16]].concat()] {
        let member =
            Zipped { extra, size: u32::MAX, unpacked: u32::MAX, ..Zipped::stored(b"a.pb", &bytes) };
        let all = read(&member.local()).unwrap();
        assert_eq!(all.read[0].bytes, bytes);
        assert!(all.damage[0].is_cut);
    }
}

#[test]
fn x8_encrypted_members_are_refused_by_name() {
    let member = Zipped { flags: 1, ..Zipped::stored(b"d/a.pb", PACKET) };
    let said = refusal(&member.local());
    assert!(said.starts_with("'d/a.pb' in "), "{said}");
    assert!(said.contains("is encrypted"), "{said}");
    // If a member is not read, its problem is not reported.
    let hidden = Zipped { name: b".a.pb", ..member };
    let archive = [hidden.local(), Zipped::stored(b"b", PACKET).local()].concat();
    assert_eq!(read(&archive).unwrap().names(), ["b"]);
}

#[test]
fn x8_other_methods_are_refused_by_their_name() {
    for (method, name) in [(9, "Deflate64"), (14, "LZMA"), (93, "zstd"), (55, "method 55")] {
        let member = Zipped { method, ..Zipped::stored(b"a.pb", PACKET) };
        let said = refusal(&member.local());
        assert!(said.contains(&format!("is compressed with {name}, but")), "{said}");
    }
}

#[test]
fn x8_damage_in_a_member_is_told_of_it() {
    let bytes = packets(50);
    let mut wrong = bytes.clone();
    wrong[100] ^= 1;
    let archive = [
        Zipped { bytes: &wrong, ..Zipped::stored(b"a.pb", &bytes) }.local(),
        Zipped::stored(b"b.pb", PACKET).local(),
    ];
    let all = read(&archive.concat()).unwrap();
    assert_eq!(all.read[0].bytes, wrong);
    assert!(all.read[0].damage.as_deref().unwrap().contains("checksum"));
    assert!(all.read[0].sha256.is_some(), "all of its bytes were read");
    assert_eq!(all.read[1].damage, None);

    // A stored block, and after it a block of an unknown kind.
    let text = vec![b'x'; 0xffff];
    let packed = [&[0, 0xff, 0xff, 0, 0][..], &text, &[7], &[0; 40]].concat();
    for flags in [0, 8] {
        let member = Zipped { flags, ..Zipped::deflated(b"a.pb", &text, &packed) };
        let member = match flags {
            8 => Zipped { size: 0, ..member },
            _ => member,
        };
        let archive = [member.local(), Zipped::stored(b"b.pb", PACKET).local()].concat();
        let all = read(&archive).unwrap();
        assert_eq!(all.names(), ["b.pb", "a.pb"], "what is text is unknown");
        let damaged = &all.read[1];
        assert!(damaged.bytes.len() > 100 && text.starts_with(&damaged.bytes[..100]));
        assert!(damaged.damage.is_some());
        assert_eq!(damaged.sha256, None);
        assert_eq!(all.read[0].bytes, PACKET);
    }
}

#[test]
fn x8_behind_a_damaged_header_the_next_is_found() {
    let files: [(&[u8], &[u8]); 3] =
        [(b"a", &packets(9)), (b"b", &packets(8)), (b"c", &packets(7))];
    let whole = zip(&files);
    let second = 31 + 36;
    assert!(whole[second..].starts_with(b"PK\x03\x04"));
    let mut damaged = whole.clone();
    damaged[second..second + 4].fill(0);
    let third = second + 31 + 32;
    for size in [whole.len(), third + 31 + 28] {
        let all = read(&damaged[..size]).unwrap();
        assert_eq!(all.names(), ["a", "c"]);
        let damage = &all.damage[0];
        assert_eq!((damage.offset, damage.size), (second as u64, 63));
        assert!(!damage.is_cut);
    }
    // The directory has the length of a member whose header does not.
    let mut damaged = whole;
    damaged[18..26].fill(0);
    let all = read(&damaged).unwrap();
    assert_eq!(all.names(), ["a", "b", "c"]);
    assert_eq!(all.read[0].bytes, packets(9));
}

#[test]
fn x3_x5_a_zip_in_which_is_everything_is_in_order() {
    let manifest = b" {\"perfetto_manifest\": {}}";
    let compressed = crate::place::gzip(manifest);
    let archive = zip(&[
        (b"unknown", b"text"),
        (b"manifest.gz", &compressed),
        (b"z", PACKET),
        (b"late", manifest),
        (b"\xff", PACKET),
        (b"a", PACKET),
        (b"a", &packets(2)),
        (b"A", PACKET),
        (b"database", b"SQLite format 3\0"),
        (b"nothing.zst", &crate::place::zstd(b"")),
    ]);
    let all = read(&archive).unwrap();
    let expected = [
        ("late", TraceType::Manifest),
        ("A", TraceType::PERFETTO),
        ("a", TraceType::PERFETTO),
        ("a", TraceType::PERFETTO),
        ("z", TraceType::PERFETTO),
        ("\u{fffd}", TraceType::PERFETTO),
        ("manifest.gz", TraceType::Manifest),
        ("nothing.zst", TraceType::Unknown),
        ("database", TraceType::Unknown),
        ("unknown", TraceType::Unknown),
    ];
    let found: Vec<_> =
        all.read.iter().map(|file| (file.name(), file.file.kind.unwrap())).collect();
    assert_eq!(found, expected);
    assert_eq!(all.read[2].bytes, PACKET, "of two of one name the first");
    assert_eq!(all.files[2].name.as_deref(), Some("manifest.gz"));
}

#[test]
fn x6_an_archive_in_an_archive_is_refused_by_name() {
    let inner = zip(&[(b"a", PACKET)]);
    let tar = crate::build::tar(&[(b"a", PACKET)]);
    for (bytes, kind) in [
        (inner.clone(), "a zip archive"),
        (tar.clone(), "a tar archive"),
        (crate::place::gzip(&inner), "a zip archive"),
        (crate::place::zstd(&tar), "a tar archive"),
    ] {
        let packed = deflate(&bytes);
        for archive in [
            zip(&[(b"a", PACKET), (b"d/inner", &bytes)]),
            Zipped::deflated(b"d/inner", &bytes, &packed).local(),
            crate::build::tar(&[(b"a", PACKET), (b"d/inner", &bytes)]),
        ] {
            let said = refusal(&archive);
            assert!(said.starts_with("'d/inner' in "), "{said}");
            assert!(said.contains(&format!("is {kind}, which")), "{said}");
        }
    }
    // A hidden member is not searched.
    assert_eq!(read(&zip(&[(b"a", PACKET), (b".b", &inner)])).unwrap().names(), ["a"]);
}
