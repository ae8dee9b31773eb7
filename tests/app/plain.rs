//! The window says no flag of the command line and no recipe key: on its pages, of data, in errors.

use super::desk::{Bench, bench, wait};
use super::words::{button, press, table};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::NodeT;
use vifo::exec::Device;
use vifo::gui::app::Open;
use vifo::gui::settings::{Settings, Tab};
use vifo::recipe::{Recipe, keys};
use vifo::workflow::Training;

/// What a reader of the window never needs: flags, commands, and keys with their section.
fn is_of_the_command_line(text: &str) -> bool {
    let flag = text
        .split(|c: char| c.is_whitespace() || "`(\"'".contains(c))
        .any(|word| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase())));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let key = text
        .split(|c: char| !is_word(c))
        .any(|word| word.contains('.') && keys::find(word.trim_matches('.')).is_some());
    flag || key || text.contains("`vifo ")
}

/// All that stands on the page now.
fn words(h: &Bench) -> Vec<String> {
    let mut all = vec![];
    for node in h.root().children_recursive() {
        let node = node.accesskit_node();
        // The recipe and file names are the user's.
        if node.role() != Role::MultilineTextInput {
            all.extend([node.label(), node.value()].into_iter().flatten());
        }
    }
    all
}

fn speaks_plainly(h: &Bench, page: &str) {
    let all = words(h);
    assert!(all.len() > 5, "{page}: the walk found {all:?}");
    let found: Vec<_> = all.iter().filter(|text| is_of_the_command_line(text)).collect();
    assert!(found.is_empty(), "{page}: {found:#?}");
}

#[test]
fn every_page_speaks_plainly() {
    assert!(
        is_of_the_command_line("use --lr 1")
            && is_of_the_command_line("(train.lr)")
            && !is_of_the_command_line("a -- b")
    );
    for tab in Tab::ALL.map(|t| t.0) {
        let mut h = bench(Settings { tab, ..Settings::default() }, None);
        wait(&mut h, "a frame", |a| a.frames() > 5);
        speaks_plainly(&h, &format!("{tab:?}"));
    }
}

/// Tables with every kind of trouble: what is said of each names controls.
#[test]
fn what_is_said_of_data_names_controls_and_has_buttons() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = |f: &dyn Fn(usize) -> String| (0..40).map(f).collect::<String>();
    let tables = [
        ("copies", "a,b,y\n".to_string() + &rows(&|i| format!("{},{},{}\n", i % 7, i % 3, i % 5))),
        ("leak", "a,b,y\n".to_string() + &rows(&|i| format!("{},{},{}\n", (i as f64).sin(), 2 * i, i))),
        (
            "mark",
            "a,y\n".to_string() + &rows(&|i| format!("{},{}\n", if i % 9 == 0 { -999.0 } else { (i as f64).sin() }, i)),
        ),
        ("numbers", "1.5,2,3\n".to_string() + &rows(&|i| format!("{},{},{}\n", i, i * i, (i as f64).cos()))),
        ("ragged", "a,b,y\n1,2\n".to_string() + &rows(&|i| format!("{i},{i}\n{i},1,2,3\n"))),
        ("title", "A title\n".to_string() + &rows(&|i| format!("{i},{i},{}\n", i * 2))),
        ("quote", "a,y\n\"1\"x,2\n".to_string() + &rows(&|i| format!("{i},{i}\n"))),
        ("constant", "a,y\n".to_string() + &rows(&|i| format!("{i},1\n"))),
        ("ids", "a,y\n".to_string() + &rows(&|i| format!("{i},name{i}\n"))),
        (
            "holes",
            "a,y\n".to_string() + &rows(&|i| if i % 3 == 0 { ",1\n".into() } else { format!("{i},{}\n", i % 2) }),
        ),
        ("words", "a,y\n".to_string() + &rows(&|i| if i == 9 { "x1,2\n".into() } else { format!("{i},{i}\n") })),
        ("zeros", "zip,y\n".to_string() + &rows(&|i| format!("0{i},{i}\n"))),
        ("dates", "day,y\n".to_string() + &rows(&|i| format!("2024-01-{:02},{}\n", 1 + i % 28, i * i % 17))),
        ("one", "y\n1\n2\n".to_string()),
        ("empty", String::new()),
    ];
    for (name, text) in tables {
        let path = table(dir.path(), &format!("{name}.csv"), &text);
        let settings = Settings { tab: Tab::Data, running: false, ..Settings::default() };
        let mut h = bench(settings, Some(Open::Data(path)));
        wait(&mut h, name, |a| a.data.opened().is_some() || a.banner.texts().next().is_some());
        h.run_steps(3);
        speaks_plainly(&h, name);
        let cure = match name {
            "leak" => "Leave b out",
            "mark" => "-999 means missing",
            _ => continue,
        };
        press(&mut h, cure);
        let began = std::time::Instant::now();
        while button(&h, cure) {
            assert!(began.elapsed().as_secs() < 30, "{name}: {:?}", words(&h));
            h.step();
            std::thread::sleep(std::time::Duration::from_millis(4));
        }
    }
}

