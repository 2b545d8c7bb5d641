//! The order in which layers are drawn (rule WS17).

use rustc_hash::{FxHashMap, FxHashSet};

use super::layer::Layer;

/// The places of layers by their ids: the first of an id counts.
pub(super) fn by_id(layers: &[Layer<'_>]) -> FxHashMap<i32, usize> {
    let mut places = FxHashMap::default();
    for (place, layer) in layers.iter().enumerate() {
        if let Some(id) = layer.id {
            places.entry(id).or_insert(place);
        }
    }
    places
}

/// A step of the walk over the layers.
enum Step {
    /// A layer with those below and above it.
    Around(usize),
    /// The layer itself.
    Layer(usize),
}

/// The places of all layers that are drawn, from the bottom to the top. What hangs at no root is not drawn.
pub(super) fn bottom_to_top(layers: &[Layer<'_>], places: &FxHashMap<i32, usize>) -> Vec<usize> {
    let mut roots = Vec::new();
    let mut children: FxHashMap<i32, Vec<usize>> = FxHashMap::default();
    let known = layers
        .iter()
        .enumerate()
        .filter(|(place, layer)| layer.id.is_some_and(|id| places.get(&id) == Some(place)));
    for (place, layer) in known {
        match (layer.relative_parent(), layer.parent) {
            (None, _) if layer.is_root() => roots.push(place),
            (Some(parent), _) => children.entry(parent).or_default().push(place),
            (None, Some(parent)) if parent > 0 => children.entry(parent).or_default().push(place),
            (None, _) => {}
        }
    }
    let order = |place: &usize| layers.get(*place).map(|layer| (layer.z, layer.id));
    roots.sort_by_key(order);
    children.values_mut().for_each(|siblings| siblings.sort_by_key(order));
    let mut drawn = Vec::new();
    let mut seen = FxHashSet::default();
    let mut steps: Vec<Step> = roots.into_iter().rev().map(Step::Around).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Layer(place) => drawn.push(place),
            Step::Around(place) if seen.insert(place) => {
                let id = layers.get(place).and_then(|layer| layer.id);
                let own =
                    id.and_then(|id| children.get(&id)).map(Vec::as_slice).unwrap_or_default();
                let is_below =
                    |child: &&usize| layers.get(**child).is_some_and(|child| child.z < 0);
                steps.extend(
                    own.iter()
                        .rev()
                        .filter(|child| !is_below(child))
                        .map(|child| Step::Around(*child)),
                );
                steps.push(Step::Layer(place));
                steps.extend(own.iter().rev().filter(is_below).map(|child| Step::Around(*child)));
            }
            Step::Around(_) => {}
        }
    }
    drawn
}
