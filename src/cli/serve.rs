//! The page's files on this computer's own address: `vifo app --web`.

use super::say;
use crate::base::{fs, task};
use crate::error::{Error, Result};
use crate::system::opener;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The first port that is tried; where another program has it, the system names one.
const PORT: u16 = 8765;
/// Bytes of a request's first lines, at most.
const MOST: u64 = 64 << 10;

/// The folder that `web/build` makes: the one named, or one of the usual places.
///
/// # Errors
/// There is none.
pub fn folder(named: Option<&Path>) -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("web")));
    // target/release/vifo has it in target/web.
    let built = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.join("web")));
    let usual = [beside, built, Some(PathBuf::from("target/web"))].into_iter().flatten();
    let is_page = |dir: &PathBuf| fs::is_file(dir.join("vifo_bg.wasm"));
    let found = match named {
        Some(named) => Some(named.to_path_buf()).filter(is_page),
        None => usual.into_iter().find(is_page),
    };
    found.ok_or_else(|| {
        let place = named.map_or_else(|| "vifo app --web".into(), |p| p.display().to_string());
        let help = "make it with `web/build`, in the source of vifo, or name its folder: vifo app --web FOLDER";
        Error::usage(place, "the page is not there", "", help)
    })
}

/// Serves the folder until the program is stopped; `fragment` from "#" on, opened in the browser.
///
/// # Errors
/// No port is free.
pub fn serve(folder: &Path, fragment: &str) -> Result<()> {
    let bound = TcpListener::bind(("127.0.0.1", PORT)).or_else(|_| TcpListener::bind(("127.0.0.1", 0)));
    let listener =
        bound.map_err(|e| Error::run("127.0.0.1", format!("no port is free: {e}"), "close other programs"))?;
    let port = listener.local_addr().map_or(PORT, |a| a.port());
    let address = format!("http://127.0.0.1:{port}/{fragment}");
    say(&format!("vifo is at {address}\nfor this computer alone; Ctrl-C ends it"));
    opener::browse(&address);
    for stream in listener.incoming().flatten() {
        let folder = folder.to_path_buf();
        // A browser that goes away takes its answer with it.
        let _ = task::spawn("vifo page", move || drop(answer(stream, &folder)));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut lines = BufReader::new((&stream).take(MOST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // Read to the empty line: closing before would break the connection off.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let (head, body) = response(&first, folder);
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// Head and body for a request's first line.
fn response(first: &str, folder: &Path) -> (String, Vec<u8>) {
    let mut words = first.split(' ');
    let (verb, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let path = Path::new(if path == "/" { "index.html" } else { path.strip_prefix('/').unwrap_or_default() });
    let mut parts = path.components().peekable();
    let inside = parts.peek().is_some() && parts.all(|c| matches!(c, Component::Normal(_)));
    let content = if inside { fs::read(folder.join(path)).ok() } else { None };
    let (status, kind, body) = match (verb, content) {
        ("GET" | "HEAD", Some(bytes)) => ("200 OK", kind_of(path), bytes),
        ("GET" | "HEAD", None) => ("404 Not Found", "text/plain", b"there is no such file\n".to_vec()),
        _ => ("405 Method Not Allowed", "text/plain", b"files can be read alone\n".to_vec()),
    };
    // Cross-origin isolation lets the page measure time finely.
    let isolated = "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n";
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n{isolated}Connection: close\r\n\r\n",
        body.len()
    );
    (head, if verb == "HEAD" { vec![] } else { body })
}

fn kind_of(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_inside_the_folder_are_served_and_no_others() {
        let dir = tempfile::tempdir().expect("a folder");
        let page = dir.path().join("page");
        std::fs::create_dir_all(page.join("snippets")).expect("made");
        std::fs::write(page.join("index.html"), "<p>").expect("written");
        std::fs::write(page.join("vifo_bg.wasm"), "wasm").expect("written");
        std::fs::write(page.join("snippets/store.js"), "js").expect("written");
        std::fs::write(dir.path().join("secret"), "no").expect("written");
        let of = |line: &str| response(line, &page);
        assert_eq!(of("GET / HTTP/1.1").1, b"<p>");
        assert_eq!(of("GET /?x=1 HTTP/1.1").1, b"<p>");
        assert!(of("GET /vifo_bg.wasm HTTP/1.1").0.contains("application/wasm"));
        assert_eq!(of("GET /snippets/store.js HTTP/1.1").1, b"js");
        for line in ["GET /../secret HTTP/1.1", "GET //etc/passwd HTTP/1.1", "GET /none HTTP/1.1", "GET", ""] {
            let (head, body) = of(line);
            assert!(!head.contains(" 200 ") && body != b"no", "{line}: {head}");
        }
        assert!(of("POST / HTTP/1.1").0.contains("405"));
        assert!(of("HEAD / HTTP/1.1").1.is_empty());
        assert_eq!(folder(Some(&page)).expect("there"), page);
        assert!(folder(Some(dir.path())).expect_err("no page").to_string().contains("web/build"));
    }
}
