//! CIFAR, STL-10, SVHN, IDX: bytes made by hand, read back, and every way in which they can be wrong.

use super::*;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The message, which must be one line naming the place.
fn message(result: Result<ImageSet>, place: &str) -> String {
    let text = result.unwrap_err().to_string();
    assert!(text.contains(place) && !text.contains('\n'), "{text}");
    text
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

/// A record whose red, green, blue at (y, x) are y * 8, x * 8, 7.
fn cifar_record(labels: &[u8]) -> Vec<u8> {
    let mut record = labels.to_vec();
    record.extend((0..1024).map(|i| (i / 32 * 8) as u8));
    record.extend((0..1024).map(|i| (i % 32 * 8) as u8));
    record.extend([7; 1024]);
    record
}

fn cifar_file(labels: &[u8]) -> Vec<u8> {
    labels.iter().flat_map(|&label| cifar_record(&[label])).collect()
}

fn pixel(set: &ImageSet, i: usize, y: usize, x: usize) -> &[u8] {
    &set.image(i).unwrap()[(y * set.w + x) * set.c..][..set.c]
}

#[test]
fn cifar10_folder_gives_its_parts_in_order() {
    let dir = dir();
    put(dir.path(), "data_batch_1.bin", &cifar_file(&[3, 9]));
    put(dir.path(), "data_batch_2.bin", &cifar_file(&[0]));
    put(dir.path(), "test_batch.bin", &cifar_file(&[5]));
    let train = open(dir.path(), Part::Train).unwrap();
    assert_eq!((train.n, train.h, train.w, train.c), (3, 32, 32, 3));
    assert_eq!((&train.labels[..], &train.ids[..]), (&[3, 9, 0][..], &owned(&["0", "1", "2"])[..]));
    assert_eq!(pixel(&train, 2, 4, 31), [32, 248, 7]);
    assert!(train.notes.iter().any(|n| n.contains("data_batch_3.bin")), "{:?}", train.notes);
    assert_eq!(open(dir.path(), Part::Test).unwrap().labels, [5]);
    assert_eq!(open(dir.path(), Part::All).unwrap().labels, [3, 9, 0, 5]);
    assert_eq!(open(&dir.path().join("test_batch.bin"), Part::Train).unwrap().labels, [5]);
    assert!(is_divided(dir.path()).unwrap());
    let small = open_with(dir.path(), Part::Test, &Options { size: Some((8, 16)), ..Default::default() }).unwrap();
    assert_eq!((small.h, small.w, small.bytes.len()), (8, 16, 8 * 16 * 3));
    put(dir.path(), "test_batch.bin", &cifar_file(&[5; 100]));
    let huge = open_with(dir.path(), Part::Test, &Options { size: Some((8192, 8192)), ..Default::default() });
    assert_says(&message(huge, ""), &["18.8 GiB", "smaller image size"]);
}

#[test]
fn the_unpacked_archive_may_lie_one_folder_deeper() {
    let dir = dir();
    put(dir.path(), "cifar-10-batches-bin/test_batch.bin", &cifar_file(&[1]));
    let set = open(dir.path(), Part::Test).unwrap();
    assert_eq!(set.labels, [1]);
    let text = message(open(dir.path(), Part::Train), "");
    assert_says(&text, &["no training part", "test_batch.bin"]);
    let torch = tempfile::tempdir().unwrap();
    put(torch.path(), "MNIST/raw/t10k-images-idx3-ubyte", &idx(0x0803, &[1, 1, 1], &[8]));
    assert_eq!(open(torch.path(), Part::Test).unwrap().bytes, [8]);
    put(dir.path(), "cifar-100-binary/test.bin", &cifar_record(&[0, 0]));
    assert_says(&message(open(dir.path(), Part::Test), ""), &["several sets", "name one"]);
}

#[test]
fn cifar_class_names_beside_the_file_rule() {
    let dir = dir();
    put(dir.path(), "batches.meta.txt", b"a\nb\n\n");
    put(dir.path(), "some.bin", &cifar_file(&[0, 1]));
    let set = open(dir.path(), Part::All).unwrap();
    assert_eq!(set.classes, ["a", "b"]);
    assert!(!is_divided(dir.path()).unwrap());
    assert_says(&message(open(dir.path(), Part::Test), ""), &["no test part"]);
    assert!(open(dir.path(), Part::Train).unwrap().notes[0].contains("no halves"));
    let path = put(dir.path(), "some.bin", &cifar_file(&[0, 2]));
    assert_says(&message(open(&path, Part::All), "some.bin, record 1"), &["label 2", "0 to 1"]);
}

#[test]
fn cifar100_has_fine_and_coarse_labels() {
    let dir = dir();
    put(dir.path(), "train.bin", &cifar_record(&[19, 99]));
    put(dir.path(), "test.bin", &[cifar_record(&[4, 0]), cifar_record(&[11, 15])].concat());
    let fine = open(dir.path(), Part::Test).unwrap();
    assert_eq!((fine.labels[1], fine.classes[15].as_str(), fine.classes.len()), (15, "camel", 100));
    assert_eq!(pixel(&fine, 1, 2, 3), [16, 24, 7]);
    let coarse = open(&PathBuf::from(format!("{}#coarse", dir.path().display())), Part::Test).unwrap();
    assert_eq!((coarse.labels[0], coarse.classes[4].as_str(), coarse.classes.len()), (4, "fruit_and_vegetables", 20));
    put(dir.path(), "test.bin", &cifar_record(&[20, 0]));
    assert_says(&message(open(dir.path(), Part::Test), "test.bin, record 0"), &["label 20", "0 to 19"]);
}

#[test]
fn damaged_cifar_files_are_named() {
    let dir = dir();
    let path = put(dir.path(), "data_batch_1.bin", &cifar_file(&[1, 2])[..5000]);
    assert_says(&message(open(dir.path(), Part::Train), "data_batch_1.bin"), &["1 record and 1927 bytes over"]);
    assert_says(&message(open(&path, Part::Train), "data_batch_1.bin"), &["5000 bytes", "3,073"]);
    put(dir.path(), "data_batch_1.bin", b"");
    assert_says(&message(open(dir.path(), Part::Train), "data_batch_1.bin"), &["empty"]);
    put(dir.path(), "data_batch_1.bin", &cifar_file(&[1, 77]));
    assert_says(&message(open(dir.path(), Part::Train), "data_batch_1.bin, record 1"), &["label 77", "0 to 9"]);
}

#[test]
fn what_is_missing_says_where_it_is_to_be_had() {
    let dir = dir();
    let missing = |name: &str| message(open(&dir.path().join(name), Part::All), name);
    assert_says(&missing("cifar-10"), &["no such file", "CIFAR-10 binary version", "Krizhevsky"]);
    assert_says(&missing("CIFAR_100"), &["CIFAR-100"]);
    assert_says(&missing("stl10"), &["Coates"]);
    assert_says(&missing("svhn"), &["train_32x32.mat"]);
    assert_says(&missing("fashion-mnist"), &["Zalando"]);
    assert_says(&missing("mnist"), &["LeCun"]);
    assert_says(&missing("pictures"), &["check the path"]);
    assert_says(&message(open(dir.path(), Part::All), ""), &["empty folder", "IDX"]);
    put(dir.path(), "data_batch_1", b"x");
    assert_says(&message(open(dir.path(), Part::All), "data_batch_1"), &["Python version", "binary version"]);
    let tar = put(dir.path(), "cifar-10-binary.tar.gz", b"x");
    assert_says(&message(open(&tar, Part::All), "tar.gz"), &["unpack it"]);
    put(dir.path(), "notes.txt", b"x");
    let text = put(dir.path(), "notes.txt", b"x");
    assert_says(&message(open(&text, Part::All), "notes.txt"), &["no image set by its name"]);
}

/// One STL-10 image: value at (k, y, x) is k * 100 + y for x < 48 and k * 100 for the rest.
fn stl_image() -> Vec<u8> {
    let value = |k: usize, x: usize, y: usize| (k * 80 + if x < 48 { y } else { 0 }) as u8;
    let mut out = Vec::new();
    for k in 0..3 {
        for x in 0..96 {
            out.extend((0..96).map(|y| value(k, x, y)));
        }
    }
    out
}

#[test]
fn stl10_is_column_by_column() {
    let dir = dir();
    put(dir.path(), "train_X.bin", &stl_image().repeat(2));
    put(dir.path(), "train_y.bin", &[1, 10]);
    put(dir.path(), "test_X.bin", &stl_image());
    put(dir.path(), "test_y.bin", &[8]);
    put(dir.path(), "unlabeled_X.bin", &stl_image());
    let train = open(dir.path(), Part::Train).unwrap();
    assert_eq!((train.n, train.h, &train.labels[..]), (2, 96, &[0, 9][..]));
    assert_eq!(pixel(&train, 1, 90, 3), [90, 170, 250]);
    assert_eq!(pixel(&train, 1, 3, 90), [0, 80, 160]);
    assert!(train.notes.iter().any(|n| n.contains("unlabeled_X.bin")));
    let test = open(dir.path(), Part::Test).unwrap();
    assert_eq!(test.classes[test.labels[0] as usize], "monkey");
    let loose = open(&dir.path().join("unlabeled_X.bin"), Part::All).unwrap();
    assert!(loose.labels.is_empty() && loose.notes[0].contains("unlabelled"));

    put(dir.path(), "train_y.bin", &[1]);
    assert_says(&message(open(dir.path(), Part::Train), "train_y.bin"), &["1 label for 2 images"]);
    put(dir.path(), "train_y.bin", &[1, 0]);
    assert_says(&message(open(dir.path(), Part::Train), "train_y.bin, record 1"), &["label 0", "1 to 10"]);
    put(dir.path(), "train_X.bin", &stl_image()[1..]);
    assert_says(&message(open(dir.path(), Part::Train), "train_X.bin"), &["27647 bytes over"]);
    assert_says(&message(open(&dir.path().join("test_y.bin"), Part::Test), "test_y.bin"), &["labels only"]);
}

/// An element of a MAT file: tag, bytes, padding.
fn element(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [kind, body.len() as u32] {
        out.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
    }
    out.extend(body);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn small(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (body.len() as u16).to_le_bytes()].concat();
    out.extend(body);
    out.resize(8, 0);
    out
}

fn matrix(name: &str, class: u8, dims: &[u32], kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let word = |w: u32| if big { w.to_be_bytes() } else { w.to_le_bytes() };
    let flags: Vec<u8> = [word(u32::from(class)), word(0)].concat();
    let dims: Vec<u8> = dims.iter().flat_map(|&d| word(d)).collect();
    let name = if big { element(1, name.as_bytes(), true) } else { small(1, name.as_bytes()) };
    let parts = [element(6, &flags, big), element(5, &dims, big), name, element(kind, body, big)].concat();
    element(14, &parts, big)
}

fn mat_file(arrays: &[Vec<u8>], compressed: bool, big: bool) -> Vec<u8> {
    let mut out = b"MATLAB 5.0 MAT-file".to_vec();
    out.resize(124, b' ');
    out.extend(if big { [1, 0, b'M', b'I'] } else { [0, 1, b'I', b'M'] });
    for array in arrays {
        if compressed {
            let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(array).unwrap();
            let packed = packer.finish().unwrap();
            for word in [15, packed.len() as u32] {
                out.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
            }
            out.extend(packed);
        } else {
            out.extend(array);
        }
    }
    out
}

/// `[32, 32, 3, n]` column-major: value at (y, x, k, i) is y + 100 * (x >= 16) + k + i.
fn svhn_pixels(n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..n {
        for k in 0..3 {
            for x in 0..32 {
                out.extend((0..32).map(|y| (y + if x >= 16 { 100 } else { 0 } + k + i) as u8));
            }
        }
    }
    out
}

#[test]
fn svhn_plain_and_compressed_in_both_byte_orders() {
    let dir = dir();
    for (compressed, big) in [(false, false), (true, false), (false, true), (true, true)] {
        let x = matrix("X", 9, &[32, 32, 3, 2], 2, &svhn_pixels(2), big);
        let y = matrix("y", 9, &[2, 1], 2, &[10, 3], big);
        put(dir.path(), "train_32x32.mat", &mat_file(&[x, y], compressed, big));
        let set = open(dir.path(), Part::Train).unwrap();
        assert_eq!((set.n, set.h, set.c, &set.labels[..]), (2, 32, 3, &[0, 3][..]));
        assert_eq!(pixel(&set, 1, 5, 20), [106, 107, 108], "compressed {compressed}, big {big}");
        assert_eq!(pixel(&set, 0, 20, 5), [20, 21, 22]);
    }
    // Labels as doubles, and a single image, whose last dimension MATLAB drops.
    let x = matrix("X", 9, &[32, 32, 3], 2, &svhn_pixels(1), false);
    let y = matrix("y", 6, &[1, 1], 9, &4f64.to_le_bytes(), false);
    let path = put(dir.path(), "one.mat", &mat_file(&[y, x], true, false));
    assert_eq!(open(&path, Part::All).unwrap().labels, [4]);
}

#[test]
fn damaged_mat_files_are_named() {
    let dir = dir();
    let x = || matrix("X", 9, &[32, 32, 3, 1], 2, &svhn_pixels(1), false);
    let y = |label: u8| matrix("y", 9, &[1, 1], 2, &[label], false);
    let read = |bytes: &[u8]| message(open(&put(dir.path(), "a.mat", bytes), Part::All), "a.mat");
    assert_says(&read(&mat_file(&[x(), y(0)], false, false)), &["record 0", "label 0", "1 to 10"]);
    assert_says(&read(&mat_file(&[x(), y(11)], false, false)), &["label 11"]);
    assert_says(&read(&mat_file(&[x()], false, false)), &["no array 'y'", "'X'"]);
    let two = matrix("y", 9, &[2, 1], 2, &[1, 2], false);
    assert_says(&read(&mat_file(&[x(), two], false, false)), &["2 labels for 1 image"]);
    let flat = matrix("X", 9, &[3072, 1], 2, &svhn_pixels(1), false);
    assert_says(&read(&mat_file(&[flat, y(1)], false, false)), &["[3072, 1]"]);
    let lying = matrix("X", 9, &[32, 32, 3, 9], 2, &svhn_pixels(1), false);
    assert_says(&read(&mat_file(&[lying, y(1)], false, false)), &["3072 values"]);
    let cell = matrix("X", 1, &[32, 32, 3, 1], 2, &svhn_pixels(1), false);
    assert_says(&read(&mat_file(&[cell, y(1)], false, false)), &["not of bytes"]);
    assert_says(&read(b"MATLAB 7.3 MAT-file ..."), &["7.3", "-v7"]);
    assert_says(&read(&[b'x'; 200]), &["no MATLAB header"]);
    assert_says(&read(b"MATLAB 5.0"), &["too short"]);
    // Cut anywhere, or with any byte of the tags wrong, a file gives an error or a set, never a panic.
    for compressed in [false, true] {
        let whole = mat_file(&[x(), y(1)], compressed, false);
        for cut in (0..whole.len()).step_by(37) {
            let path = put(dir.path(), "cut.mat", &whole[..cut]);
            assert!(open(&path, Part::All).is_err(), "{cut}");
        }
        for at in 120..whole.len().min(220) {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut bad = whole.clone();
                bad[at] = value;
                let _ = open(&put(dir.path(), "bad.mat", &bad), Part::All);
            }
        }
    }
    put(dir.path(), "data_batch_1.bin", &cifar_file(&[1]));
    assert_says(&message(open(dir.path(), Part::All), ""), &["several sets"]);
}

