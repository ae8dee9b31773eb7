//! The published numbers against the sets, and how the table is made of them.

use super::super::benchmark::{BenchmarkEvent, Words};
use super::ask::UciRequest;
use super::methods::METHODS;
use super::published::{DEEP_ENSEMBLES, Published};
use super::sets::SETS;
use super::store::SplitResult;
use super::work::prepare;
use crate::exec::Device;
use crate::method;
use crate::run::RunFolder;
use crate::train::{Ending, Event, Flow};
use crate::workflow::fit;

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
    let request = UciRequest::new(&Words {
        sets: Some("wine,Power-Plant".into()),
        methods: Some("base,VIFO-mean".into()),
        splits: Some("3".into()),
        ..words()
    });
    let request = request.expect("a request");
    assert_eq!(
        request.sets.expect("sets").iter().map(|s| s.name).collect::<Vec<_>>(),
        ["wine-quality-red", "power-plant"]
    );
    assert_eq!((request.splits, request.seeds, request.members), (Some(vec![0, 1, 2]), vec![1], 5));
    let all = UciRequest::new(&words()).expect("a request");
    assert_eq!(all.methods.len() + all.without.len(), METHODS.len());
    assert!(all.methods.iter().all(|m| method::find(m.ours).is_some()), "{:?}", all.methods);
    let list = UciRequest::new(&Words { splits: Some("7,2,7".into()), seeds: Some("2".into()), ..words() })
        .expect("a request");
    assert_eq!((list.splits, list.seeds), (Some(vec![2, 7]), vec![1, 2]));
    let refused = |w: Words| UciRequest::new(&w).expect_err("refused").to_string();
    assert!(refused(Words { sets: Some("wien".into()), ..words() }).contains("did you mean wine-quality-red?"));
    assert!(refused(Words { splits: Some("0".into()), ..words() }).starts_with("--splits: 0; allowed: 1 or more"));
    assert!(refused(Words { seeds: Some("0,1".into()), ..words() }).starts_with("--seeds: 0; allowed: 1 to 1000"));
    assert!(refused(Words { members: Some("0".into()), ..words() }).starts_with("--members"));
}

/// The first of two splits side by side has the numbers of `vifo fit` on it alone, as its members are numbered alike; whatever
/// training ends in. Stopped after an epoch, both go on to the same end.
#[test]
fn a_split_among_others_is_trained_as_by_fit() {
    let dir = tempfile::tempdir().expect("a folder");
    let yacht = dir.path().join("yacht");
    std::fs::create_dir(&yacht).expect("made");
    let row = |i: usize| format!("{},{},{}\n", i % 7, (i * i) % 11, (i as f64 * 0.7).sin() + 0.1 * (i % 7) as f64);
    let rows: String = (0..40).map(row).collect();
    std::fs::write(yacht.join("data.csv"), format!("a,b,residuary_resistance\n{rows}")).expect("written");
    std::fs::write(yacht.join("test_index.txt"), "3 7 12 31\n0 8 15 22\n").expect("written");
    let request = UciRequest::new(&Words {
        runs: dir.path().join("runs"),
        data: dir.path().into(),
        methods: Some("vifo-mean,swa,swag,repulsive,laplace".into()),
        epochs: Some("6".into()),
        batch: Some("8".into()),
        members: Some("2".into()),
        ..words()
    });
    let p = prepare(request.expect("a request")).expect("data");
    std::fs::create_dir_all(&p.request.folder).expect("made");
    for unit in &p.units {
        let name = unit.title();
        assert_eq!(unit.todo, [(1, 0), (1, 1)]);
        let whole = p.side_by_side(unit, 2, &Device::Cpu, &mut |_| Flow::Continue).expect("trained").1;
        unit.store.forget().expect("its state removed");
        let mut left = 2;
        let mut stop = |_: BenchmarkEvent| {
            left -= 1;
            if left == 0 { Flow::Stop } else { Flow::Continue }
        };
        let (ending, none) = p.side_by_side(unit, 2, &Device::Cpu, &mut stop).expect("stopped");
        assert_eq!((ending, none.len()), (Ending::Stopped, 0), "{name}");
        let mut epochs = vec![];
        let mut listen = |news: BenchmarkEvent| {
            if let BenchmarkEvent::Training(Event::Epoch(row), _) = news {
                epochs.push(row.epoch);
            }
            Flow::Continue
        };
        let resumed = p.side_by_side(unit, 2, &Device::Cpu, &mut listen).expect("trained").1;
        assert_eq!(epochs.first(), Some(&2), "{name}: goes on where it stopped");
        let numbers = |o: &SplitResult| (o.seed, o.split, o.rmse.to_bits(), o.test_ll.to_bits(), o.epoch);
        assert_eq!(
            resumed.iter().map(numbers).collect::<Vec<_>>(),
            whole.iter().map(numbers).collect::<Vec<_>>(),
            "{name}"
        );
        assert_ne!(whole[0].rmse, whole[1].rmse, "{name}");

        let path = dir.path().join(&name);
        let recipe = p.sources[0].recipe(&p.request, unit.method, 1, 0).expect("a recipe");
        fit::fit(&recipe, &path, false, &Device::Cpu, &mut |_, _| Flow::Continue).expect("fitted");
        let alone = RunFolder::open(&path).and_then(|f| f.results()).expect("results");
        let (rmse, nll) = (alone.get("rmse").expect("rmse"), alone.get("nll").expect("nll"));
        assert_eq!((whole[0].rmse.to_bits(), whole[0].test_ll.to_bits()), (rmse.to_bits(), (-nll).to_bits()), "{name}");
    }
}
