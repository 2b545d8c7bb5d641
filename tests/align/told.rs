//! The words of the import, of the doctor and of other commands about clocks that messages relate.

use super::collectives::{parts, rank};
use super::import;
use super::world::text;
use crate::support::{Place, run};

#[cfg(unix)]
#[test]
fn al20_a_pipe_with_a_name_is_refused_before_it_is_read() {
    let place = Place::new();
    let fifo = place.path("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (fifo, out) = (text(fifo), text(place.path("out.zip")));
    for args in [&["rewrite", &fifo, "-o", &out][..], &["view", &fifo, "--no-browser"]] {
        let said = run(&[args, &["--align", "auto"]].concat());
        assert_eq!(said.code, Some(1));
        let told = format!(
            "--align reads traces once more than the pipe {fifo} allows: save it to a file"
        );
        assert!(said.stderr.contains(&told), "{}", said.stderr);
    }
}

#[test]
fn js38_explain_lists_the_own_clocks_of_all_files() {
    let place = Place::new();
    let seq = |number| format!(r#","Seq":{number},"In msg nelems":64"#);
    let files = [0, 1].map(|number| rank(&place, number, &parts("allreduce", number, seq), true));
    drop(import(&place, &files, &[]));
    let database = text(place.path("out.db"));
    let said = run(&["explain", &database, "--clock", "TRACE_FILE", "--ts", "5"]);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    for file in ["TRACE_FILE in file 1", "TRACE_FILE of machine 1 in file 2"] {
        assert!(said.stderr.contains(file), "{}", said.stderr);
    }
}
