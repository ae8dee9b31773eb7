//! How the figures of others are read, what is compared, and what identifies a result.

use super::super::benchmark::Words;
use super::ask::ToolsRequest;
use super::compare::compare;
use super::metrics::{COVERAGE, Figures, METRICS, NLL, RMSE, SECONDS};
use super::peers::Peers;
use super::store::{SplitResult, Store, default_of};
use super::work::recipe;
use crate::recipe::Recipe;
use crate::study::reproduce::uci::sets::{SETS, Set, Source};
use std::collections::BTreeMap;

const HEADER: &str = "set,split,method,rmse,nll,crps,coverage_90,width_90,seconds,versions\n";

fn peers(lines: &str) -> Peers {
    Peers::of(&format!("{HEADER}{lines}"), "peers.csv").expect("figures")
}

fn words() -> Words {
    Words { runs: "r".into(), data: "d".into(), device: "cpu".into(), ..Default::default() }
}

fn yacht() -> &'static Set {
    SETS.iter().find(|s| s.name == "yacht").expect("a set")
}

/// The figures in the program are of sets and splits that there are, and each tool names its version.
#[test]
fn the_figures_in_the_program_can_be_read() {
    let peers = Peers::read(None).expect("figures");
    assert!(!peers.methods.is_empty());
    for method in &peers.methods {
        assert!(peers.versions(method).chars().any(|c| c.is_ascii_digit()), "{method}");
        for set in SETS {
            assert!(peers.of_set(set, method).keys().all(|split| *split < set.splits), "{method}, {}", set.name);
        }
    }
}

#[test]
fn tuned_tools_are_named_so() {
    let of = |lines: &str| peers(lines).settings();
    assert_eq!(super::peers::title("cb_unc_ens_tuned"), "CatBoost, 5 of mean and variance, tuned");
    assert_eq!(of("yacht,3,rf,2,,,,,1,x 1\n"), "by their defaults");
    assert_eq!(of("yacht,3,rf_tuned,2,,,,,1,x 1\n"), "tuned for as long as vifo's fit took");
    let both = peers("yacht,3,rf_tuned,2,,,,,1,x 1\nyacht,3,cb,2,,,,,1,x 1\n");
    assert_eq!(both.methods, ["cb", "rf_tuned"]);
    assert!(both.settings().contains("defaults, and tuned"));
}

#[test]
fn a_broken_line_is_named() {
    let of = |text: &str| Peers::of(text, "peers.csv").expect_err("refused").to_string();
    let line = |text: &str| of(&format!("{HEADER}yacht,3,cb,1,,,,,1,x 1\n{text}\n"));
    assert!(of("set,split\nyacht,3\n").starts_with("peers.csv: no column 'method'; allowed: set, split, method, rmse"));
    assert!(line("boat,3,cb,1,,,,,1,x 1").starts_with("peers.csv, line 3: set 'boat'; allowed: yacht, energy"));
    assert!(line("yacht,x,cb,1,,,,,1,x 1").starts_with("peers.csv, line 3: split 'x'; allowed: a whole number"));
    assert!(line("yacht,4,cb,many,,,,,1,x 1").starts_with("peers.csv, line 3: rmse 'many'; allowed: a number"));
    assert!(line("yacht,4,cb,inf,,,,,1,x 1").starts_with("peers.csv, line 3: rmse 'inf'"));
    assert!(line("yacht,4,,1,,,,,1,x 1").starts_with("peers.csv, line 3: method ''"));
    assert!(line("yacht,3,cb,1,,,,,1,x 1").contains("yacht, split 3, cb for the second time"));
}

#[test]
fn a_request_is_checked() {
    let of = |w: Words| ToolsRequest::new(&w);
    assert_eq!(of(Words { splits: Some("2".into()), ..words() }).expect("a request").splits, Some(vec![3, 4]));
    assert_eq!(of(Words { splits: Some("5,0".into()), ..words() }).expect("a request").splits, Some(vec![0, 5]));
    let chosen = of(Words { methods: Some("RF, cb-unc_ens".into()), ..words() }).expect("a request");
    assert_eq!(chosen.peers.methods, ["cb_unc_ens", "rf"]);
    assert_eq!(chosen.subject(), "the default of vifo fit");
    let short = of(Words { epochs: Some("6".into()), members: Some("2".into()), ..words() }).expect("a request");
    assert_eq!(short.subject(), "the default of vifo fit, members 2, epochs 6");
    let refused = |w: Words| of(w).expect_err("refused").to_string();
    let wrong = refused(Words { methods: Some("linaer".into()), ..words() });
    assert!(wrong.starts_with("--methods: no 'linaer'; allowed: cb, ") && wrong.ends_with("did you mean linear?"));
    assert!(refused(Words { sets: Some("wien".into()), ..words() }).contains("did you mean wine-quality-red?"));
    assert!(refused(Words { splits: Some("0".into()), ..words() }).starts_with("--splits: 0; allowed: 1 or more"));
    assert!(refused(Words { members: Some("0".into()), ..words() }).starts_with("--members"));
}

fn ours(splits: &[(u32, f64)]) -> BTreeMap<u32, Figures> {
    splits.iter().map(|(split, v)| (*split, [Some(*v); METRICS.len()])).collect()
}

