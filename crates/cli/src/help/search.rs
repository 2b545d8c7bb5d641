//! Finds help by words: in the reference, the page for users of trace processor, the help of
//! commands, and the reports.
//!
//! # Design
//!
//! All texts together are a third of a megabyte, and each search reads through them; making an
//! index would take longer. A word is also found in other forms (`wait` in `waiting`), which needs
//! only a comparison of prefixes and no dictionary. Each result has the name to type for more, and
//! the sentence with most of the words. Texts with all words in one place come before texts where
//! the words are scattered.

use std::cmp::Reverse;

use super::{GUIDE_NAME, slug};
use crate::reference::{Block, Section, SectionKind, guide, is_of_columns, reference};

/// The largest number of letters of an ending: `ing`, `ed`, `s`.
const ENDING: usize = 3;

/// The largest number of results, so that they fit on one screen.
const MOST: usize = 8;

/// The largest length of a shown text.
const SHOWN: usize = 240;

/// The words that a question has around its subject.
const FILLERS: [&str; 18] = [
    "a", "an", "are", "can", "did", "do", "does", "how", "i", "is", "my", "the", "this", "was",
    "what", "where", "which", "why",
];

/// A subject of the help, with its texts.
pub struct Topic {
    /// The name to type.
    pub name: String,
    /// The heading, if it says more than the name.
    heading: Option<String>,
    texts: Vec<String>,
}

impl Topic {
    pub fn new(name: String, texts: Vec<String>) -> Topic {
        Topic { name, heading: None, texts }
    }

    fn of(section: &Section) -> Topic {
        let name = match section.group {
            Some(_) if !section.name.contains(' ') => section.name.clone(),
            _ => slug(&section.name),
        };
        Topic::new(name, texts(section))
    }
}

/// A place where words were found.
pub struct Found {
    /// The name to type for more.
    pub name: String,
    /// The sentence with most of the words.
    pub text: String,
}

/// The topics of the pages.
pub fn of_pages() -> impl Iterator<Item = Topic> {
    let sections = reference().sections.iter().skip(1);
    let told = sections.filter(|section| section.kind != SectionKind::Storage);
    let guided = guide().sections.iter().map(|section| Topic {
        name: GUIDE_NAME.to_owned(),
        heading: Some(section.name.clone()),
        texts: texts(section),
    });
    told.map(Topic::of).chain(guided)
}

/// The words of a question that say its subject, or all if none does.
pub fn words(question: &str) -> Vec<String> {
    let mut words: Vec<String> = split(question).collect();
    words.dedup();
    let is_filler = |word: &String| FILLERS.contains(&word.as_str());
    if !words.iter().all(is_filler) {
        words.retain(|word| !is_filler(word));
    }
    words
}

/// The places with most of the words, the best first. Each has at least `least` of them.
pub fn find(words: &[String], least: usize, topics: impl Iterator<Item = Topic>) -> Vec<Found> {
    let mut found: Vec<(usize, bool, usize, Found)> = Vec::new();
    for topic in topics {
        let heading = topic.heading.as_deref().unwrap_or(&topic.name);
        let all = topic.texts.iter().map(String::as_str).chain([heading]);
        let scattered = count(words, &all.collect::<Vec<_>>().join(" "));
        if scattered < least.max(1) {
            continue;
        }
        let named = count(words, heading);
        let sentences = topic.texts.iter().flat_map(|text| sentences(text));
        // Of equally good sentences, this is the first.
        let best = sentences
            .enumerate()
            .max_by_key(|(index, sentence)| (count(words, sentence), Reverse(*index)));
        let (together, sentence) =
            best.map_or((0, ""), |(_, sentence)| (count(words, sentence), sentence));
        let text = match &topic.heading {
            Some(heading) => format!("{heading}: {}", shortened(sentence)),
            None => shortened(sentence),
        };
        let name = topic.name;
        let is_together = together.max(named) == words.len();
        found.push((scattered, is_together, named, Found { name, text }));
    }
    found.sort_by_key(|(scattered, is_together, named, _)| {
        Reverse((*scattered, *is_together, *named))
    });
    let most = found.first().map(|(scattered, ..)| *scattered);
    let best = found.into_iter().filter(|(scattered, ..)| Some(*scattered) == most);
    best.map(|(.., found)| found).take(MOST).collect()
}

