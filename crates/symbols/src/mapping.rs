//! Mappings of R8 and ProGuard, line by line (rules DM).
//!
//! A mapping of a large app has a million lines, of which a trace needs few. So a file is read twice: the first time to
//! refuse a file that is none, before the import, and the second time for the classes that the trace has.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The longest line.
const LONGEST: u64 = 1 << 20;

/// A mapping, and the package that it holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingFile {
    /// The file.
    pub path: PathBuf,
    /// The package of its classes; `None` if it holds for all.
    pub package: Option<String>,
}

/// A class of a mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// Its name in the program.
    pub obfuscated: String,
    /// Its name in the source.
    pub original: String,
    /// Its fields.
    pub fields: Vec<Member>,
    /// Its methods. Of an inlined method, the next ones with the same lines are the callers.
    pub methods: Vec<Member>,
}

/// A field or a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name in the program.
    pub obfuscated: String,
    /// Its name in the source. If it is of another class, that class is before it.
    pub original: String,
    /// The first and the last line in the program for which this holds.
    pub lines: Option<(u32, u32)>,
    /// The lines in the source: the first, and the last if it is stated.
    pub source: Option<(u32, Option<u32>)>,
}

impl Member {
    /// Whether the method may be at a line of the program.
    pub fn is_at(&self, line: u32) -> bool {
        self.lines.is_none_or(|(first, last)| (first..=last).contains(&line))
    }

    /// The line in the source of a line of the program (rule DM5).
    ///
    /// ```
    /// use timebase_symbols::Member;
    ///
    /// let member = Member { lines: Some((1, 3)), source: Some((10, Some(12))), ..Member::default() };
    /// assert_eq!(member.source_line(2), Some(11));
    /// ```
    pub fn source_line(&self, line: u32) -> Option<u32> {
        let (start, end) = self.source?;
        let into = self.lines.map_or(0, |(first, _)| line.saturating_sub(first));
        Some(end.map_or(start, |end| start.saturating_add(into).min(end.max(start))))
    }

    /// The full name: that of its class, a dot, and its own.
    pub fn full(&self, class: &str) -> String {
        match self.original.contains('.') {
            true => self.original.clone(),
            false => format!("{class}.{}", self.original),
        }
    }
}

/// A mapping that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MappingError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; `None` for the whole file.
    pub line: Option<u64>,
    /// A sentence without its subject: what is wrong.
    pub what: String,
}

impl Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}. Give the mapping.txt that R8 or ProGuard wrote", self.what)
    }
}

impl MappingFile {
    /// Checks all lines.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, a line is none of a mapping, or there is no class.
    pub fn check(&self) -> Result<(), MappingError> {
        self.each(|_| false, |_| {})
    }

    /// Gives the wanted classes to `give`, in their order.
    ///
    /// ```
    /// use timebase_symbols::MappingFile;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("mapping.txt");
    /// std::fs::write(&path, "org.Good -> a.b:\n    1:3:void run():10:12 -> c\n")?;
    /// let mapping = MappingFile { path, package: None };
    /// let mut names = Vec::new();
    /// mapping.each(|class| class == "a.b", |class| names.push(class.methods[0].full(&class.original)))?;
    /// assert_eq!(names, ["org.Good.run"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`MappingFile::check`].
    pub fn each(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        mut give: impl FnMut(Class),
    ) -> Result<(), MappingError> {
        let fault = |line, what: &dyn Display| MappingError {
            path: self.path.clone(),
            line,
            what: what.to_string(),
        };
        let mut lines = Lines::open(&self.path).map_err(|error| fault(None, &error))?;
        let mut class: Option<Class> = None;
        let mut has_class = false;
        let mut number = 0;
        while let Some(read) = lines.next() {
            number += 1;
            let at = Some(number);
            let line = read.map_err(|what| fault(at, &what))?;
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if !line.starts_with([' ', '\t']) {
                let new = class_of(text).map_err(|what| fault(at, &what))?;
                give_wanted(class.replace(new), &is_wanted, &mut give);
                has_class = true;
                continue;
            }
            let Some(class) = &mut class else {
                return Err(fault(at, &"a member comes before the first class"));
            };
            let (member, is_method) = member(text).map_err(|what| fault(at, &what))?;
            if is_wanted(&class.obfuscated) {
                let list = if is_method { &mut class.methods } else { &mut class.fields };
                list.push(member);
            }
        }
        give_wanted(class, &is_wanted, &mut give);
        match has_class {
            true => Ok(()),
            false => Err(fault(None, &"it has no class")),
        }
    }
}

