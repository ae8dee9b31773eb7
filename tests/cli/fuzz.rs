//! Inputs that once went wrong, and a few seconds of new ones; `cargo run --example fuzz` looks further.

#[path = "../../examples/fuzz/harness.rs"]
mod harness;

use harness::{Kind, Outcome, Random, check, fixtures, judge, mutate, seeds};

#[test]
fn what_once_went_wrong_does_not_again() {
    let dir = tempfile::tempdir().expect("a folder");
    for kind in Kind::ALL {
        for (name, input) in fixtures(kind) {
            check(kind, &input, dir.path()).unwrap_or_else(|what| panic!("{}/{name}: {what}", kind.name()));
        }
    }
}

#[test]
fn seeds_are_taken_and_some_mutations_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    for kind in Kind::ALL {
        let seeds = seeds(kind);
        let taken = |input: &Vec<u8>| check(kind, input, dir.path()) == Ok(Outcome::Taken);
        assert!(seeds.iter().any(taken), "{}: no seed is taken, so nothing behind the door is tried", kind.name());
        let mut random = Random::new(7);
        let refused = (0..40).any(|i| {
            let input = mutate(&seeds[i % seeds.len()], &seeds[0], &mut random);
            matches!(check(kind, &input, dir.path()), Ok(Outcome::Refused(_)))
        });
        assert!(refused || kind == Kind::Fit, "{}: no mutation is refused", kind.name());
    }
}

/// The judge sees a panic, a message of two lines, and a promise that was broken.
#[test]
fn the_judge_rejects_what_it_should() {
    use vifo::error::{Error, Fault};
    assert!(judge(Err("index out of bounds".into())).is_err());
    assert_eq!(judge(Ok(Ok(()))), Ok(Outcome::Taken));
    let fault = |found: &str| Fault {
        place: "a.csv".into(),
        found: found.into(),
        allowed: String::new(),
        help: String::new(),
        cures: Box::default(),
    };
    assert!(judge(Ok(Err(Error::Data(fault("two\nlines"))))).is_err());
    assert!(judge(Ok(Err(Error::Data(fault("this is a bug of vifo"))))).is_err());
    assert!(judge(Ok(Err(Error::Run(fault("taken, but a number is NaN"))))).is_err());
    assert!(matches!(judge(Ok(Err(Error::data("a.csv", "no row", "rows", "")))), Ok(Outcome::Refused(_))));
}

#[test]
fn a_mutation_changes_its_input_and_repeats_by_seed() {
    let input = seeds(Kind::Table).remove(0);
    let walk = |seed| {
        let mut random = Random::new(seed);
        (0..20).map(|_| mutate(&input, &input, &mut random)).collect::<Vec<_>>()
    };
    assert_eq!(walk(1), walk(1));
    assert_ne!(walk(1), walk(2));
    assert!(walk(1).iter().filter(|m| **m != input).count() > 10);
}
