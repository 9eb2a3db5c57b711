"""Verify: a cache against the file that it was compiled from."""

import os
import warnings

import bpy
import meshreel
from bpy.props import StringProperty
from bpy_extras.io_utils import ImportHelper

from . import importing, reports, settings
from .jobs import JobOperator


class MESHREEL_OT_verify(bpy.types.Operator, JobOperator, ImportHelper):
    """Measure the active cache against the source that you name next"""

    bl_idname = "meshreel.verify"
    bl_label = "Verify against Source"
    bl_options = {"REGISTER"}

    filename_ext = ""
    filter_glob: StringProperty(default="*.abc;*.glb;*.gltf;*.obj;*.ply;*.bvh", options={"HIDDEN"})
    reel: StringProperty(name=".reel", subtype="FILE_PATH", description="That of the active cache by default")

    def execute(self, context):
        return self.invoke_job(context)

    def prepare(self, context):
        source = os.path.abspath(bpy.path.abspath(self.filepath))
        root = importing.active(context)
        if not self.reel and root is None:
            raise meshreel.MisuseError("select a cache, whose file is verified")
        path = bpy.path.abspath(self.reel) if self.reel else settings.path_of(root.meshreel)

        def work(progress):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", meshreel.RemarkWarning)
                return path, meshreel.verify(source, path, progress=progress)

        return work

    def finish(self, _context, result):
        path, report = result
        reports.write(f"Verified {path}", report)
        name = os.path.basename(path)
        if report["ok"]:
            held = "nothing of it is ever visible" if report["nothing_visible"] else "all that was promised holds"
            line = f"{name}: {held}"
            self.report({"INFO"}, line)
            reports.tell(line)
            return {"FINISHED"}
        self.report({"ERROR"}, f"{name}: the promise does not hold: {report['failures'][0]}")
        return {"CANCELLED"}


def register():
    bpy.utils.register_class(MESHREEL_OT_verify)


def unregister():
    bpy.utils.unregister_class(MESHREEL_OT_verify)
