#!/usr/bin/env python3
"""A second decoder of .reel files, written from docs/FORMAT/ alone: it shows that the documents are enough.

Each step names its section in the comment above it, and tables of numbers are read out of the documents.
Slow and plain. Prints one JSON object: for each frame asked for, its time and box, each node's world matrix
and visibility, and each mesh's indices and decoded streams. Blocks may be stored, deflated or LZ4; Zstandard
needs Python 3.14 or the package `zstandard`. With --clips one for each skeletal clip instead.

usage: decode.py FILE.reel [FRAME…] or decode.py --clips FILE.reel
"""
import json
import sys

from decode.basics import Malformed
from decode.clips import clips
from decode.reel import Reel


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    skeletal = sys.argv[1] == "--clips" and len(sys.argv) == 3
    with open(sys.argv[1 + skeletal], "rb") as file:
        data = file.read()
    try:
        if skeletal:
            return json.dump(clips(data), sys.stdout)
        reel = Reel(data)
        wanted = [int(n) for n in sys.argv[2:]] or range(len(reel.container["times"]))
        json.dump([reel.show(i) for i in wanted], sys.stdout)
    except Malformed as problem:
        sys.exit(f"{sys.argv[1 + skeletal]}: {problem}")


if __name__ == "__main__":
    main()
