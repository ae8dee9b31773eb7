//! Rows of the heads, the regularizers and weight-space VI. The running log-sum-exp of sampled softmax costs up to 7u for
//! each rise of its maximum, which the reference kernel does not count: it has to fit into the common slack.

use super::{NORMALS, PARTS, Row, SHARES, fill, poison};
use vifo::ops::Op;
use vifo::ops::head::*;
use vifo::ops::regularizer::*;
use vifo::ops::step::Prior;
use vifo::ops::vi::{ViGradient, ViRegularizer, ViSample};
use vifo::ops::weigh::WeighRows;

pub fn labels(n: usize, k: u32) -> Vec<f32> {
    fill(n, 9, 0.0, k as f32).into_iter().map(|v| v.floor().min(k as f32 - 1.0)).collect()
}

/// rows and how many of them are valid.
pub const BATCHES: [(u32, u32); 4] = [(1, 1), (63, 63), (64, 40), (65, 1)];

pub fn softmax_head() -> Vec<Row> {
    let mut all = vec![];
    for k in [2, 3, 10, 33] {
        for (rows, valid) in BATCHES {
            for (replicas, share) in SHARES {
                let p = SoftmaxHead { replicas, rows, k, share };
                let z = (replicas * rows * k) as usize;
                let inputs = vec![fill(z, 1, -20.0, 20.0), labels((replicas / share * rows) as usize, k)];
                let outputs = vec![poison((replicas * rows * 3) as usize), poison(z)];
                all.push(
                    Row::new(Op::SoftmaxHead(p), format!("{p:?} {valid} valid"), inputs, outputs)
                        .with(|a| a.n_valid = valid),
                );
            }
        }
    }
    all
}

pub fn gaussian_head() -> Vec<Row> {
    let mut all = vec![];
    for (noise_link, beyond) in [(NOISE_EXP, [12.0, -11.5]), (NOISE_SOFTPLUS, [1500.0, -9.0])] {
        for (rows, valid) in BATCHES {
            for (replicas, share) in SHARES {
                let p = GaussianHead { replicas, rows, share, noise_link };
                let n = (replicas * rows) as usize;
                let mut z = fill(2 * n, 1, -4.0, 4.0);
                // Two rows beyond the clamps.
                z[1] = beyond[0];
                z[2 * n - 1] = beyond[1];
                let inputs = vec![z, fill((replicas / share * rows) as usize, 2, -2.0, 2.0)];
                let outputs = vec![poison(3 * n), poison(2 * n)];
                all.push(
                    Row::new(Op::GaussianHead(p), format!("{p:?} {valid} valid"), inputs, outputs)
                        .with(|a| a.n_valid = valid),
                );
            }
        }
    }
    all
}

/// Degrees of freedom of a Student-t and its constant.
fn student(nu: f32) -> (f32, f32) {
    (nu, Student::constant_of(f64::from(nu)) as f32)
}

pub fn student_head() -> Vec<Row> {
    let mut all = vec![];
    for (noise_link, beyond) in [(NOISE_EXP, [12.0, -11.5]), (NOISE_SOFTPLUS, [1500.0, -9.0])] {
        for (rows, valid) in BATCHES {
            for ((replicas, share), nu) in SHARES.into_iter().zip([4.0, 2.1, 100.0]) {
                let (nu, constant) = student(nu);
                let p = StudentHead { replicas, rows, share, noise_link, nu, constant };
                let n = (replicas * rows) as usize;
                let mut z = fill(2 * n, 1, -4.0, 4.0);
                // Two rows beyond the clamps.
                z[1] = beyond[0];
                z[2 * n - 1] = beyond[1];
                let mut targets = fill((replicas / share * rows) as usize, 2, -2.0, 2.0);
                // An outlier.
                targets[0] = 1e4;
                let row = Row::new(
                    Op::StudentHead(p),
                    format!("{p:?} {valid} valid"),
                    vec![z, targets],
                    vec![poison(3 * n), poison(2 * n)],
                );
                all.push(row.with(|a| a.n_valid = valid));
            }
        }
    }
    all
}

/// (mu, rho) of each row.
fn outputs(rows: u32, k: u32, sigma_link: u32) -> Vec<f32> {
    let (low, high) = if sigma_link == SIGMA_EXP { (-3.0, 0.5) } else { (-6.0, 1.0) };
    let (mu, rho) = (fill((rows * k) as usize, 1, -2.0, 2.0), fill((rows * k) as usize, 2, low, high));
    let rows = mu.chunks(k as usize).zip(rho.chunks(k as usize));
    rows.flat_map(|(m, r)| m.iter().chain(r).copied().collect::<Vec<_>>()).collect()
}

