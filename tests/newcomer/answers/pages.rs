//! Every SQL statement in a page or a notebook, in any language.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value as Json;

use crate::support::{files, repository};

/// The statements of one block, or of a notebook; they run together, in this order.
#[derive(Debug)]
pub struct Shown {
    /// The page, and the block in it.
    pub place: String,
    pub statements: Vec<String>,
}

/// All statements of the README, the pages and the notebooks.
pub fn all() -> Vec<Shown> {
    let mut shown = Vec::new();
    let mut pages = files("docs", &["md"]);
    pages.push(repository().join("README.md"));
    pages.push(repository().join("crates/python/README.md"));
    for path in pages {
        let name = path.strip_prefix(repository()).unwrap().display().to_string();
        // The latter queries many traces at once, in the SQL of other engines.
        if name.starts_with("docs/rules") || name == "docs/fleet.md" {
            continue;
        }
        shown.extend(of_page(&name, &fs::read_to_string(&path).unwrap()));
    }
    for path in files("docs/notebooks", &["ipynb"]) {
        let name = path.strip_prefix(repository()).unwrap().display().to_string();
        shown.push(Shown {
            place: name,
            statements: of_notebook(&fs::read_to_string(&path).unwrap()),
        });
    }
    shown.retain(|shown| !shown.statements.is_empty());
    shown
}

/// The fenced blocks of a page and the indented commands. An example that shows an error is
/// skipped.
fn of_page(name: &str, text: &str) -> Vec<Shown> {
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let block = block.join("\n");
            match language {
                "sql" => blocks.push(statements(&block)),
                "python" => blocks.push(of_python(&block)),
                "text" if block.starts_with("timebase: error: ") => {
                    blocks.pop();
                }
                _ => {}
            }
        } else if let Some(command) = line.strip_prefix("    ").filter(|line| is_query(line)) {
            let mut command = command.to_owned();
            while command.replace("\\\"", "").matches('"').count() % 2 == 1 {
                command.push('\n');
                command += lines.next().unwrap_or_else(|| panic!("{name}: {command}"));
            }
            blocks.push(of_command(&command));
        }
    }
    let numbered = (1..).zip(blocks);
    numbered
        .map(|(number, statements)| Shown { place: format!("{name} {number}"), statements })
        .collect()
}

fn is_query(line: &str) -> bool {
    line.contains("timebase query ") && line.contains('"')
}

/// The argument of `timebase query` that is SQL.
fn of_command(command: &str) -> Vec<String> {
    let text = command.replace("\\\"", "\u{1}");
    let quoted = text.split('"').skip(1).step_by(2);
    let texts = quoted.map(|text| text.replace('\u{1}', "\"").replace("\\$", "$"));
    texts.filter(|text| is_sql(text)).flat_map(|sql| statements(&sql)).collect()
}

fn is_sql(text: &str) -> bool {
    let begin = text.split_whitespace().next().unwrap_or_default();
    ["SELECT", "WITH", "CREATE", "INSERT", "DELETE", "UPDATE"].contains(&begin)
}

/// The texts of a program in Python that are SQL.
fn of_python(program: &str) -> Vec<String> {
    if let Some(cell) = program.strip_prefix("%%sql\n") {
        return statements(cell);
    }
    let mut found = Vec::new();
    let mut rest = program;
    while let Some(begin) = rest.find(['"', '#', '\'']) {
        let text = &rest[begin..];
        let quote = ["\"\"\"", "\"", "'", "#"]
            .into_iter()
            .find(|quote| text.starts_with(quote))
            .unwrap_or_default();
        let end = if quote == "#" { "\n" } else { quote };
        let text = &text[quote.len()..];
        let length = text.find(end).unwrap_or(text.len());
        if quote != "#" && is_sql(&text[..length]) {
            found.extend(statements(&text[..length]));
        }
        rest = text.get(length + end.len()..).unwrap_or_default();
    }
    found
}

fn of_notebook(text: &str) -> Vec<String> {
    let notebook: Json = serde_json::from_str(text).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter();
    let code = cells.filter(|cell| cell["cell_type"] == "code");
    let texts = code.map(|cell| match &cell["source"] {
        Json::String(text) => text.clone(),
        lines => {
            let lines = lines.as_array().unwrap().iter();
            lines.map(|line| line.as_str().unwrap()).collect()
        }
    });
    texts.flat_map(|text| of_python(&text)).collect()
}

/// The statements of a script, which semicolons outside of texts and comments separate.
pub fn statements(script: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut chars = script.chars().peekable();
    while let Some(char) = chars.next() {
        let statement = found.last_mut().unwrap();
        match char {
            '\'' | '"' => {
                statement.push(char);
                for inside in chars.by_ref() {
                    statement.push(inside);
                    if inside == char {
                        break;
                    }
                }
            }
            '-' if chars.peek() == Some(&'-') => {
                let end = chars.by_ref().find(|char| *char == '\n');
                statement.extend(end);
            }
            ';' => found.push(String::new()),
            char => statement.push(char),
        }
    }
    let trimmed = found.iter().map(|statement| statement.trim().to_owned());
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

/// The names of the parameters of a statement.
pub fn parameters(statement: &str) -> BTreeSet<String> {
    let outside = statement.split('\'').step_by(2);
    let after = outside.flat_map(|text| text.split(':').skip(1));
    let names = after.map(|text| {
        let is_name = |char: &char| char.is_ascii_alphanumeric() || *char == '_';
        text.chars().take_while(is_name).collect()
    });
    names.filter(|name: &String| !name.is_empty()).collect()
}
