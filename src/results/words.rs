//! What the metrics of one evaluation mean, in words.

use crate::error::either;
use crate::results::chance::{Chance, Judgement};
use crate::results::{Better, FEW, Metric};
use crate::tables::apart;

/// Says so where the constant baseline does better, by the metric of its `point` predictions or else by the likelihood:
/// of numbers the training mean and sd, of classes their shares. "RUN" stands for the run's folder (`with_run`).
pub fn against_constant(metrics: &[Metric], n: usize, point: &str) -> Option<String> {
    let worse = |name: &str| {
        let m = metrics.iter().find(|m| m.name == name)?;
        let (ours, theirs) = (m.value.value()?, m.constant?);
        let is_worse = if m.better == Better::Higher { ours < theirs } else { ours > theirs };
        (n >= FEW && is_worse).then(|| {
            let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
            let (ours, theirs) = apart(ours, theirs);
            format!("{name} {ours} against {theirs}{unit}")
        })
    };
    let of_classes = point == "accuracy";
    let constant = if of_classes { "class shares" } else { "the mean baseline" };
    match (worse(point), worse("nll")) {
        (Some(by), _) => Some(format!(
            "worse than {constant} ({by}): over- or underfitting, or inputs that carry no information about the target"
        )),
        (None, Some(by)) if of_classes => Some(format!(
            "the network's classes are as good as always naming the commonest class, but its probabilities are worse \
             than {constant} ({by}): {CALIBRATE} may help"
        )),
        (None, Some(by)) => {
            // What calibrates a regression moves its intervals, not its likelihood.
            let advice = match coverage_of(metrics, n, "90").map(|chance| chance.judgement) {
                None | Some(Judgement::Holds | Judgement::Few) => {
                    "a few rows far outside of their error bars can do that".into()
                }
                Some(_) => format!("{CALIBRATE} may help"),
            };
            Some(format!("its predictions are no worse than {constant}, but its uncertainty is ({by}): {advice}"))
        }
        (None, None) => None,
    }
}

/// Says so where the network predicts the same for all rows: the baselines would be advice beside the point.
pub fn all_alike(mean: &[f64]) -> Option<String> {
    let (first, others) = mean.split_first()?;
    let alike = others.iter().all(|m| (m - first).abs() <= 1e-6 * first.abs());
    let lower = either("lower --lr", "lower the learning rate");
    (mean.len() >= FEW && alike).then(|| {
        format!("the network predicts the same for all rows: its units have died, as they do where the learning rate is too large; {lower}")
    })
}

const CALIBRATE: &str = "`vifo calibrate RUN`";

/// The notes of a run that is calibrated already.
pub(crate) fn without_advice(notes: &mut [String]) {
    notes.iter_mut().for_each(|note| *note = note.replace(&format!(": {CALIBRATE} may help"), ""));
}

/// A note for a page that has a button for what it advises.
pub fn with_button(note: &str) -> String {
    note.replace(CALIBRATE, "\"Calibrate\" below")
}

/// Whether it advises what a calibrated run has had.
pub fn advises_calibration(note: &str) -> bool {
    note.contains(CALIBRATE)
}

/// A note with the run's folder, as a shell reads it, where "RUN" stands for it.
#[cfg(not(target_arch = "wasm32"))]
pub fn with_run(note: &str, run: &str) -> String {
    note.replace(CALIBRATE, &format!("`vifo calibrate {run}`"))
}

/// What chance says of the intervals of so many percent.
fn coverage_of(metrics: &[Metric], n: usize, percent: &str) -> Option<Chance> {
    let name = format!("coverage_{percent}");
    let observed = metrics.iter().find(|m| m.name == name).and_then(|m| m.value.value()).filter(|v| v.is_finite())?;
    let promised = percent.parse::<f64>().ok()? / 100.0;
    let mut chance = Chance::new(&vec![promised; n], (observed * n as f64).round() as usize, 1, 0.0);
    // Of rows with weights the count is rounded, the share is not.
    chance.observed = observed;
    Some(chance)
}

