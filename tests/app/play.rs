//! The playground's own: undo and redo, the slider over time, going on, the network, moving about in a plot, and the keyboard.

use super::desk::{Bench, app, bench, desk, frame, sized, wait};
use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key, Modifiers, PointerButton, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use egui_plot::PlotPoint;
use vifo::gui::app::{App, Open};
use vifo::gui::panels::playground::first_recipe;
use vifo::gui::settings::{Below, Ground, Settings};
use vifo::live::{Picture, WorkerState};
use vifo::recipe::Recipe;

fn step_of(app: &App) -> u64 {
    app.playground.group.step()
}

fn click(h: &mut Bench, label: &str) {
    // A banner may just have moved the page.
    h.step();
    h.get_by_role_and_label(Role::Button, label).click();
    h.step();
    h.step();
}

fn running(settings: Settings) -> Bench {
    let mut h = bench(settings, None);
    wait(&mut h, "the first steps", |a| step_of(a) > 20 && a.playground.transform.is_some());
    h
}

fn screen(h: &mut Bench, at: [f64; 2]) -> Pos2 {
    let t = app(h).playground.transform.expect("a plot");
    t.position_from_point(&PlotPoint::new(at[0], at[1]))
}

fn press(h: &mut Bench, pos: Pos2, pressed: bool) {
    let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
    h.event(egui::Event::PointerMoved(pos));
    h.event(egui::Event::PointerButton { pos, button, pressed, modifiers });
    h.step();
}

fn click_at(h: &mut Bench, at: [f64; 2]) {
    let pos = screen(h, at);
    press(h, pos, true);
    press(h, pos, false);
}

fn trains_on(n: usize) -> impl Fn(&App) -> bool {
    move |a: &App| a.playground.group.slots[0].points.train.len() == n
}

/// Longer than a double click takes.
fn pause(h: &mut Bench) {
    for _ in 0..60 {
        h.step();
    }
}

