//! Attributes as channels, which read one value at a time.

use super::attribute::{AttributeValues, UsdAttribute};
use super::rotation::slerp_unnormalized;
use super::spline_samples::CodeRange;
use super::value::{Retime, Value};
use glam::DQuat;
use meshreel_scene::{Channel, Error, Identity, Source, TimeSampling};
use std::collections::HashMap;
use std::sync::Arc;

/// The deviation in seconds within which times count as uniform, to allow for rounding.
const ROUNDING: f64 = 1e-9;

/// Converts a value to the elements of a channel; returns `false` if it has another type.
pub type Decode<T> = Box<dyn Fn(Value, &mut Vec<T>) -> bool + Send + Sync>;

/// Converts time codes to seconds.
pub struct Timeline {
    /// Time codes per second.
    rate: f64,
    /// Samplings made so far, by the address of their list of times and the retime.
    known: HashMap<(usize, [u64; 2]), Arc<TimeSampling>>,
    /// Keeps the lists alive, whose addresses are the keys.
    lists: Vec<Arc<[f64]>>,
    /// The range of all samples.
    range: CodeRange,
}

impl Timeline {
    pub fn new(rate: f64) -> Timeline {
        Timeline { rate, known: HashMap::new(), lists: Vec::new(), range: CodeRange::EMPTY }
    }

    fn sampling(&mut self, times: &Arc<[f64]>, retime: Retime) -> Arc<TimeSampling> {
        let key = (times.as_ptr() as usize, retime.bits());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let codes = || times.iter().map(|code| retime.time(*code));
        self.range =
            codes().fold(self.range, |range, code| range.union(CodeRange { first: code, last: code }));
        let mut seconds: Vec<f64> = codes().map(|code| code / self.rate).collect();
        if retime.scale < 0.0 {
            seconds.reverse();
        }
        let sampling = Arc::new(sampling(seconds));
        self.known.insert(key, sampling.clone());
        self.lists.push(times.clone());
        sampling
    }

    /// Returns the time in seconds of a time code of the scene.
    pub fn seconds(&self, code: f64) -> f64 {
        code / self.rate
    }

    /// Returns the time code of the scene of a time in seconds.
    pub fn code(&self, seconds: f64) -> f64 {
        seconds * self.rate
    }

    /// Returns the range of all samples of the channels that were made.
    pub fn range(&self) -> CodeRange {
        self.range
    }

    /// Returns the time of the last whole time code before a time, both in seconds.
    pub fn whole_code_before(&self, time: f64) -> f64 {
        ((time * self.rate - 1e-6).ceil() - 1.0) / self.rate
    }

    /// Makes the channel of an attribute.
    pub fn channel<T: Clone + Send + Sync + 'static>(
        &mut self,
        attribute: &UsdAttribute,
        decode: Decode<T>,
    ) -> Channel<T> {
        let sampling = attribute.times.as_ref().map(|times| self.sampling(times, attribute.retime));
        let mut values = attribute.values.clone();
        if attribute.retime.scale < 0.0 {
            values.reverse();
        }
        let sampling = sampling.unwrap_or_else(|| Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 }));
        let (path, name) = (attribute.path.clone(), attribute.name.clone());
        Channel::new(sampling, Arc::new(AttributeSource { path, name, values, decode }))
    }
}

/// Returns uniform sampling if the times are evenly spaced up to rounding.
fn sampling(times: Vec<f64>) -> TimeSampling {
    if let [start, .., end] = times[..] {
        let step = (end - start) / (times.len() - 1) as f64;
        let off = |(i, time): (usize, &f64)| (start + i as f64 * step - time).abs();
        if step > ROUNDING && times.iter().enumerate().map(off).fold(0.0, f64::max) <= ROUNDING {
            return TimeSampling::Uniform { start, step };
        }
    }
    TimeSampling::Acyclic { times }
}

struct AttributeSource<T> {
    /// The path of the prim.
    path: Arc<str>,
    name: Arc<str>,
    values: AttributeValues,
    decode: Decode<T>,
}

impl<T: Send + Sync> Source<T> for AttributeSource<T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn identity(&self, i: usize) -> Identity {
        self.values.identity(i)
    }

    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        out.clear();
        if i >= self.values.len() {
            return Ok(());
        }
        let place = || format!("{}.{}, sample {i}", self.path, self.name);
        let value = self.values.value(i).map_err(|error| match error {
            Error::Malformed { path, what, at } => {
                Error::Malformed { path, what, at: format!("{}, {at}", place()) }
            }
            other => other,
        })?;
        if value == Value::Block || (self.decode)(value, out) {
            return Ok(());
        }
        Err(Error::malformed(
            self.values.name(i),
            "a value is of another type than the attribute; write it as the type that is declared",
            place(),
        ))
    }
}

/// Returns the values at a time, linear between samples of equal length.
pub fn values_at<T: Clone + Send + Sync + 'static, V: Copy>(
    channel: &Channel<T>,
    time: f64,
    value: impl Fn(&T) -> V,
    mix: impl Fn(V, V, f64) -> V,
) -> Result<Vec<V>, Error> {
    let (sample, fraction) = channel.locate(time);
    let mut values = Vec::new();
    channel.read(sample, &mut values)?;
    let mut out: Vec<V> = values.iter().map(&value).collect();
    if fraction > 0.0 {
        channel.read(sample + 1, &mut values)?;
        if values.len() == out.len() {
            out.iter_mut().zip(&values).for_each(|(own, next)| *own = mix(*own, value(next), fraction));
        }
    }
    Ok(out)
}

