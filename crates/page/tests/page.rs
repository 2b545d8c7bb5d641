//! The page of databases that the test makes: small, huge, empty and malicious ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rusqlite::Connection;
use timebase_page::{Report, Table, html};

/// An empty database, as an import makes it.
fn empty() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(timebase_schema::TABLES).unwrap();
    database.execute_batch(&timebase_schema::finish()).unwrap();
    database
}

fn page(database: &Connection) -> String {
    html(database, "a.db", &[]).unwrap()
}

fn run(database: &Connection, sql: &str) {
    database.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}

/// BOOTTIME and MONOTONIC, read together in this many snapshots, one a second. MONOTONIC is 10 ppm
/// slower.
fn with_snapshots(snapshots: u32) -> Connection {
    let database = empty();
    run(
        &database,
        &format!(
            "INSERT INTO clock_record (machine_id, clock_id, seq_id, file, name, scope, unit_multiplier_ns, is_incremental,
                                       is_monotonic, snapshots, packets, path, hops)
             VALUES (0, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, {snapshots}, 0, 'BOOTTIME', 0),
                    (0, 3, 0, -1, 'MONOTONIC', 'builtin', 1, 0, 1, {snapshots}, 2, 'MONOTONIC → BOOTTIME', 1);
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {snapshots})
             INSERT INTO clock_snapshot (ts, clock_id, clock_value, snapshot_id)
             SELECT 5000000000 + i * 1000000000, c.id, i * iif(c.id = 6, 1000000000, 999990000), i
             FROM n, (SELECT 6 AS id UNION ALL SELECT 3) AS c ORDER BY i, c.id DESC;
             INSERT INTO clock_hop VALUES (0, 0, 3, 0, NULL, 0, 6, 0, NULL, 'MONOTONIC', 'BOOTTIME', 'service', {snapshots}, NULL, 1.0, 10.00010000100001, 0.01, 0.0, 100.0, 0, 0,
                                           150.0, 10000.0, 0.1);
             INSERT INTO clock_route VALUES (0, 3, 0, -1, 6, 0);
             INSERT INTO clock_line VALUES (0, -9223372036854775808, 0, 5000000000, 1e-5, 100.0, -1e-7, 'before'),
                                           (0, 0, {snapshots} * 999990000, 5000000000, 1e-5, 100.0, 0.0, 'line'),
                                           (0, {snapshots} * 999990000, NULL, 5000000000 + {snapshots} * 10000, 1e-5, 100.0, 1e-7, 'after');
             INSERT INTO packet_common (id, clock_id, seq_id, machine_id, trace_file_id, first_id, is_absolute)
             VALUES (0, 3, 1, 0, 0, 0, 0);
             INSERT INTO packet_record (id, ts, common_id, timestamp, clock_ts, unresolved, offset, size)
             VALUES (0, 5500000000, 0, 5, 5, NULL, 0, 9), (1, NULL, 0, 6, 6, 'overflow', 9, 9);"
        ),
    );
    database
}

/// The text between two texts, at its first occurrence.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap().0
}

#[test]
fn what_one_sees_is_said_in_numbers() {
    let page = page(&with_snapshots(5));
    let hops = between(&page, "id=\"hops\"", "</section>");
    assert!(
        hops.contains(
            "BOOTTIME gains 10 ppm on MONOTONIC: up to 10 µs from one snapshot to the next"
        )
    );
    assert!(hops.contains(
        "5 snapshots · noise 100 ns · between snapshots within 150 ns · a snapshot every 100 ms"
    ));
    assert!(hops.contains("BOOTTIME − MONOTONIC, ns; less its first value, 10 ppm"));
    assert!(hops.contains("s since the trace began"));
    assert_eq!(hops.matches("<circle").count(), 5);
    assert!(between(&page, "id=\"worst\">", "</dd>").starts_with("10 µs (MONOTONIC)"));
    assert!(between(&page, "id=\"share\">", "</dd>").starts_with("50 %"));
    assert!(between(&page, "id=\"packets\"", "</section>").contains("2 packets, 1 not placed"));
}

