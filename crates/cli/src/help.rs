//! `timebase help NAME`: the reference, the page about trace processor, commands and reports, available
//! without a network, and modules of PerfettoSQL from the user's folders. The shell's `.help NAME` gives the
//! same. If the words are no name, it searches all of these for them.

mod modules;
mod page;
mod search;

use std::io::Write;

use anyhow::bail;
use clap::{CommandFactory, ValueEnum};

use timebase_sql::perfetto::Packages;

use crate::dialect;
use crate::flags::{Cli, SqlPackages};
use crate::output;
use crate::reference::{Block, Section, SectionKind, guide, is_of_columns, names, reference};
use crate::reports::Report;
use modules::Modules;
use page::{Page, with_bare_names};

/// A suggested name is more similar to the typed text than this. clap has a lower limit for its few
/// names.
const ALIKE: f64 = 0.8;

/// The heading of the section about the builtin clocks.
const CLOCKS: &str = "Times and clocks";

/// The name of the page about trace processor in this command.
const GUIDE_NAME: &str = "coming-from-trace-processor";

/// The lists that are no section of the reference.
const LISTS: &[(&str, &str)] = &[
    ("tables", "the tables and views of a database"),
    ("functions", "the SQL functions"),
    ("commands", "what the program can do"),
    ("reports", "the reports that come with the program"),
];

/// Writes the help for a name, or an overview of the names.
pub fn run(words: &[String], given: &SqlPackages, out: &mut dyn Write) -> anyhow::Result<()> {
    let packages = dialect::packages(&given.folders)?;
    tell(&words.join(" "), &packages, output::terminal_width(), out)
}

/// Writes the help for a name, for a terminal of this width, or as plain text without a terminal.
pub fn tell(
    name: &str,
    packages: &Packages,
    terminal: Option<u16>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let name = name.trim().trim_end_matches("()");
    let modules = Modules::read(packages)?;
    let mut page = Page::new(terminal);
    if name.is_empty() {
        overview(&modules, &mut page);
    } else {
        let is_known = tell_of(name, &mut page);
        // A module's object may have the name of a table of timebase.
        let is_known = modules.tell(name, &mut page) || is_known;
        if !is_known && !tell_of_part(name, &mut page) && !tell_of_guide(name, &mut page) {
            if let Some(section) = with_word(name) {
                tell_section(section, &mut page);
            } else {
                tell_found(name, &modules, &mut page)?;
            }
        }
    }
    out.write_all(page.into_text().as_bytes())?;
    Ok(())
}

/// A table or function in a few words.
pub fn in_short(name: &str) -> Option<String> {
    let section = reference().section(name)?;
    section.group.is_some().then(|| briefly(section))
}

/// Names and their descriptions, laid out for a terminal of this width.
pub fn listed(entries: impl Iterator<Item = (String, String)>, terminal: Option<u16>) -> String {
    let mut page = Page::new(terminal);
    list(&mut page, entries);
    page.into_text()
}

/// The description of a table as a comment before its SQL: with its columns, or in a sentence.
pub fn comment(table: &str, in_full: bool, terminal: Option<u16>) -> String {
    const MARK: &str = "-- ";
    const WIDTH: u16 = 100;

    let Some(section) = reference().section(table).filter(|section| section.group.is_some()) else {
        return String::new();
    };
    let mut page = Page::new(Some(terminal.unwrap_or(WIDTH).saturating_sub(MARK.len() as u16)));
    if in_full {
        section.paragraphs().for_each(|text| page.paragraph(text));
        tell_columns(section, &mut page);
    } else {
        page.paragraph(section.summary());
    }
    let text = page.into_text();
    text.lines().map(|line| format!("{}\n", format!("{MARK}{line}").trim_end())).collect()
}

/// All names that the help knows, each with a few words.
pub fn names_known() -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    known.extend(LISTS.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())));
    known.extend(topics().map(|topic| (slug(&topic.name), topic.name.clone())));
    known.extend(guide_row());
    let sections = reference().sections.iter();
    let members = sections.filter(|section| section.group.is_some());
    known.extend(members.map(|section| (section.name.clone(), briefly(section))));
    known.extend(commands());
    for (name, about) in reports() {
        if known.iter().all(|(other, _)| *other != name) {
            known.push((name, about));
        }
    }
    known
}

/// Whether a name and the typed text are the same to a person.
fn is_same(name: &str, typed: &str) -> bool {
    let joined = |c: char| match c {
        ' ' | '-' => '_',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(joined).eq(typed.chars().map(joined))
}

/// A heading as one word.
fn slug(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

/// The sections that are not about a single table or function.
fn topics() -> impl Iterator<Item = &'static Section> {
    // The first section is the page's title and table of contents.
    let sections = reference().sections.iter().skip(1);
    sections.filter(|section| section.group.is_none())
}

fn commands() -> impl Iterator<Item = (String, String)> {
    let cli = Cli::command();
    let commands: Vec<_> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| {
            let about = command.get_about().map(ToString::to_string);
            (command.get_name().to_owned(), about.unwrap_or_default())
        })
        .collect();
    commands.into_iter()
}

