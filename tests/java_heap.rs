//! Dumps of Java heaps: the worked example of the rules, single rules, and what people ask of a dump.

use crate::support::{Imported, Place, data, run};
use timebase_lab::encode::{Message, trace_of};

fn new() -> Message {
    Message::new()
}

/// A packet of sequence 1 with a heap graph.
fn dump(ts: u64, graph: Message) -> Message {
    new().number(10, 1).number(8, ts).message(56, graph)
}

fn named(iid: u64, text: &str) -> Message {
    new().number(1, iid).text(2, text)
}

fn class(id: u64, name: &str) -> Message {
    new().number(1, id).text(3, name)
}

/// The graph of the worked example in docs/rules/java-heap.md.
fn example() -> Message {
    new()
        .number(1, 100)
        .message(9, class(1, "java.lang.Class<a.b>"))
        .message(9, class(2, "java.lang.Class<a.c>"))
        .message(9, class(3, "a.b").number(4, 24).packed(6, &[1]))
        .message(9, class(4, "a.c"))
        .message(4, named(1, "a.c a.b.f"))
        .message(4, named(2, "java.lang.Class java.lang.Class.superClass"))
        .message(2, new().number(1, 16).number(2, 1).number(3, 40).packed(4, &[2]).packed(5, &[17]))
        .message(2, new().number(7, 1).number(2, 2).number(3, 40))
        .message(2, new().number(1, 32).number(2, 3).packed(5, &[33]))
        .message(2, new().number(7, 1).number(2, 4).number(3, 8))
        .message(7, new().packed(1, &[32]).number(2, 5))
}

fn mapping() -> Message {
    let member = new().text(1, "f").text(2, "field");
    let class = new().text(1, "a.b").text(2, "org.Good").message(3, member);
    new().number(10, 1).number(8, 2000).message(64, new().message(3, class))
}

#[test]
fn hg1_to_hg11_the_worked_example() {
    let found = Imported::of_bytes(&trace_of(&[dump(1000, example()), mapping()]), &[]);
    let rows = |sql: &str| -> Vec<String> {
        found.rows(sql).into_iter().map(|row| row.join(" ")).collect()
    };
    assert_eq!(
        rows(
            "SELECT pid, ts, dump_reason, heap_size, truncated FROM heap_graph JOIN process USING (upid)"
        ),
        ["100 1000 [NULL] [NULL] 0"]
    );
    assert_eq!(
        rows(
            "SELECT c.name, c.deobfuscated_name, s.name FROM heap_graph_class AS c
              LEFT JOIN heap_graph_class AS s ON s.id = c.superclass_id"
        ),
        [
            "java.lang.Class<a.b> java.lang.Class<org.Good> [NULL]",
            "java.lang.Class<a.c> [NULL] [NULL]",
            "a.b org.Good a.c",
            "a.c [NULL] [NULL]"
        ]
    );
    assert_eq!(
        rows("SELECT self_size, root_distance, reachable, root_type FROM heap_graph_object"),
        ["40 -1 0 [NULL]", "40 -1 0 [NULL]", "24 0 1 ROOT_STICKY_CLASS", "8 1 1 [NULL]"]
    );
    assert_eq!(
        rows(
            "SELECT field_name, field_type_name, deobfuscated_field_name FROM heap_graph_reference"
        ),
        ["java.lang.Class.superClass java.lang.Class [NULL]", "a.b.f a.c org.Good.field"]
    );
    timebase::sql::register(&found.conn).unwrap();
    assert_eq!(
        rows(
            "SELECT distance, object_id, field_name, class_name, self_size, root_type FROM heap_graph_path(3)"
        ),
        ["0 2 [NULL] org.Good 24 ROOT_STICKY_CLASS", "1 3 org.Good.field a.c 8 [NULL]"]
    );
    assert_eq!(rows("SELECT * FROM heap_graph_path(0)"), [""; 0]);
    assert_eq!(
        rows("SELECT __intrinsic_heap_graph_array(1), __intrinsic_heap_graph_array_json(1)"),
        ["[NULL] [NULL]"]
    );
}

