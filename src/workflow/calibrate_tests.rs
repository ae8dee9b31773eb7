use crate::data::encode::{Encoder, Target};
use crate::method::predictive::{Classification, Regression};
use crate::metrics;
use crate::results::Results;
use crate::tables::TextTable;
use crate::workflow::calibrate::*;

fn regression(n: usize) -> (Regression, Vec<f64>) {
    let mean: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    let sd = |i: usize| 0.5 + (i % 3) as f64;
    let variances = |share: f64| (0..n).map(|i| share * sd(i) * sd(i)).collect::<Vec<_>>();
    let r = Regression::normals(mean.clone(), &variances(1.0), variances(0.75), variances(0.25));
    // |y - mean| / sd = (i+1)/n, above and below in turn.
    let y = (0..n).map(|i| mean[i] + if i % 2 == 0 { 1.0 } else { -1.0 } * sd(i) * (i + 1) as f64 / n as f64);
    let y = y.collect();
    (r, y)
}

/// Row i: 0.7 on class i % 3, 0.2 on the next; four rows in five have the first, one the next.
fn classes(n: usize) -> (Classification, Vec<f64>) {
    let mut probs = vec![];
    for i in 0..n {
        let mut p = [0.1; 3];
        (p[i % 3], p[(i + 1) % 3]) = (0.7, 0.2);
        probs.extend(p);
    }
    let total = metrics::entropy(&probs, 3);
    let y = (0..n).map(|i| ((i + usize::from(i % 5 == 0)) % 3) as f64).collect();
    (Classification { k: 3, probs, aleatoric: total.clone(), epistemic: vec![0.0; n], total, by_folds: None }, y)
}

fn encoder(target: Target) -> Encoder {
    Encoder::of(target)
}

fn named(labels: [&str; 3]) -> Encoder {
    encoder(Target::Classes { name: "set_80".into(), labels: labels.map(String::from).to_vec() })
}

fn fitted(p: &Predictive, y: &[f64], alphas: &[f64], sets: Sets) -> Calibration {
    let mut c = Calibration {
        version: stored::VERSION,
        vifo: String::new(),
        run: String::new(),
        source: Source::Validation,
        unchecked: false,
        rows: y.len(),
        temperature: None,
        sets: None,
        levels: vec![],
        more_targets: vec![],
    };
    fit(&mut c, p, y, alphas, sets).expect("fitted");
    c
}

fn ids(n: usize) -> crate::data::Ids {
    (0..n).map(|i| i.to_string()).collect()
}

fn column<'a>(t: &'a TextTable, name: &str) -> Vec<&'a str> {
    let at = t.header.iter().rposition(|h| h == name).unwrap_or_else(|| panic!("{name} in {:?}", t.header));
    t.rows.iter().map(|r| r[at].as_str()).collect()
}

#[test]
fn intervals_hold_the_rows_that_the_quantile_says() {
    let (r, y) = regression(19);
    let p = Predictive::Regression(r.clone());
    let c = fitted(&p, &y, &[0.1, 0.5], Sets::Aps);
    // Scores are 1/19, 2/19, ...: ceil(20 * 0.9) = 18, ceil(20 * 0.5) = 10.
    let q: Vec<f64> = c.levels.iter().map(|l| l.q()).collect();
    assert!((q[0] - 18.0 / 19.0).abs() < 1e-12 && (q[1] - 10.0 / 19.0).abs() < 1e-12, "{q:?}");
    let mean_sd = (0..19).map(|i| r.sd(i)).sum::<f64>() / 19.0;
    assert!((c.levels[0].mean_size.expect("finite") - 2.0 * q[0] * mean_sd).abs() < 1e-12);
    let target = Target::Regression { name: "lower_50".into(), mean: 0.0, sd: 1.0, min: -1.0, max: 1.0 };
    let (t, said) = c.table(&p, &encoder(target), &ids(19), Some(&y));
    assert_eq!(t.header[1], "lower_50_target", "the target's name is taken by a column");
    assert_eq!(t.header[t.header.len() - 4..], ["lower_90", "upper_90", "lower_50", "upper_50"]);
    let number = |s: &str| s.parse::<f64>().expect("a number");
    for (i, (low, high)) in column(&t, "lower_90").iter().zip(column(&t, "upper_90")).enumerate() {
        // Nine digits are written.
        assert!((number(low) - (r.mean[i] - q[0] * r.sd(i))).abs() < 1e-8);
        assert!((number(high) - (r.mean[i] + q[0] * r.sd(i))).abs() < 1e-8);
    }
    assert!(
        said.len() == 1 && said[0].contains("--uncalibrated") && said[0].contains("19 validation rows"),
        "{said:?}"
    );
}

