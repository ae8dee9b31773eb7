//! Bytes of a file to UTF-8 text: gzip by its magic bytes, byte-order marks, and a clear refusal of what is no text.
//! Must not know what a table is.

use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;

/// More text than this is refused: a small gzip file can unpack to more than any memory.
const MAX_TEXT_BYTES: u64 = 8 << 30;
const ALLOWED: &str = "a text table in UTF-8, plain or gzip";

/// The whole file as text, without its byte-order mark.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    if path.is_dir() {
        return Err(Error::data(place(path), "is a folder", ALLOWED, "name a file inside it"));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) { unpack(path, &bytes)? } else { bytes };
    refuse_other_formats(path, &bytes)?;
    let bytes = match bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let bytes = e.as_bytes();
        Error::data(
            format!("{}, line {}", place(path), line_of(bytes, good)),
            format!("the byte 0x{:02X} is not UTF-8 (perhaps the file is Latin-1 or Windows-1252)", bytes[good]),
            "UTF-8",
            "convert it to UTF-8: iconv -f latin1 -t utf-8 OLD > NEW",
        )
    })
}

fn place(path: &Path) -> String {
    path.display().to_string()
}

/// Line, counted from 1, of a byte.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|&&b| b == b'\n').count()
}

fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(MAX_TEXT_BYTES + 1).read_to_end(&mut out);
    if let Err(e) = read {
        let found = format!("is a damaged gzip file ({e})");
        return Err(Error::data(place(path), found, ALLOWED, "fetch or compress it again"));
    }
    if out.len() as u64 > MAX_TEXT_BYTES {
        return Err(Error::data(place(path), "unpacks to more than 8 GiB", "up to 8 GiB of text", "split the file"));
    }
    Ok(out)
}

fn refuse_other_formats(path: &Path, bytes: &[u8]) -> Result<()> {
    let refuse = |found: String, cure: &str| Err(Error::data(place(path), found, ALLOWED, cure));
    if bytes.starts_with(b"PK\x03\x04") {
        return refuse("is a zip archive or an Excel workbook".into(), "unpack it, or save the sheet as CSV");
    }
    let Some(nul) = bytes.iter().position(|&b| b == 0) else {
        return match bytes {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => refuse_utf16(path),
            _ => Ok(()),
        };
    };
    // UTF-16 text in Latin letters has a zero in every second byte.
    let head = &bytes[..bytes.len().min(64)];
    let zeros = |offset: usize| head.iter().skip(offset).step_by(2).all(|&b| b == 0);
    if matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) || (head.len() >= 2 && (zeros(0) != zeros(1))) {
        return refuse_utf16(path);
    }
    let found = format!("is a binary file (zero byte in line {})", line_of(bytes, nul));
    refuse(found, "export the data as CSV")
}

fn refuse_utf16(path: &Path) -> Result<()> {
    let cure = "convert it to UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW";
    Err(Error::data(format!("{}, line 1", place(path)), "the text is UTF-16", "UTF-8", cure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.csv");
        std::fs::write(&path, bytes).unwrap();
        read_text(&path)
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
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

    #[test]
    fn what_is_no_text_is_named() {
        assert!(message(b"a,b\n1,caf\xE9\n").contains("line 2: the byte 0xE9 is not UTF-8"));
        assert!(message(b"\xFF\xFEa\0,\0").contains("UTF-16"));
        assert!(message(b"a\0,\0b\0\n\0").contains("UTF-16"));
        assert!(message(b"ab\n\0\x01\x02xyz").contains("binary file (zero byte in line 2)"));
        assert!(message(b"PK\x03\x04....").contains("Excel"));
    }

    #[test]
    fn folder_and_absent_file_are_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_text(dir.path()).unwrap_err().to_string().contains("is a folder"));
        let absent = read_text(&dir.path().join("absent.csv")).unwrap_err();
        assert!(matches!(absent, Error::Io(_)), "{absent}");
    }
}
