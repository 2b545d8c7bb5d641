//! Remarks of a report about runs: their marks, and why some are left out (rules CM11, CM17, CM18).

use timebase_compare::{Compared, Family, Mark, Unused};

/// A sentence about many runs names so many.
const RUNS: usize = 3;

/// The sentences about runs. One that holds for several runs is there once.
pub fn of(runs: &[Compared]) -> Vec<String> {
    let mut said: Vec<(Remark, Vec<&str>)> = Vec::new();
    for run in runs {
        let marks = run.marks.iter().map(|mark| Remark::Mark([*mark; 2]));
        for remark in marks.chain(run.unused.map(Remark::Unused)) {
            let name = run.run.name.as_str();
            match said.iter_mut().find(|(other, _)| other.is_like(&remark)) {
                Some((other, names)) => {
                    other.join(&remark);
                    names.push(name);
                }
                None => said.push((remark, vec![name])),
            }
        }
    }
    let told = said.into_iter().map(|(remark, names)| {
        let shown = names.iter().take(RUNS).copied().collect::<Vec<_>>().join(", ");
        let text = remark.text();
        match names.len().saturating_sub(RUNS) {
            0 => format!("{shown}: {text}"),
            more => format!("{shown} and {more} more: {text}"),
        }
    });
    told.collect()
}

/// A sentence about runs.
enum Remark {
    /// A mark, with its smallest and its largest share.
    Mark([Mark; 2]),
    Unused(Unused),
}

impl Remark {
    /// Whether the other one says the same, perhaps with another number.
    fn is_like(&self, other: &Remark) -> bool {
        match (self, other) {
            (Remark::Unused(one), Remark::Unused(other)) => {
                unused_because(*one) == unused_because(*other)
            }
            (Remark::Mark([one, _]), Remark::Mark([other, _])) => kind(*one) == kind(*other),
            _ => false,
        }
    }

    /// Takes in the number of the other one.
    fn join(&mut self, other: &Remark) {
        if let (Remark::Mark([least, most]), Remark::Mark([_, mark])) = (self, other) {
            if size(*mark) < size(*least) {
                *least = *mark;
            }
            if size(*mark) > size(*most) {
                *most = *mark;
            }
        }
    }

    fn text(&self) -> String {
        match *self {
            Remark::Unused(unused) => unused_because(unused).to_owned(),
            Remark::Mark([least, most]) if marked(least) == marked(most) => marked(most),
            Remark::Mark([_, most]) => said(most, "up to "),
        }
    }
}

/// A mark in words.
pub fn marked(mark: Mark) -> String {
    said(mark, "")
}

/// A mark in words, with words before its number.
fn said(mark: Mark, before: &str) -> String {
    match mark {
        Mark::LeftOut(family, share) => format!(
            "{before}{} of the family {} may be wrong, and is left out",
            percent(share),
            family.name()
        ),
        Mark::Lost(share) => format!("{before}{} of the time is lost", percent(share)),
        Mark::Errors(1) => "timebase doctor finds an error".to_owned(),
        Mark::Errors(errors) => format!("timebase doctor finds {before}{errors} errors"),
    }
}

/// The marks that differ in their numbers alone are of one kind.
fn kind(mark: Mark) -> (u8, Option<Family>) {
    match mark {
        Mark::LeftOut(family, _) => (0, Some(family)),
        Mark::Lost(_) => (1, None),
        Mark::Errors(_) => (2, None),
    }
}

/// The number of a mark.
fn size(mark: Mark) -> f64 {
    match mark {
        Mark::LeftOut(_, share) | Mark::Lost(share) => share,
        Mark::Errors(errors) => errors as f64,
    }
}

pub fn unused_because(unused: Unused) -> &'static str {
    match unused {
        Unused::LeftOut | Unused::Lossy => "left out",
        Unused::First => "skipped, as a first run",
        Unused::Unpaired => "left out without a partner",
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() < 10.0 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}
