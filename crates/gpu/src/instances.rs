//! Instances of a few models on a cloud of transforms: for each the card decides whether it is visible, at
//! which LOD level, or as a sprite, and draws it indirectly.
//!
//! ```text
//! clear     a thread a draw       no instances yet
//! choose    a thread an instance  outside of the picture, too small, a sprite, or a level; counts it
//! starts    one thread            where the instances of each draw begin in the list
//! place     a thread an instance  writes its number there
//! ```
//!
//! The draws lie one after the other: for each model its levels, finest first, then its sprite if it may be
//! one. A level is chosen if its error is at most [`InstanceView::pixels`] of the picture, as in
//! [`meshreel::policy::LodDistances`]. This pays from [`meshreel::policy::MIN_INSTANCES`] equal draws on.

use crate::words::WordBuffer;
use meshreel::policy::Projection;
use meshreel::{Error, MeshView};

/// An LOD level of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelLod {
    /// The first index and the number of indices in the caller's index buffer.
    pub indices: [u32; 2],
    /// The value that is added to each index.
    pub base_vertex: i32,
    /// The error of the level, its distance from the finest, in the model's units; 0 for the finest.
    pub error: f32,
}

/// A model that instances can show.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Model {
    /// The centre of a bounding sphere in its own space; `radius` is that of the sphere.
    pub centre: [f32; 3],
    /// See `centre`.
    pub radius: f32,
    /// The LOD levels, finest first.
    pub lods: Vec<ModelLod>,
    /// Whether it is drawn as a square of four vertices if it is small.
    pub sprite: bool,
}

impl Model {
    /// Returns a model with a bounding sphere in its own space, and its LOD levels, finest first; it is not
    /// drawn as a sprite.
    pub fn new(centre: [f32; 3], radius: f32, lods: Vec<ModelLod>) -> Model {
        Model { centre, radius, lods, sprite: false }
    }

    /// Sets [`Model::sprite`].
    pub fn with_sprite(self, sprite: bool) -> Model {
        Model { sprite, ..self }
    }

    /// Returns the model of a mesh whose triangles do not change, with the LOD levels that it has, as they
    /// lie in its output's index buffer. The sphere is that around its bounds over all frames.
    pub fn from_mesh(mesh: &MeshView<'_>, sprite: bool) -> Model {
        let [low, high] = [0, 3].map(|k| [0, 1, 2].map(|c| mesh.record().bounds[k + c]));
        let half: [f32; 3] = std::array::from_fn(|k| (high[k] - low[k]) * 0.5);
        let mut first = 0;
        let level = |level: usize| {
            let own = mesh.lod(level);
            let count = own.indices.len() as u32;
            first += count;
            ModelLod { indices: [first - count, count], base_vertex: 0, error: own.error }
        };
        Model {
            centre: std::array::from_fn(|k| low[k] + half[k]),
            radius: half.iter().map(|v| v * v).sum::<f32>().sqrt(),
            lods: (0..mesh.lod_count()).map(level).collect(),
            sprite,
        }
    }
}

/// The models, by number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Palette(pub Vec<Model>);

