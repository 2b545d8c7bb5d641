//! Random messages of two clocks: every fault that the rules name, few messages and many, ties.

use super::{A_TO_B, B_TO_A, Message, SECOND};

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to below `high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % high.abs_diff(low).max(1)) as i64
    }

    pub fn one_of(&mut self, all: &[i64]) -> i64 {
        all[self.between(0, all.len() as i64) as usize]
    }

    fn percent(&mut self, percent: i64) -> bool {
        self.between(0, 100) < percent
    }
}

#[derive(Debug)]
pub struct World {
    seed: u64,
    /// In ns.
    pub span: i64,
    pub count: i64,
    /// Readings are multiples of this.
    grain: i64,
    rate_ppm: i64,
    /// The rate changes to this in the middle.
    rate_after_ppm: i64,
    /// B is set by this at two thirds.
    step: i64,
    /// Of 100.
    wrong: i64,
    late: i64,
    from_a: i64,
}

impl World {
    pub fn random(seed: u64) -> World {
        let mut dice = Dice::new(seed ^ 0xa11e);
        let rate_ppm = dice.one_of(&[0, 0, 10, 50, -200, 450]);
        let turn = dice.one_of(&[0, 0, 0, 30, -400]);
        World {
            seed,
            span: dice.one_of(&[SECOND, 10 * SECOND, 60 * SECOND]),
            count: dice.one_of(&[1, 3, 8, 20, 40, 120, 250]),
            grain: dice.one_of(&[1, 1, 1000, 10_000_000]),
            rate_ppm,
            rate_after_ppm: (rate_ppm + turn).clamp(-500, 500),
            step: dice.one_of(&[0, 0, 0, 20_000_000, -7 * SECOND, 300_000]),
            wrong: dice.one_of(&[0, 0, 3, 10, 40]),
            late: dice.one_of(&[0, 0, 5, 20]),
            from_a: dice.one_of(&[50, 50, 50, 90, 100, 0]),
        }
    }

    /// θ.
    fn ahead(&self, t: i64) -> i64 {
        let (first, second) = (t.min(self.span / 2), (t - self.span / 2).max(0));
        let step = if 3 * t >= 2 * self.span { self.step } else { 0 };
        4 * SECOND + (first * self.rate_ppm + second * self.rate_after_ppm) / 1_000_000 + step
    }

    pub fn messages(&self) -> Vec<Message> {
        let mut dice = Dice::new(self.seed ^ 0xd1ce);
        let mut messages = Vec::new();
        for _ in 0..self.count {
            let sent = dice.between(0, self.span);
            let squared = dice.between(0, 1000) * dice.between(0, 1000);
            let mut arrived = sent + 100_000 + squared;
            if dice.percent(self.wrong) {
                arrived = dice.between(0, self.span);
            }
            let stamped =
                sent + if dice.percent(self.late) { dice.between(0, 1_000_000) } else { 0 };
            let is_from_a = dice.percent(self.from_a);
            let (from, to) = match is_from_a {
                true => (stamped, arrived + self.ahead(arrived)),
                false => (stamped + self.ahead(stamped), arrived),
            };
            let grained = |t: i64| t.div_euclid(self.grain) * self.grain;
            messages.push(Message {
                direction: if is_from_a { A_TO_B } else { B_TO_A },
                sent: grained(from),
                arrived: grained(to),
                ended: None,
                packet_out: 0,
                packet_in: 0,
            });
        }
        messages
    }
}
