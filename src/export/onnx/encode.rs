//! A table's columns as a user has them, to the inputs of the network: what `data::feature` does with cells, as nodes. A
//! number comes as a double, so that the graph standardises what `predict` standardises; a text as a string; a date as days
//! since 1970. A row that `predict` refuses is marked, and its outputs are no numbers.

use super::dates;
use super::graph::{Dim, Graph, Val, ints, texts};
use super::proto::Element;
use crate::data::encode::feature::Calendar;
use crate::data::encode::scale::FAR;
use crate::data::encode::{CLIP, Encoder, Feature, FeatureKind, Robust, Scale, Unseen};
use crate::data::table::calendar::Order;
use crate::error::{Error, Result};
use crate::method::ImageInput;
use std::collections::HashSet;
use std::f64::consts::TAU;

/// What goes into the network, and which rows may.
pub struct Encoded {
    /// Rows [n, d], or images [n, c, h, w].
    pub x: Val,
    /// [n], where rows can be refused.
    pub valid: Option<Val>,
}

/// One column's part.
struct Part {
    /// [n, inputs].
    x: Val,
    /// [n]: false where the row is refused for this cell.
    valid: Option<Val>,
    /// [n]: the cell says nothing.
    blank: Val,
    /// [n]: the cell is not as in training, and filled all the same.
    odd: Option<Val>,
}

/// The columns of `encoder` as inputs of the graph.
pub fn columns(g: &mut Graph, encoder: &Encoder) -> Result<Encoded> {
    if encoder.features.is_empty() {
        return Err(Error::run("export", "the run has no input columns", "train on a table with inputs"));
    }
    let inputs: Vec<Val> = encoder.features.iter().map(|f| input(g, f)).collect();
    let fills = encoder.missing.fills() && !encoder.strict;
    let mut parts = vec![];
    for (feature, cells) in encoder.features.iter().zip(&inputs) {
        parts.push(match &feature.kind {
            FeatureKind::Numeric { .. } | FeatureKind::Gappy { .. } => number(g, &feature.kind, cells, fills),
            FeatureKind::Levels { .. } | FeatureKind::Switch { .. } => words(g, &feature.kind, cells, fills),
            FeatureKind::Date(calendar) => date(g, calendar, cells, fills),
        });
    }
    let xs: Vec<Val> = parts.iter().map(|p| p.x.clone()).collect();
    let x = g.concat(&xs, 1);
    let mut valid: Option<Val> = None;
    for own in parts.iter().filter_map(|p| p.valid.as_ref()) {
        valid = Some(valid.map_or(own.clone(), |all| g.and(&all, own)));
    }
    // A row without any value is refused unless training had missing cells in every column.
    let odd = parts.iter().filter_map(|p| p.odd.clone()).reduce(|a, b| g.or(&a, &b));
    if let Some(odd) = odd {
        let blanks: Vec<Val> = parts.iter().map(|p| p.blank.clone()).collect();
        let mut empty = odd;
        for blank in &blanks {
            empty = g.and(&empty, blank);
        }
        let read = g.not(&empty);
        valid = Some(valid.map_or(read.clone(), |all| g.and(&all, &read)));
    }
    Ok(Encoded { x, valid })
}

/// Images [n, h, w, c] as bytes, normalised as `Predictor` does and with channels first.
pub fn images(g: &mut Graph, image: &ImageInput) -> Encoded {
    let (h, w, c) = image.size;
    let shape = [Dim::Rows, Dim::Is(h as usize), Dim::Is(w as usize), Dim::Is(c as usize)];
    let colours = if c == 1 { "grey" } else { "red, green, blue" };
    let doc = format!(
        "images of {h} rows and {w} columns, {colours}, bytes as the files have them; other sizes are resized before"
    );
    let bytes = g.input("images", Element::Uint8, &shape, &doc);
    let v = g.cast(&bytes, Element::Float);
    let v = g.affine(&v, f64::from(1.0f32 / 255.0), 0.0);
    let c = c as usize;
    let (mean, inv_sd) = (g.floats(&[c], &image.mean[..c]), g.floats(&[c], &image.inv_sd[..c]));
    let v = g.sub(&v, &mean);
    let v = g.mul(&v, &inv_sd);
    Encoded { x: g.transpose(&v, &[0, 3, 1, 2]), valid: None }
}

