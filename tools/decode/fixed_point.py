"""Fixed-point values."""
from .basics import Bytes, document, f32, need, unzigzag, wrap
from .units import FITS, spatial_weights

# Fixed-point values

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


BASE, EXTRA = [0, 1, 2, 3, 5], [0, 0, 0, 1, 2]


# mesh.md#unit-of-fixed-point-values
class Residuals:
    """The residuals of a unit of fixed-point values, which follow its heads."""

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
class FixedPointPart:
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
        """Writes the plane of heights into a frame."""
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
