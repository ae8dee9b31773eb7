//! The paper's small AlexNet (MATH.md section 6) for 32 x 32 images: 1.49 M weights, 40.6 M multiply-adds per image.

use super::{Last, LastAt, Layout, Pass, Places};
use crate::program::builder::{ConvAt, LinearAt, Tensor};
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct AlexNet {
    /// 1 or 3.
    pub channels: u32,
    pub last: Last,
    /// Channels of the five convolutions; the paper's are 64, 128, 256, 128, 64.
    pub widths: [u32; 5],
    /// Units of the two hidden linear layers; the paper's is 256.
    pub hidden: u32,
    pub dropout: f32,
}

/// "same" with a 2 x 2 kernel pads one row below and one column right.
const SAME: (u32, u32) = (0, 1);
const SILU: Option<Act> = Some(Act::Silu);

impl AlexNet {
    pub fn paper(channels: u32, last: impl Into<Last>) -> AlexNet {
        let last = last.into();
        AlexNet { channels, last, widths: [64, 128, 256, 128, 64], hidden: 256, dropout: 0.0 }
    }

    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        self.layers(&mut places);
        places.layout
    }

    /// Convolutions and linear layers with their places, under the names of PyTorch's `nn.Sequential`.
    fn layers(&self, p: &mut Places) -> ([ConvAt; 5], [LinearAt; 2], LastAt) {
        let [a, b, c, d, e] = self.widths;
        let convs = [
            p.conv("0", (self.channels, a), 3, 1, (1, 1), true),
            p.conv("3", (a, b), 3, 1, (1, 1), true),
            p.conv("6.1", (b, c), 2, 1, SAME, true),
            p.conv("8.1", (c, d), 2, 1, SAME, true),
            p.conv("10.1", (d, e), 2, 1, SAME, true),
        ];
        let linears = [
            p.linear("13", e * 64, self.hidden, Some((e as usize, 8, 8))),
            p.linear("15", self.hidden, self.hidden, None),
        ];
        (convs, linears, p.last("17", self.hidden, self.last))
    }

    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        let (convs, [fc1, fc2], fc3) = self.layers(&mut Places::default());
        let mut x = x;
        for (i, at) in convs.into_iter().enumerate() {
            x = b.conv2d(&format!("conv{}", i + 1), x, at, SILU);
            if i < 2 {
                x = b.max_pool2(&format!("pool{}", i + 1), x);
            }
            x = pass.dropout(b, x, self.dropout);
        }
        x = b.linear("fc1", x.flat(), fc1, SILU);
        x = pass.dropout(b, x, self.dropout);
        x = b.linear("fc2", x, fc2, SILU);
        x = pass.dropout(b, x, self.dropout);
        fc3.record(b, "fc3", x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_papers_size_and_pytorchs_names() {
        let layout = AlexNet::paper(3, 10).layout();
        // 1,792 + 73,856 + 131,328 + 131,200 + 32,832 in the convolutions, 1,048,832 + 65,792 + 2,570 in the linear layers.
        assert_eq!(layout.total, 1_488_202);
        let net = crate::net::Net::AlexNet(AlexNet::paper(3, 10));
        assert!((net.multiply_adds() as f64 / 40.63e6 - 1.0).abs() < 0.001, "{}", net.multiply_adds());
        let names: Vec<_> = layout.views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[..6], ["0.weight", "0.bias", "3.weight", "3.bias", "6.1.weight", "6.1.bias"]);
    }
}
