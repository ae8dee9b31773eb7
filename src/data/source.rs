//! A file, a pipe or stdin to text: compression by its magic bytes, the encoding by its marks and bytes, and a clear
//! refusal of what is no text. Must not know what a table is.

use super::encoding::{Utf16, of_utf16, of_windows_1252};
use super::json;
use crate::base::fs;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More text than this is refused: a small compressed file can unpack to more than any memory.
const MAX_TEXT_BYTES: u64 = 8 << 30;
const ALLOWED: &str = "a text table or JSON records, plain or compressed (gzip, bzip2, xz, zstd, zip)";
pub use crate::recipe::STDIN;

/// The whole file as text, without its byte-order mark.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    read_source(path).map(|(text, _)| text)
}

/// The text, and what there is to say of how it was read.
pub(crate) fn read_source(path: &Path) -> Result<(String, Vec<String>)> {
    let bytes = unpacked(path, read_bytes(path)?)?;
    if let Some((found, help)) = no_table(&bytes) {
        return Err(Error::data(place(path), found, ALLOWED, help));
    }
    let (text, mut notes) = decoded(path, bytes)?;
    if !json::is_json(&text) {
        return Ok((text, notes));
    }
    let (csv, rows) = json::to_csv(&text).map_err(|(found, help)| Error::data(place(path), found, ALLOWED, help))?;
    notes.push(format!("{} is JSON, read as a table of {rows} rows; lines are counted as in a CSV of it", place(path)));
    Ok((csv, notes))
}

/// A text that no file holds, under a name by which it is read as a file would be, until this value is dropped.
#[derive(Debug)]
pub struct InMemory {
    name: PathBuf,
}

type Texts = BTreeMap<PathBuf, Arc<str>>;

fn in_memory() -> MutexGuard<'static, Texts> {
    static TEXTS: Mutex<Texts> = Mutex::new(BTreeMap::new());
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InMemory {
    pub fn new(text: String) -> InMemory {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = PathBuf::from(format!("table {} in memory", NEXT.fetch_add(1, Ordering::Relaxed)));
        in_memory().insert(name.clone(), text.into());
        InMemory { name }
    }

    /// What stands in a recipe and in messages where a file has its path.
    pub fn name(&self) -> &Path {
        &self.name
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        in_memory().remove(&self.name);
    }
}

/// Whether the path is the name of an [`InMemory`].
pub fn is_in_memory(path: &Path) -> bool {
    in_memory().contains_key(path)
}

