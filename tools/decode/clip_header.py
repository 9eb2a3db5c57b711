"""Skeletons, side information and steps of clips."""
import math
import struct

from .basics import Bytes, need, wrap
from .coder import Chances, even

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
    out["content"] = data[b.at :]
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
    """For each joint the axes, and the steps of rotation, translation and scale."""
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
