//! The origin of a part of a statement: file, line and column, and the macros that it came through.

use std::fmt;
use std::sync::Arc;

/// A text with statements.
#[derive(Debug)]
pub struct Source {
    /// The name for errors: that of a module; `None` for the statements of a user.
    pub name: Option<String>,
    pub text: String,
}

impl Source {
    pub fn new(name: Option<String>, text: &str) -> Arc<Source> {
        Arc::new(Source { name, text: text.to_owned() })
    }

    /// The line and column of a byte, both from 1. The column counts characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count().saturating_add(1);
        let start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let column = before.get(start..).unwrap_or_default().chars().count();
        (line, column.saturating_add(1))
    }

    fn line(&self, offset: usize) -> &str {
        let (before, after) = self.text.split_at_checked(offset).unwrap_or(("", ""));
        let start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let end = after.find('\n').unwrap_or(after.len());
        let end = offset.saturating_add(end);
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The call of a macro that made a part of a statement.
#[derive(Debug)]
pub struct Via {
    pub name: String,
    pub at: Place,
}

/// A place in a source, and the macro calls that led there, the innermost one first.
#[derive(Debug, Clone)]
pub struct Place {
    pub source: Arc<Source>,
    pub offset: usize,
    pub via: Option<Arc<Via>>,
}

impl Place {
    pub fn start(source: &Arc<Source>) -> Place {
        Place { source: Arc::clone(source), offset: 0, via: None }
    }

    /// The place with the line itself, as an addition to an error:
    ///
    /// ```text
    ///   slices.with_context, line 3, column 8: SELECT x
    ///   through the macro pair!, called at line 7, column 15
    /// ```
    pub fn told(&self) -> String {
        let mut told = format!("\n  {}: {}", self.short(), self.line());
        let mut via = self.via.as_ref();
        while let Some(call) = via {
            told += &format!("\n  through the macro {}!, called at {}", call.name, call.at.short());
            via = call.at.via.as_ref();
        }
        told
    }

    fn line(&self) -> String {
        /// More would not fit on a terminal.
        const SHOWN: usize = 100;
        let line = self.source.line(self.offset).trim();
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line.to_owned(),
        }
    }

    /// File, line and column.
    pub fn short(&self) -> Short<'_> {
        Short(self)
    }
}

/// The form of a place inside a sentence.
pub struct Short<'p>(&'p Place);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Short(place) = self;
        let (line, column) = place.source.position(place.offset);
        if let Some(name) = &place.source.name {
            write!(f, "{name}, ")?;
        }
        write!(f, "line {line}, column {column}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Place, Source, Via};

    #[test]
    fn pq1_a_place_has_the_line_and_the_column_in_characters() {
        let source = Source::new(None, "SELECT 1;\nSELECT 'é', x;\n");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(source.text.find('x').unwrap_or(0)), (2, 13));
        assert_eq!(source.position(usize::MAX), (3, 1));
    }

    #[test]
    fn pq7_a_place_names_the_macros_that_led_there() {
        let module = Source::new(Some("a.b".into()), "\nx");
        let script = Source::new(None, "m!()");
        let via = Arc::new(Via { name: "m".into(), at: Place::start(&script) });
        let place = Place { source: module, offset: 1, via: Some(via) };
        assert_eq!(
            place.told(),
            "\n  a.b, line 2, column 1: x\n  through the macro m!, called at line 1, column 1"
        );
    }
}
