//! The help of `timebase help` for modules of PerfettoSQL: their declarations, with their own comments.

use std::collections::BTreeMap;

use timebase_sql::perfetto::{Declared, DeclaredKind, DeclaredName, Packages};

use super::page::Page;
use super::search::{self, Topic};
use super::{is_same, row};
use crate::escape::printable;

/// The modules of all packages.
#[derive(Debug, Default)]
pub struct Modules(Vec<Module>);

/// A module, and its declarations.
#[derive(Debug)]
struct Module {
    name: String,
    objects: Vec<Declared>,
}

impl Modules {
    /// Reads all modules of the folders.
    pub fn read(packages: &Packages) -> anyhow::Result<Modules> {
        let mut modules = Vec::new();
        for name in packages.modules()? {
            let objects = packages.declared(&name)?.unwrap_or_default();
            modules.push(Module { name, objects });
        }
        Ok(Modules(modules))
    }

    /// Each package, with the number of its modules.
    pub fn overview(&self, page: &mut Page) {
        let mut packages: BTreeMap<&str, usize> = BTreeMap::new();
        for module in &self.0 {
            let package = module.name.split('.').next().unwrap_or_default();
            let count = packages.entry(package).or_default();
            *count = count.saturating_add(1);
        }
        if packages.is_empty() {
            return;
        }
        page.paragraph("Packages of PerfettoSQL:");
        let rows = packages.into_iter().map(|(package, count)| match count {
            1 => row(package, "a module"),
            count => row(package, &format!("{count} modules")),
        });
        page.rows(&[], &rows.collect::<Vec<_>>());
    }

    /// Writes the help for the module with a name, for the modules below it, and for each object with the
    /// name. Returns whether there is one.
    pub fn tell(&self, name: &str, page: &mut Page) -> bool {
        let mut is_known = false;
        if let Some(module) = self.0.iter().find(|module| is_same(&module.name, name)) {
            module.tell(page);
            is_known = true;
        }
        let below: Vec<_> = self.0.iter().filter(|module| module.is_below(name)).collect();
        if !below.is_empty() {
            page.heading(&format!("The modules of {name}"));
            let rows = below.iter().map(|module| vec![module.name.clone(), module.in_short()]);
            page.rows(&[], &rows.collect::<Vec<_>>());
            page.paragraph("'timebase help MODULE' lists what a module declares.");
            is_known = true;
        }
        for module in &self.0 {
            for object in &module.objects {
                if is_same(&object.name, name.trim_end_matches('!')) {
                    tell(object, &module.name, page);
                    is_known = true;
                }
            }
        }
        is_known
    }

    /// The texts for a search of words.
    pub fn topics(&self) -> impl Iterator<Item = Topic> {
        let modules = self.0.iter();
        let modules =
            modules.map(|module| Topic::new(module.name.clone(), vec![module.in_short()]));
        let objects = self.public().map(|object| {
            let named = object.arguments.iter().chain(&object.columns);
            let texts = [&object.comment, &object.returns_comment].into_iter();
            let texts = texts.chain(named.map(|named| &named.comment));
            let texts = texts.map(|text| joined(text)).filter(|text| !text.is_empty());
            Topic::new(object.name.clone(), texts.collect())
        });
        modules.chain(objects)
    }

    /// The names of modules and of their objects.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let modules = self.0.iter().map(|module| module.name.clone());
        modules.chain(self.public().map(|object| object.name.clone()))
    }

    fn public(&self) -> impl Iterator<Item = &Declared> {
        let objects = self.0.iter().flat_map(|module| &module.objects);
        objects.filter(|object| !object.is_internal())
    }
}

impl Module {
    fn is_below(&self, name: &str) -> bool {
        let (head, rest) = self.name.split_at_checked(name.len()).unwrap_or_default();
        rest.starts_with('.') && is_same(head, name)
    }

    fn tell(&self, page: &mut Page) {
        page.heading(&format!("The module {}", self.name));
        page.lines(&format!("INCLUDE PERFETTO MODULE {};", self.name));
        let objects = self.objects.iter().filter(|object| !object.is_internal());
        let rows = objects.map(|object| {
            let what = match summary(&object.comment) {
                what if what.is_empty() => object.kind.word().to_owned(),
                what => format!("{}: {what}", object.kind.word()),
            };
            vec![printable(&object.usage()), what]
        });
        let rows: Vec<_> = rows.collect();
        match rows.is_empty() {
            true => page.paragraph("It declares nothing for use outside of its package."),
            false => page.rows(&[], &rows),
        }
    }

    /// The module's objects, in a few words.
    fn in_short(&self) -> String {
        let objects = self.objects.iter().filter(|object| !object.is_internal());
        let names: Vec<_> = objects.map(|object| printable(&object.name)).collect();
        match names.is_empty() {
            true => "for its package alone".to_owned(),
            false => names.join(", "),
        }
    }
}

fn tell(object: &Declared, module: &str, page: &mut Page) {
    let name = printable(&object.name);
    page.heading(&format!("The {} {name}, of the module {module}", object.kind.word()));
    paragraphs(&object.comment).for_each(|text| page.paragraph(&joined(&text)));
    let usage = match (object.kind, object.columns.is_empty()) {
        (DeclaredKind::Macro, _) => printable(&object.usage()),
        (DeclaredKind::Function, true) => format!("SELECT {};", printable(&object.usage())),
        _ => format!("SELECT * FROM {};", printable(&object.usage())),
    };
    page.lines(&format!("INCLUDE PERFETTO MODULE {module};\n{usage}"));
    let rows = |named: &[DeclaredName]| -> Vec<Vec<String>> {
        let cells = named.iter().map(|named| [&named.name, &named.declared, &named.comment]);
        cells.map(|cells| cells.map(|cell| joined(cell)).to_vec()).collect()
    };
    if !object.arguments.is_empty() {
        page.paragraph("Arguments:");
        page.rows(&["argument", "type", ""], &rows(&object.arguments));
    }
    if !object.columns.is_empty() {
        page.paragraph("Columns:");
        page.rows(&["column", "type", ""], &rows(&object.columns));
    } else if !object.returns.is_empty() {
        let returned = format!("Returns {}. {}", object.returns, object.returns_comment);
        page.paragraph(&joined(&returned));
    }
}

/// The paragraphs of a comment. Each item of a list is a paragraph.
fn paragraphs(comment: &str) -> impl Iterator<Item = String> {
    let mut found = vec![String::new()];
    for line in comment.lines() {
        if line.is_empty() || line.starts_with("- ") || line.starts_with("* ") {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    found.into_iter().filter(|text| !text.trim().is_empty())
}

/// A comment as one paragraph, without control characters for the terminal.
fn joined(comment: &str) -> String {
    let words: Vec<&str> = comment.split_whitespace().collect();
    printable(&words.join(" "))
}

/// The first sentence of a comment.
fn summary(comment: &str) -> String {
    let first = joined(&paragraphs(comment).next().unwrap_or_default());
    let sentence = search::sentences(&first).next().unwrap_or_default();
    sentence.trim_end_matches('.').to_owned()
}
