//! Batteries, power rails, GPUs, properties, the display (M9 to M13).

use super::args::Said;
use super::machines::Machine;
use super::packets::Read;
use super::prints;
use super::tracks::{Aside, Of, Track};
use super::wire::Message;
use super::world::World;

/// List R
const RAILS: &str = "M_VDD_CPUCL0 cpu.little · M_VDD_CPUCL0_M cpu.little.mem · \
    M_VDD_CPUCL1 cpu.mid · M_VDD_CPUCL1_M cpu.mid.mem · M_VDD_CPUCL2 cpu.big · \
    M_VDD_INT system.fabric · M_VDD_TPU tpu · VSYS_PWR_DISP display · VSYS_PWR_DISPLAY display · \
    M_DISP ldo.main.a.display · VSYS_PWR_MODEM modem · M_VDD_MIF memory.interface · \
    VSYS_PWR_WLAN_BT wifi.bt · VSYS_PWR_MMWAVE mmwave · S_VDD_AOC_RET aoc.memory · \
    S_VDD_AOC aoc.logic · S_VDDQ_MEM ddr.a · S_VDD2L ddr.b · S_VDD2L_MEM ddr.b · \
    S_VDD2H_MEM ddr.c · S_VDD_G3D gpu · S_VDD_G3D_L2 gpu.l2 · S_GNSS_CORE gps · \
    VSYS_PWR_RFFE radio.frontend · VSYS_PWR_CAMERA camera · S_VDD_CAM multimedia · \
    S_UDFPS udfps · S_PLL_MIPI_UFS ufs · M_LLDO1 ldo.main.a · M_LLDO2 ldo.main.b · \
    S_LLDO1 ldo.sub";

/// List U, from 1 on.
const UNITS: &str = "bit Kb Mb Gb Tb Pb B KB MB GB TB PB Hz KHz MHz GHz THz PHz ns us ms s min h \
    Vertex Pixel Triangle mW W kW J V A C F K % Primitive Fragment Instruction";

fn unit_name(number: u64) -> &'static str {
    match usize::try_from(number) {
        Ok(0) => "",
        Ok(n) => UNITS.split_whitespace().nth(n - 1).unwrap_or("Unknown"),
        Err(_) => "Unknown",
    }
}

/// M11
fn unit(spec: &Message) -> Option<String> {
    let names = |field| spec.numbers(field).into_iter().map(unit_name);
    let denominators: Vec<&str> = names(8).filter(|name| !name.is_empty()).collect();
    let is_said = spec.has(7) || spec.has(8);
    let mut unit = String::new();
    for name in names(7) {
        if !unit.is_empty() {
            unit.push(':');
        }
        unit += name;
    }
    if !denominators.is_empty() {
        unit = format!("{unit}/{}", denominators.join(":"));
    }
    is_said.then_some(unit)
}

/// A counter of a GPU.
struct GpuCounter {
    spec: Message,
    gpu: i64,
}

