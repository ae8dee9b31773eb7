//! Witnesses of the shaders that need no card. What AMD's compiler (ACO, of Mesa's RADV, which compiles for a card that is not
//! there) makes of every kernel: registers, spills, instructions and its own estimate of their time are held against
//! `aco.csv`, so that a kernel that became slower is seen without a GPU; `UPDATE_WITNESS=1` writes the table anew. And Khronos's
//! validator of SPIR-V. `tests/witness/run` beside this asks further programs.
#![cfg(target_os = "linux")]

mod aco;
mod planted;
mod spirv;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use vifo::exec::gpu::Checks;
use vifo::exec::gpu::FAMILIES;

/// The compiler's numbers that are compared, in the order of the table's columns.
const NUMBERS: [&str; 5] = ["VGPRs", "Spilled VGPRs", "Instructions", "Latency", "Inverse Throughput"];
/// How much more may pass: the compiler's estimates are whole cycles, and its choices depend on little things.
const SHARE: f64 = 1.05;
const AND: u64 = 4;
/// The last column: of a hundred instructions of a round of a tile, those that multiply and add. How much less may pass.
const MULTIPLYING: &str = "fma_percent";
const LESS: u64 = 2;
/// What a round of the largest tile has at least of a linear layer in whole quadruples, and of a convolution, which looks for edges.
const LEAST_MULTIPLYING: [(&str, u64); 2] = [("linear_", 83), ("conv2d_", 74)];

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
    let names = NUMBERS.join(",").replace(' ', "_").to_lowercase();
    let mut text = format!("# {driver}\nkernel,{names},{MULTIPLYING}\n");
    for (name, numbers) in table {
        let cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
        writeln!(text, "{name},{}", cells.join(",")).expect("a string takes everything");
    }
    text
}

/// Of a hundred instructions of the loop of a kernel that multiplies and adds most, those that do; 0 without such a loop. Of a tile that
/// is a whole round, from loads to the second barrier.
fn fma_percent(assembly: &str) -> u64 {
    let (mut labels, mut code) = (BTreeMap::new(), vec![]);
    // Behind a semicolon stand its bytes.
    for line in assembly.lines().map(|line| line.split(';').next().unwrap_or_default().trim()) {
        match line.strip_suffix(':') {
            Some(label) => drop(labels.insert(label.to_string(), code.len())),
            None if line.is_empty() => {}
            None => code.push(line),
        }
    }
    let multiplies = |line: &&&str| line.starts_with("v_fma");
    let loops = code.iter().enumerate().filter_map(|(at, line)| {
        let to = line.strip_prefix("s_cbranch").or(line.strip_prefix("s_branch"))?.split_whitespace().last()?;
        let from = *labels.get(to)?;
        (from < at).then(|| &code[from..=at])
    });
    let percent = |l: &[&str]| 100 * l.iter().filter(multiplies).count() as u64 / l.len() as u64;
    loops.max_by_key(|l| l.iter().filter(multiplies).count()).map_or(0, percent)
}

/// The last column.
fn multiplying_of(row: &[u64]) -> u64 {
    row.last().copied().unwrap_or_default()
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
        let [was, is] = [multiplying_of(old), multiplying_of(numbers)];
        if is + LESS < was {
            all.push(format!("{name}: {MULTIPLYING} {is}, was {was}"));
        }
    }
    all.extend(before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name} is gone")));
    all
}

