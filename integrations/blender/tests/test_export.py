"""Scenes that become files, and files that are verified."""

import os
import tempfile
import threading
from pathlib import Path

import bpy
import meshreel
import numpy as np
import pytest
from harness import INPUTS, add, nodes, part, positions, world


def scene_of_two():
    """A waving sheet with two materials below an empty that moves, and a ball that is not selected."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 12
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=12, y_subdivisions=9, size=2)
    sheet = bpy.context.object
    sheet.name = "sheet"
    for name in ("cloth", "hem"):
        sheet.data.materials.append(bpy.data.materials.new(name))
    for number, face in enumerate(sheet.data.polygons):
        face.material_index = number % 2
    wave = sheet.modifiers.new("wave", "WAVE")
    wave.height, wave.width = 0.4, 0.5
    above = bpy.data.objects.new("above", None)
    scene.collection.objects.link(above)
    sheet.parent = above
    for frame, place in ((1, (0, 0, 0)), (12, (1, 2, 3))):
        above.location = place
        above.keyframe_insert("location", frame=frame)
    bpy.ops.mesh.primitive_uv_sphere_add(location=(5, 0, 0))
    bpy.context.object.name = "ball"
    bpy.ops.object.select_all(action="DESELECT")
    sheet.select_set(True)
    return sheet


def left_behind():
    """Alembic files in temporary folders."""
    return sorted(Path(tempfile.gettempdir()).glob("meshreel-*/scene.abc"))


def shown_points(thing):
    points = positions(thing).astype(np.float64)
    matrix = world(thing)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def test_a_selection_there_and_back(tmp_path, reported):
    sheet = scene_of_two()
    scene = bpy.context.scene
    originals = {}
    for frame in range(1, 13):
        scene.frame_set(frame)
        originals[frame] = shown_points(sheet)
    scene.frame_set(5)
    before = left_behind()
    path = tmp_path / "sheet.reel"
    assert bpy.ops.meshreel.export_reel(filepath=str(path), tolerance="1mm", effort=1, verify=True) == {"FINISHED"}
    assert scene.frame_current == 5 and sorted(os.listdir(tmp_path)) == ["sheet.reel"]
    assert left_behind() == before
    text = bpy.data.texts["meshreel"].as_string()
    assert '"ok": true' in text and '"tolerance"' in text
    assert len(reported) == 1 and "verified" in reported[0]
    root = add(path)
    things = [thing for thing in nodes(root).values() if thing.type == "MESH"]
    assert len(things) == 1 and "ball" not in str(list(nodes(root)))
    assert [material.name for material in things[0].data.materials] == ["cloth", "hem"]
    for frame, points in originals.items():
        scene.frame_set(frame)
        again = shown_points(things[0])
        apart = np.linalg.norm(again[:, None] - points[None], axis=2)
        # Each of its points lies at one of the sheet's and the other way round, in metres.
        assert apart.min(axis=1).max() < 1.1e-3 and apart.min(axis=0).max() < 1.1e-3, frame


def test_what_cannot_be_exported(tmp_path):
    sheet = scene_of_two()
    path = tmp_path / "sheet.reel"
    path.write_bytes(b"what was there")
    export = lambda **given: bpy.ops.meshreel.export_reel(**{"filepath": str(path), "effort": 1, **given})
    with pytest.raises(RuntimeError, match="MisuseError.*tolerance"):
        export(tolerance="much")
    with pytest.raises(RuntimeError, match="IoError.*no such folder"):
        export(filepath=str(tmp_path / "none" / "sheet.reel"))
    with pytest.raises(RuntimeError, match="MisuseError.*range"):
        export(use_range=False, frame_start=9, frame_end=3)
    sheet.select_set(False)
    with pytest.raises(RuntimeError, match="MisuseError.*nothing is selected"):
        export()
    assert path.read_bytes() == b"what was there" and os.listdir(tmp_path) == ["sheet.reel"]


def test_verifying_a_cache(made, tmp_path, reported):
    path = made("a_flag_wind.abc")
    add(path)
    source = str(INPUTS / "a_flag_wind.abc")
    assert bpy.ops.meshreel.verify(filepath=source) == {"FINISHED"}
    assert "holds" in reported[-1] and '"ok": true' in bpy.data.texts["meshreel"].as_string()
    with pytest.raises(RuntimeError):
        bpy.ops.meshreel.verify(filepath=str(INPUTS / "d_snake_skinned.abc"))
    with pytest.raises(RuntimeError, match="IoError"):
        bpy.ops.meshreel.verify(filepath=str(tmp_path / "none.abc"))


def test_a_job_beside_the_window_is_cancelled(tmp_path):
    """What the operator does between its timer's ticks, without a window."""
    path = tmp_path / "snake.reel"
    begun = threading.Event()

    def work(progress):
        def told(*step):
            begun.set()
            return progress(*step)

        export = part("exporting")
        source = str(INPUTS / "d_snake_skinned.abc")
        return export.compile_scene(source, str(path), {"effort": 9}, told)

    job = part("jobs").Job(work)
    job.start()
    assert begun.wait()
    job.cancel()
    job.wait()
    assert isinstance(job.error, meshreel.Cancelled) and job.step[0]
    assert os.listdir(tmp_path) == []
