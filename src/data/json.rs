//! JSON as the text of a table: records (a list of objects, or an object per line), columns (an object of lists, or pandas' objects by
//! row), rows (a list of lists), and pandas' "split" and "table". Must not know what a table means.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is wrong, and what to do.
type Refused = (String, &'static str);

/// Longer text is refused: its parts take many times its memory.
const MOST_BYTES: usize = 512 << 20;
/// Records of which each has other names would be a table of almost only empty cells.
const MOST_CELLS: usize = 500_000_000;
const TO_CSV: &str = "save it as CSV: pandas.read_json(FILE).to_csv(\"data.csv\", index=False)";
const FLATTEN: &str = "make it records without lists, or save it as CSV: pandas.json_normalize(RECORDS).to_csv(\"data.csv\", index=False)";

/// An object, lines of objects, or a list of objects or lists, also where the end is missing; a header may begin with a bracket,
/// too.
pub(super) fn is_json(text: &str) -> bool {
    let text = text.trim();
    let inner = text.get(1..).unwrap_or("").trim_start();
    match text.chars().next() {
        Some('{') if inner.starts_with('"') => text.ends_with('}') || inner.lines().take(1).any(|l| l.contains("\":")),
        Some('{') => text.ends_with('}') && inner.starts_with('}'),
        Some('[') => inner.starts_with('{') || text.ends_with(']') && inner.starts_with('['),
        _ => false,
    }
}

/// The same as CSV, and how many rows it has.
pub(super) fn to_csv(text: &str) -> Result<(String, usize), Refused> {
    if text.len() > MOST_BYTES {
        return Err(("is JSON of more than 512 MiB".into(), TO_CSV));
    }
    let values = serde_json::Deserializer::from_str(text).into_iter().collect::<Result<Vec<Value>, _>>();
    let mut values =
        values.map_err(|e| (format!("is damaged JSON ({e})"), "write the file again, with null for NaN"))?;
    let table = match (values.len(), values.pop()) {
        (1, Some(Value::Array(items))) => of_items(items)?,
        (1, Some(Value::Object(object))) => of_object(object)?,
        (_, last) => of_items(values.into_iter().chain(last).collect())?,
    };
    table.csv()
}

/// Columns in the order in which they first appear, and of each row the cells that it has, with their columns.
#[derive(Default)]
struct Rows {
    names: Vec<String>,
    place: BTreeMap<String, usize>,
    /// Columns; of lists, which have no names, as many as the longest has cells.
    width: usize,
    rows: Vec<Vec<(usize, String)>>,
}

impl Rows {
    fn column(&mut self, name: &str) -> usize {
        if let Some(place) = self.place.get(name) {
            return *place;
        }
        self.place.insert(name.into(), self.width);
        self.names.push(name.into());
        self.width += 1;
        self.width - 1
    }

    /// A value at a name; the parts of an object at names of their own.
    fn put(&mut self, row: usize, name: &str, value: &Value) -> Result<(), Refused> {
        if let Value::Object(parts) = value {
            return parts.iter().try_for_each(|(part, value)| self.put(row, &format!("{name}.{part}"), value));
        }
        let list = || (format!("is JSON whose record {} has a list at \"{name}\"", row + 1), FLATTEN);
        let cell = cell(value).ok_or_else(list)?;
        let column = self.column(name);
        if self.rows.len() <= row {
            self.rows.resize(row + 1, vec![]);
        }
        self.rows[row].push((column, cell));
        Ok(())
    }

    fn csv(self) -> Result<(String, usize), Refused> {
        let (n, width) = (self.rows.len(), self.width);
        if width == 0 {
            return Err(("is JSON without a value".into(), TO_CSV));
        }
        if n.saturating_mul(width) > MOST_CELLS {
            return Err((format!("is JSON whose {n} records have {width} different names"), FLATTEN));
        }
        let written = || {
            let mut writer = csv::Writer::from_writer(vec![]);
            if !self.names.is_empty() {
                writer.write_record(&self.names).ok()?;
            }
            let mut cells = vec![""; width];
            for row in &self.rows {
                cells.fill("");
                row.iter().for_each(|(column, cell)| cells[*column] = cell);
                writer.write_record(&cells).ok()?;
            }
            String::from_utf8(writer.into_inner().ok()?).ok()
        };
        written().map(|csv| (csv, n)).ok_or_else(|| ("is JSON that makes no table".into(), TO_CSV))
    }
}

/// What stands in a cell; None of a list or an object.
fn cell(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Records, or rows of cells.
fn of_items(items: Vec<Value>) -> Result<Rows, Refused> {
    let mut table = Rows::default();
    let are_lists = matches!(items.first(), Some(Value::Array(_)));
    for (i, item) in items.iter().enumerate() {
        match item {
            Value::Object(record) if !are_lists => {
                record.iter().try_for_each(|(name, value)| table.put(i, name, value))?
            }
            Value::Array(cells) if are_lists => {
                table.width = table.width.max(cells.len());
                table.rows.push(row(i, cells)?);
            }
            _ => {
                return Err((
                    format!("is JSON whose record {} is neither an object nor a list like the others", i + 1),
                    FLATTEN,
                ));
            }
        }
        // A record without a value is a row, too.
        table.rows.resize(i + 1, vec![]);
    }
    Ok(table)
}

fn row(i: usize, cells: &[Value]) -> Result<Vec<(usize, String)>, Refused> {
    let cells = cells.iter().enumerate().map(|(column, value)| Some((column, cell(value)?))).collect::<Option<_>>();
    cells.ok_or_else(|| (format!("is JSON whose row {} has a list in it", i + 1), FLATTEN))
}

/// Columns by name, or records behind one name, or one record.
fn of_object(mut object: Map<String, Value>) -> Result<Rows, Refused> {
    // pandas' "split" and "table".
    if let (Some(Value::Array(names)), Some(Value::Array(rows))) = (object.get("columns"), object.get("data")) {
        let header = row(0, names)?;
        let mut table = of_items(rows.clone())?;
        if table.names.is_empty() {
            table.width = table.width.max(header.len());
            table.rows.insert(0, header);
        }
        return Ok(table);
    }
    let is_records =
        |value: &Value| matches!(value, Value::Array(items) if matches!(items.first(), Some(Value::Object(_))));
    let mut lists = object.iter().filter(|(_, value)| is_records(value)).map(|(name, _)| name.clone());
    if let (Some(name), None) = (lists.next(), lists.next())
        && let Some(Value::Array(items)) = object.remove(&name)
    {
        return of_items(items);
    }
    let is_number = |name: &String| name.bytes().all(|b| b.is_ascii_digit());
    let mut table = Rows::default();
    if object.values().all(Value::is_object) && object.keys().all(is_number) {
        // Rows by their numbers.
        return of_items(object.into_iter().map(|(_, record)| record).collect());
    } else if object.values().all(Value::is_object) {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, column) in &object {
            for (key, value) in column.as_object().into_iter().flatten() {
                let next = places.len();
                let row = *places.entry(key).or_insert(next);
                table.put(row, name, value)?;
            }
        }
    } else if object.values().all(Value::is_array) {
        for (name, column) in &object {
            for (row, value) in column.as_array().into_iter().flatten().enumerate() {
                table.put(row, name, value)?;
            }
        }
    } else {
        return of_items(vec![Value::Object(object)]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> String {
        assert!(is_json(text), "{text}");
        to_csv(text).unwrap().0
    }

    #[test]
    fn every_form_gives_the_same_table() {
        let table = "a,b\n1,x\n2.5,\"y, z\"\n";
        for text in [
            "[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2.5, \"b\": \"y, z\"}]",
            "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2.5, \"b\": \"y, z\"}\n",
            "{\"a\": [1, 2.5], \"b\": [\"x\", \"y, z\"]}",
            "{\"a\": {\"0\": 1, \"1\": 2.5}, \"b\": {\"0\": \"x\", \"1\": \"y, z\"}}",
            "{\"0\": {\"a\": 1, \"b\": \"x\"}, \"1\": {\"a\": 2.5, \"b\": \"y, z\"}}",
            "{\"columns\": [\"a\", \"b\"], \"index\": [0, 1], \"data\": [[1, \"x\"], [2.5, \"y, z\"]]}",
            "{\"count\": 2, \"results\": [{\"a\": 1, \"b\": \"x\"}, {\"a\": 2.5, \"b\": \"y, z\"}]}",
            "[[\"a\", \"b\"], [1, \"x\"], [2.5, \"y, z\"]]",
        ] {
            assert_eq!(csv(text), table, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_empty_and_what_is_nested_has_a_name() {
        let text = "[{\"a\": null, \"p\": {\"x\": 1, \"y\": true}}, {}, {\"b\": -3, \"p\": {\"y\": false}}]";
        assert_eq!(csv(text), "a,p.x,p.y,b\n,1,true,\n,,,\n,,false,-3\n");
    }

    #[test]
    fn the_rest_is_refused_by_name() {
        for (text, found) in [
            ("[{\"a\": 1}, {\"a\": [1, 2]}]", "record 2 has a list at \"a\""),
            ("[{\"a\": 1}, [2]]", "record 2 is neither"),
            ("[[1], [[2]]]", "row 2 has a list"),
            ("[{\"a\": 1}, {\"a\": 2]", "damaged JSON (expected `,` or `}` at line 1 column 19)"),
            ("{}", "without a value"),
            ("[[]]", "without a value"),
            ("[[1], {\"a\": 2}]", "record 2 is neither"),
        ] {
            let said = to_csv(text);
            assert!(said.as_ref().is_err_and(|(said, _)| said.contains(found)), "{text}: {said:?}");
        }
        let other_names = (0..30_000).map(|i| format!("{{\"{i}\": 1}}\n")).collect::<String>();
        assert!(to_csv(&other_names).is_err_and(|(said, _)| said.contains("30000 records have 30000 different names")));
        for cut in ["{\"a\": 1}\n{\"a\"", "[{\"a\": 1},", "{\"a\": [1, 2"] {
            assert!(is_json(cut) && to_csv(cut).is_err_and(|(said, _)| said.contains("damaged")), "{cut}");
        }
        for no in ["[mm],{x}\n1,2\n", "a,b\n1,2\n", "", "{", "["] {
            assert!(!is_json(no), "{no}");
        }
    }
}
