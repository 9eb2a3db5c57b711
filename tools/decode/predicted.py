"""Predicted normals and tangents."""
import ctypes
import functools
import itertools
import math
import struct

from .basics import Bytes, need, wrap
from .coder import Chances, even
from .streams import grid_number


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
    """The direction of the part of v at right angles to n."""
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
    """The cosine, and the factor of half the angle that gives the sine."""
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
    """Normals, or normals and tangents, as corrections to a prediction from the decoded points."""

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
        """Computes the normals and tangents at rest that bones rotate."""
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
        """The tables at the start of a unit: of numbers by name, of masks by tree, size and heats."""
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
        """Corners by class of tangents, with the factors that follow from their uvs."""
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
        self.tangent_factors = [self.corner_factors(corners, first_frame) for corners in self.corners]

    # mesh.md#predicted
    def corner_factors(self, corners, places):
        """The points around a class, in order, and their factors."""
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
        shares = {i: self.corner_normals(p, places) for i, p in enumerate(self.polygons) if len(p) > 4}
        sums = []
        for fan, others in zip(self.fans, self.others):
            total = [0.0] * 3
            for corner in fan:
                total = plus(total, self.corner(corner, places))
            more = [shares[i][k] for i, k in others]
            if len(fan) > 16:
                total, more = [0.0] * 3, [total, *more]
            if len(more) > 16:
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
    def corner_normals(self, polygon, places):
        """The vector that each corner of a polygon of five or more adds."""
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
            for q, factor in self.tangent_factors[class_]:
                total = plus(total, scaled(minus(places[q], places[corners[0][0]]), factor))
        return flat(total, n) or self.frame_of(places, self.class_group[class_], n)[0]