#[test]
fn no_kernel_becomes_slower_for_amds_compiler() {
    let (driver, told) = aco::statistics(&spirv::kernels(Checks::Off), &NUMBERS).unwrap_or_else(|e| panic!("{e}"));
    if let Some(folder) = std::env::var_os("VIFO_ASSEMBLY") {
        for (name, told) in &told {
            std::fs::write(Path::new(&folder).join(name.replace(' ', "_")), &told.text).expect("written");
        }
    }
    let row = |(name, told): (String, aco::Told)| {
        (name, told.numbers.into_iter().chain([fma_percent(&told.text)]).collect::<Vec<u64>>())
    };
    let now: Table = told.into_iter().map(row).collect();
    for (of, least) in LEAST_MULTIPLYING {
        let whole = now.iter().filter(|(name, _)| name.starts_with(of) && name.ends_with("128x64 whole"));
        let shares: Vec<u64> = whole.map(|(_, row)| multiplying_of(row)).collect();
        assert!(shares.len() == 3 && shares.iter().all(|share| *share >= least), "{of}: {shares:?}");
    }
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

/// Of the larger loop, with its branch; what stands outside does not count.
#[test]
fn multiplying_is_counted() {
    let text = "BB0:\n\tv_fma_f32 v0, v1\nBB1:\n\ts_barrier ; bf8a0000\n\tv_fmac_f32_e32 v0, v1 ; 5630993c\n\tv_fma_f32 v0, v1\n\t\
                s_branch BB1 ; bf82ff56\nBB2:\n\tv_fma_f32 v0, v1\n\ts_cbranch_scc1 BB2 ; 1\n\ts_branch BB3\nBB3:\n\ts_endpgm\n";
    assert_eq!((fma_percent(text), fma_percent("BB0:\n\tv_fma_f32 v0, v1\n")), (50, 0));
}

/// The comparison sees what it is for.
#[test]
fn a_slower_kernel_is_seen() {
    let (_, table) = read("# d\nkernel,a\nadam,10,0,100,200,300,80\nadd,4,0,10,20,30,0\n");
    assert_eq!(read(&write("d", &table)).1, table);
    let with = |at: usize, value: u64| {
        let mut other = table.clone();
        other.get_mut("adam").expect("a row")[at] = value;
        other
    };
    assert!(slower(&table, &table).is_empty() && slower(&table, &with(2, 109)).is_empty());
    assert_eq!(slower(&table, &with(2, 110)), ["adam: Instructions 110, was 100"]);
    assert_eq!(slower(&table, &with(1, 1)), ["adam: Spilled VGPRs 1, was 0"]);
    assert!(slower(&table, &with(5, 78)).is_empty());
    assert_eq!(slower(&table, &with(5, 77)), ["adam: fma_percent 77, was 80"]);
    let mut fewer = table.clone();
    fewer.remove("add");
    assert_eq!(slower(&table, &fewer), ["add is gone"]);
    assert_eq!(slower(&fewer, &table), ["add is new"]);
}

/// The layout of buffers is nowhere but in buffers. naga alone would leave it: should it stop to, `src/exec/gpu/spirv.rs` can go.
#[test]
fn no_workgroup_memory_has_the_layout_of_a_buffer() {
    for kernel in [Checks::On, Checks::Off].into_iter().flat_map(spirv::kernels) {
        assert_eq!(spirv::laid_out_variables(&kernel.words), 0, "{}", kernel.name);
    }
    assert!(spirv::laid_out_variables(&spirv::by_naga("reduce")) > 0, "naga writes valid memory by itself");
}

/// Khronos's validator takes every kernel, and refuses one whose first result is named twice.
#[test]
fn every_kernel_is_valid_spirv() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernel.spv");
    let refused = |words: &[u32]| -> Option<String> {
        std::fs::write(&file, bytemuck::cast_slice(words)).expect("written");
        let mut command = Command::new("spirv-val");
        let said = command.args(["--target-env", "vulkan1.1"]).arg(&file).output().unwrap_or_else(|e| {
            panic!("spirv-val: {e} (Debian, Ubuntu: apt-get install spirv-tools; Fedora, Arch: spirv-tools)")
        });
        (!said.status.success()).then(|| String::from_utf8_lossy(&said.stderr).into_owned())
    };
    for kernel in [Checks::On, Checks::Off].into_iter().flat_map(spirv::kernels) {
        assert_eq!(refused(&kernel.words), None, "{}", kernel.name);
    }
    let mut twice = spirv::kernels(Checks::Off).pop().expect("kernels").words;
    // OpTypeVoid, OpTypeInt and so on: an instruction of its own again.
    let at = twice.iter().position(|w| *w == 2 << 16 | 19).expect("a void type");
    let again = [twice[at], twice[at + 1]];
    twice.splice(at..at, again);
    assert!(refused(&twice).is_some(), "a result with two definitions passes");
}

/// What `tests/witness/run` hands to other compilers, in the file that it names: composed modules with the kernels that are made of
/// them.
#[test]
fn modules_are_written_for_other_compilers() {
    let kernels = spirv::kernels(Checks::Off);
    let of = |module: &str| -> Vec<serde_json::Value> {
        let mine = kernels.iter().filter(|k| k.module == module);
        let constants = |k: &spirv::Kernel| k.tile.iter().flat_map(|t| t.constants()).collect::<BTreeMap<_, _>>();
        mine.map(|k| serde_json::json!({"entry": k.entry, "constants": constants(k)})).collect()
    };
    let modules: Vec<_> = FAMILIES
        .iter()
        .map(|(name, _)| serde_json::json!({"name": name, "code": spirv::composed(name), "kernels": of(name)}))
        .collect();
    let count: usize = FAMILIES.iter().map(|(name, _)| of(name).len()).sum();
    assert_eq!(count, kernels.len());
    let text = serde_json::to_string(&modules).expect("text");
    if let Some(path) = std::env::var_os("VIFO_MODULES") {
        std::fs::write(path, text).expect("written");
    }
}

#[test]
#[ignore = "for tests/witness/run: it does what a validation layer must report"]
fn planted_faults() {
    planted::plant(&spirv::by_naga("reduce")).unwrap_or_else(|e| panic!("{e}"));
}
