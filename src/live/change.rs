//! What a change of the recipe does to a running training: steer it, rebuild it around the same weights, or restart it.
//! The app asks before it applies one, the worker when it does.

use crate::method;
pub use crate::recipe::keys::Effect;
use crate::recipe::keys::{Key, diff};
use crate::recipe::{Recipe, key};

/// What the change of one key does. VIFO's samples live in the head; a method that samples weights has a replica for each.
fn effect(key: &Key, a: &Recipe, b: &Recipe) -> Effect {
    let more_replicas =
        key.path == key!(method.samples).path && method::find(&b.method.name).is_some_and(|m| m.samples_weights());
    if more_replicas { Effect::Rebuilds } else { key.effect(a, b) }
}

/// The worst of what the changes from `a` to `b` do.
pub fn effect_of(a: &Recipe, b: &Recipe) -> Effect {
    diff(a, b).iter().map(|k| effect(k, a, b)).max().unwrap_or(Effect::Nothing)
}

/// Of the changes from `running` to `draft`: the recipe with those that need no restart, and the keys of the others.
pub fn split(running: &Recipe, draft: &Recipe) -> (Recipe, Vec<String>) {
    let (waiting, mut live): (Vec<&Key>, Vec<&Key>) =
        diff(running, draft).into_iter().partition(|k| effect(k, running, draft) == Effect::Restarts);
    let names = waiting.iter().map(|k| k.path.to_string()).collect();
    if waiting.is_empty() {
        return (draft.clone(), names);
    }
    // The weights, priors and rates of another method, or of other data, say nothing about the ones that run.
    let waits = |key: &Key| waiting.iter().any(|k| k.path == key.path);
    if waits(key!(method.name)) {
        live.retain(|k| k.path.starts_with("data."));
    } else if waits(key!(data.toy)) {
        live.clear();
    }
    let mut next = running.clone();
    for key in &live {
        key.copy(&mut next, draft);
    }
    // Keys that hold only together (a method and its prior) may not hold apart.
    let holds = live.iter().all(|k| k.is_allowed(&next)) && method::check(&next, "recipe").is_ok();
    (if holds { next } else { running.clone() }, names)
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
        // Other starts, and rates that go with them.
        assert_eq!(effect(&[("net.parametrisation", "\"ntk\"")]), Effect::Restarts);
        for (key, value) in [("train.average", "0.9"), ("train.beta2", "0.95"), ("train.optimizer", "\"adamw\"")] {
            assert_eq!(effect(&[(key, value)]), Effect::Rebuilds);
        }
        assert_eq!(effect(&[("net.dropout_schedule", "\"flat_cosine\"")]), Effect::Rebuilds);
        assert_eq!(effect(&[("train.weight_decay_schedule", "\"flat_cosine\"")]), Effect::Steers);
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

    #[test]
    fn a_live_change_is_taken_up_though_another_waits() {
        let running = recipe(&[("train.swa_lr", "0.1")]);
        let mut draft = recipe(&[("name", "\"other\""), ("prior.gamma", "0.7"), ("net.hidden", "[9]")]);
        let (next, waiting) = split(&running, &draft);
        // The name, a number, and a key that is left out from now on.
        assert_eq!((next.name.as_deref(), next.prior.gamma, next.train.swa_lr), (Some("other"), 0.7, None));
        assert_eq!((next.net.hidden.as_ref(), waiting), (None, vec!["net.hidden".to_string()]));
        // What is taken up is no change any more; what waits still waits.
        assert_eq!(split(&next, &draft), (next.clone(), vec!["net.hidden".into()]));
        draft.net.hidden = None;
        assert_eq!(next, draft);
    }

    /// Every live key at once, beside one that waits.
    #[test]
    fn no_live_change_is_lost_beside_others() {
        let running = recipe(&[]);
        let live = [
            ("method.eta", "0.7"),
            ("method.samples", "9"),
            ("prior.variance", "2"),
            ("train.epochs", "7"),
            ("train.lr", "0.5"),
            ("train.kl_warmup", "3"),
            ("train.checkpoint_seconds", "5"),
            ("name", "\"other\""),
        ];
        let (next, waiting) = split(&running, &recipe(&[&live[..], &[("seed", "5")]].concat()));
        assert_eq!((next, waiting), (recipe(&live), vec!["seed".to_string()]));
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