fn give_wanted(
    class: Option<Class>,
    is_wanted: &impl Fn(&str) -> bool,
    give: &mut impl FnMut(Class),
) {
    if let Some(class) = class.filter(|class| is_wanted(&class.obfuscated)) {
        give(class);
    }
}

/// The lines of a file.
struct Lines {
    input: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> std::io::Result<Lines> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        let input = BufReader::new(file);
        Ok(Lines { input, line: Vec::new() })
    }

    fn next(&mut self) -> Option<Result<&str, String>> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return None,
            Ok(size) if size as u64 == LONGEST => {
                return Some(Err(format!("the line has more than {LONGEST} bytes")));
            }
            Ok(_) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
        let text = std::str::from_utf8(&self.line);
        Some(text.map_err(|_| "the line is not UTF-8".to_owned()))
    }
}

type Parsed<T> = Result<T, String>;

/// The two sides of an arrow.
fn sides(text: &str) -> Parsed<(&str, &str)> {
    let sides =
        text.split_once(" -> ").map(|(original, obfuscated)| (original.trim(), obfuscated.trim()));
    let sides = sides.filter(|(original, obfuscated)| {
        !original.is_empty() && !obfuscated.is_empty() && !obfuscated.contains(' ')
    });
    sides.ok_or_else(|| format!("'{}' is not 'name -> name'", shortened(text)))
}

/// `org.Good -> a.b:`
fn class_of(text: &str) -> Parsed<Class> {
    let (original, obfuscated) = sides(text)?;
    let obfuscated = obfuscated.strip_suffix(':').filter(|name| !name.is_empty());
    let obfuscated = obfuscated.filter(|_| !original.contains(' '));
    let obfuscated =
        obfuscated.ok_or_else(|| format!("'{}' is not 'class -> class:'", shortened(text)))?;
    let (obfuscated, original) = (obfuscated.to_owned(), original.to_owned());
    Ok(Class { obfuscated, original, ..Class::default() })
}

