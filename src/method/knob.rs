//! Numbers of a recipe that a running training takes up, as sliders need them.

use crate::recipe::Recipe;

#[derive(Clone, Copy)]
pub struct Knob {
    pub label: &'static str,
    /// The recipe key.
    pub key: &'static str,
    /// A slider over decades; one that begins at 0 can switch off.
    pub range: (f64, f64),
    pub of: fn(&mut Recipe) -> KnobValue<'_>,
}

pub enum KnobValue<'a> {
    Given(&'a mut f64),
    /// With what it is where the recipe leaves it out.
    Optional(&'a mut Option<f64>, f64),
}

impl Knob {
    pub fn new(
        label: &'static str,
        key: &'static str,
        range: (f64, f64),
        of: fn(&mut Recipe) -> KnobValue<'_>,
    ) -> Knob {
        Knob { label, key, range, of }
    }
}
