//! The shell: input in a terminal, and input through a pipe.

use crate::support::{Place, Said, run_with_input};

const TRACE: &str = "tests/data/multihop.pftrace";

fn piped(input: &str) -> Said {
    run_with_input(&["shell", TRACE], input)
}

/// The shell's output for piped input, if it succeeds.
fn answered(input: &str) -> String {
    let said = piped(input);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stdout
}

#[cfg(unix)] // there are pseudo-terminals
mod typed {
    use super::TRACE;
    use crate::support::terminal::{Ended, Key, Terminal};

    const PROMPT: &str = "timebase>";
    const CONTINUED: &str = "     ...>";

    fn shell() -> Terminal {
        let terminal = Terminal::run(100, &["shell", TRACE]);
        terminal.wait_for_prompt(PROMPT);
        terminal
    }

    /// Types a line, and waits for the expected text after it and then for a prompt.
    fn say(terminal: &Terminal, line: &str, shown: &str, prompt: &str) -> String {
        terminal.enter(line);
        let typed = format!("> {line}");
        terminal.wait_until(&format!("{shown:?} after {line:?}"), |screen| {
            let after = screen.rsplit_once(&typed).map(|(_, after)| after);
            let is_shown = after.is_some_and(|after| after.contains(shown));
            is_shown && screen.lines().last() == Some(prompt)
        })
    }

    fn leave(terminal: Terminal, line: &str) -> Ended {
        terminal.enter(line);
        let ended = terminal.end();
        assert_eq!(ended.code, Some(0), "{}", ended.screen);
        ended
    }

    #[test]
    fn who_forgets_the_semicolon_sees_that_the_statement_goes_on() {
        let terminal = shell();
        say(&terminal, "SELECT 41 + 1", "", CONTINUED);
        say(&terminal, "AS answer", "", CONTINUED);
        let screen = say(&terminal, ";", "42", PROMPT);
        assert!(
            screen.contains("timebase> SELECT 41 + 1\n     ...> AS answer\n     ...> ;\n answer"),
            "{screen}"
        );
        // The whole statement comes back.
        terminal.press(Key::Up);
        terminal.wait_for("timebase> SELECT 41 + 1\nAS answer\n;");
        terminal.press(Key::Enter);
        terminal.wait_until("the answer again", |screen| {
            screen.matches("42").count() == 2 && screen.lines().last() == Some(PROMPT)
        });
        leave(terminal, ".quit");
    }

    #[test]
    fn who_asks_for_help_in_the_middle_of_a_statement_gets_it_and_keeps_the_statement() {
        let terminal = shell();
        say(&terminal, "SELECT count(*) AS n", "", CONTINUED);
        for ask in [".help", "help"] {
            let screen = say(&terminal, ask, "not finished", CONTINUED);
            assert!(screen.contains(".tables [PATTERN]"), "{screen}");
            assert!(screen.contains("the previous statement is not finished"), "{screen}");
        }
        say(&terminal, "FROM packet;", "8", PROMPT);
        leave(terminal, "exit");
    }

    #[test]
    fn who_wants_out_gets_out_with_what_other_programs_are_left_by() {
        for out in ["exit", "quit", ".exit", ".quit", "QUIT;"] {
            leave(shell(), out);
        }
        let terminal = shell();
        say(&terminal, "SELECT", "", CONTINUED);
        leave(terminal, "quit");
        let terminal = shell();
        terminal.press(Key::CtrlD);
        assert_eq!(terminal.end().code, Some(0));
    }

    #[test]
    fn who_gives_a_statement_up_is_at_the_first_prompt_again() {
        let terminal = shell();
        say(&terminal, "SELECT nonsense", "", CONTINUED);
        terminal.press(Key::CtrlC);
        terminal.wait_for_prompt(PROMPT);
        say(&terminal, "SELECT 7;", " 7", PROMPT);
        leave(terminal, "exit");
    }

