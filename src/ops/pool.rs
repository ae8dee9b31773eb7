//! Pooling over windows that do not overlap, NHWC. Odd sizes lose the last row and column, as in PyTorch.
//! The backward passes multiply by the slope of the activation that produced x, so that it needs no pass of its own.

use super::linear::{ACT_MISH, ACT_NONE, ACT_RELU, ACT_SELU, ACT_SILU, activation_slope};
use super::wide::{share, wide};
use super::{Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, binds, elements, params};
use crate::base::Real;
use rayon::prelude::*;

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

impl OpSpec for MaxPool2Forward {
    binds!(max_pool2_forward: [x] -> [y]);
    const HALVES: &'static [&'static str] = &["x", "y"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * (self.h / 2) as u64 * (self.w / 2) as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![elements(&[self.images, self.h, self.w, self.c])],
            vec![elements(&[self.images, self.h / 2, self.w / 2, self.c])],
        )
    }
    fn sizes_agree(&self) -> bool {
        true
    }
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let Self { images, h, w, c } = *self;
        let of_data = MaxPool2Backward { images, h, w, c, activation };
        Some(Gradient::Steps(vec![GradientStep {
            op: Op::MaxPool2Backward(of_data),
            reads: &[Place::X, Place::Dy, Place::Saved],
            writes: &[Place::Dx],
        }]))
    }
}
impl OpSpec for MaxPool2Backward {
    binds!(max_pool2_backward: [x, dy, saved] -> [dx]);
    const HALVES: &'static [&'static str] = &["x", "dy", "saved", "dx"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * self.h as u64 * self.w as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        let x = elements(&[self.images, self.h, self.w, self.c]);
        (
            vec![x, elements(&[self.images, self.h / 2, self.w / 2, self.c]), if self.activation == 0 { 1 } else { x }],
            vec![x],
        )
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for AvgPoolForward {
    binds!(avg_pool_forward: [x] -> [y]);
    const HALVES: &'static [&'static str] = &["x", "y"];
    fn grid(&self) -> Grid {
        Grid::Threads(
            self.images as u64
                * (self.h / self.size.max(1)) as u64
                * (self.w / self.size.max(1)) as u64
                * self.c as u64,
        )
    }
    fn lengths(&self) -> Lengths {
        let k = self.size.max(1);
        (
            vec![elements(&[self.images, self.h, self.w, self.c])],
            vec![elements(&[self.images, self.h / k, self.w / k, self.c])],
        )
    }
    fn sizes_agree(&self) -> bool {
        self.size > 0
    }
    fn gradient(&self, activation: u32) -> Option<Gradient> {
        let Self { images, h, w, c, size } = *self;
        let of_data = AvgPoolBackward { images, h, w, c, size, activation };
        Some(Gradient::Steps(vec![GradientStep {
            op: Op::AvgPoolBackward(of_data),
            reads: &[Place::Dy, Place::Saved],
            writes: &[Place::Dx],
        }]))
    }
}
impl OpSpec for AvgPoolBackward {
    binds!(avg_pool_backward: [dy, saved] -> [dx]);
    const HALVES: &'static [&'static str] = &["dy", "saved", "dx"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.images as u64 * self.h as u64 * self.w as u64 * self.c as u64)
    }
    fn lengths(&self) -> Lengths {
        let (k, x) = (self.size.max(1), elements(&[self.images, self.h, self.w, self.c]));
        (
            vec![elements(&[self.images, self.h / k, self.w / k, self.c]), if self.activation == 0 { 1 } else { x }],
            vec![x],
        )
    }
    fn sizes_agree(&self) -> bool {
        self.size > 0
    }
}

pub fn max_pool2_forward<T: Real>(p: &MaxPool2Forward, x: &[T], y: &mut [T]) {
    let (h, w, c) = (p.h as usize, p.w as usize, p.c as usize);
    let (image, pooled) = (h * w * c, (h / 2) * (w / 2) * c);
    if pooled > 0 {
        let images = y.par_chunks_mut(pooled).zip(x.par_chunks(image));
        share(x.len(), images, |(y, x)| pool_image(w * c, c, x, y));
    }
}

