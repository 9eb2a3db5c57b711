#!/usr/bin/env python3
"""Displaces proxies by their textures in Blender and compares them with frames as .obj (tests/openvat.sh).

    openvat_blender.py FOLDER…     each with thing_vat/, frames/ and report.json

Needs Blender as a module. Exit 1 where a vertex is further from its point than the report says.
"""

import json
import math
import os
import pathlib
import sys

import bpy
import numpy
from mathutils import kdtree

NODES = "VAT"


def load(folder):
    """The proxy as an object, its textures, and the ranges of offsets."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(folder / "thing.glb"))
    objects = [item for item in bpy.data.objects if item.type == "MESH"]
    assert len(objects) == 1, objects
    images = {}
    for kind in ("vat", "vnrm"):
        found = list(folder.glob(f"thing_{kind}.*"))
        if found:
            images[kind] = bpy.data.images.load(str(found[0]))
            images[kind].colorspace_settings.name = "Non-Color"
    info = json.loads((folder / "thing-remap_info.json").read_text())["os-remap"]
    return objects[0], images, info


def displaced(item, image, info):
    """A node tree that puts each vertex where the texture says, with the frame as its input."""
    tree = bpy.data.node_groups.new(NODES, "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Row", in_out="INPUT", socket_type="NodeSocketFloat")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = tree.nodes, tree.links
    given, out = nodes.new("NodeGroupInput"), nodes.new("NodeGroupOutput")
    uv = nodes.new("GeometryNodeInputNamedAttribute")
    uv.data_type = "FLOAT_VECTOR"
    uv.inputs["Name"].default_value = item.data.uv_layers[1].name
    down = nodes.new("ShaderNodeCombineXYZ")
    links.new(given.outputs["Row"], down.inputs["Y"])
    place = nodes.new("ShaderNodeVectorMath")
    place.operation = "SUBTRACT"
    links.new(uv.outputs["Attribute"], place.inputs[0])
    links.new(down.outputs["Vector"], place.inputs[1])
    texture = nodes.new("GeometryNodeImageTexture")
    texture.interpolation = "Closest"
    texture.inputs["Image"].default_value = image
    links.new(place.outputs["Vector"], texture.inputs["Vector"])
    low, high = numpy.array(info["Min"]), numpy.array(info["Max"])
    scale = nodes.new("ShaderNodeVectorMath")
    scale.operation = "MULTIPLY_ADD"
    scale.inputs[1].default_value = high - low
    scale.inputs[2].default_value = low
    links.new(texture.outputs["Color"], scale.inputs[0])
    move = nodes.new("GeometryNodeSetPosition")
    links.new(given.outputs["Geometry"], move.inputs["Geometry"])
    links.new(scale.outputs["Vector"], move.inputs["Offset"])
    links.new(move.outputs["Geometry"], out.inputs["Geometry"])
    modifier = item.modifiers.new(NODES, "NODES")
    modifier.node_group = tree
    return modifier, tree.interface.items_tree["Row"].identifier


def positions(item, modifier, row, height, frame):
    """Points in the world at a frame, as the node tree has them."""
    modifier[row] = frame / height
    item.update_tag()
    bpy.context.view_layer.update()
    mesh = item.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    out = numpy.empty(3 * len(mesh.vertices), numpy.float32)
    mesh.attributes["position"].data.foreach_get("vector", out)
    world = numpy.array(item.matrix_world)
    return out.reshape(-1, 3).astype(float) @ world[:3, :3].T + world[:3, 3]


def normals(item, image, below, height, frames):
    """Normals of the first corner of each vertex, from the pixels themselves."""
    pixels = numpy.empty(len(image.pixels), numpy.float32)
    image.pixels.foreach_get(pixels)
    pixels = pixels.reshape(image.size[1], image.size[0], 4)
    mesh = item.data
    corner = numpy.empty(len(mesh.loops), int)
    mesh.loops.foreach_get("vertex_index", corner)
    uvs = numpy.empty(2 * len(mesh.loops), numpy.float32)
    mesh.uv_layers[1].uv.foreach_get("vector", uvs)
    uv = numpy.zeros((len(mesh.vertices), 2))
    uv[corner] = uvs.reshape(-1, 2)
    column = (uv[:, 0] * image.size[0]).astype(int)
    line = ((uv[:, 1] - below) * image.size[1]).astype(int)
    for frame in frames:
        yield pixels[line - frame, column, :3] * 2.0 - 1.0


def frames_of(folder):
    """Points of all frames, up being z as in Blender."""
    out = []
    for path in sorted(folder.glob("*.obj")):
        values = [line.split()[1:4] for line in path.read_text().splitlines() if line.startswith("v ")]
        x, y, z = numpy.array(values, float).T
        out.append(numpy.stack([x, -z, y], axis=1))
    return out


def compare(folder):
    """The largest distance of a vertex from the point that it stays nearest to; what was told; both in metres."""
    item, images, info = load(folder / "thing_vat")
    truth = frames_of(folder / "frames")
    told = json.loads((folder / "report.json").read_text())["openvat"]
    assert info["Frames"] == len(truth) and tuple(images["vat"].size) == (told["width"], told["height"])
    modifier, row = displaced(item, images["vat"], info)
    height = images["vat"].size[1]
    found = [positions(item, modifier, row, height, frame) for frame in range(len(truth))]
    still = len({len(points) for points in truth}) == 1
    tree = kdtree.KDTree(len(truth[0]))
    for number, point in enumerate(truth[0]):
        tree.insert(point, number)
    tree.balance()
    worst = 0.0
    if still:
        tracks, wanted = numpy.stack(found), numpy.stack(truth)
        for vertex in range(tracks.shape[1]):
            near = [number for _, number, _ in tree.find_range(tracks[0, vertex], 1e-3)]
            offs = numpy.linalg.norm(tracks[:, vertex, None] - wanted[:, near], axis=2).max(axis=0)
            worst = max(worst, offs.min())
    else:
        # Meshes come and go: each point that is shown is where some vertex is.
        for points, shown in zip(found, truth):
            tree = kdtree.KDTree(len(points))
            for number, point in enumerate(points):
                tree.insert(point, number)
            tree.balance()
            worst = max([worst] + [tree.find(point)[2] for point in shown])
    # Normals are of length 1 and, in the first frame, those of the proxy.
    image, below = (images["vnrm"], 0.0) if "vnrm" in images else (images["vat"], 0.5)
    lengths = []
    for values in normals(item, image, below, height, range(len(truth))):
        lengths.append(numpy.abs(numpy.linalg.norm(values, axis=1) - 1.0).max())
    assert max(lengths) < 1e-3, max(lengths)
    size = max(numpy.abs(points).max() for points in truth)
    return worst, told["error"], size


def main():
    failed = False
    for folder in map(pathlib.Path, sys.argv[1:]):
        worst, told, size = compare(folder)
        # Digits of the .obj, and of Blender's own numbers of 32 bits.
        held = math.isfinite(worst) and worst <= told + 1e-6 * size
        failed |= not held
        print(f"{folder.name}: {worst:.3e} away, {told:.3e} told{'' if held else '  TOO FAR'}")
    sys.stdout.flush()
    # Blender as a module may end with an error of its own while it is taken apart.
    os._exit(failed)


if __name__ == "__main__":
    main()
