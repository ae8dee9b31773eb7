//! Variational Bayesian last layer: a Gaussian over the last layer's weights and a noise of its own, trained by a closed
//! bound on the likelihood (MATH.md section 5, VBLL; Harrison et al. 2024).

use super::Setup;
use crate::ops::Op;
use crate::ops::vbll::{VbllHead, VbllRegularizer};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};

/// Returns (terms [R, rows, 3], gradient of the outputs (mean, variance, log noise)).
pub fn record_head(setup: &Setup, b: &mut Builder, out: Tensor, y: Buf, share: u32) -> (Buf, Buf) {
    let (replicas, rows) = (out.replicas, out.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dout = b.buffer("doutputs", out.len(), Role::Scratch);
    let op = VbllHead { replicas, rows, k: out.cols() / 3, share, likelihood: setup.likelihood_code() };
    b.push(Op::VbllHead(op), &[out.buf, y], &[terms, dout]);
    (terms, dout)
}

/// KL divergence of the last layer's weights and the prior of its noise: adds to the gradient, returns the value a member.
pub fn record_regularizer(setup: &Setup, b: &mut Builder, weights: Buf, dweights: Buf) -> Buf {
    let (replicas, layout) = (setup.members, setup.layout());
    let value = b.buffer("regularizer", replicas as usize, Role::Scratch);
    // The last layer's views are mean, log scale and log noise.
    let at = layout.views.len() - 3;
    let [mean, log_scale, log_noise] = [0, 1, 2].map(|i| layout.views[at + i].offset as u32);
    let (k, n_in) = (layout.views[at].shape[0] as u32, layout.views[at].shape[1] as u32);
    let stride = layout.total as u32;
    let op = VbllRegularizer { replicas, n_in, k, mean, log_scale, log_noise, stride, n_rows: setup.n_rows };
    b.push(Op::VbllRegularizer(op), &[weights], &[dweights, value]);
    value
}
