//! Runs of a program, with a known truth.

use timebase_compare::{Facts, Family, Line, Pairs, Result, Settings, Side, Stat, Value, Values};

use crate::synth::Random;

/// The making of runs. All figures are logs of ratios, so 0.04 is about 4 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct World {
    /// The runs before and after.
    pub runs: [usize; 2],
    /// The lines, each with five statistics. The deviation of a line between runs is from 1 to 10 %.
    pub lines: usize,
    /// The factor of deviations before.
    pub wider_before: f64,
    /// Lines that have two modes, 20 % apart, each run one of them by chance.
    pub two_modes: usize,
    /// The session after, against that before.
    pub session: f64,
    /// The deviation of the machine's speed, of a run.
    pub hot: f64,
    /// The deviation of a step from run to run, in the order of recording, by which the machine's speed wanders.
    pub drift: f64,
    /// Whether sides were recorded in turns.
    pub interleaved: bool,
    /// The share of events that may be wrong after.
    pub lost: f64,
    /// The first lines, which changed, by `change`.
    pub changed: usize,
    /// Their change.
    pub change: f64,
    /// Settings of the comparison.
    pub absolute: bool,
    /// Settings of the comparison.
    pub paired: bool,
}

/// Random numbers of some distributions.
struct Dice(Random);

impl Dice {
    /// Evenly from 0 to 1, never 0.
    fn even(&mut self) -> f64 {
        (self.0.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
    }
}

impl World {
    /// Equal sides of ten runs.
    pub const EQUAL: World = World {
        runs: [10, 10],
        lines: 100,
        wider_before: 1.0,
        two_modes: 0,
        session: 0.0,
        hot: 0.0,
        drift: 0.0,
        interleaved: false,
        lost: 0.0,
        changed: 0,
        change: 0.182,
        absolute: false,
        paired: false,
    };

    /// The choices by which it is compared.
    pub fn settings(&self) -> Settings {
        let pairs = self.paired.then_some(Pairs::Order);
        Settings { absolute: self.absolute, pairs, ..Settings::default() }
    }

    /// The true change of a line beyond what all share.
    pub(super) fn truth(&self, name: &str) -> f64 {
        let is_changed = name.parse().is_ok_and(|number: usize| number < self.changed);
        if is_changed { self.change } else { 0.0 }
    }

    /// The values of all runs.
    pub fn values(&self, seed: u64) -> Result<Values> {
        self.made(seed, None)
    }

    /// The values of all runs, with one deviation for all lines.
    pub(super) fn values_with_spread(&self, seed: u64, spread: f64) -> Result<Values> {
        self.made(seed, Some(spread))
    }

    fn made(&self, seed: u64, spread: Option<f64>) -> Result<Values> {
        let mut dice = Dice(Random::new(seed));
        let mut values = Values::new();
        let mut runs = Vec::new();
        for (number, (side, speed)) in self.machine(&mut dice).into_iter().enumerate() {
            let id = values.run(&number.to_string(), side, Facts::default())?;
            runs.push((id, side, speed));
        }
        for number in 0..self.lines {
            let spread = spread.unwrap_or_else(|| 0.01 * 10_f64.powf(dice.even()));
            let line = Line::new(Family::SelfTime, "app", &number.to_string());
            let change = self.truth(&line.name);
            let has_modes = number < self.two_modes;
            for (run, side, speed) in &runs {
                let mode = f64::from(has_modes && dice.even() < 0.5) * 0.182;
                let log = speed + mode + if *side == Side::After { change } else { 0.0 };
                let wider = if *side == Side::Before { self.wider_before } else { 1.0 };
                // The deviation of two modes is that of the modes.
                let spread = if has_modes { 0.01 } else { spread * wider };
                for (stat, value) in self.statistics(*side, [log, spread], &mut dice) {
                    values.add(*run, &line, stat, value)?;
                }
            }
        }
        Ok(values)
    }

    /// The sides of runs and the machine's speed, in the order of recording.
    fn machine(&self, dice: &mut Dice) -> Vec<(Side, f64)> {
        let [before, after] = self.runs;
        let sides = (0..before + after).map(|place| {
            let is_after = if self.interleaved { place % 2 == 1 } else { place >= before };
            if is_after { Side::After } else { Side::Before }
        });
        let mut walk = 0.0;
        sides
            .map(|side| {
                walk += self.drift * dice.normal();
                let session = if side == Side::After { self.session } else { 0.0 };
                (side, walk + session + self.hot * dice.normal())
            })
            .collect()
    }

    /// The statistics of a line in a run, which share half of their variance.
    fn statistics(
        &self,
        side: Side,
        [log, spread]: [f64; 2],
        dice: &mut Dice,
    ) -> [(Stat, Value); 5] {
        let shared = dice.normal();
        let mut noise = || spread * (shared + dice.normal()) / 2_f64.sqrt();
        let time = noise();
        // Half of a line's deviation is that of its events' number, which a hot machine does not change.
        let count = (400.0 * (time / 2.0).exp()).round();
        let stats = [
            (Stat::Total, 40e6 * (log + time).exp()),
            (Stat::P50, 90e3 * (log + noise()).exp()),
            (Stat::P90, 200e3 * (log + noise()).exp()),
            (Stat::P99, 500e3 * (log + 2.0 * noise()).exp()),
            (Stat::Count, count),
        ];
        stats.map(|(stat, all)| {
            let is_sum = matches!(stat, Stat::Total | Stat::Count);
            let lost = if side == Side::After { self.lost } else { 0.0 };
            let share = if is_sum { lost * (0.5 + dice.even()) } else { 0.0 };
            let sure = all * (1.0 - share);
            let sure = if stat == Stat::Count { sure.round() } else { sure };
            (stat, Value { sure: Some(sure), all: Some(all) })
        })
    }
}
