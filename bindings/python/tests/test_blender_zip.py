"""The extension for Blender, packed from wheels of several systems (integrations/blender/build.py)."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="packing needs Python 3.11")
BLENDER = Path(__file__).resolve().parents[3] / "integrations" / "blender"
VERSION = tomllib.loads((BLENDER / "meshreel_blender" / "blender_manifest.toml").read_text())["version"]
TAGS = {
    "linux-x64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x64": "win_amd64",
}


def build(*words, **more):
    command = [sys.executable, BLENDER / "build.py", *words]
    return subprocess.run(command, capture_output=True, text=True, **more)


def wheels(folder, tags, version=VERSION):
    for tag in tags:
        (folder / f"meshreel-{version}-cp310-abi3-{tag}.whl").write_bytes(tag.encode())
    return folder


def packed(path):
    """The manifest of a zip, and the wheels in it."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        assert {"__init__.py", "LICENSE-MIT", "LICENSE-APACHE"} <= names
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
    assert {wheel.removeprefix("./") for wheel in manifest["wheels"]} == {n for n in names if n.endswith(".whl")}
    return manifest


def test_each_platform_has_its_zip(tmp_path):
    folder = wheels(tmp_path, [*TAGS.values(), "musllinux_1_2_x86_64"])
    done = build("--wheels", folder, "--out", tmp_path / "dist")
    assert done.returncode == 0 and "left out" in done.stderr and "musllinux" in done.stderr
    assert {path.name for path in (tmp_path / "dist").iterdir()} == {
        f"meshreel-blender-{VERSION}-{platform}.zip" for platform in TAGS
    }
    for platform, tag in TAGS.items():
        manifest = packed(tmp_path / "dist" / f"meshreel-blender-{VERSION}-{platform}.zip")
        assert manifest["platforms"] == [platform]
        [wheel] = manifest["wheels"]
        assert tag in wheel


def test_one_zip_has_all_platforms(tmp_path):
    done = build("--wheels", wheels(tmp_path, TAGS.values()), "--together", "--out", tmp_path)
    manifest = packed(tmp_path / f"meshreel-blender-{VERSION}-all.zip")
    assert done.returncode == 0 and manifest["platforms"] == sorted(TAGS) and len(manifest["wheels"]) == len(TAGS)


def test_wrong_wheels_are_refused(tmp_path):
    done = build("--wheels", tmp_path)
    assert done.returncode == 1 and "no wheel of meshreel" in done.stderr
    done = build("--wheels", wheels(tmp_path, ["win_amd64"], "9.9.9"), "--out", tmp_path / "dist")
    assert done.returncode == 1 and re.search(r"9\.9\.9.* is of version 9\.9\.9", done.stderr)
    assert not list(tmp_path.glob("dist/*"))


def test_what_is_missing_is_said(tmp_path):
    done = build("--out", tmp_path, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1 and "pip install maturin" in done.stderr and "--wheels" in done.stderr
    assert "Traceback" not in done.stderr
