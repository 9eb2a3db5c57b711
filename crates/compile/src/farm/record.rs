//! What is kept between a plan, its parts, and the file.

use crate::Error;
use crate::method::run_maps::RunMaps;
use crate::write::job::Chunk;
use meshreel_codec::record::source_map;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Everything of a file but its units.
#[derive(Serialize, Deserialize)]
pub struct Assembly {
    /// Chunks that stand before units; where there are none, all of them.
    pub before: Vec<Chunk>,
    /// The units that come, if any do.
    pub units: Option<Units>,
    /// Times of frames in seconds.
    pub times: Vec<f64>,
    /// Their boxes in the world, where no units bring them.
    pub boxes: Vec<[f32; 6]>,
    /// Size of what is stored as plain numbers.
    pub raw_bytes: u64,
}

/// Units of a file, and what follows them.
#[derive(Serialize, Deserialize)]
pub struct Units {
    /// Every how many keys one refers to key 0 alone.
    pub restart: u32,
    /// Effort of block compression.
    pub effort: u32,
    /// Skeletons, clips, rigs and names of ranges.
    pub behind: Vec<Chunk>,
    /// The description, before what only units tell of it.
    pub description: Vec<u8>,
    /// By mesh what follows of it from units.
    pub meshes: Vec<MeshOutline>,
    /// No maps back to the source are kept.
    pub strip: bool,
}

/// What is known of a mesh before its units are there.
#[derive(Serialize, Deserialize)]
pub struct MeshOutline {
    /// Its faces change.
    pub changes: bool,
    /// Its normals are made, not the source's.
    pub made_normals: bool,
}

/// What is known of meshes once the units of a part are coded.
#[derive(Serialize, Deserialize)]
pub struct Tail {
    /// By mesh.
    pub meshes: Vec<MeshTail>,
}

/// What is known of a mesh once the units of a part are coded.
#[derive(Serialize, Deserialize)]
pub struct MeshTail {
    /// What it shows before it moves and afterwards, where that was coded.
    pub ends: [Option<Vec<u8>>; 2],
    /// Of one whose faces change.
    pub changing: Option<ChangingTail>,
}

/// What is known of a mesh whose faces change.
#[derive(Serialize, Deserialize)]
pub struct ChangingTail {
    /// Most points of a frame.
    pub points: u32,
    /// Some frame has fewer points than vertices.
    pub split: bool,
    /// Maps back to the source are more than are kept.
    pub too_many: bool,
    /// Maps by run.
    runs: Vec<(u32, Vec<u8>)>,
    /// Runs by frame.
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
        let frames = maps.of_frame.iter().map(|(&frame, &run)| (frame, run)).collect();
        ChangingTail { points, split, too_many, runs, frames }
    }

    /// Adds its maps to those of other parts.
    pub fn add_to(&self, maps: &mut RunMaps) -> Result<(), Error> {
        maps.of_frame.extend(self.frames.iter().copied());
        for (run, bytes) in &self.runs {
            let (map, used) = source_map::decode(bytes).map_err(|corrupt| malformed(corrupt.0))?;
            let whole = used == bytes.len() && map.runs.is_empty();
            let known = maps.by_run.get(run);
            if !whole || known.is_some_and(|known| *known != map) {
                return Err(malformed("maps back to the source that do not go together"));
            }
            maps.add(*run, map);
        }
        Ok(())
    }
}

/// As bytes.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    // Nothing here can fail to be written but what is too large for memory.
    postcard::to_stdvec(value).map_err(|error| Error::Promise {
        what: format!("a record cannot be written ({error})"),
        target: Default::default(),
    })
}

/// Reads what [`to_bytes`] wrote, all of it. Takes no more memory than the bytes are worth.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Error> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(malformed(&format!("{what} cannot be read"))),
    }
}

pub fn malformed(what: &str) -> Error {
    Error::Malformed { what: what.into() }
}
