//! Normalising, many channels at a time.

use crate::base::Real;
use crate::ops::linear::{ACT_RELU, activate, activation_slope};
use crate::ops::wide::wide;
use std::array::from_fn;

/// Calls `$f::<T, CHANNELS>(first, ..)` for all of `$c` channels, many at a time: what belongs to them stays in registers while
/// a loop goes over the pixels.
macro_rules! channels {
    ($c:expr, $f:ident($($argument:expr),*)) => {{
        let mut first = 0;
        // What a browser fetches is to be small.
        while cfg!(not(target_arch = "wasm32")) && first + 16 <= $c {
            $f::<T, 16>(first, $($argument),*);
            first += 16;
        }
        while first + 4 <= $c {
            $f::<T, 4>(first, $($argument),*);
            first += 4;
        }
        while first < $c {
            $f::<T, 1>(first, $($argument),*);
            first += 1;
        }
    }};
}
pub(in crate::ops) use channels;

/// The numbers of N channels from `first` on.
#[inline(always)]
pub(in crate::ops) fn of_channels<T: Real, const N: usize, const S: usize>(
    first: usize,
    of_all: [&[T]; S],
) -> [[T; N]; S] {
    of_all.map(|values| from_fn(|i| values[first + i]))
}

/// `activate` of what is known only now; on a page, which is to be small, a call for each number: its networks have ReLU here.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn any_activation<T: Real>(activation: u32, v: T) -> T {
    activate(activation, v)
}
/// The same of its slope.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(in crate::ops) fn any_slope<T: Real>(activation: u32, v: T) -> T {
    activation_slope(activation, v)
}

wide! {
    /// y = act(gamma (x - mean) / sd + beta), stats [2, c] = mean, 1 / sd. `rows` = how many numbers of each row, the length of a
    /// row of x, and of one of y.
    pub(in crate::ops) fn normalise<T: Real>(
        activation: u32,
        rows: (usize, usize, usize),
        x: &[T],
        stats: &[T],
        gamma: &[T],
        beta: &[T],
        y: &mut [T],
    ) {
        let c = gamma.len();
        let by = [&stats[..c], &stats[c..2 * c], gamma, beta];
        if activation == ACT_RELU {
            channels!(c, normalise_some(rows, x, by, |v| activate(ACT_RELU, v), y));
        } else {
            channels!(c, normalise_some(rows, x, by, |v| any_activation(activation, v), y));
        }
    }
}

#[inline(always)]
fn normalise_some<T: Real, const N: usize>(
    first: usize,
    (len, row_x, row_y): (usize, usize, usize),
    x: &[T],
    by: [&[T]; 4],
    act: impl Fn(T) -> T,
    y: &mut [T],
) {
    let (c, [mean, inv_sd, gamma, beta]) = (by[0].len(), of_channels::<T, N, 4>(first, by));
    for (x, y) in x.chunks_exact(row_x).zip(y.chunks_mut(row_y)) {
        for (x, y) in x[..len].chunks_exact(c).zip(y[..len].chunks_exact_mut(c)) {
            let (x, y) = (&x[first..][..N], &mut y[first..][..N]);
            for i in 0..N {
                y[i] = act(gamma[i] * ((x[i] - mean[i]) * inv_sd[i]) + beta[i]);
            }
        }
    }
}
