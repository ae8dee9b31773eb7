//! Ten thousand events at random on every page, with real data and runs: nothing panics, no thread of work dies, no run is lost,
//! and afterwards everything can be used as before. `VIFO_MONKEY=SEED` tries another sequence, and `VIFO_MONKEY_EVENTS=N` a
//! longer one; a failure prints both and the last events.

use super::desk::{Bench, app, bench, wait};
use eframe::egui::{self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, accesskit::Role, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;
use vifo::base::rng::SplitMix64;
use vifo::gui::settings::{Settings, Tab};
use vifo::live::WorkerState;

const EVENTS: usize = 10_000;
/// A failure tells as many.
const LAST: usize = 40;

/// Says where it was when the test fails, whatever made it fail.
struct Monkey {
    seed: u64,
    chance: SplitMix64,
    sent: usize,
    last: VecDeque<String>,
    at: Pos2,
}

impl Drop for Monkey {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("VIFO_MONKEY={} after {} events; the last ones:", self.seed, self.sent);
            self.last.iter().for_each(|event| eprintln!("  {event}"));
        }
    }
}

const SIZE: [f32; 2] = [1280.0, 800.0];

const KEYS: [Key; 22] = [
    Key::Space,
    Key::S,
    Key::R,
    Key::Tab,
    Key::Tab,
    Key::Enter,
    Key::Escape,
    Key::Escape,
    Key::Backspace,
    Key::Delete,
    Key::ArrowUp,
    Key::ArrowDown,
    Key::ArrowLeft,
    Key::ArrowRight,
    Key::Home,
    Key::End,
    Key::PageDown,
    Key::F5,
    Key::Z,
    Key::Y,
    Key::E,
    Key::C,
];

impl Monkey {
    fn below(&mut self, n: usize) -> usize {
        (self.chance.next_u64() % n.max(1) as u64) as usize
    }

    fn send(&mut self, h: &mut Bench, event: Event) {
        self.last.push_back(format!("{event:?}"));
        if self.last.len() > LAST {
            self.last.pop_front();
        }
        self.sent += 1;
        h.event(event);
    }

    /// Somewhere, or where something can be pressed: a page is mostly ground.
    fn place(&mut self, h: &Bench) -> Pos2 {
        if self.below(3) > 0 {
            let roles = [Role::Button, Role::CheckBox, Role::Slider, Role::ComboBox, Role::TextInput, Role::Label];
            let role = roles[self.below(roles.len())];
            let rects: Vec<egui::Rect> =
                h.query_all_by_role(role).map(|n| n.rect()).filter(|r| r.is_finite()).collect();
            if !rects.is_empty() {
                return rects[self.below(rects.len())].center();
            }
        }
        Pos2::new(self.below(SIZE[0] as usize) as f32, self.below(SIZE[1] as usize) as f32)
    }

    fn button(&mut self, h: &mut Bench, button: PointerButton, pressed: bool) {
        let (pos, modifiers) = (self.at, Modifiers::NONE);
        self.send(h, Event::PointerButton { pos, button, pressed, modifiers });
    }

    fn move_to(&mut self, h: &mut Bench, pos: Pos2) {
        self.at = pos;
        self.send(h, Event::PointerMoved(pos));
    }

    fn key(&mut self, h: &mut Bench, key: Key, modifiers: Modifiers) {
        for pressed in [true, false] {
            self.send(h, Event::Key { key, physical_key: None, pressed, repeat: false, modifiers });
        }
    }

