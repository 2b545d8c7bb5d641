//! The descriptions of tracks (TK1, TK3).

use super::args::{Args, Said};
use super::tracks::{Track, TrackOwner};

/// The table of TK1: types and the form of their names. `{x}` is a text, `<x>` a number, `#` a number that the owner
/// already has.
const NAMES: &str = "
    cpustat: cpu.times.{cpustat_key}
    cpu_idle_state: cpuidle#.{state}
    gpu_counter: {name}
    atrace_async_slice: {name}
    atrace_async_slice_for_track: {name}
    atrace_counter: {name}
    process_memory: mem.{process_memory_key}
    process_memory_thread_fallback: mem.{process_memory_key}
    smaps: mem.smaps.{smaps_key}
    chrome_process_stats: chrome.{key}
    proc_stat_runtime: runtime.{proc_stat_runtime_key}
    mm_event: mem.mm.{mm_event_type}.{mm_event_metric}
    mm_event_thread_fallback: mem.mm.{mm_event_type}.{mm_event_metric}
    clock_frequency: {linux_device} Frequency
    clock_state: {linux_device} State
    cooling_device_counter: {linux_device} Cooling Device
    thermal_temperature: {thermal_zone} Temperature
    thermal_temperature_sys: {thermal_zone}
    diskstat: diskstat.[{device_name}].{counter_name}
    meminfo: {meminfo_key}
    vmstat: {vmstat_key}
    slabinfo: mem.slab.{slab_name}
    psi: psi.{psi_resource}
    num_irq: num_irq (id: <irq>)
    num_softirq: num_softirq (id: <irq>)
    buddyinfo: mem.buddyinfo[{buddyinfo_node}][{buddyinfo_zone}][<buddyinfo_chunk_size_kb> kB]
    battery_stats: {counter_key}";

/// Types whose tracks are lanes.
const LANES: [&str; 5] = [
    "gpu_render_stage",
    "atrace_async_slice",
    "atrace_async_slice_for_track",
    "android_ion_allocations",
    "android_dma_allocations",
];

/// List D of rule TK3.
const DESCRIPTIONS: &str = "
    virt: Address space that the process has reserved, in memory or not
    rss: Memory of the process that is in RAM: the sum of its files, its anonymous and its shared memory
    rss.anon: Anonymous memory of the process in RAM: heaps, stacks and other memory without a file
    rss.file: Pages of mapped files that the process has in RAM
    rss.shmem: Shared memory of the process in RAM, without files on a disk
    swap: Anonymous memory of the process that is swapped out, before any compression
    locked: Memory of the process that must stay in RAM
    rss.watermark: The most memory that the process ever had in RAM
    dmabuf_rss: Buffers for devices (dma-buf) that the process holds
    unreclaimable: Memory of the process that the kernel cannot reclaim
    unknown: Memory of a kind that has no name here";

/// The dimensions of a track.
pub fn dimensions(track: &Track) -> Args {
    let mut args = Args::default();
    let mut int = |key, value: i64| args.say(key, Said::Int(value));
    match track.of {
        TrackOwner::Thread(utid) => int("utid", utid as i64),
        TrackOwner::Process(upid) => int("upid", upid as i64),
        TrackOwner::ProcessOnGpu(upid, gpu) => {
            int("upid", upid as i64);
            int("gpu", gpu);
        }
        TrackOwner::Cpu(_, cpu) => int("cpu", cpu.into()),
        TrackOwner::Gpu(_, gpu) => int("gpu", gpu),
        TrackOwner::Machine(_) => {}
    }
    if LANES.contains(&&*track.kind) {
        int("track_compressor_idx", track.number.0 as i64);
    }
    let mut forms = NAMES.lines().filter_map(|line| line.trim().split_once(": "));
    let form = forms.rfind(|(kind, _)| *kind == track.kind);
    if let (Some((_, form)), Some(name)) = (form, &track.name) {
        told_by_name(form, name, &mut args);
    }
    for (key, said) in &track.told.0 {
        args.say(key, said.clone());
    }
    args
}

/// The dimensions that a name of this form has.
fn told_by_name(form: &str, name: &str, args: &mut Args) {
    let Some(start) = form.find(['{', '<', '#']) else {
        return;
    };
    let name = name.strip_prefix(&form[..start]).unwrap();
    let rest = &form[start..];
    if let Some(rest) = rest.strip_prefix('#') {
        return told_by_name(rest, name.trim_start_matches(char::is_numeric), args);
    }
    let (key, rest) = rest[1..].split_once(['}', '>']).unwrap();
    let until = rest.split(['{', '<']).next().unwrap();
    let end = match until {
        "" => name.len(),
        until if rest.contains(['{', '<']) => name.find(until).unwrap(),
        until => name.rfind(until).unwrap(),
    };
    let said = match &form[start..=start] {
        "<" => Said::Int(name[..end].parse().unwrap()),
        _ => Said::text(&name[..end]),
    };
    args.say(key, said);
    told_by_name(rest, &name[end..], args);
}

/// The description of a track (TK3).
pub fn description(track: &Track) -> Option<String> {
    let key = track.name.as_deref()?.strip_prefix("mem.")?;
    if track.kind != "process_memory" {
        return None;
    }
    let mut lines = DESCRIPTIONS.lines().filter_map(|line| line.trim().split_once(": "));
    let found = lines.rfind(|(of, _)| *of == key);
    found.map(|(_, description)| description.to_owned())
}

/// The source arguments of TK3, in addition to those of other rules.
pub fn source(track: &Track, args: &mut Args) {
    if let Some(description) = description(track) {
        args.say("description", Said::text(&description));
    }
    for (key, said) in &track.source.0 {
        args.say(key, said.clone());
    }
}
