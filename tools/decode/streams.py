"""Indices, streams of quantized values, transforms."""
import math
import struct

from .basics import Bytes, f32, need, unzigzag
from .coder import Chances, even
from .description import AVERAGE, COMPONENTS, IDENTITY

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
    """Values of one stream, a list of codes for each component."""
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


# Codes to numbers

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