/// Returns the rotations at a time, interpolated the short way round between samples.
pub fn rotations_at(channel: &Channel<f64>, time: f64) -> Result<Vec<DQuat>, Error> {
    let (sample, fraction) = channel.locate(time);
    let read = |sample: usize| -> Result<Vec<DQuat>, Error> {
        let mut numbers = Vec::new();
        channel.read(sample, &mut numbers)?;
        Ok(numbers.as_chunks::<4>().0.iter().map(|q| DQuat::from_array(*q)).collect())
    };
    let mut out = read(sample)?;
    if fraction > 0.0 {
        let next = read(sample + 1)?;
        if next.len() == out.len() {
            out.iter_mut().zip(next).for_each(|(own, next)| *own = slerp_unnormalized(*own, next, fraction));
        }
    }
    Ok(out)
}

/// The distinct samplings of channels that change.
#[derive(Default)]
pub struct ChangeTimes(Vec<(Arc<TimeSampling>, usize)>);

impl ChangeTimes {
    pub fn add<T: Clone + Send + Sync + 'static>(&mut self, channel: &Channel<T>) {
        if !channel.is_constant() {
            self.add_samples(channel);
        }
    }

    /// Adds a channel that matters between its samples, even if all of them are equal.
    pub fn add_samples<T: Clone + Send + Sync + 'static>(&mut self, channel: &Channel<T>) {
        if !channel.is_empty() && !self.0.iter().any(|(own, _)| own == channel.sampling()) {
            self.0.push((channel.sampling().clone(), channel.len()));
        }
    }

    /// Adds times that must be samples.
    pub fn add_times(&mut self, times: Vec<f64>) {
        let count = times.len();
        if count > 0 {
            self.0.push((Arc::new(TimeSampling::Acyclic { times }), count));
        }
    }

    /// Returns all times at which something changes; a single time if nothing does.
    pub fn sampling(self) -> (Arc<TimeSampling>, usize) {
        match &self.0[..] {
            [] => (Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 }), 1),
            [(sampling, count)] => (sampling.clone(), *count),
            several => {
                let times = |(sampling, count): &(Arc<TimeSampling>, usize)| -> Vec<f64> {
                    (0..*count).map(|i| sampling.time(i)).collect()
                };
                let mut times: Vec<f64> = several.iter().flat_map(times).collect();
                times.sort_by(f64::total_cmp);
                times.dedup_by(|b, a| *b - *a < meshreel_scene::TIME_TOLERANCE);
                let count = times.len();
                (Arc::new(TimeSampling::Acyclic { times }), count)
            }
        }
    }
}

/// The number of elements in the first and the last value of an attribute, and whether any value differs in
/// it.
pub struct AttributeLengths {
    pub first: usize,
    pub last: usize,
    pub vary: bool,
}

/// Finds the lengths; checks each value that differs from the one before.
pub fn lengths(attribute: Option<&UsdAttribute>) -> Result<AttributeLengths, Error> {
    let mut out = AttributeLengths { first: 0, last: 0, vary: false };
    let Some(values) = attribute.map(|attribute| &attribute.values) else {
        return Ok(out);
    };
    for i in (0..values.len()).filter(|i| !values.repeats(*i)) {
        out.last = values.length(i)?;
        if i == 0 {
            out.first = out.last;
        }
        out.vary |= out.last != out.first;
    }
    Ok(out)
}

/// Returns a decoder of floats, `N` per element.
pub fn floats<const N: usize>(fill: f32) -> Decode<[f32; N]> {
    Box::new(move |value, out| match value {
        Value::Numbers(numbers) => numbers.vectors(fill, out),
        _ => false,
    })
}

/// Returns a decoder of integers to i32; values out of range become −1.
pub fn i32s() -> Decode<i32> {
    Box::new(|value, out| match value {
        Value::Numbers(numbers) if numbers.width == 1 => numbers.i32s(out),
        _ => false,
    })
}

/// Returns a decoder of integers to u32; values out of range become the largest u32, which is out of range as
/// an index.
pub fn u32s() -> Decode<u32> {
    Box::new(|value, out| match value {
        Value::Numbers(numbers) if numbers.width == 1 => numbers.u32s(out),
        _ => false,
    })
}

pub fn i64s() -> Decode<i64> {
    Box::new(|value, out| match value {
        Value::Numbers(numbers) if numbers.width == 1 => numbers.integers(out),
        _ => false,
    })
}

/// Returns a decoder of all numbers, flat.
pub fn f64s() -> Decode<f64> {
    Box::new(|value, out| match value {
        Value::Numbers(numbers) => {
            *out = numbers.f64s();
            true
        }
        _ => false,
    })
}

pub fn texts() -> Decode<Arc<str>> {
    Box::new(|value, out| match value {
        Value::Texts { list, .. } => {
            *out = list;
            true
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_uniform_but_for_rounding() {
        let codes = [1.0, 2.0, 3.0000000001, 4.0, 4.999_999_999_999];
        let uniform = sampling(codes.iter().map(|c| c / 24.0).collect());
        assert!(matches!(uniform, TimeSampling::Uniform { .. }), "{uniform:?}");
        for other in [vec![1.0], vec![1.0, 2.0, 2.5], vec![0.0, 1.0, 2.0001]] {
            assert!(matches!(sampling(other), TimeSampling::Acyclic { .. }));
        }
    }
}
