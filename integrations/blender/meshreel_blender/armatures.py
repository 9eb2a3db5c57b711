"""Clips as armatures with an action each, and meshes that hang on them.

Bones of Blender have no scale at rest. Where the rest pose scales a joint uniformly by s, its bone is s⁻¹ of it: the
chain of poses stays what it was, at the same places, and what it moves comes out the same.

    joint in the skeleton's space  P      bone  P s⁻¹
    relative to the parent         L      bone  s(parent) L s⁻¹:  translation s(parent) t, scale (s(parent) / s) S
    Blender                               bone = parent · rest(parent)⁻¹ · rest · basis
"""

import bpy
import numpy as np
from mathutils import Matrix

from . import reports, settings

#: Custom property of an action: when its clip begins in the file, its rate, and its joints' skeleton.
CLIP = "meshreel_clip"

#: Custom property of a cache: seconds of the file at which it begins and ends.
SPAN = "meshreel_span"
#: Custom property of an action: its keys stand in the order of the clip's samples from the last to the first.
BACKWARDS = "meshreel_backwards"

_LINEAR = 1


def add(context, reel, clips, root) -> dict:
    """An armature below `root` for each skeleton, with its clips; the first one's action is the one that plays."""
    if context.object is not None and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    rigs = reel.rigs
    skeletons: dict[int, list] = {}
    for clip in clips:
        skeletons.setdefault(clip.skeleton, []).append(clip)
    made = {}
    for number, of_it in skeletons.items():
        made[number] = _armature(context, number, of_it, rigs, root)
    return made


