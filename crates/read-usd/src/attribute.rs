//! An attribute with a value, and its list of values, wherever they are stored.

use super::clips::{ClipSamples, ClipSet};
use super::layer::{Layer, LayerSamples};
use super::specs::{PropertySpec, ValueRef};
use super::spline_samples::{CodeRange, SplineSpan, sample_spline};
use super::value::{Numbers, Retime, Scalar, Value, type_name};
use meshreel_scene::{Error, Identity};
use std::path::Path;
use std::sync::Arc;

/// An attribute with a value.
#[derive(Clone)]
pub struct UsdAttribute {
    /// The path of the prim, and the attribute's name.
    pub path: Arc<str>,
    pub name: Arc<str>,
    /// The type name, such as "color3f[]".
    pub type_name: Arc<str>,
    pub interpolation: Option<Arc<str>>,
    /// For an in-between shape, the weight of its blend shape at which it is fully reached.
    pub weight: Option<f64>,
    /// Maps time codes of its values to those of the scene.
    pub retime: Retime,
    /// `None` for a default value.
    pub times: Option<Arc<[f64]>>,
    pub values: AttributeValues,
}

/// Values by index, one for each time; read on demand.
#[derive(Clone)]
pub enum AttributeValues {
    Layer(Arc<Layer>, Vec<ValueRef>),
    Clips(Arc<ClipSamples>),
    /// A number at each time, sampled from a spline of that layer.
    Spline(Arc<Layer>, Arc<[Option<f64>]>),
}

/// Values, and their times if they are time samples.
pub type TimedValues = (Option<Arc<[f64]>>, AttributeValues);

impl UsdAttribute {
    /// Returns its only or first value, unless that is a large array.
    pub fn first_small(&self) -> Result<Option<Value>, Error> {
        if self.values.len() == 0 {
            return Ok(None);
        }
        self.values.small_value(0).map(Some)
    }

    /// Returns the number of elements of its first value.
    pub fn length(&self) -> Result<usize, Error> {
        if self.values.len() == 0 { Ok(0) } else { self.values.length(0) }
    }
}

impl AttributeValues {
    /// Wraps a value that does not change.
    pub fn constant(layer: Arc<Layer>, value: ValueRef) -> TimedValues {
        (None, AttributeValues::Layer(layer, vec![value]))
    }

    /// Wraps the samples of a layer.
    pub fn sampled(layer: Arc<Layer>, samples: LayerSamples) -> TimedValues {
        (Some(samples.times), AttributeValues::Layer(layer, samples.values))
    }

    pub fn len(&self) -> usize {
        match self {
            AttributeValues::Layer(_, values) => values.len(),
            AttributeValues::Clips(samples) => samples.len(),
            AttributeValues::Spline(_, numbers) => numbers.len(),
        }
    }

    /// Returns the layer that messages name.
    pub fn name(&self, i: usize) -> &Path {
        match self {
            AttributeValues::Layer(layer, _) | AttributeValues::Spline(layer, _) => &layer.name,
            AttributeValues::Clips(samples) => samples.name(i),
        }
    }

    /// Reverses the order of the values.
    pub fn reverse(&mut self) {
        // Values of clips and splines are already in the scene's time codes.
        if let AttributeValues::Layer(_, values) = self {
            values.reverse();
        }
    }

    pub fn identity(&self, i: usize) -> Identity {
        match self {
            AttributeValues::Layer(layer, values) => values.get(i).map_or(0, |value| layer.identity(*value)),
            AttributeValues::Clips(samples) => samples.identity(i),
            AttributeValues::Spline(_, numbers) => match numbers.get(i) {
                Some(Some(number)) => Identity::from(number.to_bits()) | 1 << 64,
                _ => 0,
            },
        }
    }

    /// `true` if a value is stored at the same place as the one before.
    pub fn repeats(&self, i: usize) -> bool {
        match self {
            AttributeValues::Layer(_, values) => i > 0 && values.get(i) == values.get(i - 1),
            AttributeValues::Clips(_) | AttributeValues::Spline(..) => false,
        }
    }

    /// `true` if the values come from a text layer.
    pub fn is_text(&self) -> bool {
        matches!(self, AttributeValues::Layer(layer, _) if layer.is_text())
    }

    /// Returns the number of elements of an array; 1 for other values, 0 for an absent value.
    pub fn length(&self, i: usize) -> Result<usize, Error> {
        match self {
            AttributeValues::Layer(layer, values) => {
                values.get(i).map_or(Ok(0), |value| layer.length(*value))
            }
            AttributeValues::Clips(samples) => samples.length(i),
            AttributeValues::Spline(_, numbers) => Ok(usize::from(matches!(numbers.get(i), Some(Some(_))))),
        }
    }

