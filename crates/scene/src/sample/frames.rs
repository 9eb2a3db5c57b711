//! Chooses the frame times: those at which something compiled changes, then a range or a rate.

use super::values::{custom_attributes, with_position_times};
use crate::{Attribute, Channel, Error, Mesh, NamedRange, PlacedObject, Scene, TIME_TOLERANCE};

/// The attributes that are compiled. Positions always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ChannelSelection {
    pub normals: bool,
    pub uvs: bool,
    pub colours: bool,
    /// Custom attributes that are constant within each part.
    pub attributes: bool,
}

impl Default for ChannelSelection {
    fn default() -> Self {
        ChannelSelection { normals: true, uvs: true, colours: true, attributes: true }
    }
}

/// A range of the animation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeRange {
    /// Frame indices, both ends included.
    Frames(usize, usize),
    /// Times in seconds, both ends included.
    Seconds(f64, f64),
}

/// Options for the choice of frame times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameOptions {
    /// The channels that are compiled, and therefore add frames.
    pub channels: ChannelSelection,
    /// Rate to resample to, in frames per second.
    pub fps: Option<f64>,
    /// Range to keep.
    pub range: Option<TimeRange>,
}

/// Largest number of frames.
pub const MAX_FRAMES: usize = 1 << 24;

/// Above this number of frames, those at which nothing changes are left out, if at most one in
/// [`MIN_FRAME_REDUCTION`] remains.
pub const LONG_ANIMATION_FRAMES: usize = 1 << 13;
/// See [`LONG_ANIMATION_FRAMES`].
pub const MIN_FRAME_REDUCTION: usize = 4;

/// The samples of a channel that become frames.
#[derive(Clone, Copy)]
enum SampleFilter {
    All,
    /// Those that differ from the sample before or after, and the first and the last.
    Changing,
}

/// Returns the time of every output frame, in seconds, ascending: the superset of the sample times of
/// everything that is compiled and really changes, with times closer than [`TIME_TOLERANCE`] merged; then
/// range, then rate. A scene in which nothing changes has one frame. PROMISE.md §4. `selected[i]` says
/// whether `placed[i]`'s mesh is compiled.
pub fn frame_times(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &[bool],
    options: &FrameOptions,
) -> Result<Vec<f64>, Error> {
    let mut times = sample_times(scene, placed, selected, options, SampleFilter::All)?;
    if times.len() > LONG_ANIMATION_FRAMES {
        // Samples that equal both neighbours add frames without content.
        let changing = sample_times(scene, placed, selected, options, SampleFilter::Changing)?;
        if changing.len() <= times.len() / MIN_FRAME_REDUCTION {
            times = changing;
        }
    }
    if let Some(fps) = options.fps {
        times = resample_ranges(&times, &scene.ranges, fps)?;
    }
    if let Some(range) = options.range {
        crop_to_range(&mut times, range)?;
    }
    Ok(times)
}

/// Returns the sample times of everything that is compiled and really changes, ascending, at least one.
fn sample_times(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &[bool],
    options: &FrameOptions,
    which: SampleFilter,
) -> Result<Vec<f64>, Error> {
    let SelectionDependencies { placed: needed, meshes } =
        SelectionDependencies::find(scene, placed, selected);
    let mut times = Vec::new();
    for (place, _) in placed.iter().zip(&needed).filter(|(_, needed)| **needed) {
        let node = &scene.nodes[place.node];
        if let Some(transform) = &node.transform {
            collect_times(&transform.local, which, &mut times)?;
            if let Some(inherits) = &transform.inherits {
                collect_times(inherits, which, &mut times)?;
            }
        }
        if let Some(visibility) = &node.visibility {
            collect_times(visibility, which, &mut times)?;
        }
    }
    // A camera is kept if it or its parent is selected.
    let stands = |i: usize| selected[i] || placed[i].parent.is_some_and(|parent| selected[parent]);
    for (i, place) in placed.iter().enumerate() {
        let camera = scene.nodes[place.node].camera.as_ref();
        if let Some(camera) = camera.filter(|_| options.channels.attributes && stands(i)) {
            collect_times(camera, which, &mut times)?;
        }
    }
    let mut fallback: Option<f64> = None;
    for (mesh, _) in scene.meshes.iter().zip(&meshes).filter(|(_, used)| **used) {
        if !mesh.positions.is_empty() {
            let first = mesh.positions.time(0);
            fallback = Some(fallback.map_or(first, |t: f64| t.min(first)));
        }
        collect_mesh(mesh, &options.channels, which, &mut times)?;
    }
    times.retain(|t| t.is_finite());
    times.sort_by(f64::total_cmp);
    // Exactly as a channel finds its samples: times that it takes for one must not become two.
    times.dedup_by(|b, a| *b <= *a + TIME_TOLERANCE);
    if times.is_empty() {
        times.push(fallback.filter(|t| t.is_finite()).unwrap_or(0.0));
    }
    Ok(times)
}

