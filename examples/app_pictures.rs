//! Pictures of every page of the app, drawn without a window:
//! `cargo run --example app_pictures -- FOLDER [WIDTHxHEIGHT [light|dark [SCALE]]]`, the size in pixels.
//! docs/guide/app.md shows them; `docs/app-pictures` makes them.

use eframe::egui;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vifo::gui::app::{App, Open};
use vifo::gui::gallery;
use vifo::gui::settings::{Ground, MapKind, Settings};
use vifo::live::WorkerState;
use vifo::recipe::{Recipe, builtin, keys};

struct Desk {
    app: Option<App>,
    settings: Settings,
    open: Option<Open>,
    home: tempfile::TempDir,
}

struct Studio {
    out: PathBuf,
    size: [f32; 2],
    scale: f32,
}

type Scene = Harness<'static, Desk>;

fn frame(ui: &mut egui::Ui, desk: &mut Desk) {
    let ctx = ui.ctx().clone();
    let app = desk.app.get_or_insert_with(|| {
        App::new(&ctx, desk.settings.clone(), desk.home.path().into(), desk.open.clone(), None).expect("an app")
    });
    app.logic(&ctx);
    app.show(ui);
}

impl Studio {
    fn scene(&self, settings: Settings, open: Option<Open>) -> Scene {
        let home = tempfile::tempdir().expect("a folder");
        let desk = Desk { app: None, settings: Settings { hint_seen: true, ..settings }, open, home };
        Harness::builder()
            .with_size(self.size)
            .with_pixels_per_point(self.scale)
            .with_max_steps(40)
            .with_render_cursor(false)
            .wgpu()
            .build_ui_state(frame, desk)
    }

