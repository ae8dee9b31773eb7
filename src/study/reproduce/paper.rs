//! The paper's 1,008 numbers, part of the program (assets/paper/README.md).

use super::mapping::{Method, PAPER_ETA_AUX};
use crate::error::{Error, Result};

/// One line of results.csv.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    pub metric: String,
    /// The set trained on and the set tested on.
    pub trained: String,
    pub tested: String,
    pub network: String,
    pub method: String,
    /// Of VIFO alone.
    pub eta_aux: Option<f64>,
    pub mean: f64,
    pub sd: f64,
}

pub struct Paper(Vec<Number>);

impl Paper {
    pub fn read() -> Result<Paper> {
        let text = include_str!("../../../assets/paper/results.csv");
        let mut out = vec![];
        for (i, record) in csv::Reader::from_reader(text.as_bytes()).records().enumerate() {
            let broken = |found: String| {
                let place = format!("assets/paper/results.csv, line {}", i + 2);
                Error::run(place, found, "this is a bug of vifo: please report it")
            };
            let record = record.map_err(|e| broken(e.to_string()))?;
            let cell = |j: usize| record.get(j).unwrap_or_default().trim().to_string();
            let number = |j: usize| cell(j).parse::<f64>().map_err(|_| broken(format!("'{}' is no number", cell(j))));
            let eta_aux = if cell(5).is_empty() { None } else { Some(number(5)?) };
            out.push(Number {
                metric: cell(0),
                trained: cell(1),
                tested: cell(2),
                network: cell(3),
                method: cell(4),
                eta_aux,
                mean: number(6)?,
                sd: number(7)?,
            });
        }
        Ok(Paper(out))
    }

    pub fn numbers(&self) -> &[Number] {
        &self.0
    }

    /// Mean and sd, if the paper has them.
    pub fn find(
        &self,
        metric: &str,
        (trained, tested): (&str, &str),
        network: &str,
        method: &Method,
        eta_aux: Option<f64>,
    ) -> Option<(f64, f64)> {
        let is = |n: &&Number| {
            n.metric == metric
                && n.trained == trained
                && n.tested == tested
                && n.network == network
                && n.method == method.paper
                && n.eta_aux == eta_aux
        };
        self.0.iter().find(is).map(|n| (n.mean, n.sd))
    }
}

/// Whether the paper has VIFO with this weight of auxiliary training.
pub fn has_eta_aux(eta_aux: f64) -> bool {
    PAPER_ETA_AUX.contains(&eta_aux)
}
