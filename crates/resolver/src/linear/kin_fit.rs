//! The fit of clocks of one timekeeper: offsets, the steps between them, and the readings that are left out
//! (rule R31).

use super::exact::real;
use super::fit::{Fit, OffLine};
use super::kin::{Kin, Level, ON_A_SIDE, Offsets, Search, off};
use super::knot::{Gap, Knot, moved};
use super::knots::{Knots, Read};

impl Kin {
    /// The offsets by the readings (rule R31).
    pub fn fit(&self, all: Knots, read: Read<'_>) -> Fit {
        let readings = all.len();
        let gaps = Search::new(self, &all).cheapest();
        // There is no need for memory for both: all of them, and the used ones.
        drop(all);
        let kept = Knots::of_used(read, &gaps);
        let segments = kept.segments().into_iter();
        let mut levels: Vec<Level> = segments.map(|segment| self.level(&kept, segment)).collect();
        let scatter = self.scatter(&kept, &levels);
        let noise = self.find_errors((read, readings), scatter, &mut levels);
        let mut fit = Fit::of_offsets(kept, Offsets { kinship: self.kinship, levels });
        fit.readings = readings;
        fit.noise_ns = noise;
        fit.find_levels_between();
        if gaps.contains(&None) {
            fit.leave_out(read, &gaps);
        }
        fit
    }
}

impl Fit {
    /// The steps between segments, and the largest errors between readings.
    fn find_levels_between(&mut self) {
        let Some(offsets) = &self.offsets else { return };
        for level in &offsets.levels {
            let own = level.knots[0]..level.knots[1];
            if own.len() > 1 {
                self.worst_error_ns = self.worst_error_ns.max(level.error);
            }
            let jumps = self.knots.gaps(own).map(|(from, to)| moved(from, to, 1.0).abs());
            self.worst_error_nearest_ns = jumps.fold(self.worst_error_nearest_ns, f64::max);
        }
        for pair in offsets.levels.windows(2) {
            if let Some(first) = self.knots.get(pair[1].knots[0]) {
                let step = offsets.step(&pair[0], &pair[1]);
                self.steps.push(OffLine::new(first, step));
            }
        }
    }

    /// The readings that are left out, their distances from the nearest offset, and the corners
    /// that they are in steps (rules R4b, R31c).
    fn leave_out(&mut self, read: Read<'_>, gaps: &[Option<Gap>]) {
        let Some(mut offsets) = self.offsets.take() else {
            return;
        };
        let mut number = 0;
        let mut in_step: Vec<Knot> = Vec::new();
        let mut position = 0;
        let mut left_out = Vec::new();
        let mut gaps = gaps.iter();
        read(&mut |knot| {
            if gaps.next().is_some_and(Option::is_some) {
                if offsets.levels.get(number).is_some_and(|level| position == level.knots[1]) {
                    add_corners(&mut offsets, number, &in_step);
                    number += 1;
                }
                in_step.clear();
                position += 1;
                return;
            }
            let level = offsets.levels.get(number);
            let is_after = level.is_some_and(|level| position == level.knots[1]);
            let next = offsets.levels.get(number + 1).filter(|_| is_after);
            let offs = level.into_iter().chain(next).map(|of| off(&knot, of.offset));
            let off = offs.min_by(f64::total_cmp).unwrap_or(0.0);
            left_out.push(OffLine::new(knot, off));
            if position == 0 {
                self.beyond[0] = self.beyond[0].max(off);
            } else if is_after && next.is_none() {
                self.beyond[1] = self.beyond[1].max(off);
            }
            in_step.push(knot);
        });
        self.outliers = left_out;
        self.offsets = Some(offsets);
    }
}

/// Makes the step after a segment narrower by readings that are left out in it.
fn add_corners(offsets: &mut Offsets, number: usize, left_out: &[Knot]) {
    let Some([before, after]) = offsets.levels.get_mut(number..number + 2) else {
        return;
    };
    let near = real(after.offset - before.offset).abs() * ON_A_SIDE;
    let on = |level: &Level| {
        let offset = level.offset;
        move |knot: &&Knot| off(knot, offset) <= near
    };
    let last = left_out.iter().rev().find(on(before)).map(|knot| knot.a);
    let first = left_out.iter().find(on(after)).map(|knot| knot.a);
    if let (Some(last), Some(first)) = (last, first)
        && first <= last
    {
        return;
    }
    before.end = last.unwrap_or(before.end);
    after.start = first.unwrap_or(after.start);
}
