//! Files of other programs: what comes in, what is refused and how, and that no bytes make the reader panic.

use super::*;
use crate::data::Task;
use crate::method::{Method, Trained, base, vi, vifo};
use crate::net::{Mlp, Net, PreResNet};
use crate::program::Act;
use crate::program::builder::Embedded;
use crate::recipe::{Link, Optimizer};

fn mlp(n_out: u32) -> Layout {
    Mlp {
        n_in: 2,
        hidden: vec![3],
        last: n_out.into(),
        activation: Act::Relu,
        embedded: vec![],
        tables: vec![],
        scaled: false,
        parametric: false,
        dropout: 0.0,
    }
    .layout()
}

/// One block a stage: every kind of tensor, in 1.5 kB.
fn resnet() -> PreResNet {
    PreResNet { channels: 1, last: 2.into(), depth: 8, width: 1, dropout: 0.0 }
}

/// Different numbers everywhere, in our order.
fn numbers(layout: &Layout) -> (Vec<f32>, Vec<f32>) {
    let of = |n: usize, from: f32| (0..n).map(|i| from + 0.25 * i as f32).collect();
    (of(layout.total, -3.0), of(layout.running, 0.5))
}

type Tensors = Vec<(String, Dtype, Vec<usize>, Vec<u8>)>;

fn tensors(layout: &Layout) -> Tensors {
    let (weights, running) = numbers(layout);
    let bytes = export(layout, &weights, &running).expect("bytes");
    let file = SafeTensors::deserialize(&bytes).expect("a file");
    let mut all: Tensors =
        file.iter().map(|(n, t)| (n.to_string(), t.dtype(), t.shape().to_vec(), t.data().to_vec())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn file(tensors: &Tensors) -> Vec<u8> {
    let views = tensors
        .iter()
        .map(|(n, dtype, shape, bytes)| (n.clone(), TensorView::new(*dtype, shape.clone(), bytes).expect("a tensor")));
    safetensors::serialize(views, None).expect("bytes")
}

fn read(bytes: &[u8], layout: &Layout) -> Result<(Vec<f32>, Vec<f32>)> {
    import(bytes, Path::new("w.safetensors"), layout)
}

fn refusal(tensors: &Tensors, layout: &Layout) -> String {
    read(&file(tensors), layout).expect_err("a refusal").to_string()
}

#[test]
fn comes_back_to_the_bit_under_any_shared_prefix_and_with_counters() {
    let layout = resnet().layout();
    let want = numbers(&layout);
    for prefix in ["", "module.", "model.", "_orig_mod.module."] {
        let mut all = tensors(&layout);
        all.push(("b.num_batches_tracked".into(), Dtype::I64, vec![], vec![0; 8]));
        all.iter_mut().for_each(|t| t.0 = format!("{prefix}{}", t.0));
        assert_eq!(read(&file(&all), &layout).expect("weights"), want, "{prefix}");
    }
    // A single layer's own number is no prefix.
    let one = Mlp {
        n_in: 2,
        hidden: vec![],
        last: 3.into(),
        activation: Act::Relu,
        embedded: vec![],
        tables: vec![],
        scaled: false,
        parametric: false,
        dropout: 0.0,
    }
    .layout();
    assert_eq!(read(&file(&tensors(&one)), &one).expect("weights"), numbers(&one));
}

#[test]
fn halves_and_doubles_are_read_as_they_are_defined() {
    let layout = mlp(2);
    let want = numbers(&layout);
    for dtype in [Dtype::F64, Dtype::F16, Dtype::BF16] {
        let mut all = tensors(&layout);
        for t in &mut all {
            let values = t.3.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b));
            t.1 = dtype;
            t.3 = match dtype {
                Dtype::F64 => values.flat_map(|v| f64::from(v).to_le_bytes()).collect(),
                Dtype::BF16 => values.flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect(),
                // Quarters below 8: the search is over all finite halves.
                _ => values
                    .flat_map(|v| {
                        let bits = (0..=u16::MAX).find(|b| half(*b) == f64::from(v)).expect("a half");
                        bits.to_le_bytes()
                    })
                    .collect(),
            };
        }
        assert_eq!(read(&file(&all), &layout).expect("weights"), want, "{dtype:?}");
    }
    // The standard's own examples: one, the largest, the least normal, the least subnormal, minus two.
    for (bits, value) in
        [(0x3c00, 1.0), (0x7bff, 65504.0), (0x0400, 2f64.powi(-14)), (1, 2f64.powi(-24)), (0xc000, -2.0)]
    {
        assert_eq!(half(bits), value);
    }
    assert!(half(0x7c00) == f64::INFINITY && half(0xfe00).is_nan() && half(0x8000).is_sign_negative());
}

