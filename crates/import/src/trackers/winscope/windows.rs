//! The windows of WindowManager (rule WS13).
//!
//! # Design
//!
//! A payload has all of its containers or none, so they are collected before one of them becomes a row. Their
//! depths and displays count on from payload to payload, whether they become rows or not.

use std::borrow::Cow;

use timebase_schema::fields::{
    activity_record_proto as activity, display_area_proto as area,
    display_content_proto as content, display_info_proto as info, identifier_proto as identifier,
    root_window_container_proto as root, task_fragment_proto as fragment, task_proto as task,
    window_container_child_proto as child, window_container_proto as container,
    window_frames_proto as frames, window_layout_params_proto as params,
    window_manager_service_dump_proto as service, window_manager_trace_entry as entry,
    window_state_proto as state, window_token_proto as token,
};
use timebase_schema::{CHILDREN_OF_ROOT, WinscopeTable};

use super::WINDOWS_ERROR;
use super::geometry::{Matrix, Rect};
use super::table::{Made, Named, Out, ROOT, Statement, TraceRect};
use crate::arguments::Choice;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

const WINDOWS: usize = WinscopeTable::number("windowmanager");
const CONTAINER: usize = WinscopeTable::number("windowmanager_windowcontainer");

/// The beginnings of titles that say something of the window whose name follows.
const BEGINNINGS: [&str; 2] = ["Starting ", "Waiting For Debugger: "];

/// The place of the next window's rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    display: u32,
    depth: u32,
}

impl Default for Place {
    fn default() -> Self {
        // Before the first display.
        Place { display: u32::MAX, depth: 0 }
    }
}

/// A rectangle of a container.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    rect: Rect,
    place: Place,
    opacity: Option<f64>,
}

/// A container.
#[derive(Debug, Clone)]
struct Container<'a> {
    kind: &'static str,
    title: Cow<'a, str>,
    token: i32,
    is_visible: bool,
    name: Option<String>,
    bounds: Option<Bounds>,
    /// The container that has its children.
    parent_of: Message<'a>,
}

/// A container with its place among others.
struct Found<'a> {
    of: Container<'a>,
    /// The parent's token and the number among its children; none for the root.
    parent: Option<(i32, i64)>,
    bytes: &'a [u8],
}

/// Writes the rows of a `WindowManagerTraceEntry`.
pub(super) fn write(
    bytes: &[u8],
    (statement, place): (&Statement<'_>, &mut Place),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let message = Message(bytes);
    let has_no_time = message.natural(entry::ELAPSED_REALTIME_NANOS).unwrap_or(0) == 0;
    let made = [Made::flag(has_no_time)];
    let (snapshot, is_whole) = out.payload(WINDOWS, bytes, statement, &made, at);
    if !is_whole {
        at.world.faults.add(WINDOWS_ERROR, statement.packet);
    }
    match containers(message, place) {
        Some(all) => {
            for found in &all {
                write_container(found, (snapshot, statement), out, at);
            }
        }
        None => at.world.faults.add(WINDOWS_ERROR, statement.packet),
    }
}

/// All containers, depth first; `None` if one of them lacks what it needs.
fn containers<'a>(message: Message<'a>, place: &mut Place) -> Option<Vec<Found<'a>>> {
    let inner = |of: Message<'a>, field| of.bytes(field).map(Message);
    let dump = inner(message, entry::WINDOW_MANAGER_SERVICE).unwrap_or_default();
    let of_root = inner(dump, service::ROOT_WINDOW_CONTAINER).unwrap_or_default();
    let own = inner(of_root, root::WINDOW_CONTAINER)?;
    let of = titled("RootWindowContainer", own)?;
    let mut steps = vec![];
    children(&of, &mut steps);
    let mut all = vec![Found { of, parent: None, bytes: of_root.0 }];
    let mut is_whole = true;
    while let Some((bytes, parent)) = steps.pop() {
        match container_of(Message(bytes), place) {
            Some(of) => {
                children(&of, &mut steps);
                if is_whole {
                    all.push(Found { of, parent: Some(parent), bytes });
                }
            }
            None => is_whole = false,
        }
    }
    is_whole.then_some(all)
}

