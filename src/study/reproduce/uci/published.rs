//! The published numbers, part of the program (assets/published/README.md).

use super::sets::Set;
use crate::error::{Error, Result};

/// One line of uci_regression.csv.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    pub dataset: String,
    pub method: String,
    pub metric: String,
    pub mean: f64,
    pub error: Option<f64>,
    /// The error is a standard deviation over splits, not the standard error of the mean.
    pub is_sd: bool,
    pub source: String,
}

/// The row that ours are compared with.
pub const DEEP_ENSEMBLES: &str = "Deep Ensembles M=5";

#[derive(Debug)]
pub struct Published(Vec<Number>);

impl Published {
    pub fn read() -> Result<Published> {
        let text = include_str!("../../../../assets/published/uci_regression.csv");
        let mut out = vec![];
        for (i, record) in csv::Reader::from_reader(text.as_bytes()).records().enumerate() {
            let broken = |found: String| {
                let place = format!("assets/published/uci_regression.csv, line {}", i + 2);
                Error::run(place, found, "this is a bug of vifo: please report it")
            };
            let record = record.map_err(|e| broken(e.to_string()))?;
            let cell = |j: usize| record.get(j).unwrap_or_default().trim().to_string();
            let number = |j: usize| cell(j).parse::<f64>().map_err(|_| broken(format!("'{}' is no number", cell(j))));
            let is_sd = match cell(5).as_str() {
                "standard_deviation" => true,
                "standard_error" => false,
                other => return Err(broken(format!("'{other}' is no kind of error"))),
            };
            out.push(Number {
                dataset: cell(0),
                method: cell(1),
                metric: cell(2),
                mean: number(3)?,
                error: if cell(4).is_empty() { None } else { Some(number(4)?) },
                is_sd,
                source: cell(6),
            });
        }
        Ok(Published(out))
    }

    pub fn numbers(&self) -> &[Number] {
        &self.0
    }

    /// Methods in the order of the file.
    pub fn methods(&self) -> Vec<&str> {
        let mut out: Vec<&str> = vec![];
        for n in &self.0 {
            if !out.contains(&n.method.as_str()) {
                out.push(&n.method);
            }
        }
        out
    }

    pub fn find(&self, set: &Set, method: &str, metric: &str) -> Option<&Number> {
        self.0.iter().find(|n| n.dataset == set.name && n.method == method && n.metric == metric)
    }
}

impl Number {
    /// Standard error of the mean: a standard deviation over the protocol's splits is divided by the root of their number.
    pub fn standard_error(&self, set: &Set) -> Option<f64> {
        let root = if self.is_sd { (set.splits as f64).sqrt() } else { 1.0 };
        self.error.map(|e| e / root)
    }
}
