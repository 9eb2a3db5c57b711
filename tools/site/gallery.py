#!/usr/bin/env python3
"""Makes the gallery and the scenes of the live demo from bundled inputs.

    gallery.py PROGRAM FOLDER

PROGRAM is `meshreel`, FOLDER what `stage.py` has written. Each scene is compiled and drawn by the commands that its
entry shows; every figure is measured here or comes from the program's report. Writes animated pictures to
`src/gallery/`, the entries into `src/gallery.md`, and files with their list to `scenes/`. Needs Python 3.11 or later,
and nothing else.
"""

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stage import repository

ROOT = Path(__file__).resolve().parents[2]
INPUTS = "testdata/inputs"
SIZE = "480x320"
#: The line of the page in whose place the entries go.
MARK = "*The pictures are made with the site"


@dataclass(frozen=True)
class Scene:
    name: str
    title: str
    source: str
    options: str = ""
    #: Whether the live demo offers it.
    in_demo: bool = False

    @property
    def input(self) -> str:
        return f"{INPUTS}/{self.source}"

    @property
    def compiling(self) -> str:
        options = f"{self.options} " if self.options else ""
        return f"meshreel compile {self.input} {options}-o {self.name}.reel"

    @property
    def drawing(self) -> str:
        return f"meshreel plot {self.name}.reel --animate --size {SIZE} -o {self.name}.png"


SCENES = [
    Scene("flag", "Cloth: a flag in the wind", "a_flag_wind.abc", "--lod 3", True),
    Scene("wall", "Destruction: a wall of stones in one mesh", "c_wall_fracture_onemesh.abc", "--lod 3", True),
    Scene("snake", "A skinned character: bones recovered from its vertices", "d_snake_skinned.abc", "--lod 3", True),
    Scene("metaballs", "A fluid whose triangles change in every frame", "e_metaballs.abc"),
    Scene("robot", "Rigid parts on moving nodes", "n_robot_bone_parented.abc"),
    Scene("particles", "Scattered objects that appear and vanish", "j_visibility_particles.abc"),
]


def run(program: Path, command: str, folder: Path) -> dict:
    """Runs a command as the gallery shows it, and returns its report."""
    words = shlex.split(command)
    assert words[0] == "meshreel"
    words = [str(ROOT / word) if word.startswith(INPUTS) else word for word in words[1:]]
    done = subprocess.run([program, *words, "--json"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def size(count: int) -> str:
    """A number of bytes as a reader likes it."""
    for unit, scale in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= 10 * scale:
            return f"{count / scale:,.0f} {unit}"
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"


def entry(scene: Scene, report: dict, picture: Path) -> str:
    """The part of the page about a scene."""
    meshes = report["meshes"]
    methods = ", ".join(sorted({mesh["method"] for mesh in meshes}))
    vertices = sum(mesh["source_points"] for mesh in meshes)
    source = (ROOT / scene.input).stat().st_size
    file, source_map = report["file_bytes"], report["source_map_bytes"]
    played = file - source_map
    verified = report["verify"]
    assert verified["ok"], scene.name
    rows = [
        ("Source", f"[`{scene.input}`]({repository(ROOT)}/blob/main/{scene.input}): {size(source)}"),
        ("Positions and transforms", f"{size(report['raw_bytes'])} as floats"),
        ("`.reel`", f"{size(file)}: {size(played)} for playing, {size(source_map)} for the way back to the source"),
        ("Ratio", f"the source is {source / played:.0f} times as large as what is played, floats {report['raw_bytes'] / played:.0f} times"),
        ("Content", f"{report['frames']} frames, {len(meshes)} {'mesh' if len(meshes) == 1 else 'meshes'}, {vertices:,} points; {methods}"),
        ("Largest error", f"{100 * verified['worst']:.0f} % of the tolerance"),
        ("This picture", size(picture.stat().st_size)),
    ]
    figures = "".join(f"* {name}: {value}\n" for name, value in rows)
    return (
        f"## {scene.title}\n\n![{scene.title}](gallery/{picture.name})\n\n"
        f"```\n{scene.compiling}\n{scene.drawing}\n```\n\n{figures}"
    )


def is_animated(picture: Path) -> bool:
    """Whether a PNG has a chunk that makes it an animation."""
    data = picture.read_bytes()
    return data.startswith(b"\x89PNG\r\n\x1a\n") and b"acTL" in data[: data.index(b"IDAT")]


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("gallery.py PROGRAM FOLDER")
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    pictures, scenes = folder / "src/gallery", folder / "scenes"
    pictures.mkdir(parents=True, exist_ok=True)
    scenes.mkdir(parents=True, exist_ok=True)
    entries, offered = [], []
    for scene in SCENES:
        report = run(program, scene.compiling, scenes)
        run(program, scene.drawing, scenes)
        picture = (scenes / f"{scene.name}.png").rename(pictures / f"{scene.name}.png")
        if not is_animated(picture):
            sys.exit(f"{picture}: not animated")
        entries.append(entry(scene, report, picture))
        if scene.in_demo:
            source = (ROOT / scene.input).stat().st_size
            about = {"name": scene.title, "file": f"{scene.name}.reel", "source": scene.source, "sourceBytes": source}
            offered.append(about)
        print(f"{scene.name}: {report['file_bytes']} bytes, picture {picture.stat().st_size}", flush=True)
    (scenes / "scenes.json").write_text(json.dumps(offered, indent=4) + "\n", encoding="utf-8")
    page = folder / "src/gallery.md"
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    if sum(line.startswith(MARK) for line in lines) != 1:
        sys.exit(f"{page}: one line begins with {MARK!r}")
    made = ["\n".join(entries) if line.startswith(MARK) else line for line in lines]
    page.write_text("".join(made), encoding="utf-8")


if __name__ == "__main__":
    main()
