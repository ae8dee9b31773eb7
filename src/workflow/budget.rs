//! How long a training on a table is (`train.budget`): rows per step, epochs and members that the recipe leaves open become
//! numbers before the first step, so that the run's recipe repeats it on any machine.

use crate::base::clock::Instant;
use crate::base::counted::counted;
use crate::data::load::Loaded;
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::{Budget, Recipe};
use crate::tables::rough_duration;
use crate::train::Trainer;
use crate::train::plan::TrainingPlan;
use crate::train::session::Session;

/// Steps after which more of them hardly helped on the development sets (bench/tables).
const STEPS: u32 = 10_000;
/// Fewest and most epochs without a time.
const EPOCHS: (u32, u32) = (30, 1000);
/// Members and parts of the usual epochs, each with more for its time than the one before it helped less.
/// Fewer than four would each hold out more than a quarter of the rows.
const LADDER: [(u32, f64); 8] = [(4, 0.125), (4, 0.25), (8, 0.25), (8, 0.5), (8, 1.0), (16, 1.0), (16, 2.0), (32, 2.0)];
/// Behind the ladder, where time is left: settings to try beside each other, each list for the methods and targets that take it, with
/// members and parts of the usual epochs. On the development sets the choice gains less than members and epochs do, so it
/// comes last.
const VARIANTS: [&[&str]; 2] =
    [&["net.dropout=0", "net.dropout=0.15", "method.likelihood=\"student-t\""], &["net.dropout=0", "net.dropout=0.15"]];
const VARIANT_MEMBERS: (u32, f64) = (16, 2.0);
/// How much longer a step of a variant may take than one of the plain recipe: that of a Student-t does.
const SLOWER: f64 = 1.5;
/// Steps are timed for this long, in seconds.
const PROBE: f64 = 0.4;
/// Share of the time that steps may plan for: the rest is for the test, the figures and a busier machine.
const SHARE: f64 = 0.8;

/// Rows per step for `n` training rows.
fn usual_batch(n: usize) -> u32 {
    ((n / 64) as u32).next_power_of_two().clamp(32, 256)
}

fn usual_epochs(steps_per_epoch: u32) -> u32 {
    STEPS.div_ceil(steps_per_epoch.max(1)).clamp(EPOCHS.0, EPOCHS.1)
}

/// The recipe with everything that its budget decides as numbers, without the budget; what there is to say of it.
pub fn settle(recipe: &Recipe, data: &Loaded, device: &Device) -> Result<(Recipe, Vec<String>)> {
    let Some(budget) = recipe.train.budget()? else { return Ok((recipe.clone(), vec![])) };
    let mut settled = recipe.clone();
    settled.train.budget = None;
    let n = data.train.n;
    settled.train.batch.get_or_insert(usual_batch(n));
    if settled.has_folds() {
        // Every fold has two rows or more.
        settled.method.members = settled.method.members.min((n / 2) as u32).max(2);
    }
    let plan = TrainingPlan::new(&settled, n, &data.encoder)?;
    let usual = usual_epochs(plan.steps_per_epoch());
    let Budget::Seconds(seconds) = budget else {
        settled.train.epochs.get_or_insert(usual);
        return Ok((settled, vec![]));
    };
    let most = settled.method.members;
    let trial = most.min(8);
    let mut probed = settled.clone();
    probed.method.members = trial;
    probed.train.epochs.get_or_insert(usual);
    let per_step = seconds_per_step(&probed, data, device)? / f64::from(trial);
    let time_of = |members: u32, epochs: u32| {
        per_step * f64::from(members) * f64::from(epochs) * f64::from(plan.steps_per_epoch())
    };
    let given = settled.train.epochs;
    let (members, epochs) = choose(SHARE * seconds, most, given, usual, time_of);
    (settled.method.members, settled.train.epochs) = (members, Some(epochs));
    let (members, epochs) = (most.min(VARIANT_MEMBERS.0), part_of(usual, given, VARIANT_MEMBERS.1));
    let is_choice = settled.has_folds() && settled.variant_texts().is_empty();
    for list in VARIANTS.iter().filter(|_| is_choice) {
        let time = SLOWER * list.len() as f64 * time_of(members, epochs);
        let mut tried = settled.clone();
        tried.train.variants = Some(list.iter().map(|v| v.to_string()).collect());
        (tried.method.members, tried.train.epochs) = (members, Some(epochs));
        // The plan refuses what a method or a target does not take.
        if time <= SHARE * seconds && TrainingPlan::new(&tried, n, &data.encoder).is_ok() {
            let said = format!(
                "a budget of {seconds} s: {} for up to {} of each of {} variants, at most {time:.0} s of steps \
                 by a trial of {PROBE} s",
                counted(members as usize, "member"),
                counted(epochs as usize, "epoch"),
                list.len()
            );
            return Ok((tried, vec![said]));
        }
    }
    let (members, epochs) = (settled.method.members, settled.train.epochs.unwrap_or(usual));
    let steps = TrainingPlan::new(&settled, n, &data.encoder)?.steps_per_epoch();
    let mut said = format!(
        "a budget of {seconds} s: {} for up to {} of {}, at most {:.0} s of steps by a trial of {PROBE} s",
        counted(members as usize, "member"),
        counted(epochs as usize, "epoch"),
        counted(steps as usize, "step"),
        time_of(members, epochs)
    );
    if let Some((members, epochs)) = rungs(most, given, usual).find(|(m, e)| time_of(*m, *e) > SHARE * seconds) {
        let time = time_of(members, epochs) / SHARE;
        let (members, epochs) = (counted(members as usize, "member"), counted(epochs as usize, "epoch"));
        said += &format!("; {members} for up to {epochs} would need {}", rough_duration(time));
    }
    Ok((settled, vec![said]))
}

