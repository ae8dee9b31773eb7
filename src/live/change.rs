//! What a change of the recipe does to a training that runs: nothing but steer it, rebuild it around the same weights, or
//! begin it anew. The app asks before it applies one, the worker when it does.

use crate::recipe::Recipe;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// In order: the worst of several changes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Nothing,
    /// From the next step on, at no cost.
    Steers,
    /// Same weights and optimizer, a newly recorded program.
    Rebuilds,
    /// Other weights: from step 0.
    Restarts,
}

/// Keys in `a` and `b` that differ, "section.key" each.
pub fn changed_keys(a: &Recipe, b: &Recipe) -> Vec<String> {
    let table = |r: &Recipe| Table::try_from(r).unwrap_or_default();
    let (a, b) = (table(a), table(b));
    let mut keys = vec![];
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        match (a.get(name), b.get(name)) {
            (Some(Value::Table(x)), Some(Value::Table(y))) => {
                let mut inner: Vec<&String> = x.keys().chain(y.keys()).collect();
                inner.sort();
                inner.dedup();
                keys.extend(inner.into_iter().filter(|k| x.get(*k) != y.get(*k)).map(|k| format!("{name}.{k}")));
            }
            (x, y) if x != y => keys.push(name.clone()),
            _ => {}
        }
    }
    keys
}

/// What the change of one key does.
fn effect_of_key(key: &str, a: &Recipe, b: &Recipe) -> Effect {
    let draws_weights = crate::method::find(&b.method.name).is_some_and(|m| m.samples_weights());
    match key {
        "name" | "train.checkpoint_seconds" => Effect::Steers,
        "method.eta" | "train.lr" | "train.schedule" | "train.weight_decay" | "train.kl_warmup" => Effect::Steers,
        "train.epochs" | "train.patience" | "train.evaluate_every" => Effect::Steers,
        "train.swa_start" | "train.swa_lr" | "repulsive.strength" | "vbll.regularizer" | "laplace.prior_variance" => {
            Effect::Steers
        }
        "repulsive.space" | "repulsive.prior_variance" => Effect::Rebuilds,
        "laplace.structure" | "laplace.prior_precision" | "laplace.predict" => Effect::Rebuilds,
        // Its program exists only where it is above 0.
        "method.eta_aux" if (a.method.eta_aux > 0.0) == (b.method.eta_aux > 0.0) => Effect::Steers,
        "train.clip" if (a.train.clip > 0.0) == (b.train.clip > 0.0) => Effect::Steers,
        // VIFO's samples live in the head; VI's are replicas of the network.
        "method.samples" if !draws_weights => Effect::Steers,
        "method.eta_aux" | "method.samples" | "train.clip" | "method.expectation" | "method.aux_source" => {
            Effect::Rebuilds
        }
        "train.batch" | "train.optimizer" | "train.momentum" | "train.watch_test" | "predict.samples" => {
            Effect::Rebuilds
        }
        "method.sigma_link" | "method.noise_link" | "net.dropout" => Effect::Rebuilds,
        "data.points" if is_taken_over(a, b) => Effect::Rebuilds,
        key if key.starts_with("prior.") => Effect::Steers,
        _ => Effect::Restarts,
    }
}

/// The classes that a recipe's own points have, or its toy's; None where neither tells.
fn classes(recipe: &Recipe) -> Option<BTreeSet<u64>> {
    let data = &recipe.data;
    let of_points = |rows: &Vec<Vec<f64>>| rows.iter().filter_map(|r| r.get(2)).map(|c| c.to_bits()).collect();
    let of_toy = |kind: crate::data::toy::ToyKind| (0..kind.classes()).map(|c| (c as f64).to_bits()).collect();
    data.points.as_ref().map(of_points).or(data.toy.map(of_toy))
}

/// Whether the points of `b` are those of `a`, or of its toy, moved, added to or fewer: the weights keep their meaning. Another
/// class is another output of the network.
fn is_taken_over(a: &Recipe, b: &Recipe) -> bool {
    b.data.points.is_some() && classes(a).is_some_and(|of| Some(of) == classes(b))
}

/// The worst of what the changes from `a` to `b` do.
pub fn effect_of(a: &Recipe, b: &Recipe) -> Effect {
    // A toy whose points are taken over one by one is the same data.
    let taken_over = is_taken_over(a, b);
    let of = |key: &String| match key.as_str() {
        k if k.starts_with("data.") && taken_over => Effect::Rebuilds,
        k => effect_of_key(k, a, b),
    };
    changed_keys(a, b).iter().map(of).max().unwrap_or(Effect::Nothing)
}

