//! What a table needs beyond columns and a target, as a user asks for it: groups, time, weights, boosted trees beside the
//! network, and explanations.

use std::path::Path;
use std::process::Command;

fn vifo(dir: &Path, args: &str) -> std::process::Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split_whitespace());
    c.output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = vifo(dir, args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err, status) = (text(out.stdout), text(out.stderr), out.status);
    assert!(status.success(), "vifo {args}: {err}");
    (out, err)
}

fn refused(dir: &Path, args: &str, code: i32) -> String {
    let out = vifo(dir, args);
    let said = String::from_utf8(out.stderr).expect("UTF-8");
    assert_eq!(out.status.code(), Some(code), "vifo {args}: {said}");
    said
}

/// 400 rows: y = 3 |a| + step of b + noise that grows with c; `site` and `when` order them, `w` weighs them.
fn table(dir: &Path) {
    let mut text = String::from("a,b,c,site,when,w,y\n");
    for i in 0..400 {
        let wave = |f: f64| (i as f64 * f + f).sin();
        let (a, b, c) = (wave(0.7123), wave(1.317), wave(2.113).abs());
        let noise = wave(12.9898) + wave(78.233);
        let y = 3.0 * a.abs() + if b > 0.2 { 1.5 } else { -1.5 } + 0.6 * c * noise;
        let day = i * 7 % 400;
        let when = format!("20{:02}-{:02}-{:02}", 20 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
        text += &format!("{a},{b},{c},s{},{when},{},{y}\n", i % 40, 1 + i % 3);
    }
    std::fs::write(dir.join("t.csv"), text).expect("written");
}

const FIT: &str = "fit t.csv --target y --device cpu --members 2";

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn metric<'a>(results: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let all = results["metrics"].as_array().expect("metrics");
    all.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn trees_stand_beside_the_network() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let base = format!("{FIT} --ignore site --ignore when --ignore w --ignore c");
    let (out, _) = ok(d, &format!("{base} --epochs 1 --out run"));
    let head = out.lines().find(|l| l.starts_with("metric")).expect("a table");
    assert!(head.ends_with("mean baseline  least squares  boosting"), "{head}");
    assert!(out.contains("gradient boosting does better on these rows (rmse "), "{out}");
    let results = json(&d.join("run/results.json"));
    let of = |name: &str, column: &str| metric(&results, name)[column].as_f64().expect("a number");
    // The bend is no line's.
    assert!(of("rmse", "boosting") < 0.7 * of("rmse", "least_squares"), "{results}");
    for name in ["nll", "crps", "coverage_90", "width_90"] {
        assert!(of(name, "boosting").is_finite(), "{name}");
    }
    // The sd of errors on rows that the trees had not seen: an honest one covers. 40 rows: 0.9 +- 3 * 0.047.
    assert!((of("coverage_90", "boosting") - 0.9).abs() < 0.15, "{results}");
    let report = std::fs::read_to_string(d.join("run/report.html")).expect("a report");
    assert!(report.contains("boosting"));
    ok(d, &format!("{base} --epochs 1 --out off --baseline off -q"));
    assert!(metric(&json(&d.join("off/results.json")), "rmse")["boosting"].is_null());
    assert!(refused(d, &format!("{base} --baseline perhaps"), 2).contains("\"auto\", \"on\", \"off\""));
    // Another number of threads, the same bits.
    ok(d, &format!("--threads 1 {base} --epochs 1 --out one -q"));
    assert_eq!(json(&d.join("one/results.json")), results);
}

