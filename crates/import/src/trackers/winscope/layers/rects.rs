//! The rectangles of layers and of their input windows (rule WS19).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    border_settings as border, input_window_info_proto as input, layer_proto as layer,
    region_proto as region,
};

use super::layer::{Display, Layer};
use super::visible::Visibility;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;
use crate::trackers::winscope::geometry::{Matrix, Rect};
use crate::trackers::winscope::table::{Out, TraceRect};

/// `input_config`: the window takes no touches, shows the wallpaper, or sees touches of others.
mod config {
    pub const NOT_TOUCHABLE: u32 = 1 << 3;
    pub const IS_WALLPAPER: u32 = 1 << 6;
    pub const SPY: u32 = 1 << 14;
}

/// The bounds of a layer that has none.
const FAR: f64 = 50_000.0;

/// A layer without bounds may also have this many times the size of a display.
const TIMES: f64 = 10.0;

/// The rows of a layer's rectangles.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rows {
    pub layer: Option<i64>,
    pub input: Option<i64>,
}

/// The things that the rectangles of a snapshot share.
pub(super) struct Rects<'s> {
    displays: &'s [Display],
    /// The bounds that mean none, by the displays.
    far: Vec<Rect>,
    depths: FxHashMap<u32, u32>,
    input_depths: FxHashMap<u32, u32>,
}

impl<'s> Rects<'s> {
    pub fn new(displays: &'s [Display]) -> Self {
        let sizes = displays.iter().map(|display| display.size);
        let widest =
            sizes.clone().fold((0.0_f64, 0.0_f64), |(w, h), size| (w.max(size.0), h.max(size.1)));
        let all = sizes.chain((!displays.is_empty()).then_some(widest));
        let far = all.flat_map(|(w, h)| {
            let (w, h) = (w * TIMES, h * TIMES);
            [Rect::sides(-w, -h, w, h), Rect::sides(-h, -w, h, w)]
        });
        let depths: FxHashMap<u32, u32> =
            displays.iter().map(|display| (display.stack, 1)).collect();
        Rects { displays, far: far.collect(), input_depths: depths.clone(), depths }
    }

    /// Whether a rectangle is the one that stands for no bounds on the displays.
    fn is_far(&self, rect: Rect) -> bool {
        self.far.iter().any(|far| rect.is_near(*far))
    }

    /// The last display of a stack.
    fn display(&self, stack: u32) -> Option<&'s Display> {
        self.displays.iter().rev().find(|display| display.stack == stack)
    }

    /// Writes the rectangles of a layer.
    pub fn write(
        &mut self,
        of: &Layer<'_>,
        visibility: &Visibility,
        out: &mut Out,
        at: &mut TrackerContext<'_, '_>,
    ) -> Rows {
        Rows {
            layer: self.bounds(of, visibility.is_visible, out, at),
            input: self.input(of, visibility.is_visible, out, at),
        }
    }

    fn bounds(
        &mut self,
        of: &Layer<'_>,
        is_visible: bool,
        out: &mut Out,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<i64> {
        let screen = of.screen_bounds(None)?;
        let is_far = self.is_far(screen) || screen.is_near(Rect::sides(-FAR, -FAR, FAR, FAR));
        if is_far && !is_visible {
            return None;
        }
        let alpha = of.color().filter(|color| color.has_alpha).map(|color| color.alpha);
        let stated = of.message.bytes(layer::BORDER_SETTINGS).map(Message);
        let stated = stated.and_then(|stated| Some((stated, stated.float(border::STROKE_WIDTH)?)));
        let border = stated
            .filter(|(_, width)| *width > 0.0)
            .map(|(stated, width)| (width, stated.small(border::COLOR).unwrap_or(0).cast_signed()));
        let row = TraceRect {
            is_visible,
            opacity: alpha.or(is_visible.then_some(0.0)),
            border,
            ..TraceRect::plain(
                out.rect(of.bounds().unwrap_or_default(), at),
                of.stack,
                next(&mut self.depths, of.stack),
            )
        };
        let row = TraceRect { transform: out.transform(of.matrix(), at), ..row };
        Some(out.trace_rect(&row, at))
    }

    fn input(
        &mut self,
        of: &Layer<'_>,
        is_visible: bool,
        out: &mut Out,
        at: &mut TrackerContext<'_, '_>,
    ) -> Option<i64> {
        let info = of.message.bytes(layer::INPUT_WINDOW_INFO).map(Message)?;
        let matrix = of.matrix();
        let display = self.display(of.stack);
        let moved =
            Moved { back: matrix.inverse(), display: display.map(|display| display.matrix) };
        let frame =
            info.bytes(input::FRAME).map(|frame| moved.rect(Rect::of_numbers(Message(frame))));
        let mut frame = frame.unwrap_or_default();
        let config = info.small(input::INPUT_CONFIG).unwrap_or(0);
        let is_cut = frame.is_empty() || config & config::IS_WALLPAPER != 0 || self.is_far(frame);
        let cut_to = display.filter(|_| is_cut).map(|display| display.shows.unwrap_or_default());
        if let Some(display) = cut_to {
            frame = frame.cut_to(display);
        }
        let depth = next(&mut self.input_depths, of.stack);
        let row = TraceRect {
            is_spy: config & config::SPY != 0,
            is_visible: info.number(input::VISIBLE).map_or(is_visible, |visible| visible != 0),
            ..TraceRect::plain(out.rect(frame, at), of.stack, depth)
        };
        let row = TraceRect { transform: out.transform(matrix, at), ..row };
        let number = out.trace_rect(&row, at);
        for rect in fill(info, config, &moved, cut_to) {
            out.fill(number, rect, at);
        }
        Some(number)
    }
}

/// The way from the space of the layer stack to that of a layer.
struct Moved {
    display: Option<Matrix>,
    back: Matrix,
}

impl Moved {
    fn rect(&self, rect: Rect) -> Rect {
        self.back.rect(self.display.map_or(rect, |display| display.rect(rect)))
    }
}

/// The rectangles that an input window fills.
fn fill(info: Message<'_>, config: u32, moved: &Moved, cut_to: Option<Rect>) -> Vec<Rect> {
    if config & config::NOT_TOUCHABLE != 0 {
        return vec![Rect::default()];
    }
    let Some(stated) = info.bytes(input::TOUCHABLE_REGION).map(Message) else {
        return Vec::new();
    };
    let rects = stated.messages(region::RECT).map(|rect| moved.rect(Rect::of_numbers(rect)));
    let mut rects: Vec<Rect> =
        rects.map(|rect| cut_to.map_or(rect, |display| rect.cut_to(display))).collect();
    if rects.is_empty() {
        rects.push(Rect::default());
    }
    rects
}

/// The next depth in a layer stack.
fn next(depths: &mut FxHashMap<u32, u32>, stack: u32) -> u32 {
    let next = depths.entry(stack).or_default();
    *next = next.saturating_add(1);
    *next - 1
}
