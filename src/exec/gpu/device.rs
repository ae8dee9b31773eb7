//! Adapters and the one device of a run: choosing, opening with raised limits, and noticing that it is gone.

use super::pipelines::Pipelines;
use super::precision::{HALVES, MATRICES, matrix_side};
use super::tune::Tuner;
use super::variants::{Class, Form, on_offer};
use crate::base::wait;
use crate::error::{Cure, Error, Result, either};
use crate::program::fuse::mlp::joined;
use crate::program::{Program, Step};
use crate::system::cache;
use crate::system::install::{Need, how};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which adapter to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A discrete or integrated GPU: what is virtual or unknown may well be slower than the CPU.
    Auto,
    /// A discrete GPU before an integrated, virtual or unknown one; never a software adapter.
    Hardware,
    /// The n-th of those, from 0.
    Numbered(usize),
    /// An adapter that runs on the CPU, such as lavapipe.
    Software,
    /// The first whose name contains this text, upper or lower case alike, or whose PCI address it is.
    Named(String),
}

impl Choice {
    /// "gpu:1" is the second GPU; anything else is a part of a name, or a PCI address.
    pub fn named(text: &str) -> Choice {
        match text.strip_prefix("gpu:").and_then(|number| number.parse().ok()) {
            Some(number) => Choice::Numbered(number),
            None => Choice::Named(text.into()),
        }
    }
}

/// A GPU as a browser hands it out: one that is no software.
const BROWSERS: &str = "browser's GPU";

/// What `vifo doctor` says of an adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterReport {
    pub name: String,
    /// "Vulkan", "Metal", "DX12", "WebGPU".
    pub backend: &'static str,
    /// "discrete GPU", "integrated GPU", "browser's GPU" (which it does not tell more of), "virtual GPU", "software", "other".
    pub kind: &'static str,
    pub driver: String,
    /// "0000:65:00.0"; empty where the platform does not tell.
    pub pci: String,
    pub max_buffer_bytes: u64,
    pub max_binding_bytes: u64,
    pub max_storage_buffers: u32,
    pub max_groups_per_dimension: u32,
    pub workgroup_memory_bytes: u32,
    /// Least and largest subgroup.
    pub subgroup: (u32, u32),
    /// Whether its kernels can store numbers in 16 bits.
    pub halves: bool,
    /// Rows and columns of the squares of 16 bits that its matrix units multiply with sums in f32; 0 where it has none.
    pub matrix_side: u32,
    /// Forms of kernels that its class and limits allow: "plain", "64x64".
    pub kernels: Vec<&'static str>,
}

impl AdapterReport {
    pub fn is_software(&self) -> bool {
        self.kind == "software"
    }

    fn of(adapter: &wgpu::Adapter) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        AdapterReport {
            backend: match info.backend {
                wgpu::Backend::Vulkan => "Vulkan",
                wgpu::Backend::Metal => "Metal",
                wgpu::Backend::Dx12 => "DX12",
                wgpu::Backend::BrowserWebGpu => "WebGPU",
                other => other.to_str(),
            },
            kind: match info.device_type {
                wgpu::DeviceType::DiscreteGpu => "discrete GPU",
                wgpu::DeviceType::IntegratedGpu => "integrated GPU",
                wgpu::DeviceType::VirtualGpu => "virtual GPU",
                wgpu::DeviceType::Cpu => "software",
                wgpu::DeviceType::Other if info.backend == wgpu::Backend::BrowserWebGpu => BROWSERS,
                wgpu::DeviceType::Other => "other",
            },
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
            pci: info.device_pci_bus_id.clone(),
            max_buffer_bytes: limits.max_buffer_size,
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
            max_groups_per_dimension: limits.max_compute_workgroups_per_dimension,
            workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
            subgroup: (info.subgroup_min_size, info.subgroup_max_size),
            halves: adapter.features().contains(HALVES),
            matrix_side: matrix_side(adapter),
            kernels: on_offer(
                if info.device_type == wgpu::DeviceType::Cpu { Class::Software } else { Class::Hardware },
                &limits,
            ),
            // Browsers keep it to themselves, so that pages cannot tell their visitors apart.
            name: if info.name.is_empty() { "the browser's".into() } else { info.name },
        }
    }

    pub fn is_discrete(&self) -> bool {
        self.kind == "discrete GPU"
    }

    /// Smaller is better; equal cards in the order of their places.
    fn rank(&self) -> (usize, &str) {
        let kinds = ["discrete GPU", "integrated GPU", BROWSERS, "virtual GPU", "other"];
        (kinds.iter().position(|k| *k == self.kind).unwrap_or(kinds.len()), &self.pci)
    }
}

