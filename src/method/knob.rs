//! Numbers of a recipe that a running training takes up, as sliders need them. Label and range are the key's own.

use crate::recipe::Recipe;

#[derive(Clone, Copy)]
pub struct Knob {
    /// The recipe key.
    pub key: &'static str,
    pub of: fn(&mut Recipe) -> KnobValue<'_>,
}

pub enum KnobValue<'a> {
    Given(&'a mut f64),
    /// With what it is where the recipe leaves it out.
    Optional(&'a mut Option<f64>, f64),
}

impl Knob {
    pub fn new(key: &'static str, of: fn(&mut Recipe) -> KnobValue<'_>) -> Knob {
        Knob { key, of }
    }
}
