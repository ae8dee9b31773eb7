//! Choosing a device, and what is kept for it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(dir: &Path, cache: &str, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vifo"))
        .current_dir(dir)
        .env("NODEVICE_SELECT", "1")
        .env("VIFO_CACHE", cache)
        .stdin(Stdio::null())
        .args(args.split_whitespace())
        .output()
        .expect("the binary runs")
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(dir).map_or(vec![], |entries| entries.map(|e| e.expect("readable").path()).collect())
}

/// Compiled pipelines are written once and used again; a damaged file is none; the numbers are the same each time.
#[test]
fn compiled_pipelines_outlive_a_run() {
    let home = tempfile::tempdir().expect("a folder");
    let (dir, cache) = (home.path(), home.path().join("cache"));
    let loss = |cache: &str, name: &str| {
        let out = run(dir, cache, &format!("fit moons --device software --epochs 2 --out {name}"));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        std::fs::read_to_string(dir.join(name).join("predictions.csv")).expect("predictions")
    };
    let first = loss(cache.to_str().expect("UTF-8"), "a");
    let kept = files(&cache);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let bytes = std::fs::read(&kept[0]).expect("the cache");
    // A sum, and what the driver gives; lavapipe's is a header at the least.
    assert!(bytes.len() > 32 + 16, "{} bytes", bytes.len());
    assert_eq!(first, loss(cache.to_str().expect("UTF-8"), "b"));
    assert_eq!(bytes, std::fs::read(&kept[0]).expect("the cache"), "nothing new, nothing written");
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 0x55;
    std::fs::write(&kept[0], &damaged).expect("written");
    assert_eq!(first, loss(cache.to_str().expect("UTF-8"), "c"));
    assert_ne!(damaged, std::fs::read(&kept[0]).expect("the cache"), "made anew");
    assert_eq!(first, loss("off", "d"));
    assert_eq!(files(&cache).len(), 1);
}

/// Members are cut over the cards, unevenly here; each card is the same adapter, so that the numbers are those of one.
#[test]
fn an_ensemble_on_several_devices_is_that_of_one() {
    let home = tempfile::tempdir().expect("a folder");
    let train = |name: &str, device: &str, more: &str| {
        let out =
            run(home.path(), "off", &format!("fit moons --members 3 --epochs 2 --device {device} --out {name} {more}"));
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{err}");
        (std::fs::read_to_string(home.path().join(name).join("predictions.csv")).expect("predictions"), err)
    };
    for (at, more) in ["", "--method repulsive", "--holdout own"].into_iter().enumerate() {
        let (one, alone) = train(&format!("one{at}"), "software", more);
        let (two, said) = train(&format!("two{at}"), "software,software", more);
        assert_eq!(one, two, "{more}");
        let cards = |text: &str| text.lines().next().unwrap_or_default().matches("llvmpipe").count();
        let coupled = more.contains("repulsive");
        assert_eq!((cards(&alone), cards(&said)), (1, if coupled { 1 } else { 2 }), "{said}");
    }
    let out = run(home.path(), "off", "fit moons --device software,cpu --out r");
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(err.contains("'cpu' in a list"), "{err}");
}

#[test]
fn a_gpu_that_is_not_there_is_refused_in_one_line() {
    let home = tempfile::tempdir().expect("a folder");
    let none = "--device gpu: no hardware GPU";
    let unknown = "--device 0000:ff:1f.7: no adapter has this name";
    for (choice, said) in [("gpu:7", none), ("gpu", none), ("0000:ff:1f.7", unknown)] {
        let out = run(home.path(), "off", &format!("fit moons --device {choice} --out r"));
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{err}");
        let line = err.trim_end().lines().last().unwrap_or_default();
        assert!(line.contains(said), "{line}");
        assert!(!home.path().join("r").exists());
    }
    // No name is part of every name.
    let mut empty = Command::new(env!("CARGO_BIN_EXE_vifo"));
    empty.current_dir(home.path()).env("NODEVICE_SELECT", "1").args(["fit", "moons", "--out", "r", "--device", ""]);
    let out = empty.output().expect("the binary runs");
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("no adapter has this name"));
}

/// Every case of the benchmark on the software adapter, as a user reports it.
#[test]
fn the_full_self_test_passes_and_says_what_ran() {
    let home = tempfile::tempdir().expect("a folder");
    let out = run(home.path(), "off", "doctor --full");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("kernels ran") && !said.contains("WRONG"), "{said}");
    for case in ["toy_vi ", "image_alexnet_vi ", "image_preresnet_vifo "] {
        let line = said.lines().find(|l| l.starts_with(case)).unwrap_or_else(|| panic!("no {case} in {said}"));
        assert!(line.trim_end().ends_with("ok"), "{line}");
    }
}
