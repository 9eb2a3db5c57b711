//! Draw lists: groups of equal draws, and filters and colours of debug views.

/// A visible draw of a mesh that is the same for all its instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedMesh {
    /// The mesh and, if it moves, its frame: draws with equal numbers look the same.
    pub mesh: u64,
    /// Object to world, row-major.
    pub world: [[f32; 4]; 3],
}

/// The draws of one mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DrawGroup<'a> {
    /// The mesh, as in [`PlacedMesh::mesh`].
    pub mesh: u64,
    /// The placed instances, in the order in which they were given.
    pub placed: &'a [PlacedMesh],
    /// `true` if they are enough for one instanced draw; otherwise each is drawn by itself.
    pub instanced: bool,
}

/// The smallest number of equal draws that become one instanced draw.
pub const MIN_INSTANCES: usize = 10;

/// Sorts draws so that equal ones follow each other, and returns them group by group; groups of at least
/// `threshold` draws (see [`MIN_INSTANCES`]) are instanced. `order` keeps the order within a group and must
/// be as long as `draws`; nothing is allocated. If `order` is too short, no group is returned.
pub fn group_draws<'a>(
    draws: &'a mut [PlacedMesh],
    order: &mut [u32],
    threshold: usize,
) -> impl Iterator<Item = DrawGroup<'a>> {
    let draws: &'a [PlacedMesh] = match order.get_mut(..draws.len()) {
        Some(order) => {
            sort_by_mesh(draws, order);
            draws
        }
        None => &[],
    };
    draws.chunk_by(|a, b| a.mesh == b.mesh).map(move |placed| DrawGroup {
        mesh: placed[0].mesh,
        placed,
        instanced: placed.len() >= threshold.max(1),
    })
}

/// Sorts by mesh, stably and without a second buffer of draws.
fn sort_by_mesh(draws: &mut [PlacedMesh], order: &mut [u32]) {
    for (i, place) in order.iter_mut().enumerate() {
        *place = i as u32;
    }
    order.sort_unstable_by_key(|&i| (draws[i as usize].mesh, i));
    // Each place is filled along its cycle; a finished place holds its own index.
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = order[to] as usize;
            order[to] = to as u32;
            if from == start {
                break;
            }
            draws.swap(to, from);
            to = from;
        }
    }
}

/// The instances that a debug view draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshFilter {
    /// All meshes.
    #[default]
    All,
    /// Only meshes that change from frame to frame.
    Animated,
    /// Only meshes that do not change.
    Static,
}

impl MeshFilter {
    /// `true` if a mesh is drawn.
    #[must_use]
    pub fn shows(self, animated: bool) -> bool {
        match self {
            MeshFilter::All => true,
            MeshFilter::Animated => animated,
            MeshFilter::Static => !animated,
        }
    }
}

/// `true` if a stream is listed: its name contains the filter, ignoring case. An empty filter lists all.
#[must_use]
pub fn name_matches(name: &str, filter: &str) -> bool {
    let (name, filter) = (name.as_bytes(), filter.as_bytes());
    filter.is_empty() || (name.windows(filter.len())).any(|part| part.eq_ignore_ascii_case(filter))
}

/// Returns a bright colour, red, green and blue, that is the same for equal meshes and so shows what is
/// instanced.
#[must_use]
pub fn mesh_colour(mesh: u64) -> [u8; 3] {
    // Consecutive numbers get distant hues, a golden turn apart.
    let hue = mesh.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let (sector, within) = ((hue * 6) >> 32, ((hue * 6) & 0xFFFF_FFFF) >> 25);
    let (low, high) = (64, 255);
    let (up, down) = (low + within as u8, high - within as u8);
    match sector {
        0 => [high, up, low],
        1 => [down, high, low],
        2 => [low, high, up],
        3 => [low, down, high],
        4 => [up, low, high],
        _ => [high, low, down],
    }
}