/// Whether the content cannot be read again by another program: standard input, pipes and what is in memory.
pub fn is_stream(path: &Path) -> bool {
    is_in_memory(path) || path.as_os_str() == STDIN || fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// The bytes of a file. Those of a stream are kept, so that it can be asked for again.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    static STREAMS: Mutex<BTreeMap<PathBuf, Vec<u8>>> = Mutex::new(BTreeMap::new());
    if let Some(text) = in_memory().get(path) {
        return Ok(text.as_bytes().to_vec());
    }
    if fs::is_dir(path) {
        return Err(Error::data(place(path), "is a folder", ALLOWED, "name a file inside it"));
    }
    let failed = |e: std::io::Error| Error::io(path, "read", &e);
    if !is_stream(path) {
        return fs::read(path).map_err(failed);
    }
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = streams.get(path) {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == STDIN {
        true => std::io::stdin().lock().take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes),
        false => fs::File::open(path).and_then(|f| f.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(failed)?;
    within_limit(path, bytes.len())?;
    streams.insert(path.to_path_buf(), bytes.clone());
    Ok(bytes)
}

fn place(path: &Path) -> String {
    if path.as_os_str() == STDIN { "standard input".into() } else { path.display().to_string() }
}

/// Line, counted from 1, of a byte.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|&&b| b == b'\n').count()
}

fn within_limit(path: &Path, bytes: usize) -> Result<()> {
    if bytes as u64 > MAX_TEXT_BYTES {
        return Err(Error::data(place(path), "holds more than 8 GiB", "up to 8 GiB of text", "split the file"));
    }
    Ok(())
}

fn unpacked(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut all = |mut reader: Box<dyn Read + '_>| (&mut reader).take(MAX_TEXT_BYTES + 1).read_to_end(&mut out);
    let (name, read) = match bytes.as_slice() {
        [0x1f, 0x8b, ..] => ("gzip", all(Box::new(flate2::read::MultiGzDecoder::new(&bytes[..])))),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => {
            ("bzip2", all(Box::new(bzip2::read::MultiBzDecoder::new(&bytes[..]))))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz", all(Box::new(lzma_rust2::XzReader::new(&bytes[..], true)))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", all(Box::new(Zstd { rest: &bytes, frame: None }))),
        [b'P', b'K', 3, 4, ..] => return unzipped(path, &bytes),
        _ => return Ok(bytes),
    };
    if let Err(e) = read {
        let found = format!("is a damaged {name} file ({e})");
        return Err(Error::data(place(path), found, ALLOWED, "fetch or compress it again"));
    }
    within_limit(path, out.len())?;
    Ok(out)
}

/// One frame of zstd.
type Frame<'a> = ruzstd::decoding::StreamingDecoder<Cursor<&'a [u8]>, ruzstd::decoding::FrameDecoder>;

/// The frames of a zstd file, one after the other: parallel compressors write many.
struct Zstd<'a> {
    rest: &'a [u8],
    frame: Option<Box<Frame<'a>>>,
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let damaged = |e: &dyn std::fmt::Display| std::io::Error::new(std::io::ErrorKind::InvalidData, e.to_string());
        loop {
            if let Some(frame) = &mut self.frame {
                let n = frame.read(buffer)?;
                if n > 0 || buffer.is_empty() {
                    return Ok(n);
                }
            }
            if let Some(frame) = self.frame.take() {
                let cursor = (*frame).into_inner();
                self.rest = &self.rest[(cursor.position() as usize).min(self.rest.len())..];
            }
            let rest = self.rest;
            match rest {
                [] => return Ok(0),
                // A frame to be skipped, with its length.
                [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, after @ ..] => {
                    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                    self.rest = after.get(length..).ok_or_else(|| damaged(&"it is cut short"))?;
                }
                _ => {
                    let frame = ruzstd::decoding::StreamingDecoder::new(Cursor::new(rest)).map_err(|e| damaged(&e))?;
                    self.frame = Some(Box::new(frame));
                }
            }
        }
    }
}

/// The only file of an archive.
fn unzipped(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let refuse = |found: String, help: &str| Error::data(place(path), found, ALLOWED, help);
    let damaged = |e: &dyn std::fmt::Display| {
        let found = format!("is a damaged zip file ({e})");
        Error::data(place(path), found, ALLOWED, "fetch or compress it again")
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let names =
        archive.file_names().map(|name| name.map(Cow::into_owned)).collect::<zip::result::ZipResult<Vec<String>>>();
    let mut names = names.map_err(|e| damaged(&e))?;
    if names.iter().any(|n| n == "xl/workbook.xml" || n == "content.xml") {
        return Err(refuse("is a workbook of a spreadsheet".into(), "save the sheet as CSV"));
    }
    // What macOS adds is no file of the archive.
    names.retain(|n| !n.ends_with('/') && !n.starts_with("__MACOSX/"));
    let [name] = names.as_slice() else {
        return Err(refuse(format!("is a zip archive of {} files", names.len()), "unpack it and name one of them"));
    };
    let mut out = Vec::new();
    let file = archive.by_name(name).map_err(|e| damaged(&e))?;
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut out).map_err(|e| damaged(&e))?;
    within_limit(path, out.len())?;
    Ok(out)
}

