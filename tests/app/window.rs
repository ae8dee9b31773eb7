//! The real window under Xvfb: it opens, trains and closes by itself, and nothing is lost.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// `vifo app ARGS` in a window of its own until it closes by itself.
fn open(home: &Path, args: &[&str]) {
    let mut child = Command::new("xvfb-run")
        .args(["-a", "-s", "-screen 0 1280x800x24", env!("CARGO_BIN_EXE_vifo"), "app", "--home"])
        .arg(home)
        .args(args)
        .env_remove("WAYLAND_DISPLAY")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("xvfb-run: tests/run installs it");
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if began.elapsed() > Duration::from_secs(120) => {
                let _ = child.kill();
                panic!("it did not close");
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("stderr"), &mut said).expect("text");
    assert!(status.success(), "{args:?}: {status}: {said}");
}

#[test]
fn the_window_opens_trains_two_hundred_steps_and_closes() {
    let home = tempfile::tempdir().expect("a folder");
    open(home.path(), &["--close-after", "200"]);
    let session = vifo::run::RunFolder::open(&home.path().join("session")).expect("the session's folder");
    assert_eq!(session.manifest().expect("a manifest").state, "stopped");
    let rows = session.metrics(u32::MAX).expect("rows");
    assert!(rows.last().is_some_and(|r| r.step >= 190), "{:?}", rows.last());
    assert!(home.path().join("app.ron").is_file(), "settings are kept");
}

/// As README has them: a recipe and a table; what was asked for is on the screen when it closes.
#[test]
fn a_recipe_and_a_table_open_in_the_window() {
    let home = tempfile::tempdir().expect("a folder");
    open(home.path(), &["--close-after", "60", "moons"]);
    let session = vifo::run::RunFolder::open(&home.path().join("session")).expect("the session's folder");
    assert_eq!(session.recipe().expect("a recipe").data.toy, Some(vifo::data::toy::ToyKind::Moons));
    open(home.path(), &["--close-after", "120", concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/co2.csv")]);
    let settings = std::fs::read_to_string(home.path().join("app.ron")).expect("settings");
    assert!(settings.contains("tab:Data"), "{settings:.300}");
}

#[test]
fn without_a_display_one_line_says_what_to_do() {
    let home = tempfile::tempdir().expect("a folder");
    let out = Command::new(env!("CARGO_BIN_EXE_vifo"))
        .args(["app", "--home"])
        .arg(home.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .expect("it ran");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!((out.status.code(), said.trim().lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("the window: cannot be opened") && said.contains("vifo fit"), "{said}");
}

#[test]
fn a_broken_link_and_a_page_that_is_not_there_are_told_before_anything_opens() {
    let said = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_vifo")).arg("app").args(args).output().expect("run");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, text) = said(&["#r=AAAA"]);
    assert!(code == Some(2) && text.contains("was cut or changed"), "{text}");
    let (code, text) = said(&["https://example.org/#example=none"]);
    assert!(code == Some(2) && text.contains("gap, extrapolation"), "{text}");
    let (code, text) = said(&["--web", "nowhere"]);
    assert!(code == Some(2) && text.contains("web/build"), "{text}");
    let (code, text) = said(&["table.csv", "--web", "nowhere"]);
    assert!(code == Some(2) && text.contains("is no link"), "{text}");
}
