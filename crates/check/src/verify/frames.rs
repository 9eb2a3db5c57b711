//! Second pass: decodes and compares every frame.

use crate::reopen::max_decoders;
use crate::verify::channels::Normals;
use crate::verify::compare::{AttributeComparison, CornerSelection};
use crate::verify::exact::{CornerPair, MapCorrespondence};
use crate::verify::meshes::{DecodedMesh, SourceMesh};
use crate::verify::nearest::NearestMatching;
use crate::verify::plan::{FilePlacement, Findings, FrameState, MeshPair, Verification, Worker, fail};
use crate::verify::polygons::{Polygons, is_usable};
use crate::verify::report::{Failures, Stats, beyond};
use crate::verify::source_transforms::SourceTransforms;
use crate::verify::survey::transform_point;
use crate::verify::{locators, source_map, surface};
use glam::{DMat4, DVec3};
use meshreel::{FrameDecoder, FrameKind};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_scene::sample::World;
use meshreel_scene::{Error, sample};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of frames of one job: half of those from key to key, all of which are decoded to begin with
/// one, which takes a tenth of the time to compare them.
const JOB_FRAMES: usize = 8;

impl Verification<'_> {
    /// Compares all frames. Memory depends on the number of jobs at work, not on the length of the animation.
    pub fn compare_frames(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(Vec<Stats>, Vec<locators::LocatorErrors>, Failures), Error> {
        let mut stats = vec![Stats::default(); self.file_placements.len()];
        let mut locators = vec![locators::LocatorErrors::default(); self.locator_nodes.len()];
        let mut failures = Failures::default();
        let jobs = self.jobs();
        let workers = Mutex::new(Vec::new());
        let at_once = max_decoders(self.reel);
        let done = AtomicU64::new(0);
        let total = self.reel.frame_count() as u64;
        // Last frame of the previous job, which is compared with the first of the next once both are known.
        let mut last: Option<FrameState> = None;
        let mut moment = SourceTransforms::new(self.survey.scene, &self.survey.placed)?;
        progress(0, total);
        for window in jobs.chunks(at_once) {
            let results: Vec<Result<Findings, Error>> = window
                .par_iter()
                .map(|job| {
                    let idle = workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let mut worker = match idle {
                        Some(worker) => worker,
                        None => Worker::new(self)?,
                    };
                    let mut found = Findings {
                        stats: vec![Stats::default(); self.file_placements.len()],
                        locators: vec![locators::LocatorErrors::default(); self.locator_nodes.len()],
                        failures: Failures::default(),
                        end_frames: [None, None],
                    };
                    for frame in job.clone() {
                        worker.compare_frame(frame, &mut found)?;
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                    }
                    found.end_frames[1] = worker.previous.take();
                    workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                    Ok(found)
                })
                .collect();
            // In the order of frames, so that sums and messages do not depend on threads.
            for found in results {
                let mut found = found?;
                if let (Some(before), Some(first)) = (last.take(), found.end_frames[0].take()) {
                    let between = &self.between;
                    between.compare(self, &mut moment, &before, &first, &mut found)?;
                }
                last = found.end_frames[1].take();
                stats.iter_mut().zip(&found.stats).for_each(|(all, part)| all.append(part));
                let all = locators.iter_mut().zip(&found.locators);
                all.for_each(|(all, part)| all.append(part));
                failures.append(found.failures);
            }
        }
        Ok((stats, locators, failures))
    }

    /// Returns runs of frames. Those of chains begin at index frames, since all frames from there on are
    /// decoded to begin with one.
    fn jobs(&self) -> Vec<Range<usize>> {
        let count = self.reel.frame_count();
        let chains = self.reel.description().meshes.iter().any(|mesh| mesh.chain_coding().is_some());
        let mut jobs = Vec::new();
        let mut begin = 0;
        for frame in 1..=count {
            let begins = !chains || frame < count && self.reel.frame_kind(frame) == FrameKind::Index;
            if frame == count || frame - begin >= JOB_FRAMES && begins {
                jobs.push(begin..frame);
                begin = frame;
            }
        }
        jobs
    }
}

