//! Values of fields and samples.

/// The type of the elements of a value: a number, a vector, a quaternion, or a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    I32,
    I64,
    F32,
    F32x2,
    F32x3,
    F32x4,
    F64,
    F64x3,
    F16x3,
    /// x, y, z, w; text has w first.
    QuatF32,
    QuatF64,
    /// Rows of a matrix for row vectors, which are the columns of one for column vectors.
    Matrix,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Element {
    /// Returns its number in the binary form, its scalar, and how many of them it has.
    pub fn layout(self) -> (u8, Scalar, usize) {
        match self {
            Element::I32 => (3, Scalar::I32, 1),
            Element::I64 => (5, Scalar::I64, 1),
            Element::F32 => (8, Scalar::F32, 1),
            Element::F64 => (9, Scalar::F64, 1),
            Element::Matrix => (15, Scalar::F64, 16),
            Element::QuatF64 => (16, Scalar::F64, 4),
            Element::QuatF32 => (17, Scalar::F32, 4),
            Element::F32x2 => (20, Scalar::F32, 2),
            Element::F64x3 => (23, Scalar::F64, 3),
            Element::F32x3 => (24, Scalar::F32, 3),
            Element::F16x3 => (25, Scalar::F16, 3),
            Element::F32x4 => (28, Scalar::F32, 4),
        }
    }

    /// Returns the element of this many f32.
    pub fn floats(components: usize) -> Element {
        match components {
            1 => Element::F32,
            2 => Element::F32x2,
            3 => Element::F32x3,
            _ => Element::F32x4,
        }
    }
}

impl Scalar {
    pub fn size(self) -> usize {
        match self {
            Scalar::F16 => 2,
            Scalar::I32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::F64 => 8,
        }
    }
}

/// A value of a field or a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Token(String),
    String(String),
    Tokens(Vec<String>),
    /// One element, or an array of them, as little-endian numbers.
    Numbers {
        element: Element,
        array: bool,
        bytes: Vec<u8>,
    },
}

impl Value {
    pub fn token(text: &str) -> Value {
        Value::Token(text.into())
    }

    pub fn f64(value: f64) -> Value {
        Value::Numbers { element: Element::F64, array: false, bytes: value.to_le_bytes().into() }
    }

    pub fn f32(value: f32) -> Value {
        Value::Numbers { element: Element::F32, array: false, bytes: value.to_le_bytes().into() }
    }

    pub fn i32(value: i32) -> Value {
        Value::Numbers { element: Element::I32, array: false, bytes: value.to_le_bytes().into() }
    }

    pub fn array<const N: usize>(element: Element, numbers: impl Iterator<Item = [u8; N]>) -> Value {
        Value::Numbers { element, array: true, bytes: numbers.flatten().collect() }
    }

    /// Returns an array of matrices for column vectors.
    pub fn matrices(matrices: impl Iterator<Item = glam::DMat4>) -> Value {
        let bytes = matrices.flat_map(|m| m.to_cols_array()).flat_map(f64::to_le_bytes).collect();
        Value::Numbers { element: Element::Matrix, array: true, bytes }
    }
}
