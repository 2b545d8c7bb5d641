//! The views of a window (rule WS12).

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::WinscopeTable;
use timebase_schema::fields::{
    interned_data as interned, interned_string as entry, view_capture as capture,
    view_capture_view as view,
};
use timebase_trace::{Interned, Interval};

use super::geometry::Rect;
use super::table::{Made, Named, Out, Statement, TraceRect};
use super::{VIEWS_ERROR, VIEWS_NOT_INTERNED};
use crate::arguments::Iids;
use crate::message::{self, Message};
use crate::trackers::tracker::TrackerContext;

const VIEWCAPTURE: usize = WinscopeTable::number("viewcapture");
const VIEW: usize = WinscopeTable::number("viewcapture_view");

/// The depth between a view and those inside it.
const DEPTH: u32 = 4;

/// The texts of numbers, which were looked up before the arguments are decoded.
struct Texts<'a> {
    /// A field with its text.
    known: &'a [(u32, Option<String>)],
    missing: u32,
}

impl Iids for Texts<'_> {
    fn text(&mut self, field: u32, _iid: u64) -> Option<Option<Cow<'_, str>>> {
        let (_, text) = self.known.iter().find(|(known, _)| *known == field)?;
        self.missing += u32::from(text.is_none());
        Some(text.as_deref().map(Cow::Borrowed))
    }
}

/// The texts of the numbers that a message has in these fields.
fn texts(
    message: Message<'_>,
    fields: &[(u32, u32)],
    interval: Interval,
    interned: &Interned,
) -> Vec<(u32, Option<String>)> {
    let of = fields.iter().filter_map(|&(field, kept)| {
        let iid = message.number(field)?;
        let found = interned.get(interval, kept, iid & u64::from(u32::MAX));
        let text = found
            .and_then(|found| Some(message::text(Message(found).bytes(entry::STR)?).into_owned()));
        Some((field, text))
    });
    of.collect()
}

fn text_of(texts: &[(u32, Option<String>)], field: u32) -> Option<&str> {
    texts.iter().find(|(known, _)| *known == field)?.1.as_deref()
}

const OF_CAPTURE: [(u32, u32); 2] = [
    (capture::PACKAGE_NAME_IID, interned::VIEWCAPTURE_PACKAGE_NAME),
    (capture::WINDOW_NAME_IID, interned::VIEWCAPTURE_WINDOW_NAME),
];

const OF_VIEW: [(u32, u32); 4] = [
    (view::VIEW_ID_IID, interned::VIEWCAPTURE_VIEW_ID),
    (view::CLASS_NAME_IID, interned::VIEWCAPTURE_CLASS_NAME),
    (view::CONTENT_DESCRIPTION_IID, interned::VIEWCAPTURE_CONTENT_DESCRIPTION),
    (view::TEXT_IID, interned::VIEWCAPTURE_TEXT),
];

/// Writes the rows of a `ViewCapture`.
pub(super) fn write(
    bytes: &[u8],
    (statement, interval): (&Statement<'_>, Interval),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let message = Message(bytes);
    let known = texts(message, &OF_CAPTURE, interval, &at.world.interned);
    let arg_set = arguments((VIEWCAPTURE, bytes), &known, statement, out, at);
    let [package, window] = OF_CAPTURE.map(|(field, _)| Made::text(text_of(&known, field)));
    let snapshot = out.written((VIEWCAPTURE, bytes), (statement, arg_set), &[package, window], at);
    let views: Vec<&[u8]> = message.each(capture::VIEWS).collect();
    let placed = placed(&views);
    let mut rows: Vec<Option<(bool, i64)>> = vec![None; views.len()];
    for (place, at_place) in placed {
        let rect = out.rect(at_place.rect, at);
        let row = TraceRect {
            is_visible: at_place.is_visible,
            opacity: Some(at_place.alpha),
            ..TraceRect::plain(rect, 0, at_place.level.saturating_mul(DEPTH))
        };
        let row = out.trace_rect(&row, at);
        if let Some(known) = rows.get_mut(place) {
            *known = Some((at_place.is_visible, row));
        }
    }
    for (bytes, row) in views.into_iter().zip(rows) {
        let known = texts(Message(bytes), &OF_VIEW, interval, &at.world.interned);
        let arg_set = arguments((VIEW, bytes), &known, statement, out, at);
        let made = [
            Made::Int(snapshot),
            Made::flag(row.is_some_and(|(is_visible, _)| is_visible)),
            Made::text(text_of(&known, view::VIEW_ID_IID)),
            Made::text(text_of(&known, view::CLASS_NAME_IID)),
            Made::maybe(row.map(|(_, rect)| rect)),
        ];
        let proto = out.proto(VIEW, bytes, (statement, arg_set), at);
        let named = Named { ts: Some(statement.ts), arg_set, proto: Some(proto) };
        out.row((VIEW, bytes), named, &made, at);
    }
}

/// The set of arguments of a payload with interned texts.
fn arguments(
    (kind, bytes): (usize, &[u8]),
    known: &[(u32, Option<String>)],
    statement: &Statement<'_>,
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) -> Option<i64> {
    let mut texts = Texts { known, missing: 0 };
    if !out.arguments_with(kind, bytes, &mut texts, at) {
        at.world.faults.add(VIEWS_ERROR, statement.packet);
    }
    at.world.faults.add_many(VIEWS_NOT_INTERNED, statement.packet, texts.missing);
    out.arg_set(at)
}

/// A view on the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub rect: Rect,
    pub is_visible: bool,
    pub level: u32,
    pub alpha: f64,
}

