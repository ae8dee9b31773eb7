//! The multilayer perceptron (MATH.md section 6): linear layers with an activation between them, dropout after
//! each. If asked for, on tables a periodic embedding of the numbers and an embedding of levels before them, a trained factor
//! for each input of the first one, and one for each hidden unit, which says how far its activation acts.

use super::{Last, LastAt, Layout, Pass, Places};
use crate::ops::{embed, periodic};
use crate::program::builder::{Embedded, FactorAt, LinearAt, PeriodicAt, Tensor};
use crate::program::{Act, Builder};

#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    pub n_in: u32,
    pub hidden: Vec<u32>,
    pub last: Last,
    pub activation: Act,
    /// Inputs with a periodic embedding, ascending and below `n_in`; none where the network has no such layer.
    pub embedded: Vec<u32>,
    /// Inputs that hold the numbers of levels, ascending and below `n_in`, with the sizes of their tables.
    pub tables: Vec<Embedded>,
    /// A factor for each input of the first linear layer.
    pub scaled: bool,
    /// A factor a for each hidden unit: x + a (act(x) - x) in place of act(x).
    pub parametric: bool,
    /// Share of hidden units dropped in training.
    pub dropout: f32,
}

/// A network's places, in the order of its layers.
pub(super) struct Layers {
    pub embedding: Option<PeriodicAt>,
    /// Where the first table begins.
    pub tables: Option<u32>,
    pub scale: Option<FactorAt>,
    /// Each with the factors of its activation.
    pub hidden: Vec<(LinearAt, Option<FactorAt>)>,
    pub last: LastAt,
}

impl Mlp {
    /// Name of the inputs' factors.
    pub const SCALE: &str = "scale.weight";

    /// Inputs of the first linear layer.
    pub fn n_first(&self) -> u32 {
        let width = self.tables.iter().map(|t| t.width).sum();
        embed::n_out(periodic::n_out(self.n_in, self.embedded.len() as u32), self.tables.len() as u32, width)
    }

    /// The tables by the places of their inputs behind the numbers that a periodic embedding makes.
    pub fn tables_in_place(&self) -> Vec<Embedded> {
        let made = periodic::n_out(self.n_in, self.embedded.len() as u32) - self.n_in;
        self.tables.iter().map(|t| Embedded { input: made + t.input, ..*t }).collect()
    }

    /// The embeddings, the hidden layers and the last one with their places.
    pub(super) fn layers(&self, p: &mut Places) -> Layers {
        let embedding = (!self.embedded.is_empty()).then(|| p.periodic("embedding", self.embedded.len() as u32));
        let tables = (!self.tables.is_empty()).then(|| p.tables("levels", &self.tables));
        let mut width = self.n_first();
        let scale = self.scaled.then(|| p.factor("scale", width));
        let mut hidden = vec![];
        for (i, &n) in self.hidden.iter().enumerate() {
            let linear = p.linear(&(2 * i).to_string(), width, n, None);
            hidden.push((linear, self.parametric.then(|| p.factor(&(2 * i + 1).to_string(), n))));
            width = n;
        }
        let last = p.last(&(2 * self.hidden.len()).to_string(), width, self.last);
        Layers { embedding, tables, scale, hidden, last }
    }

    /// Names as in `nn.Sequential(Linear, ReLU, Linear, ...)`, so that the factors of the first activation are 1.weight; those of
    /// the embedding are embedding.frequency, .phase, .weight and .bias, those of the tables levels.0.weight, levels.1.weight
    /// and so on, the inputs' factors scale.weight.
    pub fn layout(&self) -> Layout {
        let mut places = Places::default();
        self.layers(&mut places);
        places.layout
    }

    /// "MLP with hidden layers [50, 50]", and what stands in front of them and behind.
    pub fn describe(&self) -> String {
        let mut said = format!("MLP with hidden layers {:?}", self.hidden);
        if self.parametric && !self.hidden.is_empty() {
            said += " and parametric activations";
        }
        let of = |what: &str, n: usize, name: &str| {
            (n > 0).then(|| format!("{what} of {n} {name}{}", if n == 1 { "" } else { "s" }))
        };
        let embeddings =
            [of("a periodic embedding", self.embedded.len(), "input"), of("an embedding", self.tables.len(), "text")];
        let embeddings: Vec<String> = embeddings.into_iter().flatten().collect();
        if !embeddings.is_empty() {
            said += &format!(" on {}", embeddings.join(" and "));
        }
        said + if self.scaled { " with trained scales" } else { "" }
    }

    pub fn record(&self, b: &mut Builder, x: Tensor, pass: Pass) -> Tensor {
        let Layers { embedding, tables, scale, hidden, last } = self.layers(&mut Places::default());
        let mut x = x;
        if let Some(at) = embedding {
            x = b.periodic("embedding", x, at, &self.embedded);
        }
        if let Some(table) = tables {
            x = b.embed("levels", x, table, &self.tables_in_place());
        }
        if let Some(at) = scale {
            x = b.factor("scale", x, at, None);
        }
        for (i, (at, factors)) in hidden.into_iter().enumerate() {
            let act = Some(self.activation);
            x = b.linear(&format!("layer{i}"), x, at, if factors.is_some() { None } else { act });
            if let Some(at) = factors {
                x = b.factor(&format!("act{i}"), x, at, act);
            }
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
        let net = Mlp {
            n_in: 1,
            hidden: vec![50; 5],
            last: Last::Linear(4),
            activation: Act::Relu,
            embedded: vec![],
            tables: vec![],
            scaled: false,
            parametric: false,
            dropout: 0.0,
        };
        let layout = net.layout();
        assert_eq!(layout.total, 100 + 4 * 2550 + 204);
        let names: Vec<_> = layout.views.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names[..4], ["0.weight", "0.bias", "2.weight", "2.bias"]);
        assert_eq!(names[11], "10.bias");
        assert_eq!(layout.layers()[1], (100, 2550));
    }

