"""What a type checker is to accept and to refuse; tests/python.sh runs mypy on it, and nobody this file."""

import io

import meshreel
import numpy as np
from numpy.typing import NDArray


def accepted(files: list[str]) -> NDArray[np.float32]:
    report = meshreel.compile(files, "a.reel", tolerance="0.5mm", lod=2, include=["/hero/**"], preset="fast")
    print(report["frames"])
    options: meshreel.CompileOptions = {"effort": 1, "tolerance": ["0.1%", "/hero/**=0.01%"]}
    meshreel.compile("a.abc", "a.reel", **options)
    try:
        reel = meshreel.open(io.BytesIO(b""))
    except OSError as error:
        print(error.errno)
        raise
    with reel:
        return reel.frame(-1, ["normals"]).meshes[0].positions


def refused() -> None:
    meshreel.compile("a.abc", "a.reel", tolerence="1%")  # type: ignore[call-arg]
    meshreel.compile("a.abc", "a.reel", preset="tiny")  # type: ignore[arg-type]
    meshreel.compile("a.abc", "a.reel", strip="yes")  # type: ignore[arg-type]
    meshreel.open(3)  # type: ignore[arg-type]
    meshreel.extract("a.reel", "a.abc", bones="all")  # type: ignore[arg-type]
