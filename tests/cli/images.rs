//! The real binary on images: a folder of pictures and the bundled digits, from inspect to evaluate; what is refused and
//! how; a killed training on images.

use assert_cmd::Command;
use std::path::Path;
use std::time::Duration;

fn vifo(dir: &Path, args: &[&str]) -> std::process::Output {
    let mut c = Command::cargo_bin("vifo").expect("the binary");
    c.current_dir(dir).env("NODEVICE_SELECT", "1").timeout(Duration::from_secs(120));
    c.args(args).output().expect("runs")
}

#[track_caller]
fn good(dir: &Path, args: &str) -> String {
    let out = vifo(dir, &args.split_whitespace().collect::<Vec<_>>());
    assert!(out.status.success(), "vifo {args}\n{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).to_string() + &String::from_utf8_lossy(&out.stderr)
}

#[track_caller]
fn refused(dir: &Path, args: &str, code: i32, parts: &[&str]) {
    let out = vifo(dir, &args.split_whitespace().collect::<Vec<_>>());
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    let lines: Vec<&str> = err.lines().filter(|l| !l.starts_with("note: ")).collect();
    assert_eq!(out.status.code(), Some(code), "vifo {args}\n{err}");
    assert!(lines.len() == 1 && lines[0].starts_with("error: "), "vifo {args}\n{err}");
    for part in parts {
        assert!(err.contains(part), "vifo {args}: {part:?} is missing in\n{err}");
    }
}

/// A picture of a class: bars that run across or down, at a phase of its own.
fn picture(down: bool, i: u32) -> image::RgbImage {
    image::RgbImage::from_fn(12, 12, |x, y| {
        let bright = ((if down { x } else { y }) + i) % 4 < 2;
        image::Rgb(if bright { [230, 200, (i * 7 % 50) as u8] } else { [20, 10, 40] })
    })
}

/// bars/{across,down}/NN.png, 30 each.
fn bars(dir: &Path) {
    for (class, down) in [("across", false), ("down", true)] {
        let folder = dir.join("bars").join(class);
        std::fs::create_dir_all(&folder).expect("a folder");
        for i in 0..30 {
            picture(down, i).save(folder.join(format!("{i:02}.png"))).expect("a picture");
        }
    }
}

const SMALL: &str = "--net cnn --members 2 --set net.widths=[4,4] --hidden 8";

#[test]
fn a_folder_of_pictures_from_inspect_to_evaluate() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    bars(dir);
    std::fs::write(dir.join("bars/readme.txt"), "no picture").expect("written");
    let said = good(dir, "inspect bars");
    for part in ["image folder, 60 images of 12 x 12, colour", "across  30", "vifo fit bars"] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    let said = good(dir, &format!("fit bars {SMALL} --epochs 25 --lr 0.01 --out run"));
    assert!(said.contains("mirrored") && said.contains("target class (classification)"), "{said}");
    let results: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("run/results.json")).expect("results")).expect("JSON");
    let accuracy = results["metrics"][0]["value"].as_f64().expect("a number");
    assert_eq!((results["metrics"][0]["name"].as_str(), accuracy), (Some("accuracy"), 1.0), "bars are easy");
    for file in [
        "report.html",
        "predictions.csv",
        "figures/reliability.png",
        "checkpoints/best.safetensors",
        "figures/certainty.png",
    ] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
    }
    let text = std::fs::read_to_string(dir.join("run/predictions.csv")).expect("predictions");
    assert!(text.starts_with("image,class,predicted,p_across,p_down,entropy,"), "{text}");
    assert!(text.lines().nth(1).is_some_and(|l| l.starts_with("across/") && l.contains(".png")), "{text}");

    // Test images that were trained on, told; a run among the images is none of them.
    let said = good(dir, &format!("fit bars {SMALL} --epochs 1 --test-file bars --out leak"));
    assert!(said.contains("60 images of the test part also in the training part"), "{said}");
    std::fs::rename(dir.join("leak"), dir.join("bars/leak")).expect("moved");
    let said = good(dir, "inspect bars");
    assert!(said.contains("60 images of 12 x 12") && said.contains("2 classes"), "{said}");
    std::fs::remove_dir_all(dir.join("bars/leak")).expect("removed");

    // New pictures: a flat folder, one file, another size and grey.
    std::fs::create_dir(dir.join("new")).expect("a folder");
    picture(true, 3).save(dir.join("new/a.png")).expect("a picture");
    let large = image::imageops::resize(&picture(false, 1), 24, 24, image::imageops::FilterType::Nearest);
    image::DynamicImage::ImageRgb8(large).to_luma8().save(dir.join("new/b.jpg")).expect("a picture");
    let said = good(dir, "predict run new --out new.csv");
    assert!(said.contains("2 predictions"), "{said}");
    let text = std::fs::read_to_string(dir.join("new.csv")).expect("predictions");
    assert!(text.contains("\na.png,down,") && text.contains("\nb.jpg,across,"), "{text}");
    let one = good(dir, "predict run new/a.png --out - --quiet");
    assert!(one.contains("a.png,down,"), "{one}");

    let said = good(dir, "evaluate run --test bars --ood digits --corrupt fog:3 --corrupt contrast");
    for part in ["ood: 1797 rows", "auroc_entropy", "fog", "contrast", "mean", "are no test; leave --test out"] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    let said = good(dir, "compare run --metric auroc_entropy --metric fog.3.accuracy --metric nll");
    assert!(said.contains("auroc_entropy ↑") && said.contains("fog.3.accuracy ↑"), "{said}");
    let shift = good(dir, "evaluate run --shift bars --json");
    assert!(shift.contains("\"set\":\"shift\""), "{shift}");
}

