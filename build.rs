//! Puts the git revision into the binary, for the manifest of a run; without git it says "unknown".

fn main() {
    let git = std::process::Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    let revision =
        git.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    println!("cargo:rustc-env=VIFO_GIT={}", revision.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!("cargo:rerun-if-changed=.git/refs");
    println!("cargo:rerun-if-changed=build.rs");
}
