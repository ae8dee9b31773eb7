//! The pages Your data and Results, driven by what stands on them: a table is opened, trained on with one click, and its
//! results are read; what is broken is told and breaks nothing.

use eframe::egui::{self, accesskit::Role};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vifo::gui::app::App;
use vifo::gui::settings::{Ground, Settings, Tab};

struct Window {
    app: Option<App>,
    settings: Settings,
    home: PathBuf,
}

impl Window {
    fn app(&mut self) -> &mut App {
        self.app.as_mut().expect("made in the first frame")
    }
}

type Test = Harness<'static, Window>;

fn window(dir: &Path, tab: Tab, drawn: bool) -> Test {
    sized(dir, tab, drawn, Ground::Light, egui::vec2(1280.0, 800.0))
}

fn sized(dir: &Path, tab: Tab, drawn: bool, ground: Ground, size: egui::Vec2) -> Test {
    let settings = Settings { tab, ground, runs: dir.join("runs"), ..Settings::default() };
    let window = Window { app: None, settings, home: dir.join("home") };
    let builder = Harness::builder().with_size(size).with_render_cursor(false);
    let builder = if drawn { builder.wgpu() } else { builder };
    let mut test = builder.build_ui_state(
        |ui: &mut egui::Ui, window: &mut Window| {
            let app = window.app.get_or_insert_with(|| {
                App::new(ui.ctx(), window.settings.clone(), window.home.clone(), None, None).expect("an app")
            });
            app.logic(ui.ctx());
            app.show(ui);
        },
        window,
    );
    test.step();
    test
}

/// Frames until it is so.
fn until(test: &mut Test, what: &str, so: impl Fn(&mut Test) -> bool) {
    let started = Instant::now();
    while !so(test) {
        assert!(started.elapsed() < Duration::from_secs(60), "waited a minute for {what}: {:?}", said(test));
        std::thread::sleep(Duration::from_millis(5));
        test.step();
    }
}

fn has(test: &Test, label: &str) -> bool {
    test.query_all_by_label_contains(label).next().is_some()
}

fn said(test: &mut Test) -> Vec<String> {
    test.state_mut().app().banner.texts().map(String::from).collect()
}

fn press(test: &mut Test, label: &str) {
    test.get_by_role_and_label(Role::Button, label).click();
    // Not `step`: these check that every input has a name.
    test.run_steps(2);
}

fn write(test: &mut Test, field: &str, text: &str) {
    test.get_by_role_and_label(Role::TextInput, field).focus();
    test.step();
    test.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    test.get_by_role_and_label(Role::TextInput, field).type_text(text);
    test.run_steps(2);
}

fn look_at(test: &mut Test, path: &Path) {
    write(test, "file or folder", &path.display().to_string());
    press(test, "Look at it");
}

fn shot(test: &mut Test, name: &str) {
    let Some(dir) = std::env::var_os("VIFO_SHOTS").map(PathBuf::from) else { return };
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(10));
        test.step();
    }
    std::fs::create_dir_all(&dir).expect("a folder");
    test.render().expect("an image").save(dir.join(format!("{name}.png"))).expect("saved");
}

