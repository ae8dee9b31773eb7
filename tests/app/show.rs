//! What takes a plot out of the app: animations, copies, the plot alone on the screen, and images that a camera writes.

use super::desk::{Bench, app, bench, desk, frame, sized, wait};
use eframe::egui::{Key, Modifiers, OutputCommand, accesskit::Role};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use image::AnimationDecoder;
use std::path::{Path, PathBuf};
use vifo::figure::AnimationKind;
use vifo::gui::app::App;
use vifo::gui::film::FilmOf;
use vifo::gui::settings::{Ground, Settings, Tab};
use vifo::live::{Picture, WorkerState};

fn click(h: &mut Bench, label: &str) {
    h.step();
    h.get_by_role_and_label(Role::Button, label).click();
    h.step();
    h.step();
}

fn item(h: &mut Bench, label: &str) {
    open_item(h, label);
    h.step();
    h.step();
}

/// What comes of it may be in the very next frame.
fn open_item(h: &mut Bench, label: &str) {
    click(h, "Show");
    h.step();
    h.get_all_by_label_contains(label).last().expect("an item").click();
}

fn has(h: &Bench, label: &str) -> bool {
    h.query_all_by_label_contains(label).next().is_some()
}

/// A running app with some pictures behind it.
fn running(settings: Settings) -> Bench {
    let mut h = bench(settings, None);
    wait(&mut h, "some pictures", |a| a.playground.group.history.whole().len() > 6 && a.playground.transform.is_some());
    h
}

fn shot(h: &mut Bench, name: &str) {
    let Some(dir) = std::env::var_os("VIFO_SHOTS").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&dir).expect("a folder");
    h.render().expect("an image").save(dir.join(format!("{name}.png"))).expect("saved");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    all.sort();
    all
}

/// Frames of a GIF: size and seconds of each.
fn frames_of(path: &Path) -> Vec<((u32, u32), f64)> {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("a file"));
    let decoder = image::codecs::gif::GifDecoder::new(file).expect("a GIF");
    let frames = decoder.into_frames().collect_frames().expect("frames");
    let of = |f: &image::Frame| {
        let (ms, part) = f.delay().numer_denom_ms();
        (f.buffer().dimensions(), f64::from(ms) / f64::from(part) / 1000.0)
    };
    frames.iter().map(of).collect()
}

#[test]
fn the_training_so_far_becomes_a_gif_and_a_second_one_takes_no_name() {
    let mut h = running(Settings::default());
    let out = tempfile::tempdir().expect("a folder");
    for kind in [AnimationKind::Gif, AnimationKind::Gif, AnimationKind::Png] {
        item(&mut h, "Animation…");
        assert!(has(&h, "the whole training"));
        let films = &mut app(&mut h).exports.films;
        (films.of, films.kind) = (FilmOf::Recent, kind);
        films.folder.set(&out.path().join("deep"));
        click(&mut h, "Make animation");
        assert!(app(&mut h).exports.films.is_working());
        h.step();
        assert!(has(&h, "Cancel animation"));
        wait(&mut h, "the file", |a| !a.exports.films.is_working());
    }
    let names: Vec<String> = files(&out.path().join("deep"))
        .iter()
        .map(|p| p.file_name().expect("a name").to_string_lossy().into())
        .collect();
    assert_eq!(names, ["band_training-2.gif", "band_training.gif", "band_training.png"]);
    let frames = frames_of(&out.path().join("deep/band_training.gif"));
    assert!(frames.len() > 4 && frames.iter().all(|f| f.0 == (900, 560)), "{frames:?}");
    assert!((frames[frames.len() - 1].1 - 1.5).abs() < 0.02, "the last one stands");
    assert!(app(&mut h).banner.texts().any(|t| t.starts_with("exported")));
    let keep = std::env::var_os("VIFO_SHOTS").map(PathBuf::from);
    if let Some(dir) = keep {
        std::fs::copy(out.path().join("deep/band_training.gif"), dir.join("training.gif")).expect("copied");
    }
}