/// The choice of a model for each instance.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ModelChoice<'a> {
    /// A random one, the same for the same seed and number of the instance.
    Random {
        /// The seed; another one gives another choice.
        seed: u64,
    },
    /// These numbers; a number beyond the last model is the last.
    Numbers(&'a [u32]),
    /// The values of an attribute, rounded to the nearest number.
    Values(&'a [f32]),
}

impl ModelChoice<'_> {
    /// Returns the model of an instance, out of `models`.
    #[must_use]
    pub fn model(&self, instance: usize, models: u32) -> u32 {
        let last = models.saturating_sub(1);
        match self {
            ModelChoice::Random { seed } => {
                // Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
                let mut z = seed.wrapping_add((instance as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                ((u128::from(z ^ (z >> 31)) * u128::from(models)) >> 64) as u32
            }
            ModelChoice::Numbers(numbers) => numbers.get(instance).map_or(0, |number| *number).min(last),
            ModelChoice::Values(values) => {
                values.get(instance).map_or(0, |value| value.round().max(0.0) as u32).min(last)
            }
        }
    }
}

/// The view of the instances, and the thresholds for drawing them.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[non_exhaustive]
#[must_use]
pub struct InstanceView {
    /// The planes of the view frustum, of unit length, positive inside.
    pub planes: [[f32; 4]; 6],
    /// The position of the eye.
    pub eye: [f32; 3],
    /// The pixels that a unit takes at a distance of one.
    pub pixels_at_one: f32,
    /// The largest error of a level, in pixels. Default 1.
    pub pixels: f32,
    /// Models with a smaller sphere, in pixels of its radius, are drawn as sprites. Default 4.
    pub sprite_below: f32,
    /// Models with a smaller sphere, in pixels of its radius, are not drawn. Default 0.5.
    pub nothing_below: f32,
    /// The number of instances.
    pub instances: u32,
    /// The number of draws.
    pub draws: u32,
    /// Padding to whole vectors.
    pub spare: [u32; 3],
}

impl InstanceView {
    /// Returns the view of a projection, world to clip space by columns, depth from 0 to 1.
    pub fn new(clip: &[[f32; 4]; 4], eye: [f32; 3], lens: &Projection) -> InstanceView {
        let row = |r: usize| [0, 1, 2, 3].map(|c| clip[c][r]);
        let [x, y, z, w] = [0, 1, 2, 3].map(row);
        let sum = |a: [f32; 4], b: [f32; 4], s: f32| std::array::from_fn(|k| a[k] + s * b[k]);
        let planes = [sum(w, x, 1.0), sum(w, x, -1.0), sum(w, y, 1.0), sum(w, y, -1.0), z, sum(w, z, -1.0)];
        let unit = |plane: [f32; 4]| {
            let length = (plane[0] * plane[0] + plane[1] * plane[1] + plane[2] * plane[2]).sqrt();
            // A far plane at infinity: everything is on its inner side.
            if length > 0.0 { plane.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] }
        };
        InstanceView {
            planes: planes.map(unit),
            eye,
            pixels_at_one: lens.pixels_at_one(),
            pixels: 1.0,
            sprite_below: 4.0,
            nothing_below: 0.5,
            instances: 0,
            draws: 0,
            spare: [0; 3],
        }
    }

    /// Sets [`InstanceView::pixels`].
    pub fn with_pixels(self, pixels: f32) -> InstanceView {
        InstanceView { pixels, ..self }
    }

    /// Sets [`InstanceView::sprite_below`].
    pub fn with_sprite_below(self, sprite_below: f32) -> InstanceView {
        InstanceView { sprite_below, ..self }
    }

    /// Sets [`InstanceView::nothing_below`].
    pub fn with_nothing_below(self, nothing_below: f32) -> InstanceView {
        InstanceView { nothing_below, ..self }
    }
}

/// The words of an indirect draw.
pub const DRAW_WORDS: usize = 5;
/// The draw number of an instance that is not drawn.
pub const INVISIBLE: u32 = u32::MAX;
/// The corners of a sprite: a strip of two triangles.
const SPRITE_VERTICES: u32 = 4;

/// A draw of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaletteDraw {
    /// The model.
    pub model: u32,
    /// Its LOD level; `None` for its sprite.
    pub level: Option<u32>,
}