#[test]
fn six_rows_give_an_infinite_interval_and_say_so() {
    let (r, y) = regression(6);
    let p = Predictive::Regression(r);
    let c = fitted(&p, &y, &[0.1], Sets::Aps);
    assert_eq!((c.levels[0].threshold, c.levels[0].mean_size), (None, None));
    let target = Target::Regression { name: "y".into(), mean: 0.0, sd: 1.0, min: -1.0, max: 1.0 };
    let (t, said) = c.table(&p, &encoder(target), &ids(6), None);
    assert!(column(&t, "lower_90").iter().all(|v| *v == "-inf") && column(&t, "upper_90").iter().all(|v| *v == "inf"));
    assert!(said[0].starts_with("calibrated on 6 validation rows; --uncalibrated"), "nothing is promised: {said:?}");
    let few = "6 calibration rows cannot give 90 % intervals, 9 are needed: every interval is infinite; use --alpha 0.2, or --data";
    assert!(said[1].starts_with(few), "{said:?}");
    // Infinity survives the file, which has no word for it.
    let text = serde_json::to_string(&c).expect("JSON");
    assert_eq!(Calibration::parse(&text, "x", Path::new("run")).expect("read"), c);
    let (classes, y) = classes(6);
    let p = Predictive::Classification(classes);
    let c = fitted(&p, &y, &[0.1], Sets::Lac);
    assert!(c.caveats()[0].contains("every set holds all classes"), "{:?}", c.caveats());
    let (t, _) = c.table(&p, &named(["a", "b", "c"]), &ids(6), None);
    assert_eq!(column(&t, "set_90")[0], "a|b|c");
}

/// Of 199 rows the Gaussian's 90 % intervals hold all, the conformal ones 180.
#[test]
fn a3_the_verdict_is_that_on_the_calibrated_error_bars() {
    let (r, y) = regression(199);
    let p = Predictive::Regression(r.clone());
    let c = fitted(&p, &y, &[0.1], Sets::Aps);
    let mut results = crate::results::regression(&r, &y, &Dataset::default(), None, "m").expect("metrics");
    let verdict = |r: &Results| r.notes.iter().filter(|n| n.contains("error bars")).cloned().collect::<Vec<_>>();
    let before = verdict(&results);
    assert!(before.len() == 1 && before[0].starts_with("the error bars are too wide: "), "{before:?}");
    c.beside(&mut results, &p, &y);
    let after = verdict(&results);
    assert!(
        after.len() == 1 && after[0].starts_with("the calibrated error bars hold: the 90 % intervals hold 90 % "),
        "{after:?}"
    );
    assert!(after[0].ends_with(&format!("; before calibration {}", before[0])), "{after:?}");
    // With too few rows for an interval there is nothing to judge.
    let (r, y) = regression(6);
    let p = Predictive::Regression(r.clone());
    let mut results = crate::results::regression(&r, &y, &Dataset::default(), None, "m").expect("metrics");
    let before = verdict(&results);
    fitted(&p, &y, &[0.1], Sets::Aps).beside(&mut results, &p, &y);
    assert_eq!(verdict(&results), before);
    // Of classes the probabilities are judged.
    let (c, y) = classes(300);
    let p = Predictive::Classification(c.clone());
    let mut results = crate::results::classification(&c, &y.iter().map(|y| *y as usize).collect::<Vec<_>>(), None);
    fitted(&p, &y, &[0.1], Sets::Aps).beside(&mut results, &p, &y);
    let notes = results.notes.join("\n");
    assert!(notes.contains("the calibrated probabilities hold on average: "), "{notes}");
    assert!(notes.contains("; before calibration the probabilities "), "{notes}");
}