/// Puts the children of a container on top of those that are left, the first on top.
fn children<'a>(of: &Container<'a>, steps: &mut Vec<(&'a [u8], (i32, i64))>) {
    let before = steps.len();
    let own = of.parent_of.each(container::CHILDREN);
    steps.extend((0..).zip(own).map(|(index, child)| (child, (of.token, index))));
    if let Some(added) = steps.get_mut(before..) {
        added.reverse();
    }
}

/// A container with the title and the token of its own.
fn titled<'a>(kind: &'static str, own: Message<'a>) -> Option<Container<'a>> {
    let stated = own.bytes(container::IDENTIFIER).map(Message)?;
    Some(Container {
        kind,
        title: stated.text(identifier::TITLE)?,
        token: stated.small(identifier::HASH_CODE)?.cast_signed(),
        is_visible: own.flag(container::VISIBLE),
        name: None,
        bounds: None,
        parent_of: own,
    })
}

/// A child, by the first kind that it has.
fn container_of<'a>(of: Message<'a>, place: &mut Place) -> Option<Container<'a>> {
    let kinds = child::WINDOW_CONTAINER..=child::TASK_FRAGMENT;
    let mut kinds = kinds.filter_map(|kind| Some((kind, Message(of.bytes(kind)?))));
    let (kind, of) = kinds.next()?;
    match kind {
        child::WINDOW_CONTAINER => titled("WindowContainer", of),
        child::DISPLAY_CONTENT => display(of, place),
        child::DISPLAY_AREA => display_area(of),
        child::TASK => task_of(of),
        child::ACTIVITY => activity_of(of),
        child::WINDOW_TOKEN => window_token(of),
        child::WINDOW => window(of, place),
        _ => titled("TaskFragment", inner(of, fragment::WINDOW_CONTAINER)),
    }
}

/// A message inside another; empty if there is none.
fn inner(of: Message<'_>, field: u32) -> Message<'_> {
    of.bytes(field).map(Message).unwrap_or_default()
}

/// The token that a container states itself.
fn own_token(own: Message<'_>) -> Option<i32> {
    inner(own, container::IDENTIFIER).small(identifier::HASH_CODE).map(u32::cast_signed)
}

fn display<'a>(of: Message<'a>, place: &mut Place) -> Option<Container<'a>> {
    let own = inner(inner(of, content::ROOT_DISPLAY_AREA), area::WINDOW_CONTAINER);
    let stated = inner(of, content::DISPLAY_INFO);
    let token = own_token(own)?;
    let title = stated.text(info::NAME)?;
    let id = of.small(content::ID).unwrap_or(0);
    let side = |field| f64::from(stated.small(field).unwrap_or(0).cast_signed());
    let rect = Rect { x: 0.0, y: 0.0, w: side(info::LOGICAL_WIDTH), h: side(info::LOGICAL_HEIGHT) };
    *place = Place { display: id, depth: 1 };
    Some(Container {
        kind: "DisplayContent",
        title,
        token,
        is_visible: own.flag(container::VISIBLE),
        name: None,
        bounds: Some(Bounds { rect, place: Place { display: id, depth: 0 }, opacity: None }),
        parent_of: own,
    })
}

fn display_area(of: Message<'_>) -> Option<Container<'_>> {
    let own = inner(of, area::WINDOW_CONTAINER);
    let token = own_token(own)?;
    let title = of.text(area::NAME)?;
    Some(plain("DisplayArea", (title, token), own.flag(container::VISIBLE), own))
}

/// A container without a name or a rectangle.
fn plain<'a>(
    kind: &'static str,
    (title, token): (Cow<'a, str>, i32),
    is_visible: bool,
    parent_of: Message<'a>,
) -> Container<'a> {
    Container { kind, title, token, is_visible, name: None, bounds: None, parent_of }
}

