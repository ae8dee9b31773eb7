//! A date's inputs from the number of its day, as `data::calendar` makes them from a text: the Gregorian calendar in whole
//! numbers, all of them positive for the years that are read (1000 to 2999).

use super::graph::{Graph, Val};
use super::proto::Element;

/// Days since 1970-01-01 of 1000-01-01 and 3000-01-01: what lies outside is no date, as in a file.
pub const FIRST: f64 = -354_285.0;
pub const END: f64 = 376_200.0;

/// What the inputs of a date are made of, doubles [n].
pub struct Parts {
    /// Year and the fraction of it that is over.
    pub years: Val,
    /// Shares that are over, in [0, 1).
    pub of_year: Val,
    pub of_week: Val,
    pub of_day: Val,
}

/// Whole numbers [n].
struct Whole<'a>(&'a mut Graph);

impl Whole<'_> {
    fn op(&mut self, op: &str, a: &Val, b: i64) -> Val {
        let b = self.0.whole(b);
        self.0.node(op, &[a, &b])
    }
    fn add(&mut self, a: &Val, b: i64) -> Val {
        self.op("Add", a, b)
    }
    fn mul(&mut self, a: &Val, b: i64) -> Val {
        self.op("Mul", a, b)
    }
    fn div(&mut self, a: &Val, b: i64) -> Val {
        self.op("Div", a, b)
    }
    /// a + b / 4 - b / 100 + b / 400: the leap days of `b` years.
    fn with_leap_days(&mut self, a: &Val, b: &Val) -> Val {
        let mut sum = a.clone();
        for (period, op) in [(4, "Add"), (100, "Sub"), (400, "Add")] {
            let part = self.div(b, period);
            sum = self.0.node(op, &[&sum, &part]);
        }
        sum
    }
    /// Day number of the first of January of `year`.
    fn start(&mut self, year: &Val) -> Val {
        // Days before it since the year 0: those of all years before.
        let before = self.add(year, -1);
        let plain = self.mul(&before, 365);
        let days = self.with_leap_days(&plain, &before);
        // 0001-01-01 is day -719162.
        self.add(&days, -719_162)
    }
}

/// `days`: doubles [n] within `FIRST` and `END`.
pub fn parts(g: &mut Graph, days: &Val) -> Parts {
    let day = g.node("Floor", &[days]);
    let of_day = g.sub(days, &day);
    let number = g.cast(&day, Element::Int64);
    let mut w = Whole(g);
    // A year that cannot be too late, and is early by one at most: 146,097 days are 400 years.
    let since = w.add(&number, 719_162);
    let scaled = w.mul(&since, 400);
    let guess = w.div(&scaled, 146_097);
    let early = w.add(&guess, 0);
    let late = w.add(&guess, 2);
    let middle = w.add(&guess, 1);
    let (start_middle, start_late) = (w.start(&middle), w.start(&late));
    // The last of three years whose first day is not behind this one.
    let is_late = w.0.node("GreaterOrEqual", &[&number, &start_late]);
    let is_middle = w.0.node("GreaterOrEqual", &[&number, &start_middle]);
    let year = w.0.choose(&is_middle, &middle, &early);
    let year = w.0.choose(&is_late, &late, &year);
    let start = w.start(&year);
    let next = w.add(&year, 1);
    let end = w.start(&next);
    let past = w.0.sub(&number, &start);
    let length = w.0.sub(&end, &start);
    // 1970-01-01 was a Thursday; 700,000 is a multiple of 7 that makes all days positive.
    let shifted = w.add(&number, 700_003);
    let seven = w.0.whole(7);
    let weekday = w.0.node("Mod", &[&shifted, &seven]);
    let g = w.0;
    let [past, length, year, weekday] = [past, length, year, weekday].map(|v| g.cast(&v, Element::Double));
    let past = g.add(&past, &of_day);
    let of_year = g.div(&past, &length);
    let years = g.add(&year, &of_year);
    let week = g.double(7.0);
    let of_week = g.div(&weekday, &week);
    Parts { years, of_year, of_week, of_day }
}
