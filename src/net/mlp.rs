//! The multilayer perceptron (MATH.md section 6): linear layers with ReLU or SiLU between them, dropout after each.

use super::{Last, LastAt, Layout, Pass, Places};
use crate::program::builder::{LinearAt, Tensor};
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    pub n_in: u32,
    pub hidden: Vec<u32>,
    pub last: Last,
    pub activation: Act,
    /// Share of hidden units dropped in training.
    pub dropout: f32,
}

impl Mlp {
    /// The hidden layers and the last one with their places.
    fn layers(&self, p: &mut Places) -> (Vec<LinearAt>, LastAt) {
        let mut width = self.n_in;
        let mut hidden = vec![];
        for (i, &n) in self.hidden.iter().enumerate() {
            hidden.push(p.linear(&(2 * i).to_string(), width, n, None));
            width = n;
        }
        (hidden, p.last(&(2 * self.hidden.len()).to_string(), width, self.last))
    }

    /// Names as in `nn.Sequential(Linear, ReLU, Linear, ...)`.
    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        self.layers(&mut places);
        places.layout
    }

    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        let (hidden, last) = self.layers(&mut Places::default());
        let mut x = x;
        for (i, at) in hidden.into_iter().enumerate() {
            x = b.linear(&format!("layer{i}"), x, at, Some(self.activation));
            x = pass.dropout(b, x, self.dropout);
        }
        last.record(b, &format!("layer{}", self.hidden.len()), x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toy_network_has_pytorchs_names_and_size() {
        let net = Mlp { n_in: 1, hidden: vec![50; 5], last: Last::Linear(4), activation: Act::Relu, dropout: 0.0 };
        let layout = net.layout();
        assert_eq!(layout.total, 100 + 4 * 2550 + 204);
        let names: Vec<_> = layout.views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[..4], ["0.weight", "0.bias", "2.weight", "2.bias"]);
        assert_eq!(names[11], "10.bias");
        assert_eq!(layout.layers()[1], (100, 2550));
    }

    #[test]
    fn torch_order_and_back() {
        let net = Mlp { n_in: 2, hidden: vec![], last: Last::Linear(3), activation: Act::Relu, dropout: 0.0 };
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
