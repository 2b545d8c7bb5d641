//! The visible layers, and the reasons why others are hidden (rule WS18).

use rustc_hash::FxHashMap;

use super::layer::{Display, Layer};
use crate::trackers::winscope::geometry::Rect;

/// The visible layers above with which a layer is compared, and the ancestors of one. Recorded snapshots
/// have some hundred layers; without a bound, a made-up one with a million would take hours.
const MOST: usize = 1000;

/// The visibility of a layer.
#[derive(Debug, Default)]
pub(super) struct Visibility {
    pub is_visible: bool,
    pub reasons: Vec<String>,
    pub occluded_by: Vec<i32>,
    pub partially_occluded_by: Vec<i32>,
    pub covered_by: Vec<i32>,
}

/// The layers of a snapshot, and what is known of all of them.
pub(super) struct Snapshot<'s> {
    pub layers: &'s [Layer<'s>],
    pub places: &'s FxHashMap<i32, usize>,
    pub displays: &'s [Display],
    /// Whether the state of the composition is left out.
    pub excludes_composition: bool,
}

impl Snapshot<'_> {
    /// The visibility of each drawn layer, by its place.
    pub fn visibility(&self, bottom_to_top: &[usize]) -> FxHashMap<usize, Visibility> {
        let (mut opaque, mut others) = (Vec::new(), Vec::new());
        let mut all = FxHashMap::default();
        for &place in bottom_to_top.iter().rev() {
            let Some(layer) = self.layers.get(place) else {
                continue;
            };
            let mut of =
                Visibility { is_visible: self.is_visible_alone(layer), ..Default::default() };
            if of.is_visible {
                self.compare(layer, (&opaque, &others), &mut of);
                match layer.is_opaque() {
                    true => opaque.push(place),
                    false => others.push(place),
                }
            }
            if !of.is_visible {
                of.reasons = self.reasons(layer, !of.occluded_by.is_empty());
            }
            all.insert(place, of);
        }
        all
    }

    /// Compares a layer with the visible layers above it.
    fn compare(
        &self,
        layer: &Layer<'_>,
        (opaque, others): (&[usize], &[usize]),
        of: &mut Visibility,
    ) {
        let mut of_stack =
            self.displays.iter().rev().filter(|display| display.stack == layer.stack);
        let display = of_stack.find_map(|display| display.shows);
        let Some(bounds) = layer.screen_bounds(display) else {
            return;
        };
        let above = |places: &[usize]| {
            let layers = places.iter().take(MOST).filter_map(|place| self.layers.get(*place));
            let of_stack = layers.filter(|above| above.stack == layer.stack);
            of_stack.filter_map(|above| Some((*above, above.screen_bounds(display)?))).collect()
        };
        let above_opaque: Vec<(Layer<'_>, Rect)> = above(opaque);
        for (above, above_bounds) in above_opaque {
            let Some(id) = above.id else {
                continue;
            };
            let contains = above_bounds.contains(above.radii(), bounds, layer.radii());
            if contains && !above.has_invalid_rotation() {
                of.is_visible = false;
                of.occluded_by.push(id);
            } else if above_bounds.meets(bounds) {
                of.partially_occluded_by.push(id);
            }
        }
        let above_others: Vec<(Layer<'_>, Rect)> = above(others);
        let meeting = above_others.iter().filter(|(_, above)| above.meets(bounds));
        of.covered_by.extend(meeting.filter_map(|(above, _)| above.id));
    }

    /// Whether an ancestor is hidden by policy. A circle of ancestors ends, too.
    fn is_hidden_by_parent(&self, layer: &Layer<'_>) -> bool {
        let mut of = *layer;
        for _ in 0..MOST {
            let parent = of.parent.filter(|_| !of.is_root());
            let parent = parent.and_then(|parent| self.places.get(&parent));
            let Some(parent) = parent.and_then(|place| self.layers.get(*place)) else {
                return false;
            };
            if parent.is_hidden_by_policy() {
                return true;
            }
            of = *parent;
        }
        false
    }

    /// Whether a layer is visible if nothing is above it.
    fn is_visible_alone(&self, layer: &Layer<'_>) -> bool {
        let is_hidden = layer.is_hidden_by_policy() || self.is_hidden_by_parent(layer);
        let has_color = layer.color().is_some_and(|color| color.alpha > 0.0);
        let has_content = layer.has_buffer() || layer.has_effect();
        let has_region = match self.excludes_composition {
            true => layer.bounds().is_some_and(|bounds| !bounds.is_empty()),
            false => layer.has_visible_region().unwrap_or(false),
        };
        !is_hidden && has_color && has_content && has_region
    }

    fn reasons(&self, layer: &Layer<'_>, is_occluded: bool) -> Vec<String> {
        let color = layer.color();
        let has_no_alpha = color.is_none_or(|color| color.alpha <= 0.0 && color.alpha > -1.0);
        let is_color_empty = has_no_alpha || color.is_some_and(|color| !color.is_valid);
        let has_no_bounds = layer.bounds().is_none_or(Rect::is_empty);
        let has_buffer = layer.has_buffer();
        let has_content = has_buffer || layer.has_effect() || layer.has_blur();
        let region = layer.has_visible_region();
        let is_undecided = region.is_none() && !self.excludes_composition;
        let parent = layer.parent.unwrap_or(0);
        let by_parent = format!("hidden by parent {parent}");
        let reasons = [
            (layer.is_hidden_by_policy(), "flag is hidden"),
            (self.is_hidden_by_parent(layer), &*by_parent),
            (!has_buffer, "buffer is empty"),
            (has_no_alpha, "alpha is 0"),
            (has_no_bounds, "bounds is 0x0"),
            (has_no_bounds && is_color_empty, "crop is 0x0"),
            (!layer.matrix().is_valid(), "transform is invalid"),
            (!has_content, "does not have color fill, shadow or blur"),
            (region == Some(false), "visible region calculated by Composition Engine is empty"),
            (is_undecided, "null visible region"),
            (is_occluded, "occluded"),
        ];
        let said = reasons.into_iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, reason)| reason.to_owned()).collect()
    }
}
