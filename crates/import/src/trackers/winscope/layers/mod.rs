//! Snapshots of SurfaceFlinger's layers (rules WS14, WS17 to WS19).
//!
//! | question | where it is decided |
//! |---|---|
//! | the facts that a layer or a display states | `layer.rs` |
//! | the order of drawing (rule WS17) | `order.rs` |
//! | visibility and its reasons (rule WS18) | `visible.rs` |
//! | rectangles (rule WS19) | `rects.rs` |

mod layer;
mod order;
mod rects;
mod visible;

use timebase_schema::WinscopeTable;
use timebase_schema::fields::{
    display_proto as display, layers_proto as layers, layers_snapshot_proto as snapshot,
};

use self::layer::{Display, Layer};
use self::rects::{Rects, Rows};
use self::visible::{Snapshot, Visibility};
use super::LAYERS_ERROR;
use super::geometry::Rect;
use super::table::{Made, Named, Out, Statement, TraceRect};
use crate::arguments::ArgValue;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

const SNAPSHOT: usize = WinscopeTable::number("surfaceflinger_layers_snapshot");
const DISPLAY: usize = WinscopeTable::number("surfaceflinger_display");
const LAYER: usize = WinscopeTable::number("surfaceflinger_layer");

/// The layer stack of a display that is off.
const NO_STACK: u32 = u32::MAX;

/// Writes the rows of a snapshot.
pub(super) fn write(
    bytes: &[u8],
    (statement, sequence): (&Statement<'_>, u32),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let message = Message(bytes);
    let has_no_time = message.natural(snapshot::ELAPSED_REALTIME_NANOS).unwrap_or(0) == 0;
    let made = [Made::Int(sequence.into()), Made::flag(has_no_time)];
    let (number, is_whole) = out.payload(SNAPSHOT, bytes, statement, &made, at);
    if !is_whole {
        at.world.faults.add(LAYERS_ERROR, statement.packet);
    }
    let displays: Vec<&[u8]> = message.each(snapshot::DISPLAYS).collect();
    for (index, bytes) in (0..).zip(&displays) {
        write_display(bytes, (number, index), out, at);
    }
    let displays: Vec<Display> =
        displays.into_iter().map(|bytes| Display::new(Message(bytes))).collect();
    let list = message.bytes(snapshot::LAYERS).map(Message).unwrap_or_default();
    let layers: Vec<Layer<'_>> = list.each(layers::LAYERS).map(Layer::new).collect();
    let places = order::by_id(&layers);
    let drawn = order::bottom_to_top(&layers, &places);
    let excludes = message.number(snapshot::EXCLUDES_COMPOSITION_STATE);
    let whole = Snapshot {
        layers: &layers,
        places: &places,
        displays: &displays,
        excludes_composition: excludes.is_none_or(|excludes| excludes != 0),
    };
    let visibility = whole.visibility(&drawn);
    let mut rects = Rects::new(&displays);
    let mut rows = vec![Rows::default(); layers.len()];
    for place in drawn {
        if let (Some(layer), Some(of), Some(row)) =
            (layers.get(place), visibility.get(&place), rows.get_mut(place))
        {
            *row = rects.write(layer, of, out, at);
        }
    }
    for layer in &layers {
        let place = layer.id.and_then(|id| places.get(&id));
        let of = place.and_then(|place| visibility.get(place));
        let rows = place.and_then(|place| rows.get(*place)).copied().unwrap_or_default();
        let relative = layer.relative_parent();
        let is_missing = relative.is_some_and(|parent| !places.contains_key(&parent));
        write_layer(layer, (number, statement), (of, rows, is_missing), out, at);
    }
}

fn write_display(
    bytes: &[u8],
    (snapshot, index): (i64, u32),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let of = Display::new(Message(bytes));
    let (w, h) = of.size;
    let shown = of.shows.filter(|shows| !shows.is_empty());
    let rect = out.rect(shown.unwrap_or_else(|| Rect::sides(0.0, 0.0, w, h)), at);
    let rect = out.trace_rect(&TraceRect::plain(rect, of.stack, index), at);
    let is_on = Message(bytes).small(display::LAYER_STACK) != Some(NO_STACK);
    let made = [Made::Int(snapshot), Made::flag(is_on), Made::Int(rect)];
    out.row((DISPLAY, bytes), Named::default(), &made, at);
}

fn write_layer(
    layer: &Layer<'_>,
    (snapshot, statement): (i64, &Statement<'_>),
    (visibility, rows, is_missing): (Option<&Visibility>, Rows, bool),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let bytes = layer.message.0;
    if !out.arguments(LAYER, bytes, at) {
        at.world.faults.add(LAYERS_ERROR, statement.packet);
    }
    if let Some(of) = visibility {
        let names = &mut at.world.definitions.names;
        for (index, reason) in (0..).zip(&of.reasons) {
            let reason = ArgValue::Text(reason);
            out.args.args.push_listed("visibility_reason", index, reason, names);
        }
        for (key, layers) in [
            ("occluded_by", &of.occluded_by),
            ("partially_occluded_by", &of.partially_occluded_by),
            ("covered_by", &of.covered_by),
        ] {
            for (index, id) in (0..).zip(layers) {
                let id = ArgValue::Int((*id).into());
                out.args.args.push_listed(key, index, id, names);
            }
        }
    }
    let arg_set = out.arg_set(at);
    let radii = layer.radii();
    let made = [
        Made::Int(snapshot),
        Made::flag(visibility.is_some_and(|of| of.is_visible)),
        Made::Real(radii.tl),
        Made::Real(radii.tr),
        Made::Real(radii.bl),
        Made::Real(radii.br),
        Made::flag(layer.is_hidden_by_policy()),
        Made::flag(is_missing),
        Made::maybe(rows.layer),
        Made::maybe(rows.input),
    ];
    out.written((LAYER, bytes), (statement, arg_set), &made, at);
}
