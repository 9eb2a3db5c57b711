#!/usr/bin/env python3
"""An evaluator of animated glTF 2.0 that shares nothing with the reader of the project: an oracle for tests.

It says where every vertex of every mesh is in the world, at any time, by the words of the specification:
node transforms (STEP, LINEAR, CUBICSPLINE), morph targets, skins, and the extensions
EXT_mesh_gpu_instancing, KHR_animation_pointer (nodes, weights, visibility) and KHR_node_visibility.
Compressed files (EXT_meshopt_compression, KHR_draco_mesh_compression) are refused.

    gltf.py FILE --times 0,0.5,1 -o OUT.npz      world points of each mesh at each time
    gltf.py FILE --times 0,0.5,1 --against DIR   the same compared with an OBJ for each time, in the order of names

OUT.npz has `times` (T) and `names` (a path for each mesh that is shown somewhere), and of mesh number i
`points_i` (T × vertices × 3), `faces_i` (triangles × 3; none where a primitive is no triangles) and `shown_i` (T);
`frame_k` has all points that are seen at time number k, as `tests/foreign.py` takes them.

As module: `File(path).at(time)` gives a list of `PlacedMesh`.
"""

import argparse
import base64
import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np

COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
REFUSED = ("EXT_meshopt_compression", "KHR_meshopt_compression", "KHR_draco_mesh_compression")


@dataclass
class PlacedMesh:
    """A mesh at one of its places, at a time."""

    name: str
    points: np.ndarray
    faces: np.ndarray
    visible: bool


@dataclass
class Curve:
    """Keys of one property."""

    times: np.ndarray
    values: np.ndarray
    how: str

    @property
    def changes(self):
        key = self.values[:, 1] if self.how == "CUBICSPLINE" else self.values
        tangents = self.values[:, ::2] if self.how == "CUBICSPLINE" else np.zeros(1)
        return bool((key != key[0]).any() or tangents.any())

    def at(self, time, turns=False):
        """The value at a time; of rotations a unit quaternion."""
        key = self.values[:, 1] if self.how == "CUBICSPLINE" else self.values
        k = int(np.searchsorted(self.times, time, side="right")) - 1
        if k < 0:
            value = key[0]
        elif k + 1 >= len(self.times) or self.how == "STEP":
            value = key[min(k, len(key) - 1)]
        else:
            length = self.times[k + 1] - self.times[k]
            u = (time - self.times[k]) / length
            if self.how == "CUBICSPLINE":
                out, into = length * self.values[k, 2], length * self.values[k + 1, 0]
                value = (
                    (2 * u**3 - 3 * u**2 + 1) * key[k]
                    + (u**3 - 2 * u**2 + u) * out
                    + (3 * u**2 - 2 * u**3) * key[k + 1]
                    + (u**3 - u**2) * into
                )
            elif turns:
                return slerp(unit(key[k]), unit(key[k + 1]), u)
            else:
                value = key[k] + (key[k + 1] - key[k]) * u
        return unit(value) if turns else value


def unit(q):
    length = np.linalg.norm(q)
    return q / length if length > 0 else np.array([0.0, 0.0, 0.0, 1.0])


def slerp(a, b, u):
    cosine = float(a @ b)
    if cosine < 0:
        b, cosine = -b, -cosine
    if cosine > 1 - 1e-12:
        return unit(a + (b - a) * u)
    angle = np.arccos(cosine)
    return unit((np.sin((1 - u) * angle) * a + np.sin(u * angle) * b) / np.sin(angle))


def matrix(translation, rotation, scale):
    x, y, z, w = rotation
    out = np.eye(4)
    out[:3, :3] = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ) * np.asarray(scale)
    out[:3, 3] = translation
    return out


