#!/usr/bin/env python3
"""Writes cached.fbx, text with a mesh that geometry caches move, and its caches: one in a file of PC2, two channels in
one file of Maya's, and a file of Maya's for each frame.

Needs Python alone: no exporter that can be had writes caches. Run in this folder: python3 make_caches.py. The files that
it writes are small, and belong to meshreel like the script.
"""

import math
import os
import struct

FRAMES = 8
POINTS = [(x, y, 0.0) for y in range(3) for x in range(4)]
FACES = [(y * 4 + x, y * 4 + x + 1, y * 4 + x + 5, y * 4 + x + 4) for y in range(2) for x in range(3)]


def wave(frame, amount):
    return [(x, y, amount * math.sin(x + 0.7 * frame) + 0.1 * y * frame) for x, y, _ in POINTS]


def pc2(path):
    with open(path, "wb") as out:
        out.write(b"POINTCACHE2\0" + struct.pack("<IIffI", 1, len(POINTS), 0.0, 1.0, FRAMES))
        for frame in range(FRAMES):
            for point in wave(frame, 0.5):
                out.write(struct.pack("<3f", *point))


def tagged(tag, data):
    padded = data + b"\0" * (-len(data) % 4)
    return tag + struct.pack(">I", len(data)) + padded


def points_of(name, values, double):
    kind, code = (b"DVCA", "d") if double else (b"FVCA", "f")
    flat = [v for point in values for v in point]
    return (
        tagged(b"CHNM", name + b"\0")
        + tagged(b"SIZE", struct.pack(">I", len(values)))
        + tagged(kind, struct.pack(f">{len(flat)}{code}", *flat))
    )


def head(first, last):
    inner = b"CACH" + tagged(b"VRSN", b"0.1\0") + tagged(b"STIM", struct.pack(">I", first)) + tagged(b"ETIM", struct.pack(">I", last))
    return tagged(b"FOR4", inner)


def ticks(frame):
    """Maya counts 6000 to a second."""
    return frame * 250


def one_file(path, channels):
    with open(path, "wb") as out:
        out.write(head(0, ticks(FRAMES - 1)))
        for frame in range(FRAMES):
            inner = b"MYCH" + tagged(b"TIME", struct.pack(">I", ticks(frame)))
            for name, amount, double in channels:
                inner += points_of(name, wave(frame, amount), double)
            out.write(tagged(b"FOR4", inner))


def file_per_frame(base, name, amount):
    for frame in range(FRAMES):
        with open(f"{base}Frame{frame}.mc", "wb") as out:
            out.write(head(ticks(frame), ticks(frame)))
            out.write(tagged(b"FOR4", b"MYCH" + points_of(name, wave(frame, amount), False)))


def description(path, kind, channels):
    lines = [
        '<?xml version="1.0"?>',
        "<Autodesk_Cache_File>",
        f'  <cacheType Type="{kind}" Format="mcc"/>',
        f'  <time Range="0-{ticks(FRAMES - 1)}"/>',
        '  <cacheTimePerFrame TimePerFrame="250"/>',
        '  <cacheVersion Version="2.0"/>',
        "  <Channels>",
    ]
    for number, (name, double) in enumerate(channels):
        array = "DoubleVectorArray" if double else "FloatVectorArray"
        lines.append(
            f'    <channel{number} ChannelName="{name}" ChannelType="{array}" ChannelInterpretation="positions"'
            f' SamplingType="Regular" SamplingRate="250" StartTime="0" EndTime="{ticks(FRAMES - 1)}"/>'
        )
    lines += ["  </Channels>", "</Autodesk_Cache_File>", ""]
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(lines))


def numbers(values):
    values = list(values)
    return f"*{len(values)} {{ a: {','.join(str(v) for v in values)} }}"


def mesh(number, name, cache, channel):
    base = 1000 * number
    corners = [i if k < 3 else ~i for face in FACES for k, i in enumerate(face)]
    objects = f"""
    Geometry: {base + 1}, "Geometry::{name}Mesh", "Mesh" {{
        Vertices: {numbers(v for p in POINTS for v in p)}
        PolygonVertexIndex: {numbers(corners)}
        GeometryVersion: 124
    }}
    Model: {base + 2}, "Model::{name}", "Mesh" {{
        Version: 232
        Properties70: {{
            P: "Lcl Translation", "Lcl Translation", "", "A", {10 * number}, 0, 0
            P: "Lcl Scaling", "Lcl Scaling", "", "A", 1, {number}, 1
        }}
    }}
    Deformer: {base + 3}, "Deformer::{name}Deformer", "VertexCacheDeformer" {{
        Properties70: {{
            P: "ChannelName", "KString", "", "", "{channel}"
            P: "Active", "bool", "", "", 1
        }}
    }}
    Cache: {base + 4}, "Cache::{name}Cache", "" {{
        Properties70: {{
            P: "CacheFileName", "KString", "", "", "{cache}"
            P: "CacheAbsoluteFileName", "KString", "", "", "C:\\\\elsewhere\\\\{os.path.basename(cache)}"
            P: "CacheFileType", "enum", "", "", {1 if cache.endswith("pc2") else 2}
        }}
    }}"""
    links = f"""
    C: "OO", {base + 2}, 0
    C: "OO", {base + 1}, {base + 2}
    C: "OO", {base + 3}, {base + 1}
    C: "OO", {base + 4}, {base + 3}"""
    return objects, links


def main():
    os.makedirs("caches", exist_ok=True)
    pc2("caches/sheet.pc2")
    one_file("caches/both.mc", [(b"left", 1.0, False), (b"right", 2.0, True)])
    description("caches/both.xml", "OneFile", [("left", False), ("right", True)])
    file_per_frame("caches/apart", b"apart", 3.0)
    description("caches/apart.xml", "OneFilePerFrame", [("apart", False)])
    parts = [
        mesh(1, "Sheet", "caches/sheet.pc2", "sheet"),
        mesh(2, "Left", "caches/both.xml", "left"),
        mesh(3, "Right", "caches/both.xml", "right"),
        mesh(4, "Apart", "D:/shows/one/caches/../apart.xml", "apart"),
        mesh(5, "Lost", "caches/none.pc2", "none"),
        mesh(6, "Outside", "../../outside.pc2", "none"),
    ]
    # Beside the file, as the last part of a name that leads elsewhere.
    file_per_frame("apart", b"apart", 3.0)
    description("apart.xml", "OneFilePerFrame", [("apart", False)])
    for name in os.listdir("caches"):
        if name.startswith("apart"):
            os.remove(os.path.join("caches", name))
    objects = "".join(own for own, _ in parts)
    links = "".join(own for _, own in parts)
    text = f"""; FBX 7.4.0 project file
FBXHeaderExtension:  {{
    FBXHeaderVersion: 1003
    FBXVersion: 7400
    Creator: "make_caches.py"
}}
GlobalSettings:  {{
    Version: 1000
    Properties70:  {{
        P: "UpAxis", "int", "Integer", "",1
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",2
        P: "FrontAxisSign", "int", "Integer", "",1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",1
        P: "TimeMode", "enum", "", "",11
    }}
}}
Objects:  {{{objects}
}}
Connections:  {{{links}
}}
"""
    with open("cached.fbx", "w", encoding="ascii") as out:
        out.write(text)


if __name__ == "__main__":
    main()