/// The place of the adapter of that choice among these, which are sorted by rank.
fn find(choice: &Choice, all: &[AdapterReport]) -> Option<usize> {
    let wanted = |report: &AdapterReport| match choice {
        Choice::Auto => matches!(report.kind, "discrete GPU" | "integrated GPU" | BROWSERS),
        Choice::Hardware | Choice::Numbered(_) => !report.is_software(),
        Choice::Software => report.is_software(),
        Choice::Named(name) => {
            let is_part = report.name.to_lowercase().contains(&name.to_lowercase());
            !name.trim().is_empty() && (is_part || report.pci.eq_ignore_ascii_case(name))
        }
    };
    let nth = if let Choice::Numbered(number) = choice { *number } else { 0 };
    all.iter().enumerate().filter(|(_, report)| wanted(report)).nth(nth).map(|(place, _)| place)
}

/// Every adapter of the platform's own compute interfaces (Vulkan, Metal, DX12); `WGPU_BACKEND` narrows them.
/// The best come first: "gpu:1" is the second that is no software.
pub fn adapters() -> Vec<AdapterReport> {
    if !wait::is_possible() {
        return vec![];
    }
    found().1.into_iter().map(|(report, _)| report).collect()
}

pub(super) fn found() -> (wgpu::Instance, Vec<(AdapterReport, wgpu::Adapter)>) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // Validation layers cost more than the kernels; WGPU_VALIDATION and WGPU_DEBUG bring them back.
    descriptor.flags = wgpu::InstanceFlags::empty().with_env();
    // OpenGL is left out: few storage buffers, and drivers that abort where Vulkan returns an error.
    descriptor.backends = wgpu::Backends::from_env().unwrap_or(wgpu::Backends::PRIMARY);
    let backends = descriptor.backends;
    let instance = wgpu::Instance::new(descriptor);
    let adapters = wait::block_on(instance.enumerate_adapters(backends));
    let mut reported: Vec<_> = adapters.into_iter().map(|a| (AdapterReport::of(&a), a)).collect();
    reported.sort_by(|(a, _), (b, _)| a.rank().cmp(&b.rank()));
    reported.dedup_by(|(twin, _), (first, _)| is_twin((&twin.pci, twin.backend), (&first.pci, first.backend)));
    (instance, reported)
}

/// Windows reaches a card by Vulkan and by DX12: at one place stands one card, which "gpu:0,gpu:1" must not take for two.
fn is_twin(twin: (&str, &str), first: (&str, &str)) -> bool {
    !twin.0.is_empty() && twin.0.eq_ignore_ascii_case(first.0) && twin.1 != first.1
}

/// What was last reported by the device outside of a call.
#[derive(Default)]
pub(super) struct Trouble {
    lost: Option<String>,
    error: Option<String>,
}

/// An opened device with its pipelines. Executors share it by `Arc`.
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: wgpu::Limits,
    pub(super) pipelines: Pipelines,
    pub(super) class: Class,
    pub(super) report: AdapterReport,
    pub(super) trouble: Arc<Mutex<Trouble>>,
    pub(super) kept: Option<Kept>,
    pub(super) tuner: Tuner,
    /// The same adapter opened with features that few programs ask for, so that no other program runs on anything new.
    pub(super) extended: Mutex<Vec<(wgpu::Features, Arc<Gpu>)>>,
}

