//! Damaged files: whatever is in them, a lookup ends, without a panic (rule SB7).

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use timebase_store::sort::{Quota, Scratch};
use timebase_symbols::{Loaded, Module, SymbolFile, SymbolFiles};

const SOURCE: &str = "
static inline __attribute__((always_inline)) int inner(int x) { volatile int y = x * 3; return y + 1; }
int outer(int x) { volatile int z = inner(x); return z * 5; }
int last(int x) { return outer(x) + inner(x); }
";

/// A library of the C compiler with these flags; `None` if there is none, or it does not know them.
fn library(directory: &Path, flags: &[&str]) -> Option<Vec<u8>> {
    let (source, made) = (directory.join("a.c"), directory.join("made.so"));
    fs::write(&source, SOURCE).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O2", "-g", "-Wl,--build-id=0xab12cd34"]).args(flags);
    let said = command.arg("-o").args([&made, &source]).output().ok()?;
    said.status.success().then(|| fs::read(&made).unwrap())
}

/// A generator of numbers: xorshift.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Looks up addresses in bytes, as if they were found by their build id and as if by their name. Returns the number of
/// named addresses.
fn look_up(directory: &Path, bytes: &[u8]) -> usize {
    let path = directory.join("lib.so");
    fs::write(&path, bytes).unwrap();
    let files = SymbolFiles::new(std::slice::from_ref(&path)).unwrap();
    let module = |id: &str| Module { build_id: id.to_owned(), name: "/lib.so".to_owned() };
    let found = files.find(&[module("ab12cd34"), module("")], &|| false);
    for problem in &found.problems {
        assert!(problem.to_string().contains("lib.so"));
    }
    let addresses: Vec<u64> = (0x1000..0x1200).step_by(3).chain([u64::MAX]).collect();
    let scratch = Scratch::new(directory, &Quota::default());
    let file = SymbolFile { path, is_by_name: false };
    let found = file.look_up(&addresses, Loaded::default(), &scratch, &|| false);
    assert_eq!(found.lines.len(), addresses.len());
    found.lines.iter().filter(|lines| !lines.is_empty()).count()
}

#[test]
fn sb7_no_damage_ends_the_process() {
    let place = tempfile::tempdir().unwrap();
    let all: [&[&str]; 4] = [
        &[],
        &["-gdwarf-4"],
        &["-Wl,--compress-debug-sections=zlib"],
        &["-Wl,--compress-debug-sections=zstd"],
    ];
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for flags in all {
        let Some(whole) = library(place.path(), flags) else { continue };
        assert!(look_up(place.path(), &whole) > 10, "{flags:?}");
        for _ in 0..60 {
            let end = numbers.below(whole.len());
            look_up(place.path(), &whole[..end]);
        }
        for round in 0..400 {
            let mut damaged = whole.clone();
            // Headers and sections of debug information are the smaller part of the file.
            for _ in 0..=numbers.below(4) {
                let end = if round % 4 == 0 { 64.min(damaged.len()) } else { damaged.len() };
                let at = numbers.below(end);
                damaged[at] = match numbers.below(3) {
                    0 => 0xff,
                    1 => 0,
                    _ => damaged[at] ^ (1 << numbers.below(8)),
                };
            }
            look_up(place.path(), &damaged);
        }
    }
}
