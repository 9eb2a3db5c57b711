"""Compares extracted USD, as usd-core reads it, with the same frames as .obj. See usd.sh."""

import json
import pathlib
import subprocess
import sys

import numpy
from pxr import Usd, UsdValidation
from scipy.spatial import cKDTree

ORACLE = pathlib.Path(__file__).resolve().parent / "oracles" / "usd.py"
# Of the largest coordinate: text of .obj and sums of transforms in single precision.
EPSILON = 4e-6


def obj_points(file):
    """Points of an .obj that faces use."""
    points, used = [], set()
    for line in file.read_text().splitlines():
        kind, *words = line.split() or [""]
        if kind == "v":
            points.append([float(word) for word in words[:3]])
        elif kind == "f":
            used.update(int(word.split("/")[0]) - 1 for word in words)
    return numpy.array([points[i] for i in sorted(used)]).reshape(-1, 3)


def distance(a, b):
    """The largest distance from a point of either set to the nearest one of the other."""
    if len(a) == 0 or len(b) == 0:
        return 0.0 if len(a) == len(b) else numpy.inf
    return max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())


def check(program, folder, source):
    rigged = source.suffix == ".glb"
    reel, frames = folder / "a.reel", folder / "frames"
    subprocess.run([program, "compile", "--quiet", "--effort", "1", *(["--rig", "keep"] if rigged else []), source, "-o",
                    reel], check=True)
    for file in frames.glob("*.obj"):
        file.unlink()
    subprocess.run([program, "extract", "--quiet", reel, "-o", f"{frames}/"], check=True)
    info = json.loads(subprocess.run([program, "info", "--json", reel], check=True, capture_output=True).stdout)
    step = info["duration"] / max(info["frames"] - 1, 1)
    times = [info["start"] + i * step for i in range(info["frames"])]
    files = sorted(frames.glob("*.obj"))
    assert len(files) == len(times), f"{len(files)} files of {len(times)} frames"
    # A rig and the frames are each within the tolerance of the source.
    loose = 2 * max((node["tolerance"] for node in info["nodes"] if rigged), default=0.0)
    for form in ["usdc", "usda"]:
        layer, points = folder / f"a.{form}", folder / "points.npz"
        subprocess.run([program, "extract", "--quiet", reel, "-o", layer], check=True)
        stage = Usd.Stage.Open(str(layer))
        validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
        found = [error.GetMessage() for error in UsdValidation.ValidationContext(validators).Validate(stage)]
        assert not found, f"{source.name} as .{form}: {found[:3]}"
        subprocess.run([sys.executable, ORACLE, layer, "--times", ",".join(map(repr, times)), "-o", points], check=True)
        read = numpy.load(points)
        worst = 0.0
        for i, file in enumerate(files):
            expected, own = obj_points(file), read[f"frame_{i}"]
            allowed = loose + EPSILON * max(1.0, numpy.abs(expected).max(initial=0.0))
            off = distance(expected, own)
            assert off <= allowed, f"{source.name} as .{form}: frame {i} is {off} off, {allowed} is allowed"
            worst = max(worst, off / allowed)
        print(f"{source.name} as .{form}: {len(files)} frames, at most {worst:.0%} of what is allowed", flush=True)


for name in sys.argv[3:]:
    check(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(name))
