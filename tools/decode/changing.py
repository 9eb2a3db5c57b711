"""Triangles that change."""
import math

from .basics import Bytes, need, unzigzag, wrap
from .coder import Chances, even
from .corners import Corners
from .description import COMPONENTS
from .predicted import F
from .symbols import Symbols

# Triangles that change

# mesh.md#unit-of-changing-triangles
class Changing(Corners):
    """A unit of a mesh whose triangles change."""

    def __init__(self, data, mesh_):
        b = Bytes(data)
        super().__init__(Chances(b.take(b.varint())), len(mesh_["materials"]))
        self.mesh = mesh_
        self.symbols = Symbols(data[b.at :])
        self.numbers = {name: even(32) for name in ("kind", "source", "run", "vertices", "points", "triangles", "frames", "own", "grain")}

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
                corners, f["point"] = self.vertices(corners, f["points"], f["vertices"])
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
        """Codes of the normals computed from the positions."""
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