impl World<'_> {
    /// M9
    pub fn battery(&mut self, machine: Machine, time: i64, battery: &Message) {
        let all = Of::Machine(machine);
        let prefix = match battery.text(5).filter(|name| !name.is_empty()) {
            Some(name) => format!("batt.{name}"),
            None => "batt".to_owned(),
        };
        let signed = |field| battery.number(field).map(u64::cast_signed);
        let voltage = signed(7);
        let from_energy = || {
            let voltage = voltage.filter(|voltage| *voltage > 0)?;
            Some((i128::from(signed(6)?) * 1_000_000 / i128::from(voltage)) as f64)
        };
        let charge = signed(1).map(|charge| charge as f64).or_else(from_energy);
        let capacity = battery
            .number(2)
            .map(|bits| f32::from_bits(bits as u32).into());
        let power = || {
            let power = i128::from(signed(3)?) * i128::from(voltage?) / 1_000_000_000;
            Some(power.abs() as f64)
        };
        let values = [
            ("charge_uah", charge),
            ("capacity_pct", capacity),
            ("current_ua", signed(3).map(|v| v as f64)),
            ("current.avg_ua", signed(4).map(|v| v as f64)),
            ("voltage_uv", voltage.map(|v| v as f64)),
            ("power_mw", power()),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                let track = Track::named("battery_counter", &format!("{prefix}.{name}"), all)
                    .told("battery_name", battery.text(5))
                    .told("counter_name", Some(name.to_owned()));
                self.counters.push(track, time, value);
            }
        }
    }

    /// M10
    pub fn energy(
        &mut self,
        (machine, raw_id): (Machine, u32),
        (time, session): (i64, u64),
        data: &Message,
    ) {
        const RAILS_AT_MOST: i64 = 256;
        let index = data.id(1);
        if !data.has(1) || index > RAILS_AT_MOST {
            return;
        }
        let of_machine = self.packets.trusted(Read::POWER_RAILS);
        let of_session =
            of_machine.filter(|(of, _, rails)| (*of, rails.unsigned(3)) == (raw_id, session));
        let descriptors = of_session.flat_map(|(.., rails)| rails.messages(1));
        let Some(rail) = descriptors.filter(|rail| rail.id(1) == index).last() else {
            return;
        };
        // The first descriptor of the rail describes its track.
        let called = rail.text(2).unwrap_or_default();
        let of_machine = self.packets.trusted(Read::POWER_RAILS);
        let of_session =
            of_machine.filter(|(of, _, rails)| (*of, rails.unsigned(3)) == (raw_id, session));
        let mut all = of_session.flat_map(|(.., rails)| rails.messages(1));
        let first = all.find(|other| {
            other.id(1) <= RAILS_AT_MOST && other.text(2).unwrap_or_default() == called
        });
        let subsystem = first.and_then(|first| first.text(3));
        let rail = called;
        let mut nice = RAILS.split(" · ").filter_map(|line| line.split_once(' '));
        let name = match nice.find(|(end, _)| rail.ends_with(end)) {
            Some((_, name)) => format!("power.rails.{name}"),
            None => format!("power.{rail}_uws"),
        };
        let energy = data.unsigned(3) as f64;
        let mut track = Track {
            session,
            ..Track::named("power_rails", &name, Of::Machine(machine))
        }
        .told("name", Some(rail.clone()));
        let session = Said::Int(session.cast_signed());
        track.told.0.push(("session_uuid", session));
        track.source.0 = vec![("raw_name", Said::text(&rail))];
        if let Some(subsystem) = subsystem {
            let subsystem = ("subsystem_name", Said::text(&subsystem));
            track.source.0.push(subsystem);
        }
        self.counters.push(track, time, energy);
    }

    /// The counters of a packet's samples, by their counter_id (M11).
    fn gpu_counter(&self, raw_id: u32, sample: usize, id: i64) -> Option<GpuCounter> {
        let (_, event) = self.packets.all[sample].payload.as_ref()?;
        let Some(iid) = event.number(4) else {
            let of_machine = self.packets.trusted(Read::GPU_COUNTERS);
            let of_machine = of_machine.filter(|packet| packet.0 == raw_id);
            let mut found = of_machine.flat_map(|(.., event)| {
                let specs = event.message(1).unwrap_or_default().messages(1);
                specs.into_iter().map(|spec| (spec, event.id(3)))
            });
            let (spec, gpu) = found.find(|(spec, _)| spec.id(1) == id)?;
            return Some(GpuCounter { spec, gpu });
        };
        let mut declaring = (0..self.packets.all.len()).filter_map(|other| {
            let packet = &self.packets.all[other];
            let (field, event) = packet.payload.as_ref()?;
            let refers = *field == Read::GPU_COUNTERS && event.number(4) == Some(iid);
            let is_same = self.packets.is_same_interval(sample, other);
            if !is_same || !refers || packet.distrusted {
                return None;
            }
            self.packets.interned_until(other + 1, other, 47, iid)
        });
        let declared = declaring.next()?;
        let specs = declared.message(2)?.messages(1);
        let spec = specs.into_iter().find(|spec| spec.id(1) == id)?;
        let gpu = declared.id(3);
        Some(GpuCounter { spec, gpu })
    }

    /// M11
    pub fn gpu_counters(
        &mut self,
        (machine, raw_id): (Machine, u32),
        (time, packet): (i64, usize),
        event: &Message,
    ) {
        const FORWARDS_LOOKING: u64 = 2;
        for sample in event.messages(2) {
            let Some(counter) = self.gpu_counter(raw_id, packet, sample.id(1)) else {
                continue;
            };
            let value = match (sample.has(2), sample.number(3)) {
                (true, _) => sample.signed(2) as f64,
                (false, bits) => f64::from_bits(bits.unwrap_or(0)),
            };
            let of = Of::Gpu(machine, counter.gpu);
            let name = counter.spec.text(2).unwrap_or_default();
            let description = counter.spec.text(3);
            let said = Said::String(description.clone());
            let track = Track {
                unit: unit(&counter.spec),
                source: Aside(vec![("description", said)]),
                description: Aside(description),
                ..Track::named("gpu_counter", &name, of)
            };
            let is_before = counter.spec.unsigned(11) != FORWARDS_LOOKING;
            if is_before {
                let rows = self.counters.0.iter_mut();
                let mut of_track = rows.filter(|row| row.track == track);
                if let Some(row) = of_track.next_back() {
                    row.value = value;
                }
            }
            let value = if is_before { 0.0 } else { value };
            self.counters.push(track, time, value);
        }
    }

    /// M12
    pub fn gpu_memory(&mut self, machine: Machine, time: i64, event: &Message) {
        let (gpu, pid) = (event.id(1), event.id(2));
        let (of, kind) = if pid == 0 {
            (Of::Gpu(machine, gpu), "gpu_memory")
        } else {
            self.processes.bind(machine, pid, pid);
            let upid = self.processes.process(machine, pid);
            (Of::ProcessOnGpu(upid, gpu), "process_gpu_memory")
        };
        let size = event.unsigned(3) as f64;
        self.at(time)
            .with_unit(of, kind, "GPU Memory", "bytes", size);
    }

    /// M13
    pub fn properties(&mut self, machine: Machine, time: i64, properties: &Message) {
        let all = Of::Machine(machine);
        for property in properties.messages(1) {
            let whole = property.text(1).unwrap_or_default();
            let text = property.text(2).unwrap_or_default();
            let Some(name) = whole.strip_prefix("debug.tracing.") else {
                continue;
            };
            if name == "device_state" {
                let track = Track::named("android_device_state", "DeviceStateChanged", all);
                self.slices.instant_on_lane(time, &track, &text);
                continue;
            }
            let Some(value) = prints::signed(&text) else {
                continue;
            };
            let (kind, name) = match name {
                "screen_state" => ("screen_state", "ScreenState"),
                name if name.starts_with("battery_stats.") => ("battery_stats", name),
                "mcc" | "mnc" | "desktop_mode_visible_tasks" => ("sysprop_counter", name),
                "battery_status" => ("sysprop_counter", "BatteryStatus"),
                "plug_type" => ("sysprop_counter", "PlugType"),
                _ => continue,
            };
            let mut track = Track::named(kind, name, all);
            if kind == "sysprop_counter" {
                track = track.told("sysprop_name", Some(whole));
            }
            self.counters.push(track, time, value as f64);
        }
    }

    /// M13
    pub fn display_state(&mut self, machine: Machine, time: i64, display: &Message) {
        let state = f64::from(display.unsigned(1) as i32);
        self.at(time)
            .push(Of::Machine(machine), "screen_state", "ScreenState", state);
    }
}