#[test]
fn classes_have_trees_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let mut text = String::from("a,b,kind\n");
    for i in 0..300 {
        let (a, b) = ((i as f64 * 0.7123).sin(), (i as f64 * 1.317).cos());
        let kind = if a * b > 0.0 {
            "same"
        } else if a > 0.0 {
            "east"
        } else {
            "west"
        };
        text += &format!("{a},{b},{kind}\n");
    }
    std::fs::write(d.join("k.csv"), text).expect("written");
    let (out, _) = ok(d, "fit k.csv --device cpu --members 2 --epochs 2 --out run");
    assert!(out.contains("boosting"), "{out}");
    let results = json(&d.join("run/results.json"));
    for (name, good) in [("accuracy", 0.8..1.01), ("nll", 0.0..0.6)] {
        let trees = metric(&results, name)["boosting"].as_f64().expect("a number");
        assert!(good.contains(&trees), "{name} {trees}");
    }
}

#[test]
fn groups_and_time_are_said_and_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let base = format!("{FIT} --epochs 1 --ignore w");
    ok(d, &format!("{base} --ignore when --group site --out g -q"));
    let notes = json(&d.join("g/manifest.json"))["notes"].to_string();
    assert!(
        notes.contains("split by 'site': groups that train 32 (320 rows), validate 4 (40 rows), test 4 (40 rows)"),
        "{notes}"
    );
    // The sites of the test rows, by the line that each prediction names.
    let lines = std::fs::read_to_string(d.join("g/predictions.csv")).expect("predictions");
    let sites: std::collections::HashSet<usize> = lines
        .lines()
        .skip(1)
        .map(|l| (l.split(',').next().expect("a cell").parse::<usize>().expect("a line") - 2) % 40)
        .collect();
    assert_eq!(sites.len(), 4);
    ok(d, &format!("{base} --ignore site --time when --out t -q"));
    let notes = json(&d.join("t/manifest.json"))["notes"].to_string();
    assert!(notes.contains("split by 'when': test rows are those from 2021-01-25 on"), "{notes}");
    // The validation part is the split's own in calibration.
    let (out, err) = ok(d, "calibrate t");
    assert!(out.contains("40 "), "{out}");
    assert!(out.contains("holds as long as the future is like them") || err.contains("holds as long as"), "{out}{err}");
    let said = refused(d, &format!("{base} --time when --group site"), 2);
    assert!(said.contains("data.time: data.group is set, too"), "{said}");
    let (_, err) = ok(d, "fit moons --epochs 1 --members 1 --group a --out m --device cpu");
    assert!(err.contains("--group has no effect with this data"), "{err}");
}

#[test]
fn weights_move_the_fit_and_the_figures() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    // Two clouds at odds: rows of weight 9 say +1, rows of weight 1 say -1.
    let mut text = String::from("a,w,y\n");
    for i in 0..300 {
        let heavy = i % 2 == 0;
        let y = if heavy { 1.0 } else { -1.0 } + 0.1 * (i as f64 * 12.9898).sin();
        text += &format!("{},{},{y}\n", (i as f64 * 0.37).sin(), if heavy { 9 } else { 1 });
    }
    std::fs::write(d.join("t.csv"), text).expect("written");
    let mean = |run: &str| {
        let text = std::fs::read_to_string(d.join(run).join("predictions.csv")).expect("predictions");
        let column = text.lines().next().expect("a head").split(',').position(|c| c == "mean").expect("a mean");
        let all: Vec<f64> = text
            .lines()
            .skip(1)
            .map(|l| l.split(',').nth(column).expect("a cell").parse().expect("a number"))
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    ok(d, "fit t.csv --target y --device cpu --members 2 --epochs 60 --method base --ignore w --out alike -q");
    let (out, _) =
        ok(d, "fit t.csv --target y --device cpu --members 2 --epochs 60 --method base --weight w --out weighed");
    assert!(mean("alike").abs() < 0.25, "{}", mean("alike"));
    // (9 - 1) / (9 + 1).
    assert!((mean("weighed") - 0.8).abs() < 0.2, "{}", mean("weighed"));
    assert!(out.contains("rows count by their weights in all of these figures"), "{out}");
    let results = json(&d.join("weighed/results.json"));
    let rmse = |column: &str| metric(&results, "rmse")[column].as_f64().expect("a number");
    // The constant is the weighted mean 0.8, and its weighted error sqrt(0.9 0.2^2 + 0.1 1.8^2) = 0.6.
    // Of 30 test rows 9 to 21 are heavy (two standard errors), which moves it by up to 0.25.
    assert!((rmse("constant") - 0.6).abs() < 0.25, "{results}");
    assert!((rmse("value") - rmse("constant")).abs() < 0.1, "{results}");
    // The same figures from the run folder, and on the file itself.
    let (_, again) = ok(d, "evaluate weighed --device cpu");
    assert!(again.contains("rows count by their weights"), "{again}");
    let (_, whole) = ok(d, "evaluate weighed --test t.csv --device cpu");
    assert!(whole.contains("rows count by their weights"), "{whole}");
    assert!(refused(d, "fit t.csv --target y --weight y", 2).contains("is the target"));
}

