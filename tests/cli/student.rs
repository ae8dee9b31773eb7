//! `--likelihood student-t`: outliers cost less, whatever a run writes is of the heavy tails, and what has no such noise says so.

use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &str) -> Output {
    let mut vifo = Command::new(env!("CARGO_BIN_EXE_vifo"));
    vifo.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split(' ')).output().expect("the binary runs")
}

#[track_caller]
fn ok(dir: &Path, args: &str) -> String {
    let out = run(dir, args);
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(out.status.success(), "vifo {args}: {said}");
    said
}

/// 400 rows about a sine, every twentieth off by 6 to 14 of the others' sd, up or down, and a second target without outliers.
fn table(dir: &Path) {
    let hash = |i: u32| ((f64::from(i) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0);
    let row = |i: u32| {
        let x = 6.0 * hash(i);
        // The sum of six uniform numbers has a sd of 0.71.
        let noise: f64 = (0..6).map(|k| hash(1000 + 6 * i + k) - 0.5).sum::<f64>() * 0.14;
        let wild = if i % 20 == 7 {
            (if hash(9000 + i) < 0.5 { -1.0 } else { 1.0 }) * (1.2 + 1.6 * hash(5000 + i))
        } else {
            0.0
        };
        format!("{x},{},{}\n", x.sin() + noise + wild, x.cos() + noise)
    };
    std::fs::write(dir.join("t.csv"), "x,y,z\n".to_string() + &(0..400).map(row).collect::<String>()).expect("written");
}

fn nll(dir: &Path, run: &str) -> f64 {
    let text = std::fs::read(dir.join(run).join("results.json")).expect("results");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let metric = |name: &str| {
        json["metrics"].as_array().expect("metrics").iter().find(|m| m["name"] == name).expect("a metric")["value"]
            .clone()
    };
    metric("nll").as_f64().expect("a number")
}

/// The columns of a table by name.
fn columns(file: &Path) -> impl Fn(&str) -> Vec<f64> + use<> {
    let text = std::fs::read_to_string(file).expect("a table");
    move |name: &str| {
        let at = text.lines().next().expect("a header").split(',').position(|h| h == name);
        let at = at.unwrap_or_else(|| panic!("no {name}"));
        text.lines().skip(1).map(|l| l.split(',').nth(at).expect("a cell").parse().expect("a number")).collect()
    }
}

#[test]
fn outliers_cost_less() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let fit = "fit t.csv --target y --ignore z --members 2 --epochs 60 --hidden 20 --device cpu --set data.test_fraction=0.4 -q";
    for method in ["vifo-mean", "base"] {
        for likelihood in ["gaussian", "student-t"] {
            ok(d, &format!("{fit} --method {method} --likelihood {likelihood} --out {method}-{likelihood}"));
        }
        let (heavy, normal) = (nll(d, &format!("{method}-student-t")), nll(d, &format!("{method}-gaussian")));
        println!("{method}: test NLL {normal:.3} with normal noise, {heavy:.3} with Student's t");
        assert!(heavy < normal - 0.1, "{method}: {heavy} with Student's t, {normal} with normal noise");
    }
}

#[test]
fn what_a_run_writes_is_of_the_heavy_tails() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let fit = "fit t.csv --target y --ignore z --members 1 --epochs 20 --hidden 8 --device cpu --likelihood student-t --set method.nu=2.5 -q";
    ok(d, &format!("{fit} --method base --out run"));
    ok(d, "predict run t.csv --device cpu --out p.csv");
    let column = columns(&d.join("p.csv"));
    let (mean, sd, scale) = (column("mean"), column("sd"), 5f64.sqrt());
    // One plain network is a t_2.5 with a scale of sd / sqrt(nu / (nu - 2)): its quantiles from scipy.
    for (name, t) in [("q97.5", 3.574_654_8), ("q75", 0.785_013_7), ("q2.5", -3.574_654_8)] {
        for (i, q) in column(name).into_iter().enumerate() {
            let found = (q - mean[i]) / sd[i] * scale;
            assert!((found - t).abs() < 1e-4 * t.abs(), "row {i}, {name}: {found} scales, {t} by Student's t");
        }
    }
    assert!(column("epistemic_sd").iter().all(|e| *e < 1e-6) && column("aleatoric_sd") == sd);
    assert!(ok(d, "calibrate run --device cpu").contains("90 %"));
    ok(d, "evaluate run --device cpu");
    ok(d, "export run run.onnx");
    assert!(ok(d, "export run run.safetensors").contains("squared scale"), "what the weights give");
    // Again from its own recipe, and two targets by methods that draw networks and that push them apart.
    ok(d, "fit run/recipe.toml --device cpu --out again -q");
    assert_eq!(nll(d, "run"), nll(d, "again"));
    let two = fit.replace("--target y --ignore z --members 1", "--target y,z --members 2");
    for method in ["vi-mean", "repulsive", "swag", "dropout", "vifo-eb_all"] {
        ok(d, &format!("{two} --method {method} --out {method}"));
        let column = columns(&d.join(method).join("predictions.csv"));
        for target in ["y", "z"] {
            let part = |name: &str| column(&format!("{target}_{name}"));
            let (all, aleatoric, epistemic) = (part("sd"), part("aleatoric_sd"), part("epistemic_sd"));
            for (i, sd) in all.iter().enumerate() {
                assert!(
                    (aleatoric[i].hypot(epistemic[i]) / sd - 1.0).abs() < 1e-6,
                    "{method}, {target}, row {i}: {sd}"
                );
            }
        }
    }
}

#[test]
fn what_has_no_such_noise_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    for (args, says) in [
        ("t.csv --likelihood student-t --method laplace", "\"student-t\" with laplace; allowed: \"gaussian\" there"),
        ("t.csv --likelihood student-t --method vbll", "\"student-t\" with vbll; allowed: \"gaussian\" there"),
        (
            "moons --likelihood student-t",
            "method.likelihood: \"student-t\" with classes; allowed: \"student-t\" for a regression only",
        ),
        (
            "t.csv --likelihood student-t --set method.expectation=exact",
            "no closed form under likelihood = \"student-t\"",
        ),
        (
            "t.csv --likelihood student-t --set method.nu=2",
            "method.nu: 2 is not allowed; allowed: a number above 2 and at most 100",
        ),
        ("t.csv --likelihood cauchy", "student-t"),
    ] {
        let out = run(d, &format!("fit {args} --device cpu --out no"));
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains(says) && !d.join("no").exists(), "{args}: {said}");
    }
}

/// One target a thousand times too large: said before training, with what helps; not where it counts less already.
#[test]
fn a_target_far_from_all_others_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let row = |i: u32| format!("{},{}\n", i % 17, if i == 40 { 1e7 } else { f64::from(i % 17) * 0.5 });
    std::fs::write(dir.path().join("o.csv"), "x,y\n".to_string() + &(0..300).map(row).collect::<String>())
        .expect("written");
    // No row is tested, so that the one is trained on.
    let args = "fit o.csv --target y --device cpu --epochs 1 --set data.test_fraction=0 --out";
    let told = ["value of 'y' beyond 10 standard deviations", "--likelihood student-t"];
    let normal = ok(dir.path(), &format!("{args} n"));
    let heavy = ok(dir.path(), &format!("{args} h --likelihood student-t"));
    let is_told = |said: &str| told.iter().all(|part| said.contains(part));
    assert!(is_told(&normal), "{normal}");
    assert!(!is_told(&heavy), "{heavy}");
}
