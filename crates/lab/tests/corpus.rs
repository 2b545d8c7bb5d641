//! Gives the fuzzers' findings to each check: inputs that cover all code that they reached
//! (`fuzz/corpus`), and those that once did harm (`fuzz/crashes`).
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(root.join(kind).join(target)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn all(target: &str, check: fn(&[u8])) {
    let corpus = files("corpus", target);
    assert!(!corpus.is_empty(), "fuzz/corpus/{target} has no files");
    for file in corpus.into_iter().chain(files("crashes", target)) {
        let bytes = fs::read(&file).unwrap();
        // The problem is on the screen already; this adds the file.
        assert!(catch_unwind(|| check(&bytes)).is_ok(), "{}", file.display());
    }
}

macro_rules! targets {
    ($($target:ident)*) => {
        $(
            #[test]
            fn $target() {
                all(stringify!($target), timebase_lab::fuzz::$target);
            }
        )*

        /// Every directory in `fuzz/corpus` and `fuzz/crashes` is used here, and has a fuzzer.
        #[test]
        fn none_is_missing() {
            let known = [$(stringify!($target)),*];
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            for folder in files("", "corpus").into_iter().chain(files("", "crashes")) {
                let name = folder.file_name().unwrap().to_str().unwrap();
                assert!(known.contains(&name), "{} has no test", folder.display());
            }
            let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
            for name in known {
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} has no fuzzer");
            }
        }
    };
}

targets!(import rows archives stream json interned descriptor clock_graph clock_table sql_functions btree script manifest text);