    /// What a hand does in a moment.
    fn act(&mut self, h: &mut Bench, words: &[String]) {
        match self.below(20) {
            0..8 => {
                let at = self.place(h);
                self.move_to(h, at);
                let button = if self.below(8) == 0 { PointerButton::Secondary } else { PointerButton::Primary };
                self.button(h, button, true);
                h.step();
                self.button(h, button, false);
            }
            8..10 => {
                let from = self.place(h);
                self.move_to(h, from);
                self.button(h, PointerButton::Primary, true);
                let reach = vec2(self.below(400) as f32 - 200.0, self.below(300) as f32 - 150.0);
                for i in 1..=3 {
                    self.move_to(h, from + reach * (i as f32 / 3.0));
                    h.step();
                }
                self.button(h, PointerButton::Primary, false);
            }
            10..12 => {
                let at = self.place(h);
                self.move_to(h, at);
                let modifiers = if self.below(3) == 0 { Modifiers::COMMAND } else { Modifiers::NONE };
                let delta = vec2(0.0, self.below(9) as f32 - 4.0);
                let phase = egui::TouchPhase::Move;
                let source = egui::MouseWheelSource::Wheel;
                self.send(h, Event::MouseWheel { unit: MouseWheelUnit::Line, delta, phase, source, modifiers });
            }
            12..16 => {
                let key = KEYS[self.below(KEYS.len())];
                let modifiers = if self.below(4) == 0 { Modifiers::COMMAND } else { Modifiers::NONE };
                self.key(h, key, modifiers);
            }
            16..18 => {
                let word = words[self.below(words.len())].clone();
                let event = if self.below(4) == 0 { Event::Paste(word) } else { Event::Text(word) };
                self.send(h, event);
            }
            18 => {
                let (tab, name, _) = Tab::ALL[self.below(Tab::ALL.len())];
                self.last.push_back(format!("page {name}"));
                app(h).settings.tab = tab;
                self.sent += 1;
            }
            _ => self.send(h, Event::PointerGone),
        }
    }
}

/// A table, a run on it, a run on images, and a folder of them.
fn world(dir: &Path) -> Vec<PathBuf> {
    let mut text = "width,colour,weight\n".to_string();
    for i in 0..60 {
        let a = (f64::from(i) * 0.7).sin();
        text += &format!("{a:.3},{},{:.3}\n", ["red", "green"][i as usize % 2], 2.0 * a + 0.1 * f64::from(i % 5));
    }
    std::fs::write(dir.join("table.csv"), text).expect("written");
    std::fs::create_dir_all(dir.join("runs")).expect("a folder");
    let table = format!("[data]\nfile = {:?}\n[train]\nepochs = 5\n", dir.join("table.csv").display().to_string());
    let images = "[data]\nimages = \"digits\"\nlimit = 200\n[train]\nepochs = 1\n".to_string();
    let toy = "[data]\ntoy = \"moons\"\nrows = 60\n[train]\nepochs = 5\n".to_string();
    let train = |(name, text): (&str, String)| {
        let table = vifo::recipe::Recipe::parse(&text, "test").expect("TOML");
        let recipe = vifo::method::checked(&table, "test").expect("a recipe");
        let run = dir.join("runs").join(name);
        let go = &mut |_: &_, _: &_| vifo::train::Flow::Continue;
        vifo::workflow::fit::fit(&recipe, &run, false, &vifo::exec::Device::Cpu, go).expect("trained");
        run
    };
    [("table", table), ("images", images), ("toy", toy)].into_iter().map(train).collect()
}

