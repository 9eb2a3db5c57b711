//! Setters of option structs: each takes the struct and returns it with another value of one field, so that
//! code outside of the crate can make structs to which fields will be added.

/// Declares setters within an `impl`, as `with_field(field: Type);`.
macro_rules! setters {
    ($($setter:ident($field:ident: $Type:ty);)*) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        pub fn $setter(mut self, $field: $Type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}
pub(crate) use setters;