/// Of the changes from `running` to `draft`: the recipe with those that need no restart, and the keys of the others.
pub fn split(running: &Recipe, draft: &Recipe) -> (Recipe, Vec<String>) {
    let keys = changed_keys(running, draft);
    let taken_over = is_taken_over(running, draft);
    let waits = |key: &String| match key.as_str() {
        k if k.starts_with("data.") && taken_over => false,
        k => effect_of_key(k, running, draft) == Effect::Restarts,
    };
    let (waiting, mut live): (Vec<String>, Vec<String>) = keys.into_iter().partition(waits);
    if waiting.is_empty() {
        return (draft.clone(), waiting);
    }
    // The weights, priors and rates of another method, or of other data, say nothing about the ones that run.
    if waiting.iter().any(|k| k == "method.name") {
        live.retain(|k| k.starts_with("data."));
    } else if waiting.iter().any(|k| k == "data.toy") {
        live.clear();
    }
    let (mut next, from) = (Table::try_from(running).unwrap_or_default(), Table::try_from(draft).unwrap_or_default());
    for key in &live {
        let Some((section, name)) = key.split_once('.') else { continue };
        let value = from.get(section).and_then(|s| s.get(name)).cloned();
        if let Some(to) = next.get_mut(section).and_then(Value::as_table_mut) {
            match value {
                Some(value) => drop(to.insert(name.into(), value)),
                None => drop(to.remove(name)),
            }
        }
    }
    // Keys that hold only together (a method and its prior) may not hold apart.
    let next = crate::method::checked(&next, "recipe").unwrap_or_else(|_| running.clone());
    (next, waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::keys;

    fn recipe(sets: &[(&str, &str)]) -> Recipe {
        let mut table = Recipe::parse("[data]\ntoy = \"sinusoid\"\n", "t").expect("a recipe");
        for (key, value) in sets {
            keys::set(&mut table, key, value, "t").expect("allowed");
        }
        crate::method::checked(&table, "t").expect("a recipe")
    }

    #[test]
    fn each_change_has_its_effect_and_the_worst_counts() {
        let before = recipe(&[]);
        let effect = |sets: &[(&str, &str)]| effect_of(&before, &recipe(sets));
        assert_eq!(effect(&[]), Effect::Nothing);
        assert_eq!(effect(&[("method.eta", "0.3")]), Effect::Steers);
        assert_eq!(effect(&[("prior.gamma", "1"), ("train.lr", "0.1"), ("method.samples", "9")]), Effect::Steers);
        assert_eq!(effect(&[("method.eta_aux", "0.3")]), Effect::Rebuilds);
        assert_eq!(effect(&[("method.eta", "0.3"), ("train.batch", "9")]), Effect::Rebuilds);
        assert_eq!(effect(&[("net.hidden", "[7]")]), Effect::Restarts);
        assert_eq!(effect(&[("method.name", "\"base\""), ("method.eta", "0.3")]), Effect::Restarts);
        assert_eq!(effect(&[("data.rows", "50")]), Effect::Restarts);
        let aux = recipe(&[("method.eta_aux", "0.3")]);
        assert_eq!(effect_of(&aux, &recipe(&[("method.eta_aux", "0.7")])), Effect::Steers);
    }

    #[test]
    fn a_draft_is_parted_into_what_goes_on_and_what_waits() {
        let running = recipe(&[]);
        let draft = recipe(&[("method.eta", "0.7"), ("prior.variance", "2"), ("net.hidden", "[9]"), ("seed", "5")]);
        let (next, waiting) = split(&running, &draft);
        assert_eq!((next.method.eta, next.prior.variance, next.seed), (Some(0.7), Some(2.0), 1));
        assert_eq!(waiting, ["net.hidden", "seed"]);
        assert_eq!(split(&running, &running), (running.clone(), vec![]));
    }

    /// SWAG takes eta_aux, the schedule and more with it; moons take the noise link. None of it is for the training that runs.
    #[test]
    fn bug_2_a_choice_of_method_or_data_changes_nothing_that_runs() {
        let running = recipe(&[("method.eta_aux", "1"), ("train.schedule", "\"constant\"")]);
        let draft = recipe(&[("method.name", "\"swag\""), ("method.eta", "0.7"), ("seed", "5")]);
        let (next, waiting) = split(&running, &draft);
        assert_eq!(next, running);
        assert_eq!(waiting, ["method.name", "seed"]);
        let draft = recipe(&[("data.toy", "\"moons\""), ("method.noise_link", "\"exp\""), ("method.eta", "0.7")]);
        assert_eq!(split(&running, &draft), (running.clone(), vec!["data.toy".into()]));
    }

    #[test]
    fn bug_10_a_point_of_a_new_class_waits_for_consent() {
        let with = |classes: &[f64]| {
            let mut r = recipe(&[("data.toy", "\"moons\""), ("data.validation_fraction", "0")]);
            r.data.toy = None;
            r.data.points = Some(classes.iter().enumerate().map(|(i, c)| vec![i as f64, 0.5, *c]).collect());
            r
        };
        let moons = recipe(&[("data.toy", "\"moons\"")]);
        let (two, moved, three) = (with(&[0.0, 1.0, 1.0]), with(&[0.0, 1.0, 0.0, 1.0]), with(&[0.0, 1.0, 2.0]));
        assert_eq!(effect_of(&two, &moved), Effect::Rebuilds);
        assert_eq!(effect_of(&moons, &two), Effect::Rebuilds);
        for before in [&two, &moons] {
            assert_eq!(effect_of(before, &three), Effect::Restarts);
            let (next, waiting) = split(before, &three);
            assert_eq!(&next, before);
            assert!(waiting.contains(&"data.points".to_string()), "{waiting:?}");
        }
        // The last point of a class goes: another network as well.
        assert_eq!(effect_of(&three, &two), Effect::Restarts);
    }

    #[test]
    fn points_that_replace_their_toy_keep_the_weights() {
        let toy = recipe(&[]);
        let mut points = toy.clone();
        points.data.toy = None;
        points.data.points = Some(vec![vec![0.0, 1.0], vec![1.0, 2.0]]);
        points.data.validation_fraction = 0.0;
        assert_eq!(effect_of(&toy, &points), Effect::Rebuilds);
        let mut moved = points.clone();
        moved.data.points = Some(vec![vec![0.5, 1.0], vec![1.0, 2.0]]);
        assert_eq!(effect_of(&points, &moved), Effect::Rebuilds);
        assert_eq!(effect_of(&points, &toy), Effect::Restarts);
    }
}
