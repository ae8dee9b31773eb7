//! The NTK parametrisation of an MLP on a table, and where it starts (MATH.md section 12). A layer that divides its weights by the
//! root of its n inputs is, under Adam, one with the plain product whose weights start at N(0, 1/n) and are learnt at a rate
//! divided by that root: so the network stays what it is, and what differs are start and rates.

use super::trace::{embedded, linear};
use super::{Layout, Mlp, Places, View, ViewKind, init};
use crate::base::rng::{Draw, Stream};
use crate::ops::linear::ACT_NONE;
use crate::program::Act;

/// Factor of the learning rate of biases, and of the numbers of an embedding.
const SLOW: f32 = 0.1;
/// That of the factors of the inputs.
const FAST: f32 = 6.0;
/// Rows that a start looks at, at most.
const ROWS: usize = 256;
/// Rows whose mixture puts a hidden unit's zero where data are.
const MIXED: u32 = 5;
/// Places of the draws in the stream of initial weights: those of `init` are at 0 and 1.
const OF_ROWS: u32 = 2;
const OF_PICKS: u32 = 3;
const OF_SHARES: u32 = OF_PICKS + MIXED;

/// Factors of the learning rate of each weight [P]: 1/sqrt(inputs) for a linear layer's weights, a tenth for biases and
/// embedding, 1 for the numbers of a variational last layer, 6 for the factors of the inputs, a tenth for those of activations
/// (RealMLP's).
pub fn rates(layout: &Layout) -> Vec<f32> {
    let mut rates = vec![1.0; layout.total];
    for view in &layout.views {
        rates[view.offset..view.offset + view.len()].fill(rate(view));
    }
    rates
}

fn rate(view: &View) -> f32 {
    match view.kind {
        ViewKind::Linear { .. } => 1.0 / (view.fan_in() as f32).sqrt(),
        ViewKind::Bias { .. } | ViewKind::Frequency | ViewKind::Phase | ViewKind::Waves => SLOW,
        ViewKind::Gamma if view.name == Mlp::SCALE => FAST,
        ViewKind::Gamma => SLOW,
        _ => 1.0,
    }
}

/// The weights [P] of member number `member` before the first step. Linear weights are drawn from N(0, 1/inputs); the bias of a
/// hidden unit is minus its product with a random convex mixture of five of the rows as its layer sees them, so that each
/// unit bends where there are data; those of the last layer are 0; the rest is as in `init`. `row(i)` = the inputs of the i-th
/// of the `n` rows that the member is trained on; at most 256 of them are looked at.
pub fn start<'a>(net: &Mlp, seed: u32, member: u32, n: usize, row: impl Fn(usize) -> &'a [f32]) -> Vec<f32> {
    let layout = net.layout();
    let mut w = init::torch_uniform(&layout, seed, member);
    let draw = |step| Draw { seed, stream: Stream::Init as u32, step, replica: member };
    for view in &layout.views {
        let part = view.offset..view.offset + view.len();
        match view.kind {
            ViewKind::Linear { .. } => {
                let sd = 1.0 / (view.fan_in() as f32).sqrt();
                draw(0).fill_normal(view.offset as u32, &mut w[part.clone()]);
                w[part].iter_mut().for_each(|v| *v *= sd);
            }
            ViewKind::Bias { .. } if view.name != EMBEDDING_BIAS => w[part].fill(0.0),
            _ => {}
        }
    }
    let looked_at = n.min(ROWS);
    let place = |i: usize| if n <= ROWS { i } else { at(draw(OF_ROWS).uniform(i as u32), n) };
    let x: Vec<f32> = (0..looked_at).flat_map(|i| row(place(i))).copied().collect();
    if looked_at > 0 {
        bend(net, &draw, looked_at, x, &mut w);
    }
    w
}

const EMBEDDING_BIAS: &str = "embedding.bias";

/// Sets the biases of the hidden layers, first to last, by what each sees of the rows x [rows, n_in].
fn bend(net: &Mlp, draw: &impl Fn(u32) -> Draw, rows: usize, mut x: Vec<f32>, w: &mut [f32]) {
    // Factors of inputs and activations start at 1: they change nothing yet.
    let layers = net.layers(&mut Places::default());
    x = embedded(net, &layers, rows, x, w);
    for (to, _) in layers.hidden {
        let products = linear(to, ACT_NONE, rows, &x, w);
        let units = to.n_out as usize;
        for unit in 0..units {
            let element = to.bias + unit as u32;
            // Shares that are uniform on the simplex: exponential numbers over their sum.
            let shares: [f64; MIXED as usize] =
                std::array::from_fn(|j| -libm::log(f64::from(1.0 - draw(OF_SHARES + j as u32).uniform(element))));
            let mixed: f64 = (0..MIXED)
                .zip(shares)
                .map(|(j, share)| {
                    let row = at(draw(OF_PICKS + j).uniform(element), rows);
                    share * f64::from(products[row * units + unit])
                })
                .sum();
            w[element as usize] = -(mixed / shares.iter().sum::<f64>().max(f64::MIN_POSITIVE)) as f32;
        }
        x = linear(to, Act::code(Some(net.activation)), rows, &x, w);
    }
}

/// The place among `n` of a number u in [0, 1).
fn at(u: f32, n: usize) -> usize {
    ((f64::from(u) * n as f64) as usize).min(n.saturating_sub(1))
}

#[cfg(test)]
#[path = "ntk_tests.rs"]
mod tests;