impl<'a> Worker<'a> {
    fn new(plan: &'a Verification<'a>) -> Result<Worker<'a>, Error> {
        Ok(Worker {
            plan,
            decoder: FrameDecoder::new(plan.reel).map_err(error)?,
            world: World::new(plan.survey.scene, &plan.survey.placed)?,
            moment: SourceTransforms::new(plan.survey.scene, &plan.survey.placed)?,
            previous: None,
        })
    }

    /// Decodes and compares a frame, and what lies between it and the previous one.
    fn compare_frame(&mut self, frame: usize, found: &mut Findings) -> Result<(), Error> {
        self.decoder.decode(frame).map_err(error)?;
        let plan = self.plan;
        let Some(expected) = plan.frames[frame] else {
            return Ok(());
        };
        let time = plan.survey.times[expected];
        self.world.evaluate(time)?;
        locators::compare(
            plan.survey,
            &plan.locator_nodes,
            &self.decoder,
            &self.world,
            [frame, expected],
            &mut found.locators,
            &mut found.failures,
        );
        let mut seen =
            (plan.between.keeps_previous_frame()).then(|| FrameState::new(plan, &self.decoder, frame));
        for (u, unit) in plan.mesh_pairs.iter().enumerate() {
            let visible = self.visible_placements(unit, frame, expected, found)?;
            if !visible.is_empty() && !unit.has_wrong_map {
                let (positions, points) = self.compare_mesh(unit, &visible, frame, time, found)?;
                if let Some(seen) = &mut seen {
                    seen.keep_positions(plan, u, positions, points);
                }
            }
        }
        if let Some(seen) = seen {
            match self.previous.take() {
                Some(before) => {
                    plan.between.compare(plan, &mut self.moment, &before, &seen, found)?;
                }
                // The previous frame belongs to another job.
                None => found.end_frames[0] = Some(seen.clone()),
            }
            self.previous = Some(seen);
        }
        Ok(())
    }

    /// Returns the placements of a mesh that are visible in the source and in the file; those visible in only
    /// one of them are failures. `expected`: the frame of the source.
    fn visible_placements(
        &self,
        unit: &MeshPair,
        frame: usize,
        expected: usize,
        found: &mut Findings,
    ) -> Result<Vec<usize>, Error> {
        let plan = self.plan;
        let mut visible = Vec::new();
        for &p in &unit.placements {
            let Some(show) = &plan.file_placements[p] else { continue };
            let shown = self.decoder.visible(show.node);
            match (plan.survey.placements[p].visible.get(expected), shown) {
                (true, true) => visible.push(p),
                (false, false) => {}
                (true, false) => {
                    let mesh = &plan.survey.scene.meshes[unit.mesh];
                    let mut points = Vec::new();
                    sample::positions_at(mesh, plan.survey.times[expected], &mut points)?;
                    if !points.is_empty() {
                        fail(plan, found, p, frame, "is hidden, but visible in the source".into());
                    }
                }
                (false, true) => {
                    if self.decoder.mesh(unit.record).vertex_count() > 0 {
                        fail(plan, found, p, frame, "is shown, but hidden in the source".into());
                    }
                }
            }
        }
        Ok(visible)
    }

    /// Compares one mesh at all places where it is visible. Returns the decoded positions and, if they move,
    /// the source's points.
    fn compare_mesh(
        &self,
        unit: &MeshPair,
        visible: &[usize],
        frame: usize,
        time: f64,
        found: &mut Findings,
    ) -> Result<(Vec<f32>, Vec<[f32; 3]>), Error> {
        let plan = self.plan;
        let mesh = &plan.survey.scene.meshes[unit.mesh];
        let constant = plan.survey.meshes[unit.mesh].as_ref().and_then(|f| f.constant.as_deref());
        let points = match constant {
            Some(points) => Cow::Borrowed(points),
            None => {
                let mut points = Vec::new();
                sample::positions_at(mesh, time, &mut points)?;
                Cow::Owned(points)
            }
        };
        let source = SourceMesh { mesh, time, points };
        let view = self.decoder.mesh(unit.record);
        let mut positions = vec![0.0; 3 * view.vertex_count()];
        view.positions_into(&mut positions).map_err(error)?;
        let decoded = DecodedMesh { view, positions };
        for &p in visible {
            found.stats[p].vertices = decoded.view.vertex_count();
        }
        let blended = plan.reel.description().meshes[unit.record].remeshed_blend_frames.unwrap_or(0);
        if frame + blended as usize >= plan.reel.frame_count() {
            return Ok(Default::default());
        }
        visible.iter().for_each(|&p| found.stats[p].frames += 1);
        let mesh = MeshFrame { mesh_pair: unit, visible, frame, source: &source, decoded: &decoded };
        match &unit.exact {
            _ if unit.is_remeshed => self.compare_surfaces(&mesh, found),
            _ if unit.particles.is_some() => self.compare_particles(&mesh, found),
            Some(exact) => self.compare_exact(&mesh, exact, found),
            None => {
                self.check_source_map(&mesh, found)?;
                self.compare_nearest(&mesh, found)
            }
        }?;
        let points = match source.points {
            Cow::Owned(points) => points,
            Cow::Borrowed(_) => Vec::new(),
        };
        Ok((decoded.positions, points))
    }

    /// Returns the transforms of a placement in this frame; `None` if the source has no finite transform for
    /// it.
    fn placement_transforms(&self, placement: usize) -> Option<PlacementTransforms<'_>> {
        let show = self.plan.file_placements[placement].as_ref()?;
        let source = &self.world.matrix[self.plan.survey.placements[placement].placed];
        let is_finite = source.is_finite();
        is_finite.then(|| PlacementTransforms {
            placement: show,
            source,
            decoded: self.decoder.world(show.node),
        })
    }

    /// Compares points without faces, and their attributes.
    fn compare_particles(&self, mesh: &MeshFrame<'_>, found: &mut Findings) -> Result<(), Error> {
        let &MeshFrame { mesh_pair: unit, visible, frame, source, decoded } = mesh;
        let Some(particles) = &unit.particles else {
            return Ok(());
        };
        let pairs = match particles.pairs(source, decoded)? {
            Ok(pairs) => pairs,
            Err(what) => {
                fail(self.plan, found, visible[0], frame, what);
                return Ok(());
            }
        };
        for &p in visible {
            let Some(place) = self.placement_transforms(p) else { continue };
            let (mut worst, mut at) = (0.0f64, 0);
            for (v, &point) in pairs.point.iter().enumerate() {
                let from = source.points[point as usize];
                if !is_usable(from) {
                    continue;
                }
                let distance = (place.decoded_point(decoded, v) - place.source_point(from)).length();
                found.stats[p].distance(distance);
                if beyond(distance, worst) {
                    (worst, at) = (distance, v);
                }
            }
            if beyond(worst, place.placement.tolerance) {
                let what = format!(
                    "point {at} is {worst:e} off, {:e} is allowed: it is point {} of the source",
                    place.placement.tolerance, pairs.point[at]
                );
                fail(self.plan, found, p, frame, what);
            }
            let placed = match unit.baked {
                true => Some(self.world_change(p, frame)?),
                false => None,
            };
            let stats = &mut found.stats[p];
            for what in particles.compare((source, decoded), &pairs, placed, stats)? {
                fail(self.plan, found, p, frame, what);
            }
        }
        Ok(())
    }

    /// Returns the source's matrix of a placement in a frame of the file, and its change per second, from the
    /// visible frame before to the one after.
    pub fn world_change(&self, placement: usize, frame: usize) -> Result<[DMat4; 2], Error> {
        let plan = self.plan;
        let shown =
            &plan.mesh_pairs[plan.file_placements[placement].as_ref().map_or(0, |show| show.mesh_pair)].shown;
        // A hidden frame reads the last one before it that shows the mesh.
        let read = |frame: usize| shown.iter().rev().find(|f| **f <= frame).copied().unwrap_or(frame);
        let last = plan.reel.frame_count().saturating_sub(1);
        let (before, after) = (read(frame.saturating_sub(1)), read((frame + 1).min(last)));
        let before = if frame == 0 || before > frame || !shown.contains(&before) { frame } else { before };
        let mut world = World::new(plan.survey.scene, &plan.survey.placed)?;
        let placed = plan.survey.placements[placement].placed;
        let mut at = |frame: usize| -> Result<(DMat4, f64), Error> {
            let time = plan.frames[frame].map_or(0.0, |expected| plan.survey.times[expected]);
            world.evaluate(time)?;
            Ok((world.matrix[placed], time))
        };
        let ((first, start), (second, end)) = (at(before)?, at(after)?);
        let change = match end > start {
            true => (second - first) * (1.0 / (end - start)),
            false => DMat4::ZERO,
        };
        Ok([self.world.matrix[placed], change])
    }

    /// Checks a frame's own source map: the points and faces that `extract` returns.
    fn check_source_map(&self, mesh: &MeshFrame<'_>, found: &mut Findings) -> Result<(), Error> {
        let plan = self.plan;
        let &MeshFrame { mesh_pair: unit, frame, source, decoded, .. } = mesh;
        let here = mesh.visible[0];
        let (Some(map), Some(_)) =
            (unit.frame_maps.as_ref().and_then(|map| map.frame_map(frame)), &plan.file_placements[here])
        else {
            return Ok(());
        };
        let (view, points) = (&decoded.view, &source.points);
        let fits = map.vertex_point.len() == view.vertex_count()
            && 3 * map.triangle_face.len() == view.indices().len()
            && map.points as usize == points.len();
        if !fits {
            let what = "its map back to the source does not fit its vertices, triangles and points";
            fail(plan, found, here, frame, what.into());
            return Ok(());
        }
        let mut faces = sample::Faces::default();
        sample::faces_at(source.mesh, source.time, &mut faces)?;
        let winding = source.mesh.winding;
        if let Some(what) = source_map::faces(map, view.indices(), &faces, winding, unit.flip) {
            fail(plan, found, here, frame, what);
        }
        let Some(place) = self.placement_transforms(here) else {
            return Ok(());
        };
        for (v, &p) in map.vertex_point.iter().enumerate() {
            let point = points[p as usize];
            let off = (place.decoded_point(decoded, v) - place.source_point(point)).length();
            if is_usable(point) && beyond(off, place.placement.tolerance) {
                let what = format!(
                    "point {p} comes back {off:e} off, {:e} is allowed: its map back to the source is wrong",
                    place.placement.tolerance
                );
                fail(plan, found, here, frame, what);
                break;
            }
        }
        Ok(())
    }

    /// Compares a mesh with a source map: topology, welded points, positions, attributes.
    fn compare_exact(
        &self,
        mesh: &MeshFrame<'_>,
        exact: &MapCorrespondence,
        found: &mut Findings,
    ) -> Result<(), Error> {
        if let Some(what) = changed_topology(mesh, exact)? {
            fail(self.plan, found, mesh.visible[0], mesh.frame, what);
            return Ok(());
        }
        if let Some(what) = cracks(mesh.decoded, exact) {
            fail(self.plan, found, mesh.visible[0], mesh.frame, what);
        }
        for &p in mesh.visible {
            if let Some(place) = self.placement_transforms(p) {
                self.exact_positions(mesh, exact, p, &place, found);
            }
        }
        let attributes = mesh.attributes(self, &exact.polygons, &exact.groups, None);
        attributes.compare(mesh.visible, found, &mut |corners, _, difference| {
            let pairs = match corners {
                CornerSelection::All => &exact.pairs,
                CornerSelection::OnePerGroup => &exact.smooth_pairs,
            };
            largest_of_pairs(pairs, &exact.alternative_pairs, difference)
        })
    }

    /// Compares each vertex of a placement with its point.
    fn exact_positions(
        &self,
        mesh: &MeshFrame<'_>,
        exact: &MapCorrespondence,
        placement: usize,
        place: &PlacementTransforms<'_>,
        found: &mut Findings,
    ) {
        let points = &mesh.source.points;
        let source: [[f64; 4]; 3] = std::array::from_fn(|r| place.source.row(r).to_array());
        let (mut worst, mut at, mut squares, mut count) = (0.0f64, 0, 0.0, 0);
        let vertices = mesh.decoded.positions.as_chunks::<3>().0;
        for (v, (&point, &decoded)) in exact.vertex_point.iter().zip(vertices).enumerate() {
            let from = points[point as usize];
            if !is_usable(from) {
                continue;
            }
            let off = transform_point(&place.decoded, convert::vector(decoded))
                - transform_point(&source, convert::vector(from));
            let square = off.length_squared();
            squares += square;
            count += 1;
            if beyond(square, worst) {
                (worst, at) = (square, v);
            }
        }
        let worst = worst.sqrt();
        found.stats[placement].distances(worst, squares, count);
        if beyond(worst, place.placement.tolerance) {
            let what = format!(
                "vertex {at}, point {} of the source, is {worst:e} off, {:e} is allowed",
                exact.vertex_point[at], place.placement.tolerance
            );
            fail(self.plan, found, placement, mesh.frame, what);
        }
    }

    /// Compares a re-meshed surface with the source's: vertices and triangle centres of each with the nearest
    /// place on the other.
    fn compare_surfaces(&self, mesh: &MeshFrame<'_>, found: &mut Findings) -> Result<(), Error> {
        let &MeshFrame { source, decoded, .. } = mesh;
        let mut faces = sample::Faces::default();
        sample::faces_at(source.mesh, source.time, &mut faces)?;
        let polygons = Polygons::new(&faces, source.points.len(), source.mesh.winding);
        let all_usable = source.points.iter().all(|p| is_usable(*p));
        for &p in mesh.visible {
            let Some(place) = self.placement_transforms(p) else { continue };
            let right: Vec<DVec3> = source.points.iter().map(|p| place.source_point(*p)).collect();
            let got: Vec<DVec3> =
                (0..decoded.view.vertex_count()).map(|v| place.decoded_point(decoded, v)).collect();
            let (theirs, points) = surface::source_faces(&polygons, &source.points, &right);
            let (ours, vertices) = surface::file_faces(decoded.view.indices(), &got);
            let ways =
                [("vertex or triangle", vertices, theirs), ("point or triangle of the source", points, ours)];
            // Vertices of unusable points may be anywhere, so distances from vertices are not compared.
            for (what, places, faces) in ways.into_iter().skip(usize::from(!all_usable)) {
                let stats = &mut found.stats[p];
                let mut worst = 0.0;
                for place in places {
                    let distance = faces.distance(place);
                    stats.distance(distance);
                    if beyond(distance, worst) {
                        worst = distance;
                    }
                }
                if beyond(worst, place.placement.tolerance) {
                    let what = format!(
                        "a {what} is {worst:e} from the other surface, {:e} is allowed",
                        place.placement.tolerance
                    );
                    fail(self.plan, found, p, mesh.frame, what);
                }
            }
        }
        Ok(())
    }

    /// Compares a mesh without a source map, or with changing faces: nearest points, faces, attributes.
    fn compare_nearest(&self, mesh: &MeshFrame<'_>, found: &mut Findings) -> Result<(), Error> {
        let &MeshFrame { mesh_pair: unit, source, decoded, .. } = mesh;
        let mut faces = sample::Faces::default();
        sample::faces_at(source.mesh, source.time, &mut faces)?;
        let polygons = Polygons::new(&faces, source.points.len(), source.mesh.winding);
        let indices = decoded.view.indices();
        let all_usable = source.points.iter().all(|p| is_usable(*p));
        let (groups, lead_groups) = self.smoothing_groups(mesh, &polygons)?;
        for &p in mesh.visible {
            let Some(place) = self.placement_transforms(p) else { continue };
            let right: Vec<[f64; 3]> = (source.points.iter())
                .map(|&q| match is_usable(q) {
                    true => place.source_point(q).to_array(),
                    false => [f64::NAN; 3],
                })
                .collect();
            let got: Vec<[f64; 3]> = (0..decoded.view.vertex_count())
                .map(|v| place.decoded_point(decoded, v).to_array())
                .collect();
            let pairing = NearestMatching::new(&right, &got, indices, &polygons, place.placement.tolerance);
            let [there, back] = pairing.distances();
            // Vertices of unusable points may be anywhere, so distances from vertices are not compared.
            let ways = [("vertex", there), ("point", back)];
            for (what, way) in &ways[usize::from(!all_usable)..] {
                let stats = &mut found.stats[p];
                stats.count += way.count;
                stats.squares += way.squares;
                stats.max = stats.max.max(way.max);
                if way.unmatched > 0 {
                    let what = format!("nothing to compare {} {what} positions with", way.unmatched);
                    fail(self.plan, found, p, mesh.frame, what);
                } else if beyond(way.max, place.placement.tolerance) {
                    let what = format!(
                        "{what} {} is {:e} from the nearest, {:e} is allowed",
                        way.worst, way.max, place.placement.tolerance
                    );
                    fail(self.plan, found, p, mesh.frame, what);
                }
            }
            if all_usable && let Err(what) = pairing.compare_faces(indices, unit.flip) {
                fail(self.plan, found, p, mesh.frame, what);
            }
            let attributes = mesh.attributes(self, &polygons, &groups, lead_groups.as_ref());
            let mut find = |_, limit: f64, difference: &dyn Fn(u32, u32) -> Option<f64>| {
                pairing.largest_difference(limit, difference)
            };
            attributes.compare(&[p], found, &mut find)?;
        }
        Ok(())
    }

    /// Returns the smoothing groups of computed normals: by the points of this frame, and by those of the
    /// first frame of its run, if that is another.
    fn smoothing_groups(
        &self,
        mesh: &MeshFrame<'_>,
        polygons: &Polygons,
    ) -> Result<(SmoothingGroups, Option<SmoothingGroups>), Error> {
        let &MeshFrame { mesh_pair: unit, source, .. } = mesh;
        if unit.channels.normals != Some(Normals::Computed) {
            return Ok(Default::default());
        }
        let angle = self.plan.asked.smooth_angle;
        let groups = polygons.groups(&source.points, angle);
        let mut lead_groups = None;
        if let Some(&time) = unit.run_starts.get(&mesh.frame).filter(|t| **t != source.time) {
            let mut points = Vec::new();
            sample::positions_at(source.mesh, time, &mut points)?;
            if points.len() == source.points.len() {
                lead_groups = Some(polygons.groups(&points, angle));
            }
        }
        Ok((groups, lead_groups))
    }
}

