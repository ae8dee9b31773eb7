//! The app without a window: kittest clicks by label and looks at what comes of it. Nothing waits for a fixed time.

use super::desk::{Bench, Desk, app, bench, desk, frame, wait};
use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key, Modifiers, PointerButton, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use vifo::gui::app::App;
use vifo::gui::settings::{Ground, Settings, Tab};
use vifo::live::{Picture, WorkerState};

fn step_of(app: &App) -> u64 {
    app.playground.group.snapshot.step
}

fn click(h: &mut Bench, label: &str) {
    // A banner may just have moved the page.
    h.step();
    h.get_by_label(label).click();
    h.step();
    h.step();
}

/// A running app that has drawn its first band.
fn running(settings: Settings) -> Bench {
    let mut h = bench(settings, None);
    wait(&mut h, "the first steps", |a| step_of(a) > 20 && a.playground.transform.is_some());
    h
}

#[test]
fn the_first_launch_trains_the_sinusoid_and_says_what_the_band_means() {
    let mut h = running(Settings::default());
    assert!(h.query_by_label_contains("The shaded band is where the network predicts new points").is_some());
    assert_eq!(app(&mut h).playground.group.state, WorkerState::Running);
    assert!(matches!(app(&mut h).playground.group.snapshot.slots[0].picture, Picture::Band(_)));
    assert_eq!(app(&mut h).playground.points().len(), 100);
}

#[test]
fn start_pause_step_and_reset_by_button_and_by_key() {
    let mut h = running(Settings::default());
    click(&mut h, "Pause");
    wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
    let number = app(&mut h).playground.group.snapshot.number;
    click(&mut h, "Step");
    wait(&mut h, "a step", |a| {
        a.playground.group.snapshot.number > number && a.playground.group.state == WorkerState::Paused
    });
    let at = step_of(app(&mut h));
    h.key_press(Key::S);
    wait(&mut h, "another", |a| step_of(a) == at + 1);
    h.key_press(Key::Space);
    wait(&mut h, "training", |a| a.playground.group.state == WorkerState::Running && step_of(a) > at + 5);
    h.key_press(Key::Space);
    wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
    h.key_press(Key::R);
    wait(&mut h, "step 0", |a| step_of(a) == 0);
    click(&mut h, "Start");
    wait(&mut h, "training", |a| step_of(a) > 5);
    click(&mut h, "Stop");
    wait(&mut h, "a stop", |a| a.playground.group.state == WorkerState::Stopped);
    click(&mut h, "Start");
    wait(&mut h, "anew", |a| a.playground.group.state == WorkerState::Running);
}

fn screen(h: &mut Bench, at: [f64; 2]) -> Pos2 {
    let t = app(h).playground.transform.expect("a plot");
    t.position_from_point(&egui_plot::PlotPoint::new(at[0], at[1]))
}

fn button(h: &mut Bench, pos: Pos2, button: PointerButton, pressed: bool) {
    h.event(egui::Event::PointerMoved(pos));
    h.event(egui::Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE });
    h.step();
}

