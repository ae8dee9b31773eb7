//! Puts the git revision into the binary, for the manifest of a run; without git it says "unknown".

fn git(args: &[&str]) -> Option<String> {
    let out = std::process::Command::new("git").args(args).output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
}

fn main() {
    let revision = git(&["describe", "--always", "--dirty", "--abbrev=12"]);
    println!("cargo:rustc-env=VIFO_GIT={}", revision.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
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
