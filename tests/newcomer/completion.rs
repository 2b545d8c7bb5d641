//! The tab key in a bash with the script loaded, and the manual pages.

use std::process::Command;

use crate::support::{Imported, PROGRAM, Place, Said, answer, repository, run};

/// Bash's suggestions for the last word of a line.
fn offered(words: &[&str]) -> Vec<String> {
    let script = r#"
        source <("$PROGRAM" completions bash)
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        COMP_TYPE=9
        _clap_complete_timebase timebase "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", script, "bash", "timebase"])
        .args(words)
        .env("PROGRAM", PROGRAM)
        .current_dir(repository())
        .output()
        .unwrap();
    let said = Said::from(output);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_tab_key_knows_commands_and_what_their_flags_take() {
    assert_eq!(offered(&["expl"]), ["explain"]);
    assert_eq!(offered(&["query", "some.db", "--format", "js"]), ["json", "jsonl"]);
    assert_eq!(offered(&["query", "some.db", "--report", "s"]), ["sched-latency", "slices"]);
    assert_eq!(
        offered(&["import", "some.pftrace", "--tables", "s"]),
        ["sched", "slice", "stack_sample"]
    );
    assert_eq!(offered(&["import", "some.pftrace", "--tables", "sched,co"]), ["sched,counter"]);
    assert_eq!(offered(&["man", "imp"]), ["import"]);
}

#[test]
fn the_tab_key_knows_the_clocks_of_the_database_on_the_line() {
    let database = Imported::new("multihop.pftrace", &[]);
    let clocks = |typed| offered(&["explain", database.path(), "--clock", typed]);
    assert_eq!(clocks(""), ["MONOTONIC", "BOOTTIME", "64@2", "64@3"]);
    assert_eq!(clocks("64@"), ["64@2", "64@3"]);
    assert_eq!(
        offered(&["explain", database.path(), "--clock", "64@3", "--to", "B"]),
        ["BOOTTIME"]
    );
    // A trace is not imported for this.
    let of_a_trace = offered(&["explain", "tests/data/multihop.pftrace", "--clock", "REAL"]);
    assert_eq!(of_a_trace, ["REALTIME", "REALTIME_COARSE"]);
}

#[test]
fn the_tab_key_knows_the_parameters_of_a_report() {
    let parameters = offered(&["query", "some.db", "--report", "sched-latency", "--param", ""]);
    let report = repository().join("crates/cli/reports/sched-latency.sql");
    let report = std::fs::read_to_string(report).unwrap();
    let declared = report.lines().filter_map(|line| line.strip_prefix("-- param "));
    let names = declared.filter_map(|line| line.split(' ').next());
    let names: Vec<String> = names.map(|name| format!("{name}=")).collect();
    assert!(names.len() >= 4 && parameters == names, "{parameters:?}");
}

#[test]
fn the_tab_key_knows_what_help_tells_of() {
    assert_eq!(offered(&["help", "to_b"]), ["to_boottime", "to_boottime_linear"]);
    assert_eq!(offered(&["help", "sched-"]), ["sched-latency"]);
    let tracks = offered(&["help", "thread_track"]);
    assert_eq!(tracks, ["thread_track"]);
}

#[test]
fn every_shell_has_a_script_and_it_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = answer(&["completions", shell]);
        assert!(script.contains("TIMEBASE_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn a_command_without_a_shell_that_completes_is_not_disturbed() {
    let output = Command::new(PROGRAM)
        .arg("clock-id")
        .arg("BOOTTIME")
        .env("TIMEBASE_COMPLETE", "0")
        .output();
    assert_eq!(Said::from(output.unwrap()).stdout, "6\n");
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let directory = place.path("man/man1");
    answer(&["man", "--dir", directory.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    assert!(page("timebase.1").contains(".TH timebase 1"));
    let commands = answer(&["help", "commands"]);
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let mut count = 0;
    for name in commands.filter_map(|line| line.split(' ').next()) {
        if !name.is_empty() {
            let page = page(&format!("timebase-{name}.1"));
            assert!(page.contains(&format!(".TH timebase-{name} 1")), "{page}");
            assert_eq!(answer(&["man", name]), page);
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
    assert!(page("timebase-import.1").contains(".SH EXAMPLES\n  timebase import trace.pftrace"));
    let wrong = run(&["man", "imports"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("there is no command imports"));
}
