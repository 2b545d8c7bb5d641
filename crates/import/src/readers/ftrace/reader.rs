//! Turns the events of a bundle into rows.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use timebase_resolver::{ClockId, Scope, SeqId, Ticks, Unresolved};
use timebase_schema::Table;
use timebase_schema::fields::{ftrace_event as field, interned_data as interned};
use timebase_schema::tables::{
    ftrace_args, ftrace_cpu, ftrace_name, ftrace_partial, ftrace_record, ftrace_unresolved,
};
use timebase_trace::Kept;
use timebase_trace::wire::packet::Header;

use super::arguments::Arguments;
use super::bundle::{Bundle, FtraceClock, RawFtraceEvent, clock_of};
use super::compact_sched::{CompactSwitch, CompactWaking};
use super::formats::EventFormats;
use super::generic;
use super::in_order::{InOrder, Next};
use super::retiming;
use super::running::Running;
use super::sched::{self, OfCpu};
use super::unresolved::Stretches;
use crate::compact::Put;
use crate::definitions::{BundleTimes, Gap, WaitingEnd};
use crate::output::{Cell, Counter, LastSwitch, Loss, Rows, Severity};
use crate::place::{
    CountsFor, EventClock, EventRow, SettledEvent, Snapshot, TraceTime, WaitingEvent,
};
use crate::readers::context::ImportContext;
use crate::readers::corrupt::Corrupt;
use crate::readers::packet::PlacedPacket;
use crate::readers::reader::{Payload, Reader};
use crate::readers::retiming::{Retime, Retimed, Rewritten, Times};
use crate::readers::trace_stats::of as recorded_of;
use crate::summary::LossKind;
use crate::timeline;
use crate::trackers;
use crate::world::ucpu;

/// The number of CPUs whose bundles are followed.
const CPUS: u32 = 1024;

/// A CPU that lost events.
static HAS_DATA_LOSS: Counter = Counter::data_loss(
    "ftrace_cpu_has_data_loss",
    "1 if the kernel says that it lost events of CPU idx before a \
     bundle",
)
.recorded();

/// The state that is kept between bundles.
#[derive(Debug, Default)]
pub(crate) struct Ftrace {
    formats: EventFormats,
    arguments: Arguments,
    running: Running,
    stretches: Stretches,
    /// The time of the latest event of each CPU, by the machine of its part and the CPU.
    last: FxHashMap<(u32, u32), i64>,
    /// The number of bundles so far.
    bundles: u64,
    /// The number of events so far.
    events: i64,
    /// The event for the timeline.
    event: Vec<u8>,
}

impl<'a> Payload<'a> for Box<Bundle<'a>> {
    fn parse(payload: &'a [u8]) -> Result<Self, Corrupt> {
        Ok(Box::new(Bundle::parse(payload)?))
    }
}

impl Reader for Ftrace {
    // In a box, because a bundle is large, and the enum of all parsed payloads is as large as its
    // largest variant.
    type Payload<'a> = Box<Bundle<'a>>;

