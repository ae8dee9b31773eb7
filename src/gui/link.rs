//! What is in front as an address, and back: for the button "Copy link", the page's own address, and `vifo app LINK`.

use super::app::Open;
use super::gallery::{self, EXAMPLES};
use super::settings::Tab;
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::recipe::link::Link;

/// A tab as it stands in an address: "side-by-side".
fn word(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

/// What a link asks for. A page that this vifo does not have is the playground.
///
/// # Errors
/// Its recipe was cut on its way, or is none.
pub fn open(address: &str) -> Result<Open> {
    let link = Link::parse(address)?;
    if let Some(name) = &link.example {
        let help = format!("open the page Examples, or take one of {}", names());
        let known =
            gallery::find(name).ok_or_else(|| Error::usage("the link", format!("no example {name:?}"), "", help))?;
        return known.open(link.embed);
    }
    let recipe = match &link.recipe {
        Some(text) => {
            let table = Recipe::parse(text, "the link")?;
            Some(Box::new(crate::method::checked(&table, "the link")?))
        }
        None => None,
    };
    let tab = |page: &String| Tab::ALL.iter().find(|(_, name, _)| word(name) == *page).map(|(tab, ..)| *tab);
    let page = link.page.as_ref().and_then(tab).or(recipe.is_some().then_some(Tab::Playground));
    Ok(Open::Link { recipe, page, embed: link.embed })
}

/// The part behind "#" that opens this recipe on this page.
pub fn fragment(recipe: &Recipe, tab: Tab, embed: bool) -> Result<String> {
    let name = Tab::ALL.iter().find(|(t, ..)| *t == tab).map(|(_, name, _)| word(name));
    let page = name.filter(|_| tab != Tab::Playground);
    Ok(Link { recipe: Some(recipe.to_toml()?), page, embed, ..Link::default() }.fragment())
}

/// The part behind "#" that opens a guided example.
pub fn of_example(name: &str) -> String {
    Link { example: Some(name.into()), ..Link::default() }.fragment()
}

fn names() -> String {
    EXAMPLES.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::panels::playground::first_recipe;

    #[test]
    fn a_link_opens_the_same_recipe_on_the_same_page() {
        let mut recipe = first_recipe();
        recipe.data.toy = None;
        recipe.data.points = Some(vec![vec![0.1, 0.2], vec![1.0 / 3.0, -1.0]]);
        for (tab, ..) in Tab::ALL {
            let address = format!("https://example.org/{}", fragment(&recipe, tab, true).expect("made"));
            let Open::Link { recipe: back, page, embed } = open(&address).expect("whole") else { panic!("no link") };
            assert_eq!((back.as_deref(), page, embed), (Some(&recipe), Some(tab), true));
        }
        let Open::Link { recipe, page, .. } = open("#page=of-a-later-vifo").expect("whole") else { panic!("no link") };
        assert!(recipe.is_none() && page.is_none());
        assert!(open("#r=AAAA").is_err());
        assert!(open("#example=none").expect_err("none").to_string().contains("gap, extrapolation"));
        for example in EXAMPLES.iter() {
            let opened = open(&of_example(&example.name)).expect("there");
            assert!(matches!(opened, Open::Example { example: found, .. } if found == example));
        }
    }
}
