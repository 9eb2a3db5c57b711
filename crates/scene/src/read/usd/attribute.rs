//! An attribute with a value, and its list of values, wherever they are stored.

use super::clips::{ClipSamples, ClipSet};
use super::eased::{Span, sampled};
use super::layer::{Layer, LayerSamples};
use super::specs::{PropertySpec, ValueRef};
use super::value::{Numbers, Retime, Scalar, Value, type_name};
use crate::{Error, Identity};
use std::path::Path;
use std::sync::Arc;

/// An attribute with a value.
#[derive(Clone)]
pub struct Attribute {
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
    pub values: Values,
}

/// Values by index, one for each time; read on demand.
#[derive(Clone)]
pub enum Values {
    Layer(Arc<Layer>, Vec<ValueRef>),
    Clips(Arc<ClipSamples>),
    /// A number at each time, sampled from a spline of that layer.
    Spline(Arc<Layer>, Arc<[Option<f64>]>),
}

/// Values, and their times if they are time samples.
pub type Timed = (Option<Arc<[f64]>>, Values);

impl Attribute {
    /// Returns its only or first value, unless that is a large array.
    pub fn first_small(&self) -> Result<Option<Value>, Error> {
        if self.values.len() == 0 {
            return Ok(None);
        }
        self.values.small(0).map(Some)
    }

    /// Returns the number of elements of its first value.
    pub fn length(&self) -> Result<usize, Error> {
        if self.values.len() == 0 { Ok(0) } else { self.values.length(0) }
    }
}

impl Values {
    /// Wraps a value that does not change.
    pub fn constant(layer: Arc<Layer>, value: ValueRef) -> Timed {
        (None, Values::Layer(layer, vec![value]))
    }

    /// Wraps the samples of a layer.
    pub fn sampled(layer: Arc<Layer>, samples: LayerSamples) -> Timed {
        (Some(samples.times), Values::Layer(layer, samples.values))
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Layer(_, values) => values.len(),
            Values::Clips(samples) => samples.len(),
            Values::Spline(_, numbers) => numbers.len(),
        }
    }

    /// Returns the layer that messages name.
    pub fn name(&self, i: usize) -> &Path {
        match self {
            Values::Layer(layer, _) | Values::Spline(layer, _) => &layer.name,
            Values::Clips(samples) => samples.name(i),
        }
    }

    /// Reverses the order of the values.
    pub fn reverse(&mut self) {
        // Values of clips and splines are already in the scene's time codes.
        if let Values::Layer(_, values) = self {
            values.reverse();
        }
    }

    pub fn identity(&self, i: usize) -> Identity {
        match self {
            Values::Layer(layer, values) => values.get(i).map_or(0, |value| layer.identity(*value)),
            Values::Clips(samples) => samples.identity(i),
            Values::Spline(_, numbers) => match numbers.get(i) {
                Some(Some(number)) => Identity::from(number.to_bits()) | 1 << 64,
                _ => 0,
            },
        }
    }

    /// `true` if a value is stored at the same place as the one before.
    pub fn repeats(&self, i: usize) -> bool {
        match self {
            Values::Layer(_, values) => i > 0 && values.get(i) == values.get(i - 1),
            Values::Clips(_) | Values::Spline(..) => false,
        }
    }

    /// `true` if the values come from a text layer.
    pub fn is_text(&self) -> bool {
        matches!(self, Values::Layer(layer, _) if layer.is_text())
    }

    /// Returns the number of elements of an array; 1 for other values, 0 for an absent value.
    pub fn length(&self, i: usize) -> Result<usize, Error> {
        match self {
            Values::Layer(layer, values) => values.get(i).map_or(Ok(0), |value| layer.length(*value)),
            Values::Clips(samples) => samples.length(i),
            Values::Spline(_, numbers) => Ok(usize::from(matches!(numbers.get(i), Some(Some(_))))),
        }
    }

    pub fn value(&self, i: usize) -> Result<Value, Error> {
        match self {
            Values::Layer(layer, values) => {
                values.get(i).map_or(Ok(Value::Block), |value| layer.value(*value))
            }
            Values::Clips(samples) => samples.value(i),
            Values::Spline(_, numbers) => Ok(match numbers.get(i) {
                Some(Some(number)) => {
                    let bytes = number.to_le_bytes().to_vec();
                    Value::Numbers(Numbers { scalar: Scalar::F64, width: 1, array: false, bytes })
                }
                _ => Value::Block,
            }),
        }
    }

    /// Reads a value unless it is a large array, which gives [`Value::Other`].
    fn small(&self, i: usize) -> Result<Value, Error> {
        match self {
            Values::Layer(layer, values) => {
                values.get(i).map_or(Ok(Value::Block), |value| layer.small(*value))
            }
            Values::Clips(samples) => match samples.length(i)? > super::layer::MAX_SMALL {
                true => Ok(Value::Other),
                false => samples.value(i),
            },
            Values::Spline(..) => self.value(i),
        }
    }
}

/// The parts of an attribute found so far, from the strongest opinion on.
#[derive(Default)]
pub struct FoundAttribute {
    pub type_name: Option<Arc<str>>,
    pub interpolation: Option<Arc<str>>,
    pub weight: Option<f64>,
    /// The number of samples made of splines.
    pub samples: usize,
    /// `Some(None)`: blocked, whatever weaker opinions say.
    pub value: Option<Option<(Retime, Timed)>>,
}

impl FoundAttribute {
    /// Adds the opinion of a layer.
    pub fn opinion(&mut self, layer: &Arc<Layer>, property: &PropertySpec, span: Span) -> Result<(), Error> {
        let retime = span.retime;
        let field = |name: &str| layer.specs.field(property.fields, name);
        let text = |name: &str| -> Result<Option<Arc<str>>, Error> {
            let value = field(name).map(|value| layer.small(value)).transpose()?;
            Ok(value.and_then(|value| value.text().cloned()))
        };
        if self.type_name.is_none() {
            self.type_name = text("typeName")?.filter(|name| !name.is_empty()).map(type_name);
        }
        if self.interpolation.is_none() {
            self.interpolation = text("interpolation")?;
        }
        if self.weight.is_none() {
            let weight = field("weight").map(|value| layer.small(value)).transpose()?;
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
            let Some((times, numbers)) = sampled(&spline, &Span { retime, ..span }) else {
                let what = "time codes of a spline; bake it";
                return Err(Error::limit(&layer.name, what, u64::from(u32::MAX), 1 << 20));
            };
            self.samples += times.len();
            let values = Values::Spline(layer.clone(), numbers.into());
            self.value = Some(Some((Retime::NONE, (Some(times.into()), values))));
            return Ok(());
        }
        self.value = match (samples, field("default")) {
            (Some(samples), _) => Some(Some((retime, Values::sampled(layer.clone(), samples)))),
            (None, Some(value)) if layer.is_block(value) => Some(None),
            (None, Some(value)) => Some(Some((retime, Values::constant(layer.clone(), value)))),
            (None, None) => None,
        };
        Ok(())
    }

    /// Adds the values of value clips whose layer is stronger than layer number `below`.
    pub fn clips<'a>(
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
                self.value = Some(Some((Retime::NONE, (Some(times), Values::Clips(Arc::new(samples))))));
            }
        }
        Ok(())
    }
}