/// Compiled pipelines that outlive the process.
pub(super) struct Kept {
    pub cache: wgpu::PipelineCache,
    path: PathBuf,
    /// How many bytes the file has.
    bytes: Mutex<usize>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the adapter of that choice.
///
/// # Errors
/// `Error::Device`: no such adapter, or it refuses to open.
pub fn open(choice: Choice) -> Result<Gpu> {
    if !wait::is_possible() {
        return Err(cannot_wait());
    }
    let (_instance, mut all) = found();
    let reports: Vec<AdapterReport> = all.iter().map(|(report, _)| report.clone()).collect();
    match find(&choice, &reports) {
        Some(place) => {
            let (report, adapter) = all.swap_remove(place);
            open_adapter(report, &adapter, wgpu::Features::empty())
        }
        None => {
            // What is asked for is a GPU: software is no answer.
            let wants_gpu = matches!(choice, Choice::Auto | Choice::Hardware | Choice::Numbered(_));
            let seen = reports.iter().filter(|r| !wants_gpu || !r.is_software());
            Err(none_found(&choice, &seen.map(|r| format!("'{}'", r.name)).collect::<Vec<_>>().join(", ")))
        }
    }
}

/// Of a browser: reading back is waiting.
fn cannot_wait() -> Error {
    let found = "this browser sets no program aside that waits for a GPU (JavaScript Promise Integration), or none beside its page";
    Error::device("the device", found, "Chrome or Edge 137 or newer", "train on the CPU").curing(on_cpu())
}

/// The device that is always there, as one asks for it.
pub(super) fn cpu() -> String {
    either("use --device cpu", "train on the CPU")
}

fn none_found(choice: &Choice, names: &str) -> Error {
    if cfg!(target_arch = "wasm32") {
        let found = if names.is_empty() { "this browser hands out no GPU (WebGPU)" } else { "no adapter of this kind" };
        return Error::device("the device", found, names, cpu()).curing(on_cpu());
    }
    without(choice, names).curing(on_cpu())
}

/// Training where there is always something to train on.
fn on_cpu() -> Cure {
    Cure::set("device", "\"cpu\"")
}

fn without(choice: &Choice, names: &str) -> Error {
    let seen = if names.is_empty() { "no adapter at all" } else { names };
    match choice {
        Choice::Numbered(number) if !names.is_empty() => Error::device(
            either(format!("--device gpu:{number}"), format!("device gpu:{number}")),
            "no GPU of this number",
            seen,
            either("the first is gpu:0; `vifo doctor` lists them", "the first is gpu:0"),
        ),
        Choice::Auto | Choice::Hardware | Choice::Numbered(_) => Error::device(
            either("--device gpu", "device gpu"),
            "no hardware GPU with a Vulkan, Metal or DX12 driver",
            if names.is_empty() { "" } else { names },
            format!("{}, or {}, which works without", how(Need::Driver), cpu()),
        ),
        Choice::Software => Error::device(
            either("--device software", "device software"),
            "no software adapter",
            seen,
            format!("{}, or {}, which works without", how(Need::Software), cpu()),
        ),
        Choice::Named(name) => Error::device(
            either(format!("--device {name}"), format!("device {name}")),
            "no adapter has this name",
            seen,
            format!(
                "{}{}, or {}, which works without",
                either("`vifo doctor` lists them; ", ""),
                how(Need::Driver),
                cpu()
            ),
        ),
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Where compiled pipelines of this card and driver are kept; None where the driver hands none out.
fn pipelines_file(adapter: &wgpu::AdapterInfo) -> Option<PathBuf> {
    let key = wgpu::util::pipeline_cache_key(adapter)?;
    cache::path(&format!("{key}_{}.bin", plain(&adapter.driver_info)))
}

/// Where it is kept which forms are fastest on this card with this driver and this version of the kernels.
fn forms_file(adapter: &wgpu::AdapterInfo) -> Option<PathBuf> {
    let card = plain(&format!("{} {} {}", adapter.backend.to_str(), adapter.name, adapter.driver_info));
    cache::path(&format!("{card}_{}.forms", env!("CARGO_PKG_VERSION")))
}

pub(super) fn open_adapter(report: AdapterReport, adapter: &wgpu::Adapter, more: wgpu::Features) -> Result<Gpu> {
    // The defaults (8 storage buffers, 128 MiB a binding, 256 MiB a buffer) are what every machine has; ask for all there is.
    let limits = adapter.limits();
    // Software adapters compile in no time, and the tests open one in each process.
    let keeps = std::env::var_os("VIFO_CACHE").is_some() || !report.is_software();
    let path = pipelines_file(&adapter.get_info())
        .filter(|_| adapter.features().contains(wgpu::Features::PIPELINE_CACHE) && keeps);
    let forms_file = forms_file(&adapter.get_info()).filter(|_| keeps);
    let cache = if path.is_some() { wgpu::Features::PIPELINE_CACHE } else { wgpu::Features::empty() };
    // `spirv` says why kernels are translated here where the backend takes it.
    let own = if adapter.get_info().backend == wgpu::Backend::Vulkan {
        wgpu::Features::PASSTHROUGH_SHADERS
    } else {
        wgpu::Features::empty()
    };
    let features = cache | more | adapter.features() & (own | wgpu::Features::TIMESTAMP_QUERY);
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("vifo"),
        required_features: features,
        required_limits: limits.clone(),
        experimental_features: match features.contains(MATRICES) {
            // SAFETY: what may misbehave are kernels that are made from shaders/common/tile_matrix.wgsl, for who asks for them.
            true => unsafe { wgpu::ExperimentalFeatures::enabled() },
            false => wgpu::ExperimentalFeatures::disabled(),
        },
        ..Default::default()
    };
    let (device, queue) = wait::block_on(adapter.request_device(&descriptor)).map_err(|e| {
        Error::device(
            report.name.clone(),
            format!("cannot be opened: {e}"),
            "",
            either(
                "update its driver, choose another with --device NAME, or use --device cpu",
                "update its driver, or train on the CPU",
            ),
        )
    })?;
    let trouble = Arc::new(Mutex::new(Trouble::default()));
    let on_lost = trouble.clone();
    device.set_device_lost_callback(move |reason, message| {
        // Dropping a device reports a loss too, which is ignored.
        locked(&on_lost).lost.get_or_insert(format!("{reason:?} {message}"));
        super::wait::wake();
    });
    let on_error = trouble.clone();
    device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
        locked(&on_error).error.get_or_insert(e.to_string());
    }));
    let class = if report.is_software() { Class::Software } else { Class::Hardware };
    let kept = path.map(|path| {
        let data = cache::read(&path);
        let descriptor =
            wgpu::PipelineCacheDescriptor { label: Some("pipelines"), data: data.as_deref(), fallback: true };
        // SAFETY: the bytes are those that a cache of this driver gave out: the file's name has card and version, its sum is
        // right, and wgpu compares the header with the driver. Otherwise the cache begins empty.
        let cache = unsafe { device.create_pipeline_cache(&descriptor) };
        Kept { cache, path, bytes: Mutex::new(data.map_or(0, |d| d.len())) }
    });
    let (pipelines, tuner) = (Pipelines::default(), Tuner::new(forms_file));
    let extended = Mutex::default();
    Ok(Gpu { device, queue, limits, pipelines, class, report, trouble, kept, tuner, extended })
}

