//! The page of `timebase compare` from the outside. tests/python/test_compare_page.py looks at it in a browser.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use timebase_lab::encode::Message;

use crate::support::{Place, Said, data, profiles, run};

/// Compares with these arguments, of which `./NAME` is in the place, into `page.html`.
fn compare(place: &Place, arguments: &[&str]) -> (Said, String) {
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let mut given = vec!["compare".to_owned()];
    given.extend(arguments.iter().map(|argument| match argument.strip_prefix("./") {
        Some(name) => path(name),
        None => (*argument).to_owned(),
    }));
    given.extend(["-f".to_owned(), "-o".to_owned(), path("page.html")]);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let said = run(&given);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    (said, page)
}

/// The attribute of an element that begins the text.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let element = element.split('>').next().unwrap();
    let (_, rest) = element
        .split_once(&format!(" {name}=\""))
        .unwrap_or_else(|| panic!("no {name} in {element}"));
    rest.split('"').next().unwrap()
}

/// The text of HTML without tags.
fn text(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
    let text = parts.collect::<String>();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The names of the runs, in the order of the page.
fn runs(page: &str) -> Vec<String> {
    let (_, section) = page.split_once("<section id=\"runs\">").unwrap();
    let (_, body) = section.split_once("<tbody>").unwrap();
    let rows = body.split("</tbody>").next().unwrap().split("<tr>").skip(1);
    rows.map(|row| text(row.split("</td>").next().unwrap())).collect()
}

/// The dots of all lines: line, statistic and run, and the value.
fn dots(page: &str) -> BTreeMap<(String, String, String), f64> {
    let runs = runs(page);
    let mut found = BTreeMap::new();
    for line in page.split("<details class=\"line\"").skip(1) {
        let name = text(&format!("<>{}", attribute(line, "data-line")));
        for figure in line.split("<figure class=\"runs\"").skip(1) {
            let stat = attribute(figure, "data-stat").to_owned();
            let figure = figure.split("</figure>").next().unwrap();
            for dot in figure.split("<circle").skip(1) {
                let number: usize = attribute(dot, "data-run").parse().unwrap();
                let key = (name.clone(), stat.clone(), runs[number].clone());
                let value = attribute(dot, "data-value").parse().unwrap();
                assert!(found.insert(key, value).is_none());
            }
        }
    }
    found
}

/// The sure values of a file: line, statistic and run.
fn values(place: &Place) -> BTreeMap<(String, String, String), f64> {
    let mut reader = csv::Reader::from_path(place.path("values.csv")).unwrap();
    let rows = reader.records().map(|row| row.unwrap());
    rows.filter(|row| &row[2] != "run" && !row[6].is_empty())
        .map(|row| {
            let between = if row[3].is_empty() || row[4].is_empty() { "" } else { "/" };
            let line = format!("{}:{}{between}{}", &row[2], &row[3], &row[4]);
            ((line, row[5].to_owned(), row[0].to_owned()), row[6].parse().unwrap())
        })
        .collect()
}

/// The means of the sides are those of their dots.
fn means_are_those_of_dots(page: &str) {
    let mut seen = 0;
    for figure in page.split("<figure class=\"runs\"").skip(1) {
        let figure = figure.split("</figure>").next().unwrap();
        for side in ["before", "after"] {
            let of_side = figure
                .split("<circle")
                .skip(1)
                .filter(|dot| attribute(dot, "class") == format!("dot {side}"));
            let values: Vec<f64> =
                of_side.map(|dot| attribute(dot, "data-value").parse().unwrap()).collect();
            let (_, line) = figure.split_once(&format!("<line class=\"mean {side}\"")).unwrap();
            let mean: f64 = attribute(line, "data-mean").parse().unwrap();
            let expected = values.iter().sum::<f64>() / values.len() as f64;
            seen += 1;
            assert!((mean - expected).abs() <= 1e-9 * expected, "{mean} {expected}");
        }
    }
    assert!(seen > 0);
}

/// Nothing of the page comes from elsewhere, and nothing runs.
fn is_alone(page: &str) {
    for wrong in
        ["http:", "https:", "<script", "<img", "<iframe", " src=", "@import", "url(", "javascript:"]
    {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn cm24_dots_are_the_values_of_the_lines_that_changed() {
    let place = Place::new();
    let [before, after] =
        ["runs/before", "runs/after"].map(|name| data(name).to_str().unwrap().to_owned());
    let (_, page) = compare(&place, &[&before, "--with", &after, "--values", "./values.csv"]);
    is_alone(&page);
    let (values, dots) = (values(&place), dots(&page));
    let rows = run(&["compare", &before, "--with", &after, "-F", "json"]);
    let document: serde_json::Value = serde_json::from_str(&rows.stdout).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let mut lines = Vec::new();
    for row in rows.iter().filter(|row| row["called"] == 1) {
        if let Some(line) = row["line"].as_str().filter(|_| row["mean_before"].is_number()) {
            lines.push(line.to_owned());
        }
    }
    lines.dedup();
    assert!(!lines.is_empty());
    for line in &lines {
        let of_line: Vec<_> = dots.keys().filter(|(of, ..)| of == line).collect();
        assert_eq!(of_line.len(), 20, "{line}: a dot for each run");
    }
    assert_eq!(dots.len(), 20 * lines.len());
    for (key, value) in &dots {
        assert_eq!(values.get(key), Some(value), "{key:?}");
    }
    means_are_those_of_dots(&page);
    // The words are those of the text.
    let said = run(&["compare", &before, "--with", &after]).stdout;
    let first = said.lines().next().unwrap();
    assert!(text(&page).contains(first), "{first}");
    for note in said.lines().filter_map(|line| line.strip_prefix("! ")) {
        assert!(text(&page).contains(note), "{note}");
    }
    let last = said.trim_end().lines().last().unwrap();
    assert!(text(&page).contains(last), "{last}");
    assert!(page.matches("<figure class=\"ecdf\"").count() >= lines.len(), "distributions");
    assert!(page.matches("<figure class=\"forest\"").count() >= lines.len(), "intervals");
}

/// Five runs a side with these names of slices; one of them is slower after.
fn hostile(place: &Place, names: [&str; 2]) {
    for (folder, dur) in [("old", 100), ("new", 150)] {
        fs::create_dir(place.path(folder)).unwrap();
        for number in 0..5 {
            let mut text = String::from(
                r#"[{"ph":"M","name":"process_name","pid":7,"tid":7,"args":{"name":"a&b"}}"#,
            );
            let slices = [(names[0], dur + number), (names[1], 90 + number)];
            for (at, (name, dur)) in slices.into_iter().enumerate() {
                let name = serde_json::to_string(name).unwrap();
                let _ = write!(
                    text,
                    r#",{{"ph":"X","pid":7,"tid":7,"name":{name},"ts":{},"dur":{dur}}}"#,
                    at * 1000
                );
            }
            text.push(']');
            let name =
                if number == 0 { "<b>'&x.json".to_owned() } else { format!("{number}.json") };
            fs::write(place.path(format!("{folder}/{name}")), text).unwrap();
        }
    }
}

#[test]
fn cm24_names_of_strangers_are_text() {
    let place = Place::new();
    let names = [
        "<script>alert(1)</script>\" onload=\"x",
        "</title></svg><img src=x onerror='a()'>\u{202e}\u{1b}[31m",
    ];
    hostile(&place, names);
    let (_, page) = compare(
        &place,
        &[
            "./old",
            "--with",
            "./new",
            "--labels",
            "<i>old,\"new\"",
            "--metric",
            "<u>=SELECT name, dur AS value FROM slice",
        ],
    );
    for wrong in [
        "<script",
        "<img",
        "<b>'",
        "<i>old",
        "<u>",
        "</title></svg",
        "onload=\"x",
        "\u{202e}",
        "\u{1b}",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&lt;b&gt;'&amp;x.json"));
    assert!(
        page.contains("<h1>&lt;i&gt;old → \"new\"</h1>")
            || page.contains("<h1>&lt;i&gt;old → &quot;new&quot;</h1>")
    );
    assert_eq!(page.matches("<title>").count(), page.matches("</title>").count());
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
}

#[test]
fn cm24_one_run_a_side_has_dots_and_no_intervals() {
    let place = Place::new();
    let [before, after] = ["runs/before/0.json", "runs/after/0.json"]
        .map(|name| data(name).to_str().unwrap().to_owned());
    let (_, page) = compare(&place, &[&before, "--with", &after, "--values", "./values.csv"]);
    let (values, dots) = (values(&place), dots(&page));
    assert!(text(&page).contains("ratios only, because one run shows no spread"));
    assert!(!dots.is_empty());
    assert!(!page.contains("<rect class=\"interval\""));
    for (key, value) in &dots {
        assert_eq!(values.get(key), Some(value), "{key:?}");
    }
}

#[test]
fn cm24_a_page_of_values_has_no_durations_and_no_callstacks() {
    let place = Place::new();
    let [before, after] =
        ["runs/before", "runs/after"].map(|name| data(name).to_str().unwrap().to_owned());
    let (_, of_traces) = compare(&place, &[&before, "--with", &after, "--values", "./values.csv"]);
    let of = |side: &str| format!("{},side={side}", place.path("values.csv").display());
    let (_, page) = compare(&place, &[&of("before"), "--with", &of("after")]);
    assert_eq!(dots(&page), dots(&of_traces));
    assert!(!page.contains("<figure class=\"ecdf\"") && !page.contains("class=\"flame\""));
    assert!(page.contains("Files of values have neither durations nor callstacks."));
    is_alone(&page);
}

#[test]
fn cm24_a_page_is_for_files_only() {
    let place = Place::new();
    let before = data("runs/before").to_str().unwrap().to_owned();
    let output = place.path("page.htm").to_str().unwrap().to_owned();
    let said = run(&["compare", &before, "--with", &before, "-o", &output]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("unknown extension .htm. Known are .txt, .html, .csv"),
        "{}",
        said.stderr
    );
    let said = run(&["compare", &before, "--with", &before, "-F", "html"]);
    assert!(said.code != Some(0) && said.stderr.contains("html"), "{}", said.stderr);
}

/// A recording with so many samples of `draw`, `layout` and `<wait & see>`, and a dump of the heap.
fn samples(draw: u64, layout: u64, wait: u64) -> Vec<Message> {
    let stacks = [(draw, 1), (layout, 2), (wait, 3)];
    let stacks =
        stacks.into_iter().flat_map(|(number, stack)| std::iter::repeat_n(stack, number as usize));
    let samples: Vec<(u64, u64, u64, u64)> =
        (1_u64..).zip(stacks).map(|(number, stack)| (1_000 + number * 10, 10, 11, stack)).collect();
    let mut packets = profiles::packets(&samples);
    packets.push(profiles::heap(90_000, &[(1, 4_000, 0), (2, layout * 100, 0)]));
    packets
}

#[test]
fn cm24_the_graph_of_samples_has_the_mean_shares_and_marks_called_functions() {
    let place = Place::new();
    for folder in ["old", "new"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    for number in 0..5 {
        let old =
            profiles::recording(&place, "old.pftrace", &samples(60 + number, 30 - number, 10));
        fs::rename(old, place.path(format!("old/{number}.pftrace"))).unwrap();
        let new =
            profiles::recording(&place, "new.pftrace", &samples(40 - number, 50 + number, 10));
        fs::rename(new, place.path(format!("new/{number}.pftrace"))).unwrap();
    }
    let (_, page) = compare(&place, &["./old", "--with", "./new"]);
    assert_eq!(page.matches("<svg class=\"flame\"").count(), 2, "samples and heap");
    let (_, section) = page.split_once("<section id=\"sample\">").unwrap();
    let graph = section.split("</section>").next().unwrap();
    let mut frames = BTreeMap::new();
    for frame in graph.split("<svg x=").skip(1) {
        let frame = frame.split("</svg>").next().unwrap();
        let share =
            |name: &str| attribute(&format!("<svg x={frame}"), name).parse::<f64>().unwrap();
        let name = text(&format!("<>{}", attribute(&format!("<svg x={frame}"), "data-frame")));
        let is_called = frame.contains(" called\"");
        frames.insert(name, ([share("data-before"), share("data-after")], is_called));
    }
    // Draw is around layout.
    for (name, [before, after], is_called) in [
        ("all", [1.0, 1.0], false),
        ("main", [1.0, 1.0], false),
        ("draw", [0.9, 0.9], true),
        ("layout", [0.28, 0.52], true),
        ("<wait & see>", [0.1, 0.1], false),
    ] {
        let ([found_before, found_after], called) = frames[name];
        assert!(
            (found_before - before).abs() < 1e-9 && (found_after - after).abs() < 1e-9,
            "{name}: {frames:?}"
        );
        assert_eq!(called, is_called, "{name}: {frames:?}");
    }
    means_are_those_of_dots(&page);
    is_alone(&page);
}
