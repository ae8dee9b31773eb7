//! What the file says of itself: a sentence, and metadata that programs can read.

use super::proto::StringStringEntryProto;
use crate::data::encode::{FeatureKind, Target};
use crate::run::{Calibration, Model};
use serde_json::json;

pub struct About<'a> {
    pub model: &'a Model,
    pub calibration: Option<&'a Calibration>,
    /// Networks in the graph, and draws of the logits of each.
    pub replicas: usize,
    pub samples: usize,
}

impl About<'_> {
    /// "Predictive distribution of y by vifo-mean: ..."
    pub fn sentence(&self) -> String {
        let setup = &self.model.plan.setup;
        let networks = match self.replicas {
            1 => "1 network".to_string(),
            n => format!("{n} networks"),
        };
        let draws = match self.samples {
            0 => String::new(),
            s => format!(", {s} fixed draws of the logits of each"),
        };
        let calibrated = match self.calibration {
            Some(c) => format!("; calibrated on {}", c.on()),
            None => String::new(),
        };
        format!(
            "predictive distribution of {} by {}: {networks} ({}) from {} member{}{draws}{calibrated}",
            self.model.encoder.target_names(),
            self.model.recipe.method.name,
            setup.net.describe(),
            setup.members,
            if setup.members == 1 { "" } else { "s" },
        )
    }

    /// Keys and values; lists are JSON.
    pub fn metadata(&self) -> Vec<StringStringEntryProto> {
        let (model, encoder) = (self.model, &self.model.encoder);
        let setup = &model.plan.setup;
        let kind = |k: &FeatureKind| match k {
            FeatureKind::Numeric { .. } | FeatureKind::Gappy { .. } => "number",
            FeatureKind::Levels { .. } | FeatureKind::Switch { .. } => "text",
            FeatureKind::Date(_) => "date",
        };
        let columns = encoder.features.iter().map(|f| json!({"name": f.name, "kind": kind(&f.kind)}));
        let inputs = match &encoder.pixels {
            Some(p) => json!([{"name": "images", "kind": "image", "shape": [p.h, p.w, p.c]}]),
            None => columns.collect(),
        };
        let targets: Vec<&str> = encoder.targets().map(Target::name).collect();
        let unit = match &encoder.target {
            Target::Classes { .. } => "entropies are in nats",
            Target::Regression { .. } => {
                "outputs of a regression are in the unit that the target has in the training file"
            }
        };
        let mut pairs = vec![
            ("vifo.version", env!("CARGO_PKG_VERSION").to_string()),
            ("vifo.method", model.recipe.method.name.clone()),
            ("vifo.task", if encoder.n_classes().is_some() { "classification" } else { "regression" }.to_string()),
            ("vifo.network", setup.net.describe()),
            ("vifo.members", setup.members.to_string()),
            ("vifo.networks", self.replicas.to_string()),
            ("vifo.seed", model.plan.seed.to_string()),
            ("vifo.inputs", inputs.to_string()),
            ("vifo.targets", json!(targets).to_string()),
            ("vifo.unit", unit.into()),
            ("vifo.calibration", self.calibration.map_or("none".into(), |c| format!("on {}", c.on()))),
        ];
        if let Some(nu) = setup.nu {
            pairs.push(("vifo.noise", format!("Student-t, {nu} degrees of freedom")));
        }
        if let Target::Classes { labels, .. } = &encoder.target {
            pairs.push(("vifo.classes", json!(labels).to_string()));
            pairs.push(("vifo.logit_draws", self.samples.to_string()));
            if let Some(t) = self.calibration.and_then(|c| c.temperature) {
                pairs.push(("vifo.temperature", t.value.to_string()));
            }
        }
        let entry = |(key, value): (&str, String)| StringStringEntryProto { key: Some(key.into()), value: Some(value) };
        pairs.into_iter().map(entry).collect()
    }
}
