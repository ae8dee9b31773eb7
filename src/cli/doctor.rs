//! `vifo doctor`: adapters and limits of this machine, a self-test, and what to install if something is missing.

use super::{hand_over, say};
use crate::base::simd::Isa;
use crate::bench;
use crate::exec::Device;
use crate::exec::gpu::{self, AdapterReport};
use crate::tables::{Format, TextTable, number};

#[derive(clap::Args)]
pub struct Args {
    /// Everything as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let adapters = gpu::adapters();
    let mut tests: Vec<(String, std::result::Result<f64, String>)> = vec![("cpu".into(), test("cpu"))];
    for a in &adapters {
        tests.push((a.name.clone(), test(&a.name)));
    }
    let failed: Vec<&String> = tests.iter().filter(|t| t.1.is_err()).map(|t| &t.0).collect();
    let hardware = adapters.iter().any(|a| !a.is_software());
    if args.json {
        let value = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "git": env!("VIFO_GIT"),
            "threads": rayon::current_num_threads(),
            "adapters": adapters.iter().map(|a| serde_json::json!({
                "name": a.name, "backend": a.backend, "kind": a.kind, "driver": a.driver, "software": a.is_software(),
                "max_buffer_bytes": a.max_buffer_bytes, "max_binding_bytes": a.max_binding_bytes, "kernels": a.kernels,
            })).collect::<Vec<_>>(),
            "self_tests": tests.iter().map(|(name, r)| serde_json::json!({
                "device": name, "passed": r.is_ok(), "relative_error": r.as_ref().ok(), "error": r.as_ref().err(),
            })).collect::<Vec<_>>(),
        });
        hand_over(&value.to_string());
    } else {
        say(&format!(
            "vifo {} ({}), {} CPU threads, instructions: {}",
            env!("CARGO_PKG_VERSION"),
            env!("VIFO_GIT"),
            rayon::current_num_threads(),
            Isa::detect().name()
        ));
        let mut t = TextTable::new(&["adapter", "backend", "kind", "driver", "largest buffer", "kernels", "self-test"]);
        t.rows.push(vec![
            "CPU executor".into(),
            "-".into(),
            "-".into(),
            "-".into(),
            "memory".into(),
            "-".into(),
            verdict(&tests[0].1),
        ]);
        for (a, (_, result)) in adapters.iter().zip(&tests[1..]) {
            t.rows.push(row(a, result));
        }
        say(&t.render(Format::Text));
        say(&advice(&adapters, hardware));
    }
    match failed.first() {
        None => Ok(()),
        Some(name) => Err(crate::error::Error::device(
            name.as_str(),
            "the self-test failed: its numbers differ from the f64 CPU reference",
            "",
            "use --device cpu, update the driver, and report it",
        )
        .into()),
    }
}

/// Three training steps of the toy against the f64 CPU reference: the largest relative error of a loss.
fn test(device: &str) -> std::result::Result<f64, String> {
    let device = Device::open(device).map_err(|e| e.to_string())?;
    bench::parity(&device, Some("toy_vifo_aux"))
        .map(|p| p.iter().map(|p| p.1).fold(0.0, f64::max))
        .map_err(|e| e.to_string())
}

fn verdict(result: &std::result::Result<f64, String>) -> String {
    match result {
        Ok(error) => format!("ok, error {error:.0e}"),
        Err(e) => format!("FAILED: {e}"),
    }
}

fn row(a: &AdapterReport, result: &std::result::Result<f64, String>) -> Vec<String> {
    let size = format!("{} MiB", number(a.max_binding_bytes.min(a.max_buffer_bytes) as f64 / (1 << 20) as f64));
    let kernels = a.kernels.join(", ");
    vec![a.name.clone(), a.backend.to_string(), a.kind.to_string(), a.driver.clone(), size, kernels, verdict(result)]
}

fn advice(adapters: &[AdapterReport], hardware: bool) -> String {
    if hardware {
        "`--device auto` (the default of fit) uses the hardware adapter.".into()
    } else if adapters.is_empty() {
        "No graphics adapter: `--device auto` uses the CPU, which needs no driver. For a GPU install its Vulkan driver; for the software \
         adapter of the tests: apt-get install mesa-vulkan-drivers libvulkan1 (Debian, Ubuntu), dnf install mesa-vulkan-drivers (Fedora)."
            .into()
    } else {
        "No hardware adapter: `--device auto` uses the CPU; `--device software` runs the shaders on the software adapter. For a GPU install \
         its Vulkan driver (nvidia-driver, or mesa-vulkan-drivers for AMD and Intel)."
            .into()
    }
}