fn idx(magic: u32, sizes: &[u32], body: &[u8]) -> Vec<u8> {
    let mut out = magic.to_be_bytes().to_vec();
    sizes.iter().for_each(|s| out.extend(s.to_be_bytes()));
    out.extend(body);
    out
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn idx_plain_and_gzip_with_their_labels() {
    let dir = dir();
    let images = idx(0x0803, &[2, 2, 3], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    put(dir.path(), "train-images-idx3-ubyte", &images);
    put(dir.path(), "train-labels-idx1-ubyte.gz", &gz(&idx(0x0801, &[2], &[4, 0])));
    put(dir.path(), "t10k-images-idx3-ubyte.gz", &gz(&images));
    let train = open(dir.path(), Part::Train).unwrap();
    assert_eq!((train.n, train.h, train.w, train.c), (2, 2, 3, 1));
    assert_eq!((&train.labels[..], train.classes.len(), pixel(&train, 1, 1, 2)), (&[4, 0][..], 5, &[11u8][..]));
    let test = open(dir.path(), Part::Test).unwrap();
    assert!(test.labels.is_empty() && test.notes[0].contains("unlabelled"), "{:?}", test.notes);
    assert_says(&message(open(dir.path(), Part::All), ""), &["has labels and another has none"]);
    put(dir.path(), "t10k-labels.idx1-ubyte", &idx(0x0801, &[2], &[1, 9]));
    let all = open(dir.path(), Part::All).unwrap();
    assert_eq!((&all.labels[..], all.classes.len(), all.ids[3].as_str()), (&[4, 0, 1, 9][..], 10, "3"));
    // Both the packed and the plain file: the plain one alone is read.
    put(dir.path(), "t10k-images-idx3-ubyte", &images);
    assert_eq!(open(dir.path(), Part::Test).unwrap().n, 2);
}

#[test]
fn damaged_idx_files_are_named() {
    let dir = dir();
    let name = "train-images-idx3-ubyte";
    let read = |bytes: &[u8]| message(open(&put(dir.path(), name, bytes), Part::All), name);
    assert_says(&read(&idx(0x0801, &[2], &[1, 2])), &["2049", "2051"]);
    assert_says(&read(&idx(0x0803, &[2, 2, 2], &[1, 2])), &["holds 2 of the 8 bytes"]);
    assert_says(&read(&idx(0x0803, &[1, 1, 1], &[1, 2])), &["more than the 1 bytes"]);
    assert_says(&read(&idx(0x0803, &[0, 28, 28], &[])), &["claims 0 images"]);
    assert_says(&read(&idx(0x0803, &[u32::MAX; 3], &[])), &["claims the sizes"]);
    assert_says(&read(&[0, 0]), &["ends inside its header"]);
    let packed = gz(&idx(0x0803, &[1, 20, 20], &[9; 400]));
    assert_says(&read(&packed[..packed.len() - 12]), &["gzip"]);
    put(dir.path(), "train-labels-idx1-ubyte", &idx(0x0801, &[3], &[1, 2, 3]));
    let text = message(open(&put(dir.path(), name, &idx(0x0803, &[1, 1, 1], &[1])), Part::All), "train-labels");
    assert_says(&text, &["3 labels for 1 image"]);
}

#[test]
fn sets_that_contradict_themselves_are_refused() {
    let good = ImageSet {
        bytes: vec![0; 6],
        labels: vec![0, 1],
        n: 2,
        h: 1,
        w: 1,
        c: 3,
        classes: owned(&["a", "b"]),
        ids: owned(&["0", "1"]),
        ..Default::default()
    };
    assert!(good.check().is_ok());
    assert_eq!((good.image(1), good.image(2), good.image(usize::MAX)), (Some(&[0u8; 3][..]), None, None));
    for bad in [
        ImageSet { n: 3, ..good.clone() },
        ImageSet { c: 2, ..good.clone() },
        ImageSet { labels: vec![0, 2], ..good.clone() },
        ImageSet { labels: vec![0], ..good.clone() },
        ImageSet { ids: vec![], ..good.clone() },
        ImageSet { h: usize::MAX, w: usize::MAX, ..good.clone() },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
