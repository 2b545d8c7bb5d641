//! The course of a set: the machine that records next, and its file.
//!
//! Each machine or process has its own [`Generator`], like a single trace. The one with the
//! earliest next event continues. The alternative was one generator for several machines, but it
//! would mix the contents of recordings with their order.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use crate::synth::crystal::{Beginning, Crystal};
use crate::synth::error::Error;
use crate::synth::generator::{Generator, Milestones, Next};
use crate::synth::output::{Output, Port};
use crate::synth::random::Random;
use crate::synth::rounds::Rounds;
use crate::synth::scene::Scene;
use crate::synth::set::{Form, MANIFEST, Set};
use crate::synth::settings::Settings;
use crate::synth::truth::{Expected, Reason, Row, Sink, Truth, Truths, Whose};
use crate::synth::world::{BEGIN, EARLY, World};

/// The machine id in packets of the first guest: larger than a signed number of 32 bits.
const FIRST_MACHINE_ID: u32 = 0x8c1f_0de1;

/// The frequency of BOOTTIME in kHz.
const NANOSECONDS: u32 = 1_000_000;

/// The time of something in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetTruth {
    /// The index of its file in [`Set::files`].
    pub file: usize,
    /// Its machine: 0 is the host, 1 the first guest.
    pub machine: u32,
    /// Its row in this file: the numbers start at 0 in each file.
    pub row: Row,
    /// Its time: the host's BOOTTIME, in nanoseconds.
    pub boottime: i64,
    /// The reason why it must have no time.
    pub unresolved: Option<Reason>,
}

/// The contents of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSummary {
    /// Records, as [`Size::Records`](crate::synth::Size::Records) counts them.
    pub records: u64,
    /// Its traces, in the order of [`Set::files`].
    pub files: Vec<SetFile>,
    /// The manifest's name, if it has one.
    pub manifest: Option<&'static str>,
    /// The host's BOOTTIME at the beginning of the traces, in ns.
    pub begin_ns: i64,
    /// The host's BOOTTIME at their end.
    pub end_ns: i64,
}

/// The contents of a trace in a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFile {
    /// Its name.
    pub name: String,
    /// Packets, including those inside compressed packets, but not the latter.
    pub packets: u64,
    /// Kernel events.
    pub events: u64,
    /// Log lines.
    pub lines: u64,
    /// Its size.
    pub bytes: u64,
}

/// The receiver of the times of a set's rows.
type SetSink<'a> = &'a mut dyn FnMut(SetTruth) -> io::Result<()>;

/// Writes a set of traces: `create` makes the file with a name.
///
/// ```
/// use timebase_lab::synth::{Form, Set};
///
/// let directory = tempfile::tempdir()?;
/// let mut set = Set::of(Form::Files);
/// set.machine = set.machine.records(1000);
/// let create = |name: &str| std::fs::File::create(directory.path().join(name));
/// let summary = timebase_lab::synth::write_set(&set, create)?;
/// assert_eq!(summary.files[1].name, "vm-1.pftrace");
/// assert_eq!(directory.path().join("vm-1.pftrace").metadata()?.len(), summary.files[1].bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a knob is out of range, before anything is written; or if the traces would last too long. Or
/// the errors of `create` and of its files.
pub fn write_set<W: Write>(
    set: &Set,
    create: impl FnMut(&str) -> io::Result<W>,
) -> Result<SetSummary, Error> {
    written(set, create, None)
}

/// Writes a set of traces, and reports the true time of everything in it that has one, in the order
/// of writing.
///
/// # Errors
///
/// The errors of [`write_set`] and of `truth`.
pub fn write_set_with_truth<W: Write>(
    set: &Set,
    create: impl FnMut(&str) -> io::Result<W>,
    truth: SetSink<'_>,
) -> Result<SetSummary, Error> {
    let mut sink = |whose: Whose, told: Truth| {
        truth(SetTruth {
            file: whose.file,
            machine: whose.machine,
            row: told.row,
            boottime: told.boottime,
            // The error of a time within its machine says little about its error in the set.
            unresolved: match told.expected {
                Expected::Within(_) => None,
                Expected::Unresolved(reason) => Some(reason),
            },
        })
    };
    written(set, create, Some(&mut sink))
}

