//! VIFO: q(z|x) = N(mu(x), diag s2(x)) from one network with 2K outputs (MATH.md section 2). Expected loss, regularizer
//! and auxiliary regularizer are one fused kernel over the rows of the batch and the auxiliary rows behind them.

use super::{Reg, Setup};
use crate::ops::Op;
use crate::ops::head::VifoHead;
use crate::ops::regularizer::{ColumnMoments, REG_MEAN_ALL, WeighedMoments};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};

/// Returns (terms [R, rows, 3], gradient of the outputs). Rows from `data_rows` on are auxiliary. `weights` of the rows count
/// in the means that some regularizers take over them.
pub fn record_head(
    setup: &Setup,
    b: &mut Builder,
    reg: Reg,
    out: Tensor,
    y: Buf,
    weights: Option<Buf>,
    share: u32,
    data_rows: u32,
) -> (Buf, Buf) {
    let (replicas, rows, k) = (out.replicas, out.rows, setup.k);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dout = b.buffer("doutputs", (replicas * rows * out.cols()) as usize, Role::Scratch);
    let moments = if reg.code() >= REG_MEAN_ALL {
        let moments = b.buffer("moments", (replicas * 6 * k) as usize, Role::Scratch);
        let sigma_link = setup.sigma_code();
        match weights {
            None => {
                let op = ColumnMoments { replicas, rows, data_rows, k, sigma_link };
                b.push(Op::ColumnMoments(op), &[out.buf], &[moments]);
            }
            Some(w) => {
                let op = WeighedMoments { replicas, rows, data_rows, k, sigma_link, share };
                b.push(Op::WeighedMoments(op), &[out.buf, w], &[moments]);
            }
        }
        moments
    } else {
        b.buffer("no_moments", 1, Role::Input)
    };
    let op = VifoHead {
        replicas,
        rows,
        data_rows,
        k,
        share,
        likelihood: setup.likelihood_code(),
        noise_link: setup.noise_code(),
        sigma_link: setup.sigma_code(),
        regularizer: reg.code(),
        exact: u32::from(setup.exact),
        first_replica: setup.first_member,
    };
    b.push(Op::VifoHead(op), &[out.buf, y, moments], &[terms, dout]);
    (terms, dout)
}
