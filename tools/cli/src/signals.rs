//! Being told to stop: what is unfinished is removed, and the exit status says by which signal.

/// Added to the number of a signal, it is the exit status of what the signal ended: what shells say.
#[cfg(unix)]
const STATUS: i32 = 128;

/// From here on Ctrl-C, TERM and HUP remove unfinished files before the program ends. A signal that is
/// ignored (`nohup`, jobs in the background) stays ignored.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    let wanted = [SIGHUP, SIGINT, SIGTERM];
    let wanted = wanted.into_iter().filter(|s| ignored >> (s - 1) & 1 == 0);
    // Without a handler or a thread the signal ends the program all the same, and the next run removes what
    // is left.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else {
        return;
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            meshreel_files::remove_unfinished();
            signal_hook::low_level::exit(STATUS + signal);
        }
    });
}

/// Elsewhere the system ends the program, and the next run removes what is left.
#[cfg(not(unix))]
pub fn watch() {}

/// Signals that this process was started to ignore, a bit each, where the system says so.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
