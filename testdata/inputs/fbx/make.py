#!/usr/bin/env python3
"""Writes the FBX files of this folder with Blender's own exporter, and in expected.json where Blender has the vertices.

Needs Blender as a module (`pip install bpy==4.2.0`, Python 3.11). Run in this folder: python3 make.py. The files that it
writes are small, and belong to meshreel like the script.
"""

import json
import math
import os
import sys

import bpy

FRAMES = 12


def clear():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 24
    scene.frame_start, scene.frame_end = 1, FRAMES


def add(name, vertices, faces, parent=None):
    mesh = bpy.data.meshes.new(name + "Mesh")
    mesh.from_pydata(vertices, [], faces)
    item = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(item)
    item.parent = parent
    return item


def tube(rings, sides, length=2.0):
    ring = lambda r: [(math.cos(k * math.tau / sides) * 0.3, math.sin(k * math.tau / sides) * 0.3, r * length / (rings - 1)) for k in range(sides)]
    vertices = [v for r in range(rings) for v in ring(r)]
    at = lambda r, k: r * sides + k % sides
    faces = [(at(r, k), at(r, k + 1), at(r + 1, k + 1), at(r + 1, k)) for r in range(rings - 1) for k in range(sides)]
    return vertices, faces


def key(item, path, frame, value):
    setattr(item, path, value)
    item.keyframe_insert(path, frame=frame)


def skinned():
    clear()
    armature = bpy.data.armatures.new("Bones")
    rig = bpy.data.objects.new("Rig", armature)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    above = None
    for number in range(3):
        bone = armature.edit_bones.new(f"bone{number}")
        bone.head, bone.tail = (0, 0, number * 0.7), (0, 0, number * 0.7 + 0.7)
        bone.parent, above = above, bone
    bpy.ops.object.mode_set(mode="OBJECT")
    item = add("Tube", *tube(9, 6), parent=rig)
    for number in range(3):
        group = item.vertex_groups.new(name=f"bone{number}")
        for vertex in item.data.vertices:
            weight = max(0.0, 1.0 - abs(vertex.co.z - 0.35 - 0.7 * number) / 0.7)
            if weight > 0.0:
                group.add([vertex.index], weight, "REPLACE")
    item.modifiers.new("Armature", "ARMATURE").object = rig
    for frame in range(1, FRAMES + 1):
        for number in range(1, 3):
            bone = rig.pose.bones[f"bone{number}"]
            bone.rotation_mode = "XYZ"
            key(bone, "rotation_euler", frame, (0.06 * frame, 0.03 * frame * number, 0.0))
    return "skinned"