/// Smoothing group of each corner, and their number.
type SmoothingGroups = (Vec<u32>, usize);

/// A mesh of the file and its counterpart in the source, in one frame.
struct MeshFrame<'b> {
    mesh_pair: &'b MeshPair,
    /// Placements that are visible.
    visible: &'b [usize],
    frame: usize,
    source: &'b SourceMesh<'b>,
    decoded: &'b DecodedMesh<'b>,
}

impl<'b> MeshFrame<'b> {
    fn attributes(
        &self,
        worker: &'b Worker<'b>,
        polygons: &'b Polygons,
        groups: &'b SmoothingGroups,
        lead_groups: Option<&'b SmoothingGroups>,
    ) -> AttributeComparison<'b> {
        let &MeshFrame { mesh_pair: unit, frame, source, decoded, .. } = self;
        AttributeComparison { worker, mesh_pair: unit, frame, source, decoded, polygons, groups, lead_groups }
    }
}

/// A placement in one frame: its transforms in the source and in the file.
struct PlacementTransforms<'b> {
    placement: &'b FilePlacement,
    /// The source's transform from object to world space.
    source: &'b DMat4,
    /// The file's transform from object to world space, by rows.
    decoded: [[f64; 4]; 3],
}

impl PlacementTransforms<'_> {
    /// Transforms a point of the source to world space.
    fn source_point(&self, point: [f32; 3]) -> DVec3 {
        self.source.transform_point3(convert::vector(point))
    }

    /// Transforms a decoded vertex to world space.
    fn decoded_point(&self, mesh: &DecodedMesh<'_>, vertex: usize) -> DVec3 {
        transform_point(&self.decoded, mesh.position(vertex))
    }
}

