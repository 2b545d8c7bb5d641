//! Work of SQLite that the user may end.
//!
//! # Design
//!
//! SQLite looks at an interrupt between two steps of a statement, and forgets it when a statement
//! has ended. So a thread looks every now and then whether the import is cancelled, and then
//! interrupts until the work is over. A progress handler was the alternative: a connection has one,
//! and that of a connection that was lent is its owner's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

/// The time between two looks at `cancel`.
const EVERY: Duration = Duration::from_millis(20);

/// Does some work with a connection. After a cancellation, the running statement fails, and so does
/// each later one that takes longer than a moment.
pub(crate) fn watched<T>(conn: &Connection, cancel: &AtomicBool, work: impl FnOnce() -> T) -> T {
    let handle = conn.get_interrupt_handle();
    let (working, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if cancel.load(Ordering::Relaxed) {
                    handle.interrupt();
                }
            }
        });
        let done = work();
        drop(working);
        done
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::ErrorCode;

    use super::*;

    #[test]
    fn a_statement_without_an_end_ends_when_it_is_cancelled() {
        let conn = Connection::open_in_memory().unwrap();
        let sql = "WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n";
        let endless = || conn.query_row(sql, [], |row| row.get::<_, i64>(0));
        let cancel = AtomicBool::new(true);
        let [first, second] = watched(&conn, &cancel, || [endless(), endless()]);
        for ended in [first, second] {
            let code = ended.unwrap_err().sqlite_error_code();
            assert_eq!(code, Some(ErrorCode::OperationInterrupted));
        }
        // It is usable afterwards.
        let one = watched(&conn, &cancel, || conn.query_row("SELECT 1", [], |row| row.get(0)));
        assert_eq!(one, Ok(1));
    }

    #[test]
    fn what_is_not_cancelled_goes_on() {
        let conn = Connection::open_in_memory().unwrap();
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT count(*) FROM n";
        let cancel = AtomicBool::new(false);
        let count = watched(&conn, &cancel, || conn.query_row(sql, [], |row| row.get(0)));
        assert_eq!(count, Ok(9));
    }
}
