//! The rows of the table that are ours. A further method is one line: it is trained as soon as a recipe can name it.

#[derive(Debug, PartialEq)]
pub struct Method {
    /// In a recipe.
    pub ours: &'static str,
    pub title: &'static str,
    /// Recipe keys beside the benchmark's own, as (key, TOML value).
    pub keys: &'static [(&'static str, &'static str)],
}

macro_rules! methods {
    ($($ours:literal, $title:literal, [$($key:literal = $value:literal),*];)*) => {
        pub const METHODS: &[Method] = &[$(Method { ours: $ours, title: $title, keys: &[$(($key, $value)),*] },)*];
    };
}

methods! {
    "vifo-mean", "VIFO-mean", [];
    "vifo-naive", "VIFO-naive", [];
    "vifo-mv", "VIFO-mv", [];
    "vifo-eb", "VIFO-eb", [];
    "base", "base (deep ensemble)", [];
    "vi-naive", "VI-naive", [];
    "vi-mean", "VI-mean", [];
    "vi-mv", "VI-mv", [];
    "vi-eb", "VI-eb", [];
    "swa", "SWA", [];
    "swag", "SWAG", [];
    "dropout", "MC dropout", [];
    "repulsive", "repulsive", [];
    "laplace", "Laplace", [];
    "vbll", "VBLL", [];
}

impl Method {
    /// Whether a recipe can name it.
    pub fn trainable(&self) -> bool {
        crate::method::find(self.ours).is_some()
    }
}
