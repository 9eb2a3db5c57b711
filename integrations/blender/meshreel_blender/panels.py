"""The settings of a cache: in the sidebar of the 3D view, and among the properties of its object."""

import bpy

from . import exporting, importing, verifying


def _draw(layout, context):
    root = importing.active(context)
    if root is None:
        layout.label(text="No cache is active")
        return
    cache = root.meshreel
    layout.use_property_split = True
    if cache.error:
        box = layout.box()
        box.alert = True
        for line in cache.error.split("\n"):
            box.label(text=line, icon="ERROR")
    layout.prop(cache, "filepath")
    layout.operator(importing.MESHREEL_OT_reload.bl_idname, icon="FILE_REFRESH")
    column = layout.column()
    for name in ("first_frame", "rate", "timing", "repeat", "interpolate"):
        column.prop(cache, name)
    column = layout.column()
    for name in ("normals", "velocities", "lod"):
        column.prop(cache, name)


class _Panel:
    bl_label = "meshreel"

    def draw(self, context):
        _draw(self.layout, context)


class MESHREEL_PT_sidebar(_Panel, bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "meshreel"

    def draw(self, context):
        row = self.layout.row(align=True)
        row.operator(importing.MESHREEL_OT_import.bl_idname, text="Import", icon="IMPORT")
        row.operator(exporting.MESHREEL_OT_export.bl_idname, text="Export", icon="EXPORT")
        _draw(self.layout, context)
        self.layout.operator(verifying.MESHREEL_OT_verify.bl_idname, icon="CHECKMARK")


class MESHREEL_PT_object(_Panel, bpy.types.Panel):
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "object"

    @classmethod
    def poll(cls, context):
        return importing.active(context) is not None


_CLASSES = [MESHREEL_PT_sidebar, MESHREEL_PT_object]


def register():
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister():
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
