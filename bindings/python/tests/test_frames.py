"""Frames as arrays."""

import io
import struct
from threading import Thread

import meshreel
import numpy as np
import pytest
import xxhash


def digest(reel):
    """All that a reel shows as one number, made as the native runtime makes it."""
    everything = xxhash.xxh3_64()
    for frame in reel:
        everything.update(struct.pack("<d", frame.time))
        for node in frame.nodes:
            everything.update(bytes([node.visible]))
            everything.update(node.world[:3].astype("<f8").tobytes())
        for mesh in frame.meshes:
            everything.update(mesh.triangles.astype("<u4").tobytes())
            first = lambda sets: sets[0] if sets else None
            values = [mesh.positions, mesh.normals, mesh.tangents, first(mesh.uvs), first(mesh.colours)]
            for found, columns in zip(values, [3, 3, 4, 2, 4]):
                everything.update(bytes([found is not None]))
                numbers = np.zeros((len(mesh.positions), columns), "<f4") if found is None else found
                everything.update(numbers.astype("<f4").tobytes())
    return everything.intdigest()


def digests(golden):
    lines = (golden / "v0" / "DIGESTS").read_text().split("\n")
    return [(int(line.split()[0], 16), golden / "v0" / line.split()[1]) for line in lines if line.strip()]


def test_golden_files_decode_to_the_runtimes_bits(golden):
    checked = 0
    for expected, path in digests(golden):
        with meshreel.open(path) as reel:
            assert digest(reel) == expected, path.name
        checked += 1
    assert checked > 10


def test_arrays_have_the_documented_shapes_and_types(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        frame = reel.frame(3)
        assert frame.index == 3 and frame.time == reel.times[3]
        assert reel.times.dtype == np.float64 and reel.times.shape == (len(reel),)
        assert frame.bounds.shape == (2, 3) and (frame.bounds[0] <= frame.bounds[1]).all()
        info = reel.meshes[0]
        mesh = frame.meshes[0]
        assert mesh.path == info.path and not info.faces_change
        assert mesh.positions.shape == (info.vertices, 3) and mesh.positions.dtype == np.float32
        assert mesh.triangles.shape == (info.triangles, 3) and mesh.triangles.dtype == np.uint32
        assert mesh.triangles.max() == info.vertices - 1
        assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=1e-3)
        assert sum(count for _, _, count in mesh.materials) == info.triangles
        shown = [node for node in frame.nodes if node.mesh == 0]
        assert shown and shown[0].visible and shown[0].world.shape == (4, 4)
        world = mesh.positions @ shown[0].world[:3, :3].T + shown[0].world[:3, 3]
        assert (world >= frame.bounds[0] - 1e-4).all() and (world <= frame.bounds[1] + 1e-4).all()


