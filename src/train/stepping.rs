//! What a recipe says of start and steps beside the optimizer's name: checked, and the start of a network whose start depends on
//! the data.

use super::plan::TrainingPlan;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::method::{ModelSpec, Stepping};
use crate::net::{Masks, Net, ntk};
use crate::ops::gather::{fold_start, set_of};
use crate::recipe::{Parametrisation, Recipe, Strength, key, keys};

/// The same with the recipe's `Stepping`, which is refused where it has no meaning.
pub(super) fn with_stepping(setup: ModelSpec, recipe: &Recipe) -> Result<ModelSpec> {
    let (method, layout) = (setup.method, setup.layout());
    let ntk = recipe.net.parametrisation == Parametrisation::Ntk;
    let refuse =
        |key: &str, found: String, allowed: &str, help: &str| Err(Error::usage(keys::said(key), found, allowed, help));
    if ntk && (setup.image.is_some() || !matches!(setup.net, Net::Mlp(_))) {
        let key = key!(net.parametrisation).path;
        return refuse(key, "\"ntk\" with images".into(), "\"standard\" for images", "leave it out: it is for tables");
    }
    if ntk && setup.member_len() != layout.total {
        let found = format!("\"ntk\" with {}, which learns more than one number for each weight", method.name());
        let help = "leave it out, or take an ensemble of vifo or base";
        return refuse(key!(net.parametrisation).path, found, "\"standard\"", help);
    }
    let follows = recipe.net.dropout_schedule != Strength::Constant;
    if follows && method.masks() != Masks::None {
        let found = format!("\"{}\" with {}", recipe.net.dropout_schedule, method.name());
        let help = "leave it out: this method drops units in prediction, at the rate that it was trained at";
        return refuse(key!(net.dropout_schedule).path, found, "\"constant\"", help);
    }
    let average = recipe.train.average;
    if average.is_some() && (method.collects() || layout.running > 0) {
        let found = match method.collects() {
            true => format!("with {}, which averages weights itself", method.name()),
            false => "with batch normalisation, whose statistics are of the weights at each step".into(),
        };
        return refuse(key!(train.average).path, found, "", "leave it out");
    }
    let beta2 = six_decimals(recipe.train.beta2) as f32;
    let mut stepping =
        Stepping { beta2, ntk, dropout_by_step: follows, average: average.map(six_decimals), ..Stepping::default() };
    stepping.store_in(recipe.train.precision);
    Ok(ModelSpec { stepping, ..setup })
}

/// Kernels take such shares as decimals of six digits (`ops::optimizer`).
fn six_decimals(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

impl TrainingPlan {
    /// The numbers of all members before the first step, one member after another. `data` = the training rows of each data
    /// set: one, or as many as stand on the replica axis (`ModelSpec::per_set`). They matter to the NTK parametrisation, where
    /// each member looks at the rows that it is trained on.
    pub fn initial_weights(&self, data: &[&Dataset]) -> Vec<f32> {
        let s = &self.setup;
        let Net::Mlp(net) = &s.net else {
            return s.initial_weights(self.seed, self.vi_uniform, self.init_rho);
        };
        if !s.stepping.ntk {
            return s.initial_weights(self.seed, self.vi_uniform, self.init_rho);
        }
        let (first_set, _) = s.sets();
        let one = |member: u32| {
            let rows = data[set_of(member, s.per_set, first_set) as usize];
            let behind = member.checked_rem(s.folds).map_or(0, |f| fold_start(f, s.folds, rows.n as u32) + s.held_out);
            let row = |i: usize| &rows.x[(i + behind as usize) % rows.n * rows.d..][..rows.d];
            ntk::start(net, self.seed, member, rows.n - s.held_out as usize, row)
        };
        (s.first_member..s.first_member + s.members).flat_map(one).collect()
    }
}
