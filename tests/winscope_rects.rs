//! The rectangles of layers, input windows, views and windows: random trees against the rules as they stand.

use std::collections::BTreeMap;

use crate::support::Imported;
use crate::support::random::Random;
use timebase_lab::encode::{self, Message};

fn new() -> Message {
    Message::new()
}

/// A packet of sequence 1 at a time of BOOTTIME.
fn packet(ts: u64, field: u32, payload: Message) -> Message {
    new().number(10, 1).number(8, ts).number(58, 6).message(field, payload)
}

/// A number as it is compared: without what rounding adds.
fn told(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    format!("{:.4}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// The numbers of a row, as they are compared.
fn told_row(row: &[String]) -> Vec<String> {
    let number = |cell: &str| {
        let real = cell.strip_prefix("Real(").and_then(|cell| cell.strip_suffix(')'));
        real.unwrap_or(cell).parse().ok()
    };
    row.iter().map(|cell| number(cell).map_or_else(|| cell.clone(), told)).collect()
}

/// A rectangle by its place and its size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rect {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

impl Rect {
    const EMPTY: Rect = Rect { x: 0.0, y: 0.0, w: 0.0, h: 0.0 };

    fn of([left, top, right, bottom]: [i64; 4]) -> Rect {
        let [x, y, w, h] = [left, top, right - left, bottom - top].map(|side| side as f64);
        Rect { x, y, w, h }
    }

    fn is_empty(&self) -> bool {
        self.w <= 0.0 || self.h <= 0.0
    }

    fn cut_to(self, other: Rect) -> Rect {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = (self.x + self.w).min(other.x + other.w);
        let bottom = (self.y + self.h).min(other.y + other.h);
        Rect { x, y, w: right - x, h: bottom - y }
    }

    fn told(&self) -> Vec<String> {
        [self.x, self.y, self.w, self.h].map(told).into()
    }
}

/// `x' = a x + b y + e`, `y' = c x + d y + f`.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
}

const IDENTITY: Matrix = Matrix { a: 1.0, b: 0.0, c: 0.0, d: 1.0, e: 0.0, f: 0.0 };

impl Matrix {
    /// Turned, flipped, or as it is, by the type.
    fn of_type(kind: u64) -> Matrix {
        let [a, b, c, d] = match kind {
            0x700 => [0.0, -1.0, 1.0, 0.0],
            0x300 => [-1.0, 0.0, 0.0, -1.0],
            0x400 => [0.0, 1.0, -1.0, 0.0],
            _ => [1.0, 0.0, 0.0, 1.0],
        };
        Matrix { a, b, c, d, ..IDENTITY }
    }

    fn around(&self, rect: Rect) -> Rect {
        let point =
            |x: f64, y: f64| (self.a * x + self.b * y + self.e, self.c * x + self.d * y + self.f);
        let (x1, y1) = point(rect.x, rect.y);
        let (x2, y2) = point(rect.x + rect.w, rect.y + rect.h);
        Rect { x: x1.min(x2), y: y1.min(y2), w: (x1 - x2).abs(), h: (y1 - y2).abs() }
    }

    fn back(&self) -> Matrix {
        let by = self.a * self.d - self.b * self.c;
        let [a, b, c, d] = [self.d, -self.b, -self.c, self.a].map(|part| part / by);
        Matrix { a, b, c, d, e: -(a * self.e + b * self.f), f: -(c * self.e + d * self.f) }
    }

    fn told(&self) -> Vec<String> {
        [self.a, self.b, self.e, self.c, self.d, self.f].map(told).into()
    }
}

/// A transform of the trace: its type, and the four numbers dsdx, dtdx, dsdy, dtdy.
#[derive(Debug, Clone, Copy)]
struct Transform(u64, [f64; 4]);

impl Transform {
    fn random(random: &mut Random) -> Option<Transform> {
        let kind = random.pick(&[0, 1, 4, 0x300, 0x400, 0x700]);
        // None of them makes a plane a line.
        let parts =
            random.pick(&[[2.0, 0.0, 0.0, 4.0], [0.5, 1.0, 2.0, 0.0], [0.0, 2.0, -1.0, 0.0]]);
        (random.below(3) > 0).then_some(Transform(kind, parts))
    }

    fn message(&self) -> Message {
        let Transform(kind, parts) = self;
        let parts = (1..).zip(parts);
        parts.fold(new(), |of, (field, part)| of.float(field, *part as f32)).number(5, *kind)
    }
}

fn numbers(sides: [i64; 4]) -> Message {
    (1..).zip(sides).fold(new(), |rect, (field, side)| rect.signed(field, side))
}

fn floats(sides: [i64; 4]) -> Message {
    (1..).zip(sides).fold(new(), |rect, (field, side)| rect.float(field, side as f32))
}

fn random_sides(random: &mut Random) -> [i64; 4] {
    let mut side = |bound| random.below(bound) as i64 - 3;
    let (left, top) = (side(20), side(20));
    [left, top, left + side(12), top + side(12)]
}

#[derive(Debug, Clone)]
struct Display {
    stack: u64,
    size: (i64, i64),
    shows: Option<[i64; 4]>,
    transform: Option<Transform>,
}

impl Display {
    fn random(stack: u64, random: &mut Random) -> Display {
        Display {
            stack,
            size: (10 + random.below(5) as i64, 20 + random.below(5) as i64),
            shows: (random.below(3) > 0).then(|| random_sides(random)),
            transform: Transform::random(random),
        }
    }

    fn message(&self) -> Message {
        let size = new().signed(1, self.size.0).signed(2, self.size.1);
        let mut display = new().number(1, self.stack).number(3, self.stack).message(4, size);
        if let Some(shows) = self.shows {
            display = display.message(5, numbers(shows));
        }
        match self.transform {
            Some(transform) => display.message(6, transform.message()),
            None => display,
        }
    }

    /// Its size, turned as it is.
    fn turned(&self) -> (f64, f64) {
        let (w, h) = (self.size.0 as f64, self.size.1 as f64);
        let is_turned = self.transform.is_some_and(|Transform(kind, _)| kind & 0x400 != 0);
        if is_turned { (h, w) } else { (w, h) }
    }

    fn shown(&self) -> Rect {
        self.shows.map_or(Rect::EMPTY, Rect::of)
    }

    fn matrix(&self) -> Matrix {
        let Some(Transform(kind, [dsdx, dtdx, dsdy, dtdy])) = self.transform else {
            return IDENTITY;
        };
        let matrix = match kind {
            4 => Matrix { a: dsdx, b: dtdx, c: dtdy, d: dsdy, ..IDENTITY },
            _ => Matrix::of_type(kind),
        };
        let Rect { w, h, .. } = self.shown();
        let (e, f) = match (self.shows.is_some(), kind) {
            (true, 0x300) => (w, h),
            (true, 0x700) => (w, 0.0),
            (true, 0x400) => (0.0, h),
            _ => (0.0, 0.0),
        };
        Matrix { e, f, ..matrix }
    }

    /// Its row by rule WS14.
    fn told(&self, index: usize) -> Vec<String> {
        let (w, h) = self.turned();
        let shown = Some(self.shown()).filter(|shown| !shown.is_empty());
        let rect = shown.unwrap_or(Rect { x: 0.0, y: 0.0, w, h });
        let more = [self.stack as f64, index as f64].map(told);
        [rect.told(), more.into()].concat()
    }
}

/// An input window of a layer.
#[derive(Debug, Clone)]
struct Input {
    frame: Option<[i64; 4]>,
    config: u64,
    region: Option<Vec<[i64; 4]>>,
    is_visible: Option<bool>,
}

/// A layer that has no visibility to be asked: the program says whether it is visible.
#[derive(Debug, Clone)]
struct Layer {
    parent: Option<usize>,
    z: i64,
    stack: u64,
    alpha: Option<f32>,
    bounds: [i64; 4],
    screen: Option<[i64; 4]>,
    border: Option<f32>,
    position: (i64, i64),
    transform: Option<Transform>,
    input: Option<Input>,
}

const FAR: [i64; 4] = [-50_000, -50_000, 50_000, 50_000];

impl Layer {
    fn random(place: usize, displays: &[Display], random: &mut Random) -> Layer {
        let of_display = displays.first().map_or(FAR, |display| {
            let (w, h) = display.size;
            [-10 * w, -10 * h, 10 * w, 10 * h]
        });
        let of_display_turned = [of_display[1], of_display[0], of_display[3], of_display[2]];
        let far = random.pick(&[FAR, of_display, of_display_turned]);
        let sides = |random: &mut Random| match random.below(4) {
            0 => far,
            _ => random_sides(random),
        };
        let input = |random: &mut Random| Input {
            frame: (random.below(4) > 0).then(|| sides(random)),
            config: random.pick(&[0, 0, 8, 64, 1 << 14]),
            region: (random.below(3) > 0)
                .then(|| (0..random.below(3)).map(|_| random_sides(random)).collect()),
            is_visible: random.pick(&[None, Some(true), Some(false)]),
        };
        Layer {
            parent: (place > 0 && random.below(3) > 0).then(|| random.below(place as u64) as usize),
            z: random.below(5) as i64 - 2,
            stack: random.below(3),
            alpha: random.pick(&[None, Some(0.0), Some(0.5), Some(1.0)]),
            bounds: random_sides(random),
            screen: (random.below(5) > 0).then(|| sides(random)),
            border: random.pick(&[None, Some(0.0), Some(1.5)]),
            position: (random.below(9) as i64 - 4, random.below(9) as i64 - 4),
            transform: Transform::random(random),
            input: (random.below(2) > 0).then(|| input(random)),
        }
    }

    fn message(&self, place: usize) -> Message {
        let mut color = (1..4).fold(new(), |color, part| color.float(part, 0.5));
        if let Some(alpha) = self.alpha {
            color = color.float(4, alpha);
        }
        let position = new().float(1, self.position.0 as f32).float(2, self.position.1 as f32);
        let mut layer = new()
            .number(1, place as u64 + 1)
            .number(9, self.stack)
            .signed(10, self.z)
            .message(11, position)
            .message(20, color)
            .message(45, floats(self.bounds));
        if let Some(parent) = self.parent {
            layer = layer.number(25, parent as u64 + 1);
        }
        if let Some(transform) = self.transform {
            layer = layer.message(23, transform.message());
        }
        if let Some(screen) = self.screen {
            layer = layer.message(46, floats(screen));
        }
        if let Some(input) = &self.input {
            layer = layer.message(47, input.message());
        }
        match self.border {
            Some(width) => layer.message(66, new().float(1, width).number(2, 7)),
            None => layer,
        }
    }

    fn matrix(&self) -> Matrix {
        let (e, f) = (self.position.0 as f64, self.position.1 as f64);
        let matrix = match self.transform {
            Some(Transform(4, [dsdx, dtdx, dsdy, dtdy])) => {
                Matrix { a: dsdx, b: dsdy, d: dtdy, c: dtdx, ..IDENTITY }
            }
            Some(Transform(kind, _)) => Matrix::of_type(kind),
            None => IDENTITY,
        };
        Matrix { e, f, ..matrix }
    }
}

impl Input {
    fn message(&self) -> Message {
        let mut input = new().number(17, self.config);
        if let Some(frame) = self.frame {
            input = input.message(3, numbers(frame));
        }
        if let Some(region) = &self.region {
            let region =
                region.iter().fold(new(), |region, rect| region.message(2, numbers(*rect)));
            input = input.message(4, region);
        }
        match self.is_visible {
            Some(is_visible) => input.number(6, is_visible.into()),
            None => input,
        }
    }
}

/// The layers from the bottom (rule WS17).
fn drawn(layers: &[Layer]) -> Vec<usize> {
    fn draw(parent: Option<usize>, layers: &[Layer], all: &mut Vec<usize>) {
        let mut children: Vec<usize> =
            (0..layers.len()).filter(|place| layers[*place].parent == parent).collect();
        children.sort_by_key(|place| (layers[*place].z, *place));
        let is_below = |place: &&usize| parent.is_some() && layers[**place].z < 0;
        children.iter().filter(is_below).for_each(|child| draw(Some(*child), layers, all));
        all.extend(parent);
        let above = children.iter().filter(|place| !is_below(place));
        above.for_each(|child| draw(Some(*child), layers, all));
    }
    let mut all = Vec::new();
    draw(None, layers, &mut all);
    all
}

/// A snapshot of the model.
struct Snapshot {
    displays: Vec<Display>,
    layers: Vec<Layer>,
}

/// The rows of a layer: its rectangle, its input window, and what that fills.
#[derive(Debug, Default, PartialEq)]
struct Told {
    layer: Option<Vec<String>>,
    input: Option<Vec<String>>,
    fill: Vec<Vec<String>>,
}

impl Snapshot {
    fn random(random: &mut Random) -> Snapshot {
        let displays: Vec<Display> =
            (0..random.below(3)).map(|place| Display::random(place * 2, random)).collect();
        let count = 1 + random.below(7) as usize;
        let layers = (0..count).map(|place| Layer::random(place, &displays, random)).collect();
        Snapshot { displays, layers }
    }

    fn message(&self) -> Message {
        let layers = self.layers.iter().enumerate();
        let all = layers.fold(new(), |all, (place, layer)| all.message(1, layer.message(place)));
        let snapshot = new().message(3, all);
        self.displays.iter().fold(snapshot, |of, display| of.message(7, display.message()))
    }

    /// Whether a rectangle is ten times as large as a display, to all sides.
    fn is_far(&self, rect: Rect) -> bool {
        let sizes = self.displays.iter().map(Display::turned);
        let most =
            sizes.clone().fold((0.0_f64, 0.0_f64), |most, (w, h)| (most.0.max(w), most.1.max(h)));
        let all = sizes.chain((!self.displays.is_empty()).then_some(most));
        let mut far = all.flat_map(|(w, h)| [(w, h), (h, w)]).map(|(w, h)| Rect {
            x: -10.0 * w,
            y: -10.0 * h,
            w: 20.0 * w,
            h: 20.0 * h,
        });
        far.any(|far| {
            let parts = [(far.x, rect.x), (far.y, rect.y), (far.w, rect.w), (far.h, rect.h)];
            parts.into_iter().all(|(one, other)| (one - other).abs() < 0.01)
        })
    }

    /// The rows of all layers, of which these are visible (rule WS19).
    fn told(&self, visible: &[bool]) -> Vec<Told> {
        let starts: BTreeMap<u64, u64> =
            self.displays.iter().map(|display| (display.stack, 1)).collect();
        let (mut depths, mut input_depths) = (starts.clone(), starts);
        let next = |depths: &mut BTreeMap<u64, u64>, stack| {
            let depth = depths.entry(stack).or_default();
            *depth += 1;
            (*depth - 1) as f64
        };
        let mut all: Vec<Told> = self.layers.iter().map(|_| Told::default()).collect();
        for place in drawn(&self.layers) {
            let (layer, is_visible) = (&self.layers[place], visible[place]);
            let row = |rect: Rect,
                       depth: f64,
                       flags: [bool; 2],
                       opacity: Option<f64>,
                       border: Option<f64>| {
                let [is_spy, is_visible] = flags.map(|flag| told(f64::from(u8::from(flag))));
                let maybe = |of: Option<f64>| of.map_or("[NULL]".to_owned(), told);
                let more = vec![
                    told(layer.stack as f64),
                    told(depth),
                    is_spy,
                    is_visible,
                    maybe(opacity),
                    maybe(border),
                ];
                [rect.told(), more, layer.matrix().told()].concat()
            };
            if let Some(screen) = layer.screen
                && (is_visible || !(self.is_far(Rect::of(screen)) || screen == FAR))
            {
                let opacity = layer.alpha.map(f64::from).or(is_visible.then_some(0.0));
                let border = layer.border.map(f64::from).filter(|width| *width > 0.0);
                let depth = next(&mut depths, layer.stack);
                let bounds = Rect::of(layer.bounds);
                all[place].layer = Some(row(bounds, depth, [false, is_visible], opacity, border));
            }
            if let Some(input) = &layer.input {
                let display = self.displays.iter().find(|display| display.stack == layer.stack);
                let moved = |sides| {
                    let rect = Rect::of(sides);
                    let rect = display.map_or(rect, |display| display.matrix().around(rect));
                    layer.matrix().back().around(rect)
                };
                let mut frame = input.frame.map_or(Rect::EMPTY, moved);
                let is_cut = frame.is_empty() || self.is_far(frame) || input.config & 64 != 0;
                let display = display.filter(|_| is_cut).map(Display::shown);
                let cut = |rect: Rect| display.map_or(rect, |display| rect.cut_to(display));
                frame = cut(frame);
                let depth = next(&mut input_depths, layer.stack);
                let flags = [input.config & 1 << 14 != 0, input.is_visible.unwrap_or(is_visible)];
                all[place].input = Some(row(frame, depth, flags, None, None));
                let filled = match &input.region {
                    _ if input.config & 8 != 0 => vec![Rect::EMPTY],
                    None => vec![],
                    Some(region) if region.is_empty() => vec![Rect::EMPTY],
                    Some(region) => region.iter().map(|sides| cut(moved(*sides))).collect(),
                };
                all[place].fill = filled.iter().map(Rect::told).collect();
            }
        }
        all
    }
}

/// The columns of a rectangle `t` of the trace, with its rectangle and its transform.
const COLUMNS: &str =
    "r.x, r.y, r.w, r.h, t.group_id, t.depth, t.is_spy, t.is_visible, t.opacity, t.border_width,
    m.dsdx, m.dtdx, m.tx, m.dtdy, m.dsdy, m.ty
    FROM winscope_trace_rect AS t JOIN winscope_rect AS r ON r.id = t.rect_id
    LEFT JOIN winscope_transform AS m ON m.id = t.transform_id";

/// The rows of a statement, by the first two columns.
fn by_two(database: &Imported, sql: &str) -> BTreeMap<(usize, usize), Vec<Vec<String>>> {
    let mut found: BTreeMap<(usize, usize), Vec<Vec<String>>> = BTreeMap::new();
    for row in database.rows(sql) {
        let [one, two] = [&row[0], &row[1]].map(|cell| cell.parse().unwrap());
        found.entry((one, two)).or_default().push(told_row(&row[2..]));
    }
    found
}

#[test]
fn ws14_ws19_rectangles_of_random_layers_are_as_the_rules_say() {
    let mut random = Random(47);
    let snapshots: Vec<Snapshot> = (0..400).map(|_| Snapshot::random(&mut random)).collect();
    let packets = snapshots.iter().zip(1000..);
    let packets: Vec<Message> =
        packets.map(|(snapshot, ts)| packet(ts, 93, snapshot.message())).collect();
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let of = |column: &str| {
        by_two(
            &database,
            &format!(
                "SELECT l.snapshot_id, l.layer_id - 1, {COLUMNS}
                 JOIN surfaceflinger_layer AS l ON l.{column} = t.id"
            ),
        )
    };
    let (layers, inputs) = (of("layer_rect_id"), of("input_rect_id"));
    let fill = by_two(
        &database,
        "SELECT l.snapshot_id, l.layer_id - 1, r.x, r.y, r.w, r.h
         FROM surfaceflinger_layer AS l JOIN winscope_fill_region AS f ON f.trace_rect_id = l.input_rect_id
         JOIN winscope_rect AS r ON r.id = f.rect_id ORDER BY f.id",
    );
    let displays = by_two(
        &database,
        "SELECT snapshot_id, t.depth, r.x, r.y, r.w, r.h, t.group_id, t.depth FROM surfaceflinger_display
         JOIN winscope_trace_rect AS t ON t.id = trace_rect_id JOIN winscope_rect AS r ON r.id = t.rect_id",
    );
    let visible =
        by_two(&database, "SELECT snapshot_id, layer_id - 1, is_visible FROM surfaceflinger_layer");
    let (mut with_layer, mut with_input, mut seen) = (0, 0, 0);
    for (number, snapshot) in snapshots.iter().enumerate() {
        for (index, display) in snapshot.displays.iter().enumerate() {
            assert_eq!(displays[&(number, index)], [display.told(index)], "{number}: {display:#?}");
        }
        let is_visible: Vec<bool> = (0..snapshot.layers.len())
            .map(|place| visible[&(number, place)][0][0] == told(1.0))
            .collect();
        for (place, expected) in snapshot.told(&is_visible).into_iter().enumerate() {
            let key = (number, place);
            let one = |of: &BTreeMap<_, Vec<Vec<String>>>| of.get(&key).map(|rows| rows[0].clone());
            let found = Told {
                layer: one(&layers),
                input: one(&inputs),
                fill: fill.get(&key).cloned().unwrap_or_default(),
            };
            assert_eq!(found, expected, "{key:?}: {:#?}", snapshot.layers[place]);
            with_layer += usize::from(expected.layer.is_some());
            with_input += usize::from(expected.input.is_some());
            seen += usize::from(is_visible[place]);
        }
    }
    assert!(with_layer > 500 && with_input > 500 && seen > 200, "{with_layer} {with_input} {seen}");
}

/// A view of the model. The first one is the root.
#[derive(Debug, Clone)]
struct View {
    parent: Option<usize>,
    /// Left, top, width, height.
    place: [i64; 4],
    scroll: [i64; 2],
    translation: [f32; 2],
    scale: [f32; 2],
    alpha: f32,
    is_shown: bool,
}

impl View {
    fn random(place: usize, random: &mut Random) -> View {
        let mut whole = |bound| random.below(bound) as i64 - 2;
        let place_of = [whole(20), whole(20), whole(30), whole(30)];
        let scroll = [whole(6), whole(6)];
        View {
            parent: (place > 0).then(|| random.below(place as u64) as usize),
            place: place_of,
            scroll,
            translation: [random.pick(&[0.0, 0.5, -3.0]), random.pick(&[0.0, 2.25])],
            scale: [random.pick(&[1.0, 0.5, 2.0, 0.0]), random.pick(&[1.0, 0.25])],
            alpha: random.pick(&[0.0, 0.5, 1.0]),
            is_shown: random.below(6) > 0,
        }
    }

    fn message(&self, id: usize) -> Message {
        let [left, top, width, height] = self.place;
        let parent = self.parent.map_or(-1, |parent| parent as i64);
        new()
            .number(1, id as u64)
            .signed(2, parent)
            .signed(6, left)
            .signed(7, top)
            .signed(8, width)
            .signed(9, height)
            .signed(10, self.scroll[0])
            .signed(11, self.scroll[1])
            .float(12, self.translation[0])
            .float(13, self.translation[1])
            .float(14, self.scale[0])
            .float(15, self.scale[1])
            .float(16, self.alpha)
            .number(19, if self.is_shown { 0 } else { 4 })
    }
}

/// Along one axis: the place of a view, its scale, and whether it can be seen.
struct At {
    place: [f64; 2],
    scale: [f64; 2],
    is_visible: bool,
    level: u32,
}

/// The place of a view, from those of all views above it (rule WS12).
fn at(place: usize, views: &[View]) -> At {
    let view = &views[place];
    let above = view.parent.map(|parent| (at(parent, views), views[parent].scroll));
    let mut found = At { place: [0.0; 2], scale: [0.0; 2], is_visible: true, level: 0 };
    for axis in [0, 1] {
        let (from, scale) = match &above {
            Some((above, scroll)) => (above.place[axis] - scroll[axis] as f64, above.scale[axis]),
            None => (0.0, 1.0),
        };
        let (offset, length) = (view.place[axis] as f64, view.place[2 + axis] as f64);
        let own = scale * f64::from(view.scale[axis]);
        found.scale[axis] = own;
        found.place[axis] = from
            + (offset + f64::from(view.translation[axis])) * scale
            + length * (scale - own) / 2.0;
        found.is_visible &= length > 0.0;
    }
    found.is_visible &= view.is_shown;
    if let Some((above, _)) = above {
        found.is_visible &= above.is_visible;
        found.level = above.level + 1;
    }
    found
}

#[test]
fn ws12_rectangles_of_random_views_are_as_the_rules_say() {
    let mut random = Random(53);
    let captures: Vec<Vec<View>> = (0..200)
        .map(|_| {
            let count = 1 + random.below(10) as usize;
            (0..count).map(|place| View::random(place, &mut random)).collect()
        })
        .collect();
    let packets = captures.iter().zip(1000..).map(|(views, ts)| {
        let views = views.iter().enumerate();
        let capture = views.fold(new(), |all, (id, view)| all.message(3, view.message(id)));
        packet(ts, 112, new().message(4, capture))
    });
    let packets: Vec<Message> = packets.collect();
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let found = by_two(
        &database,
        &format!(
            "SELECT v.snapshot_id, v.node_id, v.is_visible, {COLUMNS}
             JOIN viewcapture_view AS v ON v.trace_rect_id = t.id"
        ),
    );
    let mut seen = 0;
    for (number, views) in captures.iter().enumerate() {
        for (place, view) in views.iter().enumerate() {
            let of = at(place, views);
            let [w, h] = [0, 1].map(|axis| view.place[2 + axis] as f64 * of.scale[axis]);
            let rect = Rect { x: of.place[0], y: of.place[1], w, h };
            let is_visible = told(f64::from(u8::from(of.is_visible)));
            let more = vec![
                told(0.0),
                told(f64::from(4 * of.level)),
                told(0.0),
                is_visible.clone(),
                told(f64::from(view.alpha)),
                "[NULL]".to_owned(),
            ];
            let expected = [vec![is_visible], rect.told(), more].concat();
            let row = &found[&(number, place)];
            assert_eq!(row[0][..expected.len()], expected, "{number}, {place}: {views:#?}");
            seen += usize::from(of.is_visible);
        }
    }
    assert!(seen > 200, "{seen}");
}

/// A container of windows of the model.
#[derive(Debug, Clone)]
enum Window {
    /// With its number, and its width and height.
    Display(u64, [i64; 2], Vec<Window>),
    Area(Vec<Window>),
    /// With its frame, its opacity, and whether it is visible.
    State([i64; 4], f32, bool, Vec<Window>),
}

impl Window {
    fn random(depth: u32, random: &mut Random) -> Window {
        let count = if depth > 3 { 0 } else { random.below(4) };
        let children = (0..count).map(|_| Window::random(depth + 1, random)).collect();
        match random.below(4) {
            0 => Window::Display(random.below(5), [random.below(50) as i64, 9], children),
            1 => Window::Area(children),
            _ => Window::State(
                random_sides(random),
                random.pick(&[0.0, 0.5, 1.0]),
                random.below(2) > 0,
                children,
            ),
        }
    }

    fn children(&self) -> &[Window] {
        match self {
            Window::Display(_, _, children)
            | Window::Area(children)
            | Window::State(_, _, _, children) => children,
        }
    }

    /// A child of a container.
    fn message(&self) -> Message {
        let own = container("window", self.children());
        match self {
            Window::Display(id, [width, height], _) => {
                let info = new().signed(1, *width).signed(2, *height).text(5, "display");
                let area = new().message(1, own);
                new().message(3, new().number(2, *id).message(10, info).message(21, area))
            }
            Window::Area(_) => new().message(4, new().message(1, own).text(2, "area")),
            Window::State(frame, alpha, is_visible, _) => {
                let frames = new().message(5, numbers(*frame));
                let state = new()
                    .message(1, own)
                    .message(5, new().float(12, *alpha))
                    .number(38, (*is_visible).into())
                    .message(41, frames);
                new().message(8, state)
            }
        }
    }

    /// The rectangles of a container and those below it, depth first (rule WS13).
    fn told(&self, place: &mut (f64, f64), all: &mut Vec<Vec<String>>) {
        let (group, depth) = *place;
        match self {
            Window::Display(id, [width, height], _) => {
                *place = (*id as f64, 1.0);
                let rect = Rect::of([0, 0, *width, *height]);
                let more = [*id as f64, 0.0, 0.0, 0.0].map(told).to_vec();
                all.push([rect.told(), more, vec!["[NULL]".to_owned()]].concat());
            }
            Window::Area(_) => {}
            Window::State(frame, alpha, is_visible, _) => {
                place.1 += 1.0;
                let flag = f64::from(u8::from(*is_visible));
                let more = [group, depth, 0.0, flag, f64::from(*alpha)].map(told).to_vec();
                all.push([Rect::of(*frame).told(), more].concat());
            }
        }
        self.children().iter().for_each(|child| child.told(place, all));
    }
}

/// A `WindowContainerProto`.
fn container(title: &str, children: &[Window]) -> Message {
    let own = new().message(6, new().number(1, 9).text(3, title));
    children.iter().fold(own, |own, child| own.message(5, child.message()))
}

#[test]
fn ws13_rectangles_of_random_windows_are_as_the_rules_say() {
    let mut random = Random(59);
    let payloads: Vec<Vec<Window>> = (0..100)
        .map(|_| (0..random.below(4)).map(|_| Window::random(0, &mut random)).collect())
        .collect();
    let packets = payloads.iter().zip(1000..).map(|(children, ts)| {
        let root = new().message(1, container("root", children));
        let entry = new().number(1, ts).message(3, new().message(2, root));
        packet(ts, 112, new().message(6, entry))
    });
    let packets: Vec<Message> = packets.collect();
    let database = Imported::of_bytes(&encode::trace_of(&packets), &[]);
    let sql = "SELECT r.x, r.y, r.w, r.h, t.group_id, t.depth, t.is_spy, t.is_visible, t.opacity
        FROM windowmanager_windowcontainer AS w JOIN winscope_trace_rect AS t ON t.id = w.window_rect_id
        JOIN winscope_rect AS r ON r.id = t.rect_id ORDER BY w.id";
    let found: Vec<Vec<String>> = database.rows(sql).iter().map(|row| told_row(row)).collect();
    // Before the first display the group is -1, and later payloads go on.
    let (mut place, mut expected) = ((f64::from(u32::MAX), 0.0), Vec::new());
    for window in payloads.iter().flatten() {
        window.told(&mut place, &mut expected);
    }
    assert_eq!(found, expected);
    assert!(found.len() > 300, "{}", found.len());
    // Windows have a rectangle each.
    let rects = database.count("SELECT count(*) FROM winscope_rect");
    assert_eq!(usize::try_from(rects).unwrap(), found.len());
    let transforms = database.rows("SELECT dsdx, dtdx, tx, dtdy, dsdy, ty FROM winscope_transform");
    let transforms: Vec<Vec<String>> = transforms.iter().map(|row| told_row(row)).collect();
    assert_eq!(transforms, [IDENTITY.told()]);
}

#[test]
fn ws16_an_old_rectangle_that_comes_again_has_no_second_row() {
    /// More than the import remembers.
    const DIFFERENT: u64 = 250_000;
    const AGAIN: u64 = 1000;

    let widths: Vec<u64> = (0..DIFFERENT).chain((0..AGAIN).map(|place| place * 7)).collect();
    let packets = widths.chunks(1000).zip(1000..).map(|(widths, ts)| {
        let display = |width: &u64| new().message(4, new().number(1, width + 1));
        let snapshot =
            widths.iter().fold(new(), |snapshot, width| snapshot.message(7, display(width)));
        packet(ts, 93, snapshot)
    });
    let packets: Vec<Message> = packets.collect();
    let database = Imported::of_bytes(&encode::trace_of(&packets), &["--no-data"]);
    let count = |table: &str| database.count(&format!("SELECT count(*) FROM {table}"));
    assert_eq!(count("winscope_rect"), i64::try_from(DIFFERENT).unwrap());
    assert_eq!(count("winscope_trace_rect"), i64::try_from(DIFFERENT + AGAIN).unwrap());
    let wrong =
        "SELECT count(*) FROM winscope_trace_rect AS t JOIN winscope_rect AS r ON r.id = t.rect_id
        WHERE r.id + 1 <> r.w OR r.w <> iif(t.id < 250000, t.id, (t.id - 250000) * 7) + 1";
    assert_eq!(database.count(wrong), 0);
}
