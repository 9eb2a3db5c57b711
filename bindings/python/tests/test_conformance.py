"""What is shown of the conformance set are the numbers of its sources."""

import json
import subprocess
import sys

import meshreel
import numpy as np
from conftest import ROOT

FOLDER = ROOT / "testdata" / "conformance"


def attribute(values):
    return None if values is None else values.astype(float).ravel().tolist()


def node(shown, meshes, levels):
    mesh = meshes[shown.mesh]
    return {
        "path": shown.path,
        "visible": bool(shown.visible),
        "world": shown.world[:3].ravel().tolist(),
        "positions": attribute(mesh.positions),
        "normals": attribute(mesh.normals),
        "uvs": attribute(mesh.uvs[0]) if mesh.uvs else None,
        "colours": attribute(mesh.colours[0]) if mesh.colours else None,
        "widths": attribute(mesh.widths),
        "indices": mesh.triangles.ravel().tolist(),
        "materials": [{"name": name, "count": 3 * count} for name, _, count in mesh.materials],
        "levels": levels[shown.mesh],
    }


def camera(own, frame):
    world = frame.worlds[own.node]
    lens = own.focal_length
    focal_length = lens[frame.index] + frame.blend * (lens[min(frame.index + 1, len(lens) - 1)] - lens[frame.index])
    right, up, back, eye = (world[:3, column].tolist() for column in range(4))
    return {
        "path": own.path,
        "right": right,
        "up": up,
        "forward": [-c for c in back],
        "eye": eye,
        "focal_length": float(focal_length),
    }


def joints(clip, seconds):
    pose = clip.pose(seconds)
    out, objects = [], []
    for joint, parent in enumerate(clip.parents):
        x, y, z, w = pose.rotations[joint].astype(float)
        turn = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        local = np.eye(4)
        local[:3, :3] = turn * pose.scales[joint]
        local[:3, 3] = pose.translations[joint]
        objects.append(local if parent < 0 else objects[parent] @ local)
        columns = objects[-1][:3].T
        axes = columns[:3].ravel().tolist()
        out.append({"name": clip.joints[joint], "position": columns[3].tolist(), "axes": axes})
    return out


def moment(reel, seconds):
    if len(reel) == 0:
        return {"seconds": seconds, "joints": joints(reel.clips[0], seconds)}
    frame = reel.at(seconds)
    counts = [range(1, info.lods) for info in reel.meshes]
    levels = [
        [len(frame.meshes[m].triangles)] + [len(reel.at(seconds, lod=level).meshes[m].triangles) for level in coarser]
        for m, coarser in enumerate(counts)
    ]
    nodes = [node(shown, frame.meshes, levels) for shown in frame.nodes if shown.mesh is not None]
    return {"seconds": seconds, "nodes": nodes, "cameras": [camera(own, frame) for own in reel.cameras]}


def test_what_is_shown_are_the_numbers_of_the_sources(tmp_path):
    files = {}
    for line in (FOLDER / "moments.txt").read_text().splitlines():
        name, *times = line.split()
        with meshreel.open(FOLDER / name) as reel:
            metres = {"cm": 0.01, "mm": 0.001, "in": 0.0254}.get(reel.unit, 1)
            files[name] = {"metres": metres, "moments": [moment(reel, float(t)) for t in times]}
    shown = tmp_path / "shown.json"
    shown.write_text(json.dumps({"engine": "meshreel", "files": files}))
    check = [sys.executable, ROOT / "tools" / "conformance" / "check.py", shown]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