fn input(g: &mut Graph, feature: &Feature) -> Val {
    let (element, doc) = match &feature.kind {
        FeatureKind::Numeric { mean, sd, robust, .. } | FeatureKind::Gappy { mean, sd, robust, .. } => {
            let of = match robust {
                None => format!("mean {mean} and standard deviation {sd}"),
                Some(Robust { median, width }) => format!("median {median} and middle half {width} wide"),
            };
            (Element::Double, format!("number, in training of {of}; NaN where it is missing"))
        }
        FeatureKind::Levels { levels, .. } => {
            let shown: Vec<&str> = levels.iter().filter(|l| !l.is_empty()).take(20).map(String::as_str).collect();
            let more = if levels.len() > 21 { ", ..." } else { "" };
            let doc = format!("text, one of {}{more}; \"\" where it is missing", shown.join(", "));
            (Element::Text, doc)
        }
        FeatureKind::Switch { no, yes, .. } => (
            Element::Text,
            format!("text, {no} or {yes} in small, capital or first capital letters; \"\" where it is missing"),
        ),
        FeatureKind::Date(c) if c.order == Order::Clock => {
            let doc = "time of day as the share of the day that is over, from 0 on; NaN where it is missing";
            (Element::Double, doc.to_string())
        }
        FeatureKind::Date(_) => {
            let doc = "date as days since 1970-01-01 by its own clock, the time of day as a fraction; NaN where it is missing";
            (Element::Double, doc.to_string())
        }
    };
    g.input(&feature.name, element, &[Dim::Rows], &doc)
}

/// `Scale::scaled` in double precision.
fn scaled(g: &mut Graph, v: &Val, scale: &Scale) -> Val {
    let z = match scale.robust {
        None => {
            let (mean, sd) = (g.double(scale.mean), g.double(scale.sd));
            let centred = g.sub(v, &mean);
            g.div(&centred, &sd)
        }
        Some(Robust { median, width }) => {
            // Of a width of 0 all inputs are 0.
            let constant = width == 0.0;
            let (median, width) = (g.double(median), g.double(if constant { f64::MAX } else { width }));
            let centred = g.sub(v, &median);
            let z = g.div(&centred, &width);
            let far = if constant { 0.0 } else { FAR };
            let (low, high) = (g.double(-far), g.double(far));
            let z = g.node("Max", &[&z, &low]);
            let z = g.node("Min", &[&z, &high]);
            let (clip, one) = (g.double(CLIP), g.double(1.0));
            let share = g.div(&z, &clip);
            let square = g.square(&share);
            let sum = g.add(&square, &one);
            let root = g.sqrt(&sum);
            g.div(&z, &root)
        }
    };
    g.cast(&z, Element::Float)
}

fn number(g: &mut Graph, kind: &FeatureKind, cells: &Val, fills: bool) -> Part {
    let scale = kind.scale().unwrap_or(Scale { mean: 0.0, sd: 1.0, min: 0.0, max: 0.0, robust: None });
    let missing = g.node("IsNaN", &[cells]);
    let mut z = scaled(g, cells, &scale);
    // A clipped input is never too far; infinity less itself is no number.
    let mut size = scale.robust.map(|_| {
        let nothing = g.sub(cells, cells);
        g.cast(&nothing, Element::Float)
    });
    let flagged = matches!(kind, FeatureKind::Gappy { .. });
    if flagged || fills {
        let fill = g.scalar(f64::from(kind.filled()));
        z = g.choose(&missing, &fill, &z);
        size = size.map(|size| g.choose(&missing, &fill, &size));
    }
    // Neither missing nor too far for single precision.
    let size = g.node("Abs", &[size.as_ref().unwrap_or(&z)]);
    let most = g.scalar(f64::from(f32::MAX));
    let valid = g.node("LessOrEqual", &[&size, &most]);
    let mut parts = vec![g.unsqueeze(&z, 1)];
    if flagged {
        let flag = g.cast(&missing, Element::Float);
        parts.push(g.unsqueeze(&flag, 1));
    }
    let odd = (fills && !flagged).then(|| missing.clone());
    Part { x: g.concat(&parts, 1), valid: Some(valid), blank: missing, odd }
}

/// What a text becomes, by the number that it is given.
struct Code {
    inputs: Vec<f32>,
    refused: bool,
    blank: bool,
    odd: bool,
}

fn words(g: &mut Graph, kind: &FeatureKind, cells: &Val, fills: bool) -> Part {
    let (keys, codes) = match kind {
        FeatureKind::Levels { levels, unseen, embedded } => levels_table(levels, *unseen, *embedded, fills),
        FeatureKind::Switch { no, yes, share, flag } => switch_table(no, yes, *share as f32, *flag, fills),
        _ => (vec![], vec![]),
    };
    // Whatever else is read has the last number.
    let other = codes.len() as i64 - 1;
    let (names, numbers): (Vec<String>, Vec<i64>) = keys.into_iter().unzip();
    let default = super::graph::int("default_int64", other);
    let attributes = vec![texts("keys_strings", &names), ints("values_int64s", &numbers), default];
    let number = g.node_ml("LabelEncoder", &[cells], attributes);
    let lookup = |g: &mut Graph, of: fn(&Code) -> bool| {
        let table: Vec<bool> = codes.iter().map(of).collect();
        let table = g.bools(&table);
        g.node("Gather", &[&table, &number])
    };
    let blank = lookup(g, |c| c.blank);
    let odd = codes.iter().any(|c| c.odd).then(|| lookup(g, |c| c.odd));
    let valid = codes.iter().any(|c| c.refused).then(|| lookup(g, |c| !c.refused));
    let width = codes.first().map_or(0, |c| c.inputs.len());
    let table: Vec<f32> = codes.iter().flat_map(|c| c.inputs.iter().copied()).collect();
    let table = g.floats(&[codes.len(), width], &table);
    Part { x: g.node("Gather", &[&table, &number]), valid, blank, odd }
}

