"""The description of a file."""
import math

from .basics import Bytes, need, text_block

# Description

IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0)
COMPONENTS = [3, 2, 4, 2, 4, 3, 1, 1, 2, 3, 4]
FIXED_POINT_CODINGS = (1, 3, 4)
MOVED = (1, 2, 3)
AVERAGE = [False, True, True, False] + 7 * [True]


# mesh.md#description
def options(text):
    """Options with their usual lines, of which the file has the numbers."""
    rows = [row.split(None, 1) for row in text_block("usual lines").splitlines()]
    usual, out = {chr(int(number)): line + "\n" for number, line in rows}, ""
    while text:
        line = text[0] if text[0] in usual else text.partition("\n")[0] + ("\n" if "\n" in text else "")
        out, text = out + usual.get(line, line), text[len(line) :]
    return out


# mesh.md#description
def description(data):
    b = Bytes(data)
    need(b.get("B") == 0, "a layout of the description")
    d = dict(generator=b.text(), options=options(b.text()), unit=b.get("B"), fps=b.get("d"), period=b.get("d"),
             restart=b.varint())
    d["node_setup"] = b.take(b.varint()) if d["restart"] else b""
    need(d["restart"] <= 64, "keys that restart too seldom")
    meshes = b.varint()
    d["nodes"] = [node(b) for _ in range(b.varint())]
    d["meshes"] = [mesh(b) for _ in range(meshes)]
    b.end()
    return d


# mesh.md#description
def node(b):
    n = dict(path=b.text(), parent=b.varint() - 1, mesh=b.varint() - 1)
    flags = b.get("B")
    n.update(animated=bool(flags & 1), baked=bool(flags & 2), visibility=flags >> 2 & 3)
    n["rest"] = IDENTITY if flags & 16 else b.get("10f")
    n["tolerance"] = b.get("d")
    n["reach"] = b.get("f") if flags & 32 else None
    need(n["reach"] is None or n["mesh"] < 0 and 0 < n["reach"] < math.inf, "a locator that shows a mesh, or reaches nowhere")
    return n


# mesh.md#description
def mesh(b):
    m = dict(path=b.text(), method=b.get("B"), codec=b.get("B"))
    flags = b.get("B")
    need(flags <= 127, "an unknown flag")
    m["has_table"], m["moving_frames"], m["separate_attributes"] = bool(flags & 1), None, bool(flags & 8)
    m["remeshed_blend_frames"] = b.varint() if flags & 4 else None
    need(m["method"] <= 5 and m["codec"] <= (4 if m["method"] == 5 else 2), "an unknown method or codec")
    m["ids"], m["curves"], m["persistent"] = bool(flags & 16), None, bool(flags & 64)
    has_points = m["method"] == 5 or m["persistent"]
    need(not (m["persistent"] and m["method"] >= 4), "persistent points of a mesh whose points change")
    need(flags & 48 == 0 or has_points and flags & 48 != 48, "ids or curves of a mesh that has none")
    if flags & 32:
        basis, curve_ends = b.get("2B")
        need(basis <= 3 and curve_ends <= 2, "unknown curves")
        m["curves"] = dict(basis=basis, curve_ends=curve_ends, max_curves=b.varint())
    m.update(vertices=b.varint(), indices=b.varint(), source_points=b.varint(), points=b.varint(),
             bounds=b.get("6f"))
    for name in ("connectivity", "values", "source_map"):
        m[name] = (b.varint(), b.varint(), b.varint())
    if flags & 2:
        m["moving_frames"], m["end_states"] = (b.varint(), b.varint()), (b.varint(), b.varint(), b.varint())
    m["streams"] = [stream_record(b) for _ in range(b.varint())]
    m["materials"] = [dict(id=b.varint(), name=b.text(), first=b.varint(), count=b.varint()) for _ in range(b.varint())]
    return m


# mesh.md#description
def stream_record(b):
    semantic, set_, flags, word, bits = b.get("5B")
    s = dict(semantic=semantic, set=set_, animated=bool(flags & 1), coding=flags >> 1, word=word, bits=bits, name=b.text())
    need(s["coding"] <= 4, "an unknown coding")
    s["axes"] = [b.get("ffI") for _ in range(COMPONENTS[semantic])] if semantic not in (1, 2) and s["coding"] == 0 else []
    s["states"] = b.varint() if s["coding"] == 2 else 0
    s["bones"] = [b.varint() for _ in range(4)] if s["coding"] == 3 else []
    s["tolerance"] = b.get("d")
    return s
