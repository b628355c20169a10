//! Secrets that stay out of the swap, as far as the system lets a user keep memory to itself.

/// Keeps a secret where it lies, in memory alone, until the program ends.
///
/// Where the system does not allow it (RLIMIT_MEMLOCK), nothing changes. What is written into a request, and what the system
/// has of it in its buffers, is not reached by this.
// Pages are never let go: another secret may lie on the same one.
pub(crate) fn stay<T>(secret: &[T]) {
    let size = std::mem::size_of_val(secret);
    if size == 0 {
        return;
    }
    match region::lock(secret.as_ptr(), size) {
        Ok(guard) => std::mem::forget(guard),
        Err(error) => tracing::debug!("a secret may be swapped out: {error}"),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// Memory of this process that stays, in KiB.
    fn locked() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmLck:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn a_secret_stays_in_memory_where_the_system_allows_it() {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
        let before = locked();
        // Large enough for pages of its own: what other tests have locked, and freed, is not used again.
        let secret = vec![b'x'; 1024 * 1024];
        stay(&secret);
        stay::<u8>(&[]);
        let grown = locked().saturating_sub(before);
        match allowed {
            Some(least) if least < 2 * 1024 * 1024 => {}
            _ => assert!(grown >= 512, "{grown} KiB"),
        }
    }
}