/// The words with their numbers, and what each number means; the last one is that of any other text.
type Words = (Vec<(String, i64)>, Vec<Code>);

fn levels_table(levels: &[String], unseen: Unseen, embedded: bool, fills: bool) -> Words {
    let width = levels.len() + usize::from(unseen == Unseen::Other);
    let hot = |at: Option<usize>| match embedded {
        // The number of the level; one past the last is none.
        true => vec![at.unwrap_or(levels.len()) as f32],
        false => (0..width).map(|i| f32::from(u8::from(Some(i) == at))).collect::<Vec<f32>>(),
    };
    let known = levels.first().is_some_and(String::is_empty);
    let mut keys: Vec<(String, i64)> = vec![];
    let mut codes: Vec<Code> = vec![];
    for (i, level) in levels.iter().enumerate() {
        keys.push((level.clone(), i as i64));
        codes.push(Code { inputs: hot(Some(i)), refused: false, blank: level.is_empty(), odd: false });
    }
    let mut taken: HashSet<String> = levels.iter().cloned().collect();
    // "1.0" is the level "1", as in a file; pandas writes whole numbers so beside a missing one.
    for (i, level) in levels.iter().enumerate() {
        let Ok(value) = level.parse::<f64>() else { continue };
        for text in [format!("{value}"), format!("{value:?}")] {
            if value.is_finite() && taken.insert(text.clone()) {
                keys.push((text, i as i64));
            }
        }
    }
    let rare = (unseen == Unseen::Other).then_some(levels.len());
    if !known {
        keys.push((String::new(), codes.len() as i64));
        codes.push(Code { inputs: hot(rare), refused: !fills, blank: true, odd: fills });
    }
    let refused = unseen == Unseen::Refuse;
    codes.push(Code { inputs: hot(rare), refused, blank: false, odd: !refused });
    (keys, codes)
}

fn switch_table(no: &str, yes: &str, share: f32, flag: bool, fills: bool) -> Words {
    let inputs = |v: f32, missing: f32| if flag { vec![v, missing] } else { vec![v] };
    let mut keys: Vec<(String, i64)> = vec![];
    for (word, number) in [(no, 0), (yes, 1)] {
        let capital: String = word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
        for text in [word.to_string(), word.to_uppercase(), capital] {
            if keys.iter().all(|(key, _)| *key != text) {
                keys.push((text, number));
            }
        }
    }
    keys.push((String::new(), 2));
    let plain = |v: f32| Code { inputs: inputs(v, 0.0), refused: false, blank: false, odd: false };
    let missing = Code { inputs: inputs(share, 1.0), refused: !flag && !fills, blank: true, odd: !flag && fills };
    let other = Code { inputs: inputs(share, 0.0), refused: !fills, blank: true, odd: fills };
    (keys, vec![plain(0.0), plain(1.0), missing, other])
}

fn date(g: &mut Graph, c: &Calendar, cells: &Val, fills: bool) -> Part {
    let (first, end) = (g.double(dates::FIRST), g.double(dates::END));
    let after = g.node("GreaterOrEqual", &[cells, &first]);
    let before = g.node("Less", &[cells, &end]);
    let is_date = g.and(&after, &before);
    let missing = g.node("IsNaN", &[cells]);
    let zero = g.double(0.0);
    let days = g.choose(&is_date, cells, &zero);
    let parts = dates::parts(g, &days);
    let fill = g.scalar(c.trend.scaled(c.trend.middle()));
    let trend = scaled(g, &parts.years, &c.trend);
    let mut columns = vec![g.choose(&is_date, &trend, &fill)];
    let middle = g.scalar(0.0);
    for (used, share) in [(c.year, &parts.of_year), (c.week, &parts.of_week), (c.day, &parts.of_day)] {
        if !used {
            continue;
        }
        let turn = g.cast(share, Element::Float);
        let angle = g.affine(&turn, TAU, 0.0);
        for op in ["Sin", "Cos"] {
            let v = g.node(op, &[&angle]);
            columns.push(g.choose(&is_date, &v, &middle));
        }
    }
    let unread = g.not(&is_date);
    if c.flag {
        columns.push(g.cast(&unread, Element::Float));
    }
    let columns: Vec<Val> = columns.iter().map(|v| g.unsqueeze(v, 1)).collect();
    let x = g.concat(&columns, 1);
    // A number beyond the calendar is a text that is no date; a missing one was known to training where there is a flag.
    let beyond = g.not(&missing);
    let beyond = g.and(&unread, &beyond);
    let odd = match (c.flag, fills) {
        (true, _) => Some(beyond),
        (false, true) => Some(unread.clone()),
        (false, false) => None,
    };
    let valid = (!c.flag && !fills).then(|| is_date.clone());
    Part { x, valid, blank: unread, odd }
}
