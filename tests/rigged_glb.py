"""Writes a small .glb of a rig: a beam of two bones that bends and turns for a second, 24 samples."""

import json
import struct
import sys

import numpy as np

#: Rings of four points along the beam, which is two long.
RINGS, SAMPLES, RATE = 9, 25, 24.0


def quaternion(axis, angle):
    return [*(np.sin(angle / 2) * np.asarray(axis)), np.cos(angle / 2)]


def write(path, scale=1.0):
    """`scale`: of the node above the joints, as tools write that keep centimetres; the beam is as long in the world."""
    height = np.linspace(0, 2, RINGS)
    square = np.array([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])
    points = np.array([[x, y, z] for y in height for x, z in square], np.float32)
    near = np.clip(height - 0.5, 0, 1).repeat(4)
    joints = np.tile(np.array([0, 1, 0, 0], np.uint8), (len(points), 1))
    weights = np.zeros((len(points), 4), np.float32)
    weights[:, 0], weights[:, 1] = 1 - near, near
    faces = []
    for ring in range(RINGS - 1):
        for side in range(4):
            a, b = 4 * ring + side, 4 * ring + (side + 1) % 4
            faces += [[a, a + 4, b], [b, a + 4, b + 4]]
    # Columns: the joints lie at heights 0 and 1, seen from the world.
    inverse = np.zeros((2, 4, 4), np.float32)
    for joint, y in enumerate((0.0, 1.0)):
        inverse[joint] = np.diag([1 / scale, 1 / scale, 1 / scale, 1])
        inverse[joint, 3, 1] = -y / scale
    times = (np.arange(SAMPLES) / RATE).astype(np.float32)
    bend = np.array([quaternion((0, 0, 1), 1.2 * np.sin(2 * np.pi * t)) for t in times], np.float32)
    turn = np.array([quaternion((0, 1, 0), 0.8 * t) for t in times], np.float32)
    move = np.stack([0.3 * times, 0 * times, 0 * times], axis=1).astype(np.float32) / np.float32(scale)
    arrays = [points, np.array(faces, np.uint16).ravel(), joints, weights, inverse, times, bend, turn, move]
    kinds = ["VEC3", "SCALAR", "VEC4", "VEC4", "MAT4", "SCALAR", "VEC4", "VEC4", "VEC3"]
    numbers = {"float32": 5126, "uint16": 5123, "uint8": 5121}
    body, views, accessors = b"", [], []
    for array, kind in zip(arrays, kinds):
        views.append({"buffer": 0, "byteOffset": len(body), "byteLength": array.nbytes})
        accessor = {"bufferView": len(accessors), "componentType": numbers[array.dtype.name], "count": len(array)}
        accessor["type"] = kind
        if kind in ("VEC3", "SCALAR"):
            accessor["min"] = np.atleast_1d(array.min(axis=0)).tolist()
            accessor["max"] = np.atleast_1d(array.max(axis=0)).tolist()
        accessors.append(accessor)
        body += array.tobytes() + b"\0" * (-array.nbytes % 4)
    channel = lambda sampler, node, what: {"sampler": sampler, "target": {"node": node, "path": what}}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 3]}],
        "nodes": [
            {"name": "rig", "scale": [scale] * 3, "children": [1]},
            {"name": "lower", "children": [2]},
            {"name": "upper", "translation": [0, 1 / scale, 0]},
            {"name": "beam", "mesh": 0, "skin": 0},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3}, "indices": 1}]}],
        "skins": [{"joints": [1, 2], "inverseBindMatrices": 4}],
        "animations": [
            {
                "name": "bend",
                "samplers": [{"input": 5, "output": output} for output in (6, 7, 8)],
                "channels": [channel(0, 2, "rotation"), channel(1, 1, "rotation"), channel(2, 1, "translation")],
            }
        ],
        "buffers": [{"byteLength": len(body)}],
        "bufferViews": views,
        "accessors": accessors,
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(body), b"BIN\0") + body
    with open(path, "wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    return path


if __name__ == "__main__":
    write(sys.argv[1])
