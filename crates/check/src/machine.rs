//! Limits of programs that run on a user's machine; those of a game are its own.

use meshreel::Limits;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Returns the bytes of memory that are free on this machine, or in the container that this process runs in.
/// `None` where the system does not say.
pub fn free_memory() -> Option<u64> {
    let memory = MemoryRefreshKind::nothing().with_ram();
    let system = System::new_with_specifics(RefreshKind::nothing().with_memory(memory));
    let container = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    Some(system.available_memory().min(container)).filter(|free| *free > 0)
}

/// Returns the limits with which a program opens files: they may take half of the memory that is free.
pub fn machine_limits() -> Limits {
    let limits = Limits::default();
    match free_memory() {
        Some(free) => limits.with_max_memory(free / 2),
        None => limits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_free_is_some_megabytes_at_least() {
        if let Some(free) = free_memory() {
            assert!(free > 1 << 20);
            // Other processes take and return memory in between.
            assert!(machine_limits().max_memory >= free / 16);
        }
    }
}
