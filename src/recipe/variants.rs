//! Variants of one training (`train.variants`): the recipes that a run trains beside each other and chooses from.

use super::declaration::{Key, key};
use super::{Recipe, keys};
use crate::error::{Error, Result, either};
use toml::Table;

impl Recipe {
    /// Each of `train.variants` as a recipe of its own, in their order; none where the recipe has none. `place` names the
    /// recipe in messages.
    ///
    /// # Errors
    /// In one line: fewer than two, members that hold out no folds, a key that does not exist or that a variant cannot change,
    /// a value that is not allowed.
    pub fn variants(&self, place: &str) -> Result<Vec<Recipe>> {
        let texts = self.variant_texts();
        if texts.is_empty() {
            return Ok(vec![]);
        }
        let own = format!("{place}: {}", keys::written(key!(train.variants).path));
        if texts.len() < 2 {
            let help =
                either(format!("name another, or set {} by itself", texts[0]), "name another, or set it by itself");
            return Err(Error::usage(own, "one variant", "two or more", help));
        }
        if !self.has_folds() {
            let help = either(
                "hold out folds with data.holdout = \"own\" (--holdout own)",
                "let each member hold out a fold of its own",
            );
            return Err(Error::usage(own, "variants without out-of-fold rows to choose by", "", help));
        }
        texts.iter().enumerate().map(|(i, text)| self.varied(text, &variant_place(place, i))).collect()
    }

    /// `train.variants` as written; empty where the recipe has none.
    pub fn variant_texts(&self) -> &[String] {
        self.train.variants.as_deref().unwrap_or_default()
    }

    /// The one of `train.variants` that `text` is, as a recipe of its own; the recipe itself where it has none.
    ///
    /// # Errors
    /// `text` is none of them.
    pub fn variant(&self, text: &str) -> Result<Recipe> {
        let (place, texts) = (key!(train.variants).said(), self.variant_texts());
        if texts.is_empty() {
            return Ok(self.clone());
        }
        match texts.iter().position(|t| t == text) {
            Some(i) => self.varied(text, &variant_place("recipe", i)),
            None => {
                let allowed = texts.iter().map(|t| format!("\"{t}\"")).collect::<Vec<_>>().join(", ");
                let help = "the recipe was edited after training, or the weights are of another run: restore it";
                Err(Error::data(place, format!("\"{text}\" was trained and is none of them"), allowed, help))
            }
        }
    }

    /// With the keys of `text` and without variants.
    fn varied(&self, text: &str, place: &str) -> Result<Recipe> {
        let bug = |e: toml::ser::Error| Error::run(place, e.to_string(), "this is a bug of vifo: please report it");
        let plain = Recipe { train: super::Train { variants: None, ..self.train.clone() }, ..self.clone() };
        let mut table = Table::try_from(&plain).map_err(bug)?;
        let mut given: Vec<&str> = vec![];
        for pair in pairs(text) {
            let Some((path, value)) = pair.split_once('=') else {
                let help = either("for example \"net.dropout=0.15, method.eta=0.03\"", "a key, = and its value");
                return Err(Error::usage(
                    place,
                    format!("\"{}\"", pair.trim()),
                    "KEY=VALUE, with commas between",
                    help,
                ));
            };
            let (path, value) = (path.trim(), value.trim());
            let key = keys::find(path).ok_or_else(|| keys::unknown(path, place))?;
            if !is_of_training(key) {
                let allowed = "keys of net, method, prior and train that leave rows, members and steps as they are";
                let help = "take it out of the variant";
                return Err(Error::usage(
                    format!("{place}: {}", keys::written(path)),
                    "is the same for all variants",
                    allowed,
                    help,
                ));
            }
            if given.contains(&path) {
                return Err(Error::usage(
                    format!("{place}: {}", keys::written(path)),
                    "is given twice",
                    "",
                    "keep one of the two",
                ));
            }
            keys::set(&mut table, path, value, place)?;
            given.push(path);
        }
        Recipe::from_table(&table, place)
    }
}

/// What messages call variant number `i` of the recipe at `place`.
pub fn variant_place(place: &str, i: usize) -> String {
    format!("{place}: variant {}", i + 1)
}

