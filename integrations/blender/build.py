#!/usr/bin/env python3
"""Packs the extension for this system: meshreel-blender-VERSION-PLATFORM.zip, which Blender installs.

    build.py [--wheel FILE.whl ...] [--out FOLDER]

Without wheels it builds one, with maturin, which needs Rust, a C and a C++ compiler. With wheels of several systems one
file serves them all. Python 3.11 or later.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTENSION = HERE / "meshreel_blender"
PACKAGE = HERE.parents[1] / "bindings" / "python" / "Cargo.toml"

#: How wheels name systems, and how Blender does.
PLATFORMS = [
    (r"(many)?linux.*_x86_64", "linux-x64"),
    (r"(many)?linux.*_aarch64", "linux-arm64"),
    (r"win_amd64", "windows-x64"),
    (r"win_arm64", "windows-arm64"),
    (r"macosx_.*_x86_64", "macos-x64"),
    (r"macosx_.*_arm64", "macos-arm64"),
]


def platform(wheel: Path) -> str:
    tag = wheel.stem.rsplit("-", 1)[-1]
    for pattern, name in PLATFORMS:
        if re.fullmatch(pattern, tag.split(".")[0]):
            return name
    sys.exit(f"{wheel.name}: Blender has no system '{tag}'")


def build_wheel(folder: str) -> Path:
    command = ["maturin", "build", "--release", "--locked", "--manifest-path", str(PACKAGE), "--out", folder]
    subprocess.run(command, check=True)
    return next(Path(folder).glob("*.whl"))


def manifest(wheels: list[Path]) -> str:
    """The manifest with what is packed beside it."""
    text = (EXTENSION / "blender_manifest.toml").read_text()
    names = {wheel.name: platform(wheel) for wheel in wheels}
    entries = "".join(f'  "./wheels/{name}",\n' for name in sorted(names))
    platforms = ", ".join(f'"{name}"' for name in sorted(set(names.values())))
    text, count = re.subn(r"^wheels = \[\]$", f"wheels = [\n{entries}]", text, flags=re.M)
    text, more = re.subn(r"^platforms = \[\]$", f"platforms = [{platforms}]", text, flags=re.M)
    assert count == more == 1
    return text


def pack(wheels: list[Path], folder: Path) -> Path:
    text = manifest(wheels)
    said = tomllib.loads(text)
    for wheel in wheels:
        version = wheel.name.split("-")[1]
        if version != said["version"]:
            sys.exit(f"{wheel.name} is of version {version}, the extension of {said['version']}")
    where = "-".join(said["platforms"]) if len(said["platforms"]) == 1 else "all"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"meshreel-blender-{said['version']}-{where}.zip"
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("blender_manifest.toml", text)
        for path in sorted(EXTENSION.glob("*.py")):
            archive.write(path, path.name)
        for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
            archive.write(HERE.parents[1] / licence, licence)
        for wheel in wheels:
            archive.write(wheel, f"wheels/{wheel.name}", zipfile.ZIP_STORED)
    part.replace(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, default=Path("dist"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(pack(arguments.wheel or [build_wheel(folder)], arguments.out))


if __name__ == "__main__":
    main()
