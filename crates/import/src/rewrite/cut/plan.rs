//! The packets and events from before a window that the state at its begin comes from (rules CT2, CT2k, CT2p).
//!
//! # Design
//!
//! The whole trace is imported into a temporary database, and SQL asks it what was open, running, woken and last counted
//! when the window begins. So one place, the trackers of the import, knows what state is. The import only makes rows that
//! tell this (`subjects.rs`, `StateOf`). The answer is small: it has the open slices, tracks, CPUs and threads of one
//! moment, and stays in memory. The alternative was to follow the state in the pass that writes, which would need all
//! trackers a second time.
//!
//! A row says when it began, and mostly not by which event. So a plan has times, and the pass takes the events of that
//! time which can make such a row.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Params, named_params};
use timebase_schema::fields::ftrace_event as event;

use crate::message::Message;
use crate::rewrite::cut::track_event::Use;
use crate::rewrite::cut::window::Window;

/// What a packet is carried over for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// It stays as it is.
    Whole,
    Event(Use),
    TaskState(TaskState),
}

/// An event of a kernel that is not Linux (rule GK1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskState {
    pub tid: i64,
    pub state: i64,
    /// The CPU, if the thread runs.
    pub cpu: Option<i64>,
}

/// A kernel event that is carried over.
#[derive(Debug, Clone)]
pub(super) struct KernelEvent {
    pub ts: i64,
    pub kind: Kernel,
    /// The thread that emitted it, if its row says so.
    pub tid: Option<i64>,
}

/// The kinds of kernel events that are carried over.
#[derive(Debug, Clone)]
pub(super) enum Kernel {
    /// The last switch of a CPU, with the threads that have been asleep since then. A CPU's first one in the compact
    /// encoding starts nothing.
    Switch {
        ucpu: i64,
        asleep: Vec<i64>,
        is_first: bool,
    },
    /// The last time that a thread was woken.
    Waking {
        wakee: u32,
        /// The thread that woke it, if that is known.
        waker: Option<u32>,
    },
    Slice,
    /// The end of a slice.
    End,
    Counter,
}

/// The kernel events that are carried over.
#[derive(Debug, Default)]
pub(super) struct KernelEvents {
    /// In the order of time.
    events: Vec<KernelEvent>,
    /// Events of queues, by their fields in `FtraceEvent`, and the time since which a queue is not empty.
    queued: Vec<(u32, i64)>,
    /// The begin of the window, which ends the queues.
    from: i64,
}

impl KernelEvents {
    fn add(&mut self, ts: i64, kind: Kernel, tid: Option<i64>) {
        self.events.push(KernelEvent { ts, kind, tid });
    }

    /// The events of one time.
    pub fn at(&self, ts: i64) -> &[KernelEvent] {
        self.between(ts, ts)
    }

    fn between(&self, first: i64, last: i64) -> &[KernelEvent] {
        let start = self.events.partition_point(|event| event.ts < first);
        let end = self.events.partition_point(|event| event.ts <= last);
        self.events.get(start..end).unwrap_or_default()
    }

    /// Whether events between two times may be carried.
    pub fn has_any(&self, first: i64, last: i64) -> bool {
        let has_queued = || {
            let mut queued = self.queued.iter();
            first < self.from && queued.any(|(_, since)| last >= *since)
        };
        !self.between(first, last).is_empty() || has_queued()
    }

    /// Whether an event is of a queue that was not empty then.
    pub fn is_queued(&self, event: Message<'_>, ts: i64) -> bool {
        let mut queued = self.queued.iter();
        ts < self.from && queued.any(|(field, since)| ts >= *since && event.bytes(*field).is_some())
    }
}

/// The packets of a trace that stay although they are outside of a window.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub packets: BTreeMap<i64, Vec<Carried>>,
    /// The same for packets without a timestamp, by their times (rule O2).
    pub untimed: BTreeMap<i64, Vec<Carried>>,
    pub events: KernelEvents,
    /// The processes and threads of each machine when the window begins, and when it ends.
    pub living: [BTreeMap<i64, Living>; 2],
}