/// Place, what was found, what is allowed, the cure.
#[test]
fn every_fault_names_its_tensor_and_a_cure() {
    let layout = mlp(2);
    let whole = tensors(&layout);
    let with = |change: &dyn Fn(&mut Tensors)| {
        let mut all = whole.clone();
        change(&mut all);
        refusal(&all, &layout)
    };
    let set = |all: &mut Tensors, name: &str, values: &[f32]| {
        let t = all.iter_mut().find(|t| t.0 == name).expect("the tensor");
        t.3 = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    };
    let rows: Vec<(String, &[&str])> = vec![
        (
            with(&|all| all[3].0 = "2.weights".into()),
            &["w.safetensors, tensor 2.weight: is missing; rename 2.weights (the nearest name in the file) to it"],
        ),
        (with(&|all| drop(all.drain(1..3))), &["tensor 0.weight: is missing, as is 2.bias; save all tensors"]),
        (
            with(&|all| all.iter_mut().for_each(|t| t.0 = format!("fc.x{}", t.0.replace('.', "")))),
            &["holds none of the network's tensors, but fc.x0bias, fc.x0weight", "allowed: 0.weight, 0.bias"],
        ),
        (with(&|all| all.clear()), &["holds no tensors"]),
        (
            with(&|all| all.push(("4.weight\nx".into(), Dtype::F32, vec![1], vec![0; 4]))),
            &["1 tensor that the network does not have: 4.weight?x; leave it out"],
        ),
        (
            with(&|all| all[1].2 = vec![2, 3]),
            &["tensor 0.weight: shape [2, 3]; allowed: [3, 2]; give the network the sizes"],
        ),
        (
            with(&|all| all[0].1 = Dtype::I32),
            &["tensor 0.bias: numbers of type I32; allowed: F32, F64, F16, BF16; save"],
        ),
        (
            with(&|all| set(all, "2.weight", &[0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0])),
            &["tensor 2.weight: element [1, 1] is NaN; allowed: finite numbers; save the weights of an earlier"],
        ),
        (with(&|all| set(all, "0.bias", &[0.0, f32::NEG_INFINITY, 0.0])), &["0.bias: element [1] is -infinity"]),
        (
            with(&|all| {
                all[0].1 = Dtype::F64;
                all[0].3 = [1.0, 2.0, 1e300f64].iter().flat_map(|v| v.to_le_bytes()).collect();
            }),
            &["0.bias: element [2] is 1e300; allowed: numbers that fit in 32 bits"],
        ),
    ];
    for (said, parts) in &rows {
        assert!(said.starts_with("w.safetensors") && !said.contains('\n'), "{said}");
        for part in *parts {
            assert!(said.contains(part), "{part:?} is not in {said:?}");
        }
    }
    let norms = resnet().layout();
    let mut all = tensors(&norms);
    set(&mut all, "b.running_var", &[1.0, 1.0, -0.5, 1.0]);
    assert!(
        refusal(&all, &norms).contains("tensor b.running_var: element [2] is -0.5; allowed: variances of at least 0")
    );
    all.retain(|t| t.0 != "b.running_var");
    assert!(refusal(&all, &norms).contains("tensor b.running_var: is missing"));
}

