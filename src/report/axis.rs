//! The axis of a table whose only column is a number or a date: what stands on it, and the network's inputs there.

use super::{Input, numeric_inputs};
use crate::data::encode::{Calendar, Encoder, Feature, FeatureKind, Scale};
use crate::data::load::Loaded;
use crate::data::table::calendar::Order;
use crate::data::targets_of as targets;

/// Points of a band on numbers.
const POINTS: usize = 200;
/// Points of a band on dates for each year, where the day of the year is an input, and the most in all.
const POINTS_PER_YEAR: f64 = 24.0;
const MOST_POINTS: usize = 4000;
/// Years at the end of the data that a figure of their own shows, and as many again behind them.
const LAST_YEARS: f64 = 4.0;

pub(super) enum Axis<'a> {
    Number(Input),
    /// In years and their fractions.
    Date {
        feature: &'a Feature,
        calendar: &'a Calendar,
        years: Input,
    },
}

impl Axis<'_> {
    /// None where there is more than one column, or one of text.
    pub fn of(encoder: &Encoder) -> Option<Axis<'_>> {
        let [feature] = &encoder.features[..] else { return None };
        if let FeatureKind::Date(calendar) = &feature.kind {
            if calendar.order == Order::Clock {
                return None;
            }
            let years = Input { name: feature.name.clone(), scale: calendar.trend };
            return Some(Axis::Date { feature, calendar, years });
        }
        numeric_inputs(encoder).and_then(|mut inputs| inputs.pop()).map(Axis::Number)
    }

    fn input(&self) -> &Input {
        match self {
            Axis::Number(input) | Axis::Date { years: input, .. } => input,
        }
    }

    pub fn label(&self) -> String {
        match self {
            Axis::Number(input) => input.name.clone(),
            Axis::Date { years, .. } => format!("{} [year]", years.name),
        }
    }

    pub fn wide(&self) -> (f64, f64) {
        self.input().wide()
    }

    /// The range of the last years and what follows, where the seasons of a longer time would be too narrow to be seen.
    pub fn end(&self) -> Option<(f64, f64)> {
        match self {
            Axis::Date { calendar, .. } if calendar.year => {
                let Scale { min, max, .. } = calendar.trend;
                (max - min > 3.0 * LAST_YEARS).then_some((max - LAST_YEARS, max + LAST_YEARS))
            }
            _ => None,
        }
    }

    /// Steps of a grid from `low` to `high`.
    pub fn points(&self, low: f64, high: f64) -> usize {
        match self {
            Axis::Date { calendar, .. } if calendar.year => {
                ((POINTS_PER_YEAR * (high - low)) as usize).clamp(POINTS, MOST_POINTS)
            }
            _ => POINTS,
        }
    }

    /// The network's inputs at these places, row by row.
    pub fn encode(&self, x: &[f64]) -> Vec<f32> {
        match self {
            Axis::Number(input) => x.iter().map(|x| input.standard(*x)).collect(),
            Axis::Date { feature, .. } => x.iter().flat_map(|years| feature.inputs_at_years(*years)).collect(),
        }
    }

    /// Places and targets of the test rows of a forecast, which all lie behind what was trained on; none of other tests.
    pub fn held_out(&self, data: &Loaded) -> Vec<(f64, f64)> {
        let places = self.raw(&data.test.x);
        let seen =
            self.raw(&data.train.x).into_iter().chain(self.raw(&data.validation.x)).fold(f64::NEG_INFINITY, f64::max);
        let is_forecast = data.test.n > 1 && data.train.n > 0 && places.iter().all(|x| *x >= seen);
        if is_forecast { places.into_iter().zip(targets(&data.test)).collect() } else { vec![] }
    }

    /// The places of rows of inputs.
    pub fn raw(&self, rows: &[f32]) -> Vec<f64> {
        let width = match self {
            Axis::Number(_) => 1,
            Axis::Date { feature, .. } => feature.kind.inputs(),
        };
        rows.iter().step_by(width.max(1)).map(|v| self.input().raw(*v)).collect()
    }
}
