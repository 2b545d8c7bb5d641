//! Events that tell how the clocks of several machines relate, as they are read (rules AL2 to AL4).
//!
//! # Design
//!
//! An event of a flow is put aside with its id, and with the reading of its own clock: trace time may rest on the
//! assumption that is to be tested. The events are sorted by id, on disk if they are many. Whoever asks gets all events of
//! an id together, when the clocks of all files are known.
//!
//! The alternative was the table `flow`. Its links follow the order of trace time (rule G4), so none of them ever
//! contradicts it.

mod pairing;

use std::hash::{Hash, Hasher};
use std::io;

use rustc_hash::{FxHashMap, FxHasher};
use timebase_resolver::{Clock, Ticks};
use timebase_store::sort::{Scratch, Sorter};

pub(crate) use self::pairing::{Located, Paired, pair};
use crate::compact::{Put, Take, cut};
use crate::place::PartIx;
use crate::timeline::FlowDirection;

/// The part that an event has in a flow (rule AL2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Start,
    Through,
    End,
}

impl Role {
    /// The part of an event with this phase, if it is one of flows.
    pub fn of_phase(phase: char) -> Option<Role> {
        match phase {
            's' => Some(Role::Start),
            't' => Some(Role::Through),
            'f' => Some(Role::End),
            _ => None,
        }
    }
}

impl From<FlowDirection> for Role {
    fn from(direction: FlowDirection) -> Role {
        match direction {
            FlowDirection::Out => Role::Start,
            FlowDirection::InOut => Role::Through,
            FlowDirection::In => Role::End,
        }
    }
}

/// A flow by its id, in the space in which ids are equal. Texts are hashes: two of them that are equal by chance are a
/// wrong pair among many right ones. Numbers stay as they are: programs count them, so events are nearly in their order,
/// and take a quarter of the time to sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowKey {
    id: u64,
    space: u64,
}

impl FlowKey {
    /// The number of a flow (rule G1).
    pub fn event(id: u64) -> Self {
        FlowKey { id, space: 0 }
    }

    /// The id, category and name of a legacy event (rule G6).
    pub fn legacy(id: u64, category: &str, name: &str) -> Self {
        FlowKey { id, space: hash((LEGACY, category, name)) }
    }

    /// The id, category and name of an event in JSON (rule JS23).
    pub fn json(id: &str, category: &str, name: &str) -> Self {
        FlowKey::of_text(id, (JSON, category, name))
    }

    /// The `bind_id` of an event in JSON (rule JS24).
    pub fn bind(id: &str) -> Self {
        FlowKey::of_text(id, BIND)
    }

    /// The id that the reader of JSON writes: the digits of a number behind an `n`, or any text.
    fn of_text(id: &str, of: impl Hash) -> Self {
        let number = id.strip_prefix('n').and_then(|digits| digits.parse().ok());
        match number {
            Some(id) => FlowKey { id, space: hash((of, NUMBER)) },
            None => FlowKey { id: hash(id), space: hash((of, TEXT)) },
        }
    }
}

/// What the spaces of ids are of.
const LEGACY: u8 = 1;
const JSON: u8 = 2;
const BIND: u8 = 3;
/// Numbers and texts are different ids.
const NUMBER: u8 = 0;
const TEXT: u8 = 1;

fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// An event of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowMoment {
    pub part: PartIx,
    pub role: Role,
    /// Its reading, and the clock that showed it.
    pub clock: Clock,
    pub ticks: Ticks,
    /// The row of its packet.
    pub packet: i64,
}

/// Events that are put aside.
pub(crate) struct Evidence {
    scratch: Scratch,
    /// Whether the import asks for them, and whether it has several files.
    is_asked: bool,
    has_files: bool,
    moments: Option<Sorter<(i64, u64)>>,
    /// The clocks of moments, each with a number.
    clocks: Vec<Clock>,
    numbers: FxHashMap<Clock, u32>,
    /// That of the last moment.
    last: Option<(Clock, u32)>,
    failure: Option<io::Error>,
    record: Vec<u8>,
}

/// The number of moments of one id that are looked at together. An id that more events have is no message's.
const MOST: usize = 1 << 12;

impl Evidence {
    /// No evidence yet.
    pub fn new(scratch: &Scratch) -> Self {
        Evidence {
            scratch: scratch.clone(),
            is_asked: false,
            has_files: false,
            moments: None,
            clocks: Vec::new(),
            numbers: FxHashMap::default(),
            last: None,
            failure: None,
            record: Vec::new(),
        }
    }

    /// From now on, events are put aside if there are several files or several parts.
    pub fn ask(&mut self, has_files: bool) {
        (self.is_asked, self.has_files) = (true, has_files);
    }

    /// Whether an event counts, with so many parts until now.
    #[inline]
    pub fn is_wanted(&self, parts: usize) -> bool {
        self.is_asked && (self.has_files || parts > 1)
    }

    /// Puts an event aside.
    pub fn add(&mut self, flow: FlowKey, moment: &FlowMoment) {
        let number = self.number(moment.clock);
        self.record.clear();
        let role = match moment.role {
            Role::Start => 0,
            Role::Through => 1,
            Role::End => 2,
        };
        Put(&mut self.record)
            .natural(role)
            .natural(moment.part.0.into())
            .natural(number.into())
            .integer(moment.ticks.0)
            .integer(moment.packet);
        let scratch = &self.scratch;
        let moments = self.moments.get_or_insert_with(|| Sorter::new(scratch));
        if self.failure.is_none() {
            self.failure = moments.push((flow.id as i64, flow.space), &self.record).err();
        }
    }

    fn number(&mut self, clock: Clock) -> u32 {
        match self.last {
            Some((last, number)) if last == clock => number,
            _ => {
                let next = self.clocks.len() as u32;
                let number = *self.numbers.entry(clock).or_insert(next);
                if number == next {
                    self.clocks.push(clock);
                }
                self.last = Some((clock, number));
                number
            }
        }
    }

    /// Gives all events of each flow, in the order of the files, to `each`. Of an id with very many events it gets only so
    /// many that they are no message.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn flows(
        &mut self,
        mut each: impl FnMut(&[FlowMoment]) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let Some(moments) = self.moments.take() else {
            return Ok(());
        };
        let clocks = &self.clocks;
        let (mut last, mut flow) = (None, Vec::new());
        moments.finish(|&key, record| {
            if last != Some(key) {
                last = Some(key);
                each(&flow)?;
                flow.clear();
            }
            if flow.len() < MOST {
                flow.push(moment(record, clocks)?);
            }
            io::Result::Ok(())
        })?;
        each(&flow)
    }
}

fn moment(record: &[u8], clocks: &[Clock]) -> io::Result<FlowMoment> {
    let mut take = Take(record);
    let role = match take.natural()? {
        0 => Role::Start,
        1 => Role::Through,
        _ => Role::End,
    };
    let part = PartIx(take.small()?);
    let clock = clocks.get(take.small()? as usize).copied().ok_or_else(cut)?;
    Ok(FlowMoment { part, role, clock, ticks: Ticks(take.integer()?), packet: take.integer()? })
}
