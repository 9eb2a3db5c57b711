"""The command line that oracles in Python share: FILE --times T,T,... -o OUT.npz."""

import argparse

import numpy


def main(description, world_points):
    """Writes what `world_points(file, times)` yields, arrays of shape (points, 3), as `frame_0` and so on; where it
    yields pairs, the second value as `partial_0` and so on."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("file")
    arguments.add_argument("--times", required=True)
    arguments.add_argument("-o", "--output", required=True)
    asked = arguments.parse_args()
    times = [float(time) for time in asked.times.split(",")]
    frames = {}
    for i, points in enumerate(world_points(asked.file, times)):
        if isinstance(points, tuple):
            points, frames[f"partial_{i}"] = points
        frames[f"frame_{i}"] = points
    numpy.savez(asked.output, **frames)