wide! {
    /// One image of rows of `row` elements.
    fn pool_image<T: Real>(row: usize, c: usize, x: &[T], y: &mut [T]) {
        let pooled_row = row / (2 * c) * c;
        for (y, x) in y.chunks_exact_mut(pooled_row).zip(x.chunks_exact(2 * row)) {
            let (above, below) = x.split_at(row);
            let windows = above.chunks_exact(2 * c).zip(below.chunks_exact(2 * c));
            for (y, (above, below)) in y.chunks_exact_mut(c).zip(windows) {
                let ((a, b), (d, e)) = (above.split_at(c), below.split_at(c));
                for i in 0..c {
                    y[i] = a[i].larger(b[i]).larger(d[i].larger(e[i]));
                }
            }
        }
    }
}

pub fn max_pool2_backward<T: Real>(p: &MaxPool2Backward, x: &[T], dy: &[T], saved: &[T], dx: &mut [T]) {
    let (h, w, c) = (p.h as usize, p.w as usize, p.c as usize);
    let (image, pooled) = (h * w * c, (h / 2) * (w / 2) * c);
    if pooled == 0 {
        return dx.fill(T::zero());
    }
    let images = dx.par_chunks_mut(image).zip(x.par_chunks(image)).zip(dy.par_chunks(pooled)).enumerate();
    share(x.len(), images, |(n, ((dx, x), dy))| {
        let saved = if p.activation == ACT_NONE { x } else { &saved[n * image..][..image] };
        unpool_image(p.activation, w * c, c, x, dy, saved, dx);
    });
}

wide! {
    fn unpool_image<T: Real>(
        activation: u32,
        row: usize,
        c: usize,
        x: &[T],
        dy: &[T],
        saved: &[T],
        dx: &mut [T],
    ) {
        // A constant in each arm, so that the loop over channels has no branch.
        match activation {
            ACT_NONE => unpool(ACT_NONE, row, c, x, dy, saved, dx),
            ACT_RELU => unpool(ACT_RELU, row, c, x, dy, saved, dx),
            ACT_SILU => unpool(ACT_SILU, row, c, x, dy, saved, dx),
            ACT_SELU => unpool(ACT_SELU, row, c, x, dy, saved, dx),
            _ => unpool(ACT_MISH, row, c, x, dy, saved, dx),
        }
    }
}

#[inline(always)]
fn unpool<T: Real>(activation: u32, row: usize, c: usize, x: &[T], dy: &[T], saved: &[T], dx: &mut [T]) {
    let (used, zero) = (row / (2 * c) * 2 * c, T::zero());
    let mut pairs = dx.chunks_exact_mut(2 * row);
    let rows = dy.chunks_exact(used / 2).zip(x.chunks_exact(2 * row).zip(saved.chunks_exact(2 * row)));
    for (dx, (dy, (x, saved))) in (&mut pairs).zip(rows) {
        let ((x0, x1), (s0, s1), (dx0, dx1)) = (x.split_at(row), saved.split_at(row), dx.split_at_mut(row));
        // What no window reaches gets no gradient: here an odd column, below an odd row.
        dx0[used..].fill(zero);
        dx1[used..].fill(zero);
        for (o, dy) in dy.chunks_exact(c).enumerate() {
            let window = 2 * c * o..2 * c * (o + 1);
            let ((xa, xb), (xd, xe)) = (x0[window.clone()].split_at(c), x1[window.clone()].split_at(c));
            let ((sa, sb), (sd, se)) = (s0[window.clone()].split_at(c), s1[window.clone()].split_at(c));
            let ((a, b), (d, e)) = (dx0[window.clone()].split_at_mut(c), dx1[window].split_at_mut(c));
            for i in 0..c {
                // Selects, no jumps: the largest so far and what was saved beside it.
                let at_b = xb[i] > xa[i];
                let (best, kept) = if at_b { (xb[i], sb[i]) } else { (xa[i], sa[i]) };
                let at_d = xd[i] > best;
                let (best, kept) = if at_d { (xd[i], sd[i]) } else { (best, kept) };
                let at_e = xe[i] > best;
                let kept = if at_e { se[i] } else { kept };
                let g = dy[i] * activation_slope(activation, kept);
                e[i] = if at_e { g } else { zero };
                d[i] = if at_d & !at_e { g } else { zero };
                b[i] = if at_b & !at_d & !at_e { g } else { zero };
                a[i] = if at_b | at_d | at_e { zero } else { g };
            }
        }
    }
    pairs.into_remainder().fill(zero);
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