impl Palette {
    /// Returns the draws in their order.
    pub fn draws(&self) -> impl Iterator<Item = PaletteDraw> + '_ {
        (0..).zip(&self.0).flat_map(|(model, own)| {
            let levels = (0..own.lods.len() as u32).map(Some);
            levels.chain(own.sprite.then_some(None)).map(move |level| PaletteDraw { model, level })
        })
    }

    /// Returns a misuse error for models without levels or with an invalid radius.
    pub fn check(&self) -> Result<(), Error> {
        let bad = |m: &Model| m.lods.is_empty() || !(m.radius.is_finite() && m.radius >= 0.0);
        match self.0.iter().position(bad) {
            _ if self.0.is_empty() => Err(Error::misuse("instances without models")),
            Some(at) => Err(Error::misuse(format!("model {at} has no level, or a radius that is none"))),
            None => Ok(()),
        }
    }

    /// Returns the words of the models, followed by the error of each draw.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let (mut words, mut first) = (WordBuffer::default(), 0);
        for model in &self.0 {
            let levels = model.lods.len() as u32;
            words.append_floats(model.centre.into_iter().chain([model.radius]));
            words.append([first, levels, u32::from(model.sprite), 0]);
            first += levels + u32::from(model.sprite);
        }
        for PaletteDraw { model, level } in self.draws() {
            let error = level.map_or(0.0, |level| self.0[model as usize].lods[level as usize].error);
            words.append_floats([error]);
        }
        words.0
    }

    /// Returns the words of the indirect draws before instances are counted; sprites are drawn without
    /// indices.
    #[must_use]
    pub fn draw_words(&self) -> Vec<u32> {
        let words = |draw: PaletteDraw| match draw.level {
            Some(level) => {
                let level = &self.0[draw.model as usize].lods[level as usize];
                [level.indices[1], 0, level.indices[0], level.base_vertex as u32, 0]
            }
            None => [SPRITE_VERTICES, 0, 0, 0, 0],
        };
        self.draws().flat_map(words).collect()
    }

    /// Returns the number of the draw for an instance, computed on the CPU. The rows of `world` are those of
    /// a 3 × 4 matrix.
    #[must_use]
    pub fn choose(&self, view: &InstanceView, world: &[[f32; 4]; 3], model: u32) -> Option<u32> {
        let (before, others) = self.0.split_at((model as usize).min(self.0.len().checked_sub(1)?));
        let model = others.first()?;
        let draws = |model: &Model| model.lods.len() as u32 + u32::from(model.sprite);
        let (first, levels) = (before.iter().map(draws).sum::<u32>(), model.lods.len());
        let centre = model.centre;
        let place = world.map(|r| r[0] * centre[0] + r[1] * centre[1] + r[2] * centre[2] + r[3]);
        let column = |c: usize| world.iter().map(|row| row[c] * row[c]).sum::<f32>();
        let scale = column(0).max(column(1)).max(column(2)).sqrt();
        let radius = model.radius * scale;
        let inside = |p: &[f32; 4]| p[0] * place[0] + p[1] * place[1] + p[2] * place[2] + p[3] >= -radius;
        if !view.planes.iter().all(inside) {
            return None;
        }
        let away: f32 = place.iter().zip(view.eye).map(|(p, e)| (p - e) * (p - e)).sum();
        let distance = away.sqrt();
        let pixels = radius * view.pixels_at_one;
        if pixels <= view.nothing_below * distance {
            return None;
        }
        if model.sprite && pixels < view.sprite_below * distance {
            return Some(first + levels as u32);
        }
        let nearest = (distance - radius).max(0.0);
        let fits = |level: &ModelLod| level.error * scale * view.pixels_at_one <= view.pixels * nearest;
        let level = model.lods.iter().skip(1).rposition(fits).map_or(0, |at| at + 1);
        Some(first + level as u32)
    }
}

/// An entry point. They are run in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstancePass {
    /// One thread per draw.
    Clear,
    /// One thread per instance.
    Choose,
    /// One thread.
    Starts,
    /// One thread per instance.
    Place,
}

impl InstancePass {
    /// All entry points, in order.
    pub const ALL: &[InstancePass] =
        &[InstancePass::Clear, InstancePass::Choose, InstancePass::Starts, InstancePass::Place];

    /// Returns the name of the entry point.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            InstancePass::Clear => "clear",
            InstancePass::Choose => "choose",
            InstancePass::Starts => "starts_of_draws",
            InstancePass::Place => "place",
        }
    }

    /// Returns the number of threads that have work.
    #[must_use]
    pub fn threads(self, view: &InstanceView) -> u32 {
        match self {
            InstancePass::Clear => view.draws,
            InstancePass::Starts => 1,
            InstancePass::Choose | InstancePass::Place => view.instances,
        }
    }
}

/// Returns the text of the passes.
///
/// | binding of group 0 | type | content |
/// |---|---|---|
/// | 0 | uniform | [`InstanceView`] |
/// | 1 | storage, read | [`Palette::words`] |
/// | 2 | storage, read | transforms: 12 floats an instance, rows of a 3 × 4 matrix |
/// | 3 | storage, read | the model of each |
/// | 4 | storage | [`Palette::draw_words`] |
/// | 5 | storage | per draw where its instances begin, and how many are placed |
/// | 6 | storage | the draw of each instance |
/// | 7 | storage | numbers of instances, draw by draw |
#[must_use]
pub fn wgsl() -> &'static str {
    include_str!("shaders/instances.wgsl")
}

