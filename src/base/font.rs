//! The fonts of figures and of the app. A page is fetched before it runs: it has parts of them, made by assets/fonts/subset.

macro_rules! font {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/", $name))
    };
}

/// DejaVu Sans.
#[cfg(not(target_arch = "wasm32"))]
pub const SANS: &[u8] = font!("DejaVuSans.ttf");
#[cfg(target_arch = "wasm32")]
pub const SANS: &[u8] = font!("DejaVuSans-page.ttf");

/// DejaVu Sans Mono: Latin, Greek, Cyrillic and signs.
pub const MONO: &[u8] = font!("DejaVuSansMono-page.ttf");
