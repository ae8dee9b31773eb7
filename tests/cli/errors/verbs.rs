//! What the verbs after `fit` say when something is wrong.

use super::*;

#[test]
// Long: a table of cases.
fn predict_and_evaluate_name_what_is_wrong() {
    let dir = tables();
    let d = dir.path();
    fit(d, "good.csv --out run");
    fit(d, "levels.csv --out levels --target y --strict");
    fit(d, "good.csv --out strict --strict");
    fit(d, "classes.csv --out classes");
    fit(d, "classes.csv --out strict_classes --strict");
    let copy = |name: &str, file: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        for path in files(&d.join("run")).iter().filter(|p| p.is_file()) {
            let to = d.join(name).join(path.strip_prefix(d.join("run")).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(path, to).unwrap();
        }
        let path = d.join(name).join(file);
        write(d, path.to_str().unwrap(), change(std::fs::read(&path).unwrap()));
    };
    let best = "checkpoints/best.safetensors";
    copy("short", best, &|b| b[..100].to_vec());
    copy("shorter", best, &|b| b[..b.len() - 100].to_vec());
    copy("void", best, &|_| vec![]);
    copy("newer", best, &|mut b| {
        let key = b"\"vifo_version\":\"";
        let at = b.windows(key.len()).position(|w| w == key).expect("a version in the header") + key.len();
        b[at] = b'9';
        b
    });
    // Without --strict the rows that can be judged are, and the others are told of.
    let out = vifo(d).args("evaluate classes --test other_label.csv --device cpu".split(' ')).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && err.contains("20 of 40 rows cannot be used") && err.contains("'perhaps'"), "{err}");
    write(d, "bare.csv", "1,2,3\n4,5,6\n");
    write(d, "inputs.csv", "1,2\n4,5\n");
    write(d, "capital.csv", "x,Z\n1,2\n3,4\n");
    copy("broken", "encoder.json", &|b| b[..b.len() / 2].to_vec());
    copy("untold", "recipe.toml", &|_| b"seed = ".to_vec());
    check(
        d,
        &[
            (
                "predict levels other_level.csv --device cpu",
                1,
                &["other_level.csv, line 2, column 'colour'", "'green'", "'red'", "correct the cell"],
            ),
            (
                "evaluate strict_classes --test other_label.csv --device cpu",
                1,
                &["other_label.csv, line 3, column 'y'", "'perhaps'", "'no', 'yes'", "correct the cell"],
            ),
            ("predict run narrow.csv --device cpu", 1, &["narrow.csv", "no column 'z'", "'x', 'y'", "add it"]),
            ("evaluate run --ood narrow.csv --device cpu", 1, &["narrow.csv", "no column 'z'", "add it"]),
            (
                "predict run bare.csv --device cpu",
                1,
                &["bare.csv", "put this first: x,z,y (or use --header yes)", "no line of column names"],
            ),
            ("predict run inputs.csv --device cpu", 1, &["put this first: x,z (or use --header yes)"]),
            ("predict run capital.csv --device cpu", 1, &["no column 'z'", "did you mean 'Z'?"]),
            ("predict strict hole.csv --device cpu", 1, &["hole.csv, line 3, column 'z'", "missing", "fill it in"]),
            ("predict run folder --device cpu", 1, &["folder", "is a folder", "name a file"]),
            ("predict run nosuch.csv --device cpu", 1, &["nosuch.csv", "cannot read", "check the path"]),
            ("predict run empty.csv --device cpu", 1, &["empty.csv", "empty", "check"]),
            ("predict theirs good.csv --device cpu", 2, &["theirs", "is not a run folder", "vifo fit"]),
            ("evaluate nosuch --device cpu", 2, &["nosuch", "does not exist", "check the path"]),
            (
                "predict run good.csv --device cpu --out no/where/p.csv",
                1,
                &["no/where/p.csv", "cannot write", "check the path"],
            ),
            ("predict run good.csv --device cpu --out folder", 2, &["folder", "is a folder", "add a file name"]),
            ("export nosuch w.safetensors", 2, &["nosuch", "does not exist", "check the path"]),
            ("export run good.csv", 2, &["good.csv", "already exists", "--force"]),
            ("export run folder --force", 2, &["folder", "is a folder", "add a file name"]),
            ("export run x.pt", 2, &["x.pt", "name of neither format", "NAME.onnx", "NAME.safetensors"]),
            ("export run model", 2, &["model", "name of neither format", "NAME.onnx", "NAME.safetensors"]),
            ("calibrate run --alpha abc", 2, &["--alpha: 'abc'; allowed: numbers such as 0.1 or 0.1,0.05"]),
            ("calibrate run --alpha 0.1,,0.2", 2, &["--alpha: '0.1,,0.2'; allowed: numbers such as 0.1"]),
            ("inspect run", 2, &["run: is a run folder", "a table or an image set", "open run/report.html"]),
            ("export run no/where/w.safetensors", 1, &["no/where/w.safetensors", "cannot write", "check the path"]),
            ("export run w.safetensors --member 9", 2, &["--member", "9, of", "0 to", "choose one of them"]),
            ("export short w.safetensors", 1, &["best.safetensors", "not a whole checkpoint", "train again"]),
            ("predict run good.csv --device gpu", 1, &["--device gpu", "no hardware GPU", "--device cpu"]),
            (
                "predict short good.csv --device cpu",
                1,
                &["short/checkpoints/best.safetensors", "not a whole checkpoint", "train again"],
            ),
            (
                "predict shorter good.csv --device cpu",
                1,
                &["best.safetensors", "not a whole checkpoint", "train again"],
            ),
            ("predict void good.csv --device cpu", 1, &["best.safetensors", "not a whole checkpoint", "train again"]),
            ("evaluate newer --device cpu", 1, &["best.safetensors", "format 9", "format 1", "train again"]),
            ("predict broken good.csv --device cpu", 1, &["encoder.json", "damaged", "train again"]),
            ("predict untold good.csv --device cpu", 2, &["recipe.toml, line 1", "not TOML", "mend"]),
        ],
    );
}

