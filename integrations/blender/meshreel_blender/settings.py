"""What a cache in a scene is: an empty with these settings, above objects that say which node of the file they are."""

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

from . import files

#: Custom property of an object: which node of the file it shows (`files.node_keys`).
NODE = "meshreel_node"
#: Custom property of an object: the empty with the settings.
ROOT = "meshreel_root"
#: Custom property of a mesh: its number in the file.
MESH = "meshreel_mesh"

#: Paths may begin with //; before, all of them could.
_RELATIVE = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()

#: Metres of the length units that files name.
METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, None: 1.0}


#: Who shows caches: called with the scene, the empty and whether all is made anew, where a setting has changed. Those who
#: move what others then show come first.
listeners = []


def _tell(cache, context, rebuild):
    if cache.is_cache and context is not None:
        for listener in listeners:
            listener(context.scene, cache.id_data, rebuild)


def _changed(cache, context):
    _tell(cache, context, False)


def _rebuild(cache, context):
    _tell(cache, context, True)


class Cache(bpy.types.PropertyGroup):
    """Settings of a cache. None can be animated: frames are shown before Blender evaluates animation."""

    is_cache: BoolProperty(options={"HIDDEN"})
    filepath: StringProperty(
        name="File", subtype="FILE_PATH", description="The .reel", options=_RELATIVE, update=_rebuild
    )
    first_frame: FloatProperty(
        name="First Frame",
        options=set(),
        description="Frame of the scene at which the file begins",
        update=_changed,
    )
    rate: FloatProperty(
        name="Speed",
        options=set(),
        default=1.0,
        soft_min=-4.0,
        soft_max=4.0,
        description="1 is as it was made; negative: backwards from its end",
        update=_changed,
    )
    timing: EnumProperty(
        name="Timing",
        options=set(),
        items=[
            ("SECONDS", "Seconds", "The file's seconds are the scene's, whatever the frame rates"),
            ("FRAMES", "Frames", "Each frame of the scene shows the next frame of the file"),
        ],
        update=_changed,
    )
    repeat: EnumProperty(
        name="Repeat",
        options=set(),
        items=[
            ("HOLD", "Hold", "Its first and its last frame stand before and after it"),
            ("LOOP", "Loop", "It starts over"),
        ],
        update=_changed,
    )
    interpolate: BoolProperty(
        name="Between Frames",
        options=set(),
        default=True,
        description="Interpolate between frames of the file; otherwise the one before is shown",
        update=_changed,
    )
    normals: EnumProperty(
        name="Normals",
        options=set(),
        items=[
            ("AUTO", "Automatic", "The file's, unless setting them takes long: of moving meshes before Blender 4.5"),
            ("FILE", "File", "The file's; of moving meshes slow before Blender 4.5"),
            ("BLENDER", "Blender", "Those that Blender makes of the faces"),
        ],
        update=_rebuild,
    )
    velocities: EnumProperty(
        name="Velocities",
        options=set(),
        description="The attribute 'velocity', which motion blur of meshes uses; takes two frames instead of one",
        items=[
            ("AUTO", "Automatic", "Where the scene renders with motion blur"),
            ("ON", "On", "Always"),
            ("OFF", "Off", "Never"),
        ],
        update=_rebuild,
    )
    lod: IntProperty(
        name="Level of Detail",
        options=set(),
        min=0,
        max=8,
        description="0 is the mesh itself",
        update=_rebuild,
    )
    # The frame that was shown last, and the last error; neither is the user's.
    stamp: StringProperty(options={"HIDDEN"})
    error: StringProperty(options={"HIDDEN"})


class Preferences(bpy.types.AddonPreferences):
    """Preferences of the extension."""

    bl_idname = __package__

    max_memory: IntProperty(
        name="Memory per File (MB)",
        default=4096,
        min=16,
        description="A file that would take more than this with its decoder is refused",
    )

    def draw(self, _context):
        self.layout.prop(self, "max_memory")


def max_memory() -> int:
    """Bytes that a file may take."""
    addon = bpy.context.preferences.addons.get(__package__)
    return addon.preferences.max_memory << 20 if addon and addon.preferences else files.MAX_MEMORY


def path_of(cache) -> str:
    """The file's absolute path: what begins with // lies beside the .blend, or its library."""
    return bpy.path.abspath(cache.filepath, library=cache.id_data.library)


def frame_rate(scene) -> float:
    """Frames per second of a scene."""
    return scene.render.fps / scene.render.fps_base


def moment(cache, times: np.ndarray, scene) -> tuple[float, float]:
    """Which second of the file the scene shows now, and how many of them pass in one second.

    Interpolation and repetition beyond the ends are `Reel.at`'s, but of frames, which are counted here.
    """
    fps = frame_rate(scene)
    passed = (scene.frame_current_final - cache.first_frame) * cache.rate
    start, end = float(times[0]), float(times[-1])
    last = len(times) - 1
    if cache.timing == "FRAMES":
        position = passed if cache.rate >= 0 else last + passed
        if cache.repeat == "LOOP":
            position %= last + 1
            # A file without a period does not say what leads from the last frame to the first.
            position = min(position, last)
        inside = -1e-5 <= position <= last + 1e-5
        position = min(max(position, 0.0), float(last))
        nearest = round(position)
        if abs(position - nearest) < 1e-5:
            position = nearest
        seconds = float(np.interp(position, np.arange(last + 1), times))
        speed = cache.rate * fps * (end - start) / max(last, 1) if inside else 0.0
    else:
        seconds = passed / fps + (start if cache.rate >= 0 else end)
        speed = cache.rate
        if cache.repeat == "LOOP" and not cache.interpolate and end > start:
            seconds = start + (seconds - start) % (end - start)
        elif cache.repeat == "HOLD" and not start - 1e-6 <= seconds <= end + 1e-6:
            speed = 0.0
    if not cache.interpolate:
        # A frame that is all but reached is shown.
        step = (end - start) / max(last, 1)
        at = int(np.searchsorted(times, seconds + 1e-4 * step, side="right")) - 1
        seconds = float(times[max(at, 0)])
    return seconds, speed


def scene_frame(seconds: float, scene) -> float:
    """The frame of the scene at a time of a file, as with other caches."""
    frame = seconds * frame_rate(scene)
    return float(round(frame)) if abs(frame - round(frame)) < 1e-3 else frame


def register():
    bpy.utils.register_class(Cache)
    bpy.utils.register_class(Preferences)
    bpy.types.Object.meshreel = PointerProperty(type=Cache)


def unregister():
    del bpy.types.Object.meshreel
    bpy.utils.unregister_class(Preferences)
    bpy.utils.unregister_class(Cache)
