#!/usr/bin/env python3
"""A second decoder of .reel files, written from docs/FORMAT/ alone: it shows that the documents are enough.

Each step names its section in the comment above it, and tables of numbers are read out of the documents.
Slow and plain. Prints one JSON object: for each frame asked for, its time and box, each node's world matrix
and visibility, and each mesh's indices and decoded streams. Blocks may be stored, deflated or LZ4; Zstandard
needs Python 3.14 or the package `zstandard`. With --clips one for each skeletal clip instead.

usage: decode.py FILE.reel [FRAME…] or decode.py --clips FILE.reel
"""
import ctypes
import functools
import itertools
import json
import math
import os
import struct
import sys
import zlib

# container.md#chunk-kinds
SKELETON, CLIP, LAYERS, TIERS = 7, 8, 9, 10


class Malformed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Malformed(what)


# container.md#conventions
class Bytes:
    """A cursor over bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(self.at + n <= len(self.data), "the bytes end early")
        self.at += n
        return self.data[self.at - n : self.at]

    def get(self, layout):
        values = struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))
        return values[0] if len(values) == 1 else values

    # container.md#terms
    def varint(self):
        value = shift = 0
        while True:
            byte = self.get("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                need(value < 1 << 32 and (byte != 0 or shift == 7), "a varint with a second spelling")
                return value
            need(shift < 35, "a varint that is too long")

    # mesh.md#description
    def text(self):
        return self.take(self.varint()).decode()

    def end(self):
        need(self.at == len(self.data), "bytes left over")


# container.md#terms
def unzigzag(n):
    return n >> 1 if n % 2 == 0 else -(n >> 1) - 1


def f32(x):
    """Rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def document(name):
    """The text of a document of the format."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "FORMAT")
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def numbers(name):
    """A table of numbers: the rows of the block of this name in one of the documents."""
    for file in ("container.md", "mesh.md", "clip.md"):
        _, found, rest = document(file).partition(f"\n```numbers {name}\n")
        if found:
            return [[int(n) for n in row.split()] for row in rest.partition("```")[0].splitlines()]
    raise KeyError(name)


# Container

# container.md#header
def box(values):
    empty = [math.inf] * 3 + [-math.inf] * 3
    need(list(values) == empty or all(a <= b for a, b in zip(values[:3], values[3:])), "a box out of order")
    return values


# container.md#header
def container(data):
    h = Bytes(data)
    need(h.take(8) == b"\x89REEL\r\n\x1a", "no magic number")
    version = h.get("I")
    need(version == 0, f"version {version}")
    flags, file_size, raw_bytes, frames, frame_table, chunks, chunk_table = h.get("IQQQQQQ")
    need(flags >> 16 == 0, "unknown flags")
    need(file_size == len(data), "cut off")
    bounds = box(h.get("6f"))
    frame_sum, chunk_sum = h.get("QQ")
    need(h.take(16) == bytes(16), "reserved bytes")
    checksum(data[:120], h.get("Q"))

    table = Bytes(data)
    table.at = frame_table
    need(frame_table >= 128, "a table in the header")
    times = clock(table, frames)
    boxes = [side(table.take(6), bounds) for _ in range(frames)]
    checksum(data[frame_table : table.at], frame_sum)
    table.at, offset, out = chunk_table, 128, []
    need(chunk_table >= 128, "a table in the header")
    for _ in range(chunks):
        sum_, size, raw_size, kind, reserved = table.get("QIIHH")
        need(reserved == 0, "reserved bytes")
        out.append(dict(offset=offset, size=size, raw_size=raw_size, sum=sum_, kind=kind))
        offset += size
    need(offset <= len(data), "chunks outside the file")
    checksum(data[chunk_table : table.at], chunk_sum)
    return dict(times=times, boxes=boxes, chunks=out)


# container.md#frame-table
def clock(table, frames):
    """The times of all frames."""
    kind = table.get("B")
    need(kind <= 2, "a clock")
    if kind == 0:
        times = [table.get("d") for _ in range(frames)]
    else:
        a, b = table.get("dd")
        need(kind == 1 or b != 0, "a rate of zero")
        times = [a + i * b if kind == 1 else (a + i) / b for i in range(frames)]
    need(all(map(math.isfinite, times)) and all(a < b for a, b in zip(times, times[1:])), "times that do not rise")
    return times


# container.md#frame-table
def side(parts, bounds):
    """A frame's box, from parts of the file's."""
    if parts == b"\xff\xff\xff\0\0\0":
        return [math.inf] * 3 + [-math.inf] * 3
    sides = []
    for k, part in enumerate(parts):
        low, high = bounds[k % 3], bounds[k % 3 + 3]
        need(part in (0, 255) or math.isfinite(high - low), "parts of an infinite box")
        sides.append(low if part == 0 else high if part == 255 else f32(low + (high - low) * (part / 255)))
    return box(sides)


# container.md#conventions
def checksum(data, expected):
    try:
        import xxhash
    except ImportError:
        return
    need(xxhash.xxh3_64_intdigest(data) == expected, "a checksum")


# container.md#chunk-entry
def part(data, entry):
    stored = data[entry["offset"] : entry["offset"] + entry["size"]]
    checksum(stored, entry["sum"])
    content = block(stored)
    need(len(content) == entry["raw_size"], "raw_size")
    return content


# Blocks

# container.md#block
def block(stored):
    b = Bytes(stored)
    kind, raw_size = b.get("B"), b.varint()
    data = b.data[b.at :]
    if kind == 0:
        out = data
    elif kind == 1:
        out = zlib.decompressobj(-15).decompress(data)
    elif kind == 2:
        out = lz4(data)
    elif kind == 3:
        try:
            from compression import zstd
        except ImportError:
            import zstandard
            out = zstandard.ZstdDecompressor().decompress(data, max_output_size=raw_size)
        else:
            out = zstd.decompress(data)
    else:
        raise Malformed("unknown block")
    need(len(out) == raw_size, "a block of another size")
    return out


# container.md#block
def lz4(data):
    b, out = Bytes(data), bytearray()

    def length(nibble):
        n = nibble
        if nibble == 15:
            while True:
                byte = b.get("B")
                n += byte
                if byte != 255:
                    break
        return n

    while b.at < len(data):
        token = b.get("B")
        out += b.take(length(token >> 4))
        if b.at == len(data):
            break
        distance = b.get("H")
        need(0 < distance <= len(out), "an LZ4 distance")
        for _ in range(length(token & 15) + 4):
            out.append(out[-distance])
    return bytes(out)


# Description

COMPONENTS = [3, 2, 4, 2, 4, 3, 1, 1, 2, 3, 4]
CELLS = (1, 3, 4)
MOVED = (1, 2, 3)
AVERAGE = [False, True, True, False] + 7 * [True]


# mesh.md#description
def description(data):
    b = Bytes(data)
    need(b.get("B") == 0, "a layout of the description")
    d = dict(generator=b.text(), options=b.text(), unit=b.get("B"), fps=b.get("d"), period=b.get("d"),
             restart=b.varint())
    d["tracks"] = b.take(b.varint()) if d["restart"] else b""
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
    need(flags <= 63, "an unknown flag")
    m["has_table"], m["moves"], m["apart"] = bool(flags & 1), None, bool(flags & 8)
    m["blended"] = b.varint() if flags & 4 else None
    need(m["method"] <= 5 and m["codec"] <= (3 if m["method"] == 5 else 2), "an unknown method or codec")
    m["ids"], m["curves"] = bool(flags & 16), None
    need(flags < 16 or m["method"] == 5 and flags & 48 != 48, "ids or curves of what has none")
    if flags & 32:
        basis, ends = b.get("2B")
        need(basis <= 3 and ends <= 2, "unknown curves")
        m["curves"] = dict(basis=basis, ends=ends, most=b.varint())
    m.update(vertices=b.varint(), indices=b.varint(), source_points=b.varint(), points=b.varint(),
             bounds=b.get("6f"))
    for name in ("connectivity", "values", "source_map"):
        m[name] = (b.varint(), b.varint(), b.varint())
    if flags & 2:
        m["moves"], m["ends"] = (b.varint(), b.varint()), (b.varint(), b.varint(), b.varint())
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


# Indices

# mesh.md#grid
def grid(b, count, vertices):
    """Triangles of a regular grid, strip by strip."""
    width, height, flags = b.varint(), b.varint(), b.get("B")
    closed, reversed_ = flags & 1, flags & 2
    columns = width - (not closed)
    need(flags < 4 and width * height == vertices and 6 * columns * (height - 1) == count, "a grid of another size")
    bits, chances, out = Chances(b.take(b.varint())), even(2, 2), []

    number = lambda i, j: grid_number(width, height, i, j)
    for start in range(0, columns, 16):
        above = [0] * 16
        for j in range(height - 1):
            before = 0
            for i in range(start, min(start + 16, columns)):
                before = above[i - start] = bits.bit(chances[before][above[i - start]])
                right = (i + 1) % width
                p, q, r, t = number(i, j), number(right, j), number(right, j + 1), number(i, j + 1)
                for x, y, z in [(p, q, t), (q, r, t)] if before else [(p, q, r), (p, r, t)]:
                    out += [x, z, y] if reversed_ else [x, y, z]
    bits.end()
    return out


# mesh.md#grid
def grid_number(width, height, i, j):
    """Number of the vertex in column i of row j."""
    first = i // 16 * 16
    return first * height + j * (min(first + 16, width) - first) + i - first


# mesh.md#grid
def grid_shape(b):
    """Width, height, and whether rows are closed; none if there are triangles."""
    if b.data[b.at : b.at + 5] != b"\xff\xff\xff\xff\x0f":
        return None
    b.take(5)
    return b.varint(), b.varint(), b.get("B") & 1


# mesh.md#height
def columns_and_rows(shape):
    """Of each vertex of a grid."""
    need(shape, "heights without a grid")
    width, height, closed = shape
    need(not closed, "heights of closed rows")
    numbers = {grid_number(width, height, i, j): (i, j) for j in range(height) for i in range(width)}
    return [numbers[n] for n in range(width * height)]


# mesh.md#index
def indices(b, count, vertices):
    if b.data[b.at : b.at + 5] == b"\xff\xff\xff\xff\x0f":
        b.take(5)
        return grid(b, count, vertices)
    corner_bytes, far_bytes = b.varint(), b.varint()
    edge_codes = b.take(count // 3)
    corners, far = Bytes(b.take(corner_bytes)), Bytes(b.take(far_bytes))
    edges, recent, out = [], [], []
    next_, last_far = 0, 0

    def read():
        nonlocal next_, last_far
        code = corners.get("B")
        if code == 0:
            v = next_
        elif code <= 16:
            need(code <= len(recent), "a recent vertex that is not there")
            v = recent[-code]
        else:
            need(code == 17, "a corner code")
            last_far = (last_far + unzigzag(far.varint())) % 2**32
            v = last_far
        need(v < vertices, "an index out of range")
        recent.append(v)
        del recent[:-16]
        next_ = max(next_, v + 1)
        return v

    for code in edge_codes:
        t = [0, 0, 0]
        if code == 0:
            t = [read(), read(), read()]
        else:
            edge, r = divmod(code - 1, 3)
            need(edge < len(edges), "an edge that is not there")
            t[r], t[(r + 1) % 3] = edges[-1 - edge]
            t[(r + 2) % 3] = read()
        a, b_, c = t
        edges += [(b_, a), (c, b_), (a, c)]
        del edges[:-16]
        out += t
    corners.end()
    far.end()
    return out


# Streams

# mesh.md#parallelogram
def choices(index, vertices):
    """For each vertex its list of (a, b, c), None for the vertex before."""
    corners = [[] for _ in range(vertices)]
    for t in range(0, len(index), 3):
        for k in range(3):
            corners[index[t + k]].append((index[t + (k + 1) % 3], index[t + (k + 2) % 3]))
    lists = []
    for v in range(vertices):
        usable = lambda u: 0 < v - u <= 4096
        out = []

        def add(choice):
            if len(out) < 31 and choice not in out:
                out.append(choice)

        for b, c in corners[v]:
            if not (usable(b) and usable(c)):
                continue
            around, other = (corners[c], b) if len(corners[c]) < len(corners[b]) else (corners[b], c)
            across = [y if x == other else x for x, y in around[:64] if other in (x, y)]
            for a in [a for a in across if a != v][:4]:
                if usable(a):
                    add((a, b, c))
        for b, c in corners[v]:
            for u in (b, c):
                if usable(u):
                    add((u, u, u))
        lists.append(out + [None])
    return lists


# mesh.md#parallelogram
def table(b, index, vertices):
    lists = choices(index, vertices)
    kind = b.get("B")
    need(kind in (0, 1), "a kind of table")
    numbers = b.take(vertices) if kind else bytes(vertices)
    need(all(n < len(l) for n, l in zip(numbers, lists)), "a choice that is not there")
    return [l[n] for n, l in zip(numbers, lists)]


RADIUS = [0, 62, 5, 2, 1]


# mesh.md#residual
def tokens(k):
    """The vectors of k components in the order of their tokens."""
    radius = RADIUS[k]
    side = 2 * radius + 1
    vectors = []
    for n in range(side**k):
        vector = [n // side**i % side - radius for i in range(k)]
        vectors.append((sum(x * x for x in vector), n, vector))
    return [vector for _, _, vector in sorted(vectors)]


# mesh.md#residual
def planes(b, widths, count):
    """Component-major values from byte planes."""
    values = [[0] * count for _ in widths]
    for byte in range(max(widths, default=0)):
        for component, width in zip(values, widths):
            if byte < width:
                for i, x in enumerate(b.take(count)):
                    component[i] |= x << (8 * byte)
    return [[unzigzag(x) for x in component] for component in values]


# mesh.md#residual
def residuals(b, k, count):
    """Signed residuals, a list for each component."""
    layout = b.get("B")
    if layout == 0:
        return [[0] * count for _ in range(k)]
    need(layout <= 3, "a layout of residuals")
    widths = list(b.take(k))
    if layout == 1:
        return planes(b, widths, count)
    escapes = b.varint()
    codes = b.take(b.varint() if layout == 3 else count)
    escaped = planes(b, widths, escapes)
    vectors, escape, used, out = tokens(k), (2 * RADIUS[k] + 1) ** k, 0, []
    for code in codes:
        if code < escape:
            out.append(vectors[code])
        elif code == escape:
            need(used < escapes, "an escape too many")
            out.append([component[used] for component in escaped])
            used += 1
        else:
            need(layout == 3, "a token")
            r = code - escape - 1
            out += [[0] * k] * (r + 2 if r < 64 else 64 * (r - 63) + 2)
    need(len(out) == count and used == escapes, "another number of vectors")
    return [[vector[i] for vector in out] for i in range(k)]


# mesh.md#parallelogram
def spatial(r, combine, table_, modulus):
    """Adds the prediction to residuals; component by component, vertex by vertex."""
    values = []
    for residual in r:
        out = []
        for v, x in enumerate(residual):
            choice = table_[v] if table_ else None
            if choice is None:
                p = combine(*[out[v - 1]] * 3) if v else 0
            else:
                p = combine(*(out[u] for u in choice))
            out.append((x + p) % modulus)
        values.append(out)
    return values


# mesh.md#parallelogram
def rule(average, weights, signed, modulus):
    """The function that predicts from A, B and C, and from a vertex alone."""

    def number(u):
        return u - modulus if signed and u >= modulus // 2 else u

    def weighted(a, b, c):
        edge, apex = weights
        return (edge * (number(b) + number(c)) + apex * number(a) + 64) >> 7

    def averaged(a, b, c):
        return (number(b) + number(c)) >> 1

    def parallelogram(a, b, c):
        return c + b - a

    return weighted if weights else averaged if average else parallelogram


# mesh.md#stream
def stream(b, record, count, table_, base=None, group=None):
    """Values of one stream, a list of words for each component."""
    k, average = COMPONENTS[record["semantic"]], AVERAGE[record["semantic"]]
    modulus = 256 ** record["word"]
    predictor = b.get("B")
    source = predictor & 3
    need(predictor < 8 and source < 3, "a predictor")
    a, mix, blend = b.get("3B") if source == 2 else (0, 0, 0)
    weights = b.get("Bb") if predictor & 4 else None
    values = residuals(b, k, count)
    if weights or source < 2:
        values = spatial(values, rule(average, weights, source > 0, modulus), table_, modulus)
    if source == 1:
        need(base, "a difference without base")
        values = [[(x + y) % modulus for x, y in zip(*pair)] for pair in zip(values, base)]
    if source == 2:
        need(group, "motion without frames")
        previous, before, first, last = group
        before = before or previous
        # In 16-bit words a difference is the short way around.
        way = (lambda d: (d + 32768) % 65536 - 32768) if record["word"] == 2 else (lambda d: d)
        for i in range(k):
            rows = zip(values[i], previous[i], before[i], first[i], last[i])
            out = []
            for x, f1, f2, i0, i1 in rows:
                pm = f1 + ((a * way(f1 - f2) + 64) >> 7)
                pi = i0 + ((mix * way(i1 - i0) + 128) >> 8)
                out.append((x + pi + ((blend * way(pm - pi) + 64) >> 7)) % modulus)
            values[i] = out
    return values


# Transforms

IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


# mesh.md#transform
def order(f):
    bits = struct.unpack("<I", struct.pack("<f", f))[0]
    return bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000


# mesh.md#transform
def disorder(n):
    return struct.unpack("<f", struct.pack("<I", n ^ 0x80000000 if n >> 31 else n ^ 0xFFFFFFFF))[0]


# mesh.md#transform
def transforms(b, count, previous):
    kind = b.get("B")
    need(kind <= 2, "a kind of transforms")
    columns = b.get("H") if kind else 0
    map_ = b.take((count + 7) // 8) if kind == 2 else None
    differs = [kind == 1 or map_ is not None and map_[i // 8] >> i % 8 & 1 == 1 for i in range(count)]
    m = sum(differs)
    stored = [[0] * m for _ in range(10)]
    for k in range(10):
        if columns >> k & 1:
            rows = [b.take(m) for _ in range(4)]
            stored[k] = [unzigzag(x[0] << 24 | x[1] << 16 | x[2] << 8 | x[3]) for x in zip(*rows)]
    out, at = [], 0
    for i in range(count):
        now = [order(f) for f in (previous[i] if previous else out[-1] if out else IDENTITY)]
        if differs[i]:
            now = [(n + stored[k][at]) % 2**32 for k, n in enumerate(now)]
            at += 1
        out.append(tuple(disorder(n) for n in now))
    return out


# mesh.md#nodes-and-space
def matrix(t):
    x, y, z, w = t[:4]
    length = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = (v / length for v in (x, y, z, w)) if 0 < length < math.inf else (0, 0, 0, 1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return [[a * s for a, s in zip(row, t[7:])] + [t[4 + i]] for i, row in enumerate(rows)]


# mesh.md#nodes-and-space
def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) + (a[i][3] if j == 3 else 0) for j in range(4)] for i in range(3)]


# Levels to numbers

# mesh.md#quantize
def decode_values(record, words):
    """One tuple for each vertex; for QTangents (normal, tangent, sign)."""
    if record["axes"]:
        value = lambda level, axis: f32(f32(f32(level) * axis[1]) + axis[0])
        return [tuple(value(*pair) for pair in zip(vertex, record["axes"])) for vertex in zip(*words)]
    half = 2 ** (record["bits"] - 1) - 1
    return [(octahedral if record["semantic"] == 1 else qtangent)([level - half for level in v], half) for v in zip(*words)]


# mesh.md#octahedral
def octahedral(v, half):
    x, y = v[0] / half, v[1] / half
    z = 1 - abs(x) - abs(y)
    if z < 0:
        x, y = (1 - abs(y)) * (1 if x >= 0 else -1), (1 - abs(x)) * (1 if y >= 0 else -1)
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


# mesh.md#qtangent
def qtangent(v, half):
    length = math.sqrt(sum(a * a for a in v)) or 1
    x, y, z, w = (a / length for a in v)
    tangent = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
    normal = (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
    return (*normal, *tangent, -1 if w < 0 else 1)


# Layers

# mesh.md#units
class Schedule:
    """Which frames are stored together in a layered file, and which they refer to."""

    def __init__(self, frames, restart):
        self.frames, self.restart = frames, restart
        self.keys = list(range(0, frames, 16)) + ([frames - 1] if frames and (frames - 1) % 16 else [])
        self.depths = {key: 0 for key in self.keys}
        self.middle_of = {}
        for a, b in zip(self.keys, self.keys[1:]):
            spans, depth = [(a, b)], 1
            while spans:
                halves = []
                for a, b in spans:
                    m = a + (b - a) // 2
                    if a < m < b:
                        self.depths[m], self.middle_of[m] = depth, (a, b)
                        halves += [(a, m), (m, b)]
                spans, depth = halves, depth + 1

    # mesh.md#units
    def units(self):
        """(kind, number, frames) in the order of the file."""
        out = [("key", 0, [0])] if self.keys else []
        if len(self.keys) > 1:
            out.append(("key", 1, [self.keys[1]]))
        for g, (a, b) in enumerate(zip(self.keys, self.keys[1:])):
            if g + 2 < len(self.keys):
                out.append(("key", g + 2, [self.keys[g + 2]]))
            inside = sorted(range(a + 1, b), key=lambda f: (self.depths[f], f))
            deepest = max((self.depths[f] for f in inside), default=0)
            out.append(("inner", g, [f for f in inside if self.depths[f] < deepest]))
            out.append(("last", g, [f for f in inside if self.depths[f] == deepest]))
        return [unit for unit in out if unit[2]]

    # mesh.md#units
    def references(self, f):
        """The frames that a frame is predicted from."""
        out = []
        if self.depths[f] == 0:
            key = self.keys.index(f)
            due = min(key, (self.frames - 1) // 16)
            first = due - due % self.restart
            if key > 0:
                out = [self.keys[k] for k in (key - 1, key - 2) if k >= first] + [0]
        else:
            g, depth, (a, b) = f // 16, self.depths[f], self.middle_of[f]
            start, end = self.keys[g], self.keys[g + 1]
            before = [r for r in range(a - 1, start - 1, -1) if self.depths[r] < depth]
            after = [r for r in range(b + 1, end + 1) if self.depths[r] < depth]
            before = before[:1] or self.keys[max(g - 1, 0) : g]
            after = after[:1] or self.keys[g + 2 : g + 3]
            out = [a, b] + before + after
        return list(dict.fromkeys(out))

    # mesh.md#units
    def needs(self, frames):
        """The frames outside a unit that its frames refer to."""
        return list(dict.fromkeys(r for f in frames for r in self.references(f) if r not in frames))

    # mesh.md#chains
    def goes_on(self, key):
        due = min(key, (self.frames - 1) // 16)
        return key > due - due % self.restart

    # mesh.md#chains
    def links(self, group):
        """The frames that the links of a group are of."""
        return list(range(self.keys[group] + 1, self.keys[group + 1] + self.goes_on(group + 1)))

    # mesh.md#chains
    def home(self, group):
        """The first frame of the unit that has the links of a group."""
        if self.goes_on(group + 1):
            return self.keys[group + 1]
        inside = sorted(range(self.keys[group] + 1, self.keys[group + 1]), key=lambda f: (self.depths[f], f))
        return inside[0] if inside else None

    # mesh.md#chains
    def chain_needs(self, kind, number, frames):
        """What chains need of other units."""
        if kind == "key":
            return [self.keys[number - 1]] if self.goes_on(number) else []
        home = self.home(number)
        return [self.keys[number]] + ([] if home in frames else [home])

    # mesh.md#predicted
    def near(self, kind, number, frames):
        """Those of them that predicted normals may refer to."""
        needs = self.needs(frames)
        if kind == "key":
            return [f for f in needs[:1] if f > 0]
        start, end = self.keys[number], self.keys[number + 1]
        return [f for f in needs if start <= f <= end]


# Levels of detail

# mesh.md#hierarchy
def hierarchy(points, triangles):
    """Points by level, and the ring of each point, all in the new order."""
    tris = [t for t in triangles if max(t) < points and len(set(t)) == 3]
    parent = list(range(points))

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    for t in tris:
        low = min(root(v) for v in t)
        for v in t:
            parent[root(v)] = low
    component = [root(v) for v in range(points)]
    used = {v for t in tris for v in t}
    lone = [v for v in range(points) if v not in used]
    alive, left, rings, rounds = sorted(used), [], {}, []
    while tris and len(rounds) < 64:
        corners = {v: [] for v in alive}
        for a, b, c in tris:
            corners[a].append((b, c))
            corners[b].append((c, a))
            corners[c].append((a, b))
        around = {v: list(dict.fromkeys(u for pair in corners[v] for u in pair)) for v in alive}
        valence = {v: len(around[v]) for v in alive}
        border = {v: valence[v] > len(corners[v]) for v in alive}
        locked, target, removed = set(), {}, []
        for v in sorted((v for v in alive if valence[v] <= 8), key=lambda v: (valence[v], v)):
            if v in locked:
                continue
            removed.append(v)
            locked.update(around[v])
        removed_set = set(removed)
        if len(removed) * 50 < len(alive):
            break
        changing = dict(valence)
        for v in removed:
            t = min(around[v], key=lambda u: (border[v] and not border[u], changing[u]))
            target[v] = t
            shared = 0
            for a, b in corners[v]:
                if t in (a, b):
                    other = a ^ b ^ t
                    changing[other] = max(changing[other] - 1, 0)
                    shared += 1
            changing[t] = max(changing[t] + len(around[v]) - 2 - shared, 0)
        for v in removed:
            ring = list(around[v])
            if len(ring) < 4:
                for u in around[v]:
                    for w in (w for pair in corners[u][:32] for w in pair):
                        if len(ring) < 8 and w not in removed_set and w not in ring:
                            ring.append(w)
            rings[v] = ring
        rounds.append(sorted(removed))
        moved = [tuple(target.get(v, v) for v in t) for t in tris]
        tris = [t for t in moved if len(set(t)) == 3]
        alive = [v for v in alive if v not in removed_set]
        still = {v for t in tris for v in t}
        left += [v for v in alive if v not in still]
        alive = [v for v in alive if v in still]
    left = sorted(left + alive)
    roots, star, root_of = [], [], {}
    for v in left:
        if component[v] in root_of:
            star.append(v)
            rings[v] = [root_of[component[v]]]
        else:
            root_of[component[v]] = v
            roots.append(v)
    levels = [sorted(roots + lone[:1]), star]
    step = 1
    while step < len(lone):
        step *= 2
    while step > 1:
        step //= 2
        levels.append([lone[j] for j in range(step, len(lone), 2 * step)])
        for j in range(step, len(lone), 2 * step):
            rings[lone[j]] = [lone[k] for k in (j - step, j + step, j - 3 * step, j + 3 * step) if 0 <= k < len(lone)]
    levels += reversed(rounds)
    return finish_levels(levels, rings)


# mesh.md#hierarchy
def finish_levels(levels, rings):
    """The hierarchy of points by level, each with the points of its ring."""
    order_ = [v for level in levels for v in level]
    place = {v: new for new, v in enumerate(order_)}
    starts = [0]
    for level in levels:
        starts.append(starts[-1] + len(level))
    return dict(order=order_, starts=starts, rings=[[place[u] for u in rings.get(v, [])] for v in order_])


# mesh.md#hierarchy-of-a-grid
def quincunx(shape):
    """The same of a regular grid."""
    width, height, closed = shape
    number = lambda x, y: grid_number(width, height, x, y)

    def axis(n, closed, step):
        known = list(range(0, n, step))
        if not closed and known[-1] != n - 1:
            known.append(n - 1)
        after = {a: b for a, b in zip(known, known[1:])}
        if closed:
            after[known[-1]] = n
        new = {a: a + step // 2 for a, b in after.items() if a % step == 0 and a + step // 2 < b}
        around = {a: [] for a in known}  # of each known one, those next to it and what is new between
        for a, b in after.items():
            around[a].append((b % n, new.get(a)))
        before = {b % n: a for a, b in after.items()}
        for b, a in before.items():
            around[b].insert(0, (a, new.get(a)))
        return {m: (a, after[a] % n) for a, m in new.items()}, around

    step = 1
    while step < max(width - (not closed), height - 1):
        step *= 2
    corners = [number(x, y) for y in axis(height, False, step)[1] for x in axis(width, closed, step)[1]]
    levels, rings = [[number(0, 0)], sorted(v for v in corners if v != number(0, 0))], {}
    for v in levels[1]:
        rings[v] = levels[0]
    while step > 1:
        new_x, known_x = axis(width, closed, step)
        new_y, known_y = axis(height, False, step)
        middles, edges = {}, {}
        for y, (c, d) in new_y.items():
            for x, (a, b) in new_x.items():
                middles[number(x, y)] = [number(a, c), number(b, c), number(a, d), number(b, d)]
        for y, around in known_y.items():
            for x, (a, b) in new_x.items():
                ring = edges[number(x, y)] = [number(a, y), number(b, y)]
                for c, new in around:
                    ring += [number(a, c), number(b, c)] if new is None else [number(x, new)]
        for y, (c, d) in new_y.items():
            for x, around in known_x.items():
                ring = edges[number(x, y)] = [number(x, c), number(x, d)]
                for a, new in around:
                    ring += [number(a, c), number(a, d)] if new is None else [number(new, y)]
        for level in (middles, edges):
            if level:
                levels.append(sorted(level))
                rings.update({v: list(dict.fromkeys(ring)) for v, ring in level.items()})
        step //= 2
    return finish_levels(levels, rings)


FITS = [(2, 2e-3), (3, 2e-3), (2, 5e-4), (2, 1e-2), (3, 5e-4), (2, 1e-4), (3, 1e-2), (2, 2e-5)]


# mesh.md#weights-of-neighbours
def spatial_weights(own, ring, frame, fit):
    """Up to four of the ring, and their weights in 1/4096."""
    ring = list(ring)
    w = fitted(own, ring, frame, fit)
    if len(ring) > 4:
        for slot in range(4):
            best = slot
            for k in range(slot + 1, len(ring)):
                if abs(w[k]) > abs(w[best]):
                    best = k
            w[slot], w[best] = w[best], w[slot]
            ring[slot], ring[best] = ring[best], ring[slot]
        ring = ring[:4]
        w = fitted(own, ring, frame, fit)
    out = [math.floor(x * 4096.0 + 0.5) for x in w]
    if out:
        largest = max(range(len(out)), key=lambda k: (abs(out[k]), -k))
        out[largest] += 4096 - sum(out)
    return ring, out


# mesh.md#weights-of-neighbours
def fitted(own, ring, frame, fit):
    falloff, ridge = fit
    if not ring:
        return []
    offsets = [[float(a) - float(b) for a, b in zip(frame[r], own)] for r in ring]
    distance = [math.sqrt(x * x + y * y + z * z) for x, y, z in offsets]
    longest = max(distance)
    scale = 1.0 / longest if longest > 0 else 1.0
    plain, basis = [], []
    m = [[0.0] * 4 for _ in range(4)]
    for (x, y, z), d in zip(offsets, distance):
        near = (longest + 1.0) / (d + longest * 0.01 + 1.0)
        w = near * near
        if falloff == 3:
            w *= near
        b = [1.0, x * scale, y * scale, z * scale]
        for i in range(4):
            for j in range(i, 4):
                m[i][j] += w * b[i] * b[j]
        plain.append(w)
        basis.append(b)
    total = m[0][0]
    for i in range(1, 4):
        m[i][i] += ridge * total
    y = [1.0, 0.0, 0.0, 0.0]
    for i in range(4):
        for j in range(i + 1, 4):
            f = m[i][j] / m[i][i]
            for k in range(j, 4):
                m[j][k] -= f * m[i][k]
            y[j] -= f * y[i]
    for i in range(3, -1, -1):
        for j in range(i + 1, 4):
            y[i] -= m[i][j] * y[j]
        y[i] /= m[i][i]
    out, total_out = [], 0.0
    for w, b in zip(plain, basis):
        out.append(w * (y[0] + y[1] * b[1] + y[2] * b[2] + y[3] * b[3]))
        total_out += out[-1]
    wild = total_out < 1e-6
    if not wild:
        out = [x / total_out for x in out]
        wild = any(abs(x) >= 2.5 for x in out)
    return [w / total for w in plain] if wild else out


# Cells

NEAR_BOUNDS = [1, 2, 3, 5, 7, 9, 13, 17, 25, 33, 49, 81, 161, 321, 641, 1281, 2561, 5121, 10241]
PAST_BOUNDS = [1, 3, 6, 13]
ESCAPE = 250


# mesh.md#unit-of-fixed-point-values
def near_class(n):
    return sum(n >= b for b in NEAR_BOUNDS)


# mesh.md#unit-of-fixed-point-values
def past_class(n):
    return sum(n >= b for b in PAST_BOUNDS)


# mesh.md#tables-of-tokens
class Binary:
    """The adaptive coder of tables of tokens."""

    def __init__(self, data):
        self.data, self.at, self.range = data, 0, 2**32 - 1
        self.code = 0
        for _ in range(4):
            self.pull()

    def pull(self):
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.code, self.at = (self.code << 8 | byte) & 0xFFFFFFFF, self.at + 1

    def bit(self, model):
        zero, used = model
        bound = (self.range >> 16) * zero
        one = self.code >= bound
        if one:
            self.code, self.range = self.code - bound, self.range - bound
        else:
            self.range = bound
        step = (32 if one else 65504) - zero
        divisor = [2, 3, 4, 6, 8, 11, 16][used]
        model[:] = [zero + (step // divisor if step >= 0 else -(-step // divisor)), min(used + 1, 6)]
        while self.range < 1 << 24:
            self.range = self.range << 8
            self.pull()
        return int(one)

    def tree(self, models, count):
        node = 1
        for _ in range(count):
            node = 2 * node + self.bit(models[node])
        return node - 2**count

    def plain(self, count):
        value = 0
        for _ in range(count):
            value = 2 * value + self.bit([1 << 15, 0])
        return value


# mesh.md#tables-of-tokens
def tables(data):
    """Table by context, and the slots (token, frequency, offset) of each table."""
    r = Binary(data)
    models = lambda n: [[1 << 15, 0] for _ in range(n)]
    count = r.plain(5) + 1
    same, index, map_ = models(2), models(32), []
    for c in range(600):
        up = lambda step: map_[c - step] if c >= step else 0
        first, second = ((up(1), up(5)) if c % 5 else (up(5), up(100)) if c // 5 % 20 else (up(100), up(1)))
        if not r.bit(same[0]):
            map_.append(first)
        elif second != first and not r.bit(same[1]):
            map_.append(second)
        else:
            map_.append(r.tree(index, 5))
        need(map_[c] < count, "a context without table")
    most_models, length_models = models(256), [models(16) for _ in range(64)]
    out, before = [], [0] * 251
    for _ in range(count):
        most = r.tree(most_models, 8)
        need(most < 251, "a token")
        lengths, frequencies = [], []
        for token in range(251):
            if token == most:
                lengths.append(12)
                frequencies.append(0)
                continue
            old = before[token]
            if token == ESCAPE:
                model = old
            else:
                near = [lengths[token - step] for step in (25, 5, 1) if token // step % 5]
                near = sum(near) // len(near) if near else old
                model = 16 + min(old + near, 23) * 2 + (old > 0)
            length = r.tree(length_models[model], 4)
            need(length <= 12, "a frequency")
            extra = min(max(length - 1, 0), 2)
            mantissa = r.plain(extra)
            lengths.append(length)
            frequencies.append(((1 << extra | mantissa) << (length - 1 - extra)) if length else 0)
        frequencies[most] = 4096 - sum(frequencies)
        need(frequencies[most] > 0, "frequencies")
        before = lengths
        out.append([(token, f, i) for token, f in enumerate(frequencies) for i in range(f)])
    need(r.at >= len(data), "bytes of tables left over")
    return map_, out


# mesh.md#default-sets-of-tables
def default_set(number):
    """The bytes of a default set, which stand beside the documents."""
    text = "".join(line for line in document("tables.hex").splitlines(True) if not line.startswith("#"))
    return bytes.fromhex(text.split("\n\n")[number - 1])


# mesh.md#unit-of-fixed-point-values
class Bits:
    """Bits, the lowest of a byte first."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(self.at + n <= 8 * len(self.data), "bits that are not there")
        first, last = self.at >> 3, (self.at + n + 7) >> 3
        value = int.from_bytes(self.data[first:last], "little") >> (self.at & 7)
        self.at += n
        return value & ((1 << n) - 1)

    def bytes_used(self):
        return (self.at + 7) >> 3

    def end(self):
        need(self.bytes_used() == len(self.data), "bits left over")
        need(self.take(-self.at % 8) == 0, "padding")