pub fn column_moments() -> Vec<Row> {
    let mut all = vec![];
    for sigma_link in [SIGMA_SOFTPLUS, SIGMA_EXP] {
        for k in [1, 2, 33] {
            for (data_rows, valid, aux) in PARTS {
                for replicas in [1, 3] {
                    let rows = data_rows + aux;
                    let p = ColumnMoments { replicas, rows, data_rows, k, sigma_link };
                    let row = Row::new(
                        Op::ColumnMoments(p),
                        format!("{p:?} {valid} valid"),
                        vec![outputs(replicas * rows, k, sigma_link)],
                        vec![poison((replicas * 6 * k) as usize)],
                    );
                    all.push(row.with(|a| a.n_valid = valid));
                }
            }
        }
    }
    all
}

/// Weights of rows, some of them 0.
fn weights(n: u32) -> Vec<f32> {
    fill(n as usize, 5, -0.5, 3.0).into_iter().map(|w| w.max(0.0)).collect()
}

pub fn weighed_moments() -> Vec<Row> {
    let mut all = vec![];
    for sigma_link in [SIGMA_SOFTPLUS, SIGMA_EXP] {
        for k in [1, 2, 33] {
            for (data_rows, valid, aux) in PARTS {
                for (replicas, share) in SHARES {
                    let rows = data_rows + aux;
                    let p = WeighedMoments { replicas, rows, data_rows, k, sigma_link, share };
                    let row = Row::new(
                        Op::WeighedMoments(p),
                        format!("{p:?} {valid} valid"),
                        vec![outputs(replicas * rows, k, sigma_link), weights(replicas / share * data_rows)],
                        vec![poison((replicas * 6 * k) as usize)],
                    );
                    all.push(row.with(|a| a.n_valid = valid));
                }
            }
        }
    }
    all
}

pub fn weigh_rows() -> Vec<Row> {
    let mut all = vec![];
    for cols in [2, 3, 65] {
        for (data_rows, _, aux) in PARTS {
            for (replicas, share) in SHARES {
                let rows = data_rows + aux;
                let p = WeighRows { replicas, rows, data_rows, cols, share };
                let n = (replicas * rows) as usize;
                let outputs = vec![fill(3 * n, 1, -2.0, 2.0), fill(n * cols as usize, 2, -2.0, 2.0)];
                let inputs = vec![weights(replicas / share * data_rows)];
                all.push(Row::new(Op::WeighRows(p), format!("{p:?}"), inputs, outputs));
            }
        }
    }
    all
}

/// MATH.md section 3's defaults.
fn prior(regularizer: u32) -> Prior<f64> {
    let (p0, p1, p2, constant) = match regularizer {
        REG_NAIVE => (1.0, 0.0, 0.0, -0.5),
        REG_MEAN | REG_MEAN_ALL => (0.3, 0.05, 0.0, 0.4),
        REG_MV | REG_MV_ALL => (0.5, 0.01, 0.1, 2.8),
        _ => (4.4798, 10.0, 0.0, -0.5),
    };
    Prior { p0, p1, p2, constant }
}

fn vifo_row(p: VifoHead, valid: u32) -> Row {
    let (rows, k) = (p.replicas * p.rows, p.k);
    let targets = (p.replicas / p.share * p.data_rows) as usize;
    let targets = if p.likelihood == LIKELIHOOD_GAUSSIAN { fill(targets, 3, -2.0, 2.0) } else { labels(targets, k) };
    let grouped = p.regularizer >= REG_MEAN_ALL;
    // Means of mu, mu^2, s2: any positive numbers do.
    let moments = fill(if grouped { (p.replicas * 6 * k) as usize } else { 1 }, 4, 0.1, 1.0);
    let inputs = vec![outputs(rows, k, p.sigma_link), targets, moments];
    let row = Row::new(
        Op::VifoHead(p),
        format!("{p:?} {valid} valid"),
        inputs,
        vec![poison((rows * 3) as usize), poison((rows * 2 * k) as usize)],
    );
    row.drawing(if p.exact == 1 { (0.0, 0.0) } else { NORMALS }).with(|a| {
        a.n_valid = valid;
        a.prior = prior(p.regularizer);
    })
}

