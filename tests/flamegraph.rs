//! `timebase flamegraph`: a recording with a known profile, in every form, with every filter.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use timebase_descriptor::field::{Fields, Value};

use crate::support::profiles::{FUNCTIONS, SAMPLES, STACKS, heap, packets, recording};
use crate::support::{Place, Said, data, run, run_with_input};

/// The folded lines of a recording, by the program.
fn folded(trace: &Path, flags: &[&str]) -> Vec<String> {
    let said = flamegraph(trace, flags);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stdout.lines().map(str::to_owned).collect()
}

fn flamegraph(trace: &Path, flags: &[&str]) -> Said {
    run(&[&["flamegraph", trace.to_str().unwrap()], flags].concat())
}

#[test]
fn every_filter_selects_the_samples_that_it_names() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let all = ["main;<wait & see> 2", "main;draw 2", "main;draw;layout 4", "other_main 2"];
    assert_eq!(folded(&trace, &[]), all);
    let cases: [(&[&str], &[&str]); 13] = [
        (&["--process", "app"], &all[..3]),
        (&["--process", "oth*"], &["other_main 2"]),
        (&["--process", "20"], &["other_main 2"]),
        (&["--thread", "12"], &["main;draw 1", "main;draw;layout 1"]),
        (&["--from", "9000"], &["main;<wait & see> 1", "main;draw;layout 1"]),
        (&["--to", "2000"], &["main;draw 1"]),
        (&["--from", "2000", "--to", "2001"], &["main;draw;layout 1"]),
        // At 2,000, 3,000 and 9,000, and not those of other threads.
        (&["--during", "frame"], &["main;draw;layout 3"]),
        (&["--during", "fr*"], &["main;draw;layout 3"]),
        (&["--during", "[ef]ra?e"], &["main;draw;layout 3"]),
        (&["--reverse", "--process", "20"], &["other_main 2"]),
        (&["--reverse", "--thread", "12"], &["draw;main 1", "layout;draw;main 1"]),
        (&["--of", "cpu"], &all),
    ];
    for (flags, expected) in cases {
        assert_eq!(folded(&trace, flags), expected, "{flags:?}");
    }
    let said = flamegraph(&trace, &[]);
    assert!(said.stderr.contains("1 sample has no callstack, and is left out"), "{}", said.stderr);
    // A database gives the same, and so does a pipe.
    let database = place.path("a.db");
    let imported = run(&["import", trace.to_str().unwrap(), "-o", database.to_str().unwrap()]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert_eq!(folded(&database, &[]), all);
}

#[test]
fn shares_are_those_of_the_program_within_sampling_error() {
    let place = Place::new();
    // A program that spends 60, 30 and 10 % in three stacks, sampled 5,000 times at random.
    let shares = [(1, 0.6), (2, 0.3), (3, 0.1)];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let samples = (0..5_000).map(|index| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let stack = match (state >> 11) as f64 / (1_u64 << 53) as f64 {
            draw if draw < 0.6 => 1,
            draw if draw < 0.9 => 2,
            _ => 3,
        };
        (1_000 + 100 * index, 10, 11, stack)
    });
    let samples: Vec<_> = samples.collect();
    let trace = recording(&place, "random.pftrace", &packets(&samples));
    let lines = folded(&trace, &[]);
    assert_eq!(lines.len(), 3);
    for (stack, share) in shares {
        let names = STACKS[stack - 1].iter().map(|function| FUNCTIONS[*function as usize - 1]);
        let text = names.collect::<Vec<_>>().join(";") + " ";
        let line = lines.iter().find_map(|line| line.strip_prefix(&text)).unwrap();
        let found = line.parse::<f64>().unwrap() / 5_000.0;
        // Four standard errors.
        let error = 4.0 * (share * (1.0 - share) / 5_000.0_f64).sqrt();
        assert!((found - share).abs() < error, "{text}: {found} instead of {share}");
    }
}

