//! The stored data that a plan, its parts and the join exchange.

use crate::Error;
use crate::method::fluid::RunMaps;
use crate::write::job::Chunk;
use meshreel_codec::record::source_map;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Everything of a file but its units.
#[derive(Serialize, Deserialize)]
pub struct Assembly {
    /// Chunks that stand before the units; all chunks, if there are no units.
    pub leading_chunks: Vec<Chunk>,
    /// The data about the units, if there are any.
    pub units: Option<UnitsOutline>,
    /// Times of frames in seconds.
    pub times: Vec<f64>,
    /// World-space bounds of the frames, where no units bring them.
    pub boxes: Vec<[f32; 6]>,
    /// Size of the content as plain numbers, in bytes.
    pub raw_bytes: u64,
}

/// The data that the join needs about the units, and the chunks behind them.
#[derive(Serialize, Deserialize)]
pub struct UnitsOutline {
    /// Interval of restarts: the number of key frames from one that refers to key 0 alone to the next.
    pub restart: u32,
    /// Effort of block compression.
    pub effort: u32,
    /// Chunks behind the units: skeletons, clips, rigs and names of ranges.
    pub trailing_chunks: Vec<Chunk>,
    /// The description, without the entries that only units provide.
    pub description: Vec<u8>,
    /// By mesh, the properties that the join needs.
    pub meshes: Vec<MeshOutline>,
    /// `true` if no source maps are kept.
    pub strip: bool,
}

/// Properties of a mesh that are known before its units are coded.
#[derive(Serialize, Deserialize)]
pub struct MeshOutline {
    /// `true` if its faces change.
    pub faces_change: bool,
    /// `true` if its normals are generated, not the source's.
    pub generated_normals: bool,
}

/// Results of coding the units of a part.
#[derive(Serialize, Deserialize)]
pub struct Tail {
    /// The results of each mesh.
    pub meshes: Vec<MeshTail>,
}

/// Results of coding the units of a part, for one mesh.
#[derive(Serialize, Deserialize)]
pub struct MeshTail {
    /// End states before the lead-in and after the lead-out, where they were coded.
    pub end_states: [Option<Vec<u8>>; 2],
    /// Results for a mesh whose faces change.
    pub changing: Option<ChangingTail>,
}

/// Results for a mesh whose faces change.
#[derive(Serialize, Deserialize)]
pub struct ChangingTail {
    /// The largest number of points of a frame.
    pub points: u32,
    /// `true` if some frame has fewer points than vertices.
    pub split: bool,
    /// `true` if the source maps exceed the limit up to which they are kept.
    pub source_maps_dropped: bool,
    /// Number and source map of each run.
    runs: Vec<(u32, Vec<u8>)>,
    /// Pairs of a frame and its run.
    frames: Vec<(u32, u32)>,
}

impl ChangingTail {
    pub fn new(maps: &RunMaps, (points, split): (u32, bool)) -> ChangingTail {
        let too_many = maps.are_too_many();
        let encoded = |(&run, map): (&u32, &_)| {
            let mut bytes = Vec::new();
            source_map::encode(map, &mut bytes);
            (run, bytes)
        };
        let runs = maps.by_run.iter().filter(|_| !too_many).map(encoded).collect();
        let frames = maps.frame_runs.iter().map(|(&frame, &run)| (frame, run)).collect();
        ChangingTail { points, split, source_maps_dropped: too_many, runs, frames }
    }

    /// Adds these source maps to those of other parts.
    pub fn add_to(&self, maps: &mut RunMaps) -> Result<(), Error> {
        maps.frame_runs.extend(self.frames.iter().copied());
        for (run, bytes) in &self.runs {
            let (map, used) = source_map::decode(bytes).map_err(|corrupt| malformed(corrupt.0))?;
            let whole = used == bytes.len() && map.run_maps.is_empty();
            let known = maps.by_run.get(run);
            if !whole || known.is_some_and(|known| *known != map) {
                return Err(malformed("maps back to the source that do not go together"));
            }
            maps.add_map(*run, map);
        }
        Ok(())
    }
}

/// Serializes a value.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    // Writing can fail only for lack of memory.
    postcard::to_stdvec(value).map_err(|error| Error::Promise {
        what: format!("a record cannot be written ({error})"),
        target: Default::default(),
    })
}

/// Reads bytes written by [`to_bytes`], all of them. Takes no more memory than is in proportion to the bytes.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Error> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(malformed(&format!("{what} cannot be read"))),
    }
}

pub fn malformed(what: &str) -> Error {
    Error::Malformed { what: what.into() }
}
