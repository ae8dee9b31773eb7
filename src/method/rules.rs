//! Constraints of a recipe's method on its other keys.

use super::{METHODS, Method, check_name, default_name, find, of};
use crate::data::Task;
use crate::error::{Error, Result, either};
use crate::net::{Layout, Masks};
use crate::recipe::{Expectation, Likelihood, Link, Parametrisation, Recipe, Strength, key, variant_place};
use toml::{Table, Value};

/// The recipe of a table, every key and its method checked; `place` names it in messages.
pub fn checked(table: &Table, place: &str) -> Result<Recipe> {
    check_name(table, place)?;
    let recipe = Recipe::from_table(table, place)?;
    check(&recipe, place)?;
    Ok(recipe)
}

/// What the method cannot take, whatever the data are.
pub fn check(recipe: &Recipe, place: &str) -> Result<()> {
    let err = |found: String, help: String| Err(Error::usage(place, found, "", help));
    let (method, m) = (super::known(&recipe.method.name, place)?, &recipe.method);
    let exact = format!("{} = \"exact\"", key!(method.expectation).said());
    if m.eta_aux > 0.0 && !method.takes_auxiliary_inputs() {
        return err(
            format!("{} needs a regularizer on the outputs", key!(method.eta_aux).said()),
            "choose a VIFO method other than vifo-l2, or set eta_aux = 0".into(),
        );
    }
    if m.expectation == Expectation::Exact && (m.noise_link != Link::Exp || !method.has_closed_form()) {
        return err(
            format!("{exact} has a closed form only for VIFO with noise_link = \"exp\""),
            "set expectation = \"sampled\"".into(),
        );
    }
    if m.likelihood == Likelihood::StudentT && m.expectation == Expectation::Exact {
        return err(
            format!("{exact} has no closed form under likelihood = \"student-t\""),
            "set expectation = \"auto\" for quadrature".into(),
        );
    }
    takes_likelihood(recipe, method, place)?;
    let variants = recipe.variants(place)?;
    variants.iter().enumerate().try_for_each(|(i, variant)| check(variant, &variant_place(place, i)))
}

/// An error where the method knows no noise but the normal one.
fn takes_likelihood(recipe: &Recipe, method: &dyn Method, place: &str) -> Result<()> {
    if recipe.method.likelihood == Likelihood::Gaussian || reads(method, key!(method.likelihood).path) {
        return Ok(());
    }
    let found = format!("{} = \"student-t\" with {}", key!(method.likelihood).said(), method.name());
    Err(Error::usage(
        place,
        found,
        "\"gaussian\" there",
        either("leave it out, or take --method vifo-mean", "take normal noise, or another method"),
    ))
}

/// `method.nu` where the noise is Student's t, None where it is normal. An error where there is none of that kind.
pub fn degrees_of_freedom(recipe: &Recipe, task: Task) -> Result<Option<f64>> {
    if recipe.method.likelihood == Likelihood::Gaussian {
        return Ok(None);
    }
    takes_likelihood(recipe, of(recipe)?, "recipe")?;
    if task == Task::Classification {
        let (found, allowed) = ("\"student-t\" with classes", "\"student-t\" for a regression only");
        return Err(Error::usage(key!(method.likelihood).said(), found, allowed, "leave it out"));
    }
    Ok(Some(recipe.method.nu))
}

/// Whether a method reads `key`: one that some of the library's methods list is for those that list it, any other for all.
pub fn reads(method: &dyn Method, key: &str) -> bool {
    method.keys().contains(&key) || !METHODS.iter().any(|m| m.keys().contains(&key))
}

/// The weight of the regularizer, given or usual. A table's task is known where the recipe says it; the plan, which has
/// seen the data, knows it always.
pub fn usual_eta(recipe: &Recipe) -> f64 {
    let d = &recipe.data;
    let of_points = |rows: &Vec<Vec<f64>>| match rows.first().map(Vec::len) {
        Some(3) => Task::Classification,
        _ => Task::Regression,
    };
    let task = match (&d.points, d.toy) {
        (Some(rows), _) => of_points(rows),
        (None, Some(toy)) => toy.task(),
        (None, None) if d.images.is_some() => Task::Classification,
        (None, None) => d.task.unwrap_or(Task::Regression),
    };
    recipe.method.eta.unwrap_or_else(|| find(&recipe.method.name).map_or(0.0, |m| m.usual_eta(task)))
}

/// Makes the other keys fit a method just chosen: what it does not know would be refused.
pub fn adapt(recipe: &mut Recipe) {
    let Ok(method) = of(recipe) else { return };
    if !method.takes_auxiliary_inputs() {
        recipe.method.eta_aux = 0.0;
    }
    if !method.has_closed_form() {
        recipe.method.expectation = Expectation::Auto;
    }
    if !reads(method, key!(method.likelihood).path) {
        recipe.method.likelihood = Likelihood::Gaussian;
    }
    if !reads(method, key!(prior.alpha).path) {
        (recipe.prior.alpha, recipe.prior.beta) = (None, None);
    }
    if !reads(method, key!(prior.variance).path) {
        recipe.prior.variance = None;
    }
    if method.masks() != Masks::None {
        recipe.net.dropout_schedule = Strength::Constant;
    }
    if method.collects() {
        recipe.train.average = None;
    }
    let one = Layout { total: 1, ..Default::default() };
    if method.member_len(&one) != one.total {
        recipe.net.parametrisation = Parametrisation::Standard;
    }
    method.adapt(recipe);
}

/// Takes out of a recipe's table what its method would refuse: a base recipe's auxiliary inputs are not meant for the method
/// that is put in its place. Returns the keys.
pub fn leave_out(table: &mut Table) -> Vec<&'static str> {
    let Some(section) = table.get_mut("method").and_then(Value::as_table_mut) else { return vec![] };
    let method = find(section.get("name").and_then(Value::as_str).unwrap_or(&default_name()));
    let mut left_out = vec![];
    if !method.is_some_and(|m| m.takes_auxiliary_inputs()) && section.remove("eta_aux").is_some() {
        left_out.push(key!(method.eta_aux).path);
    }
    if !method.is_some_and(|m| m.has_closed_form()) && section.remove("expectation").is_some() {
        left_out.push(key!(method.expectation).path);
    }
    left_out
}
