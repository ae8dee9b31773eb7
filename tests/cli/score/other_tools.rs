//! Predictions of other tools: their names for columns, quantiles alone, probabilities that are rounded.

use super::*;

/// Six rows for the goldens below. Made with scipy 1.17.1 (norm.logpdf, quad over (F - 1)^2) and scikit-learn 1.9.1
/// (mean_squared_error, mean_pinball_loss); the interval score there is 2 / alpha times the sum of the pinball losses of
/// both ends, which is another road than ours.
const Y: [&str; 6] = ["1.2", "-0.7", "3.4", "0.05", "2.8", "-1.9"];
const MEAN: [&str; 6] = ["1.0", "-0.2", "2.1", "0.4", "3.0", "-2.5"];
const SD: [&str; 6] = ["0.5", "0.3", "0.9", "1.2", "0.1", "0.4"];
const LOW: [&str; 6] = ["0.2", "-0.6", "1.0", "-1.5", "2.9", "-3.1"];
const MEDIAN: [&str; 6] = ["0.9", "-0.1", "2.2", "0.3", "3.05", "-2.4"];
const HIGH: [&str; 6] = ["1.8", "0.3", "3.3", "2.2", "3.2", "-1.8"];

fn columns(header: &str, columns: &[[&str; 6]]) -> String {
    let line = |i: usize| columns.iter().map(|c| c[i]).collect::<Vec<_>>().join(",") + "\n";
    format!("{header}\n") + &(0..6).map(line).collect::<String>()
}

#[test]
fn b12_mean_and_sd_under_the_names_of_other_tools() {
    let dir = tempfile::tempdir().unwrap();
    for header in [
        "y,y_pred,y_std",
        "y_true,pred,stdev",
        "target,prediction,sigma",
        "actual,mu,std",
        "label,yhat,se",
        "Observed,Predicted,Std. Dev.",
        "obs,fit,pred_sd",
    ] {
        write(dir.path(), "p.csv", &columns(header, &[Y, MEAN, SD]));
        let (v, _) = score(dir.path(), &["p.csv"]);
        near(&v[0], "rmse", 0.645819892333252, 1e-12);
        near(&v[0], "nll", 1.025704986377401, 1e-12);
        near(&v[0], "crps", 0.367822858132201, 1e-11);
        near(&v[0], "coverage_90", 4.0 / 6.0, 1e-12);
        near(&v[0], "width_90", 1.8641674438783358, 1e-9);
        near(&v[0], "interval_score_50", 1.7333333333333334, 1e-9);
        near(&v[0], "interval_score_90", 2.00436260794304, 1e-9);
        near(&v[0], "interval_score_95", 2.2479831927853597, 1e-9);
    }
    // A point alone has an error and nothing else, which is said.
    write(dir.path(), "p.csv", &columns("y_true,y_pred", &[Y, MEAN]));
    let (v, _) = score(dir.path(), &["p.csv"]);
    near(&v[0], "rmse", 0.645819892333252, 1e-12);
    assert!(find(&v[0], "nll").is_none() && v[0]["notes"].to_string().contains("nll and crps left out"), "{v}");
}