/// `n` rows of two numbers, a text and a sum of them.
fn table(dir: &Path, name: &str, n: usize, from: f64, hole: bool) -> PathBuf {
    let mut text = "width,height,colour,weight\n".to_string();
    for i in 0..n {
        let (a, b) = (from + (i as f64 * 0.7).sin(), from + (i as f64 * 1.3).cos());
        let colour = ["red", "green", "blue"][i % 3];
        let weight = 2.0 * a - b + 0.1 * (i as f64 * 7.7).sin();
        let b = if hole && i == 5 { String::new() } else { format!("{b:.4}") };
        text += &format!("{a:.4},{b},{colour},{weight:.4}\n");
    }
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// One click, a few epochs.
fn train(test: &mut Test, epochs: u32) {
    let choice = &mut test.state_mut().app().data.choice;
    let choice = choice.as_mut().expect("data is open");
    (choice.epochs, choice.members) = (Some(epochs), 2);
    test.step();
    press(test, "Train");
}

#[test]
fn a_table_is_opened_looked_at_and_trained_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut test = window(dir.path(), Tab::Data, true);
    assert!(has(&test, "Nothing is open yet"));
    shot(&mut test, "data_empty");
    let path = table(dir.path(), "parcels.csv", 60, 0.0, true);
    look_at(&mut test, &path);
    until(&mut test, "the report", |t| has(t, "60 rows, 4 columns"));
    for column in ["width", "height", "colour"] {
        assert!(test.query_by_role_and_label(Role::CheckBox, &format!("use {column}")).is_some(), "{column}");
    }
    assert!(has(&test, "Learn 'weight' as a number"));
    assert!(has(&test, "the mean where it is missing"));
    shot(&mut test, "data_table");

    test.get_by_role_and_label(Role::ComboBox, "target").click();
    test.run_steps(2);
    press(&mut test, "colour");
    until(&mut test, "the report of another target", |t| has(t, "Learn 'colour' as one of 3 classes"));
    test.get_by_role_and_label(Role::CheckBox, "use width").click();
    until(&mut test, "the report without a column", |t| has(t, "Leave out 'width'"));

    train(&mut test, 4);
    until(&mut test, "the training to begin", |t| has(t, "Training on parcels"));
    until(&mut test, "the results", |t| t.state_mut().app().settings.tab == Tab::Results && has(t, "Test rows"));
    assert_eq!(said(&mut test), [""; 0]);
    for column in ["entropy ▼", "predicted", "mutual information"] {
        assert!(has(&test, column), "{column}");
    }
    assert!(dir.path().join("runs/parcels/report.html").is_file());
    let recipe = std::fs::read_to_string(dir.path().join("runs/parcels/recipe.toml")).expect("a recipe");
    assert!(recipe.contains("ignore = [\"width\"]") && recipe.contains("missing = \"flag\""), "{recipe}");
}

#[test]
fn what_is_broken_is_told_and_breaks_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut test = window(dir.path(), Tab::Data, false);
    look_at(&mut test, &dir.path().join("nowhere.csv"));
    until(&mut test, "the error", |t| said(t).iter().any(|s| s.contains("nowhere.csv")));
    let bad = dir.path().join("bad.csv");
    std::fs::write(&bad, "a,b\n1,2\n3\n4,5,6\n").expect("written");
    look_at(&mut test, &bad);
    until(&mut test, "the error", |t| said(t).iter().any(|s| s.contains("bad.csv, line 3")));
    assert!(has(&test, "Nothing is open yet") && test.query_by_label("Train").is_none());

    // A file that goes away between the report and the click: the claimed folder goes too.
    let gone = table(dir.path(), "gone.csv", 40, 0.0, false);
    look_at(&mut test, &gone);
    until(&mut test, "the report", |t| has(t, "40 rows, 4 columns"));
    std::fs::remove_file(&gone).expect("removed");
    train(&mut test, 2);
    until(&mut test, "the error", |t| said(t).iter().any(|s| s.contains("gone.csv")));
    until(&mut test, "the report again", |t| has(t, "40 rows, 4 columns"));
    assert!(dir.path().join("runs").read_dir().expect("a folder").next().is_none(), "an empty run folder was left");

    test.state_mut().app().settings.tab = Tab::Results;
    test.step();
    write(&mut test, "run folder", &dir.path().display().to_string());
    press(&mut test, "Open run");
    until(&mut test, "the error", |t| said(t).iter().any(|s| s.contains("is not a run folder")));
    assert!(has(&test, "No run is open yet"));
}

/// Whether the figures have a column of this name.
fn test_column(test: &Test, name: &str) -> bool {
    test.query_all_by_label(name).next().is_some()
}