    #[test]
    fn who_presses_tab_behind_from_sees_tables_and_none_of_sqlites_own() {
        let terminal = shell();
        say(&terminal, "SELECT *", "", CONTINUED);
        terminal.write("FROM clock_s");
        terminal.press(Key::Tab);
        terminal.press(Key::Tab);
        let screen = terminal.wait_until("the candidates", |screen| {
            screen.contains("clock_snapshot") && screen.contains("clock_step")
        });
        assert!(!screen.contains("clock_snapshot_inserted"), "{screen}");
        terminal.press(Key::CtrlC);
        terminal.wait_for_prompt(PROMPT);
        // The text after the cursor counts, too.
        terminal.write("SELECT c. FROM clock AS c");
        for _ in 0.." FROM clock AS c".len() {
            terminal.press(Key::Left);
        }
        terminal.write("is_mon");
        terminal.press(Key::Tab);
        terminal.wait_for("SELECT c.is_monotonic FROM clock AS c");
        terminal.press(Key::CtrlC);
        terminal.wait_for_prompt(PROMPT);
        leave(terminal, "exit");
    }

    #[test]
    fn who_makes_a_mistake_sees_an_error_like_those_of_other_commands() {
        let terminal = shell();
        say(&terminal, "SELECT nonsense;", "timebase: error: no such column: nonsense", PROMPT);
        say(
            &terminal,
            ".tabels",
            "timebase: error: there is no command .tabels; '.help' lists",
            PROMPT,
        );
        leave(terminal, "exit");
    }

    #[test]
    fn who_types_ahead_or_pastes_lines_loses_none() {
        let terminal = shell();
        terminal.write("SELECT 1;\rSELECT 20\r+ 2;\r.mode csv\rSELECT 'the ' || 'last';\r");
        let screen = terminal.wait_for("the last\ntimebase>");
        assert!(screen.contains(" 22"), "{screen}");
        leave(terminal, "exit");
    }

    #[test]
    fn who_asks_how_long_it_takes_is_told() {
        let terminal = shell();
        say(&terminal, ".timer on", "", PROMPT);
        let screen = say(&terminal, "SELECT 6 * 7;", "took ", PROMPT);
        assert!(screen.contains("42"), "{screen}");
        leave(terminal, "exit");
    }
}

#[test]
fn a_command_behind_an_unfinished_statement_in_a_script_is_not_swallowed() {
    let said = piped("SELECT 1\n.mode csv\nSELECT 2 AS n;\n");
    assert_eq!(said.code, Some(1));
    assert_eq!(said.stdout, "n\n2\n");
    assert_eq!(
        said.stderr,
        "timebase: error: skipped the unfinished statement before '.mode csv': \
         end it with a semicolon\n  SELECT 1\n"
    );
}

#[test]
fn the_last_statement_of_a_script_needs_no_semicolon_and_words_in_it_are_no_commands() {
    assert_eq!(answered(".mode csv\nSELECT 1 AS\nquit\n"), "quit\n1\n");
    assert_eq!(answered(".mode csv\nSELECT '\n.tables\n' AS t;\n"), "t\n\"\n.tables\n\"\n");
}

#[test]
fn help_tells_of_a_name_as_the_command_does() {
    let outside = crate::support::answer(&["help", "clock_path"]);
    assert_eq!(answered(".help clock_path\n"), outside);
    assert_eq!(answered("help CLOCK_PATH;\n"), outside);
    let wrong = piped(".help clock_pth\n");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("did you mean 'clock_path'?"), "{}", wrong.stderr);
}

#[test]
fn help_lists_every_command_and_each_is_there() {
    let help = answered("help\n");
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split(' ').next())
        .filter(|word| word.starts_with('.'))
        .collect();
    assert!(commands.len() >= 9, "{commands:?}");
    let reference = crate::support::repository().join("docs/reference.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    for command in commands {
        assert!(reference.contains(&format!("`{command}`")), "{command}");
        let said = piped(&format!("{command}\n"));
        assert!(!said.stderr.contains("there is no command"), "{command}");
    }
}

#[test]
fn tables_are_those_that_can_be_asked_and_the_others_by_a_pattern() {
    let tables = answered(".mode csv\n.tables\n");
    for line in [
        "packet,view,a packet of the trace\n",
        "thread,view,a thread\n",
        "clock_path,function,\"a conversion, one row for each hop\"\n",
        "clock_hop_reading,table,the readings of hops that are not on the line\n",
        "ancestor_slice,function,\"the slices around a slice, the outermost first\"\n",
    ] {
        assert!(tables.contains(line), "{line}\n{tables}");
    }
    for internal in ["sqlite_", "pragma_", "fts", "rtree", "_record", "dbstat"] {
        assert!(!tables.contains(internal), "{internal}\n{tables}");
    }
    let behind = answered(".mode csv\n.tables slice_rec%\n");
    assert_eq!(behind, "name,type,what\nslice_record,table,a stored row of `slice`\n");
    let own = answered(".mode csv\nCREATE TEMP VIEW mine AS SELECT 1;\n.tables min%\n");
    assert_eq!(own, "name,type,what\nmine,view,\n");
}

