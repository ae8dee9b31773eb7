//! Pooling over windows that do not overlap, NHWC. Odd sizes lose the last row and column, as in PyTorch.
//! The backward passes multiply by the slope of the activation that produced x, so that it needs no pass of its own.

use super::linear::activation_slope;
use super::{Grid, params};
use crate::base::Real;

params! {
    /// y [images, h/2, w/2, c] = the largest of each 2 x 2 window.
    MaxPool2Forward {
        images: u32,
        h: u32,
        w: u32,
        c: u32,
    }
}
params! {
    /// dx [images, h, w, c]: dy goes to the first largest element of its window, times act'(saved).
    MaxPool2Backward {
        images: u32,
        h: u32,
        w: u32,
        c: u32,
        activation: u32,
    }
}
params! {
    /// y [images, h/size, w/size, c] = the mean of each size x size window.
    AvgPoolForward {
        images: u32,
        h: u32,
        w: u32,
        c: u32,
        size: u32,
    }
}
params! {
    /// dx [images, h, w, c] = dy / size^2 within the windows, times act'(saved).
    AvgPoolBackward {
        images: u32,
        h: u32,
        w: u32,
        c: u32,
        size: u32,
        activation: u32,
    }
}

impl MaxPool2Forward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * (self.h / 2) as u64 * (self.w / 2) as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl MaxPool2Backward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * self.h as u64 * self.w as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl AvgPoolForward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(
            self.images as u64
                * (self.h / self.size.max(1)) as u64
                * (self.w / self.size.max(1)) as u64
                * self.c as u64,
        )
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl AvgPoolBackward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * self.h as u64 * self.w as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}

/// The four channels' rows of window (oy, ox), in the order in which ties are broken.
#[inline(always)]
fn window(w: usize, c: usize, oy: usize, ox: usize) -> [usize; 4] {
    let at = |dy: usize, dx: usize| ((2 * oy + dy) * w + 2 * ox + dx) * c;
    [at(0, 0), at(0, 1), at(1, 0), at(1, 1)]
}

#[inline(always)]
pub fn max_pool2_forward<T: Real>(p: &MaxPool2Forward, x: &[T], y: &mut [T]) {
    let (h, w, c) = (p.h as usize, p.w as usize, p.c as usize);
    let (oh, ow) = (h / 2, w / 2);
    for n in 0..p.images as usize {
        let x = &x[n * h * w * c..(n + 1) * h * w * c];
        for oy in 0..oh {
            for ox in 0..ow {
                let [a, b, d, e] = window(w, c, oy, ox).map(|at| &x[at..at + c]);
                let y = &mut y[((n * oh + oy) * ow + ox) * c..][..c];
                for i in 0..c {
                    y[i] = a[i].at_least(b[i]).at_least(d[i].at_least(e[i]));
                }
            }
        }
    }
}

#[inline(always)]
pub fn max_pool2_backward<T: Real>(p: &MaxPool2Backward, x: &[T], dy: &[T], saved: &[T], dx: &mut [T]) {
    let (h, w, c) = (p.h as usize, p.w as usize, p.c as usize);
    let (oh, ow) = (h / 2, w / 2);
    // What no window reaches gets no gradient.
    dx.fill(T::zero());
    for n in 0..p.images as usize {
        let image = n * h * w * c;
        for oy in 0..oh {
            for ox in 0..ow {
                let places = window(w, c, oy, ox).map(|at| image + at);
                let dy = &dy[((n * oh + oy) * ow + ox) * c..][..c];
                for i in 0..c {
                    let mut best = places[0] + i;
                    for at in &places[1..] {
                        if x[at + i] > x[best] {
                            best = at + i;
                        }
                    }
                    let slope = if p.activation == 0 { T::one() } else { activation_slope(p.activation, saved[best]) };
                    dx[best] = dy[i] * slope;
                }
            }
        }
    }
}

#[inline(always)]
pub fn avg_pool_forward<T: Real>(p: &AvgPoolForward, x: &[T], y: &mut [T]) {
    let (h, w, c, k) = (p.h as usize, p.w as usize, p.c as usize, p.size as usize);
    let (oh, ow) = (h / k, w / k);
    let share = T::one() / T::of((k * k) as f64);
    for n in 0..p.images as usize {
        for oy in 0..oh {
            for ox in 0..ow {
                let y = &mut y[((n * oh + oy) * ow + ox) * c..][..c];
                y.fill(T::zero());
                for at in 0..k * k {
                    let from = ((n * h + oy * k + at / k) * w + ox * k + at % k) * c;
                    for (y, x) in y.iter_mut().zip(&x[from..from + c]) {
                        *y += *x;
                    }
                }
                for y in y {
                    *y *= share;
                }
            }
        }
    }
}

#[inline(always)]
pub fn avg_pool_backward<T: Real>(p: &AvgPoolBackward, dy: &[T], saved: &[T], dx: &mut [T]) {
    let (h, w, c, k) = (p.h as usize, p.w as usize, p.c as usize, p.size as usize);
    let (oh, ow) = (h / k, w / k);
    let share = T::one() / T::of((k * k) as f64);
    for n in 0..p.images as usize {
        for iy in 0..h {
            for ix in 0..w {
                let at = ((n * h + iy) * w + ix) * c;
                let dx = &mut dx[at..at + c];
                if iy / k >= oh || ix / k >= ow {
                    dx.fill(T::zero());
                    continue;
                }
                let dy = &dy[((n * oh + iy / k) * ow + ix / k) * c..][..c];
                for i in 0..c {
                    let slope =
                        if p.activation == 0 { T::one() } else { activation_slope(p.activation, saved[at + i]) };
                    dx[i] = dy[i] * share * slope;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One 3 x 2 image: the last row falls away; the largest of 1, 4, 4, 2 is the first 4.
    #[test]
    fn max_by_hand() {
        let p = MaxPool2Forward { images: 1, h: 3, w: 2, c: 1 };
        let x = [1.0, 4.0, 4.0, 2.0, 9.0, 9.0];
        let mut y = [f64::NAN];
        max_pool2_forward(&p, &x, &mut y);
        assert_eq!(y, [4.0]);
        let p = MaxPool2Backward { images: 1, h: 3, w: 2, c: 1, activation: 0 };
        let mut dx = [f64::NAN; 6];
        max_pool2_backward(&p, &x, &[5.0], &[0.0], &mut dx);
        assert_eq!(dx, [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn average_by_hand() {
        let x = [1.0, 2.0, 3.0, 6.0];
        let mut y = [f64::NAN];
        avg_pool_forward(&AvgPoolForward { images: 1, h: 2, w: 2, c: 1, size: 2 }, &x, &mut y);
        assert_eq!(y, [3.0]);
        let mut dx = [f64::NAN; 4];
        avg_pool_backward(
            &AvgPoolBackward { images: 1, h: 2, w: 2, c: 1, size: 2, activation: 0 },
            &[8.0],
            &[0.0],
            &mut dx,
        );
        assert_eq!(dx, [2.0; 4]);
    }
}