/// Errors of recipes, of all keys, methods and data, as the window says them.
#[test]
fn every_error_of_a_recipe_speaks_plainly() {
    vifo::base::words::speak_to_window();
    let mut said = vec![];
    for key in keys::KEYS {
        for wrong in ["\"no such\"", "-1e300", "[[\"x\"]]", "true"] {
            let mut table = toml::Table::new();
            said.extend(keys::set(&mut table, key.path, wrong, "recipe").err().map(|e| e.to_string()));
        }
        said.push(keys::unknown(&format!("{}x", key.path), "recipe").to_string());
    }
    let base = "[data]\ntoy = \"moons\"\nrows = 60\n";
    let mut recipes = vec![
        "seed = 1\n".to_string(),
        format!("{base}file = \"x.csv\"\n"),
        format!("{base}holdout = \"own\"\n"),
        format!("{base}delimiter = \"xx\"\n"),
        format!("{base}validation_fraction = 0.5\ntest_fraction = 0.5\n"),
        format!("{base}[train]\nbudget = \"1m\"\n"),
        format!("{base}[train]\nbudget = \"soon\"\n"),
        format!("{base}[train]\nepochs = 0\n"),
        format!("{base}[train]\nvariants = [\"net.dropout=0.1\"]\n"),
        format!("{base}[net]\nname = \"alexnet\"\n"),
        format!("{base}[net]\nwidths = [1]\nname = \"cnn\"\n"),
        format!("{base}[net]\nweights = \"nowhere\"\n"),
        "[data]\nimages = \"digits\"\n[net]\nname = \"alexnet\"\n".into(),
        "[data]\nimages = \"digits\"\ncrop = 9\n".into(),
        "[data]\nimages = \"digits\"\n[net]\nname = \"cnn\"\nwidths = [3]\n".into(),
        "[data]\nfile = \"nowhere.csv\"\n".into(),
        "[data]\npoints = [[0, 1], [1, 2]]\n[train]\nswa_start = 900\nepochs = 10\n[method]\nname = \"swag\"\neta_aux = 0\n".into(),
        "[data]\ntoy = \"sinusoid\"\n[train]\nlr = 900.0\nclip = 0\noptimizer = \"sgd\"\nepochs = 50\nwatch_test = true\n".into(),
    ];
    for method in vifo::method::METHODS {
        for toy in ["sinusoid", "moons"] {
            for more in
                ["", "eta_aux = 1.0\n", "likelihood = \"student-t\"\n", "expectation = \"exact\"\n", "members = 1\n"]
            {
                let text =
                    format!("[data]\ntoy = \"{toy}\"\nrows = 60\n[method]\nname = \"{}\"\n{more}", method.name());
                recipes.push(text + "[net]\nhidden = [4]\n[train]\nepochs = 2\npatience = 1\n");
            }
        }
    }
    for text in &recipes {
        let checked = Recipe::parse(text, "recipe").and_then(|t| vifo::method::checked(&t, "recipe"));
        let trained = checked.and_then(|recipe| {
            let mut training = Training::new(&recipe, &Device::Cpu)?;
            said.extend(training.data.notes.iter().cloned());
            // What a recipe trains is known before its first step; a rate of 900 shows in the first ones.
            if recipe.train.lr.is_some() { training.advance(60).map(|_| ()) } else { Ok(()) }
        });
        said.extend(trained.err().map(|e| e.to_string()));
    }
    assert!(said.len() > 200, "only {}", said.len());
    let found: Vec<_> = said.iter().filter(|text| is_of_the_command_line(text)).collect();
    assert!(found.is_empty(), "{found:#?}");
    let diverged = said.iter().find(|s| s.contains("learning rate (now 900)"));
    assert!(diverged.is_some_and(|s| s.contains("clip the gradient")), "{:?}", said.last());
}