#[test]
fn a_point_is_added_dragged_and_removed_and_the_loss_moves() {
    let mut h = running(Settings::default());
    wait(&mut h, "a fit", |a| a.playground.group.slots[0].run.last().is_some_and(|r| r.step > 400));
    let before = app(&mut h).playground.group.slots[0].run.last().expect("a row").expected_nll;
    // Between the two groups of points there is nothing.
    let empty = screen(&mut h, [0.0, 1.0]);
    button(&mut h, empty, PointerButton::Primary, true);
    button(&mut h, empty, PointerButton::Primary, false);
    wait(&mut h, "101 points in training", |a| a.playground.group.slots[0].points.train.len() == 101);
    let added = app(&mut h).playground.points()[100];
    assert!(added[0].abs() < 0.1 && (added[1] - 1.0).abs() < 0.1, "{added:?}");
    // Far from the curve: the loss must feel it.
    let from = screen(&mut h, [added[0], added[1]]);
    let to = screen(&mut h, [0.5, -2.0]);
    button(&mut h, from, PointerButton::Primary, true);
    for i in 1..=10 {
        h.event(egui::Event::PointerMoved(from + (to - from) * (i as f32 / 10.0)));
        h.step();
    }
    button(&mut h, to, PointerButton::Primary, false);
    let moved = app(&mut h).playground.points()[100];
    assert!((moved[0] - 0.5).abs() < 0.1 && (moved[1] + 2.0).abs() < 0.1, "{moved:?}");
    let trained = move |a: &App| {
        a.playground.group.slots[0]
            .points
            .train
            .iter()
            .any(|p| (p[0] - moved[0]).abs() < 1e-4 && (p[1] - moved[1]).abs() < 1e-4)
    };
    wait(&mut h, "training on it", trained);
    let at = step_of(app(&mut h));
    wait(&mut h, "a row after it", |a| a.playground.group.slots[0].run.last().is_some_and(|r| r.step > at + 20));
    let after = app(&mut h).playground.group.slots[0].run.last().expect("a row").expected_nll;
    assert!(after > before, "{before} -> {after}: a point off the curve costs");
    let at = screen(&mut h, [moved[0], moved[1]]);
    button(&mut h, at, PointerButton::Secondary, true);
    button(&mut h, at, PointerButton::Secondary, false);
    wait(&mut h, "100 points again", |a| a.playground.group.slots[0].points.train.len() == 100);
    assert!(step_of(app(&mut h)) > 100, "never begun anew");
}

#[test]
fn eta_takes_effect_in_the_running_training_and_a_network_waits_for_consent() {
    let mut h = running(Settings::default());
    let at = step_of(app(&mut h));
    h.get_by_role_and_label(Role::Slider, "eta").set_value_accesskit(2.5);
    wait(&mut h, "the weight in a row", |a| {
        a.playground.group.slots[0].run.last().is_some_and(|r| r.eta.is_some_and(|e| (e - 2.5).abs() < 0.1))
    });
    assert!(step_of(app(&mut h)) >= at);
    app(&mut h).playground.draft.net.hidden = Some(vec![7]);
    wait(&mut h, "a word of warning", |a| a.playground.waiting() == ["net.hidden"]);
    h.step();
    assert!(h.query_by_label_contains("will restart training").is_some());
    let at = step_of(app(&mut h));
    wait(&mut h, "steps of the old network", |a| step_of(a) > at);
    click(&mut h, "Restart with changes");
    wait(&mut h, "the new network", |a| {
        a.playground.group.slots[0].recipe.as_ref().is_some_and(|r| r.net.hidden == Some(vec![7]))
    });
    app(&mut h).playground.draft.seed = 9;
    wait(&mut h, "a word", |a| !a.playground.waiting().is_empty());
    h.step();
    click(&mut h, "Discard");
    assert_eq!(app(&mut h).playground.draft.seed, 1);
}

#[test]
fn every_tab_shows_itself() {
    let mut h = running(Settings::default());
    for (tab, name, _) in Tab::ALL {
        click(&mut h, name);
        assert_eq!(app(&mut h).settings.tab, tab);
        for _ in 0..20 {
            h.step();
        }
    }
    for (now, then, ground) in [
        ("Theme: system", "Light", Ground::Light),
        ("Theme: light", "Dark", Ground::Dark),
        ("Theme: dark", "As the system", Ground::System),
    ] {
        click(&mut h, now);
        click(&mut h, then);
        assert_eq!(app(&mut h).settings.ground, ground);
    }
    assert_eq!(app(&mut h).banner.texts().count(), 0);
}

