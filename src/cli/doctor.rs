//! `vifo doctor`: adapters and limits of this machine, a self-test, and what to install if something is missing.

use super::{hand_over, say, tell};
use crate::base::fs;
use crate::base::simd::Isa;
use crate::bench;
use crate::bench::self_test::{self, CaseTest};
use crate::exec::Device;
use crate::exec::gpu::{self, AdapterReport};
use crate::recipe::Precision;
use crate::system::install::{Need, how};
use crate::tables::{Format, TextTable, number};

#[derive(clap::Args)]
pub struct Args {
    /// Every case of `vifo bench` on each adapter against the CPU, a minute or so each: losses, gradients, as text for a report
    /// (not with --json)
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Measure on each adapter which form of each kernel is fastest, and keep it for trainings, which otherwise measure their own
    /// kernels once on a GPU (not with --json)
    #[arg(long, conflicts_with = "json")]
    tune: bool,
    /// Everything as one JSON line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let adapters = gpu::adapters();
    let names = device_names(&adapters);
    let mut tests: Vec<(String, std::result::Result<f64, String>)> = vec![("cpu".into(), test("cpu"))];
    for (a, device) in adapters.iter().zip(&names) {
        tests.push((a.name.clone(), test(device)));
    }
    let failed: Vec<&String> = tests.iter().filter(|t| t.1.is_err()).map(|t| &t.0).collect();
    let hardware = adapters.iter().any(|a| !a.is_software());
    if args.json {
        let value = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "git": env!("VIFO_GIT"),
            "threads": rayon::current_num_threads(),
            "adapters": adapters.iter().zip(&names).map(|(a, device)| serde_json::json!({
                "device": device, "pci": a.pci, "name": a.name, "backend": a.backend, "kind": a.kind, "driver": a.driver, "software": a.is_software(),
                "max_buffer_bytes": a.max_buffer_bytes, "max_binding_bytes": a.max_binding_bytes, "kernels": a.kernels,
                "f16": a.halves, "matrix_side": a.matrix_side,
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
        let mut t = TextTable::new(&[
            "adapter",
            "--device",
            "PCI",
            "backend",
            "kind",
            "driver",
            "largest buffer",
            "kernels",
            "16 bits",
            "self-test",
        ]);
        t.rows.push(vec![
            "CPU executor".into(),
            "cpu".into(),
            "-".into(),
            "-".into(),
            "-".into(),
            "-".into(),
            "memory".into(),
            "-".into(),
            "rounded".into(),
            verdict(&tests[0].1),
        ]);
        for ((a, device), (_, result)) in adapters.iter().zip(&names).zip(&tests[1..]) {
            t.rows.push(row(a, device, result));
        }
        say(&t.render(Format::Text));
        let unseen = fs::exists("/dev/nvidia0");
        say(&advice(&adapters, hardware, unseen));
    }
    if args.tune {
        tune(&adapters, &names)?;
    }
    if args.full {
        return full(&adapters, &names);
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

/// A table per adapter: the forms of each kernel with their times.
fn tune(adapters: &[AdapterReport], names: &[String]) -> anyhow::Result<()> {
    for (adapter, name) in adapters.iter().zip(names) {
        let Device::Gpu(gpu) = Device::open(name)? else { continue };
        tell(&format!("measuring {}", adapter.name));
        let found = bench::explain::tune(&gpu)?;
        if found.is_empty() {
            let why = "nothing is measured where nothing is kept: set VIFO_CACHE to a folder";
            say(&format!("\n{}: {why}", adapter.name));
            continue;
        }
        let mut t = TextTable::new(&["op, count x m x n x k", "by the table", "taken", "microseconds of each form"]);
        for one in &found {
            let times: Vec<String> = one.seconds.iter().map(|(v, s)| format!("{} {:.1}", v.name(), 1e6 * s)).collect();
            t.rows.push(vec![one.op.clone(), one.table.name().into(), one.taken.name().into(), times.join(", ")]);
        }
        say(&format!("\n{}, {}", adapter.name, adapter.backend));
        say(&t.render(Format::Text));
    }
    Ok(())
}

/// The long self-test of each adapter, as text to paste into a report.
fn full(adapters: &[AdapterReport], names: &[String]) -> anyhow::Result<()> {
    let mut wrong = vec![];
    for (adapter, name) in adapters.iter().zip(names) {
        tell(&format!("testing {}", adapter.name));
        let device = Device::open(name)?;
        let heard = |t: &CaseTest| tell(&format!("  {}: {}", named(t), if t.passed() { "ok" } else { "WRONG" }));
        let (tests, kernels) = self_test::self_test(&device, &mut { heard })?;
        let mut t = TextTable::new(&["case", "error of losses", "error of the gradient", "seconds", "verdict"]);
        for one in &tests {
            let cells = [format!("{:.1e}", one.loss), format!("{:.1e}", one.gradient), format!("{:.1}", one.seconds)];
            let verdict = if one.passed() { "ok" } else { "WRONG" };
            t.rows.push([named(one)].into_iter().chain(cells).chain([verdict.into()]).collect());
        }
        say(&format!(
            "\n{}, {}, {}, PCI {}; vifo {} ({}): {} kernels ran",
            adapter.name,
            adapter.backend,
            adapter.driver,
            if adapter.pci.is_empty() { "unknown" } else { &adapter.pci },
            env!("CARGO_PKG_VERSION"),
            env!("VIFO_GIT"),
            kernels.len()
        ));
        say(&t.render(Format::Text));
        wrong.extend(tests.iter().filter(|t| !t.passed()).map(|t| format!("{} on {}", named(t), adapter.name)));
    }
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(crate::error::Error::device(
            "doctor --full",
            format!("{} of its cases give wrong numbers, first {first}", wrong.len()),
            "",
            "use --device cpu, update the driver, and report what stands above",
        )
        .into()),
    }
}

/// "toy_vi", "toy_vi in f16".
fn named(test: &CaseTest) -> String {
    match test.precision {
        Precision::F32 => test.name.into(),
        other => format!("{} in {other}", test.name),
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

/// What `--device` calls each: GPUs by number, software by its name.
fn device_names(adapters: &[AdapterReport]) -> Vec<String> {
    let mut number = 0;
    let name = |a: &AdapterReport| {
        if a.is_software() {
            return a.name.clone();
        }
        number += 1;
        format!("gpu:{}", number - 1)
    };
    adapters.iter().map(name).collect()
}

fn row(a: &AdapterReport, device: &str, result: &std::result::Result<f64, String>) -> Vec<String> {
    let size = format!("{} MiB", number(a.max_binding_bytes.min(a.max_buffer_bytes) as f64 / (1 << 20) as f64));
    let kernels = a.kernels.join(", ");
    let pci = if a.pci.is_empty() { "-".into() } else { a.pci.clone() };
    let (backend, kind, driver) = (a.backend.to_string(), a.kind.to_string(), a.driver.clone());
    let bits = match (a.halves, a.matrix_side) {
        (false, _) => "-".into(),
        (true, 0) => "f16".into(),
        (true, side) => format!("f16, matrices of {side}"),
    };
    vec![a.name.clone(), device.into(), pci, backend, kind, driver, size, kernels, bits, verdict(result)]
}

/// `nvidia` = the system has a card of NVIDIA's, seen by Vulkan or not.
fn advice(adapters: &[AdapterReport], hardware: bool, nvidia: bool) -> String {
    if hardware {
        return "`--device auto` (the default of fit) takes the first GPU for what is large enough to gain by it: the first line of a run \
                says why."
            .into();
    }
    if nvidia {
        return format!(
            "A card of NVIDIA's is here (/dev/nvidia0), but its Vulkan driver is not. In a container, start it with \
             NVIDIA_DRIVER_CAPABILITIES=all (docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all ...) and install the Vulkan \
             loader in it; elsewhere: {}. Until then `--device auto` uses the CPU.",
            how(Need::NvidiaVulkan)
        );
    }
    let driver = how(Need::Driver);
    match adapters.is_empty() {
        true => format!(
            "No graphics adapter: `--device auto` uses the CPU, which needs no driver. For a GPU: {driver}. For the software adapter \
             of the tests: {}.",
            how(Need::Software)
        ),
        false => format!(
            "No hardware adapter: `--device auto` uses the CPU; `--device software` runs the shaders on the software adapter. For a \
             GPU: {driver}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_vulkan_does_not_see_is_told() {
        let told = advice(&[], false, true);
        assert!(told.contains("/dev/nvidia0") && told.contains("NVIDIA_DRIVER_CAPABILITIES"), "{told}");
        assert!(advice(&[], false, false).starts_with("No graphics adapter"));
        assert!(advice(&[], true, true).contains("large enough"));
    }
}
