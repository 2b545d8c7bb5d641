//! Archives, and any other input of an import.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};

use timebase_store::sort::Scratch;
use timebase_trace::{Inputs, Monitor, PERFETTO, Reads, Source, TraceFile};

/// The number of bytes that are read of a file: a small file may unpack to gigabytes.
const MOST: usize = 1 << 20;

/// Opens these bytes as the input of an import, and reads its files.
///
/// Each file has one place in the order of processing or is a container, damage lies inside the
/// archive, and reading again gives the same.
///
/// ```
/// timebase_lab::fuzz::archives(b"PK\x03\x04");
/// ```
pub fn archives(bytes: &[u8]) {
    let directory = crate::fuzz::scratch();
    let path = directory.path().join("input");
    std::fs::write(&path, bytes).unwrap();
    let scratch = Scratch::from(directory.path());
    let source = Source::File(path);
    let once = read(&source, Reads::Once, &scratch);
    let again = read(&source, Reads::Again, &scratch);
    assert_eq!(once, again);
    // No name in an archive caused a write.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// A line for each result, or the reason why the input cannot be opened.
fn read(source: &Source, reads: Reads, scratch: &Scratch) -> Vec<String> {
    let monitor = Monitor::default();
    let opened =
        Inputs::open(std::slice::from_ref(source), None, &[PERFETTO], reads, scratch, &monitor);
    let mut inputs = match opened {
        Ok(inputs) => inputs,
        Err(error) => return vec![error.to_string()],
    };
    let mut lines: Vec<_> = inputs.files().iter().map(|file| format!("{file:?}")).collect();
    lines.extend(inputs.damage().iter().map(|damage| format!("{damage:?}")));
    assert!(inputs.damage().is_sorted_by_key(|damage| damage.offset));

    let is_read = |file: &&TraceFile| !file.is_container;
    let ids: BTreeSet<_> = inputs.files().iter().filter(is_read).map(|file| file.id).collect();
    let order = inputs.order().to_vec();
    assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), ids);
    assert_eq!(order.len(), ids.len());
    for (place, id) in order.into_iter().enumerate() {
        assert_eq!(inputs.files()[id].processing_order, Some(place));
        let mut input = inputs.open_file(id).unwrap();
        let mut left = MOST;
        let mut chunk = [0; 4096];
        let end = loop {
            match input.reader.read(&mut chunk) {
                Ok(0) => break "end".to_owned(),
                Ok(size) if size < left => left -= size,
                Ok(_) => break "more".to_owned(),
                Err(error) if error.kind() == ErrorKind::InvalidData => {}
                Err(error) => break error.kind().to_string(),
            }
        };
        lines.push(format!("{id}: {left} {end} {:?}", input.damage()));
    }
    lines
}