/// The objects and meshes that the selection depends on.
struct SelectionDependencies {
    /// By placed object: `true` if it is selected or above one that is.
    placed: Vec<bool>,
    /// By mesh: `true` if it is used.
    meshes: Vec<bool>,
}

impl SelectionDependencies {
    fn find(scene: &Scene, placed: &[PlacedObject], selected: &[bool]) -> SelectionDependencies {
        let mut needed = vec![false; placed.len()];
        let mut meshes = vec![false; scene.meshes.len()];
        for (i, _) in placed.iter().enumerate().filter(|(i, _)| selected[*i]) {
            let mut at = Some(i);
            while let Some(j) = at.filter(|&j| !needed[j]) {
                needed[j] = true;
                at = placed[j].parent;
            }
            if let Some(mesh) = scene.nodes[placed[i].node].mesh {
                meshes[mesh] = true;
            }
        }
        SelectionDependencies { placed: needed, meshes }
    }
}

/// Adds the times at which the compiled channels of a mesh change.
fn collect_mesh(
    mesh: &Mesh,
    channels: &ChannelSelection,
    which: SampleFilter,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    collect_times(&mesh.positions, which, times)?;
    collect_times(&with_position_times(&mesh.face_counts, mesh), which, times)?;
    collect_times(&with_position_times(&mesh.face_indices, mesh), which, times)?;
    for set in &mesh.face_sets {
        collect_times(&with_position_times(&set.faces, mesh), which, times)?;
    }
    if let (true, Some(attribute)) = (channels.normals, &mesh.normals) {
        collect_attribute(attribute, mesh, times)?;
    }
    if channels.uvs {
        for attribute in &mesh.uvs {
            collect_attribute(attribute, mesh, times)?;
        }
    }
    if channels.colours {
        for attribute in &mesh.colours {
            collect_attribute(attribute, mesh, times)?;
        }
    }
    if channels.attributes {
        for custom in custom_attributes(mesh) {
            collect_attribute(&custom.attribute, mesh, times)?;
        }
    }
    Ok(())
}

/// Keeps only the times of a range.
fn crop_to_range(times: &mut Vec<f64>, range: TimeRange) -> Result<(), Error> {
    match range {
        TimeRange::Frames(first, last) => {
            if first > last || first >= times.len() {
                return Err(Error::misuse(format!(
                    "--range {first}:{last}: the animation has frames 0 to {}",
                    times.len() - 1
                )));
            }
            times.truncate(last.saturating_add(1));
            times.drain(..first);
        }
        TimeRange::Seconds(first, last) => {
            let (start, end) = (times[0], times[times.len() - 1]);
            times.retain(|&t| t >= first - TIME_TOLERANCE && t <= last + TIME_TOLERANCE);
            if times.is_empty() {
                return Err(Error::misuse(format!(
                    "--range {first}s:{last}s: the animation runs from {start} s to {end} s"
                )));
            }
        }
    }
    Ok(())
}

/// Resamples each range separately, since nothing lies between one and the next.
fn resample_ranges(times: &[f64], ranges: &[NamedRange], fps: f64) -> Result<Vec<f64>, Error> {
    let mut out = Vec::new();
    let mut left = times;
    for range in ranges {
        let before = left.partition_point(|t| *t < range.start - TIME_TOLERANCE);
        let (own, rest) = left.split_at(before);
        if !own.is_empty() {
            out.extend(resample(own, fps)?);
        }
        left = rest;
    }
    if !left.is_empty() {
        out.extend(resample(left, fps)?);
    }
    Ok(out)
}

