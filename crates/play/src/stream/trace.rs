//! Spans for profilers, with the feature `tracing`: `tick` and its parts, `decode` of a unit, `open` of a
//! file. Without the feature they compile to nothing; with it and without a subscriber they cost an atomic
//! load and do not allocate.

/// Opens a span that lasts until the end of the block.
macro_rules! span {
    ($name:literal $($fields:tt)*) => {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!($name $($fields)*).entered();
    };
}
pub(crate) use span;
