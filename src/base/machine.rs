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

/// Seconds of the processor that this process has had, all its threads together; None where the system does not tell.
#[cfg(not(target_arch = "wasm32"))]
pub fn processor_seconds() -> Option<f64> {
    let mut system = sysinfo::System::new().ok()?;
    let own = sysinfo::Pid::from_u32(process());
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[own]), true);
    Some(system.process(own)?.accumulated_cpu_time() as f64 / 1000.0)
}

#[cfg(target_arch = "wasm32")]
pub fn processor_seconds() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    /// Work takes processor time, waiting does not.
    #[cfg(target_os = "linux")]
    #[test]
    fn processor_time_is_that_of_work() {
        let now = || super::processor_seconds().expect("Linux tells");
        let began = now();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let waited = now() - began;
        let mut sum = 0u64;
        // Ends where work counts.
        while now() - began < waited + 0.05 {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 7);
        }
        assert!(waited < 0.25, "{waited}");
    }
}
