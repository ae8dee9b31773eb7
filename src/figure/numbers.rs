//! The numbers behind a figure as one table, for a file beside the picture: nothing that the drawing thins out, cuts
//! off or leaves away is missing here. Column names begin with a short key that is the same in every figure of a
//! kind; what the figure calls the quantity, with its unit, follows a colon ("mean: price (1000 $)").

/// One cell: a number, a text, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Number(f64),
    Text(String),
    Empty,
}

/// A table with one name per column; every row has as many cells as there are names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Number(value)
    }
}

impl From<usize> for Cell {
    /// Exact up to 2^53.
    fn from(value: usize) -> Self {
        Cell::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Cell::Text(text.clone())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Empty, Into::into)
    }
}

impl Cell {
    /// The shortest decimals that read back as the same f64; a number that is none is empty, infinities are "inf" and
    /// "-inf".
    fn text(&self) -> String {
        match self {
            Cell::Number(v) if v.is_nan() => String::new(),
            Cell::Number(v) => exact(*v),
            Cell::Text(text) => text.clone(),
            Cell::Empty => String::new(),
        }
    }
}

/// The shortest decimals that read back as the same f64: "0.1", "1.7e-13", "NaN", "-inf".
pub fn exact(v: f64) -> String {
    // Hundreds of zeros would be exact too, but unreadable.
    if v != 0.0 && v.is_finite() && !(1e-5..1e16).contains(&v.abs()) { format!("{v:e}") } else { v.to_string() }
}

/// A column's name: its key, and the figure's own label where it has one that says more.
pub fn named(key: &str, label: &str) -> String {
    match label.split_whitespace().collect::<Vec<_>>().join(" ") {
        label if label.is_empty() || label == key => key.to_owned(),
        label => format!("{key}: {label}"),
    }
}

/// The value of a list that may be shorter than its fellows.
pub fn at(values: &[f64], i: usize) -> Cell {
    values.get(i).copied().into()
}

impl Numbers {
    pub fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Numbers { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; cells that it lacks at its end are empty.
    pub fn push(&mut self, mut row: Vec<Cell>) {
        debug_assert!(row.len() <= self.header.len(), "{} cells under {:?}", row.len(), self.header);
        row.resize(self.header.len(), Cell::Empty);
        self.rows.push(row);
    }

    pub fn header(&self) -> &[String] {
        &self.header
    }

    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// RFC 4180 in UTF-8 with "\n" at the ends of lines; the first line is the header.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let why = "a Vec takes every byte, and all rows are as long as the header";
        writer.write_record(&self.header).expect(why);
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::text)).expect(why);
        }
        String::from_utf8(writer.into_inner().expect(why)).expect("the cells were UTF-8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_to_the_bit_and_nothing_is_empty() {
        let values =
            [0.1 + 0.2, 1.0 / 3.0, -0.0, 5.0, 1e-5, 9.9e-6, 1e15, 1e16, -1e300, 5e-324, f64::MAX, f64::INFINITY];
        for v in values {
            let text = Cell::Number(v).text();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), v.to_bits(), "{text}");
            assert!(text.len() < 25, "{text}");
        }
        assert_eq!([5.0, f64::NEG_INFINITY, f64::NAN].map(|v| Cell::from(v).text()), ["5", "-inf", ""]);
        assert_eq!(Cell::from(None::<f64>).text(), "");
    }

    #[test]
    fn text_is_quoted_and_short_rows_are_filled() {
        let mut numbers = Numbers::new([named("series", ""), named("y", "loss,\n nats"), named("x", "x")]);
        numbers.push(vec!["a \"b\", c".into(), 1.5.into()]);
        assert_eq!(numbers.csv(), "series,\"y: loss, nats\",x\n\"a \"\"b\"\", c\",1.5,\n");
    }
}
