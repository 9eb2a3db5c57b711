//! Values as layers store them, in either form: numbers, texts, and list edits.

use super::specs::ValueRef;
use super::spline::Spline;
use meshreel_scene::number::half;
use std::sync::Arc;

/// The kinds of values that attributes are read as. Whole numbers can be read as numbers, but not the other
/// way round.
#[derive(Clone, Copy, PartialEq)]
pub enum ValueKind {
    Text,
    /// Whole numbers, `width` to an element.
    Whole {
        width: usize,
    },
    Number,
}

/// The storage type of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// Returns the size of a number in bytes.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::U8 => 1,
            Scalar::F16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }
}

/// Former names of types, and their present names.
const OLD_TYPES: [(&str, &str); 31] = [
    ("Vec2i", "int2"),
    ("Vec3i", "int3"),
    ("Vec4i", "int4"),
    ("Vec2h", "half2"),
    ("Vec3h", "half3"),
    ("Vec4h", "half4"),
    ("Vec2f", "float2"),
    ("Vec3f", "float3"),
    ("Vec4f", "float4"),
    ("Vec2d", "double2"),
    ("Vec3d", "double3"),
    ("Vec4d", "double4"),
    ("Point", "point3d"),
    ("PointFloat", "point3f"),
    ("Vector", "vector3d"),
    ("VectorFloat", "vector3f"),
    ("Normal", "normal3d"),
    ("NormalFloat", "normal3f"),
    ("Color", "color3d"),
    ("ColorFloat", "color3f"),
    ("Quath", "quath"),
    ("Quatf", "quatf"),
    ("Quatd", "quatd"),
    ("Matrix2d", "matrix2d"),
    ("Matrix3d", "matrix3d"),
    ("Matrix4d", "matrix4d"),
    ("Frame", "frame4d"),
    ("Transform", "matrix4d"),
    ("PointIndex", "int"),
    ("EdgeIndex", "int"),
    ("FaceIndex", "int"),
];

/// Returns the present name of a type, followed by `[]` for an array.
pub fn type_name(said: Arc<str>) -> Arc<str> {
    let (element, array) = said.strip_suffix("[]").map_or((&*said, ""), |element| (element, "[]"));
    match OLD_TYPES.iter().find(|(old, _)| *old == element) {
        Some((_, name)) => format!("{name}{array}").into(),
        None => said,
    }
}

/// Numbers, little-endian, `width` per element: 3 for a vector, 16 for a matrix (the rows of a matrix that
/// acts on row vectors), 4 for a quaternion (x, y, z, w).
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    pub scalar: Scalar,
    pub width: usize,
    pub array: bool,
    pub bytes: Vec<u8>,
}

fn each<const S: usize, T>(bytes: &[u8], number: impl Fn([u8; S]) -> T, out: &mut Vec<T>) {
    out.extend(bytes.as_chunks::<S>().0.iter().map(|b| number(*b)));
}

impl Numbers {
    /// Returns all numbers as f64; integers are exact up to 2^53.
    pub fn f64s(&self) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.bytes.len() / self.scalar.size());
        let bytes = &self.bytes;
        match self.scalar {
            Scalar::Bool | Scalar::U8 => each(bytes, |[b]| f64::from(b), &mut out),
            Scalar::I32 => each(bytes, |b| f64::from(i32::from_le_bytes(b)), &mut out),
            Scalar::U32 => each(bytes, |b| f64::from(u32::from_le_bytes(b)), &mut out),
            Scalar::I64 => each(bytes, |b| i64::from_le_bytes(b) as f64, &mut out),
            Scalar::U64 => each(bytes, |b| u64::from_le_bytes(b) as f64, &mut out),
            Scalar::F16 => each(bytes, |b| f64::from(half(u16::from_le_bytes(b))), &mut out),
            Scalar::F32 => each(bytes, |b| f64::from(f32::from_le_bytes(b)), &mut out),
            Scalar::F64 => each(bytes, f64::from_le_bytes, &mut out),
        }
        out
    }

    /// Appends all numbers as f32; returns `false` if they are not floats.
    fn f32s(&self, out: &mut Vec<f32>) -> bool {
        let bytes = &self.bytes;
        match self.scalar {
            Scalar::F16 => each(bytes, |b| half(u16::from_le_bytes(b)), out),
            Scalar::F32 => each(bytes, f32::from_le_bytes, out),
            Scalar::F64 => each(bytes, |b| f64::from_le_bytes(b) as f32, out),
            _ => return false,
        }
        true
    }

    /// Replaces `out` by floats, `TO` per element; missing components are `fill`, surplus ones are dropped.
    /// Returns `false` if the numbers are not floats.
    pub fn vectors<const TO: usize>(&self, fill: f32, out: &mut Vec<[f32; TO]>) -> bool {
        out.clear();
        if self.scalar == Scalar::F32 && self.width == TO {
            let elements = self.bytes.as_chunks::<4>().0.as_chunks::<TO>().0;
            out.extend(elements.iter().map(|e| e.map(f32::from_le_bytes)));
            return true;
        }
        let mut flat = Vec::with_capacity(self.bytes.len() / self.scalar.size());
        let whole = self.f32s(&mut flat);
        let elements = flat.chunks_exact(self.width.max(1));
        out.extend(elements.map(|e| std::array::from_fn(|k| e.get(k).copied().unwrap_or(fill))));
        whole
    }

    /// Replaces `out` by integers; values out of range become the smallest i64. Returns `false` if they are
    /// not integers.
    pub fn integers(&self, out: &mut Vec<i64>) -> bool {
        out.clear();
        let bytes = &self.bytes;
        match self.scalar {
            Scalar::Bool | Scalar::U8 => each(bytes, |[b]| i64::from(b), out),
            Scalar::I32 => each(bytes, |b| i64::from(i32::from_le_bytes(b)), out),
            Scalar::U32 => each(bytes, |b| i64::from(u32::from_le_bytes(b)), out),
            Scalar::I64 => each(bytes, i64::from_le_bytes, out),
            Scalar::U64 => each(bytes, |b| u64::from_le_bytes(b).try_into().unwrap_or(i64::MIN), out),
            _ => return false,
        }
        true
    }

    /// Like `integers`, as u32; values out of range become the largest u32.
    pub fn u32s(&self, out: &mut Vec<u32>) -> bool {
        out.clear();
        match self.scalar {
            Scalar::U32 => each(&self.bytes, u32::from_le_bytes, out),
            Scalar::I32 => {
                let number = |b| u32::try_from(i32::from_le_bytes(b)).unwrap_or(u32::MAX);
                each(&self.bytes, number, out);
            }
            _ => {
                let mut wide = Vec::new();
                let whole = self.integers(&mut wide);
                out.extend(wide.into_iter().map(|v| u32::try_from(v).unwrap_or(u32::MAX)));
                return whole;
            }
        }
        true
    }

    /// Like `integers`, as i32; values out of range become −1, which is no valid face, corner or count.
    pub fn i32s(&self, out: &mut Vec<i32>) -> bool {
        out.clear();
        if self.scalar == Scalar::I32 {
            each(&self.bytes, i32::from_le_bytes, out);
            return true;
        }
        let mut wide = Vec::new();
        let whole = self.integers(&mut wide);
        out.extend(wide.into_iter().map(|v| i32::try_from(v).unwrap_or(-1)));
        whole
    }
}

