"""File > Export > meshreel: the selection through Blender's own Alembic, which is compiled and removed."""

import os
import tempfile
import warnings

import bpy
import meshreel
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from . import reports
from .jobs import JobOperator


class MESHREEL_OT_export(bpy.types.Operator, JobOperator, ExportHelper):
    """Compile the animation of the selected objects into a .reel"""

    bl_idname = "meshreel.export_reel"
    bl_label = "Export meshreel"
    bl_options = {"REGISTER"}

    filename_ext = ".reel"
    filter_glob: StringProperty(default="*.reel", options={"HIDDEN"})
    tolerance: StringProperty(
        name="Tolerance",
        default="0.1%",
        description="How far any point may be off at most: 0.5mm, 1cm, or % of the size of each mesh in any one frame",
    )
    preset: EnumProperty(
        name="Preset",
        items=[("small", "Small", "The smallest file"), ("fast", "Fast", "Decodes faster, from a larger file")],
    )
    effort: IntProperty(name="Effort", default=5, min=1, max=9, description="More takes longer and makes less")
    show_hidden: BoolProperty(
        name="Show Hidden", default=False, description="Write what is hidden as if it were shown"
    )
    use_selection: BoolProperty(name="Selected Objects", default=True)
    use_range: BoolProperty(name="Scene's Range", default=True, description="All frames of the scene")
    frame_start: IntProperty(name="Start", default=1)
    frame_end: IntProperty(name="End", default=250)
    substeps: IntProperty(name="Samples per Frame", default=1, min=1, max=32)
    verify: BoolProperty(
        name="Verify",
        default=True,
        description="Read the scene's geometry again and measure; a file that breaks its promise is not written",
    )

    _folder = None

    def invoke(self, context, event):
        if context.scene is not None:
            self.frame_start, self.frame_end = context.scene.frame_start, context.scene.frame_end
        return ExportHelper.invoke(self, context, event)

    def execute(self, context):
        return self.invoke_job(context)

    def draw(self, _context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "tolerance")
        layout.prop(self, "preset")
        layout.prop(self, "effort")
        layout.prop(self, "show_hidden")
        layout.prop(self, "use_selection")
        layout.prop(self, "use_range")
        column = layout.column()
        column.enabled = not self.use_range
        column.prop(self, "frame_start")
        column.prop(self, "frame_end")
        layout.prop(self, "substeps")
        layout.prop(self, "verify")

    def prepare(self, context):
        path = os.path.abspath(bpy.path.abspath(self.filepath))
        if self.use_selection and not context.selected_objects:
            raise meshreel.MisuseError("nothing is selected: select what is to be exported")
        if not os.path.isdir(os.path.dirname(path)):
            raise FileNotFoundError(f"{os.path.dirname(path)}: no such folder")
        # Beside nothing of the user's, and gone however this ends.
        self._folder = tempfile.TemporaryDirectory(prefix="meshreel-", ignore_cleanup_errors=True)
        source = os.path.join(self._folder.name, "scene.abc")
        export_alembic(context, source, self)
        # Alembic has no length unit; a unit of Blender's is a metre, as in its other files.
        options = {"unit": "m", "tolerance": self.tolerance, "preset": self.preset, "effort": self.effort}
        options["show_hidden"] = self.show_hidden
        options["no_verify"] = not self.verify
        return lambda progress: compile_scene(source, path, options, progress)

    def finish(self, _context, compiled):
        reports.write(f"Exported {compiled['output']}", {"compile": compiled})
        line = summary(compiled)
        self.report({"INFO"}, line)
        reports.tell(line)
        return {"FINISHED"}

    def tidy(self):
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def export_alembic(context, path: str, settings) -> None:
    """The scene, or its selection, as Blender writes it. Raises IoError where it writes nothing."""
    scene = context.scene
    start, end = settings.frame_start, settings.frame_end
    if settings.use_range:
        start, end = scene.frame_start, scene.frame_end
    if end < start:
        raise meshreel.MisuseError(f"the range of frames ends at {end}, before it starts at {start}")
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        outcome = bpy.ops.wm.alembic_export(
            filepath=path,
            check_existing=False,
            as_background_job=False,
            start=start,
            end=end,
            xsamples=settings.substeps,
            gsamples=settings.substeps,
            selected=settings.use_selection,
            flatten=False,
            uvs=True,
            packuv=False,
            normals=True,
            vcolors=True,
            face_sets=True,
            export_hair=False,
            export_particles=False,
            evaluation_mode="RENDER",
        )
    finally:
        scene.frame_set(frame, subframe=subframe)
    if outcome != {"FINISHED"} or not os.path.exists(path):
        raise meshreel.IoError("Blender wrote no Alembic file; see the console")


def compile_scene(source: str, path: str, options: dict, progress) -> dict:
    """The report of the compile, which verifies the file. It is there whole, or as it was before."""
    with warnings.catch_warnings():
        # They are in the report.
        warnings.simplefilter("ignore", meshreel.RemarkWarning)
        return meshreel.compile(source, path, progress=progress, **options)


def summary(compiled: dict) -> str:
    """One line for the status bar."""
    small, large = reports.size(compiled["file_bytes"]), reports.size(compiled["raw_bytes"])
    line = f"{os.path.basename(compiled['output'])}: {compiled['frames']} frames, {large} as {small}"
    if compiled["remarks"]:
        line += f", {len(compiled['remarks'])} remarks (text block '{reports.TEXT}')"
    verified = compiled["verify"]
    if verified and verified["nothing_visible"]:
        return f"{line}; nothing of it is ever visible"
    return f"{line}, verified" if verified else line


def _menu(menu, _context):
    menu.layout.operator(MESHREEL_OT_export.bl_idname, text="meshreel (.reel)")


def register():
    bpy.utils.register_class(MESHREEL_OT_export)
    bpy.types.TOPBAR_MT_file_export.append(_menu)


def unregister():
    bpy.types.TOPBAR_MT_file_export.remove(_menu)
    bpy.utils.unregister_class(MESHREEL_OT_export)