/// The processes and threads of a machine at one time.
#[derive(Debug, Default)]
pub(super) struct Living {
    /// Whether its kernel is not Linux.
    pub is_generic: bool,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
}

#[derive(Debug)]
pub(super) struct Process {
    pub pid: i64,
    pub parent: i64,
    pub name: Option<String>,
    pub cmdline: Option<String>,
    pub uid: Option<i64>,
    pub start_ts: Option<i64>,
    pub is_kthread: bool,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub tid: i64,
    pub pid: Option<i64>,
    pub name: Option<String>,
    pub is_main: bool,
    pub is_idle: bool,
}

/// Queues whose state is more than their open slice: the names of their tracks or slices, and their events.
const QUEUES: [(&str, &[u32]); 5] = [
    (
        "pkvm_hypervisor",
        &[
            event::HYP_ENTER,
            event::HYPERVISOR_HYP_ENTER,
            event::HYP_EXIT,
            event::HYPERVISOR_HYP_EXIT,
            event::HOST_HCALL,
            event::HYPERVISOR_HOST_HCALL,
            event::HOST_SMC,
            event::HYPERVISOR_HOST_SMC,
            event::HOST_MEM_ABORT,
            event::HYPERVISOR_HOST_MEM_ABORT,
            event::HOST_FFA_CALL,
            event::IOMMU_IDMAP,
            event::HYPERVISOR_IOMMU_IDMAP,
            event::PSCI_MEM_PROTECT,
            event::HYPERVISOR_PSCI_MEM_PROTECT,
            event::HYPERVISOR_IOMMU_IDMAP_COMPLETE,
            event::HYPERVISOR_VCPU_ILLEGAL_TRAP,
        ],
    ),
    (
        "drm_sched_ring",
        &[
            event::DRM_SCHED_JOB,
            event::DRM_RUN_JOB,
            event::DRM_SCHED_PROCESS_JOB,
            event::DRM_SCHED_JOB_QUEUE,
            event::DRM_SCHED_JOB_RUN,
            event::DRM_SCHED_JOB_DONE,
        ],
    ),
    ("drm_fence", &[event::DMA_FENCE_INIT, event::DMA_FENCE_EMIT, event::DMA_FENCE_SIGNALED]),
    ("wakesource_wakelock", &[event::WAKEUP_SOURCE_ACTIVATE, event::WAKEUP_SOURCE_DEACTIVATE]),
    (
        "binder",
        &[
            event::BINDER_TRANSACTION,
            event::BINDER_TRANSACTION_RECEIVED,
            event::BINDER_LOCK,
            event::BINDER_LOCKED,
            event::BINDER_UNLOCK,
            event::BINDER_TRANSACTION_ALLOC_BUF,
            event::BINDER_COMMAND,
            event::BINDER_RETURN,
        ],
    ),
];

/// The texts of states, in the order of their numbers from 1.
const TASK_STATES: [&str; 7] = ["Created", "R", "Running", "S", "D", "T", "Z"];

impl Plan {
    /// Asks a database.
    pub fn of(conn: &Connection, window: Window) -> rusqlite::Result<Plan> {
        let mut plan = Plan::default();
        plan.events.from = window.from;
        let asked = Asked { conn, window };
        let from = named_params! {":from": window.from};
        conn.prepare(OVER)?.execute(from)?;
        asked.slices(&mut plan)?;
        asked.names(&mut plan)?;
        asked.states(&mut plan)?;
        asked.counters(&mut plan)?;
        asked.last_of_types(&mut plan)?;
        asked.snapshots(&mut plan)?;
        asked.heap_dumps(&mut plan)?;
        asked.switches(&mut plan)?;
        asked.wakings(&mut plan)?;
        plan.events.events.sort_by_key(|event| event.ts);
        plan.living = [asked.living(window.from)?, asked.living(window.to)?];
        Ok(plan)
    }

    fn packet(&mut self, id: i64, carried: Carried) {
        let known = self.packets.entry(id).or_default();
        if !known.contains(&carried) {
            known.push(carried);
        }
    }

    fn untimed(&mut self, ts: i64, carried: Carried) {
        let known = self.untimed.entry(ts).or_default();
        if !known.contains(&carried) {
            known.push(carried);
        }
    }
}

