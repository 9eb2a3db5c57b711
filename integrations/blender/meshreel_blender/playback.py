"""Keeps caches at the scene's frame. Nothing of Blender's is held between two calls: objects are looked up by what they
say of themselves each time, so that undoing, copying, renaming and deleting leave nothing that points nowhere."""

import bpy
from bpy.app.handlers import persistent

from . import arrays, files, reports, settings


def roots(scene) -> list:
    """The caches of a scene."""
    return [thing for thing in scene.objects if thing.type == "EMPTY" and thing.meshreel.is_cache]


def members(scene) -> dict:
    """Objects of the scene by the name of their cache: pairs of a node's key and an object."""
    found: dict[tuple, list] = {}
    for thing in scene.objects:
        root = thing.get(settings.ROOT)
        if root is not None and (key := thing.get(settings.NODE)) is not None:
            found.setdefault(_name(root), []).append((key, thing))
    return found


def _name(thing) -> tuple:
    return thing.name, thing.library.filepath if thing.library else ""


def show(scene, rebuild: bool = False) -> None:
    """All caches of a scene as they are at its frame."""
    there = roots(scene)
    if not there:
        return
    nodes, done = members(scene), set()
    for root in there:
        _show_guarded(scene, root, nodes.get(_name(root), []), done, rebuild)


def show_root(scene, root, rebuild: bool) -> bool:
    """One cache; whether it could be shown."""
    return _show_guarded(scene, root, members(scene).get(_name(root), []), set(), rebuild)


def _show_guarded(scene, root, nodes, done, rebuild) -> bool:
    """What goes wrong is told once, and stands beside the settings until it is mended."""
    cache = root.meshreel
    try:
        _show(scene, cache, nodes, done, rebuild)
    except Exception as error:  # A handler that raises would be heard of in each frame.
        line = f"{root.name}: {reports.message(error)}"
        if cache.error != line:
            cache.error = line
        # Each frame of a damaged part has a line of its own: one is enough.
        if files.is_news(settings.path_of(cache), error):
            reports.tell(line, error)
        return False
    if cache.error:
        cache.error = ""
    return True


def _show(scene, cache, nodes, done, rebuild) -> None:
    opened = files.opened(settings.path_of(cache), settings.max_memory())
    if not len(opened.times):
        return  # Clips alone, which actions play.
    rebuild = rebuild or cache.stamp != opened.stamp
    seconds, speed = settings.moment(cache, opened.times, scene)
    found = [(opened.numbers[key], thing) for key, thing in nodes if key in opened.numbers]
    wanted = _meshes(cache, opened, found, done, rebuild)
    anew = {number for number, meshes in wanted.items() if _is_built(cache, opened.meshes[number], meshes, rebuild)}
    channels = {number: arrays.channels(cache, opened.meshes[number], scene, number in anew) for number in wanted}
    everything = sorted(set().union(*channels.values()))
    wrap = cache.repeat == "LOOP"
    frame = opened.reel.at(seconds, everything, meshes=list(wanted), lod=cache.lod, wrap=wrap)
    _apply_node_states(opened, frame, found)
    for number, data in zip(wanted, frame.meshes):
        for mesh in wanted[number]:
            arrays.write(mesh, data, speed, channels[number], number in anew)
    if cache.stamp != opened.stamp:
        cache.stamp = opened.stamp


def _meshes(cache, opened, found, done, rebuild) -> dict[int, list]:
    """Blender's meshes that are written now, by their number in the file; each once, whoever shares it."""
    streamed = [rebuild or arrays.is_streamed(cache, info) for info in opened.meshes]
    wanted: dict[int, list] = {}
    for number, thing in found:
        mesh = opened.mesh_of[number]
        if mesh is None or not streamed[mesh]:
            continue
        data = thing.data
        if thing.type != "MESH" or data.is_editmode or data.name in done or data.get(settings.MESH) is None:
            continue
        done.add(data.name)
        wanted.setdefault(mesh, []).append(data)
    return wanted


def _is_built(cache, info, meshes, rebuild) -> bool:
    """Whether vertices and faces are made, not values alone. Of particles there are others in each frame."""
    changes = info.faces_change or info.kind != "mesh"
    return rebuild or changes or not all(arrays.fits(mesh, info, cache.lod) for mesh in meshes)


def _apply_node_states(opened, frame, found) -> None:
    """Where nodes are, and which of them are there."""
    moving = [(number, thing) for number, thing in found if number in opened.moving]
    if moving:
        pose = frame.pose
        translations, rotations, scales = pose.translations.tolist(), pose.rotations.tolist(), pose.scales.tolist()
        for number, thing in moving:
            place(thing, translations[number], rotations[number], scales[number])
    changing = [(number, thing) for number, thing in found if number in opened.blinking]
    if changing:
        visible = frame.visible.tolist()
        for number, thing in changing:
            hide(thing, not visible[number])


def place(thing, translation, rotation, scale) -> None:
    """Puts an object where a node is, relative to its parent; the quaternion is x, y, z, w."""
    x, y, z, w = rotation
    thing.location = translation
    thing.rotation_quaternion = (w, x, y, z)
    thing.scale = scale


def hide(thing, hidden: bool) -> None:
    """Hides an object, or shows it. Changing it costs more than asking."""
    if thing.hide_viewport != hidden:
        thing.hide_viewport = hidden
    if thing.hide_render != hidden:
        thing.hide_render = hidden


@persistent
def on_frame(scene, _depsgraph=None):
    """The scene has another frame, in the window or while it renders."""
    show(scene)


@persistent
def on_load(*_arguments):
    """Another .blend, whose caches may have been written anew since."""
    for scene in bpy.data.scenes:
        show(scene)
    files.keep_only({settings.path_of(root.meshreel) for scene in bpy.data.scenes for root in roots(scene)})


@persistent
def on_undo(*_arguments):
    """Geometry is as it was then, the frame is now's."""
    for scene in bpy.data.scenes:
        show(scene)


_HANDLERS = [("frame_change_pre", on_frame), ("load_post", on_load), ("undo_post", on_undo), ("redo_post", on_undo)]


def _settings_changed(scene, root, rebuild):
    show_root(scene, root, rebuild=rebuild)


def register():
    settings.listeners.append(_settings_changed)
    for name, handler in _HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister():
    for name, handler in _HANDLERS:
        present = getattr(bpy.app.handlers, name)
        if handler in present:
            present.remove(handler)
    settings.listeners.remove(_settings_changed)
    files.keep_only(set())
