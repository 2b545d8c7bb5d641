//! Machines and their CPUs (rules H1 to H3, H7).

use std::collections::{BTreeMap, BTreeSet};

use timebase_schema::tables::{cpu_available_frequencies, cpu_record, machine};

use crate::arguments::{ArgBuf, ArgValue};
pub(crate) use crate::definitions::{CPUS, ucpu};
use crate::definitions::{CpuInfo, Machine, Machines, Names};
use crate::output::{Cell, Rows};

/// The CPUs that packets or events mention.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    seen: BTreeSet<u32>,
    last: Option<u32>,
}

impl Cpus {
    /// Notes that a CPU is mentioned.
    #[inline]
    pub fn see(&mut self, ucpu: u32) {
        if self.last != Some(ucpu) {
            self.last = Some(ucpu);
            self.seen.insert(ucpu);
        }
    }

    /// Makes a row for each CPU, with the fields of `cpu_info`. `set` gives the number of a set of
    /// arguments.
    pub(super) fn end(
        &mut self,
        machines: &Machines,
        names: &mut Names,
        mut set: impl FnMut(&[u8], &Names, &mut Rows<'_>) -> Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        let mut args = ArgBuf::default();
        let mut known: BTreeMap<u32, (&CpuInfo, i64)> = BTreeMap::new();
        for (id, machine) in (0..).zip(machines.iter()) {
            for (cpu, (info, cluster)) in (0..).zip(machine.cpus.iter().zip(clusters(machine))) {
                if let Some(ucpu) = ucpu(id, cpu) {
                    self.seen.insert(ucpu);
                    known.insert(ucpu, (info, cluster));
                }
            }
        }
        for &ucpu in &self.seen {
            let (info, cluster) = known.get(&ucpu).copied().unzip();
            let processor = info.and_then(|info| info.processor.as_deref());
            let processor = rows.optional_text(processor.filter(|name| !name.is_empty()));
            args.clear();
            if let Some(info) = info {
                describe(info, &mut args, names);
            }
            let arg_set_id = set(args.as_bytes(), names, rows);
            rows.push(cpu_record::Row {
                id: Cell::from(ucpu),
                cpu: Cell::from(ucpu % CPUS),
                cluster_id: Cell::from(cluster.unwrap_or(0)),
                processor,
                machine_id: Cell::from(ucpu / CPUS),
                capacity: Cell::or_null(info.and_then(|info| info.capacity)),
                arg_set_id: Cell::or_null(arg_set_id),
            });
            for &freq in info.into_iter().flat_map(|info| &info.frequencies) {
                let id = rows.count(&cpu_available_frequencies::TABLE);
                rows.push(cpu_available_frequencies::Row {
                    id: Cell::from(id),
                    cpu: Cell::from(ucpu % CPUS),
                    freq: Cell::from(freq),
                    ucpu: Cell::from(ucpu),
                });
            }
        }
    }
}

/// The kind of a CPU (rule H7).
fn describe(info: &CpuInfo, args: &mut ArgBuf, names: &mut Names) {
    const ARM: [&str; 5] = [
        "arm_cpu_implementer",
        "arm_cpu_architecture",
        "arm_cpu_variant",
        "arm_cpu_part",
        "arm_cpu_revision",
    ];
    const FEATURES: [(u64, &str); 2] = [(1, "cpu_features.mte"), (2, "cpu_features.mte3")];
    for (key, number) in ARM.into_iter().zip(info.arm.into_iter().flatten()) {
        args.push(key, ArgValue::Uint(number.into()), names);
    }
    for (bit, key) in FEATURES {
        if info.features & bit != 0 {
            args.push(key, ArgValue::Bool(true), names);
        }
    }
    if info.features != 0 {
        let bits = ArgValue::Uint(info.features);
        args.push("cpu_features.raw_bitmap", bits, names);
    }
}

/// The cluster of each CPU of a machine (rule H3): by capacity, or by frequency.
fn clusters(machine: &Machine) -> Vec<i64> {
    let ranks = |of: &dyn Fn(&CpuInfo) -> Option<u32>| -> Option<Vec<i64>> {
        let values: Vec<u32> = machine.cpus.iter().map(of).collect::<Option<_>>()?;
        let different: BTreeSet<u32> = values.iter().copied().collect();
        let rank = |value: &u32| different.iter().take_while(|other| *other < value).count() as i64;
        Some(values.iter().map(rank).collect())
    };
    ranks(&|cpu| cpu.capacity)
        .or_else(|| ranks(&|cpu| cpu.frequencies.iter().max().copied()))
        .unwrap_or_else(|| vec![0; machine.cpus.len()])
}

/// Makes a row for each machine (rules H1, X11).
pub(crate) fn rows(machines: &Machines, rows: &mut Rows<'_>) {
    for (id, known) in (0i64..).zip(machines.iter()) {
        let system = &known.system;
        let ram = system.system_ram_bytes;
        let name = rows.optional_text(known.name());
        let [sysname, release, version, arch] =
            [&system.sysname, &system.release, &system.version, &system.machine]
                .map(|text| rows.optional_text(text.as_deref()));
        let fingerprint = rows.optional_text(system.android_build_fingerprint.as_deref());
        let manufacturer = rows.optional_text(system.android_device_manufacturer.as_deref());
        rows.push(machine::Row {
            id: Cell::from(id),
            raw_id: Cell::from(known.raw_id),
            name,
            sysname,
            release,
            version,
            arch,
            num_cpus: Cell::or_null(system.num_cpus),
            android_build_fingerprint: fingerprint,
            android_device_manufacturer: manufacturer,
            android_sdk_version: Cell::or_null(system.android_sdk_version),
            system_ram_bytes: Cell::or_null(ram),
            system_ram_gb: Cell::or_null(ram.map(gigabytes)),
            packets: Cell::from(known.packets as i64),
            first_ts: Cell::or_null(known.times.map(|(first, _)| first)),
            last_ts: Cell::or_null(known.times.map(|(_, last)| last)),
        });
    }
}

/// Rounded to a multiple of 10⁹, in units of 10⁹.
fn gigabytes(bytes: i64) -> i64 {
    const GIGA: i64 = 1_000_000_000;
    bytes.saturating_add(GIGA / 2).div_euclid(GIGA)
}
