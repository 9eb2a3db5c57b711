"""Moments between frames, velocities, levels of detail, rigs, and limits."""

import meshreel
import numpy as np
import pytest


def test_a_time_of_a_frame_is_that_frame(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        for number in (0, 3, len(reel) - 1):
            there, frame = reel.at(reel.times[number]), reel.frame(number)
            assert there.index == number and there.blend == 0 and there.time == frame.time
            assert np.array_equal(there.meshes[0].positions, frame.meshes[0].positions)
            assert np.array_equal(there.meshes[0].normals, frame.meshes[0].normals)
        assert reel.at(reel.times[0] - 5).index == 0 and reel.at(reel.times[-1] + 5).index == len(reel) - 1
        for wrong in (float("nan"), float("inf")):
            with pytest.raises(meshreel.MisuseError, match="finite"):
                reel.at(wrong)


def test_between_two_frames_points_go_straight(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        a, b = (reel.frame(number).meshes[0].positions for number in (6, 7))
        between = reel.at(0.75 * reel.times[6] + 0.25 * reel.times[7])
        assert between.index == 6 and between.blend == pytest.approx(0.25)
        size = np.ptp(a, axis=0).max()
        assert np.allclose(between.meshes[0].positions, 0.75 * a + 0.25 * b, atol=1e-6 * size)
        assert np.allclose(np.linalg.norm(between.meshes[0].normals, axis=1), 1, atol=1e-3)
        world = next(node.world for node in between.nodes if node.mesh == 0)
        shown = between.meshes[0].positions @ world[:3, :3].T + world[:3, 3]
        assert (between.bounds[0] <= shown.min(0) + 1e-4).all() and (between.bounds[1] >= shown.max(0) - 1e-4).all()


def test_in_a_loop_it_starts_over(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        length = reel.times[-1] - reel.times[0]
        for seconds in (0.1, 0.37):
            first = reel.at(reel.times[0] + seconds).meshes[0].positions
            for turns in (1, -2):
                again = reel.at(reel.times[0] + seconds + turns * length, wrap=True)
                assert np.allclose(again.meshes[0].positions, first, atol=1e-5 * np.ptp(first))


def test_faces_that_change_are_those_of_the_frame_before(made):
    with meshreel.open(made("e_metaballs.abc")) as reel:
        fluid = next(number for number, mesh in enumerate(reel.meshes) if mesh.faces_change)
        assert "triangles" in reel.meshes[fluid].animated
        between = reel.at((reel.times[1] + reel.times[2]) / 2, ["velocities"], meshes=[fluid])
        before = reel.frame(1).meshes[fluid]
        assert np.array_equal(between.meshes[0].positions, before.positions)
        assert np.array_equal(between.meshes[0].triangles, before.triangles)
        assert not between.meshes[0].velocities.any()


def test_velocities(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        assert reel.frame(4).meshes[0].velocities is None
        positions = [reel.frame(number).meshes[0].positions for number in range(len(reel))]
        for number, (a, b) in ((4, (4, 5)), (len(reel) - 1, (len(reel) - 2, len(reel) - 1))):
            expected = (positions[b] - positions[a]) / (reel.times[b] - reel.times[a])
            mesh = reel.frame(number, ["velocities"]).meshes[0]
            assert np.array_equal(mesh.positions, positions[number]) and mesh.normals is None
            assert np.allclose(mesh.velocities, expected, atol=1e-3 * np.abs(expected).max())
        middle = reel.at((reel.times[4] + reel.times[5]) / 2, ["velocities"]).meshes[0]
        first = reel.frame(4, ["velocities"]).meshes[0]
        assert np.allclose(middle.velocities, first.velocities, atol=1e-3 * np.abs(first.velocities).max())


def test_nodes_as_arrays(made):
    for source in ("n_robot_bone_parented.abc", "j_visibility_particles.abc"):
        with meshreel.open(made(source)) as reel:
            assert [node.path for node in reel.nodes] == [node.path for node in reel.frame(0).nodes]
            moved, hidden = set(), set()
            for frame in reel:
                assert np.array_equal(frame.worlds, [node.world for node in frame.nodes])
                assert frame.visible.tolist() == [node.visible for node in frame.nodes]
                assert np.array_equal(frame.pose.translations, np.float32([n.translation for n in frame.nodes]))
                assert np.array_equal(frame.pose.rotations, np.float32([n.rotation for n in frame.nodes]))
                assert np.array_equal(frame.pose.scales, np.float32([n.scale for n in frame.nodes]))
                for number, (node, first) in enumerate(zip(frame.nodes, reel.frame(0).nodes)):
                    if (node.translation, node.rotation, node.scale) != (first.translation, first.rotation, first.scale):
                        moved.add(number)
                    if node.visible != first.visible:
                        hidden.add(number)
            assert moved <= {number for number, node in enumerate(reel.nodes) if node.moves}
            assert hidden == {number for number, node in enumerate(reel.nodes) if node.visibility_changes}
            assert moved or hidden


def test_some_meshes_alone(made):
    with meshreel.open(made("g_scene_attributes.abc")) as reel:
        count = len(reel.meshes)
        assert count > 2
        everything, some = reel.frame(0), reel.frame(0, meshes=[2, 0])
        assert [mesh.path for mesh in some.meshes] == [everything.meshes[number].path for number in (2, 0)]
        assert len(some.nodes) == len(everything.nodes) and reel.frame(0, meshes=[]).meshes == []
        with pytest.raises(IndexError, match=f"mesh {count} of {count}"):
            reel.frame(0, meshes=[count])


def test_what_is_animated_is_what_changes(made):
    for source in ("a_flag_wind.abc", "d_snake_skinned.abc", "n_robot_bone_parented.abc"):
        with meshreel.open(made(source)) as reel:
            for number, info in enumerate(reel.meshes):
                arrays = [reel.frame(frame, meshes=[number]).meshes[0] for frame in (0, len(reel) // 2)]
                for name in ("positions", "normals", "tangents"):
                    a, b = (getattr(mesh, name) for mesh in arrays)
                    if a is not None and not np.array_equal(a, b):
                        assert name in info.animated, (source, name)
                assert "triangles" not in info.animated and info.faces_change is False
    with meshreel.open(made("n_robot_bone_parented.abc")) as reel:
        assert any(info.animated == [] for info in reel.meshes)


def test_levels_of_detail(inputs, tmp_path):
    meshreel.compile(inputs / "a_flag_wind.abc", tmp_path / "a.reel", effort=1, lod=2)
    with meshreel.open(tmp_path / "a.reel") as reel:
        levels = reel.meshes[0].lods
        assert levels > 1
        meshes = [reel.frame(3, lod=level).meshes[0] for level in range(levels)]
        counts = [len(mesh.triangles) for mesh in meshes]
        assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0]
        errors = [mesh.lod_error for mesh in meshes]
        assert errors[0] == 0 and errors == sorted(errors) and errors[-1] > 0
        for mesh in meshes:
            assert np.array_equal(mesh.positions, meshes[0].positions)
            assert sum(count for _, _, count in mesh.materials) == len(mesh.triangles)
        assert len(reel.frame(3, lod=99).meshes[0].triangles) == counts[-1]


def test_rigs(rigged, tmp_path):
    meshreel.compile(rigged(tmp_path / "beam.glb"), tmp_path / "a.reel", rig="keep")
    with meshreel.open(tmp_path / "a.reel") as reel:
        [rig] = reel.rigs
        clip = reel.clips[0]
        assert rig.skeleton == clip.skeleton == 0 and rig.tolerance > 0
        count = reel.meshes[rig.mesh].vertices
        assert rig.bind_positions.shape == (count, 3) and rig.inverse_bind.shape == (len(rig.joints), 4, 4)
        assert rig.influences.shape == rig.weights.shape and rig.weights.shape[0] == count
        assert np.allclose(rig.weights.sum(1), 1, atol=1e-5)
        assert rig.influences.max() < len(rig.joints) and rig.joints.max() < len(clip.joints)
        moved = set()
        for sample in range(0, clip.samples, 7):
            pose = clip.pose(sample / clip.fps)
            positions = rig.positions(pose)
            assert np.allclose(positions, skinned(rig, clip, pose), atol=1e-4)
            moved.add(positions.tobytes())
        assert len(moved) > 1
        # The pose is the caller's to change.
        pose.translations[0] += 1
        assert np.allclose(rig.positions(pose), positions + 1, atol=1e-4)
        with pytest.raises(meshreel.MisuseError, match="one of 2 joints is wanted"):
            rig.positions(clip.poses())
    with meshreel.open(tmp_path / "a.reel") as reel:
        assert meshreel.Rig is type(reel.rigs[0])


def skinned(rig, clip, pose):
    """Linear blend skinning, written again."""
    x, y, z, w = pose.rotations.T.astype(float)
    turn = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    local = np.zeros((len(x), 4, 4))
    local[:, :3, :3] = np.moveaxis(turn, 2, 0) * pose.scales[:, None, :]
    local[:, :3, 3] = pose.translations
    local[:, 3, 3] = 1
    for joint, parent in enumerate(clip.parents):
        if parent >= 0:
            local[joint] = local[parent] @ local[joint]
    matrices = local[rig.joints] @ rig.inverse_bind
    points = np.concatenate([rig.bind_positions, np.ones((len(rig.bind_positions), 1))], axis=1)
    each = np.einsum("vkij,vj->vki", matrices[rig.influences], points)[..., :3]
    return (each * rig.weights[..., None]).sum(1)


def test_a_limit_of_memory(made):
    path = made("a_flag_wind.abc")
    with pytest.raises(meshreel.LimitError):
        meshreel.open(path, max_memory=10_000)
    with meshreel.open(path, max_memory=100 << 20) as reel:
        assert len(reel.frame(0).meshes) == 1
