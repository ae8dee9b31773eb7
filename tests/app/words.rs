//! What the window says and how: messages, dialogs, lists, the tour, and that it comes back as it was left.

use super::desk::{Bench, Desk, app, bench, desk, frame, sized, wait};
use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use vifo::error::{Cure, Error};
use vifo::exec::Device;
use vifo::gui::app::Open;
use vifo::gui::settings::{Settings, Tab};
use vifo::recipe::{Recipe, keys};

pub fn button(h: &Bench, label: &str) -> bool {
    h.query_by_role_and_label(Role::Button, label).is_some()
}

pub fn press(h: &mut Bench, label: &str) {
    h.get_by_role_and_label(Role::Button, label).click();
    h.step();
    h.step();
}

fn said(h: &mut Bench) -> Vec<String> {
    app(h).banner.texts().map(String::from).collect()
}

pub fn table(dir: &std::path::Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// The page stays where it is under a message; one is shown at a time; a success takes errors away.
#[test]
fn a_message_lies_over_the_page_and_goes_with_the_next_success() {
    let mut h = bench(Settings { tab: Tab::Data, ..Settings::default() }, None);
    h.run_steps(3);
    let at = |h: &Bench| h.get_by_role_and_label(Role::Button, "Look at it").rect();
    let before = at(&h);
    for n in 1..=3 {
        app(&mut h).banner.error(Error::run("place", format!("trouble {n}"), "mend it"));
    }
    h.run_steps(3);
    assert_eq!(at(&h), before, "the page moved");
    assert!(h.query_by_label_contains("trouble 3").is_some() && h.query_by_label_contains("trouble 2").is_none());
    press(&mut h, "Close");
    assert!(h.query_by_label_contains("trouble 2").is_some());
    app(&mut h).banner.note("done");
    h.run_steps(2);
    assert_eq!(said(&mut h), ["done"]);
}

#[test]
fn a_message_has_a_button_for_its_cure() {
    let mut h = bench(Settings { running: false, ..Settings::default() }, None);
    let error = Error::run("step 3", "the loss is no number", "lower it").curing(Cure::set("train.lr", "0.01"));
    app(&mut h).banner.error(error);
    h.run_steps(3);
    press(&mut h, "learning rate: 0.01");
    wait(&mut h, "training at another rate", |a| a.playground.draft.train.lr == Some(0.01));
    assert_eq!(said(&mut h), [""; 0]);
}

#[test]
fn the_export_asks_before_it_writes_over_and_enter_confirms() {
    let mut h = bench(Settings::default(), None);
    wait(&mut h, "a band", |a| a.playground.transform.is_some());
    let dir = tempfile::tempdir().expect("a folder");
    let export = |h: &mut Bench| {
        h.key_press_modifiers(Modifiers::COMMAND, Key::E);
        h.run_steps(3);
        app(h).exports.folder = dir.path().display().to_string();
        h.run_steps(2);
    };
    export(&mut h);
    assert!(button(&h, "Choose…"));
    h.key_press(Key::Enter);
    wait(&mut h, "the files", |a| a.banner.texts().any(|t| t.starts_with("exported")));
    std::fs::write(dir.path().join("band.csv"), "mine").expect("written");
    press(&mut h, "Close");
    export(&mut h);
    h.key_press(Key::Enter);
    h.run_steps(3);
    assert!(h.query_by_label_contains("There already: band.png").is_some());
    let kept = || std::fs::read_to_string(dir.path().join("band.csv")).expect("a file") == "mine";
    assert!(kept() && said(&mut h).is_empty());
    press(&mut h, "Cancel");
    export(&mut h);
    press(&mut h, "Write files");
    h.run_steps(2);
    assert!(kept());
    press(&mut h, "Write over them");
    wait(&mut h, "the files", |a| a.banner.texts().any(|t| t.starts_with("exported")));
    assert!(!kept());
}

#[test]
fn the_tour_is_shown_once_has_four_steps_and_comes_back_when_asked_for() {
    let mut h = bench(Settings::first(), None);
    wait(&mut h, "a band", |a| a.playground.transform.is_some());
    h.run_steps(3);
    for (step, words) in
        [(1, "A network in training"), (2, "how far off it may be"), (3, "How careful"), (4, "Your own data")]
    {
        assert!(h.query_by_label_contains(words).is_some(), "{step}");
        assert!(h.query_by_label(&format!("{step} of 4")).is_some());
        // The keyboard is enough, and the playground does not take the same keys.
        h.key_press(if step % 2 == 0 { Key::Enter } else { Key::ArrowRight });
        h.run_steps(3);
    }
    assert!(app(&mut h).settings.tour_seen && (1..=4).all(|i| h.query_by_label(&format!("{i} of 4")).is_none()));
    press(&mut h, "Tour");
    assert!(h.query_by_label("1 of 4").is_some());
    press(&mut h, "Next");
    press(&mut h, "Back");
    assert!(h.query_by_label("1 of 4").is_some());
    h.key_press(Key::Escape);
    h.run_steps(3);
    assert!(h.query_by_label("1 of 4").is_none());
    let settings = app(&mut h).settings.clone();
    let mut again = bench(settings, None);
    again.run_steps(5);
    assert!(again.query_by_label("1 of 4").is_none(), "shown once");
    let mut skipped = bench(Settings::first(), None);
    skipped.run_steps(5);
    press(&mut skipped, "Skip the tour");
    assert!(app(&mut skipped).settings.tour_seen);
    // Whoever follows its last step is there.
    press(&mut skipped, "Tour");
    app(&mut skipped).settings.tab = Tab::Data;
    skipped.run_steps(3);
    assert!(app(&mut skipped).settings.tab == Tab::Data && skipped.query_by_label("1 of 4").is_none());
}

/// Its card stays where it is, so that "Next" can be clicked without looking, and one more click there lands on no plot of points.
#[test]
fn the_tour_can_be_clicked_through_in_one_place_and_leaves_the_points_alone() {
    for size in [[1280.0, 800.0], [1024.0, 700.0]] {
        let mut h = sized(Settings::first(), None, size);
        wait(&mut h, "a band", |a| a.playground.transform.is_some());
        h.run_steps(3);
        let points = app(&mut h).playground.points().len();
        let click = |h: &mut Bench, pos: egui::Pos2| {
            h.event(egui::Event::PointerMoved(pos));
            for pressed in [true, false] {
                let modifiers = Modifiers::NONE;
                h.event(egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers });
                h.step();
            }
            h.run_steps(2);
        };
        let plot = app(&mut h).playground.transform.expect("a plot").frame().center();
        let next = h.get_by_label("Next").rect().center();
        for step in 1..=4 {
            assert!(h.query_by_label(&format!("{step} of 4")).is_some(), "{step}");
            click(&mut h, next);
        }
        assert!(app(&mut h).settings.tour_seen);
        click(&mut h, next);
        assert_eq!(app(&mut h).playground.points().len(), points, "{size:?}");
        click(&mut h, plot);
        assert_eq!(app(&mut h).playground.points().len(), points + 1, "afterwards a click is one");
    }
}

