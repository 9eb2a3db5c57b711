#!/usr/bin/env python3
"""A second decoder of .reel files, written from docs/FORMAT.md alone: it shows that the document is enough.

Slow and plain. Prints one JSON object: for each frame asked for, its time and box, each node's world matrix and visibility, and each mesh's
indices and decoded streams. Blocks may be stored, deflated or LZ4; Zstandard needs Python 3.14 or the package `zstandard`.

usage: decode.py FILE.reel [FRAME…]
"""
import json
import math
import struct
import sys
import zlib


class Malformed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Malformed(what)


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

    def text(self):
        return self.take(self.varint()).decode()

    def end(self):
        need(self.at == len(self.data), "bytes left over")


def unzigzag(n):
    return n >> 1 if n % 2 == 0 else -(n >> 1) - 1


def f32(x):
    """Rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


# Container

def box(values):
    empty = [math.inf] * 3 + [-math.inf] * 3
    need(list(values) == empty or all(a <= b for a, b in zip(values[:3], values[3:])), "a box out of order")
    return values


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


def checksum(data, expected):
    try:
        import xxhash
    except ImportError:
        return
    need(xxhash.xxh3_64_intdigest(data) == expected, "a checksum")


def part(data, entry):
    stored = data[entry["offset"] : entry["offset"] + entry["size"]]
    checksum(stored, entry["sum"])
    content = block(stored)
    need(len(content) == entry["raw_size"], "raw_size")
    return content


# Blocks

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

COMPONENTS = [3, 2, 4, 2, 4]
AVERAGE = [False, True, True, False, True]


def description(data):
    b = Bytes(data)
    need(b.get("B") == 0, "a layout of the description")
    d = dict(generator=b.text(), options=b.text(), unit=b.get("B"), fps=b.get("d"), period=b.get("d"),
             restart=b.varint())
    need(d["restart"] == 0, "a layered file: this program reads classic ones")
    meshes = b.varint()
    d["nodes"] = [node(b) for _ in range(b.varint())]
    d["meshes"] = [mesh(b) for _ in range(meshes)]
    b.end()
    return d


def node(b):
    n = dict(path=b.text(), parent=b.varint() - 1, mesh=b.varint() - 1)
    flags = b.get("B")
    n.update(animated=bool(flags & 1), baked=bool(flags & 2), visibility=flags >> 2 & 3)
    n["rest"] = IDENTITY if flags & 16 else b.get("10f")
    n["tolerance"] = b.get("d")
    return n


def mesh(b):
    m = dict(path=b.text(), method=b.get("B"), codec=b.get("B"), has_table=bool(b.get("B") & 1))
    need(m["method"] in (0, 1, 4) and m["codec"] == 0, "an unknown method or codec")
    m.update(vertices=b.varint(), indices=b.varint(), source_points=b.varint(), points=b.varint(),
             bounds=b.get("6f"))
    for name in ("connectivity", "values", "source_map"):
        m[name] = (b.varint(), b.varint(), b.varint())
    m["streams"] = [stream_record(b) for _ in range(b.varint())]
    m["materials"] = [dict(id=b.varint(), name=b.text(), first=b.varint(), count=b.varint()) for _ in range(b.varint())]
    return m


def stream_record(b):
    semantic, set_, flags, word, bits = b.get("5B")
    s = dict(semantic=semantic, set=set_, animated=bool(flags & 1), word=word, bits=bits, name=b.text())
    s["axes"] = [b.get("ffI") for _ in range(COMPONENTS[semantic])] if semantic in (0, 3, 4) else []
    s["tolerance"] = b.get("d")
    return s


# Indices

def indices(b, count, vertices):
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


def table(b, index, vertices):
    lists = choices(index, vertices)
    kind = b.get("B")
    need(kind in (0, 1), "a kind of table")
    numbers = b.take(vertices) if kind else bytes(vertices)
    need(all(n < len(l) for n, l in zip(numbers, lists)), "a choice that is not there")
    return [l[n] for n, l in zip(numbers, lists)]


RADIUS = [0, 62, 5, 2, 1]


def tokens(k):
    """The vectors of k components in the order of their tokens."""
    radius = RADIUS[k]
    side = 2 * radius + 1
    vectors = []
    for n in range(side**k):
        vector = [n // side**i % side - radius for i in range(k)]
        vectors.append((sum(x * x for x in vector), n, vector))
    return [vector for _, _, vector in sorted(vectors)]


def planes(b, widths, count):
    """Component-major values from byte planes."""
    values = [[0] * count for _ in widths]
    for byte in range(max(widths, default=0)):
        for component, width in zip(values, widths):
            if byte < width:
                for i, x in enumerate(b.take(count)):
                    component[i] |= x << (8 * byte)
    return [[unzigzag(x) for x in component] for component in values]


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


def order(f):
    bits = struct.unpack("<I", struct.pack("<f", f))[0]
    return bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000


def disorder(n):
    return struct.unpack("<f", struct.pack("<I", n ^ 0x80000000 if n >> 31 else n ^ 0xFFFFFFFF))[0]


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


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) + (a[i][3] if j == 3 else 0) for j in range(4)] for i in range(3)]


# Levels to numbers

def decode_values(record, words):
    """One tuple for each vertex; for QTangents (normal, tangent, sign)."""
    if record["axes"]:
        value = lambda level, axis: f32(f32(f32(level) * axis[1]) + axis[0])
        return [tuple(value(*pair) for pair in zip(vertex, record["axes"])) for vertex in zip(*words)]
    half = 2 ** (record["bits"] - 1) - 1
    return [(octahedral if record["semantic"] == 1 else qtangent)([level - half for level in v], half) for v in zip(*words)]


def octahedral(v, half):
    x, y = v[0] / half, v[1] / half
    z = 1 - abs(x) - abs(y)
    if z < 0:
        x, y = (1 - abs(y)) * (1 if x >= 0 else -1), (1 - abs(x)) * (1 if y >= 0 else -1)
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def qtangent(v, half):
    length = math.sqrt(sum(a * a for a in v)) or 1
    x, y, z, w = (a / length for a in v)
    tangent = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
    normal = (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
    return (*normal, *tangent, -1 if w < 0 else 1)


# Files

class Reel:
    def __init__(self, data):
        self.data = data
        self.container = container(data)
        self.chunks = {}
        chunks = self.container["chunks"]
        (only,) = [i for i, c in enumerate(chunks) if c["kind"] == 1]
        self.frames = [c for c in chunks if c["kind"] in (5, 6)]
        need(len(self.frames) == len(self.container["times"]), "another number of frames than of times")
        need(not self.frames or self.frames[0]["kind"] == self.frames[-1]["kind"] == 5, "ends that are not index frames")
        self.description = description(self.chunk(only))
        self.static = [None if m["method"] == 4 else self.static_data(m) for m in self.description["meshes"]]
        self.decoded = {}

    def chunk(self, i):
        if i not in self.chunks:
            self.chunks[i] = part(self.data, self.container["chunks"][i])
        return self.chunks[i]

    def located(self, location):
        chunk, offset, size = location
        return Bytes(self.chunk(chunk)[offset : offset + size] if size else b"")

    def static_data(self, m):
        b = self.located(m["connectivity"])
        index = indices(b, m["indices"], m["vertices"]) if b.data else []
        b.end()
        b = self.located(m["values"])
        table_ = table(b, index, m["vertices"]) if m["has_table"] else None
        streams = [stream(b, s, m["vertices"], table_) for s in m["streams"]]
        b.end()
        return dict(indices=index, table=table_, streams=streams)

    def frame(self, i):
        """The content of a frame, with all frames that it needs."""
        if i in self.decoded:
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
            streams = list(static["streams"])
            for s, record in enumerate(m["streams"]):
                if m["method"] == 1 and record["animated"]:
                    group = near and [n and n["meshes"][i]["streams"][s] for n in near]
                    streams[s] = stream(b, record, m["vertices"], static["table"], static["streams"][s], group)
            f["meshes"].append(dict(indices=static["indices"], streams=streams))
        b.end()
        return f

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
        for m, content in zip(d["meshes"], f["meshes"]):
            streams = [decode_values(s, w) for s, w in zip(m["streams"], content["streams"])]
            names = [dict(semantic=s["semantic"], set=s["set"], values=v) for s, v in zip(m["streams"], streams)]
            meshes.append(dict(path=m["path"], indices=content["indices"], streams=names))
        time, bounds = self.container["times"][i], self.container["boxes"][i]
        bounds = bounds if all(map(math.isfinite, bounds)) else None
        return dict(frame=i, time=time, box=bounds, nodes=nodes, meshes=meshes)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        reel = Reel(data)
        wanted = [int(n) for n in sys.argv[2:]] or range(len(reel.frames))
        json.dump([reel.show(i) for i in wanted], sys.stdout)
    except Malformed as problem:
        sys.exit(f"{sys.argv[1]}: {problem}")


if __name__ == "__main__":
    main()
