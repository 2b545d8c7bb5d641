//! The truth as a table: a line for each row, values separated by tabs.

use std::io::{self, BufWriter, Write};

use timebase_lab::synth::{Expected, SetTruth, Truth};

pub struct TruthFile<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> TruthFile<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        writeln!(out, "table\tid\tboottime\tmax_error\tunresolved")?;
        Ok(TruthFile { out })
    }

    pub fn write(&mut self, truth: &Truth) -> io::Result<()> {
        let (table, id) = (truth.row.table(), truth.row.id());
        write!(self.out, "{table}\t{id}\t{}\t", truth.boottime)?;
        match truth.expected {
            Expected::Within(ns) => writeln!(self.out, "{ns}\t"),
            Expected::Unresolved(reason) => writeln!(self.out, "\t{}", reason.code()),
        }
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The truth of a set.
pub struct SetTruthFile<W: Write> {
    out: BufWriter<W>,
    files: Vec<String>,
}

impl<W: Write> SetTruthFile<W> {
    pub fn new(out: W, files: Vec<String>) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        writeln!(out, "file\tmachine\ttable\tid\tboottime\tunresolved")?;
        Ok(SetTruthFile { out, files })
    }

    pub fn write(&mut self, truth: &SetTruth) -> io::Result<()> {
        let file = self.files.get(truth.file).map_or("", String::as_str);
        let (table, id) = (truth.row.table(), truth.row.id());
        let unresolved = truth.unresolved.map_or("", |reason| reason.code());
        writeln!(
            self.out,
            "{file}\t{}\t{table}\t{id}\t{}\t{unresolved}",
            truth.machine, truth.boottime
        )
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use timebase_lab::synth::{Reason, Row};

    #[test]
    fn a_row_has_an_error_or_a_reason() {
        let mut file = TruthFile::new(Vec::new()).unwrap();
        for (row, expected) in [
            (Row::Packet(7), Expected::Within(12)),
            (Row::AndroidLog(0), Expected::Unresolved(Reason::NonMonotonic)),
        ] {
            let boottime = 1000;
            file.write(&Truth { row, boottime, expected }).unwrap();
        }
        let bytes = file.out.into_inner().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "table\tid\tboottime\tmax_error\tunresolved\n\
             packet\t7\t1000\t12\t\n\
             android_logs\t0\t1000\t\tnon_monotonic\n"
        );
    }

    #[test]
    fn a_row_of_a_set_has_its_file_and_machine() {
        let files = vec!["host.pftrace".to_owned(), "vm-1.pftrace".to_owned()];
        let mut file = SetTruthFile::new(Vec::new(), files).unwrap();
        let truth =
            SetTruth { file: 1, machine: 1, row: Row::Packet(7), boottime: 1000, unresolved: None };
        file.write(&truth).unwrap();
        let bytes = file.out.into_inner().unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "file\tmachine\ttable\tid\tboottime\tunresolved\n\
             vm-1.pftrace\t1\tpacket\t7\t1000\t\n"
        );
    }
}