#[test]
fn a_database_with_nothing_in_it_has_a_page_that_says_so() {
    let page = page(&empty());
    for said in ["The trace has no clocks.", "No clock is converted", "No packet is on trace time."]
    {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("<svg"));
}

#[test]
fn many_snapshots_are_bars_from_the_least_to_the_greatest() {
    let database = with_snapshots(50_000);
    // A reading that would be lost if the page showed every tenth reading.
    run(
        &database,
        "UPDATE clock_snapshot SET clock_value = clock_value + 7000 WHERE clock_id = 6 AND snapshot_id = 33333",
    );
    let page = page(&database);
    let hops = between(&page, "id=\"hops\"", "</section>");
    assert!(hops.contains("a bar is up to 128 snapshots, from the least to the greatest"));
    assert_eq!(hops.matches("<circle").count(), 0);
    assert!(hops.matches("<polyline").count() > 300);
    assert!(page.len() < 200_000, "{}", page.len());
    // The axis ends at 7 µs, so they are in the plot.
    assert!(hops.contains("BOOTTIME − MONOTONIC, µs") && hops.contains(">\n6\n<"));
}

#[test]
fn outliers_and_steps_are_marked() {
    let database = with_snapshots(20);
    run(
        &database,
        "UPDATE clock_snapshot SET clock_value = clock_value + 900000 WHERE clock_id = 6 AND snapshot_id = 4;
         UPDATE clock_snapshot SET clock_value = clock_value + 5200000000 WHERE clock_id = 6 AND snapshot_id >= 12;
         UPDATE clock_snapshot SET clock_value = clock_value + 300 WHERE clock_id = 6 AND snapshot_id = 7;
         UPDATE clock_hop SET steps = 1, outliers = 2;
         INSERT INTO clock_hop_reading (hop_id, snapshot_id, from_value, to_value, kind, deviation_ns)
         VALUES (0, 4, 1, 1, 'outlier', 900000.0), (0, 7, 1, 1, 'outlier', 300.0), (0, 12, 1, 1, 'step', 5200010000.0);",
    );
    let page = page(&database);
    let hops = between(&page, "id=\"hops\"", "</section>");
    assert_eq!(hops.matches("<circle").count(), 18);
    assert!(hops.contains("+5.2 s"));
    assert!(hops.contains("1 outlier beyond the picture (triangles), by up to 900 µs"));
    assert!(hops.contains(
        "; once one of them was set or stood still; 2 of 20 snapshots were not read together"
    ));
    // The step does not press the rest flat.
    assert!(hops.contains("less its first value, 10 ppm, steps"));
}

/// The clocks 64 of this many sequences, each in one snapshot.
fn with_sequences(sequences: u32) -> Connection {
    let database = with_snapshots(2);
    run(
        &database,
        &format!(
            "CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sequences}) SELECT i FROM n;
             INSERT INTO clock_record (machine_id, clock_id, seq_id, file, scope, unit_multiplier_ns, is_incremental,
                                       is_monotonic, snapshots, packets, path, hops)
             SELECT 0, 64, i, 0, 'sequence', 1, 0, 1, 1, 3, '64@' || i || ' → BOOTTIME', 1 FROM n;
             INSERT INTO clock_snapshot (ts, clock_id, seq_id, trace_file_id, clock_value, snapshot_id)
             SELECT 5500000000, iif(c, 6, 64), iif(c, 0, i), iif(c, NULL, 0), 500000000, 10 + i FROM n, (SELECT 0 AS c UNION ALL SELECT 1) ORDER BY i;
             INSERT INTO clock_hop
             SELECT i, 0, 64, i, 0, 0, 6, 0, NULL, '64@' || i, 'BOOTTIME', 'service', 1, NULL, 1.0, NULL, NULL, 0.0, 100.0, 0, 0, 0.0, 0.0, NULL FROM n;
             INSERT INTO packet_common (id, clock_id, seq_id, machine_id, trace_file_id, first_id, is_absolute)
             SELECT 10 + i, 64, i, 0, 0, 0, 0 FROM n;
             INSERT INTO packet_record (id, ts, common_id, timestamp, clock_ts, offset, size)
             SELECT 10 + i, 5600000000, 10 + i, 5, 5, 0, 9 FROM n;"
        ),
    );
    database
}

