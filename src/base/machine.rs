//! What the system says of the machine and of its processes.

/// Bytes of memory that no program holds; None where the system does not tell.
#[cfg(not(target_arch = "wasm32"))]
pub fn available_memory() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    Some(system.available_memory()).filter(|bytes| *bytes > 0)
}

/// A page addresses 4 GiB, and holds its data and pictures in them.
#[cfg(target_arch = "wasm32")]
pub fn available_memory() -> Option<u64> {
    Some(5 << 29)
}

/// Of these processes those that have ended; none of them where the system does not tell.
#[cfg(not(target_arch = "wasm32"))]
pub fn ended(processes: &[u32]) -> Vec<u32> {
    let Ok(mut system) = sysinfo::System::new() else { return vec![] };
    let all: Vec<sysinfo::Pid> = processes.iter().map(|&pid| sysinfo::Pid::from_u32(pid)).collect();
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&all), true);
    all.iter().filter(|pid| system.process(**pid).is_none()).map(|pid| pid.as_u32()).collect()
}

#[cfg(target_arch = "wasm32")]
pub fn ended(_processes: &[u32]) -> Vec<u32> {
    vec![]
}

/// The number of this process.
pub fn process() -> u32 {
    if cfg!(target_arch = "wasm32") { 1 } else { std::process::id() }
}