def matrices(rotations, translations, scales) -> np.ndarray:
    """float64 (..., 4, 4) of quaternions x, y, z, w, translations and scales."""
    x, y, z, w = np.moveaxis(np.asarray(rotations, np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    out = np.zeros((*x.shape, 4, 4))
    out[..., :3, :3] = np.moveaxis(np.array(rows), (0, 1), (-2, -1)) * np.asarray(scales)[..., None, :]
    out[..., :3, 3] = translations
    out[..., 3, 3] = 1
    return out


def object_space(local: np.ndarray, parents) -> np.ndarray:
    """Joints in the skeleton's space, parents standing before children."""
    out = local.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            out[..., joint, :, :] = out[..., parent, :, :] @ local[..., joint, :, :]
    return out


def _rest(clip, rigs) -> np.ndarray:
    """Joints at rest in the skeleton's space; those that meshes hang on as they are bound, if that is one pose."""
    rest = object_space(matrices(clip.rest.rotations, clip.rest.translations, clip.rest.scales), clip.parents)
    bound: dict[int, np.ndarray] = {}
    for rig in rigs:
        if rig.skeleton != clip.skeleton:
            continue
        for joint, inverse in zip(rig.joints.tolist(), rig.inverse_bind.astype(np.float64)):
            if abs(np.linalg.det(inverse)) > 1e-12:
                bound.setdefault(joint, np.linalg.inv(inverse))
    for joint, matrix in bound.items():
        rest[joint] = matrix
    return rest


def rest_scales(rest: np.ndarray) -> np.ndarray:
    """float64 (joints,): by how much each joint is scaled at rest; 1 where not alike along all axes."""
    lengths = np.linalg.norm(rest[:, :3, :3], axis=1)
    mean = lengths.mean(axis=1)
    uniform = (mean > 1e-9) & (np.abs(lengths - mean[:, None]).max(axis=1) < 1e-3 * mean)
    out = np.where(uniform, mean, 1.0)
    return np.where(np.abs(out - 1) < 1e-5, 1.0, out)


def _armature(context, number, clips, rigs, root):
    clip = clips[0]
    rest = _rest(clip, rigs)
    scales = rest_scales(rest)
    armature = bpy.data.armatures.new(clip.name or root.name)
    thing = bpy.data.objects.new(f"{root.name} skeleton" if number == 0 else f"{root.name} skeleton {number}", armature)
    thing[settings.ROOT] = root
    context.collection.objects.link(thing)
    thing.parent = root
    context.view_layer.objects.active = thing
    bpy.ops.object.mode_set(mode="EDIT")
    names = _bones(armature, clip, rest)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in thing.pose.bones:
        bone.rotation_mode = "QUATERNION"
    armature["meshreel_joints"] = names
    actions = [_action(context.scene, thing, each, names, scales, root) for each in clips]
    data = thing.animation_data_create()
    data.action = actions[0]
    if hasattr(data, "action_slot") and actions[0].slots:
        data.action_slot = actions[0].slots[0]
    return thing


def _bones(armature, clip, rest) -> list[str]:
    """Makes a bone for each joint; their names, which Blender may have changed."""
    parents = clip.parents.tolist()
    heads = rest[:, :3, 3]
    children: dict[int, list[int]] = {}
    for joint, parent in enumerate(parents):
        children.setdefault(parent, []).append(joint)
    extent = float(np.ptp(heads, axis=0).max()) or 1.0
    bones, lengths = [], []
    for joint, name in enumerate(clip.joints):
        below = [float(np.linalg.norm(heads[child] - heads[joint])) for child in children.get(joint, [])]
        least = extent * 0.01
        parent = parents[joint]
        length = max(below, default=0.5 * lengths[parent] if parent >= 0 else 0.1 * extent)
        lengths.append(max(length, least))
        bone = armature.edit_bones.new(name or f"joint {joint}")
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, lengths[joint], 0.0)
        turned = Matrix(_rigid(rest[joint]).tolist())
        bone.matrix = turned
        if parent >= 0:
            bone.parent = bones[parent]
        bones.append(bone)
    return [bone.name for bone in bones]


def _rigid(matrix: np.ndarray) -> np.ndarray:
    """The nearest turn without scale and shear, at the same place."""
    out = np.eye(4)
    u, _, v = np.linalg.svd(matrix[:3, :3])
    u[:, 2] *= np.sign(np.linalg.det(u @ v)) or 1.0
    out[:3, :3] = u @ v
    out[:3, 3] = matrix[:3, 3]
    return out


def _action(scene, thing, clip, names, scales, root):
    action = bpy.data.actions.new(clip.name or thing.name)
    action.use_fake_user = True
    action[CLIP] = [clip.start, clip.fps]
    action[settings.ROOT] = root
    curves = _curves(action, thing)
    rest = {bone.name: bone.matrix_local for bone in thing.data.bones}
    times = key_times(root, clip.start, clip.fps, clip.samples, scene)
    poses = clip.poses()
    parents = clip.parents.tolist()
    for joint, name in enumerate(names):
        parent = parents[joint]
        above = scales[parent] if parent >= 0 else 1.0
        relative = rest[name] if parent < 0 else rest[names[parent]].inverted() @ rest[name]
        basis = _basis(
            relative,
            poses.rotations[:, joint].astype(np.float64),
            poses.translations[:, joint].astype(np.float64) * above,
            poses.scales[:, joint].astype(np.float64) * (above / scales[joint]),
        )
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
        for channel, values in zip(("location", "rotation_quaternion", "scale"), basis):
            for index in range(values.shape[1]):
                _key(curves(path + channel, index, name), times, values[:, index])
    return action


def _basis(relative: Matrix, rotations, translations, scales) -> tuple:
    """Samples relative to the parent as samples relative to the bone's rest: location, w x y z, scale."""
    turn = np.array(relative.to_3x3(), np.float64)
    locations = (translations - np.array(relative.translation)) @ turn
    rest = relative.to_quaternion()
    # conjugate(rest) · sample
    a, b = np.array([rest.w, -rest.x, -rest.y, -rest.z]), np.roll(rotations, 1, axis=1)
    w = a[0] * b[:, 0] - b[:, 1:] @ a[1:]
    v = a[0] * b[:, 1:] + b[:, :1] * a[1:] + np.cross(np.broadcast_to(a[1:], b[:, 1:].shape), b[:, 1:])
    turned = np.concatenate([w[:, None], v], axis=1)
    # Between samples Blender blends numbers: each has to be on the side of the one before.
    flips = np.sign(np.sum(turned[1:] * turned[:-1], axis=1))
    turned[1:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
    return locations, turned, scales


def _curves(action, thing):
    """A function that makes an animation curve: of a layer's strip where actions have layers."""
    if not hasattr(action, "slots"):
        return lambda path, index, group: action.fcurves.new(path, index=index, action_group=group)
    slot = action.slots.new(id_type="OBJECT", name=thing.name)
    strip = action.layers.new("Clip").strips.new(type="KEYFRAME")
    bag = strip.channelbag(slot, ensure=True)
    groups = {}

    def make(path, index, group):
        curve = bag.fcurves.new(path, index=index)
        if group not in groups:
            groups[group] = bag.groups.new(group)
        curve.group = groups[group]
        return curve

    return make


def curves_of(action) -> list:
    """All animation curves of an action."""
    if not hasattr(action, "slots"):
        return list(action.fcurves)
    strips = [strip for layer in action.layers for strip in layer.strips]
    return [curve for strip in strips for bag in strip.channelbags for curve in bag.fcurves]


def _key(curve, times, values) -> None:
    """Keys at all times, straight between; one where nothing changes."""
    if (values == values[0]).all():
        times, values = times[:1], values[:1]
    points = curve.keyframe_points
    points.add(len(times))
    points.foreach_set("co", np.stack([times, values], axis=1).astype(np.float32).ravel())
    points.foreach_set("interpolation", np.full(len(times), _LINEAR, np.int32))
    curve.update()


def key_times(root, start, fps, samples, scene) -> np.ndarray:
    """Frames of the scene at which samples of a clip are, as `settings.moment` has it of frames."""
    cache = root.meshreel
    rate = cache.rate or 1.0
    seconds = start + np.arange(samples) / fps - root[SPAN][0 if rate > 0 else 1]
    of_scene = fps if cache.timing == "FRAMES" else settings.frame_rate(scene)
    return cache.first_frame + seconds * of_scene / rate


def retime(scene, root) -> None:
    """Moves the keys of a cache's clips to where its settings have them now."""
    backwards = root.meshreel.rate < 0
    for action in bpy.data.actions:
        if action.get(settings.ROOT) != root or CLIP not in action:
            continue
        turned = bool(action.get(BACKWARDS)) != backwards
        action[BACKWARDS] = backwards
        start, fps = action[CLIP]
        for curve in curves_of(action):
            points = curve.keyframe_points
            values = np.empty((len(points), 2), np.float32)
            points.foreach_get("co", values.ravel())
            # Curves have their keys in the order of time.
            values[:, 0] = np.sort(key_times(root, start, fps, len(points), scene))
            if turned:
                values[:, 1] = values[::-1, 1].copy()
            points.foreach_set("co", values.ravel())
            curve.update()


def bind(opened, rigs, things, skeletons) -> None:
    """Meshes that stand still in the file, because clips alone move them, hang on the armature."""
    for rig in rigs:
        thing = skeletons.get(rig.skeleton)
        if thing is None or "positions" in opened.meshes[rig.mesh].animated:
            continue
        if not _bound_alike(rig, rigs):
            reports.tell(f"{thing.name}: meshes are bound to it in several poses; the later ones stand still")
            continue
        for number, shown in enumerate(things):
            if opened.nodes[number].mesh == rig.mesh:
                _hang(shown, rig, thing)


def _bound_alike(rig, rigs) -> bool:
    """Whether no rig before has another bind pose of the same joints."""
    own = dict(zip(rig.joints.tolist(), rig.inverse_bind))
    for other in rigs:
        if other.mesh == rig.mesh:
            return True
        if other.skeleton != rig.skeleton:
            continue
        for joint, inverse in zip(other.joints.tolist(), other.inverse_bind):
            if joint in own and not np.allclose(own[joint], inverse, rtol=1e-4, atol=1e-5):
                return False
    return True


def _hang(shown, rig, thing) -> None:
    """Weights as vertex groups, the bind pose as the mesh; the handler has nothing to do with it any more."""
    mesh = shown.data
    if settings.NODE in shown:
        del shown[settings.NODE]
    mesh.attributes["position"].data.foreach_set("vector", rig.bind_positions.ravel())
    mesh.update()
    names = list(thing.data["meshreel_joints"])
    joints, weights = rig.influences, rig.weights
    of_rig = rig.joints.tolist()
    for number, joint in enumerate(of_rig):
        group = shown.vertex_groups.new(name=names[joint])
        vertices, columns = np.nonzero((joints == number) & (weights > 0))
        for vertex, weight in zip(vertices.tolist(), weights[vertices, columns].tolist()):
            group.add([vertex], weight, "ADD")
    shown.parent = thing
    shown.matrix_basis = Matrix.Identity(4)
    modifier = shown.modifiers.new("Armature", "ARMATURE")
    modifier.object = thing
    # Blender's name for what dual quaternions blend.
    modifier.use_deform_preserve_volume = bool((rig.dual > 0).any())


def _settings_changed(scene, root, rebuild):
    if not rebuild:
        retime(scene, root)


def register():
    settings.listeners.append(_settings_changed)


def unregister():
    settings.listeners.remove(_settings_changed)
