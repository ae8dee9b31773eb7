//! Curves of the ticked runs, seeds of one recipe merged, made again only when a run or the choice has changed.

use super::super::curves::CurveCache;
use super::compared::group_name;
use crate::figure::Series;
use crate::gui::plots::curves::Curve as Shown;
use crate::gui::settings::{CurveAxis, CurveOptions};
use crate::report::compare::Spread;
use crate::report::compare::overlay::{Curve, Group, Member, groups, merge};
use crate::run::watch::Seen;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Everything that there is, by epoch.
pub const ALL: CurveOptions = CurveOptions {
    axis: CurveAxis::Epoch,
    log: false,
    loss: true,
    expected_nll: true,
    regularizer: true,
    auxiliary: true,
    held_out_nll: true,
    score: true,
    smoothing: 0.0,
};

pub type Named = Vec<(String, Vec<Series>)>;

#[derive(Default)]
pub struct Overlay {
    columns: BTreeMap<PathBuf, CurveCache>,
    made: Option<Made>,
}

/// What was made last, and of what.
struct Made {
    runs: Vec<Arc<Seen>>,
    options: CurveOptions,
    spread: Spread,
    named: Rc<Named>,
}

/// Whether both are of the same looks at the same runs.
pub fn same(a: &[Arc<Seen>], b: &[Arc<Seen>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

impl Overlay {
    pub fn of(&mut self, runs: &[Arc<Seen>], options: &CurveOptions, spread: Spread) -> Rc<Named> {
        // Smoothing is of the drawing alone.
        let options = &CurveOptions { smoothing: 0.0, ..*options };
        let is_made = |made: &Made| made.options == *options && made.spread == spread && same(&made.runs, runs);
        if !self.made.as_ref().is_some_and(is_made) {
            self.columns.retain(|path, _| runs.iter().any(|r| r.path == *path));
            for run in runs {
                self.columns.entry(run.path.clone()).or_default().update(&run.rows, run.target_sd);
            }
            let named = Rc::new(self.make(runs, options, spread));
            self.made = Some(Made { runs: runs.to_vec(), options: *options, spread, named });
        }
        self.made.as_ref().map_or_else(Rc::default, |made| made.named.clone())
    }

    fn make(&self, runs: &[Arc<Seen>], options: &CurveOptions, spread: Spread) -> Named {
        let members: Vec<Member> =
            runs.iter().map(|r| Member { name: &r.name, recipe: r.recipe.as_ref(), hash: &r.hash }).collect();
        let shown = |run: &Seen, axis: CurveAxis| {
            let of = CurveOptions { axis, ..*options };
            self.columns.get(&run.path).map_or(vec![], |c| c.shown(&of).iter().map(Shown::to_series).collect())
        };
        // For each run its curves against what is asked for, and against the epochs that align them.
        let curves: Vec<Vec<(Series, Vec<f64>)>> = runs
            .iter()
            .map(|run| {
                let epochs = shown(run, CurveAxis::Epoch).into_iter().map(|s| s.x);
                shown(run, options.axis).into_iter().zip(epochs).collect()
            })
            .collect();
        let merged = |of: &[usize]| -> Vec<Series> {
            let mut names: Vec<&str> = vec![];
            for (s, _) in of.iter().flat_map(|i| &curves[*i]) {
                if !names.contains(&s.name.as_str()) {
                    names.push(&s.name);
                }
            }
            let one = |name: &str| {
                let found = of.iter().filter_map(|i| curves[*i].iter().find(|(s, _)| s.name == name));
                let found: Vec<Curve> = found.map(|(s, epoch)| Curve { epoch, x: &s.x, y: &s.y }).collect();
                merge(name, &found, spread)
            };
            names.into_iter().map(one).collect()
        };
        // A run alone has the name of its folder.
        let name = |g: &Group| if g.members.len() > 1 { group_name(&g.name) } else { g.name.clone() };
        groups(&members).iter().map(|g| (name(g), merged(&g.members))).collect()
    }
}