    pub fn value(&self, i: usize) -> Result<Value, Error> {
        match self {
            AttributeValues::Layer(layer, values) => {
                values.get(i).map_or(Ok(Value::Block), |value| layer.value(*value))
            }
            AttributeValues::Clips(samples) => samples.value(i),
            AttributeValues::Spline(_, numbers) => Ok(match numbers.get(i) {
                Some(Some(number)) => {
                    let bytes = number.to_le_bytes().to_vec();
                    Value::Numbers(Numbers { scalar: Scalar::F64, width: 1, array: false, bytes })
                }
                _ => Value::Block,
            }),
        }
    }

    /// Reads a value unless it is a large array, which gives [`Value::Other`].
    fn small_value(&self, i: usize) -> Result<Value, Error> {
        match self {
            AttributeValues::Layer(layer, values) => {
                values.get(i).map_or(Ok(Value::Block), |value| layer.small_value(*value))
            }
            AttributeValues::Clips(samples) => match samples.length(i)? > super::layer::MAX_SMALL_ELEMENTS {
                true => Ok(Value::Other),
                false => samples.value(i),
            },
            AttributeValues::Spline(..) => self.value(i),
        }
    }
}

/// The parts of an attribute found so far, from the strongest opinion on.
pub struct FoundAttribute {
    pub type_name: Option<Arc<str>>,
    pub interpolation: Option<Arc<str>>,
    pub weight: Option<f64>,
    /// The number of samples made of splines.
    pub samples: usize,
    /// The range in which these samples are those of the splines.
    pub range: CodeRange,
    /// `Some(None)`: blocked, whatever weaker opinions say.
    pub value: Option<Option<(Retime, TimedValues)>>,
}

impl FoundAttribute {
    /// Returns an attribute of which nothing is found yet.
    pub fn new() -> FoundAttribute {
        FoundAttribute {
            type_name: None,
            interpolation: None,
            weight: None,
            samples: 0,
            range: CodeRange::ALL,
            value: None,
        }
    }

    /// Adds the opinion of a layer.
    pub fn add_opinion(
        &mut self,
        layer: &Arc<Layer>,
        property: &PropertySpec,
        span: SplineSpan,
    ) -> Result<(), Error> {
        let retime = span.retime;
        let field = |name: &str| layer.specs.field(property.fields, name);
        let text = |name: &str| -> Result<Option<Arc<str>>, Error> {
            let value = field(name).map(|value| layer.small_value(value)).transpose()?;
            Ok(value.and_then(|value| value.text().cloned()))
        };
        if self.type_name.is_none() {
            self.type_name = text("typeName")?.filter(|name| !name.is_empty()).map(type_name);
        }
        if self.interpolation.is_none() {
            self.interpolation = text("interpolation")?;
        }
        if self.weight.is_none() {
            let weight = field("weight").map(|value| layer.small_value(value)).transpose()?;
            self.weight = weight.and_then(|value| value.number());
        }
        if self.value.is_some() {
            return Ok(());
        }
        let samples = field("timeSamples").map(|value| layer.samples(value)).transpose()?.flatten();
        let samples = samples.filter(|samples| !samples.values.is_empty());
        if samples.is_none()
            && let Some(spline) = field("spline")
            && let Value::Spline(spline) = layer.value(spline)?
            && !spline.is_empty()
        {
            let Some(sampled) = sample_spline(&spline, &span) else {
                let what = "time codes of a spline; bake it";
                return Err(Error::limit(&layer.name, what, u64::from(u32::MAX), 1 << 20));
            };
            self.samples += sampled.times.len();
            self.range = self.range.intersection(sampled.range);
            let values = AttributeValues::Spline(layer.clone(), sampled.values.into());
            self.value = Some(Some((Retime::IDENTITY, (Some(sampled.times.into()), values))));
            return Ok(());
        }
        self.value = match (samples, field("default")) {
            (Some(samples), _) => Some(Some((retime, AttributeValues::sampled(layer.clone(), samples)))),
            (None, Some(value)) if layer.is_block(value) => Some(None),
            (None, Some(value)) => Some(Some((retime, AttributeValues::constant(layer.clone(), value)))),
            (None, None) => None,
        };
        Ok(())
    }

    /// Adds the values of value clips whose layer is stronger than layer number `below`.
    pub fn add_clips<'a>(
        &mut self,
        clips: &mut std::iter::Peekable<impl Iterator<Item = &'a Arc<ClipSet>>>,
        below: usize,
        path: &str,
        name: &str,
    ) -> Result<(), Error> {
        while let Some(set) = clips.next_if(|set| set.layer < below) {
            if self.value.is_some() {
                continue;
            }
            if let Some((type_name, times, samples)) = set.samples(path, name)? {
                self.type_name = self.type_name.take().or(type_name);
                self.value =
                    Some(Some((Retime::IDENTITY, (Some(times), AttributeValues::Clips(Arc::new(samples))))));
            }
        }
        Ok(())
    }
}
