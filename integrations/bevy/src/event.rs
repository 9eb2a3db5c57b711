//! Events on the entity of a [`ReelPlayer`](crate::ReelPlayer). Observe one there, or all of them
//! in the app.

use bevy::prelude::*;

/// The first frame is shown, and the nodes of the file exist.
#[derive(EntityEvent, Clone, Debug)]
pub struct ReelReady {
    #[allow(missing_docs)]
    pub entity: Entity,
}

/// It has played to the end, and does not repeat.
#[derive(EntityEvent, Clone, Debug)]
pub struct ReelEnded {
    #[allow(missing_docs)]
    pub entity: Entity,
}

/// A newer file has taken the place of the one that was shown. Its nodes are spawned anew, then [`ReelReady`]
/// is triggered again.
#[derive(EntityEvent, Clone, Debug)]
pub struct ReelReplaced {
    #[allow(missing_docs)]
    pub entity: Entity,
}

/// Something about the file went wrong: it could not be opened, read, or decoded, or the heap has no room for
/// it. The last good frame stays. Also logged as an error.
#[derive(EntityEvent, Clone, Debug)]
pub struct ReelFailed {
    #[allow(missing_docs)]
    pub entity: Entity,
    /// The reason, with the file's name.
    pub error: String,
}

/// Reports an error of a player.
pub(crate) fn fail(commands: &mut Commands, entity: Entity, error: &dyn std::fmt::Display) {
    let error = error.to_string();
    error!("{error}");
    commands.trigger(ReelFailed { entity, error });
}