fn reports() -> impl Iterator<Item = (String, String)> {
    Report::value_variants().iter().map(|report| {
        let value = report.to_possible_value();
        let about = value.and_then(|value| value.get_help().map(ToString::to_string));
        (report.name(), about.unwrap_or_default())
    })
}

/// The name of the page about trace processor, and its title.
fn guide_row() -> Option<(String, String)> {
    let first = guide().sections.first()?;
    Some((GUIDE_NAME.to_owned(), first.name.clone()))
}

fn row(name: &str, what: &str) -> Vec<String> {
    vec![format!("timebase help {name}"), what.to_owned()]
}

fn overview(modules: &Modules, page: &mut Page) {
    page.paragraph(
        "This explains tables, columns, SQL functions, commands and reports, with examples. It needs no network.",
    );
    let lists: Vec<_> = LISTS.iter().map(|(name, what)| row(name, what)).collect();
    page.rows(&[], &lists);
    let topics: Vec<_> = topics()
        .filter(|topic| topic.kind == SectionKind::Topic)
        .map(|topic| row(&slug(&topic.name), &topic.name))
        .chain(guide_row().map(|(name, title)| row(&name, &title)))
        .collect();
    page.rows(&[], &topics);
    modules.overview(page);
    page.paragraph("Or use any name, or words to search for:");
    page.rows(
        &[],
        &[
            row("slice", "a table"),
            row("slice.dur", "a column"),
            row("utid", "all columns of a name"),
            row("to_boottime", "a function"),
            row("no_path", "a reason, a counter or a code of the log"),
            row("import", "a command"),
            row("sched-latency", "a report"),
            row("wait for a CPU", "a search for these words"),
        ],
    );
    page.paragraph("In the shell, use '.help NAME'.");
}

/// Writes the help for all things with a name. Several things may have the same name, such as a view and a
/// report.
fn tell_of(name: &str, page: &mut Page) -> bool {
    let mut is_known = true;
    match LISTS.iter().find(|(list, _)| is_same(list, name)) {
        Some(("tables", _)) => list_tables(page),
        Some(("functions", _)) => list_functions(page),
        Some(("commands", _)) => {
            page.heading("Commands");
            list(page, commands());
            page.paragraph("'timebase help COMMAND' explains one.");
        }
        Some(("reports", _)) => {
            page.heading("Reports");
            list(page, reports());
            page.paragraph("'timebase query TRACE-or-DB --report NAME' runs one.");
        }
        _ => is_known = false,
    }
    let named = |name: &str| reference().sections.iter().skip(1).find(|of| is_same(&of.name, name));
    // Trace processor calls many tables so.
    let named = named(name).or_else(|| named(name.strip_prefix("__intrinsic_")?));
    if let Some(section) = named {
        tell_section(section, page);
        is_known = true;
    }
    let mut clocks = (1..64).filter_map(timebase_resolver::builtin_name);
    if let Some(section) =
        reference().section(CLOCKS).filter(|_| clocks.any(|clock| is_same(clock, name)))
    {
        tell_section(section, page);
        is_known = true;
    }
    let mut cli = Cli::command();
    cli.build();
    if let Some(command) =
        cli.get_subcommands_mut().find(|command| is_same(command.get_name(), name))
    {
        page.heading(&format!("The command {}", command.get_name()));
        page.verbatim(&command.render_long_help());
        is_known = true;
    }
    let mut reports = Report::value_variants().iter();
    if let Some(report) = reports.find(|report| is_same(&report.name(), name)) {
        page.heading(&format!("The report {}", report.name()));
        page.lines(head_comment(report.sql()).trim_end());
        is_known = true;
    }
    is_known
}

fn list(page: &mut Page, entries: impl Iterator<Item = (String, String)>) {
    let rows: Vec<_> = entries.map(|(name, what)| vec![name, what]).collect();
    page.rows(&[], &rows);
}

fn list_members(page: &mut Page, group: &Section) {
    page.heading(&group.name);
    let members = reference().members(&group.name);
    list(page, members.map(|member| (member.name.clone(), briefly(member))));
}

