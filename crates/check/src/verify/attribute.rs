//! Samples of the source's attributes at corners and points.

use crate::verify::polygons::NO_INDEX;
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{self, AttributeValues, Lerp};
use meshreel_scene::{Attribute, Error, Mesh, Scope};

/// An attribute of the source at one time.
pub(crate) struct SampledAttribute<const N: usize> {
    scope: Scope,
    pub values: AttributeValues<[f32; N]>,
}

impl<const N: usize> SampledAttribute<N>
where
    [f32; N]: Lerp,
{
    pub fn read(
        attribute: &Attribute<[f32; N]>,
        mesh: &Mesh,
        time: f64,
    ) -> Result<SampledAttribute<N>, Error> {
        let mut values = AttributeValues { values: Vec::new(), indices: None };
        sample::attribute_at(attribute, mesh, time, &mut values)?;
        Ok(SampledAttribute { scope: attribute.scope, values })
    }

    /// `true` if there is a value for each element, or no element at all. An incomplete attribute is not part
    /// of the promise.
    pub fn is_complete(&self, faces: usize, points: usize, corners: usize) -> bool {
        let need = match self.scope {
            Scope::Constant => 1,
            Scope::Uniform => faces,
            Scope::Vertex | Scope::Varying => points,
            Scope::FaceVarying => corners,
        };
        match &self.values.indices {
            _ if points == 0 => true,
            Some(indices) => {
                let values = self.values.values.len();
                indices.len() == need && indices.iter().all(|&i| (i as usize) < values)
            }
            None => self.values.values.len() == need,
        }
    }

    /// Returns the value at a corner of a face at a point; `None` if there is none, or a component is not
    /// finite.
    pub fn value(&self, corner: u32, face: u32, point: u32) -> Option<[f32; N]> {
        let element = match self.scope {
            Scope::Constant => 0,
            Scope::Uniform => face,
            Scope::Vertex | Scope::Varying => point,
            Scope::FaceVarying => corner,
        };
        if element == NO_INDEX {
            return None;
        }
        let value = match &self.values.indices {
            Some(indices) => *indices.get(element as usize)?,
            None => element,
        };
        let value = *self.values.values.get(value as usize)?;
        value.iter().all(|v| v.is_finite()).then_some(value)
    }

    /// Returns the lowest and highest value of each component; zeros if there are no values.
    pub fn extent(&self) -> ([f32; N], [f32; N]) {
        let (mut low, mut high) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
        for value in &self.values.values {
            for k in 0..N {
                if value[k].is_finite() {
                    low[k] = low[k].min(value[k]);
                    high[k] = high[k].max(value[k]);
                }
            }
        }
        for k in 0..N {
            if low[k] > high[k] {
                (low[k], high[k]) = (0.0, 0.0);
            }
        }
        (low, high)
    }
}

/// `true` if an attribute is the same at all times.
pub(crate) fn is_constant<T: Clone + Send + Sync + 'static>(attribute: &Attribute<T>) -> bool {
    attribute.values.is_constant() && attribute.indices.as_ref().is_none_or(|i| i.is_constant())
}

/// Returns velocities as an attribute of points.
pub(crate) fn velocities(mesh: &Mesh) -> Option<Attribute<[f32; 3]>> {
    let values = mesh.velocities.clone().filter(|values| !values.is_empty())?;
    Some(Attribute { name: String::new(), scope: Scope::Vertex, values, indices: None })
}

/// Returns the least tolerance for velocities and widths in these ranges: the precision of f32 and of 24
/// bits.
pub(crate) fn min_tolerance(sides: &[(f32, f32)]) -> f64 {
    let largest = sides.iter().fold(0.0, |m: f32, (a, b)| m.max(a.abs()).max(b.abs()));
    let range = sides.iter().map(|(a, b)| f64::from(*b) - f64::from(*a)).fold(0.0, f64::max);
    // The file's value may be the next power of two above the exact one.
    2.0 * (4.0 * ulp(f64::from(largest))).max(range * 0.5f64.powi(23))
}