/// A database, and the window.
struct Asked<'a> {
    conn: &'a Connection,
    window: Window,
}

/// The slices that reach into the window, and those that they are in.
const OPEN_SLICES: &str = "
    WITH RECURSIVE reaching (id) AS (
      SELECT s.id FROM slice_record AS s
      WHERE s.ts < :from
        AND (s.ts + s.dur >= :from AND s.dur > 0 OR s.dur = -1 AND s.track_id NOT IN (SELECT id FROM temp.ended_track))
    ),
    stack (id) AS (
      SELECT id FROM reaching
      UNION
      SELECT s.parent_id FROM stack JOIN slice_record AS s ON s.id = stack.id WHERE s.parent_id IS NOT NULL
    )
    SELECT s.id, s.ts, s.dur, s.packet_id, s.track_id, k.type,
           (SELECT value FROM string WHERE string.id = s.name), (SELECT tid FROM thread_record AS t WHERE t.id = k.utid)
    FROM stack JOIN slice_record AS s ON s.id = stack.id JOIN track_record AS k ON k.id = s.track_id";

/// The tracks of processes and threads that have ended, or whose numbers others have, when the window begins.
const OVER: &str = "
    CREATE TEMP TABLE ended_track AS
    WITH process_over (id) AS (
      SELECT p.id FROM process_record AS p
      WHERE p.end_ts < :from
         OR EXISTS (SELECT 1 FROM process_record AS n
                    WHERE n.pid = p.pid AND n.machine_id = p.machine_id AND n.id > p.id AND n.start_ts < :from)
    ),
    thread_over (id) AS (
      SELECT t.id FROM thread_record AS t
      WHERE t.end_ts < :from OR t.upid IN (SELECT id FROM process_over)
         OR EXISTS (SELECT 1 FROM thread_record AS n
                    WHERE n.tid = t.tid AND n.machine_id = t.machine_id AND n.id > t.id AND n.start_ts < :from)
    )
    SELECT k.id FROM track_record AS k
    WHERE k.utid IN (SELECT id FROM thread_over) OR k.upid IN (SELECT id FROM process_over)";

/// Packets of one time that are no kernel events and no track events.
const OTHERS_AT: &str = "
    SELECT p.id, coalesce(c.type, '') FROM packet_record AS p JOIN packet_common AS c ON c.id = p.common_id
    WHERE p.ts = ?1 AND coalesce(c.type, '') NOT IN
      ('ftrace_events', 'clock_snapshot', 'process_tree', 'perf_sample', 'stack_sample', 'profile_packet',
       'streaming_profile_packet', 'android_log', 'smaps_packet', 'heap_graph')";

