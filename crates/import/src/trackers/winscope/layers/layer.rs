//! A layer and a display of SurfaceFlinger, as far as rules WS14 to WS19 ask.

use timebase_schema::fields::{
    active_buffer_proto as buffer, color_proto as color, corner_radii_proto as radii,
    display_proto as display, layer_proto as layer, position_proto as position,
    region_proto as region, size_proto as size, transform_proto as transform,
};

use super::super::geometry::{Matrix, Radii, Rect};
use crate::message::Message;

/// `flags`: the layer is hidden.
const HIDDEN: u32 = 1;

/// The root of layers that are on no screen.
const OFFSCREEN_ROOT: i32 = 0x7fff_fffd;

/// `type` of a transform.
mod kind {
    pub const SCALE: u32 = 4;
    pub const FLIPPED: u32 = 0x300;
    pub const TURNED: u32 = 0x400;
    pub const TURNED_BACK: u32 = 0x700;
    pub const INVALID: u32 = 0x8000;
}

/// A colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Color {
    pub alpha: f64,
    pub is_valid: bool,
    pub has_alpha: bool,
}

/// A layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<'a> {
    pub message: Message<'a>,
    pub id: Option<i32>,
    pub parent: Option<i32>,
    pub relative_of: Option<i32>,
    pub z: i32,
    pub stack: u32,
}

impl<'a> Layer<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let message = Message(bytes);
        let number = |field| message.small(field).map(u32::cast_signed);
        Layer {
            message,
            id: number(layer::ID),
            parent: number(layer::PARENT),
            relative_of: number(layer::Z_ORDER_RELATIVE_OF),
            z: number(layer::Z).unwrap_or(0),
            stack: message.small(layer::LAYER_STACK).unwrap_or(0),
        }
    }

    fn inner(&self, field: u32) -> Option<Message<'a>> {
        self.message.bytes(field).map(Message)
    }

    /// Whether no parent is named.
    pub fn is_root(&self) -> bool {
        matches!(self.parent, None | Some(-1))
    }

    /// The layer that it is drawn relative to, if it names one.
    pub fn relative_parent(&self) -> Option<i32> {
        self.relative_of.filter(|of| *of > 0)
    }

    pub fn is_hidden_by_policy(&self) -> bool {
        let flags = self.message.small(layer::FLAGS).unwrap_or(0);
        flags & HIDDEN != 0 || self.id == Some(OFFSCREEN_ROOT)
    }

    pub fn color(&self) -> Option<Color> {
        let stated = self.inner(layer::COLOR)?;
        let part = |field| stated.float(field).unwrap_or(0.0);
        let is_valid = [color::R, color::G, color::B].into_iter().all(|field| part(field) >= 0.0);
        let has_alpha = stated.float(color::A).is_some();
        Some(Color { alpha: part(color::A), is_valid, has_alpha })
    }

    pub fn has_buffer(&self) -> bool {
        let has = |stated: Message<'_>| {
            let number = |field| stated.small(field).unwrap_or(0);
            let sizes = [buffer::WIDTH, buffer::HEIGHT, buffer::STRIDE];
            let format = number(buffer::FORMAT).cast_signed();
            format > 0 || sizes.into_iter().any(|field| number(field) > 0)
        };
        self.inner(layer::ACTIVE_BUFFER).is_some_and(has)
    }

    /// Whether something is drawn besides a buffer.
    pub fn has_effect(&self) -> bool {
        let has_shadow =
            self.message.float(layer::SHADOW_RADIUS).is_some_and(|radius| radius > 0.0);
        has_shadow || self.color().is_some_and(|color| color.alpha > 0.0 && color.is_valid)
    }

    pub fn has_blur(&self) -> bool {
        let radius = self.message.small(layer::BACKGROUND_BLUR_RADIUS);
        radius.is_some_and(|radius| radius.cast_signed() > 0)
    }

    pub fn is_opaque(&self) -> bool {
        let is_full = self.color().is_some_and(|color| color.alpha >= 1.0);
        is_full && self.message.flag(layer::IS_OPAQUE)
    }

    pub fn bounds(&self) -> Option<Rect> {
        self.inner(layer::BOUNDS).map(Rect::of_floats)
    }

    /// Its bounds on the screen, cut to a display that is not empty.
    pub fn screen_bounds(&self, display: Option<Rect>) -> Option<Rect> {
        let bounds = self.inner(layer::SCREEN_BOUNDS).map(Rect::of_floats)?;
        match display.filter(|display| !display.is_empty()) {
            Some(display) => Some(bounds.cut_to(display)),
            None => Some(bounds),
        }
    }

    /// Whether a rectangle of the visible region is not empty; `None` without a region.
    pub fn has_visible_region(&self) -> Option<bool> {
        let stated = self.inner(layer::VISIBLE_REGION)?;
        let mut rects = stated.messages(region::RECT).map(Rect::of_numbers);
        Some(rects.any(|rect| !rect.is_empty()))
    }

    pub fn radii(&self) -> Radii {
        let stated = |field| {
            let stated = self.inner(field)?;
            let radius = |field| stated.float(field).unwrap_or(0.0);
            let [tl, tr] = [radii::TL, radii::TR].map(radius);
            let [bl, br] = [radii::BL, radii::BR].map(radius);
            Some(Radii { tl, tr, bl, br })
        };
        let is_round = |of: &Radii| of.tl > 0.0 || of.tr > 0.0 || of.bl > 0.0 || of.br > 0.0;
        let own = stated(layer::CORNER_RADII).filter(is_round).unwrap_or_else(|| {
            let radius = self.message.float(layer::CORNER_RADIUS).unwrap_or(0.0);
            Radii { tl: radius, tr: radius, bl: radius, br: radius }
        });
        let more = stated(layer::EFFECTIVE_RADII).unwrap_or_default();
        Radii {
            tl: own.tl + more.tl,
            tr: own.tr + more.tr,
            bl: own.bl + more.bl,
            br: own.br + more.br,
        }
    }

    /// Whether its transform cannot be compared with others.
    pub fn has_invalid_rotation(&self) -> bool {
        let stated = self.inner(layer::TRANSFORM);
        stated.is_some_and(|stated| kind_of(stated) & kind::INVALID != 0)
    }

    pub fn matrix(&self) -> Matrix {
        let at = self.inner(layer::POSITION).unwrap_or_default();
        let [tx, ty] = [position::X, position::Y].map(|field| at.float(field).unwrap_or(0.0));
        let moved = Matrix { tx, ty, ..Matrix::IDENTITY };
        let Some(stated) = self.inner(layer::TRANSFORM) else {
            return moved;
        };
        let part = |field| stated.float(field).unwrap_or(0.0);
        match simple(kind_of(stated)) {
            Some(turned) => Matrix { tx, ty, ..turned },
            // SurfaceFlinger writes these three in each other's place.
            None => Matrix {
                dsdx: part(transform::DSDX),
                dtdx: part(transform::DSDY),
                dsdy: part(transform::DTDY),
                dtdy: part(transform::DTDX),
                tx,
                ty,
            },
        }
    }
}

