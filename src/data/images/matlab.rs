//! Numeric arrays of a MATLAB version 5 file, plain or zlib-compressed, either byte order. Source: The MathWorks,
//! "MAT-File Format", chapter 1. Knows no data set; reads no cell, struct, sparse or complex array.

use super::place;
use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;

/// A named array; `data` is column-major.
#[derive(Debug)]
pub(crate) struct Array {
    pub name: String,
    pub dims: Vec<usize>,
    pub data: Data,
}

#[derive(Debug)]
pub(crate) enum Data {
    U8(Vec<u8>),
    Number(Vec<f64>),
    /// Of another class, by its number: present, but of no use here.
    Other(u8),
}

const ALLOWED: &str = "a MATLAB version 5 file";
const REFETCH: &str = "fetch the file again";
/// More unpacked bytes than this in one array are refused.
const MAX_BYTES: u64 = 4 << 30;

const MI_UINT8: u32 = 2;
const MI_INT32: u32 = 5;
const MI_UINT32: u32 = 6;
const MI_MATRIX: u32 = 14;
const MI_COMPRESSED: u32 = 15;

/// All arrays of the file, in its order.
pub(crate) fn arrays(path: &Path, raw: &[u8]) -> Result<Vec<Array>> {
    let big_endian = header(path, raw)?;
    let mut rest = Reader { path, bytes: &raw[HEADER..], big_endian };
    let mut out = Vec::new();
    while !rest.bytes.is_empty() {
        let (kind, size) = rest.long_tag()?;
        // Compressed elements are not padded, and plain ones are multiples of eight already.
        let body = rest.take(size)?;
        match kind {
            MI_MATRIX => out.push(rest.on(body).array()?),
            MI_COMPRESSED => {
                let unpacked = unpack(path, body)?;
                let mut inner = rest.on(&unpacked);
                let (kind, size) = inner.long_tag()?;
                let body = inner.take(size)?;
                if kind == MI_MATRIX {
                    out.push(inner.on(body).array()?);
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

const HEADER: usize = 128;

/// Whether the file is big-endian.
fn header(path: &Path, raw: &[u8]) -> Result<bool> {
    let refuse = |found: &str, help: &str| Err(Error::data(place(path), found, ALLOWED, help));
    if raw.starts_with(b"MATLAB 7.3") || raw.starts_with(b"\x89HDF") {
        return refuse(
            "is a MATLAB 7.3 (HDF5) file",
            "save it in MATLAB with the option -v7, or fetch the published file",
        );
    }
    match raw.get(124..HEADER) {
        Some([0, 1, b'I', b'M']) => Ok(false),
        Some([1, 0, b'M', b'I']) => Ok(true),
        Some(_) => refuse("has no MATLAB header", REFETCH),
        None => refuse("is too short for a MATLAB header", REFETCH),
    }
}

fn unpack(path: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let read = flate2::read::ZlibDecoder::new(packed).take(MAX_BYTES + 1).read_to_end(&mut out);
    if let Err(e) = read {
        return Err(Error::data(place(path), format!("holds damaged compressed data ({e})"), ALLOWED, REFETCH));
    }
    if out.len() as u64 > MAX_BYTES {
        return Err(Error::data(place(path), "an array unpacks to more than 4 GiB", "up to 4 GiB", "divide the file"));
    }
    Ok(out)
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Reader<'a> {
    fn on<'b>(&self, bytes: &'b [u8]) -> Reader<'b>
    where
        'a: 'b,
    {
        Reader { path: self.path, bytes, big_endian: self.big_endian }
    }

    fn damaged<T>(&self, found: &str) -> Result<T> {
        Err(Error::data(place(self.path), found, ALLOWED, REFETCH))
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        match self.bytes.split_at_checked(size) {
            Some((head, tail)) => {
                self.bytes = tail;
                Ok(head)
            }
            None => self.damaged(&format!("ends early: {} bytes missing", size - self.bytes.len())),
        }
    }

    fn u32(&mut self) -> Result<u32> {
        let four: [u8; 4] = self.take(4)?.try_into().unwrap_or_default();
        Ok(if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    }

    fn long_tag(&mut self) -> Result<(u32, usize)> {
        Ok((self.u32()?, self.u32()? as usize))
    }

    /// A part of an array: its type and its bytes. Small parts carry size and data inside the tag.
    fn part(&mut self) -> Result<(u32, &'a [u8])> {
        let first = self.u32()?;
        let (kind, size) = (first & 0xFFFF, (first >> 16) as usize);
        if size > 0 {
            if size > 4 {
                return self.damaged("has a small element of more than 4 bytes");
            }
            let four = self.take(4)?;
            return Ok((kind, &four[..size]));
        }
        let size = self.u32()? as usize;
        let body = self.take(size)?;
        // The padding of the last part may be missing.
        let padding = (8 - size % 8) % 8;
        self.bytes = self.bytes.get(padding..).unwrap_or_default();
        Ok((kind, body))
    }

    fn array(mut self) -> Result<Array> {
        let (kind, flags) = self.part()?;
        if kind != MI_UINT32 || flags.len() < 4 {
            return self.damaged("has an array without flags");
        }
        let class = if self.big_endian { flags[3] } else { flags[0] };
        let (kind, dims) = self.part()?;
        if kind != MI_INT32 || dims.len() % 4 != 0 || dims.len() > 128 {
            return self.damaged("has an array without dimensions");
        }
        let mut reader = self.on(dims);
        let mut shape = Vec::new();
        while !reader.bytes.is_empty() {
            shape.push(reader.u32()? as usize);
        }
        let name = String::from_utf8_lossy(self.part()?.1).into_owned();
        // 6 to 15: the numeric classes of the format (double .. uint64).
        if !(6..=15).contains(&class) {
            return Ok(Array { name, dims: shape, data: Data::Other(class) });
        }
        let (kind, body) = self.part()?;
        let data = if kind == MI_UINT8 { Data::U8(body.to_vec()) } else { Data::Number(self.numbers(kind, body)?) };
        let len = match &data {
            Data::U8(v) => v.len(),
            Data::Number(v) => v.len(),
            Data::Other(_) => 0,
        };
        let product = shape.iter().try_fold(1usize, |p, &d| p.checked_mul(d));
        if product != Some(len) {
            return self.damaged(&format!("array '{name}' has {len} values for the dimensions {shape:?}"));
        }
        Ok(Array { name, dims: shape, data })
    }

    fn numbers(&self, kind: u32, body: &[u8]) -> Result<Vec<f64>> {
        // (bytes per value, value from its bytes in little-endian order)
        let (width, value): (usize, fn([u8; 8]) -> f64) = match kind {
            1 => (1, |b| f64::from(b[0] as i8)),
            3 => (2, |b| f64::from(i16::from_le_bytes([b[0], b[1]]))),
            4 => (2, |b| f64::from(u16::from_le_bytes([b[0], b[1]]))),
            5 => (4, |b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            6 => (4, |b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            7 => (4, |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            9 => (8, f64::from_le_bytes),
            12 => (8, |b| i64::from_le_bytes(b) as f64),
            13 => (8, |b| u64::from_le_bytes(b) as f64),
            _ => return self.damaged(&format!("has numbers of the unknown type {kind}")),
        };
        if !body.len().is_multiple_of(width) {
            return self.damaged("has an array cut inside a number");
        }
        let convert = |bytes: &[u8]| {
            let mut eight = [0u8; 8];
            eight[..width].copy_from_slice(bytes);
            if self.big_endian {
                eight[..width].reverse();
            }
            value(eight)
        };
        Ok(body.chunks_exact(width).map(convert).collect())
    }
}
