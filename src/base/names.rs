//! Names and paths as Windows has them: which names it keeps for devices, which signs no file of its may have in its name, and `\`
//! between folders. The rules themselves are the same on every system, and tested there; `windows` says whether they hold.

use std::path::{Component, Path, PathBuf};

/// Whether the program runs on Windows.
pub const WINDOWS: bool = cfg!(windows);

/// Signs that no name of a file may have on Windows.
pub const FORBIDDEN: &str = "/\\:*?\"<>|";

/// Whether Windows opens a device under this name, whatever follows its first point: "con", "AUX.csv", "com1.tar.gz".
pub fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |port: &str| {
        let number = stem.strip_prefix(port).unwrap_or_default();
        matches!(number, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    };
    ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// What is wrong with a path that a file or a folder is made at; None where it may be.
pub fn fault(path: &Path, windows: bool) -> Option<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let device = names.filter(|_| windows).find(|name| is_device(name))?;
    Some(format!("{device:?} is a name that Windows keeps for a device"))
}

/// Whether the path is a device of Windows that may be written to: nowhere, or the console.
pub fn is_sink(path: &Path, windows: bool) -> bool {
    let name = path.to_str().unwrap_or_default().to_ascii_lowercase();
    windows && ["nul", "con", "conout$"].contains(&name.as_str())
}

/// A name of a folder made from one that may hold anything.
pub fn fitting(name: &str, windows: bool) -> String {
    let forbidden = if windows { FORBIDDEN } else { "/\\" };
    let plain: String = name.chars().map(|c| if c.is_control() || forbidden.contains(c) { '_' } else { c }).collect();
    if !windows {
        return plain;
    }
    // Windows drops points and blanks at the end, and the folder would have another name than the one that is said.
    let kept = plain.trim_end_matches(['.', ' ']);
    if kept.is_empty() || is_device(kept) { format!("_{kept}") } else { kept.to_string() }
}

/// A path with the system's own sign between its folders; as a message shows it, it has no second one.
pub fn native(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) if WINDOWS => backslashed(text).into(),
        _ => path.to_path_buf(),
    }
}

/// An address stays one.
fn backslashed(text: &str) -> String {
    if text.contains("://") { text.to_string() } else { text.replace('/', "\\") }
}

/// A path that Windows made canonical, as people write it: `\\?\C:\data` is `C:\data`. It stays where it means something else
/// without that beginning.
pub fn short(path: &str) -> String {
    let Some(rest) = path.strip_prefix("\\\\?\\") else { return path.to_string() };
    let is_plain = |name: &str| !is_device(name) && !name.ends_with(['.', ' ']);
    let (begins, rest, plain) = match (rest.strip_prefix("UNC\\"), rest.as_bytes()) {
        (Some(share), _) => ("\\\\", share, share),
        (None, [drive, b':', b'\\', ..]) if drive.is_ascii_alphabetic() => ("", rest, &rest[3..]),
        _ => return path.to_string(),
    };
    if plain.split('\\').all(|name| name.is_empty() || is_plain(name)) {
        format!("{begins}{rest}")
    } else {
        path.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_by_their_names() {
        for name in ["con", "NUL", "aux.csv", "Com1", "lpt9.tar.gz", "prn .txt", "com²", "con:", "conout$"] {
            assert!(is_device(name), "{name}");
        }
        for name in ["", "console", "null", "aux_1.csv", "com", "com0", "com10", "my.con", "größe", "data"] {
            assert!(!is_device(name), "{name}");
        }
        let fault = |path: &str, windows| fault(Path::new(path), windows);
        assert_eq!(
            fault("runs/aux.d/x", true).expect("a device"),
            "\"aux.d\" is a name that Windows keeps for a device"
        );
        assert_eq!((fault("runs/aux.d/x", false), fault("../runs/a", true)), (None, None));
        assert!(
            is_sink(Path::new("NUL"), true) && !is_sink(Path::new("NUL"), false) && !is_sink(Path::new("aux"), true)
        );
    }

    #[test]
    fn a_folder_of_any_name_can_be_made() {
        for (name, other, windows) in [
            ("plain", "plain", "plain"),
            ("a/b\\c\n", "a_b_c_", "a_b_c_"),
            ("a:b?", "a:b?", "a_b_"),
            ("con", "con", "_con"),
            ("end. ", "end. ", "end"),
            ("...", "...", "_"),
            ("größe 日本", "größe 日本", "größe 日本"),
        ] {
            assert_eq!((fitting(name, false).as_str(), fitting(name, true).as_str()), (other, windows), "{name}");
        }
    }

    #[test]
    fn paths_are_as_people_write_them() {
        assert_eq!(backslashed("runs/a b\\c"), "runs\\a b\\c");
        assert_eq!(backslashed("https://vifo.example/#r=1/2"), "https://vifo.example/#r=1/2");
        assert_eq!(native(Path::new("a")), Path::new("a"));
        for (path, want) in [
            (r"\\?\C:\data\größe.csv", r"C:\data\größe.csv"),
            (r"\\?\UNC\server\share\x", r"\\server\share\x"),
            (r"\\?\C:\", r"C:\"),
            (r"\\?\C:\data\con", r"\\?\C:\data\con"),
            (r"\\?\C:\end.\x", r"\\?\C:\end.\x"),
            (r"\\?\Volume{1}\x", r"\\?\Volume{1}\x"),
            (r"C:\x", r"C:\x"),
            ("/home/x", "/home/x"),
        ] {
            assert_eq!(short(path), want);
        }
    }
}
