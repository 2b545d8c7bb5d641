//! The bytes of a trace: always the same, and the requested number.

#![allow(clippy::unwrap_used)]

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use timebase_lab::synth::{
    Compression, Error, Mix, Preset, Settings, Summary, write, write_with_truth,
};

fn trace(settings: &Settings) -> (Vec<u8>, Summary) {
    let mut bytes = Vec::new();
    let summary = write(settings, &mut bytes).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    (bytes, summary)
}

fn mixed() -> Settings {
    Settings::preset(Preset::Mixed).records(5000)
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for preset in Preset::ALL {
        let settings = Settings::preset(preset).records(500);
        let once = trace(&settings).0;
        assert!(once == trace(&settings).0, "{preset:?}");
        assert!(once != trace(&settings.seed(2)).0, "{preset:?}");
    }
}

#[test]
fn who_wants_the_truth_gets_the_same_bytes() {
    let mut truths = 0;
    let mut bytes = Vec::new();
    let told = write_with_truth(&mixed(), &mut bytes, &mut |_| {
        truths += 1;
        Ok(())
    });
    assert!(bytes == trace(&mixed()).0);
    assert_eq!(told.unwrap(), trace(&mixed()).1);
    assert!(truths > 5000);
}

/// A change here changes the input of every benchmark. Compressed traces are left out, because
/// compressors may improve.
#[test]
fn the_bytes_are_those_of_earlier_versions() {
    let hash = |preset| -> String {
        let digest = Sha256::digest(trace(&Settings::preset(preset).records(5000)).0);
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    };
    let hashes = Preset::ALL.map(|preset| format!("{preset:?} {}", hash(preset)));
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 19] = [
    "Packets b3d5b5a9feb7c804",
    "Events 5ed1ab163c96e2e8",
    "Logs 4470f21ff01d610c",
    "Hops e520848a7607c945",
    "Snapshots 9df66da2c14fe16c",
    "Sequences 174e57d77abaf647",
    "Mixed 3b56e9c9ae65c4f1",
    "Drift 9084d496d36ec718",
    "Wander c76402c604ddb850",
    "Jitter afb1fe584dc17e75",
    "Outliers 3c2083a71d7b0a6e",
    "Suspends a01177d75c40e026",
    "TwoHops 81eb9c263ad6f089",
    "ThreeHops 608c29a5e1e4be23",
    "Gigahertz 0f4ebf6ce987be07",
    "WallClock 10e51e3cae3797f7",
    "Bend d729e2e584d9173b",
    "Hole 7c1a1e4bcb60b667",
    "TwoByTwo 17c0cc11d95559da",
];

#[test]
fn a_trace_has_as_many_records_as_were_asked_for() {
    for preset in Preset::ALL {
        let summary = trace(&Settings::preset(preset).records(1234)).1;
        assert_eq!(summary.records, 1234, "{preset:?}");
    }
    assert_eq!(trace(&Settings::preset(Preset::Events).records(1234)).1.events, 1234);
    assert_eq!(trace(&Settings::preset(Preset::Logs).records(1234)).1.lines, 1234);
}

#[test]
fn a_packet_of_the_sdk_has_about_30_bytes() {
    let summary = trace(&Settings::preset(Preset::Packets).records(10_000)).1;
    assert!((26..=32).contains(&(summary.bytes / summary.packets)), "{summary:?}");
}

#[test]
fn a_trace_has_as_many_bytes_as_were_asked_for() {
    for preset in Preset::ALL {
        let summary = trace(&Settings::preset(preset).bytes(1_000_000)).1;
        let bytes = summary.bytes;
        assert!((999_000..1_001_000).contains(&bytes), "{preset:?}: {bytes}");
    }
}

#[test]
fn a_compressed_trace_has_about_as_many_bytes_as_were_asked_for() {
    for compression in [Compression::Zlib, Compression::Zstd] {
        let settings = Settings { compression, ..Settings::preset(Preset::Mixed).bytes(1_000_000) };
        let bytes = trace(&settings).1.bytes;
        assert!((970_000..1_030_000).contains(&bytes), "{compression:?}: {bytes}");
    }
}

#[test]
fn a_trace_has_the_snapshots_that_were_asked_for() {
    for service_snapshots in [1, 10, 30_000] {
        let settings = Settings {
            service_snapshots,
            mix: Mix { logs: 1, ..Mix::default() },
            ..Settings::default().records(1000)
        };
        assert_eq!(trace(&settings).1.snapshots, service_snapshots);
    }
}

/// A writer that only remembers the sizes of writes.
struct Pieces {
    largest: usize,
    bytes: u64,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.largest = self.largest.max(bytes.len());
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_is_written_piece_by_piece() {
    let mut pieces = Pieces { largest: 0, bytes: 0 };
    write(&Settings::default().bytes(5_000_000), &mut pieces).unwrap();
    assert!(pieces.bytes >= 5_000_000);
    assert!(pieces.largest < 70_000, "{}", pieces.largest);
}

#[test]
fn what_cannot_be_done_is_said() {
    let settings = Settings { sequences: 0, ..Settings::default() };
    let mut bytes = Vec::new();
    let error = write(&settings, &mut bytes).unwrap_err();
    assert_eq!(error.to_string(), "sequences must be from 1 to 10^6");
    assert!(bytes.is_empty());

    let settings = Settings {
        suspends: 100,
        suspend_ns: 100_000_000_000_000_000,
        ..Settings::default().records(1000)
    };
    assert!(matches!(write(&settings, &mut bytes), Err(Error::TooLong)));

    let refused = write_with_truth(&mixed(), &mut bytes, &mut |_| Err(io::Error::other("no")));
    assert_eq!(refused.unwrap_err().to_string(), "no");
}
