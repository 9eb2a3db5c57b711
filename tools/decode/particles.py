"""Points without triangles."""
import math

from .basics import Bytes, need, unzigzag, wrap
from .coder import Chances, even
from .description import COMPONENTS
from .symbols import Symbols

# Points without triangles

# mesh.md#point-set
def point_set(b, m):
    """The ids or curves of points that are the same in all frames."""
    ids, curves, after = [], [], 0
    while m["ids"] and len(ids) < m["vertices"]:
        first = after + (b.varint() | b.varint() << 32)
        count = b.varint()
        after = first + count
        need(0 < count <= m["vertices"] - len(ids) and after <= 1 << 64, "more ids than points")
        ids.extend(range(first, after))
    while m["curves"] and b.at < len(b.data):
        length, count = b.varint(), b.varint()
        need(0 < count <= m["curves"]["max_curves"] - len(curves), "more curves than there are")
        curves.extend([length] * count)
    need(not m["curves"] or sum(curves) == m["vertices"], "points of no curve")
    return dict(ids=ids, curves=curves)


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
        need(f["count"] <= m["vertices"] and len(f["curves"]) <= (m["curves"] or dict(max_curves=0))["max_curves"], "too many points")
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
        need(f["count"] <= m["vertices"] and len(f["curves"]) <= (m["curves"] or dict(max_curves=0))["max_curves"], "too many points")
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
