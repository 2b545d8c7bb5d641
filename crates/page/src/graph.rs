//! The clock graph: how clocks are related, and by how many snapshots.
//!
//! # Design
//!
//! A path has the fewest hops, so the hops of all paths to one clock are trees. If trace time is not
//! BOOTTIME, there are paths to both; the tree of trace time is drawn (FP6). The page draws a tree like a directory: a clock is a box, the clocks that lead to it are below it
//! and further to the right, and the text about a hop is on its line. So boxes and lines cannot
//! overlap, the graph is readable on a phone, and its height is the number of clocks. The
//! alternative was a crate that lays out graphs of any kind (layout-rs): it makes pictures three
//! times as wide, for graphs that do not occur here.
//!
//! If there are several machines or files, neighbouring clocks of one owner have a common
//! background with the owner's name at its side. Boxes around all clocks of a machine would cross
//! the lines of the tree, which are the subject of the picture.
//!
//! Clocks of sequences come by the thousand and look alike. If more than [`ALONE`] clocks with one
//! number lead to the same clock, they are one box.

use std::collections::{BTreeMap, HashSet};

use plotters::element::{DashedPathElement, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::clocks::{Clock, Clocks, Hop, HopSource, Key};
use crate::draw::{Area, Failure, SCALE, bold, svg, text, width};
use crate::error::Error;
use crate::facts::BOOTTIME;
use crate::hop::gigahertz;
use crate::palette::{BAR, DOT, GRID, INK, MUTED, OUTLIER, PANEL, STEP};
use crate::parts::Parts;
use crate::text::{count, counted, digits, duration};

/// Up to this many clocks of sequences have their own boxes.
const ALONE: usize = 5;
/// The number of boxes.
const MOST: usize = 60;

/// The height of a row and of its box, and the distance that a hop leads to the right, in pixels.
const ROW: i32 = 46;
const BOX: i32 = 36;
const REACH: i32 = 180;
const TRUNK: i32 = 16;
/// The free space around the name of an owner, in pixels.
const MARGIN: i32 = 10;

/// A picture of the graph, and the number of clocks that are not in it.
#[derive(Debug)]
pub struct Graph {
    pub svg: String,
    /// Its width in full size, in pixels.
    pub width: i32,
    pub left_out: usize,
}

/// A box.
struct Node {
    depth: i32,
    /// The row of the clock to which it leads.
    parent: Option<usize>,
    name: String,
    below: String,
    /// The texts on the hop, above and below its line.
    hop: Option<(String, String)>,
    colour: RGBColor,
    /// The machine, and the file or 0.
    owner: (i64, i64),
    source: Option<HopSource>,
}

/// Draws the graph, with the clock of trace time at the top of its tree; `None` without a clock.
pub fn draw(clocks: &Clocks, parts: &Parts, trace_clock: Key) -> Result<Option<Graph>, Error> {
    let mut nodes = nodes(clocks, trace_clock);
    if nodes.is_empty() {
        return Ok(None);
    }
    let left_out = nodes.len().saturating_sub(MOST);
    nodes.truncate(MOST);
    let rows = i32::try_from(nodes.len()).unwrap_or(0);
    let right = nodes.iter().map(Node::right).max().unwrap_or(0);
    let grounds = grounds(&nodes, parts);
    let titles = grounds.iter().map(|ground| width(&ground.title, true));
    let room = titles.max().map_or(0, |title| title + 2 * MARGIN * SCALE);
    let size = ((right + room) / SCALE, rows * ROW + 4);
    let svg = svg("the clock graph", size, |area| {
        paint_grounds(area, &grounds, (right, size.0 * SCALE))?;
        paint(area, &nodes)
    })?;
    Ok(Some(Graph { svg, width: size.0, left_out }))
}

/// Neighbouring rows of one owner.
struct Ground {
    first: usize,
    rows: usize,
    title: String,
}

/// The backgrounds of all rows; none if all clocks have one owner.
fn grounds(nodes: &[Node], parts: &Parts) -> Vec<Ground> {
    let mut grounds: Vec<Ground> = Vec::new();
    let mut first = 0;
    for same in nodes.chunk_by(|one, next| one.owner == next.owner) {
        if let [one, ..] = same {
            grounds.push(Ground { first, rows: same.len(), title: parts.owner(one.owner) });
        }
        first += same.len();
    }
    if grounds.len() < 2 {
        grounds.clear();
    }
    grounds
}

/// The extent of a row, with the free space around its box.
fn top(row: usize) -> i32 {
    (2 + i32::try_from(row).unwrap_or(0) * ROW) * SCALE
}

fn paint_grounds(
    area: &Area<'_>,
    grounds: &[Ground],
    (left, right): (i32, i32),
) -> Result<(), Failure> {
    for (index, ground) in grounds.iter().enumerate() {
        let (above, below) = (top(ground.first), top(ground.first + ground.rows));
        let line = [(0, above - 2 * SCALE), (right, above - 2 * SCALE)];
        if index % 2 == 1 {
            let shape = [line[0], (right, below - 4 * SCALE)];
            area.draw(&Rectangle::new(shape, GRID.mix(0.6).filled()))?;
        }
        let place = (left + MARGIN * SCALE, above + 5 * SCALE);
        area.draw(&Text::new(ground.title.clone(), place, bold(MUTED)))?;
    }
    Ok(())
}

impl Node {
    fn left(&self) -> i32 {
        2 * SCALE + self.depth * REACH * SCALE
    }

    fn width(&self) -> i32 {
        width(&self.name, true).max(width(&self.below, false)) + 16 * SCALE
    }

    fn right(&self) -> i32 {
        self.left() + self.width() + 2 * SCALE
    }
}

/// The boxes from top to bottom.
fn nodes(clocks: &Clocks, trace_clock: Key) -> Vec<Node> {
    let mut below: BTreeMap<Key, Vec<&Hop>> = BTreeMap::new();
    let all = || clocks.hops.iter().chain(&clocks.relations);
    for hop in all() {
        below.entry(hop.to).or_default().push(hop);
    }
    for hops in below.values_mut() {
        hops.sort_by_key(|hop| hop.from);
    }
    let sources: HashSet<Key> = all().map(|hop| hop.from).collect();
    let mut tree = Tree { clocks, below, seen: HashSet::new(), nodes: Vec::new() };
    let mut roots: Vec<Key> = tree.below.keys().copied().collect();
    roots.retain(|root| !sources.contains(root));
    // Hops to trace time and to BOOTTIME lead from each of them to the other, so both are sources.
    let boottime = Key { id: BOOTTIME, ..trace_clock };
    let of_both: Vec<Key> = tree.below.keys().copied().collect();
    let of_both = [trace_clock, boottime].into_iter().chain(of_both);
    roots.extend(of_both.filter(|root| tree.below.contains_key(root)));
    for root in roots {
        tree.add(root, 0, None, None);
    }
    tree.add_others();
    tree.nodes
}

struct Tree<'a> {
    clocks: &'a Clocks,
    below: BTreeMap<Key, Vec<&'a Hop>>,
    seen: HashSet<Key>,
    nodes: Vec<Node>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, key: Key, depth: i32, parent: Option<usize>, hop: Option<&'a Hop>) {
        if !self.seen.insert(key) {
            return;
        }
        let clock = self.clocks.clocks.iter().find(|clock| clock.key == key);
        let row = self.nodes.len();
        self.nodes.push(Node {
            depth,
            parent,
            name: self.clocks.label(key),
            below: clock.map(used).unwrap_or_default(),
            hop: hop.map(|hop| said(&[hop])),
            owner: key.owner(),
            source: hop.map(|hop| hop.source),
            colour: match hop {
                None => DOT,
                Some(hop) if hop.steps > 0 || hop.has_other_unit() && !hop.is_coarse() => STEP,
                Some(_) => INK,
            },
        });
        let hops = self.below.get(&key).cloned().unwrap_or_default();
        for same in hops.chunk_by(|one, next| alike(one.from, next.from)) {
            match same {
                [one, ..] if same.len() > ALONE => {
                    self.together(one.from, same, depth + 1, row);
                }
                _ => {
                    for hop in same {
                        self.add(hop.from, depth + 1, Some(row), Some(hop));
                    }
                }
            }
        }
    }

    /// A box for clocks that look alike.
    fn together(&mut self, one: Key, hops: &[&Hop], depth: i32, parent: usize) {
        self.seen.extend(hops.iter().map(|hop| hop.from));
        let packets = hops.iter().fold(0, |sum: u64, hop| sum.saturating_add(hop.packets));
        self.nodes.push(Node {
            depth,
            parent: Some(parent),
            name: format!("{} of {}", one.id, counted(hops.len() as u64, "sequence", "sequences")),
            below: counted(packets, "packet", "packets"),
            hop: Some(said(hops)),
            colour: INK,
            owner: one.owner(),
            source: hops.first().map(|hop| hop.source),
        });
    }

    /// Clocks without a hop.
    fn add_others(&mut self) {
        let mut others: Vec<&Clock> =
            self.clocks.clocks.iter().filter(|clock| !self.seen.contains(&clock.key)).collect();
        others.sort_by_key(|clock| (clock.has_path, clock.key));
        for same in
            others.chunk_by(|one, next| one.has_path == next.has_path && alike(one.key, next.key))
        {
            let shown = if same.len() > ALONE { 1 } else { same.len() };
            for clock in same.iter().take(shown) {
                let name = match same.len() - shown {
                    0 => clock.label.clone(),
                    more => format!("{} and {more} like it", clock.label),
                };
                let used = used(clock);
                self.nodes.push(Node {
                    depth: 0,
                    parent: None,
                    name,
                    below: match clock.fault() {
                        None => used,
                        Some(fault) => format!("{used}, {fault}"),
                    },
                    hop: None,
                    owner: clock.key.owner(),
                    source: None,
                    colour: if clock.has_path { DOT } else { OUTLIER },
                });
            }
        }
    }
}

