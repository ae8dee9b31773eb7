//! The current prediction over the input space: a band for one input, a map for two, and curves from the
//! prior. Computed by the worker, drawn by the app.

use crate::data::encode::{Encoder, Feature, FeatureKind, Scale, Target};
use crate::data::{Inputs, Task};
use crate::error::Result;
use crate::exec::Device;
use crate::method::{Predictive, Trained};
use crate::train::Predictor;
use crate::train::plan::TrainingPlan;
use serde::{Deserialize, Serialize};

/// What is to be computed at each snapshot, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Least seconds between two snapshots while training runs.
    pub interval: f64,
    /// In the inputs' units; None = the training range widened by half its length on either side.
    pub x_range: Option<(f64, f64)>,
    pub y_range: Option<(f64, f64)>,
    /// Points of a band, or cells along each side of a map.
    pub band_points: usize,
    pub map_cells: usize,
    /// Number of curves from the prior and the seed of their draw; None = none.
    pub prior: Option<(u32, u32)>,
    /// Keep moments of the training, to look back at and to go on from.
    pub moments: bool,
    /// The picture is that of the moment at this step, or of the last one before it; None = as things stand.
    pub look_at: Option<u64>,
    /// What the layers of the network make of an input.
    pub network: bool,
    /// That input in the data's unit; None = the middle of the training data.
    pub input: Option<Vec<f64>>,
}

impl Default for View {
    fn default() -> Self {
        View {
            interval: 0.04,
            x_range: None,
            y_range: None,
            band_points: 161,
            map_cells: 56,
            prior: None,
            moments: false,
            look_at: None,
            network: false,
            input: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Picture {
    /// More inputs than a plane has, or images.
    #[default]
    None,
    Band(Band),
    Map(Map),
}

impl Picture {
    /// Of its numbers.
    pub fn bytes(&self) -> usize {
        let numbers = match self {
            Picture::None => 0,
            Picture::Band(b) => b.x.len() * 4 + b.members.iter().map(Vec::len).sum::<usize>(),
            Picture::Map(m) => m.probs.len() + m.total.len() + m.epistemic.len(),
        };
        numbers * size_of::<f64>()
    }

    /// Whether all inputs are predicted alike, as by a network whose units are dead.
    pub fn is_flat(&self) -> bool {
        let alike = |mut values: Box<dyn Iterator<Item = f64> + '_>, unit: f64| {
            let first = values.next().unwrap_or(f64::NAN);
            values.all(|v| (v - first).abs() <= 1e-6 * unit)
        };
        match self {
            Picture::None => false,
            Picture::Band(b) => b.mean.len() > 1 && alike(Box::new(b.mean.iter().copied()), b.total_sd(0)),
            Picture::Map(m) => {
                m.n > 1 && (0..m.k).all(|c| alike(Box::new(m.probs.iter().skip(c).step_by(m.k).copied()), 1.0))
            }
        }
    }
}

/// In the target's unit at each x.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Band {
    pub x: Vec<f64>,
    pub mean: Vec<f64>,
    pub aleatoric_sd: Vec<f64>,
    pub epistemic_sd: Vec<f64>,
    /// [members][points]; empty for a single network.
    pub members: Vec<Vec<f64>>,
}

impl Band {
    pub fn total_sd(&self, i: usize) -> f64 {
        libm::hypot(self.aleatoric_sd[i], self.epistemic_sd[i])
    }
}

/// Cell (ix, iy) at [iy * n + ix], bottom row first; entropies in nats.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Map {
    pub n: usize,
    pub k: usize,
    pub x_range: (f64, f64),
    pub y_range: (f64, f64),
    /// [n * n, k].
    pub probs: Vec<f64>,
    pub total: Vec<f64>,
    pub epistemic: Vec<f64>,
}

/// How a numeric input is scaled, and its training range.
struct Axis(Scale);

impl Axis {
    fn of(feature: &Feature) -> Option<Axis> {
        let is_number = matches!(feature.kind, FeatureKind::Numeric { .. });
        feature.kind.scale().filter(|_| is_number).map(Axis)
    }
    fn wide(&self) -> (f64, f64) {
        let Scale { min, max, .. } = self.0;
        let half = 0.5 * (max - min).max(1e-6 * max.abs()).max(1e-9);
        (min - half, max + half)
    }
    fn standard(&self, v: f64) -> f32 {
        self.0.scaled(v) as f32
    }
}

