//! The steps of suspending and resuming a machine (rules KE12, KE13).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    device_pm_callback_start_ftrace_event as start, ftrace_event as event,
    suspend_resume_ftrace_event as resume,
};

use super::kernel_event::{ANY, Called, KernelEvent, fill, first_bytes, text_arg};
use crate::arguments::{ArgBuf, ArgValue};
use crate::trackers::tracker::TrackerContext;
use crate::world::{NewTrack, Owner, SetId, Utid};

pub(super) const EVENTS: &[u32] =
    &[event::SUSPEND_RESUME, event::DEVICE_PM_CALLBACK_START, event::DEVICE_PM_CALLBACK_END];

/// The type and the name of its tracks.
const TRACK: &str = "suspend_resume";
const TRACK_NAME: &str = "Suspend/Resume Latency";

/// The limit of bytes in the name of an action.
const LONGEST: usize = 63;

/// The progress of a machine on its way to sleep, because the kernel does not always report the end of
/// `suspend_enter`.
#[derive(Debug, Default)]
enum Way {
    #[default]
    Awake,
    /// In `suspend_enter`, with the cookie of its slice.
    Enters(i64),
    /// The same, and `freeze_processes` began in it.
    Freezes(i64),
}

/// Follows the steps.
#[derive(Debug, Default)]
pub(super) struct Suspend {
    ways: FxHashMap<u32, Way>,
    /// The cookies by which lanes know the names of slices.
    cookies: FxHashMap<Box<str>, i64>,
    args: ArgBuf,
}

/// The arguments of a slice.
struct Step<'a> {
    event_type: &'static str,
    device: Option<&'a str>,
    driver: Option<&'a str>,
    phase: Option<&'a str>,
}

impl Suspend {
    pub fn event(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if here.field == event::SUSPEND_RESUME {
            return self.action(here, at);
        }
        let (device, driver) = (here.text(start::DEVICE), here.text(start::DRIVER));
        let (device, driver) = (device.unwrap_or_default(), driver.unwrap_or_default());
        let name = format!("{device} {driver}");
        if here.field == event::DEVICE_PM_CALLBACK_END {
            let cookie = self.cookie(&name);
            return end(here, cookie, at);
        }
        let ops = here.text(start::PM_OPS);
        let phase = phase(here.i32(start::EVENT), ops.as_deref().unwrap_or_default());
        let step = Step {
            event_type: "Device PM Suspend Event",
            device: Some(&device),
            driver: Some(&driver),
            phase: Some(&phase),
        };
        self.begin(here, &name, &step, at);
    }

    fn action(&mut self, here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        let action = here.text(resume::ACTION).unwrap_or_default();
        let value = match &*action {
            // The value is the number of a processor, and may change until the end.
            "timekeeping_freeze" => 0,
            _ => here.i32(resume::VAL),
        };
        let name = format!("{action}({value})");
        let name = first_bytes(&name, LONGEST);
        let cookie = self.cookie(&name);
        let way = self.ways.entry(here.machine).or_default();
        if here.u32(resume::START) == 0 {
            end(here, cookie, at);
            match (&*action, &way) {
                ("suspend_enter", _) => *way = Way::Awake,
                ("thaw_processes", &&mut Way::Freezes(cookie)) => {
                    *way = Way::Awake;
                    end(here, cookie, at);
                }
                _ => {}
            }
            return;
        }
        match (&*action, &way) {
            ("suspend_enter", _) => *way = Way::Enters(cookie),
            ("freeze_processes", &&mut Way::Enters(cookie)) => *way = Way::Freezes(cookie),
            _ => {}
        }
        let step = Step {
            event_type: "Main Kernel Suspend Event",
            device: None,
            driver: None,
            phase: None,
        };
        self.begin(here, &name, &step, at);
    }

    fn cookie(&mut self, name: &str) -> i64 {
        let next = self.cookies.len() as i64;
        match self.cookies.get(name) {
            Some(&cookie) => cookie,
            None => {
                self.cookies.insert(name.into(), next);
                next
            }
        }
    }

    fn begin(
        &mut self,
        here: &KernelEvent<'_>,
        name: &str,
        step: &Step<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let cookie = self.cookie(name);
        let set = lanes(here, at);
        let Some(track) = at.world.lanes.begin(set, cookie, &mut at.world.tracks) else {
            return;
        };
        let Utid(utid) = here.emitter;
        let args = [
            ("utid", ArgValue::Uint(utid.into())),
            ("event_type", ArgValue::Text(step.event_type)),
            ("cpu", ArgValue::Uint(here.cpu.into())),
            ("device_name", text_arg(step.device)),
            ("driver_name", text_arg(step.driver)),
            ("callback_phase", text_arg(step.phase)),
        ];
        let args = fill(&mut self.args, &args, at);
        here.begin(track, Called::named(name), args, at);
    }
}

fn end(here: &KernelEvent<'_>, cookie: i64, at: &mut TrackerContext<'_, '_>) {
    let set = lanes(here, at);
    if let Some((track, _)) = at.world.lanes.end(set, cookie, &mut at.world.tracks) {
        here.end(track, ANY, &[], at);
    }
}

fn lanes(here: &KernelEvent<'_>, at: &mut TrackerContext<'_, '_>) -> SetId {
    let machine = here.machine;
    at.world.lanes.set(TRACK, &[machine.into()], "", || {
        NewTrack::slices(machine, TRACK, Some(TRACK_NAME), Owner::None)
    })
}

/// The purpose of a device callback, by the kernel's number of the event and the name of the operation.
fn phase(event: i32, ops: &str) -> String {
    let event = match event {
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
    let behind = match (event, ops) {
        ("suspend", "") => ":prepare",
        ("resume", "") => ":complete",
        (_, ops) if ops.starts_with("early") => ":early",
        (_, ops) if ops.starts_with("late") => ":late",
        (_, ops) if ops.starts_with("noirq") => ":noirq",
        _ => "",
    };
    format!("{event}{behind}")
}
