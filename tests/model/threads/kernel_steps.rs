//! Kernel events whose meaning depends on earlier events: KE8, KE12, KE13, KE15, KE22, KE23, KE28,
//! KE32.

use super::args::{Key, Said};
use super::kernel_events::{Now, Told, i32_of, int};
use super::processes::Utid;
use super::tracks::Track;
use super::world::World;

#[derive(Debug, Default)]
pub struct Steps {
    /// The sockets of streams, by machine.
    streams: Vec<(usize, u64)>,
    /// The names of slices of suspending, whose places are cookies.
    names: Vec<String>,
    /// The machines in suspend_enter, its name, and whether freeze_processes began.
    suspends: Vec<(usize, String, bool)>,
    /// The held wakelocks, with their full names and counts.
    wakelocks: Vec<(usize, Option<String>, u64)>,
    /// Reads of files: machine, ino, offset, and the thread.
    reads: Vec<((usize, u64, i64), i64)>,
    /// The pages of a thread's last 577 since its last 465.
    moved: Vec<(Utid, [u64; 3])>,
    /// A thread's transfer: the adapter and the count of messages.
    transfers: Vec<(Utid, i64, i64)>,
    writing: Vec<Utid>,
    /// `truncated_sys_write_duration`
    pub truncated: i64,
}