impl Asked<'_> {
    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        of: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut statement = self.conn.prepare(sql)?;
        statement.query_map(params, of)?.collect()
    }

    fn slices(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        type Open = (i64, i64, i64, Option<i64>, i64, String, Option<String>, Option<i64>);
        let from = named_params! {":from": self.window.from};
        let open: Vec<Open> = self.rows(OPEN_SLICES, from, |row| {
            let (kind, name, tid) = (row.get(5)?, row.get(6)?, row.get(7)?);
            let (ts, dur, packet) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, ts, dur, packet, row.get(4)?, kind, name, tid))
        })?;
        let mut queues: BTreeMap<usize, i64> = BTreeMap::new();
        for (id, ts, dur, packet, track, kind, name, tid) in open {
            if let Some(packet) = packet {
                let has_flows = self.has_flows(id)?;
                plan.packet(packet, Carried::Event(Use::Begin { has_flows }));
                if dur >= 0 && ts + dur < self.window.from {
                    self.end(packet, ts + dur, plan)?;
                }
                continue;
            }
            let is_binder = name.is_some_and(|name| name.starts_with("binder "));
            let queue =
                QUEUES.iter().position(|(of, _)| *of == kind || is_binder && *of == "binder");
            if let Some(queue) = queue {
                let since = self.busy_since(track, ts)?;
                let known = queues.entry(queue).or_insert(since);
                *known = since.min(*known);
                continue;
            }
            plan.events.add(ts, Kernel::Slice, tid);
            if dur >= 0 && ts + dur < self.window.from {
                plan.events.add(ts + dur, Kernel::End, tid);
            }
            self.others_at(ts, None, plan)?;
        }
        for (queue, since) in queues {
            let (_, events) = QUEUES[queue];
            plan.events.queued.extend(events.iter().map(|field| (*field, since)));
        }
        Ok(())
    }

    /// Whether a flow leads from a slice to one in the window.
    fn has_flows(&self, slice: i64) -> rusqlite::Result<bool> {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM flow AS f JOIN slice_record AS s ON s.id = f.slice_in
            WHERE f.slice_out = ?1 AND s.ts >= ?2 AND s.ts < ?3)";
        let of = (slice, self.window.from, self.window.to);
        self.conn.prepare(sql)?.query_row(of, |row| row.get(0))
    }

    /// The packet that ended a slice, if it is the only one of its time and sequence.
    fn end(&self, begin: i64, ts: i64, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "SELECT p.id FROM packet_record AS p JOIN packet_common AS c ON c.id = p.common_id
            WHERE p.ts = ?2 AND c.type = 'track_event' AND c.seq_id =
              (SELECT b.seq_id FROM packet_record AS a JOIN packet_common AS b ON b.id = a.common_id WHERE a.id = ?1)";
        let ends: Vec<i64> = self.rows(sql, (begin, ts), |row| row.get(0))?;
        if let [end] = ends.as_slice() {
            plan.packet(*end, Carried::Event(Use::End));
        }
        Ok(())
    }

    /// The time since which a track has had an open slice without a break.
    fn busy_since(&self, track: i64, ts: i64) -> rusqlite::Result<i64> {
        let sql = "SELECT min(ts) FROM slice_record
            WHERE track_id = ?1 AND ts < ?2 AND (dur < 0 OR ts + dur >= ?2)";
        let mut since = ts;
        loop {
            let of = (track, since);
            let before: Option<i64> = self.conn.prepare(sql)?.query_row(of, |row| row.get(0))?;
            match before {
                Some(before) => since = before,
                None => return Ok(since),
            }
        }
    }

    /// Carries packets of a time; track events for a use.
    fn others_at(&self, ts: i64, events: Option<Use>, plan: &mut Plan) -> rusqlite::Result<()> {
        let found: Vec<(i64, String)> =
            self.rows(OTHERS_AT, [ts], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (packet, kind) in found {
            match (kind == "track_event", events) {
                (true, Some(wanted)) => plan.packet(packet, Carried::Event(wanted)),
                (true, None) => {}
                (false, _) => plan.packet(packet, Carried::Whole),
            }
        }
        plan.untimed(ts, Carried::Whole);
        if let Some(wanted) = events {
            plan.untimed(ts, Carried::Event(wanted));
        }
        Ok(())
    }

    /// Carries the first event of each track that is named by it.
    fn names(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "
            WITH used (track_group) AS (
              SELECT DISTINCT coalesce(k.track_group_id, - k.id)
              FROM track_record AS k
              WHERE k.type GLOB '*merged_track_event'
                AND EXISTS (SELECT 1 FROM slice_record AS s WHERE s.track_id = k.id AND (s.ts >= :from OR s.dur < 0 OR s.ts + s.dur >= :from))
            ),
            first (packet_id, name, track_name) AS (
              SELECT s.packet_id, s.name, k.name
              FROM track_record AS k JOIN slice_record AS s ON s.track_id = k.id
              WHERE coalesce(k.track_group_id, - k.id) IN (SELECT track_group FROM used)
              GROUP BY coalesce(k.track_group_id, - k.id) HAVING s.ts = min(s.ts) AND s.ts < :from
            )
            SELECT packet_id FROM first
            WHERE packet_id IS NOT NULL AND coalesce(track_name, '') = coalesce((SELECT value FROM string WHERE id = first.name), '')";
        let from = named_params! {":from": self.window.from};
        for packet in self.rows(sql, from, |row| row.get(0))? {
            plan.packet(packet, Carried::Event(Use::Name));
        }
        let sql = "SELECT min(s.ts) AS first FROM state_record AS s JOIN track_record AS k ON k.id = s.track_id
            GROUP BY k.id HAVING s.ts = min(s.ts) AND s.ts < :from
              AND (k.type = 'concurrent_tracing_sessions'
                   OR coalesce(k.name, '') = (SELECT value FROM string WHERE id = s.value))";
        for ts in self.rows(sql, from, |row| row.get(0))? {
            self.others_at(ts, Some(Use::State), plan)?;
        }
        Ok(())
    }

    fn states(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        // The last state of another recording also counts if it is over: it ends those that come with others of one time.
        let sql = "SELECT DISTINCT ts FROM state_record
            WHERE ts < :from AND (dur = -1 OR ts + dur >= :from)
            UNION
            SELECT max(s.ts) FROM state_record AS s JOIN track_record AS k ON k.id = s.track_id
            WHERE s.ts < :from AND k.type = 'concurrent_tracing_sessions' GROUP BY k.id";
        for ts in self.rows(sql, named_params! {":from": self.window.from}, |row| row.get(0))? {
            self.others_at(ts, Some(Use::State), plan)?;
        }
        self.task_states(plan)
    }

    /// Carries the last states of threads, and of CPUs, of kernels that are not Linux.
    fn task_states(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        if !self.has_packets("generic_kernel_task_state_event")? {
            return Ok(());
        }
        let sql = "
            SELECT s.ts, t.machine_id, t.tid, s.cpu,
                   s.state
            FROM thread_state AS s JOIN thread_record AS t ON t.id = s.utid
            WHERE s.ts < :from AND s.state <> 'X'
              AND (s.dur = -1 OR s.ts + s.dur >= :from
                -- Between two events that it runs, it did not.
                OR EXISTS (SELECT 1 FROM sched_record AS n WHERE n.utid = s.utid AND n.ts = s.ts + s.dur
                           AND n.ts < :from AND (n.dur = -1 OR n.ts + n.dur >= :from)))
            UNION
            SELECT s.ts, t.machine_id, t.tid, s.ucpu & 4095, 'Running'
            FROM sched_record AS s JOIN thread_record AS t ON t.id = s.utid
            WHERE s.ts < :from AND (s.dur = -1 OR s.ts + s.dur >= :from)";
        type Row = (i64, i64, i64, Option<i64>, String);
        let from = named_params! {":from": self.window.from};
        let states: Vec<Row> = self.rows(sql, from, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        let sql =
            "SELECT p.id FROM packet_record AS p JOIN packet_common AS c ON c.id = p.common_id
            WHERE p.ts = ?1 AND c.type = 'generic_kernel_task_state_event' AND c.machine_id = ?2";
        for (ts, machine, tid, cpu, state) in states {
            let Some(state) = TASK_STATES.iter().position(|known| *known == state) else {
                continue;
            };
            let state = state as i64 + 1;
            let carried = Carried::TaskState(TaskState { tid, state, cpu });
            for packet in self.rows(sql, (ts, machine), |row| row.get(0))? {
                plan.packet(packet, carried);
            }
            plan.untimed(ts, carried);
        }
        Ok(())
    }

    fn counters(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "SELECT k.id, (SELECT max(ts) FROM counter_record AS c WHERE c.track_id = k.id AND c.ts < :from),
                   k.type = 'diskstat'
            FROM track_record AS k
            WHERE k.is_counter AND k.id NOT IN (SELECT id FROM temp.ended_track)
              AND k.type NOT IN ('perf_cpu_counter', 'stack_sample_cpu_counter', 'stack_sample_session_counter')";
        let from = named_params! {":from": self.window.from};
        let last: Vec<(i64, Option<i64>, bool)> =
            self.rows(sql, from, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let times: BTreeSet<i64> = last.iter().filter_map(|(_, ts, _)| *ts).collect();
        for ts in times {
            plan.events.add(ts, Kernel::Counter, None);
            self.others_at(ts, Some(Use::Values), plan)?;
        }
        // A disk's values are differences, so its next one needs the sample before it.
        if last.iter().any(|(_, _, is_difference)| *is_difference) {
            self.last_packets("sys_stats", 8, plan)?;
        }
        Ok(())
    }

    /// Carries the last packets of types whose rows do not have their times.
    fn last_of_types(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        for (kind, count) in [
            ("power_rails", 2),
            ("streaming_profile_packet", 1),
            ("gpu_counter_event", 1),
            // They have differences since the state of their sequence was cleared.
            ("kernel_wakelock_data", i64::MAX),
            ("cpu_per_uid_data", i64::MAX),
        ] {
            self.last_packets(kind, count, plan)?;
        }
        Ok(())
    }

    fn has_packets(&self, kind: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM packet_common WHERE type = ?1)";
        self.conn.prepare(sql)?.query_row([kind], |row| row.get(0))
    }

    /// Carries the last packets of a type, of each sequence.
    fn last_packets(&self, kind: &str, count: i64, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "SELECT id FROM (
              SELECT p.id, row_number() OVER (PARTITION BY c.trace_file_id, c.machine_id, c.seq_id ORDER BY p.ts DESC, p.id DESC) AS nth
              FROM packet_common AS c JOIN packet_record AS p ON p.common_id = c.id
              WHERE c.type = ?1 AND p.ts < ?2
            ) WHERE nth <= ?3";
        if self.has_packets(kind)? {
            for packet in self.rows(sql, (kind, self.window.from, count), |row| row.get(0))? {
                plan.packet(packet, Carried::Whole);
            }
        }
        Ok(())
    }

    /// Carries the first snapshot of each machine, the first one with BOOTTIME, which is then the default clock (rule T2), and
    /// the last one of each set of clocks.
    fn snapshots(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "
            WITH snapshot AS (
              SELECT s.packet_id, min(s.ts) AS ts, s.machine_id, c.trace_file_id,
                     group_concat(s.clock_id || '/' || s.seq_id ORDER BY s.clock_id, s.seq_id) AS clocks,
                     max(s.clock_id = 6) AS has_boottime
              FROM clock_snapshot AS s
              JOIN packet_record AS p ON p.id = s.packet_id JOIN packet_common AS c ON c.id = p.common_id
              WHERE c.type = 'clock_snapshot'
              GROUP BY s.snapshot_id
            )
            SELECT max(packet_id) FROM snapshot WHERE ts < ?1 GROUP BY machine_id, trace_file_id, clocks
            UNION
            SELECT min(packet_id) FROM snapshot GROUP BY machine_id, trace_file_id
            UNION
            SELECT min(packet_id) FROM snapshot WHERE has_boottime GROUP BY machine_id, trace_file_id
            UNION
            SELECT packet_id FROM snapshot WHERE ts IS NULL";
        for packet in self.rows(sql, [self.window.from], |row| row.get(0))? {
            plan.packet(packet, Carried::Whole);
        }
        Ok(())
    }

    /// Carries the last dump of each heap, because the next one is a difference to it.
    fn heap_dumps(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "SELECT min(last) FROM (
              SELECT max(ts_end) AS last FROM heap_profile WHERE ts_end < ?1 GROUP BY upid, heap_name)";
        let last: Option<i64> =
            self.conn.query_row(sql, [self.window.from], |row| row.get(0)).optional()?.flatten();
        let Some(last) = last else {
            return Ok(());
        };
        // MONOTONIC_COARSE is some milliseconds behind.
        let sql =
            "SELECT p.id FROM packet_record AS p JOIN packet_common AS c ON c.id = p.common_id
            WHERE c.type = 'profile_packet' AND p.ts >= ?1 AND p.ts < ?2";
        let times = (last.saturating_sub(20_000_000), self.window.from);
        for packet in self.rows(sql, times, |row| row.get(0))? {
            plan.packet(packet, Carried::Whole);
        }
        Ok(())
    }

    /// Carries the last switch of each CPU.
    fn switches(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let from = self.window.from;
        let pairs = |sql: &str| -> rusqlite::Result<BTreeMap<i64, i64>> {
            let rows = self.rows(sql, [from], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.into_iter().collect())
        };
        let mut last = pairs("SELECT ucpu, ts FROM last_switch WHERE ts < ?1")?;
        let of_rows = pairs("SELECT ucpu, max(ts) FROM sched_record WHERE ts < ?1 GROUP BY ucpu")?;
        for (&ucpu, &ts) in &of_rows {
            let known = last.entry(ucpu).or_insert(ts);
            *known = ts.max(*known);
        }
        for (ucpu, ts) in last {
            // A switch that makes no row (rule O6) stays as it is, and is remembered.
            let is_first = of_rows.get(&ucpu) != Some(&ts);
            let asleep = if is_first { Vec::new() } else { self.asleep_since(ucpu >> 12, ts)? };
            plan.events.add(ts, Kernel::Switch { ucpu, asleep, is_first }, None);
        }
        Ok(())
    }

    /// The threads that went to sleep at a time, and were still in that state when the window begins.
    fn asleep_since(&self, machine: i64, ts: i64) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT t.tid FROM thread_state AS s JOIN thread_record AS t ON t.id = s.utid
            WHERE t.machine_id = ?1 AND t.tid <> 0 AND s.ts = ?2 AND s.state IS NOT 'Running' AND (s.dur = -1 OR s.ts + s.dur >= ?3)
              AND NOT EXISTS (SELECT 1 FROM sched_record AS n WHERE n.utid = t.id AND n.ts >= ?2 AND n.ts < ?3)
              AND NOT EXISTS (SELECT 1 FROM thread_state_record AS n WHERE n.utid = t.id AND n.ts > ?2 AND n.ts < ?3)";
        self.rows(sql, (machine, ts, self.window.from), |row| row.get(0))
    }

    /// Carries the last wakeup of each thread that waits for a CPU.
    fn wakings(&self, plan: &mut Plan) -> rusqlite::Result<()> {
        let sql = "
            SELECT t.tid, s.ts + s.dur + s.after, (SELECT tid FROM thread_record AS w WHERE w.id = s.waker_utid)
            FROM thread_record AS t
            JOIN sched_record AS s ON s.utid = t.id
              AND s.ts = (SELECT max(ts) FROM sched_record WHERE utid = t.id AND ts < :from)
            WHERE s.runnable IS NOT NULL AND s.ts + s.dur + s.after < :from
              AND (s.runnable = -1 OR s.ts + s.dur + s.after + s.runnable >= :from)
              AND NOT EXISTS (SELECT 1 FROM thread_state_record AS n
                              WHERE n.utid = s.utid AND n.ts > s.ts + s.dur + s.after AND n.ts < :from)
            UNION
            SELECT t.tid, s.ts, (SELECT tid FROM thread_record AS w WHERE w.id = s.waker_utid)
            FROM thread_state_record AS s JOIN thread_record AS t ON t.id = s.utid
            WHERE s.ts < :from AND (s.dur = -1 OR s.ts + s.dur >= :from)
              AND s.state = (SELECT id FROM string WHERE value = 'R')
              AND NOT EXISTS (SELECT 1 FROM sched_record AS n
                              WHERE n.utid = s.utid AND n.ts > s.ts AND n.ts < :from)
              AND NOT EXISTS (SELECT 1 FROM thread_state_record AS n
                              WHERE n.utid = s.utid AND n.ts > s.ts AND n.ts < :from)";
        let from = named_params! {":from": self.window.from};
        let woken: Vec<(i64, i64, Option<i64>)> =
            self.rows(sql, from, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for (tid, ts, waker) in woken {
            let (wakee, waker) = (tid as u32, waker.map(|waker| waker as u32));
            plan.events.add(ts, Kernel::Waking { wakee, waker }, None);
        }
        Ok(())
    }

    /// The processes and threads of each machine that live at a time. Of those of one number, it is the newest one that is
    /// known to have been there, or the first one.
    fn living(&self, at: i64) -> rusqlite::Result<BTreeMap<i64, Living>> {
        let mut living: BTreeMap<i64, Living> = BTreeMap::new();
        let sql = "
            SELECT p.machine_id, p.pid, q.pid, p.name, p.cmdline, p.uid, p.start_ts,
                   (SELECT json_extract(a.args, '$.is_kthread') FROM arg_set AS a WHERE a.id = p.arg_set_id)
            FROM process_record AS p LEFT JOIN process_record AS q ON q.id = p.parent_upid
            WHERE p.id IN (
                SELECT coalesce(max(iif(several > 1 AND id < bound AND (start_ts < ?1 OR was_used), id, NULL)), min(id))
                FROM (SELECT id, machine_id, pid, start_ts, count(*) OVER (PARTITION BY machine_id, pid) AS several,
                        (SELECT coalesce(min(id), 1 << 62) FROM process_record WHERE start_ts >= ?1) AS bound,
                        EXISTS (SELECT 1 FROM thread_record AS t WHERE t.upid = o.id
                          AND (EXISTS (SELECT 1 FROM sched_record AS s WHERE s.utid = t.id AND s.ts < ?1)
                            OR EXISTS (SELECT 1 FROM thread_state_record AS s WHERE s.utid = t.id AND s.ts < ?1))) AS was_used
                      FROM process_record AS o WHERE coalesce(end_ts, ?1) >= ?1)
                GROUP BY machine_id, pid)
              AND coalesce(p.start_ts, ?1 - 1) < ?1
            ORDER BY p.machine_id, p.pid";
        let of = |row: &rusqlite::Row<'_>| {
            Ok((
                row.get(0)?,
                Process {
                    pid: row.get(1)?,
                    parent: row.get::<_, Option<i64>>(2)?.unwrap_or(0),
                    name: row.get(3)?,
                    cmdline: row.get(4)?,
                    uid: row.get(5)?,
                    start_ts: row.get(6)?,
                    is_kthread: row.get::<_, Option<bool>>(7)?.unwrap_or(false),
                },
            ))
        };
        for (machine, process) in self.rows(sql, [at], of)? {
            living.entry(machine).or_default().processes.push(process);
        }
        let sql = "
            SELECT t.machine_id, t.tid, p.pid, t.name, t.is_main_thread, t.is_idle
            FROM thread_record AS t LEFT JOIN process_record AS p ON p.id = t.upid
            WHERE t.id IN (
                SELECT coalesce(max(iif(several > 1 AND id < bound AND (start_ts < ?1 OR was_used), id, NULL)), min(id))
                FROM (SELECT id, machine_id, tid, start_ts, count(*) OVER (PARTITION BY machine_id, tid) AS several,
                        (SELECT coalesce(min(id), 1 << 62) FROM thread_record WHERE start_ts >= ?1) AS bound,
                        EXISTS (SELECT 1 FROM sched_record AS s WHERE s.utid = o.id AND s.ts < ?1)
                          OR EXISTS (SELECT 1 FROM thread_state_record AS s WHERE s.utid = o.id AND s.ts < ?1) AS was_used
                      FROM thread_record AS o WHERE coalesce(end_ts, ?1) >= ?1)
                GROUP BY machine_id, tid)
              AND coalesce(t.start_ts, ?1 - 1) < ?1 AND coalesce(p.end_ts, ?1) >= ?1 AND t.tid <> 0
            ORDER BY t.machine_id, p.pid, t.tid <> p.pid, t.tid";
        let of = |row: &rusqlite::Row<'_>| {
            Ok((
                row.get(0)?,
                Thread {
                    tid: row.get(1)?,
                    pid: row.get(2)?,
                    name: row.get(3)?,
                    is_main: row.get::<_, Option<bool>>(4)?.unwrap_or(false),
                    is_idle: row.get::<_, Option<bool>>(5)?.unwrap_or(false),
                },
            ))
        };
        for (machine, thread) in self.rows(sql, [at], of)? {
            living.entry(machine).or_default().threads.push(thread);
        }
        let sql = "SELECT DISTINCT machine_id FROM packet_common WHERE type GLOB 'generic_kernel_*'
              AND type <> 'generic_kernel_cpu_freq_event'";
        for machine in self.rows(sql, [], |row| row.get(0))? {
            living.entry(machine).or_default().is_generic = true;
        }
        Ok(living)
    }
}