/// A guest that asked the host this many times, once a second; and a file of another machine.
fn with_machines(samples: u32) -> Connection {
    let database = with_snapshots(3);
    run(
        &database,
        &format!(
            "INSERT INTO machine (id, raw_id, name, packets) VALUES (0, 0, NULL, 2), (1, 7, '<vm>', 1), (2, 9, 'car', 1);
             INSERT INTO trace_file (id, name, is_container, packets) VALUES (1, 'host.pftrace', 0, 3), (2, 'car.pftrace', 0, 1);
             INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how, offset, error, boots_differ)
             VALUES (1, 0, NULL, 0, 'trace_time', 0, 0, NULL), (1, 1, NULL, 0, 'remote_sync', -48000000000, 1500, NULL),
                    (2, 2, NULL, 0, 'manifest', 500, 300, NULL), (2, 0, 3, 0, 'same_clock', 0, NULL, -3000000000);
             INSERT INTO clock_record VALUES
               (1, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, 3, 0, 0, 1, 'BOOTTIME of machine 1 → BOOTTIME', 1),
               (2, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, 3, 0, 0, 1, 'BOOTTIME of machine 2 → BOOTTIME', 1),
               (0, 6, 0, 2, 'BOOTTIME', 'builtin', 1, 0, 1, 3, 0, 0, 1, 'BOOTTIME in file 2 → BOOTTIME', 1);
             INSERT INTO clock_hop
             SELECT 10 + id, machine, 6, 0, file, 0, 6, 0, NULL, 'a', 'b', source, 1, NULL, 1.0, NULL, NULL, 0.0, 100.0, 0, 0, 0.0, 0.0, NULL
             FROM (SELECT 0 AS id, 1 AS machine, NULL AS file, 'remote_sync' AS source UNION ALL
                   SELECT 1, 2, NULL, 'manifest' UNION ALL SELECT 2, 0, 2, 'assumed');
             INSERT INTO clock_snapshot (ts, machine_id, clock_id, clock_value, snapshot_id, source)
             VALUES (-1700000000000000000, 0, 6, 0, 100, 'assumed'), (-1700000000000000000, 2, 6, 0, 100, 'assumed');
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {samples})
             INSERT INTO remote_clock_sync (packet_id, machine_id, clock_id, host_machine_id, host_value, ts, offset,
                                            half_round_trip, used)
             SELECT 1, 1, 6, 0, i * 1000000000, i * 1000000000, 48000000000 + 100 * i, 1000 + i % 7, i % 3 > 0 FROM n;"
        ),
    );
    database
}

#[test]
fn x26_the_graph_says_what_relates_machines_and_files() {
    let page = page(&with_machines(5));
    let graph = between(&page, "id=\"graph\"", "</section>");
    for said in [
        "\nBOOTTIME of machine 1\n",
        "\nBOOTTIME in file 2\n",
        "\n&lt;vm&gt; (machine 1)\n",
        "\nmachine 0, car.pftrace (file 2)\n",
        "\nby the manifest\n",
        "\nassumed the same\n",
        "dashed: assumed, because nothing measured it",
    ] {
        assert!(graph.contains(said), "{said}: {graph}");
    }
    // No snapshot reads any of the three together with another clock.
    let hops = between(&page, "id=\"hops\"", "</section>");
    assert_eq!(hops.matches("<figure").count(), 1);
    // The assumption about wall clocks is in the year 1970, and only one packet has a time.
    assert!(!between(&page, "id=\"packet-count\">", "</dd>").contains(" in "));
}

#[test]
fn x28_every_part_says_how_it_was_placed() {
    let page = page(&with_machines(5));
    let placed = between(&page, "id=\"placed\"", "</section>");
    for said in [
        "<td>host.pftrace (file 1)</td><td>&lt;vm&gt; (machine 1)</td><td>by asking the other machine for the time</td>\
         <td class=\"number\">−48 s</td><td class=\"number\">1.5 µs</td><td>the machine's</td>",
        "<td>as the manifest says</td><td class=\"number\">500 ns</td><td class=\"number\">300 ns</td>",
        "assumed: BOOTTIME is the same; by REALTIME it is −3 s from there, as if restarted",
        "<td class=\"number\">–</td><td>its own</td>",
    ] {
        assert!(placed.contains(said), "{said}: {placed}");
    }
    // One machine in one file needs no such table.
    let plain = self::page(&with_snapshots(3));
    assert!(!plain.contains("id=\"placed\"") && !plain.contains("id=\"sync\""));
    assert!(!plain.contains("machine-count") && !plain.contains("dashed"));
}

