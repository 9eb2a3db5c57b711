"""What Blender shows is what the decoder gives, frame by frame and between frames."""

import itertools

import bpy
import meshreel
import numpy as np
import pytest
from harness import GOLDEN, add, evaluated, frame_of, go_to, nodes, part, positions, triangles, values, world

SOURCES = [
    "a_flag_wind.abc",
    "c_wall_fracture_onemesh.abc",
    "d_snake_skinned.abc",
    "e_metaballs.abc",
    "g_scene_attributes.abc",
    "j_visibility_particles.abc",
    "m_scale_shear.abc",
    "n_robot_bone_parented.abc",
]
GOLDENS = ["flag_small", "flag_fast", "flag_apart", "wall_packed", "snake_small", "robot_small", "everything_zstd"]


def proper_faces(data):
    """Triangles that are none: lines and points are not faces of Blender's."""
    a, b, c = data.triangles.T
    return (a != b) & (b != c) & (c != a)


def check_mesh(thing, data, normals):
    mesh = evaluated(thing).data
    assert np.array_equal(positions(thing), data.positions)
    faces = proper_faces(data)
    corners = data.triangles[faces].astype(np.int32)
    assert np.array_equal(triangles(thing), corners)
    for number, uv in enumerate(data.uvs):
        layer = mesh.uv_layers[number]
        assert np.array_equal(values(layer.uv, "vector", 2), uv[corners.ravel()])
    for number, colour in enumerate(data.colours):
        assert np.array_equal(values(mesh.color_attributes[number].data, "color", 4), colour)
    if data.ids is not None:
        assert np.array_equal(values(mesh.attributes["id"].data, "value", 1, np.int32), data.ids.astype(np.int32))
    if data.widths is not None:
        assert np.array_equal(values(mesh.attributes["radius"].data, "value", 1), data.widths / 2)
    if data.curves is not None:
        assert len(mesh.edges) == np.sum(data.curves.astype(int) - 1)
    slots = np.zeros(len(data.triangles), np.int32)
    for slot, (name, first, count) in enumerate(data.materials):
        slots[first : first + count] = slot
        assert mesh.materials[slot].name == (name or "default")
    assert np.array_equal(values(mesh.polygons, "material_index", 1, np.int32), slots[faces])
    if normals and data.normals is not None and len(corners):
        shown = values(mesh.corner_normals, "vector", 3)
        error = np.abs(shown - data.normals[corners.ravel()]).max(axis=1)
        if part("arrays").FREE_NORMALS:
            assert error.max() < 1e-6
        else:
            # A normal is two angles of 16 bits from the face's, and faces without an area have none.
            assert np.sum(error > 2e-3) <= 1e-3 * len(error)


def check(root, reel, number, frame=None, normals=False, places=True):
    """All objects of a cache against a frame. What is hidden Blender does not evaluate."""
    expected = frame or reel.frame(number)
    shown = nodes(root)
    assert len(shown) == len(expected.nodes)
    above = np.array(root.matrix_world)
    for key, node in zip(part("files").node_keys(expected.nodes), expected.nodes):
        thing = shown[key]
        assert thing.name.split(".")[0] == node.path.rstrip("/").rsplit("/", 1)[-1].split(".")[0]
        size = max(1.0, np.abs(node.world).max())
        if places and not thing.hide_viewport:
            assert np.allclose(world(thing), above @ node.world, atol=2e-5 * size), node.path
        if node.mesh is None:
            continue
        assert thing.hide_render == thing.hide_viewport == (not node.visible), node.path
        if node.visible:
            check_mesh(thing, expected.meshes[node.mesh], normals)


def test_every_frame_is_the_decoders(made):
    for source in SOURCES:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        path = made(source)
        root = add(path)
        with meshreel.open(path) as reel:
            assert len(nodes(root)) > 0
            for number in range(len(reel)):
                go_to(bpy.context.scene, frame_of(root, reel.times, number))
                check(root, reel, number)


STAGE = """#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 2
    timeCodesPerSecond = 24
    upAxis = "Y"
)
def Points "drops" {
    point3f[] points.timeSamples = {
        0: [(1, 0, 0), (0, 0, 0)], 1: [(1, 1, 0), (0, 1, 0), (5, 5, 5)], 2: [(1, 2, 0)]
    }
    int64[] ids.timeSamples = { 0: [9, 4], 1: [9, 4, 12], 2: [9] }
    float[] widths.timeSamples = { 0: [0.2, 0.4], 1: [0.2, 0.4, 0.1], 2: [0.2] } (interpolation = "vertex")
}
def BasisCurves "hair" {
    uniform token type = "linear"
    int[] curveVertexCounts = [2, 1, 3]
    point3f[] points.timeSamples = {
        0: [(0, 0, 0), (0, 1, 0), (2, 2, 2), (1, 0, 0), (1, 1, 0), (1, 2, 0)],
        2: [(0, 0, 0), (0, 2, 0), (2, 2, 2), (1, 0, 0), (1, 1, 1), (1, 2, 2)],
    }
}
"""


