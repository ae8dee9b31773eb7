//! `vifo app`: the desktop application.

#[cfg(feature = "app")]
use crate::base::fs;
use crate::error::Error;
use crate::recipe::link::is_link;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A run folder, a recipe (.toml or built-in: sinusoid, moons, ...), a table, images, or a link that the app has copied [default:
    /// where you left off]
    input: Option<PathBuf>,
    /// Folder of the app's settings and its last training [default: the system's place for application data]
    #[arg(long, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// Serve the app to the browsers of this computer, and open one, in place of a window; FOLDER is what web/build made
    #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
    web: Option<Option<PathBuf>>,
    /// Close automatically after N steps of the playground
    #[arg(long, value_name = "N", hide = true)]
    close_after: Option<u64>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Some(folder) = &args.web else { return window(args) };
    let link = args.input.as_deref().map(|input| input.display().to_string()).unwrap_or_default();
    if !link.is_empty() && !is_link(&link) {
        let help = "open it on the page, or leave --web out";
        return Err(Error::usage(link, "is no link, and a page sees no files of this computer", "", help).into());
    }
    let fragment = link.find('#').map_or("", |at| &link[at..]);
    super::serve::serve(&super::serve::folder(folder.as_deref())?, fragment)?;
    Ok(())
}

#[cfg(not(feature = "app"))]
fn window(args: &Args) -> anyhow::Result<()> {
    let _ = (&args.home, &args.close_after);
    let help = "build it with the app, which takes some minutes: cargo run --release --features app -- app, or cargo install \
                --path . --features app";
    Err(Error::usage("vifo app", "this vifo was built without the desktop app", "", help).into())
}

#[cfg(feature = "app")]
fn window(args: &Args) -> anyhow::Result<()> {
    let open = args.input.as_deref().map(what).transpose()?;
    crate::gui::shell::run(crate::gui::Options { open, home: args.home.clone(), close_after: args.close_after })?;
    Ok(())
}

/// A run folder, a recipe, or data, told apart before a window opens.
#[cfg(feature = "app")]
fn what(path: &std::path::Path) -> crate::error::Result<crate::gui::app::Open> {
    use crate::gui::app::Open;
    use crate::recipe::{Recipe, builtin};
    let name = path.display().to_string();
    if is_link(&name) {
        return crate::gui::link::open(&name);
    }
    let recipe = |table: toml::Table| crate::method::checked(&table, &name).map(|r| Open::Recipe(Box::new(r)));
    if path.extension().is_some_and(|e| e == "toml") {
        return recipe(Recipe::read(path)?);
    }
    if !fs::exists(path) {
        if let Some(text) = builtin::find(&name) {
            return recipe(Recipe::parse(text, &name)?);
        }
        let allowed = format!("a run folder, a .toml recipe, a table, images, or one of {}", builtin::names());
        return Err(Error::usage(name, "does not exist", allowed, "check the path"));
    }
    Ok(if crate::recipe::is_run(path) { Open::Run(path.into()) } else { Open::Data(path.into()) })
}