#[test]
fn x24_samples_are_plotted_with_what_a_round_trip_allows() {
    let few = page(&with_machines(6));
    let sync = between(&few, "id=\"sync\"", "</section>");
    assert!(sync.contains("BOOTTIME of machine 1 asked BOOTTIME"));
    assert!(sync.contains("6 samples · 4 used by rates · the best within 1 µs"));
    assert_eq!(sync.matches("<circle").count(), 6);
    let many = page(&with_machines(50_000));
    let sync = between(&many, "id=\"sync\"", "</section>");
    assert!(sync.matches("<circle").count() <= 300);
    assert!(sync.contains("50,000 samples") && sync.contains("that say most"));
    assert!(many.len() < 400_000, "{}", many.len());
}

#[test]
fn thousands_of_sequences_are_one_box_some_plots_and_a_table() {
    let page = page(&with_sequences(4_000));
    assert!(page.len() < 1_000_000, "{}", page.len());
    assert!(page.contains("64 of 4,000 sequences") && page.contains("12,000 packets"));
    let hops = between(&page, "id=\"hops\"", "</section>");
    assert_eq!(hops.matches("<figure").count(), 24);
    assert_eq!(hops.matches("<tr").count(), 101);
    // One of these is MONOTONIC's.
    assert!(hops.contains("… and 3,877 more, in the table clock_hop."));
    assert!(page.contains("3,985 clocks more, with fewer packets each, 11,954 packets together."));
}

#[test]
fn names_of_strangers_are_text() {
    let database = with_snapshots(3);
    run(
        &database,
        "UPDATE clock_record SET name = '<script>alert(1)</script>' WHERE clock_id = 3;
         UPDATE clock_record SET name = '\"><img src=x onerror=alert(1)>' WHERE clock_id = 6;
         INSERT INTO fact (name, value) VALUES ('source', '</title><script>alert(2)</script>'), ('system_name', char(27) || '[2J' || char(8238) || '&amp;');
         DROP VIEW finding;
         CREATE VIEW finding AS SELECT '</style><b>' AS check_name, '<i>' AS severity, '<svg onload=alert(3)>' AS subject, NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, NULL AS packet_id,
           NULL AS offset, 1 AS events, NULL AS worst_ns, '<iframe src=//example.com>' AS message, 'see <a href=\"javascript:x\">' AS advice;",
    );
    let table = {
        let mut statement =
            database.prepare("SELECT '<td>' AS \"<th>\", x'3c', NULL, 1.5").unwrap();
        Table::read(&mut statement, Some("<h1>"), 10).unwrap()
    };
    let reports = [Report {
        name: "\"><script>".to_owned(),
        title: "<h2>".to_owned(),
        is_folded: true,
        tables: vec![table],
    }];
    let page = html(&database, "<name>", &reports).unwrap();
    for made_of_it in [
        "<script",
        "<img",
        "<iframe",
        "<svg onload",
        "<i>",
        "<a href",
        "\u{1b}",
        "\u{202e}",
        "<td><td>",
        "<h1><",
    ] {
        assert!(!page.contains(made_of_it), "{made_of_it}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains(
        "<td>&lt;td&gt;</td><td>1 byte</td><td class=\"null\">–</td><td class=\"number\">1.5</td>"
    ));
}

