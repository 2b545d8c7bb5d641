//! Runs the examples of the README, of the tour, of the six tasks, and of the pages about several
//! machines and files, PyTorch, builds, comparisons and rewriting: the output must be the one shown.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::{PROGRAM, Said, is_shown, repository, trimmed};

/// A line after `$`, and the output below it.
#[derive(Debug, Default)]
struct Example {
    command: String,
    output: Vec<String>,
}

/// An example is indented. Its command continues until its quotes are closed.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_example = false;
    for line in page.lines() {
        let text = line.strip_prefix("    ");
        in_example &= text.is_some() || line.is_empty();
        if let Some(command) = text.and_then(|text| text.strip_prefix("$ ")) {
            in_example = true;
            examples.push(Example { command: command.to_owned(), output: Vec::new() });
        } else if let (true, Some(example)) = (in_example, examples.last_mut()) {
            let text = text.unwrap_or_default();
            if is_open(&example.command) {
                example.command += &format!("\n{text}");
            } else {
                example.output.push(text.to_owned());
            }
        }
    }
    examples
}

fn is_open(command: &str) -> bool {
    command.replace("\\\"", "").matches('"').count() % 2 == 1
}

/// Runs the examples of a page; at least this many must show their output.
fn assert_prints_what_is_shown(name: &str, at_least: usize) {
    let repository = repository();
    let page = std::fs::read_to_string(repository.join(name)).unwrap();
    let place = tempfile::tempdir().unwrap();
    symlink(repository.join("tests"), place.path().join("tests")).unwrap();
    if let Some(checkout) = std::env::var_os("TIMEBASE_PERFETTO") {
        symlink(checkout, place.path().join("perfetto")).unwrap();
    }
    let path = format!(
        "{}:{}",
        Path::new(PROGRAM).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let examples = examples(&page);
    let shown = examples.iter().filter(|example| !example.output.is_empty());
    assert!(shown.count() >= at_least, "{examples:#?}");
    for Example { command, output } in examples {
        let ran = Command::new("sh")
            .args(["-c", &command])
            .current_dir(place.path())
            .env("PATH", &path)
            .output();
        let said = Said::from(ran.unwrap());
        assert!(!said.stderr.contains("error:"), "{command}\n{}", said.stderr);
        let output = trimmed(&output.join("\n"));
        if !output.is_empty() {
            is_shown(name, &command, &trimmed(&said.stdout), &output);
        }
    }
}

#[test]
fn every_example_prints_what_the_readme_shows() {
    assert_prints_what_is_shown("README.md", 4);
}

#[test]
fn every_example_prints_what_the_tour_shows() {
    assert_prints_what_is_shown("docs/tour.md", 4);
}

#[test]
fn every_example_prints_what_the_page_about_several_machines_shows() {
    assert_prints_what_is_shown("docs/several.md", 10);
}

#[test]
fn every_example_prints_what_the_page_about_rewriting_shows() {
    assert_prints_what_is_shown("docs/rewrite.md", 3);
}

#[test]
fn every_example_prints_what_the_page_about_pytorch_shows() {
    assert_prints_what_is_shown("docs/pytorch.md", 15);
}

#[test]
fn every_example_prints_what_the_page_about_java_heaps_shows() {
    assert_prints_what_is_shown("docs/java-heap.md", 4);
}

#[test]
fn every_example_prints_what_the_page_about_builds_shows() {
    assert_prints_what_is_shown("docs/builds.md", 10);
}

#[test]
fn every_example_prints_what_the_page_about_comparisons_shows() {
    assert_prints_what_is_shown("docs/compare.md", 2);
}

/// With a checkout of Perfetto, which the environment variable TIMEBASE_PERFETTO names.
#[test]
fn every_example_prints_what_the_page_about_perfettosql_shows() {
    match std::env::var_os("TIMEBASE_PERFETTO") {
        Some(_) => assert_prints_what_is_shown("docs/perfettosql.md", 1),
        None => eprintln!("left out: TIMEBASE_PERFETTO does not name a checkout of Perfetto"),
    }
}

#[test]
fn every_example_prints_what_the_tasks_show() {
    assert_prints_what_is_shown("docs/tasks.md", 7);
}
