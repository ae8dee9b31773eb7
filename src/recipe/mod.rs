//! Recipes: one experiment as a TOML file, the same for command line and app. `keys` declares what may stand in one, `choices`
//! the values of keys that are a choice, `builtin` holds the recipes that come with the program. Must depend on no other module but
//! `base` and `error`.

pub mod builtin;
mod choices;
mod declaration;
mod effects;
pub mod keys;
pub mod link;
#[cfg(test)]
mod once_tests;
mod places;
pub mod points;
mod variants;

pub use choices::*;
pub(crate) use declaration::key;
pub use keys::{Baselines, Data, Laplace, Method, Net, Predict, PriorKeys, Recipe, Repulsive, Swag, Train, Vbll, Vi};
pub use places::{BUNDLED, STDIN, absolute, is_bundled, is_run};
pub use variants::variant_place;

use crate::base::{fs, names};
use crate::error::{Error, Result, either};
use std::path::Path;
use std::sync::LazyLock;

/// Section and name of the keys that hold paths.
pub static FILE_KEYS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| keys::KEYS.iter().filter(|k| k.is_file).filter_map(|k| k.path.split_once('.')).collect());

/// Why `name` cannot be that of a folder directly inside another; None where it can.
pub fn no_name(name: &str) -> Option<String> {
    match name {
        "" => Some("is empty".into()),
        // "..", a hidden folder, or an option to a program that lists it.
        name if name.starts_with(['.', '-']) => Some(format!("{name:?} begins with '{}'", &name[..1])),
        name if name.contains(['/', '\\']) => Some(format!("{name:?} is a path")),
        name if name.chars().any(char::is_control) => Some(format!("{name:?} holds control characters")),
        name if name.len() > 200 => Some(format!("a name of {} bytes", name.len())),
        _ => None,
    }
}

/// An error where a path holds what no file name of ours shall: a newline ends a line of a script, and "con" is no folder on Windows.
pub fn plain_path(path: &Path, place: &str) -> Result<()> {
    if let Some(found) = names::fault(path, names::WINDOWS) {
        return Err(Error::usage(place, found, "", "choose another folder"));
    }
    match path.to_string_lossy().chars().any(char::is_control) {
        true => {
            let found = format!("{:?} holds control characters", path.to_string_lossy());
            Err(Error::usage(place, found, "a path of visible characters", "choose another folder"))
        }
        false => Ok(()),
    }
}

/// The table of a TOML text; `place` names it in messages.
pub fn read_toml(text: &str, place: &str) -> Result<toml::Table> {
    text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| text[..s.start.min(text.len())].lines().count().max(1));
        Error::usage(format!("{place}, line {line}"), format!("not TOML: {}", e.message()), "", "mend the line")
    })
}

impl Recipe {
    /// Reads a recipe file. Relative paths inside it are relative to its folder.
    pub fn read(path: &Path) -> Result<toml::Table> {
        let text = fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
        let place = path.display().to_string();
        let mut table = Self::parse(&text, &place)?;
        Self::anchor(&mut table, path.parent().unwrap_or(Path::new(".")));
        Ok(table)
    }

    /// Makes the relative paths of a checked recipe start from `base`.
    pub fn anchor(table: &mut toml::Table, base: &Path) {
        for (section, key) in FILE_KEYS.iter() {
            let section = table.get_mut(*section).and_then(toml::Value::as_table_mut);
            if let Some(toml::Value::String(file)) = section.and_then(|s| s.get_mut(*key)) {
                let beside = base.join(&*file);
                // "digits" names a set inside the program, unless a folder of that name lies beside the recipe.
                let is_no_file = *file == STDIN || BUNDLED.contains(&file.as_str());
                if fs::exists(&beside) || !is_no_file {
                    *file = names::native(&beside).display().to_string();
                }
            }
        }
    }

    /// Makes the paths of a checked recipe hold from anywhere.
    pub fn make_absolute(table: &mut toml::Table) -> Result<()> {
        for (section, key) in FILE_KEYS.iter() {
            let section = table.get_mut(*section).and_then(toml::Value::as_table_mut);
            if let Some(toml::Value::String(file)) = section.and_then(|s| s.get_mut(*key)) {
                let path = Path::new(&*file);
                let absolute = absolute(path).map_err(|e| Error::io(path, "find", &e))?;
                *file = absolute.display().to_string();
            }
        }
        Ok(())
    }

