//! The library's two calls give what the command line's parts give, to the bit.

use std::path::Path;
use vifo::data::table::{Cells, ReadOptions, read_table};
use vifo::method;
use vifo::recipe::Recipe;
use vifo::run::{self, RunFolder};
use vifo::train::Flow;
use vifo::{Column, Device, Model, Numbers, Options, Table};

const CO2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/co2.csv");
const IRIS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/iris_named.csv");

fn options() -> Options {
    let few = Options::target("co2_ppm").ignore(["date"]).members(2).epochs(2).seed(3).device("cpu");
    few.set("baselines.boosting", "off")
}

/// As bits: mean, sd, its two parts, and both ends of an interval.
fn bits(numbers: &Numbers) -> Vec<Vec<u64>> {
    let (low, high): (Vec<f64>, Vec<f64>) = numbers.interval(0.9).expect("an interval").into_iter().unzip();
    let all = [&numbers.mean, &numbers.sd, &numbers.aleatoric_sd, &numbers.epistemic_sd, &low, &high];
    all.iter().map(|v| v.iter().map(|v| v.to_bits()).collect()).collect()
}

fn predicted(model: &Model, table: &Table) -> Vec<Vec<u64>> {
    bits(model.predict(table).expect("predictions").numbers().expect("numbers"))
}

/// The file's columns as a program would hold them.
fn columns(file: &str) -> Vec<(String, Column)> {
    let table = read_table(Path::new(file), &ReadOptions::default()).expect("a table");
    let column = |cells: &Cells| match cells {
        Cells::Number(v) => Column::Numbers(v.clone()),
        Cells::Text(v) => Column::Texts(v.iter().map(|t| t.unwrap_or("").into()).collect()),
    };
    table.columns.iter().map(|c| (c.name.clone(), column(&c.cells))).collect()
}

#[test]
fn a_fit_a_saved_run_and_the_command_lines_run_predict_the_same_bits() {
    let dir = tempfile::tempdir().expect("a folder");
    let table = Table::read(CO2).expect("a table");
    let model = vifo::fit(&table, options()).expect("a model");
    let ours = predicted(&model, &table);
    assert_eq!((ours[0].len(), model.targets()), (table.rows(), vec!["co2_ppm"]));

    let text = format!(
        "seed = 3\ndevice = \"cpu\"\n[data]\nfile = {CO2:?}\ntarget = \"co2_ppm\"\nignore = [\"date\"]\n[method]\nmembers = 2\n\
         [train]\nepochs = 2\n[baselines]\nboosting = \"off\"\n"
    );
    let mut keys = Recipe::parse(&text, "test").expect("TOML");
    method::preset(&mut keys).expect("completed");
    let recipe = method::checked(&keys, "test").expect("a recipe");
    let theirs = dir.path().join("theirs");
    let fitted =
        vifo::workflow::fit::fit(&recipe, &theirs, false, &Device::Cpu, &mut |_, _| Flow::Continue).expect("a run");
    assert_eq!(predicted(&Model::load_on(&theirs, "cpu").expect("a run"), &table), ours);

    let saved = dir.path().join("saved");
    let results = model.save(&saved).expect("a run folder");
    assert_eq!(serde_json::to_string(&results).unwrap(), serde_json::to_string(&fitted.results).unwrap());
    assert_eq!(predicted(&Model::load_on(&saved, "cpu").expect("a run"), &table), ours);
    let file = |run: &Path| std::fs::read_to_string(run.join("predictions.csv")).expect("predictions");
    assert_eq!(file(&saved), file(&theirs));

    let refused = model.save(&saved).expect_err("it is there").to_string();
    assert!(refused.contains("already exists") && !refused.contains('\n'), "{refused}");
    let loaded = Model::load_on(&saved, "cpu").expect("a run");
    let refused = loaded.save(dir.path().join("again")).expect_err("loaded").to_string();
    assert!(refused.contains("was loaded from a run folder"), "{refused}");
}

#[test]
fn columns_in_memory_are_as_their_file_and_are_kept_in_every_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let (file, memory) = (Table::read(CO2).expect("a table"), Table::from_columns(columns(CO2)).expect("a table"));
    assert_eq!((memory.rows(), memory.columns()), (file.rows(), file.columns()));
    let model = vifo::fit(&memory, options()).expect("a model");
    let ours = predicted(&model, &file);
    assert_eq!(ours, predicted(&vifo::fit(&file, options()).expect("a model"), &file));
    assert_eq!(ours, predicted(&model, &memory));
    drop(memory);
    for name in ["a", "b"] {
        let folder = dir.path().join(name);
        model.save(&folder).expect("a run folder");
        let run = RunFolder::open(&folder).expect("a run");
        let recipe = run.recipe().expect("a recipe");
        assert_eq!(recipe.data.file, Some(folder.join("data.kept")));
        let data = run::Model::open(&run).expect("a model").data().expect("the data that were kept");
        assert!(run.manifest().expect("a manifest").is_of(&data), "evaluate would say that the data changed");
        assert_eq!(predicted(&Model::load_on(&folder, "cpu").expect("a run"), &file), ours);
    }
}

