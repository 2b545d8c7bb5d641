//! Frames (FT).

use super::args::{Args, Said};
use super::machines::Machine;
use super::processes::Upid;
use super::slices::SliceId;
use super::tracks::{Row, Track, TrackId, TrackOwner};
use super::wire::Message;
use super::world::World;

/// A lane of frames of a process.
#[derive(Debug)]
struct Lane {
    upid: Upid,
    is_actual: bool,
    cookie: i64,
    open: usize,
    track: TrackId,
}

#[derive(Debug, Default)]
pub struct Frames {
    /// The meaning of each machine's cookies; the last one counts.
    cookies: Vec<(Machine, i64, Upid, bool)>,
    /// The expected surface frames so far (FT4).
    expected: Vec<(Upid, i64)>,
    lanes: Vec<Lane>,
    /// Surface frames that wait for a token of a display (FT8).
    waiting: Vec<(Machine, i64, SliceId)>,
    /// The slices of frames, whether they are actual ones, and their processes.
    pub all: Vec<(SliceId, bool, Upid)>,
    /// FT8
    pub links: Vec<(SliceId, SliceId)>,
}

impl Frames {
    pub const PACKET: u32 = 76;
}

const PARSER_ERRORS: &str = "frame_timeline_event_parser_errors";

/// The fields of both kinds of actual frames: of displays, of surfaces.
const PRESENT: [u32; 2] = [4, 6];
const ON_TIME: [u32; 2] = [5, 7];
const GPU: [u32; 2] = [6, 8];
const JANK: [u32; 2] = [7, 9];
const PREDICTION: [u32; 2] = [8, 10];
const SEVERITY: [u32; 2] = [9, 12];
const DELAY: [u32; 2] = [10, 13];
const SCORE: [u32; 2] = [11, 15];
const EXPERIMENTAL_JANK: [u32; 2] = [12, 16];
const EXPERIMENTAL_PRESENT: [u32; 2] = [13, 17];
const METADATA: [u32; 2] = [14, 18];

/// FT6
const BITS: [(i64, &str); 15] = [
    (2, "SurfaceFlinger Scheduling"),
    (4, "Prediction Error"),
    (8, "Display HAL"),
    (16, "SurfaceFlinger CPU Deadline Missed"),
    (32, "SurfaceFlinger GPU Deadline Missed"),
    (64, "App Deadline Missed"),
    (4096, "App Resynced Jitter"),
    (128, "Buffer Stuffing"),
    (256, "Unknown Jank"),
    (512, "SurfaceFlinger Stuffing"),
    (1024, "Dropped Frame"),
    (2048, "Non Animating"),
    (8192, "Display not ON"),
    (16384, "ModeChange in progress"),
    (32768, "PowerModeChange in progress"),
];

/// FT6
fn jank_type(jank: i64) -> String {
    match jank {
        0 => return "Unspecified".to_owned(),
        1 => return "None".to_owned(),
        _ => {}
    }
    let words = BITS.iter().filter(|(bit, _)| jank & bit != 0);
    let words: Vec<&str> = words.map(|(_, word)| *word).collect();
    words.join(", ")
}

/// FT6
fn tag(is_surface: bool, jank: i64, present: i64) -> &'static str {
    let has = |bits: &[i64]| bits.iter().any(|bit| jank & bit != 0);
    if jank == 0 {
        "Unspecified"
    } else if is_surface && has(&[64, 256, 4096]) {
        "Self Jank"
    } else if has(&[2, 4, 8, 16, 32]) {
        if is_surface { "Other Jank" } else { "Self Jank" }
    } else if is_surface && jank == 128 {
        "Buffer Stuffing"
    } else if jank == 512 {
        "SurfaceFlinger Stuffing"
    } else if is_surface && present == 4 || !is_surface && jank == 1024 {
        "Dropped Frame"
    } else if [2048, 8192, 32768].contains(&jank) {
        "Non-perceivable Jank"
    } else {
        "No Jank"
    }
}

fn float(message: &Message, field: u32) -> f64 {
    f64::from(f32::from_bits(message.unsigned(field) as u32))
}

