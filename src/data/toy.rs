//! Toy curves and two-dimensional sets, drawn from a seed: the paper's sinusoid and the usual others.
//! Must not standardise; `Toy::to_table` hands the numbers to the same encoder as a file.

use super::Task;
use super::table::{Cells, Column, Lines, ReadOptions, Table};
use crate::base::rng::SplitMix64;
pub use crate::recipe::{Gap, ToyKind};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, TAU};

impl ToyKind {
    /// The curve without its noise; None for classes.
    pub fn truth(self) -> Option<fn(f64) -> f64> {
        match self {
            ToyKind::Sinusoid => Some(|x| 2.0 * libm::sin(x)),
            ToyKind::Heteroscedastic => Some(libm::sin),
            ToyKind::Cubic => Some(|x| x.powi(3)),
            _ => None,
        }
    }

    /// Standard deviation of the noise; for the heteroscedastic curve the factor in front of (1 + x).
    pub fn default_noise(self) -> f64 {
        match self {
            ToyKind::Heteroscedastic => 0.05,
            ToyKind::Cubic => 3.0,
            ToyKind::Blobs => 0.25,
            _ => 0.1,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Toy {
    /// Names of the inputs, then of the target.
    pub columns: Vec<String>,
    /// `[n, d]`, row after row.
    pub x: Vec<f64>,
    /// `[n]`: target or class 0, 1, 2.
    pub y: Vec<f64>,
    pub n: usize,
    pub d: usize,
    pub task: Task,
}

/// `n` training rows. `gap` matters to the sinusoid only; `noise` replaces `ToyKind::default_noise`.
pub fn make(kind: ToyKind, gap: Gap, n: usize, noise: Option<f64>, seed: u64) -> Toy {
    let mut rng = SplitMix64::new(seed);
    let inner = match gap {
        Gap::Figure => FRAC_PI_4,
        Gap::Paper => FRAC_PI_2,
    };
    build(kind, n, noise, &mut rng, |i, rng| {
        let side = if i < n / 2 { -1.0 } else { 1.0 };
        side * (inner + (0.75 * PI - inner) * rng.uniform())
    })
}

impl Toy {
    /// `n` test rows: the sinusoid on an even grid of [-pi, pi], with noise, whatever the gap; the others are fresh
    /// draws.
    pub fn test_set(kind: ToyKind, _gap: Gap, n: usize, noise: Option<f64>, seed: u64) -> Toy {
        // The first output for the seed as new seed: a stream apart from that of the training rows.
        let mut rng = SplitMix64::new(SplitMix64::new(!seed).next_u64());
        let step = TAU / n.saturating_sub(1).max(1) as f64;
        build(kind, n, noise, &mut rng, |i, _| -PI + step * i as f64)
    }

    /// The toy as if read from a file with a header, so that one encoder serves both.
    pub fn to_table(&self) -> Table {
        let column = |j: usize, name: &String| {
            let cells =
                if j < self.d { self.x.iter().skip(j).step_by(self.d).copied().collect() } else { self.y.clone() };
            Column::new(name, Cells::Number(cells))
        };
        Table {
            path: "toy".into(),
            columns: self.columns.iter().enumerate().map(|(j, name)| column(j, name)).collect(),
            lines: Lines::Run { first: 2, rows: self.n },
            header: true,
            delimiter: b',',
            options: ReadOptions::default(),
            beside: None,
            notes: Vec::new(),
        }
    }
}

/// Draws the rows; `sinusoid_x(i, rng)` places row i of the sinusoid.
fn build(
    kind: ToyKind,
    n: usize,
    noise: Option<f64>,
    rng: &mut SplitMix64,
    sinusoid_x: impl Fn(usize, &mut SplitMix64) -> f64,
) -> Toy {
    let noise = noise.unwrap_or(kind.default_noise());
    let task = kind.task();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..n {
        match kind {
            ToyKind::Sinusoid => {
                let at = sinusoid_x(i, rng);
                x.push(at);
                y.push(2.0 * libm::sin(at) + noise * rng.normal());
            }
            ToyKind::Heteroscedastic => {
                let at = 10.0 * rng.uniform();
                x.push(at);
                y.push(libm::sin(at) + noise * (1.0 + at) * rng.normal());
            }
            ToyKind::Cubic => {
                let at = 8.0 * rng.uniform() - 4.0;
                x.push(at);
                y.push(at.powi(3) + noise * rng.normal());
            }
            ToyKind::Moons | ToyKind::Rings | ToyKind::Blobs => {
                let class = i % if kind == ToyKind::Blobs { BLOBS.len() } else { 2 };
                let [a, b] = class_point(kind, class, rng.uniform());
                x.push(a + noise * rng.normal());
                x.push(b + noise * rng.normal());
                y.push(class as f64);
            }
        }
    }
    let names: &[&str] = if task == Task::Regression { &["x", "y"] } else { &["x1", "x2", "class"] };
    let columns: Vec<String> = names.iter().map(|s| s.to_string()).collect();
    Toy { d: columns.len() - 1, columns, x, y, n, task }
}

/// Centres of the three clouds: the corners of an equilateral triangle on the unit circle, rounded.
const BLOBS: [[f64; 2]; 3] = [[0.0, 1.0], [-0.87, -0.5], [0.87, -0.5]];

/// A noiseless point at the share `u` of its curve; the shapes of scikit-learn's make_moons and make_circles, and the
/// centres of the clouds.
fn class_point(kind: ToyKind, class: usize, u: f64) -> [f64; 2] {
    match (kind, class) {
        (ToyKind::Moons, 0) => [libm::cos(PI * u), libm::sin(PI * u)],
        (ToyKind::Moons, _) => [1.0 - libm::cos(PI * u), 0.5 - libm::sin(PI * u)],
        (ToyKind::Blobs, class) => BLOBS[class],
        (_, class) => {
            let radius = if class == 0 { 1.0 } else { 0.5 };
            [radius * libm::cos(TAU * u), radius * libm::sin(TAU * u)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinusoid_lies_on_both_intervals_and_on_the_curve() {
        for (gap, inner) in [(Gap::Figure, FRAC_PI_4), (Gap::Paper, FRAC_PI_2)] {
            let toy = make(ToyKind::Sinusoid, gap, 100, Some(0.0), 1);
            assert_eq!(toy.x.iter().filter(|&&x| x < 0.0).count(), 50);
            assert!(toy.x.iter().all(|x| (inner..=0.75 * PI).contains(&x.abs())));
            assert!(toy.x.iter().zip(&toy.y).all(|(x, y)| (y - 2.0 * libm::sin(*x)).abs() < 1e-12));
        }
    }

    #[test]
    fn noise_has_the_stated_size() {
        // Root mean square of the standardised residuals is 1 within 4 standard errors, 4/sqrt(2 n).
        let n = 20_000;
        type Curve = fn(f64) -> (f64, f64);
        let curves: [(ToyKind, Curve); 3] = [
            (ToyKind::Sinusoid, |x| (2.0 * libm::sin(x), 0.1)),
            (ToyKind::Heteroscedastic, |x| (libm::sin(x), 0.05 + 0.05 * x)),
            (ToyKind::Cubic, |x| (x.powi(3), 3.0)),
        ];
        for (kind, curve) in curves {
            let toy = make(kind, Gap::Figure, n, None, 5);
            let squares = toy.x.iter().zip(&toy.y).map(|(&x, y)| ((y - curve(x).0) / curve(x).1).powi(2));
            let rms = (squares.sum::<f64>() / n as f64).sqrt();
            assert!((rms - 1.0).abs() < 4.0 / (2.0 * n as f64).sqrt(), "{kind}: {rms}");
        }
    }

    #[test]
    fn rings_have_their_radii_and_moons_their_circles() {
        let rings = make(ToyKind::Rings, Gap::Figure, 40, Some(0.0), 2);
        let moons = make(ToyKind::Moons, Gap::Figure, 40, Some(0.0), 2);
        for i in 0..40 {
            let radius = libm::hypot(rings.x[2 * i], rings.x[2 * i + 1]);
            assert!((radius - if rings.y[i] == 0.0 { 1.0 } else { 0.5 }).abs() < 1e-12);
            let centre = if moons.y[i] == 0.0 { (0.0, 0.0) } else { (1.0, 0.5) };
            assert!((libm::hypot(moons.x[2 * i] - centre.0, moons.x[2 * i + 1] - centre.1) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn blobs_have_their_centres_their_spread_and_their_turn() {
        let still = make(ToyKind::Blobs, Gap::Figure, 7, Some(0.0), 2);
        assert_eq!(still.y, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0]);
        for i in 0..7 {
            assert_eq!(still.x[2 * i..2 * i + 2], BLOBS[i % 3]);
        }
        // Root mean square of 2 n standardised deviations is 1 within 4 standard errors, 4/sqrt(2 * 2 n).
        let n = 9000;
        let toy = make(ToyKind::Blobs, Gap::Figure, n, None, 5);
        let squares = toy.x.iter().enumerate().map(|(k, x)| ((x - BLOBS[k / 2 % 3][k % 2]) / 0.25).powi(2));
        let rms = (squares.sum::<f64>() / (2 * n) as f64).sqrt();
        assert!((rms - 1.0).abs() < 4.0 / (4.0 * n as f64).sqrt(), "{rms}");
    }

    #[test]
    fn seeds_repeat_and_the_test_set_is_another_draw() {
        for kind in ToyKind::ALL {
            let train = make(kind, Gap::Figure, 30, None, 9);
            assert_eq!(train, make(kind, Gap::Figure, 30, None, 9));
            assert_ne!(train, make(kind, Gap::Figure, 30, None, 10));
            assert_ne!(train.x, Toy::test_set(kind, Gap::Figure, 30, None, 9).x);
        }
        let grid = Toy::test_set(ToyKind::Sinusoid, Gap::Paper, 201, None, 0);
        assert_eq!((grid.x[0], grid.x[100].abs() < 1e-12, (grid.x[200] - PI).abs() < 1e-12), (-PI, true, true));
        assert_eq!(make(ToyKind::Moons, Gap::Figure, 0, None, 0).x.len(), 0);
    }

    #[test]
    fn the_table_holds_the_same_numbers() {
        let toy = make(ToyKind::Rings, Gap::Figure, 12, None, 4);
        let table = toy.to_table();
        assert_eq!((table.names(), table.rows()), (vec!["x1", "x2", "class"], 12));
        let Cells::Number(second) = &table.columns[1].cells else { panic!("text") };
        assert_eq!(second[3], toy.x[7]);
    }
}
