//! Where ours departs from what the paper did, derived from the recipes that are run and from nothing else: a note stands here
//! only while the program does what it says. The paper's side is MATH.md, sections 5, 6 and 9.

use super::mapping::{Family, Show};
use super::plan::{PAPER_BATCH, PAPER_EPOCHS, PAPER_MEMBERS, PAPER_SEEDS, PlannedRun};
use super::work::Prepared;
use crate::method::{laplace, swag};
use crate::recipe::{NetName, Recipe, Schedule};
use crate::run::RunFolder;

/// A run of a set that the paper has, with the recipe that it was or will be trained by.
fn recipes(p: &Prepared) -> Vec<(&PlannedRun, Recipe)> {
    let stored = |r: &PlannedRun| RunFolder::open(&r.folder).and_then(|f| f.recipe()).ok();
    let runs = p.runs.iter().filter(|r| r.set.paper.is_some());
    runs.filter_map(|r| Some((r, r.recipe.clone().or_else(|| stored(r))?))).collect()
}

/// Sentences without a full stop, the same for every table that they hold for.
pub fn departures(p: &Prepared) -> Vec<String> {
    let all = recipes(p);
    let any = |test: &dyn Fn(&PlannedRun, &Recipe) -> bool| all.iter().any(|(run, recipe)| test(run, recipe));
    let mut out: Vec<String> = scale(p).into_iter().collect();
    let mut say = |holds: bool, text: &str| {
        if holds {
            out.push(text.into());
        }
    };
    say(
        !all.is_empty(),
        "images are normalised by the mean and sd of their own training images; the paper's program has one set of constants for all",
    );
    say(
        any(&|run, recipe| run.set.name == "svhn" && recipe.data.flip != Some(true)),
        "SVHN's training images are not mirrored (a mirrored digit is another sign); the paper's program mirrors all",
    );
    say(
        any(&|run, _| run.method.ours == laplace::NAME),
        "Laplace: the normal prior of its training is on the last layer alone; the paper trains the network to a MAP solution",
    );
    say(
        any(&|_, recipe| recipe.train.adam_epochs > 0),
        "SVHN: SGD, SWA and SWAG begin with 5 epochs of Adam at 0.001, with every network; the paper begins AlexNet from a model \
         trained at a rate of 0.1",
    );
    say(
        any(&|run, _| run.method.ours == swag::NAME),
        "SWAG draws its diagonal part with the sd, as its formula says; the paper's program with the variance",
    );
    say(
        any(&|run, _| run.network == NetName::PreResNet),
        "PreResNet20 predicts with running statistics of batch normalisation; the paper's program with those of each test batch",
    );
    say(
        any(&|_, recipe| recipe.data.validation_fraction > 0.0),
        "learning curves are of a tenth of the training images, held out: training sees nine tenths of them",
    );
    say(
        any(&|_, recipe| recipe.train.schedule == Some(Schedule::Swa) && recipe.train.epochs != Some(PAPER_EPOCHS)),
        "SGD, SWA and SWAG: the schedule of 500 epochs is shortened with them, share by share",
    );
    say(
        matches!(p.request.table.show, Show::Cells(m) if m.paper == "ece") && !all.is_empty(),
        "ECE counts every image; the paper's program drops those whose confidence lies on the edge of a bin",
    );
    out
}

/// How ours differ from the paper's in scale.
fn scale(p: &Prepared) -> Option<String> {
    let a = &p.request;
    if a.table.show == Show::Time || !a.sets.iter().any(|s| s.paper.is_some()) || p.runs.is_empty() {
        return None;
    }
    let mut differs = vec![];
    if a.epochs != PAPER_EPOCHS {
        differs.push(format!("epochs {} ({PAPER_EPOCHS})", a.epochs));
    }
    if let Some(limit) = a.limit {
        differs.push(format!("training images {limit} (all)"));
    }
    if a.batch != PAPER_BATCH {
        differs.push(format!("images per step {} ({PAPER_BATCH})", a.batch));
    }
    if a.seeds.len() != PAPER_SEEDS {
        differs.push(format!("seeds {} ({PAPER_SEEDS})", a.seeds.len()));
    }
    let ensembles = p.runs.iter().any(|r| r.method.family != Family::Vi && r.members > 1);
    if ensembles && a.members != PAPER_MEMBERS {
        differs.push(format!("members {} ({PAPER_MEMBERS})", a.members));
    }
    (!differs.is_empty()).then(|| format!("ours are of another scale, the paper's in brackets: {}", differs.join(", ")))
}