/// A finished run on `n` rows, as the command line makes it.
fn finished(dir: &Path, path: &Path, extra: &str) -> PathBuf {
    let text = format!(
        "{extra}\n[data]\nfile = {:?}\n[method]\nmembers = 2\n[train]\nepochs = 30\n",
        path.display().to_string()
    );
    let table = vifo::recipe::Recipe::parse(&text, "test").expect("TOML");
    let recipe = vifo::recipe::Recipe::from_table(&table, "test").expect("a recipe");
    let run = dir.join("runs").join("finished");
    std::fs::create_dir_all(dir.join("runs")).expect("a folder");
    vifo::workflow::fit::fit(&recipe, &run, false, &vifo::exec::Device::Cpu, &mut |_, _| vifo::train::Flow::Continue)
        .expect("trained");
    run
}

#[test]
fn a_finished_run_shows_its_predictions_figures_and_a_second_set() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = table(dir.path(), "parcels.csv", 120, 0.0, false);
    let run = finished(dir.path(), &path, "");
    let mut test = window(dir.path(), Tab::Results, true);
    assert!(has(&test, "No run is open yet"));
    shot(&mut test, "results_empty");
    write(&mut test, "run folder", &run.display().to_string());
    press(&mut test, "Open run");
    until(&mut test, "the run", |t| has(t, "Test: 12 held-out rows"));
    assert!(has(&test, "Typical error (RMSE) ↓") && has(&test, "least squares") && has(&test, "finished"));
    until(&mut test, "the table", |t| has(t, "sd ▼"));
    shot(&mut test, "results_predictions");
    press(&mut test, "mean");
    until(&mut test, "another order", |t| has(t, "mean ▼"));
    press(&mut test, "mean ▼");
    until(&mut test, "the other way", |t| has(t, "mean ▲"));

    press(&mut test, "Figures");
    until(&mut test, "the figures", |t| has(t, "figure coverage") && has(t, "figure predicted"));
    shot(&mut test, "results_figures");

    press(&mut test, "Second set");
    assert!(has(&test, "No second set has been evaluated yet"));
    let far = table(dir.path(), "far.csv", 40, 30.0, false);
    write(&mut test, "second set", &far.display().to_string());
    press(&mut test, "Evaluate as out-of-distribution");
    until(&mut test, "the evaluation", |t| has(t, "ood: 40 rows") && has(t, "figure ood uncertainty"));
    assert!(has(&test, "Familiar or not, by total sd (AUROC) ↑"));
    shot(&mut test, "results_second");

    press(&mut test, "Report");
    assert!(has(&test, "report.html"));
    press(&mut test, "Copy path");
    shot(&mut test, "results_report");

    press(&mut test, "Predictions");
    write(&mut test, "new rows", &far.display().to_string());
    press(&mut test, "Predict new rows");
    until(&mut test, "the predictions", |t| has(t, "Predictions of far.csv"));
    assert!(has(&test, "lie outside the training range"));
    let copy = dir.path().join("copy.csv");
    write(&mut test, "save as", &copy.display().to_string());
    press(&mut test, "Save predictions");
    // The note of it moves the page down: what is pressed next must lie still.
    until(&mut test, "the file", |t| copy.is_file() && said(t).iter().any(|s| s.starts_with("saved")));
    test.run_steps(3);
    assert_eq!(std::fs::read_to_string(&copy).expect("a table").lines().count(), 41);
    shot(&mut test, "results_new_rows");
    press(&mut test, "Calibrate");
    until(&mut test, "the calibration", |t| has(t, "Calibrate again"));
    assert!(has(&test, "90 %") && run.join("calibration.json").is_file(), "{:?}", said(&mut test));
    // Beside what it was before, under one verdict, and with figures of both.
    until(&mut test, "the calibrated figures", |t| {
        test_column(t, "calibrated") && has(t, "before calibration the error bars")
    });
    assert_eq!(vifo::run::RunFolder::open(&run).and_then(|r| r.calibrated()).expect("read").expect("there").rows, 12);
    press(&mut test, "Figures");
    until(&mut test, "the calibration's figures", |t| has(t, "figure calibration, coverage"));
    press(&mut test, "Predictions");
    // Rows that are shown are predicted again by themselves.
    until(&mut test, "calibrated columns", |t| has(t, "lower_90 to upper_90 holds the value"));
    shot(&mut test, "results_calibrated");
    press(&mut test, "Back to the test rows");
    until(&mut test, "the test rows", |t| has(t, "Test rows"));
    assert!(has(&test, "lower 90 %") && has(&test, "Note: calibrated on"), "the run's own rows, too");
    assert!(!has(&test, "\"Calibrate\" below"), "it is done");
    assert!(said(&mut test).iter().all(|s| s.starts_with("saved")), "{:?}", said(&mut test));
}

