#!/usr/bin/env python3
"""Writes dual.fbx: two tubes on the same two bones, one blended by dual quaternions, of the other a part of each point.

Run in this folder: python3 make_dual.py. What it writes is small, and belongs to meshreel like the script.
"""

SECOND = 46186158000
RINGS, SIDES = 7, 4


def numbers(name, values):
    return f"{name}: *{len(values)} {{ a: {','.join(f'{v:.9g}' for v in values)} }}"


def place(name, x, y):
    return numbers(name, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, 0, 1])


def tube():
    ring = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    points = [v for r in range(RINGS) for x, z in ring for v in (0.5 * x, 4 * r / (RINGS - 1), 0.5 * z)]
    faces = []
    for r in range(RINGS - 1):
        for s in range(SIDES):
            a, b = r * SIDES + s, r * SIDES + (s + 1) % SIDES
            faces += [a, b, b + SIDES, -1 - (a + SIDES)]
    return points, faces


def mesh(base, name, x, kind, extra):
    points, faces = tube()
    count = RINGS * SIDES
    share = [min(max((i // SIDES) / (RINGS - 1) * 1.5 - 0.25, 0), 1) for i in range(count)]
    out = f"""
    Geometry: {base + 1}, "Geometry::{name}", "Mesh" {{
        {numbers("Vertices", points)}
        {numbers("PolygonVertexIndex", faces)}
        GeometryVersion: 124
    }}
    Model: {base + 2}, "Model::{name}", "Mesh" {{
        Version: 232
        Properties70: {{
            P: "Lcl Translation", "Lcl Translation", "", "A", {x}, 0, 0
        }}
    }}
    Deformer: {base + 3}, "Deformer::{name}", "Skin" {{
        Version: 101
        Link_DeformAcuracy: 50
        SkinningType: "{kind}"
        {extra(count)}
    }}"""
    for number, y, weight in ((0, 0.0, lambda w: 1 - w), (1, 2.0, lambda w: w)):
        used = [i for i in range(count) if weight(share[i]) > 0]
        out += f"""
    Deformer: {base + 4 + number}, "SubDeformer::{name}{number}", "Cluster" {{
        Version: 100
        {numbers("Indexes", used)}
        {numbers("Weights", [weight(share[i]) for i in used])}
        {place("Transform", x, -y)}
        {place("TransformLink", 0, y)}
    }}"""
    links = [(base + 1, base + 2), (base + 2, 0), (base + 3, base + 1)]
    links += [(base + 4, base + 3), (base + 5, base + 3), (1, base + 4), (2, base + 5)]
    return out, links


def curve(base, name, node, keys, layer):
    """Curves of a property over three keys, one second apart."""
    parts = "".join(f'\n            P: "d|{axis}", "Number", "", "A",{v[0]}' for axis, v in zip("XYZ", keys))
    out = f"""
    AnimationCurveNode: {base}, "AnimCurveNode::{name}", "" {{
        Properties70: {{{parts}
        }}
    }}"""
    links = [(base, layer)]
    own = [(base, node, {"R": "Lcl Rotation", "S": "Lcl Scaling", "T": "Lcl Translation"}[name])]
    for number, (axis, v) in enumerate(zip("XYZ", keys), 1):
        out += f"""
    AnimationCurve: {base + number}, "AnimCurve::", "" {{
        Default: 0
        KeyVer: 4009
        KeyTime: *3 {{ a: 0,{SECOND},{2 * SECOND} }}
        {numbers("KeyValueFloat", v)}
        KeyAttrFlags: *1 {{ a: 4 }}
        KeyAttrDataFloat: *4 {{ a: 0,0,0,0 }}
        KeyAttrRefCount: *1 {{ a: 3 }}
    }}"""
        own.append((base + number, base, f"d|{axis}"))
    return out, links, own


def main():
    parts = lambda count: "\n        ".join(
        [numbers("Indexes", list(range(count))), numbers("BlendWeights", [i / (count - 1) for i in range(count)])]
    )
    whole, links = mesh(1000, "Whole", 0, "DualQuaternion", lambda count: "")
    some, more = mesh(2000, "Some", 5, "Blend", parts)
    links += more + [(1, 0), (2, 1)]
    bones = ""
    for number, name, y in ((1, "Root", 0), (2, "Tip", 2)):
        bones += f"""
    NodeAttribute: {20 + number}, "NodeAttribute::{name}", "LimbNode" {{
        TypeFlags: "Skeleton"
    }}
    Model: {number}, "Model::{name}", "LimbNode" {{
        Version: 232
        Properties70: {{
            P: "Lcl Translation", "Lcl Translation", "", "A", 0, {y}, 0
        }}
    }}"""
        links.append((20 + number, number))
    turn, one, own = curve(3000, "R", 2, [[0, 150, -170], [0, 40, 10], [0, 0, 90]], 31)
    grow, two, other = curve(3100, "S", 2, [[1, 1.5, 1], [1, 1.5, 2], [1, 1.5, 0.5]], 31)
    moves, three, third = curve(3200, "T", 1, [[0, 1, 0], [0, 0, 2], [0, 3, 0]], 31)
    links += [(31, 30)] + one + two + three
    stack = f"""
    AnimationStack: 30, "AnimStack::Bend", "" {{
        Properties70: {{
            P: "LocalStop", "KTime", "Time", "",{2 * SECOND}
            P: "ReferenceStop", "KTime", "Time", "",{2 * SECOND}
        }}
    }}
    AnimationLayer: 31, "AnimLayer::Base", "" {{
    }}"""
    connections = "".join(f'\n    C: "OO",{a},{b}' for a, b in links)
    connections += "".join(f'\n    C: "OP",{a},{b}, "{name}"' for a, b, name in own + other + third)
    with open("dual.fbx", "w") as out:
        out.write(f"""; FBX 7.4.0 project file
FBXHeaderExtension:  {{
    FBXHeaderVersion: 1003
    FBXVersion: 7400
    Creator: "make_dual.py"
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
        P: "UnitScaleFactor", "double", "Number", "",100
        P: "TimeMode", "enum", "", "",11
    }}
}}
Objects:  {{{whole}{some}{bones}{stack}{turn}{grow}{moves}
}}
Connections:  {{{connections}
}}
""")


if __name__ == "__main__":
    main()
