//! The gradient of every objective against finite differences of its own loss, in f64, through the recorded training
//! program. One SGD step with rate 1, without momentum and decay, moves the weights by the gradient; the loss stands in
//! `sums`. Equal step arguments draw equal normals and dropout masks, so the loss is one smooth function of the weights.
//!
//! Tolerances. eps_f, the rounding of a loss that some thousand operations make, is about sqrt(1000) 1.1e-16 |f|.
//! SiLU and Mish, five points at h = 1e-4: h^4/30 |f'''''| + 1.5 eps_f/h = 3e-18 |f'''''| + 5e-11 |f|; granted: 1e-9 (1 + |f|).
//! ReLU and SELU, two points at h = 2e-6, so that kinks are rarely met: h^2/6 |f'''| + eps_f/h = 7e-13 |f'''| + 2e-9 |f|; granted:
//! 2e-8 (1 + |f|). A kink between the points shows as a difference between h and 2h; such weights are left out, at most
//! one in a hundred.

mod bench;
mod identities;
mod methods;
mod objective;
mod targets;
mod weighted;

use vifo::data::Task;
use vifo::program::Act;
use vifo::recipe::Link;

pub const TASKS: [Task; 2] = [Task::Regression, Task::Classification];
pub const ACTS: [Act; 2] = [Act::Silu, Act::Relu];
pub const LINKS: [Link; 2] = [Link::Exp, Link::Softplus];

/// The noise link means something in regression only.
pub fn noise_links(task: Task) -> &'static [Link] {
    if task == Task::Regression { &LINKS } else { &LINKS[..1] }
}
