"""What is pickled and copied: to other processes, and by `copy`."""

import copy
import multiprocessing
import os
import pickle

import meshreel
import numpy as np
import pytest


def alike(a, b):
    """Whether two things have equal values, arrays and all."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if type(a).__module__ != "meshreel":
        return a == b
    names = [name for name in dir(type(a)) if not name.startswith("_")]
    values = [name for name in names if not callable(getattr(a, name))]
    return type(a) is type(b) and values and all(alike(getattr(a, name), getattr(b, name)) for name in values)


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_frames_come_again(made, again):
    for source in ("g_scene_attributes.abc", "n_robot_bone_parented.abc"):
        with meshreel.open(made(source)) as reel:
            frame, between = reel.frame(1), reel.at((reel.times[0] + reel.times[1]) / 2, ["velocities"])
            for thing in (frame, between, frame.pose, *frame.meshes, *frame.nodes, *reel.meshes, *reel.nodes):
                assert alike(thing, again(thing)), repr(thing)
            assert not alike(frame, between)


def test_a_copy_is_another_and_shares_no_array(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        mesh = reel.frame(0).meshes[0]
    other = copy.deepcopy(mesh)
    other.positions[:] = 0
    assert mesh.positions.any()


def test_clips_and_rigs_come_again(rigged, tmp_path):
    meshreel.compile(rigged(tmp_path / "beam.glb"), tmp_path / "a.reel", rig="keep")
    with meshreel.open(tmp_path / "a.reel") as reel:
        clip, rig = reel.clips[0], reel.rigs[0]
    there = pickle.loads(pickle.dumps([clip, rig]))
    assert alike([clip, rig], there)
    assert alike(clip.poses(), there[0].poses())
    assert alike(rig.positions(clip.pose(0.5)), copy.copy(there[1]).positions(there[0].pose(0.5)))
    (tmp_path / "a.reel").unlink()
    with pytest.raises(meshreel.IoError):
        copy.copy(clip)


def test_cameras_come_again(tmp_path):
    stage = tmp_path / "a.usda"
    lens = 'def Camera "lens" { float focalLength.timeSamples = {0: 35, 2: 55} }'
    stage.write_text(f"#usda 1.0\n(metersPerUnit = 1)\n{lens}\n")
    meshreel.compile(stage, tmp_path / "a.reel")
    with meshreel.open(tmp_path / "a.reel") as reel:
        assert reel.cameras[0].focal_length[0] == 35
        assert alike(reel.cameras, pickle.loads(pickle.dumps(reel.cameras)))


def test_a_reel_is_its_path_wherever_the_other_process_is(made, tmp_path, monkeypatch):
    path = made("a_flag_wind.abc")
    monkeypatch.chdir(path.parent)
    with meshreel.open(path.name, max_memory=100 << 20) as reel:
        said = pickle.dumps(reel)
        assert len(said) < 1000
        monkeypatch.chdir(tmp_path)
        with pickle.loads(said) as other, copy.copy(reel) as third:
            assert other.path == str(path) and len(other) == len(third) == len(reel)
            other.close()
            assert len(reel) > 0
    with pytest.raises(meshreel.MisuseError, match="closed"):
        pickle.dumps(reel)


def test_a_reel_from_memory_is_its_bytes(made):
    content = made("prism.glb").read_bytes()
    with meshreel.open(content) as reel, pickle.loads(pickle.dumps(reel)) as other:
        assert other.path is None and alike(reel.frame(0), other.frame(0))
        assert alike(reel.clips[0].poses(), copy.deepcopy(reel.clips[0]).poses())


def test_errors_come_again(tmp_path):
    with pytest.raises(meshreel.IoError) as raised:
        meshreel.open(tmp_path / "none.reel")
    there = pickle.loads(pickle.dumps(raised.value))
    assert type(there) is meshreel.IoError and str(there) == str(raised.value)
    assert there.errno == raised.value.errno and there.path == raised.value.path


def height(reel, number):
    """Run by another process, with the reel that this one opened."""
    mesh = reel.frame(number).meshes[0]
    return os.getpid(), mesh, mesh.positions.max()


def test_processes_share_the_work(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            results = pool.starmap(height, [(reel, number) for number in range(4)])
        for number, (process, mesh, highest) in enumerate(results):
            assert process != os.getpid() and highest == reel.frame(number).meshes[0].positions.max()
            assert alike(mesh, reel.frame(number).meshes[0])