/// The description of a member of a group, in a list of members.
fn briefly(section: &Section) -> String {
    /// If the text is longer, an explanation follows it.
    const BRIEF: usize = 80;
    /// The kind is shown beside the sentence.
    const SUBJECTS: [&str; 7] = [
        "A row is ",
        "A row describes ",
        "This is ",
        "These are ",
        "This view has ",
        "This view shows ",
        "This table-valued function returns ",
    ];

    let summary = section.summary().trim_end_matches('.');
    let mut without = SUBJECTS.iter().filter_map(|subject| summary.strip_prefix(subject));
    let summary = without.next().unwrap_or(summary);
    let brief = match summary.split_once(": ") {
        Some((brief, _)) if summary.chars().count() > BRIEF => brief,
        _ => summary,
    };
    brief.split("; ").next().unwrap_or(brief).to_owned()
}

fn list_tables(page: &mut Page) {
    for group in topics().filter(|topic| topic.kind == SectionKind::Group) {
        let mut members = reference().members(&group.name);
        if members.any(|member| member.kind == SectionKind::Table) {
            list_members(page, group);
        }
    }
    let behind = topics().find(|topic| topic.kind == SectionKind::Group && is_storage(topic));
    if let Some(behind) = behind {
        page.heading(&behind.name);
        let members = reference().members(&behind.name);
        let names: Vec<&str> = members.map(|member| member.name.as_str()).collect();
        page.paragraph(&names.join(", "));
    }
    page.paragraph("'timebase help NAME' explains one, with its columns.");
}

fn is_storage(group: &Section) -> bool {
    let mut members = reference().members(&group.name);
    members.all(|member| member.kind == SectionKind::Storage)
}

fn list_functions(page: &mut Page) {
    page.heading("SQL functions");
    let functions = reference().sections.iter();
    let functions = functions.filter(|section| section.kind == SectionKind::Function);
    let called = functions.map(|function| {
        let signature = function.signatures().next().unwrap_or(&function.name);
        (signature.to_owned(), briefly(function))
    });
    list(page, called);
    page.paragraph("'timebase help NAME' explains one, with all its forms.");
}

fn tell_section(section: &Section, page: &mut Page) {
    page.heading(&match section.kind {
        SectionKind::Table => format!("The table {}", section.name),
        SectionKind::Storage => format!("The table {}, behind a view", section.name),
        SectionKind::Function => format!("The function {}", section.name),
        SectionKind::Group | SectionKind::Topic => section.name.clone(),
    });
    // Columns that are the same as in another table share a row there; here they have their text.
    let mut has_columns = false;
    for block in &section.blocks {
        match block {
            Block::Table(rows) if is_of_columns(rows) => {
                if !std::mem::replace(&mut has_columns, true) {
                    tell_columns(section, page);
                }
            }
            block => page.block(block),
        }
    }
    if section.kind == SectionKind::Group {
        list(
            page,
            reference().members(&section.name).map(|member| (member.name.clone(), briefly(member))),
        );
    }
}

/// Columns with the same text are one row, as on the page.
fn tell_columns(section: &Section, page: &mut Page) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for column in reference().columns(section) {
        match rows.last_mut() {
            Some(row) if row[1] == column.kind && row[2] == column.text => {
                row[0] = format!("{}, {}", row[0], column.name);
            }
            _ => rows.push([column.name, column.kind, column.text].map(str::to_owned).to_vec()),
        }
    }
    page.rows(&["column", "type", ""], &rows);
}

/// Writes the help for the parts with a name: a column in all tables or as `table.column`, or an entry in the
/// first column of the reference's other tables.
fn tell_of_part(name: &str, page: &mut Page) -> bool {
    let (table, name) = match name.rsplit_once('.') {
        Some((table, column)) if !table.is_empty() => (Some(table), column),
        _ => (None, name),
    };
    let sections = reference().sections.iter();
    let sections: Vec<&Section> = sections
        .filter(|section| table.is_none_or(|table| is_same(&section.name, table)))
        .collect();
    let mut columns = Vec::new();
    for section in &sections {
        // A question without a table is not about the tables behind the views.
        if section.kind == SectionKind::Storage && table.is_none() {
            continue;
        }
        let mut found = reference().columns(section);
        if let Some(column) = found.find(|column| is_same(column.name, name)) {
            let place = format!("{}.{}", section.name, column.name);
            columns.push(vec![place, column.kind.to_owned(), column.text.to_owned()]);
        }
    }
    if !columns.is_empty() {
        page.heading(&format!("The column {name}"));
        page.rows(&["column", "type", ""], &columns);
    }
    let mut is_known = !columns.is_empty();
    is_known |= tell_report_columns(table, name, page);
    for section in sections {
        for block in &section.blocks {
            let Block::Table(rows) = block else { continue };
            let Some((header, rows)) = rows.split_first().filter(|_| !is_of_columns(rows)) else {
                continue;
            };
            let is_meant = |row: &&Vec<String>| {
                row.first().is_some_and(|cell| names(cell).any(|named| is_same(named, name)))
            };
            let rows: Vec<Vec<String>> =
                rows.iter().filter(is_meant).map(|row| with_bare_names(row)).collect();
            if !rows.is_empty() {
                page.heading(&format!("In {}", section.name));
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                page.rows(&header, &rows);
                is_known = true;
            }
        }
    }
    is_known
}