/// The ladder as members and epochs.
fn rungs(most: u32, given: Option<u32>, usual: u32) -> impl DoubleEndedIterator<Item = (u32, u32)> {
    LADDER.iter().map(move |(members, part)| (most.min(*members), part_of(usual, given, *part)))
}

/// Those that were given, or a part of the usual ones.
fn part_of(usual: u32, given: Option<u32>, part: f64) -> u32 {
    given.unwrap_or(((f64::from(usual) * part).ceil() as u32).max(1))
}

/// The last rung of the ladder that there is time for; below the first, as many epochs as there is time for.
fn choose(seconds: f64, most: u32, given: Option<u32>, usual: u32, time_of: impl Fn(u32, u32) -> f64) -> (u32, u32) {
    let fits = |(members, epochs): &(u32, u32)| time_of(*members, *epochs) <= seconds;
    rungs(most, given, usual).rev().find(fits).unwrap_or_else(|| {
        let least = most.min(LADDER[0].0);
        (least, given.unwrap_or(((seconds / time_of(least, 1)) as u32).max(1)))
    })
}

/// Of a training that is thrown away: evaluations are part of it.
fn seconds_per_step(recipe: &Recipe, data: &Loaded, device: &Device) -> Result<f64> {
    let plan = TrainingPlan::new(recipe, data.train.n, &data.encoder)?;
    let device = Session::place(&plan.setup, plan.all_members(), device)?.device;
    let mut trainer = Trainer::new(&plan, data, &device)?;
    // The first step fills caches.
    trainer.advance(1)?;
    let (began, first) = (Instant::now(), trainer.step());
    while began.elapsed().as_secs_f64() < PROBE && trainer.ending().is_none() {
        trainer.advance(8)?;
    }
    // Losses are read back where a GPU would still be at work.
    trainer.losses()?;
    Ok(began.elapsed().as_secs_f64() / (trainer.step() - first).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_per_step_grow_with_the_table() {
        let batches = [1, 1000, 2100, 10_000, 1_000_000].map(usual_batch);
        assert_eq!(batches, [32, 32, 32, 256, 256]);
        assert_eq!([1, 31, 196, 5000].map(usual_epochs), [1000, 323, 52, 30]);
    }

    /// More time never gives less, nothing exceeds its time where anything fits, and what is given stays.
    #[test]
    fn more_time_gives_more() {
        let time_of = |members: u32, epochs: u32| 0.001 * f64::from(members * epochs);
        let mut last = 0.0;
        for seconds in [0.004, 0.03, 0.1, 0.4, 0.8, 1.6, 3.2, 12.0, 100.0] {
            let (members, epochs) = choose(seconds, 32, None, 200, time_of);
            let work = time_of(members, epochs);
            assert!(work <= seconds && work >= last, "{seconds}: {members} {epochs}");
            last = work;
        }
        assert_eq!(choose(100.0, 32, None, 200, time_of), (32, 400));
        assert_eq!(choose(100.0, 5, None, 200, time_of), (5, 400));
        assert_eq!(choose(1e-9, 32, None, 200, time_of), (4, 1));
        assert_eq!(choose(1.0, 32, Some(50), 200, time_of), (16, 50));
    }
}
