#!/usr/bin/env python3
"""Opens Alembic files with Blender's own importer, to see that ours are what a content tool expects.

    blender_import.py FILE.abc                       tree, frame range, per frame the bounds and a hash of all positions
    blender_import.py A.abc B.abc --tolerance 1e-4   compares them: same objects, frames, faces; largest distance of points
                      [--flat]                       objects by mesh and order only (a flattened hierarchy)

Needs Blender 4.2 as a module (`pip install bpy==4.2.0`, Python 3.11). Exit 1 where the files differ.
"""

import argparse
import hashlib
import sys

import bpy
import numpy


def load(path):
    """Imports `path` into an empty scene; returns a function that evaluates a frame, and the frames."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    result = bpy.ops.wm.alembic_import(filepath=path, as_background_job=False, set_frame_range=True, validate_meshes=False)
    if result != {"FINISHED"}:
        sys.exit(f"{path}: the importer says {result}")
    scene = bpy.context.scene
    return range(scene.frame_start, scene.frame_end + 1)


def name_of(item):
    return f"{name_of(item.parent)}/{item.name}" if item.parent else f"/{item.name}"


def evaluate(frame):
    """Path → (world positions, face sizes, point of each corner, uvs) of all meshes that are shown."""
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    meshes = {}
    for item in sorted(bpy.data.objects, key=name_of):
        if item.type != "MESH":
            continue
        shown = item.evaluated_get(graph)
        mesh = shown.data
        points = numpy.empty(len(mesh.vertices) * 3, dtype=numpy.float32)
        mesh.vertices.foreach_get("co", points)
        matrix = numpy.array(shown.matrix_world, dtype=numpy.float64)
        points = points.reshape(-1, 3).astype(numpy.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        sizes = numpy.empty(len(mesh.polygons), dtype=numpy.int32)
        mesh.polygons.foreach_get("loop_total", sizes)
        corners = numpy.empty(len(mesh.loops), dtype=numpy.int32)
        mesh.loops.foreach_get("vertex_index", corners)
        uvs = []
        for layer in mesh.uv_layers:
            uv = numpy.empty(len(layer.data) * 2, dtype=numpy.float32)
            layer.data.foreach_get("uv", uv)
            uvs.append(uv.reshape(-1, 2))
        # Where a face begins means nothing: each begins at its lowest point.
        begins = numpy.concatenate(([0], numpy.cumsum(sizes)[:-1])) if len(sizes) else numpy.zeros(0, int)
        order = [b + (k + int(corners[b : b + n].argmin())) % n for b, n in zip(begins, sizes) for k in range(n)]
        corners = corners[order]
        uvs = [uv[order] for uv in uvs]
        meshes[name_of(item)] = (points, sizes, corners, uvs, bool(item.hide_viewport))
    return meshes


def tree(only_meshes=False):
    """One line per object; or of meshes and what is above them alone."""
    wanted = set(bpy.data.objects)
    if only_meshes:
        wanted = set()
        for item in bpy.data.objects:
            while item and (item.type == "MESH" or item in wanted or any(c.type == "MESH" for c in item.children_recursive)):
                wanted.add(item)
                item = item.parent
    lines = []
    for item in sorted(wanted, key=name_of):
        # A set without faces is no material.
        used = {p.material_index for p in item.data.polygons} if item.type == "MESH" else set()
        materials = ",".join(s.name for i, s in enumerate(item.material_slots) if i in used and s.name != "default")
        layers = ""
        if item.type == "MESH":
            colours = [a.name for a in item.data.color_attributes]
            layers = f" uvs={[u.name for u in item.data.uv_layers]} colours={colours}"
        lines.append(f"{name_of(item)} {item.type}{' materials=' + materials if materials else ''}{layers}")
    return lines


def show(path):
    frames = load(path)
    for line in tree():
        print(line)
    print(f"frames {frames.start}..{frames.stop - 1} at {bpy.context.scene.render.fps / bpy.context.scene.render.fps_base:g}")
    for frame in frames:
        meshes = evaluate(frame)
        points = [m[0] for m in meshes.values() if len(m[0])]
        total = numpy.concatenate(points) if points else numpy.zeros((1, 3))
        digest = hashlib.sha256(total.tobytes()).hexdigest()[:12]
        hidden = sum(m[4] for m in meshes.values())
        print(f"{frame}: {sum(len(p) for p in points)} points {digest} {total.min(0).round(4)} {total.max(0).round(4)} hidden {hidden}")


def compare(one, two, tolerance, flat):
    frames = load(one)
    first = [evaluate(frame) for frame in frames]
    names = tree(only_meshes=True)
    others = load(two)
    if frames != others:
        sys.exit(f"frames {frames.start}..{frames.stop - 1} and {others.start}..{others.stop - 1}")
    if not flat and names != (again := tree(only_meshes=True)):
        differ = sorted(set(names) ^ set(again))
        sys.exit("trees differ:\n  " + "\n  ".join(differ))
    worst = 0.0
    worst_uv = 0.0
    for frame, meshes in zip(frames, first):
        again = evaluate(frame)
        if len(meshes) != len(again) or (not flat and meshes.keys() != again.keys()):
            sys.exit(f"frame {frame}: {len(meshes)} meshes and {len(again)}")
        for (name, a), b in zip(meshes.items(), again.values()):
            for what, x, y in (("points", a[0], b[0]), ("faces", a[1], b[1]), ("corners", a[2], b[2]), ("uv sets", a[3], b[3])):
                if len(x) != len(y):
                    sys.exit(f"frame {frame} {name}: {len(x)} and {len(y)} {what}")
            if (a[1] != b[1]).any() or (a[2] != b[2]).any():
                sys.exit(f"frame {frame} {name}: other faces")
            if len(a[0]):
                worst = max(worst, float(numpy.linalg.norm(a[0] - b[0], axis=1).max()))
            for x, y in zip(a[3], b[3]):
                worst_uv = max(worst_uv, float(numpy.abs(x - y).max(initial=0)))
    print(f"{len(frames)} frames, {len(names)} objects of meshes: positions differ by {worst:.3g} at most, uvs by {worst_uv:.3g}")
    if worst > tolerance:
        sys.exit(f"more than {tolerance}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("--flat", action="store_true")
    args = parser.parse_args()
    if args.other:
        compare(args.file, args.other, args.tolerance, args.flat)
    else:
        show(args.file)


main()