/// What a file is that is often taken for a table, by its first bytes, and the way from it to one.
fn no_table(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const TO_CSV: &str = "save it as CSV: pandas.read_parquet(FILE).to_csv(\"data.csv\", index=False)";
    const IMAGES: &str = "images are trained on as a folder with one subfolder per class: name the folder";
    let kinds: [(&[u8], &str, &str); 14] = [
        (b"\x89PNG", "is a PNG image", IMAGES),
        (b"\xff\xd8\xff", "is a JPEG image", IMAGES),
        (b"GIF8", "is a GIF image", IMAGES),
        (b"%PDF-", "is a PDF document", "export the table in it as CSV"),
        (b"PAR1", "is a Parquet file", TO_CSV),
        (b"ARROW1", "is an Arrow file", "save it as CSV: pandas.read_feather(FILE).to_csv(\"data.csv\", index=False)"),
        (b"\xd0\xcf\x11\xe0", "is an Excel workbook (.xls)", "save the sheet as CSV"),
        (b"\x89HDF", "is an HDF5 file", "export the table in it as CSV"),
        (b"\x93NUMPY", "is a NumPy array", "save it as CSV: numpy.savetxt(\"data.csv\", array, delimiter=\",\")"),
        (
            b"SQLite format 3",
            "is an SQLite database",
            "export a table of it: sqlite3 -header -csv FILE \"select * from TABLE\"",
        ),
        (b"MATLAB 5.0 MAT-file", "is a MATLAB file", "save it as CSV: writematrix(x, \"data.csv\")"),
        (b"<!DOCTYPE html", "is a web page, not the file that it offers", "fetch the file itself"),
        (b"<!doctype html", "is a web page, not the file that it offers", "fetch the file itself"),
        (b"<html", "is a web page, not the file that it offers", "fetch the file itself"),
    ];
    kinds.iter().find(|(magic, ..)| bytes.starts_with(magic)).map(|(_, found, help)| (*found, *help))
}

/// UTF-8 unless marks or bytes say otherwise.
fn decoded(path: &Path, mut bytes: Vec<u8>) -> Result<(String, Vec<String>)> {
    if let Some(encoding) = utf16(&bytes) {
        let note = format!("the text of {} is {}", place(path), encoding.name());
        return Ok((of_utf16(&bytes, encoding), vec![note]));
    }
    // `contains` looks at many bytes at once.
    if bytes.contains(&0) {
        let nul = bytes.iter().position(|&b| b == 0).unwrap_or(0);
        let found = format!("is a binary file (zero byte in line {})", line_of(&bytes, nul));
        return Err(Error::data(place(path), found, ALLOWED, "export the data as CSV"));
    }
    if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
        bytes.drain(..3);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, vec![])),
        Err(e) => {
            let line = line_of(e.as_bytes(), e.utf8_error().valid_up_to());
            let note = format!("{} is no UTF-8 (line {line}) and is read as Windows-1252", place(path));
            Ok((of_windows_1252(e.as_bytes()), vec![note]))
        }
    }
}