fn written<'a, W: Write>(
    set: &'a Set,
    mut create: impl FnMut(&str) -> io::Result<W>,
    sink: Option<Sink<'a>>,
) -> Result<SetSummary, Error> {
    set.check()?;
    let (compression, batch) = (set.machine.compression, set.machine.compression_batch);
    let names = set.files();
    let files = names.iter().map(|name| {
        let file = create(name)?;
        Ok(Port::new(Output::new(file, compression, batch)?))
    });
    let files: Vec<Port<W>> = files.collect::<io::Result<_>>()?;
    let sink = sink.map(|sink| Rc::new(RefCell::new(sink)));
    let mut sources: Vec<Member<'a, W>> = Vec::new();
    for number in 0..set.sources() {
        // A file each, or one for all.
        let file = if files.len() == 1 { 0 } else { number as usize };
        let Some(port) = files.get(file) else {
            continue;
        };
        let machine = match set.form {
            Form::Processes | Form::Together => 0,
            Form::Relay | Form::Files | Form::Manifest => number,
        };
        let out = port.shared(match set.form {
            Form::Relay | Form::Files if machine > 0 => FIRST_MACHINE_ID + (machine - 1),
            _ => 0,
        });
        let truths = Truths { sink: sink.clone(), whose: Whose { file, machine } };
        sources.push(Member::new(set, number, machine, out, truths)?);
    }
    let manifest = match set.form {
        Form::Manifest => {
            create(MANIFEST)?.write_all(manifest(set, &names).as_bytes())?;
            Some(MANIFEST)
        }
        _ => None,
    };
    if set.form == Form::Relay {
        // The head has the host's first snapshot, and the guests' rounds.
        for source in &mut sources {
            source.step()?;
        }
    }
    while let Some(source) =
        sources.iter_mut().filter(|source| source.next.is_some()).min_by_key(|source| source.now())
    {
        source.step()?;
    }
    let files = names.into_iter().zip(&files).map(|(name, file)| {
        let written = file.finish()?;
        Ok(SetFile {
            name,
            packets: written.packets,
            events: written.events,
            lines: written.lines,
            bytes: written.bytes,
        })
    });
    Ok(SetSummary {
        records: sources.iter().map(|source| source.generator.records()).sum(),
        files: files.collect::<io::Result<_>>()?,
        manifest,
        begin_ns: BEGIN,
        end_ns: sources.iter().map(Member::now).max().unwrap_or(BEGIN),
    })
}

/// A machine or a process.
struct Member<'a, W> {
    generator: Generator<'a, W>,
    /// Data for the guest of a relay.
    rounds: Option<Rounds>,
    syncs: Milestones,
    read_after: i64,
    /// Its next event, which is waiting.
    next: Option<Next>,
}

impl<'a, W: Write> Member<'a, W> {
    fn new(
        set: &Set,
        number: u32,
        machine: u32,
        out: Port<W>,
        truths: Truths<'a>,
    ) -> Result<Self, Error> {
        let settings = set.source(number);
        let host = early(set, 0);
        let mut world = early(set, machine);
        let random = |purpose: u64| {
            let number = u64::from(number + 1);
            let salt = (purpose << 16 | number) << 32;
            Random::new(set.machine.seed.wrapping_add(salt))
        };
        let is_relayed = set.form == Form::Relay && machine > 0;
        let rounds = is_relayed.then(|| Rounds::new(set, random(1), host, world.clone()));
        world.go_to(BEGIN);
        let scene = Scene {
            random: random(0),
            world,
            out,
            truths,
            snapshots: 0,
            has_service: !is_relayed,
            sequences_before: number * settings.sequences,
        };
        let mut source = Member {
            generator: Generator::new(&settings, scene),
            rounds,
            syncs: Milestones::from_the_beginning(set.sync_packets),
            read_after: set.read_after_ns as i64,
            next: None,
        };
        source.look_ahead()?;
        Ok(source)
    }

