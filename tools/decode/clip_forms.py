"""The forms of a clip: streamed, curves, random access."""
import math

from .basics import Bytes, f32, need, wrap
from .clip_header import clip_steps, side_information, times
from .fixed_point import Bits
from .symbols import Symbols, bucket, cut, in_30_bits, turned


# clip.md#streamed-form
class Streamed:
    """A clip, or a layer of one, whose samples are predicted from others: local transforms at its samples."""

    FACTORS = [8, 12, 21, 36, 56, 80, 110, 500]
    KEYS = 7

    def __init__(self, skeleton, header):
        self.h = h = side_information(header, len(skeleton["parents"]))
        self.samples, steps = h["samples"], clip_steps(skeleton, h)
        self.constants, self.groups, self.rest, of_joint, c = [], [], [], {}, 0
        for j, rest in enumerate(skeleton["rest"]):
            rotation, translation, scale = h["rotations"][j], h["translations"][j], h["scales"][j]
            constants = [*rest[:4], *(translation if isinstance(translation, list) else rest[4:7]),
                     *(scale if isinstance(scale, list) else rest[7:])]
            if rotation[0] == 1:
                constants[:4] = [f32(v) for v in rotation[1]]
            self.constants.append(constants)
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
        means = self.means_at_first(self.KEYS)
        for key in self.h["keys"]:
            [(shift, residuals, _)] = self.residuals(symbols, means, [[calm, calm]])
            before = self.words[key] = self.sample(shift, residuals, [before], [1 << 16])
        symbols.end()

    # clip.md#layers-and-tiers
    def read_segments(self, b, tier, first, count):
        """The bytes of `count` segments of a tier."""
        sizes = [b.varint() for _ in range(count)]
        for s, size in enumerate(sizes):
            self.tiers[tier][first + s] = b.take(size)

    # clip.md#order-of-samples
    def read_samples(self):
        """All samples, once the bytes of all segments are there."""
        keys, log, more = self.h["keys"], self.h["log"], self.h["tiers"]
        for s, (start, end) in enumerate(zip(keys, keys[1:])):
            means, length = None, end - start
            symbols = [Symbols(tier[s], 2) if s in tier else None for tier in self.tiers]
            ratios = {t: [64] * self.components for t in (0, length)}
            words = {0: self.words[start], length: self.words[end]}
            for level in reversed(range(log)):
                h = 1 << level
                times = range(h, length, 2 * h)
                if times:
                    means = self.means_at_first(level, means)
                for pair in filter(None, [times[:1], times[1:2], *(times[i : i + 2] for i in range(2, len(times), 2))]):
                    around = [[ratios[t - h], ratios[min(t + h, length)]] for t in pair]
                    read = self.residuals(symbols[max(0, more - level)], means, around)
                    for t, (shift, residuals, ratios[t]) in zip(pair, read):
                        at = [t - h, min(t + h, length)] + ([t - 3 * h] if t >= 3 * h else [])
                        far = min(t + 3 * h, length)
                        at += [far] if far >= at[1] + h else []
                        words[t] = self.sample(shift, residuals, [words[a] for a in at], self.weights(at, t))
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
    def means_at_first(self, level, coarser=None):
        """For each component its mean at the start of a level, and 0; after the means of the coarser level."""
        factor = self.FACTORS[level]
        out = [((362 if start & 1 else 256) << start // 2 >> 4) * factor >> 3 for start in self.h["starts"]]
        if coarser:
            out = [(mean + before * factor // self.FACTORS[level + 1]) // 2 for mean, (before, _) in zip(out, coarser)]
        return [[mean, 0] for mean in out]

    # clip.md#residuals
    def residuals(self, symbols, means, around):
        """Shift, residuals and ratios of samples of a level that are coded side by side."""
        symbols = symbols if self.components else None
        lanes = [{"ratios": [64] * self.components, "total": 0, "count": 0, "k": [0] * self.components, "around": own,
                  "shift": symbols.take(16, lane) if symbols else -1, "lane": lane} for lane, own in enumerate(around)]
        for lane in lanes:
            need(-1 <= lane["shift"] <= 5, "steps of a sample out of range")
        coded = [lane for lane in lanes if lane["shift"] >= 0]
        mean_of = lambda list_: sum(list_) * -(-65536 // len(list_)) >> 16 if list_ else 64
        for g in self.groups:
            for lane in coded:
                p, f = mean_of(lane["ratios"][slice(*g["parent"])]), lane["total"] // lane["count"] if lane["count"] else 64
                lane["base"] = 77 * 64 + 26 * p + 51 * f
            for c in range(g["first"], g["first"] + g["count"]):
                mean, found = means[c][0], []
                for lane in coded:
                    ratios, (left, right) = lane["ratios"], lane["around"]
                    weight = lane["base"] + 56 * (left[c] + right[c] >> 1) + 46 * mean_of(ratios[g["own"] : c])
                    row, low = bucket(min(mean * weight >> 14, 1 << 28))
                    found.append((lane, symbols.symbol(row, lane["lane"]), low))
                for lane, symbol, low in found:
                    k = lane["k"][c] = symbols.rest(symbol, low, lane["lane"])
                    ratio = min(min(abs(k), 1 << 16) * (0xFFFFFFFF // max(mean, 16)) >> 18, 256)
                    lane["ratios"][c] = min(ratio, 255)
                    lane["total"], lane["count"] = lane["total"] + ratio, lane["count"] + 1
                for lane, _, _ in found:
                    mean, seen = means[c]
                    factor = [102, 73, 57, 47, 39][seen] if seen < 5 else 38
                    size = 256 * min(abs(lane["k"][c]), 1 << 22)
                    means[c] = [max(mean + ((size - mean) * factor >> 8), 1), seen + 1]
        return [(lane["shift"], lane["k"], lane["ratios"]) for lane in lanes]

    # clip.md#residuals
    def sample(self, shift, residuals, words, weights):
        """Codes of a sample that is predicted from others."""
        kappas, out = [], []
        for n, g in enumerate(self.groups):
            own = []
            for c in range(g["first"], g["first"] + g["count"]):
                kappa = 0
                if shift >= 0:
                    kappa = residuals[c] * (32 >> shift) + sum(w * kappas[s] + 16 >> 5 for s, w in self.h["sources"][c])
                kappas.append(max(-(1 << 28), min(1 << 28, kappa)))
                own.append(kappas[-1])
            out.append(self.moved(g, [w[n] for w in words], weights, own))
        return out

    # clip.md#streamed-form
    @staticmethod
    def moved(g, around, weights, kappas):
        """Codes of a sub-track: the prediction plus κ."""
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
        out = [list(constants) for constants in self.constants]
        for g, words in zip(self.groups, self.words[sample]):
            joint, rest = out[g["joint"]], self.constants[g["joint"]]
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
        kinds, self.constants, self.tracks = Bits(b.take((6 * joints + 7) // 8)), [], {}
        kinds = [[kinds.take(2) for _ in range(3)] for _ in range(joints)]
        for j, of_joint in enumerate(kinds):
            self.constants.append(list(skeleton["rest"][j]))
            for part_, kind in enumerate(of_joint):
                first, count = ((0, 4), (4, 3), (7, 3))[part_]
                need(kind < 3, "a kind of sub-track")
                if kind == 1:
                    value = self.smallest(int.from_bytes(b.take(6), "little"), 15) if part_ == 0 else b.get("3f")
                    self.constants[j][first : first + count] = value
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
        out = [list(constants) for constants in self.constants]
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
        self.constants, kinds = [], [[] for _ in range(5)]
        for j, rest in enumerate(skeleton["rest"]):
            rotation, translation, scale = h["rotations"][j], h["translations"][j], h["scales"][j]
            constants = [*rest[:4], *(translation if isinstance(translation, list) else rest[4:7]),
                     *(scale if isinstance(scale, list) else rest[7:])]
            if rotation[0] == 1:
                constants[:4] = [f32(v) for v in rotation[1]]
            self.constants.append(constants)
            if translation == 2:
                kinds[3].append((j, self.block_constants(3, rotation, steps[j])))
            if rotation[0] > 1:
                kind = {4: 0, 3: 1, 2: 2}[rotation[0]]
                kinds[kind].append((j, self.block_constants(kind, rotation, steps[j])))
            if scale == 2:
                kinds[4].append((j, self.block_constants(4, rotation, steps[j])))
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
    def block_constants(kind, rotation, steps):
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
        out, part = [list(constants) for constants in self.constants], f32(part)
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