#[test]
fn explain_finds_what_matters() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    // A network that learns the noise of so few rows.
    let net = "--hidden 50 --set net.activation=relu --set net.embedding=none --set net.input_scale=false --set train.batch=32 --lr 0.01 --eta 0.1";
    ok(d, &format!("{FIT} {net} --epochs 300 --ignore site --ignore when --holdout shared --out run -q"));
    let (out, err) = ok(d, "predict run t.csv --explain --device cpu");
    assert!(err.contains("importance by 10 permutations of each column over 40 validation rows"), "{err}");
    let csv = std::fs::read_to_string(d.join("run/importance.csv")).expect("importance");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    assert_eq!(csv.lines().next(), Some("column,nll_increase,nll_sd,nll_se,rmse_increase,rmse_sd,rmse_se"));
    let of = |name: &str| -> Vec<f64> {
        let row = rows.iter().find(|r| r[0] == name).unwrap_or_else(|| panic!("{name} in {csv}"));
        row[1..].iter().map(|v| v.parse().expect("a number")).collect()
    };
    // The step of b is 3 high and moves the mean most; a bends it; w says nothing.
    let (a, b, w) = (of("a"), of("b"), of("w"));
    assert!(b[3] > a[3] && a[3] > 4.0 * w[3].abs(), "{csv}");
    assert!(b[3] > 5.0 * b[5], "clear of 0 by its standard error: {csv}");
    assert!(rows.windows(2).all(|r| r[0][1].parse::<f64>().expect("a number") >= r[1][1].parse().expect("a number")));
    assert!(d.join("run/figures/importance.svg").is_file() && d.join("run/figures/importance.png").is_file());
    assert!(out.contains("nll increase, nats"), "{out}");
    let text = std::fs::read_to_string(d.join("run/predictions-t.csv")).expect("predictions");
    let head: Vec<&str> = text.lines().next().expect("a head").split(',').collect();
    let at = |name: &str| head.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name} in {head:?}"));
    let (alea, epi, from, added) = (at("aleatoric_share"), at("epistemic_share"), at("sd_from_1"), at("sd_added_1"));
    let (c_at, sd_at) = (2, at("sd"));
    let table = std::fs::read_to_string(d.join("t.csv")).expect("the table");
    let (mut first, mut quiet, mut noisy, mut n) = (0, 0, 0, 0);
    for (line, row) in text.lines().skip(1).zip(table.lines().skip(1)) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        assert!((number(alea) + number(epi) - 1.0).abs() < 1e-6, "{line}");
        assert!(number(sd_at) > 0.0);
        // Little noise where c is small: the row's own c takes from the sd; much where it is large.
        let c: f64 = row.split(',').nth(c_at).expect("c").parse().expect("a number");
        if c < 0.3 {
            quiet += 1;
            first += usize::from(cells[from] == "c");
        }
        if cells[from] == "c" && !(0.5..0.8).contains(&c) {
            n += 1;
            noisy += usize::from((number(added) > 0.0) == (c > 0.65));
        }
    }
    // Noise of less than half its usual size: nothing changes the sd more than the usual c would.
    assert!(quiet > 50 && first * 3 > quiet * 2, "c is named in {first} of {quiet} rows that owe it their small sd");
    assert!(noisy * 10 > n * 9, "{noisy} of {n}");
    // The same seed, the same importance.
    ok(d, "predict run t.csv --explain --device cpu -q");
    assert_eq!(std::fs::read_to_string(d.join("run/importance.csv")).expect("importance"), csv);
}

