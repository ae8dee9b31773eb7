//! Batch normalisation by hand.

use super::*;

fn stats_of(x: &[f64], n_valid: u32, running: &mut [f64]) -> Vec<f64> {
    let images = x.len() as u32;
    let p = BatchNormStats {
        replicas: 1,
        images,
        data_images: images,
        pixels: 1,
        c: 1,
        running: 0,
        running_stride: 2,
        eps: 0.0,
        momentum: 0.1,
    };
    let mut stats = vec![f64::NAN; 4];
    batch_norm_stats(
        &p,
        &StepArgs { n_valid, ..Default::default() },
        x,
        &mut stats,
        running,
        &mut vec![f64::NAN; p.scratch()],
    );
    stats
}

/// Values 1, 3 and a filler: mean 2, variance 1; running mean 0 + 0.1 * 2, running variance 1 + 0.1 (2 - 1).
#[test]
fn statistics_by_hand_leave_the_filler_out() {
    let mut running = [0.0, 1.0];
    let stats = stats_of(&[1.0, 3.0, 1000.0], 2, &mut running);
    assert_eq!(stats[..2], [2.0, 1.0]);
    assert!((running[0] - 0.2).abs() < 1e-8 && (running[1] - 1.1).abs() < 1e-8);
}

/// One row and one pixel: variance 0, no NaN anywhere, y = beta, dx = 0.
#[test]
fn one_row_gives_beta_and_no_gradient() {
    let p = BatchNormStats {
        replicas: 1,
        images: 1,
        data_images: 1,
        pixels: 1,
        c: 1,
        running: 0,
        running_stride: 2,
        eps: 1e-5,
        momentum: 0.1,
    };
    let args = StepArgs { n_valid: 1, ..Default::default() };
    let (mut stats, mut running) = (vec![f64::NAN; 4], [0.0, 1.0]);
    batch_norm_stats(&p, &args, &[7.0], &mut stats, &mut running, &mut vec![f64::NAN; p.scratch()]);
    assert!(stats.iter().chain(&running).all(|v| v.is_finite()), "{stats:?} {running:?}");
    let f = BatchNormForward {
        replicas: 1,
        images: 1,
        data_images: 1,
        pixels: 1,
        c: 1,
        gamma: 0,
        beta: 1,
        weights_stride: 2,
        activation: 0,
    };
    let mut y = [f64::NAN];
    batch_norm_forward(&f, &[7.0], &stats, &[2.0, 0.5], &mut y);
    assert_eq!(y, [0.5]);
    let b = BatchNormBackward {
        replicas: 1,
        images: 1,
        data_images: 1,
        pixels: 1,
        c: 1,
        gamma: 0,
        weights_stride: 2,
        activation: 0,
    };
    let mut dx = [f64::NAN];
    batch_norm_backward(&b, &args, &[7.0], &y, &[3.0], &stats, &[3.0, 0.0, 0.0, 0.0], &[2.0, 0.5], &mut dx);
    assert_eq!(dx, [0.0]);
}
