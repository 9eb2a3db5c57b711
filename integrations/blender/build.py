#!/usr/bin/env python3
"""Packs the extension: meshreel-blender-VERSION-PLATFORM.zip, as Blender and extensions.blender.org take it.

    build.py [--wheels FOLDER] [--together] [--out FOLDER]

With a folder of wheels of the package meshreel it packs one file for each platform that Blender has, --together
one for all of them. Without wheels it builds one for this system, with maturin, which needs Rust, a C and a C++
compiler. Python 3.11 or later.
"""

import argparse
import itertools
import re
import shutil
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


def platform(wheel: Path) -> str | None:
    """Blender's name of the system that a wheel is for; None where Blender has none."""
    tag = wheel.stem.rsplit("-", 1)[-1]
    names = (name for pattern, name in PLATFORMS if re.fullmatch(pattern, tag.split(".")[0]))
    return next(names, None)


def build_wheel(folder: str) -> None:
    for tool, remedy in (("maturin", "pip install maturin"), ("cargo", "install Rust (rustup)")):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing, which builds the wheel: {remedy}, or name a folder with --wheels")
    command = ["maturin", "build", "--release", "--locked", "--manifest-path", str(PACKAGE), "--out", folder]
    subprocess.run(command, check=True)


def wheels_in(folder: Path) -> list[Path]:
    """Wheels for systems that Blender has, by these."""
    wheels = sorted(folder.glob("meshreel-*.whl"))
    for wheel in wheels:
        if platform(wheel) is None:
            print(f"left out: {wheel.name}, for whose system there is no Blender", file=sys.stderr)
    wheels = [wheel for wheel in wheels if platform(wheel)]
    if not wheels:
        sys.exit(f"{folder}: no wheel of meshreel is there that Blender could use")
    return sorted(wheels, key=platform)


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
    parser.add_argument("--wheels", type=Path, metavar="FOLDER")
    parser.add_argument("--together", action="store_true", help="one file for all platforms")
    parser.add_argument("--out", type=Path, default=Path("dist"), metavar="FOLDER")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.wheels is None:
            build_wheel(folder)
        wheels = wheels_in(arguments.wheels or Path(folder))
        key = (lambda wheel: "all") if arguments.together else platform
        for _, group in itertools.groupby(wheels, key):
            print(pack(list(group), arguments.out))


if __name__ == "__main__":
    main()