/// Two targets with two inputs: heights and widths, each with a noise of its own.
fn two_targets(d: &Path) {
    let mut text = String::from("a,b,tall,wide\n");
    for i in 0..240 {
        let wave = |f: f64| (i as f64 * f + f).sin();
        let (a, b) = (wave(0.7123), wave(1.317));
        let (tall, wide) = (3.0 * a + 0.2 * wave(12.9898), 1000.0 * (b - a) + 200.0 * wave(78.233));
        text += &format!("{a},{b},{tall},{}\n", if i == 17 { String::new() } else { wide.to_string() });
    }
    std::fs::write(d.join("two.csv"), text).expect("written");
}

const TWO: &str = "fit two.csv --target tall,wide --device cpu --members 2 --epochs 60";

#[test]
fn several_targets_have_a_band_each() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    two_targets(d);
    let (out, err) = ok(d, &format!("{TWO} --out run"));
    assert!(out.contains("target tall, wide (regression)"), "{out}");
    assert!(err.contains("1 of 240 rows left out because a target is missing"), "{err}");
    let results = json(&d.join("run/results.json"));
    for (target, most) in [("tall", 0.4), ("wide", 400.0)] {
        let of = |name: &str| metric(&results, &format!("{name}[{target}]"))["value"].as_f64().expect("a number");
        assert!(of("rmse") < most, "{target}: {}", of("rmse"));
        assert!(of("coverage_90") > 0.6, "{target}: {}", of("coverage_90"));
        let constant = metric(&results, &format!("nll[{target}]"))["constant"].as_f64().expect("a number");
        assert!(of("nll") < constant, "{target}");
        assert!(d.join(format!("run/figures/{target}/coverage.svg")).is_file(), "{target}");
    }
    let predictions = std::fs::read_to_string(d.join("run/predictions.csv")).expect("a file");
    let head = predictions.lines().next().expect("a header");
    assert!(head.starts_with("line,tall,tall_mean,tall_sd,") && head.contains(",wide,wide_mean,wide_sd,"), "{head}");
    let report = std::fs::read_to_string(d.join("run/report.html")).expect("a file");
    for heading in ["tall: Are the error bars honest?", "wide: Are the error bars honest?", "wide: Test: "] {
        assert!(report.contains(heading), "{heading}");
    }

    // What the file holds is what `score` finds.
    let refusal = refused(d, "score run/predictions.csv", 2);
    assert!(refusal.contains("predictions of 2 targets: tall, wide") && refusal.contains("--target tall"), "{refusal}");
    for target in ["tall", "wide"] {
        let (scored, _) = ok(d, &format!("score run/predictions.csv --target {target} --json"));
        let scored: serde_json::Value = serde_json::from_str(scored.lines().next().expect("a line")).expect("JSON");
        let (a, b) = (metric(&scored[0], "rmse"), metric(&results, &format!("rmse[{target}]")));
        assert!((a["value"].as_f64().unwrap() - b["value"].as_f64().unwrap()).abs() < 1e-9, "{a} {b}");
    }

    // New rows, with both targets, one or none.
    std::fs::write(d.join("new.csv"), "a,b\n0.5,0.1\n-0.5,0.3\n").expect("written");
    ok(d, "predict run new.csv --out p.csv --device cpu --explain");
    let p = std::fs::read_to_string(d.join("p.csv")).expect("a file");
    assert!(p.starts_with("line,tall_mean,tall_sd,") && p.contains(",wide_mean,wide_sd,"), "{p}");
    assert!(p.contains("tall_sd_from_1") && p.contains("wide_sd_from_1"), "{p}");
    let said = refused(d, "score p.csv", 2);
    assert!(said.contains("predictions of 2 targets, tall, wide, and no column of true values"), "{said}");
    assert!(d.join("run/importance-tall.csv").is_file() && d.join("run/figures/importance-wide.svg").is_file());

    // Rows that the run has not seen are found again after a calibration, for each target.
    let (said, _) = ok(d, "calibrate run --device cpu");
    assert!(said.contains("tall") && said.contains("wide"), "{said}");
    let calibration = json(&d.join("run/calibration.json"));
    let threshold = |c: &serde_json::Value| c["levels"][0]["threshold"].as_f64().expect("a number");
    assert_ne!(threshold(&calibration), threshold(&calibration["more_targets"][0]), "{calibration}");
    ok(d, "predict run new.csv --out p.csv --device cpu");
    let p = std::fs::read_to_string(d.join("p.csv")).expect("a file");
    assert!(p.contains("tall_lower_90") && p.contains("wide_lower_90"), "{p}");
    let (evaluated, _) = ok(d, "evaluate run --ood new.csv --device cpu");
    assert!(evaluated.contains("target tall\n") && evaluated.contains("target wide\n"), "{evaluated}");
    assert!(!evaluated.contains("rmse["), "a table for each target: {evaluated}");
    let report = std::fs::read_to_string(d.join("run/report.html")).expect("a file");
    assert_eq!(report.matches("tall: Are the error bars honest?").count(), 1, "no verdict twice");
    assert_eq!(report.matches("wide: Calibration").count(), 1, "each calibration once");

    let (compared, _) = ok(d, "compare run --metric rmse[wide]");
    assert!(compared.contains("rmse[wide]") && !compared.contains("rmse[tall]"), "{compared}");
    let header = |text: &str| text.lines().nth(1).expect("a header").to_string();
    let all = header(&ok(d, "compare run").0);
    for name in ["rmse", "nll", "coverage_90"] {
        assert!(["tall", "wide"].iter().all(|target| all.contains(&format!("{name}[{target}]"))), "{name}: {all}");
    }
    assert!(!all.contains("crps"), "{all}");
    let rmse = header(&ok(d, "compare run --metric rmse").0);
    assert!(rmse.contains("rmse[tall]") && rmse.contains("rmse[wide]") && !rmse.contains("nll"), "{rmse}");
    // A run with one of the targets stands in a block of its own.
    ok(d, "fit two.csv --target tall --ignore wide --device cpu --members 1 --epochs 5 --out alone -q");
    let beside: serde_json::Value = serde_json::from_str(&ok(d, "compare run alone --json").0).expect("JSON");
    assert_eq!(beside["blocks"].as_array().expect("blocks").len(), 2, "{beside}");
    let (inspected, _) = ok(d, "inspect two.csv --target tall,wide");
    assert!(inspected.contains("Learn 'tall'") && inspected.contains("Learn 'wide'"), "{inspected}");
    assert!(inspected.contains("--target tall,wide"), "{inspected}");
}