/// Whether the 90 % intervals hold what they promise, in words; and where they do, whether the 50 % intervals do not.
pub fn coverage_verdict(metrics: &[Metric], n: usize) -> Option<String> {
    let chance = coverage_of(metrics, n, "90")?;
    let verdict = coverage(&chance, BARS, "90");
    let half = coverage_of(metrics, n, "50").filter(|_| chance.judgement == Judgement::Holds);
    let but = half.and_then(|half| half_words(&half));
    Some(verdict + &but.map_or_else(String::new, |but| format!("; but {but}")))
}

/// What is off about the 50 % intervals: "the 50 % intervals look too wide: they hold 70 % ..."; None where chance allows it.
pub(crate) fn half_words(half: &Chance) -> Option<String> {
    let what = match half.judgement {
        Judgement::Holds | Judgement::Few => return None,
        Judgement::Short => "are too narrow",
        Judgement::Long => "are too wide",
        Judgement::LooksShort => "look too narrow",
        Judgement::LooksLong => "look too wide",
    };
    let (share, range) = half.words();
    Some(format!("the 50 % intervals {what}: they hold {share} of the rows, where chance alone allows {range}"))
}

/// The same of calibrated intervals of `percent`.
pub(crate) fn calibrated_coverage(chance: &Chance, percent: &str) -> String {
    coverage(chance, CALIBRATED_BARS, percent)
}

fn coverage(chance: &Chance, bars: &str, percent: &str) -> String {
    let (share, range) = chance.words();
    let by = format!("the {percent} % intervals hold {share} of the rows, where chance alone allows {range}");
    let rows = rows_words(chance.rows);
    match chance.judgement {
        Judgement::Holds => format!("{bars} hold: {by}"),
        Judgement::Short => format!("{bars} are too narrow: {by}"),
        Judgement::Long => format!("{bars} are too wide: {by}"),
        Judgement::LooksShort => format!("{bars} look too narrow, but {rows} are too few to be sure: {by}"),
        Judgement::LooksLong => format!("{bars} look too wide, but {rows} are too few to be sure: {by}"),
        Judgement::Few => format!("{bars} cannot be judged: {}", too_few(chance.rows)),
    }
}

/// What a verdict on uncalibrated intervals and probabilities begins with.
const BARS: &str = "the error bars";
const PROBABILITIES: &str = "the probabilities";
const CALIBRATED_BARS: &str = "the calibrated error bars";
const CALIBRATED_PROBABILITIES: &str = "the calibrated probabilities";

/// What a verdict on error bars comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Good,
    /// Safe, but wider than needed.
    Cautious,
    Bad,
    /// Too few rows.
    Open,
}

/// What a note says of the error bars, plain or calibrated; None of any other note.
pub fn said(note: &str) -> Option<Said> {
    let bars = [BARS, PROBABILITIES, CALIBRATED_BARS, CALIBRATED_PROBABILITIES];
    // Behind the subject: "hold: ...", "are too narrow: ...".
    let rest = bars.iter().filter_map(|b| note.strip_prefix(b)).min_by_key(|r| r.len())?.trim_start();
    let starts = |with: &[&str]| with.iter().any(|w| rest.starts_with(w));
    match () {
        () if starts(&["hold"]) => Some(Said::Good),
        () if starts(&["are too wide", "are too cautious"]) => Some(Said::Cautious),
        () if starts(&["are too narrow", "are too sure"]) => Some(Said::Bad),
        () if starts(&["look", "cannot be judged"]) => Some(Said::Open),
        () => None,
    }
}

/// Whether a note is the verdict on the uncalibrated predictions.
pub(crate) fn is_verdict(note: &str) -> bool {
    note.starts_with(BARS) || note.starts_with(PROBABILITIES)
}

/// Whether the classes named are right as often as their probabilities say, in words.
pub fn confidence_verdict(confidence: &[f64], right: usize) -> String {
    confidence_of(PROBABILITIES, confidence, right)
}

/// The same of calibrated probabilities.
pub(crate) fn calibrated_confidence(confidence: &[f64], right: usize) -> String {
    confidence_of(CALIBRATED_PROBABILITIES, confidence, right)
}

