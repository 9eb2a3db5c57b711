"""Baked animation into small files with a guaranteed error, its frames as arrays of numpy, and back.

>>> import meshreel
>>> report = meshreel.compile(inputs / "a_flag_wind.abc", folder / "flag.reel", effort=1)
>>> with meshreel.open(folder / "flag.reel") as reel:
...     last = reel.frame(-1)
>>> last.meshes[0].positions.shape[1]
3

Nothing holds the interpreter's lock while it compiles, decodes, verifies or writes: other threads run on.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Union

from . import _native
from ._native import Camera, Clip, Frame, Mesh, MeshInfo, Node, NodeInfo, Pose, Reel, Rig, __version__
from .errors import (
    Cancelled,
    Error,
    IoError,
    LimitError,
    MalformedError,
    MisuseError,
    UnsupportedError,
)
from .options import CompileOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Camera",
    "Cancelled",
    "Clip",
    "CompileOptions",
    "Error",
    "Frame",
    "IoError",
    "LimitError",
    "MalformedError",
    "Mesh",
    "MeshInfo",
    "MisuseError",
    "Node",
    "NodeInfo",
    "Pose",
    "Reel",
    "RemarkWarning",
    "Rig",
    "UnsupportedError",
    "__version__",
    "compile",
    "extract",
    "info",
    "open",
    "verify",
]

#: A path of a file, as `open` of Python takes it.
PathLike = Union[str, "os.PathLike[str]"]

#: Receives the name of a phase, how much of it is done, and of how much (0: not known yet).
Progress = Callable[[str, int, int], Any]


class RemarkWarning(UserWarning):
    """Something in the content that the user should know and that stopped nothing."""


def _paths(inputs: PathLike | Iterable[PathLike]) -> list[str]:
    if isinstance(inputs, (str, os.PathLike)):
        inputs = [inputs]
    return [os.fspath(path) for path in inputs]


def _optional(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def _report(text: str) -> dict[str, Any]:
    """The report as a dictionary; its remarks are warnings of the line that called."""
    report: dict[str, Any] = json.loads(text)
    for remark in report.setdefault("remarks", []):
        place = f"{remark['node']}: " if remark["node"] else ""
        warnings.warn(place + remark["what"], RemarkWarning, stacklevel=3)
    return report


def _option_texts(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Options as the command line has them: keys with dashes, values as text, lists one by one."""
    said = []
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            # None, and a flag that is False, are as if nothing was said.
            if one is None or one is False:
                continue
            text = "true" if one is True else str(one)
            said.append((name.replace("_", "-"), text))
    return said


def open(source: PathLike | bytes | bytearray | BinaryIO, *, max_memory: int | None = None) -> Reel:
    """Opens a .reel.

    Reads what does not change; frames are read and decoded when they are asked for. As a context manager it closes
    itself.

    source: a path; or the content of a file, as bytes or a binary file object, which is read to its end and
        stays the caller's to close.
    max_memory: bytes that the file may take with its static data and one decoder; 4 GiB by default. LimitError where
        it would take more, before any of it is allocated.

    Raises IoError, MalformedError, UnsupportedError or LimitError.

    >>> with meshreel.open(reel_path) as reel:
    ...     len(reel) == len(reel.times)
    True
    """
    if isinstance(source, (str, os.PathLike)):
        return Reel(os.fspath(source), max_memory)
    read = getattr(source, "read", None)
    content = source if read is None else read()
    if not isinstance(content, (bytes, bytearray)):
        given = "one in text mode: open it with mode 'rb'" if isinstance(content, str) else repr(source)
        raise MisuseError(f"open takes a path, bytes or a binary file object, not {given}")
    return Reel(content, max_memory)


