//! What gradient boosting costs on this machine beside what `metrics::boosting::seconds` foretells: the constants there
//! are fitted to this table. `cargo run --release --example boosting_cost`

use std::time::Instant;
use vifo::metrics::boosting::{Boosting, Rows, seconds};

fn main() -> Result<(), vifo::error::Error> {
    println!("{:>7} {:>7} {:>7}  {:>8} {:>8}  ratio", "rows", "columns", "classes", "seconds", "foretold");
    let sizes =
        [(300, 6), (768, 8), (1600, 11), (5000, 8), (9600, 4), (20_000, 9), (45_000, 9), (5000, 50), (500, 200)];
    for (n, d) in sizes {
        for classes in [0usize, 2, 5] {
            let (x, y) = table(n, d, classes);
            let rows = Rows { x: &x, y: &y, weights: &[], d };
            let start = Instant::now();
            match classes {
                0 => Boosting::regression(rows, n / 10)?,
                k => Boosting::classification(rows, k, n / 10)?,
            };
            let (took, foretold) = (start.elapsed().as_secs_f64(), seconds(n, d, classes));
            println!("{n:>7} {d:>7} {classes:>7}  {took:>8.2} {foretold:>8.2}  {:>5.2}", took / foretold);
        }
    }
    Ok(())
}

/// Smooth in its first columns, with noise; classes are its quantiles.
fn table(n: usize, d: usize, classes: usize) -> (Vec<f32>, Vec<f64>) {
    let wave = |i: usize, f: f64| (i as f64 * f + f).sin();
    let x: Vec<f32> = (0..n * d).map(|i| wave(i, 12.9898 + 0.37 * (i % d) as f64) as f32).collect();
    let y = x.chunks(d).enumerate().map(|(i, row)| {
        let signal = f64::from(row[0] * row[1 % d]) + f64::from(row[2 % d]).abs() + 0.3 * wave(i, 78.233);
        match classes {
            0 => signal,
            k => ((signal + 0.8) / 2.2 * k as f64).clamp(0.0, k as f64 - 1.0).floor(),
        }
    });
    let y = y.collect();
    (x, y)
}
