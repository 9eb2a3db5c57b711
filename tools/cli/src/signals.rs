//! Handles termination signals: removes unfinished files and exits with the signal's status.

/// Exit status of a process ended by a signal, less the signal's number, by the convention of shells.
#[cfg(unix)]
const STATUS: i32 = 128;

/// Makes Ctrl-C, TERM and HUP remove unfinished files before the program ends. An ignored signal (`nohup`,
/// jobs in the background) stays ignored.
#[cfg(unix)]
pub fn remove_files_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    let wanted = [SIGHUP, SIGINT, SIGTERM];
    let wanted = wanted.into_iter().filter(|s| ignored >> (s - 1) & 1 == 0);
    // Without a handler or a thread the signal still ends the program, and the next run removes unfinished
    // files.
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

/// Does nothing: the system ends the program, and the next run removes unfinished files.
#[cfg(not(unix))]
pub fn remove_files_on_signals() {}

/// Returns the signals that this process was started to ignore, a bit each, if the system reports them.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
