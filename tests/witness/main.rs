//! Witnesses of the shaders that need no card: what AMD's compiler (ACO, of Mesa's RADV, which compiles for a card that is not
//! there) makes of every kernel. Registers, spills, instructions and its own estimate of their time are held against
//! `aco.csv`, so that a kernel that became slower is seen without a GPU. `UPDATE_WITNESS=1` writes the table anew.
#![cfg(target_os = "linux")]

mod aco;
mod spirv;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The compiler's numbers that are compared, in the order of the table's columns.
const NUMBERS: [&str; 5] = ["VGPRs", "Spilled VGPRs", "Instructions", "Latency", "Inverse Throughput"];
/// How much more may pass: the compiler's estimates are whole cycles, and its choices depend on little things.
const SHARE: f64 = 1.05;
const AND: u64 = 4;

type Table = BTreeMap<String, Vec<u64>>;

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/aco.csv")
}

/// The driver's version, and a row for each kernel.
fn read(text: &str) -> (String, Table) {
    let mut lines = text.lines();
    let driver = lines.next().and_then(|l| l.strip_prefix("# ")).unwrap_or_default().to_string();
    let row = |line: &str| {
        let mut cells = line.split(',');
        let name = cells.next().unwrap_or_default().to_string();
        (name, cells.map(|c| c.parse().expect("a whole number")).collect())
    };
    (driver, lines.skip(1).map(row).collect())
}

fn write(driver: &str, table: &Table) -> String {
    let mut text = format!("# {driver}\nkernel,{}\n", NUMBERS.join(",").replace(' ', "_").to_lowercase());
    for (name, numbers) in table {
        let cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
        writeln!(text, "{name},{}", cells.join(",")).expect("a string takes everything");
    }
    text
}

/// What is worse in `now` than `before` allows, and kernels that only one of them has.
fn slower(before: &Table, now: &Table) -> Vec<String> {
    let mut all = vec![];
    for (name, numbers) in now {
        let Some(old) = before.get(name) else {
            all.push(format!("{name} is new"));
            continue;
        };
        for ((what, old), new) in NUMBERS.iter().zip(old).zip(numbers) {
            let most = if what.starts_with("Spilled") { *old } else { (*old as f64 * SHARE) as u64 + AND };
            if *new > most {
                all.push(format!("{name}: {what} {new}, was {old}"));
            }
        }
    }
    all.extend(before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name} is gone")));
    all
}

#[test]
fn no_kernel_becomes_slower_for_amds_compiler() {
    let (driver, now) = aco::statistics(&spirv::kernels(), &NUMBERS).unwrap_or_else(|e| panic!("{e}"));
    if std::env::var_os("UPDATE_WITNESS").is_some() {
        std::fs::write(path(), write(&driver, &now)).expect("written");
        return;
    }
    let text = std::fs::read_to_string(path()).expect("the table");
    let (of, before) = read(&text);
    if of != driver {
        // Another version of the compiler has other numbers; that it takes every kernel, and none spills, holds for all.
        println!("the table is of {of}, here is {driver}: numbers are not compared");
        let spills: Vec<&String> = now.iter().filter(|(_, n)| n[1] > 0).map(|(name, _)| name).collect();
        assert!(spills.is_empty() && now.len() == before.len(), "{spills:?}");
        return;
    }
    let found = slower(&before, &now);
    assert!(found.is_empty(), "{}\n(UPDATE_WITNESS=1 writes the table anew)", found.join("\n"));
}

/// The comparison sees what it is for.
#[test]
fn a_slower_kernel_is_seen() {
    let (_, table) = read("# d\nkernel,a\nadam,10,0,100,200,300\nadd,4,0,10,20,30\n");
    assert_eq!(read(&write("d", &table)).1, table);
    let with = |at: usize, value: u64| {
        let mut other = table.clone();
        other.get_mut("adam").expect("a row")[at] = value;
        other
    };
    assert!(slower(&table, &table).is_empty() && slower(&table, &with(2, 109)).is_empty());
    assert_eq!(slower(&table, &with(2, 110)), ["adam: Instructions 110, was 100"]);
    assert_eq!(slower(&table, &with(1, 1)), ["adam: Spilled VGPRs 1, was 0"]);
    let mut fewer = table.clone();
    fewer.remove("add");
    assert_eq!(slower(&table, &fewer), ["add is gone"]);
    assert_eq!(slower(&fewer, &table), ["add is new"]);
}