def test_frames_are_counted_from_both_ends(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        count = len(reel)
        assert reel.frame(-1).index == reel[-1].index == count - 1
        assert reel.frame(-count).index == 0
        assert [frame.index for frame in reel] == list(range(count))
        for wrong in (count, -count - 1):
            with pytest.raises(IndexError, match=f"frame {wrong} of {count}"):
                reel.frame(wrong)


def test_arrays_stay_as_they_are_when_others_are_decoded(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        first = reel.frame(0).meshes[0]
        before = first.positions.copy()
        last = reel.frame(-1).meshes[0]
        assert not np.array_equal(before, last.positions)
        assert np.array_equal(before, first.positions)
        last.positions[:] = 0
        assert np.array_equal(reel.frame(0).meshes[0].positions, before)
    assert np.array_equal(before, first.positions)


def test_what_does_not_change_is_one_array(made):
    with meshreel.open(made("g_scene_attributes.abc")) as reel:
        shared = 0
        for number, info in enumerate(reel.meshes):
            first, again = (reel.frame(0, meshes=[number]).meshes[0] for _ in range(2))
            other = reel.at(reel.times[1] * 0.3, ["uvs", "colours"], meshes=[number]).meshes[0]
            for name in ("triangles", "uvs", "colours"):
                values = [getattr(mesh, name) for mesh in (first, again, other)]
                if name == "triangles":
                    values = [[value] for value in values]
                still = name not in info.animated
                for a, b, c in zip(*values):
                    assert (a is b) == (a is c) == (not a.flags.writeable) == still, name
                    shared += a is b
            assert first.positions is not again.positions and first.positions.flags.writeable
        assert shared > len(reel.meshes)
        with pytest.raises(ValueError, match="read-only"):
            first.triangles[:] = 0


def test_levels_of_detail_are_arrays_of_their_own(inputs, tmp_path):
    meshreel.compile(inputs / "a_flag_wind.abc", tmp_path / "a.reel", effort=1, lod=2)
    with meshreel.open(tmp_path / "a.reel") as reel:
        first, second = (
            [reel.frame(frame, [], lod=level).meshes[0].triangles for level in range(9)] for frame in (0, 1)
        )
        assert all(a is b for a, b in zip(first, second)) and len(set(map(id, first))) == reel.meshes[0].lods


def test_content_instead_of_a_path(made):
    path = made("a_flag_wind.abc")
    with meshreel.open(path) as reel, path.open("rb") as file:
        expected, size = reel.frame(3).meshes[0].positions, reel.file_bytes
        for source in (path.read_bytes(), bytearray(path.read_bytes()), file, io.BytesIO(path.read_bytes())):
            with meshreel.open(source) as other:
                assert other.path is None and other.file_bytes == size and "in memory" in repr(other)
                assert np.array_equal(other.frame(3).meshes[0].positions, expected)
        assert not file.closed
    with path.open(encoding="latin-1") as text, pytest.raises(meshreel.MisuseError, match="mode 'rb'"):
        meshreel.open(text)
    with pytest.raises(meshreel.MisuseError, match="a path, bytes or a binary file object, not 3"):
        meshreel.open(3)
    with pytest.raises(meshreel.MalformedError, match="bytes: "):
        meshreel.open(path.read_bytes()[:-7])


def test_only_what_is_asked_for(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        all_of_it = reel.frame(1).meshes[0]
        mesh = reel.frame(1, channels=["uvs"]).meshes[0]
        assert mesh.normals is None and mesh.tangents is None and mesh.colours == []
        assert np.array_equal(mesh.positions, all_of_it.positions)
        assert len(mesh.uvs) == len(all_of_it.uvs)
        with pytest.raises(meshreel.MisuseError, match="'normal' is no channel"):
            reel.frame(1, channels=["normal"])


def test_positions_into_the_callers_array(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        mesh = reel.frame(5).meshes[0]
        count = len(mesh.positions)
        out = np.full((count + 2, 3), 7, np.float32)
        assert reel.positions_into(5, 0, out) == count
        assert np.array_equal(out[:count], mesh.positions) and (out[count:] == 7).all()
        assert reel.normals_into(-1, 0, out) == count
        assert np.array_equal(out[:count], reel.frame(-1).meshes[0].normals)


def test_wrong_arrays_are_refused_and_left_alone(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        count = reel.meshes[0].vertices
        frozen = np.zeros((count, 3), np.float32)
        frozen.flags.writeable = False
        wrong = {
            "float64": np.zeros((count, 3)),
            f"{count - 1}, 3": np.zeros((count - 1, 3), np.float32),
            f"{count}, 4": np.zeros((count, 4), np.float32),
            f"{3 * count}": np.zeros(3 * count, np.float32),
            "gaps": np.zeros((2 * count, 3), np.float32)[::2],
            "order": np.zeros((3, count), np.float32).T,
            "list": [[0.0, 0.0, 0.0]] * count,
            "not": frozen,
        }
        for word, out in wrong.items():
            with pytest.raises(meshreel.MisuseError, match="out must be a writable") as raised:
                reel.positions_into(0, 0, out)
            assert word in str(raised.value), (word, str(raised.value))
            assert not np.any(out)
        with pytest.raises(IndexError, match="mesh 9 of 1"):
            reel.positions_into(0, 9, frozen)


def test_faces_that_change(made):
    with meshreel.open(made("e_metaballs.abc")) as reel:
        fluid = [number for number, mesh in enumerate(reel.meshes) if mesh.faces_change]
        assert fluid
        counts = {len(frame.meshes[fluid[0]].positions) for frame in reel}
        assert len(counts) > 1 and max(counts) == reel.meshes[fluid[0]].vertices
        out = np.empty((reel.meshes[fluid[0]].vertices, 3), np.float32)
        for number in (0, -1):
            count = reel.positions_into(number, fluid[0], out)
            assert np.array_equal(out[:count], reel.frame(number).meshes[fluid[0]].positions)


def test_threads_share_a_reel(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        expected = [reel.frame(i).meshes[0].positions for i in range(len(reel))]
        wrong = []

        def decode(step):
            for i in range(0, len(reel), step):
                if not np.array_equal(reel.frame(i, channels=[]).meshes[0].positions, expected[i]):
                    wrong.append((step, i))

        threads = [Thread(target=decode, args=(step,)) for step in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_a_closed_reel_says_so(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        frame = reel.frame(0)
    assert repr(reel) == "<meshreel.Reel, closed>" and len(frame.meshes[0].positions) > 0
    for use in (lambda: len(reel), lambda: reel.frame(0), lambda: reel.times, lambda: reel.clips):
        with pytest.raises(meshreel.MisuseError, match="closed"):
            use()
    reel.close()
