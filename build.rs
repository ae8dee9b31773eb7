//! Puts the git revision into the binary, for the manifest of a run; without git it says "unknown". And the shaders, of which a page gets
//! what a compiler reads: comments and indentation are a tenth of what a browser would fetch of them.

use std::path::Path;

fn git(args: &[&str]) -> Option<String> {
    let out = std::process::Command::new("git").args(args).output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
}

fn main() {
    let revision = git(&["describe", "--always", "--dirty", "--abbrev=12"]);
    println!("cargo:rustc-env=VIFO_GIT={}", revision.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shaders");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let for_page = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    copy_shaders(Path::new("shaders"), &Path::new(&out).join("shaders"), for_page).expect("shaders can be copied");
    // Where HEAD is and what it names, in a worktree too, and no other branch. A path that is not there (a packed branch) would have
    // everything built again each time.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in [Some("HEAD".to_string()), branch].into_iter().flatten() {
        if let Some(path) = git(&["rev-parse", "--git-path", &name]).filter(|path| std::path::Path::new(path).exists())
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

fn copy_shaders(from: &Path, to: &Path, for_page: bool) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_shaders(&path, &to, for_page)?;
        } else {
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(to, if for_page { without_comments(&text) } else { text })?;
        }
    }
    Ok(())
}

/// The first line names the modules that a shader needs, as a comment, and stays.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let is_read = line.starts_with("// needs:");
        let line = if is_read { line } else { line.split("//").next().unwrap_or_default() };
        if !line.trim().is_empty() {
            out += line.trim();
            out += "\n";
        }
    }
    out
}