#[test]
fn a1_rows_that_were_not_compared_are_said_to_be() {
    let (r, y) = regression(30);
    let p = Predictive::Regression(r);
    let c = Calibration { unchecked: true, ..fitted(&p, &y, &[0.1], Sets::Aps) };
    let text = serde_json::to_string(&c).expect("JSON");
    assert_eq!(Calibration::parse(&text, "x", Path::new("run")).expect("read"), c);
    let target = Target::Regression { name: "y".into(), mean: 0.0, sd: 1.0, min: -1.0, max: 1.0 };
    let (_, said) = c.table(&p, &encoder(target), &ids(30), None);
    assert!(said.iter().any(|n| n.contains("was not checked")), "{said:?}");
    assert!(c.caveats().iter().any(|n| n.contains("was not checked")), "{:?}", c.caveats());
}

#[test]
fn sets_are_labels_in_one_cell() {
    let (c, y) = classes(100);
    let p = Predictive::Classification(c.clone());
    // Of 100 rows 80 have their first class (score 0.3), 20 the second (0.8): ceil(101 * 0.8) = 81 takes both.
    let lac = fitted(&p, &y, &[0.2, 0.3], Sets::Lac);
    assert!((lac.levels[0].q() - 0.8).abs() < 1e-12 && (lac.levels[1].q() - 0.3).abs() < 1e-12);
    let labels = named([r"a|b", r"c\", "d"]);
    let (t, said) = lac.table(&p, &labels, &ids(100), Some(&y));
    assert_eq!(t.header[1], "set_80_target");
    assert_eq!(column(&t, "set_80")[..3], [r"a\|b|c\\", r"c\\|d", r"d|a\|b"]);
    assert_eq!(column(&t, "set_70")[..3], [r"a\|b", r"c\\", "d"]);
    assert_eq!(said.len(), 1, "{said:?}");
    // A row that is sure of nothing has an empty set, and that is told; by APS it has all that are tied.
    let flat = Classification { probs: vec![1.0 / 3.0; 3], total: vec![3f64.ln()], ..c };
    let flat = Predictive::Classification(Classification { aleatoric: vec![0.0], epistemic: vec![0.0], ..flat });
    let (t, said) = lac.table(&flat, &labels, &ids(1), None);
    assert_eq!((column(&t, "set_80"), column(&t, "set_70")), (vec![r"a\|b|c\\|d"], vec![""]));
    assert!(said[1].contains("1 of 1 sets in set_70 are empty"), "{said:?}");
    let aps = fitted(&p, &y, &[0.3], Sets::Aps);
    assert_eq!(column(&aps.table(&flat, &labels, &ids(1), None).0, "set_70"), [r"a\|b|c\\|d"]);
}

/// Rows in another order, some of them twice: each has the cells that it had before.
#[test]
fn a_row_is_predicted_by_itself() {
    let (c, y) = classes(60);
    let all = Predictive::Classification(c.clone());
    let fitted = fitted(&all, &y, &[0.1], Sets::Aps);
    assert!(fitted.temperature.expect("one").value != 1.0, "nothing would be tested");
    let order: Vec<usize> = (0..60).rev().chain([7, 7, 3]).collect();
    let pick = |v: &[f64], w: usize| order.iter().flat_map(|i| v[i * w..(i + 1) * w].to_vec()).collect::<Vec<f64>>();
    let moved = Predictive::Classification(Classification {
        k: 3,
        probs: pick(&c.probs, 3),
        total: pick(&c.total, 1),
        aleatoric: pick(&c.aleatoric, 1),
        epistemic: pick(&c.epistemic, 1),
        by_folds: None,
    });
    let labels = named(["a", "b", "c"]);
    let (a, _) = fitted.table(&all, &labels, &ids(60), None);
    let (b, _) = fitted.table(&moved, &labels, &ids(63), None);
    for (row, i) in b.rows.iter().zip(&order) {
        assert_eq!(row[1..], a.rows[*i][1..]);
    }
}

#[test]
fn evaluations_stand_beside_the_uncalibrated_ones() {
    let (c, y) = classes(100);
    let p = Predictive::Classification(c.clone());
    let fitted = fitted(&p, &y, &[0.1], Sets::Lac);
    let labels: Vec<usize> = y.iter().map(|y| *y as usize).collect();
    let mut results = crate::results::classification(&c, &labels, None);
    fitted.beside(&mut results, &p, &y);
    let t = fitted.temperature.expect("one");
    let nll = results.metrics.iter().find(|m| m.name == "nll").expect("nll");
    // The fit sums log-sum-exps, the metric logarithms: a hundred terms of size 1 each, so 100 ulp at most.
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 100.0 * f64::EPSILON);
    assert!(near(nll.value.value(), t.nll_before) && near(nll.calibrated, t.nll_after), "{nll:?} {t:?}");
    let covered = results.metrics.iter().find(|m| m.name == "set_coverage_90").expect("sets");
    // Sets of LAC hold the first two classes; so does what the probabilities say (0.7 + 0.2 reach 0.9 up to rounding).
    assert_eq!(covered.calibrated, Some(1.0));
    assert!(results.table("ours").header.contains(&"calibrated".to_string()));
    // Rows of another kind: the third class is true throughout, which no set of two holds.
    let strange: Vec<f64> = (0..100).map(|i| f64::from((i + 2) % 3)).collect();
    let notes = results.notes.len();
    fitted.beside(&mut results, &p, &strange);
    assert!(results.notes.len() == notes + 1 && results.notes[notes].contains("differ from"), "{:?}", results.notes);
}

#[test]
fn a_damaged_file_is_refused() {
    let (c, y) = classes(100);
    let whole = fitted(&Predictive::Classification(c), &y, &[0.1], Sets::Aps);
    let said = |text: &str| Calibration::parse(text, "run/calibration.json", Path::new("run")).unwrap_err().to_string();
    let text = serde_json::to_string(&whole).expect("JSON");
    assert!(Calibration::parse(&text, "x", Path::new("run")).is_ok());
    for (from, to, found) in [
        ("\"version\":1", "\"version\":2", "format 2"),
        ("{\"version\"", "\"version\"", "damaged"),
        ("\"alpha\":0.1", "\"alpha\":1.5", "alpha 1.5"),
        ("\"sets\":\"aps\"", "\"sets\":null", "half a classification"),
        ("\"sets\":\"aps\"", "\"sets\":\"raps\"", "raps"),
        ("\"threshold\":0", "\"threshold\":-0", "threshold -0"),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        let error = said(&text.replace(from, to));
        let help = error.contains("vifo calibrate run") && error.lines().count() == 1;
        assert!(error.contains(found) && help && error.starts_with("run/calibration.json: "), "{to}: {error}");
    }
    let hot =
        Calibration { temperature: whole.temperature.map(|t| temperature::Temperature { value: 0.0, ..t }), ..whole };
    assert!(said(&serde_json::to_string(&hot).expect("JSON")).contains("temperature 0"));
}

#[test]
fn every_alpha_counts_once() {
    assert_eq!(alphas(&[]).expect("the default"), [0.1]);
    assert_eq!(alphas(&[0.1, 0.05, 0.1, 0.100000001]).expect("good"), [0.1, 0.05]);
    for bad in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY, 1e-9] {
        assert_eq!(alphas(&[bad]).unwrap_err().exit_code(), 2, "{bad}");
    }
    let percents: Vec<String> = [0.1, 0.05, 0.01, 0.001, 0.0001, 0.32].map(stored::percent).to_vec();
    assert_eq!(percents, ["90", "95", "99", "99.9", "99.99", "68"]);
}