/// `asked` if it is a range at all.
fn range(asked: Option<(f64, f64)>, axis: &Axis) -> (f64, f64) {
    match asked {
        Some((low, high)) if low.is_finite() && high.is_finite() && low < high => (low, high),
        _ => axis.wide(),
    }
}

/// The inputs' range that a picture covers unless another is asked for: one pair per input; empty where there is no picture.
pub fn ranges(encoder: &Encoder) -> Vec<(f64, f64)> {
    let axes: Option<Vec<Axis>> = encoder.features.iter().map(Axis::of).collect();
    match (axes, encoder.task()) {
        (Some(axes), Task::Regression) if axes.len() == 1 => vec![axes[0].wide()],
        (Some(axes), Task::Classification) if axes.len() == 2 => vec![axes[0].wide(), axes[1].wide()],
        _ => vec![],
    }
}

/// Inputs as the network takes them, where all are numbers.
pub fn standard(encoder: &Encoder, input: &[f64]) -> Vec<f32> {
    encoder.features.iter().filter_map(Axis::of).zip(input).map(|(axis, v)| axis.standard(*v)).collect()
}

/// A predictor that is kept between snapshots.
#[derive(Default)]
pub struct Painter {
    predictor: Option<(usize, Predictor)>,
}

impl Painter {
    pub fn paint(
        &mut self,
        plan: &TrainingPlan,
        encoder: &Encoder,
        device: &Device,
        trained: &Trained,
        view: &View,
    ) -> Result<Picture> {
        if ranges(encoder).is_empty() {
            return Ok(Picture::None);
        }
        let axes: Vec<Axis> = encoder.features.iter().filter_map(Axis::of).collect();
        let x_range = range(view.x_range, &axes[0]);
        match encoder.task() {
            Task::Regression => {
                let n = view.band_points.clamp(2, 2000);
                let at = |i: usize| x_range.0 + (x_range.1 - x_range.0) * i as f64 / (n - 1) as f64;
                let x: Vec<f64> = (0..n).map(at).collect();
                let grid: Vec<f32> = x.iter().map(|x| axes[0].standard(*x)).collect();
                let mut predicted = self.predict(plan, device, trained, &grid, n)?;
                if let (Predictive::Regression(r), Target::Regression { mean, sd, .. }) =
                    (&mut predicted, &encoder.target)
                {
                    r.rescale(*mean, *sd);
                }
                let Predictive::Regression(r) = predicted else { return Ok(Picture::None) };
                let sd = |v: &[f64]| v.iter().map(|v| v.max(0.0).sqrt()).collect();
                let members = if plan.setup.members > 1 {
                    r.member_means.chunks(n).map(<[f64]>::to_vec).collect()
                } else {
                    vec![]
                };
                Ok(Picture::Band(Band {
                    x,
                    aleatoric_sd: sd(&r.aleatoric),
                    epistemic_sd: sd(&r.epistemic),
                    mean: r.mean,
                    members,
                }))
            }
            Task::Classification => {
                let n = view.map_cells.clamp(2, 400);
                let y_range = range(view.y_range, &axes[1]);
                let at = |(low, high): (f64, f64), i: usize| low + (high - low) * (i as f64 + 0.5) / n as f64;
                let grid: Vec<f32> = (0..n * n)
                    .flat_map(|i| [axes[0].standard(at(x_range, i % n)), axes[1].standard(at(y_range, i / n))])
                    .collect();
                let Predictive::Classification(c) = self.predict(plan, device, trained, &grid, n * n)? else {
                    return Ok(Picture::None);
                };
                Ok(Picture::Map(Map {
                    n,
                    k: c.k,
                    x_range,
                    y_range,
                    probs: c.probs,
                    total: c.total,
                    epistemic: c.epistemic,
                }))
            }
        }
    }

    fn predict(
        &mut self,
        plan: &TrainingPlan,
        device: &Device,
        trained: &Trained,
        grid: &[f32],
        rows: usize,
    ) -> Result<Predictive> {
        let mut predictor = match self.predictor.take() {
            Some((n, predictor)) if n == rows => predictor,
            _ => Predictor::new(&plan.setup, device, plan.seed, rows)?,
        };
        predictor.set(trained)?;
        let predicted = predictor.predict(Inputs::Rows(grid));
        self.predictor = Some((rows, predictor));
        predicted
    }
}
