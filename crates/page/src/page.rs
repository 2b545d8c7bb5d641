//! The page itself: its parts, their order, and their HTML.
//!
//! # Design
//!
//! `maud` puts text into HTML, and escapes all of it. The alternative was a template in a file of
//! its own (`askama`), but the page consists of many small parts, made from Rust values. Only text
//! that this crate makes is not escaped: drawings and the style.

use maud::{Markup, PreEscaped, html};
use rusqlite::Connection;

use crate::aligned::{self, Messages};
use crate::clocks::{Clocks, Hop, HopSource, TRACE_FILE, Turn};
use crate::error::Error;
use crate::facts::{BOOTTIME, Facts, Formats};
use crate::findings::{Finding, Findings, Severity};
use crate::graph::Graph;
use crate::hop::{self, Plot};
use crate::parts::Parts;
use crate::said::Said;
use crate::strips::Strips;
use crate::sync::{self, Syncs};
use crate::text::{count, counted, digits, duration, share, shown};
use crate::trail::distance;
use crate::{Report, band, document, graph, strips, trail};

/// The number of hops with a plot.
const PLOTS: usize = 24;
/// The number of hops with a line in the table below.
const LISTED: usize = 100;

/// The bases of relations between clocks that no snapshot holds together, with their colours.
const RELATIONS: [(HopSource, &str, &str); 5] = [
    (HopSource::RemoteSync, "--dot", "one machine asked the other for the time"),
    (HopSource::Causality, "--ink", "messages say so: none arrives before it is sent"),
    (HopSource::Manifest, "--bar", "the manifest says so"),
    (HopSource::Producer, "--bar", "the producer of a JSON trace says so"),
    (HopSource::Assumed, "--outlier", "dashed: assumed, because nothing measured it"),
];

/// Up to this many findings of one kind are open; the reader can unfold the others.
const UNFOLDED: usize = 2;

/// The data of the page.
pub struct Page<'a> {
    name: String,
    facts: Facts,
    clocks: Clocks,
    findings: Findings,
    graph: Option<Graph>,
    plots: Vec<Plot>,
    strips: Option<Strips>,
    parts: Parts,
    said: Said,
    syncs: Syncs,
    messages: Messages,
    reports: &'a [Report],
}

impl<'a> Page<'a> {
    /// Reads it from the database.
    pub fn read(
        database: &Connection,
        name: &str,
        reports: &'a [Report],
    ) -> Result<Page<'a>, Error> {
        let facts = Facts::read(database)?;
        let clocks = Clocks::read(database)?;
        let parts = Parts::read(database)?;
        let begin = facts.span.map_or(0, |(begin, _)| begin);
        let strips = match facts.span {
            Some(span) => strips::draw(database, &clocks, span)?,
            None => None,
        };
        let said = Said::read(database, &clocks)?;
        Ok(Page {
            name: facts.name.clone().unwrap_or_else(|| shown(name)),
            findings: Findings::read(database)?,
            graph: graph::draw(&clocks, &parts, facts.trace_time())?,
            syncs: sync::draw(database, &clocks, begin)?,
            messages: aligned::draw(database, &clocks, begin)?,
            plots: plots(database, &clocks, &facts)?,
            strips,
            parts,
            said,
            facts,
            clocks,
            reports,
        })
    }
}

fn plots(database: &Connection, clocks: &Clocks, facts: &Facts) -> Result<Vec<Plot>, Error> {
    let Some((begin, end)) = facts.span else {
        return Ok(Vec::new());
    };
    let hops = clocks.hops.get(..PLOTS).unwrap_or(&clocks.hops);
    let trails = trail::read(database, hops, begin)?;
    let length = distance(begin, end).max(1.0);
    let mut plots = Vec::new();
    for (hop, trail) in hops.iter().zip(&trails) {
        let (Some(origin), Some(first)) = (trail.origin(), trail.dots.first()) else {
            continue;
        };
        // The readings of the source clock at both ends of the trace.
        let read_at = |at: f64| first.from + (at - first.at) / trail.rate();
        let span = hop::span(trail, (0.0, length));
        let reach = (read_at(span.0), read_at(span.1));
        let is_end = |id: i64| id == BOOTTIME || id == facts.trace_clock;
        let target = if is_end(hop.to.id) { hop.to.id } else { BOOTTIME };
        let corners = band::read(database, hop.from, target, origin, reach)?;
        plots.push(hop::plot(hop, trail, &corners, span, target != hop.to.id)?);
    }
    Ok(plots)
}

