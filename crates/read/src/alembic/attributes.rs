//! Geometry parameters: plain (an array property) or indexed (a compound of `.vals` and `.indices`), with the
//! scope that their metadata names.

use super::channel::{
    ArchiveObject, Decode, f64s, floats, i64s, padded_floats, read_bytes, size_of, texts, u32s,
};
use super::core::{MetaData, PropertyHeader, PropertyKind};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Attribute, CustomAttribute, Error, Scope};
use std::sync::Arc;

/// Limits for values shown in descriptions; longer ones are left out.
const MAX_SHOWN_BYTES: usize = 256;
const MAX_SHOWN_NUMBERS: usize = 16;

/// A geometry parameter as it is stored.
pub struct Param {
    pub name: String,
    values: PropertyHeader,
    indices: Option<PropertyHeader>,
    /// The metadata of the parameter and, if it is indexed, of its values.
    meta: [MetaData; 2],
}

/// The number of points, faces and corners of a mesh at one of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementCounts {
    pub points: usize,
    pub faces: usize,
    pub corners: usize,
}

impl ElementCounts {
    fn count(&self, scope: Scope) -> usize {
        match scope {
            Scope::Constant => 1,
            Scope::Uniform => self.faces,
            Scope::Varying | Scope::Vertex => self.points,
            Scope::FaceVarying => self.corners,
        }
    }
}

/// The reason why a parameter cannot be used.
pub type ParamFault = String;

/// The inner error is a [`ParamFault`], unusable content that becomes a remark; the outer [`Error`] stops the
/// reader.
type ParamResult<T> = Result<Result<T, ParamFault>, Error>;

impl Param {
    /// Opens the parameter at `header`; returns `None` if it is not a parameter or has no samples.
    pub fn open(object: &ArchiveObject, header: &PropertyHeader) -> Result<Option<Param>, Error> {
        if header.kind != PropertyKind::Compound {
            return Ok((header.samples > 0).then(|| Param {
                name: header.name.clone(),
                values: header.clone(),
                indices: None,
                meta: [header.meta.clone(), MetaData::default()],
            }));
        }
        let (mut values, mut indices) = (None, None);
        for part in object.archive.properties(header.id)? {
            match part.name.as_str() {
                _ if part.kind == PropertyKind::Compound || part.samples == 0 => {}
                ".vals" => values = Some(part),
                ".indices" => indices = Some(part),
                _ => {}
            }
        }
        Ok(values.map(|values| Param {
            name: header.name.clone(),
            meta: [header.meta.clone(), values.meta.clone()],
            values,
            indices,
        }))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.meta.iter().find_map(|meta| meta.get(key))
    }

    pub fn extent(&self) -> usize {
        self.values.extent
    }

    pub fn interpretation(&self) -> &str {
        self.get("interpretation").unwrap_or("")
    }

    pub fn is_float(&self) -> bool {
        matches!(self.values.pod, Pod::F16 | Pod::F32 | Pod::F64)
    }

    /// `true` if each element holds one value, not an array of them.
    pub fn is_single(&self) -> bool {
        self.get("arrayExtent").is_none_or(|n| n == "1" || n == "0")
    }

    /// Returns the scope that the metadata declares.
    pub fn scope(&self) -> Option<Scope> {
        Some(match self.get("geoScope")? {
            "con" => Scope::Constant,
            "uni" => Scope::Uniform,
            "var" => Scope::Varying,
            "vtx" => Scope::Vertex,
            "fvr" => Scope::FaceVarying,
            _ => return None,
        })
    }

    /// Describes the parameter for `info`, such as "float32 x3, vertex, indexed".
    pub fn describe(&self) -> String {
        let mut text = type_name(&self.values);
        let scope = match self.scope() {
            Some(Scope::Constant) => ", constant",
            Some(Scope::Uniform) => ", uniform",
            Some(Scope::Varying) => ", varying",
            Some(Scope::Vertex) => ", vertex",
            Some(Scope::FaceVarying) => ", face-varying",
            None => "",
        };
        text.push_str(scope);
        if self.indices.is_some() {
            text.push_str(", indexed");
        }
        text
    }