#[test]
fn what_is_endless_in_a_database_ends_on_the_page() {
    let database = with_snapshots(3);
    run(
        &database,
        "UPDATE clock_record SET name = printf('%.*c', 3000000, 'x') WHERE clock_id = 3;
         DROP VIEW finding;
         CREATE VIEW finding AS SELECT printf('%.*c', 100000, 'c') AS check_name, 'error' AS severity, printf('%.*c', 100000, 's') AS subject,
           NULL AS machine_id, NULL AS clock_id, NULL AS seq_id, packet_id, NULL AS offset, 1 AS events, NULL AS worst_ns, printf('%.*c', 100000, 'm') AS message, printf('%.*c', 100000, 'a') AS advice
           FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i AS packet_id FROM n);
         UPDATE clock_hop SET drift_ppm = 9e999, noise_ns = -9e999, worst_error_ns = 1e300, nominal_rate = 1e-300;
         UPDATE clock_snapshot SET clock_value = 9223372036854775807 WHERE snapshot_id = 2;
         UPDATE clock_snapshot SET clock_value = -9223372036854775808, ts = 9223372036854775807 WHERE snapshot_id = 1;
         UPDATE clock_line SET error = 1e308, error_slope = 1e308;
         UPDATE packet_record SET ts = -9223372036854775808;",
    );
    let mut statement = database
        .prepare("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, printf('%.*c', 9000, 't') FROM n")
        .unwrap();
    let table = Table::read(&mut statement, None, 20).unwrap();
    drop(statement);
    assert_eq!((table.rows(), table.more()), (20, 100_001));
    let reports = [Report {
        name: "endless".to_owned(),
        title: "Endless".to_owned(),
        is_folded: false,
        tables: vec![table],
    }];
    let page = html(&database, "a.db", &reports).unwrap();
    assert!(page.len() < 1_000_000, "{}", page.len());
    assert!(page.contains("… and 19,900 more, in the view finding."));
    assert!(page.contains("… and more than 100,000 more."));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn what_cannot_be_read_is_named() {
    let database = with_snapshots(3);
    let failure = |sql: &str| {
        run(&database, sql);
        html(&database, "a.db", &[]).unwrap_err().to_string()
    };
    assert_eq!(
        failure("UPDATE clock_snapshot SET clock_value = 'noon' WHERE id = 3"),
        "cannot read its clock snapshots: Invalid column type Text at index: 5, name: clock_value"
    );
    assert_eq!(
        failure("DROP TABLE clock_hop_reading"),
        "cannot read its findings: no such table: main.clock_hop_reading"
    );
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page(&with_snapshots(3));
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "//", "src=", "@import", "url(", "<script"] {
        assert!(!without_names.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// A client and a server, whose clock is 4 s ahead and gains 10 ppm. Messages touch the bounds in turn, one in 10 s,
/// and one was paired wrongly. The wall clocks were 3.4 ms off.
fn with_messages(corners: u32) -> Connection {
    let database = with_snapshots(3);
    run(
        &database,
        &format!(
            "INSERT INTO trace_file (id, name, is_container, packets) VALUES (1, 'client.pftrace', 0, 1), (2, 'server.pftrace', 0, 1);
             INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how, offset, error, boots_differ)
             VALUES (1, 0, NULL, 0, 'trace_time', 0, 0, NULL), (2, 1, NULL, 0, 'causality', -4000000000, 100000, NULL);
             INSERT INTO clock_record VALUES
               (1, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, 3, 0, 0, 1, 'BOOTTIME of machine 1 → BOOTTIME', 1);
             INSERT INTO clock_hop
             VALUES (10, 1, 6, 0, NULL, 0, 6, 0, NULL, 'a', 'b', 'causality', 20, NULL, 1.0, -10.0, NULL, 0.0, 100.0, 0, 0, 131000.0, 0.0, NULL);
             INSERT INTO clock_alignment (id, machine_a, file_a, clock_a, machine_b, file_b, clock_b, evidence, arrival, sides, from_ts, to_ts, at_ts, messages_ab, messages_ba,
               violated, suspect, unpaired, undirected, stretches, offset, earliest, latest, rate_ppm, rate_error_ppm, assumed, wrong_by,
               inverted, used, reason, accepted_ab, accepted_ba, inverted_ab) VALUES
               (0, 0, NULL, 6, 1, NULL, 6, 'flows', 'begin', 'both', 6000000000, 106000000000, 56000000000, 40, 38, 1, 2, 3, 4, 1,
                4000500000, 4000400000, 4000631000, 10.0, 24.5, 3997100000, 3300000, 40, 1, 'messages contradict the assumption', 40, 37, 40);
             WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {corners})
             INSERT INTO clock_alignment_knot
             SELECT 0, 6000000000 + i * 10000000000, 4000000000 + i * 100000,
                    4000000000 + i * 100000 - iif(i % 2, 100000, 140000), 4000000000 + i * 100000 + iif(i % 2, 140000, 100000), 0 FROM n;
             INSERT INTO packet_common (id, clock_id, seq_id, machine_id, trace_file_id, first_id, is_absolute)
             VALUES (1, 6, 1, 0, 1, 0, 0), (2, 6, 1, 1, 2, 0, 0);
             INSERT INTO packet_record (id, ts, common_id, timestamp, clock_ts, offset, size)
             VALUES (10, 7000000000, 1, 5, 5, 0, 9), (11, 7000100000, 2, 5, 5, 0, 9),
                    (12, 17000000000, 1, 5, 5, 0, 9), (13, 17000100000, 2, 5, 5, 0, 9);
             INSERT INTO causal_outlier VALUES (0, 10, 11, 70000000, 'violated'), (0, 13, 12, 200000, 'violated'),
                                               (0, 12, 13, 9000, 'suspect'), (0, 13, 12, 9000, 'suspect');"
        ),
    );
    database
}