impl Gpu {
    /// For the first line of a run: "GPU: llvmpipe (LLVM 15.0.6, 256 bits), Vulkan".
    pub fn describe(&self) -> String {
        format!("GPU: {}, {}", self.report.name, self.report.backend)
    }

    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Bytes that one binding may hold: whole words, whose bytes a shader can number.
    pub fn max_bytes_binding(&self) -> u64 {
        let most = self.limits.max_buffer_size.min(self.limits.max_storage_buffer_binding_size);
        most.min(u64::from(u32::MAX)) / 4 * 4
    }

    /// Writes the compiled pipelines where there are more than before.
    pub(super) fn keep_pipelines(&self) {
        let Some(kept) = &self.kept else { return };
        let Some(data) = kept.cache.get_data() else { return };
        let mut bytes = locked(&kept.bytes);
        if data.len() > *bytes {
            cache::write(&kept.path, &data);
            *bytes = data.len();
        }
    }

    /// The form of a step that this adapter gets.
    fn form(&self, program: &Program, step: &Step) -> Form {
        self.form_of(program, step, self.variants(&step.op).1)
    }

    /// Kernels that a replay of the program would start op by op, as it was recorded. Of a small network that is joined a GPU starts
    /// fewer, each of which takes longer: `--device auto` keeps to this number until their time is known on hardware.
    pub fn dispatches(&self, program: &Program) -> usize {
        program.steps.iter().map(|step| self.form(program, step).kernels.len()).sum()
    }

