//! The page Runs: what can be done with a run of the list, and how the list and the curves are looked at.

use super::runs::{Live, SHORT, SIZE, Test, click, count, page, recipe, says, three_runs, train, until};
use eframe::egui::{self, accesskit::Role};
use egui_kittest::kittest::{NodeT, Queryable};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use vifo::exec::Device;
use vifo::gui::settings::{Ground, RunColumn, Tab};
use vifo::run::watch::RunState;
use vifo::run::{About, RunFolder};
use vifo::train::Flow;
use vifo::workflow::fit::fit;

/// An item of a run's menu.
fn choose(test: &mut Test, run: &str, item: &str) {
    click(test, Role::Button, &format!("More for {run}"));
    click(test, Role::Button, item);
}

/// Replaces what stands in a field.
fn write(test: &mut Test, field: &str, text: &str) {
    let role = if field == "note" { Role::MultilineTextInput } else { Role::TextInput };
    test.get_by_role_and_label(role, field).focus();
    test.step();
    test.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    test.step();
    test.get_by_role_and_label(role, field).type_text(text);
    test.run_steps(2);
}

fn state(test: &Test, run: &str) -> Option<RunState> {
    test.state().app().runs.seen().iter().find(|s| s.name == run).map(|s| s.state.clone())
}

#[test]
fn a_run_is_deleted_and_brought_back_and_what_stays_deleted_goes_with_the_window() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    three_runs(root);
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "a list", |t| count(t, "plain") > 0);
    let before = std::fs::read(root.join("plain/results.json")).expect("results");
    choose(&mut test, "plain", "Delete");
    until(&mut test, "it is gone", |t| count(t, "plain") == 0 && says(t, "Deleted plain"));
    assert!(!root.join("plain").exists() && root.join(".trash").is_dir());
    // By the keyboard, then by the button; one after the other, the latest first.
    test.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    until(&mut test, "it is back", |t| count(t, "plain") > 0);
    assert_eq!(std::fs::read(root.join("plain/results.json")).expect("results"), before);
    assert!(!root.join(".trash").exists() && !says(&test, "Deleted"));
    choose(&mut test, "plain", "Delete");
    until(&mut test, "it is gone", |t| says(t, "Deleted plain;"));
    choose(&mut test, "mean-1", "Delete");
    until(&mut test, "both are gone", |t| says(t, "Deleted mean-1 and 1 before it"));
    click(&mut test, Role::Button, "Undo");
    until(&mut test, "the latest is back", |t| count(t, "mean-1") > 0 && says(t, "Deleted plain;"));
    drop(test);
    assert!(!root.join(".trash").exists() && !root.join("plain").exists(), "emptied with the window");
    assert!(root.join("mean-1/results.json").is_file() && root.join("mean-2/results.json").is_file());
}

#[test]
fn a_run_in_training_is_neither_deleted_nor_renamed() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "an empty folder", |t| says(t, "No runs here yet"));
    let live = Live::begin(&root.join("live"));
    // What another process writes shows within a second of its manifest.
    let mut slowest = Duration::ZERO;
    let mut written: Option<Instant> = None;
    while state(&test, "live").is_none() {
        if written.is_none() && root.join("live/manifest.json").is_file() {
            written = Some(Instant::now());
        }
        let frame = Instant::now();
        test.step();
        slowest = slowest.max(frame.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    let waited = written.map_or(Duration::ZERO, |at| at.elapsed());
    assert!(waited < Duration::from_secs(1) + 2 * slowest, "{waited:?}, a frame {slowest:?}");
    until(&mut test, "its training", |t| state(t, "live") == Some(RunState::Training));
    click(&mut test, Role::Button, "More for live");
    for item in ["Delete", "Rename…"] {
        assert!(test.get_by_role_and_label(Role::Button, item).accesskit_node().is_disabled(), "{item}");
    }
    assert!(count(&test, "Resume") == 0 && count(&test, "Continue for more epochs…") == 0);
    live.end();
}

#[test]
fn a_run_gets_another_name_tags_and_a_note() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    three_runs(root);
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "a list", |t| count(t, "plain") > 0);
    click(&mut test, Role::CheckBox, "Tick plain");
    choose(&mut test, "plain", "Rename…");
    write(&mut test, "new name", "mean-1");
    click(&mut test, Role::Button, "Rename");
    let said = |t: &Test| t.state().app().banner.texts().map(String::from).collect::<Vec<_>>().join("\n");
    until(&mut test, "the error", |t| said(t).contains("mean-1: already exists"));
    choose(&mut test, "plain", "Rename…");
    write(&mut test, "new name", "baseline");
    click(&mut test, Role::Button, "Rename");
    until(&mut test, "the new name", |t| count(t, "baseline") > 0 && count(t, "plain") == 0);
    assert!(says(&test, "1 of 3 ticked") && root.join("baseline/results.json").is_file());

    choose(&mut test, "baseline", "Tags and note…");
    write(&mut test, "tags, with commas between them", "paper, wide net");
    write(&mut test, "note", "Without a prior.");
    click(&mut test, Role::Button, "Save");
    until(&mut test, "the tags", |t| count(t, "paper, wide net") > 0);
    let about = RunFolder::open(&root.join("baseline")).and_then(|r| r.about()).expect("read");
    assert_eq!(about, About::new("paper, wide net", "Without a prior."));
    let report = std::fs::read_to_string(root.join("baseline/report.html")).expect("a report");
    assert!(report.contains("Tags: paper, wide net") && report.contains("Without a prior."), "the report shows them");
    // The list is narrowed by them.
    write(&mut test, "filter", "tag:paper");
    until(&mut test, "the filter", |t| count(t, "mean-1") == 0 && count(t, "baseline") > 0);
}

