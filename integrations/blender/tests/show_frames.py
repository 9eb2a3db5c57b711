"""Opens a .blend in a process of its own and holds what its cache shows against the decoder.

show_frames.py SCENE.blend CACHE.reel
"""

import sys

import harness  # Before bpy and meshreel.
import bpy
import meshreel
from test_frames import check

bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
root = next(thing for thing in bpy.data.objects if thing.meshreel.is_cache)
with meshreel.open(sys.argv[2]) as reel:
    for number in range(len(reel)):
        harness.go_to(bpy.context.scene, harness.frame_of(root, reel.times, number))
        check(root, reel, number)
    print(len(reel), "frames are the decoder's")
assert harness.part("reports").lines == []
