"""What a wheel, and the sources beside it, must contain: check_archives.py FOLDER. Run by tests/python.sh."""

import email
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = {"__init__.py", "__main__.py", "_native.pyi", "errors.py", "farm.py", "options.py", "py.typed"}
LICENCES = {"LICENSE-MIT", "LICENSE-APACHE"}


def check_wheel(path):
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        info = metadata.removesuffix("METADATA")
        said = email.message_from_bytes(archive.read(metadata))
        scripts = archive.read(f"{info}entry_points.txt").decode()
        licences = {name: archive.read(f"{info}licenses/{name}") for name in LICENCES}
    assert {f"meshreel/{name}" for name in PACKAGE} <= names, names
    assert "meshreel=meshreel.__main__:main" in scripts, scripts
    assert b"MIT License" in licences["LICENSE-MIT"] and b"Apache License" in licences["LICENSE-APACHE"]
    assert said["License-Expression"] == "MIT OR Apache-2.0" and said["Keywords"] and said["Summary"]
    assert "Typing :: Typed" in said.get_all("Classifier") and len(said.get_all("Project-URL")) >= 3
    assert "pip install" in said.get_payload()


def check_sources(path):
    with tarfile.open(path) as archive:
        files = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    ends = {f"python/meshreel/{name}" for name in PACKAGE} | {"Cargo.lock"} | LICENCES
    missing = [end for end in ends if not any(file.endswith(end) for file in files)]
    assert not missing, missing
    assert not [file for file in files if "/target/" in file or file.endswith(".so")]


def main():
    folder = Path(sys.argv[1])
    for path in folder.glob("*.whl"):
        check_wheel(path)
    for path in folder.glob("*.tar.gz"):
        check_sources(path)


if __name__ == "__main__":
    main()
