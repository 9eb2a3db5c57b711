//! Spans for profilers: `tick` and its parts, `decode` of a unit, `open` of a file. They go to the profiler
//! of the process, if it has one ([`set_profiler`]), and with the feature `tracing` to its subscriber. Where
//! there is neither, a span costs an atomic load, and none allocates.

use std::ffi::CStr;
use std::sync::OnceLock;

/// A profiler of the caller's, such as an engine's. Spans of a thread are nested: each end belongs to the
/// last begin of its thread.
pub trait Profiler: Sync {
    /// A span begins on this thread. Its name begins with `meshreel`.
    fn begin(&self, name: &'static CStr);
    /// The span that began last on this thread ends.
    fn end(&self);
}

static PROFILER: OnceLock<&'static dyn Profiler> = OnceLock::new();

/// Sets the profiler of the process, which stays. Returns `false` if there is one already.
pub fn set_profiler(profiler: &'static dyn Profiler) -> bool {
    PROFILER.set(profiler).is_ok()
}

/// A span that lasts until it is dropped.
#[must_use]
pub(crate) struct Span(Option<&'static dyn Profiler>);

impl Span {
    pub fn begin(name: &'static CStr) -> Span {
        let profiler = PROFILER.get().copied();
        if let Some(profiler) = profiler {
            profiler.begin(name);
        }
        Span(profiler)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(profiler) = self.0 {
            profiler.end();
        }
    }
}

/// Opens a span that lasts until the end of the block.
macro_rules! span {
    ($name:literal $($fields:tt)*) => {
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!("meshreel ", $name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"meshreel",
            };
        let _profiled = $crate::stream::trace::Span::begin(NAME);
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!($name $($fields)*).entered();
    };
}
pub(crate) use span;
