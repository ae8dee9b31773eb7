//! Data that no file holds: columns in memory, and classes with their probabilities. `cargo run --release --example custom_data`

use vifo::{Column, Options, Table};

fn main() -> Result<(), vifo::Error> {
    let angle = |i: u32| f64::from(i) * 0.37;
    // Two rings; the class is a text.
    let radius = |i: u32| if i.is_multiple_of(2) { 1.0 } else { 2.0 + 0.3 * (7.0 * angle(i)).sin() };
    let ring = |i: u32| if i.is_multiple_of(2) { "inner" } else { "outer" };
    let table = Table::from_columns([
        ("x", Column::from((0..400).map(|i| radius(i) * angle(i).cos()).collect::<Vec<f64>>())),
        ("y", Column::from((0..400).map(|i| radius(i) * angle(i).sin()).collect::<Vec<f64>>())),
        ("ring", Column::from((0..400).map(ring).collect::<Vec<&str>>())),
    ])?;
    let model = vifo::fit(&table, Options::target("ring").epochs(100).seed(1))?;
    let points = Table::from_columns([("x", vec![0.0, 1.0, 1.5]), ("y", vec![2.0, 0.0, 0.0])])?;
    let prediction = model.predict(&points)?;
    let rings = prediction.classes()?;
    for (i, name) in rings.names().into_iter().enumerate() {
        let p = &rings.probabilities[i];
        println!("{name}: {:.3} {}, {:.3} {}", p[0], rings.labels[0], p[1], rings.labels[1]);
        println!("  entropy {:.3} nats, of it not known {:.3}", rings.entropy[i], rings.mutual_information[i]);
    }
    Ok(())
}
