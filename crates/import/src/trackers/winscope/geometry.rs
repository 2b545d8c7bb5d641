//! Rectangles, transforms and colours of windows and layers (rules WS12 to WS19).

use std::cmp::Ordering;

use crate::message::Message;

/// Numbers that differ by less are close.
const CLOSE: f64 = 0.01;

/// Numbers that differ by less are equal.
const EQUAL: f64 = 0.000_001;

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() < CLOSE
}

/// Whether a number is less than another, or close to it.
fn is_below(one: f64, other: f64) -> bool {
    one <= other || is_close(one, other)
}

/// The radii of a rectangle's corners.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Radii {
    pub tl: f64,
    pub tr: f64,
    pub bl: f64,
    pub br: f64,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Rect {
    /// A rectangle by its sides.
    pub fn sides(left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Rect { x: left, y: top, w: right - left, h: bottom - top }
    }

    /// A `RectProto`.
    pub fn of_numbers(message: Message<'_>) -> Self {
        let side = |field| f64::from(message.small(field).unwrap_or(0).cast_signed());
        Rect::sides(side(1), side(2), side(3), side(4))
    }

    /// A `FloatRectProto`.
    pub fn of_floats(message: Message<'_>) -> Self {
        let side = |field| message.float(field).unwrap_or(0.0);
        Rect::sides(side(1), side(2), side(3), side(4))
    }

    fn right(self) -> f64 {
        self.x + self.w
    }

    fn bottom(self) -> f64 {
        self.y + self.h
    }

    pub fn is_empty(self) -> bool {
        self.w <= 0.0 || self.h <= 0.0
    }

    /// The part inside another rectangle.
    pub fn cut_to(self, other: Rect) -> Rect {
        let (left, top) = (self.x.max(other.x), self.y.max(other.y));
        let (right, bottom) = (self.right().min(other.right()), self.bottom().min(other.bottom()));
        Rect::sides(left, top, right, bottom)
    }

    /// Whether it is within 0.01 of another rectangle.
    pub fn is_near(self, other: Rect) -> bool {
        is_close(self.x, other.x)
            && is_close(self.y, other.y)
            && is_close(self.w, other.w)
            && is_close(self.h, other.h)
    }

    /// Whether it has common points with another rectangle.
    pub fn meets(self, other: Rect) -> bool {
        let is_beside = self.x < other.right() && other.x < self.right();
        let is_above = self.y <= other.bottom() && other.y <= self.bottom();
        let width = if self.right() > other.right() { other.w } else { self.w };
        let height = if self.bottom() > other.bottom() { other.h } else { self.h };
        is_beside && is_above && width > 0.0 && height > 0.0
    }

    /// Whether it contains another rectangle, with the radii of both.
    pub fn contains(self, radii: Radii, inner: Rect, inner_radii: Radii) -> bool {
        let is_inside = is_below(self.x, inner.x)
            && is_below(self.y, inner.y)
            && is_below(inner.right(), self.right())
            && is_below(inner.bottom(), self.bottom());
        if self.is_empty() || !is_inside {
            return false;
        }
        let at_left = |rect: Rect, radius| rect.x + radius;
        let at_right = |rect: Rect, radius| rect.right() - radius;
        let at_top = |rect: Rect, radius| rect.y + radius;
        let at_bottom = |rect: Rect, radius| rect.bottom() - radius;
        let corners: [(f64, f64, bool, bool); 4] = [
            (radii.tl, inner_radii.tl, true, true),
            (radii.tr, inner_radii.tr, false, true),
            (radii.bl, inner_radii.bl, true, false),
            (radii.br, inner_radii.br, false, false),
        ];
        corners.into_iter().all(|(outer, within, is_left, is_top)| {
            let center = |rect: Rect, radius| {
                let x = if is_left { at_left(rect, radius) } else { at_right(rect, radius) };
                let y = if is_top { at_top(rect, radius) } else { at_bottom(rect, radius) };
                (x, y)
            };
            let ((x, y), (inner_x, inner_y)) = (center(self, outer), center(inner, within));
            let is_past_x = if is_left { x < inner_x } else { x >= inner_x };
            let is_past_y = if is_top { y < inner_y } else { y >= inner_y };
            let (dx, dy) = (inner_x - x, inner_y - y);
            let is_in_circle = dx * dx + dy * dy <= outer * outer + CLOSE;
            outer.partial_cmp(&within) != Some(Ordering::Greater)
                || is_past_x
                || is_past_y
                || is_in_circle
        })
    }
}

/// A transform of points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix {
    pub dsdx: f64,
    pub dtdx: f64,
    pub tx: f64,
    pub dtdy: f64,
    pub dsdy: f64,
    pub ty: f64,
}

impl Matrix {
    /// The transform that changes nothing.
    pub const IDENTITY: Matrix =
        Matrix { dsdx: 1.0, dtdx: 0.0, tx: 0.0, dtdy: 0.0, dsdy: 1.0, ty: 0.0 };

    fn determinant(self) -> f64 {
        self.dsdx * self.dsdy - self.dtdx * self.dtdy
    }

    /// Whether it can be inverted.
    pub fn is_valid(self) -> bool {
        let products = self.dsdx * self.dsdy - self.dtdx * self.dtdy;
        products.abs().partial_cmp(&EQUAL) != Some(Ordering::Less)
    }

    fn point(self, (x, y): (f64, f64)) -> (f64, f64) {
        let x_after = self.dsdx * x + self.dtdx * y + self.tx;
        let y_after = self.dtdy * x + self.dsdy * y + self.ty;
        (x_after, y_after)
    }

    /// A rectangle around two transformed corners.
    pub fn rect(self, rect: Rect) -> Rect {
        let (left, top) = self.point((rect.x, rect.y));
        let (right, bottom) = self.point((rect.right(), rect.bottom()));
        let least = |one: f64, other: f64| if other < one { other } else { one };
        let greatest = |one: f64, other: f64| if one < other { other } else { one };
        let (x, y) = (least(left, right), least(top, bottom));
        Rect::sides(x, y, greatest(left, right), greatest(top, bottom))
    }

    /// The transform back.
    pub fn inverse(self) -> Matrix {
        let factor = 1.0 / self.determinant();
        let turned = Matrix {
            dsdx: self.dsdy * factor,
            dtdx: -self.dtdx * factor,
            tx: 0.0,
            dtdy: -self.dtdy * factor,
            dsdy: self.dsdx * factor,
            ty: 0.0,
        };
        let (tx, ty) = turned.point((-self.tx, -self.ty));
        Matrix { tx, ty, ..turned }
    }
}