def compile(
    inputs: PathLike | Iterable[PathLike],
    output: PathLike,
    *,
    points: PathLike | None = None,
    options_file: PathLike | None = None,
    progress: Progress | None = None,
    **options: Unpack[CompileOptions],
) -> dict[str, Any]:
    """Compiles inputs into one .reel and returns a report.

    inputs: a path, a glob or a numbered sequence ("frame.####.obj"), or several, which become one scene by
        the paths of their nodes. Alembic (.abc, Ogawa and HDF5), USD (.usd, .usda, .usdc, .usdz), glTF (.glb,
        .gltf), FBX, OBJ, PLY, BVH; a point cache (.pc2, .mdd) goes with its .obj.
    output: the .reel. It appears, or is replaced, only when it is complete and verified: the source is read again,
        the file decoded and compared with it, as `verify` does. no_verify=True leaves that out.
    points: positions of an .obj over time.
    options_file: a TOML file of options; those of this call lie over it.
    progress: called as progress(phase, done, total) from the thread that called `compile`, and no more than about
        twenty times a second. Phases are "open", "analyse", "search", "encode", "verify". What it raises, and
        KeyboardInterrupt, ends the compile within a second and is raised from here; where it returns False, Cancelled
        is. No file is left then, and one of that name stays as it is.
    options: those of `meshreel compile --help`, with _ for - (CompileOptions): tolerance="0.5mm",
        preset="fast", lod=2, strip=True, include=["/hero/**"]. Numbers without a unit are as on the command
        line.

    The report has the keys of `meshreel compile --json`: "file_bytes", "raw_bytes", "frames", "meshes", "clips",
    "remarks" and so on, and "verify": "ok", "seconds", "worst" (in tolerances), "cured" and so on, or None.
    Remarks are warnings (RemarkWarning) as well.

    Raises MisuseError for options that make no sense, the error of its class for inputs and the output, and Error
    with `remarks` for remarks under strict=True.

    >>> report = meshreel.compile(inputs / "prism.glb", folder / "prism.reel", tolerance="0.1%")
    >>> report["written"], report["file_bytes"] == (folder / "prism.reel").stat().st_size
    (True, True)
    """
    said = _option_texts(options)
    text = _native.compile(
        _paths(inputs), os.fspath(output), said, _optional(points), _optional(options_file), progress
    )
    return _report(text)


def verify(
    inputs: PathLike | Iterable[PathLike],
    reel: PathLike,
    *,
    points: PathLike | None = None,
    source_fps: float | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Reads the source again, decodes the .reel, measures, and returns a report.

    A promise that does not hold raises nothing: report["ok"] is False then, and report["failures"] says what.

    source_fps: frames per second of inputs that carry no rate; what the .reel was compiled with by default.
    progress: as for `compile`.

    >>> meshreel.verify(inputs / "prism.glb", reel_path)["ok"]
    True
    """
    fps = None if source_fps is None else str(source_fps)
    text = _native.verify(_paths(inputs), os.fspath(reel), _optional(points), fps, progress)
    return _report(text)


def extract(
    reel: PathLike,
    output: PathLike,
    *,
    bones: Literal["points", "skins", "parts", "auto"] | None = None,
    lod: int = 0,
    format: Literal["obj", "openvat"] | None = None,
    normals: Literal["packed", "separate", "none"] | None = None,
    image: Literal["png", "exr"] | None = None,
    compress: Literal["meshopt", "khr-meshopt"] | None = None,
    tolerance: float | str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes what is in a .reel as .abc, .glb, .bvh or .obj, as the output's name says, and returns a report.

    output: a name ending in / is a directory for a sequence of .obj, or for textures of vertices (format="openvat"). It
        appears only when it is complete.
    bones: how meshes that parts or bones move come back: "points", "skins", "parts" or "auto".
    lod: level of detail.
    format, normals, image, compress, tolerance: as of `meshreel extract --help`.
    progress: as for `compile`.

    >>> meshreel.extract(reel_path, folder / "back.glb")["kind"]
    'glb'
    """
    options: dict[str, object] = {"bones": bones, "format": format, "normals": normals, "image": image}
    options |= {"compress": compress, "tolerance": tolerance}
    said = [(key, str(value)) for key, value in options.items() if value is not None]
    text = _native.extract(os.fspath(reel), os.fspath(output), said, lod, progress)
    return _report(text)


def info(path: PathLike, *, streams: bool = False, frames: bool = False) -> dict[str, Any]:
    """What is in a .reel or in an input, with the keys of `meshreel info --json`.

    Of all: "kind", "file", "file_bytes", "unit", "fps", "frames", "start", "duration", "nodes", "meshes", "clips",
    "skeletons". Of a .reel also "options", "ratio", "bytes" by part, "decoder_memory_bytes", "rigs", "attributes",
    "advice".
    streams: of an input the attributes of its meshes as well; of a .reel what each stream takes, however large it is.
    frames: all frames as well ("frame_table", of an input "times").

    >>> meshreel.info(reel_path)["kind"]
    'reel'
    """
    return _report(_native.info(os.fspath(path), streams, frames))
