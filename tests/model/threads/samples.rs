//! Batteries, power rails, properties, the display (M9, M10, M13).

use super::args::Said;
use super::machines::Machine;
use super::packets::Read;
use super::prints;
use super::tracks::{Track, TrackOwner};
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

impl World<'_> {
    /// M9
    pub fn battery(&mut self, machine: Machine, time: i64, battery: &Message) {
        let all = TrackOwner::Machine(machine);
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
        let capacity = battery.number(2).map(|bits| f32::from_bits(bits as u32).into());
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
        let mut track =
            Track { session, ..Track::named("power_rails", &name, TrackOwner::Machine(machine)) }
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

    /// M13
    pub fn properties(&mut self, machine: Machine, time: i64, properties: &Message) {
        let all = TrackOwner::Machine(machine);
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
        self.at(time).push(TrackOwner::Machine(machine), "screen_state", "ScreenState", state);
    }
}
