//! Expands a sample of an attribute to a value per corner, whatever its scope and whether it is indexed.
//!
//! Files can have too few values or indices out of range. Such elements get the default value and are
//! counted, so that the caller can report them once.

use meshreel_scene::Scope;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of elements of a mesh at one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Elements {
    /// The number of faces in the source.
    pub faces: usize,
    /// The number of points in the source.
    pub points: usize,
    /// The number of corners in the source.
    pub corners: usize,
}

impl Elements {
    /// Returns the number of elements that have a value in `scope`.
    pub fn count(&self, scope: Scope) -> usize {
        match scope {
            Scope::Constant => 1,
            Scope::Uniform => self.faces,
            Scope::Vertex | Scope::Varying => self.points,
            Scope::FaceVarying => self.corners,
        }
    }
}

/// One sample of an attribute.
pub struct ExpandedAttribute<'a, T> {
    scope: Scope,
    values: &'a [T],
    indices: Option<&'a [u32]>,
    bad: AtomicU64,
}

impl<'a, T: Copy + Default> ExpandedAttribute<'a, T> {
    /// Creates the expansion of plain values, or of a palette with one index per element.
    pub fn new(scope: Scope, values: &'a [T], indices: Option<&'a [u32]>) -> ExpandedAttribute<'a, T> {
        ExpandedAttribute { scope, values, indices, bad: AtomicU64::new(0) }
    }

    /// Returns the value at a corner of a face and the point there; the default if the source has none.
    #[inline]
    pub fn corner_value(&self, corner: u32, face: u32, point: u32) -> T {
        let element = match self.scope {
            Scope::Constant => 0,
            Scope::Uniform => face,
            Scope::Vertex | Scope::Varying => point,
            Scope::FaceVarying => corner,
        };
        self.element_value(element).unwrap_or_else(|| {
            self.bad.fetch_add(1, Ordering::Relaxed);
            T::default()
        })
    }

    /// Returns the value of a point that no face uses; `None` in scopes of faces and corners.
    pub fn point_value(&self, point: u32) -> Option<T> {
        match self.scope {
            Scope::Constant => self.element_value(0),
            Scope::Vertex | Scope::Varying => self.element_value(point),
            Scope::Uniform | Scope::FaceVarying => None,
        }
    }

    /// Returns the number of elements for which [`ExpandedAttribute::corner_value`] returned the default
    /// value.
    pub fn missing_count(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    /// Returns `true` if corners of one point can have different values, so that vertices may have to be
    /// split.
    pub fn can_split(&self) -> bool {
        matches!(self.scope, Scope::Uniform | Scope::FaceVarying)
    }

    /// Checks that there are as many values, or indices, as the scope needs. More are as wrong as fewer: the
    /// values then belong to something else. `Err` is a sentence for a remark.
    pub fn check(&self, elements: Elements) -> Result<(), String> {
        let need = elements.count(self.scope);
        let (have, what) = match self.indices {
            Some(indices) => (indices.len(), "indices"),
            None => (self.values.len(), "values"),
        };
        if have != need {
            return Err(format!("{have} {what} where {need} are needed"));
        }
        if let Some(bad) = self.indices.and_then(|i| i.iter().find(|&&i| i as usize >= self.values.len())) {
            return Err(format!("index {bad} into {} values", self.values.len()));
        }
        Ok(())
    }

    #[inline]
    fn element_value(&self, element: u32) -> Option<T> {
        let value = match self.indices {
            Some(indices) => *indices.get(element as usize)?,
            None => element,
        };
        self.values.get(value as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELEMENTS: Elements = Elements { faces: 2, points: 4, corners: 6 };

    #[test]
    fn each_scope_looks_where_it_should() {
        let values: Vec<u32> = (100..106).collect();
        for (scope, expected) in [
            (Scope::Constant, 100),
            (Scope::Uniform, 101),
            (Scope::Vertex, 103),
            (Scope::Varying, 103),
            (Scope::FaceVarying, 105),
        ] {
            let plain = ExpandedAttribute::new(scope, &values[..ELEMENTS.count(scope)], None);
            assert_eq!(plain.corner_value(5, 1, 3), expected);
            assert_eq!(plain.check(ELEMENTS), Ok(()));
            let palette: Vec<u32> = values.iter().rev().copied().collect();
            let indices: Vec<u32> = (0..ELEMENTS.count(scope) as u32).map(|i| 5 - i).collect();
            let indexed = ExpandedAttribute::new(scope, &palette, Some(&indices));
            assert_eq!(indexed.corner_value(5, 1, 3), expected);
            assert_eq!(indexed.check(ELEMENTS), Ok(()));
            assert_eq!(plain.missing_count() + indexed.missing_count(), 0);
        }
    }

    #[test]
    fn what_is_missing_is_the_default_and_counted() {
        let values = [1u32, 2];
        let plain = ExpandedAttribute::new(Scope::Vertex, &values, None);
        assert_eq!(plain.corner_value(0, 0, 3), 0);
        assert_eq!(plain.missing_count(), 1);
        assert_eq!(plain.point_value(1), Some(2));
        assert_eq!(plain.point_value(2), None);
        assert!(plain.check(ELEMENTS).unwrap_err().contains("4 are needed"));
        let indices = [0, 1, 7, 0];
        let indexed = ExpandedAttribute::new(Scope::Vertex, &values, Some(&indices));
        assert_eq!(indexed.corner_value(0, 0, 2), 0);
        assert!(indexed.check(ELEMENTS).unwrap_err().contains("index 7"));
        let corner = ExpandedAttribute::new(Scope::FaceVarying, &values, None);
        assert_eq!(corner.point_value(0), None);
        assert!(corner.can_split() && !plain.can_split());
        let empty: ExpandedAttribute<u32> = ExpandedAttribute::new(Scope::Constant, &[], None);
        assert_eq!(empty.corner_value(0, 0, 0), 0);
    }
}
