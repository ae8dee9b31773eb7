//! Networks: which weights they have and how they are recorded. `mlp` for tables and curves; images get files of their own.

pub mod init;
pub mod mlp;

pub use mlp::Mlp;

/// One named part of a network's flat weight vector.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// PyTorch's name, such as "0.weight".
    pub name: String,
    /// PyTorch's shape: [n_out, n_in] or [n_out]. The flat vector holds the transpose of a weight: [n_in, n_out].
    pub shape: Vec<usize>,
    pub offset: usize,
    /// Inputs of one output, for initial weights.
    pub fan_in: usize,
    /// Number of the layer, for the per-layer groups of VI.
    pub layer: usize,
}

impl View {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The table of views over one replica's weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    pub views: Vec<View>,
    /// P.
    pub total: usize,
}

impl Layout {
    /// This view's weights in PyTorch's order, from the flat vector.
    pub fn to_torch(&self, view: &View, flat: &[f32]) -> Vec<f32> {
        let part = &flat[view.offset..view.offset + view.len()];
        match view.shape[..] {
            [n_out, n_in] => (0..n_out * n_in).map(|i| part[(i % n_in) * n_out + i / n_in]).collect(),
            _ => part.to_vec(),
        }
    }

    /// The other way round: `values` in PyTorch's order into the flat vector.
    pub fn set_from_torch(&self, view: &View, values: &[f32], flat: &mut [f32]) {
        let part = &mut flat[view.offset..view.offset + view.len()];
        match view.shape[..] {
            [n_out, n_in] => {
                for (i, v) in values.iter().enumerate() {
                    part[(i % n_in) * n_out + i / n_in] = *v;
                }
            }
            _ => part.copy_from_slice(values),
        }
    }

    /// (first, length) of each layer's weights.
    pub fn layers(&self) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = vec![];
        for v in &self.views {
            match out.get_mut(v.layer) {
                Some(part) => part.1 += v.len(),
                None => out.push((v.offset, v.len())),
            }
        }
        out
    }
}