#[test]
fn a_schema_tells_what_columns_are_and_is_sql_without_notes_of_its_makers() {
    let slice = answered(".schema slice\n");
    assert!(slice.starts_with("-- A row is an activity with a start and an end"), "{slice}");
    assert!(slice.contains("\n--   dur "), "{slice}");
    assert!(slice.contains("\nCREATE VIEW slice AS\n"), "{slice}");

    let snapshots = answered(".schema clock_snapshot\n");
    let (comment, sql) = snapshots.split_once("CREATE TABLE").unwrap();
    assert!(comment.contains("the packet that carried it"), "{comment}");
    assert!(!sql.contains("--") && !sql.contains("/*"), "{sql}");
    assert!(sql.contains("CREATE TRIGGER clock_snapshot_inserted"), "{sql}");

    assert!(comment.lines().all(|line| line.chars().count() <= 100), "{comment}");

    // The whole script makes the same tables again.
    let all = answered(".schema\n");
    let again = rusqlite::Connection::open_in_memory().unwrap();
    again.execute_batch(&all).unwrap();
    let count: i64 = again
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(count > 70, "{count}");
}

#[test]
fn functions_are_listed_with_what_they_do() {
    let functions = answered(".functions\n");
    assert!(
        functions
            .contains("to_boottime(clock_id, seq_id, ts) → integer, ns\n      Converts a reading"),
        "{functions}"
    );
    assert!(!functions.contains("sqlite_"), "{functions}");
}

#[test]
fn a_line_a_value_is_a_mode_of_the_shell_and_a_format_of_a_query() {
    let expected = "── row 1 ──\nid │ 5\nts │ 7703\n";
    let sql = "SELECT id, ts FROM packet WHERE id = 5";
    assert_eq!(answered(&format!(".mode line\n{sql};\n")), expected);
    let query = crate::support::answer(&["query", TRACE, sql, "--format", "line"]);
    assert_eq!(query, expected);
}

#[test]
fn a_file_is_read_up_to_its_first_error_which_names_the_line() {
    let place = Place::new();
    place.write("inner.sql", b"SELECT 2 AS two;\n");
    let inner = place.path("inner.sql");
    let outer = format!(".mode csv\nSELECT 1\n AS one;\n.read '{}'\n", inner.display());
    let outer = place.write("a file.sql", outer.as_bytes());
    let read = format!(".read \"{}\"\n", outer.display());
    assert_eq!(answered(&read), "one\n1\ntwo\n2\n");

    let wrong = place.write("wrong.sql", b".mode csv\n\nSELECT\n  nonsense;\nSELECT 5;\n");
    let said = piped(&format!(".read {}\nSELECT 6;\n", wrong.display()));
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), "6\n6\n"));
    let expected =
        format!("timebase: error: {}: line 3: no such column: nonsense\n", wrong.display());
    assert!(said.stderr.starts_with(&expected), "{}", said.stderr);

    // A file that reads itself ends nevertheless.
    let own = place.path("own.sql");
    let own = place.write("own.sql", format!(".read {}\n", own.display()).as_bytes());
    let said = piped(&format!(".read {}\n", own.display()));
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("nested too deeply"), "{}", said.stderr);

    // The command to leave a file also leaves the shell.
    let out = place.write("out.sql", b"SELECT 1;\nexit\nSELECT 2;\n");
    let said = answered(&format!(".mode csv\n.read {}\nSELECT 3;\n", out.display()));
    assert_eq!(said, "1\n1\n");
    assert!(piped(".read no/such.sql\n").stderr.contains("cannot read no/such.sql"));
}

#[test]
fn the_timer_does_not_disturb_results() {
    let said = piped(".mode csv\n.timer\n.timer on\nSELECT 1 AS n;\n.timer off\nSELECT 2 AS n;\n");
    assert_eq!(said.stdout, "off\nn\n1\nn\n2\n");
    assert_eq!(said.stderr.matches("took ").count(), 1, "{}", said.stderr);
}