#[test]
fn hg11_a_class_whose_file_names_no_package_is_of_that_of_its_process() {
    let package = |name: &str, uid: u64| new().text(1, name).number(2, uid);
    // Only the first row of a name counts, and the first package of an app.
    let list = new()
        .message(1, package("org.app", 10_086))
        .message(1, package("org.later", 10_086))
        .message(1, package("org.app", 10_087))
        .message(1, package("org.other", 10_087));
    let process = |pid, uid| new().number(1, pid).text(3, "app").number(5, uid);
    // Process 200 is the same app of another user.
    let tree = [(100, 10_086), (200, 1_010_086), (300, 10_087), (400, 10_088)]
        .into_iter()
        .fold(new(), |tree, (pid, uid)| tree.message(1, process(pid, uid)));
    let graph = |pid| {
        let object = |id: u64, of: u64| new().number(1, id).number(2, of).number(3, 8);
        let located = class(2, "a.b").number(2, 1);
        new()
            .number(1, pid)
            .message(9, class(1, "a.b"))
            .message(9, located)
            .message(8, named(1, "/data/app/org.file-1/base.apk"))
            .message(2, object(1, 1))
            .message(2, object(2, 2))
    };
    let mapping = |package: &str, name: &str, ts: u64| {
        let class = new().text(1, "a.b").text(2, name);
        let mapping = new().text(1, package).message(3, class);
        new().number(10, 1).number(8, ts).message(64, mapping)
    };
    let mut packets: Vec<Message> =
        [100, 200, 300, 400].into_iter().map(|pid| dump(1000 + pid, graph(pid))).collect();
    packets.extend([mapping("org.app", "org.Good", 2000), mapping("org.later", "org.Bad", 2001)]);
    packets.push(mapping("org.file", "org.File", 2002));
    packets.push(new().number(10, 1).number(8, 900).message(2, tree));
    // The list holds for the whole trace.
    packets.push(new().number(10, 1).number(8, 3000).message(47, list));
    let found = Imported::of_bytes(&trace_of(&packets), &[]);
    let sql = "SELECT pid, location IS NOT NULL, group_concat(DISTINCT c.deobfuscated_name)
        FROM heap_graph_object AS o JOIN heap_graph_class AS c ON c.id = o.type_id JOIN process USING (upid)
        GROUP BY 1, 2";
    let rows: Vec<String> = found.rows(sql).into_iter().map(|row| row.join(" ")).collect();
    let expected = [
        "100 0 org.Good",
        "100 1 org.File",
        "200 0 org.Good",
        "200 1 org.File",
        "300 0 [NULL]",
        "300 1 org.File",
        // A class of no package has the names of all packages, the last one's in the end.
        "400 0 org.File",
        "400 1 org.File",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn yr1_superclasses_in_a_circle_without_fields_end() {
    let graph = new()
        .number(1, 100)
        .message(9, class(1, "a").number(5, 2))
        .message(9, class(2, "b").number(5, 1))
        .message(2, new().number(1, 1).number(2, 1).number(3, 8).packed(5, &[1, 1]));
    let found = Imported::of_bytes(&trace_of(&[dump(1000, graph)]), &[]);
    assert_eq!(
        found.count("SELECT count(*) FROM heap_graph_reference WHERE field_name IS NULL"),
        2
    );
    let malformed = "SELECT value FROM stats WHERE name = 'heap_graph_malformed_packet'";
    assert_eq!(found.count(malformed), 1);
}

#[test]
fn yr2_a_heap_type_without_a_name_is_null() {
    let object = |id, heap| new().number(1, id).number(3, 8).number(9, heap);
    let graph = new().number(1, 100).message(2, object(1, 1)).message(2, object(2, 4));
    let found = Imported::of_bytes(&trace_of(&[dump(1000, graph)]), &[]);
    let types = found.rows("SELECT heap_type FROM heap_graph_object");
    assert_eq!(types, [["HEAP_TYPE_APP"], ["[NULL]"]]);
}

#[test]
fn hg13_a_cut_graph_without_roots_and_a_time_without_a_graph() {
    let graph = new().number(1, 100).number(6, 3).message(2, new().number(1, 1));
    let found = Imported::of_bytes(&trace_of(&[dump(1000, graph)]), &[]);
    timebase::sql::register(&found.conn).unwrap();
    let flame = |upid, ts| {
        format!(
            "SELECT name, count, cumulative_size FROM experimental_flamegraph('graph', {ts}, NULL, {upid}, NULL, NULL)"
        )
    };
    let rows = found.rows(&flame("(SELECT upid FROM heap_graph)", 1000));
    assert_eq!(rows, [["ERROR: INCOMPLETE GRAPH (try increasing buffer size)", "1", "1"]]);
    let refused =
        |sql: &str| found.conn.prepare(sql).unwrap().query_row([], |_| Ok(())).unwrap_err();
    let error = refused(&flame("0", 7)).to_string();
    assert!(error.contains("no dump with roots at this time"), "{error}");
    let error = refused("SELECT * FROM experimental_flamegraph('native', 1, NULL, 1, NULL, NULL)");
    assert!(error.to_string().contains("must be 'graph'"), "{error}");
}

#[test]
fn hg13_focus_keeps_what_is_above_and_below() {
    let reference =
        |id: u64, of: u64, to: &[u64]| new().number(1, id).number(2, of).number(3, 8).packed(5, to);
    let graph = new()
        .number(1, 100)
        .message(9, class(1, "App"))
        .message(9, class(2, "Cache"))
        .message(9, class(3, "Image"))
        .message(9, class(4, "Other"))
        .message(2, reference(1, 1, &[2, 4]))
        .message(2, reference(2, 2, &[3]))
        .message(2, reference(3, 3, &[]))
        .message(2, reference(4, 4, &[]))
        .message(7, new().packed(1, &[1]).number(2, 1));
    let found = Imported::of_bytes(&trace_of(&[dump(1000, graph)]), &[]);
    timebase::sql::register(&found.conn).unwrap();
    let flame = "SELECT id, parent_id, name, cumulative_size FROM experimental_flamegraph(
        'graph', 1000, NULL, (SELECT upid FROM heap_graph), NULL, 'CACHE')";
    let rows: Vec<String> = found.rows(flame).into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(rows, ["0 [NULL] App [ROOT_JNI_GLOBAL] 24", "1 0 Cache 16", "2 1 Image 8"]);
}

/// The trace of the docs: an app whose cache grows.
fn leak() -> String {
    data("java-heap.pftrace").to_str().unwrap().to_owned()
}

#[test]
fn a_flame_graph_has_what_each_class_keeps_alive() {
    let trace = leak();
    let folded = run(&["flamegraph", &trace, "--of", "java"]);
    assert_eq!(folded.code, Some(0), "{}", folded.stderr);
    let widest = folded
        .stdout
        .lines()
        .max_by_key(|line| line.rsplit_once(' ').and_then(|(_, bytes)| bytes.parse::<u64>().ok()));
    assert!(widest.unwrap().contains("ImageCache;"), "{}", folded.stdout);
    // Of two dumps in one file, the first one is compared with the last one.
    let both = run(&["flamegraph", &trace, "--of", "java", "--diff", &trace]);
    let grown = both.stdout.lines().filter(|line| {
        let numbers: Vec<&str> = line.rsplitn(3, ' ').collect();
        numbers[0] != numbers[1]
    });
    assert!(
        grown.clone().count() > 0 && grown.clone().all(|line| line.contains("ImageCache")),
        "{}",
        both.stdout
    );
    let place = Place::new();
    let page = place.path("heap.html");
    let page = page.to_str().unwrap();
    assert_eq!(run(&["flamegraph", &trace, "--of", "java", "-o", page]).code, Some(0));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("Retained memory of the Java heap") && html.contains("ImageCache"));
    let pprof = place.path("heap.pb.gz");
    let refused = run(&["flamegraph", &trace, "--of", "java", "-o", pprof.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("a Java heap has none"), "{}", refused.stderr);
}

#[test]
fn a_flame_graph_of_nothing_says_what_is_missing() {
    let place = Place::new();
    let object = new().number(1, 1).number(2, 1).number(3, 8);
    let graph = new().number(1, 100).message(9, class(1, "App")).message(2, object);
    let without_roots = place.write("a.pftrace", &trace_of(&[dump(1000, graph.clone())]));
    let cut = graph.number(6, 3);
    let cut_without_roots = place.write("b.pftrace", &trace_of(&[dump(1000, cut.clone())]));
    let root = new().packed(1, &[1]).number(2, 1);
    let cut = place.write("c.pftrace", &trace_of(&[dump(1000, cut.message(7, root))]));
    let said = |trace: &std::path::Path, more: &[&str]| {
        run(&[&["flamegraph", trace.to_str().unwrap(), "--of", "java"], more].concat())
    };
    let found = said(&without_roots, &[]).stderr;
    assert!(found.contains("nothing in the Java heap of a.pftrace is alive"), "{found}");
    assert!(!found.contains("packets of a dump are missing"), "{found}");
    let found = said(&cut_without_roots, &[]).stderr;
    assert!(found.contains(", and packets of a dump are missing"), "{found}");
    let found = said(&without_roots, &["--from", "1001"]).stderr;
    let expected = "no dump of a Java heap in a.pftrace matches: heap_graph has 1 row from 1000";
    assert!(found.contains(expected), "{found}");
    // A dump that is compared with itself: what is wrong with it is said once, and that it is the same.
    let found = said(&cut, &["--diff", cut.to_str().unwrap()]).stderr;
    assert_eq!(found.matches("packets of a dump are missing").count(), 1, "{found}");
    assert!(found.contains("note: nothing differs; from one trace"), "{found}");
    let imported = Imported::of(&cut, &[]);
    let line = "lost        packets of 1 dump of a Java heap";
    assert!(imported.said.contains(line), "{}", imported.said);
}

#[test]
fn ct3_rw5_a_cut_keeps_a_whole_dump_and_its_names() {
    let place = Place::new();
    let cut = place.path("cut.pftrace");
    let cut = cut.to_str().unwrap();
    let said =
        run(&["rewrite", &leak(), "-o", cut, "--from", "60000000000", "--to", "70000000000"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (all, cut) = (Imported::new("java-heap.pftrace", &[]), Imported::of(cut.as_ref(), &[]));
    let last = "SELECT c.deobfuscated_name, o.self_size, o.root_distance, count(*) FROM heap_graph_object AS o
        JOIN heap_graph_class AS c ON c.id = o.type_id WHERE graph_sample_ts > 60000000000 GROUP BY 1, 2, 3";
    assert_eq!(cut.rows(last), all.rows(last));
    assert_eq!(cut.count("SELECT count(*) FROM heap_graph"), 1);
    assert_eq!(all.count("SELECT count(*) FROM heap_graph"), 2);
}

#[test]
fn no_events_and_no_profiles_leave_dumps_out() {
    for args in [["--no-events"].as_slice(), &["--tables", "slice"]] {
        let found = Imported::new("java-heap.pftrace", args);
        for table in ["heap_graph", "heap_graph_object", "heap_graph_class"] {
            assert_eq!(found.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
        }
    }
}