#[test]
fn b12_quantiles_alone_and_intervals_alone() {
    let dir = tempfile::tempdir().unwrap();
    for header in ["y,q10,q50,q90", "y,0.1,0.5,0.9", "y,quantile_0.1,quantile_0.5,quantile_0.9", "y,p10,p50,p90"] {
        write(dir.path(), "q.csv", &columns(header, &[Y, LOW, MEDIAN, HIGH]));
        let (v, _) = score(dir.path(), &["q.csv"]);
        near(&v[0], "coverage_80", 0.5, 1e-12);
        near(&v[0], "width_80", 1.6833333333333336, 1e-12);
        near(&v[0], "interval_score_80", 2.1833333333333336, 1e-12);
        near(&v[0], "pinball_10", 0.1325, 1e-12);
        near(&v[0], "pinball_50", 0.2583333333333333, 1e-12);
        near(&v[0], "pinball_90", 0.08583333333333336, 1e-12);
        near(&v[0], "pinball", 0.15888888888888889, 1e-12);
        assert!(find(&v[0], "rmse").is_none() && find(&v[0], "nll").is_none(), "{header}");
        assert!(v[0]["notes"].to_string().contains("rmse, nll and crps left out"), "{v}");
    }
    for (header, args, level, value) in [
        ("y,lower_80,upper_80", vec![], "80", 2.1833333333333336),
        ("y,pi_lo_0.8,pi_hi_0.8", vec![], "80", 2.1833333333333336),
        ("y,model-lo-80,model-hi-80", vec![], "80", 2.1833333333333336),
        ("y,lower,upper", vec!["--level", "80"], "80", 2.1833333333333336),
        ("y,lwr,upr", vec!["--level", "0.9"], "90", 2.6833333333333345),
        ("y,a,b", vec!["--lower", "a", "--upper", "b", "--level", "90", "--target", "y"], "90", 2.6833333333333345),
    ] {
        write(dir.path(), "i.csv", &columns(header, &[Y, LOW, HIGH]));
        let (v, _) = score(dir.path(), &[vec!["i.csv"], args].concat());
        near(&v[0], &format!("interval_score_{level}"), value, 1e-12);
        near(&v[0], &format!("coverage_{level}"), 0.5, 1e-12);
        near(&v[0], &format!("width_{level}"), 1.6833333333333336, 1e-12);
    }
    write(dir.path(), "i.csv", &columns("y,lower,upper", &[Y, LOW, HIGH]));
    let (v, _) = score(dir.path(), &["i.csv"]);
    near(&v[0], "coverage", 0.5, 1e-12);
    assert!(find(&v[0], "interval_score").is_none() && v[0]["notes"].to_string().contains("--level"), "{v}");
    assert!(error(dir.path(), &["i.csv", "--level", "200"]).contains("--level"));
    assert!(error(dir.path(), &["i.csv", "--ood", "i.csv"]).contains("less than a distribution"));
    // Mean and an interval: error of the one, scores of the other.
    write(
        dir.path(),
        "m.csv",
        &columns("y,mean,mean_ci_lower,mean_ci_upper,obs_ci_lower,obs_ci_upper", &[Y, MEAN, MEAN, MEAN, LOW, HIGH]),
    );
    let (v, _) = score(dir.path(), &["m.csv", "--level", "80"]);
    near(&v[0], "rmse", 0.645819892333252, 1e-12);
    near(&v[0], "interval_score_80", 2.1833333333333336, 1e-12);
}

#[test]
fn b12_one_column_of_probabilities_and_classes_by_other_names() {
    let dir = tempfile::tempdir().unwrap();
    // scikit-learn: log_loss, and twice brier_score_loss, which counts one class of the two.
    for (header, labels) in [
        ("y_true,y_prob", ["1", "0", "1", "1"]),
        ("target,p_1", ["1", "0", "1", "1"]),
        ("actual,proba_cat", ["cat", "dog", "cat", "cat"]),
        ("label,prob", ["Yes", "no", "Yes", "Yes"]),
        ("y,probability(1.0)", ["1", "0", "1", "1"]),
    ] {
        let rows: String =
            labels.iter().zip(["0.9", "0.2", "0.65", "0.45"]).map(|(l, p)| format!("{l},{p}\n")).collect();
        write(dir.path(), "b.csv", &format!("{header}\n{rows}"));
        let (v, _) = score(dir.path(), &["b.csv"]);
        near(&v[0], "nll", 0.3894486698205655, 1e-12);
        near(&v[0], "brier", 0.2375, 1e-12);
        near(&v[0], "accuracy", 0.75, 0.0);
        let (v, _) = score(dir.path(), &["b.csv", "--ood", "b.csv"]);
        near(&v[1], "auroc_entropy", 0.5, 0.0);
        assert!(v[1]["notes"].to_string().contains("the same predictions"), "{v}");
    }
    for text in [
        "y_true,y_pred,prob_0,prob_1\ndog,dog,0.1,0.9\ncat,dog,0.2,0.8\n",
        "species,proba_cat,proba_dog\ndog,0.1,0.9\ncat,0.2,0.8\n",
        "y,.pred_cat,.pred_dog,.pred_class\ndog,0.1,0.9,dog\ncat,0.2,0.8,dog\n",
        "y,cat,dog\ndog,0.1,0.9\ncat,0.2,0.8\n",
        "y,p_cat,p_dog\n1,0.1,0.9\n0,0.2,0.8\n",
    ] {
        write(dir.path(), "c.csv", text);
        let (v, _) = score(dir.path(), &["c.csv"]);
        near(&v[0], "nll", -(0.9f64.ln() + 0.2f64.ln()) / 2.0, 1e-12);
        near(&v[0], "accuracy", 0.5, 0.0);
    }
    write(dir.path(), "l.csv", "y,predicted\ndog,dog\ncat,dog\n007,7\ncow,cow\n");
    let (v, _) = score(dir.path(), &["l.csv"]);
    near(&v[0], "accuracy", 0.75, 0.0);
    assert!(v[0]["notes"].to_string().contains("need probabilities"), "{v}");
}

