//! Curves of several runs on one plot: runs of one recipe that differ in seed or split alone become one curve with a mean and
//! a spread, as they share a line of the table.

use super::{Keys, Spread, data_names, identity, labels, place_of, summary};
use crate::figure::Series;
use crate::recipe::Recipe;
use std::collections::BTreeMap;

/// What grouping asks of a run.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub name: &'a str,
    /// None where it cannot be read: the run stands alone.
    pub recipe: Option<&'a Recipe>,
    /// SHA-256 of the data file; empty for a toy.
    pub hash: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// "vifo-mean eta=0.1, 3 seeds", or the name of the one run.
    pub name: String,
    /// Places among the members that were given.
    pub members: Vec<usize>,
}

/// Groups in the order of their first member.
pub fn groups(members: &[Member]) -> Vec<Group> {
    let (mut data, mut methods): (Vec<Keys>, Vec<Keys>) = (vec![], vec![]);
    let mut firsts: Vec<&Recipe> = vec![];
    // (data, method) -> members with different (seed, split).
    let mut cells: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut alone = vec![];
    for (i, member) in members.iter().enumerate() {
        let Some((recipe, (d, m))) = member.recipe.and_then(|r| Some((r, identity(r, member.hash).ok()?))) else {
            alone.push(i);
            continue;
        };
        let d = place_of(&mut data, d);
        if d == firsts.len() {
            firsts.push(recipe);
        }
        let cell = cells.entry((d, place_of(&mut methods, m))).or_default();
        let pair = |r: &Recipe| (r.seed, r.data.split);
        // Twice the same experiment would count as two seeds.
        let known = cell.iter().any(|&other| members[other].recipe.is_some_and(|r| pair(r) == pair(recipe)));
        if known { alone.push(i) } else { cell.push(i) }
    }
    let blocks: Vec<Vec<usize>> =
        (0..data.len()).map(|d| cells.range((d, 0)..(d + 1, 0)).map(|((_, m), _)| *m).collect()).collect();
    let (labels, data_names) = (labels(&methods, &blocks), data_names(&data, &firsts));
    let name = |d: usize, m: usize, n: usize| {
        let of = if data.len() > 1 { format!("{}, ", data_names[d]) } else { String::new() };
        format!("{of}{}, {n} seeds", labels[m])
    };
    let single = |i: usize| Group { name: members[i].name.into(), members: vec![i] };
    let mut all: Vec<Group> = alone.into_iter().map(single).collect();
    all.extend(cells.into_iter().map(|((d, m), of)| match of[..] {
        [one] => single(one),
        _ => Group { name: name(d, m, of.len()), members: of },
    }));
    all.sort_by_key(|g| g.members[0]);
    all
}

/// One run's curve: `x` is what it is drawn against. All three are equally long; `epoch` ascends.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    pub epoch: &'a [f64],
    pub x: &'a [f64],
    pub y: &'a [f64],
}