def test_points_and_curves(tmp_path):
    (tmp_path / "stage.usda").write_text(STAGE)
    path = tmp_path / "stage.reel"
    meshreel.compile(tmp_path / "stage.usda", path)
    root = add(path)
    with meshreel.open(path) as reel:
        assert sorted(mesh.kind for mesh in reel.meshes) == ["curves", "particles"]
        # Forwards and back: their number is another one each time.
        for number in (0, 1, 2, 1, 0, 2):
            go_to(bpy.context.scene, frame_of(root, reel.times, number))
            check(root, reel, number)
        edges = evaluated(nodes(root)["/hair"]).data.edges
        assert values(edges, "vertices", 2, np.int32).tolist() == [[0, 1], [3, 4], [4, 5]]


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_files_with_their_normals(name):
    path = GOLDEN / f"{name}.reel"
    root = add(path)
    root.meshreel.normals = "FILE"
    with meshreel.open(path) as reel:
        for number in range(0, len(reel), 3):
            go_to(bpy.context.scene, frame_of(root, reel.times, number))
            # Its quaternions are not of length 1, which Blender makes them.
            check(root, reel, number, normals=True, places=name != "everything_zstd")


def test_meshes_of_other_topology_are_built_anew(made):
    path = made("e_metaballs.abc")
    root = add(path)
    with meshreel.open(path) as reel:
        fluid = [number for number, mesh in enumerate(reel.meshes) if mesh.faces_change]
        assert fluid
        counts = set()
        for number in (0, len(reel) - 1, len(reel) // 2, 1):
            go_to(bpy.context.scene, frame_of(root, reel.times, number))
            check(root, reel, number)
            counts.add(len(reel.frame(number).meshes[fluid[0]].positions))
        assert len(counts) > 2


def test_between_frames_and_at_other_rates(made):
    path = made("a_flag_wind.abc")
    root = add(path)
    scene, cache = bpy.context.scene, root.meshreel
    with meshreel.open(path) as reel:
        fps = scene.render.fps / scene.render.fps_base
        middle = frame_of(root, reel.times, 4) + 0.5
        go_to(scene, middle)
        between = reel.at(reel.times[4] + 0.5 / fps)
        assert between.index == 4 and 0.49 < between.blend < 0.51
        check(root, reel, 4, between)
        assert not np.array_equal(between.meshes[0].positions, reel.frame(4).meshes[0].positions)
        # The scene at another rate: seconds stay seconds.
        scene.render.fps, scene.render.fps_base = 60, 1.0
        cache.first_frame = 10
        go_to(scene, 25)
        check(root, reel, None, reel.at(reel.times[0] + 15 / 60))
        cache.interpolate = False
        go_to(scene, 26)
        shown = int(np.searchsorted(reel.times, reel.times[0] + 16 / 60, side="right")) - 1
        check(root, reel, shown)
        cache.interpolate = True
        # Twice as fast, and each frame of the scene one of the file's.
        cache.rate = 2.0
        go_to(scene, 14)
        check(root, reel, None, reel.at(reel.times[0] + 8 / 60))
        cache.timing = "FRAMES"
        check(root, reel, 8)
        cache.rate = -1.0
        go_to(scene, 13)
        check(root, reel, len(reel) - 4)


def test_before_after_and_over_again(made):
    path = made("a_flag_wind.abc")
    root = add(path)
    scene, cache = bpy.context.scene, root.meshreel
    with meshreel.open(path) as reel:
        last = len(reel) - 1
        go_to(scene, cache.first_frame - 20)
        check(root, reel, 0)
        go_to(scene, frame_of(root, reel.times, last) + 20)
        check(root, reel, last)
        cache.repeat = "LOOP"
        fps = scene.render.fps / scene.render.fps_base
        frame = frame_of(root, reel.times, last) + 2
        go_to(scene, frame)
        check(root, reel, None, reel.at(reel.times[0] + (frame - cache.first_frame) / fps, wrap=True))


def test_velocities_are_metres_per_second_of_the_scene(made):
    path = made("a_flag_wind.abc")
    root = add(path)
    root.meshreel.velocities = "ON"
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(root, reel.times, 6))
        thing = next(thing for thing in nodes(root).values() if thing.type == "MESH")
        read = lambda: values(evaluated(thing).data.attributes["velocity"].data, "vector", 3)
        shown = read()
        a, b = (reel.frame(number).meshes[0].positions for number in (6, 7))
        expected = (b - a) / (reel.times[7] - reel.times[6])
        assert np.abs(shown).max() > 0 and np.allclose(shown, expected, atol=1e-3 * np.abs(expected).max())
        root.meshreel.rate = 2.0
        go_to(bpy.context.scene, root.meshreel.first_frame + 3)
        assert np.allclose(read(), 2 * expected, atol=1e-3 * np.abs(expected).max())
        # Where it stands, nothing moves.
        go_to(bpy.context.scene, frame_of(root, reel.times, len(reel) - 1) + 50)
        assert not read().any()
        root.meshreel.velocities = "OFF"
        assert "velocity" not in thing.data.attributes
        root.meshreel.velocities = "AUTO"
        assert "velocity" not in thing.data.attributes
        bpy.context.scene.render.use_motion_blur = True
        go_to(bpy.context.scene, root.meshreel.first_frame + 1)
        assert read().any()