#[test]
fn a_sweep_of_eta_has_a_frame_for_each_and_can_be_cancelled() {
    let mut h = running(Settings::default());
    let out = tempfile::tempdir().expect("a folder");
    let sweep = |h: &mut Bench, etas: &str| {
        item(h, "Animation…");
        let films = &mut app(h).exports.films;
        (films.of, films.etas) = (FilmOf::Sweep, etas.into());
        films.folder.set(out.path());
        h.step();
    };
    sweep(&mut h, "0.1, x");
    assert!(has(&h, "1 to 40 numbers"));
    click(&mut h, "Cancel");
    sweep(&mut h, "0.1, 1, 5");
    click(&mut h, "Make animation");
    h.step();
    click(&mut h, "Cancel animation");
    assert!(!app(&mut h).exports.films.is_working() && files(out.path()).is_empty());
    // Short enough for a test.
    app(&mut h).playground.draft.train.epochs = Some(300);
    wait(&mut h, "fewer epochs", |a| {
        a.playground.group.slots[0].recipe.as_ref().is_some_and(|r| r.train.epochs == Some(300))
    });
    sweep(&mut h, "0.1, 1, 5");
    click(&mut h, "Make animation");
    wait(&mut h, "the file", |a| !a.exports.films.is_working());
    let path = out.path().join("band_eta.gif");
    let frames = frames_of(&path);
    assert_eq!(frames.iter().map(|f| (f.1 * 10.0).round()).collect::<Vec<_>>(), [8.0, 8.0, 15.0]);
    if let Some(dir) = std::env::var_os("VIFO_SHOTS").map(PathBuf::from) {
        std::fs::copy(&path, dir.join("eta.gif")).expect("copied");
    }
}

#[test]
fn a_page_without_motion_says_so_and_side_by_side_has_its_own() {
    let mut h = running(Settings { pace: 0.0, ..Settings::default() });
    app(&mut h).settings.tab = Tab::Recipe;
    h.step();
    item(&mut h, "Animation…");
    assert!(app(&mut h).banner.texts().any(|t| t.contains("nothing that moves")));
    app(&mut h).settings.tab = Tab::SideBySide;
    wait(&mut h, "pictures", |a| a.side.group.as_ref().is_some_and(|g| g.history.whole().len() > 4));
    let out = tempfile::tempdir().expect("a folder");
    item(&mut h, "Animation…");
    app(&mut h).exports.films.of = FilmOf::Whole;
    app(&mut h).exports.films.folder.set(out.path());
    click(&mut h, "Make animation");
    wait(&mut h, "the file", |a| !a.exports.films.is_working());
    let frames = frames_of(&out.path().join("side_by_side_training.gif"));
    assert!(frames.len() > 3 && frames.iter().all(|f| f.0 == (900, 440)), "{frames:?}");
}

