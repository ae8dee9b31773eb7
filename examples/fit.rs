//! A table to a model to a run folder: `cargo run --release --example fit`. `predict` opens what this one saves.

use vifo::{Options, Table};

fn main() -> Result<(), vifo::Error> {
    let table = Table::read("assets/data/co2.csv")?;
    println!("{} rows of {}", table.rows(), table.columns().join(", "));
    let options = Options::target("co2_ppm").ignore(["date"]).method("vifo-mean").epochs(60).seed(1);
    let model = vifo::fit(&table, options)?;
    model.notes().iter().for_each(|note| println!("note: {note}"));
    if let Some(results) = model.save("runs/example")? {
        for metric in results.metrics.iter().take(5) {
            println!("{}: {:.3} {}", metric.name, metric.value, metric.unit);
        }
    }
    println!("open runs/example/report.html");
    Ok(())
}
