//! What must hold of every objective without differences: members apart, clipping, batches, limits.

use super::TASKS;
use super::objective::Kind;
use super::objective::{MEMBERS, N_ROWS, Objective, mlp, setup, short_batch, step_args};
use vifo::data::Task;
use vifo::method::{ModelSpec, Reg};
use vifo::ops::StepArgs;
use vifo::ops::head::{NOISE_EXP, NOISE_SOFTPLUS, exact_expectation, gaussian_loss};
use vifo::ops::regularizer::{SIGMA_EXP, SIGMA_MIN, SIGMA_SOFTPLUS, sigma};
use vifo::program::Act;

/// One objective of every kind, for what must hold of all of them.
fn one_of_each() -> Vec<ModelSpec> {
    let kinds = [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::L2), Kind::Vi(Reg::Eb)];
    kinds.map(|kind| short_batch(&setup(kind, Task::Regression, Act::Silu))).to_vec()
}

#[test]
fn members_do_not_talk() {
    for s in one_of_each() {
        let args = step_args(&s, 0.3, 0.0);
        let mut objective = Objective::new(&s);
        let mut w = objective.start.clone();
        let before = objective.loss(&args, &w);
        let len = w.len() / MEMBERS;
        w[..len].iter_mut().for_each(|w| *w += 0.1);
        let after = objective.loss(&args, &w);
        assert_ne!(before[0], after[0], "{:?}", s.method);
        assert_eq!(before[1], after[1], "{:?}", s.method);
    }
}

/// A step moves each member by min(1, clip / |g|) g, the norm over that member's weights alone.
#[test]
fn clipping_scales_each_member_by_its_own_norm() {
    for s in one_of_each() {
        let s = ModelSpec { clip: true, ..s };
        let mut objective = Objective::new(&s);
        let args = step_args(&s, 0.3, 0.0);
        let whole = objective.gradient(&args);
        let norms: Vec<f64> =
            whole.chunks(whole.len() / MEMBERS).map(|g| g.iter().map(|g| g * g).sum::<f64>().sqrt()).collect();
        // Between the two norms: one member is clipped, the other is not.
        let clip_norm = (norms[0] + norms[1]) / 2.0;
        let clipped = objective.gradient(&StepArgs { clip_norm, ..args });
        for (e, norm) in norms.iter().enumerate() {
            let len = whole.len() / MEMBERS;
            for i in e * len..(e + 1) * len {
                let want = whole[i] * (clip_norm / norm).min(1.0);
                // Weights of about 1 are stored between: 1e-16 each, against gradients summed to `norm`.
                assert!((clipped[i] - want).abs() <= 1e-13 * (1.0 + norm), "{:?} {e} {i}", s.method);
            }
        }
        assert!(norms[0] != norms[1], "{:?}", s.method);
    }
}

/// At fixed weights the loss of an epoch is the loss of the full batch, however it is cut: sum over batches of
/// n_valid * loss / N. Only the order of the sum changes: N rounding errors.
#[test]
fn the_objective_does_not_depend_on_the_batch_split() {
    for kind in [Kind::Base, Kind::Vifo(Reg::Naive), Kind::Vifo(Reg::Eb), Kind::Vifo(Reg::L2)] {
        for task in TASKS {
            // Sampled expectations draw other normals in other batches: the closed form, or the plain loss.
            if task == Task::Classification && kind != Kind::Base {
                continue;
            }
            let epoch = |batch: u32| {
                let s = ModelSpec { batch, exact: kind != Kind::Base, ..setup(kind, task, Act::Relu) };
                let mut objective = Objective::new(&s);
                let w = objective.start.clone();
                let mut total = [0.0; MEMBERS];
                for batch_start in (0..N_ROWS as u32).step_by(batch as usize) {
                    let n_valid = batch.min(N_ROWS as u32 - batch_start);
                    let args = StepArgs { batch_start, n_valid, ..step_args(&s, 0.3, 0.0) };
                    let loss = objective.loss(&args, &w);
                    (0..MEMBERS).for_each(|e| total[e] += loss[e] * n_valid as f64 / N_ROWS as f64);
                }
                total
            };
            let whole = epoch(N_ROWS as u32);
            for batch in 1..N_ROWS as u32 {
                let parts = epoch(batch);
                for e in 0..MEMBERS {
                    let granted = 1e-14 * (1.0 + whole[e].abs());
                    assert!((parts[e] - whole[e]).abs() <= granted, "{kind:?} {task:?} {batch}: {parts:?} {whole:?}");
                }
            }
        }
    }
}

