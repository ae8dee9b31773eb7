//! A small convolutional network for small images (8 x 8 digits, 28 x 28 letters): two convolutions with pooling, one
//! hidden linear layer.

use super::{Last, LastAt, Layout, Pass, Places};
use crate::program::builder::{ConvAt, LinearAt, Tensor};
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct Cnn {
    /// Height and width of an image, at least 4.
    pub size: u32,
    pub channels: u32,
    pub last: Last,
    /// Channels of the two convolutions.
    pub widths: [u32; 2],
    pub hidden: u32,
    pub activation: Act,
    pub dropout: f32,
}

impl Cnn {
    fn layers(&self, p: &mut Places) -> ([ConvAt; 2], LinearAt, LastAt) {
        let [a, b] = self.widths;
        let side = self.size / 4;
        let convs = [p.conv("0", (self.channels, a), 3, 1, (1, 1), true), p.conv("3", (a, b), 3, 1, (1, 1), true)];
        let image = (b as usize, side as usize, side as usize);
        let hidden = p.linear("7", b * side * side, self.hidden, Some(image));
        (convs, hidden, p.last("9", self.hidden, self.last))
    }

    /// Names as in `nn.Sequential(Conv2d, act, MaxPool2d, Conv2d, act, MaxPool2d, Flatten, Linear, act, Linear)`.
    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        self.layers(&mut places);
        places.layout
    }

    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        let act = Some(self.activation);
        let (convs, fc1, fc2) = self.layers(&mut Places::default());
        let mut x = x;
        for (i, at) in convs.into_iter().enumerate() {
            x = b.conv2d(&format!("conv{}", i + 1), x, at, act);
            x = b.max_pool2(&format!("pool{}", i + 1), x);
        }
        x = b.linear("fc1", x.flat(), fc1, act);
        x = pass.dropout(b, x, self.dropout);
        fc2.record(b, "fc2", x)
    }
}