    fn take(&self, h: &mut Scene, name: &str) {
        for _ in 0..4 {
            h.step();
        }
        let image = h.render().unwrap_or_else(|e| panic!("{name}: {e}"));
        let path = self.out.join(format!("{name}.png"));
        image.save(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        println!("{}", path.display());
    }
}

fn wait(h: &mut Scene, what: &str, done: impl Fn(&App) -> bool) {
    let began = Instant::now();
    loop {
        h.step();
        let app = h.state_mut().app.as_mut().expect("after a frame");
        if done(app) {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(240),
            "never: {what}; {:?}",
            app.banner.texts().collect::<Vec<_>>()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn click(h: &mut Scene, label: &str) {
    h.get_by_label(label).click();
    h.step();
    h.step();
}

fn step_of(app: &App) -> u64 {
    app.playground.group.snapshot.step
}

fn has_ended(app: &App) -> bool {
    matches!(app.playground.group.state, WorkerState::Ended(_))
}

fn moons() -> Recipe {
    let mut table = Recipe::parse(builtin::find("moons").expect("built in"), "moons").expect("a recipe");
    for (key, value) in [("train.epochs", "5000"), ("train.schedule", "constant"), ("train.patience", "0")] {
        keys::set(&mut table, key, value, "moons").expect("allowed");
    }
    Recipe::from_table(&table, "moons").expect("a recipe")
}

fn main() {
    let mut args = std::env::args().skip(1);
    let out = PathBuf::from(args.next().unwrap_or_else(|| "pictures".into()));
    let size = args.next().unwrap_or_else(|| "1280x800".into());
    let size: Vec<f32> = size.split('x').map(|v| v.parse().expect("WIDTHxHEIGHT")).collect();
    let ground = if args.next().as_deref() == Some("dark") { Ground::Dark } else { Ground::Light };
    let scale: f32 = args.next().map_or(1.0, |v| v.parse().expect("a scale"));
    std::fs::create_dir_all(&out).expect("a folder for the pictures");
    let out = out.canonicalize().expect("a folder for the pictures");
    // The pictures show paths: those of a folder of one's own.
    let desk = tempfile::tempdir().expect("a folder");
    std::fs::copy(CO2, desk.path().join("co2.csv")).expect("a copy of the bundled table");
    std::env::set_current_dir(desk.path()).expect("the folder");
    let studio = Studio { out, size: [size[0] / scale, size[1] / scale], scale };
    let light = Settings { ground, pace: 0.0, ..Settings::default() };
    playground(&studio, &light);
    classes(&studio, &light);
    others(&studio, &light);
    files(&studio, &light);
}

fn playground(studio: &Studio, light: &Settings) {
    let mut h = studio.scene(light.clone(), None);
    wait(&mut h, "its end", has_ended);
    studio.take(&mut h, "playground");
    click(&mut h, "Learning curves");
    studio.take(&mut h, "learning_curves");
    click(&mut h, "Recipe");
    studio.take(&mut h, "recipe");
    click(&mut h, "Examples");
    studio.take(&mut h, "examples");
    let example = gallery::find("gap").expect("an example").open(false).expect("its recipe");
    let mut h = studio.scene(light.clone(), Some(example));
    wait(&mut h, "training", |a| step_of(a) > 1000);
    studio.take(&mut h, "example");
    let mut h = studio.scene(Settings { ground: Ground::Dark, ..light.clone() }, None);
    wait(&mut h, "its end", has_ended);
    studio.take(&mut h, "playground_dark");
}

fn classes(studio: &Studio, light: &Settings) {
    let settings = Settings { map: MapKind::Entropy, ..light.clone() };
    let mut h = studio.scene(settings, Some(Open::Recipe(Box::new(moons()))));
    wait(&mut h, "training", |a| step_of(a) > 3000);
    click(&mut h, "Pause");
    studio.take(&mut h, "moons_entropy");
    click(&mut h, "Probability");
    studio.take(&mut h, "moons_probability");
    click(&mut h, "Side by side");
    wait(&mut h, "training", |a| a.side.group.as_ref().is_some_and(|g| g.snapshot.step > 2000));
    studio.take(&mut h, "side_by_side_classes");
}

fn others(studio: &Studio, light: &Settings) {
    let mut h = studio.scene(light.clone(), None);
    wait(&mut h, "training", |a| step_of(a) > 100);
    click(&mut h, "Side by side");
    wait(&mut h, "their end", |a| a.side.group.as_ref().is_some_and(|g| matches!(g.state, WorkerState::Ended(_))));
    studio.take(&mut h, "side_by_side");
    click(&mut h, "Priors");
    wait(&mut h, "training", |a| {
        a.priors
            .group
            .as_ref()
            .is_some_and(|g| g.snapshot.step > 900 && g.snapshot.slots.iter().all(|l| l.prior.is_some()))
    });
    studio.take(&mut h, "priors");
}

/// The bundled CO2 table from its report to its results, and two seeds of it beside a plain network.
fn files(studio: &Studio, light: &Settings) {
    let runs = Path::new("runs");
    let device = vifo::exec::Device::Cpu;
    for (name, method, seed) in [("co2-1", "vifo-mean", "1"), ("co2-2", "vifo-mean", "2"), ("co2-plain", "base", "1")] {
        let mut table = toml::Table::new();
        for (key, value) in [
            ("data.file", "co2.csv"),
            ("data.target", "co2_ppm"),
            ("data.ignore", "[\"date\"]"),
            ("method.name", method),
            ("method.eta_aux", if method == "base" { "0" } else { "0.1" }),
            ("train.epochs", "60"),
            ("seed", seed),
            ("name", name),
        ] {
            keys::set(&mut table, key, value, "co2").expect("allowed");
        }
        let recipe = Recipe::from_table(&table, "co2").expect("a recipe");
        let silent = &mut |_: &vifo::train::Event, _: &[String]| vifo::train::Flow::Continue;
        vifo::workflow::fit::fit(&recipe, &runs.join(name), false, &device, silent).expect("a run");
    }
    let settings = Settings { runs: runs.into(), ..light.clone() };
    let mut h = studio.scene(settings.clone(), Some(Open::Data("co2.csv".into())));
    wait(&mut h, "the playground", |a| step_of(a) > 100);
    for _ in 0..100 {
        h.step();
        std::thread::sleep(Duration::from_millis(10));
    }
    studio.take(&mut h, "your_data");
    click(&mut h, "Runs");
    for _ in 0..200 {
        h.step();
        std::thread::sleep(Duration::from_millis(10));
    }
    click(&mut h, "Tick all");
    for _ in 0..100 {
        h.step();
        std::thread::sleep(Duration::from_millis(10));
    }
    studio.take(&mut h, "runs");
    let mut h = studio.scene(settings.clone(), Some(Open::Run(runs.join("co2-1"))));
    for (tab, name) in [("Predictions", "results"), ("Figures", "results_figures")] {
        for _ in 0..150 {
            h.step();
            std::thread::sleep(Duration::from_millis(10));
        }
        click(&mut h, tab);
        for _ in 0..150 {
            h.step();
            std::thread::sleep(Duration::from_millis(10));
        }
        studio.take(&mut h, name);
    }
}

const CO2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/co2.csv");
