//! `vifo app`: the desktop application.

use crate::error::Error;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A run folder, a recipe (.toml or built-in: sinusoid, moons, ...), a table or images [default: where you left off]
    input: Option<PathBuf>,
    /// Folder of the app's settings and its last training [default: the system's place for application data]
    #[arg(long, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// Close automatically after N steps of the playground
    #[arg(long, value_name = "N", hide = true)]
    close_after: Option<u64>,
}

#[cfg(not(feature = "app"))]
pub fn run(_args: &Args) -> anyhow::Result<()> {
    let help = "build it with the app, which takes some minutes: cargo run --release --features app -- app, or cargo install \
                --path . --features app";
    Err(Error::usage("vifo app", "this vifo was built without the desktop app", "", help).into())
}

#[cfg(feature = "app")]
pub fn run(args: &Args) -> anyhow::Result<()> {
    let open = args.input.as_deref().map(what).transpose()?;
    crate::gui::run(crate::gui::Options { open, home: args.home.clone(), close_after: args.close_after })?;
    Ok(())
}

/// A run folder, a recipe, or data, told apart before a window opens.
#[cfg(feature = "app")]
fn what(path: &std::path::Path) -> crate::error::Result<crate::gui::app::Open> {
    use crate::gui::app::Open;
    use crate::recipe::{Recipe, builtin};
    let name = path.display().to_string();
    let recipe = |table: toml::Table| crate::method::checked(&table, &name).map(|r| Open::Recipe(Box::new(r)));
    if path.extension().is_some_and(|e| e == "toml") {
        return recipe(Recipe::read(path)?);
    }
    if !path.exists() {
        if let Some(text) = builtin::find(&name) {
            return recipe(Recipe::parse(text, &name)?);
        }
        let allowed = format!("a run folder, a .toml recipe, a table, images, or one of {}", builtin::names());
        return Err(Error::usage(name, "does not exist", allowed, "check the path"));
    }
    Ok(if crate::recipe::is_run(path) { Open::Run(path.into()) } else { Open::Data(path.into()) })
}
