"""File > Import > meshreel: objects for the nodes of a file, armatures for its clips."""

import math
import os

import bpy
import meshreel
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, StringProperty
from bpy_extras.io_utils import ImportHelper
from mathutils import Matrix

from . import armatures, files, playback, reports, settings


def add(context, path: str, *, up: str = "Y", timeline: bool = True, clips: bool = True):
    """Makes objects of a .reel and gives the empty above them, or None where there are only clips.

    up: "Y", or "Z" where the file is upright in Blender as it is.
    timeline: the scene gets the file's range and rate of frames.

    Raises meshreel.Error; nothing is made then.
    """
    opened = files.opened(path, settings.max_memory())
    tracks = opened.reel.clips if clips else []
    rigs = opened.reel.rigs if clips else []
    scene = context.scene
    if timeline:
        _set_timeline(scene, opened, tracks)
    name = os.path.splitext(os.path.basename(path))[0]
    root = bpy.data.objects.new(name, None)
    root.empty_display_size = 0.1
    size = settings.METRES[opened.reel.unit]
    turned = Matrix.Rotation(math.radians(90.0), 4, "X") if up == "Y" else Matrix.Identity(4)
    root.matrix_basis = turned @ Matrix.Scale(size, 4)
    context.collection.objects.link(root)
    cache = root.meshreel
    cache.filepath = _stored(path)
    span = _span(opened, tracks)
    root[armatures.SPAN] = span
    cache.first_frame = settings.scene_frame(span[0], scene)
    things = _nodes(context, opened, root) if len(opened.times) else []
    cache.is_cache = True
    playback.show_root(scene, root, rebuild=True)
    skeletons = armatures.add(context, opened.reel, tracks, root) if tracks else {}
    if skeletons:
        armatures.bind(opened, rigs, things, skeletons)
    if not things and not skeletons:
        bpy.data.objects.remove(root)
        raise meshreel.UnsupportedError(f"{path}: there is neither a frame nor a clip in it")
    for thing in context.selected_objects:
        thing.select_set(False)
    root.select_set(True)
    context.view_layer.objects.active = root
    return root


def _stored(path: str) -> str:
    """Relative to the .blend where there is one on the same drive."""
    if not bpy.data.filepath:
        return path
    try:
        return bpy.path.relpath(path)
    except ValueError:
        return path


def _set_timeline(scene, opened, tracks) -> None:
    fps = opened.reel.fps or (tracks[0].fps if tracks else None)
    if fps:
        scene.render.fps = max(1, round(fps))
        scene.render.fps_base = scene.render.fps / fps
    start, end = (second * settings.frame_rate(scene) for second in _span(opened, tracks))
    scene.frame_start = math.floor(start + 1e-3)
    scene.frame_end = math.ceil(end - 1e-3)
    scene.frame_set(scene.frame_start)


def _span(opened, tracks) -> tuple[float, float]:
    """First and last second: of the frames, or of the clips where there are none, or nothing moves in them."""
    times = opened.times
    if len(times) > 1 or not tracks:
        return (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
    return min(track.start for track in tracks), max(track.start + track.duration for track in tracks)


def _nodes(context, opened, root) -> list:
    """An object for each node, below its parent's."""
    meshes: dict[int, bpy.types.Mesh] = {}
    things = []
    for key, node in zip(opened.keys, opened.nodes):
        name = node.path.rstrip("/").rsplit("/", 1)[-1] or "node"
        data = None
        if node.mesh is not None:
            data = meshes.get(node.mesh)
            if data is None:
                data = meshes[node.mesh] = _mesh(opened.meshes[node.mesh], node.mesh)
        thing = bpy.data.objects.new(name, data)
        thing[settings.NODE] = key
        thing[settings.ROOT] = root
        thing.rotation_mode = "QUATERNION"
        thing.parent = root if node.parent is None else things[node.parent]
        if data is None:
            thing.empty_display_size = 0.1
        context.collection.objects.link(thing)
        things.append(thing)
    first = opened.reel.frame(0, [], meshes=[])
    pose = first.pose
    for number, thing in enumerate(things):
        places = (pose.translations, pose.rotations, pose.scales)
        playback.place(thing, *(values[number].tolist() for values in places))
        # The handler knows those that change; others never do.
        if opened.nodes[number].mesh is not None and not opened.nodes[number].visibility_changes:
            playback.hide(thing, not bool(first.visible[number]))
    return things


def _mesh(info, number: int):
    mesh = bpy.data.meshes.new(info.path.rstrip("/").rsplit("/", 1)[-1] or "mesh")
    mesh[settings.MESH] = number
    for name in info.materials:
        # Faces that are in no set have a slot too, so that the others keep their numbers.
        name = name or "default"
        mesh.materials.append(bpy.data.materials.get(name) or bpy.data.materials.new(name))
    return mesh


class MESHREEL_OT_import(bpy.types.Operator, ImportHelper):
    """Bring a .reel into the scene; its frames are decoded when they are shown"""

    bl_idname = "meshreel.import_reel"
    bl_label = "Import meshreel"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".reel"
    filter_glob: StringProperty(default="*.reel", options={"HIDDEN"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    up: EnumProperty(
        name="Up",
        items=[("Y", "Y", "As in Alembic and glTF; it is turned upright"), ("Z", "Z", "As in Blender")],
    )
    timeline: BoolProperty(name="Set Timeline", default=True, description="Frame range and rate of the file")
    clips: BoolProperty(name="Clips", default=True, description="Armatures with an action for each clip")

    def invoke(self, context, _event):
        # A file that was dropped asks for its settings only.
        return self.invoke_popup(context)

    def execute(self, context):
        chosen = [os.path.join(self.directory, file.name) for file in self.files if file.name]
        made = 0
        for path in chosen or [self.filepath]:
            try:
                full = os.path.abspath(bpy.path.abspath(path))
                add(context, full, up=self.up, timeline=self.timeline, clips=self.clips)
                made += 1
            except (meshreel.Error, OSError) as error:
                self.report({"ERROR"}, reports.message(error))
        return {"FINISHED"} if made else {"CANCELLED"}


class MESHREEL_FH_import(bpy.types.FileHandler):
    """A .reel that is dropped on the 3D view"""

    bl_idname = "MESHREEL_FH_import"
    bl_label = "meshreel"
    bl_import_operator = MESHREEL_OT_import.bl_idname
    bl_file_extensions = ".reel"

    @classmethod
    def poll_drop(cls, context):
        return context.area is not None and context.area.type == "VIEW_3D"


class MESHREEL_OT_reload(bpy.types.Operator):
    """Read the file of this cache again"""

    bl_idname = "meshreel.reload"
    bl_label = "Reload"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return active(context) is not None

    def execute(self, context):
        root = active(context)
        if not playback.show_root(context.scene, root, rebuild=True):
            self.report({"ERROR"}, root.meshreel.error)
            return {"CANCELLED"}
        return {"FINISHED"}


def active(context):
    """The cache that the active object is, or belongs to."""
    thing = context.object
    if thing is None:
        return None
    root = thing if thing.meshreel.is_cache else thing.get(settings.ROOT)
    return root if root is not None and root.meshreel.is_cache else None


def _menu(menu, _context):
    menu.layout.operator(MESHREEL_OT_import.bl_idname, text="meshreel (.reel)")


_CLASSES = [MESHREEL_OT_import, MESHREEL_FH_import, MESHREEL_OT_reload]


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.TOPBAR_MT_file_import.append(_menu)


def unregister():
    bpy.types.TOPBAR_MT_file_import.remove(_menu)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
