//! The two widths of fixed-point positions, 16 and 32 bits; a mesh's width is known at run time only. Code
//! for both is written once, with [`for_width`](crate::for_width) for a known width, and
//! [`each_width`](crate::each_width) for values of it.

/// A value of either width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByWidth<N, W> {
    /// 16 bits.
    Narrow(N),
    /// 32 bits.
    Wide(W),
}

/// Decoded points, x y z and an unused fourth number, in either width.
pub type Points<'a> = ByWidth<&'a [[i16; 4]], &'a [[i32; 4]]>;

/// Decoded points of a frame, in either width.
pub type OwnedPoints = ByWidth<Vec<[i16; 4]>, Vec<[i32; 4]>>;

impl<N, W> ByWidth<N, W> {
    /// Returns `true` if the width is 32 bits.
    pub fn is_wide(&self) -> bool {
        matches!(self, ByWidth::Wide(_))
    }
}

impl OwnedPoints {
    /// Borrows the points.
    pub fn as_points(&self) -> Points<'_> {
        match self {
            ByWidth::Narrow(points) => ByWidth::Narrow(points),
            ByWidth::Wide(points) => ByWidth::Wide(points),
        }
    }
}

impl<'a> From<&'a [[i16; 4]]> for Points<'a> {
    fn from(points: &'a [[i16; 4]]) -> Self {
        ByWidth::Narrow(points)
    }
}

impl<'a> From<&'a [[i32; 4]]> for Points<'a> {
    fn from(points: &'a [[i32; 4]]) -> Self {
        ByWidth::Wide(points)
    }
}

/// Evaluates an expression for the contents of a [`ByWidth`](crate::ByWidth), whatever its width.
#[macro_export]
macro_rules! each_width {
    ($value:expr, $name:ident => $body:expr) => {
        match $value {
            $crate::ByWidth::Narrow($name) => $body,
            $crate::ByWidth::Wide($name) => $body,
        }
    };
}

/// Evaluates an expression in which a type stands for `i32` if `wide`, else for `i16`.
#[macro_export]
macro_rules! for_width {
    ($wide:expr, $type:ident => $body:expr) => {
        if $wide {
            type $type = i32;
            $body
        } else {
            type $type = i16;
            $body
        }
    };
}
