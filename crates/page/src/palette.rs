//! The colours. Drawings have those of a light page, and CSS replaces them on a dark page.
//!
//! # Design
//!
//! The plotting library writes a colour as `fill="#1C1E21"` and has no classes. Each colour of a
//! drawing is one of these constants, so one CSS rule for each finds all its uses, and replaces it
//! by a variable; a dark page has other variables. The alternative, to draw everything twice and
//! show one version, takes twice the size.

use std::fmt::Write;

use plotters::style::RGBColor;

/// A colour in a drawing.
struct Colour {
    variable: &'static str,
    drawn: RGBColor,
    dark: &'static str,
}

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x1C, 0x1E, 0x21);
/// Secondary text.
pub const MUTED: RGBColor = RGBColor(0x5B, 0x60, 0x66);
/// Lines of the grid, and of boxes.
pub const GRID: RGBColor = RGBColor(0xE1, 0xE4, 0xE8);
/// The background.
pub const PANEL: RGBColor = RGBColor(0xF5, 0xF6, 0xF8);
/// Snapshots.
pub const DOT: RGBColor = RGBColor(0x1D, 0x5F, 0xC2);
/// The line between them.
pub const LINE: RGBColor = RGBColor(0x4D, 0x8A, 0xE0);
/// The band of the line's error.
pub const BAND: RGBColor = RGBColor(0xD3, 0xE3, 0xF8);
/// Outliers, and clocks that lead nowhere.
pub const OUTLIER: RGBColor = RGBColor(0xC2, 0x2F, 0x2F);
/// Steps.
pub const STEP: RGBColor = RGBColor(0xB2, 0x66, 0x00);
/// Packets.
pub const BAR: RGBColor = RGBColor(0x2E, 0x8B, 0x74);

const COLOURS: [Colour; 10] = [
    Colour { variable: "ink", drawn: INK, dark: "#E6E8EB" },
    Colour { variable: "muted", drawn: MUTED, dark: "#A3A9B1" },
    Colour { variable: "grid", drawn: GRID, dark: "#33383F" },
    Colour { variable: "panel", drawn: PANEL, dark: "#1E2227" },
    Colour { variable: "dot", drawn: DOT, dark: "#8DBBFF" },
    Colour { variable: "line", drawn: LINE, dark: "#5A94E6" },
    Colour { variable: "band", drawn: BAND, dark: "#21344F" },
    Colour { variable: "outlier", drawn: OUTLIER, dark: "#FF8A80" },
    Colour { variable: "step", drawn: STEP, dark: "#F2B25C" },
    Colour { variable: "bar", drawn: BAR, dark: "#5CC4A8" },
];

fn hex(colour: RGBColor) -> String {
    let RGBColor(red, green, blue) = colour;
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The variables of both kinds of page, and the rules that apply them to drawings.
pub fn css() -> String {
    let (mut light, mut dark, mut rules) = (String::new(), String::new(), String::new());
    for Colour { variable, drawn, dark: on_dark } in COLOURS {
        let drawn = hex(drawn);
        // Writing to a String does not fail.
        let _ = write!(light, "--{variable}:{drawn};");
        let _ = write!(dark, "--{variable}:{on_dark};");
        for property in ["fill", "stroke"] {
            let _ = writeln!(rules, "svg [{property}=\"{drawn}\"]{{{property}:var(--{variable})}}");
        }
    }
    format!(
        ":root{{{light}--paper:#FFFFFF}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}--paper:#14171A}}}}\n{rules}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_its_own_number_and_both_rules() {
        let css = css();
        for colour in COLOURS {
            let drawn = hex(colour.drawn);
            assert_eq!(css.matches(&format!("[fill=\"{drawn}\"]")).count(), 1);
            assert_eq!(css.matches(&format!("[stroke=\"{drawn}\"]")).count(), 1);
            assert_ne!(drawn, colour.dark);
        }
    }
}
