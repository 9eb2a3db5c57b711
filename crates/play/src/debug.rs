//! `Debug` of types that hold buffers or threads: their names and some of their numbers, not their contents.

/// Implements `Debug` for a type by the values of some fields.
macro_rules! impl_debug {
    ($name:literal, $Type:ty, |$value:ident| { $($field:ident: $shown:expr),* $(,)? }) => {
        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $value = self;
                f.debug_struct($name)$(.field(stringify!($field), &$shown))*.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use impl_debug;