/// Upper limit for the edits of a list that are matched against its items.
const MAX_EDITS: usize = 1 << 12;

/// An explicit list, or edits of a weaker list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListEdit<T> {
    pub explicit: Option<Vec<T>>,
    pub added: Vec<T>,
    pub prepended: Vec<T>,
    pub appended: Vec<T>,
    pub deleted: Vec<T>,
}

impl<T> Default for ListEdit<T> {
    fn default() -> Self {
        let none = Vec::new;
        ListEdit { explicit: None, added: none(), prepended: none(), appended: none(), deleted: none() }
    }
}

impl<T: Clone + PartialEq> ListEdit<T> {
    /// Applies the edits to a weaker list.
    pub fn apply(&self, list: &mut Vec<T>) {
        if let Some(explicit) = &self.explicit {
            list.clone_from(explicit);
            return;
        }
        let edits = self.added.len() + self.prepended.len() + self.appended.len() + self.deleted.len();
        if edits > MAX_EDITS {
            // Long lists have no duplicates, and searching for them would take too long.
            list.splice(0..0, self.prepended.iter().cloned());
            list.extend(self.added.iter().chain(&self.appended).cloned());
            return;
        }
        list.retain(|item| !self.deleted.contains(item));
        for item in &self.added {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
        if !self.prepended.is_empty() {
            list.retain(|item| !self.prepended.contains(item));
            list.splice(0..0, self.prepended.iter().cloned());
        }
        list.retain(|item| !self.appended.contains(item));
        list.extend(self.appended.iter().cloned());
    }
}

/// Maps time codes of a weaker layer to those of a stronger one: `scale · t + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retime {
    pub offset: f64,
    pub scale: f64,
}

impl Retime {
    pub const IDENTITY: Retime = Retime { offset: 0.0, scale: 1.0 };

    pub fn time(self, code: f64) -> f64 {
        self.scale * code + self.offset
    }

    /// `true` if a layer may use it: time runs forwards in it.
    pub fn is_usable(self) -> bool {
        self.offset.is_finite() && self.scale.is_finite() && self.scale > 0.0
    }

    /// Returns its bits, for use in keys.
    pub fn bits(self) -> [u64; 2] {
        [self.offset.to_bits(), self.scale.to_bits()]
    }

    /// Composes two maps: first `inner`, then this one.
    pub fn after(self, inner: Retime) -> Retime {
        Retime { offset: self.time(inner.offset), scale: self.scale * inner.scale }
    }
}

/// A reference or a payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Empty: the same layer.
    pub asset: Arc<str>,
    /// Empty: the layer's default prim.
    pub prim: Arc<str>,
    pub retime: Retime,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Numbers(Numbers),
    /// Tokens, strings, or asset names.
    Texts {
        array: bool,
        list: Vec<Arc<str>>,
    },
    /// Tokens or paths.
    List(ListEdit<Arc<str>>),
    Integers(ListEdit<i64>),
    References(ListEdit<Reference>),
    Retimes(Vec<Retime>),
    /// Keys and value references.
    Dictionary(Vec<(Arc<str>, ValueRef)>),
    /// Variant sets, with the variant selected in each.
    Selections(Vec<(Arc<str>, Arc<str>)>),
    Spline(Spline),
    /// No value, whatever weaker layers say.
    Block,
    /// A value of an unsupported type.
    Other,
}

impl Value {
    pub fn text(&self) -> Option<&Arc<str>> {
        match self {
            Value::Texts { array: false, list } => list.first(),
            _ => None,
        }
    }

    pub fn texts(self) -> Vec<Arc<str>> {
        match self {
            Value::Texts { list, .. } => list,
            _ => Vec::new(),
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Numbers(numbers) if numbers.width == 1 => numbers.f64s().first().copied(),
            _ => None,
        }
    }
}