/// By hand: on splits 3, 4 and 6 the tool's minus ours are 1, 2 and 6; their mean is 3, and their sd sqrt(7).
#[test]
fn only_common_splits_are_compared_pair_by_pair() {
    let lines = "yacht,3,a,2,,,0.5,,1,x 1\nyacht,4,a,4,,,0.5,,1,x 1\nyacht,6,a,9,,,0.5,,,x 1\nyacht,7,a,99,,,,,1,x 1\n\
                 yacht,3,b,1,1,1,1,1,1,y 1\nyacht,4,b,1,1,1,1,1,1,y 1\nyacht,5,b,1,1,1,1,1,1,y 1\nyacht,6,b,1,1,1,1,1,1,y 1\n\
                 energy,3,c,1,,,,,1,z 1\nyacht,9,d,1,,,,,1,z 1\n";
    let found = compare(yacht(), &ours(&[(3, 1.0), (4, 2.0), (5, 7.0), (6, 3.0)]), &peers(lines)).expect("compared");
    assert_eq!((found.splits, found.of, found.lacking), (vec![3, 4, 6], 4, vec!["a".to_string()]));
    let own = found.ours[RMSE].expect("ours");
    assert_eq!((own.mean, own.difference, own.error), (2.0, 0.0, None));
    let a = found.theirs[0].expect("takes part");
    let rmse = a[RMSE].expect("a value");
    assert_eq!((rmse.mean, rmse.difference), (5.0, 3.0));
    assert!((rmse.error.expect("an error") - (7f64 / 3.0).sqrt()).abs() < 1e-12, "{rmse:?}");
    assert_eq!(a[NLL], None, "it gives none");
    assert_eq!(a[SECONDS], None, "one split of it lacks them");
    assert_eq!(a[COVERAGE].expect("a value").mean, 0.5);
    assert!(found.theirs[2].is_none() && found.theirs[3].is_none(), "no split of vifo's");
}

/// Splits that no two have in common compare nothing, and vifo keeps its own.
#[test]
fn without_a_common_split_vifo_stands_alone() {
    let lines = "yacht,3,a,2,,,,,1,x 1\nyacht,4,b,2,,,,,1,x 1\n";
    let found = compare(yacht(), &ours(&[(3, 1.0), (4, 2.0)]), &peers(lines)).expect("compared");
    assert_eq!((found.splits, found.lacking.len()), (vec![3, 4], 2));
    assert!(found.theirs.iter().all(Option::is_none) && found.ours[RMSE].is_some());
    assert!(compare(yacht(), &BTreeMap::new(), &peers(lines)).is_none());
}

/// Seed, split, device and place make no other default; anything else does.
#[test]
fn a_result_belongs_to_its_default() {
    let dir = tempfile::tempdir().expect("a folder");
    let of = |w: Words, place: &str, seed: u32, split: u32| -> Recipe {
        let data = dir.path().join(place);
        std::fs::create_dir_all(data.join("yacht")).expect("made");
        std::fs::write(data.join("yacht/data.csv"), "a,residuary_resistance\n1,2\n3,4\n").expect("written");
        std::fs::write(data.join("yacht/test_index.txt"), "0\n1\n").expect("written");
        let source = Source::open(yacht(), &data, dir.path()).expect("a set");
        recipe(&ToolsRequest::new(&w).expect("a request"), &source, seed, split).expect("a recipe")
    };
    let hash = |r: &Recipe| default_of(r).expect("a hash");
    let one = of(words(), "here", 1, 0);
    assert_eq!(hash(&one).len(), 16);
    assert_eq!(hash(&one), hash(&of(Words { device: "software".into(), ..words() }, "there", 2, 1)));
    assert_ne!(hash(&one), hash(&of(Words { members: Some("3".into()), ..words() }, "here", 1, 0)));
    let mut other = one.clone();
    other.method.eta = Some(0.25);
    assert_ne!(hash(&one), hash(&other));
}

#[test]
fn lines_are_kept_as_they_are_and_a_damaged_one_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let result = |split: u32| SplitResult {
        set: "yacht".into(),
        split,
        seed: 1,
        rmse: 0.1 + 0.2,
        nll: -1.0 / 3.0,
        crps: 0.1,
        coverage_90: 0.9,
        width_90: 1.0,
        seconds: 2.0,
        vifo: "0".into(),
        git: "g".into(),
        device: "CPU".into(),
        default: "d".into(),
        data: "h".into(),
    };
    let mut store = Store::read(dir.path()).expect("nothing yet");
    store.add(result(3)).expect("written");
    store.add(result(4)).expect("written");
    let text = std::fs::read_to_string(&store.path).expect("a file");
    assert_eq!(text.lines().count(), 2);
    let mut again = Store::read(dir.path()).expect("a file");
    assert_eq!(again.results, [result(3), result(4)]);
    again.add(result(5)).expect("written");
    assert!(std::fs::read_to_string(&store.path).expect("a file").starts_with(&text));
    std::fs::write(&store.path, format!("\n{}", &text[..text.len() - 9])).expect("written");
    let error = Store::read(dir.path()).err().expect("damaged").to_string();
    assert!(error.contains("results.jsonl, line 3: damaged") && error.contains("--runs"), "{error}");
}