/// The place from which views inside a view go on.
#[derive(Debug, Clone, Copy)]
struct Inside {
    x: f64,
    y: f64,
    scale_x: f64,
    scale_y: f64,
    is_visible: bool,
    level: u32,
}

/// The views below the root, with their places among all, depth first. A view has one place, even in a circle.
pub(super) fn placed(views: &[&[u8]]) -> Vec<(usize, Placed)> {
    let number = |bytes: &[u8], field| Message(bytes).small(field).unwrap_or(0).cast_signed();
    let mut children: FxHashMap<i32, Vec<usize>> = FxHashMap::default();
    for (place, bytes) in views.iter().enumerate() {
        children.entry(number(bytes, view::PARENT_ID)).or_default().push(place);
    }
    let root = children.get(&-1).and_then(|roots| roots.first()).copied();
    let outside = Inside { x: 0.0, y: 0.0, scale_x: 1.0, scale_y: 1.0, is_visible: true, level: 0 };
    let mut steps: Vec<(usize, Inside)> = root.map(|root| (root, outside)).into_iter().collect();
    let (mut all, mut seen) = (Vec::new(), FxHashSet::default());
    while let Some((place, inside)) = steps.pop() {
        let Some(bytes) = views.get(place).filter(|_| seen.insert(place)) else {
            continue;
        };
        let (at_place, within) = place_one(Message(bytes), inside);
        all.push((place, at_place));
        let own = children.get(&number(bytes, view::ID)).map(Vec::as_slice).unwrap_or_default();
        steps.extend(own.iter().rev().map(|child| (*child, within)));
    }
    all
}

fn place_one(of: Message<'_>, inside: Inside) -> (Placed, Inside) {
    let whole = |field| f64::from(of.small(field).unwrap_or(0).cast_signed());
    let part = |field| of.float(field).unwrap_or(0.0);
    let (width, height) = (whole(view::WIDTH), whole(view::HEIGHT));
    let scale_x = inside.scale_x * part(view::SCALE_X);
    let scale_y = inside.scale_y * part(view::SCALE_Y);
    let x = inside.x
        + (whole(view::LEFT) + part(view::TRANSLATION_X)) * inside.scale_x
        + width * (inside.scale_x - scale_x) / 2.0;
    let y = inside.y
        + (whole(view::TOP) + part(view::TRANSLATION_Y)) * inside.scale_y
        + height * (inside.scale_y - scale_y) / 2.0;
    let is_shown = of.small(view::VISIBILITY).unwrap_or(0) == 0;
    let is_visible = is_shown && inside.is_visible && width > 0.0 && height > 0.0;
    let at_place = Placed {
        rect: Rect { x, y, w: width * scale_x, h: height * scale_y },
        is_visible,
        level: inside.level,
        alpha: part(view::ALPHA),
    };
    let within = Inside {
        x: x - whole(view::SCROLL_X),
        y: y - whole(view::SCROLL_Y),
        scale_x,
        scale_y,
        is_visible,
        level: inside.level.saturating_add(1),
    };
    (at_place, within)
}
