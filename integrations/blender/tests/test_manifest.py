"""The packed extension is what Blender takes."""

import os
import re
import tomllib
import zipfile
from pathlib import Path

import bpy
import addon_utils  # noqa: I001: bpy brings it
import meshreel
from harness import RESOURCES

#: Tags of add-ons that Blender knows.
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine",
    "Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material", "Mesh", "Modeling", "Node", "Object",
    "Paint", "Physics", "Pipeline", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor",
    "Tracking", "User Interface", "UV",
}  # fmt: skip
PLATFORMS = {"windows-x64", "windows-arm64", "macos-x64", "macos-arm64", "linux-x64", "linux-arm64"}


def packed():
    return zipfile.ZipFile(os.environ["MESHREEL_EXTENSION"])


def test_the_manifest_has_what_the_schema_wants():
    with packed() as archive:
        names = set(archive.namelist())
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
    assert {"__init__.py", "blender_manifest.toml"} <= names
    assert manifest["schema_version"] == "1.0.0"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", manifest["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert manifest["name"] and manifest["maintainer"] and manifest["type"] == "add-on"
    assert 0 < len(manifest["tagline"]) <= 64 and manifest["tagline"][-1].isalnum()
    assert re.fullmatch(r"4\.\d+\.\d+", manifest["blender_version_min"])
    assert all(licence.startswith("SPDX:") for licence in manifest["license"])
    assert set(manifest["tags"]) <= TAGS
    assert manifest["platforms"] and set(manifest["platforms"]) <= PLATFORMS
    assert set(manifest["permissions"]) <= {"files", "network", "clipboard", "camera", "microphone"}
    for reason in manifest["permissions"].values():
        assert 0 < len(reason) <= 64 and reason[-1].isalnum()
    assert manifest["wheels"] and all(wheel.removeprefix("./") in names for wheel in manifest["wheels"])
    for wheel in manifest["wheels"]:
        assert re.fullmatch(r"\./wheels/meshreel-[\d.]+-cp310-abi3-\w+(\.\w+)*\.whl", wheel), wheel


def test_it_is_installed_with_its_package(extension):
    assert Path(meshreel.__file__).is_relative_to(Path(RESOURCES) / "extensions" / ".local")
    assert addon_utils.check(extension.__name__) == (True, True)
    for operator in ("import_reel", "export_reel", "verify", "reload"):
        assert getattr(bpy.ops.meshreel, operator).get_rna_type().description
    assert extension.__name__ in bpy.context.preferences.addons
    assert bpy.context.preferences.addons[extension.__name__].preferences.max_memory == 4096