fn kind_of(stated: Message<'_>) -> u32 {
    stated.small(transform::TYPE).unwrap_or(0)
}

/// Whether all of these bits are set.
fn has_all(of: u32, bits: u32) -> bool {
    of & bits == bits
}

/// A transform that its type gives completely: turned, flipped or moved.
fn simple(of: u32) -> Option<Matrix> {
    let with = |dsdx, dtdx, dtdy, dsdy| Matrix { dsdx, dtdx, dtdy, dsdy, ..Matrix::IDENTITY };
    if of & (kind::INVALID | kind::SCALE) != 0 {
        None
    } else if has_all(of, kind::TURNED_BACK) {
        Some(with(0.0, -1.0, 1.0, 0.0))
    } else if has_all(of, kind::FLIPPED) {
        Some(with(-1.0, 0.0, 0.0, -1.0))
    } else if has_all(of, kind::TURNED) {
        Some(with(0.0, 1.0, -1.0, 0.0))
    } else {
        Some(Matrix::IDENTITY)
    }
}

/// A display.
#[derive(Debug, Clone, Copy)]
pub(super) struct Display {
    pub stack: u32,
    /// The part of the layer stack that it shows, if it is stated.
    pub shows: Option<Rect>,
    /// Its size, turned as it is.
    pub size: (f64, f64),
    pub matrix: Matrix,
}

impl Display {
    pub fn new(message: Message<'_>) -> Self {
        let inner = |field| message.bytes(field).map(Message);
        let shows = inner(display::LAYER_STACK_SPACE_RECT).map(Rect::of_numbers);
        let stated = inner(display::TRANSFORM);
        let of = stated.map_or(0, kind_of);
        let of_size = inner(display::SIZE).unwrap_or_default();
        let side = |field| f64::from(of_size.small(field).unwrap_or(0).cast_signed());
        let (w, h) = (side(size::W), side(size::H));
        Display {
            stack: message.small(display::LAYER_STACK).unwrap_or(0),
            shows,
            size: if has_all(of, kind::TURNED) { (h, w) } else { (w, h) },
            matrix: stated.map_or(Matrix::IDENTITY, |stated| matrix_of(stated, shows)),
        }
    }
}

/// The transform of a display, which its type moves by the rectangle that it shows.
fn matrix_of(stated: Message<'_>, shows: Option<Rect>) -> Matrix {
    let part = |field| stated.float(field).unwrap_or(0.0);
    let of = kind_of(stated);
    let turned = simple(of).unwrap_or_else(|| Matrix {
        dsdx: part(transform::DSDX),
        dtdx: part(transform::DTDX),
        dsdy: part(transform::DSDY),
        dtdy: part(transform::DTDY),
        tx: 0.0,
        ty: 0.0,
    });
    let is_stated = stated.number(transform::TYPE).is_some();
    let (tx, ty) = match shows.filter(|_| is_stated) {
        Some(shows) if has_all(of, kind::TURNED_BACK) => (shows.w, 0.0),
        Some(shows) if has_all(of, kind::FLIPPED) => (shows.w, shows.h),
        Some(shows) if has_all(of, kind::TURNED) => (0.0, shows.h),
        _ => (0.0, 0.0),
    };
    Matrix { tx, ty, ..turned }
}
