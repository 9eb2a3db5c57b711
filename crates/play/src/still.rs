//! Meshes that stand still before they move, after it, or both. Their frames are those of an animation of its
//! own, see [`Window`]; outside of it nothing is stored, read or decoded: the two ends are kept with the
//! static data, and a decoded frame only says which one it shows.

use crate::Error;
use crate::frame::{Frame, part};
use crate::open::Reel;
use crate::order::Order;
use crate::statics::{Statics, each_chunk};
use crate::unit::{self, Decoded};
use meshreel_codec::record::MeshRecord;
use meshreel_codec::soft::schedule::Window;
use meshreel_codec::{Corrupt, take_sized};
use std::collections::HashMap;
use std::sync::Arc;

/// Where a mesh stands that does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestState {
    /// As in the first frame.
    Start,
    /// As in the last frame.
    End,
}

/// Orders of the windows that meshes of a file have, by first and last frame.
pub(crate) type Windows = HashMap<[u32; 2], Arc<Order>>;

/// Frames of a mesh that has a window.
pub(crate) struct Own {
    pub window: Window,
    /// Of the window's frames, from 0; shared by meshes that move in the same ones.
    pub order: Arc<Order>,
    /// Whether it stands still before, and after.
    still: [bool; 2],
}

impl Own {
    /// None where the mesh is decoded in all frames. `windows`: those of the meshes before.
    pub fn new(record: &MeshRecord, file: &Order, windows: &mut Windows) -> Option<Own> {
        let (Some([first, last]), Order::Layered { schedule, .. }) = (record.moves, file) else {
            return None;
        };
        let window = schedule.window(first, last);
        let still = [window.start > 0, window.end + 1 < schedule.frames()];
        still.contains(&true).then(|| Own {
            window,
            order: (windows.entry([window.start, window.end]))
                .or_insert_with(|| Arc::new(Order::layered(schedule.within(window))))
                .clone(),
            still,
        })
    }

    /// Where it stands in a frame of the file, if it does not move.
    pub fn at(&self, frame: u32) -> Option<RestState> {
        if self.still[0] && frame <= self.window.start {
            Some(RestState::Start)
        } else if self.still[1] && frame >= self.window.end {
            Some(RestState::End)
        } else {
            None
        }
    }

    /// Number among the window's units of one of the file, if that has something of the mesh.
    pub fn unit(&self, file: &Order, unit: usize) -> Option<usize> {
        let (Order::Layered { schedule, units, .. }, Order::Layered { schedule: own, places, .. }) =
            (file, &*self.order)
        else {
            return None;
        };
        let unit = schedule.unit_within(self.window, *units.get(unit)?)?;
        let frame = *own.frames_of(unit).first()? + self.window.start;
        let place = *places.get(own.number(unit) as usize)?;
        self.at(frame).is_none().then_some(place as usize)
    }

    /// A frame of the window.
    pub fn find<'a, 'd: 'a>(
        &self,
        statics: &'a Statics,
        decoded: &Decoded<'d>,
        frame: usize,
    ) -> Option<&'a [u64]> {
        let frame = frame + self.window.start as usize;
        match self.at(frame as u32) {
            Some(still) => Some(&statics.ends[still as usize]),
            None => decoded(frame),
        }
    }

    /// Units of the ends that there are.
    fn ends(&self) -> impl Iterator<Item = (RestState, usize)> + use<> {
        let frames = [(RestState::Start, 0), (RestState::End, self.window.end - self.window.start)];
        let (still, order) = (self.still, &self.order);
        let units = frames.map(|(end, frame)| (end, order.unit_of(frame as usize)));
        units.into_iter().filter(move |(end, _)| still[*end as usize])
    }
}

impl RestState {
    /// How a frame's buffer says it.
    pub(crate) fn byte(still: Option<RestState>) -> u8 {
        still.map_or(0, |still| 1 + still as u8)
    }
}

impl Reel {
    /// Up to the first of these frames a mesh stands still, as it does from the second on: what a game needs
    /// to put something cheaper in its place. All frames of a mesh that moves, or whose triangles change; the
    /// same frame twice for one that does not. Panics where there is no such mesh.
    pub fn moves(&self, mesh: usize) -> [u32; 2] {
        let record = &self.description().meshes[mesh];
        let last = (self.frame_count() as u32).saturating_sub(1);
        match record.streams.iter().any(|s| s.animated) {
            true => record.moves.unwrap_or([0, last]),
            false => [0, 0],
        }
    }
}

/// Decodes the ends of all meshes: buffers of two frames, empty where nothing needs them.
pub(crate) fn load(reel: &Reel, statics: &Statics) -> Result<[Vec<u64>; 2], Error> {
    let own = |mesh: usize| reel.own(mesh);
    let meshes = &reel.description().meshes;
    let wanted: Vec<(Option<u32>, usize)> =
        (0..meshes.len()).filter(|&m| own(m).is_some()).map(|m| (Some(meshes[m].ends.chunk), m)).collect();
    let mut ends = [Vec::new(), Vec::new()];
    for (_, mesh) in &wanted {
        for (end, _) in own(*mesh).iter().flat_map(|own| own.ends()) {
            ends[end as usize].resize(reel.frame_words(), 0);
        }
    }
    let mut scratch = vec![0; reel.layout().scratch];
    each_chunk(reel, wanted, |content, mesh| {
        let record = &meshes[mesh];
        let at = || format!("ends of mesh {}", record.path);
        let corrupt = |c: Corrupt| Error::corrupt(reel.path(), c, at());
        let mut bytes = crate::open::slice(reel.path(), content, record.ends, at)?;
        let Some(own) = own(mesh) else { return Ok(()) };
        for (end, number) in own.ends() {
            let (unit, used) = take_sized(bytes).map_err(corrupt)?;
            unit::take(&mut bytes, used).map_err(corrupt)?;
            let out = &mut [&mut ends[end as usize][..]];
            unit::decode_end(reel, statics, (mesh, &own.order, number), unit, &mut scratch, out)?;
        }
        match bytes {
            [] => Ok(()),
            _ => Err(corrupt(Corrupt("bytes left over"))),
        }
    })?;
    Ok(ends)
}

impl<'a> Frame<'a> {
    /// Where a mesh stands in this frame, if it does not move.
    pub fn rest_state(&self, mesh: usize) -> Option<RestState> {
        let all: &[u8] = part(self.words, self.layout.still);
        match all.get(mesh) {
            Some(1) => Some(RestState::Start),
            Some(2) => Some(RestState::End),
            _ => None,
        }
    }

    /// The frame that has what this one shows of a mesh.
    pub fn of(self, statics: &'a Statics, mesh: usize) -> Frame<'a> {
        match self.rest_state(mesh) {
            None => self,
            Some(still) => Frame { words: &statics.ends[still as usize], ..self },
        }
    }
}
