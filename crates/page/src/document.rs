//! The file around a page.
//!
//! # Design
//!
//! A page has no script, font or picture from elsewhere, so people can send the file. A policy in its head tells the
//! browser to load nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::palette;

const STYLE: &str = include_str!("page.css");

/// A whole file: the title of its tab, further styles, and its body.
pub fn html(title: &str, styles: &[&str], body: &Markup) -> String {
    let style = PreEscaped([&[palette::css().as_str(), STYLE], styles].concat().concat());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) }
                style { (style) }
            }
            body { (body) }
        }
    }
    .into_string()
}
