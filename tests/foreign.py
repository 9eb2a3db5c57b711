"""Compiles other people's files and compares what comes back with independent readers. See foreign.sh."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from scipy.spatial import cKDTree

HERE = pathlib.Path(__file__).resolve().parent
ORACLES = {
    **dict.fromkeys([".usd", ".usda", ".usdc", ".usdz"], "usd.py"),
    **dict.fromkeys([".gltf", ".glb"], "gltf.py"),
    ".fbx": "fbx",
    ".abc": "alembic.py",
}
# Readers that have no oracle of their own are compiled and verified only.
KINDS = [*ORACLES, ".bvh", ".obj", ".ply"]
SECONDS = 300
FRAMES = 8
# Distances are compared with the tolerance of the file, and with what single precision holds of the largest coordinate.
TOLERANCES, EPSILON = 1.5, 4e-6


class Refused(Exception):
    """A command that ended with an error. Its text is the first line that it printed of it."""


def run(command, cwd=None):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=cwd, errors="replace")
    except subprocess.TimeoutExpired:
        raise Refused(f"took more than {SECONDS} s") from None
    if done.returncode not in (0, 1, 2) or "panicked" in done.stderr:
        raise Refused(f"crashed with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done


def compiled(program, source, folder):
    """Compiles and verifies a file. Gives the outcome, and the reel where there is one."""
    reel = folder / "a.reel"
    done = run([program, "compile", "--quiet", "--json", "--effort", "1", "--jobs", "1", "-o", reel, source])
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
        return f"refused: {(lines or ['without a word'])[0]}".replace(str(source), source.name), None
    report = json.loads(run([program, "verify", "--quiet", "--json", source, reel]).stdout or "{}")
    if not report.get("ok"):
        failures = report.get("failures") or [{}]
        return f"broken: {failures[0].get('path', '')}: {failures[0].get('what', '')}", None
    return "holds", reel


def read_obj(path):
    """Points of an .obj as an array of shape (points, 3)."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        points = [line.split()[1:4] for line in lines if line.startswith("v ")]
    return numpy.array(points, dtype=float).reshape(-1, 3)


def distance(ours, theirs, is_partial):
    """The largest distance of any point of one set from the nearest of the other, both ways; where theirs are not all,
    from theirs to ours alone."""
    if len(ours) == 0 or len(theirs) == 0:
        return 0.0 if len(ours) == len(theirs) else float("inf")
    ways = [cKDTree(ours).query(theirs)[0]]
    if not is_partial:
        ways.append(cKDTree(theirs).query(ours)[0])
    return max(float(way.max()) for way in ways)


def expected(options, source, folder, times):
    """World-space points of the oracle and whether there are more, by time; None where there is no oracle for this kind
    of file."""
    oracle = ORACLES.get(source.suffix.lower())
    if oracle is None or oracle == "fbx" and options.fbx is None:
        return None
    listed = ",".join(repr(time) for time in times)
    if oracle == "fbx":
        return of_lines(run([options.fbx, source, "--times", listed]), len(times))
    python = options.blender_python if oracle == "alembic.py" else sys.executable
    # Blender's importer reads Ogawa alone.
    if python is None or oracle == "alembic.py" and source.read_bytes()[:4] == b"\x89HDF":
        return None
    out = folder / "expected.npz"
    done = run([python, HERE / "oracles" / oracle, source, f"--times={listed}", "-o", out])
    if done.returncode != 0 or not out.exists():
        raise Refused((done.stderr.strip().splitlines() or ["the oracle gave nothing"])[-1][:200])
    with numpy.load(out) as frames:
        partial = lambda i: bool(frames.get(f"partial_{i}", False))
        return [(frames[f"frame_{i}"], partial(i)) for i in range(len(times))]


def of_lines(done, count):
    """World-space points that an oracle printed as lines of JSON, one for each mesh and frame."""
    if done.returncode != 0:
        raise Refused((done.stderr.strip().splitlines() or ["the oracle gave nothing"])[-1][:200])
    frames = [[] for _ in range(count)]
    for line in done.stdout.splitlines()[1:]:
        mesh = json.loads(line)
        if mesh["visible"]:
            frames[mesh["frame"]].append(numpy.array(mesh["points"], dtype=float).reshape(-1, 3))
    return [(numpy.concatenate(parts) if parts else numpy.zeros((0, 3)), False) for parts in frames]