#[test]
fn bundled_digits_and_what_follows_from_flags() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    // A run folder of the set's name does not hide the set.
    good(dir, "fit digits --epochs 1 --members 1 --limit 40 --out digits");
    refused(dir, "fit digits/", 2, &["is a run folder", "--resume"]);
    let said = good(dir, "fit digits --epochs 3 --members 2 --limit 200 --out run");
    assert!(said.contains("200 images to train on"), "{said}");
    let recipe = std::fs::read_to_string(dir.join("run/recipe.toml")).expect("a recipe");
    assert!(recipe.contains("images = \"digits\""), "a bundled set has no path: {recipe}");
    good(dir, "fit run/recipe.toml --epochs 1 --out again");
    let all = good(dir, "evaluate run --corrupt all:2 --format markdown");
    assert!(all.contains("| pixelate") && all.contains("grey images have no saturation"), "{all}");
    let said = good(dir, "evaluate run --test digits");
    assert!(said.contains("are no test; leave --test out"), "{said}");
    let said = good(dir, "inspect digits");
    assert!(said.contains("1797 images of 8 x 8, grey"), "{said}");
    for net in ["preresnet --set net.depth=8 --set net.widths=[4]", "alexnet --set net.widths=[4,4,4,4,4]", "mlp"] {
        let said = good(dir, &format!("fit digits --net {net} --epochs 1 --limit 40 --members 1 --out net --force"));
        assert!(said.contains("epoch 1/1"), "{said}");
        good(dir, "predict net digits --out net.csv");
    }
}

/// A network's weights go out under PyTorch's names and come back: without training the run predicts what the first did.
#[test]
fn exported_weights_come_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let net =
        "--net preresnet --set net.depth=8 --set net.widths=[4] --limit 60 --members 1 --method base --device cpu";
    good(dir, &format!("fit digits {net} --epochs 2 --out run"));
    let said = good(dir, "export run w.safetensors");
    assert!(said.contains("load_file") || said.contains("load_state_dict"), "{said}");
    good(dir, &format!("fit digits {net} --set net.weights=w.safetensors --epochs 0 --seed 7 --out again"));
    for run in ["run", "again"] {
        good(dir, &format!("predict {run} digits --out {run}.csv"));
    }
    let read = |run: &str| std::fs::read_to_string(dir.join(format!("{run}.csv"))).expect("predictions");
    let numbers = |text: &str| -> Vec<f64> {
        text.lines()
            .skip(1)
            .flat_map(|l| l.split(',').skip(3).map(|v| v.parse().expect("a number")).collect::<Vec<f64>>())
            .collect()
    };
    let (a, b) = (numbers(&read("run")), numbers(&read("again")));
    // The statistics that normalise the images are of another split's training part: a little apart, no more.
    let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(a.len() == b.len() && worst < 0.05, "{worst}");
    refused(dir, &format!("fit digits {net} --set net.weights=nosuch.safetensors --out x"), 1, &["nosuch.safetensors"]);
    let other = format!("fit digits {net} --set net.weights=w.safetensors --set net.widths=[5] --out x");
    refused(dir, &other, 1, &["w.safetensors", "c.weight"]);
}