    fn look_ahead(&mut self) -> Result<(), Error> {
        let next = self.generator.next();
        self.generator.wait(next)?;
        self.next = Some(next);
        Ok(())
    }

    /// The true time of its next event.
    fn now(&self) -> i64 {
        self.generator.scene().world.now()
    }

    fn step(&mut self) -> Result<(), Error> {
        let (done, total) = self.generator.progress();
        if let Some(rounds) = self.rounds.as_mut().filter(|_| self.syncs.due(done, total)) {
            self.syncs.pass();
            let scene = self.generator.scene_mut();
            let until = scene.world.now() + self.read_after;
            rounds.write(until, &mut scene.out)?;
            return Ok(());
        }
        let Some(next) = self.next.take() else {
            return Ok(());
        };
        self.generator.act(next)?;
        match next {
            Next::End => Ok(()),
            _ => self.look_ahead(),
        }
    }
}

/// The lead of a machine's BOOTTIME over the host's at the beginning of the trace.
fn ahead(set: &Set, machine: u32) -> i64 {
    i64::from(machine) * set.guest_offset_ns as i64
}

/// A machine at an early time: 0 is the host. All have the same clocks over BOOTTIME, and a guest
/// has its own BOOTTIME.
fn early(set: &Set, machine: u32) -> World {
    let seed = set.machine.seed;
    let world = World::new(&set.machine, &mut Random::new(seed));
    if machine == 0 {
        return world.early(None, 0);
    }
    let mut random = Random::new(seed.wrapping_add(u64::from(machine) << 48));
    let apart = set.realtime_apart_ns;
    let realtime_off = random.below(2 * apart + 1) as i64 - apart as i64;
    let pace = Settings {
        drift_ppm: set.guest_drift_ppm,
        wander_ppb: set.guest_wander_ppb,
        ..set.machine.clone()
    };
    let is_faster = !machine.is_multiple_of(2);
    let crystal = |origin| {
        let beginning = Beginning { parent: EARLY, origin };
        Crystal::new(&pace, random.clone(), beginning, NANOSECONDS, is_faster)
    };
    // This puts it ahead by the required amount at the beginning of the trace.
    let mut from_zero = crystal(0);
    from_zero.go_on(BEGIN);
    let origin = BEGIN + ahead(set, machine) - from_zero.ticks(0);
    world.early(Some(crystal(origin)), realtime_off)
}

/// A manifest that makes each file a machine, with the distance of its BOOTTIME from the host's at
/// the beginning of the trace.
fn manifest(set: &Set, names: &[String]) -> String {
    let host = names.first().map_or("", String::as_str);
    let files = (0..).zip(names).map(|(guest, name)| {
        let machine = name.trim_end_matches(".pftrace");
        let offset = -ahead(set, guest);
        let relation = match guest {
            0 => String::new(),
            _ => format!(
                ",\n        \"clocks\": {{\"clock\": \"BOOTTIME\", \"offset_ns\": {offset}, \
                 \"sync_to\": {{\"file\": \"{host}\", \"clock\": \"BOOTTIME\"}}}}"
            ),
        };
        format!(
            "      {{\"path\": \"{name}\", \"machine\": {{\"name\": \"{machine}\"}}{relation}}}"
        )
    });
    let files: Vec<String> = files.collect();
    format!(
        "{{\n  \"perfetto_manifest\": {{\n    \"version\": 1,\n    \
         \"trace_time\": {{\"clock\": \"BOOTTIME\", \"file\": \"{host}\"}},\n    \
         \"files\": [\n{}\n    ]\n  }}\n}}\n",
        files.join(",\n")
    )
}