def compared(options, source, folder, reel):
    """Compares some frames of a reel with the oracle's."""
    info = json.loads(run([options.program, "info", "--json", "--frames", reel]).stdout)
    if not info["meshes"]:
        return "no meshes"
    times = [frame["time"] for frame in info["frame_table"]]
    chosen = sorted({i * (len(times) - 1) // max(FRAMES - 1, 1) for i in range(FRAMES)})
    wanted = expected(options, source, folder, [times[i] for i in chosen])
    if wanted is None:
        return "no oracle"
    if source.suffix.lower() == ".abc" and not any(len(points) for points, _ in wanted):
        raise Refused("the oracle shows meshes alone")
    done = run([options.program, "extract", "--quiet", reel, "-o", f"{folder / 'frames'}/"])
    if done.returncode != 0:
        return f"not extracted: {done.stderr.strip().splitlines()[-1]}"
    files = sorted((folder / "frames").glob("*.obj"))
    if len(files) != len(times):
        return f"{len(files)} files of {len(times)} frames"
    tolerance = max((node.get("tolerance") or 0.0) for node in info["nodes"])
    worst, where = 0.0, 0
    for i, (theirs, is_partial) in zip(chosen, wanted):
        ours = read_obj(files[i])
        theirs = theirs[numpy.isfinite(theirs).all(axis=1)]
        ours = ours[numpy.isfinite(ours).all(axis=1)]
        # Blender shows what Alembic hides.
        if source.suffix.lower() == ".abc" and len(ours) == 0:
            continue
        reach = numpy.abs(theirs).max() if len(theirs) else 1.0
        part = distance(ours, theirs, is_partial) / max(TOLERANCES * tolerance + EPSILON * reach, 1e-30)
        if part > worst:
            worst, where = part, i
    if worst > 1.0:
        return f"differs: {worst:.3g} times what is allowed, frame {where} of {len(times)}"
    return "equal"


def examined(options, source):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            outcome, reel = compiled(options.program, source, folder)
        except (Refused, ValueError) as error:
            return f"FAULT: {error}"
        if reel is None:
            return outcome
        try:
            return f"{outcome}, {compared(options, source, folder, reel)}"
        except Refused as error:
            return f"{outcome}, not compared: {error}"
        except (ValueError, KeyError, OSError) as error:
            return f"{outcome}, not compared: {type(error).__name__}: {error}"


def table(outcomes):
    counts = {}
    for outcome in outcomes.values():
        short = outcome.split(":")[0]
        counts[short] = counts.get(short, 0) + 1
    for short, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        print(f"{count:6}  {short}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--fbx", help="the program that evaluates FBX")
    arguments.add_argument("--blender-python", help="a Python that has bpy")
    arguments.add_argument("--baseline", type=pathlib.Path, help="outcomes to compare with; made if it is not there")
    arguments.add_argument("--store", action="store_true", help="makes the baseline anew")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    files = sorted(p for p in options.folder.rglob("*") if p.suffix.lower() in KINDS and p.is_file())
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, outcome in zip(files, pool.map(lambda source: examined(options, source), files)):
            name = source.relative_to(options.folder).as_posix()
            outcomes[name] = outcome
            if outcome.split(", ")[-1] not in ("equal", "no meshes", "no oracle"):
                print(f"{name}: {outcome}", flush=True)
    print(f"\n{len(outcomes)} files")
    table(outcomes)
    bad = [o for o in outcomes.values() if o.startswith(("FAULT", "broken")) or "differs" in o]
    if options.baseline is None:
        return 1 if bad else 0
    if options.store or not options.baseline.exists():
        options.baseline.write_text(json.dumps(outcomes, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    before = json.loads(options.baseline.read_text(encoding="utf-8"))
    changed = {name: o for name, o in outcomes.items() if before.get(name, "is new") != o}
    for name, outcome in changed.items():
        print(f"changed: {name}: {before.get(name, 'is new')} -> {outcome}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