def shapes():
    clear()
    vertices, faces = tube(5, 8)
    item = add("Blob", vertices, faces)
    uvs = item.data.uv_layers.new(name="UVMap")
    for loop in item.data.loops:
        uvs.data[loop.index].uv = (loop.vertex_index % 8 / 8, loop.vertex_index // 8 / 4)
    colours = item.data.color_attributes.new("Paint", "BYTE_COLOR", "CORNER")
    for loop in item.data.loops:
        colours.data[loop.index].color = (loop.vertex_index / 40, 0.5, 1.0 - loop.vertex_index / 40, 1.0)
    for name in ("red", "blue"):
        item.data.materials.append(bpy.data.materials.new(name))
    for face in item.data.polygons:
        face.material_index = face.index % 2
    item.shape_key_add(name="Basis")
    for name, move in (("wide", lambda v: (v[0] * 0.8, v[1] * 0.4, 0.0)), ("tall", lambda v: (0.0, 0.0, v[2] * 0.5))):
        shape = item.shape_key_add(name=name)
        for point, vertex in zip(shape.data, vertices):
            point.co = tuple(a + b for a, b in zip(vertex, move(vertex)))
        for frame in range(1, FRAMES + 1):
            shape.value = frame / FRAMES if name == "wide" else 0.5 + 0.5 * math.sin(frame)
            shape.keyframe_insert("value", frame=frame)
    return "shapes"


def moves():
    clear()
    box = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    group = bpy.data.objects.new("Group", None)
    bpy.context.collection.objects.link(group)
    group.scale = (1.0, 1.0, 1.0)
    upper = add("Upper", box, sides, parent=group)
    lower = add("Lower", box, sides, parent=upper)
    lower.location, lower.scale = (3.0, 0.0, 0.5), (0.5, 0.25, 2.0)
    still = add("Still", box, sides)
    still.location, still.rotation_euler = (0.0, -5.0, 0.0), (0.3, 0.2, 0.1)
    for frame in range(1, FRAMES + 1):
        key(group, "location", frame, (0.1 * frame, 0.0, math.sin(frame * 0.5)))
        key(upper, "rotation_euler", frame, (0.1 * frame, -0.05 * frame, 0.2))
        key(lower, "location", frame, (3.0 + 0.1 * frame, 0.0, 0.5))
    return "moves"


def takes():
    """Two animations of one object, of different lengths."""
    clear()
    item = add("Prop", *tube(3, 4))
    for name, frames, move in (("Lift", 6, (0.0, 0.0, 0.2)), ("Slide", 9, (-0.1, 0.0, 0.0))):
        item.animation_data_create()
        item.animation_data.action = bpy.data.actions.new(name)
        for frame in range(1, frames + 1):
            key(item, "location", frame, tuple(v * frame for v in move))
    return "takes"


def cameras():
    """One that moves, turns and zooms, with a box on it; one that sees without perspective; a lamp.

    The exporter turns cameras to the format's axes, but not what hangs on them back: where the box is, readers say.
    """
    clear()
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = 1920, 1080
    made = {}
    for name in ("Zoom", "Flat"):
        camera = bpy.data.cameras.new(name)
        made[name] = bpy.data.objects.new(name, camera)
        bpy.context.collection.objects.link(made[name])
    zoom, flat = made["Zoom"].data, made["Flat"].data
    scene.camera = made["Zoom"]
    zoom.sensor_width, zoom.clip_start, zoom.clip_end = 32.0, 0.25, 400.0
    zoom.shift_x, zoom.shift_y = 0.125, -0.0625
    zoom.dof.use_dof, zoom.dof.focus_distance = True, 3.25
    flat.type, flat.ortho_scale, flat.clip_start, flat.clip_end = "ORTHO", 6.0, 0.5, 50.0
    made["Flat"].location, made["Flat"].rotation_euler = (1.0, 2.0, 8.0), (0.2, -0.1, 0.4)
    lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "SUN"))
    bpy.context.collection.objects.link(lamp)
    lamp.location, lamp.rotation_euler = (0.0, 1.0, 4.0), (0.3, 0.5, 0.0)
    box = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.3)]
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    carried = add("Carried", box, sides, parent=made["Zoom"])
    carried.location, carried.rotation_euler = (0.3, 0.2, -1.0), (0.1, 0.2, 0.3)
    for frame in range(1, FRAMES + 1):
        key(made["Zoom"], "location", frame, (0.5 * frame, -6.0 + math.sin(frame), 1.5))
        key(made["Zoom"], "rotation_euler", frame, (1.2 + 0.02 * frame, 0.01 * frame, 0.1 * frame))
        key(zoom, "lens", frame, 24.0 + 3.0 * frame)
    return "cameras"


def of_cameras():
    """Of what looks somewhere: place, and where it looks and where its top is, up being y; focal lengths."""
    out = {}
    turned = lambda v: [round(c, 6) for c in (v.x, v.z, -v.y)]
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for name in ("Zoom", "Flat", "Lamp"):
            item = bpy.data.objects[name].evaluated_get(graph)
            axes = item.matrix_world.to_3x3()
            own = {"place": turned(item.matrix_world.translation), "along": turned(-axes.col[2]), "up": turned(axes.col[1])}
            if item.type == "CAMERA":
                own["focal_length"] = round(item.data.lens, 6)
            out.setdefault(name, []).append(own)
    return out