/// Windows from 1024 x 700 to 3840 x 2160 pixels, at scales 1 to 3: the tabs, the bar and each page's first controls are in the
/// window, or on a page that scrolls to them.
#[test]
fn nothing_is_cut_off_at_any_size_and_scale() {
    let named = |tab: Tab| -> &[&str] {
        match tab {
            Tab::Playground => &["Pause", "Step", "Reset", "Stop", "Show all"],
            Tab::Examples => &["Open A gap in the data"],
            Tab::SideBySide => &["Add method", "Remove last", "Pause"],
            Tab::Priors => &["Resample", "Pause"],
            Tab::Curves => &[],
            Tab::Data => &["Look at it", "Open file…", "Open folder…", "Example: digits", "How it is read…"],
            Tab::Results => &["Open run", "Open folder…"],
            Tab::Runs => &["Look again", "Tick all", "Tick none"],
            Tab::Recipe => &["Copy recipe", "Train this recipe"],
        }
    };
    let sizes = [(1024.0, 700.0), (1280.0, 800.0), (1920.0, 1080.0), (3840.0, 2160.0)];
    for tab in Tab::ALL.map(|t| t.0) {
        let mut h = bench(Settings { tab, ..Settings::default() }, None);
        // A button is called Start until something is in training.
        wait(&mut h, "a start", |a| a.playground.group.is_running() && a.frames() > 3);
        if tab == Tab::Playground {
            wait(&mut h, "a picture", |a| a.playground.transform.is_some());
        }
        if matches!(tab, Tab::SideBySide | Tab::Priors) {
            let running = |g: &Option<vifo::live::Group>| g.as_ref().is_some_and(|g| g.is_running());
            wait(&mut h, "a start", |a| running(if tab == Tab::Priors { &a.priors.group } else { &a.side.group }));
        }
        for (scale, (w, high)) in [1.0, 1.5, 2.0, 3.0].into_iter().flat_map(|s| sizes.map(|size| (s, size))) {
            let (w, high) = (w / scale, high / scale);
            h.set_size(eframe::egui::vec2(w, high));
            h.run_steps(4);
            let place = format!("{tab:?} at {w} x {high}");
            let bar = h.query_all_by_label_contains(" MB").next().expect("the bar at the foot").rect();
            assert!(bar.bottom() <= high && bar.top() > 0.0, "{place}: the bar at {bar:?}");
            let mut top = 0f32;
            for (_, name, _) in Tab::ALL {
                let rect = h.query_all_by_label(name).next().unwrap_or_else(|| panic!("{place}: no tab {name}")).rect();
                let fits = rect.left() >= 0.0 && rect.right() <= w + 0.5 && rect.bottom() <= high;
                assert!(fits, "{place}: {name} at {rect:?}");
                top = top.max(rect.bottom());
            }
            // Another row of buttons may stand below the tabs.
            let least = tab.least();
            let is_whole = w >= least.0 && bar.top() - top - 40.0 >= least.1;
            for name in named(tab) {
                let node = h.query_all_by_role_and_label(Role::Button, name).next();
                let rect = node.unwrap_or_else(|| panic!("{place}: no {name}")).rect();
                // The control panel of the playground scrolls by itself.
                let across = rect.left() >= 0.0 && rect.right() <= w + 0.5;
                let fits = across && (rect.bottom() <= high || tab == Tab::Playground);
                assert!(fits || !is_whole, "{place}: {name} at {rect:?}");
            }
        }
    }
}

