//! Counters of kernel events (rule M2): frequencies, idle states, clocks,
//! temperatures, memory of drivers.

use timebase_schema::fields::{
    cdev_update_ftrace_event as cdev_update, clock_enable_ftrace_event as clock_enable,
    clock_set_rate_ftrace_event as clock_set_rate, cpu_frequency_ftrace_event as cpu_frequency,
    cpu_frequency_limits_ftrace_event as limits, dma_heap_stat_ftrace_event as dma_heap_stat,
    ftrace_event as field, generic_gpu_frequency_event as generic_gpu,
    generic_kernel_cpu_frequency_event as generic_cpu, gpu_frequency_ftrace_event as gpu_frequency,
    ion_heap_grow_ftrace_event as ion_heap_grow, ion_stat_ftrace_event as ion_stat,
    kgsl_gpu_frequency_ftrace_event as kgsl_gpu_frequency,
    thermal_temperature_ftrace_event as thermal_temperature,
};

use super::series::{CounterSample, CounterType};
use crate::arguments::{ArgBuf, ArgValue};
use crate::message::Message;
use crate::world::{Owner, Utid};

/// The kernel events with such values.
pub(super) const EVENTS: &[u32] = &[
    field::CPU_FREQUENCY,
    field::CPU_FREQUENCY_LIMITS,
    field::CPU_IDLE,
    field::CLOCK_ENABLE,
    field::CLOCK_DISABLE,
    field::CLOCK_SET_RATE,
    field::ION_HEAP_SHRINK,
    field::ION_HEAP_GROW,
    field::GPU_FREQUENCY,
    field::ION_STAT,
    field::THERMAL_TEMPERATURE,
    field::CDEV_UPDATE,
    field::DMA_HEAP_STAT,
    field::KGSL_GPU_FREQUENCY,
];

pub(super) const CPU_FREQUENCY: CounterType = CounterType::new("cpu_frequency");
pub(super) const CLOCK_FREQUENCY: CounterType = CounterType::new("clock_frequency");
pub(super) const GPU_FREQUENCY: CounterType = CounterType::with_unit("gpu_frequency", "kHz");
const CPU_IDLE: CounterType = CounterType::new("cpu_idle");
const MAX_LIMIT: CounterType = CounterType::new("cpu_max_frequency_limit");
const MIN_LIMIT: CounterType = CounterType::new("cpu_min_frequency_limit");
const CLOCK_STATE: CounterType = CounterType::new("clock_state");
const TEMPERATURE: CounterType = CounterType::new("thermal_temperature");
const COOLING: CounterType = CounterType::new("cooling_device_counter");
const ION: CounterType = CounterType::new("ion");
const ION_CHANGE: CounterType = CounterType::new("ion_change");
const DMA_HEAP: CounterType = CounterType::new("android_dma_heap");
const DMA_HEAP_CHANGE: CounterType = CounterType::new("android_dma_heap_change");

/// Takes the values of an event.
pub(super) fn event(
    field: u32,
    message: Message<'_>,
    emitter: Utid,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    match field {
        field::CPU_FREQUENCY => of_cpu(&CPU_FREQUENCY, "cpufreq", message, sample),
        field::CPU_IDLE => of_cpu(&CPU_IDLE, "cpuidle", message, sample),
        field::CPU_FREQUENCY_LIMITS => limits(message, sample),
        field::CLOCK_SET_RATE => {
            let name = message.bytes(clock_set_rate::NAME).unwrap_or_default();
            clock_frequency(name, message.number(clock_set_rate::STATE), sample);
        }
        field::CLOCK_ENABLE | field::CLOCK_DISABLE => {
            let (name, state) =
                (message.bytes(clock_enable::NAME), message.number(clock_enable::STATE));
            let value = state.unwrap_or(0) as f64;
            of_device(&CLOCK_STATE, name, "State", value, sample);
        }
        field::GPU_FREQUENCY => {
            let state = number(message, gpu_frequency::STATE);
            gpu_frequency(message.small(gpu_frequency::GPU_ID), state, sample);
        }
        field::KGSL_GPU_FREQUENCY => {
            let frequency = number(message, kgsl_gpu_frequency::GPU_FREQ) * 1000.0;
            gpu_frequency(message.small(kgsl_gpu_frequency::GPU_ID), frequency, sample);
        }
        field::THERMAL_TEMPERATURE => {
            let temperature =
                f64::from(message.small(thermal_temperature::TEMP).unwrap_or(0) as i32);
            let zone = message.bytes(thermal_temperature::THERMAL_ZONE).unwrap_or_default();
            let name = String::from_utf8_lossy(zone);
            let which = [("thermal_zone", zone.into())];
            let name = format_args!("{name} Temperature");
            sample.put_global(&TEMPERATURE, &which, name, temperature);
        }
        field::CDEV_UPDATE => {
            let target = message.number(cdev_update::TARGET).unwrap_or(0) as f64;
            of_device(&COOLING, message.bytes(cdev_update::TYPE), "Cooling Device", target, sample);
        }
        field::ION_STAT => {
            let change = message.number(ion_stat::LEN).unwrap_or(0) as i64 as f64;
            let total = message.number(ion_stat::TOTAL_ALLOCATED).unwrap_or(0) as f64;
            ion(None, total, change, emitter, sample);
        }
        field::ION_HEAP_GROW | field::ION_HEAP_SHRINK => {
            let size = i128::from(message.number(ion_heap_grow::LEN).unwrap_or(0));
            let change = match field {
                field::ION_HEAP_GROW => size,
                _ => -size,
            };
            let before =
                i128::from(message.number(ion_heap_grow::TOTAL_ALLOCATED).unwrap_or(0) as i64);
            let heap = message.bytes(ion_heap_grow::HEAP_NAME).unwrap_or(b"unknown");
            ion(Some(heap), (before + change) as f64, change as f64, emitter, sample);
        }
        field::DMA_HEAP_STAT => dma_heap(message, emitter, sample),
        _ => {}
    }
}