/// Rows that a target alone would have kept are those of a run with that target, and a run on the software adapter ends
/// where the CPU's does.
#[test]
fn several_targets_on_another_device_and_resumed() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    two_targets(d);
    let short = TWO.replace("--epochs 60", "--epochs 6");
    ok(d, &format!("{short} --out cpu"));
    ok(d, &format!("{} --out gpu", short.replace("--device cpu", "--device software")));
    let rmse = |run: &str, target: &str| {
        metric(&json(&d.join(run).join("results.json")), &format!("rmse[{target}]"))["value"]
            .as_f64()
            .expect("a number")
    };
    for target in ["tall", "wide"] {
        let (a, b) = (rmse("cpu", target), rmse("gpu", target));
        // As far apart as forty steps let rounding grow: far less than an epoch's progress.
        assert!((a / b - 1.0).abs() < 1e-3, "{target}: {a} {b}");
    }
    for method in ["base", "vi-mean", "swag", "dropout", "repulsive", "laplace", "vifo-mv_all"] {
        ok(d, &format!("{short} --method {method} --out {method}"));
        assert!(rmse(method, "tall").is_finite(), "{method}");
    }
}

#[test]
fn several_targets_say_where_they_cannot() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    two_targets(d);
    let said = refused(d, "fit two.csv --target tall,wide,tall", 2);
    assert!(said.contains("column 'tall' twice"), "{said}");
    let said = refused(d, "fit two.csv --target tall,wide --ignore wide", 2);
    assert!(said.contains("column 'wide' is a target and ignored"), "{said}");
    let said = refused(d, "fit two.csv --target tall,wide --method vbll", 2);
    assert!(said.contains("\"vbll\" with 2 targets"), "{said}");
    let said = refused(d, "fit two.csv --target tall,deep", 2);
    assert!(said.contains("deep"), "{said}");
    std::fs::write(d.join("c.csv"), "a,b,kind\n".to_string() + &"1,2.5,x\n2,3.1,y\n3,1.7,x\n4,2.2,y\n".repeat(9))
        .expect("written");
    let said = refused(d, "fit c.csv --target b,kind", 2);
    assert!(said.contains("2 targets, of which 'kind' is classes"), "{said}");
}

