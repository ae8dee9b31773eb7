//! The page Runs: what is in a folder of runs, what is written to it meanwhile, and the ticked ones compared.

use eframe::egui::{self, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use vifo::exec::Device;
use vifo::gui::app::App;
use vifo::gui::settings::{CurveOptions, Ground, Settings, Tab};
use vifo::recipe::Recipe;
use vifo::report::compare::{self, Spread};
use vifo::run::watch::RunState;
use vifo::tables::{Format, rounded};
use vifo::train::{Event, Flow};
use vifo::workflow::fit::fit;

pub fn recipe(seed: u32, extra: &str) -> Recipe {
    let text = format!(
        "seed = {seed}\n[data]\ntoy = \"sinusoid\"\nrows = 80\ntest_fraction = 0.25\nvalidation_fraction = 0.2\n[net]\nhidden = [8]\n\
         [method]\nmembers = 2\n{extra}"
    );
    Recipe::from_table(&Recipe::parse(&text, "test").expect("TOML"), "test").expect("a recipe")
}

pub const SHORT: &str = "[train]\nepochs = 12\ncheckpoint_seconds = 0\n";

pub fn train(recipe: &Recipe, path: &Path) {
    fit(recipe, path, false, &Device::Cpu, &mut |_, _| Flow::Continue).unwrap_or_else(|e| panic!("{e}"));
}

/// Two seeds of one recipe and one of another.
pub fn three_runs(root: &Path) {
    train(&recipe(1, SHORT), &root.join("mean-1"));
    train(&recipe(2, SHORT), &root.join("mean-2"));
    train(&recipe(1, &format!("name = \"base\"\n{SHORT}")), &root.join("plain"));
}

#[derive(Default)]
pub struct Page {
    pub app: Option<App>,
    settings: Settings,
    home: PathBuf,
}

impl Page {
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("made in the first frame")
    }
}

pub type Test = Harness<'static, Page>;

/// The window's first size.
pub const SIZE: [f32; 2] = [1280.0, 800.0];

pub fn page(root: &Path, home: &Path, ground: Ground, size: [f32; 2], wgpu: bool) -> Test {
    let settings = Settings { tab: Tab::Runs, runs: root.into(), running: false, ground, ..Default::default() };
    let frame = |ui: &mut egui::Ui, page: &mut Page| {
        let ctx = ui.ctx().clone();
        let app = page.app.get_or_insert_with(|| {
            App::new(&ctx, page.settings.clone(), page.home.clone(), None, None).unwrap_or_else(|e| panic!("{e}"))
        });
        app.logic(&ctx);
        app.show(ui);
    };
    let builder = Harness::builder().with_size(size).with_render_cursor(false);
    let builder = if wgpu { builder.wgpu() } else { builder };
    builder.build_ui_state(frame, Page { app: None, settings, home: home.into() })
}

/// Frames until it is so.
pub fn until(test: &mut Test, what: &str, so: impl Fn(&Test) -> bool) {
    let started = Instant::now();
    while !so(test) {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(5));
        test.step();
    }
}

pub fn says(test: &Test, text: &str) -> bool {
    test.query_all_by_label_contains(text).next().is_some()
}

/// How often a whole label is on the screen.
pub fn count(test: &Test, label: &str) -> usize {
    test.query_all_by_label(label).count()
}

pub fn click(test: &mut Test, role: Role, label: &str) {
    test.get_by_role_and_label(role, label).click();
    test.run_steps(3);
}

/// The same mean with its interval, and then with the sd of the seeds.
fn other_spreads(test: &mut Test, rmse: compare::Summary) {
    let write = |v: f64| rounded(v, rmse.standard_error);
    let (low, high) = rmse.interval.expect("two seeds");
    for (words, cell) in [
        ("mean (95 % interval)", format!("{} ({} to {})", write(rmse.mean), write(low), write(high))),
        ("mean ± sd", format!("{} ± {}", write(rmse.mean), write(rmse.sd.expect("two seeds")))),
    ] {
        test.get_by_role_and_label(Role::ComboBox, "over seeds").click();
        test.run_steps(3);
        click(test, Role::Button, words);
        until(test, words, |t| count(t, &cell) > 0);
    }
}

