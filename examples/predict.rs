//! New rows through a run folder, here of `cargo run --release --example fit`: `cargo run --release --example predict -- [RUN]`.

use vifo::{Model, Table};

fn main() -> Result<(), vifo::Error> {
    let run = std::env::args().nth(1).unwrap_or_else(|| "runs/example".into());
    let model = Model::load(run)?;
    // A year inside the training range, and one far beyond it.
    let rows = Table::from_columns([("decimal_year", vec![1990.0, 2100.0])])?;
    let prediction = model.predict(&rows)?;
    prediction.notes.iter().for_each(|note| println!("note: {note}"));
    let co2 = prediction.numbers()?;
    for (i, (low, high)) in co2.interval(0.9)?.into_iter().enumerate() {
        println!("{:.1} ppm, 90 % within {low:.1} and {high:.1}", co2.mean[i]);
        println!("  noise {:.2}, not known {:.2} (sd)", co2.aleatoric_sd[i], co2.epistemic_sd[i]);
    }
    Ok(())
}