#[test]
fn al16_the_corridor_of_a_pair_is_drawn_with_what_is_known_about_it() {
    let page = page(&with_messages(11));
    let messages = between(&page, "id=\"messages\"", "</section>");
    for said in [
        "<h3>Messages moved BOOTTIME of machine 1 by 3.4 ms against BOOTTIME, known to 131 µs</h3>",
        "BOOTTIME of machine 1 − BOOTTIME, µs; less 4.000000 s, 10 ppm",
        "flows · 40 messages to BOOTTIME of machine 1, 38 to BOOTTIME · 1 violated · 2 probably stamped late",
        "3 ids whose sends and arrivals do not pair up · 4 ids without an end",
        "in the middle 4.000500 s, −100 µs to +131 µs",
        "without messages, the relation put 40 arrivals before they were sent, and was wrong by 3.3 ms at least",
        "the relation without messages is beyond the picture, 3.4 ms below",
        "1 message beyond the picture (triangles), by up to 70 ms",
        "<p class=\"notes\">Moved: messages contradict the assumption.</p>",
    ] {
        assert!(messages.contains(said), "{said}: {messages}");
    }
    // Each corner is one message, on the bound that is nearer; one of the violated is beyond.
    assert_eq!(messages.matches("<circle").count(), 11);
    assert_eq!(messages.matches("fill=\"#1D5FC2\"").count(), 6);
    // The area, and the triangle. A cross has two lines.
    assert_eq!(messages.matches("<polygon").count(), 2);
    assert_eq!(messages.matches("stroke=\"#C22F2F\"").count(), 2);
    assert!(!messages.contains("steps, not drawn") && !messages.contains("without messages\n"));
    assert!(messages.contains("role=\"img\" aria-label=\"Messages moved BOOTTIME of machine 1"));
    let graph = between(&page, "id=\"graph\"", "</section>");
    for said in
        ["\nby messages\n", "\nto 131 µs\n", "messages say so: none arrives before it is sent"]
    {
        assert!(graph.contains(said), "{said}: {graph}");
    }
    assert!(page.contains("<td>by its messages, because they contradict what was assumed</td>"));
    // The part and the pair tell one error, the distance to the farther bound.
    let part = between(&page, "because they contradict what was assumed</td>", "</tr>");
    assert!(part.contains(">131 µs<") && !part.contains(">100 µs<"), "{part}");
    assert!(
        page.contains("placement and remote_clock_sync, clock_alignment and clock_alignment_knot.")
    );
    // No messages, no section.
    assert!(!self::page(&with_snapshots(3)).contains("id=\"messages\""));
}

