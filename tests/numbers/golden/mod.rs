//! The CPU reference kernels, the networks and the metrics against the numbers of another program: tests/golden/*.json, written by make.py
//! beside them (PyTorch in f64, and scipy's quadrature). `VIFO_GOLDEN` names another folder, such as one made with another
//! seed.
//!
//! A reference kernel runs three times through the same generic code. In f64 it must meet the golden number to 1e-9 of the array's
//! largest element. In f32 it must meet it to a bound that is derived, not chosen: the third run is on a scalar that carries
//! its own rounding error (Wilkinson's running error analysis), so a sum of n products is granted about n * 2^-24 * sum
//! |terms|, a softmax what its exponents lose, ten steps of Adam what ten steps lose. A bound wider than 2 % of its array
//! fails the test. `layers`, `heads`, `steps` and `mlp` take the processor's own accuracies (rounding.rs), which are narrower
//! than what WGSL promises an adapter (common/bounded.rs); only the whole network takes the likely error instead of the worst.

macro_rules! witness {
    ($verdict:expr, $row:expr, $kernel:ident($($arg:expr),*)) => {
        witness!($verdict, $row, $kernel($($arg),*), Worst)
    };
    ($verdict:expr, $row:expr, $kernel:ident($($arg:expr),*), $bound:ty) => {
        $verdict.judge($row, $kernel::<f64>($($arg),*), $kernel::<f32>($($arg),*), $kernel::<$bound>($($arg),*))
    };
}

mod heads;
mod images;
mod layers;
mod methods;
mod metrics;
mod mlp;
mod networks;
mod rounding;
mod scaling;
mod steps;
mod student;
mod verdict;

use crate::common::golden::numbers;
use serde_json::Value;
use vifo::base::Real;

fn reals<T: Real>(v: &Value) -> Vec<T> {
    crate::common::golden::reals(numbers(v))
}

fn shape(v: &Value) -> Vec<usize> {
    v["shape"].as_array().expect("a shape").iter().map(|n| n.as_u64().expect("a size") as usize).collect()
}

fn text<'a>(v: &'a Value, key: &str) -> &'a str {
    v[key].as_str().unwrap_or_else(|| panic!("no {key}"))
}

/// [rows, cols] -> [cols, rows].
fn transposed<T: Copy>(m: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..rows * cols).map(|i| m[(i % rows) * cols + i / rows]).collect()
}

/// `fill` of make.py: element i of a tensor, in PyTorch's order.
fn fill(tensor: usize, i: usize, fan_in: f64) -> f64 {
    (12.9898 * (i as f64 + 1.0) + 78.233 * (tensor as f64 + 1.0)).sin() * (2.0 / fan_in.max(1.0)).sqrt()
}
