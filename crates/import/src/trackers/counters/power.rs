//! Batteries and power rails (rules M9, M10).

use timebase_schema::fields::battery_counters as battery;

use super::series::{CounterSample, CounterType};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::{Rail, RailIndex};
use crate::message::Message;
use crate::timeline::Energy;
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, TrackId};

const BATTERY: CounterType = CounterType::new("battery_counter");

/// Takes the values of a `BatteryCounters`.
pub(super) fn battery(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    let of = message.bytes(battery::NAME);
    let name = String::from_utf8_lossy(of.unwrap_or_default());
    let dot = if name.is_empty() { "" } else { "." };
    let signed = |field| message.number(field).map(|value| value as i64);
    let (current, voltage) = (signed(battery::CURRENT_UA), signed(battery::VOLTAGE_UV));
    let charge = signed(battery::CHARGE_COUNTER_UAH).map(i128::from);
    let values = [
        (
            "charge_uah",
            charge
                .or_else(|| by_energy(signed(battery::ENERGY_COUNTER_UWH)?, voltage?))
                .map(|charge| charge as f64),
        ),
        ("capacity_pct", message.float(battery::CAPACITY_PERCENT)),
        ("current_ua", current.map(|current| current as f64)),
        ("current.avg_ua", signed(battery::CURRENT_AVG_UA).map(|current| current as f64)),
        ("voltage_uv", voltage.map(|voltage| voltage as f64)),
        ("power_mw", current.zip(voltage).map(power)),
    ];
    for (what, value) in values {
        if let Some(value) = value {
            let which = [("battery_name", of.into()), ("counter_name", what.into())];
            let name = format_args!("batt.{name}{dot}{what}");
            sample.put_global(&BATTERY, &which, name, value);
        }
    }
}

/// The charge in µAh, from the energy in µWh and the voltage in µV.
fn by_energy(energy: i64, voltage: i64) -> Option<i128> {
    (voltage > 0).then(|| i128::from(energy) * 1_000_000 / i128::from(voltage))
}

/// The power in mW, from the current in µA and the voltage in µV. The power has no sign, whether or
/// not the battery is charged.
fn power((current, voltage): (i64, i64)) -> f64 {
    (i128::from(current) * i128::from(voltage) / 1_000_000_000).abs() as f64
}

/// The tracks of power rails.
#[derive(Debug, Default)]
pub(super) struct PowerRails(Vec<TrackId>);

impl PowerRails {
    /// Makes a track for each rail with a description.
    pub fn begin(&mut self, at: &mut TrackerContext<'_, '_>) {
        let (machine, tracks) = (at.world.part.machine, &mut at.world.tracks);
        let Some(of_part) = at.world.definitions.parts.get(at.world.part.part) else {
            return;
        };
        let rails = &of_part.rails;
        self.0.extend(rails.iter().map(|rail| {
            let name = rail_name(rail);
            // Rails with equal names have separate tracks.
            let track = NewTrack::counter(machine, "power_rails", &name, Owner::None)
                .with("name", &*rail.name)
                .with("session_uuid", rail.session as i64)
                .with_source("raw_name", &*rail.name);
            tracks.add(match rail.subsystem.as_deref() {
                None => track,
                subsystem => track.with_source("subsystem_name", subsystem),
            })
        }));
    }

    /// Writes the energy that has gone through a rail. Writes nothing for a rail without a
    /// description.
    pub fn sample(&self, ts: i64, energy: &Energy, at: &mut TrackerContext<'_, '_>) {
        let index = RailIndex { session: energy.session, index: energy.index };
        let rail = at.world.statements().and_then(|of| of.rails.number(index));
        if let Some(&track) = rail.and_then(|rail| self.0.get(rail)) {
            let mut args = ArgBuf::default();
            if let Some(ts) = energy.packet_ts {
                let names = &mut at.world.definitions.names;
                args.push("packet_ts", ArgValue::Uint(ts as u64), names);
            }
            let args = at.world.arg_set(args.as_bytes(), at.rows);
            at.world.value(ts, track, energy.energy as f64, args, at.rows);
        }
    }
}

/// List R of rule M10: the ends of names, and the names for them.
const NICE: &[(&str, &str)] = &[
    ("M_VDD_CPUCL0", "cpu.little"),
    ("M_VDD_CPUCL0_M", "cpu.little.mem"),
    ("M_VDD_CPUCL1", "cpu.mid"),
    ("M_VDD_CPUCL1_M", "cpu.mid.mem"),
    ("M_VDD_CPUCL2", "cpu.big"),
    ("M_VDD_INT", "system.fabric"),
    ("M_VDD_TPU", "tpu"),
    ("VSYS_PWR_DISP", "display"),
    ("VSYS_PWR_DISPLAY", "display"),
    ("M_DISP", "ldo.main.a.display"),
    ("VSYS_PWR_MODEM", "modem"),
    ("M_VDD_MIF", "memory.interface"),
    ("VSYS_PWR_WLAN_BT", "wifi.bt"),
    ("VSYS_PWR_MMWAVE", "mmwave"),
    ("S_VDD_AOC_RET", "aoc.memory"),
    ("S_VDD_AOC", "aoc.logic"),
    ("S_VDDQ_MEM", "ddr.a"),
    ("S_VDD2L", "ddr.b"),
    ("S_VDD2L_MEM", "ddr.b"),
    ("S_VDD2H_MEM", "ddr.c"),
    ("S_VDD_G3D", "gpu"),
    ("S_VDD_G3D_L2", "gpu.l2"),
    ("S_GNSS_CORE", "gps"),
    ("VSYS_PWR_RFFE", "radio.frontend"),
    ("VSYS_PWR_CAMERA", "camera"),
    ("S_VDD_CAM", "multimedia"),
    ("S_UDFPS", "udfps"),
    ("S_PLL_MIPI_UFS", "ufs"),
    ("M_LLDO1", "ldo.main.a"),
    ("M_LLDO2", "ldo.main.b"),
    ("S_LLDO1", "ldo.sub"),
];

fn rail_name(rail: &Rail) -> String {
    let name = &*rail.name;
    match NICE.iter().find(|(end, _)| name.ends_with(end)) {
        Some((_, nice)) => format!("power.rails.{nice}"),
        None => format!("power.{name}_uws"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m9_quotients_are_truncated_and_do_not_overflow() {
        assert_eq!(by_energy(11, 4_000_000), Some(2));
        assert_eq!(by_energy(-11, 4_000_000), Some(-2));
        assert_eq!(by_energy(11, 0), None);
        assert_eq!(by_energy(i64::MAX, 1), Some(i128::from(i64::MAX) * 1_000_000));
        assert_eq!(power((-412_000, 4_100_000)), 1689.0);
        assert_eq!(power((i64::MIN, i64::MIN)), 2f64.powi(126) / 1e9);
    }

    #[test]
    fn m10_rails_have_nice_names_by_how_they_end() {
        let name = |name: &str| rail_name(&Rail { session: 0, name: name.into(), subsystem: None });
        assert_eq!(name("S2S_VDD_G3D"), "power.rails.gpu");
        assert_eq!(name("S2S_VDD_G3D_L2"), "power.rails.gpu.l2");
        assert_eq!(name("S9S_VDD_AOC_RET"), "power.rails.aoc.memory");
        assert_eq!(name("PPVAR_VSYS_PWR_DISP"), "power.rails.display");
        assert_eq!(name("VSYS_PWR_MODEM_2"), "power.VSYS_PWR_MODEM_2_uws");
        assert_eq!(name(""), "power._uws");
    }
}