/// Returns the text of functions for the caller's vertex shader, bound to a group of its choice:
///
/// | binding | type | content |
/// |---|---|---|
/// | 0 | uniform, with an offset | the number of the draw |
/// | 1 | storage, read | starts: binding 5 of the passes |
/// | 2 | storage, read | numbers of instances: their binding 7 |
/// | 3 | storage, read | transforms: their binding 2 |
///
/// `instance_of(instance_index)` is the number of the instance, `instance_point(number, p)` and
/// `instance_vector(number, v)` transform from its model to the world, `sprite_corner(vertex_index)` is a
/// corner of a sprite, −1 … 1.
#[must_use]
pub fn pull_wgsl(group: u32) -> String {
    include_str!("shaders/instance_pull.wgsl").replace("@group(0)", &format!("@group({group})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette() -> Palette {
        let level = |first: u32, error: f32| ModelLod { indices: [first, 6], base_vertex: 0, error };
        let model =
            |levels: Vec<ModelLod>, sprite| Model { centre: [0.0; 3], radius: 1.0, lods: levels, sprite };
        Palette(vec![
            model(vec![level(0, 0.0), level(6, 0.01), level(12, 0.1)], true),
            model(vec![level(18, 0.0)], false),
        ])
    }

    /// Looks along −z from the origin.
    fn view() -> InstanceView {
        let lens = Projection::new(std::f32::consts::FRAC_PI_2, 1000.0);
        let (near, far) = (0.1, 1000.0);
        let clip = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, far / (near - far), -1.0],
            [0.0, 0.0, near * far / (near - far), 0.0],
        ];
        InstanceView::new(&clip, [0.0; 3], &lens)
    }

    fn instance_at(z: f32, scale: f32) -> [[f32; 4]; 3] {
        [[scale, 0.0, 0.0, 0.0], [0.0, scale, 0.0, 0.0], [0.0, 0.0, scale, z]]
    }

    #[test]
    fn f08_levels_sprites_and_nothing_by_distance() {
        let (palette, view) = (palette(), view());
        let chosen = |z: f32| palette.choose(&view, &instance_at(z, 1.0), 0);
        // A unit at distance one takes 500 pixels: errors are one pixel at distances of 5 and 50.
        assert_eq!(chosen(-3.0), Some(0));
        assert_eq!(chosen(-5.9), Some(0));
        assert_eq!(chosen(-6.1), Some(1));
        assert_eq!(chosen(-50.9), Some(1));
        assert_eq!(chosen(-51.1), Some(2));
        assert_eq!(chosen(-124.0), Some(2));
        assert_eq!(chosen(-126.0), Some(3));
        assert_eq!(chosen(-999.0), Some(3));
        assert_eq!(chosen(-1002.0), None);
        // Half the size at half the distance.
        assert_eq!(palette.choose(&view, &instance_at(-62.4, 0.5), 0), Some(2));
        assert_eq!(palette.choose(&view, &instance_at(-62.6, 0.5), 0), Some(3));
        // Without a sprite the level is kept until it is smaller than half a pixel.
        assert_eq!(palette.choose(&view, &instance_at(-900.0, 1.0), 1), Some(4));
        assert_eq!(palette.choose(&view, &instance_at(-900.0, 0.5), 1), None);
        // An instance without a valid size is not drawn, nor is one behind the eye or beside the picture.
        assert_eq!(palette.choose(&view, &instance_at(-3.0, 0.0), 0), None);
        assert_eq!(palette.choose(&view, &instance_at(f32::NAN, 1.0), 0), None);
        assert_eq!(chosen(3.0), None);
        let mut beside = instance_at(-10.0, 1.0);
        beside[0][3] = 12.0;
        assert_eq!(palette.choose(&view, &beside, 0), None);
        beside[0][3] = 11.0;
        assert_eq!(palette.choose(&view, &beside, 0), Some(1));
    }

    #[test]
    fn f07_models_by_number_value_and_chance() {
        assert_eq!(ModelChoice::Numbers(&[0, 2, 9]).model(2, 3), 2);
        assert_eq!(ModelChoice::Numbers(&[0]).model(5, 3), 0);
        assert_eq!(ModelChoice::Values(&[-3.0, 1.4, f32::NAN, 1e9]).model(1, 3), 1);
        let all = |seed| (0..3000).map(|i| ModelChoice::Random { seed }.model(i, 3)).collect::<Vec<_>>();
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
        for model in 0..3 {
            let count = all(7).iter().filter(|own| **own == model).count();
            assert!((900..1100).contains(&count), "{count}");
        }
    }

    #[test]
    fn c13_draws_follow_each_other() {
        let palette = palette();
        assert!(palette.check().is_ok());
        assert!(Palette::default().check().is_err());
        let levels: Vec<_> = palette.draws().map(|draw| (draw.model, draw.level)).collect();
        assert_eq!(levels, [(0, Some(0)), (0, Some(1)), (0, Some(2)), (0, None), (1, Some(0))]);
        assert_eq!(palette.draw_words()[3 * DRAW_WORDS..], [4, 0, 0, 0, 0, 6, 0, 18, 0, 0]);
        assert_eq!(palette.words().len(), 2 * 8 + 5);
    }
}
