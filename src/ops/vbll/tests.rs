use super::head::{bound, gaussian};
use super::*;

/// x = (1, 2), mean = [[1, 0], [-1, 3]], sd = [[1, 2], [0.5, 1]], log sn = (0.1, -0.2).
fn layer() -> (VbllForward, Vec<f64>) {
    let p =
        VbllForward { replicas: 1, share: 1, rows: 1, n_in: 2, k: 2, mean: 1, log_scale: 5, log_noise: 9, stride: 12 };
    let l = f64::ln;
    (p, vec![9.0, 1.0, 0.0, -1.0, 3.0, l(1.0), l(2.0), l(0.5), l(1.0), 0.1, -0.2, 9.0])
}

#[test]
fn forward_by_hand() {
    let (p, w) = layer();
    let mut y = [f64::NAN; 6];
    vbll_forward(&p, &[1.0, 2.0], &w, &mut y, &mut vec![f64::NAN; p.scratch()]);
    // m = (1 - 2, 6), v = (1 + 4 / 4, 4 + 4).
    for (found, want) in y.iter().zip([-1.0, 6.0, 2.0, 8.0, 0.1, -0.2]) {
        assert!((found - want).abs() < 1e-14, "{y:?}");
    }
}

/// Two classes, m = (0, log 3), v + sn^2 = (1 + 1, 1 + 1): the bound is that of the logits (1, 1 + log 3) less m.
#[test]
fn heads_by_hand() {
    let mut dy = [f64::NAN; 6];
    let loss = bound(&[0.0, 3f64.ln(), 1.0, 1.0, 0.0, 0.0], 1, 2.0, &mut dy);
    assert!((loss - (1.0 + 4f64.ln() - 3f64.ln())).abs() < 1e-14);
    for (found, want) in dy.iter().zip([0.25, -0.25, 0.125, 0.375, 0.25, 0.75]) {
        assert!((found - 2.0 * want).abs() < 1e-14, "{dy:?}");
    }
    // t - m = 1, v = 2, sn = 2: 1/8 + log 2 + 1/2 log 2pi + 2/8.
    let mut dy = [f64::NAN; 3];
    let loss = gaussian(&[0.5, 2.0, 2f64.ln()], 1.5, 1.0, &mut dy);
    let want = 0.375 + 2f64.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln();
    assert!((loss - want).abs() < 1e-14);
    for (found, want) in dy.iter().zip([-0.25, 0.125, 0.25]) {
        assert!((found - want).abs() < 1e-14, "{dy:?}");
    }
}

/// KL = 1/2 [11 + (1 + 4 + 1/4 + 1) - 2 (log 2 - log 2)], dof 2: 4 sum log sn + 1/2 sum sn^-2.
#[test]
fn regularizer_by_hand() {
    let (_, w) = layer();
    let p = VbllRegularizer { replicas: 1, n_in: 2, k: 2, mean: 1, log_scale: 5, log_noise: 9, stride: 12, n_rows: 10 };
    let (mut grad, mut value) = ([1.0; 12], [f64::NAN]);
    vbll_regularizer(&p, &StepArgs { eta: 0.5, ..Default::default() }, &w, &mut grad, &mut value);
    let noise = |l: f64| 4.0 * l + 0.5 * (-2.0 * l).exp();
    assert!((value[0] - (0.5 * (11.0 + 6.25) + noise(0.1) + noise(-0.2))).abs() < 1e-13);
    let slopes = [0.0, 1.0, 0.0, -1.0, 3.0, 0.0, 3.0, -0.75, 0.0, 4.0 - (-0.2f64).exp(), 4.0 - 0.4f64.exp(), 0.0];
    for (found, want) in grad.iter().zip(slopes) {
        assert!((found - (1.0 + 0.05 * want)).abs() < 1e-14, "{grad:?}");
    }
}

/// The whole chain, layer and head and regularizer, against five-point differences of the loss in every weight and every input:
/// 1e-9 of a loss of some ten at h = 1e-3.
#[test]
fn gradients_are_the_slopes() {
    let (replicas, rows, n_in, stride) = (2u32, 3u32, 4u32, 60u32);
    let args = StepArgs { n_valid: 2, eta: 0.3, ..Default::default() };
    for (k, likelihood, activation) in [(3, 0, ACT_NONE), (1, 1, super::super::linear::ACT_SILU)] {
        let (mean, log_scale, log_noise) = (2, 2 + n_in * k, 3 + 2 * n_in * k);
        let forward = VbllForward { replicas, share: 1, rows, n_in, k, mean, log_scale, log_noise, stride };
        let head = VbllHead { replicas, rows, k, share: 2, likelihood };
        let reg = VbllRegularizer { replicas, n_in, k, mean, log_scale, log_noise, stride, n_rows: 7 };
        let count = (replicas * rows * n_in) as usize;
        let saved: Vec<f64> = (0..count).map(|i| (1.3 * i as f64).sin()).collect();
        let w: Vec<f64> = (0..(replicas * stride) as usize).map(|i| 0.6 * (0.7 * i as f64).cos()).collect();
        let labels = [1.0 % k as f64, 0.0, 0.0];
        // Loss, gradient of y and of the regularizer, x.
        let run = |saved: &[f64], w: &[f64]| {
            let x: Vec<f64> = saved.iter().map(|s| super::super::linear::activate(activation, *s)).collect();
            let mut y = vec![f64::NAN; (replicas * rows * 3 * k) as usize];
            vbll_forward(&forward, &x, w, &mut y, &mut vec![f64::NAN; forward.scratch()]);
            let (mut terms, mut dy) = (vec![f64::NAN; (replicas * rows * 3) as usize], vec![f64::NAN; y.len()]);
            vbll_head(&head, &args, &y, &labels, &mut terms, &mut dy);
            let (mut grad, mut value) = (vec![0.0; w.len()], [f64::NAN; 2]);
            vbll_regularizer(&reg, &args, w, &mut grad, &mut value);
            let loss = terms.iter().sum::<f64>() / 2.0 + 0.3 / 7.0 * (value[0] + value[1]);
            (loss, dy, grad, x)
        };
        let (_, dy, reg_grad, x) = run(&saved, &w);
        let weight = VbllBackwardWeight { replicas, share: 1, rows, n_in, k, mean, log_scale, log_noise, stride };
        let mut grad = vec![0.0; w.len()];
        vbll_backward_weight(&weight, &x, &dy, &w, &mut grad, &mut vec![f64::NAN; weight.scratch()]);
        let data = VbllBackwardData { replicas, rows, n_in, k, mean, log_scale, stride, activation };
        let mut dx = vec![f64::NAN; count];
        vbll_backward_data(&data, &x, &dy, &w, &saved, &mut dx, &mut vec![f64::NAN; data.scratch()]);
        let slope = |at: &dyn Fn(f64) -> f64| (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * 1e-3);
        for i in 0..w.len() {
            let want = slope(&|m| {
                let mut w = w.clone();
                w[i] += 1e-3 * m;
                run(&saved, &w).0
            });
            let found = grad[i] + reg_grad[i];
            assert!((found - want).abs() < 1e-8, "k = {k}, weight {i}: {found} {want}");
        }
        for i in 0..count {
            let want = slope(&|m| {
                let mut saved = saved.clone();
                saved[i] += 1e-3 * m;
                run(&saved, &w).0
            });
            assert!((dx[i] - want).abs() < 1e-8, "k = {k}, input {i}: {} {want}", dx[i]);
        }
    }
}