    /// Returns the attribute if its number of values fits a mesh that has `first` elements at its first
    /// sample and `last` at its last. If the declared scope does not fit but another does, that is used and
    /// the remark says so. Counts at other samples are not checked here; readers of samples check them.
    pub fn attribute<T: Clone + Send + Sync + 'static>(
        &self,
        object: &ArchiveObject,
        decode: Decode<T>,
        first: ElementCounts,
        last: ElementCounts,
    ) -> ParamResult<(Attribute<T>, Option<ParamFault>)> {
        let values = object.channel(&self.values, decode);
        let indices = match &self.indices {
            None => None,
            Some(header) => match u32s(header.pod) {
                Some(decode) => Some(object.channel(header, decode)),
                None => return Ok(Err("its indices are not whole numbers".into())),
            },
        };
        let (scope, fault) = match self.fit_scope(object, first, last)? {
            Ok(fit) => fit,
            Err(fault) => return Ok(Err(fault)),
        };
        let name = self.get("sourceName").filter(|name| !name.is_empty());
        Ok(Ok((Attribute { name: name.unwrap_or(&self.name).into(), scope, values, indices }, fault)))
    }

    fn fit_scope(
        &self,
        object: &ArchiveObject,
        first: ElementCounts,
        last: ElementCounts,
    ) -> ParamResult<(Scope, Option<ParamFault>)> {
        let counted = self.indices.as_ref().unwrap_or(&self.values);
        let archive = &object.archive;
        let count = |sample: usize| match (size_of(counted.pod), &self.indices) {
            (Some(size), Some(_)) => Ok(archive.size(counted.id, sample)? / size),
            (Some(size), None) => Ok(archive.size(counted.id, sample)? / (size * counted.extent)),
            // Strings.
            (None, _) => {
                read_bytes(&**archive, counted.id, sample, |bytes| bytes.iter().filter(|b| **b == 0).count())
            }
        };
        // Values are read later, but whether they can be read is checked now.
        archive.size(self.values.id, 0)?;
        let declared = self.scope();
        let (last_sample, count_at) = (counted.samples - 1, count);
        let count = count_at(0)?;
        if declared.is_some_and(|scope| first.count(scope) == count) {
            return Ok(Ok((declared.unwrap_or(Scope::Constant), None)));
        }
        let scopes = [Scope::Vertex, Scope::FaceVarying, Scope::Uniform, Scope::Constant];
        if let Some(scope) = scopes.into_iter().find(|s| first.count(*s) == count) {
            let fault = declared.map(|declared| {
                format!(
                    "it has {count} values where its scope ({}) has {}; taken as {}",
                    scope_name(declared),
                    first.count(declared),
                    scope_name(scope)
                )
            });
            return Ok(Ok((scope, fault)));
        }
        // Some exporters get only the first frame wrong.
        if let Some(scope) = declared {
            let count = count_at(last_sample)?;
            if counted.samples > 1 && last.count(scope) == count {
                let fault = "its first sample does not fit the mesh and is not used there";
                return Ok(Ok((scope, Some(fault.into()))));
            }
        }
        let ElementCounts { points, faces, corners } = first;
        // Curves have no corners.
        Ok(Err(match corners {
            usize::MAX => format!("it has {count} values for {points} points and {faces} curves"),
            _ => format!("it has {count} values for {points} points, {faces} faces and {corners} corners"),
        }))
    }

    /// Returns a decoder of integers, if there is one per element.
    pub fn integers(&self) -> Option<Decode<i64>> {
        let single = self.values.extent == 1 && self.is_single();
        i64s(self.values.pod).filter(|_| single)
    }

    /// Returns a decoder of one to four floats per element.
    pub fn padded_floats(&self) -> Option<Decode<[f32; 4]>> {
        padded_floats(self.values.pod, self.values.extent).filter(|_| self.is_single())
    }

    /// Returns a decoder of floats, if there is one per element.
    pub fn single_floats(&self) -> Option<Decode<[f32; 1]>> {
        floats::<1, 1>(self.values.pod, false, 0.0).filter(|_| self.values.extent == 1)
    }

    /// Returns a decoder of strings, if there is one per element.
    pub fn texts(&self) -> Option<Decode<Arc<str>>> {
        let single = self.values.pod == Pod::String && self.values.extent == 1 && self.is_single();
        single.then(texts)
    }

    /// Returns a decoder of `TO` floats per element, or `None` if the values are not such numbers.
    pub fn floats<const TO: usize>(&self) -> Option<Decode<[f32; TO]>> {
        let pod = self.values.pod;
        match self.values.extent {
            2 => floats::<2, TO>(pod, true, 1.0),
            3 => floats::<3, TO>(pod, true, 1.0),
            4 => floats::<4, TO>(pod, true, 1.0),
            _ => None,
        }
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Constant => "constant",
        Scope::Uniform => "one per face",
        Scope::Varying | Scope::Vertex => "one per point",
        Scope::FaceVarying => "one per corner",
    }
}

