//! The page Examples: every card opens its example where it belongs, and a link opens the same.

use super::desk::{app, bench, wait};
use egui_kittest::kittest::Queryable;
use vifo::gui::gallery::EXAMPLES;
use vifo::gui::settings::{MapKind, Settings, Tab};

#[test]
fn every_card_opens_its_example_and_trains_it() {
    let mut h = bench(Settings { tab: Tab::Examples, ..Settings::default() }, None);
    h.step();
    for example in EXAMPLES.iter() {
        app(&mut h).settings.tab = Tab::Examples;
        h.step();
        h.get_by_label(&format!("Open {}", example.title)).click_accesskit();
        h.step();
        h.step();
        let name = example.name.clone();
        wait(&mut h, &name, |a| a.playground.lesson == Some(example) && a.settings.tab == example.tab());
        let recipe = example.recipe().expect("a recipe");
        wait(&mut h, &name, move |a| {
            let running = a.playground.group.slots.first().and_then(|slot| slot.recipe.as_deref());
            running == Some(&recipe) && a.playground.group.snapshot.step > 3
        });
    }
}

#[test]
fn the_words_stand_above_the_plot_until_they_are_closed() {
    let mut h = bench(Settings { tab: Tab::Examples, ..Settings::default() }, None);
    h.step();
    h.get_by_label("Open Far from two moons").click_accesskit();
    wait(&mut h, "the moons", |a| a.settings.tab == Tab::Playground && a.playground.transform.is_some());
    assert_eq!(app(&mut h).settings.map, MapKind::Entropy, "this example is about entropy");
    h.step();
    let words = "High entropy far from the data is a warning";
    assert!(h.query_by_label_contains(words).is_some());
    h.get_by_label("Close the example").click();
    h.step();
    h.step();
    assert!(h.query_by_label_contains(words).is_none());
    // The training stays.
    let step = app(&mut h).playground.group.snapshot.step;
    wait(&mut h, "more steps", |a| a.playground.group.snapshot.step > step);
}

#[test]
fn the_axes_of_an_example_say_what_they_are() {
    let mut h = bench(Settings { tab: Tab::Examples, ..Settings::default() }, None);
    h.step();
    h.get_by_label("Open The seasons of CO2").click_accesskit();
    let seasons = |a: &vifo::gui::app::App| a.playground.names().is_some_and(|n| n.1 == "CO2, ppm");
    wait(&mut h, "the seasons", |a| {
        a.settings.tab == Tab::Playground && a.playground.transform.is_some() && seasons(a)
    });
    h.step();
    h.step();
    assert!(h.query_by_label("Predictive band of CO2, ppm over years since 2000").is_some());
}

#[test]
fn an_example_of_another_page_has_its_words_there_alone() {
    let mut h = bench(Settings { tab: Tab::Examples, ..Settings::default() }, None);
    h.step();
    h.get_by_label("Open An ensemble against VIFO").click_accesskit();
    let training = |a: &vifo::gui::app::App| a.side.group.as_ref().is_some_and(|g| g.snapshot.step > 3);
    wait(&mut h, "two methods", training);
    h.step();
    let words = "Agreement is not knowledge";
    assert!(h.query_by_label_contains(words).is_some());
    app(&mut h).settings.tab = Tab::Playground;
    h.step();
    assert!(h.query_by_label_contains(words).is_none());
}

#[test]
fn copy_link_says_what_it_did() {
    let mut h = bench(Settings::default(), None);
    wait(&mut h, "steps", |a| a.playground.group.snapshot.step > 3);
    h.get_by_label("Copy link").click();
    h.step();
    h.step();
    assert!(h.query_by_label_contains("link copied").is_some());
}