impl World<'_> {
    pub fn step_events(&mut self, now: &Now<'_>) {
        match now.kind {
            3 => self.print_in_write(now),
            27..=29 => self.transfer(now),
            113 | 504 | 505 => self.suspend(now),
            329 | 330 => self.call(now),
            362 => self.stream(now),
            404 | 405 => self.wakelock(now),
            431 | 432 => self.file_read(now),
            465 | 466 | 576 | 577 => self.contiguous(now),
            _ => {}
        }
    }

    /// KE8
    fn stream(&mut self, now: &Now<'_>) {
        const STATES: [&str; 13] = [
            "UNKNOWN",
            "ESTABLISHED",
            "SYN_SENT",
            "SYN_RECV",
            "FIN_WAIT1",
            "FIN_WAIT2",
            "TIME_WAIT",
            "CLOSE",
            "CLOSE_WAIT",
            "LAST_ACK",
            "LISTEN",
            "CLOSING",
            "NEW_SYN_RECV",
        ];
        let fields = now.fields;
        let (new, old) = (i32_of(fields, 4), i32_of(fields, 5));
        let is_state = |state| (0..=12).contains(&state);
        let is_ip = [2, 10].contains(&fields.id(3));
        if fields.id(6) != 6 || !is_ip || !is_state(new) || !is_state(old) {
            return;
        }
        let socket = (now.machine, fields.unsigned(8));
        let streams = &mut self.kernel.steps.streams;
        if !streams.contains(&socket) {
            streams.push(socket);
        }
        let of_machine = streams.iter().filter(|(of, _)| *of == now.machine);
        let number = of_machine.into_iter().position(|known| *known == socket).unwrap() as i64 + 1;
        let track = &self
            .on(now, "net_socket_set_state", &format!("TCP stream#{number}"))
            .with("tcp_stream_idx", int(number));
        self.kernel_end(now, track, (None, None), vec![]);
        let more = match new {
            1 => format!("(sport={},dport={})", fields.id(9), fields.id(2)),
            2 => format!("(pid={})", now.pid),
            _ => String::new(),
        };
        let name = format!("TCP_{}{more}", STATES[new as usize]);
        self.kernel_slice(now, track, -1, (Some("tcp_state"), Some(&name)), vec![]);
    }

    /// KE12, KE13
    fn suspend(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let set = self.on(now, "suspend_resume", "Suspend/Resume Latency");
        let action = fields.text(1).unwrap_or_default();
        let name = if now.kind == 113 {
            let value = match action.as_str() {
                "timekeeping_freeze" => 0,
                _ => i32_of(fields, 2),
            };
            let mut name = format!("{action}({value})");
            name.truncate(63);
            name
        } else {
            format!("{action} {}", fields.text(2).unwrap_or_default())
        };
        let cookie = self.cookie(&name);
        let is_begin = now.kind == 504 || now.kind == 113 && fields.id(3) != 0;
        if !is_begin {
            self.slices.end_on_lane(now.time, &set, cookie);
            if now.kind == 505 {
                return;
            }
            let suspends = &mut self.kernel.steps.suspends;
            let place = suspends.iter().position(|(of, ..)| *of == now.machine);
            let Some(place) = place else { return };
            let (_, entered, froze) = suspends[place].clone();
            match action.as_str() {
                "suspend_enter" => drop(suspends.remove(place)),
                "thaw_processes" if froze => {
                    suspends.remove(place);
                    let cookie = self.cookie(&entered);
                    self.slices.end_on_lane(now.time, &set, cookie);
                }
                _ => {}
            }
            return;
        }
        let mut told: Told<'_> =
            vec![("utid", Said::Uint(now.thread as u64)), ("cpu", Said::Uint(now.cpu.into()))];
        if now.kind == 113 {
            let suspends = &mut self.kernel.steps.suspends;
            match action.as_str() {
                "suspend_enter" => {
                    suspends.retain(|(of, ..)| *of != now.machine);
                    suspends.push((now.machine, name.clone(), false));
                }
                "freeze_processes" => {
                    for suspend in suspends.iter_mut().filter(|(of, ..)| *of == now.machine) {
                        suspend.2 = true;
                    }
                }
                _ => {}
            }
            told.push(("event_type", Said::text("Main Kernel Suspend Event")));
            for key in ["device_name", "driver_name", "callback_phase"] {
                told.push((key, Said::String(None)));
            }
        } else {
            told.push(("event_type", Said::text("Device PM Suspend Event")));
            told.push(("device_name", Said::text(&action)));
            let driver = fields.text(2).unwrap_or_default();
            told.push(("driver_name", Said::text(&driver)));
            let phase = phase(i32_of(fields, 5), &fields.text(4).unwrap_or_default());
            told.push(("callback_phase", Said::text(&phase)));
        }
        let slice = self.slices.begin_on_lane(now.time, &set, &name, cookie);
        for (key, said) in told {
            self.slices.say(slice, key, said);
        }
    }

    fn cookie(&mut self, name: &str) -> i64 {
        let names = &mut self.kernel.steps.names;
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        names.iter().position(|known| known == name).unwrap() as i64
    }

    /// KE15
    fn wakelock(&mut self, now: &Now<'_>) {
        let name = now.fields.text(1);
        let mut short = format!("Wakelock({})", name.clone().unwrap_or_default());
        short.truncate(31);
        let track = &self
            .on(now, "wakesource_wakelock", &short)
            .with("wakelock_event", Said::String(name.clone()));
        let held = &mut self.kernel.steps.wakelocks;
        let mut all = held.iter();
        let place = all.position(|(of, known, _)| (of, known) == (&now.machine, &name));
        match (now.kind, place) {
            (404, None) => {
                held.push((now.machine, name, 1));
                self.kernel_slice(now, track, -1, (None, Some(&short)), vec![]);
            }
            (404, Some(place)) => held[place].2 += 1,
            (_, Some(place)) if held[place].2 > 1 => held[place].2 -= 1,
            (_, Some(place)) => {
                held.remove(place);
                self.kernel_end(now, track, (None, None), vec![]);
            }
            _ => {}
        }
    }

    /// KE22
    fn file_read(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let set = self.on(now, "android_fs", "android_fs");
        let bytes = int(i32_of(fields, 1));
        if now.kind == 432 {
            let offset = fields.signed(5);
            let key = (now.machine, fields.unsigned(4), offset);
            let reads = &mut self.kernel.steps.reads;
            if !reads.iter().any(|(known, _)| *known == key) {
                reads.push((key, now.pid));
            }
            let slices = &mut self.slices;
            let slice = slices.begin_on_lane(now.time, &set, "android_fs_data_read", now.pid);
            slices.say(slice, "file_path", Said::String(fields.text(6)));
            slices.say(slice, "offset_start", int(offset));
            slices.say(slice, "bytes_read_start", bytes);
            return;
        }
        let offset = fields.signed(3);
        let key = (now.machine, fields.unsigned(2), offset);
        let reads = &mut self.kernel.steps.reads;
        if let Some(place) = reads.iter().position(|(known, _)| *known == key) {
            let (_, pid) = reads.remove(place);
            let slice = self.slices.end_on_lane(now.time, &set, pid);
            self.slices.say(slice, "offset_end", int(offset));
            self.slices.say(slice, "bytes_read_end", bytes);
        }
    }

    /// KE23
    fn contiguous(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let version = self.machines[now.machine].kernel();
        if version < (5, 10) {
            return;
        }
        let is_old = version < (6, 1);
        let track = &Track::of_thread(now.thread);
        let moved = &mut self.kernel.steps.moved;
        let known = moved.iter().find(|(of, _)| *of == now.thread);
        let known = known.map_or([0; 3], |(_, pages)| *pages);
        let (name, pfn, count, [migrated, reclaimed, mapped]) = match now.kind {
            465 => {
                moved.retain(|(of, _)| *of != now.thread);
                self.kernel_slice(now, track, -1, (None, Some("mm_cma_alloc")), vec![]);
                return;
            }
            577 => {
                if !is_old {
                    moved.retain(|(of, _)| *of != now.thread);
                    let pages = [fields.unsigned(3), fields.unsigned(4), fields.unsigned(5)];
                    moved.push((now.thread, pages));
                }
                return;
            }
            466 if is_old => {
                let pages = [fields.unsigned(8), fields.unsigned(9), fields.unsigned(7)];
                (6, 10, 2, pages)
            }
            576 if !is_old => (1, 2, 4, known),
            _ => return,
        };
        let mut told = vec![
            ("cma_name", Said::String(fields.text(name))),
            ("cma_pfn", Said::Uint(fields.unsigned(pfn))),
            ("cma_req_pages", Said::Uint(fields.id(count) as u64)),
            ("cma_nr_migrated", Said::Uint(migrated)),
            ("cma_nr_reclaimed", Said::Uint(reclaimed)),
            ("cma_nr_mapped", Said::Uint(mapped)),
        ];
        if is_old {
            for (key, field) in
                [("cma_nr_isolate_fail", 3), ("cma_nr_migrate_fail", 4), ("cma_nr_test_fail", 5)]
            {
                told.push((key, Said::Uint(fields.id(field) as u64)));
            }
        }
        self.kernel_end(now, track, (None, None), told);
    }

    /// KE28
    fn transfer(&mut self, now: &Now<'_>) {
        let (adapter, number) = (now.fields.id(1), now.fields.id(2));
        if adapter > 255 {
            return;
        }
        let track = &Track::of_thread(now.thread);
        let name = format!("i2c-{adapter}");
        let called = (None, Some(name.as_str()));
        let transfers = &mut self.kernel.steps.transfers;
        let place = transfers.iter().position(|(of, ..)| *of == now.thread);
        match (now.kind, place) {
            (29, Some(place)) => {
                let (_, of, count) = transfers[place];
                if (of, count) == (adapter, number) {
                    transfers.remove(place);
                    self.kernel_end(now, track, called, vec![]);
                }
            }
            (29, None) => {}
            (_, Some(place)) => {
                let count = &mut transfers[place].2;
                *count = (*count).max((number + 1) % (1 << 32));
            }
            (_, None) => {
                transfers.push((now.thread, adapter, (number + 1) % (1 << 32)));
                self.kernel_slice(now, track, -1, called, vec![]);
            }
        }
    }

    /// KE32
    fn call(&mut self, now: &Now<'_>) {
        let fields = now.fields;
        let id = fields.id(1);
        if id > 549 {
            return;
        }
        let name = self.call_name(now.machine, id);
        let track = &Track::of_thread(now.thread);
        let called = (None, Some(name.as_str()));
        let writing = &mut self.kernel.steps.writing;
        let is_in = writing.contains(&now.thread);
        if now.kind == 330 {
            if name == "sys_write" {
                if !is_in {
                    return;
                }
                writing.retain(|thread| *thread != now.thread);
            }
            let ret = fields.number(2).map(|ret| ("ret", int(ret as i64)));
            self.kernel_end(now, track, called, ret.into_iter().collect());
            return;
        }
        if name == "sys_write" && !is_in {
            writing.push(now.thread);
        }
        let duration = if name == "sys_rt_sigreturn" { 0 } else { -1 };
        let slice = self.kernel_slice(now, track, duration, called, vec![]);
        for (place, value) in fields.numbers(2).into_iter().enumerate() {
            if let Some(slice) = slice {
                let key = Key::new("args").element(place);
                self.slices.all[slice].args.set(key, Said::Uint(value));
            }
        }
    }

    /// The name of a call that the generator makes.
    fn call_name(&self, machine: usize, id: i64) -> String {
        let raw_id = self.machines[machine].raw_id;
        let infos = self.packets.trusted(45).filter(|info| info.0 == raw_id);
        let machines = infos.filter_map(|(.., info)| info.message(1)?.text(4));
        let known = ["aarch64", "armv8l", "armv7l", "x86_64", "i686"];
        let last = machines.filter(|name| known.contains(&name.as_str())).last();
        let column = match last.as_deref() {
            Some("aarch64") => 0,
            Some("armv8l" | "armv7l") => 1,
            Some("x86_64") => 2,
            Some("i686") => 3,
            _ => return format!("sys_{id}"),
        };
        let names = match id {
            0 => ["io_setup", "restart_syscall", "read", "restart_syscall"],
            1 => ["io_destroy", "exit", "write", "exit"],
            3 => ["io_cancel", "read", "close", "read"],
            4 => ["io_getevents", "write", "stat", "write"],
            15 => ["lremovexattr", "chmod", "rt_sigreturn", "chmod"],
            56 => ["openat", "56", "clone", "mpx"],
            63 => ["read", "dup2", "uname", "dup2"],
            64 => ["write", "getppid", "semget", "getppid"],
            139 => ["rt_sigreturn", "setfsgid", "sysfs", "setfsgid"],
            173 => ["getppid", "rt_sigreturn", "ioperm", "rt_sigreturn"],
            _ => return format!("sys_{id}"),
        };
        format!("sys_{}", names[column])
    }

    /// KE32: the mark to which a call of sys_write belongs.
    fn print_in_write(&mut self, now: &Now<'_>) {
        let writing = &mut self.kernel.steps.writing;
        if writing.contains(&now.thread) {
            writing.retain(|thread| *thread != now.thread);
            self.kernel.steps.truncated += 1;
            let track = Track::of_thread(now.thread);
            self.kernel_end(now, &track, (None, Some("sys_write")), vec![]);
        }
    }
}

/// KE13
fn phase(event: i64, operations: &str) -> String {
    let word = match event {
        1 => "freeze",
        2 => "suspend",
        4 => "hibernate",
        8 => "quiesce",
        16 => "resume",
        32 => "thaw",
        64 => "restore",
        128 => "recover",
        _ => "(unknown PM event)",
    };
    let more = if operations.is_empty() {
        match event {
            2 => ":prepare",
            16 => ":complete",
            _ => "",
        }
    } else {
        let words = [("early", ":early"), ("late", ":late"), ("noirq", ":noirq")];
        let known = words.iter().find(|(word, _)| operations.starts_with(word));
        known.map_or("", |(_, more)| *more)
    };
    format!("{word}{more}")
}