#[test]
fn runs_are_listed_compared_and_opened() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    three_runs(root);
    // Damaged ones beside them.
    let broken = root.join("broken");
    std::fs::create_dir(&broken).expect("made");
    std::fs::write(broken.join("recipe.toml"), "seed = [[").expect("written");
    std::fs::write(broken.join("manifest.json"), "{").expect("written");

    let mut test = page(root, home, Ground::Dark, SIZE, false);
    until(&mut test, "a list", |t| ["mean-1", "mean-2", "plain", "broken"].iter().all(|n| count(t, n) > 0));
    assert!(says(&test, "0 of 4 ticked") && says(&test, "unreadable") && says(&test, "broken: "));
    assert_eq!(count(&test, "finished, epoch 12 of 12"), 3);
    test.check_accessibility();

    // What the command line says of the same two.
    let paths = [root.join("mean-1"), root.join("mean-2")];
    let (runs, notes) = compare::open(&paths).expect("two runs");
    let comparison = compare::compare(runs, &[], notes).expect("a comparison");
    let rmse = comparison.blocks[0].groups[0].metrics[0].expect("an RMSE");
    click(&mut test, Role::CheckBox, "Tick mean-1");
    click(&mut test, Role::CheckBox, "Tick mean-2");
    let error = rmse.standard_error.expect("two seeds");
    assert!((error - rmse.sd.expect("two seeds") / 2f64.sqrt()).abs() < 1e-12);
    let write = |v: f64| rounded(v, Some(error));
    let cell = format!("{} ± {}", write(rmse.mean), write(error));
    until(&mut test, "the mean of two seeds", |t| count(t, &cell) > 0);
    other_spreads(&mut test, rmse);
    assert!(says(&test, "2 of 4 ticked"));
    click(&mut test, Role::Button, "Copy as LaTeX");
    // In the frame of the click alone.
    test.get_by_role_and_label(Role::Button, "Copy as Markdown").click();
    let mut copied = vec![];
    for _ in 0..4 {
        test.step();
        copied.extend(test.output().platform_output.commands.iter().cloned());
    }
    let want = comparison.render(Format::Markdown, Spread::Sd);
    assert!(copied.iter().any(|c| matches!(c, egui::OutputCommand::CopyText(t) if *t == want)), "{copied:?}");

    // Their curves, for the page Learning curves: one group of two seeds.
    let series = test.state().app().runs.series(&CurveOptions::default(), Spread::Sd);
    assert_eq!(series.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(), ["VIFO-mean, 2 seeds"]);
    let loss = series[0].1.iter().find(|s| s.name == "loss").expect("a loss");
    // Of the target in its own unit.
    let last = |i: usize| {
        let run = test.state().app().runs.seen().iter().find(|s| s.path == paths[i]).expect("listed");
        run.rows[11].loss + run.target_sd.ln()
    };
    let (a, b) = (last(0), last(1));
    // Two values: the sd with n - 1 is their distance over the root of 2.
    assert!(loss.x.len() == 12 && (loss.y[11] - (a + b) / 2.0).abs() < 1e-12);
    assert!((loss.sd.as_ref().expect("two seeds")[11] - (a - b).abs() / 2f64.sqrt()).abs() < 1e-12);

    // All of them: the broken one is named, and hides nothing.
    click(&mut test, Role::Button, "Tick all");
    until(&mut test, "the other method", |t| count(t, "Plain network") == 2 && says(t, "broken: no results"));
    assert!(says(&test, "★") && says(&test, "4 of 4 ticked"));
    click(&mut test, Role::Button, "Tick none");
    assert!(says(&test, "Tick runs to compare them"));

    // The filter, then the order.
    test.get_by_role_and_label(Role::TextInput, "filter").focus();
    test.step();
    test.get_by_role_and_label(Role::TextInput, "filter").type_text("Mean finished");
    until(&mut test, "the filter", |t| count(t, "plain") == 0);
    assert!(count(&test, "mean-1") > 0 && count(&test, "mean-2") > 0);
    click(&mut test, Role::Button, "Tick all");
    assert!(says(&test, "2 of 4 ticked"));
    let above = |t: &Test| t.get_by_label("mean-1").rect().top() < t.get_by_label("mean-2").rect().top();
    assert!(above(&test));
    click(&mut test, Role::Button, "name ▲");
    assert!(!above(&test));
    click(&mut test, Role::Button, "seed");
    assert!(above(&test));

    click(&mut test, Role::Button, "Open mean-2");
    assert_eq!(test.state().app().settings.tab, Tab::Results);
}

/// A run of many slow epochs that another thread writes.
pub struct Live {
    stop: Arc<AtomicBool>,
    writer: std::thread::JoinHandle<vifo::error::Result<()>>,
}