#[test]
fn al20_the_relation_without_messages_is_drawn_if_it_is_near() {
    let database = with_messages(11);
    run(
        &database,
        "UPDATE clock_alignment SET assumed = 4000700000, used = 0, reason = 'fewer than 10 messages each way are accepted'",
    );
    let page = page(&database);
    let messages = between(&page, "id=\"messages\"", "</section>");
    assert!(
        messages.contains("\nwithout messages\n") && !messages.contains("beyond the picture, 200")
    );
    assert!(messages.contains(
        "<h3>BOOTTIME of machine 1 against BOOTTIME by messages, known to 131 µs; times stay</h3>"
    ));
    assert!(messages.contains("Not moved: fewer than 10 messages each way are accepted."));
    // It is drawn at the time for which it is told.
    let place = |page: &str| {
        between(page, "x=\"", "\nwithout messages\n").rsplit("x=\"").next().map(str::to_owned)
    };
    let middle = place(messages);
    run(&database, "UPDATE clock_alignment SET at_ts = 20000000000");
    let earlier = self::page(&database);
    assert_ne!(place(between(&earlier, "id=\"messages\"", "</section>")), middle);
}

#[test]
fn al19_a_pair_that_moved_with_others_has_no_dots() {
    for (sql, is_of_many) in [
        ("UPDATE clock_alignment SET evidence = 'flows+collectives'", false),
        ("INSERT INTO clock_alignment (machine_a, clock_a, machine_b, clock_b, evidence, arrival, sides, messages_ab, messages_ba, violated,
                                      suspect, unpaired, undirected, stretches, inverted, used, reason, accepted_ab, accepted_ba, inverted_ab)
         VALUES (1, 6, 2, 6, 'pairs', 'begin', 'contradictory', 1, 1, 1, 0, 0, 0, 1, 0, 0, '', 0, 0, 0)", true),
    ] {
        let database = with_messages(11);
        run(&database, sql);
        let page = page(&database);
        let messages = between(&page, "id=\"messages\"", "</section>");
        assert!(!messages.contains("<circle"), "{sql}");
        // Two clocks are no clocks together with others.
        assert_eq!(messages.contains("so they have no dots"), is_of_many, "{sql}");
    }
}

#[test]
fn al17_a_pair_can_move_by_way_of_other_clocks() {
    let database = with_messages(11);
    run(
        &database,
        "INSERT INTO clock_alignment (machine_a, clock_a, machine_b, clock_b, evidence, arrival, sides, messages_ab, messages_ba, violated,
                                      suspect, unpaired, undirected, stretches, inverted, used, reason, accepted_ab, accepted_ba, inverted_ab)
         VALUES (0, 6, 2, 6, 'flows', 'begin', 'both', 20, 20, 0, 0, 0, 0, 1, 9, 1, 'messages contradict the assumption', 20, 20, 9),
                (1, 6, 2, 6, 'flows', 'begin', 'both', 15, 15, 0, 0, 0, 0, 1, 5, 0, 'messages contradict the assumption', 15, 15, 5),
                (1, 6, 3, 6, 'flows', 'begin', 'both', 5, 5, 0, 0, 0, 0, 1, 5, 0, 'fewer than 10 messages each way are accepted', 5, 5, 5);",
    );
    let page = page(&database);
    let messages = between(&page, "id=\"messages\"", "</section>");
    let by_others =
        "Moved by way of other clocks; about this pair: messages contradict the assumption.";
    assert_eq!(messages.matches(by_others).count(), 1, "{messages}");
    assert_eq!(messages.matches("Moved: ").count(), 2);
    assert!(messages.contains("Not moved: fewer than 10 messages each way are accepted."));
}

#[test]
fn al14_pairs_without_two_bounds_have_a_sentence() {
    for (sql, title, figures) in [
        (
            "sides = 'upper', used = 0, offset = NULL, earliest = NULL; UPDATE clock_alignment_knot SET offset = NULL, earliest = NULL",
            "Messages go only one way: BOOTTIME of machine 1 may be any time behind BOOTTIME",
            1,
        ),
        (
            "sides = 'lower', used = 0, offset = NULL, latest = NULL; UPDATE clock_alignment_knot SET offset = NULL, latest = NULL",
            "Messages go only one way: BOOTTIME of machine 1 may be any time ahead of BOOTTIME",
            1,
        ),
        (
            "sides = 'contradictory', used = 0, offset = NULL, earliest = NULL, latest = NULL; DELETE FROM clock_alignment_knot",
            "Messages between BOOTTIME and BOOTTIME of machine 1 contradict each other",
            0,
        ),
        (
            "sides = 'none', used = 0, messages_ab = 0, messages_ba = 0, offset = NULL, earliest = NULL, latest = NULL, from_ts = NULL; DELETE FROM clock_alignment_knot",
            "No message relates BOOTTIME of machine 1 to BOOTTIME",
            0,
        ),
    ] {
        let database = with_messages(11);
        run(&database, &format!("UPDATE clock_alignment SET {sql};"));
        let page = page(&database);
        let messages = between(&page, "id=\"messages\"", "</section>");
        assert!(messages.contains(&format!("<h3>{title}</h3>")), "{title}: {messages}");
        assert_eq!(messages.matches("<svg").count(), figures, "{title}");
        assert_eq!(messages.matches("<circle").count(), 11 * figures, "{title}");
        assert!(messages.contains("the offsets that messages allow") == (figures > 0));
    }
}

