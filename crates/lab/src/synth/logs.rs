//! Lines of the Android log, on REALTIME (rule I2).

use std::io::Write;

use crate::synth::encode;
use crate::synth::error::Error;
use crate::synth::scene::{Scene, seq};
use crate::synth::settings::Settings;
use crate::synth::truth::{Expected, Reason, Row};

const TAGS: [&[u8]; 4] = [b"ActivityManager", b"SurfaceFlinger", b"chatty", b"Zygote"];
const MESSAGES: [&[u8]; 4] = [
    b"start proc for broadcast",
    b"frame missed",
    b"uid identical 3 lines",
    b"explicit concurrent copying GC freed 1.2 MB",
];

#[derive(Debug)]
pub(crate) struct Logs {
    lines_per_packet: usize,
    /// The events of the next packet, as they are written.
    waiting: Vec<u8>,
    /// The time of each of them, and the largest error of its conversion.
    times: Vec<(i64, i64)>,
}

impl Logs {
    pub fn new(settings: &Settings) -> Self {
        Logs {
            lines_per_packet: settings.lines_per_packet as usize,
            waiting: Vec::new(),
            times: Vec::new(),
        }
    }

    pub fn record<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        let realtime = scene.world.realtime();
        let pid = 500 + scene.random.below(50);
        let what = scene.random.below(TAGS.len() as u64) as usize;
        encode::message(&mut self.waiting, 1, |out| {
            encode::number(out, 1, 0);
            encode::number(out, 2, pid);
            encode::number(out, 3, pid + pid % 3);
            encode::number(out, 4, 1000);
            encode::time(out, 5, realtime);
            encode::bytes(out, 6, TAGS[what]);
            encode::number(out, 7, 3 + pid % 4);
            encode::bytes(out, 8, MESSAGES[what]);
        });
        let error = if scene.truths.wanted() { scene.world.realtime_error() } else { 0 };
        self.times.push((scene.world.now(), error));
        if self.times.len() == self.lines_per_packet {
            self.finish(scene)?;
        }
        Ok(())
    }

    /// The number of waiting bytes.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Writes the waiting lines. Their times depend on the preceding data in the file (rule D1).
    pub fn finish<W: Write>(&mut self, scene: &mut Scene<'_, W>) -> Result<(), Error> {
        if self.times.is_empty() {
            return Ok(());
        }
        let (now, boottime) = (scene.world.now(), scene.world.boottime());
        let id = scene.out.packet(|out| {
            // On the trace's default clock (rule T2).
            encode::time(out, 8, boottime);
            encode::number(out, 10, seq::LOGS.into());
            encode::bytes(out, 39, &self.waiting);
        })?;
        scene.truths.tell(Row::Packet(id), now, Expected::Within(0))?;
        for &(time, error) in &self.times {
            let expected = if scene.world.realtime_went_back {
                Expected::Unresolved(Reason::NonMonotonic)
            } else {
                Expected::Within(error)
            };
            let row = Row::AndroidLog(scene.out.next_line());
            scene.truths.tell(row, time, expected)?;
        }
        self.times.clear();
        self.waiting.clear();
        Ok(())
    }
}
