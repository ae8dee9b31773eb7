//! Files that are whole or absent: every file of the program is written here, under a name of its own first.

use crate::base::{fs, machine, names};
use crate::error::{Error, Result};
use std::path::Path;

/// Temporary names begin so, followed by the number of the process that writes.
const TEMPORARY: &str = ".tmp-vifo-";

/// Writes beside `path`, syncs, renames. A link at `path` is replaced, never followed; nothing is left behind where it fails.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    refuse_device(path, names::WINDOWS)?;
    let prefix = format!("{TEMPORARY}{}-", machine::process());
    fs::replace(path, bytes, &prefix).map_err(|e| Error::io(path, "write", &e))
}

/// Windows would write to a printer or a port, or to nothing at all, where a file is meant.
fn refuse_device(path: &Path, windows: bool) -> Result<()> {
    let place = || path.display().to_string();
    names::fault(path, windows).map_or(Ok(()), |found| Err(Error::usage(place(), found, "", "choose another name")))
}

/// Rows of cells as CSV: RFC 4180 in UTF-8 with "\n" at the ends of lines, quotes where a cell needs them alone.
pub fn csv_text<Row, Cell>(rows: impl IntoIterator<Item = Row>) -> String
where
    Row: IntoIterator<Item = Cell>,
    Cell: AsRef<[u8]>,
{
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(vec![]);
    let written = rows.into_iter().try_for_each(|row| writer.write_record(row));
    // A Vec takes every byte, and a flexible writer rows of every length.
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The process that left a temporary file of this name; None where the name is not one of ours.
pub fn writer_of(name: &str) -> Option<u32> {
    name.strip_prefix(TEMPORARY)?.split_once('-')?.0.parse().ok()
}

/// Removes the temporary files in `dir` whose process has ended without renaming them.
pub fn sweep_remains(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let left: Vec<_> = entries
        .flatten()
        .filter_map(|e| Some((writer_of(&e.file_name().to_string_lossy())?, e)))
        .filter(|(pid, e)| *pid != machine::process() && e.file_type().is_ok_and(|t| t.is_file()))
        .collect();
    if left.is_empty() {
        return;
    }
    let writers: Vec<u32> = left.iter().map(|(pid, _)| *pid).collect();
    let ended = machine::ended(&writers);
    for (_, entry) in left.iter().filter(|(pid, _)| ended.contains(pid)) {
        // One that cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether `path` itself is a symbolic link, wherever it leads.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Writes what a user named: a regular file as `write_atomic` does, through a link to where it points; a pipe or a device
/// is written to, never replaced.
pub fn write_to(path: &Path, bytes: &[u8]) -> Result<()> {
    if names::is_sink(path, names::WINDOWS) {
        return fs::write_into(path, bytes).map_err(|e| Error::io(path, "write", &e));
    }
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => fs::write_into(path, bytes).map_err(|e| Error::io(path, "write", &e)),
        Ok(_) => {
            let target = fs::canonicalize(path).map_err(|e| Error::io(path, "write", &e))?;
            write_atomic(&target, bytes)
        }
        Err(_) => write_atomic(path, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn one_permission_for_all_and_a_link_is_replaced_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let (outside, link) = (dir.path().join("outside"), dir.path().join("link"));
        std::fs::write(&outside, "kept").expect("written");
        std::os::unix::fs::symlink(&outside, &link).expect("a link");
        write_atomic(&link, b"new").expect("written");
        assert_eq!(std::fs::read_to_string(&outside).expect("read"), "kept");
        assert!(!is_link(&link));
        assert_eq!(link.metadata().expect("there").permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn a_name_of_a_device_is_refused_where_it_is_one() {
        let said = refuse_device(Path::new("aux.csv"), true).expect_err("a device").to_string();
        assert_eq!(said, "aux.csv: \"aux.csv\" is a name that Windows keeps for a device; choose another name");
        assert!(refuse_device(Path::new("aux.csv"), false).is_ok() && refuse_device(Path::new("a.csv"), true).is_ok());
    }

    #[test]
    fn csv_quotes_what_needs_it_alone() {
        let rows = vec![vec!["a", "b c", ""], vec!["x,y", "say \"so\"", "1 ± 2"], vec!["two\nlines", "=1+1", " #"]];
        let want = "a,b c,\n\"x,y\",\"say \"\"so\"\"\",1 ± 2\n\"two\nlines\",=1+1, #\n";
        assert_eq!(csv_text(rows), want);
    }

    /// C11: of the remains only ours go, and only those of processes that have ended.
    #[test]
    fn c11_remains_of_the_dead_go_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut ended = std::process::Command::new(std::env::current_exe().expect("this test"))
            .arg("--list")
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("started");
        let dead = ended.id();
        ended.wait().expect("ended");
        let parent = std::process::id();
        let names = [
            format!(".tmp-vifo-{dead}-aaa"),
            format!(".tmp-vifo-{parent}-bbb"),
            ".tmpXYZ".into(),
            ".tmp-vifo-x".into(),
        ];
        for name in &names {
            std::fs::write(dir.path().join(name), "half").expect("written");
        }
        sweep_remains(dir.path());
        let there: Vec<bool> = names.iter().map(|n| dir.path().join(n).exists()).collect();
        assert_eq!(there, [false, true, true, true]);
    }
}
