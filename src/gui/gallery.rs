//! The guided examples: what assets/gallery holds, for the page Examples, for links, and for the words above a plot.

use super::app::Open;
use super::settings::{MapKind, Tab};
use crate::error::Result;
use crate::recipe::Recipe;
use serde::Deserialize;
use std::sync::LazyLock;

/// A guided example, as gallery.toml has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub name: String,
    pub title: String,
    /// The tab that it opens on, in small letters.
    page: String,
    /// What is seen, why, and what it means.
    pub text: String,
    /// One thing to try.
    #[serde(rename = "try")]
    pub task: String,
    /// Of the page Side by side.
    #[serde(default)]
    pub methods: Vec<String>,
    /// What the map of two inputs shows.
    map: Option<String>,
    /// Names and units of input and target, which points in a recipe do not carry.
    axes: Option<[String; 2]>,
}

/// Names of input and target where a training is that of an example which knows them.
pub fn axes(recipe: &Recipe) -> Option<&'static [String; 2]> {
    recipe.data.points.as_ref()?;
    find(recipe.name.as_deref()?)?.axes.as_ref()
}

struct Asset {
    name: &'static str,
    recipe: &'static str,
    #[cfg(not(target_arch = "wasm32"))]
    picture: &'static [u8],
}

macro_rules! asset {
    ($name:literal) => {
        Asset {
            name: $name,
            recipe: include_str!(concat!("../../assets/gallery/", $name, ".toml")),
            #[cfg(not(target_arch = "wasm32"))]
            picture: include_bytes!(concat!("../../assets/gallery/", $name, ".png")),
        }
    };
}

const ASSETS: [Asset; 10] = [
    asset!("gap"),
    asset!("extrapolation"),
    asset!("noise"),
    asset!("ensemble"),
    asset!("eta"),
    asset!("auxiliary"),
    asset!("moons"),
    asset!("priors"),
    asset!("calibration"),
    asset!("seasons"),
];

/// In the order in which they are shown.
pub static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        example: Vec<Example>,
    }
    let text = include_str!("../../assets/gallery/gallery.toml");
    // The tests read it, too.
    toml::from_str(text).map(|file: File| file.example).unwrap_or_default()
});

pub fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|e| e.name == name)
}

impl Example {
    fn asset(&self) -> Option<&'static Asset> {
        ASSETS.iter().find(|a| a.name == self.name)
    }

    /// PNG. A page fetches its own, which lie beside it (`shell::picture`).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn picture(&self) -> &'static [u8] {
        self.asset().map_or(&[], |a| a.picture)
    }

    pub fn tab(&self) -> Tab {
        let tab = Tab::ALL.iter().find(|(_, name, _)| name.to_lowercase() == self.page);
        tab.map_or(Tab::Playground, |(tab, ..)| *tab)
    }

    pub fn map(&self) -> Option<MapKind> {
        (self.map.as_deref() == Some("entropy")).then_some(MapKind::Entropy)
    }

    /// As it trains in the playground.
    ///
    /// # Errors
    /// None for those that come with the program.
    pub fn recipe(&self) -> Result<Recipe> {
        let table = Recipe::parse(self.asset().map_or("", |a| a.recipe), &self.name)?;
        crate::method::checked(&table, &self.name)
    }

    /// # Errors
    /// As `recipe`.
    pub fn open(&'static self, embed: bool) -> Result<Open> {
        Ok(Open::Example { example: self, recipe: Box::new(self.recipe()?), embed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_has_its_recipe_its_picture_and_three_sentences() {
        assert_eq!(EXAMPLES.len(), ASSETS.len());
        for example in EXAMPLES.iter() {
            let recipe = example.recipe().expect("a recipe");
            assert!(recipe.data.points.is_some() || recipe.data.toy.is_some(), "{}: no page has files", example.name);
            let picture = image::load_from_memory(example.picture()).expect("a picture");
            assert_eq!((picture.width(), picture.height()), (480, 300), "{}", example.name);
            assert_eq!(example.text.matches(". ").count() + 1, 3, "{}: {}", example.name, example.text);
            assert_eq!(example.tab() == Tab::SideBySide, !example.methods.is_empty(), "{}", example.name);
            assert!(example.methods.iter().all(|m| crate::method::find(m).is_some()), "{}", example.name);
            assert_eq!(axes(&recipe).is_some(), example.name == "seasons", "{}", example.name);
            let named = Tab::ALL.iter().any(|(_, name, _)| name.to_lowercase() == example.page);
            assert!(named, "{}: there is no page {}", example.name, example.page);
        }
    }
}
