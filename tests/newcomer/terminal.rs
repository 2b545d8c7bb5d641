//! The program in a terminal: behaviour that is not specific to one command.

use crate::support::terminal::{Key, Terminal};

#[test]
fn someone_types_a_query_corrects_it_asks_again_and_leaves() {
    const PROMPT: &str = "timebase>";
    let terminal = Terminal::run(80, &["shell", "tests/data/nearest.pftrace"]);
    terminal.wait_for_prompt(PROMPT);
    terminal.enter("SELECT 41 + 1 AS answer;");
    terminal.wait_for("42");
    terminal.wait_for_prompt(PROMPT);

    // Up shows it again, Down an empty line, and the arrows move in it.
    terminal.press(Key::Up);
    terminal.wait_until("the statement again", |screen| {
        screen.matches("SELECT 41 + 1 AS answer;").count() == 2
    });
    terminal.press(Key::Down);
    terminal.write("SELECT 7;");
    terminal.press(Key::Left);
    terminal.press(Key::Left);
    terminal.write("7");
    terminal.press(Key::Right);
    terminal.wait_for("SELECT 77;");

    // Ctrl-C gives the line up, and Tab completes.
    terminal.press(Key::CtrlC);
    terminal.wait_for_prompt(PROMPT);
    terminal.write("SELECT count(*) AS n FROM clock_snap");
    terminal.press(Key::Tab);
    terminal.wait_for("FROM clock_snapshot");
    terminal.resize(100, 40);
    terminal.enter(";");
    terminal.wait_for("12");
    let screen = terminal.wait_for_prompt(PROMPT);
    assert!(!screen.contains("error"), "{screen}");
    assert_eq!(screen, terminal.screen());

    terminal.press(Key::CtrlD);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    assert!(ended.raw.contains('\x1b'), "the line editor was there");
    assert!(ended.screens.len() > 5, "{:?}", ended.screens);
}