#[test]
fn moons_show_a_map_a_boundary_and_points_of_any_class() {
    let mut h = running(Settings::default());
    app(&mut h).playground.draft.data.toy = Some(vifo::data::toy::ToyKind::Moons);
    app(&mut h).playground.draft.data.rows = 100;
    app(&mut h).playground.draft.data.standardise = true;
    wait(&mut h, "a word", |a| !a.playground.waiting().is_empty());
    h.step();
    click(&mut h, "Restart with changes");
    let is_map =
        |a: &App| a.playground.group.snapshot.slots.first().is_some_and(|l| matches!(l.picture, Picture::Map(_)));
    wait(&mut h, "a map", is_map);
    wait(&mut h, "steps", |a| step_of(a) > 50 && is_map(a));
    for kind in ["Total entropy", "Mutual information", "Probability"] {
        click(&mut h, kind);
    }
    // A class that is there keeps the training; a new one asks before it begins anew.
    click(&mut h, "1");
    let place = screen(&mut h, [-1.3, -0.8]);
    let n = app(&mut h).playground.points().len();
    button(&mut h, place, PointerButton::Primary, true);
    button(&mut h, place, PointerButton::Primary, false);
    wait(&mut h, "the point", move |a| a.playground.group.slots[0].points.train.len() == n + 1);
    assert_eq!(app(&mut h).playground.points()[n][2], 1.0);
    click(&mut h, "new class");
    let place = screen(&mut h, [2.0, 1.3]);
    button(&mut h, place, PointerButton::Primary, true);
    button(&mut h, place, PointerButton::Primary, false);
    wait(&mut h, "a word", |a| !a.playground.waiting().is_empty());
    click(&mut h, "Restart with changes");
    wait(&mut h, "three classes", |a| {
        a.playground.group.snapshot.slots.first().is_some_and(|l| matches!(&l.picture, Picture::Map(m) if m.k == 3))
    });
}

#[test]
fn plots_are_exported_as_picture_and_numbers() {
    let mut h = running(Settings::default());
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().join("deep/figures");
    h.key_press_modifiers(Modifiers::COMMAND, Key::E);
    h.step();
    h.step();
    app(&mut h).exports.folder = folder.display().to_string();
    click(&mut h, "Write files");
    wait(&mut h, "a word of it", |a| a.banner.texts().any(|t| t.starts_with("exported")));
    for name in ["band.png", "band.svg", "band.csv", "learning_curves.csv"] {
        assert!(std::fs::metadata(folder.join(name)).is_ok_and(|m| m.len() > 200), "{name}");
    }
    let png = std::fs::read(folder.join("band.png")).expect("a file");
    assert!(image::load_from_memory(&png).expect("a picture").width() > 400);
    let csv = std::fs::read_to_string(folder.join("band.csv")).expect("a file");
    assert!(csv.lines().next().is_some_and(|l| l.contains("total_sd")), "{csv:.200}");
    click(&mut h, "Close");
    // A folder that cannot be made is told, and nothing breaks.
    std::fs::write(out.path().join("file"), "x").expect("written");
    h.key_press_modifiers(Modifiers::COMMAND, Key::E);
    h.step();
    h.step();
    app(&mut h).exports.folder = out.path().join("file/inside").display().to_string();
    click(&mut h, "Write files");
    wait(&mut h, "an error", |a| a.banner.texts().any(|t| t.contains("cannot create")));
}

#[test]
fn a_recipe_is_copied_and_pasted_back() {
    let mut h = running(Settings::default());
    click(&mut h, "Recipe");
    click(&mut h, "Copy recipe");
    let text = app(&mut h).playground.draft.to_toml().expect("TOML");
    let changed = text.replace("hidden = [", "hidden = [3, ").replace("eta = 0.1", "eta = 0.7");
    assert_ne!(text, changed);
    let field = |h: &mut Bench| {
        h.get_by_role(Role::MultilineTextInput).focus();
        h.step();
        h.key_press_modifiers(Modifiers::COMMAND, Key::A);
        h.step();
    };
    field(&mut h);
    h.event(egui::Event::Paste("[data]\ntoy = \"nonsense\"\n".into()));
    h.step();
    h.step();
    click(&mut h, "Train this recipe");
    assert!(app(&mut h).banner.texts().any(|t| t.contains("nonsense")), "a broken recipe is told");
    field(&mut h);
    h.event(egui::Event::Paste(changed));
    h.step();
    h.step();
    click(&mut h, "Train this recipe");
    wait(&mut h, "the pasted network", |a| {
        a.playground.group.slots[0]
            .recipe
            .as_ref()
            .is_some_and(|r| r.method.eta == Some(0.7) && r.net.hidden.as_ref().is_some_and(|n| n[0] == 3))
    });
}

