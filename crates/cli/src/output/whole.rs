//! Output that is written when it is complete.
//!
//! # Design
//!
//! The reader of a file cannot distinguish a partial answer from a complete one. So the output of a
//! command is held back until the command has succeeded: in memory, and from [`HELD`] on in a file
//! without a name in the temporary directory. A failure gives the error and nothing else. A person
//! at a terminal sees rows as they come, and the error below them; so does the reader of a pipe, if
//! rows can be read one by one (`stream.rs`).

use std::env;
use std::io::{self, BufWriter, Read, Seek, Write};

use tempfile::SpooledTempFile;

/// The number of bytes that are held in memory.
const HELD: usize = 8 << 20;

/// The number of bytes in a read or a write of the file.
const PART: usize = 1 << 16;

/// The output so far, which nobody has seen. It is buffered because formats write each value alone.
pub struct Whole(BufWriter<SpooledTempFile>);

impl Whole {
    /// Empty output.
    pub fn new() -> Whole {
        Whole(BufWriter::with_capacity(PART, SpooledTempFile::new(HELD)))
    }

    /// Writes all output to `out`.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.0.rewind().map_err(unkept)?;
        let mut part = vec![0; PART];
        loop {
            match self.0.get_mut().read(&mut part).map_err(unkept)? {
                0 => return out.flush(),
                length => out.write_all(&part[..length])?,
            }
        }
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unkept)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unkept)
    }
}

fn unkept(error: io::Error) -> io::Error {
    let directory = env::temp_dir();
    let why = format!(
        "cannot write the result to its temporary file in {}: {error}; choose another directory with the environment variable TMPDIR, or write to a file directly with --output",
        directory.display()
    );
    io::Error::new(error.kind(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_is_held_in_memory_comes_out_as_it_went_in() {
        let line = [b'x'; 1000];
        let mut whole = Whole::new();
        for _ in 0..10_000 {
            whole.write_all(&line).expect("room in the temporary directory");
        }
        let mut out = Vec::new();
        whole.finish(&mut out).expect("to memory");
        assert!(out.len() == 10_000_000 && out.iter().all(|byte| *byte == b'x'));
    }

    /// Each value of a JSON result was a write of its own: a million rows took 23 times as long as in CSV.
    #[cfg(target_os = "linux")]
    #[test]
    fn many_small_writes_are_few_writes_of_the_file() {
        let written = || -> u64 {
            let counters = std::fs::read_to_string("/proc/thread-self/io").expect("counters");
            let calls = counters.lines().find_map(|line| line.strip_prefix("syscw: "));
            calls.expect("calls").parse().expect("a number")
        };
        let mut whole = Whole::new();
        let before = written();
        for _ in 0..2 * HELD / 8 {
            whole.write_all(b"12345678").expect("room in the temporary directory");
        }
        let calls = written() - before;
        assert!((1..=1000).contains(&calls), "{calls} writes");
    }
}