/// Returns the name of a property's type, such as "float32 x3".
pub fn type_name(header: &PropertyHeader) -> String {
    let pod = match header.pod {
        Pod::Bool => "bool",
        Pod::U8 => "uint8",
        Pod::I8 => "int8",
        Pod::U16 => "uint16",
        Pod::I16 => "int16",
        Pod::U32 => "uint32",
        Pod::I32 => "int32",
        Pod::U64 => "uint64",
        Pod::I64 => "int64",
        Pod::F16 => "float16",
        Pod::F32 => "float32",
        Pod::F64 => "float64",
        Pod::String => "string",
        Pod::WString => "wide string",
    };
    match header.extent {
        1 => pod.into(),
        n => format!("{pod} x{n}"),
    }
}

/// Reads the properties of a compound that hold one to four floats for the whole object.
pub fn custom_attributes(object: &ArchiveObject, compound: u64) -> Result<Vec<CustomAttribute>, Error> {
    let mut list = Vec::new();
    for property in object.archive.properties(compound)? {
        let single = property.kind == PropertyKind::Scalar && property.samples > 0;
        let Some(decode) = padded_floats(property.pod, property.extent).filter(|_| single) else {
            continue;
        };
        list.push(CustomAttribute {
            components: property.extent,
            attribute: Attribute {
                name: property.name.clone(),
                scope: Scope::Constant,
                values: object.channel(&property, decode),
                indices: None,
            },
        });
    }
    Ok(list)
}

/// Returns the name and type of each property of a compound, with the first value where that is short.
pub fn describe(object: &ArchiveObject, compound: u64) -> Result<Vec<(String, String)>, Error> {
    let properties = object.archive.properties(compound)?;
    let mut list = Vec::with_capacity(properties.len());
    for property in properties {
        let text = match property.kind {
            PropertyKind::Compound => "compound".into(),
            _ => {
                let value = first_value(object, &property)?;
                type_name(&property) + &value
            }
        };
        list.push((property.name, text));
    }
    Ok(list)
}

fn first_value(object: &ArchiveObject, property: &PropertyHeader) -> Result<String, Error> {
    if property.samples == 0 {
        return Ok(", no samples".into());
    }
    let size = match object.archive.size(property.id, 0) {
        Ok(size) => size,
        Err(Error::Malformed { .. }) => return Ok(", unreadable".into()),
        Err(error) => return Err(error),
    };
    if size > MAX_SHOWN_BYTES {
        return Ok(format!(", {size} bytes"));
    }
    let value = read_bytes(&*object.archive, property.id, 0, |bytes| {
        match property.pod {
            Pod::String => {
                let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
                format!(" = {:?}", String::from_utf8_lossy(bytes))
            }
            Pod::WString => {
                let letters = bytes.as_chunks::<4>().0.iter();
                let letters = letters.map(|b| char::from_u32(u32::from_le_bytes(*b)).unwrap_or('\u{FFFD}'));
                let text: String = letters.take_while(|c| *c != '\0').collect();
                format!(" = {text:?}")
            }
            Pod::Bool if bytes.len() == 1 => format!(" = {}", bytes[0] != 0),
            pod => {
                let mut numbers = Vec::new();
                f64s(pod, bytes, &mut numbers);
                if numbers.len() > MAX_SHOWN_NUMBERS {
                    return format!(", {} numbers", numbers.len());
                }
                // Values stored in single precision are printed with its digits.
                let short = matches!(pod, Pod::F16 | Pod::F32);
                let show = |n: &f64| {
                    if short { (*n as f32).to_string() } else { n.to_string() }
                };
                let numbers: Vec<String> = numbers.iter().map(show).collect();
                format!(" = {}", numbers.join(" "))
            }
        }
    });
    match value {
        Err(Error::Malformed { .. }) => Ok(", unreadable".into()),
        other => other,
    }
}