/// Returns a message if the source has other points or faces in this frame than in the map.
fn changed_topology(mesh: &MeshFrame<'_>, exact: &MapCorrespondence) -> Result<Option<String>, Error> {
    let &MeshFrame { mesh_pair: unit, source, .. } = mesh;
    if source.points.len() != exact.polygons.points {
        return Ok(Some(format!(
            "{} points where the file has {}: a mesh that changes like this cannot be kept by its method",
            source.points.len(),
            exact.polygons.points
        )));
    }
    let constant = source.mesh.face_counts.is_constant() && source.mesh.face_indices.is_constant();
    if mesh.frame != unit.first_shown && !constant {
        let mut faces = sample::Faces::default();
        sample::faces_at(source.mesh, source.time, &mut faces)?;
        if faces != unit.faces {
            return Ok(Some("the faces of the source have changed, the file's have not".into()));
        }
    }
    Ok(None)
}

/// Returns a message if vertices of welded points are not bit-equal.
fn cracks(decoded: &DecodedMesh<'_>, exact: &MapCorrespondence) -> Option<String> {
    let bits = |v: u32| [0, 1, 2].map(|k| decoded.positions[3 * v as usize + k].to_bits());
    let cracks = exact.weld.iter().filter(|(v, earlier)| bits(*v) != bits(*earlier));
    cracks.clone().next().map(|(v, earlier)| {
        format!(
            "{} vertices have left points they belong to, such as vertex {v} of point {} and vertex {earlier} of point {}",
            cracks.count(),
            exact.vertex_point[*v as usize],
            exact.vertex_point[*earlier as usize]
        )
    })
}

/// Returns the largest difference of all pairs of vertex and corner, and its vertex.
fn largest_of_pairs(
    pairs: &[CornerPair],
    either: &[Vec<CornerPair>],
    difference: &dyn Fn(u32, u32) -> Option<f64>,
) -> Option<(f64, u32)> {
    let mut worst: Option<(f64, u32)> = None;
    for pair in pairs {
        if let Some(d) = difference(pair.vertex, pair.corner)
            && worst.is_none_or(|(w, _)| beyond(d, w))
        {
            worst = Some((d, pair.vertex));
        }
    }
    for list in either {
        // A corner without a value may be the vertex's own, so then nothing is compared.
        let all = list.iter().map(|pair| difference(pair.vertex, pair.corner));
        let all: Option<Vec<f64>> = all.collect();
        let least = all.and_then(|all| all.into_iter().reduce(f64::min));
        if let Some(d) = least
            && worst.is_none_or(|(w, _)| beyond(d, w))
        {
            worst = Some((d, list[0].vertex));
        }
    }
    worst
}