/// Whether the key says how a network is trained, not on what, where, or from which file. Which of these leave the weights'
/// layout and the steps as they are is known only with the data (`TrainingPlan`).
fn is_of_training(key: &Key) -> bool {
    let is_of_data = key.path.split_once('.').is_none_or(|(section, _)| section == "data");
    !is_of_data && !key.cosmetic && !key.is_file && key.path != key!(train.variants).path
}

/// Split at the commas outside of brackets and quotes.
fn pairs(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start, mut out) = (0i64, None, 0, vec![]);
    for (at, c) in text.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    out.push(&text[start..at]);
                    start = at + 1;
                }
                _ => {}
            },
        }
    }
    out.push(&text[start..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(variants: &[&str], extra: &str) -> Result<Recipe> {
        let list: Vec<String> = variants.iter().map(|v| v.to_string()).collect();
        let text = format!("[data]\nfile = \"t.csv\"\n{extra}\n[train]\nlr = 0.02\nvariants = {list:?}\n");
        Recipe::from_table(&Recipe::parse(&text, "r")?, "r")
    }

    #[test]
    fn each_variant_is_the_recipe_with_its_keys() {
        let all = ["net.dropout=0", "net.dropout=0.15, train.schedule = step", "net.hidden=[7, 8],method.eta=1e-2"];
        let whole = recipe(&all, "holdout = \"own\"").expect("a recipe");
        let variants = whole.variants("r").expect("variants");
        let seen: Vec<_> = variants.iter().map(|v| (v.net.dropout, v.method.eta, v.net.hidden.clone())).collect();
        let wanted = [(Some(0.0), None, None), (Some(0.15), None, None), (None, Some(0.01), Some(vec![7, 8]))];
        assert_eq!(seen, wanted);
        assert_eq!(variants[1].train.schedule, Some(crate::recipe::Schedule::Step));
        for (text, one) in all.iter().zip(&variants) {
            assert!(one.train.variants.is_none() && one.train.lr == Some(0.02));
            assert_eq!(whole.variant(text).expect("the same"), *one);
        }
        let e = whole.variant("net.dropout=0.5").expect_err("none of them").to_string();
        assert!(e.contains("is none of them") && e.contains("\"net.dropout=0\""), "{e}");
        // It comes back from its own text.
        let text = whole.to_toml().expect("text");
        assert_eq!(Recipe::from_table(&Recipe::parse(&text, "r").expect("TOML"), "r").expect("again"), whole);
    }

    #[test]
    fn says_what_is_wrong() {
        let own = "holdout = \"own\"";
        for (variants, extra, says) in [
            (&["net.dropout=0"][..], own, "r: train.variants: one variant; allowed: two or more"),
            (&["net.dropout=0", "net.dropout=0.1"], "", "r: train.variants: variants without out-of-fold rows"),
            (
                &["net.dropout=0", "net.dropuot=0.1"],
                own,
                "r: variant 2: net.dropuot: no such key; did you mean net.dropout",
            ),
            (&["net.dropout=0", "net.dropout=1.5"], own, "r: variant 2: net.dropout: 1.5 is not allowed"),
            (&["net.dropout", "net.dropout=0"], own, "r: variant 1: \"net.dropout\"; allowed: KEY=VALUE"),
            (&["", "net.dropout=0"], own, "r: variant 1: \"\"; allowed: KEY=VALUE"),
            (&["seed=2", "seed=3"], own, "r: variant 1: seed: is the same for all variants"),
            (&["data.split=2", "net.dropout=0"], own, "r: variant 1: data.split: is the same for all variants"),
            (&["net.weights=x", "net.dropout=0"], own, "r: variant 1: net.weights: is the same for all variants"),
            (&["train.variants=[]", "net.dropout=0"], own, "r: variant 1: train.variants: is the same for all"),
            (&["method.eta=1,method.eta=2", "net.dropout=0"], own, "r: variant 1: method.eta: is given twice"),
        ] {
            let e = recipe(variants, extra).expect_err("refused").to_string();
            assert!(e.starts_with(says) && !e.contains('\n'), "{variants:?}: {e}");
        }
    }
}
