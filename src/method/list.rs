//! Methods by name: those of this library, and those that were registered.

use super::{METHODS, Method};
use crate::error::{Error, Result};
use crate::recipe::{Recipe, key};
use std::sync::{PoisonError, RwLock};
use toml::{Table, Value};

static REGISTERED: RwLock<Vec<&'static dyn Method>> = RwLock::new(vec![]);

/// Makes a method of one's own known under its name to recipes, runs and predictions of this process. An error where the name
/// is taken, or where it could not name a folder.
pub fn register(method: &'static dyn Method) -> Result<()> {
    let name = method.name();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        let allowed = "small letters, digits, - and _";
        return Err(Error::usage("method", format!("the name {name:?}"), allowed, "choose another name"));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if METHODS.iter().chain(registered.iter()).any(|m| m.name() == name) {
        return Err(Error::usage("method", format!("{name:?} is taken"), "", "choose another name"));
    }
    registered.push(method);
    Ok(())
}

/// All methods, the library's first.
pub fn all() -> Vec<&'static dyn Method> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    METHODS.iter().chain(registered.iter()).copied().collect()
}

pub fn find(name: &str) -> Option<&'static dyn Method> {
    all().into_iter().find(|m| m.name() == name)
}

/// The recipe's method; an error if there is none of that name.
pub fn of(recipe: &Recipe) -> Result<&'static dyn Method> {
    known(&recipe.method.name, "recipe")
}

/// The method of this name; `place` is where it stands.
pub fn known(name: &str, place: &str) -> Result<&'static dyn Method> {
    find(name).ok_or_else(|| {
        let found = format!("{} is not allowed", Value::String(name.into()));
        Error::usage(format!("{place}: {NAME}"), found, allowed(), help(name))
    })
}

/// An error if a recipe's table names a method that does not exist.
pub fn check_name(table: &Table, place: &str) -> Result<()> {
    let name = table.get("method").and_then(|m| m.get("name")).and_then(Value::as_str);
    name.map_or(Ok(()), |name| known(name, place).map(drop))
}

/// `"base", "swa", ...`
pub fn allowed() -> String {
    all().iter().map(|m| format!("\"{}\"", m.name())).collect::<Vec<_>>().join(", ")
}

const NAME: &str = key!(method.name).path;

/// The method of a recipe that names none.
pub fn default_name() -> String {
    crate::recipe::Method::default().name
}

/// What to write instead of a name that is none of ours.
fn help(name: &str) -> String {
    let name = name.to_lowercase().replace('_', "-");
    let methods = all();
    if let Some((_, help)) = methods.iter().flat_map(|m| m.aliases()).find(|(alias, _)| *alias == name) {
        return help.to_string();
    }
    let score = |m: &&dyn Method| strsim::jaro_winkler(m.name(), &name);
    let nearest = methods.into_iter().max_by(|a, b| score(a).total_cmp(&score(b))).filter(|m| score(m) > 0.85);
    nearest
        .map_or_else(|| format!("the default is \"{}\"", default_name()), |m| format!("did you mean \"{}\"?", m.name()))
}