    /// Each embedded input has 16 frequencies, 16 phases, 48 weights, 3 biases; the first layer sees three more
    /// inputs for each.
    #[test]
    fn an_embedding_stands_before_the_first_layer() {
        let net = Mlp {
            n_in: 5,
            hidden: vec![7],
            last: Last::Linear(2),
            activation: Act::Mish,
            embedded: vec![0, 3],
            tables: vec![],
            scaled: false,
            parametric: false,
            dropout: 0.0,
        };
        let layout = net.layout();
        assert_eq!(layout.total, 2 * (16 + 16 + 48 + 3) + 11 * 7 + 7 + 7 * 2 + 2);
        let views: Vec<_> = layout.views.iter().map(|v| (v.name.as_str(), v.shape.as_slice())).collect();
        let (d, w): (&[usize], &[usize]) = (&[2, 16], &[2, 3, 16]);
        assert_eq!(
            views[..5],
            [
                ("embedding.frequency", d),
                ("embedding.phase", d),
                ("embedding.weight", w),
                ("embedding.bias", &[2, 3]),
                ("0.weight", &[7, 11])
            ]
        );
        assert_eq!(layout.layers(), [(0, 166), (166, 84), (250, 16)]);
        let flat: Vec<f32> = (0..layout.total).map(|i| i as f32).collect();
        assert_eq!(layout.to_torch(&layout.views[2], &flat), flat[64..160]);
    }

    /// A factor for each input of the first layer, behind the embedding, and for each hidden unit; all start at 1.
    #[test]
    fn factors_stand_where_they_act() {
        let net = Mlp {
            n_in: 5,
            hidden: vec![7, 6],
            last: Last::Linear(2),
            activation: Act::Mish,
            embedded: vec![0, 3],
            tables: vec![],
            scaled: true,
            parametric: true,
            dropout: 0.0,
        };
        let layout = net.layout();
        let views: Vec<_> = layout.views.iter().map(|v| (v.name.as_str(), v.shape.as_slice(), v.offset)).collect();
        let (e, p0, p1) = (166, 166 + 11, 166 + 11 + 84);
        assert_eq!(
            views[4..],
            [
                ("scale.weight", &[11][..], e),
                ("0.weight", &[7, 11], p0),
                ("0.bias", &[7], p0 + 77),
                ("1.weight", &[7], p1),
                ("2.weight", &[6, 7], p1 + 7),
                ("2.bias", &[6], p1 + 49),
                ("3.weight", &[6], p1 + 55),
                ("4.weight", &[2, 6], p1 + 61),
                ("4.bias", &[2], p1 + 73)
            ]
        );
        assert_eq!(layout.layers().len(), 7);
        let start = super::super::init::torch_uniform(&layout, 3, 0);
        let q = super::super::init::variational(&layout, 3, 0, false, -5.0);
        for name in ["scale.weight", "1.weight", "3.weight"] {
            let view = layout.views.iter().find(|v| v.name == name).expect("a view");
            assert!(start[view.offset..][..view.len()].iter().all(|a| *a == 1.0), "{name}");
            // Normals of sd 0.1 about 1.
            assert!(q[view.offset..][..view.len()].iter().all(|a| (a - 1.0).abs() < 0.5), "{name} of VI");
        }
        let plain = Mlp { scaled: false, parametric: false, ..net.clone() };
        assert_eq!(plain.layout().total + 11 + 7 + 6, layout.total);
    }

    /// Input 1 becomes 4 numbers, input 4 two: the first layer sees them, what the numbers became, and the other inputs.
    #[test]
    fn tables_stand_before_the_first_layer() {
        let tables = vec![Embedded { input: 1, levels: 100, width: 4 }, Embedded { input: 4, levels: 7, width: 2 }];
        let net = Mlp {
            n_in: 5,
            hidden: vec![7],
            last: Last::Linear(2),
            activation: Act::Relu,
            embedded: vec![0],
            tables,
            scaled: false,
            parametric: false,
            dropout: 0.0,
        };
        assert_eq!(net.n_first(), 6 + 3 + 3);
        let layout = net.layout();
        assert_eq!(layout.total, 83 + 400 + 14 + 12 * 7 + 7 + 7 * 2 + 2);
        let views: Vec<_> = layout.views[4..7].iter().map(|v| (v.name.as_str(), v.shape.as_slice())).collect();
        let (a, b, c): (&[usize], &[usize], &[usize]) = (&[100, 4], &[7, 2], &[7, 12]);
        assert_eq!(views, [("levels.0.weight", a), ("levels.1.weight", b), ("0.weight", c)]);
        assert_eq!(layout.layers()[..2], [(0, 83), (83, 414)]);
        assert_eq!(crate::net::Net::Mlp(net).multiply_adds(), 83 + 12 * 7 + 14, "a table is looked up");
    }

    #[test]
    fn torch_order_and_back() {
        let net = Mlp {
            n_in: 2,
            hidden: vec![],
            last: Last::Linear(3),
            activation: Act::Relu,
            embedded: vec![],
            tables: vec![],
            scaled: false,
            parametric: false,
            dropout: 0.0,
        };
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
