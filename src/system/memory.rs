//! How much memory this process may still take: one answer for the whole program. The least of what the machine has free,
//! what the control groups above this process allow (versions 1 and 2), and the limit of its address space.

use crate::base::{fs, machine};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Bytes that are free; None where the system does not tell.
pub fn free() -> Option<u64> {
    let machine = machine::available_memory();
    let limits = [of_groups(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")), of_address_space()];
    limits.into_iter().flatten().chain(machine).min()
}

/// Four fifths of `free`: estimates leave out allocators and other programs.
pub fn usable() -> Option<u64> {
    free().map(|bytes| bytes / 5 * 4)
}

/// "2.6 GB", "13 MB".
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.0} kB", (b / 1e3).max(1.0)),
    }
}

/// An error where `bytes` are more than may be taken: "PLACE: needs about ...".
pub fn room_for(place: &Path, bytes: u64, help: &str) -> Result<()> {
    fits(place, bytes, usable(), help)
}

fn fits(place: &Path, bytes: u64, usable: Option<u64>, help: &str) -> Result<()> {
    match usable.filter(|usable| bytes > *usable) {
        None => Ok(()),
        Some(usable) => {
            let found = format!("needs about {} of memory", size(bytes));
            let allowed = format!("the {} that may be taken here", size(usable));
            Err(Error::data(place.display().to_string(), found, allowed, help))
        }
    }
}

/// Bytes of memory that a table takes on its way from the file: its text, its cells and its columns.
const PER_BYTE_OF_TABLE: u64 = 12;
/// A gzip file unpacks to about so many times its size.
const PACKED: u64 = 6;

/// An error where the table in `path` is too large to be read here. Asks for the file's size alone.
pub fn room_for_table(path: &Path) -> Result<()> {
    // A file that is not there is reported when it is read; a pipe has no size.
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    let is_packed =
        path.extension().is_some_and(|e| ["gz", "bz2", "xz", "zst"].iter().any(|p| e.eq_ignore_ascii_case(p)));
    let text = meta.len() * if is_packed { PACKED } else { 1 };
    // Small ones always fit, and the question costs more than they do.
    if !meta.is_file() || text < 8 << 20 {
        return Ok(());
    }
    room_for(path, PER_BYTE_OF_TABLE * text, "divide the file, leave columns out of it, or give it more memory")
}

/// What the groups of `membership` (/proc/self/cgroup) leave below `root`; a limit of any group above holds, too.
fn of_groups(membership: &Path, root: &Path) -> Option<u64> {
    let text = fs::read_to_string(membership).ok()?;
    let mut least: Option<u64> = None;
    for line in text.lines() {
        // "0::/a/b" in version 2, "9:memory:/a/b" in version 1.
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(kinds), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let names = match (number, kinds.split(',').any(|k| k == "memory")) {
            ("0", _) => {
                Names { dir: root.to_path_buf(), limit: "memory.max", used: "memory.current", cache: "inactive_file" }
            }
            (_, true) => Names {
                dir: root.join("memory"),
                limit: "memory.limit_in_bytes",
                used: "memory.usage_in_bytes",
                cache: "total_inactive_file",
            },
            _ => continue,
        };
        // Inside a container the path may be that of the host: then only the root of what is mounted is there.
        let own = names.dir.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|dir| dir.starts_with(&names.dir));
        least = above.filter_map(|dir| names.left(dir)).chain(least).min();
    }
    least
}

/// Files of a kind of control group.
struct Names {
    dir: PathBuf,
    limit: &'static str,
    used: &'static str,
    /// In memory.stat.
    cache: &'static str,
}

impl Names {
    fn left(&self, dir: &Path) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // "max" in version 2, a number near 2^63 in version 1.
        let most = number(self.limit).filter(|most| *most < 1 << 60)?;
        // What the group holds as a cache of files is given back when it is asked for.
        let cache = read("memory.stat").and_then(|stat| {
            let line = stat.lines().find_map(|l| l.strip_prefix(self.cache)?.strip_prefix(' '));
            line?.trim().parse::<u64>().ok()
        });
        let used = number(self.used).unwrap_or(0).saturating_sub(cache.unwrap_or(0));
        Some(most.saturating_sub(used))
    }
}

/// Of `ulimit -v`: beyond it an allocation fails and the program with it.
fn of_address_space() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let most: u64 =
        limits.lines().find_map(|l| l.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used: u64 = status.lines().find_map(|l| l.strip_prefix("VmSize:"))?.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(used * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// C16: the limit of any group above this process counts, less what it holds, its cache of files not counted.
    #[test]
    fn c16_groups_of_both_versions_and_all_levels() {
        let dir = tempfile::tempdir().expect("a folder");
        let (d, groups) = (dir.path(), dir.path().join("cgroup"));
        write(d, "two", "0::/outer/inner\n");
        write(&groups, "outer/memory.max", "1000\n");
        write(&groups, "outer/memory.current", "700\n");
        write(&groups, "outer/memory.stat", "anon 1\ninactive_file 100\n");
        write(&groups, "outer/inner/memory.max", "max\n");
        assert_eq!(of_groups(&d.join("two"), &groups), Some(400));
        write(&groups, "outer/inner/memory.max", "150\n");
        assert_eq!(of_groups(&d.join("two"), &groups), Some(150));
        write(d, "one", "12:cpu,cpuacct:/x\n9:memory:/docker/abc\n");
        write(&groups, "memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of_groups(&d.join("one"), &groups), None);
        // A container sees its own group as the root of what is mounted, under the host's path.
        write(&groups, "memory/memory.limit_in_bytes", "5000\n");
        write(&groups, "memory/memory.usage_in_bytes", "3000\n");
        write(&groups, "memory/memory.stat", "inactive_file 7\ntotal_inactive_file 500\n");
        assert_eq!(of_groups(&d.join("one"), &groups), Some(2500));
        assert_eq!(of_groups(&d.join("none"), &groups), None);
    }

    #[test]
    fn what_is_too_large_is_one_line() {
        let e = fits(Path::new("t.csv"), 3_000_000_000, Some(400_000_000), "divide it").expect_err("too large");
        assert_eq!(
            e.to_string(),
            "t.csv: needs about 3.0 GB of memory; allowed: the 400 MB that may be taken here; divide it"
        );
        assert!(fits(Path::new("t.csv"), 3, Some(4), "").is_ok() && fits(Path::new("t.csv"), 3, None, "").is_ok());
    }
}
