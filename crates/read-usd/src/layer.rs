//! A layer: its specs, and its values, in the binary or the text form.

use super::binary::{self, Binary, sections};
use super::bytes::LayerBytes;
use super::specs::{Specs, ValueRef};
use super::text::{self, TextValues};
use super::value::Value;
use meshreel_scene::{Error, Identity};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Upper limit for the elements of a value that is read for every prim.
pub const MAX_SMALL_ELEMENTS: usize = 1 << 12;

/// The result, or the reason why it is left out.
pub type Usable<T> = Result<T, Arc<str>>;

/// The reason for leaving out a file that does not exist.
pub const MISSING_FILE: &str = "is not there";

/// Turns errors of a file that can be left out into a reason for leaving it out.
pub fn usable<T>(read: Result<Option<T>, Error>) -> Result<Usable<T>, Error> {
    Ok(match read {
        Ok(Some(read)) => Ok(read),
        Ok(None) => Err(MISSING_FILE.into()),
        Err(Error::Malformed { what, at, .. }) => {
            Err(format!("is damaged or not of its kind ({what}, at {at})").into())
        }
        Err(Error::Unsupported { what, .. }) => Err(format!("is not supported ({what})").into()),
        Err(error) => return Err(error),
    })
}

/// An open layer.
pub struct Layer {
    /// The name in errors and remarks.
    pub name: PathBuf,
    pub specs: Specs,
    values: LayerValues,
    /// Lists of times, which many attributes share.
    times: Mutex<HashMap<u64, Arc<[f64]>>>,
}

enum LayerValues {
    Binary(Binary),
    Text(Box<TextValues>),
}

/// The time samples of an attribute: times in its layer's time codes, and values.
#[derive(Clone)]
pub struct LayerSamples {
    pub times: Arc<[f64]>,
    pub values: Vec<ValueRef>,
}

impl Layer {
    /// Opens a layer; its first bytes decide between the binary and the text form.
    pub fn open(bytes: LayerBytes) -> Result<Layer, Error> {
        let name: &Path = bytes.name();
        let name = name.to_path_buf();
        let times = Mutex::default();
        let mut start = [0; 8];
        let length = bytes.length().min(8) as usize;
        bytes.read_into(0, &mut start[..length])?;
        if text::is_text(&start) {
            let (specs, text) = text::open(bytes)?;
            return Ok(Layer { name, specs, values: LayerValues::Text(text.into()), times });
        }
        if !sections::is_binary(&start) {
            return Err(bytes.malformed("begins neither as a text nor as a binary layer of USD", 0));
        }
        let mut tables = sections::read(&bytes)?;
        let mut specs = binary::specs::tree(&tables);
        let binary = Binary::new(bytes, &mut tables);
        binary::specs::finish(&mut specs, tables, &binary)?;
        Ok(Layer { name, specs, values: LayerValues::Binary(binary), times })
    }

    /// Reads a value.
    pub fn value(&self, value: ValueRef) -> Result<Value, Error> {
        match &self.values {
            LayerValues::Binary(binary) => binary.value(value.0),
            LayerValues::Text(text) => text.value(value),
        }
    }

    /// Reads a value unless it is a large array, which gives [`Value::Other`].
    pub fn small_value(&self, value: ValueRef) -> Result<Value, Error> {
        match self.length(value)? > MAX_SMALL_ELEMENTS {
            true => Ok(Value::Other),
            false => self.value(value),
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.values, LayerValues::Text(_))
    }

    /// `true` if a value is an array of integers.
    pub fn is_whole_array(&self, value: ValueRef) -> bool {
        match &self.values {
            LayerValues::Binary(binary) => binary.is_whole_array(value.0),
            LayerValues::Text(_) => false,
        }
    }

    /// Returns the number of elements of an array; 1 for other values, 0 for an absent value.
    pub fn length(&self, value: ValueRef) -> Result<usize, Error> {
        match &self.values {
            LayerValues::Binary(binary) => binary.length(value.0),
            LayerValues::Text(text) => Ok(text.length(value)),
        }
    }

    /// `true` if the value is a block: no value, whatever weaker layers say.
    pub fn is_block(&self, value: ValueRef) -> bool {
        match &self.values {
            LayerValues::Binary(binary) => binary.is_block(value.0),
            LayerValues::Text(text) => text.is_block(value),
        }
    }

    /// Returns the identity of a value; within a layer, values with equal identities are equal.
    pub fn identity(&self, value: ValueRef) -> Identity {
        match &self.values {
            LayerValues::Binary(_) => Identity::from(value.0),
            LayerValues::Text(text) => text.identity(value),
        }
    }

    /// Returns time samples, ascending; `None` if the value has another type.
    pub fn samples(&self, value: ValueRef) -> Result<Option<LayerSamples>, Error> {
        match &self.values {
            LayerValues::Text(text) => {
                Ok(text.samples(value).map(|(times, values)| LayerSamples { times, values }))
            }
            LayerValues::Binary(binary) => {
                let Some((times, values)) = binary.time_samples(value.0)? else {
                    return Ok(None);
                };
                let key = binary.times_key(value.0).unwrap_or(value.0);
                let known = self.times.lock().ok().and_then(|known| known.get(&key).cloned());
                let times = match known {
                    Some(times) if times.len() == values.len() => times,
                    _ => self.intern_times(key, times)?,
                };
                Ok(Some(LayerSamples { times, values: values.into_iter().map(ValueRef).collect() }))
            }
        }
    }

    fn intern_times(&self, key: u64, times: Vec<f64>) -> Result<Arc<[f64]>, Error> {
        let ascend = times.iter().all(|t| t.is_finite()) && times.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascend {
            let what = "times of samples do not ascend; copy or export it anew";
            return Err(Error::malformed(&self.name, what, format!("time samples, value {key:#x}")));
        }
        let times: Arc<[f64]> = times.into();
        if let Ok(mut known) = self.times.lock() {
            known.insert(key, times.clone());
        }
        Ok(times)
    }
}