    const TABLES: &'static [&'static Table] = &[
        &ftrace_record::TABLE,
        &ftrace_partial::TABLE,
        &ftrace_args::TABLE,
        &ftrace_name::TABLE,
        &ftrace_unresolved::TABLE,
    ];

    const INTERNED: &'static [(u32, Kept)] = &[(interned::KERNEL_SYMBOLS, Kept::Trace)];

    const OWN_TABLES: &'static [&'static Table] = &[&ftrace_record::TABLE, &ftrace_partial::TABLE];

    const COUNTS_FOR: CountsFor = CountsFor::ItsMachine;

    const TIMES: Times = Times::Inside;

    fn snapshot(bundle: &Box<Bundle<'_>>, header: &Header<'_>) -> Option<Snapshot> {
        let clock = clock_of(header, bundle.clock)?;
        let tells = bundle.clock != FtraceClock::Boottime && !lacks_sequence(clock);
        let (timestamp, boottime) = bundle.pair.filter(|_| tells)?;
        Some(Snapshot::pair(clock, timestamp, boottime))
    }

    fn converts(bundle: &Box<Bundle<'_>>, header: &Header<'_>) -> bool {
        let clock = clock_of(header, bundle.clock);
        let usable = clock.is_some_and(|clock| !lacks_sequence(clock));
        let times =
            |bytes| RawFtraceEvent::parse(bytes).is_ok_and(|event| event.timestamp.is_some());
        let compact = bundle.columns.switches() + bundle.columns.wakings();
        usable && (compact > 0 || bundle.begins.is_some() || bundle.events().any(times))
    }

    fn read(
        &mut self,
        bundle: Box<Bundle<'_>>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        rows: &mut Rows<'_>,
    ) {
        // Each part has its own kernel events.
        let machine = packet.part.0;
        for &descriptor in &bundle.descriptors {
            if let Err(text) = self.formats.describe(machine, descriptor, &mut context.schema) {
                packet.say(Severity::Warning, "descriptor_unusable", text, rows);
            }
        }
        if self.formats.follow(&context.schema) {
            self.arguments.forget();
        }
        self.running.begin(machine, bundle.cpu.unwrap_or(u32::MAX));
        self.bundles += 1;
        let clock = clock_of(packet.header, bundle.clock);
        let clock = context.place.clocks.event_clock(packet.part, clock);
        let here = cpu_of_events(&bundle, packet, &clock, context, rows);
        let mut import = BundleImport {
            clock,
            machine,
            cpu: bundle.cpu,
            here,
            times: None,
            first: First::default(),
            waiting: None,
            corrupt: 0,
            nameless: 0,
            has_arguments: rows.wants(&ftrace_args::TABLE),
            has_differed: false,
            last_switch: None,
            context,
            rows,
            packet,
            state: self,
        };
        for next in InOrder::new(&bundle.columns, &bundle.comms, bundle.events()) {
            match next {
                Next::Switch(switch) => import.switch(&switch),
                Next::Waking(waking) => import.waking(&waking),
                Next::Full(bytes, Ok(event)) => import.full(bytes, &event),
                Next::Full(bytes, Err(_)) => import.corrupt(bytes, &RawFtraceEvent::default()),
            }
        }
        import.end(&bundle);
    }

    fn settled(&mut self, event: &SettledEvent<'_>, rows: &mut Rows<'_>) {
        self.stretches.settled(event, rows);
    }

    fn end(&mut self, context: &mut ImportContext, rows: &mut Rows<'_>) {
        self.stretches.end(rows);
        for (name, id) in self.formats.names() {
            let name = name.map_or(Cell::Null, |name| rows.text(name));
            let id = Cell::from(id);
            rows.push(ftrace_name::Row { id, name });
        }
        let partial = rows.count(&ftrace_partial::TABLE).unsigned_abs();
        context.journal.count(
            Counter::info("ftrace_events_partial", "rows of ftrace_event_partial").drops_nothing(),
            partial,
        );
    }

    fn retime(
        bundle: Box<Bundle<'_>>,
        packet: &Retimed<'_>,
        to: &mut impl Retime,
        out: &mut Vec<u8>,
    ) -> Rewritten {
        retiming::retime(&bundle, packet, to, out)
    }
}

/// Rule C5.
fn lacks_sequence((id, seq): (ClockId, SeqId)) -> bool {
    id.scope() == Scope::Sequence && seq == SeqId(0)
}

