"""Texture coordinates that are predicted from the points of the first frame."""
import math

from .basics import need
from .coder import Chances, even


# mesh.md#uvs-on-a-surface
def around(triangles, vertices):
    """For each vertex the other two of its first triangles, in their direction."""
    out = [[] for _ in range(vertices)]
    for t in triangles:
        for v in {*t}:
            at = t.index(v)
            out[v] += [(t[(at + 1) % 3], t[(at + 2) % 3])] * t.count(v)
    return [others[:24] for others in out]


# mesh.md#uvs-on-a-surface
def area(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


# mesh.md#uvs-on-a-surface
def of_edge(a, b, v, values, near, position, ratio, left):
    """The place of v if its triangle with the edge has the same shape in texture space."""
    e, w = ([float(y - x) for x, y in zip(position[a], position[other])] for other in (b, v))
    dot = lambda x, y: x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    square = dot(e, e)
    if square <= 0:
        return None
    along = dot(e, w) / square
    height = math.sqrt(max(dot(w, w) - along * along * square, 0.0) / square)
    behind = [d if c == b else c for c, d in near[a] if (c == b) != (d == b)]
    turns = (area(values[a], values[b], values[o]) for o in behind if o < v and o != a)
    turn = next((t for t in turns if t), None)
    if not (left if turn is None else turn < 0):
        height = -height
    du, dv = (float(values[b][k] - values[a][k]) for k in range(2))
    return values[a][0] + along * du - height * (dv * ratio), values[a][1] + along * dv + height * (du / ratio)


# mesh.md#uvs-on-a-surface
def surface_uvs(b, record, triangles, places, first):
    """Codes by component. `places`: by vertex its point; `first`: the points of the first frame."""
    count, axes = len(places), record["axes"]
    bits, models = Chances(b.take(b.varint())), even(4, 2, 9, 9, 32)
    near, position = around(triangles, count), [first[p][:3] for p in places]
    ratio = axes[1][1] / axes[0][1] if axes[0][1] else 0.0
    # A normal number.
    if not 2.0**-1022 <= abs(ratio) < math.inf:
        ratio = 1.0
    values, at_point, before, left, modulus = [], {}, (0, 0), True, 256 ** record["word"]
    need(modulus <= 65536, "uvs of another width")
    for v in range(count):
        known, beside, edge = None, [], None
        for a, c in near[v]:
            known = next((other for other in (c, a) if other < v), known)
            at = of_edge(a, c, v, values, near, position, ratio, left) if a < v and c < v and a != c else None
            if at:
                beside.append(at)
                edge = a, c
        if beside:
            kind, value = 0, []
            for k in range(2):
                total = 0.0
                for at in beside:
                    total += at[k]
                value.append(int(min(max(math.floor(total / len(beside) + 0.5), 0), max(axes[k][2] - 1, 0))))
        else:
            same = at_point.get(places[v])
            kind, from_ = (1, known) if known is not None else (2, same) if same is not None else (3, v - 1)
            value = list(values[from_]) if from_ >= 0 else [0, 0]
        own = []
        for k in range(2):
            model, length = models[kind][k][before[k]][own[0] if k else 0], 0
            while length < 31 and bits.bit(model[length]):
                length += 1
            n = (1 << length | bits.plain(length)) - 1
            residual = n >> 1 if n % 2 == 0 else -(n >> 1) - 1
            own.append(min(abs(residual).bit_length(), 8))
            value[k] = (value[k] + residual) % modulus
        values.append(tuple(value))
        before, at_point[places[v]] = tuple(own), v
        turn = area(values[edge[0]], values[edge[1]], values[v]) if edge else 0
        left = turn > 0 if turn else left
    bits.end()
    return [[value[k] for value in values] for k in range(2)]