/// The first command of this kind that a frame gives.
fn copied<T>(h: &mut Bench, what: &str, of: impl Fn(&OutputCommand) -> Option<T>) -> T {
    let began = std::time::Instant::now();
    loop {
        h.step();
        if let Some(found) = h.output().platform_output.commands.iter().find_map(&of) {
            return found;
        }
        assert!(began.elapsed().as_secs() < 30, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
}

#[test]
fn a_plot_is_copied_as_an_image_and_as_numbers() {
    let mut h = running(Settings::default());
    h.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::C);
    let size = copied(&mut h, "an image", |c| match c {
        OutputCommand::CopyImage(image) => Some(image.size),
        _ => None,
    });
    assert_eq!(size, [1800, 1120], "as the PNG file");
    open_item(&mut h, "Copy data");
    let text = |c: &OutputCommand| match c {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    };
    let csv = copied(&mut h, "a table", text);
    assert!(csv.starts_with("part,panel,") && csv.lines().count() > 200, "{csv:.200}");
    // Every plot of the page has its own buttons in the dialog.
    h.key_press_modifiers(Modifiers::COMMAND, Key::E);
    h.step();
    h.step();
    h.get_by_role_and_label(Role::Button, "Copy data of learning_curves").click();
    let csv = copied(&mut h, "the curves", text);
    assert!(csv.contains("expected NLL"), "{csv:.200}");
    app(&mut h).settings.tab = Tab::Recipe;
    h.step();
    item(&mut h, "Copy image");
    wait(&mut h, "a word", |a| a.banner.texts().any(|t| t == "this page has no plot to copy"));
}

#[test]
fn a_plot_is_presented_alone_and_escape_comes_back() {
    let mut h = running(Settings::default());
    let is_on = |h: &mut Bench| app(h).is_presenting();
    h.key_press(Key::F5);
    for _ in 0..6 {
        h.step();
    }
    assert!(is_on(&mut h) && h.ctx.zoom_factor() > 1.3, "{}", h.ctx.zoom_factor());
    assert!(!has(&h, "Your data") && !has(&h, "hidden layers") && has(&h, "predictive mean"));
    h.key_press(Key::Space);
    wait(&mut h, "a pause", |a| a.playground.group.state == WorkerState::Paused);
    click(&mut h, "Start");
    wait(&mut h, "training", |a| a.playground.group.state == WorkerState::Running);
    h.key_press(Key::Escape);
    for _ in 0..4 {
        h.step();
    }
    assert!(!is_on(&mut h) && has(&h, "Your data") && (h.ctx.zoom_factor() - 1.0).abs() < 1e-6);
    item(&mut h, "Present");
    assert!(is_on(&mut h));
    click(&mut h, "Leave");
    assert!(!is_on(&mut h));
    // A page without a plot of its own presents the playground's.
    app(&mut h).settings.tab = Tab::Runs;
    h.step();
    h.key_press(Key::F5);
    h.step();
    assert!(is_on(&mut h) && app(&mut h).settings.tab == Tab::Playground);
    // What opens above it closes first.
    h.key_press_modifiers(Modifiers::COMMAND, Key::E);
    h.step();
    h.step();
    h.key_press(Key::Escape);
    h.step();
    h.step();
    assert!(is_on(&mut h), "Escape has closed the dialog alone");
    h.key_press(Key::Escape);
    h.step();
    h.step();
    assert!(!is_on(&mut h) && app(&mut h).settings.tab == Tab::Runs, "back to where one was");
    app(&mut h).settings.tab = Tab::SideBySide;
    wait(&mut h, "bands", |a| a.side.group.as_ref().is_some_and(|g| g.snapshot.slots.len() == 3));
    h.key_press(Key::F5);
    for _ in 0..4 {
        h.step();
    }
    assert!(is_on(&mut h) && !has(&h, "Add method") && has(&h, "predictive mean"));
}

/// As a page shows it inside somebody else's.
#[test]
fn an_embedded_page_is_presented_by_its_own_button() {
    let link = vifo::gui::app::Open::Link { recipe: None, page: Some(Tab::Playground), embed: true };
    let mut h = bench(Settings::default(), Some(link));
    wait(&mut h, "a picture", |a| a.playground.transform.is_some());
    assert!(!has(&h, "Your data"));
    click(&mut h, "Present");
    h.step();
    assert!(app(&mut h).is_presenting() && has(&h, "predictive mean"));
    click(&mut h, "Leave");
    h.step();
    assert!(!app(&mut h).is_presenting() && !has(&h, "Your data"), "as it was before");
}

/// Pictures for people to look at: VIFO_SHOTS=FOLDER.
#[test]
fn the_plot_alone_in_both_themes_and_sizes() {
    if std::env::var_os("VIFO_SHOTS").is_none() {
        return;
    }
    for (name, ground, size, toy) in [
        ("present_light", Ground::Light, [1280.0, 800.0], None),
        ("present_dark", Ground::Dark, [1024.0, 700.0], None),
        ("present_map", Ground::Dark, [1280.0, 800.0], Some(vifo::data::toy::ToyKind::Moons)),
    ] {
        let settings = Settings { ground, pace: 0.0, ..Settings::default() };
        let mut h: Bench =
            Harness::builder().with_size(size).with_max_steps(40).wgpu().build_ui_state(frame, desk(settings, None));
        wait(&mut h, "a fit", |a| a.playground.group.step() > 1500);
        if let Some(toy) = toy {
            app(&mut h).playground.draft.data.toy = Some(toy);
            app(&mut h).playground.draft.data.standardise = true;
            h.step();
            app(&mut h).playground.begin();
            wait(&mut h, "a map", |a| {
                let first = a.playground.group.snapshot.slots.first();
                first.is_some_and(|l| matches!(l.picture, Picture::Map(_))) && a.playground.group.step() > 300
            });
        }
        shot(&mut h, &format!("{name}_before"));
        h.key_press(Key::F5);
        h.step();
        h.step();
        // As a window does, which stays as large as it is.
        h.set_size(eframe::egui::Vec2::from(size) / h.ctx.zoom_factor());
        for _ in 0..10 {
            h.step();
        }
        shot(&mut h, name);
        h.key_press(Key::Escape);
        h.step();
        h.set_size(size.into());
        item(&mut h, "Animation…");
        h.step();
        shot(&mut h, &format!("{name}_dialog"));
    }
}

fn digits_run(dir: &Path) -> PathBuf {
    let text = "[data]\nimages = \"digits\"\n[method]\nname = \"base\"\nmembers = 3\n[train]\nepochs = 6\n";
    let table = vifo::recipe::Recipe::parse(text, "test").expect("TOML");
    let recipe = vifo::method::checked(&table, "test").expect("a recipe");
    let run = dir.join("runs/digits");
    std::fs::create_dir_all(dir.join("runs")).expect("a folder");
    let go = &mut |_: &_, _: &_| vifo::train::Flow::Continue;
    vifo::workflow::fit::fit(&recipe, &run, false, &vifo::exec::Device::Cpu, go).expect("trained");
    run
}

fn digit(i: usize) -> image::GrayImage {
    let set = vifo::data::images::digits(&Default::default()).expect("the bundled set");
    image::GrayImage::from_raw(set.w as u32, set.h as u32, set.image(i).expect("an image").to_vec()).expect("its size")
}

/// A camera that writes a frame every few milliseconds, and once half of one.
#[test]
fn frames_of_a_folder_are_predicted_as_they_come() {
    let dir = tempfile::tempdir().expect("a folder");
    let run = digits_run(dir.path());
    let camera = dir.path().join("camera");
    std::fs::create_dir(&camera).expect("a folder");
    let settings = Settings { runs: dir.path().join("runs"), ground: Ground::Light, ..Settings::default() };
    let open = Some(vifo::gui::app::Open::Run(run));
    let shots = std::env::var_os("VIFO_SHOTS").is_some();
    let mut h: Bench = match shots {
        true => Harness::builder().with_size([1280.0, 800.0]).wgpu().build_ui_state(frame, desk(settings, open)),
        false => sized(settings, open, [1280.0, 800.0]),
    };
    wait_for(&mut h, "the run", |h| has(h, "Live images"));
    h.get_by_label("Live images").click();
    h.step();
    h.step();
    assert!(has(&h, "Nothing is watched yet"));
    h.get_by_role_and_label(Role::TextInput, "image folder").focus();
    h.step();
    h.get_by_role_and_label(Role::TextInput, "image folder").type_text(&camera.display().to_string());
    h.step();
    click(&mut h, "Watch folder");
    wait_for(&mut h, "the run to open", |h| has(h, "validation images of the run"));
    for i in 0..30 {
        digit(i).save(camera.join(format!("frame{i:03}.png"))).expect("saved");
        h.step();
    }
    wait(&mut h, "thirty frames", |a| a.results.frames.count == 30);
    h.step();
    assert!(has(&h, "frame029.png") && has(&h, "30 images of camera") && has(&h, "the training images"));
    let rate = h.get_by_label_contains("frames/s").accesskit_node().value().expect("a rate");
    assert!(rate.split(' ').next().and_then(|r| r.parse::<f64>().ok()).is_some_and(|r| r > 5.0), "{rate}");
    let noise = image::GrayImage::from_fn(8, 8, |x, y| image::Luma([((x * 97 + y * 57) * 7919 % 256) as u8]));
    noise.save(camera.join("noise.png")).expect("saved");
    wait(&mut h, "the strange one", |a| a.results.frames.count == 31);
    h.step();
    assert!(has(&h, "unlike the training images") || has(&h, "unusual among"), "noise is no digit");
    std::fs::write(camera.join("half.png"), &std::fs::read(camera.join("noise.png")).expect("bytes")[..60])
        .expect("written");
    wait_for(&mut h, "a word of it", |h| has(h, "skipped half.png"));
    if shots {
        shot(&mut h, "live_images");
    }
    // Nothing is predicted behind another page.
    app(&mut h).settings.tab = Tab::Recipe;
    h.step();
    h.step();
    digit(1).save(camera.join("later.png")).expect("saved");
    for _ in 0..20 {
        h.step();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(app(&mut h).results.frames.count, 31);
    app(&mut h).settings.tab = Tab::Results;
    wait(&mut h, "it goes on", |a: &App| a.results.frames.count == 32);
    click(&mut h, "Stop watching");
    assert_eq!(app(&mut h).banner.texts().count(), 0);
}

/// The longest of what is said of a training, in a small window.
#[test]
fn the_way_out_of_a_presentation_stays_in_sight() {
    let mut h = sized(Settings::default(), None, [700.0, 470.0]);
    wait(&mut h, "steps", |a| a.playground.group.step() > 5);
    let group = &mut app(&mut h).playground.group;
    group.send(vifo::live::Command::Pause);
    wait(&mut h, "a pause", |a| a.playground.group.state == vifo::live::WorkerState::Paused);
    app(&mut h).playground.group.state = vifo::live::WorkerState::Ended(vifo::train::Ending::Early);
    let ctx = h.ctx.clone();
    app(&mut h).present(&ctx);
    h.run_steps(4);
    let leave = h.get_by_label("Leave").rect();
    assert!(leave.right() <= 700.0 && leave.left() > 500.0, "{leave:?}");
    assert!(has(&h, "stopped early"));
}

fn wait_for(h: &mut Bench, what: &str, so: impl Fn(&Bench) -> bool) {
    let began = std::time::Instant::now();
    while !so(h) {
        let said: Vec<String> = app(h).banner.texts().map(String::from).collect();
        assert!(began.elapsed().as_secs() < 60, "never: {what}; {said:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
        h.step();
    }
}

/// What stands in for ffmpeg: it writes the arguments down, then a stream of digits, and goes on until nobody reads.
#[cfg(target_os = "linux")]
fn false_ffmpeg(dir: &std::path::Path) -> vifo::system::camera::Cameras {
    use std::os::unix::fs::PermissionsExt;
    for i in 0..3 {
        digit(i).save(dir.join(format!("{i}.jpg"))).expect("saved");
    }
    let script = format!(
        "#!/bin/sh\ncd {0}\nif [ -e busy ]; then echo '/dev/video0: Device or resource busy' >&2; exit 1; fi\n\
         echo \"$@\" > said\necho $$ > pid\n\
         while true; do cat 0.jpg 1.jpg 2.jpg || exit; sleep 0.02; done\n",
        dir.display()
    );
    let program = dir.join("ffmpeg");
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let nodes = dir.join("dev");
    std::fs::create_dir(&nodes).expect("a folder");
    vifo::system::camera::Cameras { program, nodes }
}

#[test]
#[cfg(target_os = "linux")]
fn a_camera_is_switched_on_watched_and_switched_off() {
    let dir = tempfile::tempdir().expect("a folder");
    let run = digits_run(dir.path());
    let cameras = false_ffmpeg(dir.path());
    let settings = Settings { runs: dir.path().join("runs"), ..Settings::default() };
    let open = Some(vifo::gui::app::Open::Run(run));
    let mut h = sized(settings, open, [1280.0, 800.0]);
    wait_for(&mut h, "the run", |h| has(h, "Live images"));
    h.get_by_label("Live images").click();
    h.step();
    h.step();
    app(&mut h).results.frames.camera.cameras = cameras.clone();
    click(&mut h, "Camera");
    wait(&mut h, "a word that there is none", |a| {
        a.banner.texts().any(|t| t.contains("there is none on this machine"))
    });
    std::fs::write(cameras.nodes.join("video0"), "").expect("a device");
    std::fs::write(cameras.nodes.join("video2"), "").expect("a device");
    std::fs::write(dir.path().join("busy"), "").expect("written");
    click(&mut h, "Camera");
    wait(&mut h, "ffmpeg's own words", |a| a.banner.texts().any(|t| t.contains("Device or resource busy")));
    std::fs::remove_file(dir.path().join("busy")).expect("there");
    click(&mut h, "Camera");
    wait(&mut h, "frames", |a| a.results.frames.count > 5);
    h.step();
    let said = std::fs::read_to_string(dir.path().join("said")).expect("arguments");
    assert!(said.contains("-f v4l2 -i ") && said.contains("video0 "), "{said}");
    assert!(has(&h, "video0 so far") && has(&h, "frames/s") && has(&h, "the training images"));
    let pid = || std::fs::read_to_string(dir.path().join("pid")).expect("a process").trim().to_string();
    let lives = |pid: &str| std::path::Path::new(&format!("/proc/{pid}")).exists();
    let first = pid();
    assert!(lives(&first));
    click(&mut h, "Stop watching");
    h.step();
    assert!(!lives(&first), "the camera is off");
    assert!(has(&h, "which camera"), "of two, one is chosen");
}
