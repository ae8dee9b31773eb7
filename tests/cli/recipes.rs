//! Every built-in recipe does what its first comment says.

use std::path::Path;
use vifo::exec::Device;
use vifo::recipe::{Recipe, builtin};
use vifo::run::Fitted;
use vifo::train::Flow;
use vifo::workflow::fit::fit;

fn run(name: &str, dir: &Path) -> Fitted {
    let text = builtin::find(name).expect("a built-in recipe");
    assert!(text.starts_with("# "), "{name}: the first line states the result");
    let recipe = Recipe::from_table(&Recipe::parse(text, name).expect("TOML"), name).expect("a recipe");
    fit(&recipe, &dir.join(name), false, &Device::Cpu, &mut |_, _| Flow::Continue).expect("a finished run")
}

fn get(fitted: &Fitted, metric: &str) -> f64 {
    fitted.results.as_ref().expect("test rows").get(metric).expect("the metric")
}

/// sd of the prediction at raw inputs.
fn sd(fitted: &Fitted, x: &[f64]) -> Vec<f64> {
    let vifo::data::encode::FeatureKind::Numeric { mean, sd, .. } = fitted.data.encoder.features[0].kind else {
        panic!("one number")
    };
    let x: Vec<f32> = x.iter().map(|x| ((x - mean) / sd) as f32).collect();
    vifo::bench::demo::sd_at(fitted, &Device::Cpu, &x).expect("a prediction")
}

#[test]
fn sinusoid_opens_in_the_gap() {
    let dir = tempfile::tempdir().expect("a folder");
    let f = run("sinusoid", dir.path());
    let s = sd(&f, &[1.57, -1.57, 0.0]);
    assert!(s[2] > 3.0 * s[0].max(s[1]), "{s:?}");
}

#[test]
fn heteroscedastic_noise_grows() {
    let dir = tempfile::tempdir().expect("a folder");
    let s = sd(&run("heteroscedastic", dir.path()), &[0.5, 9.0]);
    assert!(s[0] < 0.2 && s[1] > 0.35 && s[1] < 0.75, "{s:?}");
}

#[test]
fn cubic_opens_outside() {
    let dir = tempfile::tempdir().expect("a folder");
    let s = sd(&run("cubic", dir.path()), &[0.0, 7.0, -7.0]);
    assert!(s[1] > 1.5 * s[0] && s[2] > 1.5 * s[0], "{s:?}");
}

#[test]
fn moons_and_rings_are_learnt() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, accuracy) in [("moons", 0.97), ("rings", 0.95)] {
        let f = run(name, dir.path());
        assert!(get(&f, "accuracy") > accuracy, "{name}: {}", get(&f, "accuracy"));
        assert!(get(&f, "nll") < 0.2, "{name}: {}", get(&f, "nll"));
        for file in [
            "report.html",
            "predictions.csv",
            "results.json",
            "metrics.csv",
            "manifest.json",
            "recipe.toml",
            "figures/heat.png",
        ] {
            assert!(dir.path().join(name).join(file).is_file(), "{name}/{file}");
        }
    }
}

#[test]
fn blobs_are_learnt() {
    let dir = tempfile::tempdir().expect("a folder");
    let f = run("blobs", dir.path());
    // The centres lie 1.73 apart, 3.46 sd from the border between them: even the best rule errs in 0.05 %.
    assert!(get(&f, "accuracy") > 0.98, "{}", get(&f, "accuracy"));
    let map = std::fs::read_to_string(dir.path().join("blobs/figures/heat.svg")).expect("a heat map");
    assert!(map.contains("Largest probability") && map.contains("class 2"), "three classes on the map");
}

#[test]
fn every_recipe_in_the_folder_is_built_in() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/recipes");
    let mut files: Vec<String> = std::fs::read_dir(dir)
        .expect("assets/recipes")
        .map(|e| e.expect("an entry").path().file_stem().expect("a name").to_string_lossy().to_string())
        .collect();
    files.sort();
    let mut names: Vec<String> = builtin::RECIPES.iter().map(|r| r.0.to_string()).collect();
    names.sort();
    assert_eq!(files, names);
}
