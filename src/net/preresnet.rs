//! PreResNet (MATH.md section 6): pre-activation residual blocks for 32 x 32 images; depth 20 is the paper's.

use super::{Last, Layout, Pass, Places};
use crate::program::builder::{NormAt, Tensor};
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct PreResNet {
    /// 1 or 3.
    pub channels: u32,
    pub last: Last,
    /// 6 n + 2: 20, 32, 56.
    pub depth: u32,
    /// Channels of the first stage; the paper's is 16. The second and third have twice and four times as many.
    pub width: u32,
    pub dropout: f32,
}

const RELU: Option<Act> = Some(Act::Relu);

impl PreResNet {
    pub fn paper(channels: u32, last: impl Into<Last>) -> PreResNet {
        PreResNet { channels, last: last.into(), depth: 20, width: 16, dropout: 0.0 }
    }

    /// (channels in, channels out, stride) of each block.
    fn blocks(&self) -> Vec<(u32, u32, u32)> {
        let per_stage = (self.depth.saturating_sub(2) / 6).max(1);
        let mut blocks = vec![];
        let mut c_in = self.width;
        for stage in 0..3 {
            for i in 0..per_stage {
                let c_out = self.width << stage;
                blocks.push((c_in, c_out, if stage > 0 && i == 0 { 2 } else { 1 }));
                c_in = c_out;
            }
        }
        blocks
    }

    /// Multiply-adds of a forward pass of one image.
    pub fn multiply_adds(&self) -> u64 {
        let mut side = 32u64;
        let mut sum = side * side * 9 * u64::from(self.channels * self.width);
        for (c_in, c_out, stride) in self.blocks() {
            side /= u64::from(stride);
            let (a, b) = (u64::from(c_in), u64::from(c_out));
            let shortcut = if stride != 1 || c_in != c_out { a * b } else { 0 };
            sum += side * side * (9 * a * b + 9 * b * b + shortcut);
        }
        sum + u64::from(4 * self.width * self.last.n_out())
    }

    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        places.layout.normal_convs = true;
        places.conv("c", (self.channels, self.width), 3, 1, (1, 1), false);
        for (i, (c_in, c_out, stride)) in self.blocks().into_iter().enumerate() {
            places.norm(&format!("l.{i}.b1"), c_in);
            places.conv(&format!("l.{i}.c1"), (c_in, c_out), 3, stride, (1, 1), false);
            places.norm(&format!("l.{i}.b2"), c_out);
            places.conv(&format!("l.{i}.c2"), (c_out, c_out), 3, 1, (1, 1), false);
            if stride != 1 || c_in != c_out {
                places.conv(&format!("l.{i}.sc"), (c_in, c_out), 1, stride, (0, 0), false);
            }
        }
        places.norm("b", 4 * self.width);
        places.last("fc", 4 * self.width, self.last);
        places.layout
    }

    /// Walks as `layout` does.
    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        let mut p = Places::default();
        // Norm, ReLU and what dropout leaves of them.
        let norm = |b: &mut Builder, name: &str, x: Tensor, at: NormAt| {
            let y = b.batch_norm(name, x, at, RELU, pass.batch_statistics);
            pass.dropout(b, y, self.dropout)
        };
        let mut x = b.conv2d("c", x, p.conv("c", (self.channels, self.width), 3, 1, (1, 1), false), None);
        for (i, (c_in, c_out, stride)) in self.blocks().into_iter().enumerate() {
            let name = |part: &str| format!("l{i}.{part}");
            let z = norm(b, &name("b1"), x, p.norm("", c_in));
            let z = b.conv2d(&name("c1"), z, p.conv("", (c_in, c_out), 3, stride, (1, 1), false), None);
            let z = norm(b, &name("b2"), z, p.norm("", c_out));
            let z = b.conv2d(&name("c2"), z, p.conv("", (c_out, c_out), 3, 1, (1, 1), false), None);
            let shortcut = if stride != 1 || c_in != c_out {
                b.conv2d(&name("sc"), x, p.conv("", (c_in, c_out), 1, stride, (0, 0), false), None)
            } else {
                x
            };
            x = b.add(&name("sum"), z, shortcut);
        }
        let x = norm(b, "b", x, p.norm("", 4 * self.width));
        let x = b.avg_pool("pool", x, x.h);
        p.last("", 4 * self.width, self.last).record(b, "fc", x.flat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.272 M weights (MATH.md, work sizes), and one more block a stage for each six layers.
    #[test]
    fn has_the_papers_size() {
        let layout = PreResNet::paper(3, 10).layout();
        assert!((layout.total as f64 - 272_000.0).abs() < 1_000.0, "{}", layout.total);
        assert_eq!(layout.running, 2 * (16 * 7 + 32 * 6 + 64 * 6), "two numbers per normalised channel");
        // 40.81 M multiply-adds (work sizes of the paper's networks).
        assert!((PreResNet::paper(3, 10).multiply_adds() as f64 / 40.81e6 - 1.0).abs() < 0.01);
        assert_eq!(PreResNet { depth: 56, ..PreResNet::paper(3, 10) }.blocks().len(), 27);
    }
}
