//! The published numbers against the sets, and how the table is made of them.

use super::ask::{Asked, Words};
use super::methods::METHODS;
use super::published::{DEEP_ENSEMBLES, Published};
use super::sets::SETS;
use super::work::prepare;
use crate::config::keys::METHODS as TRAINABLE;
use crate::exec::Device;
use crate::train::{Ending, Flow};

fn words() -> Words {
    Words { runs: "r".into(), data: "d".into(), device: "cpu".into(), ..Default::default() }
}

/// Every number of every set but the one that has no splits here is reached by a set's name.
#[test]
fn every_published_number_belongs_to_a_set() {
    let published = Published::read().expect("numbers");
    assert_eq!(published.numbers().len(), 104);
    for n in published.numbers() {
        assert!(SETS.iter().any(|s| s.name == n.dataset) || n.dataset == "YearPredictionMSD", "{n:?}");
        assert_eq!(n.is_sd, n.method == DEEP_ENSEMBLES, "{n:?}");
    }
    assert_eq!(published.methods().len(), 6);
    for set in SETS {
        for metric in ["rmse", "test_ll"] {
            assert!(published.methods().iter().all(|m| published.find(set, m, metric).is_some()), "{}", set.name);
        }
    }
}

/// 0.18 over 20 splits is a standard error of 0.18 / sqrt 20; what is printed as a standard error stays.
#[test]
fn standard_deviations_become_standard_errors() {
    let published = Published::read().expect("numbers");
    let concrete = SETS.iter().find(|s| s.short == "concrete").expect("a set");
    let error = |method: &str| {
        published.find(concrete, method, "test_ll").and_then(|n| n.standard_error(concrete)).expect("an error")
    };
    assert!((error(DEEP_ENSEMBLES) - 0.18 / 20f64.sqrt()).abs() < 1e-12);
    assert_eq!(error("MC dropout (Gal & Ghahramani 2016)"), 0.02);
}

#[test]
fn a_request_is_checked() {
    let asked = Asked::new(&Words {
        sets: Some("wine,Power-Plant".into()),
        methods: Some("base,VIFO-mean".into()),
        splits: Some("3".into()),
        ..words()
    });
    let asked = asked.expect("a request");
    assert_eq!(
        asked.sets.expect("sets").iter().map(|s| s.name).collect::<Vec<_>>(),
        ["wine-quality-red", "power-plant"]
    );
    assert_eq!((asked.splits, asked.seeds, asked.members), (Some(vec![0, 1, 2]), vec![1], 5));
    let all = Asked::new(&words()).expect("a request");
    assert_eq!(all.methods.len() + all.without.len(), METHODS.len());
    assert!(all.methods.iter().all(|m| TRAINABLE.contains(&m.ours)), "{:?}", all.methods);
    let list =
        Asked::new(&Words { splits: Some("7,2,7".into()), seeds: Some("2".into()), ..words() }).expect("a request");
    assert_eq!((list.splits, list.seeds), (Some(vec![2, 7]), vec![1, 2]));
    let refused = |w: Words| Asked::new(&w).expect_err("refused").to_string();
    assert!(refused(Words { sets: Some("wien".into()), ..words() }).contains("did you mean wine-quality-red?"));
    assert!(refused(Words { splits: Some("0".into()), ..words() }).starts_with("--splits: 0; allowed: 1 or more"));
    assert!(refused(Words { seeds: Some("0,1".into()), ..words() }).starts_with("--seeds: 0; allowed: 1 to 1000"));
    assert!(refused(Words { members: Some("0".into()), ..words() }).starts_with("--members"));
}

/// A method that is trained split by split goes the way of `vifo fit`; the first split has the same numbers either way, as
/// its members are numbered alike. Stopped after two epochs, it goes on to the same end.
#[test]
fn split_by_split_is_the_same_training() {
    let dir = tempfile::tempdir().expect("a folder");
    let yacht = dir.path().join("yacht");
    std::fs::create_dir(&yacht).expect("made");
    let row = |i: usize| format!("{},{},{}\n", i % 7, (i * i) % 11, (i as f64 * 0.7).sin() + 0.1 * (i % 7) as f64);
    let rows: String = (0..40).map(row).collect();
    std::fs::write(yacht.join("data.csv"), format!("a,b,residuary_resistance\n{rows}")).expect("written");
    std::fs::write(yacht.join("test_index.txt"), "3 7 12 31\n0 8 15 22\n").expect("written");
    let asked = Asked::new(&Words {
        runs: dir.path().join("runs"),
        data: dir.path().into(),
        methods: Some("vifo-mean".into()),
        epochs: Some("6".into()),
        members: Some("2".into()),
        ..words()
    });
    let p = prepare(asked.expect("a request")).expect("data");
    let unit = &p.units[0];
    assert_eq!(unit.todo, [(1, 0), (1, 1)]);
    std::fs::create_dir_all(&p.asked.folder).expect("made");
    let (_, together) = p.side_by_side(unit, 2, &Device::Cpu, &mut |_| Flow::Continue).expect("trained");
    let mut left = 3;
    let (ending, none) = p
        .alone(unit, &Device::Cpu, &mut |_| {
            left -= 1;
            if left == 0 { Flow::Stop } else { Flow::Continue }
        })
        .expect("stopped");
    assert_eq!((ending, none.len()), (Ending::Stopped, 0));
    let (_, alone) = p.alone(unit, &Device::Cpu, &mut |_| Flow::Continue).expect("trained");
    let numbers = |o: &super::store::Outcome| (o.seed, o.split, o.rmse.to_bits(), o.test_ll.to_bits(), o.epoch);
    assert_eq!(numbers(&alone[0]), numbers(&together[0]));
    assert_ne!(together[0].rmse, together[1].rmse);
}
