//! The doctor's findings.

use rusqlite::{Connection, Row};

use crate::clocks::natural;
use crate::error::{Error, Reading};
use crate::text::shown_up_to;

/// The number of findings on the page.
const MOST: usize = 100;
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
    /// Reads them from the database. The checks run once, which takes seconds for a large trace: so the findings that the page leaves out are
    /// counted in the same result.
    pub fn read(database: &Connection) -> Result<Findings, Error> {
        let mut findings = Findings { shown: Vec::new(), errors: 0, warnings: 0, infos: 0 };
        findings.add_all(database).reading("findings")?;
        Ok(findings)
    }

    fn add_all(&mut self, database: &Connection) -> rusqlite::Result<()> {
        let mut statement = database.prepare(
            "SELECT severity, check_name, subject, packet_id, offset, events, worst_ns, message, advice
             FROM finding
             ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END,
                      events DESC, worst_ns DESC, check_name, machine_id, clock_id, seq_id, subject",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let severity = match row.get_ref(0)?.as_str()? {
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                _ => Severity::Info,
            };
            let count = match severity {
                Severity::Error => &mut self.errors,
                Severity::Warning => &mut self.warnings,
                Severity::Info => &mut self.infos,
            };
            *count = count.saturating_add(1);
            if self.shown.len() < MOST {
                self.shown.push(shown(row, severity)?);
            }
        }
        Ok(())
    }

    /// The number of findings that the page leaves out.
    pub fn more(&self) -> u64 {
        let all = self.errors.saturating_add(self.warnings).saturating_add(self.infos);
        all.saturating_sub(self.shown.len() as u64)
    }
}

fn shown(row: &Row<'_>, severity: Severity) -> rusqlite::Result<Finding> {
    let text = |column| -> rusqlite::Result<Option<String>> {
        let text: Option<String> = row.get(column)?;
        Ok(text.as_deref().map(|text| shown_up_to(SENTENCES, text)))
    };
    let worst: Option<f64> = row.get(6)?;
    Ok(Finding {
        severity,
        check: text(1)?.unwrap_or_default(),
        subject: text(2)?,
        packet: row.get(3)?,
        offset: row.get(4)?,
        events: natural(row, 5)?,
        worst_ns: worst.filter(|worst| worst.is_finite()),
        message: text(7)?.unwrap_or_default(),
        advice: text(8)?,
    })
}