/// With sigma on its floor 1e-6 and eta = 0, VIFO is the base network with outputs mu: z differs from mu by 1e-6 |eps|,
/// the loss by its slope times that; the closed form by sigma^2.
#[test]
fn vifo_without_variance_is_base() {
    for (task, exact, granted) in
        [(Task::Regression, true, 1e-11), (Task::Regression, false, 1e-4), (Task::Classification, false, 1e-4)]
    {
        let plain = setup(Kind::Base, task, Act::Silu);
        let full = ModelSpec { exact, ..setup(Kind::Vifo(Reg::Naive), task, Act::Silu) };
        let (k, hidden) = (plain.k as usize, *mlp(&plain).hidden.last().expect("layers") as usize);
        let (mut base, mut vifo) = (Objective::new(&plain), Objective::new(&full));
        let (len, len2) = (base.start.len() / MEMBERS, vifo.start.len() / MEMBERS);
        let below = len - (hidden + 1) * k;
        for e in 0..MEMBERS {
            let (from, to) = (&base.start[e * len..(e + 1) * len], &mut vifo.start[e * len2..(e + 1) * len2]);
            to[..below].copy_from_slice(&from[..below]);
            // Rows of the last layer, its bias behind them: [mu | rho].
            for row in 0..=hidden {
                let to = &mut to[below + row * 2 * k..][..2 * k];
                to[..k].copy_from_slice(&from[below + row * k..][..k]);
                to[k..].fill(if row == hidden { -40.0 } else { 0.0 });
            }
        }
        let (w, w2) = (base.start.clone(), vifo.start.clone());
        let loss = base.loss(&step_args(&plain, 0.0, 0.0), &w);
        let limit = vifo.loss(&step_args(&full, 0.0, 0.0), &w2);
        for e in 0..MEMBERS {
            assert!((loss[e] - limit[e]).abs() <= granted, "{task:?} {exact}: {loss:?} {limit:?}");
        }
    }
}

/// Where a link is clamped its slope is 0 and the value that of the clamp (MATH.md sections 1 and 2); the closed form goes
/// on along its tangent. No trained network of the tests above comes there. Central differences with h = 1e-5 relative
/// to x: about 1e-10 of the value.
#[test]
fn slopes_where_the_links_are_clamped() {
    let agrees = |what: &str, x: f64, f: &dyn Fn(f64) -> (f64, f64)| {
        let h = 1e-5 * (1.0 + x.abs());
        let difference = (f(x + h).0 - f(x - h).0) / (2.0 * h);
        let (value, slope) = f(x);
        let granted = 1e-8 * (1.0 + value.abs() + slope.abs());
        assert!(value.is_finite() && (slope - difference).abs() <= granted, "{what} at {x}: {slope} and {difference}");
    };
    for l in [-40.0, -10.5, -9.5, 0.3, 9.5, 10.5, 800.0] {
        agrees("exp noise, l", l, &|l| {
            (gaussian_loss(NOISE_EXP, 0.2, l, 0.9).0, gaussian_loss(NOISE_EXP, 0.2, l, 0.9).2)
        });
        agrees("exp noise, m", 0.2, &|m| {
            (gaussian_loss(NOISE_EXP, m, l, 0.9).0, gaussian_loss(NOISE_EXP, m, l, 0.9).1)
        });
    }
    for l in [-800.0, -9.0, -6.0, 0.3, 900.0, 1100.0, 1e6] {
        agrees("softplus noise", l, &|l| {
            let (value, _, dl) = gaussian_loss(NOISE_SOFTPLUS, 0.2, l, 0.9);
            (value, dl)
        });
    }
    for (link, floored, free) in [(SIGMA_SOFTPLUS, -800.0, -8.0), (SIGMA_EXP, -800.0, -8.0)] {
        assert_eq!(sigma(link, floored), (SIGMA_MIN, 0.0));
        agrees("sigma", floored, &|rho| sigma(link, rho));
        agrees("sigma", free, &|rho| sigma(link, rho));
    }
    // Exponents s^2/2 - mu_l from -20 to 840 around the limit of 30.
    let exact = |v: [f64; 4]| {
        let (mut dmu, mut dsd) = ([0.0; 2], [0.0; 2]);
        let value = exact_expectation(&v[..2], &v[2..], 0.9, 1.0, &mut dmu, &mut dsd);
        (value, [dmu[0], dmu[1], dsd[0], dsd[1]])
    };
    for at in [[0.2, 20.0, 0.4, 0.3], [0.2, -29.0, 0.4, 0.3], [0.2, -31.0, 0.4, 0.3], [0.2, -40.0, 0.4, 40.0]] {
        for i in 0..4 {
            let along = |x: f64| {
                let mut v = at;
                v[i] = x;
                (exact(v).0, exact(v).1[i])
            };
            agrees("closed form", at[i], &along);
        }
    }
}
