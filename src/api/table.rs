//! Tables for training and prediction: of a file, or of columns in memory, which are read as the file that would hold them.

use super::misuse;
use crate::data::load;
use crate::data::source::InMemory;
use crate::data::table::{self, Cells, ReadOptions};
use crate::error::{Error, Result};
use crate::recipe::{Recipe, key, keys};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// A table of named columns, of a file or of columns in memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    read: Arc<table::Table>,
    /// What a recipe says of it: where it is and how it is read.
    keys: toml::Table,
    /// Keeps the text of columns in memory.
    memory: Option<Arc<InMemory>>,
}

/// A column of a table in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Finite; NaN = missing.
    Numbers(Vec<f64>),
    /// As cells of a file: "" and "NA" are missing, "12.5 kg" is a number with its unit, "2024-05-01" a date. A column of
    /// numbers that name something, such as postcodes, needs `.set("data.as", "[\"zip=text\"]")`.
    Texts(Vec<String>),
}

macro_rules! columns {
    ($($type:ty, $kind:ident, |$v:ident| $value:expr;)*) => {$(
        impl From<Vec<$type>> for Column {
            fn from(values: Vec<$type>) -> Column {
                Column::$kind(values.into_iter().map(|$v| $value).collect())
            }
        }
    )*};
}

columns! {
    f64, Numbers, |v| v;
    f32, Numbers, |v| f64::from(v);
    i32, Numbers, |v| f64::from(v);
    u32, Numbers, |v| f64::from(v);
    Option<f64>, Numbers, |v| v.unwrap_or(f64::NAN);
    String, Texts, |v| v;
    &str, Texts, |v| v.to_string();
}

impl Table {
    /// Reads a delimited text file, plain or compressed, as `vifo fit FILE` does; `vifo inspect FILE` tells how.
    ///
    /// # Errors
    /// In one line, with the line and column of the file at fault.
    pub fn read(path: impl AsRef<Path>) -> Result<Table> {
        Table::read_with(path, &[])
    }

    /// The same where the reader is to be told something: recipe keys with the texts of their values, which hold for a training
    /// on the table too, such as `[("data.skip_lines", "3"), ("data.delimiter", ";")]`.
    pub fn read_with(path: impl AsRef<Path>, sets: &[(&str, &str)]) -> Result<Table> {
        let path = path.as_ref();
        let place = path.display().to_string();
        let mut keys = of_path(path, &place)?;
        for (key, value) in sets {
            keys::set(&mut keys, key, value, &place)?;
        }
        let recipe = Recipe::from_table(&keys, &place)?;
        let read = match &recipe.data.file {
            Some(file) if recipe.data.target_file.is_none() => load::read(&recipe.data, file)?,
            _ => return Err(misuse(place, "the rows of other data", "give those keys to the options of the training")),
        };
        Ok(Table { read: Arc::new(read), keys, memory: None })
    }

    /// Columns in memory, all of one length.
    ///
    /// ```
    /// use vifo::{Column, Table};
    /// let numbers = Table::from_columns([("x", vec![0.5, 1.0]), ("y", vec![1.5, f64::NAN])])?;
    /// let mixed = Table::from_columns([("rooms", Column::from(vec![3, 4])), ("street", vec!["Elm", "Oak"].into())])?;
    /// assert_eq!((numbers.columns(), mixed.rows()), (vec!["x", "y"], 2));
    /// # Ok::<(), vifo::Error>(())
    /// ```
    ///
    /// # Errors
    /// In one line: no columns, no rows, lengths that differ, names that occur twice, a number that is infinite.
    pub fn from_columns<N: Into<String>, C: Into<Column>>(columns: impl IntoIterator<Item = (N, C)>) -> Result<Table> {
        let columns: Vec<(String, Column)> = columns.into_iter().map(|(n, c)| (n.into(), c.into())).collect();
        check(&columns)?;
        let mut scientific = vec![false; columns.len()];
        let mut made = of_text(written(&columns, &scientific), &columns)?;
        // 12.01 and 3.05 alone are days of a month to a reader; 1.201e1 is a number for certain.
        let is_misread = |made: &Table, i: usize| !same(&made.read.columns[i].cells, &columns[i].1);
        (0..columns.len()).for_each(|i| scientific[i] = is_misread(&made, i));
        if scientific.contains(&true) {
            made = of_text(written(&columns, &scientific), &columns)?;
        }
        match (0..columns.len()).find(|&i| is_misread(&made, i)) {
            Some(i) => {
                let place = format!("column '{}'", columns[i].0);
                Err(Error::run(place, "its numbers are read as others", "this is a bug of vifo: please report it"))
            }
            None => Ok(made),
        }
    }

    pub fn rows(&self) -> usize {
        self.read.rows()
    }

    /// The names, in order.
    pub fn columns(&self) -> Vec<&str> {
        self.read.names()
    }