/// The texts of a section: paragraphs, items, and rows.
fn texts(section: &Section) -> Vec<String> {
    let mut texts = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => texts.push(text.clone()),
            Block::List(items) => texts.extend(items.iter().cloned()),
            Block::Table(rows) => {
                let rows = rows.iter().skip(1);
                texts.extend(rows.map(|row| row_text(row, block)));
            }
            Block::Lines(_) | Block::Example { .. } => {}
        }
    }
    texts
}

/// A row as a text: its subject, and the statement about it.
fn row_text(row: &[String], block: &Block) -> String {
    let is_columns = matches!(block, Block::Table(rows) if is_of_columns(rows));
    match row {
        [name, _, text] if is_columns => format!("{name}: {text}"),
        [name, rest @ ..] => format!("{name}: {}", rest.join("; ")),
        [] => String::new(),
    }
}

/// The number of words that are in a text, in any of their forms.
fn count(words: &[String], text: &str) -> usize {
    let of_text: Vec<String> = split(text).collect();
    let is_there = |word: &&String| of_text.iter().any(|other| is_form(word, other));
    words.iter().filter(is_there).count()
}

/// Whether a word of a text is a form of a searched word.
fn is_form(word: &str, other: &str) -> bool {
    let stem = match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 => stem,
        _ => word,
    };
    let ending = other.strip_prefix(stem);
    ending.is_some_and(|ending| ending.is_empty() || (stem.len() > 2 && ending.len() <= ENDING))
}

/// The words of a text, in lower case. Names with underscores have several words, too.
fn split(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The sentences of a text. The dots of "e.g. this" do not end a sentence.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").flat_map(|paragraph| {
        let mut from = 0;
        let ends = paragraph.match_indices(". ").map(|(at, dot)| at + dot.len());
        let ends = ends.chain([paragraph.len()]);
        ends.filter_map(move |end| {
            let (before, rest) = paragraph.split_at_checked(end)?;
            if rest.starts_with(char::is_lowercase) {
                return None;
            }
            let sentence = before.get(from..)?;
            from = end;
            Some(sentence.trim())
        })
    })
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let cut: String = text.chars().take(SHOWN).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{whole} …")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, texts: &[&str]) -> Topic {
        Topic::new(name.to_owned(), texts.iter().map(ToString::to_string).collect())
    }

    fn found(question: &str, least: usize) -> Vec<(String, String)> {
        let topics = [
            topic("a", &["Threads wait. They sleep.", "A CPU is idle."]),
            topic("b", &["A thread was waiting for a CPU."]),
            topic("waits", &["Nothing."]),
        ];
        let found = find(&words(question), least, topics.into_iter());
        found.into_iter().map(|f| (f.name, f.text)).collect()
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn words_are_found_in_their_forms_and_best_where_they_stand_together() {
        let b = pair("b", "A thread was waiting for a CPU.");
        assert_eq!(found("wait CPUs", 2), [b.clone(), pair("a", "Threads wait.")]);
        assert_eq!(found("Wait", 1)[0].0, "waits", "a name comes first");
        assert_eq!(found("sleep elephant", 1), [pair("a", "They sleep.")]);
        assert!(found("sleep elephant", 2).is_empty());
        assert_eq!(words("Which thread did this event use?"), ["thread", "event", "use"]);
        assert_eq!(words("what is the"), ["what", "is", "the"]);
        assert!(found("threa", 1).len() == 2 && found("th", 1).is_empty());
    }

    #[test]
    fn a_long_sentence_is_cut_between_words() {
        let long = "word ".repeat(100);
        let shown = shortened(long.trim());
        assert!(shown.ends_with("word …") && shown.chars().count() <= SHOWN + 2);
    }
}
