//! report.html as its reader finds it: the verdict on the error bars in its first lines, and what `evaluate` and `calibrate`
//! add, each in a place of its own.

use std::path::Path;
use std::process::Command;

#[track_caller]
fn ok(dir: &Path, args: &str) -> String {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    let out = c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace()).output().expect("runs");
    assert!(out.status.success(), "vifo {args}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stderr).to_string()
}

fn report(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("run/report.html")).expect("a report")
}

/// Rows of y = 3 a - 2 b + noise of sd `noise`; beyond the training range with an offset.
fn rows(dir: &Path, name: &str, n: usize, noise: f64, offset: f64) {
    let mut text = String::from("a,b,y\n");
    for i in 0..n {
        let i = i as f64 + 7.0 * noise;
        let (a, b) = ((i * 0.7).sin() + offset, (i * 1.3).cos());
        let z = ((i * 12.9898).sin() * 43758.5453).fract() + ((i * 78.233).sin() * 12543.123).fract();
        text += &format!("{a},{b},{}\n", 3.0 * a - 2.0 * b + noise * z);
    }
    std::fs::write(dir.join(name), text).expect("written");
}

/// Only what stands in the file, and figures numbered from 1 without a gap.
#[track_caller]
fn whole(html: &str, figures: usize) {
    assert!(!html.contains("<script") && !html.contains("href=\"http") && !html.contains("src="), "loads something");
    let links = html.matches("http").count();
    assert_eq!(links, html.matches("http://www.w3.org/2000/svg").count());
    assert_eq!(html.matches("<svg ").count(), figures);
    for i in 1..=figures {
        assert_eq!(html.matches(&format!("<b>Figure {i}.</b>")).count(), 1, "figure {i}");
    }
    for slot in html.split("<!-- ").skip(1).filter_map(|s| s.split(" -->").next()).filter(|s| !s.starts_with('/')) {
        assert_eq!(html.matches(&format!("<!-- {slot} -->")).count(), 1, "{slot}");
        assert_eq!(html.matches(&format!("<!-- /{slot} -->")).count(), 1, "{slot}");
    }
}

fn verdict(html: &str) -> &str {
    html.split("<!-- verdict -->").nth(1).and_then(|h| h.split("<!-- /verdict -->").next()).expect("a verdict")
}

#[test]
fn the_verdict_comes_first_and_evaluations_find_their_places() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t.csv", 1500, 0.5, 0.0);
    // Ten times the noise: the error bars cannot be honest there.
    rows(d, "shift.csv", 200, 5.0, 0.0);
    rows(d, "far.csv", 100, 0.5, 6.0);
    ok(d, "fit t.csv --device cpu --members 2 --epochs 40 -q --out run");
    let first = report(d);
    let said = verdict(&first);
    assert!(said.contains("<h2>Are the error bars honest?</h2>") && said.contains("150 test rows"), "{said}");
    assert!(said.contains("<td>the predicted sd is ") && said.contains("<td>the predicted y is "), "{said}");
    // Before the key facts, and before every other heading.
    assert!(first.find("<!-- verdict -->") < first.find("class=\"facts\""));
    assert_eq!(first.find("<h2>"), first.find("<h2>Are the error bars honest?"));
    let drawn = first.matches("<svg ").count();
    whole(&first, drawn);
    assert!(!first.contains("On shifted and out-of-distribution rows") && !first.contains("Evaluation:"));

    ok(d, "evaluate run --device cpu --shift shift.csv --ood far.csv");
    let html = report(d);
    // Coverage and scatter of the shifted rows; histogram and curves of the others.
    whole(&html, drawn + 4);
    let elsewhere = html.split("On shifted and out-of-distribution rows").nth(1).expect("an answer");
    let elsewhere = elsewhere.split("</section>").next().unwrap_or_default();
    assert!(elsewhere.contains("Shifted rows (shift.csv): No, they are too narrow"), "{elsewhere}");
    assert!(elsewhere.contains("far.csv (100 rows): "), "{elsewhere}");
    for part in ["Evaluation: shifted rows, 200 of shift.csv", "Evaluation: out-of-distribution rows", "auroc_total_sd"]
    {
        assert_eq!(html.matches(part).count(), 1, "{part}");
    }
    // Once more, and of one kind alone: its place is rewritten, the other stays.
    ok(d, "evaluate run --device cpu --shift shift.csv");
    let again = report(d);
    whole(&again, drawn + 4);
    assert_eq!(again.matches("Evaluation: shifted rows").count(), 1);
    assert!(again.contains("Evaluation: out-of-distribution rows"));

    ok(d, "calibrate run --device cpu");
    let html = report(d);
    whole(&html, drawn + 5);
    assert!(verdict(&html).contains("Before calibration: "), "{}", verdict(&html));
    for part in ["Before and after, on the test rows", "Coverage before and after the calibration", "coverage_90"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("before any calibration"), "what was evaluated before says so");
    ok(d, "evaluate run --device cpu --shift shift.csv --test far.csv");
    let html = report(d);
    whole(&html, drawn + 7);
    assert!(html.contains("Evaluation: 100 rows of far.csv") && html.contains("with the run calibrated on "));
}

#[test]
fn few_rows_are_said_and_no_rows_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    rows(d, "t.csv", 100, 0.5, 0.0);
    ok(d, "fit t.csv --device cpu --members 1 --epochs 5 -q --out run");
    let html = report(d);
    let said = verdict(&html);
    assert!(said.contains("of them, where chance alone allows ") && said.contains("10 rows are few"), "{said}");
    ok(d, "fit t.csv --device cpu --members 1 --epochs 5 -q --out run --force --set data.test_fraction=0");
    assert!(verdict(&report(d)).contains("the run has no test rows of its own"), "{}", verdict(&report(d)));
}

#[test]
fn images_show_classes_corruptions_and_both_sides_of_a_calibration() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    ok(d, "fit digits --device cpu --members 1 --epochs 3 -q --out run");
    let html = report(d);
    let said = verdict(&html);
    assert!(
        said.contains("the most probable class is right for ") && said.contains("<td>the confidence is "),
        "{said}"
    );
    assert!(said.contains("<td>it names "), "{said}");
    let drawn = html.matches("<svg ").count();
    ok(d, "evaluate run --device cpu --corrupt fog:1 --corrupt fog:5 --corrupt contrast:3");
    let html = report(d);
    whole(&html, drawn + 2);
    let results = std::fs::read_to_string(d.join("run/results.json")).expect("results");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    let heading = format!("Evaluation: corrupted test images, {} each", results["rows"]);
    assert!(html.contains(&heading) && html.contains("<td>contrast</td>"), "{heading}");
    for stem in ["corruption_accuracy", "corruption_ece"] {
        for ending in ["png", "svg", "csv"] {
            assert!(d.join(format!("run/figures/{stem}.{ending}")).is_file(), "{stem}.{ending}");
        }
    }
    ok(d, "calibrate run --device cpu");
    let html = report(d);
    whole(&html, drawn + 4);
    assert!(
        html.contains("Before the calibration. Accuracy against confidence") && html.contains("After the calibration.")
    );
    assert!(verdict(&html).contains("above are calibrated."), "{}", verdict(&html));
}