impl Page<'_> {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let body = html! {
            header { (self.head()) }
            main {
                (section("findings", "What the doctor found", &listed(&self.findings)))
                (section("graph", "How the clocks are connected", &self.graph_section()))
                @if self.parts.all > 1 {
                    (section("placed", "How the files were placed", &self.placed_section()))
                }
                @if !self.syncs.shown.is_empty() {
                    (section("sync", "What machines asked each other", &self.sync_section()))
                }
                @if !self.messages.shown.is_empty() {
                    (section("messages", "What messages say of the clocks", &self.messages_section()))
                }
                @if self.facts.formats != Formats::Perfetto {
                    (section("said", "What producers said of their clocks", &self.said_section()))
                }
                @if self.facts.formats != Formats::Json {
                    (section("hops", "How each clock runs", &self.hops_section()))
                }
                (section("packets", self.strips_title(), &self.strips_section()))
                @for report in self.reports.iter().filter(|report| !report.is_folded) {
                    (section(&report.name, &report.title, &tables(report)))
                }
                @let folded = || self.reports.iter().filter(|report| report.is_folded);
                @if folded().next().is_some() {
                    (section("tables", "Tables", &html! { @for report in folded() { (reported(report)) } }))
                }
            }
            footer {
                "Made by timebase " (env!("CARGO_PKG_VERSION"))
                ". All times are in the database, and every picture is of its tables "
                @match self.facts.formats {
                    Formats::Json => { "packet and clock_hop" },
                    _ => {
                        "clock_snapshot, clock_hop, clock_hop_reading and clock_mapping_linear"
                        @if self.parts.all > 1 { ", placement and remote_clock_sync" }
                    }
                }
                @if !self.messages.shown.is_empty() { ", clock_alignment and clock_alignment_knot" }
                "."
            }
        };
        document::html(&format!("{} – clocks of a trace", self.name), &[], &body)
    }

    fn head(&self) -> Markup {
        let facts = &self.facts;
        let timed = facts.placed.saturating_add(facts.unplaced);
        html! {
            h1 { (self.name) }
            p.about { (self.verdict_of_clocks()) }
            dl.facts {
                div { dt { "Doctor" } dd #verdict { (verdict(&self.findings)) } }
                div {
                    dt { "On trace time" }
                    dd #share {
                        (share(facts.placed, timed))
                        small { (count(i128::from(facts.placed))) " of " (facts.formats.counted(timed)) " with a timestamp" }
                        @if facts.wrong > 0 { small { (count(facts.wrong)) " of these at a wrong time" } }
                    }
                }
                div {
                    dt { (capital(facts.formats.packets())) }
                    dd #packet-count {
                        (count(i128::from(facts.packets)))
                        @if let Some((begin, end)) = facts.bounds { small { "in " (duration(distance(begin, end))) } }
                    }
                }
                @if self.parts.all > 1 {
                    div {
                        dt { "Machines" }
                        dd #machine-count {
                            (count(i128::from(self.parts.machines)))
                            small { "in " (counted(self.parts.files, "file", "files")) }
                        }
                    }
                }
                div {
                    dt { "Clocks" }
                    dd #clock-count {
                        (count(i128::from(self.clocks.all)))
                        small { (counted(self.clocks.all_hops, "hop", "hops")) " between them" }
                    }
                }
                @if facts.formats != Formats::Json {
                    div {
                        dt { "Worst error between snapshots" }
                        dd #worst { (self.worst()) }
                    }
                }
            }
            p.noted {
                @for (index, (what, value)) in facts.noted.iter().enumerate() {
                    @if index > 0 { " · " }
                    (what) " " (value)
                }
            }
        }
    }

    /// A sentence about the page.
    fn verdict_of_clocks(&self) -> String {
        let trace_time = self.facts.trace_time();
        let trace_clock = self.clocks.clocks.iter().find(|clock| clock.key == trace_time);
        let trace_clock = trace_clock.map_or("BOOTTIME", |clock| clock.label.as_str());
        let how = match (self.facts.formats, self.facts.is_linear) {
            (Formats::Json, _) if trace_time.id == TRACE_FILE => ", the file's own clock",
            (Formats::Json, _) => "",
            (Formats::Perfetto, true) => ", by the line between two snapshots",
            (Formats::Perfetto, false) => ", by the nearest snapshot",
            (Formats::Both, true) => "; packets by the line between two snapshots",
            (Formats::Both, false) => "; packets by the nearest snapshot",
        };
        let facts = &self.facts;
        let placed = facts.placed.saturating_add(facts.inside.0);
        let unplaced = facts.unplaced.saturating_add(facts.inside.1);
        if placed == 0 {
            return format!("No event stands on {trace_clock}.");
        }
        let mut said = match unplaced {
            0 => format!("Every event stands on {trace_clock}{how}"),
            _ => format!(
                "{} of {} events stand on {trace_clock}{how}",
                count(placed),
                count(placed.saturating_add(unplaced))
            ),
        };
        if facts.wrong > 0 {
            said += &format!(
                ", {} of these at a wrong time, because their clock wrapped or restarted",
                count(facts.wrong)
            );
        }
        if unplaced > 0 {
            said += "; the others have no time";
        }
        said + "."
    }

    /// The largest errors of nearest neighbour and of the line between snapshots, on hops from
    /// clocks that packets use. Larger problems come before it.
    fn worst(&self) -> Markup {
        let used = || self.clocks.hops.iter().filter(|hop| hop.packets > 0);
        let hops: Vec<&Hop> = used().filter(|hop| hop.readings > 1).collect();
        let worst = |of: &dyn Fn(&Hop) -> f64| {
            hops.iter().copied().max_by(|one, other| of(one).total_cmp(&of(other)))
        };
        let nearest = worst(&|hop| hop.worst_nearest_ns);
        let linear = worst(&|hop| hop.worst_ns);
        let said = |hop: &Hop, ns: f64| format!("{} ({})", duration(ns), hop.from_label);
        let clocks = || self.clocks.clocks.iter().filter(|clock| clock.packets > 0);
        let turned = clocks().filter_map(|clock| Some((clock, clock.worst_turn_ns?)));
        let turned = turned.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let lost = clocks().find(|clock| !clock.has_path && self.facts.unplaced > 0);
        if let Some((clock, ns)) = turned {
            let did = clock.turned.map_or("went back", Turn::did);
            return html! { (duration(ns)) " (" (clock.label) ")" small { "it " (did) ", and some of its packets are placed as if it had not" } };
        }
        match nearest.zip(linear) {
            None if self.clocks.relations.iter().any(|hop| hop.packets > 0) => {
                html! { "not known" small { "clocks of other machines and files: see how they were placed" } }
            }
            None if used().count() == 0 => match lost {
                None => html! { "none" small { "packets use no clock that is converted" } },
                Some(clock) => {
                    let why = clock.fault().unwrap_or("leads nowhere");
                    html! { "not known" small { "packets are on " (clock.label) ", which has no way to trace time: " (why) } }
                }
            },
            None => html! { "not known" small { "no clock that packets use was read twice" } },
            Some((nearest, linear)) => {
                let by_nearest = said(nearest, nearest.worst_nearest_ns);
                let by_line = said(linear, linear.worst_ns);
                // The first is a jump that happened, the second an error that is possible.
                match self.facts.is_linear {
                    true => {
                        html! { "within " (by_line) small { "the nearest snapshot jumps by up to " (by_nearest) } }
                    }
                    false => {
                        html! { (by_nearest) small { "the largest jump at a snapshot; the line between two is sure to within " (by_line) } }
                    }
                }
            }
        }
    }

    fn graph_section(&self) -> Markup {
        let Some(graph) = &self.graph else {
            return html! { p.none { "The trace has no clocks." } };
        };
        let is_json = self.facts.formats == Formats::Json;
        if let [clock] = self.clocks.clocks.as_slice()
            && is_json
        {
            return html! { p.none { "The trace has one clock, " (clock.label) "." } };
        }
        html! {
            @if is_json {
                p.about {
                    "Each clock leads to the one above it on its line, at a fixed offset"
                    @if self.clocks.relations.iter().any(|hop| hop.source == HopSource::Causality) { " or along its messages" }
                    ":"
                }
            } @else {
                p.about { "Each clock leads to the one above it on its line, by the snapshots that hold both. ppm: how much faster the clock above runs." }
                @if !self.clocks.relations.is_empty() {
                    p.about { "No snapshot read clocks of two machines or files together; the line shows how they relate:" }
                }
            }
            @if !self.clocks.relations.is_empty() {
                p.notes.key { @for (source, colour, said) in RELATIONS {
                    @if self.clocks.relations.iter().any(|hop| hop.source == source) {
                        span { i style={ "background:var(" (colour) ")" } {} (said) }
                    }
                } }
            }
            figure.graph role="img" aria-label="The clock graph" style={ "--width:" (graph.width) "px" } { (PreEscaped(&graph.svg)) }
            @if graph.left_out > 0 {
                p.none { (counted(graph.left_out as u64, "box more has", "boxes more have")) " no room here." }
            }
        }
    }

    fn placed_section(&self) -> Markup {
        let parts = &self.parts;
        let time = |ns: Option<i64>| ns.map_or_else(|| "–".to_owned(), |ns| duration(ns as f64));
        html! {
            p.about {
                "The data of each machine in each file, and the offset from its "
                @match self.facts.formats {
                    Formats::Perfetto => { "BOOTTIME" },
                    Formats::Json => { "clock" },
                    Formats::Both => { "BOOTTIME, or from the clock of a JSON trace," },
                }
                " to trace time."
            }
            div.wide { table {
                thead { tr {
                    @for column in ["file", "machine", "how", "added", "give or take", "clocks"] {
                        th { (column) }
                    }
                } }
                tbody { @for part in &parts.shown {
                    tr {
                        td { (parts.file(part.owner.1)) }
                        td { (parts.machine(part.owner.0)) }
                        td {
                            (part.how())
                            @if let Some(differ) = part.boots_differ {
                                "; by REALTIME it is " (duration(differ as f64)) " from there, as if restarted"
                            }
                        }
                        td.number { (time(part.offset)) }
                        td.number { (time(part.error)) }
                        td { @if part.has_own_clocks { "its own" } @else { "the machine's" } }
                    }
                } }
            } }
            @let more = parts.all.saturating_sub(parts.shown.len() as u64);
            @if more > 0 { p.none { "… and " (count(i128::from(more))) " more, in the view placement." } }
        }
    }

    fn sync_section(&self) -> Markup {
        html! {
            p.about { "How far the asking clock was ahead of the other. A bar is the range that a round trip allows; the true offset passes through the bars." }
            p.notes.key {
                span { i style="background:var(--dot)" {} "samples, give or take half a round trip" }
                span { i style="background:var(--outlier)" {} "left out by rates" }
            }
            div.plots {
                @for sync in &self.syncs.shown {
                    figure {
                        h3 { (sync.title) }
                        p.notes { (sync.axis) }
                        div role="img" aria-label=(sync.title) { (PreEscaped(&sync.svg)) }
                        p.notes { (sync.notes) }
                    }
                }
            }
            @if self.syncs.left_out > 0 {
                p.none { (counted(self.syncs.left_out as u64, "pair of clocks more", "pairs of clocks more")) ", in the table remote_clock_sync." }
            }
        }
    }

    fn messages_section(&self) -> Markup {
        let shown = &self.messages.shown;
        let has_plot = shown.iter().any(|pair| pair.corridor.is_some());
        html! {
            p.about {
                "No message arrives before it is sent. So each message from one clock to another says how far the other is ahead at most, "
                "and each one back says how far at least. The true offset lies between."
            }
            @if has_plot {
                p.notes.key {
                    span { i style="background:var(--band)" {} "the offsets that messages allow" }
                    span { i style="background:var(--line)" {} "the estimate" }
                    span { i style="background:var(--dot)" {} "a message that says at most" }
                    span { i style="background:var(--bar)" {} "one that says at least" }
                    span { i style="background:var(--outlier)" {} "crosses: violated, they contradict the others" }
                    span { i style="background:var(--muted)" {} "crosses: suspect, probably stamped late" }
                    span { i style="background:var(--step)" {} "steps: a clock was set, or slept" }
                }
            }
            div.plots {
                @for pair in shown {
                    figure {
                        h3 { (pair.title) }
                        @if let Some(corridor) = &pair.corridor {
                            p.notes { (corridor.axis) }
                            div role="img" aria-label=(pair.title) { (PreEscaped(&corridor.svg)) }
                        }
                        p.notes { (pair.notes) }
                        p.notes { (pair.verdict) }
                    }
                }
            }
            @if self.messages.left_out > 0 {
                p.none { (counted(self.messages.left_out, "pair of clocks more", "pairs of clocks more")) ", in the table clock_alignment." }
            }
        }
    }

    /// The statements of JSON traces' producers about their clocks.
    fn said_section(&self) -> Markup {
        let said = &self.said;
        if said.shown.is_empty() {
            return html! { p.none { "Nothing: the time of day at which their clocks began is unknown." } };
        }
        // An import for a page leaves the texts of packets out.
        let has_texts = said.shown.iter().any(|statement| statement.text.is_some());
        html! {
            p.about { "TRACE_FILE is the clock of the events in a file. These statements relate it to other clocks." }
            div.wide { table {
                thead { tr {
                    @if has_texts { th { "in the trace" } }
                    th { "so these are one instant" }
                    th { "time of day (UTC)" }
                } }
                tbody { @for statement in &said.shown {
                    tr {
                        @if has_texts { td { (statement.text.as_deref().unwrap_or("–")) } }
                        td { (statement.readings.join(" = ")) }
                        td { (statement.date.as_deref().unwrap_or("–")) }
                    }
                } }
            } }
            @let more = said.all.saturating_sub(said.shown.len() as u64);
            @if more > 0 { p.none { "… and " (count(i128::from(more))) " more, in the table clock_snapshot." } }
        }
    }

    fn hops_section(&self) -> Markup {
        let hops = &self.clocks.hops;
        if hops.is_empty() && !self.clocks.relations.is_empty() {
            return html! { p.none { "No snapshot holds two clocks: what is converted is of other machines or files." } };
        }
        if hops.is_empty() {
            return html! { p.none { "No clock is converted by way of another: no snapshot holds two, or they went backwards." } };
        }
        let listed = hops.get(self.plots.len()..).unwrap_or_default();
        let shown = self.plots.len().saturating_add(listed.len().min(LISTED));
        let known = shown.saturating_add(self.clocks.relations.len());
        let more = self.clocks.all_hops.saturating_sub(known as u64);
        html! {
            p.about { "How much further one clock went than the other. A flat line is a clock that keeps its rate; the band is the possible error of its times." }
            p.notes.key {
                span { i style="background:var(--dot)" {} "snapshots" }
                span { i style="background:var(--line)" {} "the line between them" }
                span { i style="background:var(--band)" {} "its error" }
                span { i style="background:var(--outlier)" {} "outliers: not read together" }
                span { i style="background:var(--step)" {} "steps: set, or stood still; times there are off by up to their size" }
            }
            div.plots {
                @for (hop, plot) in hops.iter().zip(&self.plots) {
                    figure {
                        h3 { (hop::sentence(hop)) }
                        p.notes { (plot.axis) }
                        div role="img" aria-label=(hop::sentence(hop)) { (PreEscaped(&plot.svg)) }
                        p.notes { (hop::notes(hop, plot)) }
                    }
                }
            }
            @if !listed.is_empty() {
                h4 { "Other hops" }
                p.about { "The plots show hops with several snapshots, of clocks that packets use, with the largest errors of the nearest snapshot." }
                (table_of(listed))
                @if more > 0 { p.none { "… and " (count(i128::from(more))) " more, in the table clock_hop." } }
            }
        }
    }

    fn strips_title(&self) -> &'static str {
        match self.facts.formats {
            Formats::Perfetto => "Where packets lie, and where the snapshots are",
            Formats::Json => "Where events lie",
            Formats::Both => "Where packets and events lie, and where the snapshots are",
        }
    }

    fn strips_section(&self) -> Markup {
        let Some(strips) = &self.strips else {
            return html! { p.none { "No " (self.facts.formats.one()) " is on trace time." } };
        };
        let packets = self.facts.formats.packets();
        html! {
            p.about {
                "Each bar counts the " (packets) " in a part of the trace"
                @if self.facts.formats == Formats::Json { "." } @else {
                    "; the marks below are snapshots of their clock. Far from a snapshot, a time is less certain."
                }
            }
            figure.one {
                @for strip in &strips.shown {
                    h3 { (strip.label) }
                    p.notes { (strip.said) }
                    div role="img" aria-label={ (capital(packets)) " along the trace, on " (strip.label) } { (PreEscaped(&strip.svg)) }
                }
                div role="img" aria-label="Time since the trace began" { (PreEscaped(&strips.axis)) }
            }
            @if strips.left_out > 0 {
                p.none {
                    (counted(strips.left_out, "clock more", "clocks more")) ", with fewer " (packets) " each, "
                    (self.facts.formats.counted(strips.packets_left_out)) " together."
                }
            }
        }
    }
}

