//! SVHN, format 2: a MATLAB file with X, uint8 `[32, 32, 3, n]` column-major, and y, `[n, 1]`, labels 1 to 10 where 10
//! is the digit 0.

use super::matlab::{Array, Data, arrays};
use super::{ImageSet, MAX_SIDE, counted, known, place, read_bytes};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::path::Path;

pub(crate) fn read(path: &Path) -> Result<ImageSet> {
    let raw = read_bytes(path)?;
    let (note, arrays) = rayon::join(|| known::note(&raw), || arrays(path, &raw));
    let mut arrays = arrays?;
    drop(raw);
    let names: Vec<String> = arrays.iter().map(|a| a.name.clone()).collect();
    let mut named = |name: &str| -> Result<Array> {
        arrays.iter().position(|a| a.name == name).map(|i| arrays.swap_remove(i)).ok_or_else(|| {
            let found = match names.is_empty() {
                true => "holds no arrays".to_string(),
                false => format!("has no array '{name}' among {}", super::listed(&names, 5)),
            };
            let help = "name a file of SVHN's format 2 (cropped digits)";
            Error::data(place(path), found, "the arrays X and y", help)
        })
    };
    let (x, y) = (named("X")?, named("y")?);

    let shape = format!("{:?}", x.dims);
    let refuse = |found: String| {
        let help = "name a file of SVHN's format 2 (cropped digits)";
        Err(Error::data(place(path), found, "X: uint8 [32, 32, 3, n]", help))
    };
    let (h, w, n) = match x.dims[..] {
        [h, w, 3, n] => (h, w, n),
        // MATLAB drops a last dimension of 1.
        [h, w, 3] => (h, w, 1),
        _ => return refuse(format!("array X has the dimensions {shape}")),
    };
    if !(1..=MAX_SIDE).contains(&h) || !(1..=MAX_SIDE).contains(&w) || n == 0 {
        return refuse(format!("array X has the dimensions {shape}"));
    }
    let Data::U8(pixels) = x.data else {
        return refuse("array X is not of bytes".into());
    };
    let labels = labels(path, y, n)?;
    let bytes = to_nhwc(&pixels, h, w);
    let classes = (0..10).map(|digit| digit.to_string()).collect();
    let notes = note.into_iter().collect();
    Ok(ImageSet { bytes, labels, n, h, w, c: 3, classes, notes, ..Default::default() })
}

fn labels(path: &Path, y: Array, n: usize) -> Result<Vec<u32>> {
    let values: Vec<f64> = match y.data {
        Data::U8(v) => v.into_iter().map(f64::from).collect(),
        Data::Number(v) => v,
        Data::Other(class) => {
            let found = format!("array y is of class {class}, which holds no numbers");
            return Err(Error::data(place(path), found, "y: [n, 1]", "fetch the file again"));
        }
    };
    if values.len() != n {
        let found = format!("array y has {} for {}", counted(values.len(), "label"), counted(n, "image"));
        return Err(Error::data(place(path), found, "one label per image", "fetch the file again"));
    }
    let digit = |(i, y): (usize, &f64)| {
        if (1.0..=10.0).contains(y) && y.fract() == 0.0 {
            return Ok(*y as u32 % 10);
        }
        let place = format!("{}, array y, record {i} counted from 0", place(path));
        Err(Error::data(place, format!("label {y}"), "1 to 10 (10 is the digit 0)", "fetch the file again"))
    };
    values.iter().enumerate().map(digit).collect()
}

/// `[n, 3, x, y]` (column-major `[y, x, 3, n]`) -> `[n, y, x, 3]`.
fn to_nhwc(raw: &[u8], h: usize, w: usize) -> Vec<u8> {
    let size = 3 * h * w;
    let mut bytes = vec![0u8; raw.len()];
    bytes.par_chunks_exact_mut(size).zip(raw.par_chunks_exact(size)).for_each(|(image, planes)| {
        for (k, plane) in planes.chunks_exact(h * w).enumerate() {
            for (x, column) in plane.chunks_exact(h).enumerate() {
                for (y, &value) in column.iter().enumerate() {
                    image[(y * w + x) * 3 + k] = value;
                }
            }
        }
    });
    bytes
}