    /// Checks the text of a recipe; `place` names it in messages.
    pub fn parse(text: &str, place: &str) -> Result<toml::Table> {
        keys::check(&read_toml(text, place)?, place)
    }

    /// A recipe with every key at its default unless `table` holds it. `method::checked` also checks its method.
    pub fn from_table(table: &toml::Table, place: &str) -> Result<Recipe> {
        let recipe: Recipe = keys::check(table, place)?.try_into().map_err(|e: toml::de::Error| {
            Error::usage(place, e.message(), "", either("see `vifo fit --keys`", "mend the line"))
        })?;
        recipe.check(place)?;
        Ok(recipe)
    }

    /// What no single key can say.
    pub(crate) fn check(&self, place: &str) -> Result<()> {
        let err = |found: String, help: String| Err(Error::usage(place, found, "", help));
        if let Some(name) = &self.name
            && let Some(found) = no_name(name)
        {
            let allowed = "a name without / and \\, control characters and leading dots";
            return Err(Error::usage(format!("{place}: name"), found, allowed, "for example name = \"moons-2\""));
        }
        let d = &self.data;
        let sources = [d.toy.is_some(), d.file.is_some(), d.images.is_some(), d.points.is_some()];
        match sources.iter().filter(|given| **given).count() {
            0 => {
                let keys = ["data.file", "data.images", "data.points", "data.toy"].map(keys::written);
                return err("no data".into(), format!("set {}, {}, {} or {}", keys[0], keys[1], keys[2], keys[3]));
            }
            1 => {}
            _ => {
                let keys = ["data.toy", "data.file", "data.images", "data.points"].map(keys::written);
                let found = format!("more than one of {}, {}, {} and {} is set", keys[0], keys[1], keys[2], keys[3]);
                return err(found, "keep one of them".into());
            }
        }
        if d.validation_points.is_some() && d.points.is_none() {
            let (held, points) = (keys::written("data.validation_points"), keys::written("data.points"));
            return err(format!("{held} without {points}"), format!("set {points}, or leave {held} out"));
        }
        if d.holdout == Some(Holdout::Own) {
            let place = format!("{place}: {}", keys::written(key!(data.holdout).path));
            let refuse = |found: &str, help: &str| Err(Error::usage(place.as_str(), found, "\"shared\"", help));
            if d.file.is_none() {
                return refuse("\"own\" without a table", "leave it out");
            }
            if d.group.is_some() || d.time.is_some() {
                return refuse(
                    &either("\"own\" beside data.group or data.time", "\"own\" beside groups or a time column"),
                    "leave it out: such rows are held out together",
                );
            }
            if self.method.members < 2 {
                return refuse(
                    "\"own\" for one member",
                    &format!("take {} of 2 or more", keys::written("method.members")),
                );
            }
        }
        if self.train.epochs == Some(0) && self.net.weights.is_none() {
            let (epochs, weights) = (keys::written("train.epochs"), keys::written("net.weights"));
            return err(
                format!("{epochs} = 0 leaves random weights"),
                format!("train for an epoch or more, or set {weights}"),
            );
        }
        let is_image_net = matches!(self.net.name, Some(n) if n != NetName::Mlp);
        if is_image_net && d.images.is_none() {
            let (name, images) = (keys::written("net.name"), keys::written("data.images"));
            return err(format!("{name} needs images"), format!("set {images}, or leave {name} out"));
        }
        if self.data.test_fraction + self.data.validation_fraction >= 0.95 {
            let found = "validation_fraction and test_fraction leave fewer than 5 % of the rows for training";
            return err(found.into(), "lower one of them".into());
        }
        if self.net.hidden.as_ref().is_some_and(|h| h.len() > 100) {
            return err(format!("{} has more than 100 layers", keys::written("net.hidden")), "shorten it".into());
        }
        if self.train.budget()?.is_some() && d.file.is_none() {
            return err(format!("{} without a table", keys::written("train.budget")), "leave it out".into());
        }
        for pair in &self.data.kinds {
            kind_of(pair)?;
        }
        if let Some(d) = &self.data.delimiter
            && d.len() != 1
            && !["tab", "space"].contains(&d.as_str())
        {
            let found = format!("{} = \"{d}\"", keys::written("data.delimiter"));
            return err(found, "give one character, \"tab\" or \"space\"".into());
        }
        self.variants(place).map(|_| ())
    }