#[test]
fn a_run_that_was_stopped_opens_with_its_curves() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = table(dir.path(), "parcels.csv", 60, 0.0, false);
    let mut test = window(dir.path(), Tab::Data, true);
    look_at(&mut test, &path);
    until(&mut test, "the report", |t| has(t, "60 rows, 4 columns"));
    train(&mut test, 100_000);
    until(&mut test, "some epochs", |t| t.state_mut().app().data.group.snapshot.epoch > 20);
    assert!(has(&test, "While it trains"));
    shot(&mut test, "data_training");
    press(&mut test, "Stop");
    until(&mut test, "the end", |t| has(t, "Show the stopped run"));
    press(&mut test, "Show the stopped run");
    until(&mut test, "the run", |t| has(t, "No results yet: this training was stopped"));
    shot(&mut test, "results_stopped");
    press(&mut test, "Resume");
    until(&mut test, "its training", |t| has(t, "Training on parcels") && t.state_mut().app().data.group.is_running());
    press(&mut test, "Stop");
    until(&mut test, "the end", |t| has(t, "Show the stopped run"));
    assert_eq!(said(&mut test), [""; 0]);
}

#[test]
fn digits_are_looked_at_and_shown_beside_their_predictions() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut test = sized(dir.path(), Tab::Data, true, Ground::Dark, egui::vec2(1920.0, 1080.0));
    press(&mut test, "Example: digits");
    until(&mut test, "the report", |t| has(t, "1797 images of 8 × 8"));
    shot(&mut test, "data_images");
    train(&mut test, 1);
    until(&mut test, "the thumbnails", |t| {
        t.state_mut().app().settings.tab == Tab::Results
            && has(t, "entropy ▼")
            && t.query_all_by_role(Role::Image).count() > 5
    });
    shot(&mut test, "results_images");
    // The misclassified alone, then as a file of the rows that are shown.
    let all = test.state_mut().app().results.shown_rows();
    test.get_by_role_and_label(Role::CheckBox, "misclassified only").click();
    until(&mut test, "fewer rows", |t| t.state_mut().app().results.shown_rows() < all);
    let wrong = test.state_mut().app().results.shown_rows();
    assert!(has(&test, &format!("{wrong} of {all} rows")));
    let copy = dir.path().join("wrong.csv");
    write(&mut test, "save as", &copy.display().to_string());
    press(&mut test, "Save predictions");
    until(&mut test, "the file", |t| copy.is_file() && said(t).iter().any(|s| s.starts_with("saved")));
    assert_eq!(std::fs::read_to_string(&copy).expect("a table").lines().count(), wrong + 1);
    press(&mut test, "Per class");
    assert!(has(&test, "right where named") && has(&test, "most often taken for"));
    shot(&mut test, "results_classes");
    press(&mut test, "Images");
    until(&mut test, "the sheet", |t| t.query_all_by_role(Role::Image).count() > 30);
    shot(&mut test, "results_sheet");
    test.query_all_by_role(Role::Image).next().expect("an image").click();
    until(&mut test, "one alone", |t| has(t, "true class"));
    shot(&mut test, "results_one_image");
    press(&mut test, "Close the image");
    press(&mut test, "Figures");
    until(&mut test, "the figures", |t| has(t, "figure reliability"));
    shot(&mut test, "results_images_figures");
}
