//! The archives of `tests/data/archives`, made with common tools.

use std::fs;
use std::io::Read;
use std::path::Path;

use timebase_trace::TraceType;

use crate::place::{PACKET, Place, gzip, packets};

/// An archive, as its tool made it.
pub struct Fixture {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Fixture {
    pub fn is_tar(&self) -> bool {
        self.name.contains(".tar")
    }

    /// Whether to try this byte: in some archives each, in others only a few, because the rest
    /// gives the same.
    fn is_tried(&self, at: usize) -> bool {
        let is_whole = ["zip-to-pipe.zip", "python-stored-to-pipe.zip"];
        match self.name.as_str() {
            "tar-pax.tar.gz" => at.is_multiple_of(7) || at % 512 < 3,
            name if is_whole.contains(&name) => true,
            _ if self.is_tar() => at.is_multiple_of(97) || matches!(at % 512, 0 | 1 | 511),
            _ => at.is_multiple_of(11),
        }
    }
}

/// All archives except the one of a single file.
pub fn all() -> Vec<Fixture> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/archives");
    let mut found = Vec::new();
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "make.py" || name == "zip-from-pipe.zip" {
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        if let Some(tar) = name.strip_suffix(".gz") {
            let packed = std::mem::take(&mut bytes);
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
            assert!(tar.ends_with(".tar"));
        }
        found.push(Fixture { name, bytes });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(found.len(), 16);
    found
}

/// The contents of each, in the order of processing.
pub fn contents() -> Vec<(String, Vec<u8>)> {
    let long = format!("{}/{}/c.pb", "l".repeat(60), "m".repeat(60));
    let random = fixture_of_random_bytes();
    [
        ("m.json", b"{\"perfetto_manifest\": {\"version\": 1}}".to_vec()),
        ("b.pftrace", random),
        ("d/a.pb", packets(50)),
        (&*long, packets(2)),
        ("ä.pb", packets(3)),
        ("k.gz", packets(30)),
        ("empty", Vec::new()),
        ("notes.txt", b"hello\n".to_vec()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

/// The random bytes of `make.py`, from the archive that stores them.
fn fixture_of_random_bytes() -> Vec<u8> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/archives/zip-stored.zip");
    let archive = fs::read(place).unwrap();
    let name = b"b.pftrace";
    let at = archive.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
    archive[at..at + 203].to_vec()
}

#[test]
fn x8_archives_of_all_tools_hold_the_same() {
    let place = Place::new();
    for fixture in all() {
        let all = place.read_bytes(&fixture.bytes).unwrap();
        let name = fixture.name;
        assert_eq!(all.contents(), contents(), "{name}");
        assert_eq!(all.damage, [], "{name}");
        for file in &all.read {
            assert_eq!(file.damage, None, "{name}");
            assert!(file.sha256.is_some(), "{name}");
            assert_eq!(Some(file.size), file.file.size, "{name}");
        }
        assert_eq!(all.total, Some(all.read.iter().map(|file| file.size).sum()));
        let kinds: Vec<_> = all.read.iter().map(|file| file.file.kind.unwrap()).collect();
        use TraceType::{Manifest, Unknown};
        let expected = [
            Manifest,
            TraceType::PERFETTO,
            TraceType::PERFETTO,
            TraceType::PERFETTO,
            TraceType::PERFETTO,
            TraceType::PERFETTO,
            Unknown,
            Unknown,
        ];
        assert_eq!(kinds, expected, "{name}");
        let container = &all.files[0];
        let kind = match name.contains(".tar") {
            true => TraceType::Tar,
            false => TraceType::Zip,
        };
        assert_eq!((container.kind, container.is_container), (Some(kind), true));
    }
}

#[test]
fn x8_a_zip_of_a_pipe_has_one_file() {
    let bytes = include_bytes!("../data/archives/zip-from-pipe.zip");
    let all = Place::new().read_bytes(bytes).unwrap();
    assert_eq!(all.contents(), [("-".to_owned(), packets(50))]);
}

#[test]
fn x9_archives_that_cannot_be_sought_hold_the_same() {
    for (i, fixture) in all().iter().enumerate() {
        let place = Place::new();
        let whole = place.read_bytes(&fixture.bytes).unwrap();
        let piped = place.pipe(&format!("pipe-{i}"), &fixture.bytes);
        let piped = place.read(&[piped]).unwrap();
        assert_eq!(piped.contents(), whole.contents(), "{}", fixture.name);
        assert_eq!(piped.files[1..], whole.files[1..]);
        assert_eq!(place.quota.left(), Some(100 << 20), "what was put aside is gone");

        for (compressed, name) in
            [(gzip(&fixture.bytes), "gzip"), (crate::place::zstd(&fixture.bytes), "zstd")]
        {
            let all = place.read_bytes(&compressed).unwrap();
            assert_eq!(all.contents(), whole.contents(), "{}", fixture.name);
            assert_eq!(all.files[0].compression, Some(name));
            assert_eq!(all.files[0].size, Some(compressed.len() as u64));
        }
    }
}

#[test]
fn f6_x8_an_archive_that_is_cut_anywhere_has_the_members_before_the_cut() {
    let place = Place::new();
    for fixture in all() {
        let whole = place.read_bytes(&fixture.bytes).unwrap();
        // In the order of the archive.
        let mut members: Vec<_> = whole.read.iter().collect();
        members.sort_by_key(|read| read.file.id);
        let ends = ends(&fixture, members.len());
        let least = if fixture.is_tar() { 262 } else { 4 };
        for cut in (least..fixture.bytes.len()).filter(|&cut| fixture.is_tried(cut)) {
            let what = format!("{} up to {cut}", fixture.name);
            let source = place.write("cut", &fixture.bytes[..cut]);
            let all = place.read_with(&[source], None, timebase_trace::Reads::Once).unwrap();
            assert!(all.damage.len() <= 1, "{what}: {:?}", all.damage);
            assert!(
                all.damage.iter().all(|damage| damage.is_cut && damage.offset == cut as u64),
                "{what}: {:?}",
                all.damage
            );
            let mut found: Vec<_> = all.read.iter().collect();
            found.sort_by_key(|read| read.file.id);
            let complete = ends.iter().take_while(|&&end| end <= cut).count();
            assert!(found.len() >= complete, "{what}");
            assert!(found.len() <= complete + 1, "{what}");
            for (i, (found, member)) in found.iter().zip(&members).enumerate() {
                assert_eq!(found.name(), member.name(), "{what}");
                assert_eq!(found.damage, None, "{what}");
                match i < complete {
                    true => assert_eq!(found.bytes, member.bytes, "{what}"),
                    // Without its first bytes, it has no recognizable compression.
                    false if found.file.compression != member.file.compression => {}
                    false => {
                        // For a stored member of unknown length, the mark after it may be cut.
                        let most = found.bytes.len().min(member.bytes.len());
                        assert_eq!(found.bytes[..most], member.bytes[..most], "{what}");
                        assert!(b"PK\x07".starts_with(&found.bytes[most..]), "{what}");
                    }
                }
            }
        }
    }
}

/// The position at which each member is complete: the next header, or the directory.
fn ends(fixture: &Fixture, members: usize) -> Vec<usize> {
    let bytes = &fixture.bytes;
    if fixture.is_tar() {
        let is_header = |at: &usize| bytes.get(at + 257..at + 262) == Some(b"ustar");
        let kind = |at: usize| bytes[at + 156];
        let headers: Vec<_> = (0..bytes.len()).step_by(512).filter(is_header).collect();
        let mut ends = Vec::new();
        for (i, &at) in headers.iter().enumerate() {
            let is_hidden = bytes[at..].starts_with(b".hidden");
            if matches!(kind(at), b'0' | 0) && !is_hidden {
                let next = headers[i + 1..].first();
                ends.push(next.copied().unwrap_or(bytes.len()));
            }
        }
        assert_eq!(ends.len(), members);
        return ends;
    }
    let marks = |mark: &[u8]| -> Vec<usize> {
        let is_mark = |at: &usize| bytes[*at..].starts_with(mark);
        (0..bytes.len()).filter(is_mark).collect()
    };
    let directory = marks(b"PK\x01\x02")[0];
    let mut headers = marks(b"PK\x03\x04");
    headers.push(directory);
    let mut ends = Vec::new();
    for pair in headers.windows(2) {
        let name = &bytes[pair[0] + 30..pair[1]];
        let length = usize::from(bytes[pair[0] + 26]);
        let is_skipped = name.starts_with(b".hidden") || name[length - 1] == b'/';
        if !is_skipped {
            ends.push(pair[1]);
        }
    }
    assert_eq!(ends.len(), members);
    ends
}

#[test]
fn z1_x8_an_archive_with_any_byte_damaged_is_read_or_refused() {
    let place = Place::new();
    let truth = contents();
    for fixture in all() {
        for at in 0..fixture.bytes.len() {
            // The padding of a tar is ignored.
            let is_padding = fixture.is_tar() && fixture.bytes[at] == 0;
            if !is_padding && at % 3 == 1 && fixture.is_tried(at) {
                let mut bytes = fixture.bytes.clone();
                bytes[at] ^= 0xff;
                let source = place.write("damaged", &bytes);
                let read = place.read_with(&[source], None, timebase_trace::Reads::Once);
                let Ok(all) = read else {
                    continue;
                };
                let is_told = !all.damage.is_empty();
                for file in &all.read {
                    let same = truth.iter().find(|(name, _)| name == file.name());
                    // The checksums in a zip are checked.
                    if let Some((_, bytes)) = same.filter(|_| !fixture.is_tar()) {
                        let is_right = *bytes == file.bytes;
                        let what = format!("{} at {at}", fixture.name);
                        assert!(is_right || is_told || file.damage.is_some(), "{what}");
                    }
                }
            }
        }
    }
    assert!(truth[2].1.starts_with(PACKET));
}