/// Mean and spread, as the `sd` of the series, at every epoch that a curve has, over the curves that have it: NaN among them is NaN in the mean, and
/// so a gap there alone. Where one curve has the epoch the sd is NaN: it shows no band. A single curve has no sd at all.
pub fn merge(name: &str, curves: &[Curve], spread: Spread) -> Series {
    let mut out = Series { name: name.into(), ..Default::default() };
    let mut sd = vec![];
    let mut at = vec![0; curves.len()];
    loop {
        let heads = || curves.iter().zip(&at).filter_map(|(c, &i)| c.epoch.get(i).copied());
        let epoch = heads().fold(f64::INFINITY, f64::min);
        if !epoch.is_finite() {
            break;
        }
        let (mut x, mut y) = (vec![], vec![]);
        for (c, i) in curves.iter().zip(&mut at) {
            if c.epoch.get(*i) == Some(&epoch) {
                x.extend(c.x.get(*i));
                y.extend(c.y.get(*i));
                *i += 1;
            }
        }
        let (x, y) = (summary(&x).mean, summary(&y));
        // Seconds, over fewer and faster runs than at the epoch before, could go back.
        out.x.push(out.x.last().map_or(x, |before| before.max(x)));
        out.y.push(y.mean);
        sd.push(y.sd.map_or(f64::NAN, |sd| spread.half(sd, y.n)));
    }
    out.sd = (curves.len() > 1).then_some(sd);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Manifest;
    use crate::run::folder::Asked;

    fn recipe(text: &str) -> Recipe {
        Recipe::from_table(&Recipe::parse(text, "t").expect("TOML"), "t").expect("a recipe")
    }

    fn of(name: &'static str, recipe: Option<&'static Recipe>) -> Member<'static> {
        Member { name, recipe, hash: "" }
    }

    #[test]
    fn seeds_of_one_recipe_share_a_group_and_nothing_else_does() {
        let fixed = |text: &str| -> &'static Recipe { Box::leak(Box::new(recipe(text))) };
        let sinusoid = |extra: &str| fixed(&format!("{extra}\n[data]\ntoy = \"sinusoid\"\n"));
        let (one, two) = (sinusoid("seed = 1\nname = \"a\""), sinusoid("seed = 2\ndevice = \"cpu\""));
        let other = fixed("[data]\ntoy = \"sinusoid\"\n[method]\neta = 1.0\n");
        let runs =
            [of("a", Some(one)), of("broken", None), of("c", Some(other)), of("b", Some(two)), of("again", Some(one))];
        let names = |g: &[Group]| g.iter().map(|g| (g.name.clone(), g.members.clone())).collect::<Vec<_>>();
        let expected = [
            ("vifo-mean eta=default, 2 seeds", vec![0, 3]),
            ("broken", vec![1]),
            ("c", vec![2]),
            // The same seed of the same recipe is no second seed.
            ("again", vec![4]),
        ];
        assert_eq!(names(&groups(&runs)), expected.map(|(n, m)| (n.to_string(), m)));
        // Another data set: the names say which.
        let moons = ["seed = 1", "seed = 2"].map(|s| fixed(&format!("{s}\n[data]\ntoy = \"moons\"\n")));
        let runs = [of("a", Some(one)), of("b", Some(two)), of("m", Some(moons[0])), of("n", Some(moons[1]))];
        let found = names(&groups(&runs));
        assert_eq!(found[0].0, "sinusoid, vifo-mean, 2 seeds");
        assert_eq!(found[1], ("moons, vifo-mean, 2 seeds".to_string(), vec![2, 3]));
        assert_eq!(groups(&[]), []);
    }

    /// A time becomes other numbers in each run: what was asked for is one.
    #[test]
    fn seeds_of_one_budget_share_a_group() {
        let text = |seed: u32| {
            format!(
                "seed = {seed}\n[data]\nfile = \"a.csv\"\n[train]\nbudget = \"5s\"\nbatch = 16\n[method]\nmembers = 32\n"
            )
        };
        let settled = |seed: u32, epochs: u32| -> Recipe {
            let asked = recipe(&text(seed));
            let mut settled = asked.clone();
            (settled.train.budget, settled.train.epochs, settled.method.members) = (None, Some(epochs), 8);
            let manifest = serde_json::json!({
                "vifo": "", "git": "", "device": "cpu", "seed": seed, "data": "", "train_rows": 9, "validation_rows": 0,
                "test_rows": 0, "state": "finished", "notes": [], "asked": Asked::of(&asked),
            });
            let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
            let known = manifest.as_asked(settled);
            assert_eq!(known, asked);
            known
        };
        let fixed = |r: Recipe| -> &'static Recipe { Box::leak(Box::new(r)) };
        let runs = [of("a", Some(fixed(settled(1, 87)))), of("b", Some(fixed(settled(2, 91))))];
        assert_eq!(groups(&runs).iter().map(|g| g.members.clone()).collect::<Vec<_>>(), [vec![0, 1]]);
        // What the number of rows decides is the same each time, and is written as it is.
        assert_eq!(Asked::of(&recipe("[data]\nfile = \"a.csv\"\n[train]\nbudget = \"auto\"\n")), None);
    }

    #[test]
    fn mean_and_sd_over_those_that_reached_the_epoch() {
        // By hand: epoch 1 has 1, 2, 6: mean 3, sd sqrt((4 + 1 + 9) / 2) = sqrt 7; epoch 2 has 4, 8: mean 6, sd sqrt 8;
        // epoch 3 a NaN: a gap; epoch 4 is one seed's alone: no sd. Steps go along with the epochs.
        let (e3, e4, e1) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [1.0]);
        let steps = [10.0, 20.0, 30.0, 40.0];
        let curves = [
            Curve { epoch: &e3, x: &steps[..3], y: &[1.0, 4.0, f64::NAN] },
            Curve { epoch: &e4, x: &steps, y: &[2.0, 8.0, 5.0, 7.0] },
            Curve { epoch: &e1, x: &steps[..1], y: &[6.0] },
        ];
        let s = merge("g", &curves, Spread::Sd);
        assert_eq!(s.x, steps);
        assert_eq!((s.y[0], s.y[1], s.y[3]), (3.0, 6.0, 7.0));
        assert!(s.y[2].is_nan(), "the gap is the mean's too");
        let error = merge("g", &curves, Spread::Se).sd.expect("several curves");
        assert!((error[0] - (7f64 / 3.0).sqrt()).abs() < 1e-15 && (error[1] - 2.0).abs() < 1e-15, "{error:?}");
        let sd = s.sd.expect("several curves");
        assert!((sd[0] - 7f64.sqrt()).abs() < 1e-15 && (sd[1] - 8f64.sqrt()).abs() < 1e-15, "{sd:?}");
        assert!(sd[2].is_nan() && sd[3].is_nan());
    }

    #[test]
    fn one_curve_stays_as_it_is_and_time_does_not_go_back() {
        let alone = merge("a", &[Curve { epoch: &[1.0, 2.0], x: &[0.5, 0.9], y: &[3.0, f64::NAN] }], Spread::Sd);
        assert_eq!((alone.x, alone.y[0], alone.sd), (vec![0.5, 0.9], 3.0, None));
        // A slow run that ends early: 9 s at epoch 1 in the mean of 1 and 17, then 2 s of the fast one.
        let slow = Curve { epoch: &[1.0], x: &[17.0], y: &[1.0] };
        let fast = Curve { epoch: &[1.0, 2.0], x: &[1.0, 2.0], y: &[1.0, 1.0] };
        assert_eq!(merge("b", &[slow, fast], Spread::Sd).x, [9.0, 9.0]);
        assert!(merge("none", &[], Spread::Sd).x.is_empty());
    }
}