/// Time for what a paused training has still to show.
fn settle(h: &mut Bench) {
    for _ in 0..40 {
        h.step();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn points_and_settings_are_undone_and_done_again_without_a_restart() {
    let mut h = running(Settings::default());
    click_at(&mut h, [0.0, 1.0]);
    wait(&mut h, "101 points in training", trains_on(101));
    pause(&mut h);
    click_at(&mut h, [0.1, -1.0]);
    wait(&mut h, "102 points in training", trains_on(102));
    let eta = app(&mut h).playground.draft.method.eta;
    h.get_by_role_and_label(Role::Slider, "eta").set_value_accesskit(2.5);
    h.step();
    h.step();
    assert_ne!(app(&mut h).playground.draft.method.eta, eta);
    let at = step_of(app(&mut h));
    h.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    h.step();
    assert_eq!(app(&mut h).playground.draft.method.eta, eta);
    h.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    wait(&mut h, "101 points in training", trains_on(101));
    click(&mut h, "Undo");
    wait(&mut h, "100 points in training", trains_on(100));
    h.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    wait(&mut h, "101 points in training", trains_on(101));
    click(&mut h, "Redo");
    wait(&mut h, "102 points in training", trains_on(102));
    h.key_press_modifiers(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
    h.step();
    h.step();
    assert!(app(&mut h).playground.draft.method.eta.is_some_and(|e| (e - 2.5).abs() < 0.1));
    assert!(step_of(app(&mut h)) >= at, "never begun anew");
    assert!(app(&mut h).playground.waiting().is_empty());
}

/// A new point changes what is trained on, nothing else: the rings stay rings, and a step goes on to see all points at once.
#[test]
fn what_is_held_out_stays_so_when_points_are_set() {
    let text =
        "[data]\ntoy = \"sinusoid\"\nrows = 100\nvalidation_fraction = 0.2\n[train]\nbatch = 80\nepochs = 100000\n";
    let recipe = Recipe::parse(text, "t").and_then(|t| vifo::method::checked(&t, "t")).expect("a recipe");
    let mut h = bench(Settings::default(), Some(Open::Recipe(Box::new(recipe))));
    wait(&mut h, "a picture", |a| {
        a.playground.transform.is_some() && a.playground.group.slots[0].points.train.len() == 80
    });
    let held_out = |a: &App| a.playground.group.slots[0].points.held_out.clone();
    let before = held_out(app(&mut h));
    assert_eq!(before.len(), 20);
    click_at(&mut h, [0.0, 1.0]);
    wait(&mut h, "81 points in training", trains_on(81));
    let near = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3 * (1.0 + b.abs()));
    let after = held_out(app(&mut h));
    assert!(after.len() == 20 && after.iter().zip(&before).all(|(a, b)| near(a, b)), "{after:?}");
    assert!(h.query_all_by_label_contains("validation points").next().is_some());
    assert_eq!(app(&mut h).playground.draft.train.batch, Some(81));
    click(&mut h, "Undo");
    wait(&mut h, "80 points in training", trains_on(80));
    assert_eq!((held_out(app(&mut h)).len(), app(&mut h).playground.draft.train.batch), (20, Some(80)));
}

#[test]
fn a_point_that_is_dragged_is_one_entry_and_its_name_is_told() {
    let mut h = running(Settings::default());
    let before = app(&mut h).playground.points()[3];
    let (from, to) = (screen(&mut h, [before[0], before[1]]), screen(&mut h, [0.2, 0.4]));
    press(&mut h, from, true);
    for i in 1..=20 {
        h.event(egui::Event::PointerMoved(from + (to - from) * (i as f32 / 20.0)));
        h.step();
    }
    press(&mut h, to, false);
    assert_ne!(app(&mut h).playground.points()[3], before);
    h.get_by_role_and_label(Role::Button, "Undo").hover();
    pause(&mut h);
    assert!(h.query_by_label_contains("Undo: move a point").is_some());
    h.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    h.step();
    let after = app(&mut h).playground.points()[3];
    assert!(after.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-3), "{before:?} and {after:?}");
}

#[test]
fn what_took_the_place_of_a_training_goes_and_the_training_comes_back_as_it_was() {
    let mut h = running(Settings { pace: 0.0, ..Settings::default() });
    wait(&mut h, "some steps", |a| step_of(a) > 200);
    click(&mut h, "Pause");
    settle(&mut h);
    let (first, step) = (app(&mut h).playground.draft.clone(), step_of(app(&mut h)));
    let seen = |a: &App| a.playground.group.snapshot.slots.first().map(|l| (l.moments.clone(), l.best));
    let rows = |a: &App| a.playground.group.slots[0].run.rows.len();
    let (moments, curve) = (seen(app(&mut h)), rows(app(&mut h)));
    let is_back = move |a: &App| {
        let slots = &a.playground.group.snapshot.slots;
        a.playground.group.state == WorkerState::Paused
            && step_of(a) == step
            && slots.first().is_some_and(|l| matches!(l.picture, Picture::Band(_)) && !l.moments.is_empty())
    };
    let mut moons = Recipe::parse("[data]\ntoy = \"moons\"\n[net]\nhidden = [8]\n", "t")
        .and_then(|t| Recipe::from_table(&t, "t"))
        .expect("a recipe");
    moons.name = Some("moons".into());
    app(&mut h).playground.take_recipe(moons.clone());
    let is_map =
        |a: &App| a.playground.group.snapshot.slots.first().is_some_and(|l| matches!(l.picture, Picture::Map(_)));
    wait(&mut h, "a map", is_map);
    wait(&mut h, "steps of it", |a| step_of(a) > 20);
    let of_map = step_of(app(&mut h));
    h.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    wait(&mut h, "the band at its step", is_back);
    assert_eq!(app(&mut h).playground.draft, first);
    assert_eq!((seen(app(&mut h)), rows(app(&mut h))), (moments, curve), "with its moments and its curve");
    assert!(app(&mut h).playground.truth.is_some(), "with its curve");
    h.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    wait(&mut h, "the map again, where it was", |a| is_map(a) && step_of(a) >= of_map);
    assert_eq!(app(&mut h).playground.draft, moons);
    click(&mut h, "Undo");
    wait(&mut h, "the band at its step", is_back);
    // So do steps that a click has thrown away.
    click(&mut h, "Reset");
    wait(&mut h, "step 0", |a| step_of(a) == 0 && a.playground.group.state == WorkerState::Paused);
    settle(&mut h);
    click(&mut h, "Undo");
    wait(&mut h, "the band at its step", is_back);
    click(&mut h, "Start");
    wait(&mut h, "it goes on", |a| step_of(a) > step);
    assert!(app(&mut h).banner.texts().next().is_none());
}

fn band(app: &App) -> Vec<f64> {
    match &app.playground.group.snapshot.slots[0].picture {
        Picture::Band(band) => band.mean.clone(),
        _ => vec![],
    }
}

#[test]
fn the_slider_shows_an_earlier_step_and_training_goes_on_from_it() {
    let mut h = running(Settings::default());
    wait(&mut h, "steps", |a| step_of(a) > 300);
    click(&mut h, "Pause");
    wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
    settle(&mut h);
    let (now, end) = (band(app(&mut h)), step_of(app(&mut h)));
    h.get_by_role_and_label(Role::Slider, "Time").set_value_accesskit(60.0);
    let looks_at = |a: &App| a.playground.group.snapshot.slots[0].looks_at;
    wait(&mut h, "the band of then", |a| looks_at(a).is_some_and(|s| s <= 60));
    let then = looks_at(app(&mut h)).expect("a step");
    assert_ne!(band(app(&mut h)), now);
    click(&mut h, "Now");
    wait(&mut h, "the band of now", |a| looks_at(a).is_none());
    assert_eq!(band(app(&mut h)), now);
    let best = best_label(&mut h);
    click(&mut h, &best);
    wait(&mut h, "the best", |a| looks_at(a).is_some_and(|s| s > 0));
    h.get_by_role_and_label(Role::Slider, "Time").set_value_accesskit(60.0);
    wait(&mut h, "the band of then", |a| looks_at(a) == Some(then));
    app(&mut h).settings.pace = 20.0;
    click(&mut h, "Go on from here");
    wait(&mut h, "training from there", |a| a.playground.group.state == WorkerState::Running && step_of(a) < end);
    let a = app(&mut h);
    assert!(a.playground.group.slots[0].run.rows.iter().all(|r| r.step < end));
    a.settings.pace = 0.0;
    wait(&mut h, "more than before", |a| step_of(a) > end);
    click(&mut h, "Pause");
    wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
    // What came after the step is not lost.
    click(&mut h, "Undo");
    wait(&mut h, "the step of before", |a| step_of(a) == end);
    wait(&mut h, "its band", |a| band(a) == now);
    click(&mut h, "Redo");
    wait(&mut h, "training from there again", |a| a.playground.group.state == WorkerState::Running && band(a) != now);
}

/// All units dead: the window says so, with the way out.
#[test]
fn a_network_that_has_died_is_told_of() {
    let mut h = running(Settings { pace: 0.0, ..Settings::default() });
    let mut recipe = first_recipe();
    recipe.train.lr = Some(1.0);
    app(&mut h).playground.take_recipe(recipe);
    let flat = |a: &App| a.playground.group.snapshot.slots.first().is_some_and(|l| l.picture.is_flat());
    wait(&mut h, "its end", |a| matches!(a.playground.group.state, WorkerState::Ended(_)) && flat(a));
    settle(&mut h);
    assert!(h.query_by_label_contains("its units have died").is_some());
    click(&mut h, "Learning rate 0.1, from step 0");
    wait(&mut h, "another start", |a| a.playground.draft.train.lr == Some(0.1) && step_of(a) > 0);
}

fn best_label(h: &mut Bench) -> String {
    let best = app(h).playground.group.snapshot.slots[0].best.expect("the test rows are watched");
    format!("Best: step {best}")
}

#[test]
fn a_training_that_has_ended_says_why_and_can_go_on() {
    let mut recipe = first_recipe();
    recipe.train.epochs = Some(40);
    let mut h = bench(Settings { pace: 0.0, ..Settings::default() }, Some(Open::Recipe(Box::new(recipe))));
    wait(&mut h, "the end", |a| matches!(a.playground.group.state, WorkerState::Ended(_)));
    h.step();
    assert!(h.query_by_label_contains("All 40 epochs are done. The learning rate fell to 0").is_some());
    let end = step_of(app(&mut h));
    click(&mut h, "Train on");
    wait(&mut h, "as many steps again", |a| step_of(a) == 2 * end);
}

/// Its last band is no zigzag: the mean turns a few times as the curve does, not between neighbours, and no place among the points
/// is taken for noise (0.77 with three times the rate and half as many epochs again).
#[test]
fn the_first_launch_ends_in_a_smooth_curve() {
    let mut h = bench(Settings { pace: 0.0, ..Settings::default() }, None);
    wait(&mut h, "the end", |a| matches!(a.playground.group.state, WorkerState::Ended(_)));
    settle(&mut h);
    let Picture::Band(band) = app(&mut h).playground.group.snapshot.slots[0].picture.clone() else {
        panic!("a band");
    };
    let slopes: Vec<f64> = band.mean.windows(2).map(|m| m[1] - m[0]).collect();
    let turns = slopes.windows(2).filter(|s| s[0] * s[1] < 0.0 && s[0].abs().max(s[1].abs()) > 0.03).count();
    let among = band.x.iter().zip(&band.aleatoric_sd).filter(|(x, _)| (0.9..2.2).contains(*x));
    let noise = among.map(|(_, sd)| *sd).fold(0.0, f64::max);
    eprintln!("{turns} turns of the mean; noise among the points up to {noise:.2}");
    assert!(turns <= 8 && noise < 0.6, "{turns} turns, noise {noise}");
}

#[test]
fn the_network_is_shown_with_what_it_makes_of_the_input_under_the_pointer() {
    let mut h = running(Settings::default());
    click(&mut h, "Network");
    let network = |a: &App| a.playground.group.snapshot.slots.first().and_then(|l| l.network.clone());
    wait(&mut h, "a network", |a| network(a).is_some());
    h.step();
    assert!(h.query_by_label_contains("Network: inputs 1, hidden 1 50").is_some());
    assert!(h.query_by_label_contains("Two heads: for each output its mean").is_some());
    let at = screen(&mut h, [0.25, 0.0]);
    h.event(egui::Event::PointerMoved(at));
    wait(&mut h, "the input under the pointer", move |a| {
        network(a).is_some_and(|n| n.input.first().is_some_and(|x| (x - 0.25).abs() < 0.02))
    });
    let look = network(app(&mut h)).expect("a network");
    assert_eq!(look.outputs, ["mean", "noise (sd)", "sd of mean", "sd of noise"]);
    // In the units of the plot: what the band has at this place.
    let Picture::Band(band) = app(&mut h).playground.group.snapshot.slots[0].picture.clone() else {
        panic!("no band");
    };
    let x = look.input[0];
    let i = (0..band.x.len()).min_by(|a, b| (band.x[*a] - x).abs().total_cmp(&(band.x[*b] - x).abs())).expect("points");
    let (mean, noise) = (band.mean[i], band.aleatoric_sd[i]);
    // The band's mean is over draws; its noise is the mean over what the noise's own sd leaves open, which is more.
    let draws = 0.05 + band.epistemic_sd[i];
    assert!((look.shown[0] - mean).abs() < draws, "{:?} beside {mean}, give or take {draws}", look.shown);
    assert!((0.3..1.5).contains(&(look.shown[1] / noise)), "{:?} beside noise {noise}", look.shown);
    assert!(look.shown[1..].iter().all(|sd| *sd >= 0.0), "{:?}", look.shown);
    let first = network(app(&mut h));
    wait(&mut h, "it moves with training", move |a| network(a) != first);
}

fn wheel(h: &mut Bench, pos: Pos2, points: f32) {
    h.event(egui::Event::PointerMoved(pos));
    h.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: egui::vec2(0.0, points),
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    });
    for _ in 0..40 {
        h.step();
    }
}