/// The text with a capital letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_ascii_uppercase(), chars.as_str())
    })
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section id=(id) { h2 { (title) } (content) } }
}

fn verdict(findings: &Findings) -> Markup {
    let counts = [(findings.errors, "error", "errors"), (findings.warnings, "warning", "warnings")];
    let said: Vec<String> = counts
        .iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, many)| counted(*number, one, many))
        .collect();
    let class = match (findings.errors, findings.warnings) {
        (0, 0) => "healthy",
        (0, _) => "warning",
        _ => "error",
    };
    html! {
        span class={ "verdict " (class) } {
            @if said.is_empty() { "healthy" } @else { (said.join(", ")) }
        }
        @if findings.infos > 0 { small { (counted(findings.infos, "note", "notes")) } }
    }
}

fn listed(findings: &Findings) -> Markup {
    html! {
        @if findings.shown.is_empty() { p.none { "Nothing: the clocks are in order." } }
        @for same in by_kind(&findings.shown) {
            @let (first, others) = same.split_at(same.len().min(UNFOLDED));
            div.findings { @for finding in first { (found(finding)) } }
            @if !others.is_empty() {
                details {
                    summary { (count(others.len() as i128)) " more of this kind" }
                    div.findings { @for finding in others { (found(finding)) } }
                }
            }
        }
        @if findings.more() > 0 {
            p.none { "… and " (count(i128::from(findings.more()))) " more, in the view finding." }
        }
    }
}