#[test]
fn inspect_score_and_compare_name_what_is_wrong() {
    let dir = tables();
    let d = dir.path();
    fit(d, "good.csv --out run");
    for (name, file) in [("torn", "results.json"), ("odd", "metrics.csv")] {
        std::fs::create_dir(d.join(name)).unwrap();
        for part in ["manifest.json", "recipe.toml", "results.json", "metrics.csv"] {
            std::fs::copy(d.join("run").join(part), d.join(name).join(part)).unwrap();
        }
        write(d, &format!("{name}/{file}"), "a\nb\n");
    }
    write(d, "p.csv", "y,mean,sd\n1,0,1\n2,1,1\n");
    check(
        d,
        &[
            ("inspect folder", 1, &["folder", "is an empty folder", "or the table itself"]),
            ("inspect nosuch.csv", 1, &["nosuch.csv", "cannot read", "check the path"]),
            ("inspect empty.csv", 1, &["empty.csv", "empty", "check"]),
            ("inspect header.csv", 1, &["header.csv", "only a header", "check"]),
            ("inspect ragged.csv --strict", 1, &["ragged.csv, line 42", "2 cells", "fix the row"]),
            ("inspect text.csv --strict", 1, &["text.csv, line 42", "'low'", "--as x=text"]),
            ("inspect inf.csv --strict", 1, &["inf.csv, line 42", "infinite", "leave the cell empty"]),
            ("inspect good.csv --target yy", 2, &["good.csv", "'yy'", "did you mean 'y'?"]),
            ("inspect good.csv --task guess", 2, &["--task", "\"guess\"", "\"regression\"", "leave the key out"]),
            ("inspect good.csv --delimiter xx", 2, &["good.csv", "xx", "one character"]),
            ("inspect good.csv --target-file one_row.csv", 1, &["one_row.csv", "40 rows", "give two files"]),
            ("score folder", 1, &["folder", "is a folder", "name a file"]),
            ("score nosuch.csv", 1, &["nosuch.csv", "cannot read", "check the path"]),
            ("score empty.csv", 1, &["empty.csv", "empty", "check"]),
            ("score header.csv", 1, &["header.csv", "only a header", "check"]),
            ("score good.csv", 2, &["good.csv", "'x', 'z', 'y'", "mean and sd", "--probs"]),
            ("score p.csv --ood nosuch.csv", 1, &["nosuch.csv", "cannot read", "check the path"]),
            ("score p.csv --ood good.csv", 2, &["good.csv", "mean and sd", "--mean"]),
            ("score p.csv --skip-lines many", 2, &["--skip-lines", "\"many\"", "whole number"]),
            ("score p.csv --out run", 2, &["run", "is a run folder", "--out"]),
            ("score p.csv --out p.csv", 1, &["p.csv", "cannot create", "another name"]),
            ("compare nosuch", 2, &["nosuch", "does not exist", "check the path"]),
            ("compare theirs", 2, &["theirs", "no run folder", "vifo fit", "check the path"]),
            ("compare p.csv", 2, &["p.csv", "is not a run folder", "check the path"]),
            ("compare torn", 1, &["torn/results.json", "damaged", "train again"]),
            ("compare odd", 1, &["odd/metrics.csv, line 2", "not a row of numbers", "restore"]),
            ("compare run --metric nlll", 2, &["--metric", "'nlll'", "rmse", "did you mean nll?"]),
            ("compare run --out p.csv", 1, &["p.csv", "cannot create", "another name"]),
        ],
    );
}
