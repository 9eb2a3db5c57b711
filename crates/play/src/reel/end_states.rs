//! Meshes that stand still before they move, after they moved, or both. Their frames are those of an
//! animation of its own, see [`FrameWindow`]. Outside of that window nothing is stored, read or decoded: the
//! two end states are kept with the static data, and a decoded frame only says which one it shows.

use crate::reel::order::DecodeOrder;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::schedule::FrameWindow;
use std::collections::HashMap;
use std::sync::Arc;

/// The end state that a mesh shows while it does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndState {
    /// The mesh is as in the first frame.
    Start,
    /// The mesh is as in the last frame.
    End,
}

/// The orders of all windows of a file's meshes, by first and last frame.
pub(crate) type WindowOrders = HashMap<[u32; 2], Arc<DecodeOrder>>;

/// The frames in which a mesh moves, if these are not all.
pub(crate) struct MotionWindow {
    pub window: FrameWindow,
    /// The decoding order of the window's own frames, counted from 0; shared by meshes with the same window.
    pub order: Arc<DecodeOrder>,
    /// `true` if there are frames before the window, and after it.
    has_end_state: [bool; 2],
}

impl EndState {
    /// Returns the byte that names an end state in a frame's buffer; 0 for none.
    pub(crate) fn byte(state: Option<EndState>) -> u8 {
        state.map_or(0, |state| 1 + state as u8)
    }
}

impl MotionWindow {
    /// Returns `None` if the mesh is decoded in all frames. `windows` holds those of the meshes before.
    pub fn new(record: &MeshRecord, file: &DecodeOrder, windows: &mut WindowOrders) -> Option<MotionWindow> {
        let (Some([first, last]), DecodeOrder::Layered { schedule, .. }) = (record.moving_frames, file)
        else {
            return None;
        };
        let window = schedule.window(first, last);
        let holds = [window.start > 0, window.end + 1 < schedule.frames()];
        holds.contains(&true).then(|| MotionWindow {
            window,
            order: (windows.entry([window.start, window.end]))
                .or_insert_with(|| Arc::new(DecodeOrder::layered(schedule.within(window))))
                .clone(),
            has_end_state: holds,
        })
    }

    /// Returns the end state of the mesh in a frame of the file; `None` while it moves.
    pub fn end_state(&self, frame: u32) -> Option<EndState> {
        if self.has_end_state[0] && frame <= self.window.start {
            Some(EndState::Start)
        } else if self.has_end_state[1] && frame >= self.window.end {
            Some(EndState::End)
        } else {
            None
        }
    }

    /// Returns the index among the window's units that corresponds to a unit of the file; `None` if that unit
    /// holds nothing of the mesh.
    pub fn window_unit(&self, file: &DecodeOrder, unit: usize) -> Option<usize> {
        let (
            DecodeOrder::Layered { schedule, units, .. },
            DecodeOrder::Layered { schedule: own, places, .. },
        ) = (file, &*self.order)
        else {
            return None;
        };
        let unit = schedule.unit_within(self.window, *units.get(unit)?)?;
        let frame = *own.frames_of(unit).first()? + self.window.start;
        let place = *places.get(own.unit_number(unit) as usize)?;
        self.end_state(frame).is_none().then_some(place as usize)
    }

    /// Returns the window's units that hold its end states, for those end states that exist.
    pub(crate) fn end_units(&self) -> impl Iterator<Item = (EndState, usize)> + use<> {
        let frames = [(EndState::Start, 0), (EndState::End, self.window.end - self.window.start)];
        let (holds, order) = (self.has_end_state, &self.order);
        let units = frames.map(|(end, frame)| (end, order.unit_of(frame as usize)));
        units.into_iter().filter(move |(end, _)| holds[*end as usize])
    }
}