fn confidence_of(probabilities: &str, confidence: &[f64], right: usize) -> String {
    let chance = Chance::new(confidence, right, 1, 0.0);
    let (share, range) = chance.words();
    let mean = 100.0 * chance.promised;
    let by = format!("mean confidence {mean:.0} %, {share} right, where chance alone allows {range}");
    let rows = rows_words(chance.rows);
    match chance.judgement {
        Judgement::Holds => format!("{probabilities} hold on average: {by}"),
        Judgement::Short => format!("{probabilities} are too sure: {by}"),
        Judgement::Long => format!("{probabilities} are too cautious: {by}"),
        Judgement::LooksShort => format!("{probabilities} look too sure, but {rows} are too few to be sure: {by}"),
        Judgement::LooksLong => format!("{probabilities} look too cautious, but {rows} are too few to be sure: {by}"),
        Judgement::Few => format!("{probabilities} cannot be judged: {}", too_few(chance.rows)),
    }
}

fn too_few(n: usize) -> String {
    format!("{} {} too few to tell", rows_words(n), if n == 1 { "is" } else { "are" })
}

fn rows_words(n: usize) -> String {
    if n == 1 { "1 row".into() } else { format!("{n} rows") }
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::*;

    #[test]
    fn a_constant_that_does_better_is_named() {
        let of = |name: &str, better, ours: f64, constant: f64| Metric {
            constant: Some(constant),
            ..metric(name, if name == "accuracy" { "" } else { "m" }, ours, better)
        };
        let say = |point: Metric, nll: (f64, f64), n| {
            let name = point.name.clone();
            against_constant(&[point, of("nll", Better::Lower, nll.0, nll.1)], n, &name)
        };
        let rmse = |ours, constant| of("rmse", Better::Lower, ours, constant);
        let worse = say(rmse(3.2, 3.0), (1.0, 2.0), 20).expect("a note");
        assert!(worse.starts_with("worse than the mean baseline (rmse 3.200 against 3.000 m)"), "{worse}");
        let unsure = say(rmse(1.0, 3.0), (2.5, 2.0), 20).expect("a note");
        assert!(
            unsure.contains("no worse than the mean baseline") && unsure.contains("(nll 2.500 against 2.000 m)"),
            "{unsure}"
        );
        assert_eq!(say(rmse(1.0, 3.0), (1.5, 2.0), 20), None);
        assert_eq!(say(rmse(3.2, 3.0), (1.0, 2.0), FEW - 1), None, "few rows say nothing");
        let accuracy = |ours, nll| say(of("accuracy", Better::Higher, ours, 0.5), (nll, 2.0), 50);
        let fewer = accuracy(0.4, 1.0).expect("a note");
        assert!(fewer.starts_with("worse than class shares (accuracy 0.4000 against 0.5000)"), "{fewer}");
        assert_eq!(accuracy(0.5, 1.0), None, "all rows may be of one class");
        let unlikely = accuracy(0.5, 2.5).expect("a note");
        assert!(unlikely.contains("probabilities are worse than class shares (nll 2.500 against 2.000"), "{unlikely}");
        assert!(with_button(&unlikely).ends_with("\"Calibrate\" below may help"));
        assert!(with_run(&unlikely, "'runs/a b'").ends_with("`vifo calibrate 'runs/a b'` may help"));
    }

    #[test]
    fn a_dead_network_is_named() {
        assert!(all_alike(&[0.5434; 20]).is_some_and(|note| note.contains("its units have died")));
        assert_eq!((all_alike(&[0.5434; FEW - 1]), all_alike(&[])), (None, None));
        let mut alive = [0.5434; 20];
        alive[7] += 1e-3;
        assert_eq!(all_alike(&alive), None);
    }

    fn covered(hits: usize, n: usize) -> String {
        let share = metric("coverage_90", "", hits as f64 / n as f64, Better::Neither);
        coverage_verdict(&[share], n).expect("a verdict")
    }

    /// What calibrates a regression does not change its likelihood, and what is calibrated needs no advice to be.
    #[test]
    fn calibration_is_advised_where_it_can_help() {
        let of =
            |name: &str, ours: f64, constant: Option<f64>| Metric { constant, ..metric(name, "", ours, Better::Lower) };
        let say = |coverage: f64| {
            let all = [of("rmse", 1.0, Some(3.0)), of("nll", 2.5, Some(2.0)), of("coverage_90", coverage, None)];
            against_constant(&all, 100, "rmse").expect("a note")
        };
        assert!(!say(0.9).contains("calibrate"), "{}", say(0.9));
        assert!(say(0.6).ends_with("`vifo calibrate RUN` may help"), "{}", say(0.6));
        let mut notes = [say(0.6), "other".into()];
        without_advice(&mut notes);
        assert!(notes[0].ends_with("but its uncertainty is (nll 2.500 against 2.000)"), "{}", notes[0]);
    }

    #[test]
    fn the_middle_of_the_error_bars_is_judged_too() {
        let of = |half: f64, most: f64| {
            let all =
                [("coverage_50", half), ("coverage_90", most)].map(|(name, v)| metric(name, "", v, Better::Neither));
            coverage_verdict(&all, 100).expect("a verdict")
        };
        let wide = of(0.75, 0.9);
        assert!(wide.starts_with("the error bars hold: the 90 % intervals hold 90 %"), "{wide}");
        assert!(
            wide.contains("; but the 50 % intervals are too wide: they hold 75 % of the rows, where chance"),
            "{wide}"
        );
        assert!(of(0.38, 0.9).contains("; but the 50 % intervals look too narrow"), "{}", of(0.38, 0.9));
        assert!(!of(0.55, 0.9).contains("but") && !of(0.75, 0.6).contains("50 %"));
    }

    #[test]
    fn a_verdict_does_not_contradict_its_numbers() {
        assert_eq!(
            covered(19, 25),
            "the error bars look too narrow, but 25 rows are too few to be sure: the 90 % intervals hold 76 % of the rows, where chance alone \
             allows 80 to 100 %"
        );
        assert!(covered(23, 25).starts_with("the error bars hold: the 90 % intervals hold 92 % of the rows"));
        assert!(covered(3, 12).starts_with("the error bars are too narrow: the 90 % intervals hold 25 % of the rows"));
        assert!(covered(0, 2).starts_with("the error bars are too narrow"));
        assert!(covered(200, 200).starts_with("the error bars are too wide"));
        assert_eq!(covered(0, 1), "the error bars cannot be judged: 1 row is too few to tell");
        // As many as hold where all is well.
        for n in [3, 12, 19] {
            assert_eq!(covered(n, n), format!("the error bars cannot be judged: {n} rows are too few to tell"));
        }
        let few = confidence_verdict(&[0.9; 12], 11);
        assert_eq!(few, "the probabilities cannot be judged: 12 rows are too few to tell");
        assert_eq!(said(&few), Some(Said::Open));
        let came_to = |hits, n| said(&covered(hits, n));
        assert_eq!(
            [came_to(23, 25), came_to(3, 12), came_to(200, 200)],
            [Said::Good, Said::Bad, Said::Cautious].map(Some)
        );
        assert_eq!([came_to(19, 25), came_to(0, 1)], [Some(Said::Open); 2]);
        let chance = Chance::new(&[0.9; 25], 10, 1, 0.0);
        assert_eq!(said(&calibrated_coverage(&chance, "90")), Some(Said::Bad));
        assert_eq!(said(&calibrated_confidence(&[0.9; 25], 23)), Some(Said::Good));
        assert_eq!(said(&confidence_verdict(&[0.5; 50], 49)), Some(Said::Cautious));
        assert_eq!(said("rows count by their weights in all of these figures"), None);
        let sure = |right| confidence_verdict(&[0.9; 25], right);
        assert!(
            sure(19).starts_with(
                "the probabilities look too sure, but 25 rows are too few to be sure: mean confidence 90 %"
            )
        );
        assert!(sure(23).starts_with("the probabilities hold on average: mean confidence 90 %, 92 % right"));
        assert!(sure(10).starts_with("the probabilities are too sure"));
    }
}
