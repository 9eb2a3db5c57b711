"""Saving, undoing, copying, deleting; and files that are not what they should be."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bpy
import meshreel
import numpy as np
import pytest
from harness import GOLDEN, add, frame_of, go_to, nodes, part, positions
from test_frames import check

HERE = Path(__file__).resolve().parent


def test_saved_and_opened_in_another_process(made, tmp_path):
    for source in ("a_flag_wind.abc", "e_metaballs.abc"):
        folder = tmp_path / source
        folder.mkdir()
        shutil.copy(made(source), folder / "cache.reel")
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "scene.blend"))
        root = add(folder / "cache.reel")
        assert root.meshreel.filepath == "//cache.reel"
        go_to(bpy.context.scene, root.meshreel.first_frame + 2)
        bpy.ops.wm.save_mainfile()
        # Both are somewhere else now.
        moved = tmp_path / f"moved {source}"
        folder.rename(moved)
        script = [sys.executable, str(HERE / "show_frames.py"), str(moved / "scene.blend"), str(moved / "cache.reel")]
        done = subprocess.run(script, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr
        with meshreel.open(moved / "cache.reel") as reel:
            assert f"{len(reel)} frames are the decoder's" in done.stdout


def test_undo_and_redo(made, reported):
    path = made("a_flag_wind.abc")
    root = add(path)
    name, scene = root.name, bpy.context.scene
    go_to(scene, root.meshreel.first_frame + 3)
    if bpy.ops.ed.undo_push.poll() and bpy.ops.ed.undo_push(message="imported") == {"FINISHED"}:
        bpy.data.objects[name].location.x += 1
        bpy.ops.ed.undo_push(message="moved")
        for step in (bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.undo):
            # Data-blocks are others now; what was `root` points nowhere.
            assert step() == {"FINISHED"}
            with meshreel.open(path) as reel:
                for number in (5, 2):
                    go_to(bpy.context.scene, frame_of(bpy.data.objects[name], reel.times, number))
                    check(bpy.data.objects[name], reel, number)
    else:
        pytest.skip("this Blender keeps no undo steps without a window")
    assert reported == []


def test_after_an_undo_the_frame_is_the_scenes(made):
    """What undoing does to data: it is as it was at another frame."""
    path = made("a_flag_wind.abc")
    root = add(path)
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(root, reel.times, 7))
        thing = next(thing for thing in nodes(root).values() if thing.type == "MESH")
        old = reel.frame(1).meshes[0].positions
        thing.data.attributes["position"].data.foreach_set("vector", old.ravel())
        thing.data.update()
        for handlers in (bpy.app.handlers.undo_post, bpy.app.handlers.redo_post):
            assert [handler for handler in handlers if handler.__name__ == "on_undo"]
        part("playback").on_undo(bpy.context.scene)
        check(root, reel, 7)


def test_copied_renamed_and_deleted(made, reported):
    path = made("n_robot_bone_parented.abc")
    root = add(path)
    everything = [root, *root.children_recursive]
    for thing in everything:
        thing.select_set(True)
    bpy.ops.object.duplicate()
    copy = next(thing for thing in bpy.context.selected_objects if thing.meshreel.is_cache)
    assert copy != root and len(nodes(copy)) == len(nodes(root))
    copy.name, root.name = "other", "first"
    copy.meshreel.first_frame += 4
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(root, reel.times, 10))
        check(root, reel, 10)
        check(copy, reel, 6)
        gone = next(thing for thing in nodes(copy).values() if thing.type == "MESH")
        bpy.data.objects.remove(gone)
        bpy.data.objects.remove(root)
        go_to(bpy.context.scene, frame_of(copy, reel.times, 3))
        shown = nodes(copy)
        frame = reel.frame(3)
        keys = part("files").node_keys(reel.nodes)
        for key, node in zip(keys, frame.nodes):
            if key in shown and node.mesh is not None and node.visible:
                assert np.array_equal(positions(shown[key]), frame.meshes[node.mesh].positions)
    assert reported == []


def test_a_file_that_is_compiled_anew_is_read_anew(made, tmp_path):
    path = tmp_path / "cache.reel"
    shutil.copy(made("a_flag_wind.abc"), path)
    root = add(path)
    with meshreel.open(path) as reel:
        go_to(bpy.context.scene, frame_of(root, reel.times, 2))
    shutil.copy(GOLDEN / "flag_fast.reel", path)
    os.utime(path, (1, 1))
    go_to(bpy.context.scene, root.meshreel.first_frame + 5)
    with meshreel.open(path) as reel:
        thing = next(thing for thing in nodes(root).values() if thing.type == "MESH")
        assert np.array_equal(positions(thing), reel.frame(5).meshes[0].positions)


def test_a_missing_file_is_told_once_and_comes_back(made, tmp_path, reported):
    path = tmp_path / "cache.reel"
    shutil.copy(made("a_flag_wind.abc"), path)
    root = add(path)
    with meshreel.open(path) as reel:
        path.rename(tmp_path / "away.reel")
        for number in (3, 4, 5, 6):
            go_to(bpy.context.scene, frame_of(root, reel.times, number))
        assert len(reported) == 1 and "IoError" in reported[0] and "cache.reel" in reported[0]
        assert root.meshreel.error == reported[0]
        (tmp_path / "away.reel").rename(path)
        go_to(bpy.context.scene, frame_of(root, reel.times, 8))
        check(root, reel, 8)
    assert root.meshreel.error == "" and len(reported) == 1
    path.unlink()
    go_to(bpy.context.scene, root.meshreel.first_frame + 1)
    assert len(reported) == 2


def in_a_frame(good):
    """The file with a byte changed that some frames need and others do not."""
    for place in range(1000, len(good), 499):
        bad = good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bad.reel"
            path.write_bytes(bad)
            try:
                with meshreel.open(path) as reel:
                    wrong = [number for number in range(len(reel)) if not decodes(reel, number)]
                    if 0 < len(wrong) < len(reel):
                        return bad
            except meshreel.MalformedError:
                continue
    raise AssertionError("no byte is of a frame alone")


def decodes(reel, number):
    try:
        reel.frame(number)
    except meshreel.MalformedError:
        return False
    return True


@pytest.mark.parametrize("what", ["truncated", "flipped", "wrong kind", "empty"])
def test_damage_is_told_once_with_its_class(made, tmp_path, reported, what):
    path = tmp_path / "cache.reel"
    good = made("a_flag_wind.abc").read_bytes()
    path.write_bytes(good)
    root = add(path)
    go_to(bpy.context.scene, root.meshreel.first_frame + 1)
    bad = {
        "truncated": lambda: good[: len(good) // 2],
        "flipped": lambda: in_a_frame(good),
        "wrong kind": lambda: b"Ogawa" + bytes(200),
        "empty": lambda: b"",
    }
    path.write_bytes(bad[what]())
    os.utime(path, (1, 1))
    frames = range(bpy.context.scene.frame_start, bpy.context.scene.frame_end + 1)
    errors = 0
    for _ in range(2):
        for frame in frames:
            go_to(bpy.context.scene, frame)
            errors += bool(root.meshreel.error)
    assert len(reported) == 1 and "MalformedError" in reported[0] and "cache.reel" in reported[0]
    # A frame that cannot be decoded says so in its settings; those that can are shown.
    assert errors == 2 * len(frames) if what != "flipped" else 0 < errors < 2 * len(frames)


def test_imports_that_fail_make_nothing(made, tmp_path):
    damaged = tmp_path / "damaged.reel"
    damaged.write_bytes(made("a_flag_wind.abc").read_bytes()[:500])
    other = tmp_path / "other.reel"
    other.write_bytes(b"Ogawa" + bytes(200))
    wrong = {tmp_path / "none.reel": "IoError", damaged: "MalformedError", other: "MalformedError"}
    for path, word in wrong.items():
        with pytest.raises(RuntimeError, match=word):
            bpy.ops.meshreel.import_reel(filepath=str(path))
    assert not bpy.data.objects and not bpy.data.meshes and not bpy.data.armatures


def test_several_files_at_once(made, tmp_path):
    for name in ("one.reel", "two.reel"):
        shutil.copy(made("a_flag_wind.abc"), tmp_path / name)
    files = [{"name": "one.reel"}, {"name": "two.reel"}]
    assert bpy.ops.meshreel.import_reel(directory=str(tmp_path), files=files) == {"FINISHED"}
    assert sorted(thing.name for thing in bpy.data.objects if thing.meshreel.is_cache) == ["one", "two"]


def test_a_file_that_wants_too_much_memory_is_refused(made, extension):
    path = made("a_flag_wind.abc")
    files = part("files")
    with pytest.raises(meshreel.LimitError):
        files.opened(str(path), 1000)
    assert len(files.opened(str(path)).times) > 0


def test_disabling_leaves_nothing_behind(made):
    import addon_utils
    from harness import NAME, load

    add(made("a_flag_wind.abc"))
    addon_utils.disable(NAME)
    for name in ("frame_change_pre", "load_post", "undo_post", "redo_post"):
        assert not [h for h in getattr(bpy.app.handlers, name) if h.__module__.startswith(NAME)]
    assert not hasattr(bpy.types.Object, "meshreel")
    bpy.context.scene.frame_set(3)
    load()
    assert sum(h.__name__ == "on_frame" for h in bpy.app.handlers.frame_change_pre) == 1