/// By the byte-order mark; or because Latin letters have a zero in every second byte.
fn utf16(bytes: &[u8]) -> Option<Utf16> {
    match bytes {
        [0xFF, 0xFE, ..] => return Some(Utf16::Little),
        [0xFE, 0xFF, ..] => return Some(Utf16::Big),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(64)];
    let zeros = |offset: usize| {
        let (zeros, all) =
            head.iter().skip(offset).step_by(2).fold((0, 0), |(z, n), &b| (z + usize::from(b == 0), n + 1));
        zeros * 10 >= all * 7
    };
    let none = |offset: usize| head.iter().skip(offset).step_by(2).all(|&b| b != 0);
    match head.len() >= 4 {
        true if zeros(1) && none(0) => Some(Utf16::Little),
        true if zeros(0) && none(1) => Some(Utf16::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const BZ2: &[u8] = &[
        66, 90, 104, 57, 49, 65, 89, 38, 83, 89, 191, 135, 64, 127, 0, 0, 3, 89, 0, 0, 16, 0, 4, 48, 0, 48, 0, 32, 0,
        48, 192, 8, 105, 178, 136, 35, 39, 139, 185, 34, 156, 40, 72, 95, 195, 160, 63, 128,
    ];
    const XZ: &[u8] = &[
        253, 55, 122, 88, 90, 0, 0, 4, 230, 214, 180, 70, 2, 0, 33, 1, 22, 0, 0, 0, 116, 47, 229, 163, 1, 0, 7, 97, 44,
        98, 10, 49, 44, 50, 10, 0, 190, 156, 189, 73, 181, 18, 42, 254, 0, 1, 32, 8, 187, 25, 217, 187, 31, 182, 243,
        125, 1, 0, 0, 0, 0, 4, 89, 90,
    ];
    const ZST: &[u8] = &[40, 181, 47, 253, 32, 8, 65, 0, 0, 97, 44, 98, 10, 49, 44, 50, 10];
    const ZIP: &[u8] = &[
        80, 75, 3, 4, 20, 0, 0, 0, 8, 0, 129, 21, 125, 93, 123, 7, 151, 10, 10, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 116,
        46, 99, 115, 118, 75, 212, 73, 226, 50, 212, 49, 226, 2, 0, 80, 75, 1, 2, 20, 3, 20, 0, 0, 0, 8, 0, 129, 21,
        125, 93, 123, 7, 151, 10, 10, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 1, 0, 0, 0, 0, 116,
        46, 99, 115, 118, 80, 75, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0, 51, 0, 0, 0, 45, 0, 0, 0, 0, 0,
    ];

    fn read(bytes: &[u8]) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.csv");
        std::fs::write(&path, bytes).unwrap();
        read_text(&path)
    }

    fn noted(bytes: &[u8]) -> (String, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.csv");
        std::fs::write(&path, bytes).unwrap();
        read_source(&path).unwrap()
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_table_is_named_with_the_way_to_one() {
        for (bytes, found, help) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], "is a PNG image", "name the folder"),
            (b"%PDF-1.7\n", "is a PDF document", "as CSV"),
            (b"PAR1\0\0", "is a Parquet file", "read_parquet"),
            (b"\xd0\xcf\x11\xe0\0", "is an Excel workbook (.xls)", "save the sheet as CSV"),
            (b" [\n {\"a\": [1]}]\n", "is JSON whose record 1 has a list at \"a\"", "json_normalize"),
            (b"<!DOCTYPE html><html>", "is a web page", "fetch the file itself"),
        ] {
            let said = message(bytes);
            assert!(said.contains(found) && said.contains(help), "{said}");
        }
        assert_eq!(read(b"[mm],{x}\n1,2\n").unwrap(), "[mm],{x}\n1,2\n");
        let (csv, notes) = noted(b"\xef\xbb\xbf {\"a\": 1}\n{\"a\": 2}\n");
        assert!(csv == "a\n1\n2\n" && notes.len() == 1 && notes[0].contains("is JSON, read as a table of 2 rows"));
    }

    #[test]
    fn mark_and_gzip_vanish() {
        assert_eq!(read(b"\xEF\xBB\xBFa,b\n").unwrap(), "a,b\n");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"a,b\n").unwrap();
        let packed = gz.finish().unwrap();
        assert_eq!(read(&packed).unwrap(), "a,b\n");
        assert!(message(&packed[..packed.len() - 6]).contains("damaged gzip"));
    }

    /// Bytes of `printf 'a,b\n1,2\n'` through bzip2, xz and zstd, and through zip.
    #[test]
    fn b16_compressed_files_are_known_by_their_bytes() {
        for packed in [BZ2, XZ, ZST, ZIP] {
            assert_eq!(read(packed).unwrap(), "a,b\n1,2\n");
            let cut = message(&packed[..packed.len() / 2]);
            assert!(cut.contains("damaged"), "{cut}");
        }
    }

    #[test]
    fn b15_windows_1252_and_utf_16_are_read() {
        assert_eq!(noted(b"a,b\n1,caf\xE9 \x80\n").0, "a,b\n1,caf\u{e9} \u{20ac}\n");
        assert!(noted(b"a,b\n1,caf\xE9\n").1[0].contains("Windows-1252"));
        let text = "a,b\n1,\u{20ac}\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
        for bytes in [&little, &big, &[b"\xFF\xFE", &little[..]].concat(), &[b"\xFE\xFF", &big[..]].concat()] {
            let (read, notes) = noted(bytes);
            assert_eq!(read, text);
            assert!(notes[0].contains("UTF-16"), "{notes:?}");
        }
        assert_eq!(noted("caf\u{e9}".as_bytes()), ("caf\u{e9}".into(), vec![]));
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert!(message(b"ab\n\0\x01\x02xyz").contains("binary file (zero byte in line 2)"));
        assert!(message(b"PK\x03\x04....").contains("damaged zip"));
    }

    #[test]
    fn folder_and_absent_file_are_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_text(dir.path()).unwrap_err().to_string().contains("is a folder"));
        let absent = read_text(&dir.path().join("absent.csv")).unwrap_err();
        assert!(matches!(absent, Error::Io(_)), "{absent}");
    }
}