#[test]
fn explain_says_where_it_cannot() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    ok(d, "fit digits --device cpu --members 1 --epochs 1 --net mlp --limit 200 --out images -q");
    let said = refused(d, "predict images digits --explain --device cpu", 2);
    assert!(said.contains("--explain: the run is on images, which have no columns"), "{said}");
    ok(d, &format!("{FIT} --epochs 1 --ignore when --holdout shared --set data.validation_fraction=0 --out none -q"));
    let said = refused(d, "predict none t.csv --explain --device cpu", 2);
    assert!(said.contains("0 validation rows") && said.contains("data.validation_fraction"), "{said}");
    ok(d, &format!("{FIT} --epochs 1 --ignore when --out run -q"));
    std::fs::write(d.join("new.csv"), std::fs::read(d.join("t.csv")).expect("t")).expect("written");
    std::fs::remove_file(d.join("t.csv")).expect("gone");
    assert!(refused(d, "predict run new.csv --explain --device cpu", 1).contains("t.csv"));
    ok(d, "predict run new.csv --device cpu");
    // Classes: entropies instead of sds.
    let mut text = String::from("a,b,kind\n");
    for i in 0..200 {
        let (a, b) = ((i as f64 * 0.7123).sin(), (i as f64 * 1.317).cos());
        text += &format!("{a},{b},{}\n", if a > 0.0 { "up" } else { "down" });
    }
    std::fs::write(d.join("k.csv"), text).expect("written");
    ok(d, "fit k.csv --device cpu --members 2 --epochs 50 --out k -q");
    ok(d, "predict k k.csv --explain --device cpu -q --out k.out.csv");
    let head =
        std::fs::read_to_string(d.join("k.out.csv")).expect("predictions").lines().next().expect("a head").to_string();
    assert!(
        head.ends_with("aleatoric_share,epistemic_share,entropy_from_1,entropy_added_1,entropy_from_2,entropy_added_2"),
        "{head}"
    );
    let (scored, _) = ok(d, "score k.out.csv");
    assert!(scored.contains("200 rows, target kind"), "{scored}");
    let csv = std::fs::read_to_string(d.join("k/importance.csv")).expect("importance");
    assert!(csv.lines().nth(1).is_some_and(|l| l.starts_with("a,")), "{csv}");
}