def test_a_mesh_that_was_edited_is_built_anew(made, reported):
    path = made("a_flag_wind.abc")
    root = add(path)
    thing = next(thing for thing in nodes(root).values() if thing.type == "MESH")
    thing.data.clear_geometry()
    thing.data.vertices.add(5)
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(root, reel.times, 3))
        check(root, reel, 3)
    assert reported == []


def test_normals_that_blender_makes_are_those_of_the_frame(made):
    """What is moving has no normals of another frame, whatever else is in the file."""
    for name in ("n_robot_bone_parented.abc", "a_flag_wind.abc"):
        path = made(name)
        root = add(path)
        with meshreel.open(path) as reel:
            for number in (0, 7):
                go_to(bpy.context.scene, frame_of(root, reel.times, number))
                for thing in nodes(root).values():
                    if thing.type != "MESH" or "positions" not in reel.meshes[thing.data["meshreel_mesh"]].animated:
                        continue
                    mesh = evaluated(thing).data
                    shown = values(mesh.corner_normals, "vector", 3)
                    fresh = bpy.data.meshes.new("fresh")
                    fresh.from_pydata(positions(thing).tolist(), [], triangles(thing).tolist())
                    fresh.shade_smooth()
                    own = values(fresh.corner_normals, "vector", 3)
                    if part("arrays").FREE_NORMALS:
                        stored = reel.frame(number).meshes[thing.data["meshreel_mesh"]].normals
                        own = stored[triangles(thing).ravel()]
                    assert np.abs(shown - own).max() < 1e-4


def test_levels_of_detail(tmp_path):
    import harness

    path = harness.compiled("a_flag_wind.abc", tmp_path, lod=2)
    root = add(path)
    thing = next(thing for thing in nodes(root).values() if thing.type == "MESH")
    with meshreel.open(path) as reel:
        assert reel.meshes[0].lods > 1
        before = len(thing.data.polygons)
        root.meshreel.lod = 1
        assert len(thing.data.polygons) < before
        check(root, reel, None, reel.frame(0, lod=1))


def test_one_file_has_one_decoder_whoever_shows_it(made):
    path = made("a_flag_wind.abc")
    first, other = add(path), add(path)
    other.meshreel.first_frame += 5
    assert len(part("files")._entries) == 1
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(first, reel.times, 9))
        check(first, reel, 9)
        check(other, reel, 4)


def test_rendered_frames_differ(made, tmp_path):
    root = add(made("a_flag_wind.abc"))
    scene = bpy.context.scene
    camera_at(root)
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.device = 1, "CPU"
    scene.render.resolution_x = scene.render.resolution_y = 24
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = str(tmp_path / "frame_")
    scene.frame_start, scene.frame_end = scene.frame_start, scene.frame_start + 4
    bpy.ops.render.render(animation=True)
    pictures = [pixels(path) for path in sorted(tmp_path.glob("frame_*.png"))]
    assert len(pictures) == 5 and max(picture.std() for picture in pictures) > 0
    for one, other in itertools.pairwise(pictures):
        assert np.abs(one - other).max() > 0.01
    # Blender blurs meshes by how fast their vertices are; with the first of its own settings they say so by themselves.
    scene.frame_set(scene.frame_start + 2)
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 1.0
    scene.cycles.samples = 16
    blurred = rendered_pixels(scene, tmp_path / "blurred.png")
    scene.render.use_motion_blur = False
    sharp = rendered_pixels(scene, tmp_path / "sharp.png")
    assert np.abs(blurred - sharp).max() > 0.02


def camera_at(root):
    """A camera that sees all of a cache."""
    from mathutils import Vector

    corners = []
    for thing in root.children_recursive:
        if thing.type == "MESH":
            corners += [thing.matrix_world @ Vector(corner) for corner in evaluated(thing).bound_box]
    low = Vector([min(corner[k] for corner in corners) for k in range(3)])
    high = Vector([max(corner[k] for corner in corners) for k in range(3)])
    middle, size = (low + high) / 2, (high - low).length
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    bpy.context.collection.objects.link(camera)
    away = Vector((0.6, -1.4, 0.5)).normalized()
    camera.location = middle + away * size * 1.2
    camera.rotation_euler = (-away).to_track_quat("-Z", "Y").to_euler()
    camera.data.clip_end = 100 * size
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy = 3
    sun.rotation_euler = (0.6, 0.3, 0)
    bpy.context.collection.objects.link(sun)
    bpy.context.scene.camera = camera
    return camera


def rendered_pixels(scene, path):
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    return pixels(path)


def pixels(path):
    image = bpy.data.images.load(str(path))
    out = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(out)
    bpy.data.images.remove(image)
    return out
