//! The doctor's findings.

use rusqlite::Connection;

use crate::clocks::natural;
use crate::error::{Error, Reading};
use crate::text::shown_up_to;

/// The number of findings on the page.
const MOST: i64 = 100;
/// The largest number of characters in a message.
const SENTENCES: usize = 1_000;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Info,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// A finding.
#[derive(Debug)]
pub struct Finding {
    pub severity: Severity,
    pub check: String,
    pub subject: Option<String>,
    pub packet: Option<i64>,
    pub offset: Option<i64>,
    pub events: u64,
    pub worst_ns: Option<f64>,
    pub message: String,
    pub advice: Option<String>,
}

/// The findings: the most important ones, and the number of all.
#[derive(Debug)]
pub struct Findings {
    pub shown: Vec<Finding>,
    pub errors: u64,
    pub warnings: u64,
    pub infos: u64,
}

impl Findings {
    /// Reads them from the database.
    pub fn read(database: &Connection) -> Result<Findings, Error> {
        let counts = database.query_row(
            "SELECT total(severity = 'error'), total(severity = 'warning'), count(*) FROM finding",
            [],
            |row| {
                let errors: f64 = row.get(0)?;
                let warnings: f64 = row.get(1)?;
                Ok((errors as u64, warnings as u64, natural(row, 2)?))
            },
        );
        let (errors, warnings, all) = counts.reading("findings")?;
        Ok(Findings {
            shown: shown_first(database).reading("findings")?,
            errors,
            warnings,
            infos: all.saturating_sub(errors).saturating_sub(warnings),
        })
    }

    /// The number of findings that the page leaves out.
    pub fn more(&self) -> u64 {
        let all = self
            .errors
            .saturating_add(self.warnings)
            .saturating_add(self.infos);
        all.saturating_sub(self.shown.len() as u64)
    }
}

fn shown_first(database: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut statement = database.prepare(
        "SELECT severity, check_name, subject, packet_id, offset, events, worst_ns, message, advice
         FROM finding
         ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
                  events DESC, worst_ns DESC, check_name, machine_id, clock_id, seq_id, subject
         LIMIT ?1",
    )?;
    let rows = statement.query_map([MOST], |row| {
        let text = |column| -> rusqlite::Result<Option<String>> {
            let text: Option<String> = row.get(column)?;
            Ok(text.as_deref().map(|text| shown_up_to(SENTENCES, text)))
        };
        let severity: String = row.get(0)?;
        let worst: Option<f64> = row.get(6)?;
        Ok(Finding {
            severity: match severity.as_str() {
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                _ => Severity::Info,
            },
            check: text(1)?.unwrap_or_default(),
            subject: text(2)?,
            packet: row.get(3)?,
            offset: row.get(4)?,
            events: natural(row, 5)?,
            worst_ns: worst.filter(|worst| worst.is_finite()),
            message: text(7)?.unwrap_or_default(),
            advice: text(8)?,
        })
    })?;
    rows.collect()
}
