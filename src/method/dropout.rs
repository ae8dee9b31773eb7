//! Monte Carlo dropout: units are dropped in prediction as in training, and each pass is a thinned network of its own
//! (MATH.md section 5, dropout). All rows of a pass see the same one, so a row's prediction does not depend on its place
//! in the file; batch normalisation takes its running statistics.

use super::{Family, Knob, KnobValue, Method, ModelSpec, Networks, Usual};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::net::Masks;
use crate::ops::Op;
use crate::ops::average::RepeatWeights;
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Recipe, key};

pub const NAME: &str = "dropout";
/// Share of units dropped where a recipe leaves it out.
const RATE: f64 = 0.1;

pub struct Dropout;

impl Method for Dropout {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "MC dropout"
    }
    fn family(&self) -> Family {
        Family::Dropout
    }
    fn about(&self) -> &'static str {
        "Units are dropped in prediction, too: each pass is a sample"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("mc-dropout", "take \"dropout\"")]
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![
            key!(method.noise_link).path,
            key!(method.likelihood).path,
            key!(method.nu).path,
            key!(predict.samples).path,
        ]
    }
    fn suits(&self, recipe: &Recipe, _task: Task, _targets: u32) -> Result<()> {
        if recipe.net.dropout != Some(0.0) {
            return Ok(());
        }
        let found = "0 with the method dropout";
        Err(Error::usage(key!(net.dropout).said(), found, "above 0", "leave it out for 0.1, or take base"))
    }
    fn adapt(&self, recipe: &mut Recipe) {
        if recipe.net.dropout == Some(0.0) {
            recipe.net.dropout = None;
        }
    }
    fn usual(&self) -> Usual {
        Usual { dropout: RATE, ..Usual::default() }
    }
    fn knobs(&self) -> Vec<Knob> {
        vec![Knob::new(key!(net.dropout).path, |r| KnobValue::Optional(&mut r.net.dropout, RATE))]
    }
    fn copies(&self, setup: &ModelSpec) -> u32 {
        setup.predict_samples
    }
    fn masks(&self) -> Masks {
        Masks::Shared
    }
    fn record_networks(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf, _first_sample: u32) -> Networks {
        Networks { weights: record_networks(setup, b, numbers), posterior: vec![] }
    }
}

/// Weights [E S, P]: each member's, once per pass.
fn record_networks(setup: &ModelSpec, b: &mut Builder, weights: Buf) -> Buf {
    let (members, samples, count) = (setup.members, setup.copies(), setup.layout().total as u32);
    let networks = b.buffer("w", (members * samples * count) as usize, Role::Scratch);
    b.push(Op::RepeatWeights(RepeatWeights { members, samples, count }), &[weights], &[networks]);
    networks
}
