//! The processes and threads in process lists (P14, P15).

use super::args::Said;
use super::machines::Machine;
use super::processes::{Processes, rank};
use super::wire::Message;

/// A kernel thread's name without its work item; `None` if there is nothing to cut (P14).
fn cut(name: &str) -> Option<&str> {
    const WORKER: &str = "kworker/";
    let rest = name.strip_prefix(WORKER)?;
    let end = rest.find(['+', '-'])?;
    Some(&name[..WORKER.len() + end])
}

/// P14. `start_of` gives the time of nanoseconds since boot.
pub fn process_tree(
    processes: &mut Processes,
    machine: Machine,
    tree: &Message,
    start_of: impl Fn(u64) -> Option<i64>,
) {
    const KTHREADD: i64 = 2;
    let mut kernel_threads = Vec::new();
    for process in tree.messages(1) {
        let (pid, parent) = (process.id(1), process.id(2));
        let words = process.texts(3);
        let Some(first) = words.first() else {
            continue;
        };
        let parent_upid = processes.process(machine, parent);
        let upid = processes.process(machine, pid);
        let row = &mut processes.processes[upid];
        row.parent.get_or_insert(parent_upid);

        let (mut argv0, mut cmdline) = (first.as_str(), words.join(" "));
        if parent == KTHREADD {
            kernel_threads.push(pid);
            if let Some(name) = cut(first) {
                argv0 = name;
                cmdline = name.to_owned();
            }
        }
        if let [_] = words.as_slice() {
            argv0 = argv0.split(' ').next().unwrap_or_default();
        }
        row.cmdline = Some(cmdline.clone());
        if process.has(8) {
            let is_kthread = process.unsigned(8) != 0;
            row.args.say("is_kthread", Said::Bool(is_kthread));
        }
        if process.has(5) {
            row.uid = Some(process.id(5));
        }
        if row.start.is_none() {
            row.start = process.number(7).and_then(&start_of);
        }
        processes.name_process(upid, Some(argv0), rank::PROCESS);
        if process.unsigned(9) != 0 {
            let utid = processes.thread(machine, pid);
            processes.name_thread(utid, Some(&cmdline), rank::TREE);
        }
    }
    for thread in tree.messages(2) {
        let (tid, tgid) = (thread.id(1), thread.id(3));
        processes.bind(machine, tid, tgid);
        let utid = processes.thread(machine, tid);
        let name = thread.text(2);
        let mut name = name.as_deref();
        if tid == tgid && kernel_threads.contains(&tid) {
            name = name.map(|name| cut(name).unwrap_or(name));
        }
        processes.name_thread(utid, name, rank::TREE);
    }
}

/// P15, without the counters (M6).
pub fn process_stats(processes: &mut Processes, machine: Machine, stats: &Message) {
    for process in stats.messages(1) {
        if [12, 13, 14].iter().any(|field| process.has(*field)) {
            processes.process(machine, process.id(1));
        }
    }
    for process in stats.messages(1) {
        let pid = process.id(1);
        let mut threads = process.messages(11).into_iter();
        for field in process.fields() {
            match field {
                1 | 12..=14 => {}
                11 => {
                    let tid = threads.next().unwrap_or_default().id(1);
                    processes.bind(machine, tid, pid);
                }
                _ => {
                    processes.process(machine, pid);
                }
            }
        }
    }
}