/// The machine and the CPU of a bundle's events on the timeline; `None` if the events are not
/// followed.
fn cpu_of_events(
    bundle: &Bundle<'_>,
    packet: &PlacedPacket<'_>,
    clock: &EventClock,
    context: &mut ImportContext,
    rows: &mut Rows<'_>,
) -> Option<OfCpu> {
    // No event in a bundle of an unknown clock will ever have a time.
    let is_unknown = bundle.clock == FtraceClock::Unknown;
    if !context.events.timeline.is_wanted() || packet.is_lost() || is_unknown {
        return None;
    }
    let Some(cpu) = bundle.cpu.filter(|&cpu| cpu < CPUS) else {
        context.journal.count(
            Counter::error(
                "ftrace_bundles_without_cpu",
                "bundles that do not name their CPU, so they only make rows of \
                 ftrace_event",
            )
            .drops_nothing(),
            1,
        );
        let text = match bundle.cpu {
            Some(cpu) => format!("CPU {cpu} of the bundle is above {}", CPUS - 1),
            None => "the bundle does not name its CPU".to_owned(),
        };
        let text = format!("{text}; its events are in ftrace_event only");
        packet.say(Severity::Warning, "bundle_without_cpu", text, rows);
        return None;
    };
    let begins = bundle.begins.map(|begins| context.place.clocks.place_event(clock, begins));
    let unplaced = clock_of(packet.header, bundle.clock).zip(bundle.begins);
    let of_part = context.definitions.parts.of(packet.part);
    if of_part.is_first_bundle(cpu) {
        match (begins, unplaced) {
            (Some(Ok(begins)), _) => of_part.begins(begins),
            (_, Some((clock, begins))) => of_part.unplaced_begins.push((clock, begins)), // D2
            _ => {}
        }
    }
    Some(OfCpu { part: packet.part, machine: packet.machine, cpu })
}

/// A bundle that becomes rows.
struct BundleImport<'i, 'o> {
    context: &'i mut ImportContext,
    rows: &'i mut Rows<'o>,
    packet: &'i PlacedPacket<'i>,
    state: &'i mut Ftrace,
    clock: EventClock,
    machine: u32,
    cpu: Option<u32>,
    /// The owner of its events on the timeline, if they are followed.
    here: Option<OfCpu>,
    /// The least and the greatest time of its events.
    times: Option<(i64, i64)>,
    /// Its first event that has a time.
    first: First,
    /// Its events whose clock may become known later.
    waiting: Option<WaitingBundle>,
    corrupt: u64,
    /// Compact events that name a thread by a number without a name in the table.
    nameless: u64,
    /// Whether arguments become rows.
    has_arguments: bool,
    /// Whether an event was read whose reading differs from its time.
    has_differed: bool,
    /// The last switch before a window, if only the state at its begin is wanted.
    last_switch: Option<LastSwitch>,
}

/// The first event of a bundle.
#[derive(Debug, Default, Clone, Copy)]
struct First {
    tid: Option<i32>,
    /// Whether the CPU was idle then.
    is_idle: bool,
}

/// The events of a bundle that wait for their clock.
#[derive(Debug, Clone, Copy)]
struct WaitingBundle {
    first: First,
    /// The least and the greatest reading.
    readings: (u64, u64),
    reason: Unresolved,
}

/// The content of an event's row, except for its time.
struct RecordFields {
    table: &'static Table,
    timestamp: Option<u64>,
    tid: Option<i32>,
    name: i64,
    args: Option<i64>,
    is_switch: bool,
    /// Whether the CPU was idle. A compact switch from a thread that is not known tells it by the thread's state,
    /// because only the idle thread and those that were preempted are runnable.
    is_idle: bool,
}

impl RecordFields {
    /// The event as the first of its bundle.
    fn first(&self) -> First {
        First { tid: self.tid, is_idle: self.is_idle }
    }
}

impl BundleImport<'_, '_> {
    fn switch(&mut self, switch: &CompactSwitch<'_>) {
        self.nameless += u64::from(switch.next_comm.is_none());
        let state = &mut *self.state;
        let prev = state.running.here.as_ref();
        if self.has_arguments {
            let message = state.arguments.begin(self.machine, field::SCHED_SWITCH, None);
            match prev {
                Some(prev) => switch.write(prev, message),
                None => switch.write_partly(message),
            }
        }
        let (table, tid) = match prev {
            Some(prev) => (&ftrace_record::TABLE, Some(prev.pid as i32)),
            None => (&ftrace_partial::TABLE, None),
        };
        state.event.clear();
        if let Some(here) = self.here {
            let names = &mut self.context.definitions.names;
            let event = sched::compact_switch(here, switch, names);
            timeline::Event::Switch(event).write(&mut state.event);
        }
        let is_idle = tid.map_or(switch.prev_state == 0, |tid| tid == 0);
        self.compact(table, field::SCHED_SWITCH, switch.timestamp, (tid, is_idle));
        let comm = switch.next_comm.unwrap_or_default();
        let running = &mut self.state.running;
        running.switch(switch.next_pid, switch.next_prio, comm);
    }

