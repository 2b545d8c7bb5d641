//! Generated sets of several machines, compared with the generator's truth.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::synth::{Row, Set, SetTruth};
use rusqlite::Connection;

use crate::accuracy::error::Error;
use crate::accuracy::off::Off;

/// The result for the guests' packets; the host's clock is the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetMeasured {
    /// The error of nearest neighbour.
    pub nearest: Off,
    /// The error of the rate-aware conversion.
    pub linear: Off,
    /// The stated error; `None` if no packet has one.
    pub stated: Option<Stated>,
}

/// The stated errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// The share of all packets within theirs. A packet without a stated error is not.
    pub inside: f64,
    /// The median, in nanoseconds.
    pub bar: f64,
}

impl SetMeasured {
    /// The ratio of nearest neighbour's error to linear's, by the root mean square.
    pub fn better(&self) -> f64 {
        self.nearest.rms / self.linear.rms
    }
}

/// All packets, and their times by either conversion.
const TIMES: &str = "
    SELECT f.name, p.number, p.timestamp IS NULL, p.ts, i.ts, i.latest - i.ts
    FROM packet AS p
    JOIN trace_file AS f ON f.id = p.trace_file_id
    LEFT JOIN packet_interval AS i ON i.id = p.id";

/// Makes a set, imports it with `import`, and compares the times of its packets with the truth.
/// `import` gets the files, in order and with a manifest last, and the path for their database.
/// Files are temporarily in the directory.
///
/// # Errors
///
/// If making or importing the set fails, or if a guest's packet has no time.
pub fn measure_set(
    set: &Set,
    directory: &Path,
    import: impl FnOnce(&[PathBuf], &Path) -> io::Result<()>,
) -> Result<SetMeasured, Error> {
    let directory = tempfile::tempdir_in(directory)?;
    let place = |name: &str| directory.path().join(name);
    let mut truths = Vec::new();
    let create = |name: &str| File::create(place(name));
    let made = crate::synth::write_set_with_truth(set, create, &mut |truth| {
        truths.push(truth);
        Ok(())
    })?;
    let names = set.files();
    let mut files: Vec<PathBuf> = names.iter().map(|name| place(name)).collect();
    files.extend(made.manifest.map(place));
    let database = place("set.db");
    import(&files, &database)?;
    compare(&Connection::open(database)?, &names, &truths)
}

fn compare(conn: &Connection, names: &[String], truths: &[SetTruth]) -> Result<SetMeasured, Error> {
    let times = times(conn)?;
    let (mut nearest, mut linear, mut bars) = (Vec::new(), Vec::new(), Vec::new());
    let mut inside = 0;
    for truth in truths.iter().filter(|truth| truth.machine > 0) {
        let (Row::Packet(number), Some(name)) = (truth.row, names.get(truth.file)) else {
            continue;
        };
        let key = (name.clone(), number.cast_signed());
        let (by_nearest, by_linear, bar) = match times.get(&key) {
            // The time of a snapshot comes from its own readings, so it has no interval.
            Some(Times { is_snapshot: true, .. }) => continue,
            Some(&Times { nearest: Some(nearest), linear: Some(linear), bar, .. }) => {
                (nearest, linear, bar)
            }
            _ => {
                let (file, number) = key;
                return Err(Error::UnplacedIn { file, number });
            }
        };
        let off = by_linear.abs_diff(truth.boottime);
        nearest.push(by_nearest.abs_diff(truth.boottime) as f64);
        linear.push(off as f64);
        if let Some(bar) = bar {
            bars.push(bar as f64);
            inside += u64::from(off <= bar.unsigned_abs());
        }
    }
    Ok(SetMeasured {
        stated: (!bars.is_empty()).then(|| Stated {
            inside: inside as f64 / linear.len() as f64,
            bar: Off::of(bars).median,
        }),
        nearest: Off::of(nearest),
        linear: Off::of(linear),
    })
}

/// The import's result for a packet.
struct Times {
    /// Whether it has no timestamp.
    is_snapshot: bool,
    nearest: Option<i64>,
    linear: Option<i64>,
    /// The stated error, if there is one.
    bar: Option<i64>,
}

