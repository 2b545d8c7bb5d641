//! A fleet: many small traces of phones, some of them lossy, damaged or empty.

use std::io::{self, Write};

use crate::synth::error::Error;
use crate::synth::phone::{BUILDS, DEVICES, Phone};
use crate::synth::random::Random;

/// The position of the words "not a trace" in a file that is none.
const NO_TRACE: &[u8] = b"this file was a trace once, and something else was written over it\n";

/// The settings of a fleet.
///
/// ```
/// use timebase_lab::synth::{Fleet, FleetState};
///
/// let fleet = Fleet { traces: 200, ..Fleet::default() };
/// let traces = fleet.files();
/// assert_eq!((traces.len(), traces[0].name.as_str()), (200, "aster-b1-00000.pftrace"));
/// let damaged = traces.iter().filter(|trace| trace.state == FleetState::Damaged);
/// assert_eq!(damaged.count(), 4);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// The number of traces, from 1 to 100,000.
    pub traces: u32,
    /// The percentage of damaged traces, up to 90. A third of them is cut, a third has other bytes
    /// in the middle, and a third is no trace at all.
    pub damaged_percent: u32,
    /// The seed of all random choices.
    pub seed: u64,
    /// The least number of records in each trace, up to 10⁸: packets and kernel events. A frame has
    /// a dozen, and is complete.
    pub records: u64,
}

impl Default for Fleet {
    fn default() -> Self {
        Fleet { traces: 100, damaged_percent: 2, seed: 1, records: 1500 }
    }
}

/// The special feature of a trace in a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetState {
    /// Nothing.
    Whole,
    /// Packets were lost during recording, and the trace says so.
    Lossy,
    /// It was changed afterwards.
    Damaged,
    /// The file has no bytes.
    Empty,
}

/// A trace of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetFile {
    /// The file's name: device, build and number.
    pub name: String,
    /// The phone that recorded it.
    pub device: &'static str,
    /// Its build.
    pub build: &'static str,
    /// Its special feature.
    pub state: FleetState,
}

/// The contents of a fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FleetSummary {
    /// The number of traces.
    pub traces: u64,
    /// Traces with lost packets.
    pub lossy: u64,
    /// Damaged traces.
    pub damaged: u64,
    /// Empty traces.
    pub empty: u64,
    /// Their total size.
    pub bytes: u64,
}

impl Fleet {
    fn check(&self) -> Result<(), Error> {
        let wrong = |knob, range| Err(Error::Settings { knob, range });
        if !(1..=100_000).contains(&self.traces) {
            return wrong("traces", "from 1 to 100,000");
        }
        if self.damaged_percent > 90 {
            return wrong("damaged_percent", "at most 90");
        }
        if !(1..=100_000_000).contains(&self.records) {
            return wrong("records", "from 1 to 100,000,000");
        }
        Ok(())
    }

    /// Its traces, in the order of their numbers. Each device has each build equally often; one
    /// trace in ten is lossy, one in a hundred empty, and at least one is if there are ten or more.
    pub fn files(&self) -> Vec<FleetFile> {
        let mut files: Vec<FleetFile> = (0..self.traces as usize)
            .map(|number| {
                let device = DEVICES.get(number % DEVICES.len()).copied().unwrap_or("");
                let build = number / DEVICES.len() % BUILDS.len();
                let build = BUILDS.get(build).copied().unwrap_or("");
                FleetFile {
                    name: format!("{device}-{build}-{number:05}.pftrace"),
                    device,
                    build,
                    state: FleetState::Whole,
                }
            })
            .collect();
        let traces = u64::from(self.traces);
        let damaged = (traces * u64::from(self.damaged_percent) + 50) / 100;
        let empty = (traces / 100).max(u64::from(traces >= 10));
        // The first ones in an order that depends on the seed, so that no trace is two of these.
        let mut random = Random::new(self.seed);
        let mut order: Vec<usize> = (0..files.len()).collect();
        for place in 0..order.len() {
            let other = place + random.below((order.len() - place) as u64) as usize;
            order.swap(place, other);
        }
        let states = [
            (FleetState::Damaged, damaged),
            (FleetState::Empty, empty),
            (FleetState::Lossy, traces / 10),
        ];
        let states = states.into_iter().flat_map(|(state, count)| (0..count).map(move |_| state));
        for (number, state) in order.into_iter().zip(states) {
            if let Some(file) = files.get_mut(number) {
                file.state = state;
            }
        }
        files
    }
}

/// Writes a fleet: `create` makes the file with a name. Each trace is in memory until it is
/// complete.
///
/// Every trace is from a phone that draws frames: it has slices of two threads with their
/// scheduling, and a display that reports each frame on its own clock. On the device "elm" that
/// clock counts at 2.4 GHz, and claims that a tick is a nanosecond.
///
/// ```
/// use timebase_lab::synth::Fleet;
///
/// let directory = tempfile::tempdir()?;
/// let fleet = Fleet { traces: 12, ..Fleet::default() };
/// let create = |name: &str| std::fs::File::create(directory.path().join(name));
/// let summary = timebase_lab::synth::write_fleet(&fleet, create)?;
/// assert_eq!((summary.traces, summary.empty), (12, 1));
/// assert!(directory.path().join("cedar-b2-00007.pftrace").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a knob is out of range, before anything is written. Or the errors of `create` and of its
/// files.
pub fn write_fleet<W: Write>(
    fleet: &Fleet,
    mut create: impl FnMut(&str) -> io::Result<W>,
) -> Result<FleetSummary, Error> {
    fleet.check()?;
    let mut summary = FleetSummary::default();
    let mut damaged = 0;
    for (number, file) in (0u64..).zip(fleet.files()) {
        // Neighbouring seeds have nothing in common; but without this, seed n with trace number 1
        // would equal seed n + 1 with number 0.
        let mut random = Random::new(fleet.seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut trace = Vec::new();
        if file.state != FleetState::Empty {
            trace =
                Phone::new(file.device, file.build, file.state == FleetState::Lossy, &mut random)
                    .record(fleet.records);
        }
        summary.traces += 1;
        match file.state {
            FleetState::Whole => {}
            FleetState::Lossy => summary.lossy += 1,
            FleetState::Empty => summary.empty += 1,
            FleetState::Damaged => {
                summary.damaged += 1;
                damage(&mut trace, damaged, &mut random);
                damaged += 1;
            }
        }
        summary.bytes += trace.len() as u64;
        let mut out = create(&file.name)?;
        out.write_all(&trace)?;
        out.flush()?;
    }
    Ok(summary)
}

/// Damages a trace, in one of three ways by turns.
fn damage(trace: &mut Vec<u8>, turn: u32, random: &mut Random) {
    let half = trace.len() / 2;
    match turn % 3 {
        // A little before the middle, probably inside a packet.
        0 => trace.truncate(half.saturating_sub(random.below(64) as usize)),
        1 => {
            for byte in trace.iter_mut().skip(half).take(200) {
                *byte = random.below(256) as u8;
            }
        }
        _ => *trace = NO_TRACE.to_vec(),
    }
}
