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
        let out = run(home.path(), "off", &format!("fit {more} --members 3 --epochs 2 --device {device} --out {name}"));
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{err}");
        (std::fs::read_to_string(home.path().join(name).join("predictions.csv")).expect("predictions"), err)
    };
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/data/iris_named.csv --target petal_width --holdout own");
    for (at, more) in ["moons", "moons --method repulsive", table].into_iter().enumerate() {
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

/// What `doctor --tune` measured is used by trainings and recorded; a resumed run keeps to its record, whatever was measured since.
#[test]
fn measured_forms_are_used_and_recorded() {
    use sha2::{Digest, Sha256};
    let home = tempfile::tempdir().expect("a folder");
    let (dir, cache) = (home.path(), home.path().join("cache"));
    let ok = |args: &str| {
        let out = run(dir, cache.to_str().expect("UTF-8"), args);
        assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    // With dropout a small network keeps the products of its layers.
    let fit = "fit sinusoid --device software --set net.dropout=0.1 --epochs 3 -q --out";
    let kernels = |name: &str| -> serde_json::Map<String, serde_json::Value> {
        let text = std::fs::read_to_string(dir.join(name).join("manifest.json")).expect("a manifest");
        let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        manifest.get("kernels").and_then(|k| k.as_object()).cloned().unwrap_or_default()
    };
    ok(&format!("{fit} before"));
    assert!(kernels("before").is_empty(), "a software adapter is not measured unasked");
    let said = ok("doctor --tune");
    assert!(said.contains("taken") && said.contains("linear_forward, 1 x 100 x 50 x 50"), "{said}");

    let file = files(&cache).into_iter().find(|f| f.extension().is_some_and(|e| e == "forms")).expect("forms are kept");
    let plant = |form: &str| {
        let bytes = std::fs::read(&file).expect("forms");
        let mut forms: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&bytes[32..]).expect("JSON");
        forms.values_mut().for_each(|f| *f = form.into());
        let text = serde_json::to_string(&forms).expect("text");
        std::fs::write(&file, [Sha256::digest(&text).as_slice(), text.as_bytes()].concat()).expect("written");
    };
    plant("32x32");
    ok(&format!("{fit} tiled"));
    let tiled = kernels("tiled");
    assert!(tiled.len() > 2 && tiled.values().all(|f| f == "32x32"), "{tiled:?}");
    let profile = ok("bench --profile --device software --only toy_vifo_aux");
    assert!(profile.contains("mlp_pass"), "{profile}");
    // Killed, and resumed when other forms are thought the fastest.
    let long = "fit sinusoid --device software --set net.dropout=0.1 --epochs 400 --set train.patience=0 --set train.checkpoint_seconds=0 \
                --set train.evaluate_every=5 -q --out";
    ok(&format!("{long} whole"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_vifo"))
        .current_dir(dir)
        .env("NODEVICE_SELECT", "1")
        .env("VIFO_CACHE", &cache)
        .args(format!("{long} killed").split_whitespace())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    while !dir.join("killed/checkpoints/last.safetensors").is_file() {
        assert!(child.try_wait().expect("asked").is_none(), "it ended without a checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(!dir.join("killed/report.html").is_file(), "it came to its end: the test shows nothing");
    plant("64x16");
    ok("fit --resume killed --device software -q");
    assert_eq!(kernels("killed"), kernels("whole"));
    let predictions = |name: &str| std::fs::read(dir.join(name).join("predictions.csv")).expect("predictions");
    assert_eq!(predictions("killed"), predictions("whole"));
    ok(&format!("{fit} other"));
    assert!(kernels("other").values().all(|f| f == "64x16"), "what begins takes what is measured");
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

/// The CPU rounds as a card stores; an adapter without f16 or matrix units says so in a line with the way out, and leaves nothing.
#[test]
fn sixteen_bits_train_or_are_refused_in_a_line() {
    let home = tempfile::tempdir().expect("a folder");
    let out = run(home.path(), "off", "doctor --json");
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let adapters = said["adapters"].as_array().expect("adapters");
    let software = adapters.iter().find(|a| a["software"] == true).expect("a software adapter");
    let has = |precision: &str| match precision {
        "f16" => software["f16"] == true,
        _ => software["matrix_side"].as_u64().expect("a number") > 0,
    };
    let mut predictions = vec![];
    for (at, precision) in ["f32", "f16", "f16-matrix"].into_iter().enumerate() {
        let fit = format!("fit moons --epochs 2 -q --precision {precision}");
        let out = run(home.path(), "off", &format!("{fit} --device cpu --out cpu{at}"));
        assert!(out.status.success(), "{precision}: {}", String::from_utf8_lossy(&out.stderr));
        let read = |name: &str| std::fs::read_to_string(home.path().join(name).join("predictions.csv"));
        predictions.push(read(&format!("cpu{at}")).expect("predictions"));
        if at == 0 {
            continue;
        }
        let out = run(home.path(), "off", &format!("{fit} --device software --out gpu{at}"));
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.success(), has(precision), "{precision}: {err}");
        if !has(precision) {
            assert_eq!(err.trim().lines().count(), 1, "{err}");
            for part in ["f16", "--precision f", "--device cpu"] {
                assert!(err.contains(part), "{precision}: no '{part}' in {err}");
            }
            assert!(read(&format!("gpu{at}")).is_err());
        }
    }
    assert_ne!(predictions[0], predictions[1], "halves change nothing");
    assert_eq!(predictions[1], predictions[2], "on the CPU there is no difference");
    let out = run(home.path(), "off", "fit moons --precision f8 --out no");
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && err.contains("\"f32\", \"f16\", \"f16-matrix\""), "{err}");
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