#[test]
fn heap_profiles_are_bytes_and_the_default_is_what_there_is_most_of() {
    let place = Place::new();
    let mut all = packets(&SAMPLES[..1]);
    all.push(heap(5_000, &[(1, 300, 100), (2, 50, 50), (9, 7, 0)]));
    let trace = recording(&place, "heap.pftrace", &all);
    let unnamed = "main;/lib/app.so+0x1f40 7";
    assert_eq!(folded(&trace, &[]), [unnamed, "main;draw 200"]);
    assert_eq!(folded(&trace, &["--of", "cpu"]), ["main;draw 1"]);
    assert_eq!(
        folded(&trace, &["--of", "allocations"]),
        [unnamed, "main;draw 300", "main;draw;layout 50"]
    );
    for flag in ["--thread", "--during"] {
        let said = flamegraph(&trace, &[flag, "x"]);
        assert!(
            said.stderr.contains(&format!("{flag}: heaps are of whole processes")),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_page_stands_alone_and_names_are_texts() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let page = place.path("a.html");
    let said = flamegraph(&trace, &["-o", page.to_str().unwrap(), "--process", "app"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
    let html = fs::read_to_string(&page).unwrap();
    for part in [
        "<h1>CPU samples of a.pftrace</h1>",
        "<p>8 samples · process app</p>",
        "&lt;wait &amp; see&gt;",
        "name=\"viewport\"",
        "layout (4 samples, 50.00%)",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("<wait"));
    // The page fetches nothing. The remaining addresses are namespaces and comments in the script.
    for attribute in ["src=", "href=\"http", "url(http", "@import"] {
        assert!(!html.contains(attribute), "{attribute}");
    }
    // The same trace makes the same file.
    let again = place.path("again.html");
    flamegraph(&trace, &["-o", again.to_str().unwrap(), "--process", "app"]);
    assert_eq!(html, fs::read_to_string(again).unwrap());
    let svg = place.path("a.svg");
    flamegraph(&trace, &["-o", svg.to_str().unwrap()]);
    assert!(fs::read_to_string(svg).unwrap().starts_with("<?xml"));
}

#[test]
fn a_difference_compares_shares_of_two_recordings() {
    let place = Place::new();
    let new = recording(&place, "new.pftrace", &packets(&SAMPLES));
    let old = recording(&place, "old.pftrace", &packets(&SAMPLES[..2]));
    let old = old.to_str().unwrap();
    assert_eq!(
        folded(&new, &["--diff", old]),
        ["main;<wait & see> 0 2", "main;draw 1 2", "main;draw;layout 1 4", "other_main 0 2"]
    );
    let page = place.path("diff.html");
    let said = flamegraph(&new, &["--diff", old, "-o", page.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("a function itself has a larger share in red and a smaller one in blue, compared with old.pftrace"));
    // Before, half of the samples were in draw itself; now 2 of 10 are.
    assert!(html.contains("draw (6 samples, 60.00%; -30.00%)"), "{html}");
    assert!(!html.contains("<h2>"), "the old trace has no other function");

    // The other way around, two functions are gone. They have width 0 in the graph.
    let page = place.path("back.html");
    let flags = ["--diff", new.to_str().unwrap(), "-o", page.to_str().unwrap()];
    let said = flamegraph(Path::new(old), &flags);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("<h2>Only in new.pftrace</h2>"), "{html}");
    for row in [
        "<tr><td>20.00 %</td><td>&lt;wait &amp; see&gt;</td><td>main; &lt;wait &amp; see&gt;</td></tr>",
        "<tr><td>20.00 %</td><td>other_main</td><td>other_main</td></tr>",
    ] {
        assert!(html.contains(row), "{row}\n{html}");
    }
    assert_eq!(html.matches("<tr><td>").count(), 2);
}

#[test]
fn a_file_is_replaced_only_with_force() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    for name in ["a.html", "a.svg", "a.folded", "a.pb.gz"] {
        let old = place.write(name, b"as it was");
        let out = old.to_str().unwrap();
        let said = flamegraph(&trace, &["-o", out]);
        assert_eq!(said.code, Some(1), "{name}");
        assert_eq!(
            said.stderr,
            format!(
                "timebase: error: {out} exists; name another file with -o, or replace it with --force\n"
            )
        );
        assert_eq!(fs::read(&old).unwrap(), b"as it was");
        let said = flamegraph(&trace, &["-o", out, "--force"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_ne!(fs::read(&old).unwrap(), b"as it was");
    }
}

/// The messages and texts of a field.
fn fields(message: &[u8], number: u32) -> Vec<&[u8]> {
    let mut fields = Fields::new(message);
    let mut found = Vec::new();
    while let Some((known, value)) = fields.next().unwrap() {
        if let (true, Value::Bytes(bytes)) = (known == number, value) {
            found.push(bytes);
        }
    }
    found
}

#[test]
fn a_profile_for_pprof_has_the_same_stacks_with_files_and_lines() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let file = place.path("a.pb.gz");
    let said = flamegraph(&trace, &["-o", file.to_str().unwrap(), "--process", "app"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut profile = Vec::new();
    GzDecoder::new(fs::File::open(file).unwrap()).read_to_end(&mut profile).unwrap();
    let texts: Vec<String> = fields(&profile, 6)
        .into_iter()
        .map(|text| String::from_utf8(text.to_vec()).unwrap())
        .collect();
    assert_eq!(texts[0], "");
    for name in ["samples", "count", "main", "draw", "layout", "<wait & see>", "/lib/app.so"] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    assert!(!texts.iter().any(|text| text == "other_main"));
    // Three stacks, three functions more than main.
    assert_eq!(fields(&profile, 2).len(), 3);
    assert_eq!(fields(&profile, 5).len(), 4);
    let said = flamegraph(&trace, &["-o", "x.pb.gz", "--reverse"]);
    assert!(said.stderr.contains("neither --diff nor --reverse"), "{}", said.stderr);
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let cases: [(&[&str], &str); 7] = [
        (&["--process", "nobody"], "--process nobody: the trace has no such process"),
        (&["--thread", "99"], "--thread 99: the trace has no such thread"),
        (
            &["--during", "nothing"],
            "--during 'nothing': no thread has a slice with this name; it can be a pattern ('*')",
        ),
        (
            &["--from", "20000"],
            "no callstack of a.pftrace matches: stack_sample has 10 rows from 1000 to 10000 ns, of app, other",
        ),
        (
            &["--of", "heap"],
            "no callstack of a.pftrace matches: heap_profile_allocation has no rows",
        ),
        (
            &["--diff", "other.pftrace", "--from", "1"],
            "--diff: --from and --to are times of one recording",
        ),
        (&["-o", "flame.png"], "the name must end with .html, .svg, .folded or .pb.gz"),
    ];
    for (flags, expected) in cases {
        let said = flamegraph(&trace, flags);
        assert_eq!(said.code, Some(1), "{flags:?}");
        assert!(said.stderr.contains(expected), "{flags:?}: {}", said.stderr);
        assert_eq!(said.stdout, "");
    }
    let said = flamegraph(&data("app.pftrace"), &[]);
    assert!(said.stderr.contains("there are no callstacks: neither samples"), "{}", said.stderr);
    let said = run_with_input(&["flamegraph", "-"], "no trace");
    assert_eq!(said.code, Some(1), "{}", said.stderr);
}
