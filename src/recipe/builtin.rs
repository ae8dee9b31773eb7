//! The built-in recipes, by name. Each file's first comment says what it shows.

pub const RECIPES: &[(&str, &str)] = &[
    ("sinusoid", include_str!("../../assets/recipes/sinusoid.toml")),
    ("heteroscedastic", include_str!("../../assets/recipes/heteroscedastic.toml")),
    ("cubic", include_str!("../../assets/recipes/cubic.toml")),
    ("moons", include_str!("../../assets/recipes/moons.toml")),
    ("rings", include_str!("../../assets/recipes/rings.toml")),
    ("blobs", include_str!("../../assets/recipes/blobs.toml")),
    ("digits", include_str!("../../assets/recipes/digits.toml")),
];

/// What a training on a table takes where nobody says anything else (`method::preset`).
pub const TABLE: &str = include_str!("../../assets/table.toml");

pub fn find(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// "sinusoid, cubic, ...", for messages.
pub fn names() -> String {
    RECIPES.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ")
}