#[test]
fn al11_a_step_does_not_press_the_corridor_flat() {
    let database = with_messages(10);
    run(
        &database,
        "UPDATE clock_alignment_knot SET offset = offset + 7000000000, earliest = earliest + 7000000000, latest = latest + 7000000000
         WHERE value >= 56000000000;
         UPDATE clock_alignment SET stretches = 2;
         INSERT INTO clock_alignment_knot VALUES
           (0, 50000000000, 4000450000, 4000300000, 4000600000, 1), (0, 50000000001, 7500450000, 4000300000, 11000600000, 0),
           (0, 52000000000, 7500450000, 4000300000, 11000600000, 1), (0, 52000000001, 11000450000, 11000300000, 11000600000, 0);",
    );
    let page = page(&database);
    let messages = between(&page, "id=\"messages\"", "</section>");
    assert!(messages.contains("\n+7 s\n"), "{messages}");
    assert!(
        messages.contains("− BOOTTIME, µs; less 4.000000 s, 10 ppm, steps")
            && messages.contains(" · 1 step · ")
    );
    assert_eq!(messages.matches("<circle").count(), 10);
}

#[test]
fn al16_a_corridor_of_many_corners_is_as_small_as_others() {
    let database = with_messages(9_000);
    run(
        &database,
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
         INSERT INTO clock_alignment (id, machine_a, file_a, clock_a, machine_b, file_b, clock_b, evidence, arrival, sides, from_ts, to_ts, at_ts, messages_ab, messages_ba,
               violated, suspect, unpaired, undirected, stretches, offset, earliest, latest, rate_ppm, rate_error_ppm, assumed, wrong_by,
               inverted, used, reason, accepted_ab, accepted_ba, inverted_ab) SELECT i, machine_a, file_a, clock_a, machine_b, file_b, clock_b, evidence, arrival, sides, from_ts, to_ts, at_ts,
           messages_ab, messages_ba, violated, suspect, unpaired, undirected, stretches, offset, earliest, latest, rate_ppm, rate_error_ppm,
           assumed, wrong_by, inverted, used, reason, accepted_ab, accepted_ba, inverted_ab FROM clock_alignment, n;
         INSERT INTO clock_alignment_knot SELECT a.id, k.value, k.offset, k.earliest, k.latest, k.step
         FROM clock_alignment_knot AS k, clock_alignment AS a WHERE a.id BETWEEN 1 AND 9;
         UPDATE clock_alignment_knot SET earliest = -9223372036854775808, latest = 9223372036854775807 WHERE value % 7 = 1;
         UPDATE clock_alignment SET rate_ppm = 9e999, assumed = 9223372036854775807 WHERE id = 2;
         UPDATE clock_alignment SET from_ts = -9223372036854775808, to_ts = 9223372036854775807, at_ts = 9223372036854775807 WHERE id = 3;",
    );
    let page = page(&database);
    let messages = between(&page, "id=\"messages\"", "</section>");
    assert_eq!(messages.matches("<figure").count(), 8);
    assert!(messages.contains("drawn are 302 of 9,000 corners, where messages say most"));
    assert!(messages.contains("23 pairs of clocks more, in the table clock_alignment."));
    assert!(messages.len() < 600_000, "{}", messages.len());
    assert!(!messages.contains("NaN") && !messages.contains("inf\""));
}
