//! The README's examples, run as they stand: what it shows is what comes out.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::{PROGRAM, repository, trimmed};

/// A line after `$`, and what is printed below it.
#[derive(Debug, Default)]
struct Example {
    command: String,
    output: Vec<String>,
}

/// An example is indented. Its command goes on until its quotes are closed.
fn examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_example = false;
    for line in readme.lines() {
        let text = line.strip_prefix("    ");
        in_example &= text.is_some() || line.is_empty();
        if let Some(command) = text.and_then(|text| text.strip_prefix("$ ")) {
            in_example = true;
            examples.push(Example {
                command: command.to_owned(),
                output: Vec::new(),
            });
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

#[test]
fn every_example_prints_what_the_readme_shows() {
    let repository = repository();
    let readme = std::fs::read_to_string(repository.join("README.md")).unwrap();
    let place = tempfile::tempdir().unwrap();
    symlink(repository.join("tests"), place.path().join("tests")).unwrap();
    let program = Path::new(PROGRAM);
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let run = |command: &str| {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path())
            .env("PATH", &path)
            .output();
        output.unwrap()
    };
    // The README makes this one with `cargo run`.
    let made = run("timebase import tests/data/sdk.pftrace -o sdk.db");
    assert!(made.status.success(), "{made:?}");

    let examples = examples(&readme);
    let shown = examples.iter().filter(|example| !example.output.is_empty());
    assert!(shown.count() >= 7, "{examples:#?}");
    for Example { command, output } in examples {
        let ran = run(&command);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(!said.contains("error"), "{command}\n{said}");
        let output = trimmed(&output.join("\n"));
        if !output.is_empty() {
            let printed = String::from_utf8(ran.stdout).unwrap();
            assert_eq!(trimmed(&printed), output, "{command}");
        }
    }
}
