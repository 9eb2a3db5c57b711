"""Has Blender read the .abc of each case and write it again. Called by run.sh.

    python blender.py WORK

Reads WORK/NAME/source.abc and case.json, which `meshreel-bench peers --prepare` writes, and writes
WORK/NAME/blender.abc: with normals and uvs, or, where positions alone are compared, without. Needs the
package bpy.
"""

import json
import pathlib
import sys

import bpy


def rewrite(folder: pathlib.Path) -> None:
    """Reads and writes one file, with a sample at each frame of the source."""
    about = json.loads((folder / "case.json").read_text())
    times = about["times"]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    step = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 1 / 24
    scene.render.fps = round(1 / step)
    scene.render.fps_base = 1.0
    first = round(times[0] / step)
    last = first + len(times) - 1
    bpy.ops.wm.alembic_import(filepath=str(folder / "source.abc"), set_frame_range=False, as_background_job=False)
    scene.frame_start, scene.frame_end = first, last
    bpy.ops.wm.alembic_export(
        filepath=str(folder / "blender.abc"),
        start=first,
        end=last,
        normals=about["normals"],
        uvs=about["normals"],
        vcolors=False,
        evaluation_mode="RENDER",
        as_background_job=False,
    )


for child in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if (child / "case.json").is_file():
        rewrite(child)
        print(f"blender: {child.name}", flush=True)
