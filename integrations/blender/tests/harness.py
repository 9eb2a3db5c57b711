"""Installs the packed extension as Blender does, with the package that is in it, and asks Blender what it shows. Import
this before bpy and before meshreel."""

import atexit
import importlib.util
import os
import shutil
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ROOT / "testdata" / "inputs"
GOLDEN = ROOT / "testdata" / "golden" / "v0"
NAME = "bl_ext.user_default.meshreel"

#: Blender's own folders: none of the user's. Processes that tests begin have the same.
if "MESHREEL_RESOURCES" not in os.environ:
    os.environ["MESHREEL_RESOURCES"] = tempfile.mkdtemp(prefix="meshreel-blender-")
    atexit.register(shutil.rmtree, os.environ["MESHREEL_RESOURCES"], ignore_errors=True)
RESOURCES = os.environ["BLENDER_USER_RESOURCES"] = os.environ["MESHREEL_RESOURCES"]

import bpy  # noqa: E402, I001
import addon_utils  # noqa: E402: bpy brings it


def load():
    """The extension, enabled; from MESHREEL_EXTENSION, a file, the first time."""
    addon_utils.enable("bl_pkg", default_set=True)
    if not (Path(RESOURCES) / "extensions" / "user_default" / "meshreel").exists():
        packed = os.environ["MESHREEL_EXTENSION"]
        bpy.ops.extensions.package_install_files(filepath=packed, repo="user_default", enable_on_install=True)
    addon_utils.extensions_refresh(ensure_wheels=True)
    errors = []
    module = addon_utils.enable(NAME, default_set=True, handle_error=errors.append)
    if errors:
        raise errors[0]
    return module


def empty():
    """An empty scene with the extension enabled."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    module = load()
    bpy.context.preferences.filepaths.use_relative_paths = True
    return module


empty()
import meshreel  # noqa: E402
import numpy as np  # noqa: E402


def part(name: str):
    """A module of the extension."""
    return importlib.import_module(f"{NAME}.{name}")


def compiled(source: str, folder, **options) -> Path:
    """A .reel of one of the small inputs."""
    path = Path(folder) / Path(source).with_suffix(".reel").name
    if not path.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", meshreel.RemarkWarning)
            meshreel.compile(INPUTS / source, path, effort=1, **options)
    return path


def rigged(path, scale=1.0) -> Path:
    """A .glb of a rig."""
    spec = importlib.util.spec_from_file_location("rigged_glb", ROOT / "tests" / "rigged_glb.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write(path, scale)


def add(path, **options):
    """Imports a .reel as from the menu; its cache."""
    assert bpy.ops.meshreel.import_reel(filepath=str(path), **options) == {"FINISHED"}
    return bpy.context.object


def nodes(root) -> dict:
    """Objects of a cache by node."""
    return {thing["meshreel_node"]: thing for thing in bpy.data.objects if thing.get("meshreel_root") == root and "meshreel_node" in thing}


def go_to(scene, frame: float) -> None:
    whole = int(np.floor(frame + 1e-6))
    scene.frame_set(whole, subframe=max(0.0, frame - whole))


def evaluated(thing):
    return thing.evaluated_get(bpy.context.evaluated_depsgraph_get())


def values(attribute, field: str, columns: int, kind=np.float32) -> np.ndarray:
    out = np.empty(len(attribute) * columns, kind)
    attribute.foreach_get(field, out)
    return out.reshape(-1, columns) if columns > 1 else out


def positions(thing) -> np.ndarray:
    """float32 (vertices, 3) of the evaluated mesh."""
    return values(evaluated(thing).data.attributes["position"].data, "vector", 3)


def triangles(thing) -> np.ndarray:
    mesh = evaluated(thing).data
    return values(mesh.loops, "vertex_index", 1, np.int32).reshape(-1, 3)


def world(thing) -> np.ndarray:
    return np.array(evaluated(thing).matrix_world, np.float64)


def frame_of(root, times, number: int) -> float:
    """The frame of the scene at which a frame of the file is shown."""
    render = bpy.context.scene.render
    return root.meshreel.first_frame + float(times[number] - times[0]) * render.fps / render.fps_base
