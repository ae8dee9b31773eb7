//! Puts the git revision into the binary, for the manifest of a run; without git it says "unknown".

fn main() {
    let git = std::process::Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    let revision =
        git.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    println!("cargo:rustc-env=VIFO_GIT={}", revision.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
    // A path that is not there (in a worktree `.git` is a file) would have everything built again each time.
    for path in [".git/HEAD", ".git/refs"].into_iter().filter(|path| std::path::Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
}
