//! The files of our own runs: targets of any scale, names that stay, results that are lost.

use super::*;

/// Trains a small regression on a target of `file`.
fn fit_small(dir: &Path, file: &str, out: &str) {
    let args = ["--target", "y", "--method", "base", "--members", "1", "--eta-aux", "0", "--epochs", "20"];
    let out = vifo(dir).args(["fit", file]).args(args).args(["--device", "cpu", "-q", "--out", out]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a2_a4_targets_of_any_scale_come_back_from_the_file() {
    let dir = tempfile::tempdir().unwrap();
    for (scale, offset) in [(1.0, 1.7e9), (1e-5, 2_460_000.5), (1e-13, 0.0), (1e-29, 0.0), (1e29, 0.0)] {
        let row = |i: u32| {
            let x = f64::from(i) / 10.0;
            format!("{x},{:e}\n", offset + scale * (x.sin() + 0.1 * f64::from(i * 7919 % 13)))
        };
        write(dir.path(), "t.csv", &("x,y\n".to_string() + &(0..120).map(row).collect::<String>()));
        let run = format!("run{scale:e}");
        fit_small(dir.path(), "t.csv", &run);
        let (v, _) = score(dir.path(), &[&format!("{run}/predictions.csv")]);
        let text = std::fs::read_to_string(dir.path().join(&run).join("results.json")).unwrap();
        let ours: serde_json::Value = serde_json::from_str(&text).unwrap();
        for name in ["rmse", "width_90", "coverage_90"] {
            let want = find(&ours, name).unwrap().as_f64().unwrap();
            near(&v[0], name, want, 1e-9 * want.abs());
        }
        let out = vifo(dir.path()).args(["score", &format!("{run}/predictions.csv")]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).to_string();
        let shown =
            text.lines().find(|l| l.starts_with("rmse")).unwrap().split_whitespace().last().unwrap().to_string();
        let want = find(&ours, "rmse").unwrap().as_f64().unwrap();
        // Rounded to the digits that the standard error leaves, which are two at the least: half a unit of the last one.
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
        let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
        let off = (shown.parse::<f64>().unwrap() - want).abs();
        assert!(off <= 0.5000001 * unit && unit <= 0.1 * want, "{shown} for {want}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn c2_a_result_that_is_lost_is_an_error_and_a_closed_pipe_is_none() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "p.csv", "y,mean,sd\n1,0,1\n5,5,2\n1,3,4\n");
    fit_small_line(dir.path());
    for args in [
        vec!["score", "p.csv"],
        vec!["score", "p.csv", "--json"],
        vec!["inspect", "p.csv"],
        vec!["predict", "run", "line.csv", "--out", "-"],
        vec!["predict", "run", "line.csv"],
        vec!["evaluate", "run"],
        vec!["evaluate", "run", "--format", "csv"],
        vec!["compare", "run"],
        vec!["--help"],
        vec!["score", "--help"],
        vec!["--version"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("vifo"));
        let out = child.current_dir(dir.path()).args(&args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr).to_string();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.contains("error: standard output: cannot write") && !err.contains("panicked"), "{args:?}: {err}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("vifo"));
        let out = child.current_dir(dir.path()).args(&args).stdout(writer).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr).to_string();
        assert!(out.status.success() && !err.contains("error:"), "{args:?}: {err}");
    }
}

fn fit_small_line(dir: &Path) {
    let row = |i: u32| format!("{i},{}\n", f64::from(i) + f64::from(i * 31 % 7));
    write(dir, "line.csv", &("x,y\n".to_string() + &(0..60).map(row).collect::<String>()));
    fit_small(dir, "line.csv", "run");
}

#[test]
fn c3_c13_c14_predictions_keep_their_names_and_tables_stand_alone() {
    let dir = tempfile::tempdir().unwrap();
    fit_small_line(dir.path());
    let predict = |file: &str| {
        let out = vifo(dir.path()).args(["predict", "run", file]).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stderr).to_string()
    };
    let lines = |name: &str| std::fs::read_to_string(dir.path().join("run").join(name)).unwrap().lines().count();
    std::fs::create_dir(dir.path().join("other")).unwrap();
    for (name, rows) in [("sales.2021.csv", 2), ("sales.2022.csv", 3), ("other/sales.2021.csv", 4)] {
        write(dir.path(), name, &("x\n".to_string() + &"1\n".repeat(rows)));
    }
    assert!(!predict("sales.2021.csv").contains("holds"));
    assert!(!predict("sales.2022.csv").contains("holds"));
    assert_eq!((lines("predictions-sales.2021.csv"), lines("predictions-sales.2022.csv")), (3, 4));
    // The same rows again replace their own predictions; others of that name do not.
    assert!(!predict("sales.2021.csv").contains("holds"));
    let said = predict("other/sales.2021.csv");
    assert!(said.contains("predictions-sales.2021.csv holds the predictions of other rows"), "{said}");
    assert_eq!((lines("predictions-sales.2021.csv"), lines("predictions-sales.2021-2.csv")), (3, 5));
    for (format, start) in [("csv", "metric,unit,base"), ("markdown", "| metric"), ("latex", "\\begin{tabular}")] {
        let out = vifo(dir.path()).args(["evaluate", "run", "--format", format]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.starts_with(start) && !text.contains("rows\n"), "{text}");
    }
    let out = vifo(dir.path()).args(["evaluate", "run", "--ood", "line.csv", "--format", "csv"]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let columns = text.lines().next().unwrap().split(',').count();
    assert!(
        text.starts_with("set,metric,unit,base") && text.lines().all(|l| l.split(',').count() == columns),
        "{text}"
    );
    assert!(text.lines().any(|l| l.starts_with("ood,auroc_total_sd,")), "{text}");
    // Every digit: rmse as results.json has it.
    let results = std::fs::read_to_string(dir.path().join("run/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let rmse = find(&results, "rmse").unwrap().as_f64().unwrap();
    assert!(text.lines().any(|l| l.starts_with(&format!("test,rmse,y,{rmse},"))), "{text}");
    let spread = ["=cmd", "@b"];
    let row = |i: usize| format!("{i},{}\n", spread[i % 2]);
    write(dir.path(), "c.csv", &("x,y\n".to_string() + &(0..60).map(row).collect::<String>()));
    fit_small(dir.path(), "c.csv", "classes");
    let out =
        vifo(dir.path()).args(["predict", "classes", "c.csv", "--spreadsheet", "--out", "p.csv"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(dir.path().join("p.csv")).unwrap();
    assert!(
        text.contains(",'=cmd,") && text.contains(",'@b,") && !text.contains(",=cmd") && !text.contains(",@b"),
        "{text}"
    );
    // `score` reads it back.
    score(dir.path(), &["p.csv", "--target", "y"]);
}

#[cfg(unix)]
#[test]
fn c12_names_do_nothing_to_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let name = "e\u{1b}]0;x\u{7}\nvil.csv";
    write(dir.path(), name, "y,\"p_\u{1b}[31ma\",p_b\n\"\u{1b}[31ma\",0.5,0.5\nb,0.1,0.9\n");
    for args in [vec!["score", name], vec!["inspect", name], vec!["score", name, "--target", "no\u{1b}\nne"]] {
        let out = vifo(dir.path()).args(&args).output().unwrap();
        for bytes in [&out.stdout, &out.stderr] {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains(['\u{1b}', '\u{7}']), "{args:?}: {text:?}");
            assert!(!text.lines().any(|l| l.starts_with("vil.csv")), "{args:?}: {text:?}");
        }
    }
    let err = error(dir.path(), &[name, "--target", "none"]);
    assert!(err.contains("e\\x1b]0;x\\x07\\nvil.csv"), "{err}");
}