/// Killed between two checkpoints and resumed, a run with batch norm ends as the unbroken one.
#[test]
fn a_killed_training_on_images_resumes_to_the_same_bits() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let args = "fit digits --net preresnet --set net.depth=8 --set net.widths=[4] --epochs 6 --limit 100 --members 2 \
                --set train.checkpoint_seconds=0 --set train.patience=0 --device cpu";
    good(dir, &format!("{args} --out whole"));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_vifo"))
        .args(format!("{args} --out cut").split_whitespace())
        .current_dir(dir)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let last = dir.join("cut/checkpoints/last.safetensors");
    let start = std::time::Instant::now();
    while !last.is_file() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    good(dir, "fit --resume cut");
    for file in ["predictions.csv", "results.json"] {
        let read = |run: &str| std::fs::read(dir.join(run).join(file)).expect("a file");
        assert!(read("whole") == read("cut"), "{file} differs");
    }
}

#[test]
fn what_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    bars(dir);
    std::fs::create_dir_all(dir.join("one/only")).expect("a folder");
    picture(true, 0).save(dir.join("one/only/a.png")).expect("a picture");
    std::fs::create_dir_all(dir.join("flat")).expect("a folder");
    picture(true, 0).save(dir.join("flat/a.png")).expect("a picture");
    std::fs::create_dir_all(dir.join("broken/a")).expect("a folder");
    let whole = std::fs::read(dir.join("bars/down/00.png")).expect("a picture");
    std::fs::write(dir.join("broken/a/cut.png"), &whole[..whole.len() / 2]).expect("written");
    std::fs::create_dir(dir.join("empty")).expect("a folder");
    std::fs::write(dir.join("data_batch_1.bin"), vec![3u8; 3073 * 2 - 1]).expect("written");
    std::fs::write(dir.join("table.csv"), "x,y\n1,2\n").expect("written");
    refused(dir, "fit empty", 1, &["empty", "is an empty folder"]);
    refused(dir, "fit flat", 1, &["flat", "the images have no classes", "one folder per class"]);
    refused(dir, "fit one", 1, &["every image has the class 'only'", "two classes or more"]);
    refused(dir, "fit broken", 1, &["cut.png"]);
    refused(dir, "inspect broken", 1, &["cut.png"]);
    refused(dir, "fit data_batch_1.bin", 1, &["data_batch_1.bin"]);
    refused(dir, "fit cifar10", 2, &["cifar10", "no such file"]);
    refused(dir, "fit bars --set data.images=nosuch", 1, &["nosuch", "no such file or folder"]);
    refused(dir, "fit table.csv --net alexnet", 2, &["--net alexnet: is for images; leave --net out for a table"]);
    refused(dir, "fit bars --net alexnet --image-size 16", 2, &["32 x 32", "leave data.image_size out"]);
    refused(dir, "fit bars --net preresnet --set net.depth=21", 2, &["net.depth", "6 n + 2"]);
    refused(dir, "fit bars --net cnn --set net.widths=[3]", 2, &["net.widths", "1 numbers"]);
    refused(dir, "fit bars --net vgg", 2, &["net.name", "\"preresnet\""]);
    refused(dir, "fit bars --epochs 0", 2, &["epochs", "random weights"]);
    good(dir, &format!("fit bars {SMALL} --epochs 1 --out run"));
    refused(dir, "predict run empty", 1, &["is an empty folder"]);
    refused(dir, "predict run table.csv", 1, &["table.csv", "is no image set by its name"]);
    refused(dir, "evaluate run --corrupt rain", 2, &["'rain'", "gaussian_noise"]);
    refused(dir, "evaluate run --corrupt fog:9", 2, &["severity", "1 to 5"]);
    refused(dir, "evaluate run --test digits", 1, &["the class '0' was not seen in training", "--ood"]);
    refused(dir, "evaluate run --shift flat", 1, &["the images have no classes"]);
    refused(dir, "fit bars --out bars/run", 2, &["lies inside the image set", "--out"]);
    refused(dir, "predict run run", 2, &["is a run folder"]);
    refused(dir, "inspect run", 2, &["is a run folder"]);
    refused(dir, "fit digits --set data.crop=8", 2, &["data.crop", "8 for images of 8 x 8", "0 to 4"]);
    refused(dir, "fit digit", 2, &["no such file", "did you mean digits?"]);
    // A class that is tested and was never trained.
    for (part, class) in [("train", "a"), ("train", "b"), ("test", "a"), ("test", "c")] {
        std::fs::create_dir_all(dir.join("halves").join(part).join(class)).expect("a folder");
        for i in 0..12 {
            picture(class == "b", i).save(dir.join(format!("halves/{part}/{class}/{i}.png"))).expect("a picture");
        }
    }
    refused(dir, "fit halves", 1, &["the class 'c' has test images and no training image"]);
}