#[test]
fn a_last_layer_of_other_size_gets_the_hint_that_fits() {
    let hint = |file: u32, network: u32| refusal(&tensors(&mlp(file)), &mlp(network));
    let said = hint(2, 4);
    assert!(said.contains("tensor 2.weight: shape [2, 3]; allowed: [4, 3]; only the last layer differs"), "{said}");
    assert!(said.contains("2 outputs in the file and 4 in the network; VIFO doubles the last layer"), "{said}");
    assert!(hint(4, 2).contains("VIFO doubles the last layer: take the file of a plain network, or a vifo method"));
    assert!(hint(5, 2).contains("as many classes"), "{}", hint(5, 2));
}

#[test]
fn other_kinds_of_file_are_told_apart() {
    let layout = mlp(2);
    let bytes = file(&tensors(&layout));
    let said = |bytes: &[u8]| read(bytes, &layout).expect_err("a refusal").to_string();
    assert!(said(b"").contains("holds 0 bytes, too few"));
    assert!(said(b"PK\x03\x04\x00\x00\x08\x08\x00\x00").contains("a file of torch.save, not of safetensors; save"));
    assert!(said(b"x,y\n1,2\n3,4\n5,6\n").contains("not a safetensors file"));
    assert!(said(&bytes[..40]).contains("is cut: it ends after 40 bytes, inside its header"));
    let cut = said(&bytes[..bytes.len() - 3]);
    let end =
        format!("is cut: it ends after {} of the {} bytes that its header announces", bytes.len() - 3, bytes.len());
    assert!(cut.contains(&end), "{cut}");
    assert!(said(&[&bytes[..], b"more"].concat()).contains("holds more bytes than its header announces"));
    let checkpoint = crate::train::Checkpoint {
        members: 1,
        trained: Trained::plain(numbers(&layout).0, vec![]),
        ..Default::default()
    };
    assert!(said(&checkpoint.to_bytes(&layout).expect("bytes")).contains("vifo export RUN OUT.safetensors"));
}

/// An embedding's numbers under their names, in an order that needs no turning, and back; a file without them is refused.
#[test]
fn an_embedding_goes_out_and_comes_back() {
    let net = |embedded| Mlp {
        n_in: 3,
        hidden: vec![4],
        last: 2.into(),
        activation: Act::Mish,
        embedded,
        tables: vec![Embedded { input: 1, levels: 20, width: 5 }],
        scaled: false,
        parametric: false,
        dropout: 0.0,
    };
    let layout = net(vec![0, 2]).layout();
    let weights: Vec<f32> = (0..layout.total).map(|i| i as f32 * 0.25).collect();
    let bytes = export(&layout, &weights, &[]).expect("bytes");
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    assert_eq!(file.tensor("embedding.weight").expect("a tensor").shape(), [2, 3, 16]);
    assert_eq!(file.tensor("0.weight").expect("a tensor").shape(), [4, 13]);
    assert_eq!(file.tensor("levels.0.weight").expect("a tensor").shape(), [20, 5]);
    assert_eq!(read(&bytes, &layout).expect("numbers"), (weights, vec![]));
    let plain = net(vec![]).layout();
    let other = export(&plain, &vec![0.5; plain.total], &[]).expect("bytes");
    let said = read(&other, &layout).expect_err("refused").to_string();
    assert!(said.contains("embedding."), "{said}");
}