/// `int field -> a` or `1:3:void method(int):10:12 -> a`; the latter is a method.
fn member(text: &str) -> Parsed<(Member, bool)> {
    let (original, obfuscated) = sides(text)?;
    let (of_type, name) = original
        .split_once(' ')
        .map(|(of_type, name)| (of_type, name.trim()))
        .ok_or_else(|| format!("'{}' has no type", shortened(text)))?;
    let bad = || format!("the line numbers of '{}' are none", shortened(text));
    let mut member = Member { obfuscated: obfuscated.to_owned(), ..Member::default() };
    let Some((name, rest)) = name.split_once('(') else {
        member.original = name.to_owned();
        return Ok((member, false));
    };
    member.original = name.to_owned();
    if let Some((first, rest)) = of_type.split_once(':') {
        let (last, _) = rest.split_once(':').ok_or_else(bad)?;
        let lines = (number(first).ok_or_else(bad)?, number(last).ok_or_else(bad)?);
        member.lines = Some(lines);
    }
    let (_, after) = rest
        .split_once(')')
        .ok_or_else(|| format!("the parameters of '{}' do not end", shortened(text)))?;
    if let Some(source) = after.strip_prefix(':') {
        let (start, end) = match source.split_once(':') {
            Some((start, end)) => (start, Some(number(end).ok_or_else(bad)?)),
            None => (source, None),
        };
        member.source = Some((number(start).ok_or_else(bad)?, end));
    }
    Ok((member, true))
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// The start of a text.
fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(60).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Result<Vec<Class>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.txt");
        std::fs::write(&path, text).unwrap();
        let mut classes = Vec::new();
        let mapping = MappingFile { path: path.clone(), package: None };
        let read = mapping.each(|_| true, |class| classes.push(class));
        let file = path.display().to_string();
        read.map(|()| classes).map_err(|error| error.to_string().replace(&file, "m.txt"))
    }

    fn member_of(text: &str) -> Member {
        member(text).unwrap().0
    }

    #[test]
    fn dm1_classes_fields_methods_and_comments() {
        let text = "# compiler: R8\n\
            # {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n\
            org.Good -> a.b:\r\n\
            # {\"id\":\"sourceFile\",\"fileName\":\"Good.kt\"}\n\
            \x20   int[] count -> a\n\
            \x20   1:3:void org.Other.inner(int,java.lang.String):20:22 -> a\n\
            \x20   1:3:void run():7 -> a\n\
            \x20     # {\"id\":\"com.android.tools.r8.synthesized\"}\n\
            \tvoid <init>() -> <init>\n\
            \n\
            org.Empty -> c:\n";
        let classes = classes(text).unwrap();
        assert_eq!(classes.len(), 2);
        let good = &classes[0];
        assert_eq!((good.original.as_str(), good.obfuscated.as_str()), ("org.Good", "a.b"));
        assert_eq!(
            good.fields,
            [Member { original: "count".into(), obfuscated: "a".into(), ..Member::default() }]
        );
        let [inner, run, init] = good.methods.as_slice() else { unreachable!() };
        assert_eq!((inner.lines, inner.source), (Some((1, 3)), Some((20, Some(22)))));
        assert_eq!(inner.full("org.Good"), "org.Other.inner");
        assert_eq!((run.full("org.Good").as_str(), run.source), ("org.Good.run", Some((7, None))));
        assert_eq!((init.lines, init.source, init.original.as_str()), (None, None, "<init>"));
    }

    #[test]
    fn dm2_a_bad_line_is_named() {
        for (text, expected) in [
            ("", "m.txt: it has no class"),
            ("# only a comment\n", "m.txt: it has no class"),
            ("    int a -> b\n", "m.txt, line 1: a member comes before the first class"),
            ("a.b -> c\n", "m.txt, line 1: 'a.b -> c' is not 'class -> class:'"),
            ("a -> b:\n\nx\n", "m.txt, line 3: 'x' is not 'name -> name'"),
            ("a -> b:\n    x -> y\n", "m.txt, line 2: 'x -> y' has no type"),
            (
                "a -> b:\n    1:void f() -> y\n",
                "m.txt, line 2: the line numbers of '1:void f() -> y' are none",
            ),
            (
                "a -> b:\n    1:z:void f() -> y\n",
                "m.txt, line 2: the line numbers of '1:z:void f() -> y' are none",
            ),
            (
                "a -> b:\n    void f( -> y\n",
                "m.txt, line 2: the parameters of 'void f( -> y' do not end",
            ),
        ] {
            let expected = format!("{expected}. Give the mapping.txt that R8 or ProGuard wrote");
            assert_eq!(classes(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn dm5_a_line_is_found_by_its_distance_from_the_first() {
        let range = member_of("4:6:void f():10:12 -> a");
        assert_eq!([4, 5, 6, 9].map(|line| range.source_line(line)), [10, 11, 12, 12].map(Some));
        assert!(range.is_at(4) && range.is_at(6) && !range.is_at(7));
        let call = member_of("4:6:void f():10 -> a");
        assert_eq!([4, 6].map(|line| call.source_line(line)), [Some(10), Some(10)]);
        let none = member_of("void f() -> a");
        assert!(none.source_line(4).is_none() && none.is_at(4));
    }

    proptest::proptest! {
        #[test]
        fn dm2_no_text_ends_the_process(text in "([ \t]{0,4}[a-z0-9.:>()#\u{e9} -]{0,20}\n?){0,12}") {
            let _ = classes(&text);
        }
    }
}