#[test]
fn b11_probabilities_are_renormalised_within_their_rounding() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "p.csv", "y,p_a,p_b,p_c\nb,0.156,0.770,0.073\na,0.6,0.3,0.1\nc,0.333,0.333,0.333\n");
    let (v, _) = score(dir.path(), &["p.csv"]);
    // scikit-learn's log_loss of the rows divided by their sums.
    near(&v[0], "nll", 0.623267392078308, 1e-12);
    near(&v[0], "brier", 0.33631237510450057, 1e-12);
    assert!(v[0]["notes"].to_string().contains("2 rows were renormalised"), "{v}");
}

#[test]
fn a3_out_of_distribution_rows_that_are_permutations_are_ties() {
    let dir = tempfile::tempdir().unwrap();
    let (mut id, mut ood) = ("y,p_a,p_b,p_c\n".to_string(), "p_a,p_b,p_c\n".to_string());
    for i in 1..60 {
        let (a, b) = (0.01 * f64::from(i) / 0.7, 0.1 / f64::from(i));
        let c = 1.0 - a - b;
        if c > 0.0 {
            id += &format!("a,{a},{b},{c}\n");
            ood += &format!("{c},{a},{b}\n");
        }
    }
    write(dir.path(), "id.csv", &id);
    write(dir.path(), "ood.csv", &ood);
    let (v, _) = score(dir.path(), &["id.csv", "--ood", "ood.csv"]);
    for name in ["auroc_entropy", "auroc_max_probability", "aupr_entropy"] {
        near(&v[1], name, 0.5, if name.starts_with("aupr") { 0.06 } else { 0.0 });
    }
}

/// A row without a target has an empty cell in the predictions, and is left out of the score.
#[test]
fn a5_predictions_of_rows_of_which_some_have_no_target() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let (mut numbers, mut classes) = (String::from("a,y\n"), String::from("a,kind\n"));
    for i in 0..60 {
        let a = (f64::from(i) * 0.7).sin();
        numbers += &format!("{a},{}\n", 2.0 * a + 1.0);
        classes += &format!("{a},{}\n", if a > 0.0 { "up" } else { "down" });
    }
    for (name, text, empty) in [("y", numbers, "0.25,\n0.5,2\n0.75,\n"), ("kind", classes, "0.25,\n0.5,up\n0.75,\n")] {
        write(d, "t.csv", &text);
        write(d, "new.csv", &format!("a,{name}\n{empty}"));
        for args in [
            format!("fit t.csv --device cpu --members 1 --epochs 2 -q --out {name}"),
            format!("predict {name} new.csv -q --out p.csv"),
        ] {
            let out = vifo(d).args(args.split(' ')).output().expect("the binary runs");
            assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
        }
        let text = std::fs::read_to_string(d.join("p.csv")).unwrap();
        let cells: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(
            cells.iter().map(|row| row[1]).collect::<Vec<_>>(),
            [name, "", if name == "y" { "2" } else { "up" }, ""]
        );
        let (v, _) = score(d, &["p.csv"]);
        assert_eq!(v[0]["rows"], 1);
        let notes = v[0]["notes"].to_string();
        assert!(notes.contains("2 of 3 rows without a target left out"), "{notes}");
    }
}
