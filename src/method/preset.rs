//! What a training on a table takes where neither flags nor a recipe file say anything: `assets/table.toml`, as far as
//! it suits the method and the columns' roles.

use super::{Method, default_name, find};
use crate::error::Result;
use crate::recipe::keys::Key;
use crate::recipe::{Budget, Optimizer, Recipe, builtin, key};
use std::sync::LazyLock;
use toml::{Table, Value};

/// Most members of a training that has a time to use up; it trains as many as there is time for.
const MOST_MEMBERS: i64 = 32;

fn given<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (section, name) = path.split_once('.')?;
    table.get(section)?.get(name)
}

/// Adds the preset's keys to those of a table (`data.file`) that nobody wrote a recipe for; what is there stays. Recipes of other
/// data stay as they are.
pub fn preset(table: &mut Table) -> Result<()> {
    let is_mlp = given(table, key!(net.name).path).is_none_or(|net| net.as_str() == Some("mlp"));
    if given(table, key!(data.file).path).is_none() || given(table, key!(data.images).path).is_some() || !is_mlp {
        return Ok(());
    }
    let name = given(table, key!(method.name).path).and_then(Value::as_str).map_or_else(default_name, String::from);
    // An unknown name is refused by the check that follows.
    let Some(method) = find(&name) else { return Ok(()) };
    let own = method.preset().iter().map(|(key, value)| (key.path.to_string(), Value::Float(*value)));
    let of_file = Recipe::parse(builtin::TABLE, "table.toml")?.into_iter().flat_map(|(section, keys)| {
        let keys = keys.as_table().cloned().unwrap_or_default();
        keys.into_iter().map(move |(name, value)| (format!("{section}.{name}"), value))
    });
    for (path, value) in of_file.chain(own).collect::<Vec<_>>() {
        if given(table, &path).is_some() || !suits(table, method, &path) {
            continue;
        }
        let value = if path == key!(method.members).path && is_timed(table) { MOST_MEMBERS.into() } else { value };
        if let Some((section, name)) = path.split_once('.') {
            let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Some(section) = section.as_table_mut() {
                section.insert(name.into(), value);
            }
        }
    }
    Ok(())
}

/// The preset's value of a key with the default method.
pub fn preset_of(key: &Key) -> Option<Value> {
    static ALL: LazyLock<Table> = LazyLock::new(|| {
        let mut table = Recipe::parse("[data]\nfile = \"-\"", "preset").unwrap_or_default();
        // The built-in recipe is valid: a test says so.
        let _ = preset(&mut table);
        table
    });
    given(&ALL, key.path).filter(|_| key.path != key!(data.file).path).cloned()
}

/// Whether the preset's value of a key goes with the method and with what is given.
fn suits(table: &Table, method: &dyn Method, path: &str) -> bool {
    let has = |path| given(table, path).is_some();
    if path == key!(data.holdout).path {
        let is_alone = given(table, key!(method.members).path).and_then(Value::as_integer).is_some_and(|n| n < 2);
        let is_apart = !method.is_coupled() && method.ends_with().is_none();
        return is_apart && !is_alone && !has(key!(data.group).path) && !has(key!(data.time).path);
    }
    if path == key!(train.lr).path {
        let sgd = given(table, key!(train.optimizer).path).and_then(Value::as_str);
        return sgd.map_or(method.usual().optimizer == Optimizer::Adam, |name| name == "adam");
    }
    // Members that are compared with each other are few.
    path != key!(method.members).path || !method.is_coupled()
}

fn is_timed(table: &Table) -> bool {
    let text = given(table, key!(train.budget).path).and_then(Value::as_str);
    text.is_some_and(|text| matches!(Budget::of(text), Ok(Budget::Seconds(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str) -> Table {
        let mut table = Recipe::parse(text, "t").expect("a recipe");
        preset(&mut table).expect("completed");
        table
    }

    /// The preset itself is a recipe, and what is given wins over it.
    #[test]
    fn what_is_given_stays() {
        let all = completed("[data]\nfile = \"a.csv\"");
        for path in ["data.holdout", "net.hidden", "method.members", "method.eta", "train.lr", "train.budget"] {
            assert!(given(&all, path).is_some(), "{path}");
        }
        let own = completed("[data]\nfile = \"a.csv\"\n[net]\nhidden = [7]\n[method]\nmembers = 3\neta = 0.5");
        assert_eq!(given(&own, "net.hidden").map(ToString::to_string).as_deref(), Some("[7]"));
        assert_eq!(given(&own, "method.members"), Some(&Value::Integer(3)));
        assert_eq!(given(&own, "method.eta"), Some(&Value::Float(0.5)));
        assert_eq!(given(&own, "net.activation"), given(&all, "net.activation"));
        assert!(crate::method::checked(&all, "t").is_ok() && crate::method::checked(&own, "t").is_ok());
    }

    #[test]
    fn other_data_stays_as_it_is() {
        for text in ["[data]\ntoy = \"moons\"", "[data]\nimages = \"digits\"", "[data]\npoints = [[0, 1]]"] {
            assert_eq!(completed(text), Recipe::parse(text, "t").expect("a recipe"));
        }
    }

    /// Every method can train with what the preset gives it.
    #[test]
    fn every_method_gets_what_suits_it() {
        for method in crate::method::all() {
            for more in ["", "[train]\nbudget = \"1m\"", "[train]\noptimizer = \"sgd\""] {
                let t = completed(&format!("[data]\nfile = \"a.csv\"\n{more}\n[method]\nname = \"{}\"", method.name()));
                let recipe = crate::method::checked(&t, "t").unwrap_or_else(|e| panic!("{}: {e}", method.name()));
                let own = !method.is_coupled() && method.ends_with().is_none();
                assert_eq!(recipe.has_folds(), own, "{}", method.name());
                let is_slow = more.contains("sgd") || method.usual().optimizer == Optimizer::Sgd;
                assert_eq!(recipe.train.lr.is_none(), is_slow, "{}", method.name());
            }
        }
        let grouped = completed("[data]\nfile = \"a.csv\"\ngroup = \"g\"");
        assert!(given(&grouped, "data.holdout").is_none() && given(&grouped, "net.hidden").is_some());
        let one = completed("[data]\nfile = \"a.csv\"\n[method]\nmembers = 1");
        assert!(given(&one, "data.holdout").is_none());
    }
}