/// What every window must be able to do, whatever was done to it before.
fn can_be_used(h: &mut Bench) {
    for button in [PointerButton::Primary, PointerButton::Secondary] {
        let pos = Pos2::new(2.0, SIZE[1] - 2.0);
        h.event(Event::PointerButton { pos, button, pressed: false, modifiers: Modifiers::NONE });
    }
    for _ in 0..6 {
        h.key_press(Key::Escape);
        h.step();
    }
    for (tab, name, _) in Tab::ALL {
        let label = h.query_all_by_label(name).next();
        let place = label.unwrap_or_else(|| panic!("the tab {name} is gone")).rect().center();
        h.event(Event::PointerMoved(place));
        for pressed in [true, false] {
            let button = PointerButton::Primary;
            h.event(Event::PointerButton { pos: place, button, pressed, modifiers: Modifiers::NONE });
            h.step();
        }
        h.step();
        assert_eq!(app(h).settings.tab, tab, "the tab {name} does not open");
    }
    app(h).settings.tab = Tab::Examples;
    for _ in 0..4 {
        h.step();
    }
    let began = app(h).playground.group.begun;
    let is_open = |name: Option<String>| name.is_some_and(|name| name.starts_with("Open "));
    let open = h.query_all_by_role(Role::Button).find(|n| is_open(n.accesskit_node().label()));
    // Not with the pointer: the page may be scrolled to its end.
    open.expect("an example to open").click_accesskit();
    wait(h, "an example to train", |a| a.playground.group.begun > began && a.playground.group.is_running());
    app(h).settings.tab = Tab::Playground;
    h.step();
    h.event(Event::PointerMoved(Pos2::new(2.0, SIZE[1] - 2.0)));
    h.step();
    h.step();
    for (name, state) in [("Pause", WorkerState::Paused), ("Start", WorkerState::Running)] {
        h.get_by_role_and_label(Role::Button, name).click_accesskit();
        wait(h, name, |a| a.playground.group.state == state);
    }
}

#[test]
fn ten_thousand_random_events_break_nothing() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual);
    let (seed, events) = (number("VIFO_MONKEY", 1), number("VIFO_MONKEY_EVENTS", EVENTS as u64) as usize);
    let dir = tempfile::tempdir().expect("a folder");
    // What is typed as a path without a folder lies there, too.
    std::env::set_current_dir(dir.path()).expect("a folder");
    let runs = world(dir.path());
    let trained = runs_in(&dir.path().join("runs"));
    assert_eq!(trained.len(), 3);
    let mut words: Vec<String> = [
        "0",
        "1",
        "-3",
        "0.5",
        "1e300",
        "NaN",
        "a",
        "ü中🦀",
        "\n",
        "[data]\ntoy = \"moons\"\n",
        "x".repeat(300).as_str(),
    ]
    .map(String::from)
    .to_vec();
    words.extend([dir.path().join("table.csv"), runs[1].clone(), runs[0].clone()].map(|p| p.display().to_string()));
    let mut h = bench(Settings { runs: dir.path().join("runs"), ..Settings::default() }, None);
    h.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    wait(&mut h, "the first steps", |a| a.playground.group.step() > 5);
    let mut monkey = Monkey { seed, chance: SplitMix64::new(seed), sent: 0, last: VecDeque::new(), at: Pos2::ZERO };
    let began = Instant::now();
    while monkey.sent < events {
        monkey.act(&mut h, &words);
        h.step();
        let bug = app(&mut h).banner.texts().find(|t| t.contains("a bug of vifo")).map(String::from);
        assert_eq!(bug, None);
    }
    eprintln!("{} events in {:.1} s", monkey.sent, began.elapsed().as_secs_f64());
    can_be_used(&mut h);
    let left = runs_in(&dir.path().join("runs"));
    for (name, data) in &trained {
        // Of the same data another one may just have begun, which has no weights.
        let mut same = left.iter().filter(|(_, found)| found == data).map(|(path, _)| path.clone());
        let predicts = |path| vifo::run::Model::open(&vifo::run::RunFolder { path }).is_ok();
        assert!(same.any(predicts), "{name:?} is lost or predicts no more: {left:?}");
    }
}

/// Every run in a folder, wherever it was moved to, also by being deleted with a way back; each with the fingerprint of its data.
fn runs_in(dir: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut left) = (vec![], vec![dir.to_path_buf()]);
    while let Some(dir) = left.pop() {
        match vifo::run::RunFolder::open(&dir).and_then(|run| run.manifest()) {
            Ok(manifest) => found.push((dir, manifest.data)),
            Err(_) => left.extend(
                std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir()),
            ),
        }
    }
    found
}