#[test]
fn methods_are_grouped_described_and_greyed_with_the_reason() {
    let mut h = bench(Settings::default(), None);
    wait(&mut h, "a band", |a| a.playground.transform.is_some());
    h.get_by_role_and_label(Role::ComboBox, "method").click();
    h.run_steps(4);
    for words in ["VIFO: uncertainty in the outputs", "Variational inference over the weights", "Last layer"] {
        assert!(h.query_by_label_contains(words).is_some(), "{words}");
    }
    assert!(h.query_by_label_contains("Learns how much evidence there is for each class (for classes only)").is_some());
    let chosen = h.get_by_role_and_label(Role::Button, "VIFO-mean").rect();
    assert!(chosen.top() > 0.0 && chosen.bottom() < 800.0, "the chosen one is in view: {chosen:?}");
    h.get_by_role_and_label(Role::Button, "Dirichlet").click();
    h.run_steps(2);
    assert_eq!(app(&mut h).playground.draft.method.name, "vifo-mean", "greyed");
    for method in vifo::method::METHODS {
        assert!(!method.about().is_empty(), "{}", method.name());
    }
}

#[test]
fn a_number_beyond_the_range_is_refused_with_the_range() {
    let key = keys::find("method.eta_aux").expect("a key");
    // The fonts are there from the second frame on.
    let mut has_fonts = false;
    let mut h = Harness::new_ui_state(
        move |ui, value: &mut f64| match has_fonts {
            true => drop(vifo::gui::panels::keys::slider_ui(ui, key, value)),
            false => {
                vifo::gui::theme::set_up(ui.ctx());
                has_fonts = true;
            }
        },
        1.0,
    );
    h.run_steps(2);
    let mut typed = |text: &str| {
        h.get_by_role(Role::SpinButton).click();
        h.run_steps(2);
        h.key_press_modifiers(Modifiers::COMMAND, Key::A);
        h.event(eframe::egui::Event::Text(text.into()));
        h.run_steps(2);
        h.key_press(Key::Enter);
        h.run_steps(3);
        (*h.state(), h.query_by_label_contains("is refused: 0 to 10").is_some())
    };
    assert_eq!(typed("1e9"), (1.0, true));
    assert_eq!(typed("2.5"), (2.5, false));
    assert_eq!(typed("-1"), (2.5, true));
}