/// Whether two clocks are clocks of sequences with one number.
fn alike(one: Key, other: Key) -> bool {
    one.owner() == other.owner() && one.id == other.id && one.sequence != 0 && other.sequence != 0
}

fn used(clock: &Clock) -> String {
    clock.counted(clock.packets)
}

/// The texts on a hop: the number of snapshots and the drift, or the other basis of the relation.
fn said(hops: &[&Hop]) -> (String, String) {
    let related = |by: &str, how: &str| (by.to_owned(), how.to_owned());
    match hops.first().map(|hop| hop.source) {
        Some(HopSource::Manifest) => return related("by the manifest", "an offset"),
        Some(HopSource::Producer) => return related("by the producer", "an offset"),
        Some(HopSource::Causality) => {
            let error = hops.iter().map(|hop| hop.worst_ns).fold(0.0, f64::max);
            return related("by messages", &format!("to {}", duration(error)));
        }
        Some(HopSource::Assumed) => return related("assumed the same", "nothing tells"),
        _ => {}
    }
    let readings = || hops.iter().map(|hop| hop.readings);
    let (least, most) = (readings().min().unwrap_or(0), readings().max().unwrap_or(0));
    let is_asked = hops.iter().any(|hop| hop.source == HopSource::RemoteSync);
    let snapshots = match least == most {
        true if is_asked => counted(most, "synchronization", "synchronizations"),
        true => counted(most, "snapshot", "snapshots"),
        false => {
            format!("{} to {}", count(i128::from(least)), counted(most, "snapshot", "snapshots"))
        }
    };
    let drifts = || hops.iter().filter_map(|hop| hop.drift_ppm);
    let drift = drifts().reduce(f64::min).zip(drifts().reduce(f64::max));
    let between = |(low, high): (f64, f64)| match (digits(low), digits(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let below = match hops {
        [hop] if hop.is_coarse() => "stands still between ticks".to_owned(),
        [hop] if hop.has_other_unit() => format!("{} GHz", gigahertz(hop.rate())),
        [hop] if hop.source == HopSource::RemoteSync && drift.is_none() => {
            "it asked for the time".to_owned()
        }
        _ => drift.map_or_else(
            || "drift not known".to_owned(),
            |drift| format!("{} ppm", between(drift)),
        ),
    };
    (snapshots, below)
}

fn paint(area: &Area<'_>, nodes: &[Node]) -> Result<(), Failure> {
    for (row, node) in nodes.iter().enumerate() {
        let middle = top(row) + BOX * SCALE / 2;
        if let Some((parent_row, parent)) = node.parent.and_then(|row| Some((row, nodes.get(row)?)))
        {
            let trunk = parent.left() + TRUNK * SCALE;
            let corner =
                [(trunk, top(parent_row) + BOX * SCALE), (trunk, middle), (node.left(), middle)];
            match node.source {
                Some(HopSource::Assumed) => {
                    let style = ShapeStyle::from(OUTLIER).stroke_width(4);
                    area.draw(&DashedPathElement::new(corner, 5 * SCALE, 4 * SCALE, style))?;
                }
                source => {
                    let (colour, width) = match source {
                        Some(HopSource::RemoteSync) => (DOT, 5),
                        Some(HopSource::Causality) => (INK, 5),
                        Some(HopSource::Manifest | HopSource::Producer) => (BAR, 5),
                        _ => (MUTED, 2),
                    };
                    let style = ShapeStyle::from(colour).stroke_width(width);
                    area.draw(&PathElement::new(corner, style))?;
                }
            }
        }
        if let (Some((above, below)), Some(parent)) =
            (&node.hop, node.parent.and_then(|row| nodes.get(row)))
        {
            let x = parent.left() + (TRUNK + 6) * SCALE;
            let over = text(INK).pos(Pos::new(HPos::Left, VPos::Bottom));
            area.draw(&Text::new(above.clone(), (x, middle - 3 * SCALE), over))?;
            let colour = if node.colour == STEP { STEP } else { MUTED };
            let under = text(colour).pos(Pos::new(HPos::Left, VPos::Top));
            area.draw(&Text::new(below.clone(), (x, middle + 3 * SCALE), under))?;
        }
        let frame = [(node.left(), top(row)), (node.left() + node.width(), top(row) + BOX * SCALE)];
        area.draw(&Rectangle::new(frame, PANEL.filled()))?;
        let style = ShapeStyle::from(node.colour).stroke_width(2);
        area.draw(&Rectangle::new(frame, style))?;
        let x = node.left() + 8 * SCALE;
        area.draw(&Text::new(node.name.clone(), (x, top(row) + 5 * SCALE), bold(node.colour)))?;
        area.draw(&Text::new(node.below.clone(), (x, top(row) + 20 * SCALE), text(MUTED)))?;
    }
    Ok(())
}