impl Live {
    pub fn begin(path: &Path) -> Live {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, told) = (path.to_path_buf(), stop.clone());
        let writer = std::thread::spawn(move || {
            let long = recipe(5, "[train]\nepochs = 100000\ncheckpoint_seconds = 0\n");
            let mut listen = |event: &Event, _: &[String]| {
                if matches!(event, Event::Epoch(_)) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                if told.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue }
            };
            fit(&long, &path, false, &Device::Cpu, &mut listen).map(|_| ())
        });
        Live { stop, writer }
    }

    pub fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.writer.join().expect("no panic").unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn a_run_that_another_thread_writes_appears_and_grows() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "an empty folder", |t| says(t, "No runs here yet"));
    assert!(says(&test, "The page Your data makes them"));

    let live = Live::begin(&root.join("live"));
    let epoch = |t: &Test| t.state().app().runs.seen().first().map_or(0, |s| s.epoch);
    until(&mut test, "the run", |t| count(t, "live") > 0 && epoch(t) > 0);
    let first = epoch(&test);
    assert_eq!(test.state().app().runs.seen()[0].state, RunState::Training);
    until(&mut test, "its next epochs", |t| epoch(t) > first && says(t, "training, epoch ") && says(t, " of 100,000"));
    click(&mut test, Role::CheckBox, "Tick live");
    until(&mut test, "a word on its results", |t| says(t, "live: no results to compare (training)"));
    let curves = test.state().app().runs.series(&CurveOptions::default(), Spread::Sd);
    assert_eq!(curves[0].0, "live");
    assert!(curves[0].1.iter().all(|s| s.sd.is_none() && s.y.len() as u32 >= first));
    live.end();
    until(&mut test, "its end", |t| says(t, "stopped, epoch "));
}

#[test]
fn bug_15_a_run_in_training_does_not_keep_others_from_being_compared() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    train(&recipe(1, SHORT), &root.join("done"));
    let live = Live::begin(&root.join("live"));
    let mut test = page(root, home, Ground::Light, SIZE, false);
    until(&mut test, "both", |t| count(t, "live") > 0 && count(t, "done") > 0);
    click(&mut test, Role::Button, "Tick all");
    until(&mut test, "the table", |t| says(t, "★") && says(t, "live: no results to compare (training)"));
    // From look to look of the live run: the table stands, and nothing is said to be under way.
    let epoch = |t: &Test| t.state().app().runs.seen().iter().find(|s| s.name == "live").map_or(0, |s| s.epoch);
    for _ in 0..3 {
        let before = epoch(&test);
        until(&mut test, "its next epochs", |t| epoch(t) > before);
        assert!(!says(&test, "comparing") && says(&test, "★"));
    }
    live.end();
    until(&mut test, "its end", |t| says(t, "live: no results to compare (stopped)") && !says(t, "comparing"));
}

#[test]
fn another_folder_and_one_that_is_none() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    train(&recipe(1, SHORT), &root.join("inside"));
    let mut test = page(&root.join("absent"), home, Ground::Light, SIZE, false);
    until(&mut test, "no folder", |t| says(t, "absent does not exist yet"));
    let write = |test: &mut Test, text: &str| {
        test.get_by_role_and_label(Role::TextInput, "folder of runs").focus();
        test.step();
        test.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
        test.step();
        test.get_by_role_and_label(Role::TextInput, "folder of runs").type_text(text);
        test.step();
        test.key_press(egui::Key::Enter);
        test.run_steps(2);
    };
    write(&mut test, &root.display().to_string());
    until(&mut test, "the run", |t| count(t, "inside") > 0);
    assert_eq!(test.state().app().settings.runs, root, "kept for the next start");
    let file = root.join("file.txt");
    std::fs::write(&file, "text").expect("written");
    write(&mut test, &file.display().to_string());
    until(&mut test, "an error", |t| says(t, "is not a run folder"));
    assert!(count(&test, "inside") == 0);
}

/// Drawn as a user sees it: into the folder that VIFO_SHOTS names, for eyes; without one, that it can be drawn at all.
#[test]
fn the_page_is_drawn_light_and_dark() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (root, home) = (dirs[0].path(), dirs[1].path());
    three_runs(root);
    let stopped = root.join("stopped-halfway-with-a-name-that-is-rather-long-for-a-folder-of-runs");
    let long = recipe(3, "eta = 1.0\n[train]\nepochs = 300\n");
    let mut epochs = 0;
    fit(&long, &stopped, false, &Device::Cpu, &mut |_, _| {
        epochs += 1;
        if epochs > 5 { Flow::Stop } else { Flow::Continue }
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let manifest = stopped.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).expect("text");
    std::fs::write(&manifest, text.replace("\"stopped\"", "\"training\"")).expect("as a kill leaves it");
    let least = [900.0, 600.0];
    for (ground, size, name) in
        [(Ground::Light, SIZE, "runs"), (Ground::Dark, SIZE, "runs_dark"), (Ground::Light, least, "runs_small")]
    {
        let mut test = page(root, home, ground, size, true);
        until(&mut test, "a list", |t| count(t, "plain") > 0);
        click(&mut test, Role::Button, "Tick all");
        until(&mut test, "a table", |t| says(t, "★") && count(t, "Plain network") == 2);
        // Axes take their width from the frame before.
        test.run_steps(4);
        let image = test.render().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!([image.width() as f32, image.height() as f32], size);
        if let Some(folder) = std::env::var_os("VIFO_SHOTS") {
            image.save(Path::new(&folder).join(format!("{name}.png"))).expect("written");
        }
    }
}