/// Writes the descriptions of a column in reports, of all or of one.
fn tell_report_columns(report: Option<&str>, name: &str, page: &mut Page) -> bool {
    let mut is_known = false;
    for of in Report::value_variants() {
        if report.is_some_and(|report| !is_same(&of.name(), report)) {
            continue;
        }
        let rows: Vec<Vec<String>> = of
            .columns()
            .filter(|(cell, _)| names(cell).any(|column| is_same(column, name)))
            .map(|(cell, text)| vec![cell.to_owned(), text.to_owned()])
            .collect();
        if !rows.is_empty() {
            page.heading(&format!("In the report {}", of.name()));
            page.rows(&[], &rows);
            is_known = true;
        }
    }
    is_known
}

/// The topic with a word in its heading, if there is exactly one.
fn with_word(word: &str) -> Option<&'static Section> {
    let mut found = topics().filter(|topic| topic.name.split(' ').any(|part| is_same(part, word)));
    found.next().filter(|_| found.next().is_none())
}

/// Writes the page about trace processor, or a section of it.
fn tell_of_guide(name: &str, page: &mut Page) -> bool {
    let sections = &guide().sections;
    if is_same(GUIDE_NAME, name) {
        sections.iter().for_each(|section| tell_section(section, page));
        return true;
    }
    let section = sections.iter().find(|section| is_same(&section.name, name));
    section.inspect(|section| tell_section(section, page)).is_some()
}

/// Writes the places where all words occur. If there are none, it suggests a name that is like the typed
/// text, or else writes the places with at least half of the words.
fn tell_found(typed: &str, modules: &Modules, page: &mut Page) -> anyhow::Result<()> {
    let words = search::words(typed);
    let topics = || {
        let pages = search::of_pages().chain(commands_and_reports());
        pages.chain(modules.topics())
    };
    let mut found = search::find(&words, words.len(), topics());
    if found.is_empty() {
        if let Some(meant) = meant(typed, modules) {
            bail!("nothing is called '{typed}'; did you mean '{meant}'?");
        }
        if words.len() > 1 {
            found = search::find(&words, words.len().div_ceil(2), topics());
        }
    }
    if found.is_empty() {
        bail!(
            "nothing is called '{typed}', and no text contains it; 'timebase help' lists all topics"
        );
    }
    page.paragraph(&format!("Nothing is called '{typed}'. These texts contain it:"));
    let rows = found.into_iter();
    let rows: Vec<_> =
        rows.map(|found| vec![format!("timebase help {}", found.name), found.text]).collect();
    page.rows(&[], &rows);
    Ok(())
}

/// The texts of commands with their options, and of reports.
fn commands_and_reports() -> impl Iterator<Item = search::Topic> {
    let cli = Cli::command();
    let mut topics = Vec::new();
    for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
        let mut texts = Vec::new();
        texts.extend(command.get_about().map(ToString::to_string));
        texts.extend(command.get_long_about().map(ToString::to_string));
        for argument in command.get_arguments() {
            let help = argument.get_long_help().or_else(|| argument.get_help());
            let name = match argument.get_long() {
                Some(long) => format!("--{long}: "),
                None => String::new(),
            };
            texts.extend(help.map(|help| format!("{name}{help}")));
        }
        topics.push(search::Topic::new(command.get_name().to_owned(), texts));
    }
    topics.extend(Report::value_variants().iter().map(|report| {
        let comment = head_comment(report.sql());
        let texts = comment.split("\n\n").map(|text| text.replace('\n', " "));
        search::Topic::new(report.name(), texts.collect())
    }));
    topics.into_iter()
}

/// The name that is most like the typed text.
fn meant(typed: &str, modules: &Modules) -> Option<String> {
    let typed = typed.to_lowercase();
    let sections = reference().sections.iter();
    let columns = sections
        .flat_map(|section| reference().columns(section).map(|column| column.name.to_owned()));
    let of_reports = Report::value_variants().iter();
    let of_reports = of_reports.flat_map(|report| report.columns());
    let of_reports = of_reports.flat_map(|(cell, _)| names(cell).map(str::to_owned));
    let known = names_known()
        .into_iter()
        .map(|(name, _)| name)
        .chain(columns)
        .chain(of_reports)
        .chain(modules.names());
    let likeness = known.map(|name| (strsim::jaro(&typed, &name), name));
    let nearest =
        likeness.filter(|(likeness, _)| *likeness > ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, name)| name)
}

/// The comment at the start of a text of SQL, as text.
fn head_comment(sql: &str) -> String {
    let comment = sql.lines().map_while(|line| line.strip_prefix("--"));
    comment.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}