    /// What the reader made of cells that are no plain numbers, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.read.said()
    }

    pub(super) fn read_table(&self) -> &table::Table {
        &self.read
    }

    pub(super) fn keys(&self) -> &toml::Table {
        &self.keys
    }

    /// An error where `recipe` would not train on this table.
    pub(super) fn check(&self, recipe: &Recipe, place: &str) -> Result<()> {
        let data = &recipe.data;
        if data.file.as_ref() != Some(&self.read.path) {
            return Err(misuse(place, "other data than the table", "leave data.file and its like out"));
        }
        let own = |key: &keys::Key| {
            let (section, name) = key.path.split_once('.')?;
            self.keys.get(section)?.get(name).map(|value| value.to_string())
        };
        let in_files = [key!(data.delimiter), key!(data.header), key!(data.skip_lines)];
        let is_told = |key: &&keys::Key| {
            let value = key.value(recipe).map(|value| value.to_string());
            value != own(key) && value != key.value(&Recipe::default()).map(|value| value.to_string())
        };
        match in_files.into_iter().filter(|_| self.memory.is_some()).find(is_told) {
            Some(key) => Err(misuse(format!("{place}: {}", key.path), "no file is read", "leave it out")),
            None => Ok(()),
        }
    }
}

/// The keys of a recipe for the table of `path`.
fn of_path(path: &Path, place: &str) -> Result<toml::Table> {
    let mut keys = toml::Table::new();
    let path = toml::Value::String(path.display().to_string());
    keys::set(&mut keys, key!(data.file).path, &path.to_string(), place)?;
    Ok(keys)
}

fn check(columns: &[(String, Column)]) -> Result<()> {
    let len = |column: &Column| match column {
        Column::Numbers(v) => v.len(),
        Column::Texts(v) => v.len(),
    };
    let Some((first, rows)) = columns.first().map(|(name, c)| (name, len(c))) else {
        return Err(Error::data("columns", "none", "one or more", "name the columns of a table"));
    };
    for (i, (name, column)) in columns.iter().enumerate() {
        let place = format!("column '{name}'");
        if name.is_empty() || columns[..i].iter().any(|(other, _)| other == name) {
            let found = if name.is_empty() { "has no name" } else { "occurs twice" };
            return Err(Error::data(place, found, "", "give each column a name of its own"));
        }
        if len(column) != rows || rows == 0 {
            let allowed = if rows == 0 { "one or more".into() } else { format!("{rows}, as column '{first}' has") };
            return Err(Error::data(place, format!("{} rows", len(column)), allowed, "give a value for every row"));
        }
        if let Column::Numbers(v) = column
            && let Some(row) = v.iter().position(|v| v.is_infinite())
        {
            let found = v[row].to_string();
            return Err(Error::data(
                format!("{place}, row {row}"),
                found,
                "finite numbers, or NaN for a missing one",
                "",
            ));
        }
    }
    Ok(())
}

/// The text of a file that holds the columns. Texts stand in quotes, so that none is taken for a comment or a delimiter.
fn written(columns: &[(String, Column)], scientific: &[bool]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = columns.iter().map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(",");
    out.push('\n');
    let rows = columns.iter().map(|(_, c)| match c {
        Column::Numbers(v) => v.len(),
        Column::Texts(v) => v.len(),
    });
    for row in 0..rows.min().unwrap_or(0) {
        for (i, (_, column)) in columns.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            // The shortest decimals that are read as the same number.
            let _ = match column {
                Column::Numbers(v) if v[row].is_nan() => write!(out, "nan"),
                Column::Numbers(v) if scientific[i] => write!(out, "{:e}", v[row]),
                Column::Numbers(v) => write!(out, "{:?}", v[row]),
                Column::Texts(v) => write!(out, "{}", quoted(&v[row])),
            };
        }
        out.push('\n');
    }
    out
}

/// Reads the text of columns. Where a reader of the file would not find its header and its commas by itself, the keys say
/// them: a saved model keeps the table as a file.
fn of_text(text: String, columns: &[(String, Column)]) -> Result<Table> {
    let memory = InMemory::new(text);
    let place = "columns";
    let is_so = |t: &table::Table| t.header && t.delimiter == b',' && t.names().iter().eq(columns.iter().map(|c| &c.0));
    let mut keys = of_path(memory.name(), place)?;
    let told = ReadOptions::default().for_path(memory.name());
    let read = match table::read_table(memory.name(), &ReadOptions::default()) {
        Ok(found) if is_so(&found) => table::Table { options: told, ..found },
        _ => {
            keys::set(&mut keys, key!(data.header).path, "true", place)?;
            keys::set(&mut keys, key!(data.delimiter).path, "\",\"", place)?;
            table::read_table(memory.name(), &told)?
        }
    };
    if !is_so(&read) {
        let name = columns.iter().find(|(name, _)| !read.names().contains(&name.as_str())).map_or("", |c| &c.0);
        let (place, allowed) = (format!("column '{name}'"), "words with single blanks between them");
        return Err(Error::data(place, "is no name that a file could hold", allowed, "choose another name"));
    }
    Ok(Table { read: Arc::new(read), keys, memory: Some(Arc::new(memory)) })
}

/// Whether numbers were read as they were given.
fn same(read: &Cells, given: &Column) -> bool {
    match (read, given) {
        (_, Column::Texts(_)) => true,
        (Cells::Number(read), Column::Numbers(given)) => {
            read.len() == given.len() && read.iter().zip(given).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
        }
        (Cells::Text(read), Column::Numbers(given)) => read.missing() == read.len() && given.iter().all(|v| v.is_nan()),
    }
}