def bones():
    """Bones alone, with two animations of different lengths."""
    clear()
    armature = bpy.data.armatures.new("Bones")
    rig = bpy.data.objects.new("Rig", armature)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.location, rig.rotation_euler = (1.0, 0.5, 0.25), (0.1, 0.2, 0.3)
    bpy.ops.object.mode_set(mode="EDIT")
    above = None
    for number, (head, tail) in enumerate([((0, 0, 1), (0, 0, 1.5)), ((0, 0, 1.5), (0.5, 0, 2)), ((0.5, 0, 2), (1, 0.2, 2))]):
        bone = armature.edit_bones.new(f"bone{number}")
        bone.head, bone.tail, bone.roll = head, tail, 0.3 * number
        bone.parent, above = above, bone
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.animation_data_create()
    for name, frames, sign in (("Nod", 5, 1.0), ("Shake", 9, -1.0)):
        rig.animation_data.action = bpy.data.actions.new(name)
        for frame in range(1, frames + 1):
            for number in range(3):
                bone = rig.pose.bones[f"bone{number}"]
                bone.rotation_mode = "XYZ"
                key(bone, "rotation_euler", frame, (0.1 * frame * sign, 0.05 * frame * number, 0.2 * math.sin(frame)))
            key(rig.pose.bones["bone0"], "location", frame, (0.01 * frame, 0.1 * frame, 0.02 * sign * frame))
            key(rig.pose.bones["bone2"], "scale", frame, (1.0, 1.0 + 0.1 * frame, 1.0))
    return "bones"


def of_bones():
    """World positions of the heads of all bones by the name of the action, and frame, up being y."""
    out = {}
    rig = bpy.data.objects["Rig"]
    for action in bpy.data.actions:
        rig.animation_data.action = action
        first, last = (int(v) for v in action.frame_range)
        frames = []
        for frame in range(first, last + 1):
            bpy.context.scene.frame_set(frame)
            places = {bone.name: rig.matrix_world @ bone.head for bone in rig.pose.bones}
            frames.append({name: [round(v, 6) for v in (p.x, p.z, -p.y)] for name, p in places.items()})
        out[action.name] = frames
    return out


def of_actions():
    """World positions by the name of the action, and frame."""
    out = {}
    item = bpy.data.objects["Prop"]
    for action in bpy.data.actions:
        item.animation_data.action = action
        first, last = (int(v) for v in action.frame_range)
        frames = []
        for frame in range(first, last + 1):
            bpy.context.scene.frame_set(frame)
            frames.append(positions_now()["Prop"])
        out[action.name] = frames
    return out


def positions():
    """World positions of all vertices, up being y, in metres, by name and frame."""
    out = {}
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        for name, points in positions_now().items():
            out.setdefault(name, []).append(points)
    return out


def positions_now():
    out = {}
    graph = bpy.context.evaluated_depsgraph_get()
    for item in bpy.data.objects:
        if item.type != "MESH":
            continue
        own = item.evaluated_get(graph)
        mesh = own.to_mesh()
        points = [own.matrix_world @ vertex.co for vertex in mesh.vertices]
        out[item.name] = [[round(v, 6) for v in (p.x, p.z, -p.y)] for p in points]
        own.to_mesh_clear()
    return out


def main():
    expected = {}
    for make in (skinned, shapes, moves, takes, cameras, bones):
        name = make()
        if make is takes:
            with open("takes.json", "w", encoding="ascii") as out:
                json.dump(of_actions(), out, separators=(",", ":"))
                out.write("\n")
        elif make is bones:
            with open("bones.json", "w", encoding="ascii") as out:
                json.dump(of_bones(), out, separators=(",", ":"))
                out.write("\n")
        elif make is cameras:
            with open("cameras.json", "w", encoding="ascii") as out:
                json.dump(of_cameras(), out, separators=(",", ":"))
                out.write("\n")
        else:
            expected[name] = positions()
        bpy.ops.export_scene.fbx(
            filepath=os.path.abspath(f"{name}.fbx"),
            add_leaf_bones=False,
            bake_anim_use_nla_strips=False,
            bake_anim_use_all_actions=make in (takes, bones),
            bake_anim_force_startend_keying=make not in (cameras, bones),
            bake_anim_simplify_factor=1e-4 if make in (cameras, bones) else 0.0,
            mesh_smooth_type="OFF",
        )
    with open("expected.json", "w", encoding="ascii") as out:
        json.dump(expected, out, separators=(",", ":"))
        out.write("\n")
    sys.stdout.flush()
    # Blender as a module may end with an error of its own while it is taken apart.
    os._exit(0)


if __name__ == "__main__":
    main()
