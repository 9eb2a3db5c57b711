"""The installed Python package compiles a file, verifies the result, and reads it back.

    wheel.py SOURCE
"""

import pathlib
import sys
import tempfile

import meshreel

source = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    target = str(pathlib.Path(folder, 'compiled.reel'))
    meshreel.compile(source, target)
    assert meshreel.verify(source, target)['ok']
    with meshreel.open(target) as reel:
        positions = reel.frame(0).meshes[0].positions
        assert positions.shape[0] > 0 and positions.shape[1] == 3, positions.shape
    size = pathlib.Path(target).stat().st_size
print(f'{source}: {size} bytes, {positions.shape[0]} vertices')