fn task_of(of: Message<'_>) -> Option<Container<'_>> {
    let own = inner(of, task::WINDOW_CONTAINER);
    let of_fragment = inner(of, task::TASK_FRAGMENT).bytes(fragment::WINDOW_CONTAINER).map(Message);
    let mut found = titled("Task", of_fragment.unwrap_or(own))?;
    let has_children = |of: &Message<'_>| of.each(container::CHILDREN).next().is_some();
    found.parent_of = of_fragment.filter(has_children).unwrap_or(own);
    found.name = of.small(task::ID).map(|id| {
        let id = id.cast_signed();
        match of.text(task::TASK_NAME).filter(|name| !name.is_empty()) {
            Some(name) => format!("{id}({name})"),
            None => id.to_string(),
        }
    });
    Some(found)
}

fn activity_of(of: Message<'_>) -> Option<Container<'_>> {
    let stated = inner(of, activity::WINDOW_TOKEN);
    let token = stated.small(token::HASH_CODE)?.cast_signed();
    let title = of.text(activity::NAME)?;
    let own = inner(stated, token::WINDOW_CONTAINER);
    Some(plain("Activity", (title, token), of.flag(activity::VISIBLE), own))
}

fn window_token(of: Message<'_>) -> Option<Container<'_>> {
    let token = of.small(token::HASH_CODE)?;
    let own = inner(of, token::WINDOW_CONTAINER);
    let title = Cow::Owned(format!("{token:#x}"));
    let is_visible = own.flag(container::VISIBLE);
    Some(plain("WindowToken", (title, token.cast_signed()), is_visible, own))
}

fn window<'a>(of: Message<'a>, place: &mut Place) -> Option<Container<'a>> {
    let mut found = titled("WindowState", inner(of, state::WINDOW_CONTAINER))?;
    found.is_visible = of.flag(state::IS_VISIBLE);
    let rest = BEGINNINGS.iter().find_map(|beginning| found.title.strip_prefix(beginning));
    found.name = rest.map(str::to_owned);
    let rect = Rect::of_numbers(inner(inner(of, state::WINDOW_FRAMES), frames::FRAME));
    let opacity = inner(of, state::ATTRIBUTES).float(params::ALPHA).unwrap_or(0.0);
    found.bounds = Some(Bounds { rect, place: *place, opacity: Some(opacity) });
    place.depth = place.depth.saturating_add(1);
    Some(found)
}

fn write_container(
    found: &Found<'_>,
    (snapshot, statement): (i64, &Statement<'_>),
    out: &mut Out,
    at: &mut TrackerContext<'_, '_>,
) {
    let of = &found.of;
    let rect = of.bounds.map(|bounds| {
        let row = TraceRect {
            is_visible: of.bounds.is_some_and(|bounds| bounds.opacity.is_some()) && of.is_visible,
            opacity: bounds.opacity,
            ..TraceRect::plain(
                out.new_rect(bounds.rect, at),
                bounds.place.display,
                bounds.place.depth,
            )
        };
        let row = TraceRect { transform: out.transform(Matrix::IDENTITY, at), ..row };
        out.trace_rect(&row, at)
    });
    let is_whole = match found.parent {
        Some(_) => out.arguments(CONTAINER, found.bytes, at),
        None => {
            let choice = Choice { without: CHILDREN_OF_ROOT, is_cut: true, only: &[] };
            out.args.clear();
            out.add_arguments("RootWindowContainerProto", found.bytes, choice, at)
        }
    };
    if !is_whole {
        at.world.faults.add(WINDOWS_ERROR, statement.packet);
    }
    let arg_set = out.arg_set(at);
    let kind = if found.parent.is_some() { CONTAINER } else { ROOT };
    let proto = out.proto(kind, found.bytes, (statement, arg_set), at);
    let made = [
        Made::Int(snapshot),
        Made::Text(&of.title),
        Made::Int(of.token.into()),
        Made::maybe(found.parent.map(|(parent, _)| parent.into())),
        Made::maybe(found.parent.map(|(_, index)| index)),
        Made::flag(of.is_visible),
        Made::maybe(rect),
        Made::Text(of.kind),
        Made::text(of.name.as_deref()),
    ];
    out.row((CONTAINER, found.bytes), Named { ts: None, arg_set, proto: Some(proto) }, &made, at);
}