#[test]
fn the_wheel_zooms_at_the_pointer_and_a_double_click_shows_all_again() {
    // Frames as they come on a screen: clicks of two seconds are no double click.
    let mut h: Bench = Harness::builder()
        .with_size([1280.0, 800.0])
        .with_max_steps(40)
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(frame, desk(Settings::default(), None));
    wait(&mut h, "the first steps", |a| step_of(a) > 20 && a.playground.transform.is_some());
    click(&mut h, "Pause");
    settle(&mut h);
    let width = |h: &mut Bench| app(h).playground.transform.expect("a plot").bounds().width();
    let whole = width(&mut h);
    let pos = screen(&mut h, [0.0, 0.5]);
    wheel(&mut h, pos, 120.0);
    let zoomed = width(&mut h);
    assert!(zoomed < 0.7 * whole, "{whole} -> {zoomed}");
    let under = app(&mut h).playground.transform.expect("a plot").value_from_position(pos);
    assert!(under.x.abs() < 0.02 * zoomed && (under.y - 0.5).abs() < 0.05, "{under:?} stays under the pointer");
    let points = app(&mut h).playground.points().len();
    for _ in 0..2 {
        press(&mut h, pos, true);
        press(&mut h, pos, false);
    }
    pause(&mut h);
    settle(&mut h);
    assert_eq!(app(&mut h).playground.points().len(), points, "a double click adds none");
    assert!((width(&mut h) - whole).abs() < 0.02 * whole, "{whole} and {}", width(&mut h));
}

