//! Folders of real picture files, made with the image crate, and what may be wrong with them.

use super::*;
use image::{DynamicImage, GrayImage, ImageBuffer, ImageFormat, Luma, LumaA, Rgb, RgbImage, Rgba};
use std::path::Path;

fn save(path: &Path, picture: &DynamicImage, format: ImageFormat) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    picture.save_with_format(path, format).unwrap();
}

fn rgb(h: u32, w: u32, colour: [u8; 3]) -> DynamicImage {
    RgbImage::from_pixel(w, h, Rgb(colour)).into()
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

fn refusal(path: &Path, part: Part) -> String {
    let text = open(path, part).unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

/// Files with the name of an image beside it belong to it; others outnumber the images of no set.
#[test]
fn stray_pictures_among_other_files_are_no_set_to_train_on() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["a/1.png", "b/2.png"] {
        save(&at(name), &rgb(4, 4, [9; 3]), ImageFormat::Png);
        for end in ["txt", "json", "xml"] {
            std::fs::write(at(name).with_extension(end), "x").unwrap();
        }
    }
    let options = Options { to_train: true, ..Options::default() };
    let read = || open_with(dir.path(), Part::All, &options);
    std::fs::write(at("air.csv"), "x,y\n1,2\n").unwrap();
    std::fs::write(at("b/notes.md"), "x").unwrap();
    assert_eq!(read().unwrap().n, 2);
    check_folder(dir.path()).unwrap();
    // The tables lie beside the class folders, where nothing is read.
    std::fs::write(at("b/more.csv"), "x,y\n1,2\n").unwrap();
    for error in [read().unwrap_err().to_string(), check_folder(dir.path()).unwrap_err().to_string()] {
        assert_says(&error, &["most of its files are no images: 3 of 5", "to train on a table name it: ", "air.csv"]);
    }
    assert_eq!(open(dir.path(), Part::All).unwrap().n, 2, "it may be predicted");
}

#[test]
fn one_subfolder_a_class_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let files = [
        ("b/1.png", ImageFormat::Png),
        ("b/2.JPG", ImageFormat::Jpeg),
        ("a/3.bmp", ImageFormat::Bmp),
        ("a/deep/4.gif", ImageFormat::Gif),
        ("c/5.webp", ImageFormat::WebP),
        // The content is PNG, whatever the name says.
        ("c/6.jpeg", ImageFormat::Png),
    ];
    for (name, format) in files {
        save(&at(name), &rgb(4, 6, [200, 100, 40]), format);
    }
    std::fs::write(at("a/notes.txt"), "x").unwrap();
    std::fs::write(at("a/.hidden.png"), "x").unwrap();
    std::fs::create_dir(at("empty")).unwrap();
    save(&at("loose.png"), &rgb(4, 6, [0; 3]), ImageFormat::Png);
    let set = open(dir.path(), Part::Train).unwrap();
    assert_eq!(set.ids, ["a/3.bmp", "a/deep/4.gif", "b/1.png", "b/2.JPG", "c/5.webp", "c/6.jpeg"]);
    assert_eq!((set.h, set.w, set.c, &set.labels[..]), (4, 6, 3, &[0, 0, 1, 1, 2, 2][..]));
    assert_eq!(set.classes, ["a", "b", "c"]);
    for i in 0..set.n {
        // JPEG and the palette of GIF round a little.
        let near =
            set.image(i).unwrap().chunks(3).all(|p| p.iter().zip([200u8, 100, 40]).all(|(a, b)| a.abs_diff(b) <= 4));
        assert!(near, "{}: {:?}", set.ids[i], &set.image(i).unwrap()[..3]);
    }
    let notes = set.notes.join(" ");
    assert_says(
        &notes,
        &["1 file of no readable image format: 1 .txt", "1 image outside", "'empty'", "read by content"],
    );
    assert_says(&refusal(dir.path(), Part::Test), &["no test part"]);
}

#[test]
fn grey_deep_and_transparent_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    save(&at("x/1.png"), &GrayImage::from_pixel(3, 3, Luma([50])).into(), ImageFormat::Png);
    let deep: ImageBuffer<Luma<u16>, Vec<u16>> = ImageBuffer::from_pixel(3, 3, Luma([257 * 90]));
    save(&at("x/2.png"), &deep.into(), ImageFormat::Png);
    let grey = open(dir.path(), Part::All).unwrap();
    assert_eq!((grey.c, grey.image(0).unwrap()[0], grey.image(1).unwrap()[8]), (1, 50, 90));
    assert_says(&grey.notes.join(" "), &["1 image of more than 8 bits"]);

    // Half-transparent black on white is 255 - 128 = 127; fully transparent is white.
    let veil: ImageBuffer<Rgba<u8>, Vec<u8>> =
        ImageBuffer::from_fn(3, 3, |x, _| Rgba([0, 0, 0, if x == 0 { 0 } else { 128 }]));
    save(&at("x/3.png"), &veil.into(), ImageFormat::Png);
    let colour = open(dir.path(), Part::All).unwrap();
    assert_eq!((colour.c, &colour.image(0).unwrap()[..3]), (3, &[50u8; 3][..]));
    assert_eq!(&colour.image(2).unwrap()[..6], [255, 255, 255, 127, 127, 127]);
    assert_says(&colour.notes.join(" "), &["transparency laid on white", "2 images in grey given three"]);

    let dir = tempfile::tempdir().unwrap();
    let veil: ImageBuffer<LumaA<u8>, Vec<u8>> = ImageBuffer::from_pixel(2, 2, LumaA([10, 255]));
    save(&dir.path().join("1.png"), &veil.into(), ImageFormat::Png);
    let set = open(dir.path(), Part::All).unwrap();
    assert_eq!((set.c, &set.bytes[..]), (1, &[10u8; 4][..]));
    assert!(set.labels.is_empty() && set.classes.is_empty() && set.ids == ["1.png"]);
    assert_says(&set.notes.join(" "), &["unlabelled"]);
}

