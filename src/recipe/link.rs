//! A training as an address: the recipe with its points, and the page of the app, behind the "#" of a link. A browser does not send
//! that part to any server. `https://example.org/vifo/#r=eJx...&page=priors&embed`.

use crate::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

/// The most that a link's recipe may unpack to, bytes.
const MOST: u64 = 4 << 20;

/// What a link says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// As TOML.
    pub recipe: Option<String>,
    /// The name of a guided example.
    pub example: Option<String>,
    /// In small letters: "playground".
    pub page: Option<String>,
    /// The plot and its controls alone, inside a page of somebody else's.
    pub embed: bool,
}

/// Whether a word on the command line is a link.
pub fn is_link(text: &str) -> bool {
    text.starts_with('#') || (text.starts_with("http") && text.contains("://") && text.contains('#'))
}

impl Link {
    /// From "#" on.
    pub fn fragment(&self) -> String {
        let mut parts = vec![];
        if let Some(recipe) = &self.recipe {
            let mut packed = DeflateEncoder::new(vec![], Compression::best());
            // A Vec takes every byte.
            let bytes = packed.write_all(recipe.as_bytes()).and_then(|()| packed.finish()).unwrap_or_default();
            parts.push(format!("r={}", URL_SAFE_NO_PAD.encode(bytes)));
        }
        parts.extend(self.example.as_ref().map(|name| format!("example={name}")));
        parts.extend(self.page.as_ref().map(|page| format!("page={page}")));
        parts.extend(self.embed.then(|| "embed".to_string()));
        format!("#{}", parts.join("&"))
    }

    /// From a whole address, or from its part behind the "#". What it does not know it passes over: a later vifo may.
    ///
    /// # Errors
    /// The recipe was cut or changed on its way.
    pub fn parse(address: &str) -> Result<Link> {
        let fragment = address.split_once('#').map_or(address, |(_, rest)| rest);
        let mut link = Link::default();
        for part in fragment.split('&') {
            match part.split_once('=') {
                Some(("r", packed)) => link.recipe = Some(unpacked(packed)?),
                Some(("example", name)) => link.example = Some(name.to_lowercase()),
                Some(("page", page)) => link.page = Some(page.to_lowercase()),
                None if part == "embed" => link.embed = true,
                _ => {}
            }
        }
        Ok(link)
    }
}

fn unpacked(packed: &str) -> Result<String> {
    let broken = || {
        let found = "was cut or changed on its way";
        Error::usage("the link", found, "", "copy the whole link, in one line, from where it was made")
    };
    // Mail programs break lines and write some signs by their numbers.
    let clean: String = packed.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = URL_SAFE_NO_PAD.decode(clean.trim_end_matches(['=', '.'])).map_err(|_| broken())?;
    let mut text = String::new();
    let read = DeflateDecoder::new(bytes.as_slice()).take(MOST).read_to_string(&mut text);
    match read {
        Ok(_) if !text.is_empty() && (text.len() as u64) < MOST => Ok(text),
        _ => Err(broken()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_gives_back_what_it_was_made_of() {
        let recipe = "[data]\npoints = [[0.5, -1.25], [1.0, 2.0]]\n[method]\nname = \"vifo-mean\"\n";
        let (recipe, page) = (Some(recipe.to_string()), Some("priors".to_string()));
        let link = Link { recipe, example: Some("gap".into()), page, embed: true };
        let address = format!("https://example.org/vifo/{}", link.fragment());
        assert!(is_link(&address) && !is_link("data#1.csv") && !is_link("https.csv"));
        assert_eq!(Link::parse(&address).expect("whole"), link);
        assert_eq!(Link::parse(&link.fragment()).expect("whole"), link);
        let broken = address.replace("r=", "r=\n");
        assert_eq!(Link::parse(&broken).expect("whole"), link, "with a line broken");
        assert_eq!(Link::parse("https://example.org/#later=1").expect("empty"), Link::default());
    }

    /// 200 points with all their digits.
    #[test]
    fn two_hundred_points_stay_below_eight_kilobytes() {
        let digits = |i: u64| f64::from_bits(0x3fe0_0000_0000_0000 + i.wrapping_mul(0x9e37_79b9_7f4a) % (1 << 52));
        let points: Vec<String> = (0..200).map(|i| format!("[{}, {}]", digits(2 * i), -digits(2 * i + 1))).collect();
        let recipe = format!("[data]\npoints = [{}]\n", points.join(", "));
        let fragment = Link { recipe: Some(recipe), ..Link::default() }.fragment();
        assert!(fragment.len() < 8000, "{}", fragment.len());
    }

    #[test]
    fn what_was_cut_is_refused() {
        let whole = Link { recipe: Some("seed = 1\n".repeat(40)), ..Link::default() }.fragment();
        for cut in [&whole[..whole.len() - 5], "#r=", "#r=!!!", "#r=AAAA"] {
            let said = Link::parse(cut).expect_err(cut).to_string();
            assert!(said.contains("was cut or changed"), "{said}");
        }
        // As large as memory if it were unpacked.
        let large = Link { recipe: Some("a".repeat(MOST as usize + 1)), ..Link::default() }.fragment();
        assert!(Link::parse(&large).is_err());
    }
}