/// Returns the name, first frame and number of frames of each range, for frames at `times`. Ranges without
/// frames are left out.
pub fn frame_ranges(ranges: &[NamedRange], times: &[f64]) -> Vec<(String, usize, usize)> {
    let frames = ranges.iter().map(|range| {
        let first = times.partition_point(|t| *t < range.start - TIME_TOLERANCE);
        let end = times.partition_point(|t| *t <= range.end + TIME_TOLERANCE);
        (range.name.clone(), first, end.saturating_sub(first))
    });
    frames.filter(|(_, _, count)| *count > 0).collect()
}

fn resample(times: &[f64], fps: f64) -> Result<Vec<f64>, Error> {
    let duration = times[times.len() - 1] - times[0];
    let count = (duration * fps + 1e-6).floor() + 1.0;
    if !(fps.is_finite() && fps > 0.0 && count <= MAX_FRAMES as f64) {
        return Err(Error::misuse(format!(
            "--fps {fps}: gives no usable number of frames over {duration} s"
        )));
    }
    Ok((0..count as usize).map(|i| times[0] + i as f64 / fps).collect())
}

/// Adds the sample times of a channel that changes.
fn collect_times<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    which: SampleFilter,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    if channel.len() <= 1 || channel.is_constant() {
        return Ok(());
    }
    match which {
        // Both ends keep the duration. A channel that bends can change between equal samples.
        SampleFilter::Changing if !channel.has_own_interpolation() => {
            push_times(channel, [0, channel.len() - 1].into_iter(), times)?;
            collect_changes(channel, times)
        }
        _ => push_times(channel, 0..channel.len(), times),
    }
}

/// Adds the times of samples that differ from the one before or after: between equal samples nothing changes.
fn collect_changes<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    let n = channel.len();
    let differ = |i: usize| channel.identity(i) != channel.identity(i + 1);
    let changes = (0..n).filter(|&i| i > 0 && differ(i - 1) || i + 1 < n && differ(i));
    push_times(channel, changes, times)
}

fn push_times<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    samples: impl Iterator<Item = usize>,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    if times.len() + channel.len() > 4 * MAX_FRAMES {
        // Many objects share times: merge before giving up.
        times.sort_by(f64::total_cmp);
        // Exactly as a channel finds its samples: times that it takes for one must not become two.
        times.dedup_by(|b, a| *b <= *a + TIME_TOLERANCE);
    }
    if times.len() + channel.len() > 8 * MAX_FRAMES {
        return Err(Error::Limit {
            path: Default::default(),
            what: "frames".into(),
            asked: (times.len() + channel.len()) as u64,
            allowed: MAX_FRAMES as u64,
        });
    }
    times.extend(samples.map(|i| channel.time(i)));
    Ok(())
}

