use super::*;
use crate::run::folder::Manifest;

fn run(dir: &std::path::Path) -> RunFolder {
    let folder = RunFolder::create(&dir.join("run")).expect("a new folder");
    folder.write("recipe.toml", b"seed = 1\n").expect("written");
    folder.write(LAST, b"first").expect("written");
    tell(&folder);
    folder
}

fn tell(folder: &RunFolder) {
    let (vifo, git) = Manifest::version();
    let mut manifest = Manifest {
        vifo,
        git,
        device: "cpu".into(),
        seed: 1,
        data: "toy".into(),
        values: String::new(),
        train_rows: 60,
        validation_rows: 0,
        test_rows: 0,
        state: "stopped".into(),
        notes: vec![],
        changes: vec![],
        asked: None,
        kernels: Default::default(),
        epochs_before: 0,
        relative: Default::default(),
        sums: folder.sums(),
        sha256: String::new(),
    };
    folder.write_manifest(&mut manifest).expect("written");
}

fn sums_of(folder: &RunFolder, name: &str) -> usize {
    folder.manifest().expect("a manifest").sums[name].len()
}

const RECIPE: &str = "seed = 2\n[data]\ntoy = \"sinusoid\"\n";

/// C1: every bit of every part, and every bit of the manifest itself.
#[test]
fn c1_any_flipped_bit_is_noticed() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    folder.verify().expect("as written");
    for name in ["recipe.toml", LAST, MANIFEST] {
        let path = folder.file(name);
        let good = std::fs::read(&path).expect("read");
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).expect("written");
            let e = folder.verify().expect_err("a flipped bit").to_string();
            let place = if name == MANIFEST { "run/" } else { name };
            assert!(e.contains(place), "{name}, bit {bit}: {e}");
        }
        std::fs::write(&path, &good).expect("written");
    }
    folder.verify().expect("as it was");
}

/// Whenever a crash comes between the manifest and the part, the part that is there is known, and stays so after the next
/// crash.
#[test]
fn c1_a_crash_between_manifest_and_part_leaves_a_run_that_is_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    let old = std::fs::read(folder.last()).expect("read");
    for text in ["second", "third", "fourth"] {
        folder.write(LAST, text.as_bytes()).expect("written");
        folder.verify().expect("the new one");
        // As if the part had not been renamed.
        std::fs::write(folder.last(), &old).expect("written");
        assert_eq!(folder.verify().is_ok(), text == "second", "only the one before is known beside the new one");
        std::fs::write(folder.last(), text).expect("written");
    }
    tell(&folder);
    assert_eq!(sums_of(&folder, LAST), 1);
    std::fs::write(folder.last(), "third").expect("written");
    assert!(folder.verify().is_err(), "a checkpoint of before is another part");
}

#[test]
fn c1_what_was_changed_on_purpose_is_accepted_once_and_remembered() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    std::fs::write(folder.file("recipe.toml"), RECIPE).expect("edited");
    let e = folder.recipe_as_written().expect_err("edited").to_string();
    assert!(e.contains("recipe.toml") && e.contains("--accept-changed"), "{e}");
    assert_eq!(folder.accept_changed().expect("accepted"), ["recipe.toml"]);
    assert_eq!(folder.recipe_as_written().expect("read").seed, 2);
    assert!(folder.manifest().expect("read").changes[0].contains("recipe.toml"));
    assert!(folder.accept_changed().expect("nothing left").is_empty());
    // A manifest that was edited is accepted as well.
    let path = folder.file(MANIFEST);
    let text = std::fs::read_to_string(&path).expect("read").replace("\"train_rows\": 60", "\"train_rows\": 61");
    std::fs::write(&path, text).expect("edited");
    assert!(folder.manifest().is_err());
    assert_eq!(folder.accept_changed().expect("accepted"), [MANIFEST]);
    assert_eq!(folder.manifest().expect("read").train_rows, 61);
}

/// A run of vifo 0.1.0 has no sums: it is read as it is, and gets sums when it is resumed.
#[test]
fn c1_runs_without_sums_are_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.file(MANIFEST)).expect("read")).expect("JSON");
    for key in ["sums", "sha256"] {
        value.as_object_mut().expect("a table").remove(key);
    }
    std::fs::write(folder.file(MANIFEST), value.to_string()).expect("written");
    std::fs::write(folder.file("recipe.toml"), RECIPE).expect("edited");
    assert_eq!(folder.recipe_as_written().expect("read").seed, 2);
    folder.write("recipe.toml", RECIPE.replace('2', "3").as_bytes()).expect("written");
    assert!(folder.manifest().expect("read").sums.is_empty(), "half a list of sums would refuse the other parts");
    tell(&folder);
    assert_eq!(sums_of(&folder, "recipe.toml"), 1);
}

/// C10: a stranger's file keeps a run folder from being deleted, wherever it lies, and so does a link.
#[test]
fn c10_strangers_are_seen_and_nothing_is_deleted() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    for name in ["figures/roc.png", "figures/other set/roc.svg", "predictions-new.csv", "report.html", ".tmpAbC123"] {
        let path = folder.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "ours").expect("written");
    }
    assert_eq!(folder.stranger(), None);
    for name in ["notes.txt", "figures/thesis.pdf", "checkpoints/mine.safetensors", "figures/a/b/c.png", "sub/file"] {
        let path = folder.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, "a stranger's").expect("written");
        let e = folder.remove_own().expect_err("a stranger").to_string();
        assert!(e.contains("was not made by vifo"), "{e}");
        assert!(path.exists() && folder.file("recipe.toml").exists(), "{name}");
        let top = folder.file(name.split('/').next().expect("a part"));
        match name.split('/').next() {
            Some("figures") => {
                drop(std::fs::remove_file(&path).and_then(|()| std::fs::remove_dir_all(folder.file("figures/a"))))
            }
            Some("sub") => std::fs::remove_dir_all(top).expect("removed"),
            _ => std::fs::remove_file(&path).expect("removed"),
        }
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.path(), folder.file("figures/link")).expect("a link");
        assert!(folder.remove_own().is_err());
        std::fs::remove_file(folder.file("figures/link")).expect("removed");
    }
    let _ = std::fs::remove_dir_all(folder.file("figures/a"));
    folder.discard();
    assert!(!folder.path.exists());
}