/// A run that was stopped in its course.
fn stopped(path: &Path) {
    let mut epochs = 0;
    fit(&recipe(4, SHORT), path, false, &Device::Cpu, &mut |_, _| {
        epochs += 1;
        if epochs > 4 { Flow::Stop } else { Flow::Continue }
    })
    .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_stopped_run_is_resumed_and_a_finished_one_goes_on() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    stopped(&root.join("half"));
    train(&recipe(4, SHORT), &root.join("whole"));
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "a list", |t| count(t, "half") > 0);
    choose(&mut test, "half", "Resume");
    until(&mut test, "its results", |t| t.state().app().settings.tab == Tab::Results && says(t, "held-out rows"));
    // To the bit what it would have been without the stop; the notes are in the words of the window.
    let results = |name: &str| RunFolder::open(&root.join(name)).and_then(|r| r.results()).expect("results").metrics;
    assert_eq!(results("half"), results("whole"));

    // From the page Results, for as many epochs more.
    test.get_by_role_and_label(Role::Button, "Continue training").click();
    test.run_steps(3);
    let folder = RunFolder::open(&root.join("half")).expect("a run");
    let done = |t: &Test| {
        t.state().app().settings.tab == Tab::Results
            && folder.manifest().is_ok_and(|m| m.state == "finished" && m.epochs_before == 12)
    };
    until(&mut test, "its end", done);
    let rows = folder.metrics(u32::MAX).expect("rows");
    assert_eq!((rows.len(), rows[23].epoch), (24, 24));
    assert!(rows[12].learning_rate > rows[11].learning_rate, "under a schedule of its own");
    assert_ne!(results("half"), results("whole"), "tested anew");
    assert!(folder.manifest().expect("read").changes[0].contains("continued for 12 epochs after epoch 12"));

    // From the page Runs, for a number that is asked for. The list counts all epochs.
    let app = test.state_mut().app.as_mut().expect("made");
    app.settings.tab = Tab::Runs;
    until(&mut test, "the list", |t| says(t, "finished, epoch 24 of 24"));
    choose(&mut test, "whole", "Continue for more epochs…");
    assert!(says(&test, "epochs more"));
    click(&mut test, Role::Button, "Continue");
    until(&mut test, "its end", |t| t.state().app().settings.tab == Tab::Results && says(t, "whole"));
}

#[test]
fn the_list_is_narrowed_by_numbers_and_has_the_columns_that_are_asked_for() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    three_runs(root);
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "a list", |t| count(t, "plain") > 0);
    assert!(count(&test, "data") == 1 && count(&test, "test CRPS") == 0);
    click(&mut test, Role::Button, "Columns");
    click(&mut test, Role::CheckBox, "test CRPS");
    click(&mut test, Role::CheckBox, "data");
    test.key_press(egui::Key::Escape);
    test.run_steps(3);
    assert!(count(&test, "test CRPS") == 1 && count(&test, "data") == 0);
    let columns = &test.state().app().settings.run_columns;
    assert!(columns.contains(&RunColumn::Metric("crps".into())) && !columns.contains(&RunColumn::Data));
    // Sorted by it, and narrowed to what lies below the largest.
    click(&mut test, Role::Button, "test CRPS");
    let crps = |t: &Test, name: &str| {
        t.state().app().runs.seen().iter().find(|s| s.name == name).and_then(|s| s.metric("crps"))
    };
    let mut names = ["mean-1", "mean-2", "plain"];
    names.sort_by(|a, b| crps(&test, a).partial_cmp(&crps(&test, b)).expect("numbers"));
    let top = |t: &Test, name: &str| t.get_by_label(name).rect().top();
    assert!(top(&test, names[0]) < top(&test, names[1]) && top(&test, names[1]) < top(&test, names[2]));
    let largest = crps(&test, names[2]).expect("a number");
    write(&mut test, "filter", &format!("crps<{largest} data:sinusoid"));
    until(&mut test, "the filter", |t| count(t, names[2]) == 0 && count(t, names[1]) > 0);
}

#[test]
fn a_click_in_the_legend_hides_a_curve_and_smoothing_draws_another() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    train(&recipe(1, SHORT), &root.join("one"));
    train(&recipe(1, &format!("eta = 1.0\n{SHORT}")), &root.join("two"));
    let mut test = page(root, home, Ground::Light, SIZE, true);
    until(&mut test, "a list", |t| count(t, "two") > 0);
    click(&mut test, Role::Button, "Tick all");
    test.run_steps(6);
    // Pixels of the first series' colour, Okabe and Ito's blue.
    let blue = |t: &mut Test| {
        let image = t.render().unwrap_or_else(|e| panic!("{e}"));
        let near = |p: &image::Rgba<u8>| p.0[0] < 20 && p.0[1].abs_diff(0x72) < 12 && p.0[2].abs_diff(0xb2) < 12;
        image.pixels().filter(|p| near(p)).count()
    };
    let before = blue(&mut test);
    assert!(before > 100, "{before}");
    click(&mut test, Role::CheckBox, "one");
    test.run_steps(3);
    let hidden = blue(&mut test);
    assert!(hidden < before / 4, "{before} {hidden}");
    let at = egui::Id::unique(("hidden curves", "overlay"));
    let names = |t: &Test| t.ctx.data(|d| d.get_temp::<BTreeSet<String>>(at)).unwrap_or_default();
    assert_eq!(names(&test), BTreeSet::from(["one".to_string()]));
    click(&mut test, Role::CheckBox, "one");
    assert!(names(&test).is_empty());
    let app = test.state_mut().app.as_mut().expect("made");
    app.settings.curves.smoothing = 0.9;
    test.run_steps(3);
    // The values themselves are faint now, and the mean lies elsewhere.
    assert_ne!(blue(&mut test), before);
}
