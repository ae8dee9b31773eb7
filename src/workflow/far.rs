//! What targets far from all others do to a training, said before it begins.

use crate::base::counted::counted;
use crate::data::Task;
use crate::data::load::Loaded;
use crate::error::either;
use crate::recipe::{Likelihood, Recipe};

/// Beyond so many standard deviations a target's value is a slip of the pen or of another kind than the rest.
const FAR: f32 = 10.0;

/// What a few targets far from all others do to normal noise.
pub fn far_targets(recipe: &Recipe, data: &Loaded) -> Option<String> {
    let is_normal = data.task() == Task::Regression && recipe.method.likelihood == Likelihood::Gaussian;
    // Training targets are standardised.
    let far = data.train.y.iter().filter(|y| is_normal && recipe.data.standardise && y.abs() > FAR).count();
    (far > 0).then(|| {
        format!(
            "{} of '{}' beyond {FAR} standard deviations of the mean: error bars of all rows widen; correct what is wrong, or let it \
             count less ({})",
            counted(far, "training value"),
            data.encoder.target_names(),
            either("--likelihood student-t", "Student's t as noise")
        )
    })
}
