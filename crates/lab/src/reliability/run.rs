//! Makes and imports many copies, several at a time, and collects the results.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tempfile::TempDir;

use crate::reliability::copy::Copy;
use crate::reliability::error::Error;
use crate::reliability::import::{Database, Importer, Outcome};
use crate::reliability::judge::{Verdict, judge};
use crate::reliability::kind::DamageKind;
use crate::reliability::original::Original;

/// The settings for making and importing copies.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The importer.
    pub importer: Importer,
    /// The seed of their places.
    pub seed: u64,
    /// The numbers of the copies of each kind.
    pub copies: Range<u64>,
    /// The number of simultaneous imports.
    pub jobs: usize,
    /// The temporary directory for copies and databases.
    pub directory: PathBuf,
}

/// An imported copy.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The original.
    pub original: &'a Original,
    /// The kind of its damage.
    pub kind: DamageKind,
    /// Its number.
    pub number: u64,
    /// The copy.
    pub copy: &'a Copy,
    /// The way in which its import ended.
    pub outcome: &'a Outcome,
    /// The verdict, which is empty without a database.
    pub verdict: &'a Verdict,
}

impl Examined<'_> {
    /// Whether anything about it is wrong.
    pub fn has_fault(&self) -> bool {
        let whole = self.verdict.lost.is_empty() && self.verdict.invented.is_empty();
        !whole || !matches!(self.outcome, Outcome::Database(_) | Outcome::Refused(_))
    }
}

/// The results for the copies of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Their number.
    pub copies: u64,
    /// The copies with an intact packet.
    pub with_intact: u64,
    /// The sum of their kept shares.
    pub kept: f64,
    /// The smallest share, and its copy.
    pub worst: Option<(f64, u64)>,
    /// Refused copies with an intact packet.
    pub refused: u64,
    /// Rows of `packet`.
    pub rows: u64,
    /// Rows that were no packets.
    pub invented: u64,
    /// Imports that crashed.
    pub crashed: u64,
    /// Imports that hang.
    pub hung: u64,
    /// Results that are not databases.
    pub broken: u64,
    /// The sum over all copies of the share of kept events.
    pub events: f64,
}

impl Tally {
    fn add(&mut self, examined: &Examined<'_>, all_events: usize) {
        let Examined { number, outcome, verdict, .. } = examined;
        self.copies += 1;
        if let Some(share) = verdict.kept() {
            self.with_intact += 1;
            self.kept += share;
            let worse = (share, *number);
            // Among equal ones, the first: copies come in any order.
            if self.worst.is_none_or(|worst| worse < worst) {
                self.worst = Some(worse);
            }
        }
        self.rows += verdict.rows as u64;
        self.invented += verdict.invented.len() as u64;
        match outcome {
            Outcome::Database(database) => {
                self.events += match all_events {
                    0 => 1.0,
                    all => database.events.min(all) as f64 / all as f64,
                };
            }
            Outcome::Refused(_) => self.refused += u64::from(verdict.intact > 0),
            Outcome::Crashed(_) => self.crashed += 1,
            Outcome::Hung => self.hung += 1,
            Outcome::Broken(_) => self.broken += 1,
        }
    }
}

/// Imports an undamaged trace, and checks that its rows are its packets. Returns its number of
/// events, and notes the types of its payloads.
///
/// # Errors
///
/// If they are not.
pub fn prepare(original: &mut Original, plan: &Plan) -> Result<usize, Error> {
    let mut whole = Copy::new();
    whole.keep(&original.bytes, 0..original.bytes.len());
    let scratch = scratch(plan)?;
    let wrong = |what: String| Error::Undamaged { name: original.name.clone(), what };
    let database = match import(&whole, scratch.path(), plan)? {
        Outcome::Database(database) => database,
        other => return Err(wrong(format!("{other:?}"))),
    };
    let mut kinds = database.rows.iter().map(|row| row.kind.clone());
    let mut named = original.clone();
    for packet in &mut named.packets {
        match &mut packet.inside {
            Some(inside) => {
                for inner in inside {
                    inner.kind = kinds.next().flatten();
                }
            }
            None => packet.kind = kinds.next().flatten(),
        }
    }
    let verdict = judge(&named, &whole, &database.rows);
    if !verdict.lost.is_empty() || !verdict.invented.is_empty() {
        return Err(wrong(format!(
            "{} of its {} packets are no rows, {} of its {} rows no packets",
            verdict.lost.len(),
            verdict.intact,
            verdict.invented.len(),
            verdict.rows
        )));
    }
    *original = named;
    Ok(database.events)
}

/// Damages copies of a trace in one way, and imports them. `observe` gets each as soon as it is
/// imported, in any order.
///
/// # Errors
///
/// If writing files fails, or if the program does not start.
pub fn measure(
    original: &Original,
    all_events: usize,
    kind: DamageKind,
    plan: &Plan,
    observe: &(dyn Fn(&Examined<'_>) + Sync),
) -> Result<Tally, Error> {
    let next = AtomicU64::new(plan.copies.start);
    let tally = Mutex::new(Tally::default());
    let work = || -> Result<(), Error> {
        let scratch = scratch(plan)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if !plan.copies.contains(&number) {
                return Ok(());
            }
            let copy = kind.damage(&original.bytes, plan.seed, number);
            let outcome = import(&copy, scratch.path(), plan)?;
            let rows = match &outcome {
                Outcome::Database(Database { rows, .. }) => rows.as_slice(),
                _ => &[],
            };
            let verdict = judge(original, &copy, rows);
            let examined = Examined {
                original,
                kind,
                number,
                copy: &copy,
                outcome: &outcome,
                verdict: &verdict,
            };
            // A thread that panicked has reported it; its numbers are complete.
            let mut tally = tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            tally.add(&examined, all_events);
            observe(&examined);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let mut all = Ok(());
        for worker in workers {
            match worker.join() {
                Ok(done) => all = all.and(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })?;
    Ok(tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn scratch(plan: &Plan) -> Result<TempDir, Error> {
    TempDir::with_prefix_in("timebase-reliability-", &plan.directory)
        .map_err(Error::file(&plan.directory))
}

fn import(copy: &Copy, directory: &Path, plan: &Plan) -> Result<Outcome, Error> {
    let trace = directory.join("copy.pftrace");
    fs::write(&trace, &copy.bytes).map_err(Error::file(&trace))?;
    plan.importer.import(&trace, directory)
}
