//! Changes whose effect on a running training depends on more than the key.

use super::declaration::Effect;
use super::{Recipe, ToyKind};
use std::collections::BTreeSet;

/// Its program exists only where it is above 0.
pub fn of_eta_aux(a: &Recipe, b: &Recipe) -> Effect {
    switched(a.method.eta_aux, b.method.eta_aux)
}

/// Its program exists only where it is above 0.
pub fn of_clip(a: &Recipe, b: &Recipe) -> Effect {
    switched(a.train.clip, b.train.clip)
}

fn switched(a: f64, b: f64) -> Effect {
    if (a > 0.0) == (b > 0.0) { Effect::Steers } else { Effect::Rebuilds }
}

/// Of every key of the data: points that are taken over keep the weights.
pub fn of_data(a: &Recipe, b: &Recipe) -> Effect {
    if is_taken_over(a, b) { Effect::Rebuilds } else { Effect::Restarts }
}

/// The classes that a recipe's own points have, or its toy's; None where neither is known.
fn classes(recipe: &Recipe) -> Option<BTreeSet<u64>> {
    let data = &recipe.data;
    let of_points = |rows: &Vec<Vec<f64>>| rows.iter().filter_map(|r| r.get(2)).map(|c| c.to_bits()).collect();
    let of_toy = |kind: ToyKind| (0..kind.classes()).map(|c| (c as f64).to_bits()).collect();
    data.points.as_ref().map(of_points).or(data.toy.map(of_toy))
}

/// Whether the points of `b` are those of `a`, or of its toy, moved, added to or fewer: the weights keep their meaning. Another
/// class is another output of the network.
fn is_taken_over(a: &Recipe, b: &Recipe) -> bool {
    b.data.points.is_some() && classes(a).is_some_and(|of| Some(of) == classes(b))
}