/// A number of 32 bits.
fn number(message: Message<'_>, field: u32) -> f64 {
    message.small(field).unwrap_or(0).into()
}

/// Writes a value of the CPU that the event names.
fn of_cpu(
    counter: &CounterType,
    name: &str,
    message: Message<'_>,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    if let Some(cpu) = sample.cpu(message.small(cpu_frequency::CPU_ID).unwrap_or(0)) {
        let state = number(message, cpu_frequency::STATE);
        sample.put(counter, cpu, &[], format_args!("{name}"), state);
    }
}

fn limits(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let number_of_cpu = message.small(limits::CPU_ID).unwrap_or(0);
    let Some(cpu) = sample.cpu(number_of_cpu) else {
        return;
    };
    for (counter, field, which) in
        [(&MAX_LIMIT, limits::MAX_FREQ, "Max"), (&MIN_LIMIT, limits::MIN_FREQ, "Min")]
    {
        let name = format_args!("Cpu {number_of_cpu} {which} Freq Limit");
        sample.put(counter, cpu, &[], name, number(message, field));
    }
}

/// Writes the frequency of a clock, which `sys_stats` has too.
pub(super) fn clock_frequency(
    name: &[u8],
    value: Option<u64>,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    let value = value.unwrap_or(0) as f64;
    of_device(&CLOCK_FREQUENCY, Some(name), "Frequency", value, sample);
}

/// Writes a value of the device that the event names.
fn of_device(
    counter: &CounterType,
    name: Option<&[u8]>,
    what: &str,
    value: f64,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    let which = name.unwrap_or_default();
    let name = String::from_utf8_lossy(which);
    sample.put_global(
        counter,
        &[("linux_device", which.into())],
        format_args!("{name} {what}"),
        value,
    );
}

/// Writes the frequency of a GPU, which `sys_stats` has too.
pub(super) fn gpu_frequency(gpu: Option<u32>, khz: f64, sample: &mut CounterSample<'_, '_, '_>) {
    let gpu = sample.gpu(gpu.unwrap_or(0));
    sample.put(&GPU_FREQUENCY, gpu, &[], format_args!("gpufreq"), khz);
}

/// Writes the frequency of a CPU of a kernel that is not Linux (rule GK6).
pub(super) fn generic_cpu_frequency(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    if let Some(cpu) = sample.cpu(message.small(generic_cpu::CPU).unwrap_or(0)) {
        let hertz = message.number(generic_cpu::FREQ_HZ).unwrap_or(0) as i64;
        let name = format_args!("cpufreq");
        sample.put(&CPU_FREQUENCY, cpu, &[], name, hertz as f64 / 1000.0);
    }
}

/// Writes the frequency of a GPU of such a kernel.
pub(super) fn generic_gpu_frequency(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    gpu_frequency(
        message.small(generic_gpu::GPU_ID),
        number(message, generic_gpu::FREQUENCY_KHZ),
        sample,
    );
}

/// Writes the size of a heap of the ION allocator, or of all its heaps, and the change of the size.
fn ion(
    heap: Option<&[u8]>,
    total: f64,
    change: f64,
    emitter: Utid,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    let which = &[("heap_name", heap.into())];
    let heap = heap.unwrap_or_default();
    let heap_name = String::from_utf8_lossy(heap);
    let dot = if heap.is_empty() { "" } else { "." };
    sample.put_global(&ION, which, format_args!("mem.ion{dot}{heap_name}"), total);
    let name = format_args!("mem.ion_change{dot}{heap_name}");
    sample.put(&ION_CHANGE, Owner::Thread(emitter), which, name, change);
}

fn dma_heap(message: Message<'_>, emitter: Utid, sample: &mut CounterSample<'_, '_, '_>) {
    let total = message.number(dma_heap_stat::TOTAL_ALLOCATED).unwrap_or(0) as f64;
    sample.put_global(&DMA_HEAP, &[], format_args!("mem.dma_heap"), total);
    let change = message.number(dma_heap_stat::LEN).unwrap_or(0) as i64 as f64;
    let inode = ArgValue::Uint(message.number(dma_heap_stat::INODE).unwrap_or(0));
    let mut args = ArgBuf::default();
    args.push("inode", inode, &mut sample.at.world.definitions.names);
    let (owner, name) = (Owner::Thread(emitter), format_args!("mem.dma_heap_change"));
    let track = sample.track(&DMA_HEAP_CHANGE, owner, &[], name);
    sample.put_on(track, change, args.as_bytes());
}
