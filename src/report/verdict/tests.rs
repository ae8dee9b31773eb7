use super::*;
use crate::method::predictive::Classification;

fn encoder(labels: Option<&[&str]>) -> Encoder {
    let target = match labels {
        None => Target::Regression { name: "price".into(), mean: 0.0, sd: 1.0, min: -1.0, max: 1.0 },
        Some(l) => Target::Classes { name: "kind".into(), labels: l.iter().map(|l| l.to_string()).collect() },
    };
    Encoder::of(target)
}

/// Normals of these sd around 0.
fn normals(sd: &[f64]) -> Predictive {
    let n = sd.len();
    let vars: Vec<f64> = sd.iter().map(|s| s * s).collect();
    let mean = (0..n).map(|i| (i % 7) as f64 * 1e-9).collect();
    Predictive::Regression(Regression::normals(mean, &vars, vars.clone(), vec![0.0; n]))
}

/// The k-th of n evenly spread normal deviates: exactly nine in ten lie inside the 90 % interval.
fn even(k: usize, n: usize) -> f64 {
    metrics::normal_quantile((k as f64 + 0.5) / n as f64)
}

fn of(sd: &[f64], y: &[f64]) -> Verdict {
    Verdict::new(&normals(sd), y, &encoder(None), None, "test rows")
}

#[test]
fn honest_narrow_wide_and_too_few_are_told_apart() {
    let n = 200;
    let y: Vec<f64> = (0..n).map(|k| even(k * 77 % n, n)).collect();
    let sd = |s: f64| -> Vec<f64> { (0..n).map(|i| s * (1.0 + 1e-6 * i as f64)).collect() };
    let honest = of(&sd(1.0), &y);
    assert_eq!(honest.tone(), Tone::Good, "{}", honest.headline());
    assert!(honest.headline().starts_with("Yes, as far as 200 test rows can tell: the 90 % intervals hold 90 %"));
    // 90 % intervals of half the width hold P(|z| < 0.8224) = 0.589.
    let narrow = of(&sd(0.5), &y);
    assert_eq!(narrow.tone(), Tone::Bad);
    assert!(narrow.headline().starts_with("No, they are too narrow: the 90 % intervals hold 59 % of the 200"));
    let wide = of(&sd(3.0), &y);
    assert_eq!(wide.tone(), Tone::Warning);
    assert!(wide.headline().starts_with("Not quite, they are too wide"), "{}", wide.headline());
    let few = of(&[1.0], &y[..1]);
    assert_eq!(few.tone(), Tone::Unknown);
    assert!(few.headline().starts_with("Unknown: ") && few.parts.is_empty(), "{}", few.headline());
}

/// `hits` of `n` rows lie in their 90 % intervals, half of all rows in the middle, the others far away.
fn counted(hits: usize, n: usize) -> Verdict {
    in_the_middle(n / 2, hits, n)
}

fn in_the_middle(middle: usize, hits: usize, n: usize) -> Verdict {
    let place = |i: usize| if i < middle.min(hits) { 0.1 } else { 1.0 };
    let y: Vec<f64> = (0..n).map(|i| if i < hits { place(i) } else { 9.0 }).collect();
    of(&vec![1.0; n], &y)
}

#[test]
fn few_rows_say_what_they_can() {
    let open = counted(19, 25);
    assert_eq!(open.tone(), Tone::Warning);
    assert_eq!(
        open.headline(),
        "They look too narrow, but 25 test rows are too few to be sure: the 90 % intervals hold 76 % of them, where chance alone \
         allows 80 to 100 %."
    );
    let holds = counted(23, 25);
    assert_eq!(holds.tone(), Tone::Good);
    assert!(holds.headline().starts_with("Yes, as far as 25 test rows can tell: the 90 % intervals hold 92 %"));
    for narrow in [counted(3, 12), counted(0, 2)] {
        assert_eq!(narrow.tone(), Tone::Bad);
        assert!(narrow.headline().starts_with("No, they are too narrow"), "{}", narrow.headline());
    }
    let wide = counted(40, 40);
    assert_eq!(wide.tone(), Tone::Unknown);
    assert!(wide.headline().starts_with("They look too wide, but 40 test rows"), "{}", wide.headline());
    assert!(counted(0, 0).headline().contains("there are no rows"));
    for n in [3, 12, 19] {
        let few = counted(n, n);
        assert_eq!(few.tone(), Tone::Unknown);
        let said = format!(
            "Unknown: {n} test rows are too few to tell whether error bars hold: the 90 % intervals hold 100 % of them"
        );
        assert!(few.headline().starts_with(&said), "{}", few.headline());
    }
}

/// The 90 % intervals hold 180 of 200 rows, the 50 % intervals as many.
#[test]
fn the_middle_of_the_intervals_is_judged_too() {
    let v = in_the_middle(180, 180, 200);
    assert!(v.headline().starts_with("Yes, as far as 200 test rows"), "{}", v.headline());
    assert!(
        v.text()[1].starts_with("But the 50 % intervals are too wide: they hold 90 % of the rows"),
        "{:?}",
        v.text()
    );
    assert_eq!(v.tone(), Tone::Warning);
}

