//! The multilayer perceptron (MATH.md section 6): linear layers with ReLU or SiLU between them, dropout after each.

use super::{Layout, Places};
use crate::program::builder::Tensor;
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    pub n_in: u32,
    pub hidden: Vec<u32>,
    pub n_out: u32,
    pub activation: Act,
    /// Share of hidden units dropped in training.
    pub dropout: f32,
}

impl Mlp {
    /// Inputs and outputs of each layer.
    fn sizes(&self) -> Vec<(u32, u32)> {
        let mut widths = vec![self.n_in];
        widths.extend(&self.hidden);
        widths.push(self.n_out);
        widths.windows(2).map(|w| (w[0], w[1])).collect()
    }

    /// Names as in `nn.Sequential(Linear, ReLU, Linear, ...)`.
    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        for (i, (n_in, n_out)) in self.sizes().into_iter().enumerate() {
            places.linear(&(2 * i).to_string(), n_in, n_out, None);
        }
        places.layout
    }

    pub fn record(&self, b: &mut Builder, x: Tensor, training: bool, first_replica: u32) -> Tensor {
        let mut places = Places::default();
        let mut x = x;
        for (i, (n_in, n_out)) in self.sizes().into_iter().enumerate() {
            let at = places.linear(&(2 * i).to_string(), n_in, n_out, None);
            let last = i == self.hidden.len();
            x = b.linear(&format!("layer{i}"), x, at, (!last).then_some(self.activation));
            if training && !last {
                x = b.dropout(x, self.dropout, first_replica);
            }
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toy_network_has_pytorchs_names_and_size() {
        let net = Mlp { n_in: 1, hidden: vec![50; 5], n_out: 4, activation: Act::Relu, dropout: 0.0 };
        let layout = net.layout();
        assert_eq!(layout.total, 100 + 4 * 2550 + 204);
        let names: Vec<_> = layout.views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[..4], ["0.weight", "0.bias", "2.weight", "2.bias"]);
        assert_eq!(names[11], "10.bias");
        assert_eq!(layout.layers()[1], (100, 2550));
    }

    #[test]
    fn torch_order_and_back() {
        let net = Mlp { n_in: 2, hidden: vec![], n_out: 3, activation: Act::Relu, dropout: 0.0 };
        let layout = net.layout();
        let flat: Vec<f32> = (0..9).map(|i| i as f32).collect();
        let torch = layout.to_torch(&layout.views[0], &flat);
        assert_eq!(torch, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0], "row o of PyTorch holds column o of ours");
        let mut back = vec![0.0; 9];
        for v in &layout.views {
            layout.set_from_torch(v, &layout.to_torch(v, &flat), &mut back);
        }
        assert_eq!(back, flat);
    }
}