# mesh.md#fixed-point-values
def wrap(n, width):
    n &= (1 << width) - 1
    return n - (1 << width) if n >> (width - 1) else n


BASE, EXTRA = [0, 1, 2, 3, 5], [0, 0, 0, 1, 2]


# mesh.md#unit-of-fixed-point-values
class Residuals:
    """The residuals of a unit of cells, which follow its heads."""

    def __init__(self, kind, b, blocks, part_):
        self.kind, self.part, self.width = kind & 3, part_, part_["width"]
        if self.kind == 0:
            need(kind == 0, "a kind of unit")
        elif self.kind == 1:
            need(kind >> 2 <= 4, "a number of lanes")
            lanes, words = 1 << (kind >> 2), b.varint()
            self.states = [b.get("I") for _ in range(lanes)]
            self.words = Bytes(b.take(2 * words))
            self.raw = Bits(b.take(len(b.data) - b.at))
        else:
            need(kind == 2, "a kind of unit")
            filled, sparse = b.varint(), b.varint()
            self.flags = Bits(b.take((blocks + 7) // 8))
            self.codes = Bits(b.take((filled + 1) // 2))
            self.masks = Bytes(b.take(2 * sparse))
            self.fields = Bits(b.take(len(b.data) - b.at))

    # mesh.md#unit-of-fixed-point-values
    def block(self, count, first, contexts):
        """Residuals of `count` vertices of one frame, the first of which is number `first` of its level."""
        if self.kind == 0:
            return [[0] * 3] * count
        if self.kind == 2:
            return self.packed(count)
        return [self.token((first + i) % len(self.states), contexts[i]) for i in range(count)]

    # mesh.md#tokens
    def token(self, lane, context):
        k = max(context // 5 % 20 - 11, 0)
        x = self.states[lane]
        token, f, offset = self.part["slots"][self.part["map"][context]][x & 4095]
        x = f * (x >> 12) + offset
        if x < 1 << 16:
            x = x << 16 | self.words.get("H")
        self.states[lane] = x
        take = self.raw.take
        if token == ESCAPE:
            return [wrap(take(self.width), self.width) for _ in range(3)]
        p, q = token // 125, []
        for c in (token // 25 % 5, token // 5 % 5, token % 5):
            negative = take(1) if k or p or c else 0
            low = take(k)
            a = (BASE[c] + take(EXTRA[c]) << k) + low
            w = (-1 - a if negative else a) if k else a
            q.append(2 * w + p if k or not negative else -2 * a - p)
        return q

    # mesh.md#packed-residuals
    def packed(self, count):
        out = [[0] * 3 for _ in range(count)]
        if not self.flags.take(1):
            return out
        code, take = self.codes.take(4), self.fields.take
        if code == 15:
            return [[wrap(take(self.width), self.width) for _ in range(3)] for _ in range(count)]
        mask, w = (self.masks.get("H"), code + 1) if code < 7 else ((1 << count) - 1, code - 6)
        for v in range(16):
            if mask >> v & 1:
                p = take(1)
                q = [2 * wrap(take(w), w) + p for _ in range(3)]
                out[v : v + 1] = [q]
        return out[:count]

    def end(self):
        if self.kind == 1:
            self.words.end()
            self.raw.end()
            need(all(x == 1 << 16 for x in self.states), "states that do not end where they began")
        if self.kind == 2:
            for bits in (self.flags, self.codes, self.fields):
                bits.end()
            self.masks.end()


# mesh.md#unit-of-fixed-point-values
def magnitude(q):
    return min(sum(map(abs, q)), 4095)


# mesh.md#static-part-of-fixed-point-values
class Cells:
    """A part of a stream: its static part, and frames of vectors (x, y, z, magnitude) in the order of levels."""

    def __init__(self, data, levels, places=None, outside=None, near=True):
        """`places`: of heights, column and row of each point. `outside`: what is added to positions of frame 0. `near`:
        other frames follow."""
        b = Bytes(data)
        self.base = None
        axis = b.get("B") if places else None
        plane = [b.get("3f") for _ in range(2)] if places else None
        flags = b.get("B")
        self.unit, *self.centre = b.get("4f")
        if places:
            need(axis < 3 and len(places) == len(levels["order"]), "heights of another grid")
            self.base = [[0] * 3 for _ in places]
            for k, (origin, column, row) in zip(((axis + 1) % 3, (axis + 2) % 3), plane):
                for base, p in zip(self.base, levels["order"]):
                    base[k] = round((origin + places[p][0] * column + places[p][1] * row - self.centre[k]) / self.unit)
            self.flat = [(axis + 1) % 3, (axis + 2) % 3]
        self.steps = [b.varint() for _ in range(6)]
        self.levels, self.width = levels, 32 if flags & 1 else 16
        map_, slots = tables(default_set(flags >> 4) if flags >> 4 else b.take(b.varint()))
        self.part = dict(map=map_, slots=slots, width=self.width)
        self.blocks = sum((end - start + 15) // 16 for start, end in self.ranges())
        self.first = self.first_frame(Bytes(b.take(len(b.data) - b.at)))
        fit = FITS[flags >> 1 & 7]
        places = [v[:3] for v in self.first]
        if self.base:
            places = [[a + b for a, b in zip(v, base)] for v, base in zip(places, self.base)]
            self.lay(self.first)
        if outside:
            places = [[wrap(a + b, self.width) for a, b in zip(*pair)] for pair in zip(places, outside)]
        self.near = [spatial_weights(*each, places, fit) for each in zip(places, levels["rings"])] if near else []

    # mesh.md#height
    def lay(self, frame):
        """Puts the plane of heights into a frame."""
        for v, base in zip(frame, self.base or []):
            for k in self.flat:
                v[k] = base[k]

    # mesh.md#hierarchy
    def ranges(self):
        starts = self.levels["starts"]
        return list(zip(starts, starts[1:]))

    # mesh.md#unit-of-fixed-point-values
    def add(self, p, q, step):
        return [wrap(p[k] + q[k] * step, self.width) for k in range(3)] + [magnitude(q)]

    # mesh.md#unit-of-fixed-point-values
    def first_frame(self, b):
        residuals_ = Residuals(b.get("B"), b, self.blocks, self.part)
        out = []
        for start, end in self.ranges():
            for at in range(start, end, 16):
                count, contexts = min(16, end - at), []
                rings = self.levels["rings"][at : at + count]
                for ring in rings:
                    four = (ring * 4)[:4]
                    contexts.append((near_class(sum(out[n][3] for n in four)) if ring else 19) * 5)
                for v, q in enumerate(residuals_.block(count, at - start, contexts)):
                    ring = rings[v]
                    if ring:
                        n = len(ring)
                        p = [(2 * sum(out[r][k] for r in ring) + n) // (2 * n) for k in range(3)]
                    else:
                        p = out[-1][:3] if out else [0] * 3
                    out.append(self.add(p, q, self.steps[0]))
        residuals_.end()
        return out

    # mesh.md#unit-of-fixed-point-values
    def unit_frames(self, data, schedule, frames, find):
        """The frames of a unit; `find` gives frames of other units."""
        kind, rest = data[0], Bits(data[1:])
        levels = len(self.ranges())
        heads = [self.head(rest, len(schedule.references(f)), levels) for f in frames]
        b = Bytes(data[1 + rest.bytes_used() :])
        residuals_ = Residuals(kind, b, self.blocks * len(frames), self.part)
        out = {f: [None] * len(self.first) for f in frames}
        inn = {f: [None] * len(self.first) for f in frames}
        known = {f: {r: out[r] if r in out else find(r) for r in schedule.references(f)} for f in frames}
        for level, (start, end) in enumerate(self.ranges()):
            for at in range(start, end, 16):
                vertices = range(at, min(at + 16, end))
                for f, (coefficients, rhos) in zip(frames, heads):
                    self.block(level, start, vertices, residuals_, inn[f], out[f], list(known[f].values()),
                               coefficients, rhos[level], 1 + schedule.depths[f])
        residuals_.end()
        for f in frames:
            self.lay(out[f])
        return out

    # mesh.md#unit-of-fixed-point-values
    def head(self, bits, references, levels):
        coefficients = []
        for _ in range(1, references):
            zeros = 0
            while not bits.take(1):
                zeros += 1
                need(zeros <= 12, "a coefficient")
            value = ((1 << zeros) - 1 << 4) + bits.take(zeros + 4)
            coefficients.append(unzigzag(value))
        rhos, rho = [0], 4
        for _ in range(1, levels):
            if not bits.take(1):
                rho = bits.take(3)
                need(rho <= 4, "a part")
            rhos.append(rho)
        return [256 - sum(coefficients)] + coefficients, rhos

    # mesh.md#unit-of-fixed-point-values
    def block(self, level, start, vertices, residuals_, inn, out, references, coefficients, rho, layer):
        contexts, predicted = [], []
        for v in vertices:
            past = max(r[v][3] for r in references[:2])
            p, total = [0] * 3, 4 * past
            if level > 0:
                ring, weights_ = self.near[v]
                p = []
                for k in range(3):
                    s = sum(w * inn[n][k] for n, w in zip(ring, weights_))
                    p.append(wrap(((s >> 6) * 4 * rho + 512) >> 10, self.width))
                total = sum(inn[n][3] for n in (ring + ring[:1] * 4)[:4])
            predicted.append(p)
            contexts.append((layer * 20 + near_class(total)) * 5 + past_class(past))
        qs = residuals_.block(len(vertices), vertices[0] - start, contexts)
        for v, p, q in zip(vertices, predicted, qs):
            inn[v] = self.add(p, q, self.steps[layer])
            t = [(sum(c * r[v][k] for c, r in zip(coefficients, references)) + 128) >> 8 for k in range(3)]
            out[v] = [wrap(t[k] + inn[v][k], self.width) for k in range(3)] + [inn[v][3]]

    # mesh.md#fixed-point-values
    def values(self, frame, places):
        """Three numbers for each vertex."""
        position = lambda c: [f32(f32(f32(x) * self.unit) + m) for x, m in zip(c, self.centre)]
        return [position(frame[place]) for place in places]


# mesh.md#predicted
class Nibbles:
    """Symbols of four bits."""

    # mesh.md#predicted
    def __init__(self, data):
        need(len(data) >= 4 and len(data) % 2 == 0, "symbols")
        self.state = int.from_bytes(data[:4], "little")
        self.words = [int.from_bytes(data[i : i + 2], "little") for i in range(4, len(data), 2)]
        self.taken = 0

    # mesh.md#predicted
    @staticmethod
    def table(weights):
        return [8 * k + 32640 * sum(weights[:k]) // max(1, sum(weights)) for k in range(16)]

    def refill(self):
        if self.state < 1 << 16:
            word = self.words[self.taken] if self.taken < len(self.words) else 0
            self.state = self.state << 16 | word
            self.taken += 1

    # mesh.md#predicted
    def symbol(self, table):
        slot, starts = self.state & 4095, [s >> 3 for s in table] + [4096]
        found = max(i for i in range(16) if starts[i] <= slot)
        self.state = (starts[found + 1] - starts[found]) * (self.state >> 12) + slot - starts[found]
        for k in range(1, 16):
            table[k] += (8 * k if k <= found else 32768 - 8 * (16 - k)) - table[k] >> 6
        self.refill()
        return found

    # mesh.md#predicted
    def plain(self, count):
        value = self.state & (1 << count) - 1
        self.state >>= count
        self.refill()
        return value

    def end(self):
        need(self.state == 1 << 16 and self.taken == len(self.words), "symbols do not end where the bytes do")


# Predicted normals: f32, rounded after each operation

# mesh.md#predicted
def F(x):
    return ctypes.c_float(x).value


# mesh.md#predicted
def minus(a, b):
    return [F(x - y) for x, y in zip(a, b)]


# mesh.md#predicted
def dot(a, b):
    return F(F(F(a[0] * b[0]) + F(a[1] * b[1])) + F(a[2] * b[2]))


# mesh.md#predicted
def cross(a, b):
    return [F(F(a[i] * b[j]) - F(a[j] * b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]


# mesh.md#predicted
def scaled(v, f):
    return [F(x * f) for x in v]


# mesh.md#predicted
def plus(a, b):
    return [F(x + y) for x, y in zip(a, b)]


# mesh.md#predicted
def rough_root(x):
    """About one over the root."""
    (i,) = struct.unpack("<I", struct.pack("<f", x))
    (y,) = struct.unpack("<f", struct.pack("<I", 0x5F1FFFF9 - (i >> 1) & 0xFFFFFFFF))
    return F(y * F(F(F(2.3892446) - F(F(x * y) * y)) * F(0.70395225)))


# mesh.md#predicted
def inverse_root(x):
    y = rough_root(x)
    return F(y * F(1.5 - F(F(F(x * 0.5) * y) * y)))


# mesh.md#predicted
def inverse_length(square):
    return inverse_root(square) if F(1e-30) < square < F(1e30) else 0.0


# mesh.md#predicted
def unit(v):
    scale = inverse_length(dot(v, v))
    return scaled(v, scale) if scale > 0 else None


# mesh.md#predicted
def flat(v, n):
    """The direction of what v has at right angles to n."""
    rest = minus(v, scaled(n, dot(v, n)))
    return unit(rest) if dot(rest, rest) > F(dot(v, v) * F(1e-8)) else None


PI = F(math.pi)
TAU = F(2 * math.pi)


# mesh.md#predicted
def corner_angle(cosine):
    a = min(abs(cosine), 1.0)
    inner = F(F(-0.2121144) + F(a * F(F(0.074261) + F(a * F(-0.0187293)))))
    rest = F(1 - a)
    arc = F(F(rest * rough_root(rest)) * F(F(1.5707288) + F(a * inner)))
    return F(PI - arc) if cosine < 0 else arc


# mesh.md#predicted
def interior(angle, cosine, side):
    return F(TAU - angle) if side < 0 and cosine < F(0.999) else angle


# mesh.md#predicted
def rough_angle(cosine):
    square = F(cosine * cosine)
    inner = F(F(1.085445) + F(square * F(F(-0.320988) + F(square * F(0.662658)))))
    return F(F(math.pi / 2) - F(cosine * inner))


# mesh.md#predicted
def around(left, at, after, before):
    """Corners in their order around each point."""
    left, out = sorted(left, key=at), []
    while left:
        here = [c for c in left if at(c) == at(left[0])]
        follows = [c for c in here if out and at(out[-1]) == at(c) and after(c) == before(out[-1])]
        begins = [c for c in here if all(before(o) != after(c) for o in here)]
        out.append((follows or begins or here)[0])
        left.remove(out[-1])
    return out


# mesh.md#predicted
def rotation(v):
    """Cosine, and what half the angle is to be multiplied with to give the sine."""
    above, below = F(1 - F(v * F(1 / 15))), F(1 - F(v * F(0.4)))
    sine, cosine = F(F(above * above) * v), F(below * below)
    scale = F(1 / F(cosine + sine))
    return F(F(cosine - sine) * scale), F(F(above * below) * F(scale + scale))


# mesh.md#predicted
def turn(angle):
    """Cosine and sine."""
    half = F(angle * 0.5)
    c, s = rotation(F(half * half))
    return c, F(half * s)


# container.md#range-coder
class Chances:
    """The range coder."""

    def __init__(self, data):
        self.data, self.at, self.range, self.code = data, 0, 2**32 - 1, 0
        for _ in range(4):
            self.pull()

    def pull(self):
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.code, self.at = (self.code << 8 | byte) & 0xFFFFFFFF, self.at + 1

    def bit(self, chance):
        fast, slow = chance
        bound = (self.range >> 15) * max(1, min(32767, (fast + slow) >> 2))
        one = self.code >= bound
        if one:
            self.code, self.range = self.code - bound, self.range - bound
        else:
            self.range = bound
        goal = 0 if one else 65535
        chance[:] = [fast + (goal - fast >> 4), slow + (goal - slow >> 7)]
        while self.range < 1 << 24:
            self.range <<= 8
            self.pull()
        return int(one)

    def plain(self, count):
        return sum(self.bit([32768, 32768]) << k for k in range(count))

    def end(self):
        need(self.at >= len(self.data), "bytes left over")

    # mesh.md#predicted
    def number(self, zero, longer):
        if not self.bit(zero):
            return 0
        negative, length = self.plain(1), 0
        while length < 15 and self.bit(longer[length]):
            length += 1
        size = 1 << length | self.plain(length)
        return wrap(-size if negative else size, 16)


# container.md#range-coder
def even(*shape):
    """Nested lists of chances that know nothing."""
    return [even(*shape[1:]) for _ in range(shape[0])] if shape else [32768, 32768]


# mesh.md#predicted
def flatten(chances):
    return [chances] if isinstance(chances[0], int) else [c for part in chances for c in flatten(part)]


# mesh.md#predicted
def joined_classes(bits, candidates_of, count):
    """A partition: each item joins one of its candidates or begins a class."""
    chances, joined, sizes, out = even(6, 3, 2), 0, [], []
    for item in range(count):
        before, joined = joined, 0
        for i, c in enumerate(candidates_of(item, out)[:6]):
            if not bits.bit(chances[i][min(sizes[c], 3) - 1][before]):
                joined = 1
                sizes[c] += 1
                out.append(c)
                break
        if not joined:
            out.append(len(sizes))
            sizes.append(1)
    return out


# mesh.md#predicted
def faces(bits, triangles):
    last = {}

    def candidates(t, out):
        a, b, c = triangles[t]
        edges = [tuple(sorted(e)) for e in ((a, b), (b, c), (c, a))]
        found = [out[last[e]] for e in edges if e in last]
        last.update((e, t) for e in edges)
        return list(dict.fromkeys(found))

    return joined_classes(bits, candidates, len(triangles))


# mesh.md#predicted
def polygons(triangles, face_of):
    runs, out = {}, []
    for t, f in enumerate(face_of):
        runs.setdefault(f, []).append(t)
    for run in sorted(runs.values()):
        rim = rim_of([triangles[t] for t in run]) if len(run) > 1 else None
        out += [rim] if rim else [list(triangles[t]) for t in run]
    return out


# mesh.md#predicted
def rim_of(triangles):
    edges = [e for a, b, c in triangles for e in ((a, b), (b, c), (c, a))]
    there = set(edges)
    rim = sorted(e for e in edges if (e[1], e[0]) not in there)
    next_ = dict(rim)
    if len(rim) != len(triangles) + 2 or len(next_) != len(rim):
        return None
    first = edges[0][0] if edges[0][0] in next_ else rim[0][0]
    out, at = [first], next_[first]
    while at != first and at in next_ and len(out) < len(rim):
        out.append(at)
        at = next_[at]
    return out if at == first and len(out) == len(rim) else None


# mesh.md#predicted
def earlier_of(polygons_, point):
    """For each vertex the vertices before it that touch it, in order."""
    beside, last, same = [[] for _ in point], {}, []
    for v, p in enumerate(point):
        same.append(last.get(p))
        last[p] = v
    for polygon in polygons_:
        n = len(polygon)
        ahead = [1, n - 1, 2][: 3 if n == 4 else 2]
        for i, v in enumerate(polygon):
            beside[v] = (beside[v] + [polygon[(i + a) % n] for a in ahead])[:8]
    out = []
    for v in range(len(point)):
        list_, at = [], v
        for _ in range(4):
            at = same[at]
            if at is None:
                break
            list_.append(at)
        out.append(list_ + [w for w in beside[v] if w < v])
    return out


# mesh.md#predicted
class Predicted:
    """Normals, or normals and tangents, as corrections of what the decoded points say."""

    def __init__(self, data, triangles, point, uvs, shape, first, bones=None):
        """`bones`: of each point the one that turns it, where all are rigid, else nothing."""
        b = Bytes(data)
        flags, self.step, self.turn_step = b.get("Bff")
        self.weights, self.projected, self.packed = flags >> 3 & 3, flags >> 5 & 1, flags >> 7
        self.turned = None
        turns = self.weights == 3 and not flags & 64
        need(turns and bones or self.weights < (1 if flags & 64 else 3), "flags")
        self.weights = 3 if flags & 64 else self.weights
        count = max(point, default=-1) + 1
        used = list(dict.fromkeys(point))
        if shape and shape[0] * shape[1] == count == len(point):
            used = [point[grid_number(*shape[:2], i, j)] for j in range(shape[1]) for i in range(shape[0])]
        self.place = {p: i for i, p in enumerate(used)}
        bits = Chances(data[9:])
        self.triangles, self.point, self.uvs = triangles, point, uvs
        self.tangents, self.negated = flags & 1, flags & 4
        face_of = faces(bits, triangles) if flags & 2 else range(len(triangles))
        self.polygons = polygons(triangles, face_of)
        earlier = earlier_of(self.polygons, point)
        self.group = joined_classes(
            bits, lambda v, out: list(dict.fromkeys(out[w] for w in earlier[v])), len(point))
        self.groups = max(self.group, default=-1) + 1
        self.find_fans()
        if self.tangents:
            self.signs = self.read_signs(bits)
            self.find_corners(first)
        vertices = len(point) if self.tangents else 0
        self.mates = [None] * vertices
        for v in range(vertices):
            self.mates[v] = next((w for w in earlier[v] if self.group[w] == self.group[v]), None)
        self.read_bases(bits, vertices)
        if not self.packed:
            self.read_tables(bits)
        bits.end()
        self.anchors = {}
        for v, g in enumerate(self.group):
            self.anchors.setdefault(g, [point[v]] * 2)
        for polygon in self.polygons:
            for i, v in enumerate(polygon):
                anchor, other = self.anchors[self.group[v]], point[polygon[(i + 1) % len(polygon)]]
                if anchor[0] == anchor[1] and point[v] != other:
                    self.anchors[self.group[v]] = [point[v], other]
        if turns:
            self.turn_rest(first, bones)

    # mesh.md#predicted
    def turn_rest(self, first, bones):
        """Makes of the base what bones turn."""
        normals = self.normals(first, self.base)
        tangents = []
        if self.tangents:
            tangents = [self.tangent(k, normals[g], first) for k, g in enumerate(self.class_group)]
        of_group = {}
        for p, g in zip(self.point, self.group):
            of_group.setdefault(g, bones[p])
        self.base[: 2 * self.groups] = [0] * (2 * self.groups)
        self.turned = normals, tangents, of_group

    # mesh.md#predicted
    @staticmethod
    def turn_vector(v, transform):
        """A vector at rest as a bone turns it; as it is without a bone."""
        q = [F(x) for x in transform[:4]] if transform else [0.0] * 4
        square = F(F(F(F(q[0] * q[0]) + F(q[1] * q[1])) + F(q[2] * q[2])) + F(q[3] * q[3]))
        x, y, z, w = (F(c * inverse_length(square)) for c in q)
        one = lambda a, b: F(1.0 - F(2.0 * F(F(a * a) + F(b * b))))
        sum_ = lambda a, b, c, d: F(2.0 * F(F(a * b) + F(c * d)))
        columns = [[one(y, z), sum_(x, y, w, z), sum_(x, z, -w, y)], [sum_(x, y, -w, z), one(x, z), sum_(y, z, w, x)],
                   [sum_(x, z, w, y), sum_(y, z, -w, x), one(x, y)]]
        a, b, c = (scaled(column, part_) for column, part_ in zip(columns, v))
        return plus(plus(a, b), c)

    # mesh.md#predicted
    def read_tables(self, bits):
        """What the tables of a unit start from: of numbers by name, of masks by tree, size and heats."""
        trees, used = range(2 if self.tangents else 1), even()
        code = lambda: bits.plain(8) if bits.bit(used) else 240
        chances = [[[code() for _ in range(3)] for _ in range(4)] for _ in trees]
        used = even()
        exponent = lambda: bits.plain(4) if bits.bit(used) else 15
        self.start = {"changes": Nibbles.table([1] * 4 + [0] * 12)}
        for name in ["pairs", "longer", "turns"][: len(trees) + 1]:
            self.start[name] = Nibbles.table([1 << 15 - exponent() for _ in range(16)])
        for tree in trees:
            for size in range(4):
                one = [max(1, min(65535, (16 + (c & 15) << (c >> 4)) >> 4)) for c in chances[tree][size]]
                for pattern in itertools.product(range(3), repeat=4):
                    weight = lambda mask: math.prod(
                        one[heat] if mask >> k & 1 else 65536 - one[heat] for k, heat in enumerate(pattern)) >> 32
                    weights = [0 if mask == 0 and size < 3 else weight(mask) for mask in range(16)]
                    self.start[tree, size, pattern] = Nibbles.table(weights)

    # mesh.md#predicted
    def read_signs(self, bits):
        own = [0.0] * len(self.point)
        for t in self.triangles:
            p, a, b = (self.uvs[v] for v in t)
            left = F(F(a[0] - p[0]) * F(b[1] - p[1]))
            area = F(left - F(F(a[1] - p[1]) * F(b[0] - p[0])))
            for v in t:
                if own[v] == 0 and area != 0:
                    own[v] = -1.0 if area < 0 else 1.0
        chance, before, out = even(2), 0, []
        for sign in own:
            sign = -1.0 if sign < 0 else 1.0
            before = bits.bit(chance[before])
            out.append(-sign if before else sign)
        return out

    # mesh.md#predicted
    def find_fans(self):
        """By group its corners in triangles and quads, and the other ones."""
        polygons_of = [set() for _ in range(self.groups)]
        corners = [(i, k) for i, p in enumerate(self.polygons) if len(p) >= 3 for k in range(len(p))]
        for i, k in corners:
            polygons_of[self.group[self.polygons[i][k]]].add(i)
        self.fans, self.others = [[] for _ in polygons_of], [[] for _ in polygons_of]
        for i, k in corners:
            polygon = self.polygons[i]
            g = self.group[polygon[k]]
            if len(polygons_of[g]) == 1 and (self.fans[g] or self.others[g]):
                continue
            at = [self.point[polygon[(k + j) % len(polygon)]] for j in range(len(polygon))]
            if len(polygon) > 4:
                self.others[g].append((i, k))
            else:
                self.fans[g].append((at[0], at[1], at[2] if len(at) == 4 else at[1], at[-1]))
        for g, fan in enumerate(self.fans):
            if len(fan) <= 16:
                self.fans[g] = around(fan, lambda c: self.place[c[0]], lambda c: c[1], lambda c: c[3])

    # mesh.md#predicted
    def find_corners(self, first_frame):
        """Corners by class of tangents, with what the uvs say there."""
        classes, self.class_of, self.corners, self.class_group = {}, [], [], []
        for v in range(len(self.point)):
            key = (self.point[v], self.group[v], tuple(x + 0.0 for x in self.uvs[v]), self.signs[v])
            if key not in classes:
                classes[key] = len(classes)
                self.corners.append([])
                self.class_group.append(self.group[v])
            self.class_of.append(classes[key])
        for t in self.triangles:
            for k in range(3):
                v, after, before = t[k], t[(k + 1) % 3], t[(k + 2) % 3]
                p, a, b = (self.uvs[w] for w in (v, after, before))
                ua, va, ub, vb = F(a[0] - p[0]), F(a[1] - p[1]), F(b[0] - p[0]), F(b[1] - p[1])
                area = F(F(ua * vb) - F(va * ub))
                factors = (-vb, va) if area < 0 else (vb, -va)
                if area * self.signs[v] > 0 and abs(area) < math.inf:
                    self.corners[self.class_of[v]].append(
                        (self.point[v], self.point[after], self.point[before], factors))
        self.still = [self.still_factors(corners, first_frame) for corners in self.corners]

    # mesh.md#predicted
    def still_factors(self, corners, places):
        """The points around a class, in order, and what they count."""
        list_ = []
        for own, after, before, factors in corners:
            e, f = minus(places[after], places[own]), minus(places[before], places[own])
            g = plus(scaled(e, factors[0]), scaled(f, factors[1]))
            cosine = F(F(dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f)))
            scale = F(corner_angle(cosine) * inverse_length(dot(g, g)))
            list_ += [(after, F(factors[0] * scale)), (before, F(factors[1] * scale))]
        out = {}
        for q, factor in sorted(list_, key=lambda each: self.place[each[0]]):
            out[q] = F(out[q] + factor) if q in out else factor
        return list(out.items())

    # mesh.md#predicted
    def read_bases(self, bits, vertices):
        known, moved = even(3, 3), even(2, 4)
        numbers = [(even(3), even(16)), (even(3), even(16))]
        self.classes, self.base, before = [], [], 0
        for i in range(self.groups + vertices):
            kind, class_ = int(i >= self.groups), 0
            while class_ < 3 and bits.bit(known[min(before, 2)][class_]):
                class_ += 1
            self.classes.append(class_)
            before = class_
            mate = self.mates[i - self.groups] if kind else None
            expected = 0 if mate is None else self.base[2 * self.groups + mate]
            any_ = bits.bit(moved[kind][class_])
            for _ in range(1 if kind else 2):
                zero, longer = numbers[kind]
                off = bits.number(zero[kind], longer) if any_ else 0
                self.base.append(wrap(expected + off, 16))

    # mesh.md#predicted
    def unit_states(self, data, frames, references):
        """The states of the frames of a unit."""
        if self.packed:
            return self.packed_states(data, frames, references)
        if not data:
            return [list(self.base) for _ in range(frames)]
        symbols, done = Nibbles(data), list(references)
        tables = {name: list(table) for name, table in self.start.items()}
        for _ in range(frames):
            number = symbols.plain(len(done).bit_length())
            need(number <= len(done), "a reference")
            out = list(done[number - 1] if number else self.base)
            changes = symbols.symbol(tables["changes"])
            n = 2 * self.groups
            if changes & 1:
                self.tree(symbols, tables, 0, self.classes[: self.groups], lambda g: self.pair(symbols, tables, out, g))
            if changes & 2 and self.tangents:
                self.tree(symbols, tables, 1, self.classes[self.groups :],
                          lambda v: self.number(symbols, out, n + v, symbols.symbol(tables["turns"])))
            done.append(out)
        symbols.end()
        return done[len(references):]

    # mesh.md#predicted
    def tree(self, symbols, tables, tree, classes, change):
        """Calls `change` with the items that change."""
        def node(size, first):
            part_ = 4**size
            heats = [max((min(c, 2) for c in classes[first + k * part_ : first + k * part_ + part_]), default=0)
                     for k in range(4)]
            mask = symbols.symbol(tables[tree, size, tuple(heats)])
            for k in range(4):
                if mask >> k & 1 and first + k * part_ < len(classes):
                    (node if size else lambda _, item: change(item))(size - 1, first + k * part_)

        for first in range(0, len(classes), 256):
            node(3, first)

    # mesh.md#predicted
    def pair(self, symbols, tables, out, g):
        symbol = symbols.symbol(tables["pairs"])
        for k, bits in enumerate((symbol >> 2, symbol & 3)):
            if bits == 3:
                bits = min(3 + symbols.symbol(tables["longer"]), 16)
            self.number(symbols, out, 2 * g + k, bits)

    # mesh.md#predicted
    @staticmethod
    def number(symbols, out, at, bits):
        if bits:
            value = symbols.plain(bits)
            size = (1 << bits - 1) + (value >> 1)
            out[at] = wrap(out[at] + 3 * (-size if value & 1 else size), 16)

    # mesh.md#predicted
    def packed_states(self, data, frames, references):
        at, done = 0, list(references)

        def take(size):
            nonlocal at
            part_ = bytes(data[at : at + size])
            at += size
            return int.from_bytes(part_ + bytes(size - len(part_)), "little")

        def section(out, start, count, numbers_):
            kind = take(1)
            need(kind < 2, "a section")
            if kind == 0:
                return
            flags = take((count + 255) // 256 + 7 >> 3)
            for first in range(0, count, 256):
                if not flags >> first // 256 & 1:
                    continue
                which = take(1)
                for k in range(4):
                    items = range(first + 64 * k, min(first + 64 * k + 64, count))
                    if not which >> k & 1 or not items:
                        continue
                    widths = take(1)
                    mask = 2**64 - 1 if which >> 4 + k & 1 else take(8)
                    changed = [i for i in items if mask >> i % 64 & 1]
                    for n in range(numbers_):
                        width = widths >> 4 * n & 15
                        width += width == 15
                        fields = take(len(changed) * width + 7 >> 3)
                        for j, i in enumerate(changed):
                            field = wrap(fields >> j * width, width) if width else 0
                            out[start + i * numbers_ + n] = wrap(out[start + i * numbers_ + n] + 3 * field, 16)

        for _ in range(frames):
            number = take(1)
            need(number <= len(done), "a reference")
            out = list(done[number - 1] if number else self.base)
            section(out, 0, self.groups, 2)
            if self.tangents:
                section(out, 2 * self.groups, len(out) - 2 * self.groups, 1)
            done.append(out)
        need(at >= len(data), "bytes behind the last frame")
        return done[len(references):]

    # mesh.md#predicted
    def frame_of(self, places, g, n):
        own, other = self.anchors[g]
        x = flat(minus(places[other], places[own]), n)
        if x is None:
            axis = [1.0, 0.0, 0.0] if abs(n[0]) < F(0.9) else [0.0, 1.0, 0.0]
            x = flat(axis, n) or [1.0, 0.0, 0.0]
        return x, cross(n, x)

    # mesh.md#predicted
    def normals(self, places, states, transforms=None):
        """Normals of all groups, from points as vectors or as bones turn them."""
        if self.turned:
            at_rest, _, bones = self.turned
            of = lambda g: transforms[bones[g]] if bones.get(g) is not None else None
            normals = [unit(self.turn_vector(n, of(g))) or [0.0, 0.0, 1.0] for g, n in enumerate(at_rest)]
        else:
            normals = self.made_normals(places)
        for g, n in enumerate(normals):
            x, y = (float(s) for s in states[2 * g : 2 * g + 2])
            if x or y:
                e1, e2 = self.frame_of(places, g, n)
                half = F(self.step * 0.5)
                x, y = F(x * half), F(y * half)
                c, s = rotation(F(F(x * x) + F(y * y)))
                normals[g] = plus(scaled(n, c), plus(scaled(e1, F(x * s)), scaled(e2, F(y * s))))
        return normals

    # mesh.md#predicted
    def made_normals(self, places):
        """Normals of all groups without their states, from points as vectors."""
        shares = {i: self.shares(p, places) for i, p in enumerate(self.polygons) if len(p) > 4}
        sums = []
        for fan, others in zip(self.fans, self.others):
            total = [0.0] * 3
            for corner in fan:
                total = plus(total, self.corner(corner, places))
            more = [shares[i][k] for i, k in others]
            if len(more) + (len(fan) > 16) > 16:
                total, more = [0.0] * 3, [total] * (len(fan) > 16) + more
                total = plus(total, functools.reduce(plus, more, [0.0] * 3))
            else:
                total = functools.reduce(plus, more, total)
            sums.append(total)
        normals = [unit(s) or [0.0, 0.0, 1.0] for s in sums]
        if self.negated:
            normals = [[-x for x in n] for n in normals]
        return normals

    # mesh.md#predicted
    def directions(self, places, states, transforms=None):
        """Normals of all vertices, with tangents and signs where there are any. `transforms`: of bones."""
        normals = self.normals(places, states, transforms)
        if not self.tangents:
            return [normals[g] for g in self.group]
        tangents = [self.tangent(k, normals[g], places, transforms) for k, g in enumerate(self.class_group)]
        out = []
        for v, g in enumerate(self.group):
            t, n, turns = tangents[self.class_of[v]], normals[g], states[2 * self.groups + v]
            if turns:
                c, s = turn(F(turns * self.turn_step))
                t = plus(scaled(t, c), scaled(cross(n, t), s))
            out.append([*n, *t, self.signs[v]])
        return out

    # mesh.md#predicted
    def corner(self, corner, places):
        own, after, across, before = (places[p] for p in corner)
        e, d, f = minus(after, own), minus(across, own), minus(before, own)
        m = cross(d, minus(f, e))
        if self.weights == 2:
            return m
        root = rough_root(dot(m, m))
        if self.weights == 1:
            return scaled(m, root)
        if self.weights == 0:
            cosine = F(dot(e, f) * rough_root(F(dot(e, e) * dot(f, f))))
            return scaled(m, F(rough_angle(cosine) * root))
        cosine = F(F(dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f)))
        return scaled(m, F(interior(corner_angle(cosine), cosine, dot(cross(e, f), m)) * root))

    # mesh.md#predicted
    def shares(self, polygon, places):
        """What each corner of a polygon of five or more adds."""
        p = [places[self.point[v]] for v in polygon]
        count = len(p)
        edges = [minus(p[(i + 1) % count], p[i]) for i in range(count)]
        normal, from_first = cross(edges[0], edges[1]), plus(edges[0], edges[1])
        for e in edges[2 : count - 1]:
            normal = plus(normal, cross(from_first, e))
            from_first = plus(from_first, e)
        if self.weights == 2:
            return [normal] * count
        normal = scaled(normal, rough_root(dot(normal, normal)))
        if self.weights == 1:
            return [normal] * count
        out = []
        for i in range(count):
            before, e = edges[i - 1], edges[i]
            cosine = F(F(-dot(before, e) * inverse_root(dot(before, before))) * inverse_root(dot(e, e)))
            out.append(scaled(normal, interior(corner_angle(cosine), cosine, dot(cross(before, e), normal))))
        return out

    # mesh.md#predicted
    def tangent(self, class_, n, places, transforms=None):
        total, corners = [0.0] * 3, self.corners[class_]
        if self.turned:
            bone = self.turned[2].get(self.class_group[class_])
            total = self.turn_vector(self.turned[1][class_], None if bone is None else transforms[bone])
        elif self.projected and len(corners) <= 16:
            for own, after, before, factors in around(
                    corners, lambda c: self.place[c[0]], lambda c: c[1], lambda c: c[2]):
                e, f = (minus(places[q], places[own]) for q in (after, before))
                e, f = (minus(x, scaled(n, dot(x, n))) for x in (e, f))
                g = plus(scaled(e, factors[0]), scaled(f, factors[1]))
                cosine = F(F(dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f)))
                total = plus(total, scaled(g, F(corner_angle(cosine) * rough_root(dot(g, g)))))
        else:
            for q, factor in self.still[class_]:
                total = plus(total, scaled(minus(places[q], places[corners[0][0]]), factor))
        return flat(total, n) or self.frame_of(places, self.class_group[class_], n)[0]


# Moving nodes

FREQUENCIES = numbers("frequencies")
EXPECTED = numbers("expected")
(WIDTHS,) = numbers("widths")


# clip.md#residuals
def bucket(sigma):
    """The table for what is expected, and how many low bits are even."""
    sigma = max(sigma, 4)
    exponent = sigma.bit_length() - 1
    mantissa = (sigma << 16) >> exponent
    index = 3 * (exponent - 2) + (mantissa >= 82570) + (mantissa >= 104032)
    return (FREQUENCIES[index], 0) if index < 24 else (FREQUENCIES[21 + index % 3], (index - 21) // 3)


# clip.md#residuals
class Symbols:
    """Residuals of a clip: rANS with static tables."""

    def __init__(self, data):
        self.data = data
        self.state, self.at = (struct.unpack("<I", data[:4])[0], 4) if len(data) >= 4 else (1 << 16, len(data))

    def fill(self):
        if self.state < 1 << 16:
            word = self.data[self.at : self.at + 2]
            self.state, self.at = self.state << 16 | (word[0] | word[1] << 8 if len(word) == 2 else 0), self.at + 2

    def even(self, bits):
        if bits > 12:
            low = self.even(12)
            return self.even(bits - 12) << 12 | low
        value = self.state & ((1 << bits) - 1)
        self.state >>= bits
        self.fill()
        return value

    def take(self, sigma):
        row, low = bucket(sigma)
        slot, symbol, start = self.state & 4095, 0, 0
        while slot >= start + row[symbol]:
            start, symbol = start + row[symbol], symbol + 1
        self.state = row[symbol] * (self.state >> 12) + slot - start
        self.fill()
        n = symbol
        if symbol == 15:
            bits = 2
            while bits < 30 and self.even(1):
                bits += 1
            n = (1 << bits | self.even(bits)) + 11
        n = (n << low | self.even(low)) & 0x3FFFFFFF
        return -n if n and self.even(1) else n

    def end(self):
        need(self.state == 1 << 16 and self.at == len(self.data), "residuals that do not end where their bytes do")


# clip.md#moving-nodes
def cut(v):
    return max(-(2**31), min(2**31 - 1, v))


# clip.md#moving-nodes
def sized(v):
    """A positive double as u64 from it, or what `as` makes of it."""
    return 0 if v != v else cut(math.floor(v)) if abs(v) < 1e300 else (2**31 - 1 if v > 0 else -(2**31))


# clip.md#rotations
def turned(q, y):
    """A quaternion moved on by a turn, in 2^-30."""
    one = 1 << 30
    y = [max(-one, min(one, v)) for v in y]
    square = sum(v * v for v in y) >> 32
    bx, by, bz, bw = y[0] >> 1, y[1] >> 1, y[2] >> 1, (1 << 28) - square
    ax, ay, az, aw = q
    p = [
        (aw * bx + ax * bw + ay * bz - az * by) >> 30,
        (aw * by - ax * bz + ay * bw + az * bx) >> 30,
        (aw * bz + ax * by - ay * bx + az * bw) >> 30,
        (aw * bw - ax * bx - ay * by - az * bz) >> 30,
    ]
    length = math.isqrt(sum(v * v for v in p))
    if length < 1 << 20:
        return list(q)
    inverse = (1 << 61) // length
    return [max(-one, min(one, v * inverse >> 31)) for v in p]


# clip.md#moving-nodes
def inner(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


# clip.md#moving-nodes
def mixed(around, weights):
    """The weighted sum of four quaternions, each with the sign of its neighbour in time, and its square."""
    a, b, c, d = around
    second = -1.0 if inner(b, a) < 0 else 1.0
    third = -1.0 if inner(c, a) < 0 else 1.0
    fourth = second * (-1.0 if inner(d, b) < 0 else 1.0)
    signed = [weights[0], weights[1] * second, weights[2] * third, weights[3] * fourth]
    q = [sum(w * v[k] for w, v in zip(signed, around)) * 2.0**-46 for k in range(4)]
    square = inner(q, q)
    if square < 1 / 256:
        q = [v * 2.0**-30 for v in a]
        square = max(inner(q, q), 1 / 256)
    return q, square


# clip.md#moving-nodes
def rotated(around, weights, y):
    """Words of a rotation, moved on by a turn from those of frames around."""
    if not any(y) and all(other == around[0] for other in around):
        return list(around[0])
    (ax, ay, az, aw), square = mixed(around, weights)
    x, y, z = [max(-1.0, min(1.0, v)) for v in y]
    m = x * x + y * y + z * z
    bx, by, bz, bw = x * 2.0, y * 2.0, z * 2.0, 1.0 - m
    length = 2.0**30 / (math.sqrt(square) * (1.0 + m))
    p = [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
    # Python rounds halves to the even number.
    return [round(v * length) for v in p]


# clip.md#streamed-form
def in_30_bits(q):
    """A quaternion of floats in 2^-30."""
    away = lambda v: math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)
    return turned([max(-(1 << 30), min(1 << 30, away(v * (1 << 30)))) for v in q], [0, 0, 0])


# Bones

CORNERS = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]


# mesh.md#bones-of-a-point
def bones_of_points(data, levels, bones, depth):
    """Of each point, in the order of levels, its bones and their weights, and whether it has a residual."""
    bits, rings = Chances(data), levels["rings"]
    coded_of, is_, more, new = even(4), even(8, 4, 4), even(4), even(1)[0]
    shift_of, zero, sign, length_of, top = even(9, 8), even(16), even(2), even(16, 16), even(16, 16)
    out, coded, shifts, next_ = [], [], [], 0
    need(depth <= 15, "weights out of range")

    def number(c):
        if not bits.bit(zero[c]):
            return 0
        negative, length, size = bits.bit(sign[c >= 8]), 0, 1
        while length < 15 and bits.bit(length_of[c][length]):
            length += 1
        for k in range(length):
            size = size << 1 | (bits.plain(1) if k else bits.bit(top[c][length]))
        return -size if negative else size

    for v, ring in enumerate(rings):
        ring = ring or ([v - 1] if v else [])
        sums = {}
        for n in ring:
            for bone, weight in out[n]:
                sums[bone] = sums.get(bone, 0) + weight
        candidates = sorted(sums, key=lambda bone: (-sums[bone], bone))[:16]
        total, own = len(ring) << depth, []
        for i, bone in enumerate(candidates):
            if len(own) < 8 and bits.bit(is_[min(8 * sums[bone] // max(total, 1), 7)][min(i, 3)][min(len(own), 3)]):
                own.append(bone)
        while len(own) < 8 and bits.bit(more[min(len(own), 3)]):
            bone = next_ if bits.bit(new) else bits.plain((bones - 1).bit_length())
            need(bone < bones and bone not in own, "a bone that cannot be")
            own.append(bone)
        next_ = max([next_, *(bone + 1 for bone in own)])
        count = sum(coded[n] for n in ring)
        coded.append(1 if not own else bits.bit(coded_of[0 if not count else 3 if count == len(ring) else min(count, 2)]))
        shifts.append(8)
        weights = [1 << depth]
        if len(own) > 1:
            near, most, shift = shifts[ring[0]] if ring else 8, min(7, max(depth - 3, 0)), 0
            while shift < most and bits.bit(shift_of[near][shift]):
                shift += 1
            shifts[v], left, weights = shift, 1 << depth - shift, []
            need(left >= len(own), "weights for too many bones")
            for k in range(len(own) - 1, 0, -1):
                most, share = left - k, sums.get(own[k], 0)
                expected = max(1, min(most, ((share << depth - shift) + total // 2) // max(total, 1)))
                weight = expected + number((0 if share else 8) + shift)
                need(1 <= weight <= most, "weights that are too much")
                left -= weight
                weights.append(weight << shift)
            weights = [left << shift, *reversed(weights)]
        out.append(list(zip(own, weights)))
    bits.end()
    return out, coded


# mesh.md#bones
class Bones:
    """Positions that bones predict: what a part of fixed-point values is, in the order of levels."""

    def __init__(self, data, record, levels, triangles):
        """`triangles`: of points."""
        b = Bytes(data)
        rigid, affine, words, coded = record["bones"]
        self.rigid, self.affine, self.width = rigid, affine >> 1, 32 if record["word"] == 4 else 16
        count, depth = self.rigid + self.affine, b.get("B")
        need(0 < count < 1 << 16, "a number of bones that cannot be")
        rest = Cells(b.take(b.varint()), levels, near=False)
        self.rest = rest.values(rest.first, range(len(rest.first)))
        weights, has = bones_of_points(b.take(b.varint()), levels, count, depth)
        self.pulls = [sorted((bone, weight / (1 << depth)) for bone, weight in own) for own in weights]
        boxes = [[p for p, own in zip(self.rest, weights) if dict(own).get(bone, 0) << 5 >= 1 << depth] for bone in range(count)]
        box = lambda points: [f(p[k] for p in points) for f in (min, max) for k in range(3)] if points else [0.0] * 6
        boxes = [box(points) for points in boxes]
        halves = lambda box: [(box[k + 3] - box[k]) * 0.5 for k in range(3)]
        least = max(halves(box(self.rest))) / 64.0
        self.middles = [[(box[k] + box[k + 3]) * 0.5 for k in range(3)] for box in boxes]
        self.halves = [[max(h, max(least, max(halves(box)) / 16.0, 1e-30)) for h in halves(box)] for box in boxes]
        self.nodes = self.packed = self.handles = self.residual = None
        if rigid and words:
            nodes = [dict(mesh=n, parent=-1, rest=IDENTITY, animated=True, reach=None) for n in range(rigid)]
            self.nodes = Nodes(dict(tracks=b.take(b.varint()), nodes=nodes, meshes=[dict(bounds=box) for box in boxes]))
        elif rigid:
            setup = Bytes(b.take(b.varint()))
            self.packed = dict(scale=setup.get("f"), bounds=setup.get("6f"), ends=[setup.get("3I") for _ in range(rigid)])
            setup.end()
        if self.affine:
            self.handles = Cells(b.take(b.varint()), self.handle_levels())
        left = b.take(len(b.data) - b.at)
        self.coded = [v for v, own in enumerate(has) if own]
        need(len(self.coded) == coded, "another number of residuals")
        # Unit and centre stand behind the flags of a static part, and where there is none by themselves.
        self.unit, *self.centre = struct.unpack("<4f", left[1:17] if coded else left)
        still = self.state([IDENTITY] * rigid, self.handles and self.handles.first, None)
        if coded:
            number = {levels["order"][v]: at for at, v in enumerate(self.coded)}
            own = [tuple(number[p] for p in t) for t in triangles if all(p in number for p in t)]
            of_residual = hierarchy(coded, own)
            self.coded = [self.coded[at] for at in of_residual["order"]]
            outside = [still["positions"][v][:3] for v in self.coded]
            self.residual = Cells(left, of_residual, outside=outside)
            still = self.state([IDENTITY] * rigid, self.handles and self.handles.first, self.residual.first)
        self.still = still
        self.first = still["positions"]

    # mesh.md#bones
    def handle_levels(self):
        """Levels of the handles of affine bones: handle k of bone b is number 4·b + k."""
        count = self.affine
        if count > 1024:
            of = lambda b: [tuple(4 * b + k for k in t) for t in ((0, 1, 2), (0, 2, 3), (0, 3, 1))]
            return hierarchy(4 * count, [t for b in range(count) for t in of(b)])
        middles, halves = self.middles[self.rigid :], self.halves[self.rigid :]

        def far(b, a):
            most = 0.0
            for corner in CORNERS:
                at = [(middles[b][k] + halves[b][k] * corner[k] - middles[a][k]) / halves[a][k] for k in range(3)]
                most = max(most, abs(at[0]) + abs(at[1]) + abs(at[2]))
            return most

        root = max(range(count), key=lambda b: (halves[b][0] + halves[b][1] + halves[b][2], -b))
        above, depths, left = {root: None}, {root: 0}, [b for b in range(count) if b != root]
        near, last = {b: (math.inf, math.inf) for b in left}, root
        while left:
            if depths[last] < 24:
                for b in left:
                    near[b] = min(near[b], (far(b, last), last))
            last = min(left, key=lambda b: (near[b][0], b))
            left.remove(last)
            above[last] = root if near[last][1] == math.inf else near[last][1]
            depths[last] = depths[above[last]] + 1
        levels, rings = [], {}
        for d in range(max(depths.values()) + 1):
            own = [b for b in range(count) if depths[b] == d]
            levels += [[4 * b for b in own], [4 * b + k for b in own for k in (1, 2, 3)]]
        for b in range(count):
            of_above = [4 * above[b] + k for k in range(4)] if above[b] is not None else []
            rings.update({4 * b + k: of_above + ([4 * b] if k else []) for k in range(4)})
        return finish_levels(levels, rings)

    # mesh.md#bones
    def matrices(self, transforms, handles):
        """Of rigid bones, of affine ones, and of what does not move, in units of the grid."""
        world = [matrix(t) for t in transforms]
        if self.handles:
            cells, order_ = self.handles, self.handles.levels["order"]
            at = dict(zip(order_, cells.values(handles, range(len(order_)))))
            for b, (middle, half) in enumerate(zip(self.middles[self.rigid :], self.halves[self.rigid :])):
                rows = []
                for r in range(3):
                    row = [0.0] * 4
                    for k, corner in enumerate(CORNERS):
                        quarter = at[4 * b + k][r] * 0.25
                        row[3] += quarter
                        for c in range(3):
                            row[c] += quarter * corner[c]
                    for c in range(3):
                        row[c] /= half[c]
                        row[3] -= row[c] * middle[c]
                    rows.append(row)
                world.append(rows)
        world.append(matrix(IDENTITY))
        part_ = 1.0 / self.unit
        of_row = lambda row, centre: [f32(row[c] * part_) for c in range(3)] + [f32((row[3] - centre) * part_)]
        return [[of_row(row, centre) for row, centre in zip(rows, self.centre)] for rows in world]

    # mesh.md#bones
    def state(self, transforms, handles, residual, nodes=None):
        """All that there is of a frame."""
        all_, out = self.matrices(transforms, handles), []
        for (x, y, z), pulls in zip(self.rest, self.pulls):
            m = all_[pulls[0][0] if pulls else -1]
            if len(pulls) > 1:
                m = [[f32(v * pulls[0][1]) for v in row] for row in m]
                for bone, weight in pulls[1:]:
                    m = [[f32(a + f32(b * weight)) for a, b in zip(*rows)] for rows in zip(m, all_[bone])]
            at = [f32(f32(f32(f32(r[0] * x) + f32(r[1] * y)) + f32(r[2] * z)) + r[3]) for r in m]
            out.append([wrap(cut(round(v)), self.width) for v in at] + [0])
        for v, own in zip(self.coded, residual or []):
            out[v][:3] = [wrap(a + b, self.width) for a, b in zip(out[v], own[:3])]
        return dict(positions=out, handles=handles, residual=residual, nodes=nodes, transforms=transforms)

    # mesh.md#predicted
    def turning(self):
        """Of each point the bone with the largest weight, the first of equal ones."""
        return [max(own, key=lambda pull: (pull[1], -pull[0]))[0] if own else None for own in self.pulls]

    # mesh.md#bones
    def unit_states(self, data, schedule, frames, find):
        """The states of the frames of a unit; `find` gives those of other frames."""
        b = Bytes(data)
        before = lambda f: self.still if f == 0 else find(f)
        transforms, nodes = {f: [IDENTITY] * self.rigid for f in frames}, {}
        if self.rigid and data:
            own = b.take(b.varint())
            if self.packed:
                own = Bytes(own)
                transforms = {f: self.packed_frame(own) for f in frames}
                own.end()
            elif own:
                of_node = lambda f: find(f)["nodes"]
                done = self.nodes.unit(own, schedule, frames, of_node)
                nodes = {f: done[f][0] for f in frames}
                transforms = {f: done[f][1] for f in frames}
        if self.nodes and not nodes:
            nodes = {f: list(self.nodes.rest) for f in frames}

        def cells(part_, name):
            if not part_:
                return {f: None for f in frames}
            own = b.take(b.varint()) if data else b""
            if frames == [0]:
                need(not own, "a frame that is known")
                return {0: part_.first}
            return part_.unit_frames(own, schedule, frames, lambda f: before(f)[name])

        handles, residual = cells(self.handles, "handles"), cells(self.residual, "residual")
        b.end()
        return {f: self.state(transforms[f], handles[f], residual[f], nodes.get(f)) for f in frames}

    # mesh.md#packed-transforms
    def packed_frame(self, b):
        left, right = b.get("2H")
        need(left <= right <= self.rigid, "edges out of order")
        bounds = b.get("6f")
        between = [b.get("3I") for _ in range(right - left)]
        done = [self.unpacked(n, self.packed["ends"][n], self.packed["bounds"]) for n in range(left)]
        done += [self.unpacked(left + n, words, bounds) for n, words in enumerate(between)]
        return done + [IDENTITY] * (self.rigid - right)

    # mesh.md#packed-transforms
    def unpacked(self, bone, words, bounds):
        rotation, xy, zs = words
        q = [((rotation >> 10 * i & 1023) - 511.0) * (math.sqrt(0.5) / 511.0) for i in range(3)]
        square = 0.0
        for v in q:
            square += v * v
        q.insert(rotation >> 30, math.sqrt(max(1.0 - square, 0.0)))
        scale = f32(self.packed["scale"] * (zs >> 16) / 65535.0)
        q, p = [f32(v) for v in q], self.middles[bone]
        m = matrix([*q, 0.0, 0.0, 0.0, scale, scale, scale])
        arm = [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] for row in m]
        at = [low + size * v / 65535.0 for low, size, v in zip(bounds, bounds[3:], (xy & 0xFFFF, xy >> 16, zs & 0xFFFF))]
        return tuple([*q, *(f32(a - b) for a, b in zip(at, arm)), scale, scale, scale])

    # mesh.md#fixed-point-values
    def values(self, frame, places):
        """Three numbers for each vertex."""
        return Cells.values(self, frame, places)


# Points without triangles

# mesh.md#unit-of-particles
class Particles:
    """A unit of particles or curves."""

    def __init__(self, data, mesh_):
        b = Bytes(data)
        self.bits, self.mesh = Chances(b.take(b.varint())), mesh_
        self.symbols = Symbols(data[b.at :])
        names = ("kind", "run", "count", "length", "born", "grain", "along", "weight", "bias", 0, 1, 2, 3, 4, 5, 6)
        self.numbers = {name: even(32) for name in names}
        self.same_length, self.alive, self.behind = even(), even(16, 2), even()
        self.distance, self.fitted = even(64), even()

    # mesh.md#unit-of-changing-triangles
    def number(self, name):
        length = 0
        while length < 31 and self.bits.bit(self.numbers[name][length]):
            length += 1
        return (1 << length | self.bits.plain(length)) - 1

    # mesh.md#unit-of-particles
    def long(self):
        length = 0
        while length < 63 and self.bits.bit(self.distance[length]):
            length += 1
        low = self.bits.plain(min(length, 32))
        return (1 << length | self.bits.plain(max(length - 32, 0)) << 32 | low) - 1

    # mesh.md#unit-of-particles
    def frame(self, references):
        """A frame; `references` are those that it refers to, each with how many frames later it is."""
        m, kind = self.mesh, self.number("kind")
        f = dict(indices=[], run=-1, ids=[], curves=[], count=0)
        if kind == 0:
            return dict(f, streams=[[[] for _ in range(COMPONENTS[s["semantic"]])] for s in m["streams"]])
        if kind == 1:
            self.points(f, [r for _, r in references])
        else:
            need(kind - 2 < len(references), "the points of a frame that is not there")
            f.update({k: references[kind - 2][1][k] for k in ("run", "ids", "curves", "count")})
        need(f["count"] <= m["vertices"] and len(f["curves"]) <= (m["curves"] or dict(most=0))["most"], "too many points")
        places = []
        for _, r in references:
            where = {i: v for v, i in enumerate(r["ids"])}
            alike = not m["ids"] and r["run"] == f["run"] >= 0 and r["count"] == f["count"]
            places.append([where.get(i) for i in f["ids"]] if m["ids"] else [v if alike else None for v in range(f["count"])])
        starts, first = set(), 0
        for length in f["curves"]:
            starts.add(first)
            first += length
        f["streams"] = []
        for s, record in enumerate(m["streams"]):
            frames = [(t, r["streams"][s], place) for (t, r), place in zip(references, places)]
            values = self.values(COMPONENTS[record["semantic"]], f["count"], frames, starts, bool(f["curves"]))
            f["streams"].append([[v[c] % 256 ** record["word"] for v in values] for c in range(COMPONENTS[record["semantic"]])])
        return f

    def end(self):
        self.bits.end()
        self.symbols.end()

    # mesh.md#unit-of-particles
    def points(self, f, references):
        m, bits = self.mesh, self.bits
        if not m["ids"]:
            f["run"], count = self.number("run"), self.number("count")
            if not m["curves"]:
                f["count"] = count
                return
            length = 0
            for _ in range(count):
                length = length if bits.bit(self.same_length) else self.number("length")
                f["curves"].append(length)
            f["count"] = sum(f["curves"])
            return
        known = [set(r["ids"]) for r in references]
        union, lives = sorted(set().union(*known)), 0
        for i in union:
            mask = sum(1 << r for r, ids in enumerate(known) if i in ids)
            lives = int(bits.bit(self.alive[mask][lives]))
            f["ids"] += [i] if lives else []
        born, after = self.number("born"), 0
        for n in range(born):
            if n == 0 and union and bits.bit(self.behind):
                after = union[-1] + 1
            f["ids"].append(after + self.long())
            after = f["ids"][-1] + 1
        f["ids"].sort()
        f["count"] = len(f["ids"])
        need(len(set(f["ids"])) == f["count"], "an id twice")

    # mesh.md#unit-of-particles
    @staticmethod
    def usual(mask, moments):
        inside = [r for r in range(len(moments)) if mask >> r & 1]
        w = {}
        for r in inside[1:]:
            above = below = 1
            for s in inside:
                if s != r:
                    above, below = above * moments[s], below * (moments[s] - moments[r])
            above, below = (-above, -below) if below < 0 else (above, below)
            w[r] = max(-(1 << 14), min(1 << 14, (2 * 256 * above + below) // (2 * below))) if below else 0
        return {inside[0]: 256 - sum(w.values()), **w}

    # mesh.md#unit-of-particles
    def values(self, k, count, frames, starts, curves):
        cut = lambda value, most: max(-most, min(most, value))
        masks = [sum(1 << r for r, (_, _, place) in enumerate(frames) if place[v] is not None) for v in range(count)]
        inside = lambda mask: [r for r in range(len(frames)) if mask >> r & 1]
        grain, there = min(self.number("grain"), 255) + 1, {min(len(inside(mask)), 2) for mask in masks}
        begins = [min(self.number(c), 55) if min(c, 2) in there else 24 for c in range(7)]
        along = [cut(unzigzag(self.number("along")), 256) for _ in range(2)]
        weights, bias, moments = {}, {}, [t for t, _, _ in frames]
        for mask in sorted(set(masks) - {0}):
            weights[mask], bias[mask] = self.usual(mask, moments), [0] * k
            if self.bits.bit(self.fitted):
                bias[mask] = [cut(unzigzag(self.number("bias")), 1 << 24) for _ in range(k)]
                for r in sorted(weights[mask]):
                    weights[mask][r] = cut(weights[mask][r] + unzigzag(self.number("weight")), 1 << 16)
        means = [[(2 + s % 2) << s // 2] * k for s in begins]
        near, out, above, alone = [32] * 7, [], [], None
        held = lambda v, r: [frames[r][1][c][frames[r][2][v]] for c in range(k)]
        make = lambda v, w, b: [wrap(sum(w[r] * held(v, r)[c] for r in w) + 128 + 64 * b[c] >> 8, 32) for c in range(k)]
        apart = lambda a, b: sum(abs(wrap(x - y, 32)) for x, y in zip(a, b))
        ratio = lambda sum_, means: min(255, (sum_ << 13) // max(sum(means), 1))
        for v, mask in enumerate(masks):
            T, class_, two = [0] * k, min(len(inside(mask)), 2), inside(mask)[:2]
            if class_ == 2 and all(held(v, r) == held(v, two[0]) for r in inside(mask)):
                T = held(v, two[0])
            elif mask:
                T = make(v, weights[mask], bias[mask])
                if class_ == 2:
                    unrest = apart(held(v, two[0]), held(v, two[1])) // 4
                    if len(inside(mask)) > 2:
                        line = self.usual(1 << two[0] | 1 << two[1], moments)
                        unrest = apart(make(v, self.usual(mask, moments), [0] * k), make(v, line, [0] * k))
                    class_ = 3 + sum(unrest >= n * grain for n in (2, 8, 32))
            P = [0] * k
            if mask:
                if v and v not in starts and masks[v - 1]:
                    P = [along[0] * a // 64 for a in above[v - 1]]
            elif curves and v not in starts:
                P = list(out[v - 1])
                if v - 1 not in starts:
                    P = [p + along[1] * (p - q) // 64 for p, q in zip(P, out[v - 2])]
            elif alone is not None:
                P = list(out[alone])
            if v in starts if curves else not mask:
                alone = v
            mean, sum_, got = means[class_], 0, []
            for c in range(k):
                own = ratio(sum_, mean[:c]) if c else 32
                got.append(self.symbols.take(min(mean[c] * (64 + 3 * near[class_] + 3 * own) // 256, 1 << 28)))
                sum_ += min(abs(got[c]), 1 << 20)
            near[class_] = ratio(sum_, mean)
            means[class_] = [max(1, m + ((min(abs(r), 1 << 20) << 8) - m >> 4)) for m, r in zip(mean, got)]
            out.append([wrap(t + p + grain * r, 32) for t, p, r in zip(T, P, got)])
            above.append([wrap(o - t, 32) for o, t in zip(out[v], T)])
        return out


# mesh.md#chains
class Chain(Particles):
    """Links of a chain of particles or curves."""

    STILL = dict(ids=[], curves=[], count=0, run=-1, moves=None)

    def __init__(self, data, mesh_):
        super().__init__(data, mesh_)
        self.numbers.update({name: even(32) for name in ("grain", "memory", "constant", "linear", "square", "broken")})
        most, self.laws = lambda value: max(-(1 << 30), min(1 << 30, value)), []
        for record in mesh_["streams"]:
            law = dict(grain=min(self.number("grain"), 255) + 1, memory=min(self.number("memory"), 13) + 3, pull=[], broken=[])
            for _ in range(COMPONENTS[record["semantic"]]):
                law["pull"].append([most(unzigzag(self.number(n))) for n in ("constant", "linear", "square")])
                law["broken"].append([max(-4096, min(4096, w + unzigzag(self.number("broken")))) for w in (0, 256)])
            k = COMPONENTS[record["semantic"]]
            self.laws.append(dict(law, k=k, wide=8 * record["word"], missed=even(117), stops=even(36), some=even(23, 4, 4), longer=even(23, 4, 29)))

    # mesh.md#chains
    def link(self, before):
        """The frame after another."""
        m, kind = self.mesh, self.number("kind")
        f = dict(self.STILL, indices=[], ids=[], curves=[])
        need(kind < 3, "a frame of a chain of no kind")
        if kind == 1:
            self.points(f, [before])
        elif kind == 2:
            f.update({k: before[k] for k in ("run", "ids", "curves", "count")})
        need(f["count"] <= m["vertices"] and len(f["curves"]) <= (m["curves"] or dict(most=0))["most"], "too many points")
        where = {i: v for v, i in enumerate(before["ids"])}
        alike = not m["ids"] and before["run"] == f["run"] >= 0 and before["count"] == f["count"]
        at = [where.get(i) for i in f["ids"]] if m["ids"] else [v if alike else None for v in range(f["count"])]
        starts, first = set(), 0
        for length in f["curves"]:
            starts.add(first)
            first += length
        f["moves"], f["streams"] = [], []
        for s, law in enumerate(self.laws):
            was = [None if v is None or before["moves"] is None else before["moves"][s][v] for v in at]
            moves = self.stream(law, was, starts, bool(f["curves"])) if kind else []
            f["moves"].append(moves)
            f["streams"].append([[p[0][c] for p in moves] for c in range(law["k"])])
        return f

    # mesh.md#chains
    def stream(self, law, was, starts, curves):
        k, grain, out, near, born, start = law["k"], law["grain"], [], 0, None, None
        cut = lambda value: max(-(1 << 30), min(1 << 30, value))
        word = lambda value: value % (1 << law["wide"])
        for v, p in enumerate(was):
            if p is None:
                like = start if v in starts else born
                got = self.residual(law, 0)
                code = [word(q + grain * r) for q, r in zip(like or [0] * k, got)]
                out.append((code, [0] * k, [0] * k, (1, 3, 0)))
                born = code
            else:
                code, off, velocity, (frames, size, rest) = p
                moves, new = not rest and frames > 1, [0] * k
                if moves:
                    speed = math.isqrt(sum(x * x for x in velocity))
                    for c in range(k):
                        constant, linear, square = law["pull"][c]
                        drag = max(-(1 << 40), min(1 << 40, square * velocity[c] * speed >> 40))
                        new[c] = cut(velocity[c] + constant + (linear * velocity[c] >> 16) + drag)
                there = [256 * q + o for q, o in zip(code, off)]
                goal = [a + x for a, x in zip(there, new)]
                expected = [word(a + 128 >> 8) for a in goal]
                known = 31 + rest if rest else 4 * (min(frames, 8) - 1) + size
                if not self.bits.bit(law["missed"][3 * known + near]):
                    near = 0
                    out.append(self.moved(law, p, there, goal, new, expected, [0] * k, moves))
                else:
                    fastest = max(abs(x) for x in velocity) // (64 * grain) + 1
                    stop = 3 * min(fastest.bit_length() - 1, 11) + min(frames - 2, 2)
                    if moves and self.bits.bit(law["stops"][stop]):
                        near = 2
                        out.append((code, [0] * k, [0] * k, (1, 0, 1)))
                    else:
                        got = self.residual(law, 2 if rest else 1 if frames == 1 else 3 + 4 * min(frames - 2, 4) + size)
                        near = 1 if max(abs(r) for r in got) < 2 else 2
                        to = [word(e + grain * r) for e, r in zip(expected, got)]
                        out.append(self.moved(law, p, there, goal, new, to, got, moves))
            if curves:
                born = out[-1][0]
                start = born if v in starts else start
        return out

    # mesh.md#chains
    @staticmethod
    def moved(law, was, there, goal, new, code, got, moves):
        k, (frames, size, rest) = law["k"], was[3]
        cut = lambda value: max(-(1 << 30), min(1 << 30, value))
        largest = max(abs(r) for r in got)
        if not largest and rest:
            return (code, was[1], was[2], (frames, size, min(rest + 1, 7)))
        if not largest and not moves:
            return (code, [0] * k, [0] * k, (1, 0, 1))
        if largest > 8 or not moves:
            parts = law["broken"] if moves else [[0, 256]] * k
            step = [256 * q - a for q, a in zip(code, there)]
            velocity = [cut(a * x + b * d >> 8) for (a, b), x, d in zip(parts, was[2], step)]
            return (code, [0] * k, velocity, (2, min(largest.bit_length() - 1, 3), 0))
        n = min(frames + 1, law["memory"])
        place, pace = 512 * (2 * n - 1) // (n * (n + 1)), 1536 // (n * (n + 1))
        missed = [256 * law["grain"] * r for r in got]
        off = [cut(a + (d * place >> 8) - 256 * q) for a, d, q in zip(goal, missed, code)]
        velocity = [cut(x + (d * pace >> 8)) for x, d in zip(new, missed)]
        return (code, off, velocity, (n, (max(size - 1, 0), 1)[largest] if largest < 2 else 2, 0))

    # mesh.md#chains
    def residual(self, law, class_):
        got, longest = [], 0
        for c in range(law["k"]):
            length = int(self.bits.bit(law["some"][class_][c][min(longest, 3)]))
            while 0 < length < 30 and self.bits.bit(law["longer"][class_][c][length - 1]):
                length += 1
            plain = self.symbols.even(length)
            size = 1 << length - 1 | plain >> 1 if length else 0
            got.append(-size if plain & 1 else size)
            longest = max(longest, length)
        return got


# Triangles that change

# mesh.md#unit-of-changing-triangles
class Changing:
    """A unit of a mesh whose triangles change."""

    def __init__(self, data, mesh_):
        b = Bytes(data)
        self.bits, self.mesh = Chances(b.take(b.varint())), mesh_
        self.symbols = Symbols(data[b.at :])
        self.numbers = {name: even(32) for name in ("kind", "source", "run", "vertices", "points", "triangles", "frames", "own", "grain")}
        self.edge, self.left, self.new, self.right = even(4, 2, 2), even(10, 2), even(10, 2), even(10)
        self.near, self.back, self.length, self.seed_new, self.material = even(), even(), even(6), even(), even()
        self.other, self.split_new, self.this, self.loose = even(2, 2), even(), even(), even()

    # mesh.md#unit-of-changing-triangles
    def number(self, name):
        length = 0
        while length < 31 and self.bits.bit(self.numbers[name][length]):
            length += 1
        return (1 << length | self.bits.plain(length)) - 1

    # mesh.md#unit-of-changing-triangles
    def frame(self, references):
        """A frame; `references` are those that it may refer to."""
        m, kind = self.mesh, self.number("kind")
        empty = dict(indices=[], run=-1, streams=[[[] for _ in range(COMPONENTS[s["semantic"]])] for s in m["streams"]])
        if kind == 0:
            return empty
        need(self.number("source") <= m["source_points"], "too many points")
        if kind == 1:
            f = dict(run=self.number("run"), vertices=self.number("vertices"))
            f["points"] = f["vertices"] - self.number("points")
            triangles = self.number("triangles")
            need(f["vertices"] <= m["vertices"] and 3 * triangles <= m["indices"] and f["points"] >= 0, "too large")
            need(f["points"] == f["vertices"] or f["points"] <= m["points"], "points that are vertices")
            corners, materials = self.connectivity(f["points"], triangles)
            f["point"] = list(range(f["vertices"]))
            if f["points"] != f["vertices"]:
                corners = self.vertices(f, corners)
            by_material = sorted(range(triangles), key=lambda t: materials[t])
            f["indices"] = [v for t in by_material for v in corners[3 * t : 3 * t + 3]]
        else:
            need(kind - 2 < len(references) and references[kind - 2]["run"] >= 0, "the triangles of a frame that has none")
            f = dict(references[kind - 2])
        same = lambda r: all(r[k] == f[k] for k in ("vertices", "points", "run")) and len(r["indices"]) == len(f["indices"])
        alike = [r for r in references if r["run"] >= 0 and same(r)]
        f["streams"], around = [], {}
        for s, record in enumerate(m["streams"]):
            position, k = record["semantic"] == 0, COMPONENTS[record["semantic"]]
            split = position and f["points"] != f["vertices"]
            if split not in around:
                names = [f["point"][v] for v in f["indices"]] if split else f["indices"]
                around[split] = self.around(names, f["points"] if split else f["vertices"])
            first = [f["point"].index(p) for p in range(f["points"])] if split else range(f["vertices"])
            says, frames = None, []
            if record["semantic"] == 1:
                says = self.shade(f, record["bits"])
            else:
                frames = [[[r["streams"][s][c][v] for c in range(k)] for v in first] for r in alike]
            values = self.values(k, around[split], frames, says, 256 ** record["word"])
            planes_ = [[v[c] for v in values] for c in range(k)]
            f["streams"].append([[q[p] for p in f["point"]] for q in planes_] if split else planes_)
        return f

    def end(self):
        self.bits.end()
        self.symbols.end()

    # mesh.md#unit-of-changing-triangles
    def connectivity(self, points, triangles):
        bits, out, materials, count = self.bits, [], [], [0] * points
        next_, before, edges, queue, at, known = {}, {}, set(), [], {}, 0
        to = lambda h: out[h - h % 3 + (h + 1) % 3]
        open_ = lambda h: h in next_ and h not in edges

        def join(h, then):
            next_[h], before[then] = then, h

        def zip_(h):
            while open_(h):
                then = next_[h]
                if then == h or then in edges or out[h] != to(then):
                    return
                a, z = before[h], next_[then]
                del next_[h], next_[then]
                if a == then:
                    return
                join(a, z)
                h = a

        def far():
            need(known > 0, "a point before the first")
            back = bits.plain((known - 1).bit_length())
            need(back < known, "a point before the first")
            return known - 1 - back

        def take():
            nonlocal known
            need(known < points, "more points than there are")
            known += 1
            return known - 1

        def material(near):
            if len(self.mesh["materials"]) > 1 and bits.bit(self.material):
                near = bits.plain((len(self.mesh["materials"]) - 1).bit_length())
                need(near < len(self.mesh["materials"]), "a material that is not there")
            materials.append(near)

        last, oldest = None, 0
        while len(materials) < triangles:
            gate, last = (last if last is not None and open_(last) else None), None
            while gate is None and oldest < len(queue):
                gate = queue[oldest] if open_(queue[oldest]) else None
                oldest += 1
            t = 3 * len(materials)
            if gate is None:
                material(materials[-1] if materials else 0)
                out += [0, 0, 0]
                for k in range(3):
                    out[t + k] = take() if bits.bit(self.seed_new) else far()
                for k in range(3):
                    join(t + k, t + (k + 1) % 3)
            else:
                a, b, p, n = out[gate], to(gate), before[gate], next_[gate]
                l, r, sides = out[p], to(n), [int(p in edges), int(n in edges)]
                if bits.bit(self.edge[min(count[a], 3)][sides[0]][sides[1]]):
                    edges.add(gate)
                    continue
                if bits.bit(self.left[min(count[a], 9)][sides[0]]):
                    v, h = l, p
                elif bits.bit(self.new[min(count[b], 9)][sides[1]]):
                    v, h = take(), None
                elif bits.bit(self.right[min(count[b], 9)]):
                    v, h = r, next_[n]
                elif bits.bit(self.near):
                    back, length = bits.bit(self.back), 0
                    while length < 5 and bits.bit(self.length[length]):
                        length += 1
                    steps, h = (1 << length | bits.plain(length)) - 1, p if back else n
                    for _ in range(steps + 1 if back else steps + 2):
                        h = before[h] if back else next_[h]
                    v = out[h]
                else:
                    v = far()
                    h = at.get(v)
                out += [b, a, v]
                material(materials[gate // 3])
                meets = h is not None and v not in (a, b) and h in next_ and out[h] == v
                u = before[h] if meets else None
                del next_[gate]
                p, n = (t + 2, t + 1) if p == gate else (p, n)
                join(p, t + 1)
                join(t + 1, t + 2)
                join(t + 2, n)
                if meets:
                    join(t + 1, h)
                    join(u, t + 2)
                for e in (t + 1, t + 2):
                    if e in next_:
                        zip_(before[e])
                    if e in next_:
                        zip_(e)
            for h in range(t, t + 3):
                count[out[h]] += 1
                if open_(h):
                    at[out[h]] = h
                    queue.append(h)
            last = t + 1
        return out, materials

    # mesh.md#unit-of-changing-triangles
    def vertices(self, f, corners):
        """Vertices of corners of points."""
        bits, lists, out, point, was = self.bits, [[] for _ in range(f["points"])], [], [], 0
        for c, p in enumerate(corners):
            was, own = was if c % 3 else 0, lists[p]
            other = bool(own) and bits.bit(self.other[was][len(own) > 1])
            if not own or other and (len(own) < 2 or bits.bit(self.split_new)):
                v = len(point)
                point.append(p)
                own.insert(0, v)
            elif other:
                v = next((w for w in own[1:17] if bits.bit(self.this)), None)
                if v is None:
                    v = bits.plain((len(point) - 1).bit_length())
                    need(v < len(point) and point[v] == p, "a vertex of another point")
                else:
                    own.remove(v)
                    own.insert(0, v)
            else:
                v = own[0]
            was = int(other)
            out.append(v)
        used = max(corners, default=-1) + 1
        while len(point) < f["vertices"]:
            own = bits.bit(self.loose)
            p = used if own else bits.plain(f["points"].bit_length())
            used += own
            need(p < used <= f["points"], "a point that is not there")
            point.append(p)
        need(used == f["points"] and len(point) == f["vertices"], "points without vertices")
        f["point"] = point
        return out

    # mesh.md#unit-of-changing-triangles
    @staticmethod
    def around(names, count):
        """For each vertex the triangles that predict it, and neighbours."""
        corners = [[] for _ in range(count)]
        for h, v in enumerate(names):
            corners[v].append(h)
        following = lambda h: h - h % 3 + (h + 1) % 3
        twin = {}
        for h, v in enumerate(names):
            if h not in twin:
                back = (g for g in corners[names[following(h)]][:24] if g not in twin and g != h and names[following(g)] == v)
                g = next(back, None)
                if g is not None:
                    twin[h], twin[g] = g, h
        out = []
        for v in range(count):
            triangles, neighbours = [], []
            for h in corners[v][:24]:
                across = following(h)
                b, c = names[across], names[following(across)]
                for n in (b, c):
                    if n < v and n not in neighbours and len(neighbours) < 4:
                        neighbours.append(n)
                if b < v and c < v and across in twin and len(triangles) < 4:
                    a = names[following(following(twin[across]))]
                    if a < v:
                        triangles.append((b, c, a))
            out.append((triangles, neighbours))
        return out

    # mesh.md#unit-of-changing-triangles
    def values(self, k, around, frames, says, modulus):
        signed = lambda name: max(-(1 << 16), min(1 << 16, unzigzag(self.number(name))))
        grain = min(self.number("grain"), 255) + 1
        w = [signed("frames") for _ in frames]
        single, several, whole = [signed("own"), signed("own")], [signed("own"), signed("own")], signed("own")
        above, large, mean, out = [], [], [4096] * k, []
        ratio = lambda sum_, means: min(255, (sum_ << 13) // max(sum(means), 1))
        for v, (triangles, neighbours) in enumerate(around):
            if says:
                T = says[v]
            elif frames:
                T = [sum(x * frame[v][c] for x, frame in zip(w, frames)) + 128 >> 8 for c in range(k)]
            else:
                T = [0] * k
            if triangles:
                edge, apex = several if len(triangles) > 1 else single
                total = [sum(edge * (above[b][c] + above[d][c]) + apex * above[a][c] for b, d, a in triangles) for c in range(k)]
                P = [x // (64 * len(triangles)) for x in total]
                near = [large[x] for t in triangles[:2] for x in t[:2]]
            elif neighbours:
                P = [whole * sum(above[n][c] for n in neighbours) // (64 * len(neighbours)) for c in range(k)]
                near = [large[n] for n in neighbours]
            else:
                P = list(above[v - 1]) if v else [0] * k
                near = [large[v - 1]] if v else [32]
            near, sum_, got = sum(near) // len(near), 0, []
            for c in range(k):
                own = ratio(sum_, mean[:c]) if c else 32
                got.append(self.symbols.take(min(mean[c] * (64 + 3 * near + 3 * own) // 256, 1 << 28)))
                sum_ += min(abs(got[c]), 1 << 20)
            large.append(ratio(sum_, mean))
            mean = [max(1, m + ((min(abs(r), 1 << 20) << 8) - m >> 4)) for m, r in zip(mean, got)]
            above.append([wrap(p + grain * r, 32) for p, r in zip(P, got)])
            out.append([(t + a) % modulus for t, a in zip(T, above[v])])
        return out

    # mesh.md#octahedral
    @staticmethod
    def shade(f, bits):
        """Levels of the normals that the positions say."""
        x, y, z = f["streams"][0]
        sums = [[0, 0, 0] for _ in range(f["vertices"])]
        for t in range(0, len(f["indices"]), 3):
            corners = f["indices"][t : t + 3]
            a, b, c = [(x[v], y[v], z[v]) for v in corners]
            u, w = [[q[i] - a[i] for i in range(3)] for q in (b, c)]
            n = [u[(i + 1) % 3] * w[(i + 2) % 3] - u[(i + 2) % 3] * w[(i + 1) % 3] for i in range(3)]
            for v in corners:
                sums[v] = [wrap(s + m, 64) for s, m in zip(sums[v], n)]
        half = (1 << bits - 1) - 1

        def direction(levels):
            p, q = [F((min(level, 2 * half) - half) / half) for level in levels]
            r = F(F(1 - abs(p)) - abs(q))
            if r < 0:
                p, q = F(F(1 - abs(q)) * math.copysign(1, p if p else 1)), F(F(1 - abs(p)) * math.copysign(1, q if q else 1))
            length = F(math.sqrt(F(F(F(p * p) + F(q * q)) + F(r * r))))
            return [F(i / length) for i in (p, q, r)]

        def level(n):
            n = [F(i) for i in n]
            length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            if not length > 0:
                return [half, half]
            n = [i / length for i in n]
            total = abs(n[0]) + abs(n[1]) + abs(n[2])
            p, q = n[0] / total, n[1] / total
            if n[2] < 0:
                p, q = math.copysign(1 - abs(q), p), math.copysign(1 - abs(p), q)
            p, q = [int(min(max(math.floor((i + 1) * half), 0), 2 * half - 1)) for i in (p, q)]

            def miss(levels):
                d = [i - j for i, j in zip(direction(levels), n)]
                return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]

            return min([[p, q], [p + 1, q], [p, q + 1], [p + 1, q + 1]], key=miss)

        return [level(n) for n in sums]


# clip.md#moving-nodes
class Nodes:
    """Transforms of all moving nodes, as a clip."""

    def __init__(self, d):
        chances = Chances(d["tracks"])
        plain = lambda n: sum(chances.bit([1 << 15] * 2) << k for k in range(n))
        base = struct.unpack("<f", struct.pack("<I", plain(32)))[0]
        need(1e-30 < base < 1e30, "steps of nodes out of range")
        self.packed = plain(1)
        nodes = d["nodes"]
        boxes = [[math.inf] * 3 + [-math.inf] * 3 for _ in nodes]
        widen = lambda into, low, high: [min(a, b) for a, b in zip(into, low)] + [max(a, b) for a, b in zip(into[3:], high)]
        for n, node_ in reversed(list(enumerate(nodes))):
            if node_["mesh"] >= 0:
                bounds = d["meshes"][node_["mesh"]]["bounds"]
                boxes[n] = widen(boxes[n], bounds[:3], bounds[3:])
            elif node_["reach"] is not None:
                reach = node_["reach"]
                boxes[n] = widen(boxes[n], [-reach] * 3, [reach] * 3)
            own, above = boxes[n], node_["parent"]
            if above < 0 or not all(own[k] <= own[k + 3] for k in range(3)):
                continue
            m = matrix(node_["rest"])
            for corner in range(8):
                p = [own[k + 3 * (corner >> k & 1)] for k in range(3)]
                at = [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] for row in m]
                boxes[above] = widen(boxes[above], at, at)
        moves, pivots, same, codes = [[1 << 15] * 2 for _ in range(24)], [[1 << 15] * 2 for _ in range(2)], [1 << 15] * 2, {}
        last = [1, 1, 0], 1, 128
        self.tracks = []
        for n, node_ in enumerate(nodes):
            if not node_["animated"]:
                continue
            moving, seen = [], 0
            for i in range(3):
                moving.append(chances.bit(moves[8 * i + 2 * seen + last[0][i]]))
                seen = seen << 1 | moving[-1]
            pivot, code = chances.bit(pivots[last[1]]), last[2]
            if chances.bit(same):
                code = 1
                while code < 256:
                    code = code << 1 | chances.bit(codes.setdefault(code, [1 << 15] * 2))
                code -= 256
            last = moving, pivot, code
            self.tracks.append(self.track(node_["rest"], boxes[n], base, moving, pivot, code))
        self.rest = [(self.words_of(t, t["rest"]), [0, 0]) for t in self.tracks]
        kinds = [[n for n, t in enumerate(self.tracks) if t["moves"] == [k & 1, k >> 1 & 1, k >> 2]] for k in range(8)]
        self.eights = [kind[i : i + 8] for kind in kinds for i in range(0, len(kind), 8)]

    # clip.md#moving-nodes
    def track(self, rest, space, base, moves, pivot, code):
        quarter = [1.0, 1.189207115002721, math.sqrt(2), 1.681792830507429][code & 3]
        step = base * 2.0 ** ((code >> 2) - 32) * quarter
        p = [(space[k] + space[k + 3]) * 0.5 for k in range(3)]
        if not pivot or not all(abs(v) < 1e30 for v in p):
            p = [0.0] * 3
        scales = [abs(v) or 1.0 for v in rest[7:]]
        reach = [max(abs(space[k] - p[k]), abs(space[k + 3] - p[k])) * scales[k] for k in range(3)]
        usable = lambda v: 1e-30 < v < 1e30
        lever = [math.sqrt(reach[a] * reach[a] + reach[b] * reach[b]) for a, b in ((1, 2), (0, 2), (0, 1))]
        rotation = [min(max(step / v, 5e-7), 0.5) if usable(v) else 0.5 for v in lever]
        scale = [min(max(step / h * s if usable(h) else s, 1e-9), 1e9) for h, s in zip(reach, scales)]
        t = dict(rest=rest, moves=moves, pivot=p, step=step, rotation=rotation, scale=scale)
        t["turn"] = [v * 2.0**-7 for v in rotation]
        t["origin"] = [a + b for a, b in zip(rest[4:7], self.matrix_arm(rest, p))]
        return t

    # clip.md#moving-nodes
    @staticmethod
    def matrix_arm(transform, p):
        return [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] for row in matrix(transform)]

    # clip.md#moving-nodes
    @staticmethod
    def arm(transform, near, p):
        q, v = transform[:4], [s * k for s, k in zip(transform[7:], p)]
        cross_ = lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        twice = (4.0 - inner(q, q)) - inner(q, q) if near else 2.0 / max(inner(q, q), 1e-30)
        u = [c + q[3] * k for c, k in zip(cross_(q, v), v)]
        return [k + twice * c for k, c in zip(v, cross_(q, u))]

    # clip.md#moving-nodes
    def words_of(self, t, transform):
        """Words of what moves: translation, rotation, scale."""
        unit, arm = t["step"] / 32, self.matrix_arm(transform, t["pivot"])
        place = [sized((transform[4 + k] + arm[k] - t["origin"][k]) / unit + 0.5) for k in range(3)]
        scale = [sized(transform[7 + k] * 32.0 / t["scale"][k] + 0.5) for k in range(3)]
        all_ = [place, in_30_bits(transform[:4]), scale]
        return [words if moves else None for words, moves in zip(all_, t["moves"])]

    # clip.md#moving-nodes
    def transform(self, t, words):
        out = list(t["rest"])
        if words[1]:
            out[:4] = [f32(v * (1.0 / 1073741824.0)) for v in words[1]]
        if words[2]:
            out[7:] = [f32(w * (s / 32)) for w, s in zip(words[2], t["scale"])]
        if words[0]:
            arm = self.arm(out, t["moves"][1], t["pivot"]) if any(t["pivot"]) else [0.0] * 3
            unit = t["step"] / 32
            out[4:7] = [f32((o + w * unit) - a) for o, w, a in zip(t["origin"], words[0], arm)]
        return tuple(out)

    # clip.md#moving-nodes
    def unit(self, data, schedule, frames, find):
        """Per frame its states and transforms; `find` gives the states of frames decoded before."""
        source = Packed(data, len(self.eights) * len(frames)) if self.packed else States(data)
        empty = lambda: ([None] * len(self.tracks), [None] * len(self.tracks))
        done = {f: empty() for f in frames}
        state_of = lambda f: done[f][0] if f in done else find(f)
        around = [self.around(schedule, frames, i) for i in range(len(frames))]
        for eight in self.eights:
            for f, (references, level, weights, beside) in zip(frames, around):
                states = [state_of(r) for r in references] or [self.rest]
                states += [states[0]] * (4 - len(states))
                beside = beside is not None and state_of(beside)
                contexts = [(level, states[0][n][1], states[min(1, len(references) - 1) if references else 0][n][1],
                             beside and beside[n][1]) for n in eight]
                moves = self.tracks[eight[0]]["moves"]
                if self.packed:
                    coded = [(*each, [0, 0]) for each in source.eight(len(eight), moves)]
                else:
                    coded = source.eight(moves, contexts)
                for n, (raw, kappas, means) in zip(eight, coded):
                    t = self.tracks[n]
                    words = self.words_of(t, raw) if raw else self.moved(t, [s[n][0] for s in states], weights, kappas)
                    done[f][0][n] = words, means
                    done[f][1][n] = raw or self.transform(t, words)
        source.end()
        return done

    # clip.md#moving-nodes
    @staticmethod
    def around(schedule, frames, i):
        """The frames that one is predicted from, its level, their weights, and the frame beside."""
        f = frames[i]
        key = schedule.depths[f] == 0
        references = [r for r in schedule.references(f) if not (key and r == 0)][: 1 if key else 4]
        if key:
            return references, 4 if references or f == 0 else 5, [1 << 16, 0, 0, 0], None
        at = [r - f for r in references]
        weights = []
        for k, a in enumerate(at):
            others = [o for j, o in enumerate(at) if j != k]
            over, under = math.prod(-o for o in others) << 16, math.prod(a - o for o in others)
            weights.append(abs(over) // abs(under) * (1 if (over < 0) == (under < 0) else -1))
        weights[0] += (1 << 16) - sum(weights)
        beside = frames[i - 1] if i and schedule.depths[frames[i - 1]] == schedule.depths[f] else None
        return references, (at[1] - at[0] - 1).bit_length() - 1, weights + [0] * (4 - len(weights)), beside

    # clip.md#moving-nodes
    @staticmethod
    def moved(t, around, weights, kappas):
        """Words moved on by κ from those of four frames."""
        words, left = [], list(kappas)
        for part_ in range(3):
            if not t["moves"][part_]:
                words.append(None)
                continue
            own, left = left[:3], left[3:]
            before = [a[part_] for a in around]
            if part_ == 1:
                words.append(rotated(before, weights, [k * s for k, s in zip(own, t["turn"])]))
            else:
                predicted = [sum(w * b[k] for w, b in zip(weights, before)) >> 16 for k in range(3)]
                words.append([cut(p + k) for p, k in zip(predicted, own)])
        return words



# clip.md#symbols-of-moving-nodes
class States:
    """Residuals of moving nodes as symbols of up to eight states."""

    def __init__(self, data):
        b = Bytes(data)
        self.kind = b.get("B")
        need(self.kind <= 4, "a number of states")
        count = 0 if self.kind == 4 else 1 << self.kind
        self.states = [b.get("I") for _ in range(count)]
        self.words = b if self.kind < 4 else b.end()

    # clip.md#symbols-of-moving-nodes
    def filled(self, lane, state):
        if state < 1 << 16:
            left = len(self.words.data) - self.words.at
            state = state << 16 | (self.words.get("H") if left > 1 else 0)
        self.states[lane % len(self.states)] = state

    # clip.md#symbols-of-moving-nodes
    def even(self, lane, bits):
        state = self.states[lane % len(self.states)]
        self.filled(lane, state >> bits)
        return state & ((1 << bits) - 1)

    # clip.md#symbols-of-moving-nodes
    def symbol(self, lane, row):
        state = self.states[lane % len(self.states)]
        slot, symbol, start = state & 4095, 0, 0
        while slot >= start + row[symbol]:
            start, symbol = start + row[symbol], symbol + 1
        self.filled(lane, row[symbol] * (state >> 12) + slot - start)
        return symbol

    # clip.md#symbols-of-moving-nodes
    def eight(self, moves, contexts):
        """For each node its transform or None, κ, and means."""
        out, slots = [], [min(part_, 1) for part_ in range(3) if moves[part_] for _ in range(3)]
        if self.kind == 4:
            return [(None, [0] * len(slots), [0, 0])] * len(contexts)
        classes, means, raw = [], [], {}
        for lane, (level, first, second, beside) in enumerate(contexts):
            mean = [(a + b) >> 1 for a, b in zip(first, second)]
            moving = level == 5 or sum(mean) + (sum(beside) if beside else 0) > 0
            kind = self.symbol(lane, bucket(60 if moving else 8)[0])
            need(kind <= 7, "a class of moving nodes")
            classes.append(kind ^ (moving and kind < 2))
            means.append(mean)
        for lane in [n for n, kind in enumerate(classes) if kind == 7]:
            halves = [self.even(lane, 16) for _ in range(20)]
            raw[lane] = struct.unpack("<10f", struct.pack("<20H", *halves))
            need(all(map(math.isfinite, raw[lane])), "a transform that is none")
        kappas = [[0] * len(slots) for _ in contexts]
        active = [n for n, kind in enumerate(classes) if 0 < kind < 7]
        for c, slot in enumerate(slots):
            found = []
            for lane in active:
                level, _, _, beside = contexts[lane]
                row = EXPECTED[4 * level + 2 * bool(beside) + (c > 0)]
                sigma = row[0] + row[1] * means[lane][slot] + (row[2] * beside[slot] if beside else 0)
                if c:
                    sigma += row[3] * (sum(map(abs, kappas[lane][:c])) * -(-65536 // c) >> 16)
                table_, low = bucket(min(sigma << (classes[lane] - 1) >> 3, 1 << 24))
                found.append((lane, self.symbol(lane, table_), low))
            for lane, v, low in found:
                if v == 15:
                    bits = 2
                    while bits < 28 and self.even(lane, 1):
                        bits += 1
                    of_low = self.even(lane, min(bits, 14))
                    v += (1 << bits | self.even(lane, bits - min(bits, 14)) << 14 | of_low) - 4
                even_ = self.even(lane, low + (low > 0 or v > 0))
                negative = even_ >> low & 1
                v = (v << low | even_ & ((1 << low) - 1)) & 0x0FFFFFFF
                k = (-1 - v if low else -v) if negative else v
                kappas[lane][c] = max(-(1 << 28), min(1 << 28, k * (32 >> (classes[lane] - 1))))
        for lane, kind in enumerate(classes):
            sums = [[abs(k) for k, slot in zip(kappas[lane], slots) if slot == s] for s in range(2)]
            mean = [min(sum(s) * -(-65536 // len(s)) >> 16, 0xFFFF) if s and kind else 0 for s in sums]
            out.append((raw.get(lane), kappas[lane], [1 << 12] * 2 if kind == 7 else mean))
        return out

    # clip.md#symbols-of-moving-nodes
    def end(self):
        need(all(state == 1 << 16 for state in self.states), "residuals that do not end where their bytes do")
        if self.kind < 4:
            self.words.end()


# clip.md#packed-moving-nodes
class Packed:
    """Residuals of moving nodes in bits."""

    def __init__(self, data, eights):
        b = Bytes(data)
        kind = b.get("B")
        need(kind <= 1, "a kind of unit")
        flags = b.take((eights + 7) // 8) if kind else bytes((eights + 7) // 8)
        self.flags = [flags[i // 8] >> i % 8 & 1 for i in range(8 * len(flags))]
        need(not any(self.flags[eights:]), "flags of no nodes")
        self.codes, self.apart = [Bytes(b.take(b.varint()) if kind else b"") for _ in range(2)]
        self.fields, self.at = Bytes(b.take(len(data) - b.at)), 0

    # clip.md#packed-moving-nodes
    def eight(self, count, moves):
        """For each of so many nodes its transform or None, and κ."""
        parts, flag, self.at = sum(moves), self.flags[self.at], self.at + 1
        if not flag:
            return [(None, [0] * 3 * parts)] * count
        nibbles = lambda n: [n >> 4 * lane & 15 for lane in range(8)]
        codes = [nibbles(self.codes.get("I")) for _ in range(max(parts, 1))][:parts or 1]
        widths = [[WIDTHS[c] for c in of_part] for of_part in codes]
        bits, used, out = 0, 0, []
        size = (3 * sum(map(sum, widths)) + 7) // 8
        bits = int.from_bytes(self.fields.take(size), "little")
        for lane in range(8):
            kappas = []
            for part_ in range(parts):
                w = widths[part_][lane]
                for _ in range(3):
                    v = bits >> used & ((1 << w) - 1)
                    kappas.append(32 * (v - (v >> w - 1 << w) if w else 0))
                    used += w
            raw = None
            if codes[0][lane] == 15 and lane < count:
                kind = self.apart.get("B")
                need(1 <= kind <= 7, "a class of moving nodes")
                if kind == 7:
                    raw = self.apart.get("10f")
                    need(all(map(math.isfinite, raw)), "a transform that is none")
                else:
                    numbers_ = [unzigzag(self.apart.varint()) for _ in kappas]
                    kappas = [max(-(1 << 28), min(1 << 28, k * (32 >> kind - 1))) for k in numbers_]
            out.append((raw, kappas))
        return out[:count]

    def end(self):
        self.codes.end()
        self.apart.end()
        self.fields.end()


# Clips

# clip.md#skeletons-and-clips
def skeleton_record(data):
    b = Bytes(data)
    b.text()
    out = dict(names=[], parents=[], rest=[], shell=[])
    for j in range(b.varint()):
        out["names"].append(b.text())
        out["parents"].append(b.varint() - 1)
        need(out["parents"][-1] < j, "a parent that does not come before its joint")
        flags = b.get("B")
        need(flags < 8, "flags of a joint")
        rotation = list(b.get("4f")) if flags & 1 else [0.0, 0.0, 0.0, 1.0]
        translation = list(b.get("3f"))
        scale = list(b.get("3f")) if flags & 1 else [1.0] * 3
        out["rest"].append(rotation + translation + scale)
        out["shell"].append(b.get("f"))
        if flags & 2:
            b.get("d")
        if flags & 4:
            need(b.get("B") < 6, "an order of axes")
        b.take(12 * b.varint())
    b.end()
    return out


# clip.md#skeletons-and-clips
def clip_record(data):
    b = Bytes(data)
    out = dict(name=b.text(), skeleton=b.varint())
    flags = b.get("B")
    need(flags < 16 and flags & 3 < 3, "a codec of clips")
    out["codec"] = ["sampled", "curve", "random-access"][flags & 3]
    asked, out["tolerance"] = b.get("dd")
    need(0 < asked <= out["tolerance"] < math.inf, "a tolerance")
    if flags & 8:
        held = [b.varint() for _ in range(b.varint())]
        need(all(x < y for x, y in zip(held, held[1:])), "held sub-tracks out of order")
    out["stored"] = data[b.at :]
    return out


# clip.md#side-information
def side_information(data, joints):
    """The header of a clip: samples, rate, steps, and the kind of each sub-track with its constants."""
    bits = Chances(data)
    float_ = lambda: struct.unpack("<f", struct.pack("<I", bits.plain(32)))[0]
    double = lambda: struct.unpack("<d", struct.pack("<II", bits.plain(32), bits.plain(32)))[0]
    part_ = lambda: wrap(bits.plain(21), 21)
    sized_ = lambda: bits.plain(bits.plain(5) + 1)
    of = {}

    def tree(name, count):
        chances, node_ = of.setdefault(name, even(1 << count)), 1
        for _ in range(count):
            node_ = 2 * node_ + bits.bit(chances[node_])
        return node_ - (1 << count)

    def quaternion():
        largest, p = bits.plain(2), [part_() / (1048576.0 * math.sqrt(2)) for _ in range(3)]
        p.insert(largest, math.sqrt(max(0.0, 1.0 - p[0] * p[0] - p[1] * p[1] - p[2] * p[2])))
        length = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
        return [v / length for v in p]

    def axis():
        x, y = part_() / 1048575.0, part_() / 1048575.0
        z = 1.0 - abs(x) - abs(y)
        if z < 0:
            x, y = (1.0 - abs(y)) * (-1 if x < 0 else 1), (1.0 - abs(x)) * (-1 if y < 0 else 1)
        length = math.sqrt(x * x + y * y + z * z)
        return [x / length, y / length, z / length]

    def vector(name):
        kind = tree(name, 2)
        need(kind < 3, "a kind of sub-track")
        return [float_() for _ in range(3)] if kind == 1 else kind

    h = dict(samples=bits.plain(32), fps=double(), start=double(), base=float_(), spread=bits.plain(4), layers=[])
    need(h["samples"] > 0 and 0 < h["fps"] < math.inf and 1e-18 < h["base"] < 1e18, "a clip's header")
    log, h["tiers"], keys = bits.plain(3), 0, []
    if log == 7:
        log, h["tiers"] = bits.plain(3), bits.plain(3)
        if bits.plain(1):
            h["layers"] = [bits.plain(4) for _ in range(joints)]
        for _ in range(sized_()):
            keys.append((keys[-1] if keys else 0) + sized_())
    need(log < 7, "segments of a clip")
    h["log"], last = log + 1, h["samples"] - 1
    h["keys"] = sorted({*range(0, last, 1 << h["log"]), last, *keys})
    need(h["keys"][-1] == last, "a key that is no sample")
    h["fine"] = [tree("fine", 6) - 32 for _ in range(joints)] if bits.plain(1) else [0] * joints
    h["rotations"], h["translations"], h["scales"], components = [], [], [], 0
    for _ in range(joints):
        kind = tree("rotation", 3)
        need(kind < 5, "a kind of rotation")
        more = [quaternion()] if 0 < kind < 4 else []
        more += [axis() for _ in range(kind - 1)] if kind in (2, 3) else []
        h["rotations"].append((kind, *more))
        h["translations"].append(vector("translation"))
        h["scales"].append(vector("scale"))
        components += [0, 0, 1, 2, 3][kind] + 3 * (h["translations"][-1] == 2) + 3 * (h["scales"][-1] == 2)
    there, h["starts"], h["sources"] = even(2), [], []
    for c in range(components):
        h["starts"].append(tree("start", 5))
        h["sources"].append([])
        for slot in range(2):
            if not bits.bit(there[slot]):
                break
            count = tree("distance", 5)
            distance, weight = 1 << count | bits.plain(count), tree("weight", 7) - 64
            need(distance <= c and weight not in (-64, 0), "a source of a component")
            h["sources"][c].append((c - distance, weight))
    bits.end()
    return h


# clip.md#streamed-form
def times(a, b):
    """The product of two quaternions."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return [aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz]


# clip.md#steps
def clip_steps(skeleton, h, layer=None):
    """Of each joint the axes, and the steps of rotation, translation and scale."""
    own = lambda j: layer is None or h["layers"][j] == layer
    rotation = lambda j: h["rotations"][j] if own(j) else (0,)
    length = lambda v: math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    cross_ = lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    reach = list(skeleton["shell"])
    points = [[[s, 0.0, 0.0], [0.0, s, 0.0], [0.0, 0.0, s]] for s in reach]
    for j in reversed(range(len(reach))):
        parent = skeleton["parents"][j]
        if parent < 0:
            continue
        constant = h["translations"][j] if own(j) and isinstance(h["translations"][j], list) else None
        offset = constant or skeleton["rest"][j][4:7]
        reach[parent] = max(reach[parent], length(offset) + reach[j])
        points[parent].append(list(offset))
        kind, *more = rotation(j)
        if kind != 4:
            r = more[0] if kind else skeleton["rest"][j][:4]
            for p in points[j]:
                q = times(times(r, [*p, 0.0]), [-r[0], -r[1], -r[2], r[3]])
                points[parent].append([q[k] + offset[k] for k in range(3)])
        del points[parent][64:]

    def power(x, n):
        out, root = 1.0, x
        for bit in (3, 2, 1, 0):
            root = math.sqrt(root)
            if n >> bit & 1:
                out *= root
        return x if n == 16 else out

    out, eta = [], min(h["spread"], 15)
    for j, all_ in enumerate(points):
        a = [[0.0] * 3 for _ in range(3)]
        for p in all_:
            square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2]
            for r in range(3):
                for c in range(3):
                    a[r][c] += (square if r == c else 0.0) - p[r] * p[c]
        least = skeleton["shell"][j] * math.sqrt(2.0 / 3.0)
        axes = eigenvectors(a)
        kind, *more = rotation(j)
        axes[: max(0, kind - 1) if kind < 4 else 0] = more[1:]
        fine = h["fine"][j]
        base = 1.0 if fine % 2 == 0 else math.sqrt(0.5)
        for _ in range(abs(fine // 2)):
            base *= 0.5 if fine > 0 else 2.0
        base *= h["base"]
        step = lambda lever: base / (power(lever, 16 - eta) * power(reach[j], eta))
        lever = [max(least, *(length(cross_(b, p)) for p in all_)) for b in axes]
        far = max(least, *(length(p) for p in all_))
        out.append((axes, [min(max(step(l), 5e-7), 0.5) for l in lever], base, step(far)))
    if h["layers"] and layer is None:
        each = [clip_steps(skeleton, h, l) for l in range(max(h["layers"]) + 1)]
        return [each[l][j] for j, l in enumerate(h["layers"])]
    return out


# clip.md#steps
def eigenvectors(a):
    v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for _ in range(12):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(a[p][q]) <= (abs(a[p][p]) + abs(a[q][q])) * 1e-15:
                continue
            theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q])
            t = (-1.0 if theta < 0 else 1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
            c = 1.0 / math.sqrt(t * t + 1.0)
            s = t * c
            for k in range(3):
                a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
            for k in range(3):
                a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
                v[p][k], v[q][k] = c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]
    return v


# clip.md#streamed-form
class Streamed:
    """A clip, or a layer of one, whose samples are predicted from others: local transforms at its samples."""

    FACTORS = [8, 12, 21, 36, 56, 80, 110, 500]
    KEYS = 7

    def __init__(self, skeleton, header):
        self.h = h = side_information(header, len(skeleton["parents"]))
        self.samples, steps = h["samples"], clip_steps(skeleton, h)
        self.still, self.groups, self.rest, of_joint, c = [], [], [], {}, 0
        for j, rest in enumerate(skeleton["rest"]):
            rotation, translation, scale = h["rotations"][j], h["translations"][j], h["scales"][j]
            still = [*rest[:4], *(translation if isinstance(translation, list) else rest[4:7]),
                     *(scale if isinstance(scale, list) else rest[7:])]
            if rotation[0] == 1:
                still[:4] = [f32(v) for v in rotation[1]]
            self.still.append(still)
            axes, turns, step, scale_step = steps[j]
            above, own = skeleton["parents"][j], c
            while above >= 0 and above not in of_joint:
                above = skeleton["parents"][above]
            parent = of_joint.get(above, (0, 0))
            away = lambda v: math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)
            for kind, count in ((3, 3 * (translation == 2)), (rotation[0] - 2, [0, 0, 1, 2, 3][rotation[0]]), (4, 3 * (scale == 2))):
                if not count:
                    continue
                turn_ = [[away(turns[i] * v * 2.0**34) for v in axes[i]] for i in range(3)] if kind == 2 else \
                    [away(turns[i] / math.tau * 2.0**40) for i in range(count)] if kind < 2 else []
                first = in_30_bits(rest[:4]) if kind == 2 else [0] * count
                unit_ = (step if kind == 3 else scale_step) / 32
                more = rotation[1:2] + tuple(axes) if kind < 2 else ()
                self.rest.append(first)
                self.groups.append(dict(joint=j, kind=kind, first=c, count=count, own=own, parent=parent, turn=turn_,
                                        unit=unit_, axes=more))
                c += count
            if c > own:
                of_joint[j] = own, c
        self.components, self.tiers, self.words = c, [{} for _ in range(h["tiers"] + 1)], {}

    # clip.md#streamed-form
    def read_keys(self, data):
        symbols, before, calm = Symbols(data), self.rest, [64] * self.components
        means = self.means_at_first()
        for key in self.h["keys"]:
            before, _ = self.sample(symbols, means, self.KEYS, [calm, calm], [before], [1 << 16])
            self.words[key] = before
        symbols.end()

    # clip.md#layers-and-tiers
    def read_segments(self, b, tier, first, count):
        """The bytes that a tier has of so many segments."""
        sizes = [b.varint() for _ in range(count)]
        for s, size in enumerate(sizes):
            self.tiers[tier][first + s] = b.take(size)

    # clip.md#order-of-samples
    def read_samples(self):
        """All samples, once the bytes of all segments are there."""
        keys, log, more = self.h["keys"], self.h["log"], self.h["tiers"]
        for s, (start, end) in enumerate(zip(keys, keys[1:])):
            means, length = self.means_at_first(), end - start
            symbols = [Symbols(tier[s]) if s in tier else None for tier in self.tiers]
            ratios = {t: [64] * self.components for t in (0, length)}
            words = {0: self.words[start], length: self.words[end]}
            for level in reversed(range(log)):
                h = 1 << level
                for t in range(h, length, 2 * h):
                    at = [t - h, min(t + h, length)] + ([t - 3 * h] if t >= 3 * h else [])
                    far = min(t + 3 * h, length)
                    at += [far] if far >= at[1] + h else []
                    own = symbols[max(0, more - level)]
                    words[t], ratios[t] = self.sample(
                        own, means, level, [ratios[at[0]], ratios[at[1]]], [words[a] for a in at], self.weights(at, t))
            for own in symbols:
                if own:
                    own.end()
            self.words.update({start + t: own for t, own in words.items()})

    # clip.md#order-of-samples
    @staticmethod
    def weights(at, t):
        out = []
        for a in at:
            over = math.prod(t - o for o in at if o != a) << 16
            under = math.prod(a - o for o in at if o != a)
            out.append(abs(over) // abs(under) * (1 if (over < 0) == (under < 0) else -1))
        out[0] += (1 << 16) - sum(out)
        return out

    # clip.md#residuals
    def means_at_first(self):
        base = [((362 if start & 1 else 256) << start // 2 >> 4) for start in self.h["starts"]]
        return [[[max(mean * factor >> 3, 1), 0] for factor in self.FACTORS] for mean in base]

    # clip.md#residuals
    def sample(self, symbols, means, level, around, words, weights):
        """Words and ratios of a sample that is predicted from others."""
        ratios, total, count, kappas, out = [64] * self.components, 0, 0, [], []
        shift = symbols.take(16) if symbols else -1
        need(-1 <= shift <= 5, "steps of a sample out of range")
        mean_of = lambda list_: sum(list_) * -(-65536 // len(list_)) >> 16 if list_ else 64
        for n, g in enumerate(self.groups):
            own = []
            p, f = mean_of(ratios[slice(*g["parent"])]), total // count if count else 64
            for c in range(g["first"], g["first"] + g["count"]):
                k = 0
                if shift >= 0:
                    mean, seen = means[c][level]
                    weight = 77 * 64 + 56 * (around[0][c] + around[1][c] >> 1) + 46 * mean_of(ratios[g["own"] : c]) + 26 * p + 51 * f
                    k = symbols.take(min(mean * weight >> 14, 1 << 28))
                    ratio = min((min(abs(k), 1 << 16) << 14) // max(mean, 16), 256)
                    ratios[c], total, count = min(ratio, 255), total + ratio, count + 1
                    factor = [102, 73, 57, 47, 39][seen] if seen < 5 else 38
                    means[c][level] = [max(mean + ((256 * min(abs(k), 1 << 22) - mean) * factor >> 8), 1), seen + 1]
                    k = k * (32 >> shift) + sum(w * kappas[s] + 16 >> 5 for s, w in self.h["sources"][c])
                kappas.append(max(-(1 << 28), min(1 << 28, k)) if shift >= 0 else 0)
                own.append(kappas[-1])
            out.append(self.moved(g, [w[n] for w in words], weights, own))
        return out, ratios

    # clip.md#streamed-form
    @staticmethod
    def moved(g, around, weights, kappas):
        """Words of a sub-track: the prediction, moved on."""
        if g["kind"] > 2:
            predicted = [wrap(sum(w * a[k] for w, a in zip(weights, around)) >> 16, 32) for k in range(3)]
            return [cut(p + k) for p, k in zip(predicted, kappas)]
        if g["kind"] < 2:
            out = []
            for k, (kappa, turn_) in enumerate(zip(kappas, g["turn"])):
                first = around[0][k]
                off = sum(w * wrap(a[k] - first, 32) for w, a in zip(weights, around)) >> 16
                out.append(wrap(first + off + (kappa * turn_ >> 13), 32))
            return out
        signs = [1]
        for i in range(1, len(around)):
            near = 1 if i == 3 else 0
            turned_over = sum(a * b for a, b in zip(around[i], around[near])) < 0
            signs.append(-signs[near] if turned_over else signs[near])
        q = [sum(s * w * a[k] for s, w, a in zip(signs, weights, around)) >> 16 for k in range(4)]
        largest = max(map(abs, q))
        if largest < 1 << 26 or largest >= 3 << 29:
            q = around[0]
        return turned(q, [sum(kappa * row[k] for kappa, row in zip(kappas, g["turn"])) >> 11 for k in range(3)])

    # clip.md#streamed-form
    def pose(self, sample):
        """Rotation, translation and scale of all joints at a sample."""
        out = [list(still) for still in self.still]
        for g, words in zip(self.groups, self.words[sample]):
            joint, rest = out[g["joint"]], self.still[g["joint"]]
            if g["kind"] > 2:
                first = 4 if g["kind"] == 3 else 7
                joint[first : first + 3] = [f32(rest[first + k] + words[k] * g["unit"]) for k in range(3)]
            elif g["kind"] == 2:
                joint[:4] = [f32(w * 2.0**-30) for w in words]
            else:
                q = g["axes"][0]
                for axis, word in zip(g["axes"][1:], words):
                    sine, cosine = half_turn(word)
                    q = times(q, [*(v * sine for v in axis), cosine])
                joint[:4] = [f32(v) for v in q]
        return out


# clip.md#streamed-form
def half_turn(word):
    """Sine and cosine of half the angle."""
    a = word * (math.pi / 2.0**32)
    s = a * a

    def polynomial(*c):
        out = c[-1]
        for v in reversed(c[:-1]):
            out = v + s * out
        return out

    sine = polynomial(1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000)
    return a * sine, polynomial(1.0, -0.5, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200,
                                1 / 20922789888000)


# clip.md#curves
class Curve:
    """A clip as keys of splines: local transforms at any time."""

    def __init__(self, skeleton, data):
        b = Bytes(data)
        flags, self.samples = b.get("B"), b.varint()
        need(flags < 8 and flags & 3 < 3 and 0 < self.samples <= 65536, "a head of curves")
        self.knots, self.short = flags & 3, flags & 4
        b.get("dd")
        joints = len(skeleton["parents"])
        kinds, self.still, self.tracks = Bits(b.take((6 * joints + 7) // 8)), [], {}
        kinds = [[kinds.take(2) for _ in range(3)] for _ in range(joints)]
        for j, of_joint in enumerate(kinds):
            self.still.append(list(skeleton["rest"][j]))
            for part_, kind in enumerate(of_joint):
                first, count = ((0, 4), (4, 3), (7, 3))[part_]
                need(kind < 3, "a kind of sub-track")
                if kind == 1:
                    value = self.smallest(int.from_bytes(b.take(6), "little"), 15) if part_ == 0 else b.get("3f")
                    self.still[j][first : first + count] = value
                if kind == 2:
                    self.tracks[j, part_] = dict(range=b.get("6f") if part_ else None, keys=[])
        for _ in range(b.varint()):
            track, time = b.get("HH")
            own = self.tracks.get((track & 0x3FFF, track >> 14))
            need(own is not None, "a key of what has none")
            if own["range"]:
                words, low, size = b.get("3H"), own["range"][:3], own["range"][3:]
                value = [f32(l + f32(s * f32(w / 65535.0))) for l, s, w in zip(low, size, words)]
            else:
                value = self.smallest(int.from_bytes(b.take(4 if self.short else 6), "little"), 10 if self.short else 15)
            own["keys"].append((time, value))
        b.end()

    # clip.md#curves
    @staticmethod
    def smallest(payload, bits):
        most, largest = (1 << bits) - 1, payload >> 3 * bits & 3
        q = [f32(f32(f32((payload >> k * bits & most) / most) - 0.5) * f32(math.sqrt(2))) for k in range(3)]
        square = added(v * v for v in q)
        q.insert(largest, f32(math.sqrt(f32(1.0 - square))) if square < 1.0 else 0.0)
        return Curve.unit(q)

    # clip.md#curves
    @staticmethod
    def unit(q):
        square = added(v * v for v in q)
        length = f32(math.sqrt(square))
        return [f32(v / length) for v in q] if square > f32(1e-12) else [0.0, 0.0, 0.0, 1.0]

    # clip.md#curves
    def apart(self, samples):
        return [1.0, samples, f32(math.sqrt(samples))][self.knots]

    # clip.md#curves
    def value(self, keys, time, rotation):
        left = max(i for i, key in enumerate(keys) if key[0] <= time)
        if len(keys) == 1:
            return keys[0][1]
        left = min(left, len(keys) - 2)
        (t1, p1), (t2, p2) = keys[left : left + 2]
        before, after = keys[left - 1] if left else None, keys[left + 2] if left + 2 < len(keys) else None
        near = lambda q, to: [-v for v in q] if rotation and added(a * b for a, b in zip(q, to)) < 0 else q
        p2 = near(p2, p1)
        step = [f32(b - a) for a, b in zip(p1, p2)]
        u, d1 = max(0.0, min(1.0, f32(f32(time - t1) / f32(t2 - t1)))), self.apart(f32(t2 - t1))
        m1 = m2 = step
        weights = lambda outer: (f32(d1 / outer), f32(d1 / f32(outer + d1)))
        slope = lambda w, close, far, s: f32(f32(f32(close * w[0]) - f32(far * w[1])) + s)
        if before:
            w, p0 = weights(self.apart(f32(t1 - before[0]))), near(before[1], p1)
            m1 = [slope(w, f32(b - a), f32(c - a), s) for a, b, c, s in zip(p0, p1, p2, step)]
        if after:
            w, p3 = weights(self.apart(f32(after[0] - t2))), near(after[1], p2)
            m2 = [slope(w, f32(d - c), f32(d - b), s) for b, c, d, s in zip(p1, p2, p3, step)]
        out = []
        for p, s, a, b in zip(p1, step, m1, m2):
            cubic = f32(f32(a + b) - f32(2.0 * s))
            square = f32(f32(f32(3.0 * s) - f32(2.0 * a)) - b)
            out.append(f32(p + f32(u * f32(a + f32(u * f32(square + f32(u * cubic)))))))
        return self.unit(out) if rotation else out

    # clip.md#curves
    def pose(self, time):
        """Rotation, translation and scale of all joints at a time in samples."""
        out = [list(still) for still in self.still]
        for (j, part_), own in self.tracks.items():
            first, count = ((0, 4), (4, 3), (7, 3))[part_]
            out[j][first : first + count] = self.value(own["keys"], f32(time), part_ == 0)
        return out


# clip.md#random-access-form
class RandomAccess:
    """A clip whose samples stand by themselves: local transforms of all joints at any time."""

    WIDTHS = [*range(13), 14, 17, 24]

    def __init__(self, skeleton, header, body):
        self.h = h = side_information(header, len(skeleton["parents"]))
        steps = clip_steps(skeleton, h)
        self.still, kinds = [], [[] for _ in range(5)]
        for j, rest in enumerate(skeleton["rest"]):
            rotation, translation, scale = h["rotations"][j], h["translations"][j], h["scales"][j]
            still = [*rest[:4], *(translation if isinstance(translation, list) else rest[4:7]),
                     *(scale if isinstance(scale, list) else rest[7:])]
            if rotation[0] == 1:
                still[:4] = [f32(v) for v in rotation[1]]
            self.still.append(still)
            if translation == 2:
                kinds[3].append((j, self.constants(3, rotation, steps[j])))
            if rotation[0] > 1:
                kind = {4: 0, 3: 1, 2: 2}[rotation[0]]
                kinds[kind].append((j, self.constants(kind, rotation, steps[j])))
            if scale == 2:
                kinds[4].append((j, self.constants(4, rotation, steps[j])))
        self.blocks = [(kind, all_[i : i + 8]) for kind, all_ in enumerate(kinds) for i in range(0, len(all_), 8)]
        b = Bytes(body)
        ends = [b.get("I") for _ in range((h["samples"] + 15) // 16)]
        self.segments = []
        for start, end in zip([0, *ends], ends):
            count = min(16, h["samples"] - 16 * len(self.segments))
            self.segments.append(self.segment(Bytes(body[b.at + start : b.at + end]), count))
        b.take(ends[-1])
        b.end()

    # clip.md#random-access-form
    @staticmethod
    def constants(kind, rotation, steps):
        axes, turns, translation, scale = steps
        if kind == 0:
            return [[f32(turns[i] * v * 0.25) for v in axes[i]] for i in range(3)]
        if kind < 3:
            out = [f32(turns[0] / math.tau), [f32(v) for v in rotation[1]],
                   [f32(v) for v in times(rotation[1], [*axes[0], 0.0])]]
            return out + ([f32(turns[1] / math.tau), [f32(v) for v in axes[1]]] if kind == 1 else [])
        return [f32(translation if kind == 3 else scale)]

    # clip.md#random-access-form
    def segment(self, b, count):
        """The factor of a segment; of each block its origins, and of each sample and block the k."""
        factor = b.get("B")
        need(factor > 0, "steps of zero")
        ends = [b.get("H") for _ in self.blocks]
        parts = [3, 2, 1, 3, 3]
        widths, origins, bits = [], [], 0
        for (kind, lanes), end in zip(self.blocks, ends):
            n = parts[kind] * len(lanes)
            codes = Bits(b.take((n + 1) // 2))
            widths.append([self.WIDTHS[codes.take(4)] for _ in range(n)])
            bits += sum(widths[-1])
            need(bits == end, "bits of a sample")
        for kind, lanes in self.blocks:
            n = len(lanes)
            largest = b.get("H") if kind == 0 else 0
            rows = [[b.get("hiiff"[kind]) for _ in range(n)] for _ in range(parts[kind])]
            need(kind < 3 or all(abs(v) <= 1e18 for row in rows for v in row), "an origin")
            origins.append([(largest >> 2 * i & 3, [row[i] for row in rows]) for i in range(n)])
        samples = []
        for _ in range(count):
            fields = Bits(b.take((bits + 7) // 8))
            rows = [[fields.take(w) - (1 << w >> 1) for w in own] for own in widths]
            samples.append([[row[i :: len(lanes)] for i in range(len(lanes))] for row, (_, lanes) in zip(rows, self.blocks)])
        b.end()
        return dict(factor=factor, origins=origins, samples=samples)

    # clip.md#random-access-form
    def pose(self, left, right, part):
        """Rotation, translation and scale of all joints at this part of the way between two samples."""
        out, part = [list(still) for still in self.still], f32(part)
        one = lambda s: (self.segments[s // 16], self.segments[s // 16]["samples"][s % 16])
        (a, at_a), (b, at_b) = one(left), one(right)
        for i, (kind, lanes) in enumerate(self.blocks):
            for lane, (j, constants) in enumerate(lanes):
                ka, kb = at_a[i][lane], at_b[i][lane]
                if a is b:
                    k = [f32(x + f32((y - x) * part)) for x, y in zip(ka, kb)]
                    v = self.value(kind, constants, a["origins"][i][lane], [f32(x * a["factor"] / 128) for x in k])
                else:
                    v, w = [self.value(kind, constants, s["origins"][i][lane], [f32(x * s["factor"] / 128) for x in k])
                            for s, k in ((a, ka), (b, kb))]
                    v = self.between(kind, v, w, part)
                first = (0, 0, 0, 4, 7)[kind]
                out[j][first : first + len(v)] = v
        return out

    # clip.md#random-access-form
    def value(self, kind, constants, origin, k):
        largest, origin = origin
        if kind > 2:
            return [f32(o + f32(x * constants[0])) for o, x in zip(origin, k)]
        if kind == 0:
            p = [f32(v * f32(1.0 / f32(23170.475))) for v in origin]
            rest = 1.0
            for v in p:
                rest = f32(rest - f32(v * v))
            p.insert(largest, f32(math.sqrt(max(rest, 0.0))))
            y = [f32(c * k[0]) for c in constants[0]]
            for row, x in zip(constants[1:], k[1:]):
                y = [f32(v + f32(c * x)) for v, c in zip(y, row)]
            q = f32(f32(f32(y[0] * y[0]) + f32(y[1] * y[1])) + f32(y[2] * y[2]))
            inverse = f32(1.0 / f32(1.0 + q))
            twice = f32(inverse + inverse)
            return self.times(p, [*(f32(v * twice) for v in y), f32(f32(1.0 - q) * inverse)])
        sine, cosine = self.half(origin[0], k[0], constants[0])
        first = [f32(f32(r * cosine) + f32(a * sine)) for r, a in zip(constants[1], constants[2])]
        if kind == 2:
            return first
        sine, cosine = self.half(origin[1], k[1], constants[3])
        return self.times(first, [*(f32(v * sine) for v in constants[4]), cosine])

    # clip.md#random-access-form
    @staticmethod
    def half(origin, k, step):
        """Sine and cosine of half the angle."""
        turns = f32(f32(f32(origin) * 2.0**-32) + f32(k * step))
        turns = f32(turns - f32(f32(turns + 12582912.0) - 12582912.0))
        a = f32(turns * f32(math.pi))
        s = f32(a * a)

        def polynomial(*c):
            out = f32(c[-1])
            for v in reversed(c[:-1]):
                out = f32(f32(v) + f32(s * out))
            return out

        sine = polynomial(1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800)
        return f32(a * sine), polynomial(1.0, -0.5, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600)

    # clip.md#random-access-form
    @staticmethod
    def times(a, b):
        (ax, ay, az, aw), (bx, by, bz, bw) = a, b
        sum_ = lambda *terms: added(terms)
        return [sum_(aw * bx, ax * bw, ay * bz, -az * by), sum_(aw * by, -ax * bz, ay * bw, az * bx),
                sum_(aw * bz, ax * by, -ay * bx, az * bw), sum_(aw * bw, -ax * bx, -ay * by, -az * bz)]

    # clip.md#random-access-form
    @staticmethod
    def between(kind, a, b, part):
        if part in (0.0, 1.0):
            return b if part else a
        if kind > 2:
            return [f32(x + f32(f32(y - x) * part)) for x, y in zip(a, b)]
        far = -part if added(x * y for x, y in zip(a, b)) < 0 else part
        out = [f32(f32(x * f32(1.0 - part)) + f32(y * far)) for x, y in zip(a, b)]
        n = added(v * v for v in out)
        if n <= f32(1e-12):
            return a
        scale = f32(1.0 / f32(math.sqrt(n)))
        return [f32(v * scale) for v in out]


# clip.md#random-access-form
def added(terms):
    """A sum from left to right, each term and each sum rounded to f32."""
    total = None
    for term in terms:
        total = f32(term) if total is None else f32(total + f32(term))
    return total


# clip.md#layers-and-tiers
def layer_table(data):
    b = Bytes(data)
    out = dict(clip=b.varint(), samples=b.varint(), layers=[], pieces=[])
    count = b.varint()
    if count >= 32:
        out["layers"] = [dict(name=b.text()) for _ in range(count - 32)]
        stepped, joint = set(), 0
        for _ in range(b.varint()):
            joint += b.varint()
            stepped.add(joint)
        joints = b.varint()
        pairs = b.take((joints + 1) // 2)
        out["layer_of"] = [pairs[j // 2] >> j % 2 * 4 & 15 for j in range(joints)]
        out["stepped"] = [int(j in stepped) for j in range(joints)]
        b.end()
        return out
    for _ in range(count):
        name, step = b.text(), b.get("d")
        extra = [b.varint() for _ in range(b.varint())]
        out["layers"].append(dict(name=name, step=step, extra=extra, header=b.take(b.varint())))
    for _ in range(b.varint()):
        layer, tier = b.get("BB")
        out["pieces"].append((layer, tier, *(b.varint() for _ in range(4))))
    rest = b.take(len(b.data) - b.at)
    out["layer_of"], out["stepped"] = [v & 15 for v in rest], [v >> 7 for v in rest]
    return out


# clip.md#layers-and-tiers
def own_samples(layer, samples):
    """The samples of the clip that a layer has."""
    if not layer or layer.get("step", 0) == 0:
        return list(range(samples))
    at, extra = 0, []
    for more in layer["extra"]:
        at += more
        extra.append(at)
    regular = []
    while math.floor(len(regular) * layer["step"] + 0.5) < samples:
        regular.append(math.floor(len(regular) * layer["step"] + 0.5))
    return sorted({*regular, samples - 1, *extra})


# clip.md#layers-and-tiers
def streamed_layers(skeleton, stored, table, pieces):
    """The layers of a clip in the streamed form, the base first."""
    b = Bytes(stored)
    layers = [Streamed(skeleton, b.take(b.varint()))]
    layers[0].read_keys(b.take(b.varint()))
    layers[0].read_segments(b, 0, 0, len(layers[0].h["keys"]) - 1)
    b.end()
    divided = bool(table and table["pieces"]) or bool(table and len(table["layers"]) > 1 and "step" in table["layers"][0])
    for layer in table["layers"][1:] if divided else []:
        layers.append(Streamed(skeleton, layer["header"]))
    done = {(0, 0): len(layers[0].h["keys"]) - 1}
    for layer, tier, chunk, offset, size, segments in table["pieces"] if divided else []:
        own, b = layers[layer], Bytes(pieces[chunk][offset : offset + size])
        first = done.get((layer, tier), 0)
        if layer and not tier and not first and not own.words:
            own.read_keys(b.take(b.varint()))
        own.read_segments(b, tier, first, segments)
        done[layer, tier] = first + segments
        b.end()
    for layer in layers:
        layer.read_samples()
    return layers


# clip.md#skeletons-and-clips
def clips(data):
    """Name, codec and joints of each clip, and the poses of all samples and of 30 % of the way from each to the
    next."""
    chunks = container(data)["chunks"]
    of = lambda kind: [part(data, c) for c in chunks if c["kind"] == kind]
    skeletons = [skeleton_record(s) for s in of(SKELETON)]
    tables = {t["clip"]: t for t in map(layer_table, of(LAYERS))}
    pieces = [data[c["offset"] : c["offset"] + c["size"]] for c in chunks if c["kind"] == TIERS]
    out = []
    for i, clip in enumerate(map(clip_record, of(CLIP))):
        skeleton, table = skeletons[clip["skeleton"]], tables.get(i)
        joints = len(skeleton["parents"])
        if clip["codec"] == "curve":
            curve = Curve(skeleton, clip["stored"])
            at = lambda s, part_: curve.pose(min(s + part_, curve.samples - 1))
            count, poses = curve.samples, []
        elif clip["codec"] == "sampled":
            layers = streamed_layers(skeleton, clip["stored"], table, pieces)
            count, poses = table["samples"] if table else layers[0].samples, []
            divided = len(layers) > 1
            own = [own_samples(table["layers"][l] if divided else None, count) for l in range(len(layers))]

            def at(s, part_):
                all_, held = [], []
                for layer, list_ in zip(layers, own):
                    k = max(k for k, sample in enumerate(list_) if sample <= s)
                    after = list_[min(k + 1, len(list_) - 1)]
                    share = f32((s + part_ - list_[k]) / (after - list_[k])) if after > list_[k] else 0.0
                    left, right = layer.pose(k), layer.pose(min(k + 1, len(list_) - 1))
                    held.append(left)
                    mix = lambda a, b: [*RandomAccess.between(0, a[:4], b[:4], share), *RandomAccess.between(3, a[4:], b[4:], share)]
                    all_.append([mix(*pair) for pair in zip(left, right)])
                of_layer = lambda j: table["layer_of"][j] if divided else 0
                is_held = lambda j: table and table["stepped"][j]
                return [(held if is_held(j) else all_)[of_layer(j)][j] for j in range(joints)]
        else:
            b = Bytes(clip["stored"])
            header = b.take(b.varint())
            layers = [RandomAccess(skeleton, header, b.data[b.at :])]
            for layer, tier, chunk, offset, size, segments in table["pieces"] if table else []:
                need((layer, tier) == (len(layers), 0), "a layer that is not one piece")
                layers.append(RandomAccess(skeleton, table["layers"][layer]["header"], pieces[chunk][offset : offset + size]))
            count, poses = layers[0].h["samples"], []

            def at(s, part_):
                all_ = [layer.pose(s, min(s + (part_ > 0), count - 1), part_) for layer in layers]
                held = [layer.pose(s, s, 0.0) for layer in layers] if table else all_
                from_ = lambda j: (held if table and table["stepped"][j] else all_)[table["layer_of"][j] if table else 0]
                return [from_(j)[j] for j in range(joints)]
        poses = [at(s, part_) for s in range(count) for part_ in (0.0, 0.3)]
        out.append(dict(name=clip["name"], codec=clip["codec"], joints=skeleton["names"], poses=poses))
    return out


# container.md#chunk-kinds
class Reel:
    def __init__(self, data):
        self.data = data
        self.container = container(data)
        self.chunks = {}
        chunks = self.container["chunks"]
        (only,) = [i for i, c in enumerate(chunks) if c["kind"] == 1]
        self.frames = [c for c in chunks if c["kind"] in (5, 6)]
        self.description = description(self.chunk(only))
        # Attributes that are apart lie behind their units.
        self.behind = [chunks[i + 1] for i, c in enumerate(chunks[:-1]) if c["kind"] in (5, 6) and chunks[i + 1]["kind"] == 15]
        apart = any(m["apart"] for m in self.description["meshes"])
        need(len(self.behind) == sum(c["kind"] == 15 for c in chunks) == (len(self.frames) if apart else 0),
             "attributes that are not behind their units")
        count, self.schedule = len(self.container["times"]), None
        if self.description["restart"]:
            self.schedule = Schedule(count, self.description["restart"])
            self.units = self.schedule.units()
            self.nodes = Nodes(self.description) if self.description["tracks"] else None
            count = len(self.units)
        need(len(self.frames) == count, "another number of units than frames need")
        ends = self.schedule is None and self.frames
        need(not ends or self.frames[0]["kind"] == self.frames[-1]["kind"] == 5, "ends that are not index frames")
        self.static = [None if m["method"] in (4, 5) else self.static_data(m) for m in self.description["meshes"]]
        self.ends = [self.end_states(*each) for each in zip(self.description["meshes"], self.static)]
        self.decoded, self.linked = {}, {}

    # container.md#chunk-entry
    def chunk(self, i):
        if i not in self.chunks:
            self.chunks[i] = part(self.data, self.container["chunks"][i])
        return self.chunks[i]

    # mesh.md#units-and-locations
    def located(self, location):
        chunk, offset, size = location
        return Bytes(self.chunk(chunk)[offset : offset + size] if size else b"")

    # mesh.md#static-data
    def static_data(self, m):
        b = self.located(m["connectivity"])
        index = indices(b, m["indices"], m["vertices"]) if b.data else []
        b.end()
        shape = grid_shape(self.located(m["connectivity"]))
        b = self.located(m["values"])
        point = list(range(m["vertices"]))
        if any(s["coding"] in CELLS for s in m["streams"]):
            next_, point = 0, []
            for _ in range(m["vertices"]):
                back = b.varint()
                need(back <= next_, "a point that is not there")
                point.append(next_ - back)
                next_ += back == 0
            need(next_ == m["points"], "another number of points")
        table_ = table(b, index, m["vertices"]) if m["has_table"] else None
        triangles = list(zip(index[::3], index[1::3], index[2::3]))
        streams, cells, predicted, domains = [], {}, {}, {}
        for i, s in enumerate(m["streams"]):
            if s["coding"] in CELLS:
                of_points = s["semantic"] == 0
                if of_points not in domains:
                    corners = [tuple(point[v] for v in t) for t in triangles] if of_points else triangles
                    count = m["points"] if of_points else m["vertices"]
                    levels = quincunx(shape) if shape and shape[0] * shape[1] == count else hierarchy(count, corners)
                    place = {p: new for new, p in enumerate(levels["order"])}
                    domains[of_points] = levels, [place[point[v] if of_points else v] for v in range(m["vertices"])]
                levels, places = domains[of_points]
                places_ = columns_and_rows(shape) if s["coding"] == 4 else None
                if s["coding"] == 3:
                    parts = [Bones(b.take(b.varint()), s, levels, [tuple(point[v] for v in t) for t in triangles])]
                else:
                    count = 2 if s["semantic"] == 4 else 1
                    parts = [Cells(b.take(b.varint()), levels, places_) for _ in range(count)]
                cells[i] = parts, places
                streams.append([part_.first for part_ in parts])
            elif s["coding"] == 2:
                predicted[i] = b.take(b.varint())
                streams.append(None)
            else:
                streams.append(stream(b, s, m["vertices"], table_))
        b.end()
        for i, data in predicted.items():
            uvs = []
            if m["streams"][i]["semantic"] == 2:
                is_first = lambda s: s["semantic"] == 3 and s["set"] == 0 and not s["animated"]
                (at,) = [k for k, s in enumerate(m["streams"]) if is_first(s)]
                uvs = decode_values(m["streams"][at], streams[at])
            first = cells[0][0][0]
            vectors, moved = self.vectors(first, first.first), m["streams"][0]["coding"] == 3
            bones = first.turning() if moved and not first.affine else None
            predicted[i] = Predicted(data, triangles, cells[0][1], uvs, shape, vectors, bones)
            still = first.still["transforms"] if moved else None
            streams[i] = self.predicted_directions(predicted[i], first, first.first, predicted[i].base, still)
        return dict(indices=index, table=table_, streams=streams, cells=cells, predicted=predicted)

    # mesh.md#predicted
    @staticmethod
    def vectors(part_, frame):
        scale = 1.0 if part_.width == 16 else 1 / 65536
        return [[F(x) * scale for x in v[:3]] for v in frame]

    # mesh.md#predicted
    def predicted_directions(self, predicted, part_, frame, states, transforms):
        return predicted.directions(self.vectors(part_, frame), states, transforms)

    # mesh.md#units
    def layered_frame(self, i):
        """A frame of a layered file, with all frames of its unit."""
        for n, (kind, number, frames) in enumerate(self.units):
            if i not in frames:
                continue
            for needed in self.schedule.needs(frames):
                # What a key would take from the first frame is in the static data.
                if needed not in self.decoded and not (kind == "key" and needed == 0):
                    self.layered_frame(needed)
            if any(m["codec"] == 3 for m in self.description["meshes"]):
                for needed in self.schedule.chain_needs(kind, number, frames):
                    if needed not in self.decoded:
                        self.layered_frame(needed)
            behind = part(self.data, self.behind[n]) if self.behind else b""
            self.read_unit(part(self.data, self.frames[n]), behind, kind, number, frames)
            return

    # mesh.md#chains
    def read_links(self, data, mesh_, kind, number, frames):
        """Links of a chain, for all frames that they are of."""
        (k, m), schedule = mesh_, self.schedule
        before, list_ = Chain.STILL, frames
        if kind != "key" or schedule.goes_on(number):
            group = number - (kind == "key")
            if schedule.home(group) not in frames:
                need(not data, "links of a chain where there can be none")
                return
            before, list_ = self.linked[k, schedule.keys[group]], schedule.links(group)
        unit = Chain(data, m)
        for f in list_:
            before = self.linked[k, f] = unit.link(before)
        unit.end()

    # mesh.md#a-units-content
    def read_unit(self, content, behind, kind, number, frames):
        b, d, schedule = Bytes(content), self.description, self.schedule
        behind = Bytes(behind)
        new = {f: dict(shown=[], transforms=[], meshes=[dict() for _ in d["meshes"]]) for f in frames}
        find = lambda f: new.get(f) or self.decoded[f]
        hidden = sum(n["visibility"] == 2 for n in d["nodes"])
        animated = sum(n["animated"] for n in d["nodes"])
        near = {}
        for f in frames:
            # A key does not count frame 0.
            references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
            near[f] = references[:1] * 3 + (references[1:2] or references[:1])
            bits = b.take((hidden + 7) // 8)
            new[f]["shown"] = [bits[k // 8] >> k % 8 & 1 == 1 for k in range(hidden)]
            if animated and not self.nodes:
                new[f]["transforms"] = transforms(b, animated, near[f] and find(near[f][0])["transforms"])
        if self.nodes:
            done = self.nodes.unit(b.take(b.varint()), schedule, frames, lambda f: self.decoded[f]["states"])
            for f in frames:
                new[f]["states"], new[f]["transforms"] = done[f]
        for k, (m, static) in enumerate(zip(d["meshes"], self.static)):
            if m["method"] == 4 and m["codec"]:
                unit = Changing(b.take(b.varint()), m)
                for f in frames:
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    new[f]["meshes"][k] = unit.frame([find(r)["meshes"][k] for r in references])
                unit.end()
                continue
            if m["method"] == 4:
                for f in frames:
                    new[f]["meshes"][k] = self.fluid(b, m)
                continue
            if m["method"] == 5 and m["codec"] == 3:
                self.read_links(b.take(b.varint()), (k, m), kind, number, frames)
                for f in frames:
                    new[f]["meshes"][k] = self.linked[k, f]
                continue
            if m["method"] == 5:
                unit = Particles(b.take(b.varint()), m)
                for f in frames:
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    new[f]["meshes"][k] = unit.frame([(r - f, find(r)["meshes"][k]) for r in references])
                unit.end()
                continue
            content_of = lambda f: find(f)["meshes"][k]
            own = self.own(m)
            if not own:
                done = self.soft([b, behind], m, static, schedule, kind, number, frames, content_of)
                for f in frames:
                    new[f]["meshes"][k] = done[f]
                continue
            inside, start, end, ends = own
            for f in frames:
                # Whole units lie inside, or outside.
                at = 0 if f <= start and ends[0] else 1 if f >= end and ends[1] else None
                if at is not None:
                    new[f]["meshes"][k] = self.ends[k][at]
            if not any(new[f]["meshes"][k] for f in frames):
                of = lambda f: self.ends[k][0] if f == 0 and ends[0] else self.ends[k][1] if f == end - start and ends[1] \
                    else content_of(f + start)
                moved = [f - start for f in frames]
                done = self.soft([b, behind], m, static, inside, kind, number - start // 16, moved, of)
                for f in frames:
                    new[f]["meshes"][k] = done[f - start]
        b.end()
        behind.end()
        self.decoded.update(new)

    # mesh.md#end-states
    def own(self, m):
        """Of a mesh that stands still for a while: the schedule of its own frames, the first and the last one, and whether it
        stands still before, and after."""
        if not m["moves"]:
            return None
        (first, last), apart, frames = m["moves"], 16 * self.schedule.restart, self.schedule.frames
        start, end = first - first % apart, min(-(-last // apart) * apart, frames - 1)
        ends = start > 0, end + 1 < frames
        return (Schedule(end - start + 1, self.schedule.restart), start, end, ends) if any(ends) else None

    # mesh.md#end-states
    def end_states(self, m, static):
        """What such a mesh shows before it moves, and afterwards."""
        own = self.own(m) if self.schedule else None
        if not own or m["method"] not in MOVED:
            return None
        b, (schedule, start, end, ends) = self.located(m["ends"]), own
        out = [None, None]
        for at, frame in ((0, 0), (1, end - start)):
            if ends[at]:
                data = Bytes(b.take(b.varint()))
                done = self.soft([data, data], m, static, schedule, "key", schedule.keys.index(frame), [frame], None)
                data.end()
                out[at] = done[frame]
        b.end()
        return out

    # mesh.md#a-units-content
    def soft(self, both, m, static, schedule, kind, number, frames, content_of):
        """What a mesh has in the frames of a unit. `both`: the unit, and the attributes behind it."""
        new = {f: dict(indices=static["indices"], streams=list(static["streams"]), states={}) for f in frames}
        find = lambda f: new.get(f) or content_of(f)
        for s, record in enumerate(m["streams"]):
            if m["method"] not in MOVED or not record["animated"]:
                continue
            b = both[m["apart"] and s > 0]
            if record["coding"] == 3:
                (bones,), _ = static["cells"][s]
                done = bones.unit_states(b.take(b.varint()), schedule, frames, lambda f: find(f)["states"][s])
                for f in frames:
                    new[f]["states"][s], new[f]["streams"][s] = done[f], [done[f]["positions"]]
            elif record["coding"] in CELLS:
                for f in frames:
                    new[f]["streams"][s] = []
                for p, cells in enumerate(static["cells"][s][0]):
                    first = lambda f: cells.first if f == 0 else find(f)["streams"][s][p]
                    data = b.take(b.varint())
                    done = {0: cells.first} if frames == [0] else cells.unit_frames(data, schedule, frames, first)
                    for f in frames:
                        new[f]["streams"][s].append(done[f])
            elif record["coding"] == 2:
                predicted = static["predicted"][s]
                earlier = [find(f)["states"][s] for f in schedule.near(kind, number, frames)]
                states = predicted.unit_states(b.take(b.varint()), len(frames), earlier)
                for f, state in zip(frames, states):
                    new[f]["states"][s] = state
                    transforms_ = new[f]["states"][0]["transforms"] if 0 in new[f]["states"] else None
                    new[f]["streams"][s] = self.predicted_directions(
                        predicted, static["cells"][0][0][0], new[f]["streams"][0][0], state, transforms_)
            else:
                for f in frames:
                    # A key does not count frame 0.
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    group = [find(r)["streams"][s] for r in references[:1] * 3 + (references[1:2] or references[:1])] or None
                    if group:
                        group[1] = None
                    new[f]["streams"][s] = stream(b, record, m["vertices"], static["table"], static["streams"][s], group)
        return new

    # mesh.md#units
    def frame(self, i):
        """The content of a frame, with all frames that it needs."""
        if i in self.decoded:
            return self.decoded[i]
        if self.schedule:
            self.layered_frame(i)
            return self.decoded[i]
        frames = self.frames
        near = None
        if frames[i]["kind"] == 6:
            first = max(j for j in range(i) if frames[j]["kind"] == 5)
            last = min(j for j in range(i, len(frames)) if frames[j]["kind"] == 5)
            for j in range(first, i):
                self.frame(j)
            before = self.frame(i - 2) if i - 2 >= first else None
            near = (self.frame(i - 1), before, self.frame(first), self.frame(last))
        self.decoded[i] = self.read_frame(part(self.data, frames[i]), near)
        return self.decoded[i]

    # mesh.md#a-units-content
    def read_frame(self, content, near):
        b, d = Bytes(content), self.description
        hidden = [n for n in d["nodes"] if n["visibility"] == 2]
        bits = b.take((len(hidden) + 7) // 8)
        animated = sum(n["animated"] for n in d["nodes"])
        f = dict(shown=[bits[i // 8] >> i % 8 & 1 == 1 for i in range(len(hidden))], transforms=[], meshes=[])
        if animated:
            f["transforms"] = transforms(b, animated, near and near[0]["transforms"])
        for i, (m, static) in enumerate(zip(d["meshes"], self.static)):
            if m["method"] == 4:
                f["meshes"].append(self.fluid(b, m))
                continue
            if m["method"] == 5:
                unit = Particles(b.take(b.varint()), m)
                f["meshes"].append(unit.frame([]))
                unit.end()
                continue
            streams = list(static["streams"])
            for s, record in enumerate(m["streams"]):
                if m["method"] in MOVED and record["animated"]:
                    group = near and [n and n["meshes"][i]["streams"][s] for n in near]
                    streams[s] = stream(b, record, m["vertices"], static["table"], static["streams"][s], group)
            f["meshes"].append(dict(indices=static["indices"], streams=streams))
        b.end()
        return f

    # mesh.md#a-units-content
    def fluid(self, b, m):
        shown = b.get("B")
        need(shown in (0, 1), "neither shown nor hidden")
        if not shown:
            return dict(indices=[], streams=[[[] for _ in range(COMPONENTS[s["semantic"]])] for s in m["streams"]])
        vertices, count, points = b.get("III")
        ranges = [b.get("II") for _ in m["materials"]]
        index = indices(b, count, vertices)
        table_ = [l[0] for l in choices(index, vertices)]
        return dict(indices=index, ranges=ranges, streams=[stream(b, s, vertices, table_) for s in m["streams"]])

    # mesh.md#nodes-and-space
    def show(self, i):
        """A frame as numbers."""
        f, d = self.frame(i), self.description
        shown, moved, nodes = iter(f["shown"]), iter(f["transforms"]), []
        for n in d["nodes"]:
            local = matrix(next(moved) if n["animated"] else n["rest"])
            world = product(nodes[n["parent"]]["world"], local) if n["parent"] >= 0 else local
            visible = next(shown) if n["visibility"] == 2 else n["visibility"] == 0
            nodes.append(dict(path=n["path"], mesh=n["mesh"], world=world, visible=visible))
        meshes = []
        for m, static, content in zip(d["meshes"], self.static, f["meshes"]):
            streams = []
            for k, (s, w) in enumerate(zip(m["streams"], content["streams"])):
                if s["coding"] in CELLS:
                    parts, places = static["cells"][k]
                    values = [part_.values(frame, places) for part_, frame in zip(parts, w)]
                    streams.append([sum(v, [])[: COMPONENTS[s["semantic"]]] for v in zip(*values)])
                elif s["coding"] == 2:
                    streams.append(w)
                else:
                    streams.append(decode_values(s, w))
            names = [dict(semantic=s["semantic"], set=s["set"], values=v) for s, v in zip(m["streams"], streams)]
            shown_as = dict(path=m["path"], indices=content["indices"], streams=names)
            shown_as.update({key: content[key] for key in ("ids", "curves") if key in content})
            meshes.append(shown_as)
        time, bounds = self.container["times"][i], self.container["boxes"][i]
        bounds = bounds if all(map(math.isfinite, bounds)) else None
        return dict(frame=i, time=time, box=bounds, nodes=nodes, meshes=meshes)


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