#[test]
fn side_by_side_and_priors_train_and_draw() {
    let mut h = running(Settings { pace: 0.0, ..Settings::default() });
    click(&mut h, "Side by side");
    wait(&mut h, "three bands", |a| {
        a.side.group.as_ref().is_some_and(|g| g.snapshot.slots.len() == 3 && g.snapshot.step > 20)
    });
    click(&mut h, "Add method");
    click(&mut h, "Restart with changes");
    wait(&mut h, "four bands", |a| {
        a.side.group.as_ref().is_some_and(|g| g.snapshot.slots.len() == 4 && g.snapshot.step > 5)
    });
    click(&mut h, "Priors");
    let drawn = |a: &App| {
        let group = a.priors.group.as_ref()?;
        group.snapshot.slots.iter().map(|l| l.prior.clone()).collect::<Option<Vec<_>>>()
    };
    wait(&mut h, "three priors", |a| drawn(a).is_some_and(|d| d.len() == 3 && d.iter().all(|c| c.len() == 40)));
    click(&mut h, "Pause");
    wait(&mut h, "a pause", |a| a.priors.group.as_ref().is_some_and(|g| g.state == WorkerState::Paused));
    let number = app(&mut h).priors.group.as_ref().expect("a group").snapshot.number;
    let before = drawn(app(&mut h));
    click(&mut h, "Resample");
    wait(&mut h, "another draw", |a| a.priors.group.as_ref().is_some_and(|g| g.snapshot.number > number));
    assert_ne!(drawn(app(&mut h)), before);
}

#[test]
fn what_was_closed_goes_on_at_the_next_start() {
    let mut h = running(Settings::default());
    wait(&mut h, "steps", |a| step_of(a) > 100);
    let settings = app(&mut h).settings.clone();
    let at = step_of(app(&mut h));
    let Desk { app, home, .. } = std::mem::replace(h.state_mut(), desk(Settings::default(), None));
    drop(app);
    let again = Desk { app: None, settings, open: None, home };
    let mut h: Bench = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(40).build_ui_state(frame, again);
    wait(&mut h, "the session", |a| step_of(a) >= at);
    assert!(!self::app(&mut h).playground.group.slots[0].run.rows.is_empty());
}

/// Whole views at step 0 of a fixed seed, without the status bar (it names the machine). Text is drawn by the CPU; what may
/// differ between Mesa versions are edges of shapes: 0.6 is kittest's own threshold for that, on a scale where 1 is just
/// visible, and a thousandth of the pixels may exceed it.
#[test]
fn whole_views_look_as_they_did() {
    for (name, dark) in [("playground_light", false), ("playground_dark", true)] {
        let ground = if dark { Ground::Dark } else { Ground::Light };
        let settings = Settings { ground, ..Settings::default() };
        let mut h: Bench = Harness::builder()
            .with_size([1280.0, 800.0])
            .with_max_steps(40)
            .with_render_cursor(false)
            .wgpu()
            .build_ui_state(frame, desk(settings, None));
        wait(&mut h, "steps", |a| step_of(a) > 5);
        click(&mut h, "Pause");
        wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
        let number = app(&mut h).playground.group.snapshot.number;
        click(&mut h, "Reset");
        wait(&mut h, "step 0", |a| step_of(a) == 0 && a.playground.group.snapshot.number > number);
        for _ in 0..10 {
            h.step();
        }
        let compare = |h: &mut Bench, name: &str| {
            let image = h.render().expect("a picture");
            let page = image::imageops::crop_imm(&image, 0, 0, image.width(), image.height() - 40).to_image();
            let options = egui_kittest::SnapshotOptions::new().threshold(0.6).max_failed_pixels(1000);
            egui_kittest::image_snapshot_options(&page, name, &options);
        };
        compare(&mut h, name);
        if !dark {
            for (tab, name) in
                [("Recipe", "recipe"), ("Your data", "your_data_empty"), ("Learning curves", "curves_empty")]
            {
                click(&mut h, tab);
                for _ in 0..5 {
                    h.step();
                }
                compare(&mut h, name);
            }
        }
    }
}
