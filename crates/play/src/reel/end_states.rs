//! Meshes that stand still before they move, after it, or both. Their frames are those of an animation of its
//! own, see [`Window`]; outside of it nothing is stored, read or decoded: the two ends are kept with the
//! static data, and a decoded frame only says which one it shows.

use crate::reel::order::Order;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::schedule::Window;
use std::collections::HashMap;
use std::sync::Arc;

/// Which of its two ends a mesh shows while it does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndState {
    /// The mesh is as in the first frame.
    Start,
    /// The mesh is as in the last frame.
    End,
}

/// Orders of the windows that meshes of a file have, by first and last frame.
pub(crate) type Windows = HashMap<[u32; 2], Arc<Order>>;

/// Frames of a mesh that has a window.
pub(crate) struct MotionWindow {
    pub window: Window,
    /// How the window's own frames, counted from 0, are decoded; shared by meshes that move in the same ones.
    pub order: Arc<Order>,
    /// Whether there are frames before the window, and after it.
    holds: [bool; 2],
}

impl EndState {
    /// The byte by which a frame's buffer names an end state; 0 for none.
    pub(crate) fn byte(state: Option<EndState>) -> u8 {
        state.map_or(0, |state| 1 + state as u8)
    }
}

impl MotionWindow {
    /// None where the mesh is decoded in all frames. `windows`: those of the meshes before.
    pub fn new(record: &MeshRecord, file: &Order, windows: &mut Windows) -> Option<MotionWindow> {
        let (Some([first, last]), Order::Layered { schedule, .. }) = (record.moves, file) else {
            return None;
        };
        let window = schedule.window(first, last);
        let holds = [window.start > 0, window.end + 1 < schedule.frames()];
        holds.contains(&true).then(|| MotionWindow {
            window,
            order: (windows.entry([window.start, window.end]))
                .or_insert_with(|| Arc::new(Order::layered(schedule.within(window))))
                .clone(),
            holds,
        })
    }

    /// The end state that the mesh is in, in a frame of the file; none where it moves.
    pub fn at(&self, frame: u32) -> Option<EndState> {
        if self.holds[0] && frame <= self.window.start {
            Some(EndState::Start)
        } else if self.holds[1] && frame >= self.window.end {
            Some(EndState::End)
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

    /// The window's units that hold its end states, of those that there are.
    pub(crate) fn end_units(&self) -> impl Iterator<Item = (EndState, usize)> + use<> {
        let frames = [(EndState::Start, 0), (EndState::End, self.window.end - self.window.start)];
        let (holds, order) = (self.holds, &self.order);
        let units = frames.map(|(end, frame)| (end, order.unit_of(frame as usize)));
        units.into_iter().filter(move |(end, _)| holds[*end as usize])
    }
}