impl World<'_> {
    pub fn frame(&mut self, machine: Machine, time: i64, event: &Message) {
        const LATE: i64 = i64::MAX - 10_000_000_000;
        let member = (1..=5).find_map(|field| Some((field, event.message(field)?)));
        let Some((field, start)) = member.filter(|_| time < LATE) else {
            return self.count(PARSER_ERRORS);
        };
        if field == 5 {
            return self.frame_end(machine, time, &start);
        }
        let (is_surface, is_actual) = (field >= 3, field % 2 == 0);
        // FT2
        let pid = if is_surface { 4 } else { 3 };
        let is_whole = (1..=pid).all(|needed| start.has(needed));
        if !is_whole {
            return self.count(PARSER_ERRORS);
        }
        let upid = self.processes.process(machine, start.id(pid));
        // FT3
        let (cookie, token) = (start.signed(1), start.signed(2));
        self.frames.cookies.push((machine, cookie, upid, is_actual));
        if is_surface && !is_actual {
            // FT4
            let key = (upid, token);
            if self.frames.expected.contains(&key) {
                return;
            }
            self.frames.expected.push(key);
        }
        let lane = self.frame_lane(upid, is_actual, cookie);
        self.frames.lanes[lane].open += 1;
        let track = self.frames.lanes[lane].track;
        let args = self.frame_args(is_surface, is_actual, &start);
        let name = token.to_string();
        let slice = self.slices.push(track, (time, -1), Some(&name), None);
        if let Some(slice) = slice {
            self.slices.all[slice].args = args;
            self.frames.all.push((slice, is_actual, upid));
        }
        // FT8
        if is_actual && is_surface {
            let waits = slice.map(|slice| (machine, start.signed(3), slice));
            self.frames.waiting.extend(waits);
        } else if is_actual {
            let waiting = std::mem::take(&mut self.frames.waiting);
            for (of, display, surface) in waiting {
                if (of, display) != (machine, token) {
                    self.frames.waiting.push((of, display, surface));
                } else if let Some(slice) = slice {
                    self.frames.links.push((surface, slice));
                }
            }
        }
    }

    /// The lane with the cookie, else the first one without open begins, else a new one.
    fn frame_lane(&mut self, upid: Upid, is_actual: bool, cookie: i64) -> usize {
        let lanes = &mut self.frames.lanes;
        let of_set = |lane: &Lane| lane.upid == upid && lane.is_actual == is_actual;
        let own = lanes.iter().position(|l| of_set(l) && l.cookie == cookie);
        let free = || lanes.iter().position(|l| of_set(l) && l.open == 0);
        if let Some(lane) = own.or_else(free) {
            lanes[lane].cookie = cookie;
            return lane;
        }
        let number = lanes.iter().filter(|lane| of_set(lane)).count();
        let (kind, name) = match is_actual {
            false => ("android_expected_frame_timeline", "Expected Timeline"),
            true => ("android_actual_frame_timeline", "Actual Timeline"),
        };
        let track = self.slices.tracks.make(Row {
            track: Track::named(kind, name, TrackOwner::Process(upid)),
            parent: None,
            source: Args::default(),
            is_counter: false,
        });
        let mut dimensions = Args::default();
        dimensions.say("track_compressor_idx", Said::Int(number as i64));
        self.dimensions.insert(track, dimensions);
        lanes.push(Lane { upid, is_actual, cookie, open: 0, track });
        lanes.len() - 1
    }

    /// FT7
    fn frame_end(&mut self, machine: Machine, time: i64, end: &Message) {
        if !end.has(1) {
            return self.count(PARSER_ERRORS);
        }
        let cookie = end.signed(1);
        let cookies = &mut self.frames.cookies;
        let stands = cookies.iter().rfind(|c| (c.0, c.1) == (machine, cookie));
        let Some(&(.., upid, is_actual)) = stands else {
            return self.count("frame_timeline_unpaired_end_event");
        };
        cookies.retain(|c| (c.0, c.1) != (machine, cookie));
        let lane = self.frame_lane(upid, is_actual, cookie);
        let lane = &mut self.frames.lanes[lane];
        lane.open = lane.open.saturating_sub(1);
        let track = lane.track;
        self.slices.end(track, time, None, None);
    }

    /// The word of a number that exists; an unknown number is a fault (FT5).
    fn word(&mut self, message: &Message, field: u32, words: &[&str]) -> String {
        let number = message.unsigned(field) as u32 as usize;
        let known = (1..words.len()).contains(&number);
        if message.has(field) && !known {
            self.count(PARSER_ERRORS);
        }
        words[if known { number } else { 0 }].to_owned()
    }

    /// FT5
    fn frame_args(&mut self, is_surface: bool, is_actual: bool, start: &Message) -> Args {
        let mut args = Args::default();
        if is_surface {
            args.say("Surface frame token", Said::Int(start.signed(2)));
            args.say("Display frame token", Said::Int(start.signed(3)));
            args.say("Layer name", Said::String(start.text(5)));
        } else {
            args.say("Display frame token", Said::Int(start.signed(2)));
        }
        if !is_actual {
            return args;
        }
        let which = usize::from(is_surface);
        let presents = [
            ("Present type", PRESENT[which]),
            ("Present type (experimental)", EXPERIMENTAL_PRESENT[which]),
        ];
        for (key, field) in presents {
            let words = "Unspecified Present,On-time Present,Late Present,Early Present,Dropped Frame,Unknown Present";
            let words: Vec<&str> = words.split(',').collect();
            let word = self.word(start, field, &words);
            args.say(key, Said::text(&word));
        }
        let words = ["Unspecified", "Valid", "Expired", "Unknown"];
        let word = self.word(start, PREDICTION[which], &words);
        args.say("Prediction type", Said::text(&format!("{word} Prediction")));
        for (key, field) in [("On time finish", ON_TIME), ("GPU composition", GPU)] {
            let flag = start.unsigned(field[which]) != 0;
            args.say(key, Said::Int(flag.into()));
        }
        let janks = [
            ("", JANK[which], PRESENT[which]),
            (" (experimental)", EXPERIMENTAL_JANK[which], EXPERIMENTAL_PRESENT[which]),
        ];
        for (suffix, jank, present) in janks {
            let (jank, present) = (start.id(jank), start.id(present));
            let said = Said::text(&jank_type(jank));
            args.say(&format!("Jank type{suffix}"), said);
            let said = Said::text(tag(is_surface, jank, present));
            args.say(&format!("Jank tag{suffix}"), said);
        }
        let severity = match start.number(SEVERITY[which]).map(|said| said as u32) {
            None if start.id(JANK[which]) == 1 => "None",
            Some(1) => "None",
            Some(2) => "Partial",
            Some(3) => "Full",
            _ => "Unknown",
        };
        args.say("Jank severity type", Said::text(severity));
        let reals = [
            ("Jank Severity Score", SCORE[which]),
            ("Present Delay (ms)", DELAY[which]),
            ("Jank Metadata (debugging only)", METADATA[which]),
        ];
        for (key, field) in reals {
            args.say(key, Said::Real(float(start, field)));
        }
        match is_surface {
            false => display_args(start, &mut args),
            true => surface_args(start, &mut args),
        }
        args
    }
}

fn display_args(start: &Message, args: &mut Args) {
    let counts = [("Latched unsignaled count", 15), ("Addressable unsignaled latch count", 16)];
    for (key, field) in counts {
        if start.has(field) {
            let count = i64::from(start.unsigned(field) as i32);
            args.say(key, Said::Int(count));
        }
    }
}

fn surface_args(start: &Message, args: &mut Args) {
    let jitter = float(start, 14);
    args.say("Vsync Resynced Jitter (ms)", Said::Real(jitter));
    let is_buffer = match start.number(11) {
        None => "Unspecified",
        Some(0) => "No",
        Some(_) => "Yes",
    };
    args.say("Is Buffer?", Said::text(is_buffer));
    if start.has(20) {
        args.say("Animation Time (ms)", Said::Real(float(start, 20)));
    }
    if start.has(19) {
        let state = match start.unsigned(19) as u32 {
            1 => "Latched Signaled",
            2 => "Latched Unsignaled",
            3 => "Delayed Latch Fence Unsignaled",
            _ => "Unknown",
        };
        args.say("Latched fence state", Said::text(state));
    }
}