pub fn vifo_head() -> Vec<Row> {
    let mut all = vec![];
    let base = VifoHead {
        replicas: 1,
        rows: 1,
        data_rows: 1,
        k: 2,
        share: 1,
        likelihood: LIKELIHOOD_GAUSSIAN,
        noise_link: NOISE_EXP,
        sigma_link: SIGMA_SOFTPLUS,
        regularizer: REG_NONE,
        exact: 0,
        first_replica: 2,
        nu: 0.0,
        constant: 0.0,
    };
    // Every regularizer with every likelihood and link.
    for regularizer in REG_NONE..=REG_EB_ALL {
        for sigma_link in [SIGMA_SOFTPLUS, SIGMA_EXP] {
            let p = VifoHead { replicas: 3, rows: 65, data_rows: 33, share: 3, regularizer, sigma_link, ..base };
            all.push(vifo_row(p, 20));
            all.push(vifo_row(VifoHead { noise_link: NOISE_SOFTPLUS, ..p }, 33));
            all.push(vifo_row(VifoHead { exact: 1, ..p }, 33));
            all.push(vifo_row(VifoHead { likelihood: LIKELIHOOD_SOFTMAX, k: 3, ..p }, 20));
            let (nu, constant) = student(4.0);
            for noise_link in [NOISE_EXP, NOISE_SOFTPLUS] {
                let p = VifoHead { likelihood: LIKELIHOOD_STUDENT, noise_link, nu, constant, ..p };
                all.push(vifo_row(p, 20));
                all.push(vifo_row(VifoHead { exact: 1, ..p }, 33));
            }
        }
    }
    // Every shape with one regularizer that sees all of it.
    for (data_rows, valid, aux) in PARTS {
        for (replicas, share) in SHARES {
            let p = VifoHead { replicas, share, rows: data_rows + aux, data_rows, regularizer: REG_EB_ALL, ..base };
            all.push(vifo_row(p, valid));
            all.push(vifo_row(VifoHead { exact: 1, ..p }, valid));
            let (nu, constant) = student(2.5);
            all.push(vifo_row(VifoHead { exact: 1, likelihood: LIKELIHOOD_STUDENT, nu, constant, ..p }, valid));
            for k in [2, 10, 33] {
                all.push(vifo_row(VifoHead { likelihood: LIKELIHOOD_SOFTMAX, k, ..p }, valid));
            }
        }
    }
    all.push(vifo_row(base, 1).with(|a| a.n_samples = 1));
    // The floor of sigma, and the tangent above the exponent's limit.
    let p = VifoHead { rows: 2, data_rows: 2, exact: 1, regularizer: REG_NAIVE, ..base };
    let mut row = vifo_row(p, 2);
    row.inputs[0] = vec![0.5, -35.0, -40.0, 1.0, 0.5, 0.0, 1.0, -60.0];
    all.push(row);
    all
}

/// (mu, rho) of each member.
fn posterior(members: u32, count: u32) -> Vec<f32> {
    (0..members)
        .flat_map(|e| [fill(count as usize, 10 + e, -1.0, 1.0), fill(count as usize, 20 + e, -6.0, 0.0)].concat())
        .collect()
}

pub fn vi_sample() -> Vec<Row> {
    let mut all = vec![];
    for stream in [5, 6] {
        for (members, samples) in [(1, 1), (3, 5)] {
            for count in [1, 5, 63, 64, 65, 258] {
                let p = ViSample { members, samples, count, first_replica: 2 * samples, stream };
                let row = Row::new(
                    Op::ViSample(p),
                    format!("{p:?}"),
                    vec![posterior(members, count)],
                    vec![poison((members * samples * count) as usize)],
                );
                all.push(row.drawing(NORMALS));
            }
        }
    }
    all
}

/// count, first, length: whole vectors, and groups that begin and end inside a Philox block.
const GROUPS: [(u32, u32, u32); 8] =
    [(1, 0, 1), (64, 0, 64), (300, 0, 300), (70, 5, 9), (70, 3, 1), (70, 7, 63), (70, 64, 6), (70, 2, 65)];

pub fn vi_regularizer() -> Vec<Row> {
    let mut all = vec![];
    for regularizer in REG_NAIVE..=REG_EB {
        for (count, first, length) in GROUPS {
            for (members, accumulate) in [(1, 0), (3, 1)] {
                let p = ViRegularizer { members, count, first, length, group: 1, groups: 2, regularizer, accumulate };
                let value =
                    if accumulate == 1 { fill(members as usize, 5, 1.0, 2.0) } else { poison(members as usize) };
                let row = Row::new(
                    Op::ViRegularizer(p),
                    format!("{p:?}"),
                    vec![posterior(members, count)],
                    vec![value, poison(2 * members as usize)],
                );
                all.push(row.with(|a| a.prior = prior(regularizer)));
            }
        }
    }
    all
}

pub fn vi_gradient() -> Vec<Row> {
    let mut all = vec![];
    for regularizer in REG_NAIVE..=REG_EB {
        for (count, first, length) in GROUPS {
            for (members, samples) in [(1, 1), (3, 5)] {
                let p = ViGradient {
                    members,
                    samples,
                    count,
                    first,
                    length,
                    group: 1,
                    groups: 2,
                    regularizer,
                    first_replica: samples,
                    scale: 0.5,
                };
                let dweights = fill((members * samples * count) as usize, 6, -1.0, 1.0);
                let energy = fill(2 * members as usize, 7, 1.0, 9.0);
                let row = Row::new(
                    Op::ViGradient(p),
                    format!("{p:?}"),
                    vec![posterior(members, count), dweights, energy],
                    vec![poison((members * 2 * count) as usize)],
                );
                all.push(row.drawing(NORMALS).with(|a| a.prior = prior(regularizer)));
            }
        }
    }
    all
}