#[test]
fn what_lies_under_the_pointer_is_read_out() {
    let mut h = running(Settings::default());
    let at = screen(&mut h, [0.5, 0.0]);
    h.event(egui::Event::PointerMoved(at));
    settle(&mut h);
    assert!(h.query_all_by_label_contains("95 % from").next().is_some());
    let plot = h.get_by_label_contains("Predictive band of");
    assert!(plot.value().is_some_and(|v| v.contains("mean") && v.contains("epistemic")), "{:?}", plot.value());
    assert!(h.query_by_label_contains("Learning curves: nats per row against step").is_some());
}

#[test]
fn points_are_read_added_and_removed_by_keyboard() {
    let mut h = running(Settings::default());
    click(&mut h, "Pause");
    settle(&mut h);
    h.get_by_label_contains("Predictive band of").focus();
    h.step();
    h.step();
    for _ in 0..3 {
        h.key_press(Key::ArrowRight);
        h.step();
    }
    let plot = h.get_by_label_contains("Predictive band of");
    assert!(plot.is_focused(), "arrows stay on the plot");
    assert!(plot.value().is_some_and(|v| v.contains("95 % from")), "{:?}", plot.value());
    h.key_press(Key::Enter);
    h.step();
    h.step();
    assert_eq!(app(&mut h).playground.points().len(), 101);
    h.key_press(Key::Delete);
    h.step();
    h.step();
    assert_eq!(app(&mut h).playground.points().len(), 100);
    let width = |h: &mut Bench| app(h).playground.transform.expect("a plot").bounds().width();
    let whole = width(&mut h);
    h.key_press(Key::Plus);
    h.step();
    h.step();
    assert!(width(&mut h) < 0.9 * whole);
    h.key_press(Key::Home);
    settle(&mut h);
    assert!((width(&mut h) - whole).abs() < 0.05 * whole);
}

/// At the smallest and the usual size the slider, the network and its outputs are on the page.
#[test]
fn slider_and_network_fit_small_windows() {
    for (ground, size) in
        [(Ground::Light, [1024.0, 700.0]), (Ground::Dark, [1280.0, 800.0]), (Ground::Light, [900.0, 600.0])]
    {
        let settings = Settings { ground, below: Below::Network, ..Settings::default() };
        let mut h = sized(settings, None, size);
        wait(&mut h, "a network", |a| {
            step_of(a) > 200 && a.playground.group.snapshot.slots.first().is_some_and(|l| l.network.is_some())
        });
        h.step();
        for label in ["Network: inputs", "Predictive band of"] {
            let rect = h.get_by_label_contains(label).rect();
            assert!(rect.right() <= size[0] && rect.bottom() <= size[1], "{label}: {rect:?} in {size:?}");
            assert!(rect.height() > 80.0, "{label}: {rect:?}");
        }
        let slider = h.get_by_role_and_label(Role::Slider, "Time").rect();
        assert!(slider.right() <= size[0] && slider.width() > 90.0, "{slider:?}");
    }
}