    /// Which those are: "linear_forward_tiled 32x32".
    pub fn kernels(&self, program: &Program) -> BTreeSet<String> {
        let program = joined(program.clone());
        let all = program.steps.iter().flat_map(|step| self.form(&program, step).kernels);
        all.map(|k| k.name()).collect()
    }

    /// Whether it is gone, with all that was on it.
    pub fn is_lost(&self) -> bool {
        locked(&self.trouble).lost.is_some() || locked(&self.extended).iter().any(|(_, gpu)| gpu.is_lost())
    }

    /// `Err` once the device is lost or has reported an error outside of a call.
    pub(super) fn check(&self) -> Result<()> {
        let trouble = locked(&self.trouble);
        let place = format!("device {}", self.report.name);
        if let Some(why) = &trouble.lost {
            return Err(Error::run(
                place,
                format!("device lost: {why}"),
                either(
                    "the last checkpoint is intact: resume with `vifo fit --resume RUN`",
                    "the last checkpoint is intact: resume from it",
                ),
            ));
        }
        if let Some(why) = &trouble.error {
            return Err(Error::run(
                place,
                why.clone(),
                either(
                    "try --device cpu and please report it with the recipe",
                    "try the CPU, and please report it with the recipe",
                ),
            ));
        }
        Ok(())
    }

    /// wgpu panics where a driver loses the device within a call; here that is an error like any other.
    pub(super) fn guarded<T>(&self, call: impl FnOnce() -> T) -> Result<T> {
        catch_unwind(AssertUnwindSafe(call)).map_err(|_| {
            locked(&self.trouble).lost.get_or_insert("the driver gave up".into());
            self.check().err().unwrap_or_else(|| Error::run("device", "lost", ""))
        })
    }

    /// Creates device objects; what goes wrong comes back as an error that names `what`.
    pub(super) fn creating<T>(&self, what: &str, create: impl FnOnce() -> T) -> Result<T> {
        self.check()?;
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let made = self.guarded(create);
        let invalid = wait::block_on(validation.pop());
        let out_of_memory = wait::block_on(memory.pop());
        let made = made?;
        if out_of_memory.is_some() {
            let help = either(
                "use a smaller --batch, fewer members or --device cpu",
                "take fewer rows per step, fewer members, or the CPU",
            );
            return Err(Error::device(
                self.report.name.clone(),
                format!("{what}: not enough memory on the device"),
                "",
                help,
            ));
        }
        if let Some(e) = invalid {
            let help = either(
                "use --device cpu and please report it with the recipe",
                "train on the CPU, and please report it with the recipe",
            );
            return Err(Error::device(self.report.name.clone(), format!("{what}: {e}"), "", help));
        }
        self.check()?;
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_two_interfaces_reach_is_one() {
        assert!(is_twin(("0000:0A:00.0", "DX12"), ("0000:0a:00.0", "Vulkan")));
        assert!(!is_twin(("0000:0b:00.0", "Vulkan"), ("0000:0a:00.0", "Vulkan")));
        assert!(
            !is_twin(("0000:0a:00.0", "DX12"), ("0000:0a:00.0", "DX12")),
            "two that the system does not tell apart"
        );
        assert!(!is_twin(("", "DX12"), ("", "Vulkan")), "a system that does not tell");
    }
}