#[test]
fn train_and_test_folders_share_their_classes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["train/cat/1.png", "train/dog/1.png", "val/dog/1.png", "val/eel/1.png"] {
        save(&at(name), &rgb(2, 2, [1, 2, 3]), ImageFormat::Png);
    }
    let train = open(dir.path(), Part::Train).unwrap();
    assert_eq!((train.classes.join(" "), &train.labels[..]), ("cat dog eel".into(), &[0, 1][..]));
    assert_says(&train.notes.join(" "), &["No image in 'train' has the class 'eel'"]);
    let val = open(dir.path(), Part::Test).unwrap();
    assert_eq!((&val.labels[..], val.ids[0].as_str()), (&[1, 2][..], "val/dog/1.png"));
    assert_eq!(open(dir.path(), Part::All).unwrap().n, 4);
    save(&at("test/dog/1.png"), &rgb(2, 2, [9; 3]), ImageFormat::Png);
    let test = open(dir.path(), Part::Test).unwrap();
    assert_eq!((test.n, test.bytes[0]), (1, 9));
    // Beside a test folder, the validation folder is a part of its own.
    let val = open(dir.path(), Part::Validation).unwrap();
    assert_eq!(
        (&val.labels[..], val.ids[0].as_str(), open(dir.path(), Part::All).unwrap().n),
        (&[1, 2][..], "val/dog/1.png", 5)
    );
    // Beside other folders "train" is a vehicle.
    save(&at("bus/1.png"), &rgb(2, 2, [9; 3]), ImageFormat::Png);
    let set = open(dir.path(), Part::Train).unwrap();
    assert_eq!(set.classes, ["bus", "test", "train", "val"]);
    assert_says(&set.notes.join(" "), &["is taken as a class"]);
}

#[test]
fn images_of_several_sizes_take_the_most_frequent() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    save(&at("a/1.png"), &rgb(4, 4, [10; 3]), ImageFormat::Png);
    save(&at("a/2.png"), &rgb(8, 2, [20; 3]), ImageFormat::Png);
    save(&at("a/3.png"), &rgb(8, 2, [30; 3]), ImageFormat::Png);
    let set = open(dir.path(), Part::All).unwrap();
    assert_eq!((set.h, set.w), (8, 2));
    assert!(set.image(0).unwrap().iter().all(|&v| v == 10));
    assert_says(&set.notes.join(" "), &["1 of 3 images (2 sizes) were stretched to 8 x 2, the most frequent size"]);
    let asked = open_with(dir.path(), Part::All, &Options { size: Some((5, 5)), ..Default::default() }).unwrap();
    assert_eq!((asked.h, asked.w, asked.bytes.len()), (5, 5, 3 * 75));
    let none = open_with(dir.path(), Part::All, &Options { size: Some((0, 5)), ..Default::default() });
    assert_eq!(none.unwrap_err().exit_code(), 2);
}

#[test]
fn a_cut_file_of_any_format_is_named() {
    let noise = RgbImage::from_fn(40, 40, |x, y| Rgb([(x * 37 + y * 91) as u8, (x * y) as u8, (x * 13) as u8]));
    for (name, format) in [
        ("cut.png", ImageFormat::Png),
        ("cut.jpg", ImageFormat::Jpeg),
        ("cut.bmp", ImageFormat::Bmp),
        ("cut.gif", ImageFormat::Gif),
        ("cut.webp", ImageFormat::WebP),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a").join(name);
        save(&path, &noise.clone().into(), format);
        let whole = std::fs::read(&path).unwrap();
        for share in [1, 5, 30, 60, 95] {
            std::fs::write(&path, &whole[..whole.len() * share / 100]).unwrap();
            assert_says(&refusal(dir.path(), Part::All), &[name]);
        }
        std::fs::write(&path, b"").unwrap();
        assert_says(&refusal(dir.path(), Part::All), &[name, "empty"]);
        // A wrong byte anywhere gives an error or a set, never a panic.
        for at in 0..whole.len().min(200) {
            let mut bad = whole.clone();
            bad[at] ^= 0xFF;
            std::fs::write(&path, &bad).unwrap();
            let _ = open(dir.path(), Part::All);
        }
    }
}

#[test]
fn folders_without_images_say_what_they_hold() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    assert_says(&refusal(dir.path(), Part::All), &["holds no images"]);
    std::fs::write(dir.path().join("a/1.tif"), "x").unwrap();
    assert_says(&refusal(dir.path(), Part::All), &["1 .tif", "PNG"]);
    std::fs::write(dir.path().join("a/1.png"), "no picture").unwrap();
    std::fs::write(dir.path().join("a/2.png"), "no picture").unwrap();
    assert_says(
        &refusal(dir.path(), Part::All),
        &["2 of its 2 images cannot be read", "1.png", "2.png", "first bytes", "--skip-broken"],
    );
    assert_says(&refusal(&dir.path().join("a/1.png"), Part::All), &["1.png", "is no image by its first bytes"]);
}