/// A part of 22 rows, 15 inside: 0.44 %, less than chance allows one part, and more than it allows one of four.
#[test]
fn a_part_that_looks_off_is_not_called_good() {
    let held: Vec<bool> = (0..22).map(|i| i < 15).collect();
    let part = Part::new("where x is 1".into(), &[0.9; 22], &held, 4, 0.0);
    let mut v = counted(90, 100);
    assert_eq!(v.tone(), Tone::Good);
    v.parts = vec![part; 4];
    assert_eq!(v.tone(), Tone::Unknown);
    assert!(v.headline().starts_with("Overall yes, but perhaps not everywhere"), "{}", v.headline());
    let said = "Looks too narrow where x is 1: 68 % of 22 rows, where chance alone allows 77 to 100 %; too few rows to be sure.";
    assert_eq!(v.text()[1], said);
    assert_eq!(v.table().rows[1][1..], ["looks too narrow", "22", "90 %", "68 %", "77 to 100 %"]);
}

/// The rows of the smallest sd are too narrow, the others too wide by as much: over all the coverage is right.
#[test]
fn a_part_that_is_off_is_named_though_the_whole_is_right() {
    let n = 400;
    let (mut sd, mut y) = (vec![], vec![]);
    for i in 0..n {
        let narrow = i % 4 == 0;
        sd.push(if narrow { 0.5 } else { 1.0 } + 1e-6 * i as f64);
        // A quarter holds 70 %, three quarters hold all but 3 %.
        let k = i / 4;
        y.push(if narrow {
            0.5 * 1.6448 * if k < 70 { 0.5 } else { 2.0 }
        } else if k < 97 {
            0.1
        } else {
            9.0
        });
    }
    let v = of(&sd, &y);
    assert_eq!(v.tone(), Tone::Warning, "{:?}", v.text());
    assert!(
        v.headline().starts_with("Overall yes, but not everywhere: the 90 % intervals hold 90 %"),
        "{}",
        v.headline()
    );
    assert!(v.text().iter().any(|t| t.starts_with("Too narrow where the predicted sd is 0.5")), "{:?}", v.text());
    let section = v.section("Q");
    assert_eq!(section.table.as_ref().map(|t| t.rows.len()), Some(1 + v.parts.len()));
    assert!(v.parts.len() >= 6, "by sd and by predicted value");
}

#[test]
fn equal_values_stay_together_and_few_rows_make_no_parts() {
    assert!(groups(&[1.0; 100]).is_empty(), "one group is no part");
    assert!(groups(&(0..49).map(f64::from).collect::<Vec<_>>()).is_empty());
    let mixed: Vec<f64> = (0..100).map(|i| if i < 60 { 1.0 } else { f64::from(i) }).collect();
    let g = groups(&mixed);
    assert_eq!(g.iter().map(Vec::len).sum::<usize>(), 100);
    assert!(g.iter().all(|g| g.iter().any(|i| *i < 60) == (g[0] < 60)) && g[0].len() == 60, "{g:?}");
}

/// Class "b" is named with 0.9 and right in half of its rows; "a" is right as often as it says.
#[test]
fn a_class_that_is_too_sure_is_named() {
    let (n, mut probs, mut y) = (200, vec![], vec![]);
    for i in 0..n {
        let names_b = i % 4 == 0;
        probs.extend(if names_b { [0.1, 0.9] } else { [0.95, 0.05] });
        let right = if names_b { i % 8 == 0 } else { i % 20 != 1 };
        y.push(f64::from(u8::from(names_b == right)));
    }
    let zeros = vec![0.0; n];
    let c = Classification {
        k: 2,
        probs,
        total: zeros.clone(),
        aleatoric: zeros.clone(),
        epistemic: zeros,
        by_folds: None,
    };
    let v = Verdict::new(&Predictive::Classification(c), &y, &encoder(Some(&["a", "b"])), None, "test rows");
    assert_eq!(v.tone(), Tone::Bad, "{}", v.headline());
    assert!(
        v.headline().starts_with("No, they are too sure: the most probable class is right for"),
        "{}",
        v.headline()
    );
    assert!(v.off().any(|p| p.place == "where it names b") && !v.off().any(|p| p.place == "where it names a"));
    assert!(
        v.text()
            .iter()
            .any(|t| t == "Too sure where it names b: 50 % of 50 rows, where chance alone allows 82 to 98 %."),
        "{:?}",
        v.text()
    );
}

/// Twenty calibration rows promise 90 % with an sd of 6 %: 80 % of 100 rows is no fault of theirs, but of intervals that promise 90 %
/// outright it is.
#[test]
fn few_calibration_rows_leave_room() {
    let held: Vec<bool> = (0..100).map(|i| i >= 20).collect();
    let part = |scatter: f64| Part::new(String::new(), &[0.9; 100], &held, 1, scatter).chance.judgement;
    assert_eq!((part(0.0), part(0.06)), (Judgement::Short, Judgement::Holds));
}