fn collect_attribute<T: Clone + Send + Sync + 'static>(
    attribute: &Attribute<T>,
    mesh: &Mesh,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    collect_changes(&with_position_times(&attribute.values, mesh), times)?;
    if let Some(indices) = &attribute.indices {
        collect_changes(&with_position_times(indices, mesh), times)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::World;
    use super::*;
    use crate::{TimeSampling, Transform};
    use glam::{DMat4, DVec3};

    #[test]
    fn rate_and_range() {
        let times: Vec<f64> = (0..10).map(|i| i as f64 / 24.0).collect();
        let twice = resample(&times, 48.0).unwrap();
        assert_eq!(twice.len(), 19);
        assert!(resample(&times, 0.0).is_err());
    }

    fn moving(sampling: TimeSampling, samples: usize) -> Channel<[f32; 3]> {
        Channel::in_memory(sampling, (0..samples).map(|i| vec![[i as f32, 0.0, 0.0]; 3]).collect())
    }

    fn scene(positions: Channel<[f32; 3]>, matrix: Channel<DMat4>) -> Scene {
        let node = |name: &str, parent: Option<usize>| crate::Node {
            name: name.into(),
            path: format!("/{name}"),
            parent,
            kind: crate::NodeKind::Xform,
            transform: None,
            visibility: None,
            mesh: None,
            instance_of: None,
            samples: 1,
            camera: None,
            user_properties: Vec::new(),
        };
        let mut scene = Scene::default();
        let transform = Transform { local: matrix.into(), inherits: None };
        scene.nodes.push(crate::Node { transform: Some(transform), ..node("top", None) });
        scene.nodes.push(crate::Node {
            mesh: Some(0),
            kind: crate::NodeKind::PolyMesh,
            ..node("mesh", Some(0))
        });
        scene.meshes.push(Mesh {
            path: "/top/mesh".into(),
            positions,
            face_counts: Channel::constant(vec![3]),
            face_indices: Channel::constant(vec![0, 1, 2]),
            winding: crate::Winding::CounterClockwise,
            topology: crate::Topology::Homogeneous,
            normals: None,
            uvs: Vec::new(),
            colours: Vec::new(),
            velocities: None,
            face_sets: Vec::new(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        });
        scene
    }

    fn times(scene: &Scene, options: &FrameOptions) -> Vec<f64> {
        let placed = scene.expand().unwrap();
        frame_times(scene, &placed, &[false, true], options).unwrap()
    }

    #[test]
    fn frames_are_the_superset_of_all_times_that_bring_change() {
        // The mesh at 0, 1/4, 1/2 … s; its transform at 0, 1/3, 2/3, 1 s and slightly off 1/2 s.
        let step = 0.25;
        let matrix =
            |n: usize| (0..n).map(|i| vec![DMat4::from_translation(DVec3::X * i as f64)]).collect::<Vec<_>>();
        let irregular = TimeSampling::Acyclic { times: vec![0.0, 1.0 / 3.0, 0.5 + 4e-6, 2.0 / 3.0, 1.0] };
        let both = scene(
            moving(TimeSampling::Uniform { start: 0.0, step }, 5),
            Channel::in_memory(irregular.clone(), matrix(5)),
        );
        let expected = [0.0, 0.25, 1.0 / 3.0, 0.5, 2.0 / 3.0, 0.75, 1.0];
        let found = times(&both, &FrameOptions::default());
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < TIME_TOLERANCE), "{found:?}");
        let placed = both.expand().unwrap();
        let mut world = World::new(&both, &placed).unwrap();
        world.evaluate(0.25).unwrap();
        assert!((world.matrix[1].w_axis.x - 0.75).abs() < 1e-12, "a quarter lies at 3/4 of the first third");
        // Samples without a change add no frames.
        struct Same(Channel<DMat4>);
        impl crate::Source<DMat4> for Same {
            fn len(&self) -> usize {
                self.0.len()
            }
            fn identity(&self, _: usize) -> u128 {
                7
            }
            fn read(&self, _: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
                self.0.read(0, out)
            }
        }
        let still = Channel::new(
            irregular.clone().into(),
            std::sync::Arc::new(Same(Channel::in_memory(irregular, matrix(5)))),
        );
        let mesh_only = scene(moving(TimeSampling::Uniform { start: 0.0, step }, 5), still);
        assert_eq!(times(&mesh_only, &FrameOptions::default()).len(), 5);
        let range = FrameOptions { range: Some(TimeRange::Frames(1, 3)), ..FrameOptions::default() };
        assert_eq!(times(&mesh_only, &range), [0.25, 0.5, 0.75]);
        let rate = FrameOptions { fps: Some(8.0), ..FrameOptions::default() };
        assert_eq!(times(&mesh_only, &rate).len(), 9);
    }

    #[test]
    fn long_stretches_without_a_change_bring_no_frames() {
        /// A point that moves after each of these samples.
        struct Steps(Vec<usize>);
        impl crate::Source<[f32; 3]> for Steps {
            fn len(&self) -> usize {
                20_000
            }
            fn identity(&self, i: usize) -> u128 {
                self.0.partition_point(|after| *after < i) as u128
            }
            fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
                *out = vec![[self.identity(i) as f32, 0.0, 0.0]; 3];
                Ok(())
            }
        }
        let found = |after: Vec<usize>| {
            let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
            let points = Channel::new(sampling.into(), std::sync::Arc::new(Steps(after)));
            times(&scene(points, Channel::constant(vec![DMat4::IDENTITY])), &FrameOptions::default())
        };
        assert_eq!(found(vec![99, 5000]), [0.0, 99.0, 100.0, 5000.0, 5001.0, 19_999.0]);
        // All frames stay if most of them are needed.
        assert_eq!(found((0..6000).collect()).len(), 20_000);
    }
}