/// By the name of the file and the number of the packet.
fn times(conn: &Connection) -> Result<HashMap<(String, i64), Times>, Error> {
    let mut statement = conn.prepare(TIMES)?;
    let rows = statement.query_map([], |row| {
        let times = Times {
            is_snapshot: row.get(2)?,
            nearest: row.get(3)?,
            linear: row.get(4)?,
            bar: row.get(5)?,
        };
        // The name of a single trace is its path.
        let path: String = row.get(0)?;
        let name = Path::new(&path).file_name().unwrap_or_default();
        Ok(((name.to_string_lossy().into_owned(), row.get(1)?), times))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::synth::Form;

    /// The errors of a database for the packets of the first guest, and the stated error, in ns.
    #[derive(Default)]
    struct Off {
        nearest: i64,
        linear: Option<i64>,
        bar: Option<i64>,
    }

    /// The tables of a database with all packets this far from the truth.
    fn database(path: &Path, truths: &[SetTruth], names: &[String], by: &Off) -> Connection {
        let conn = Connection::open(path).unwrap();
        conn.execute_batch(
            "CREATE TABLE trace_file (id, name);
             CREATE TABLE packet (id, trace_file_id, number, ts, timestamp);
             CREATE TABLE packet_interval (id INTEGER PRIMARY KEY, ts, latest);
             BEGIN;",
        )
        .unwrap();
        for (id, name) in names.iter().enumerate() {
            let name = match names.len() {
                1 => path.with_file_name(name),
                _ => PathBuf::from(name),
            };
            let file = (id as i64, name.to_str());
            conn.execute("INSERT INTO trace_file VALUES (?, ?)", file).unwrap();
        }
        for (id, truth) in truths.iter().enumerate() {
            let Row::Packet(number) = truth.row else {
                continue;
            };
            let (id, time) = (id as i64, truth.boottime);
            // The host is at its true time.
            let off = |ns: i64| time + ns * i64::from(truth.machine);
            let packet = (id, truth.file as i64, number.cast_signed(), off(by.nearest), time);
            let linear = by.linear.map(off);
            conn.execute("INSERT INTO packet VALUES (?, ?, ?, ?, ?)", packet).unwrap();
            let interval = (id, linear, linear.zip(by.bar).map(|(ts, bar)| ts + bar));
            conn.execute("INSERT INTO packet_interval VALUES (?, ?, ?)", interval).unwrap();
        }
        conn.execute_batch("COMMIT").unwrap();
        conn
    }

    fn truths(set: &Set) -> Vec<SetTruth> {
        let mut truths = Vec::new();
        crate::synth::write_set_with_truth(set, |_| Ok(io::sink()), &mut |truth| {
            truths.push(truth);
            Ok(())
        })
        .unwrap();
        truths
    }

    #[test]
    fn guests_are_held_against_the_truth_and_not_the_host() {
        let directory = tempfile::tempdir().unwrap();
        let off = Off { nearest: 3000, linear: Some(-100), bar: Some(100) };
        for (number, form) in [Form::Relay, Form::Files].into_iter().enumerate() {
            let case = two_guests(form);
            let (names, truths) = (case.files(), truths(&case));
            let path = directory.path().join(format!("{number}.db"));
            // The second guest is off by twice as much, which is outside of the error.
            let conn = database(&path, &truths, &names, &off);
            let measured = compare(&conn, &names, &truths).unwrap();
            assert!(measured.nearest.count > 1000);
            assert_eq!(measured.nearest.worst, 6000.0);
            assert_eq!(measured.linear.worst, 200.0);
            let stated = measured.stated.unwrap();
            assert!((0.4..0.6).contains(&stated.inside), "{measured:?}");
            assert_eq!(stated.bar, 100.0);
            assert!((measured.better() - 30.0).abs() < 0.01);
        }
    }

    #[test]
    fn where_no_error_is_stated_nothing_is_inside_or_outside() {
        let directory = tempfile::tempdir().unwrap();
        let set = two_guests(Form::Files);
        let (names, truths) = (set.files(), truths(&set));
        let path = directory.path().join("t.db");
        let off = Off { nearest: 3000, linear: Some(-100), bar: None };
        let conn = database(&path, &truths, &names, &off);
        let measured = compare(&conn, &names, &truths).unwrap();
        assert_eq!(measured.stated, None);
        assert_eq!(measured.linear.worst, 200.0);
    }

    #[test]
    fn a_packet_without_a_time_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let set = two_guests(Form::Files);
        let (names, truths) = (set.files(), truths(&set));
        let path = directory.path().join("t.db");
        let conn = database(&path, &truths, &names, &Off::default());
        let error = compare(&conn, &names, &truths).unwrap_err().to_string();
        assert!(error.starts_with("packet 0 of vm-"), "{error}");
        assert!(error.ends_with(" has no known time"), "{error}");
    }

    fn two_guests(form: Form) -> Set {
        let set = Set::of(form);
        Set { machine: set.machine.clone().records(3000), guests: 2, ..set }
    }
}
