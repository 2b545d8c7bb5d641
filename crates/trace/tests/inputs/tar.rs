//! Special features of tar archives (rule X8).

use timebase_trace::InputsError;

use crate::build::{entry, header, pax, tar};
use crate::place::{PACKET, Place, ReadAll, packets};

fn read(bytes: &[u8]) -> Result<ReadAll, InputsError> {
    Place::new().read_bytes(bytes)
}

#[test]
fn x8_links_devices_and_directories_are_skipped() {
    let mut archive = Vec::new();
    for kind in b'1'..=b'6' {
        // A directory may have a size, but no bytes follow it.
        archive.extend(header(b"other.pb", u64::from(kind & 1) * 9000, kind, |_| {}));
    }
    archive.extend(entry(b"V", b'V', b""));
    archive.extend(entry(b"D", b'D', b"a list of files"));
    archive.extend(entry(b"old/", 0, b""));
    archive.extend(entry(b"old.pb", 0, PACKET));
    archive.extend(entry(b"cont.pb", b'7', PACKET));
    let all = read(&archive).unwrap();
    assert_eq!(all.names(), ["cont.pb", "old.pb"]);
    assert_eq!(all.damage, []);
    // Links in pax have the bytes of their files.
    let archive = [entry(b"hard.pb", b'1', &packets(999)), entry(b"a.pb", b'0', PACKET)];
    let all = read(&archive.concat()).unwrap();
    assert_eq!((all.names(), all.damage.len()), (vec!["a.pb"], 0));
}

#[test]
fn x8_names_and_sizes_of_gnu_and_pax_count() {
    let size = |text: &[u8]| pax("size", text);
    let archive = [
        entry(b"././@LongLink", b'K', b"a link that leads far\0"),
        entry(b"././@LongLink", b'L', b"long name\0"),
        entry(b"short", b'0', PACKET),
        entry(b"x", b'x', &[pax("path", b"of pax"), pax("mtime", b"1.5"), size(b"8")].concat()),
        header(b"short", 0, b'0', |_| {}),
        [packets(2), vec![0; 504]].concat(),
        entry(b"g", b'g', &pax("path", b"of all")),
        entry(b"own", b'0', PACKET),
        entry(b"x", b'x', b"99 nonsense=\n"),
        entry(b"last", b'0', PACKET),
        entry(b"x", b'x', &pax("path", b"")),
        entry(b"not empty", b'0', PACKET),
    ];
    let all = read(&archive.concat()).unwrap();
    assert_eq!(all.names(), ["last", "long name", "not empty", "of pax", "own"]);
    assert_eq!(all.read[3].bytes, packets(2));
    assert_eq!(all.damage, []);
}

#[test]
fn x8_prefixes_of_ustar_and_other_numbers_count() {
    let signed = {
        // A checksum of signed bytes.
        let mut header = header(b"signed\xff", 4, b'0', |_| {});
        let sum: i32 = header
            .iter()
            .enumerate()
            .map(|(i, &byte)| match i {
                148..156 => 32,
                _ => i32::from(byte.cast_signed()),
            })
            .sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    };
    let block = [PACKET, &[0; 508]].concat();
    let archive = [
        header(b"name", 4, b'0', |out| out[345..349].copy_from_slice(b"d/in")),
        block.clone(),
        header(b"gnu", 4, b'0', |out| {
            out[257..265].copy_from_slice(b"ustar  \0");
            out[345..349].copy_from_slice(b"0123");
        }),
        block.clone(),
        header(b"base 256", 0, b'0', |out| {
            out[124..136].fill(0);
            (out[124], out[135]) = (0x80, 4);
        }),
        block.clone(),
        header(b"blanks", 0, b'0', |out| out[124..136].copy_from_slice(b"         4 \0")),
        block.clone(),
        header(b"no mark", 4, b'0', |out| out[257..265].fill(0)),
        block.clone(),
        signed,
        block,
    ];
    let all = read(&archive.concat()).unwrap();
    let names = ["base 256", "blanks", "d/in/name", "gnu", "no mark", "signed\u{fffd}"];
    assert_eq!(all.names(), names);
    assert!(all.read.iter().all(|file| file.bytes == PACKET));
    assert_eq!(all.damage, []);
}

#[test]
fn x8_behind_a_damaged_header_the_next_is_found() {
    let files: [(&[u8], &[u8]); 3] = [(b"a", &packets(300)), (b"b", &packets(200)), (b"c", PACKET)];
    let whole = tar(&files);
    let second = 512 + 1536;
    for broken in [0..1, 124..136, 148..156, 0..512] {
        let mut damaged = whole.clone();
        damaged[second..second + 512][broken.clone()].fill(0);
        let all = read(&damaged).unwrap();
        assert_eq!(all.names(), ["a", "c"], "{broken:?}");
        let damage = &all.damage[0];
        assert!(!damage.is_cut);
        let end = (second + 512 + 1024) as u64;
        assert!(damage.offset >= second as u64 && damage.offset + damage.size == end);
    }
    // This also holds for the first header: its mark identifies a tar.
    let mut damaged = whole;
    damaged[0] ^= 1;
    assert_eq!(read(&damaged).unwrap().names(), ["b", "c"]);
}

#[test]
fn x8_what_follows_the_end_is_read_if_it_is_an_archive() {
    let one = tar(&[(b"a", PACKET)]);
    let two = tar(&[(b"b", PACKET)]);
    let all = read(&[&one[..], &[0; 9216], &two].concat()).unwrap();
    assert_eq!((all.names(), all.damage.len()), (vec!["a", "b"], 0));
    let all = read(&[&one[..], &[7; 5000]].concat()).unwrap();
    assert_eq!((all.names(), all.damage.len()), (vec!["a"], 0));
}

#[test]
fn x8_files_with_holes_are_refused() {
    let sparse = pax("GNU.sparse.major", b"1");
    for archive in [
        entry(b"a.pb", b'S', PACKET),
        [entry(b"x", b'x', &sparse), entry(b"a.pb", b'0', PACKET)].concat(),
    ] {
        let said = read(&archive).unwrap_err().to_string();
        assert!(said.starts_with("'a.pb' in ") && said.contains("sparse"), "{said}");
    }
}
