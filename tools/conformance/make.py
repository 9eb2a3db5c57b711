#!/usr/bin/env python3
"""Writes the conformance set: small .reel files, and what they show as numbers.

    tools/conformance/make.py PROGRAM [FOLDER]

PROGRAM is `meshreel`; FOLDER is testdata/conformance by default. Every scene is written as USD or BVH, compiled,
and described in `expected.json` by the numbers of its source, not by those of any decoder: world space, metres,
right-handed, y up, triangles counter-clockwise seen from outside, v upwards. `check.py` compares a player with them.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import scenes
import usda

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    program = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / 'testdata/conformance')
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with tempfile.TemporaryDirectory() as work:
        for scene in scenes.all_scenes():
            source = pathlib.Path(work) / scene['source']
            source.write_text(scene['text'])
            target = folder / scene['expected']['file']
            subprocess.run([program, 'compile', '-q', source, '-o', target, *scene['options']], check=True)
            files.append(scene['expected'])
            print(f'{target.name}: {target.stat().st_size:,} bytes')
    text = json.dumps({'fps': usda.FPS, 'files': rounded(files)}, indent=None, separators=(',', ':'))
    # One line per file, moment and node, so that differences can be read.
    for name in ('"file":', '"seconds":', '"path":', '"joints":'):
        text = text.replace('{' + name, '\n{' + name)
    (folder / 'expected.json').write_text(text + '\n')
    lines = [' '.join([f['file'], *(f'{m["seconds"]:.9g}' for m in f['moments'])]) for f in files]
    (folder / 'moments.txt').write_text('\n'.join(lines) + '\n')


def rounded(value):
    """Returns the value with numbers of seven digits."""
    if isinstance(value, float):
        return float(f'{value:.7g}') if math.isfinite(value) else value
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    return value


if __name__ == '__main__':
    main()