    /// Whether each member holds out a fold of the training rows (`data.holdout`).
    pub fn has_folds(&self) -> bool {
        self.data.holdout == Some(Holdout::Own)
    }

    /// The recipe as a file that repeats the run. A list stands on one line: a thousand points would be 4,000 lines.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|e| Error::run("recipe", e.to_string(), "this is a bug of vifo: please report it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_survives_its_own_text() {
        let t = Recipe::parse("seed = 3\n[data]\ntoy = \"moons\"\n[method]\neta = 1\n", "r").expect("a recipe");
        let r = Recipe::from_table(&t, "r").expect("a recipe");
        assert_eq!((r.seed, r.method.eta, r.train.epochs), (3, Some(1.0), None));
        let again =
            Recipe::from_table(&Recipe::parse(&r.to_toml().expect("text"), "r").expect("TOML"), "r").expect("again");
        assert_eq!(r, again);
    }

    #[test]
    fn points_come_back_equal_from_one_line() {
        // Numbers without a short decimal, the largest, the smallest, both zeros.
        let values = [0.1 + 0.2, 1e12, -1e12, 5e-324, 1.0 / 3.0, -0.0, 0.0, 1e-300];
        let points: Vec<Vec<f64>> = values.iter().map(|v| vec![*v, -v / 3.0]).collect();
        let mut recipe = Recipe::from_table(&Recipe::parse("[data]\npoints = [[0, 1]]", "r").expect("a recipe"), "r")
            .expect("a recipe");
        recipe.data.points = Some(points.clone());
        let text = recipe.to_toml().expect("text");
        assert_eq!(text.lines().filter(|l| l.contains('[') && l.contains(',')).count(), 1, "{text}");
        let again = Recipe::from_table(&Recipe::parse(&text, "r").expect("TOML"), "r").expect("again");
        let bits = |p: &[Vec<f64>]| p.concat().iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        assert_eq!(bits(&again.data.points.clone().unwrap_or_default()), bits(&points));
        assert_eq!(recipe, again);
        recipe.data.points = Some(vec![]);
        let text = recipe.to_toml().expect("text");
        assert_eq!(Recipe::from_table(&Recipe::parse(&text, "r").expect("TOML"), "r").expect("again"), recipe);
    }

    #[test]
    fn one_source_of_data_and_no_more() {
        let error = |text: &str| {
            Recipe::from_table(&Recipe::parse(text, "r").expect("TOML"), "r").expect_err("refused").to_string()
        };
        assert!(error("seed = 1").contains("set data.file, data.images, data.points or data.toy"));
        for other in ["toy = \"moons\"", "file = \"a.csv\"", "images = \"digits\""] {
            let both = error(&format!("[data]\npoints = [[0, 1], [1, 2]]\n{other}"));
            assert!(both.contains("more than one of"), "{both}");
        }
    }

    /// A key that serde does not know would be dropped in silence: every key must come back from the mirror.
    #[test]
    fn every_key_is_mirrored() {
        let mut t = toml::Table::new();
        for key in keys::KEYS {
            let value = match (key.path, key.kind) {
                ("data.toy", _) => continue,
                ("net.depth", _) => "26".into(),
                (_, keys::ValueKind::Choice(c)) => format!("\"{}\"", c[c.len() - 1]),
                (_, keys::ValueKind::Text) => "\"x\"".into(),
                (_, keys::ValueKind::Bool) => "true".into(),
                (_, keys::ValueKind::Whole(low, _)) => format!("{}", low + 3),
                (_, keys::ValueKind::Number(low, _) | keys::ValueKind::Above(low, _)) => format!("{}", low + 0.25),
                ("data.as", _) => "[\"q=text\"]".into(),
                (_, keys::ValueKind::TextList) => "[\"q\"]".into(),
                (_, keys::ValueKind::WholeList(..)) => "[7]".into(),
                (_, keys::ValueKind::PointList) => "[[1, -2.5], [3, 1e-9]]".into(),
            };
            keys::set(&mut t, key.path, &value, "t").expect("allowed");
        }
        let mirrored: Recipe = t.clone().try_into().unwrap_or_else(|e| panic!("{e}"));
        let back = toml::Table::try_from(&mirrored).expect("TOML");
        for (section, value) in &t {
            assert_eq!(back.get(section), Some(value), "{section}");
        }
    }
}