/// The findings of one check together, at the place of the worst.
fn by_kind(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut kinds: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        let alike = |kind: &&mut Vec<&Finding>| {
            let of = |other: &&Finding| {
                other.check == finding.check && other.severity == finding.severity
            };
            kind.first().is_some_and(of)
        };
        match kinds.iter_mut().find(alike) {
            Some(kind) => kind.push(finding),
            None => kinds.push(vec![finding]),
        }
    }
    kinds
}

fn found(finding: &Finding) -> Markup {
    let mut place: Vec<String> = Vec::new();
    place.extend(finding.subject.clone());
    place.extend(finding.packet.map(|packet| format!("packet {packet}")));
    place.extend(finding.offset.map(|offset| format!("offset {offset}")));
    if finding.events > 0 {
        place.push(counted(finding.events, "event", "events"));
    }
    place.extend(finding.worst_ns.map(|ns| format!("up to {}", duration(ns))));
    place.push(finding.check.clone());
    let class = match finding.severity {
        Severity::Error => "finding error",
        Severity::Warning => "finding warning",
        Severity::Info => "finding",
    };
    html! {
        div class=(class) {
            b { (finding.severity.name()) }
            p { (finding.message) }
            @if let Some(advice) = &finding.advice { p.about { (advice) } }
            p.notes { (place.join(" · ")) }
        }
    }
}

fn table_of(hops: &[Hop]) -> Markup {
    html! {
        div.wide { table {
            thead { tr {
                @for column in ["from", "to", "snapshots", "drift, ppm", "nearest off by", "line within", "steps", "outliers", "packets"] {
                    th { (column) }
                }
            } }
            tbody { @for hop in hops.iter().take(LISTED) {
                tr {
                    td { (hop.from_label) }
                    td { (hop.to_label) }
                    td.number { (count(i128::from(hop.readings))) }
                    td.number { (hop.drift_ppm.map_or_else(|| "–".to_owned(), digits)) }
                    td.number { (duration(hop.worst_nearest_ns)) }
                    td.number { (duration(hop.worst_ns)) }
                    td.number { (count(i128::from(hop.steps))) }
                    td.number { (count(i128::from(hop.outliers))) }
                    td.number { (count(i128::from(hop.packets))) }
                }
            } }
        } }
    }
}

fn reported(report: &Report) -> Markup {
    html! { details id=(report.name) { summary { (report.title) } (tables(report)) } }
}

fn tables(report: &Report) -> Markup {
    html! { @for table in &report.tables { (table.html()) } }
}
