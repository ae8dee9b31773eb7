//! What Khronos's validation layer must find: without it, its silence about everything else would say nothing.

use ash::vk;

/// A buffer of no bytes; kernel memory with the layout of a buffer, as naga alone would write it; and two writes to the same bytes
/// with no barrier between them. The layer is what the loader's environment names; it says what it finds on standard output.
pub fn plant(words: &[u32]) -> Result<(), String> {
    let said = |e: vk::Result| e.to_string();
    // SAFETY: every handle is made by the one before it and used while that lives; the process ends with the test. The faults
    // are ones that the layer reports before a driver sees them, or that every driver survives.
    unsafe {
        let entry = ash::Entry::load().map_err(|e| format!("no libvulkan: {e}"))?;
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let create = vk::InstanceCreateInfo::default().application_info(&app);
        let instance = entry.create_instance(&create, None).map_err(said)?;
        let physical = *instance.enumerate_physical_devices().map_err(said)?.first().ok_or("no adapter")?;
        let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let create = vk::DeviceCreateInfo::default().queue_create_infos(&queue);
        let device = instance.create_device(physical, &create, None).map_err(said)?;

        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let _ = device.create_buffer(&vk::BufferCreateInfo::default().usage(usage), None);
        let _ = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None);

        let create = vk::BufferCreateInfo::default().usage(usage).size(256);
        let buffer = device.create_buffer(&create, None).map_err(said)?;
        let needs = device.get_buffer_memory_requirements(buffer);
        let create = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(needs.memory_type_bits.trailing_zeros());
        let memory = device.allocate_memory(&create, None).map_err(said)?;
        device.bind_buffer_memory(buffer, memory, 0).map_err(said)?;
        let pool = device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None).map_err(said)?;
        let create = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let commands = device.allocate_command_buffers(&create).map_err(said)?[0];
        device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()).map_err(said)?;
        for value in [1, 2] {
            device.cmd_fill_buffer(commands, buffer, 0, 256, value);
        }
        device.end_command_buffer(commands).map_err(said)?;
    }
    Ok(())
}