class File:
    """A glTF file with one animation, or with all of them: each node follows the first that moves it, and the joints of
    a skeleton together the first that moves one of them, beginning with the first animation in which anything changes."""

    def __init__(self, path, animation=None):
        self.path = Path(path)
        data = self.path.read_bytes()
        self.binary = None
        if data[:4] == b"glTF":
            at, chunks = 12, []
            while at + 8 <= len(data):
                length, kind = struct.unpack_from("<I4s", data, at)
                chunks.append((kind, data[at + 8 : at + 8 + length]))
                at += 8 + length + -length % 4
            self.json = json.loads(chunks[0][1])
            self.binary = next((bytes for kind, bytes in chunks[1:] if kind == b"BIN\0"), None)
        else:
            self.json = json.loads(data)
        refused = [name for name in REFUSED if name in self.json.get("extensionsRequired", [])]
        if refused:
            raise ValueError(f"needs {refused[0]}")
        self.buffers = {}
        self.nodes = self.json.get("nodes", [])
        self.curves = self._curves(animation)
        scenes = self.json.get("scenes", [])
        children = {child for node in self.nodes for child in node.get("children", [])}
        roots = [n for n in range(len(self.nodes)) if n not in children]
        self.roots = scenes[self.json.get("scene", 0)].get("nodes", []) if scenes else roots
        self.inverse_binds = {}
        self.meshes = {}

    # Buffers and accessors.

    def buffer(self, number):
        if number not in self.buffers:
            uri = self.json["buffers"][number].get("uri")
            if uri is None:
                data = self.binary
            elif uri.startswith("data:"):
                data = base64.b64decode(uri.split(",", 1)[1])
            else:
                data = (self.path.parent / unquote(uri)).read_bytes()
            self.buffers[number] = data
        return self.buffers[number]

    def view(self, number, offset, count, dtype, width):
        view = self.json["bufferViews"][number]
        size = np.dtype(dtype).itemsize
        stride = view.get("byteStride", size * width)
        start = view.get("byteOffset", 0) + offset
        data = np.frombuffer(self.buffer(view["buffer"]), np.uint8)
        rows = start + stride * np.arange(count)[:, None] + np.arange(size * width)
        return np.ascontiguousarray(data[rows]).view(dtype).reshape(count, width)

    def accessor(self, number):
        own = self.json["accessors"][number]
        dtype, width, count = COMPONENTS[own["componentType"]], WIDTHS[own["type"]], own["count"]
        if "bufferView" in own:
            out = self.view(own["bufferView"], own.get("byteOffset", 0), count, dtype, width).copy()
        else:
            out = np.zeros((count, width), dtype)
        if "sparse" in own:
            sparse = own["sparse"]
            at, new = sparse["indices"], sparse["values"]
            kind = COMPONENTS[at["componentType"]]
            places = self.view(at["bufferView"], at.get("byteOffset", 0), sparse["count"], kind, 1)[:, 0]
            out[places] = self.view(new["bufferView"], new.get("byteOffset", 0), sparse["count"], dtype, width)
        if own.get("normalized"):
            most = np.iinfo(np.dtype(dtype)).max
            return np.maximum(out.astype(np.float64) / most, -1.0)
        return out.astype(np.float64) if dtype == "<f4" else out

    # Animations.

    def _curves(self, wanted):
        """Curves by (kind, number, property)."""
        animations = [self._animation(animation) for animation in self.json.get("animations", [])]
        if wanted is not None:
            names = [animation.get("name") for animation in self.json.get("animations", [])]
            return animations[names.index(wanted) if wanted in names else int(wanted)]
        first = next((i for i, own in enumerate(animations) if any(c.changes for c in own.values())), 0)
        out, owners, skeletons = {}, {}, self._skeletons()
        for own in animations[first : first + 1] + animations:
            for key, curve in own.items():
                if owners.setdefault(skeletons.get(key[:2], key[:2]), own) is own:
                    out[key] = curve
        return out

    def _skeletons(self):
        """By joint ("nodes", number) its skeleton: the joints of all skins that share some."""
        out = {}
        for skin in self.json.get("skins", []):
            joints = [("nodes", n) for n in skin["joints"]]
            merged = {out[joint] for joint in joints if joint in out}
            name = ("skeleton", len(out))
            out.update({joint: name for joint in [*joints, *(j for j, s in out.items() if s in merged)]})
        return out

    def _animation(self, animation):
        out = {}
        for channel in animation.get("channels", []):
            key = self._target(channel["target"])
            if key is None:
                continue
            sampler = animation["samplers"][channel["sampler"]]
            times = self.accessor(sampler["input"])[:, 0].astype(np.float64)
            values = self.accessor(sampler["output"]).astype(np.float64)
            how = sampler.get("interpolation", "LINEAR")
            parts = 3 if how == "CUBICSPLINE" else 1
            values = values.reshape(len(times), parts, -1)
            out.setdefault(key, Curve(times, values if parts == 3 else values[:, 0], how))
        return out

    def _target(self, target):
        pointer = target.get("extensions", {}).get("KHR_animation_pointer", {}).get("pointer")
        if pointer is None:
            return ("nodes", target["node"], target["path"]) if "node" in target else None
        parts = pointer.split("/")[1:]
        if parts[0] not in ("nodes", "meshes"):
            return None
        if parts[2:] == ["extensions", "KHR_node_visibility", "visible"]:
            return (parts[0], int(parts[1]), "visible")
        return (parts[0], int(parts[1]), "/".join(parts[2:]))

    def value(self, kind, number, name, time, rest):
        curve = self.curves.get((kind, number, name))
        if curve is None:
            return rest
        if name == "visible":
            curve = Curve(curve.times, curve.values, "STEP")
        return curve.at(time, turns=name == "rotation")

    # The scene at a time.

    def local(self, n, time):
        node = self.nodes[n]
        moves = any(("nodes", n, name) in self.curves for name in ("translation", "rotation", "scale"))
        if "matrix" in node and not moves:
            return np.array(node["matrix"], float).reshape(4, 4).T
        return matrix(
            self.value("nodes", n, "translation", time, node.get("translation", (0, 0, 0))),
            self.value("nodes", n, "rotation", time, unit(np.array(node.get("rotation", (0, 0, 0, 1)), float))),
            self.value("nodes", n, "scale", time, node.get("scale", (1, 1, 1))),
        )

    def shows(self, n, time):
        own = self.nodes[n].get("extensions", {}).get("KHR_node_visibility", {}).get("visible", True)
        return bool(np.all(self.value("nodes", n, "visible", time, own)))

    def world(self, time):
        """By node its matrix to the world; all nodes are there, since joints may stand outside of the scene."""
        out = [None] * len(self.nodes)
        children = {child for node in self.nodes for child in node.get("children", [])}
        stack = [(n, np.eye(4)) for n in range(len(self.nodes)) if n not in children]
        while stack:
            n, above = stack.pop()
            out[n] = above @ self.local(n, time)
            stack += [(child, out[n]) for child in self.nodes[n].get("children", [])]
        return out

    def weights(self, n, time):
        node = self.nodes[n]
        mesh = self.json["meshes"][node["mesh"]]
        count = max((len(p.get("targets", [])) for p in mesh["primitives"]), default=0)
        rest = np.zeros(count)
        given = node.get("weights", mesh.get("weights", []))
        rest[: len(given)] = given
        sources = [("nodes", n)] if "weights" in node else [("meshes", node["mesh"]), ("nodes", n)]
        out = rest
        for kind, number in sources:
            out = np.array(self.value(kind, number, "weights", time, out), float)
            for i in range(count):
                out[i] = np.ravel(self.value(kind, number, f"weights/{i}", time, out[i]))[0]
        return out

    def mesh(self, number):
        """The primitives of a mesh: points, targets, joints and weights, triangles."""
        if number not in self.meshes:
            out = []
            for primitive in self.json["meshes"][number]["primitives"]:
                attributes = primitive["attributes"]
                if "POSITION" not in attributes:
                    continue
                points = self.accessor(attributes["POSITION"]).astype(np.float64)
                targets = [
                    self.accessor(target["POSITION"]).astype(np.float64) if "POSITION" in target else None
                    for target in primitive.get("targets", [])
                ]
                sets = [s for s in range(64) if f"JOINTS_{s}" in attributes and f"WEIGHTS_{s}" in attributes]
                joints = [self.accessor(attributes[f"JOINTS_{s}"]).astype(int) for s in sets]
                weights = [self.accessor(attributes[f"WEIGHTS_{s}"]).astype(np.float64) for s in sets]
                bound = (np.hstack(joints), np.hstack(weights)) if sets else None
                out.append((points, targets, bound, self.triangles(primitive, len(points))))
            self.meshes[number] = out
        return self.meshes[number]

    def triangles(self, primitive, count):
        indices = self.accessor(primitive["indices"])[:, 0] if "indices" in primitive else np.arange(count)
        indices = indices.astype(int)
        mode = primitive.get("mode", 4)
        if mode == 4:
            return indices[: len(indices) // 3 * 3].reshape(-1, 3)
        if mode == 5:
            rows = [indices[i : i + 3] if i % 2 == 0 else indices[[i + 1, i, i + 2]] for i in range(len(indices) - 2)]
            return np.array(rows, int).reshape(-1, 3)
        if mode == 6:
            rows = [[indices[i + 1], indices[i + 2], indices[0]] for i in range(len(indices) - 2)]
            return np.array(rows, int).reshape(-1, 3)
        return np.zeros((0, 3), int)

    def places(self, node):
        """The matrices of a mesh relative to its node."""
        instancing = node.get("extensions", {}).get("EXT_mesh_gpu_instancing")
        if instancing is None or "skin" in node or not instancing.get("attributes"):
            return [np.eye(4)]
        attributes = {name: self.accessor(a).astype(np.float64) for name, a in instancing["attributes"].items()}
        count = len(next(iter(attributes.values())))
        rest = {"TRANSLATION": (0, 0, 0), "ROTATION": (0, 0, 0, 1), "SCALE": (1, 1, 1)}
        value = lambda name, i: attributes[name][i] if name in attributes else np.array(rest[name], float)
        return [
            matrix(value("TRANSLATION", i), unit(value("ROTATION", i)), value("SCALE", i)) for i in range(count)
        ]

    def at(self, time):
        """Every mesh of the scene at each of its places: the same ones in the same order at any time."""
        world, out = self.world(time), []
        stack = [(n, "", True) for n in reversed(self.roots)]
        while stack:
            n, above, visible = stack.pop()
            node = self.nodes[n]
            name = f"{above}/{node.get('name', f'node {n}')}"
            visible = visible and self.shows(n, time)
            stack += [(child, name, visible) for child in reversed(node.get("children", []))]
            if "mesh" not in node:
                continue
            weights = self.weights(n, time)
            for place in self.places(node):
                points, faces, first = [], [], 0
                for primitive in self.mesh(node["mesh"]):
                    moved = self.deformed(node, primitive, weights, world, world[n] @ place)
                    points.append(moved)
                    faces.append(primitive[3] + first)
                    first += len(moved)
                if points:
                    out.append(PlacedMesh(name, np.vstack(points), np.vstack(faces), visible))
        return out

    def deformed(self, node, primitive, weights, world, own):
        points, targets, bound, _ = primitive
        points = points.copy()
        for weight, target in zip(weights, targets):
            if target is not None:
                points += weight * target
        skin = self.json["skins"][node["skin"]] if "skin" in node and bound is not None else None
        if skin is None:
            return points @ own[:3, :3].T + own[:3, 3]
        joints, influence = bound
        matrices = np.array([world[j] for j in skin["joints"]])
        if "inverseBindMatrices" in skin:
            inverse = self.accessor(skin["inverseBindMatrices"]).astype(np.float64)
            matrices = matrices @ inverse[: len(matrices)].reshape(-1, 4, 4).transpose(0, 2, 1)
        total = influence.sum(axis=1, keepdims=True)
        influence = np.divide(influence, total, out=np.zeros_like(influence), where=total > 0)
        blended = np.einsum("vk,vkij->vij", influence, matrices[joints])
        moved = np.einsum("vij,vj->vi", blended[:, :3, :3], points) + blended[:, :3, 3]
        return np.where(total > 0, moved, points)


def read_obj(path):
    """The points of an OBJ that faces have."""
    points, used = [], set()
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["v"]:
                points.append([float(v) for v in words[1:4]])
            elif words[:1] == ["f"]:
                for word in words[1:]:
                    number = int(word.split("/")[0])
                    used.add(number - 1 if number > 0 else len(points) + number)
    return np.array(points, float).reshape(-1, 3)[sorted(used)]


def distance(a, b):
    """The largest distance from a point of one set to the nearest of the other, both ways."""
    if len(a) == 0 or len(b) == 0:
        return 0.0 if len(a) == len(b) else float("inf")
    worst = 0.0
    for some, others in ((a, b), (b, a)):
        for start in range(0, len(some), 256):
            part = some[start : start + 256]
            square = ((part[:, None, :] - others[None, :, :]) ** 2).sum(axis=2)
            worst = max(worst, float(np.sqrt(square.min(axis=1).max())))
    return worst


def shown_points(file, time):
    """All points at a time that faces of visible meshes have."""
    meshes = [own for own in file.at(time) if own.visible and len(own.faces)]
    all_points = [own.points[np.unique(own.faces)] for own in meshes]
    return np.vstack(all_points) if all_points else np.zeros((0, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--times", required=True, help="seconds, with commas between them; @FILE has one a line")
    parser.add_argument("--animation", help="name or number; else all, the first that moves something first")
    parser.add_argument("-o", metavar="OUT.npz")
    parser.add_argument("--against", metavar="DIR", help="OBJ files, one for each time in the order of their names")
    given = parser.parse_args()
    text = given.times
    times = Path(text[1:]).read_text().split() if text.startswith("@") else text.split(",")
    times = [float(time) for time in times]
    file = File(given.file, given.animation)
    if given.o:
        frames = [file.at(time) for time in times]
        out = {"times": np.array(times), "names": np.array([own.name for own in frames[0]])}
        for i, own in enumerate(frames[0]):
            out[f"points_{i}"] = np.array([frame[i].points for frame in frames])
            out[f"shown_{i}"] = np.array([frame[i].visible for frame in frames])
            out[f"faces_{i}"] = own.faces
        out |= {f"frame_{k}": shown_points(file, time) for k, time in enumerate(times)}
        np.savez_compressed(given.o, **out)
    if given.against:
        files = sorted(Path(given.against).glob("*.obj"))
        if len(files) != len(times):
            sys.exit(f"{len(files)} OBJ files for {len(times)} times")
        far = [distance(shown_points(file, t), read_obj(path)) for t, path in zip(times, files)]
        worst = int(np.argmax(far))
        print(f"{max(far):.9g} at frame {worst}, {times[worst]:.6f} s; {len(times)} frames")


if __name__ == "__main__":
    main()
