//! Initial weights, from the same counters as everything random: a member's start depends on seed and member alone.

use super::Layout;
use crate::base::rng::{Draw, Stream};

fn draw(seed: u32, member: u32) -> Draw {
    Draw { seed, stream: Stream::Init as u32, step: 0, replica: member }
}

/// PyTorch's default for linear layers: weights and biases uniform on +-1/sqrt(fan_in).
pub fn torch_uniform(layout: &Layout, seed: u32, member: u32) -> Vec<f32> {
    let draw = draw(seed, member);
    let mut w = vec![0.0; layout.total];
    for view in &layout.views {
        let bound = 1.0 / (view.fan_in() as f32).sqrt();
        for i in view.offset..view.offset + view.len() {
            w[i] = bound * (2.0 * draw.uniform(i as u32) - 1.0);
        }
    }
    w
}

/// VI's start (MATH.md section 4): (mu, rho) with mu ~ N(0, 0.1^2) or PyTorch's uniform, rho ~ N(init_rho, 0.1^2).
pub fn variational(layout: &Layout, seed: u32, member: u32, uniform_mu: bool, init_rho: f32) -> Vec<f32> {
    let n = layout.total;
    let mut q = vec![0.0; 2 * n];
    draw(seed, member).fill_normal(0, &mut q);
    for (i, v) in q.iter_mut().enumerate() {
        *v = 0.1 * *v + if i < n { 0.0 } else { init_rho };
    }
    if uniform_mu {
        // Elements of their own, so that mu and rho stay independent.
        let shifted = Draw { step: 1, ..draw(seed, member) };
        for view in &layout.views {
            let bound = 1.0 / (view.fan_in() as f32).sqrt();
            for i in view.offset..view.offset + view.len() {
                q[i] = bound * (2.0 * shifted.uniform(i as u32) - 1.0);
            }
        }
    }
    q
}