    fn waking(&mut self, waking: &CompactWaking<'_>) {
        self.nameless += u64::from(waking.comm.is_none());
        let state = &mut *self.state;
        if self.has_arguments {
            let flags = waking.common_flags;
            waking.write(state.arguments.begin(self.machine, field::SCHED_WAKING, flags));
        }
        let (table, tid) = match &state.running.here {
            Some(running) => (&ftrace_record::TABLE, Some(running.pid as i32)),
            None => (&ftrace_partial::TABLE, None),
        };
        state.event.clear();
        if let Some(here) = self.here {
            let event = sched::compact_waking(here, waking);
            timeline::Event::Waking(event).write(&mut state.event);
        }
        let is_idle = tid.is_none_or(|tid| tid == 0);
        self.compact(table, field::SCHED_WAKING, waking.timestamp, (tid, is_idle));
    }

    /// A compact event. Its message is in the state's arguments.
    fn compact(
        &mut self,
        table: &'static Table,
        number: u32,
        timestamp: u64,
        (tid, is_idle): (Option<i32>, bool),
    ) {
        let (name, args) = match self.has_arguments {
            true => self.arguments(number),
            false => (0, None),
        };
        let (timestamp, is_switch) = (Some(timestamp), number == field::SCHED_SWITCH);
        self.record(&RecordFields { table, timestamp, tid, name, args, is_switch, is_idle });
    }

    /// The numbers of an event's name and of its arguments; `None` if the arguments are unreadable.
    fn arguments(&mut self, number: u32) -> (i64, Option<i64>) {
        let schema = &mut self.context.schema;
        let format = self.state.formats.get(self.machine, number, schema);
        let arguments = &mut self.state.arguments;
        let args = arguments.number(self.rows, |message, json| {
            schema.pool().write_json(format.message?, message, json).ok()
        });
        (format.name, args)
    }

    /// An event of the full encoding.
    fn full(&mut self, bytes: &[u8], event: &RawFtraceEvent<'_>) {
        self.state.event.clear();
        let Some((number, message)) = event.kind else {
            self.for_timeline(0, &[], event.tid);
            let name = self.state.formats.nameless();
            return self.full_record(event, name, None);
        };
        let arguments = &mut self.state.arguments;
        arguments.begin(self.machine, number, event.common_flags).extend_from_slice(message);
        let (name, args) = if number == field::GENERIC {
            let Ok((name, args)) = generic::read(message) else {
                return self.corrupt(bytes, event);
            };
            let args = arguments.number(self.rows, |_, json| {
                json.push_str(&args.to_string());
                Some(())
            });
            (self.state.formats.name(&name), args)
        } else {
            self.arguments(number)
        };
        if args.is_none() {
            return self.corrupt(bytes, event);
        }
        self.for_timeline(number, message, event.tid);
        self.full_record(event, name, args);
        match number {
            field::SCHED_SWITCH => self.state.running.switch_message(message),
            field::TASK_RENAME => self.state.running.rename_message(message),
            _ => {}
        }
    }

    /// Writes the timeline's form of an event of the full encoding. An event without a thread is
    /// left out (rule P6).
    fn for_timeline(&mut self, number: u32, message: &[u8], tid: Option<i32>) {
        let Some(here) = self.here else { return };
        let Some(tid) = tid else {
            return timeline::Event::Nothing.write(&mut self.state.event);
        };
        let names = &mut self.context.definitions.names;
        let tid = tid as u32;
        let event = match number {
            field::SCHED_SWITCH => timeline::Event::Switch(sched::switch(here, message, names)),
            field::SCHED_WAKING => {
                timeline::Event::Waking(sched::waking(here, tid, message, names))
            }
            _ => {
                let OfCpu { part, machine, cpu } = here;
                let is_read = trackers::reads_ftrace(number);
                timeline::Event::Ftrace(timeline::FtraceEvent {
                    part,
                    machine,
                    cpu,
                    tid,
                    interval: self.packet.generation.interval,
                    field: number,
                    message: if is_read { message } else { &[] },
                })
            }
        };
        event.write(&mut self.state.event);
    }

