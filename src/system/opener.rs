//! The program that a system opens files, folders and addresses with.

use super::install::{Need, how};
use crate::base::clock::{Duration, Instant};
use crate::base::{fs, task};
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The command of this system, to which what is to be opened is added.
fn command(is_address: bool) -> &'static [&'static str] {
    match () {
        // cmd's `start` would end an address at "&"; explorer takes a path with any sign in it.
        () if cfg!(windows) && is_address => &["rundll32", "url.dll,FileProtocolHandler"],
        () if cfg!(windows) => &["explorer"],
        () if cfg!(target_os = "macos") => &["open"],
        () => &["xdg-open"],
    }
}

/// Opens a file or a folder with what the system has for it. Waits for a moment, so that a refusal is heard.
///
/// # Errors
/// There is no such program, or it refuses at once.
pub fn open(path: &std::path::Path) -> Result<()> {
    open_with(command(false), path.as_os_str())
}

/// Whether the system has such a program.
pub fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    // Windows and macOS come with theirs.
    let on_path = || std::env::var_os("PATH").is_some_and(|all| is_in(&all, command(false)[0]));
    *THERE.get_or_init(|| cfg!(any(windows, target_os = "macos")) || on_path())
}

fn is_in(path: &OsStr, program: &str) -> bool {
    std::env::split_paths(path).any(|dir| fs::is_file(dir.join(program)))
}

/// Shows an address in a browser; where there is none, nothing happens.
pub fn browse(address: &str) {
    let _ = started(command(true), OsStr::new(address));
}

fn started(command: &[&str], what: &OsStr) -> std::io::Result<std::process::Child> {
    let (quiet, program) = (Stdio::null, command.first().copied().unwrap_or_default());
    Command::new(program).args(&command[1..]).arg(what).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()
}

fn open_with(command: &[&str], what: &OsStr) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let failed =
        |found: String| Error::run(what.to_string_lossy(), format!("cannot be opened: {found}"), how(Need::Opener));
    let mut child = started(command, what).map_err(|e| failed(format!("{}: {e}", command[0])))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            // explorer says 1 when all is well.
            Ok(Some(status)) if status.success() || cfg!(windows) => return Ok(()),
            Ok(Some(status)) => return Err(failed(format!("{} ended with {status}", command[0]))),
            Ok(None) if began.elapsed() < PATIENCE => task::pause(Duration::from_millis(20)),
            // It runs as long as its window does.
            Ok(None) => {
                let _ = task::spawn("vifo opened", move || drop(child.wait()));
                return Ok(());
            }
            Err(e) => return Err(failed(e.to_string())),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_and_success_is_not() {
        assert_eq!(open_with(&["true"], OsStr::new("report.html")), Ok(()));
        let said = |command: &[&str]| open_with(command, OsStr::new("report.html")).expect_err("refused").to_string();
        let refused = said(&["false"]);
        assert!(
            refused.starts_with("report.html: cannot be opened: false ended with")
                && refused.contains("open it by hand")
        );
        assert!(is_in(OsStr::new("/no/such:/bin"), "sh") && !is_in(OsStr::new("/bin"), "no-such-program-of-vifo"));
        assert!(said(&["no-such-program-of-vifo"]).contains("no-such-program-of-vifo"));
    }
}
