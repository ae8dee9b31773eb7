use super::*;
use crate::recipe::key;
use crate::recipe::keys::KEYS;

fn table(text: &str) -> toml::Table {
    Recipe::parse(text, "r").expect("a recipe")
}

#[test]
fn another_method_takes_no_auxiliary_inputs_from_its_base() {
    let mut t = table("[data]\ntoy = \"moons\"\n[method]\nname = \"laplace\"\neta_aux = 1\nexpectation = \"exact\"");
    assert!(checked(&t, "r").is_err());
    assert_eq!(leave_out(&mut t), ["method.eta_aux", "method.expectation"]);
    assert_eq!(checked(&t, "r").expect("a recipe").method.name, "laplace");
    let mut vifo = table("[data]\ntoy = \"moons\"\n[method]\neta_aux = 1");
    assert!(leave_out(&mut vifo).is_empty());
}

#[test]
fn a_wrong_name_is_refused_with_the_right_one() {
    let error = |name: &str| {
        let t = table(&format!("[data]\ntoy = \"moons\"\n[method]\nname = \"{name}\""));
        checked(&t, "r.toml").expect_err("a wrong name").to_string()
    };
    assert!(error("vifo").ends_with("take \"vifo-mean\""));
    assert!(error("multiSWAG").ends_with("take \"swag\": with several members it is multiSWAG"));
    assert!(error("laplce").ends_with("did you mean \"laplace\"?"));
    assert!(error("xyz").ends_with("the default is \"vifo-mean\""));
    let said = "r.toml: method.name: \"xyz\" is not allowed; allowed: \"base\", \"swa\", \"swag\", ";
    assert!(error("xyz").starts_with(said), "{}", error("xyz"));
}

/// What a method lists is a key; the sections named after methods are read by a method, key by key; the default is a method.
#[test]
fn methods_list_keys_that_exist() {
    let listed: Vec<&str> = METHODS.iter().flat_map(|m| m.keys()).collect();
    for key in &listed {
        assert!(KEYS.iter().any(|k| k.path == *key), "{key}");
    }
    for section in ["vi.", "swag.", "repulsive.", "laplace.", "vbll.", "prior."] {
        for key in KEYS.iter().filter(|k| k.path.starts_with(section)) {
            assert!(listed.contains(&key.path), "{} is read by no method", key.path);
        }
    }
    assert!(find(&default_name()).is_some());
    for m in METHODS {
        assert!(m.keys().iter().collect::<std::collections::BTreeSet<_>>().len() == m.keys().len(), "{m:?}");
        assert!(m.knobs().iter().all(|k| reads(*m, k.key)), "{m:?}");
    }
}

/// Who reads `fit --help` can type any of them.
#[test]
fn the_help_lists_every_method() {
    let words: Vec<&str> = key!(method.name).help.split([' ', ',', ';', ':', '.', '(']).collect();
    let absent: Vec<&str> = METHODS.iter().map(|m| m.name()).filter(|name| !words.contains(name)).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

#[test]
fn names_are_taken_once() {
    struct Other(&'static str);
    impl Method for Other {
        fn name(&self) -> &'static str {
            self.0
        }
    }
    let mut names: Vec<&str> = METHODS.iter().map(|m| m.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METHODS.len());
    for wrong in ["base", "", "A", "a/b", "-a", "a b"] {
        let error = register(Box::leak(Box::new(Other(wrong)))).expect_err(wrong).to_string();
        assert!(error.contains("choose another name"), "{error}");
    }
}