/// Cuts anywhere are refused, changed bytes never panic, and a refusal is one line that names the file.
#[test]
fn no_bytes_make_it_panic() {
    let layout = resnet().layout();
    let bytes = file(&tensors(&layout));
    let refused = |bytes: &[u8]| match read(bytes, &layout) {
        Ok(_) => false,
        Err(e) => {
            let said = e.to_string();
            assert!(said.starts_with("w.safetensors") && !said.contains('\n') && said.len() < 1500, "{said}");
            true
        }
    };
    assert!(!refused(&bytes));
    let mut cuts: Vec<usize> = (0..300).map(|i| i * bytes.len() / 300).collect();
    cuts.extend((0..40).chain(bytes.len() - 40..bytes.len()));
    assert!(cuts.into_iter().all(|cut| refused(&bytes[..cut])), "a cut file came in");
    // Every byte of the lengths and of the table once, each with another change; then some of the numbers.
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes")) as usize;
    let (mut changed, mut n_refused) = (bytes.clone(), 0);
    let places: Vec<usize> = (0..header).chain((header..bytes.len()).step_by(7)).collect();
    assert!(places.len() > 500);
    for at in places {
        for mask in [1u8 << (at % 8), 0xff, b'"' ^ bytes[at], b'9' ^ bytes[at]] {
            changed[at] ^= mask;
            n_refused += usize::from(refused(&changed));
            changed[at] ^= mask;
        }
    }
    assert_eq!(changed, bytes);
    assert!(n_refused > header, "only {n_refused} refused");
}

fn setup(method: &'static dyn Method, members: u32, net: Net) -> ModelSpec {
    ModelSpec {
        method,
        task: Task::Classification,
        k: 2,
        noise_link: Link::Exp,
        nu: None,
        sigma_link: Link::Softplus,
        exact: false,
        samples: 3,
        predict_samples: 4,
        members,
        first_member: 0,
        per_set: 0,
        targets: 1,
        weighted: false,
        groups_by_layer: false,
        net,
        image: None,
        optimizer: Optimizer::Adam,
        momentum: 0.0,
        clip: false,
        n_rows: 8,
        folds: 0,
        held_out: 0,
        batch: 4,
        aux: None,
        warm: false,
        stepping: Default::default(),
        options: Default::default(),
    }
}

#[test]
fn members_start_from_the_file_and_vi_keeps_its_rho() {
    let net = Net::PreResNet(resnet());
    let layout = net.layout();
    let (weights, running) = numbers(&layout);
    let methods: [&'static dyn Method; 2] = [&base::Base, &vifo::MEAN];
    for method in methods {
        let setup = setup(method, 3, net.clone());
        let initial = setup.initial_weights(1, false, -3.0);
        let (all, stats) = start_from(&setup, &initial, (&weights, &running)).expect("a start");
        assert_eq!((all, stats.clone()), (weights.repeat(3), running.repeat(3)));
        assert_eq!(stats.len(), setup.initial_running().len());
    }
    let setup = setup(&vi::MEAN, 2, net);
    let initial = setup.initial_weights(1, false, -3.0);
    let (all, stats) = start_from(&setup, &initial, (&weights, &running)).expect("a start");
    let p = layout.total;
    for m in [0, 2 * p] {
        assert_eq!(all[m..m + p], weights);
        assert_eq!(all[m + p..m + 2 * p], initial[m + p..m + 2 * p]);
    }
    assert_eq!((stats.len(), &stats[..running.len()]), (setup.initial_running().len(), &running[..]));
    assert!(start_from(&setup, &initial, (&weights[1..], &running)).is_err());
}

/// Factors go out as vectors under the names of what they scale, and come back; a plain network refuses them.
#[test]
fn factors_go_out_and_come_back() {
    let net = |set| Mlp {
        n_in: 3,
        hidden: vec![4],
        last: 2.into(),
        activation: Act::Selu,
        embedded: vec![],
        tables: vec![],
        scaled: set,
        parametric: set,
        dropout: 0.0,
    };
    let layout = net(true).layout();
    let weights: Vec<f32> = (0..layout.total).map(|i| i as f32 * 0.25).collect();
    let bytes = export(&layout, &weights, &[]).expect("bytes");
    let file = SafeTensors::deserialize(&bytes).expect("safetensors");
    let shape = |name: &str| file.tensor(name).expect("a tensor").shape().to_vec();
    assert_eq!([shape("scale.weight"), shape("1.weight")], [vec![3], vec![4]]);
    assert_eq!(read(&bytes, &layout).expect("numbers"), (weights, vec![]));
    let said = read(&bytes, &net(false).layout()).expect_err("a plain network").to_string();
    assert!(said.contains("scale.weight") || said.contains("1.weight"), "{said}");
}