#[test]
fn classes_have_probabilities() {
    let table = Table::from_columns(columns(IRIS)).expect("a table");
    let options = Options::target("species").members(2).epochs(20).device("cpu").set("baselines.boosting", "off");
    let model = vifo::fit(&table, options).expect("a model");
    let rows = Table::from_columns([
        ("petal_width", vec![0.2, 2.3]),
        ("petal_length", vec![1.4, 6.0]),
        ("sepal_width", vec![3.5, 3.0]),
        ("sepal_length", vec![5.1, 7.7]),
    ]);
    let prediction = model.predict(&rows.expect("a table")).expect("predictions");
    let classes = prediction.classes().expect("classes");
    assert_eq!((classes.labels.len(), classes.names().len(), &prediction.rows[..]), (3, 2, &[0, 1][..]));
    for (i, p) in classes.probabilities.iter().enumerate() {
        let entropy = -p.iter().map(|p| if *p > 0.0 { p * p.ln() } else { 0.0 }).sum::<f64>();
        // Sums of three doubles below 1, and of their logarithms.
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && (entropy - classes.entropy[i]).abs() < 1e-12);
        assert!(p.iter().all(|q| *q <= p[classes.predicted[i]]));
    }
    let wrong = prediction.numbers().expect_err("a class").to_string();
    assert_eq!(wrong, "target 'species': is a class; use classes()");
}

#[test]
fn numbers_stay_numbers_whatever_they_look_like() {
    let odd: [(&str, Vec<f64>); 6] = [
        ("days", vec![12.01, 3.05, 1.1]),
        ("thousands", vec![1.234, 5.678, 9.012]),
        ("large", vec![1e300, 9_007_199_254_740_993.0, 1e22]),
        ("small", vec![5e-324, -1e-300, 0.1 + 0.2]),
        ("gaps", vec![f64::NAN, 1.0, f64::NAN]),
        ("7", vec![1.0, 2.0, 3.0]),
    ];
    let table = Table::from_columns(odd.clone()).expect("a table");
    assert_eq!((table.rows(), table.columns()), (3, odd.iter().map(|c| c.0).collect()));
    // Names that are numbers alone would be taken for data in a file.
    let alone = Table::from_columns([("0", vec![1.5]), ("1", vec![2.5])]).expect("a table");
    assert_eq!((alone.rows(), alone.columns()), (1, vec!["0", "1"]));
    let texts = Table::from_columns([("#a;b", vec!["x,\"y\"", "line\nbreak", ";"])]).expect("a table");
    assert_eq!((texts.rows(), texts.columns()), (3, vec!["#a;b"]));
}

#[test]
fn faults_are_one_line_with_their_cure() {
    let table = Table::read(CO2).expect("a table");
    let fit = |options: Options| vifo::fit(&table, options).expect_err("refused").to_string();
    let memory = Table::from_columns([("x", vec![1.0, 2.0]), ("y", vec![1.0, 2.0])]).expect("a table");
    let made = |columns: Vec<(&str, Vec<f64>)>| Table::from_columns(columns).expect_err("refused").to_string();
    let model = vifo::fit(&table, options()).expect("a model");
    let told = [
        (fit(Options::target("co2_pm")), "did you mean 'co2_ppm'?"),
        (fit(options().set("train.lr", -1)), "options: train.lr: -1"),
        (fit(options().set("train.rate", 1)), "no such key"),
        (fit(options().set("data.file", "other.csv")), "other data than the table"),
        (
            vifo::fit(&memory, Options::new().set("data.skip_lines", 1)).expect_err("refused").to_string(),
            "no file is read",
        ),
        (model.predict(&memory).expect_err("refused").to_string(), "decimal_year"),
        (
            model.predict(&table).expect("rows").numbers().expect("numbers").quantile(1.5).expect_err("q").to_string(),
            "1.5",
        ),
        (Model::load("assets").expect_err("no run").to_string(), "assets"),
        (made(vec![]), "columns: none"),
        (made(vec![("a", vec![1.0]), ("a", vec![1.0])]), "column 'a': occurs twice"),
        (made(vec![("a", vec![1.0]), ("b", vec![])]), "column 'b': 0 rows; allowed: 1, as column 'a' has"),
        (made(vec![("a", vec![1.0, f64::INFINITY])]), "column 'a', row 1: inf; allowed: finite numbers"),
        (made(vec![("a  b", vec![1.0])]), "column 'a  b': is no name that a file could hold"),
    ];
    for (message, part) in told {
        assert!(message.contains(part) && !message.contains('\n'), "{part}: {message}");
    }
}

/// Of variants the chosen one predicts: in memory, saved and loaded alike, and as it does alone.
#[test]
fn of_variants_the_chosen_one_is_the_model() {
    let dir = tempfile::tempdir().expect("a folder");
    let table = Table::read(IRIS).expect("a table");
    let options = || {
        let base = Options::target("petal_length").members(3).epochs(20).device("cpu").set("baselines.boosting", "off");
        base.set("data.holdout", "own")
    };
    let variants = options().set("train.variants", "[\"train.lr=1e-6\", \"net.dropout=0.1, prior.gamma=0.5\"]");
    let model = vifo::fit(&table, variants).expect("a model");
    let alone = vifo::fit(&table, options().set("net.dropout", 0.1).set("prior.gamma", 0.5)).expect("a model");
    let ours = predicted(&model, &table);
    assert_eq!(ours, predicted(&alone, &table));
    let saved = dir.path().join("saved");
    let results = model.save(&saved).expect("a run folder").expect("test rows");
    assert_eq!(results.variants.iter().map(|v| v.chosen).collect::<Vec<_>>(), [false, true]);
    assert_eq!(predicted(&Model::load_on(&saved, "cpu").expect("a run"), &table), ours);
}