    /// A damaged event keeps its bytes (rule F7).
    fn corrupt(&mut self, bytes: &[u8], event: &RawFtraceEvent<'_>) {
        self.corrupt += 1;
        self.state.event.clear();
        let name = self.state.formats.name("corrupt");
        let arguments = &mut self.state.arguments;
        arguments.begin(self.machine, 0, event.common_flags).extend_from_slice(bytes);
        let args = arguments.number(self.rows, |bytes, json| {
            json.push_str(r#"{"data":""#);
            STANDARD.encode_string(bytes, json);
            json.push_str(r#""}"#);
            Some(())
        });
        self.full_record(event, name, args);
    }

    fn full_record(&mut self, event: &RawFtraceEvent<'_>, name: i64, args: Option<i64>) {
        self.record(&RecordFields {
            table: &ftrace_record::TABLE,
            timestamp: event.timestamp,
            tid: event.tid,
            name,
            args,
            is_switch: matches!(event.kind, Some((field::SCHED_SWITCH, _))),
            is_idle: event.tid.is_none_or(|tid| tid == 0),
        });
    }

    /// Places an event, and writes its row.
    fn record(&mut self, fields: &RecordFields) {
        let row =
            EventRow { table: fields.table, id: self.state.events, mark: self.state.bundles as u8 };
        self.state.events += 1;
        let event = &self.state.event;
        let placed = fields
            .timestamp
            .map(|timestamp| self.context.event(row, &self.clock, timestamp, event));
        let ts = placed.and_then(Result::ok).map(|TraceTime(ts)| ts);
        if let Some(ts) = ts {
            if self.times.is_none() {
                self.first = fields.first();
            }
            let (first, last) = self.times.unwrap_or((ts, ts));
            self.times = Some((first.min(ts), last.max(ts)));
            if fields.is_switch && self.rows.state_of().is_some_and(|of| ts < of.from) {
                let is_whole = fields.table.number == ftrace_record::TABLE.number;
                self.last_switch = self.last_switch.max(Some((is_whole, ts)));
            }
        }
        if let Some((timestamp, Err(reason))) = fields.timestamp.zip(placed) {
            self.waits(timestamp, fields, reason);
        }
        let recorded = match (fields.timestamp, ts) {
            (Some(timestamp), Some(ts)) if i64::try_from(timestamp) == Ok(ts) => Cell::Null,
            (Some(timestamp), _) => Cell::timestamp(timestamp),
            (None, _) => Cell::Null,
        };
        // A cut only needs the difference of the bundle's readings to trace time.
        if self.rows.state_of().is_some()
            && (recorded == Cell::Null || std::mem::replace(&mut self.has_differed, true))
        {
            return;
        }
        let cells = ftrace_record::Row {
            id: Cell::from(row.id),
            ts: Cell::or_null(ts),
            packet_id: Cell::from(self.packet.id),
            cpu: Cell::or_null(self.cpu),
            tid: Cell::or_null(fields.tid),
            name_id: Cell::from(fields.name),
            args_id: Cell::or_null(fields.args),
            timestamp: recorded,
        };
        self.rows.push_like(fields.table, cells);
    }

    /// Notes an event that could not be placed.
    #[cold]
    fn waits(&mut self, timestamp: u64, fields: &RecordFields, reason: Unresolved) {
        let clocks = &self.context.place.clocks;
        if !clocks.may_resolve_later(self.clock.part(), reason) {
            return;
        }
        let waiting = self.waiting.get_or_insert(WaitingBundle {
            first: fields.first(),
            readings: (timestamp, timestamp),
            reason,
        });
        let (least, greatest) = waiting.readings;
        waiting.readings = (least.min(timestamp), greatest.max(timestamp));
    }

    /// Lets the ends of the bundle wait with its events.
    fn wait(&mut self, cpu: u32, waiting: &WaitingBundle) {
        let First { tid, is_idle } = waiting.first;
        let first = WaitingEnd { part: self.packet.part, cpu, tid, is_idle };
        let last = WaitingEnd { tid: None, is_idle: false, ..first };
        let (least, greatest) = waiting.readings;
        for (end, reading) in [(first, least), (last, greatest)] {
            self.state.event.clear();
            end.put(&mut Put(&mut self.state.event));
            self.context.place.waiting.event(&WaitingEvent {
                row: EventRow { table: &ftrace_cpu::TABLE, id: self.packet.id, mark: 0 },
                part: self.clock.part(),
                clock: self.clock.clock(),
                ticks: Ticks::recorded(reading),
                reason: waiting.reason,
                place: None,
                event: &self.state.event,
            });
        }
    }

    /// Stores the loss of events that the bundle reports (rule DT1), and the time of its last
    /// event.
    fn loss(&mut self, bundle: &Bundle<'_>) {
        let Some(cpu) = bundle.cpu.filter(|&cpu| cpu < CPUS) else {
            return;
        };
        let before = self.state.last.get(&(self.machine, cpu)).copied();
        let (end, last) = self.times.unzip();
        if bundle.lost_events {
            let loss = Loss {
                start: before.map(|before| end.map_or(before, |end| before.min(end))),
                end,
                machine: Some(self.packet.machine),
                ucpu: ucpu(self.packet.machine, cpu),
                packet: Some(self.packet.id),
                ..Loss::new(LossKind::KernelEvents)
            };
            loss.push(self.rows);
            if let Some((start, end)) = loss.start.zip(loss.end) {
                let of_part = self.context.definitions.parts.of(self.packet.part);
                of_part.gaps.push(Gap { cpu, start, end });
            }
        }
        if let Some(last) = before.max(last) {
            self.state.last.insert((self.machine, cpu), last);
        }
        let of_part = self.context.definitions.parts.of(self.packet.part);
        of_part.kernel_buffers.add(&BundleTimes {
            packet: self.packet.id,
            cpu,
            times: self.times,
            first_tid: self.first.tid,
            is_first_idle: self.first.is_idle,
            lost_events: bundle.lost_events,
        });
        if let Some(waiting) = self.waiting {
            self.wait(cpu, &waiting);
        }
    }

    /// Reports the problems of the bundle.
    fn end(&mut self, bundle: &Bundle<'_>) {
        self.loss(bundle);
        if let Some(switch) = self.last_switch
            && let Some(ucpu) = bundle.cpu.and_then(|cpu| ucpu(self.packet.machine, cpu))
        {
            self.rows.switch_before(ucpu, switch);
        }
        // Sections of atrace and the kernel's slices end without a name.
        self.context.definitions.end_names.end(timeline::Label::None);
        let journal = &mut self.context.journal;
        journal
            .count(Counter::info("ftrace_bundles", "packets of kernel events").drops_nothing(), 1);
        if bundle.lost_events {
            let lost = Counter::data_loss(
                "ftrace_bundles_after_lost_events",
                "bundles after a loss of kernel events",
            )
            .recorded();
            journal.count(lost, 1);
            let is_lost = self.packet.is_lost();
            if let Some(cpu) = bundle.cpu.filter(|&cpu| cpu < CPUS && !is_lost) {
                let of = recorded_of(&self.context.place, self.packet.part);
                journal.set(&HAS_DATA_LOSS, of, Some(cpu), 1);
            }
        }
        if self.corrupt > 0 {
            journal.count(
                Counter::error("ftrace_events_corrupt", "kernel events that cannot be read")
                    .drops_nothing(),
                self.corrupt,
            );
            let text = match self.corrupt {
                1 => "1 event of the bundle cannot be read; it is kept as an event named 'corrupt'"
                    .to_owned(),
                many => format!(
                    "{many} events of the bundle cannot be read; they are kept as events named 'corrupt'"
                ),
            };
            self.packet.say(Severity::Error, "corrupt_event", text, self.rows);
        }
        let columns = &bundle.columns;
        let (switches, wakings) = columns.timestamps();
        let cut = (switches - columns.switches()) + (wakings - columns.wakings());
        if cut > 0 || self.nameless > 0 {
            let text = format!(
                "the compact scheduler events are damaged: {cut} lack values and are left out, {} \
                 lack the thread's name",
                self.nameless
            );
            self.packet.say(Severity::Error, "compact_sched_damaged", text, self.rows);
        }
    }
}
