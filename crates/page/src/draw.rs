//! The common parts of all pictures.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, IntoFont, RGBColor, TextStyle};

use crate::error::Error;

/// The number of units in a pixel, on a page that shows the picture in full size. Places are whole
/// units, so this is their precision.
pub const SCALE: i32 = 2;

/// The height of text, in units.
pub const TEXT: i32 = 12 * SCALE;

/// A picture that is being made.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The reason why a picture fails.
pub type Failure = DrawingAreaErrorKind<std::io::Error>;

/// Draws a picture of a size in pixels.
pub fn svg(
    what: &'static str,
    (width, height): (i32, i32),
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failure>,
) -> Result<String, Error> {
    let units = |pixels: i32| pixels.saturating_mul(SCALE).unsigned_abs();
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (units(width), units(height))).into_drawing_area();
        draw(&area)
            .and_then(|()| area.present())
            .map_err(|error| Error::Drawing { what, why: error.to_string() })?;
    }
    Ok(svg)
}

fn font(style: FontStyle) -> FontDesc<'static> {
    /// The library's height of a font, in heights of its text.
    const HEIGHT: f64 = 1.24;

    FontDesc::new(FontFamily::SansSerif, f64::from(TEXT) * HEIGHT, style)
}

/// Text of the usual size.
pub fn text(colour: RGBColor) -> TextStyle<'static> {
    font(FontStyle::Normal).into_font().color(&colour.to_rgba())
}

/// Text that is a name.
pub fn bold(colour: RGBColor) -> TextStyle<'static> {
    font(FontStyle::Bold).into_font().color(&colour.to_rgba())
}

/// The largest possible width of a text, in units, because the program has no font to measure.
/// Names are bold, and may have capitals.
pub fn width(text: &str, is_name: bool) -> i32 {
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
    let letter = if is_name { TEXT * 4 / 5 } else { TEXT * 2 / 3 };
    letters.saturating_mul(letter)
}

/// The number beside a tick.
pub fn tick(number: &f64) -> String {
    // Ticks are round numbers, but a sum of tenths has a rounding error.
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    crate::text::signed(text.to_owned())
}
