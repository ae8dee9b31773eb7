//! Mesa's RADV with a card that is not there: it compiles, and tells what came out.

use super::spirv::Kernel;
use ash::vk;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};

const FOLDERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

fn driver_file() -> Result<std::path::PathBuf, String> {
    let all = FOLDERS.iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten().map(|e| e.path());
    let is_radeon =
        |p: &std::path::PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("radeon_icd"));
    all.into_iter()
        .find(is_radeon)
        .ok_or_else(|| "no radeon_icd.*.json: install mesa-vulkan-drivers (Debian, Ubuntu, Fedora)".into())
}

/// What the compiler tells of a kernel.
pub struct Told {
    /// The numbers of the names that were asked for.
    pub numbers: Vec<u64>,
    /// Instructions of the card.
    pub text: String,
}

/// The driver's name and version, and what it tells of each kernel: the numbers of these names.
// Long: Vulkan's calls in their order.
pub fn statistics(kernels: &[Kernel], names: &[&str]) -> Result<(String, BTreeMap<String, Told>), String> {
    let file = driver_file()?;
    // SAFETY: the test that calls this is the only one of its process that reads these, and no thread but its own runs yet.
    unsafe {
        std::env::set_var("VK_DRIVER_FILES", &file);
        std::env::set_var("VK_ICD_FILENAMES", &file);
        std::env::set_var("RADV_FORCE_FAMILY", "navi21");
        std::env::set_var("NODEVICE_SELECT", "1");
    }
    // SAFETY: every handle is made by the one before it, used while that lives, and what a structure points to outlives the call.
    // The process ends with the test, and all of them with it.
    unsafe {
        let entry = ash::Entry::load().map_err(|e| format!("no libvulkan: {e}"))?;
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        let instance = entry
            .create_instance(&vk::InstanceCreateInfo::default().application_info(&app), None)
            .map_err(|e| format!("no instance of {}: {e}", file.display()))?;
        let physical = *instance
            .enumerate_physical_devices()
            .map_err(|e| e.to_string())?
            .first()
            .ok_or("RADV shows no card, not even the forced one")?;
        let mut of_driver = vk::PhysicalDeviceDriverProperties::default();
        instance.get_physical_device_properties2(
            physical,
            &mut vk::PhysicalDeviceProperties2::default().push_next(&mut of_driver),
        );
        let text = |c: Result<&CStr, _>| c.map_or(String::new(), |c| c.to_string_lossy().into_owned());
        let info = text(of_driver.driver_info_as_c_str());
        // "Mesa 22.3.6": what follows are builds of it.
        let version: Vec<&str> = info.split_whitespace().take(2).collect();
        let driver = format!("{} {}, navi21", text(of_driver.driver_name_as_c_str()), version.join(" "));
        let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let extensions = [ash::khr::pipeline_executable_properties::NAME.as_ptr()];
        let mut feature =
            vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queue)
            .enabled_extension_names(&extensions)
            .push_next(&mut feature);
        let device = instance.create_device(physical, &create, None).map_err(|e| e.to_string())?;
        let executables = ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
        let mut all = BTreeMap::new();
        for kernel in kernels {
            let failed = |e: vk::Result| format!("{}: {e}", kernel.name);
            let module = device
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&kernel.words), None)
                .map_err(failed)?;
            let kind = |uniform| {
                if uniform { vk::DescriptorType::UNIFORM_BUFFER } else { vk::DescriptorType::STORAGE_BUFFER }
            };
            let bindings: Vec<_> = kernel
                .bindings
                .iter()
                .map(|(binding, uniform)| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(*binding)
                        .descriptor_type(kind(*uniform))
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE)
                })
                .collect();
            let set = device
                .create_descriptor_set_layout(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings), None)
                .map_err(failed)?;
            let sets = [set];
            let layout = device
                .create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)
                .map_err(failed)?;
            let name = CString::new(kernel.entry.as_str()).map_err(|e| e.to_string())?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&name);
            let create = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(
                vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                    | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
            )];
            let pipeline = device
                .create_compute_pipelines(vk::PipelineCache::null(), &create, None)
                .map_err(|(_, e)| failed(e))?[0];
            let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let found = executables.get_pipeline_executable_statistics(&info).map_err(failed)?;
            let number = |wanted: &&str| {
                let one = found.iter().find(|s| s.name_as_c_str().is_ok_and(|n| n.to_string_lossy() == **wanted));
                one.map(|s| s.value.u64).ok_or_else(|| format!("{}: the driver tells no {wanted}", kernel.name))
            };
            let numbers = names.iter().map(number).collect::<Result<Vec<u64>, String>>()?;
            all.insert(kernel.name.clone(), Told { numbers, text: assembly(&executables, &info).map_err(failed)? });
        }
        Ok((driver, all))
    }
}

/// The instructions of a pipeline's only executable; empty where the driver does not tell them.
///
/// # Safety
/// The pipeline lives and was made with its internal representations.
unsafe fn assembly(
    executables: &ash::khr::pipeline_executable_properties::Device,
    info: &vk::PipelineExecutableInfoKHR<'_>,
) -> Result<String, vk::Result> {
    // SAFETY: asked twice, as the extension wants it: for the sizes, then with memory of these sizes, which outlives the call.
    unsafe {
        let mut found = executables.get_pipeline_executable_internal_representations(info)?;
        let mut bytes: Vec<Vec<u8>> = found.iter().map(|r| vec![0; r.data_size]).collect();
        for (one, bytes) in found.iter_mut().zip(&mut bytes) {
            one.p_data = bytes.as_mut_ptr().cast();
        }
        let again = executables.fp().get_pipeline_executable_internal_representations_khr;
        let mut count = found.len() as u32;
        again(executables.device(), info, &mut count, found.as_mut_ptr()).result()?;
        let is_assembly = |r: &vk::PipelineExecutableInternalRepresentationKHR<'_>| {
            r.name_as_c_str().is_ok_and(|name| name.to_string_lossy() == "Assembly")
        };
        let at = found.iter().position(is_assembly);
        Ok(at.map_or(String::new(), |at| String::from_utf8_lossy(&bytes[at]).trim_end_matches('\0').to_string()))
    }
}
