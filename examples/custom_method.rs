//! A method of one's own: a plain network whose weights are all pulled to 0, trained on the paper's toy.

use vifo::data::Task;
use vifo::exec::Device;
use vifo::method::{self, Method, ModelSpec, regularizer};
use vifo::program::{Buf, Builder};
use vifo::recipe::Recipe;
use vifo::train::Flow;
use vifo::workflow::fit::fit;

struct Pulled;

impl Method for Pulled {
    fn name(&self) -> &'static str {
        "pulled"
    }
    fn eta(&self, recipe: &Recipe, _: Task) -> f64 {
        recipe.method.eta.unwrap_or(0.5)
    }
    /// Adds eta / N times |W|^2 to the loss, and its gradient to that of the weights.
    fn record_on_weights(&self, s: &ModelSpec, b: &mut Builder, w: Buf, dw: Buf, _: Option<Buf>) -> (Buf, Option<Buf>) {
        let value = regularizer::record_l2(s, b, w, dw, 0..s.layout().total as u32);
        (dw, Some(value))
    }
}

fn main() -> vifo::error::Result<()> {
    method::register(&Pulled)?;
    let text = "[data]\ntoy = \"sinusoid\"\n[method]\nname = \"pulled\"\n[train]\nepochs = 300\n";
    let recipe = method::checked(&Recipe::parse(text, "example")?, "example")?;
    let device = Device::open(&recipe.device)?;
    let fitted = fit(&recipe, "runs/pulled".as_ref(), true, &device, &mut |_, _| Flow::Continue)?;
    if let Some(nll) = fitted.results.and_then(|r| r.get("nll")) {
        println!("test NLL {nll:.3} nats; open runs/pulled/report.html");
    }
    Ok(())
}
