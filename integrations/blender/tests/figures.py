"""Prints what a frame takes in Blender: a sheet of 10,000 vertices that waves, frames one after the other.

figures.py      MESHREEL_EXTENSION names the packed extension
"""

import tempfile
import time
from pathlib import Path

import harness  # Before bpy and meshreel.
import bpy
import meshreel
import numpy as np

SIDE, FRAMES = 100, 120


def sheet(folder: Path) -> Path:
    """SIDE × SIDE points with normals and uvs, as OBJ and PC2, compiled."""
    across, along = (axis.ravel() for axis in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    lines = [f"v {x / SIDE} {y / SIDE} 0" for x, y in zip(across, along)]
    lines += [f"vt {x / (SIDE - 1)} {y / (SIDE - 1)}" for x, y in zip(across, along)]
    number = np.arange(1, SIDE * SIDE + 1).reshape(SIDE, SIDE)
    faces = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], -1).reshape(-1, 4)
    lines += ["f " + " ".join(f"{point}/{point}" for point in face) for face in faces]
    (folder / "sheet.obj").write_text("\n".join(lines) + "\n")
    head = np.array([b"POINTCACHE2"], "S12").tobytes() + np.array([1, SIDE * SIDE], "<i4").tobytes()
    head += np.array([0, 1], "<f4").tobytes() + np.array([FRAMES], "<i4").tobytes()
    frames = []
    for frame in range(FRAMES):
        height = 0.1 * np.sin(8 * across / SIDE + frame / 6) * np.cos(5 * along / SIDE - frame / 9)
        frames.append(np.stack([across / SIDE, along / SIDE, height], -1).astype("<f4").tobytes())
    (folder / "sheet.pc2").write_bytes(head + b"".join(frames))
    path = folder / "sheet.reel"
    meshreel.compile(folder / "sheet.obj", path, points=folder / "sheet.pc2", source_fps=24, effort=1)
    return path


def milliseconds(work, turns=5) -> float:
    """What `work(number)` takes for a frame, the best of some turns through all frames, in processor time: others on the
    machine do not count."""
    best = np.inf
    for _ in range(turns):
        begin = time.process_time()
        for number in range(FRAMES):
            work(number)
        best = min(best, (time.process_time() - begin) / FRAMES)
    return 1000 * best


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sheet(Path(folder))
        harness.empty()
        root = harness.add(path)
        scene, cache = bpy.context.scene, root.meshreel
        first = scene.frame_start
        print(f"Blender {bpy.app.version_string}, {SIDE * SIDE} vertices, {FRAMES} frames; ms a frame")
        with meshreel.open(path) as reel:
            seconds = lambda number: reel.times[0] + number * 0.37 / 24
            cases = [
                ("without normals", {"normals": "BLENDER"}, lambda number: reel.frame(number, [])),
                ("the file's normals", {"normals": "FILE"}, lambda number: reel.frame(number, ["normals"])),
                (
                    "velocities",
                    {"normals": "BLENDER", "velocities": "ON"},
                    lambda number: reel.frame(number, ["velocities"]),
                ),
                ("between frames", {"velocities": "OFF", "rate": 0.37}, lambda number: reel.at(seconds(number), [])),
            ]
            for name, given, decode in cases:
                for key, value in given.items():
                    setattr(cache, key, value)
                whole = milliseconds(lambda number: scene.frame_set(first + number))
                print(f"  {name}: {whole:.2f}, of that decoding {milliseconds(decode):.2f}")


main()