#[test]
fn a_failed_open_keeps_the_table_and_many_columns_can_be_searched() {
    let dir = tempfile::tempdir().expect("a folder");
    let header: String = (0..200).map(|i| format!("sensor{i},")).collect();
    let row = |r: usize| (0..200).map(|i| format!("{},", ((r * 31 + i * 7) as f64).sin())).collect::<String>();
    let text = format!("{header}y\n{}", (0..30).map(|r| format!("{}{r}\n", row(r))).collect::<String>());
    let path = table(dir.path(), "wide.csv", &text);
    let mut h = bench(Settings { tab: Tab::Data, running: false, ..Settings::default() }, Some(Open::Data(path)));
    wait(&mut h, "the table", |a| a.data.opened().is_some());
    h.run_steps(3);
    h.get_by_role_and_label(Role::TextInput, "search columns").focus();
    h.step();
    h.get_by_role_and_label(Role::TextInput, "search columns").type_text("sensor19");
    h.run_steps(3);
    assert!(h.query_by_label("11 of 201").is_some());
    press(&mut h, "Use none");
    wait(&mut h, "a choice", |a| a.data.choice.as_ref().is_some_and(|c| c.ignore.len() == 11));
    for _ in 0..50 {
        h.step();
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
    press(&mut h, "Use all");
    wait(&mut h, "a choice", |a| a.data.choice.as_ref().is_some_and(|c| c.ignore.is_empty()));
    let nowhere = dir.path().join("nowhere.csv");
    let ctx = h.ctx.clone();
    app(&mut h).data.open(&ctx, &nowhere);
    wait(&mut h, "the error", |a| a.banner.texts().any(|t| t.contains("nowhere.csv")));
    h.run_steps(3);
    assert!(h.query_by_label_contains("30 rows, 201 columns").is_some(), "what was open is still there");
}

#[test]
fn images_are_shown_before_they_are_trained_on() {
    let mut h =
        bench(Settings { tab: Tab::Data, running: false, ..Settings::default() }, Some(Open::Data("digits".into())));
    wait(&mut h, "the set", |a| a.data.opened().is_some());
    h.run_steps(4);
    assert!(h.query_all_by_role(Role::Image).count() > 20);
    assert!(h.query_by_label("image 1 of class 3").is_some());
}

#[test]
fn a_second_window_says_that_it_is_one() {
    let mut first = bench(Settings::default(), None);
    wait(&mut first, "steps", |a| a.playground.group.step() > 5);
    let home = first.state().home.path().to_path_buf();
    let settings = app(&mut first).settings.clone();
    let ctx = eframe::egui::Context::default();
    let second = vifo::gui::app::App::new(&ctx, settings, home, None, None).expect("an app");
    let said: Vec<&str> = second.banner.texts().collect();
    assert!(said.iter().any(|s| s.starts_with("Another window of vifo has the last session")), "{said:?}");
}

/// What is put away at the end is there at the next start: the open run and its part of the page, the open table and what was chosen for
/// it, ticks, a filter, an edited recipe, and the steps of side by side.
#[test]
fn every_page_comes_back_as_it_was_left() {
    let mut h = bench(Settings { tab: Tab::SideBySide, pace: 0.0, ..Settings::default() }, None);
    let at = |a: &vifo::gui::app::App| a.side.group.as_ref().map_or(0, |g| g.step());
    wait(&mut h, "steps", |a| at(a) > 200);
    let runs = tempfile::tempdir().expect("a folder");
    let recipe = "[data]\ntoy = \"sinusoid\"\nrows = 60\n[net]\nhidden = [4]\n[train]\nepochs = 3\n";
    let recipe = Recipe::parse(recipe, "t").and_then(|t| vifo::method::checked(&t, "t")).expect("a recipe");
    let run = runs.path().join("one");
    vifo::workflow::fit::fit(&recipe, &run, false, &Device::Cpu, &mut |_, _| vifo::train::Flow::Continue)
        .expect("trained");
    let ctx = h.ctx.clone();
    app(&mut h).settings.runs = runs.path().into();
    app(&mut h).results.open(&ctx, &run);
    app(&mut h).settings.tab = Tab::Runs;
    wait(&mut h, "the run in the list", |a| a.runs.seen().len() == 1);
    app(&mut h).runs.tick(std::slice::from_ref(&run));
    app(&mut h).recipe.edited = Some("seed = 4".into());
    app(&mut h).runs.narrow("data:sinusoid");
    let table = runs.path().join("t.csv");
    let rows: String = (0..40).map(|i| format!("{i},{},{}\n", i * i % 7, 2 * i + i % 3)).collect();
    std::fs::write(&table, format!("a,b,y\n{rows}")).expect("a table");
    app(&mut h).data.open(&ctx, &table);
    wait(&mut h, "the table", |a| a.data.choice.is_some());
    let choice = app(&mut h).data.choice.as_mut().expect("choices");
    (choice.ignore, choice.eta, choice.members) = (vec!["b".into()], Some(0.2), 3);
    let choice = choice.clone();
    app(&mut h).settings.tab = Tab::Results;
    wait(&mut h, "the run", |a| a.results.opened().is_some());
    h.run_steps(2);
    h.get_by_role_and_label(Role::TextInput, "filter").focus();
    h.step();
    h.get_by_role_and_label(Role::TextInput, "filter").type_text("sd>0");
    h.run_steps(2);
    h.get_by_label("Report").click();
    h.run_steps(2);
    let order = vifo::gui::settings::RunOrder { key: Some(vifo::gui::settings::RunColumn::Seed), falling: true };
    app(&mut h).runs.list.order = order.clone();
    app(&mut h).settings.tab = Tab::SideBySide;
    wait(&mut h, "settings", |a| {
        a.settings.opened.is_some() && a.settings.ticked.len() == 1 && a.settings.edited.is_some()
    });
    let before = at(app(&mut h));
    let settings = app(&mut h).settings.clone();
    let Desk { app: old, home, .. } = std::mem::replace(h.state_mut(), desk(Settings::default(), None));
    drop(old);
    let again = Desk { app: None, settings, open: None, home };
    let mut h: Bench = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(40).build_ui_state(frame, again);
    wait(&mut h, "the trainings", |a| at(a) >= before);
    assert!(at(app(&mut h)) < before + 2000 || before > 2000, "gone on with, not begun anew");
    wait(&mut h, "the run", |a| a.results.opened().as_deref() == Some(run.as_path()));
    wait(&mut h, "the table", |a| a.data.opened().is_some() && !a.data.is_reading());
    let app = app(&mut h);
    assert_eq!((app.runs.ticked(), app.recipe.edited.as_deref()), (vec![run.clone()], Some("seed = 4")));
    assert_eq!((app.data.choice.clone(), app.runs.filter().as_str()), (Some(choice), "data:sinusoid"));
    assert_eq!(app.results.part(), vifo::gui::settings::Sub::Report);
    assert_eq!((app.results.rows_shown().filter.as_str(), &app.runs.list.order), ("sd>0", &order));
}

#[test]
fn the_bar_at_the_foot_belongs_to_the_page() {
    let mut h = bench(Settings::default(), None);
    wait(&mut h, "steps", |a| a.playground.group.step() > 5);
    for (tab, words) in
        [(Tab::Results, "no run is open"), (Tab::Runs, "0 ticked"), (Tab::Recipe, "playground: training")]
    {
        app(&mut h).settings.tab = tab;
        h.run_steps(3);
        assert!(h.query_all_by_label_contains(words).next().is_some(), "{tab:?}");
    }
    app(&mut h).settings.tab = Tab::Results;
    h.run_steps(3);
    assert!(h.query_by_label_contains("parameters per network").is_none(), "of the playground");
}

#[test]
fn runs_that_cannot_be_put_anywhere_say_where_and_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("file"), "x").expect("written");
    let mut h = bench(Settings { runs: dir.path().join("file/runs"), ..Settings::default() }, None);
    wait(&mut h, "steps", |a| a.playground.group.step() > 5);
    h.run_steps(2);
    h.get_by_role_and_label(Role::Button, "Save as run").click_accesskit();
    wait(&mut h, "the error", |a| a.banner.texts().any(|t| t.contains("no run can be put there")));
    h.run_steps(2);
    assert!(said(&mut h)[0].contains(&dir.path().join("file/runs").display().to_string()), "{:?}", said(&mut h));
    assert!(button(&h, "Choose another folder…"));
}

#[test]
fn a_recipe_is_saved_and_a_link_is_pasted() {
    let mut h = bench(Settings { tab: Tab::Recipe, ..Settings::default() }, None);
    wait(&mut h, "steps", |a| a.playground.group.step() > 5);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("mine.toml");
    h.get_by_role_and_label(Role::TextInput, "save as").focus();
    h.step();
    h.key_press_modifiers(Modifiers::COMMAND, Key::A);
    h.get_by_role_and_label(Role::TextInput, "save as").type_text(&path.display().to_string());
    h.run_steps(2);
    press(&mut h, "Save");
    wait(&mut h, "the file", |a| a.banner.texts().any(|t| t.starts_with("saved")));
    let saved = Recipe::read(&path).and_then(|t| vifo::method::checked(&t, "t")).expect("a recipe");
    assert_eq!(saved, app(&mut h).playground.draft);
    app(&mut h).recipe.edited = Some("https://example.org/#example=moons".into());
    h.run_steps(2);
    press(&mut h, "Train this recipe");
    wait(&mut h, "the example", |a| a.playground.draft.data.toy == Some(vifo::data::toy::ToyKind::Moons));
}
